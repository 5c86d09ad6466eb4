"""Everything on the site in addition to runs: from the cards, papers, benchmark reports and the user."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.published import human_scores, published
from long_context_tasks.results.case_pages import MOST_FOR_PAGES
from long_context_tasks.results.cells import Cell, pooled_cells
from long_context_tasks.results.checks import Failures, left_out
from long_context_tasks.results.collect import CollectedRuns
from long_context_tasks.results.lengths import FamilyLength, chances, family_lengths, settings_without_length
from long_context_tasks.results.models import Models
from long_context_tasks.results.sections import (
    SectionOptions,
    Tasks,
    benchmark_sections,
    scored_runs,
    with_sections,
)
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card, LabelCard
from long_context_tasks.schema.files import content_of, loads
from long_context_tasks.schema.report import HeatMap, Section, only
from long_context_tasks.site import words

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

_PEOPLE = ("people", "human", "gold", "annotator", "rater")
_FORM = "expected what `lct judge compare FILES --out FILE` writes"
_WER = "measured_wer"


class CellMap(NamedTuple):
    """A heat map for a model on a task at all lengths; the model is empty if the map describes only the tasks."""

    model: str
    tasks: Sequence[str]
    map: HeatMap


@dataclass(frozen=True)
class SiteOptions:
    title: str = "Long-context leaderboard"  # the leaderboard's title
    made: str = ""  # the site's date as text; empty to omit it
    # Published scores; a benchmark's page shows all of them, a task's page its own.
    published: "Sequence[PublishedScore]" = ()
    groups: Sequence[Cell] = ()  # cells that pool groups of tasks, see pooled_cells
    lengths: Sequence[FamilyLength] = ()  # effective context lengths
    heat_maps: Sequence[CellMap] = ()  # heat maps of models on tasks
    # Benchmark to the sections of its own report.
    sections: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    # Benchmark to its labels, as its card describes them; those that name a position in the context are also plotted.
    labels: Mapping[str, Mapping[str, LabelCard]] = field(default_factory=dict)
    # Task variants that move the answer, in order; these are plotted together.
    position_variants: Sequence[str] = ()
    models: Models = field(
        default_factory=Models
    )  # the user's models with claimed windows and other metadata
    # Task to the measured word error rate of its transcripts, in percent.
    measured_wer: Mapping[str, float] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)  # task to its random-guess score
    # Judge to a sentence about it, such as its agreement with people.
    judges: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)  # benchmark to title
    # Benchmark to a sentence or two about it, with the paper.
    benchmark_about: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)  # task or task family to a sentence
    # Benchmark to its metrics, with a sentence on each.
    metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Task to the metric that follows the paper's code, if there is one.
    official: Mapping[str, str] = field(default_factory=dict)
    # Metrics that describe how a model responds rather than how well, with their column headings.
    rates: Mapping[str, str] = field(default_factory=dict)
    # Names of files that the caller writes next to the first page, which links to them.
    downloads: Sequence[str] = ()
    submit_to: str = ""  # URL of the repository that accepts new results; empty for none


def site_contents(
    collected: CollectedRuns,
    cells: Sequence[Cell],
    *,
    data_dir: Path | None = None,
    agreement: Path | None = None,
    threshold: float | None = None,
) -> tuple[SiteOptions, list[str], list[str]]:
    """Return the site's contents in addition to runs, notes on parts that lack data, and problems of benchmarks' own code."""
    collection = collected.collection
    benchmarks = sorted(collection.runs["benchmark"].unique())
    cards = {name: catalogue.card(name) for name in benchmarks}
    labels = [label for card in cards.values() for label in card.labels.values()]
    moved = [value for label in labels if label.position for value in label.values]
    variants = {v.name for card in cards.values() for task in card.tasks.values() for v in task.variants}
    specs = {task: catalogue.parse_task(task) for task in sorted(collection.runs["task"].unique())}
    chance = chances(cells)
    failures: Failures = {}
    maps, notes = heat_maps(collected, cells, data_dir, failures)
    without_maps = "".join(notes)
    sections: dict[str, Sequence[Section]] = {}
    for benchmark in sorted({*benchmarks} & {*with_sections()}):
        try:
            sections[benchmark] = benchmark_sections(
                benchmark, collected, SectionOptions(data_dir=data_dir, most=MOST_FOR_PAGES)
            )
        except InputError as error:
            # The cause is often the same as for missing heat maps, so one note suffices.
            if str(error) not in without_maps:
                notes.append(f"{benchmark}: {error}")
        except Exception as error:  # a plug-in may fail; the rest of the site is built without it
            failures[f"{benchmark}: sections of its own report"] = error
    judges = judge_sentences(collection, agreement, failures)
    options = SiteOptions(
        made=date.today().isoformat(),
        published=[
            *human_scores(specs.values()),
            *(score for name in benchmarks if name not in catalogue.READ_ONLY for score in published(name)),
        ],
        groups=pooled_cells(collection, cells, pooled_groups(benchmarks)),
        lengths=family_lengths(collection, cells, chance, threshold),
        heat_maps=maps,
        sections=sections,
        labels={name: card.labels for name, card in cards.items()},
        position_variants=[value for value in moved if value in variants],
        models=collected.models,
        measured_wer=measured_wer(collection),
        chance=chance,
        judges=judges,
        benchmarks={name: card.title for name, card in cards.items()},
        benchmark_about={name: _about(card) for name, card in cards.items()},
        about={task: spec.card.about for task, spec in specs.items()},
        official={task: spec.card.official for task, spec in specs.items()},
        metrics={name: card.metrics for name, card in cards.items()},
        rates={metric: heading for card in cards.values() for metric, heading in card.rates.items()},
    )
    return options, notes, left_out(failures)


def pooled_groups(benchmarks: Sequence[str]) -> dict[str, list[str]]:
    """Return the tasks in each group whose mean over all splits weights every case equally."""
    return {
        f"{benchmark}_{name}": [f"{benchmark}_{name}_{split}" for split in card.splits]
        for benchmark in benchmarks
        for name, card in catalogue.card(benchmark).tasks.items()
        if card.pooled and len(card.splits) > 1
    }


def _about(card: Card) -> str:
    paper = ", ".join(
        filter(None, (card.paper.get("title"), card.paper.get("authors"), card.paper.get("venue")))
    )
    return " ".join([*card.about.split(), *([f"Paper: {paper}."] if paper else [])])


def judge_sentences(collection: Collection, agreement: Path | None, failures: Failures) -> dict[str, str]:
    """Return a sentence on each judge's agreement with people; the user's file overrides papers."""
    measured = {} if agreement is None else read_agreement(agreement)
    sentences: dict[str, str] = {}
    rows = collection.runs.select("judge", "judge_settings", "benchmark").unique(maintain_order=True)
    for judge, settings, benchmark in rows.iter_rows():
        # The first benchmark that describes a judge decides.
        if judge is None or judge in sentences:
            continue
        model = str((loads(settings or "{}") or {}).get("model") or "")
        names = (judge, judge.rpartition("-")[0], model, model.rpartition("/")[2])
        sentence = next((measured[name] for name in names if name and name in measured), "")
        try:
            sentence = sentence or catalogue.benchmark(benchmark).judge_agreement(model)
        except Exception as error:  # raised by a plug-in
            failures.setdefault(f"{benchmark}: sentences on its judges", error)
        if sentence:
            sentences[judge] = sentence
    return sentences


def read_agreement(path: Path) -> dict[str, str]:
    """Read a sentence on each rater's agreement with people from a file.

    The file is written by ``lct judge compare`` or ``lct orca compare``.
    """
    try:
        content = loads(content_of(path))
        sentences = (
            _of_study(content, path.name)
            if "study" in content
            else _of_splits(content["comparison"], path.name)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or repr(error)
        raise InputError(f"{path}: no agreement of judges in it ({reason}); {_FORM}") from error
    if not sentences:
        raise InputError(
            f"{path}: no pair of a judge and people; name the people's field gold or human, and compare again"
        )
    return sentences


def _of_study(content: Mapping[str, Any], name: str) -> dict[str, str]:
    figures_of: dict[str, list[str]] = {}
    for row in content["study"]["correlations"]:
        first, second = str(row["first"]), str(row["second"])
        people = [rater for rater in (first, second) if _are_people(rater)]
        if len(people) != 1 or row["value"] is None:
            continue
        judge = second if people[0] == first else first
        ends = row.get("interval") or {}
        low, high = ends.get("low"), ends.get("high")
        interval = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        figures_of.setdefault(judge, []).append(
            f"{str(row['method']).capitalize()} {float(row['value']):.2f}{interval} with {people[0]}, n = {row['n']}"
        )
    return {
        judge: f"Correlation with people: {'; '.join(figures)} ({name})."
        for judge, figures in figures_of.items()
    }


def _of_splits(content: Mapping[str, Any], name: str) -> dict[str, str]:
    sentences = {}
    for row in content["figures"]:
        rho, mae = _mean(row["rho"]), _mean(row["mae"])
        if rho is None:
            continue
        error = "" if mae is None else f", mean absolute error {mae:.3f} on 0 to 1"
        sentences[str(row["name"])] = f"Spearman's rho with people {rho:.2f}{error}, n = {row['n']} ({name})."
    return sentences


def _mean(value: Mapping[str, Any]) -> float | None:
    number = value["mean"]
    return float(number) if isinstance(number, int | float) and math.isfinite(number) else None


def _are_people(name: str) -> bool:
    return any(word in name.lower() for word in _PEOPLE)


def measured_wer(collection: Collection) -> dict[str, float]:
    """Return each task's mean word error rate over clusters, in percent, from its score labels."""
    texts = collection.scores.select(pl.col("labels").unique().cast(pl.String()))
    noisy = texts.filter(pl.col("labels").str.contains(f'"{_WER}"', literal=True))
    runs = collection.runs.select(pl.col("run").cast(pl.Categorical()), "task")
    labelled = (
        collection.scores.join(noisy.cast(pl.Categorical()), on="labels", how="semi")
        .join(runs, on="run")
        .select("task", pl.col("cluster", "labels").cast(pl.String()))
        .unique()
    )
    rates: dict[str, dict[tuple[str, float], None]] = {}
    for task, cluster, labels in labelled.iter_rows():
        value = loads(labels).get(_WER)
        if isinstance(value, int | float):
            rates.setdefault(task, {})[cluster, float(value)] = None
    return {
        task: 100 * math.fsum(rate for _, rate in of_task) / len(of_task)
        for task, of_task in sorted(rates.items())
    }


