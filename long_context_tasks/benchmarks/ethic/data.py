"""Cases of a task from the published data, from a folder of built cases, or written from a seed.

The data are read once, as a stream, into a case folder in the user's cache, with a file for each domain; later runs read that.
Messages lie in its document table, so that a case holds no long text. Built cases (``lct_cases``) have the same form: ``inputs``
with the keys of the texts under ``system`` (may be empty) and ``user``, one turn whose gold is a list of texts (labels; entries with
ids; option numbers in order; section markers of the context), and the label ``domain``.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.building import family_folder
from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.ethic import prompts, scoring
from long_context_tasks.benchmarks.ethic.files import (
    CONFIGURATIONS,
    NAME,
    Source,
    case_of,
    source_of,
)
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.benchmarks.ethic.scoring import fact_recall, summaries
from long_context_tasks.benchmarks.ethic.scoring import summaries as judge_prompts
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.synthetic import cached_synthetic, family_of
from long_context_tasks.judges import Judging
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    Documents,
    InputError,
    LoadedTask,
    Message,
    Options,
    format_length,
)
from long_context_tasks.schema.case_folder import cached_folder, read_manifest
from long_context_tasks.schema.system_role import folded, takes_system
from long_context_tasks.tokens import CL100K, count_cases, same_tokenizer, tokenizer_identity
from long_context_tasks.tokens.count_cache import cached_counts

# Only the prompts under, or over, 32,768 tokens: the official flags ``--under_32k_only`` and
# ``--over_32k_only``.


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


logger = logging.getLogger(__name__)

COUNTERPARTS = "ethic_recall_counterparts"
"""The family that builds the tasks without published data."""


def load_task(name: str, options: EthicOptions) -> LoadedTask:
    """A task by name, with everything that a host's adapter needs.

    Raises:
        InputError: see :func:`load`; or an unknown name, or a task without published data and no ``lct_cases``.
    """
    spec = parse_task(name)
    options = replace(options, prompt_style=options.prompt_style or prompts.CHAT)
    synthetic = spec.source == "seed"
    if options.cases is None and synthetic:
        pass
    elif options.cases is None:
        if spec.task not in CONFIGURATIONS:
            raise InputError(
                f"{name}: has no published data; build cases with `lct build {COUNTERPARTS}` and name their folder with lct_cases "
                "(LCT_CASES)"
            )
        # What stands in the results is what was run: published contexts have the length they have.
        options = replace(options, length=None)
    else:
        folder = built_folder(spec, options.cases)
        options = options.as_built(read_manifest(folder).get("options", {}), folder, same_tokenizer)
    cases = load(spec, options)
    judged = spec.task == "summarize"
    # The facts of synthetic documents are known, so that their summaries have a score without a judge.
    summary_scores: Any = fact_recall if synthetic else summaries
    metrics = summary_scores.METRICS if judged else scoring.METRICS[spec.task]
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases,
        metrics=metrics,
        intervals=metrics[:2],
        answer_budget=options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=summary_scores.score_case if judged else scoring.SCORES[spec.task],
        judging=Judging(
            rubric=judge_prompts.rubric,
            requests=partial(summaries.judge_requests, documents=cases.documents),
            score_turn=summary_scores.score_turn,
            default=judge_prompts.DEFAULT,
            metrics=summaries.POINTS,
        )
        if judged
        else None,
        points=frozenset(summaries.POINTS) if judged else frozenset(),
        own_template=str(options.prompt_style) if options.prompt_style in prompts.OWN_TEMPLATE else "",
        asked_and_right=_asked_and_right
        if spec.task in ("single_qa", "multi_qa", "focused_summary")
        else None,
    )


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    if asked.question is None:
        raise InputError(
            f"case {case.id}: holds no question; its folder was built by an older version, build it again"
        )
    return asked.question, str(asked.gold[0])


def load(spec: TaskSpec, options: EthicOptions) -> CaseSet:
    """The cases of a task in the order of the data, prompts counted in cl100k and in ``lct_tokenizer``.

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
        tokenizer_identity(options.tokenizer)  # a wrong name is told before anything is read
    known_by = ""
    if options.cases is None and spec.source == "seed":
        cases = cached_synthetic(spec, options)
    elif options.cases is not None:
        built = CaseSet.read(built_folder(spec, options.cases), spec.name)
        cases = _of_length(built, options.length, several=spec.source != "seed")
    else:
        folder, known_by = converted(spec.task, options)
        cases = CaseSet.read(folder, spec.name)
        if not cases.cases:
            there = [name for name, row in read_manifest(folder)["tasks"].items() if row["n"]]
            raise InputError(
                f"{spec.name}: the data hold no cases of it; they hold some of {', '.join(there) or 'no task'}: name these tasks "
                "instead of a group, or fetch the data again (`lct data fetch ethic`)"
            )
    styled = [replace(case, inputs={**case.inputs, "style": options.prompt_style}) for case in cases.cases]
    if options.prompt_tokens is not None:
        keep = within(options.prompt_tokens, str(options.tokenizer))
        styled = keep(styled, cases.documents, known_by)
        if not styled:
            raise InputError(
                f"{spec.name}: no prompt is {options.prompt_tokens} in {options.tokenizer}; leave out this task or lct_prompt_tokens"
            )
    chosen = styled[: options.n]
    for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
        chosen = count_cases(
            chosen, tokenizer, _countable(cases, known_by), f"counting {spec.name} in {tokenizer}"
        )
    return cases.selected(chosen)


