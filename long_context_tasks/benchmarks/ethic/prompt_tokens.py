"""Keep the prompts on one side of the official length bound (``lct_prompt_tokens``).

Lengths are those of the prompts rendered with the model's chat template.
"""

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import TaskSpec
from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.schema import Case, CaseSet, InputError, Message
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.tokens import CL100K, cached_counts

# Prompts of at most this many tokens are under_32k, as with the official --under_32k_only and
# --over_32k_only.
BOUND = 32_768


def within(spec: TaskSpec, options: EthicOptions, cases: CaseSet) -> CaseSet:
    """Return the cases on one side of the bound, labelled with their ``full_prompt_tokens``."""
    tokenizer, style = str(options.tokenizer), str(options.prompt_style)

    def text_of(case: Case) -> str:
        return full_prompt(prompts.messages(case, cases.documents), tokenizer, style)

    # A generator, so that the prompts are never all in memory.
    texts = ((text_of(case), partial(text_of, case)) for case in cases.cases)
    counts = cached_counts(tokenizer, texts, len(cases), spec.name)
    chosen = [
        replace(case, labels={**case.labels, "full_prompt_tokens": count})
        for case, count in zip(cases.cases, counts, strict=True)
        if (count <= BOUND) == (options.prompt_tokens == "under_32k")
    ]
    if not chosen:
        raise InputError(
            f"{spec.name}: no prompt is {options.prompt_tokens} in {tokenizer}; leave out this task or lct_prompt_tokens"
        )
    return cases.selected(chosen)


def full_prompt(messages: list[Message], tokenizer: str, style: str = prompts.CHAT) -> str:
    """Return the text that a model receives: the rendered chat template, or the contents if there is none."""
    loaded = None if style in prompts.OWN_TEMPLATE else _with_template(tokenizer)
    if loaded is None:
        return "\n\n".join(message.content for message in messages)

    def template(rows: list[dict[str, Any]]) -> str:
        return str(loaded.apply_chat_template(rows, tokenize=False, add_generation_prompt=True))

    # Without a system role, the system message precedes the user's text.
    sent = messages if takes_system(template) else folded(messages)
    return template([message.chat() for message in sent])


@lru_cache(maxsize=4)
def _with_template(tokenizer: str) -> Any:
    """Return the tokenizer if it has a chat template, otherwise None."""
    if tokenizer == CL100K:
        return None
    try:
        from transformers import AutoTokenizer

        local = Path(tokenizer).expanduser().is_dir()
        loaded: Any = AutoTokenizer.from_pretrained(tokenizer, local_files_only=local)  # type: ignore[no-untyped-call,unused-ignore]
    except (ImportError, OSError, ValueError):
        # Without a template, only the contents are counted, as for a base model.
        return None
    return loaded if getattr(loaded, "chat_template", None) else None
