"""What the site says beside runs: titles and sentences from the cards, figures from the papers, lengths, splits, judges."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.schema import InputError

if TYPE_CHECKING:
    from long_context_tasks.results.cells import Cell
    from long_context_tasks.results.evaluations import Evaluation
    from long_context_tasks.results.lengths import FamilyLength
    from long_context_tasks.results.models import Models
    from long_context_tasks.results.tidy import Collection
    from long_context_tasks.site.shown import HeatMap, SiteOptions

_PEOPLE = ("people", "human", "gold", "annotator", "rater")
_FORM = "expected what `lct judge compare FILES --out FILE` writes"
# Models whose agreement with people the ELITR-Bench paper prints, by the name of its raters.
_ELITR_RATERS = {"gpt-4-0613": "gpt-4", "prometheus-13b-v1.0": "prometheus"}


def judge_sentences(collection: "Collection", agreement: Path | None) -> dict[str, str]:
    """Judge of the collection to a sentence; judges of whom nobody knows anything are left out.

    Args:
        collection: of the site.
        agreement: what ``lct judge compare --out`` wrote; None: only what papers print.

    Raises:
        InputError: the file is not of that form.
    """
    measured = {} if agreement is None else read_agreement(agreement)
    found: dict[str, str] = {}
    rows = collection.runs.select("judge", "judge_settings", "benchmark").unique(maintain_order=True)
    for judge, settings, benchmark in rows.iter_rows():
        if judge is None or judge in found:
            continue
        model = str((json.loads(settings or "{}") or {}).get("model") or "")
        names = (judge, judge.rpartition("-")[0], model, model.rpartition("/")[2])
        sentence = next((measured[name] for name in names if name and name in measured), "")
        sentence = sentence or (published_sentence(model) if benchmark == "elitr_bench" else "")
        if sentence:
            found[judge] = sentence
    return found


def published_sentence(model: str) -> str:
    """What the ELITR-Bench paper prints on a judge's agreement with people; empty for other models.

    >>> published_sentence("gpt-4-0613").startswith("Pearson correlation with people 0.82 (gold) and 0.78 (silver)")
    True
    """
    from long_context_tasks.benchmarks.elitr_bench.paper.tables import published

    rater = _ELITR_RATERS.get(model.rpartition("/")[2].lower())
    if rater is None:
        return ""
    told = {frozenset(entry["pair"]): entry["published"] for entry in published()["fig2b"]}
    gold, silver = (told[frozenset((rater, f"{kind}-human"))] for kind in ("gold", "silver"))
    return (
        f"Pearson correlation with people {gold} (gold) and {silver} (silver scores), as the ELITR-Bench paper prints it "
        "(Fig. 2b): published, not measured here."
    )


def read_agreement(path: Path) -> dict[str, str]:
    """Rater to a sentence on its agreement with people, from the file of ``lct judge compare --out`` or ``lct orca study compare --out``.

    In a file without ``--splits`` people are the rater whose name says so (gold, human, people, annotator, rater), one in each pair.

    Raises:
        InputError: it cannot be read, has another form, or names no people.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = (
            _of_study(content, path.name)
            if "study" in content
            else _of_splits(content["comparison"], path.name)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = getattr(error, "strerror", None) or repr(error)
        raise InputError(f"{path}: no agreement of judges in it ({told}); {_FORM}") from error
    if not found:
        raise InputError(
            f"{path}: no pair of a judge and people; name the people's field gold or human, and compare again"
        )
    return found


def _of_study(content: Mapping[str, Any], name: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for one in content["study"]["correlations"]:
        first, second = str(one["first"]), str(one["second"])
        people = [rater for rater in (first, second) if _are_people(rater)]
        if len(people) != 1 or one["value"] is None:
            continue
        judge = second if people[0] == first else first
        ends = one.get("interval") or {}
        low, high = ends.get("low"), ends.get("high")
        interval = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        found.setdefault(judge, []).append(
            f"{str(one['method']).capitalize()} {float(one['value']):.2f}{interval} with {people[0]}, n = {one['n']}"
        )
    return {judge: f"Correlation with people: {'; '.join(told)} ({name})." for judge, told in found.items()}


def _of_splits(content: Mapping[str, Any], name: str) -> dict[str, str]:
    found = {}
    for one in content["figures"]:
        rho, mae = _mean(one["rho"]), _mean(one["mae"])
        if rho is None:
            continue
        error = "" if mae is None else f", mean absolute error {mae:.3f} on 0 to 1"
        found[str(one["name"])] = f"Spearman's rho with people {rho:.2f}{error}, n = {one['n']} ({name})."
    return found


def _mean(value: Any) -> float | None:
    """Of a figure over splits: a number, or an object with its mean."""
    number = value.get("mean") if isinstance(value, Mapping) else value
    return float(number) if isinstance(number, int | float) and math.isfinite(number) else None


def _are_people(name: str) -> bool:
    return any(word in name.lower() for word in _PEOPLE)


# Splits of scores that need more than their labels: by place in the context, over measured word error
# rates.


_WER = "measured_wer"


def measured_wer(collection: "Collection") -> dict[str, float]:
    """Task to the mean word error rate over its meetings, in percent, as the labels of its scores tell."""
    import polars as pl

    told = (
        collection.scores.filter(pl.col("labels").is_not_null())
        .select("run", "cluster", "labels")
        .unique()
        .with_columns(pl.col("run").cast(pl.String()), pl.col("labels").cast(pl.String()))
        .filter(pl.col("labels").str.contains(f'"{_WER}"', literal=True))
        .join(collection.runs.select("run", "task"), on="run")
        .select("task", "cluster", "labels")
        .unique()
    )
    rates: dict[str, dict[tuple[str, float], None]] = {}
    for task, cluster, labels in told.iter_rows():
        value = json.loads(labels).get(_WER)
        if isinstance(value, int | float):
            rates.setdefault(task, {})[cluster, float(value)] = None
    return {task: 100 * math.fsum(rate for _, rate in own) / len(own) for task, own in sorted(rates.items())}


def heat_maps(
    collection: "Collection",
    cells: "Sequence[Cell]",
    evaluations: "Mapping[str, Evaluation]",
    data_dir: Path | None,
) -> "tuple[list[HeatMap], list[str]]":
    """Scores over two axes, such as place in the context and its length, from the reports of the benchmarks that have such; and
    what has none, with the reason. They need the task's data.

    Args:
        collection: that the cells are of.
        cells: any.
        evaluations: run to what its files hold.
        data_dir: where the data lie.
    """
    import polars as pl

    from long_context_tasks.results.sections import Wanted, hook, scored_runs
    from long_context_tasks.site import words
    from long_context_tasks.site.shown import HeatMap

    maps, without = [], []
    for cell in sorted(cells, key=lambda cell: cell.task):
        made = hook(cell.benchmark, "report", "heat_maps")
        if made is None:
            continue
        rows = collection.runs.filter(pl.col("run").is_in(cell.runs))
        try:
            runs, _ = scored_runs(rows, evaluations, Wanted(data_dir=data_dir))
            # The repeats of a cell count together, of whatever host.
            found = made([replace(run, host="") for run in runs])
        except InputError as error:
            without.append(f"{cell.task}, {cell.model}: {error}")
            continue
        settings = words.settings_label(words.settings(cell.settings))
        who = (words.short_name(cell.task, cell.benchmark), settings, cell.judge and f"judge {cell.judge}")
        title = " · ".join(part for part in who if part)
        maps += [HeatMap(**{**vars(one), "title": title}, model=cell.model, task=cell.task) for one in found]
    return maps, _told(without)


def _told(without: Sequence[str]) -> list[str]:
    if not without:
        return []
    shown = "; ".join(list(dict.fromkeys(without))[:2]) + ("; ..." if len(without) > 2 else "")
    return [f"{len(without)} cells have no scores by place in the context: {shown}"]


# "1/24 = 4.2 %": the one form of a card that is a single number.
_CHANCE = re.compile(r"(\d+)/(\d+) = .*", re.ASCII)
_GUESS = "random_guess"
RATES: Mapping[str, str] = {
    "instruction_following": "Followed the form",
    "copy_instruction": "Copied the example",
    "answered": "Answered",
    "sections_covered": "Sections covered",
    "judged_share": "Judgements with a rating",
}
POSITION_LABELS = ("answer_position", "accepted_answer_at", "position")
POSITION_VARIANTS = ("front", "mid", "rear")


@dataclass(frozen=True)
class SiteContents:
    """What pages and tables show beside runs and cells.

    Attributes:
        options: of the site.
        lengths: effective context lengths, for the tables.
        notes: what could not be made, and why.
    """

    options: "SiteOptions"
    lengths: "Sequence[FamilyLength]"
    notes: Sequence[str]


def site_contents(
    collection: "Collection",
    cells: "Sequence[Cell]",
    evaluations: "Mapping[str, Evaluation]",
    *,
    title: str,
    models: "Models",
    data_dir: Path | None = None,
    agreement: Path | None = None,
) -> SiteContents:
    """All that the site shows beside runs, for the benchmarks that the runs are of.

    Args:
        collection: of the site.
        cells: of the collection.
        evaluations: run to what its files hold, for scores by place in the context; runs of bundles have none.
        title: of the site.
        models: claimed windows and what else the user says of models.
        data_dir: see :func:`long_context_tasks.hosts.stored_task.load_task`.
        agreement: what ``lct judge compare --out`` wrote.

    Raises:
        InputError: the file of agreement cannot be read.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.published import published
    from long_context_tasks.results.cells import pooled_cells
    from long_context_tasks.results.lengths import family_lengths
    from long_context_tasks.site.shown import SiteOptions

    judges = judge_sentences(collection, agreement)
    benchmarks = sorted(collection.runs["benchmark"].unique())
    tasks = sorted(collection.runs["task"].unique())
    specs = {task: catalogue.parse_task(task) for task in tasks}
    chance = chances(cells)
    lengths = family_lengths(collection, cells, chance)
    maps, notes = heat_maps(collection, cells, evaluations, data_dir)
    options = SiteOptions(
        title=title,
        made=date.today().isoformat(),
        published=[score for benchmark in benchmarks for score in published(benchmark)],
        groups=pooled_cells(collection, cells, pooled_groups(benchmarks)),
        lengths=lengths,
        heat_maps=maps,
        label_values=label_values(),
        positions=POSITION_LABELS,
        position_variants=POSITION_VARIANTS,
        models=models,
        measured_wer=measured_wer(collection),
        chance=chance,
        judges=judges,
        benchmarks={name: catalogue.card(name).title for name in benchmarks},
        benchmark_about={name: _about(name) for name in benchmarks},
        about={task: spec.card.about for task, spec in specs.items()},
        metrics={
            metric: about for name in benchmarks for metric, about in catalogue.card(name).metrics.items()
        },
        rates=RATES,
    )
    return SiteContents(options, lengths, notes)


def chances(cells: "Sequence[Cell]") -> dict[str, float]:
    """Task to what guessing scores: the card's number where it has one, else the mean of what guessing scores on its cases."""
    from long_context_tasks.benchmarks import catalogue

    found: dict[str, float] = {}
    for cell in cells:
        match = _CHANCE.fullmatch(catalogue.parse_task(cell.task).card.chance)
        guess = cell.official.get(_GUESS)
        if match:
            found[cell.task] = int(match[1]) / int(match[2])
        elif guess is not None and guess.n and cell.task not in found:
            found[cell.task] = guess.value
    return found


def pooled_groups(benchmarks: Sequence[str]) -> dict[str, list[str]]:
    """Group to its tasks, of tasks whose mean over all splits counts every case the same."""
    from long_context_tasks.benchmarks import catalogue

    return {
        f"{benchmark}_{name}": [f"{benchmark}_{name}_{split}" for split in card.splits]
        for benchmark in benchmarks
        for name, card in catalogue.card(benchmark).tasks.items()
        if card.pooled and len(card.splits) > 1
    }


def label_values() -> dict[str, dict[str, str]]:
    """Label to its values in reading order with words for them."""
    return {
        "answer_position": {"B": "beginning", "M": "middle", "E": "end", "S": "several places"},
        "question_type": {"who": "who", "what": "what", "when": "when", "howmany": "how many"},
        "position": {"front": "front", "mid": "middle", "rear": "rear"},
    }


def _about(benchmark: str) -> str:
    from long_context_tasks.benchmarks import catalogue

    card = catalogue.card(benchmark)
    paper = ", ".join(
        filter(None, (card.paper.get("title"), card.paper.get("authors"), card.paper.get("venue")))
    )
    return f"{' '.join(card.about.split())} Paper: {paper}."
