"""Cases as chunks: a list for each run, packs of cases, and each prompt by itself, loaded when it is asked for."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from long_context_tasks.report.case_page import ShownCase
from long_context_tasks.report.cells import Cell
from long_context_tasks.report.site import words
from long_context_tasks.report.site.chunks import ChunkStore
from long_context_tasks.report.site.run_links import RunFacts

PACK = 64_000
"""Characters of cases in one pack, about: small enough to come at once, large enough that files stay few."""


@dataclass
class _Run:
    """A run's cases so far: rows of the list, and the pack that is being filled."""

    rows: list[list[Any]] = field(default_factory=list)
    waiting: list[list[Any]] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True)
class WrittenCases:
    """What became of the cases.

    Attributes:
        lists: run to the chunk with the list of its cases.
        n_cases: all of them.
    """

    lists: Mapping[str, str]
    n_cases: int


def write_cases(
    cases: Iterable[ShownCase],
    by_run: Mapping[str, Cell],
    facts: Mapping[str, RunFacts],
    slugs: Mapping[str, str],
    store: ChunkStore,
) -> WrittenCases:
    """Store all cases, one at a time in memory beside a pack for each run.

    Args:
        cases: in any order; those of runs that are not in ``by_run`` are left out.
        by_run: run to the cell that it is in.
        facts: run to what tells it from others.
        slugs: model and task to the names of their pages, under ``model/...`` and ``task/...``.
        store: for the chunks.
    """
    runs: dict[str, _Run] = {}
    for case in cases:
        cell = by_run.get(case.run)
        if cell is None:
            continue
        run = runs.setdefault(case.run, _Run())
        shown = _case(case, store)
        run.rows.append(_row(case, cell.metric))
        run.waiting.append(shown)
        run.size += len(json.dumps(shown, ensure_ascii=False))
        if run.size >= PACK:
            _flush(run, store)
    lists = {}
    for name, run in runs.items():
        _flush(run, store)
        cell = by_run[name]
        lists[name] = store.put(
            {
                "run": name,
                "model": cell.model,
                "task": cell.task,
                "modelPage": slugs[f"model/{cell.model}"],
                "taskPage": slugs[f"task/{cell.task}"],
                "metric": cell.metric,
                "points": int(cell.points),
                "facts": _facts(facts.get(name), words.settings(cell.settings)),
                "cases": run.rows,
            }
        )
    return WrittenCases(lists, sum(len(run.rows) for run in runs.values()))


def _facts(run: RunFacts | None, settings: str) -> list[list[str]]:
    """What the page of a run's cases says of it: names and texts."""
    named = (
        ()
        if run is None
        else (("Host", run.host), ("Judge", run.judge), ("Made", words.day(run.made)), ("Seed", run.seed))
    )
    return [[name, text] for name, text in (*named, ("Settings", settings)) if text]


def _flush(run: _Run, store: ChunkStore) -> None:
    """Store the waiting cases; their rows then say where they are."""
    if not run.waiting:
        return
    name = store.put(run.waiting)
    for place, row in enumerate(run.rows[-len(run.waiting) :]):
        row += [name, place]
    run.waiting, run.size = [], 0


def _row(case: ShownCase, metric: str) -> list[Any]:
    """Of the list: id, scores of the turns, first reason, labels."""
    reason = next((turn.reason for turn in case.turns if turn.reason), None)
    return [case.case, [turn.scores.get(metric) for turn in case.turns], reason, _pairs(case.labels)]


def _case(case: ShownCase, store: ChunkStore) -> list[Any]:
    """Of a pack: why something is withheld, the prompt's chunk with its length and messages, and the turns."""
    prompt = None
    if case.prompt is not None:
        messages = [[role, content] for role, content in case.prompt]
        prompt = [store.put(messages), sum(len(content) for _, content in case.prompt), len(messages)]
    turns = [
        [turn.question, turn.gold, turn.response, _pairs(turn.scores), turn.reason, list(turn.feedback)]
        for turn in case.turns
    ]
    return [case.withheld, prompt, turns]


def _pairs(mapping: Mapping[str, Any]) -> list[list[Any]]:
    return [[key, value] for key, value in mapping.items()]
