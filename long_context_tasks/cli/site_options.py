"""What the site says beside runs: titles and sentences from the cards, figures from the papers, lengths, splits, judges."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from long_context_tasks.report.cells import Cell
    from long_context_tasks.report.lengths import FamilyLength
    from long_context_tasks.report.models import Models
    from long_context_tasks.report.schema import Collection
    from long_context_tasks.report.site.shown import PublishedRow, SiteOptions
    from long_context_tasks.runs.evaluations import Evaluation

# "1/24 = 4.2 %": the one form of a card that is a single number.
_CHANCE = re.compile(r"(\d+)/(\d+) = .*", re.ASCII)
_GUESS = "random_guess"
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
        data_dir: see :func:`long_context_tasks.runs.tasks.load_task`.
        agreement: what ``lct judge compare --out`` wrote.

    Raises:
        InputError: the file of agreement cannot be read.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.cli.judge_agreement import judge_sentences
    from long_context_tasks.cli.site_splits import heat_maps, measured_wer
    from long_context_tasks.report.lengths import family_lengths
    from long_context_tasks.report.pooled import pooled_cells
    from long_context_tasks.report.site.shown import ModelNote, ShownLength, SiteOptions
    from long_context_tasks.report.site.words import settings as in_words

    judges = judge_sentences(collection, agreement)
    benchmarks = sorted(collection.runs["benchmark"].unique())
    tasks = sorted(collection.runs["task"].unique())
    specs = {task: catalogue.parse_task(task) for task in tasks}
    chance = chances(cells)
    lengths = family_lengths(collection, cells, chance)
    maps, notes = heat_maps(cells, evaluations, data_dir)
    options = SiteOptions(
        title=title,
        made=date.today().isoformat(),
        published=[row for benchmark in benchmarks for row in published_rows(benchmark)],
        groups=pooled_cells(collection, cells, pooled_groups(benchmarks)),
        lengths=[
            ShownLength(
                model=one.model,
                family=one.family,
                length=str(one.found),
                interval=(one.found.interval.low, one.found.interval.high),
                definition=one.found.definition,
                variant=one.variant,
                judge=one.judge or "",
                settings=in_words(one.settings),
                benchmark=one.benchmark,
            )
            for one in lengths
        ],
        heat_maps=maps,
        label_values=label_values(),
        positions=POSITION_LABELS,
        position_variants=POSITION_VARIANTS,
        claimed_windows=models.windows,
        models={
            name: ModelNote(one.licence, one.parameters, _shown_aliases(name, one.aliases))
            for name, one in models.facts.items()
        },
        measured_wer=measured_wer(collection),
        chance=chance,
        judges=judges,
        benchmarks={name: catalogue.card(name).title for name in benchmarks},
        benchmark_about={name: _about(name) for name in benchmarks},
        about={task: spec.card.about for task, spec in specs.items()},
        metrics={
            metric: about for name in benchmarks for metric, about in catalogue.card(name).metrics.items()
        },
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


def published_rows(benchmark: str) -> "list[PublishedRow]":
    """The figures of a benchmark's paper."""
    from long_context_tasks.benchmarks.published import published
    from long_context_tasks.report.site.shown import PublishedRow

    return [
        PublishedRow(
            model=one.model,
            task=one.task,
            metric=one.metric,
            value=one.score,
            points=one.unit == "points",
            source=one.source,
            n=one.n,
            setting=one.setting,
            subset=one.subset,
            benchmark=benchmark,
        )
        for one in published(benchmark)
    ]


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


def _shown_aliases(name: str, aliases: Sequence[str]) -> list[str]:
    from long_context_tasks.report.models import shown_name

    return [one for one in dict.fromkeys(map(shown_name, aliases)) if one != name]
