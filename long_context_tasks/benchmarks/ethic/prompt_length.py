"""Only the prompts under, or over, 32,768 tokens: the official flags ``--under_32k_only`` and ``--over_32k_only``.

Tokens are those of the model's own tokenizer, on the whole prompt: with the chat template where the tokenizer has one.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.schema import Case, Documents, Message
from long_context_tasks.schema.system_role import folded, takes_system
from long_context_tasks.tokens import CL100K
from long_context_tasks.tokens.count_cache import cached_counts

BOUND = 32_768
"""A prompt of so many tokens is still under it."""

Keep = Callable[[Sequence[Case], Documents, str], list[Case]]


def within(which: str, tokenizer: str) -> Keep:
    """What keeps the cases on one side of the bound; each gets its prompt's tokens as the label ``full_prompt_tokens``.

    Args:
        which: under_32k or over_32k.
        tokenizer: of the model.
    """

    def keep(cases: Sequence[Case], documents: Documents, known_by: str) -> list[Case]:
        told = _template_identity(tokenizer)

        def countable(case: Case) -> tuple[str, Callable[[], str]]:
            style = case.inputs.get("style", prompts.CHAT)

            def text() -> str:
                return full_prompt(prompts.messages(case, documents), tokenizer, style)

            return (
                (f"full\0{told}\0{known_by}\0{case.document}\0{style}", text) if known_by else (text(), text)
            )

        counts = cached_counts(
            tokenizer, map(countable, cases), len(cases), f"measuring prompts in {tokenizer}"
        )
        under = which == "under_32k"
        return [
            replace(case, labels={**case.labels, "full_prompt_tokens": count})
            for case, count in zip(cases, counts, strict=True)
            if (count <= BOUND) == under
        ]

    return keep


def full_prompt(messages: Sequence[Message], tokenizer: str, style: str = prompts.CHAT) -> str:
    """The text that a model is given: through the tokenizer's chat template, or the contents where there is none.

    A template that knows no system role gets the system message in front of the user's; a prompt that marks the roles itself
    goes through none.
    """
    template = None if style in prompts.OWN_TEMPLATE else _chat_template(tokenizer)
    if template is None:
        return "\n\n".join(message.content for message in messages)
    sent = messages if takes_system(template) else folded(messages)
    return template([asdict(message) for message in sent])


def _template_identity(tokenizer: str) -> str:
    """Another one when a tokenizer's chat template changes, or the special tokens that it writes."""
    loaded = _with_template(tokenizer)
    made_of = (loaded.chat_template, sorted(loaded.special_tokens_map.items())) if loaded else ""
    return hashlib.sha256(repr(made_of).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _chat_template(tokenizer: str) -> Callable[[list[dict[str, Any]]], str] | None:
    loaded = _with_template(tokenizer)
    if loaded is None:
        return None

    def apply(messages: list[dict[str, Any]]) -> str:
        return str(loaded.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return apply


@lru_cache(maxsize=4)
def _with_template(tokenizer: str) -> Any:
    """A tokenizer with its chat template; None where it has none."""
    if tokenizer == CL100K:
        return None
    try:
        from transformers import AutoTokenizer

        local = Path(tokenizer).expanduser().is_dir()
        loaded: Any = AutoTokenizer.from_pretrained(tokenizer, local_files_only=local)  # type: ignore[no-untyped-call,unused-ignore]
    except (ImportError, OSError, ValueError):
        return None
    return loaded if getattr(loaded, "chat_template", None) else None
