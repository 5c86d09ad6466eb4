"""Cases of a task from the published data, from a folder of built cases, or written from a seed.

Messages lie in a case folder's document table, so that a case holds no long text. Built cases (``lct_cases``) have the form of the
published ones: ``inputs`` with the keys of the texts under ``system`` (may be empty) and ``user``, one turn whose gold is a list of
texts (labels; entries with ids; option numbers in order; section markers of the context), and the label ``domain``.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.ethic import prompts, scoring
from long_context_tasks.benchmarks.ethic.files import CONFIGURATIONS, NAME, check_local, converted
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.benchmarks.ethic.scoring import summaries
from long_context_tasks.benchmarks.run_cases import (
    family_folder,
    with_length,
)
from long_context_tasks.judges import Judging
from long_context_tasks.schema import Case, CaseSet, InputError, LoadedTask, Message, format_length
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.schema.case_folder import read_manifest
from long_context_tasks.tokens import CL100K, count_cases, same_tokenizer, tokenizer_identity
from long_context_tasks.tokens.count_cache import cached_counts

WRITTEN = ("seed", "recast")
"""Sources of cases that need no published files; only these import the writers."""
COUNTERPARTS = "ethic_recall_counterparts"
"""The family that builds the tasks without published data."""
BOUND = 32_768
"""A prompt of so many tokens is still under it; of the official flags ``--under_32k_only`` and ``--over_32k_only``."""


def load_task(name: str, options: EthicOptions) -> LoadedTask:
    """Return a task by name, with everything that a host needs.

    Raises:
        InputError: an unknown name, a task without published data and no ``lct_cases``, or see :func:`load`.
    """
    spec = parse_task(name)
    options = replace(options, prompt_style=options.prompt_style or prompts.CHAT)
    synthetic = spec.source in WRITTEN
    if options.cases is not None:
        folder = built_folder(spec, options.cases)
        options = options.as_built(read_manifest(folder)["options"], folder, same_tokenizer)
    elif synthetic:
        options = with_length(options)
    else:
        if spec.task not in CONFIGURATIONS:
            raise InputError(
                f"{name}: has no published data; build cases with `lct build {COUNTERPARTS}` and name their folder with lct_cases "
                "(LCT_CASES)"
            )
        # Results hold what was run: published contexts have the length they have.
        options = replace(options, length=None)
    cases, n_all = load(spec, options)
    judged = spec.task == "summarize"
    metrics = scoring.METRICS[spec.task]
    judging = Judging(
        rubric=summaries.rubric,
        requests=partial(summaries.judge_requests, documents=cases.documents),
        score_turn=summaries.score_turn,
        default=summaries.DEFAULT,
        metrics=summaries.POINTS,
    )
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases,
        metrics=metrics,
        intervals=metrics[:2],
        answer_budget=options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=summaries.score_case if judged else scoring.SCORES[spec.task],
        judging=judging if judged else None,
        points=card(NAME).points if judged else {},
        own_template=str(options.prompt_style) if options.prompt_style in prompts.OWN_TEMPLATE else "",
        asked_and_right=_asked_and_right if spec.source == "built" else None,
        n_all=n_all,
    )


def has_data(name: str, options: EthicOptions) -> bool:
    """Find a copy of a task's data, or the carriers of a recast one.

    Raises:
        InputError: there is none on this machine.
    """
    spec = parse_task(name)
    if spec.source == "recast":
        from long_context_tasks.benchmarks.ethic.synthetic.recast import CARRIER_KINDS
        from long_context_tasks.recast.carriers import carriers_of

        carriers_of(options, CARRIER_KINDS[spec.split], name)
    else:
        check_local(spec.task, options, name)
    return True


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    return str(asked.question), str(asked.gold[0])


def load(spec: TaskSpec, options: EthicOptions) -> tuple[CaseSet, int]:
    """Return the cases of a task in the order of the data, prompts counted in cl100k and in ``lct_tokenizer``, and their number without ``lct_n``.

    ``lct_prompt_tokens`` keeps the short or the long ones; then ``lct_n`` takes the first.

    Raises:
        InputError: no data, with the remedies; damaged data, with file and row; or options that do not go with this benchmark.
    """
    if options.subset is not None:
        raise InputError(
            f"{spec.name}: has no official subsets; leave out lct_subset, lct_n takes the first cases"
        )
    prompts.layout("", "", str(options.prompt_style))
    if options.prompt_tokens is not None and options.tokenizer is None:
        raise InputError(
            f"{spec.name}: lct_prompt_tokens={options.prompt_tokens} counts in the model's tokenizer; give lct_tokenizer as well"
        )
    if options.tokenizer is not None:
        tokenizer_identity(options.tokenizer)  # a wrong name is reported before anything is read
    known_by = ""
    if options.cases is not None:
        built = CaseSet.read(built_folder(spec, options.cases), spec.name)
        cases = _of_length(built, options.length, several=spec.source not in WRITTEN)
    elif spec.source in WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import cached_synthetic

        cases = cached_synthetic(spec, options)
    else:
        folder = converted(spec, options)
        known_by = folder.name
        cases = CaseSet.read(folder, spec.name)
        if not cases.cases:
            there = [name for name, row in read_manifest(folder)["tasks"].items() if row["n"]]
            raise InputError(
                f"{spec.name}: the data hold no cases of it; they hold some of {', '.join(there) or 'no task'}: name these tasks "
                "instead of a group, or fetch the data again (`lct data fetch ethic`)"
            )
    chosen = [replace(case, inputs={**case.inputs, "style": options.prompt_style}) for case in cases.cases]
    if options.prompt_tokens is not None:
        chosen = _within(options, cases.selected(chosen), known_by)
        if not chosen:
            raise InputError(
                f"{spec.name}: no prompt is {options.prompt_tokens} in {options.tokenizer}; leave out this task or lct_prompt_tokens"
            )
    n_all = len(chosen)
    if options.cases is None and spec.source in WRITTEN and options.prompt_tokens is None:
        from long_context_tasks.benchmarks.ethic.synthetic import cases_of

        n_all = cases_of(spec.task)
    chosen = chosen[: options.n]

    def text_of(case: Case) -> str:
        folded_case = replace(case, inputs={**case.inputs, "style": prompts.FOLDED})
        return prompts.messages(folded_case, cases.documents)[0].content

    countable = _countable(known_by and f"{NAME}\0{known_by}", text_of)
    for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
        chosen = count_cases(chosen, tokenizer, countable, f"counting {spec.name} in {tokenizer}")
    return cases.selected(chosen), n_all


def built_folder(spec: TaskSpec, root: Path) -> Path:
    """Return the case folder of a task: ``root`` itself, or the one in it that `lct build` made for the task."""
    family = spec.family if spec.task in CONFIGURATIONS else COUNTERPARTS
    if spec.source in WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import EDITIONS, family_of

        family = family_of(spec.task, EDITIONS[spec.source])
    return family_folder(root, family)


def _of_length(cases: CaseSet, tokens: int | None, *, several: bool) -> CaseSet:
    """The built cases of one length; without a length all, where a task may have ``several`` in one run."""
    there = sorted({case.labels["length"] for case in cases.cases if "length" in case.labels})
    listed = ", ".join(map(format_length, there)) or "none"
    if tokens is None:
        if len(there) > 1 and not several:
            raise InputError(f"the built cases have the lengths {listed}; choose one with lct_length")
        return cases
    chosen = [case for case in cases.cases if case.labels.get("length") == tokens]
    if not chosen:
        raise InputError(
            f"no built cases of length {format_length(tokens)}; there are: {listed}; correct lct_length"
        )
    return cases.selected(chosen)


def _countable(
    known_by: str, text_of: Callable[[Case], str]
) -> Callable[[Case], tuple[str, Callable[[], str]]]:
    """A case to the key of its text in the store of counts, and to the text, which is read only where it was not counted before.

    Texts of published cases are known by the data that they come from; with an empty ``known_by`` the text is its own key.
    """

    def countable(case: Case) -> tuple[str, Callable[[], str]]:
        key = f"{known_by}\0{case.document}" if known_by else text_of(case)
        return key, partial(text_of, case)

    return countable


def _within(options: EthicOptions, cases: CaseSet, known_by: str) -> list[Case]:
    """The cases on one side of the bound, each with its prompt's tokens as the label ``full_prompt_tokens``."""
    tokenizer, style = str(options.tokenizer), str(options.prompt_style)
    if known_by:
        loaded = _with_template(tokenizer)
        # Changes with the chat template and the special tokens that it writes.
        made_of = (loaded.chat_template, sorted(loaded.special_tokens_map.items())) if loaded else ""
        identity = hashlib.sha256(repr(made_of).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        known_by = f"full\0{identity}\0{style}\0{known_by}"

    def text_of(case: Case) -> str:
        return full_prompt(prompts.messages(case, cases.documents), tokenizer, style)

    countable = map(_countable(known_by, text_of), cases.cases)
    counts = cached_counts(tokenizer, countable, len(cases), f"measuring prompts in {tokenizer}")
    return [
        replace(case, labels={**case.labels, "full_prompt_tokens": count})
        for case, count in zip(cases.cases, counts, strict=True)
        if (count <= BOUND) == (options.prompt_tokens == "under_32k")
    ]


def full_prompt(messages: list[Message], tokenizer: str, style: str = prompts.CHAT) -> str:
    """Return the text that a model is given: through the tokenizer's chat template, or the contents where there is none.

    A template that knows no system role gets the system message in front of the user's; a prompt that marks the roles itself
    goes through none.
    """
    loaded = None if style in prompts.OWN_TEMPLATE else _with_template(tokenizer)
    if loaded is None:
        return "\n\n".join(message.content for message in messages)

    def template(rows: list[dict[str, Any]]) -> str:
        return str(loaded.apply_chat_template(rows, tokenize=False, add_generation_prompt=True))

    sent = messages if takes_system(template) else folded(messages)
    return template([asdict(message) for message in sent])


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
