"""The way in to synthetic cases, for ``lct build`` and for the hosts, which have them made at first use."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from math import nan
from pathlib import Path

from long_context_tasks.benchmarks.building import Progress, TaskReport, cached_cases, run_settings
from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.ethic import BENCHMARK
from long_context_tasks.benchmarks.ethic.build.drafts import task_name
from long_context_tasks.benchmarks.ethic.build.settings import FittedSettings, SyntheticSettings
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Made, Maker
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, format_length

SYNTHETIC = "synthetic"
CASES = 200
"""Cases of each task and length when no number is asked for."""
WRITINGS = 40
"""Documents that are tried for a case. At 1k half of the groups of opinions make none for attributing: eight were not enough for 200
cases."""


def family_of(task: str) -> str:
    """``ethic_recall_synthetic``: the name of the builder and of its case folder."""
    return f"ethic_{task}_{SYNTHETIC}"


def name_of(task: str, domain: str) -> str:
    """``ethic_recall_law_synthetic``: the task, and the file of its case folder with the cases of all lengths."""
    return f"{task_name(task, domain)}_{SYNTHETIC}"


def build(
    family: str, source: None, settings: SyntheticSettings, folder: Path, progress: Progress | None = None
) -> list[TaskReport]:
    """Write the synthetic cases of a task into a case folder, all or nothing, one case after the other; an older case folder is replaced.

    Raises:
        InputError: a domain that the task does not have, or a length too short for a case.
    """
    task = BENCHMARK.builders[family].task
    progress = progress or Progress()
    if settings.domain is not None and settings.domain not in GENRES:
        raise InputError(
            f"{family} has no cases of {settings.domain}, only of {', '.join(GENRES)}; correct --domain"
        )
    settings = replace(settings, n=settings.n or CASES)
    settings.fitted()  # an unavailable tokenizer is reported before anything is written
    domains = tuple(GENRES) if settings.domain is None else (settings.domain,)
    options = {**asdict(settings), "source": None, "card_version": card("ethic").version}
    reports: list[TaskReport] = []
    with CaseWriter(folder, options) as writer:
        for domain in domains:
            sizes: dict[int, list[int]] = {length: [] for length in settings.lengths}
            writer.add_cases(name_of(task, domain), _cases(task, domain, settings, writer, progress, sizes))
            reports += [
                TaskReport(f"{name_of(task, domain)} {format_length(length)}", own, len(own), nan)
                for length, own in sizes.items()
            ]
    return reports


def _cases(
    task: str,
    domain: str,
    settings: SyntheticSettings,
    writer: CaseWriter,
    progress: Progress,
    sizes: dict[int, list[int]],
) -> Iterator[Case]:
    """Yield the cases of a domain, length by length; the tokens of each go into ``sizes``."""
    fitted = settings.fitted()
    for length in settings.lengths:
        what = f"writing {name_of(task, domain)} {format_length(length)}"
        for number in progress.over(range(settings.n or CASES), what, "case"):
            own = fitted.fresh()
            made = make_case(task, domain, length, own, number)
            case = made.draft.case(name_of(task, domain), domain, own, writer)
            if task == "summarize":
                case = replace(case, inputs={**case.inputs, INPUT: [one.row() for one in made.facts]})
            sizes[length].append(case.num_tokens[own.measure.name])
            yield case


def make_case(task: str, domain: str, length: int, settings: FittedSettings, number: int) -> Made:
    """Return the case of a number, from the first of a few documents that makes one.

    Raises:
        InputError: none does.
    """
    make = attribute if task == "attribute" else Maker.made
    for attempt in range(WRITINGS):
        made = make(Maker(task, domain, length, settings, number, attempt))
        if made is not None:
            return made
    raise InputError(
        f"{name_of(task, domain)}: no case of {format_length(length)} could be made; use a longer length"
    )


def cached_synthetic(spec: TaskSpec, options: Options) -> CaseSet:
    """Return the synthetic cases of a task, written once into the cache.

    Raises:
        InputError: no length, one too short for a case, or a tokenizer that cannot be had.
    """
    settings = run_settings(spec.name, SyntheticSettings, options, CASES, domain=spec.split)
    return cached_cases(
        spec.name,
        settings,
        card("ethic").version,
        lambda folder: build(family_of(spec.task), None, settings, folder),
    )