def built_folder(spec: TaskSpec, root: Path) -> Path:
    """The case folder of a task: ``root`` itself, or the one in it that `lct build` made for the task."""
    family = spec.family if spec.task in CONFIGURATIONS else COUNTERPARTS
    if spec.source == "seed":
        family = family_of(spec.task)
    return family_folder(root, family)


def _of_length(cases: CaseSet, tokens: int | None, *, several: bool) -> CaseSet:
    """The built cases of one length; all without it, where a task may have ``several`` in one run.

    Raises:
        InputError: there are none, or more lengths than may be.
    """
    there = sorted({case.labels["length"] for case in cases.cases if "length" in case.labels})
    if tokens is None:
        if len(there) > 1 and not several:
            raise InputError(
                f"the built cases have the lengths {', '.join(map(format_length, there))}; choose one with lct_length"
            )
        return cases
    chosen = [case for case in cases.cases if case.labels.get("length") == tokens]
    if not chosen:
        raise InputError(
            f"no built cases of length {format_length(tokens)}; there are: {', '.join(map(format_length, there)) or 'none'}; "
            "correct lct_length"
        )
    return cases.selected(chosen)


def _countable(cases: CaseSet, known_by: str) -> Callable[[Case], tuple[str, Callable[[], str]]]:
    """The text of a case's messages; known by the data that it comes from, so that a counted text need not be read."""

    def countable(case: Case) -> tuple[str, Callable[[], str]]:
        def text() -> str:
            plain = replace(case, inputs={**case.inputs, "style": prompts.FOLDED})
            [message] = prompts.messages(plain, cases.documents)
            return message.content

        return (f"{NAME}\0{known_by}\0{case.document}", text) if known_by else (text(), text)

    return countable


def converted(task: str, options: Options) -> tuple[Path, str]:
    """The case folder of a task's data, made when it is not there; and what it is known by.

    Raises:
        InputError: see :func:`load`.
    """
    source = source_of(task, options)
    made_from = source.made_from()
    facts = {"files": made_from, "card": card(NAME).version}
    folder = cached_folder(f"{NAME}_{task}", facts, lambda folder: convert(source, task, folder, made_from))
    return folder, folder.name


def convert(source: Source, task: str, folder: Path, made_from: Mapping[str, str]) -> None:
    """Turn the rows of a task into a case folder for all its domains.

    Raises:
        InputError: damaged data, with file and row.
    """
    cases: dict[str, dict[str, Case]] = {domain: {} for domain in DOMAINS[task]}
    foreign = 0
    with CaseWriter(folder, {"made_from": dict(made_from)}) as writer:
        for row in source.rows():
            read = case_of(row, task)
            if read is None:
                foreign += 1
                continue
            own = cases[read.case.labels["domain"]]
            if read.case.id in own:
                raise InputError(
                    f"{row.place}: ID {read.case.id!r} occurs twice in {read.case.labels['domain']}; is the copy in "
                    f"{source.name} there twice?"
                )
            own[read.case.id] = read.case
            writer.add_documents(read.texts.items())
        for domain, own in cases.items():
            writer.add_cases(f"{NAME}_{task}_{domain}", own.values())
    if foreign:
        logger.warning(
            "%s: %d rows of domains that %s does not have are left out",
            source.name,
            foreign,
            CONFIGURATIONS[task],
        )
    if empty := [domain for domain, own in cases.items() if not own]:
        logger.warning("%s: no cases of %s in %s", source.name, CONFIGURATIONS[task], ", ".join(empty))