def _of_one_map(cell: Cell) -> tuple[Hashable, ...]:
    """Return what cells have in common that differ only in their length."""
    settings = settings_without_length(cell.settings)
    who = (cell.benchmark, cell.family, cell.variant, cell.wer, cell.model)
    return (*who, cell.version, cell.judge, cell.metric, settings)


def heat_maps(
    collected: CollectedRuns, cells: Sequence[Cell], data_dir: Path | None, failures: Failures
) -> "tuple[list[CellMap], list[str]]":
    """Return the heat maps of cells that differ only in their length, and a note on cells without one.

    ``failures`` is updated in place.
    """
    maps, without, tasks = [], [], Tasks(SectionOptions(data_dir=data_dir, most=MOST_FOR_PAGES))
    rows = {row["run"]: row for row in collected.collection.runs.iter_rows(named=True)}
    # Heat maps need the tasks' data. Sorted by task, so that most are loaded once.
    groups: dict[Hashable, list[Cell]] = {}
    for each in sorted(cells, key=attrgetter("place")):
        if catalogue.benchmark(each.benchmark).has_heat_maps:
            groups.setdefault(_of_one_map(each), []).append(each)
    todo = list(groups.values())
    for members in todo:
        cell, ids = members[0], {run for member in members for run in member.runs}
        try:
            runs, _ = scored_runs(collected, tasks, [row for run, row in rows.items() if run in ids])
            # The host is dropped, so that a cell's repeats on several hosts count together.
            made = catalogue.benchmark(cell.benchmark).heat_maps([replace(run, host="") for run in runs])
            heat = only(made, "heat_maps", HeatMap)
        except InputError as error:
            if len(members) > 1:  # each length on its own, without those that lack their data
                todo += [[member] for member in members]
            else:
                without.append(f"{cell.task}, {cell.model}: {error}")
            continue
        except Exception as error:  # a plug-in may fail; the rest of the site is built without it
            failures.setdefault(f"{cell.benchmark}: heat maps", error)
            continue
        names = list(dict.fromkeys(member.task for member in members))
        alone = len(members) == 1
        settings = cell.settings if alone else settings_without_length(cell.settings)
        label = words.setting_label(words.settings(settings), cell.judge)
        name = words.short_name(cell.task if alone else cell.family, cell.benchmark)
        title = words.joined(name, "" if alone else cell.variant, label)
        maps += [CellMap(cell.model, names, replace(each, title=title)) for each in heat]
    if not without:
        return maps, []
    first = "; ".join(list(dict.fromkeys(without))[:2]) + ("; ..." if len(without) > 2 else "")
    return maps, [f"{len(without)} cells have no scores by place in the context: {first}"]
