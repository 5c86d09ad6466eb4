"""The way in to synthetic and recast cases, for ``lct build`` and for the hosts, which have them made at first use."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from math import nan
from pathlib import Path

from long_context_tasks.benchmarks.building import Progress, TaskReport, cached_cases, run_settings
from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.ethic import BENCHMARK
from long_context_tasks.benchmarks.ethic.build.drafts import task_name
from long_context_tasks.benchmarks.ethic.build.settings import FittedSettings, SyntheticSettings
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Genre, Made, Maker
from long_context_tasks.benchmarks.ethic.synthetic.organize import organize
from long_context_tasks.benchmarks.ethic.synthetic.recast import CARRIER_KINDS, recast_genres
from long_context_tasks.recast.carriers import carriers_of
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, format_length

SYNTHETIC, RECAST = "synthetic", "recast"
EDITIONS = {"seed": SYNTHETIC, "recast": RECAST}
"""Source of cases to the end of the name of their tasks, builders and case folders."""
CASES = 200
"""Cases of each task and length when no number is asked for."""
WRITINGS = 40
"""Documents that are tried for a case. At 1k half of the groups of opinions make none for attributing: eight were not enough for 200
cases."""


def family_of(task: str, edition: str = SYNTHETIC) -> str:
    """``ethic_recall_synthetic``: the name of the builder and of its case folder."""
    return f"ethic_{task}_{edition}"


def name_of(task: str, domain: str, edition: str = SYNTHETIC) -> str:
    """``ethic_recall_law_synthetic``: the task, and the file of its case folder with the cases of all lengths."""
    return f"{task_name(task, domain)}_{edition}"


def build(
    family: str,
    source: Path | None,
    settings: SyntheticSettings,
    folder: Path,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Write the synthetic or recast cases of a task into a case folder, all or nothing, one case after the other; an older one is replaced.

    Raises:
        InputError: a domain that the task does not have, no carriers, or a length too short for a case.
    """
    builder = BENCHMARK.builders[family]
    task, edition = builder.task, SYNTHETIC if builder.source is None else RECAST
    progress = progress or Progress()
    known = tuple(GENRES) if edition == SYNTHETIC else DOMAINS[task]
    if settings.domain is not None and settings.domain not in known:
        raise InputError(
            f"{family} has no cases of {settings.domain}, only of {', '.join(known)}; correct --domain"
        )
    settings = replace(settings, n=settings.n or CASES)
    settings.fitted()  # an unavailable tokenizer is reported before anything is written
    domains = known if settings.domain is None else (settings.domain,)
    genres = GENRES if edition == SYNTHETIC else recast_genres(Options(carriers=source), domains, task)
    options = {**asdict(settings), "source": source and str(source), "card_version": card("ethic").version}
    reports: list[TaskReport] = []
    with CaseWriter(folder, options) as writer:
        for domain in domains:
            sizes: dict[int, list[int]] = {length: [] for length in settings.lengths}
            name = name_of(task, domain, edition)
            writer.add_cases(name, _cases(name, task, domain, settings, genres, writer, progress, sizes))
            reports += [
                TaskReport(f"{name} {format_length(length)}", own, len(own), nan)
                for length, own in sizes.items()
            ]
    return reports


def _cases(
    name: str,
    task: str,
    domain: str,
    settings: SyntheticSettings,
    genres: Mapping[str, Genre],
    writer: CaseWriter,
    progress: Progress,
    sizes: dict[int, list[int]],
) -> Iterator[Case]:
    """Yield the cases of a domain, length by length; the tokens of each go into ``sizes``."""
    fitted = settings.fitted()
    for length in settings.lengths:
        what = f"writing {name} {format_length(length)}"
        for number in progress.over(range(settings.n or CASES), what, "case"):
            own = fitted.fresh()
            made = make_case(task, domain, length, own, number, genres)
            case = made.draft.case(name, domain, own, writer)
            if task == "summarize":
                case = replace(case, inputs={**case.inputs, INPUT: [one.row() for one in made.facts]})
            sizes[length].append(case.num_tokens[own.measure.name])
            yield case


def make_case(
    task: str,
    domain: str,
    length: int,
    settings: FittedSettings,
    number: int,
    genres: Mapping[str, Genre] = GENRES,
) -> Made:
    """Return the case of a number, from the first of a few documents that makes one.

    Raises:
        InputError: none does.
    """
    make: Callable[[Maker], Made | None]
    make = {"attribute": attribute, "organize": organize}.get(task, Maker.made)
    for attempt in range(WRITINGS):
        made = make(Maker(task, domain, length, settings, number, attempt, genres))
        if made is not None:
            return made
    raise InputError(
        f"{task_name(task, domain)}: no case of {format_length(length)} could be made; use a longer length"
    )


def cached_synthetic(spec: TaskSpec, options: Options) -> CaseSet:
    """Return the synthetic or recast cases of a task, written once into the cache.

    Raises:
        InputError: no length, no carriers, one too short for a case, or a tokenizer that cannot be had.
    """
    settings = run_settings(spec.name, SyntheticSettings, options, CASES, domain=spec.split)
    family = family_of(spec.task, EDITIONS[spec.source])
    carriers = None
    if spec.source == "recast":
        carriers = carriers_of(options, CARRIER_KINDS[spec.split], spec.name)
    return cached_cases(
        spec.name,
        settings,
        card("ethic").version,
        lambda folder: build(family, carriers and carriers.parent, settings, folder),
        carriers,
    )
