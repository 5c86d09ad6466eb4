"""What ``lct plan`` shows: the table of a plan with its notes, and the missing cells with the commands that fill them."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.hosts.opencompass.results import find_setups
from long_context_tasks.hosts.turns import cases_digest
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.plan.commands_for import Command, Model, Place, commands, without_judge
from long_context_tasks.results.plan.cost import (
    NotPlanned,
    Plan,
    Price,
    Rate,
    TaskPlan,
    load_tasks,
)
from long_context_tasks.results.plan.missing import DONE, Cell, find_cells, models_of, unassigned, wanted
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.report import Table

_NAMED = 5


def plan_table(plan: Plan, model: str, rate: Rate | None, price: Price | None) -> Table:
    """A row for each task, and the totals."""
    settings = plan.settings
    own = [name for name in settings.counters if name != CL100K]
    columns = (
        *("task", "cases", "left out", "requests", "prompts, cl100k", *(["prompts, model"] if own else [])),
        *("own history", "answers", "longest", *(["hours"] if rate else []), *(["price"] if price else [])),
    )

    def cells(one: TaskPlan) -> tuple[str, ...]:
        tokens = [one.prompt_tokens.get(name, 0) for name in (CL100K, *own)]
        numbers = [one.cases, len(one.does_not_fit), one.requests, *tokens]
        numbers += [one.history_tokens, one.answer_tokens, one.longest.get(settings.tokenizer, 0)]
        row = [one.task, *(f"{number:,}" for number in numbers)]
        row += [f"{one.hours(rate, settings.tokenizer):,.2f}"] if rate else []
        row += [f"{one.price(price, settings.tokenizer):,.2f}"] if price else []
        return tuple(row)

    window = (
        f"window {settings.window:,}" if settings.window else "window not known: everything is taken to fit"
    )
    title = f"{f'{model}: ' if model else ''}tokens, {window}"
    return Table("plan", title, columns, tuple(map(cells, (*plan.tasks, plan.total))))


def plan_notes(plan: Plan) -> list[str]:
    """What a reader of the table must know."""
    settings = plan.settings
    expected = (
        "the whole budget, the most"
        if settings.answer_tokens is None
        else f"{settings.answer_tokens:,} tokens"
    )
    lines = [
        f"Tokens of prompts are without chat template; an answer is taken to have {expected}. "
        f"Windows, hours and prices go by {settings.tokenizer}."
    ]
    if plan.total.history_tokens:
        lines.append(
            "In conversations every turn sends the history again: its known texts count as prompts, the model's own earlier answers "
            "as own history."
        )
    lines += [
        f"{one.task}: {len(one.does_not_fit)} of {one.cases} cases do not fit the window: {_listed(one.does_not_fit)}"
        for one in plan.tasks
        if one.does_not_fit
    ]
    if judged := [one.task for one in plan.tasks if one.judged]:
        lines.append(f"A judge reads the answers of {', '.join(judged)}; its calls are not in the plan.")
    return lines


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def plan_document(
    plan: Plan, model: str, rate: Rate | None, notes: Sequence[str], price: Price | None
) -> dict[str, Any]:
    """A plan for ``--json``; ``notes`` are those on the rate."""
    settings = plan.settings

    def row(one: TaskPlan) -> dict[str, Any]:
        return {
            **asdict(one),
            "hours": one.hours(rate, settings.tokenizer) if rate else None,
            "price": one.price(price, settings.tokenizer) if price else None,
        }

    return {
        "model": model or None,
        "tokenizer": settings.tokenizer,
        "window": settings.window,
        "repeats": settings.repeats,
        "rate": {**asdict(rate), "notes": list(notes)} if rate else None,
        "tasks": [row(one) for one in plan.tasks],
        "total": row(plan.total),
        "not_planned": [asdict(one) for one in plan.not_planned],
    }


def facts_of_folder(model: str) -> dict[str, str]:
    """Tokenizer and window of a model in a folder; nothing of any other."""
    folder = Path(model).expanduser()
    known: dict[str, str] = {}
    if (folder / "tokenizer.json").is_file():
        known["tokenizer"] = str(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        rows = [config, config.get("text_config") or {}]
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        found = [row[name] for row in rows for name in names if isinstance(row.get(name), int)]
    except (OSError, ValueError, AttributeError):
        found = []
    return {**known, **({"window": str(found[0])} if found else {})}


@dataclass(frozen=True)
class Missing:
    """The cells of some models and tasks, and what fills those that are not done.

    Attributes:
        cells: all of them.
        commands: to type.
        problems: files that cannot be used and do not say which cell they are of.
        notes: what the commands lack.
        without_data: tasks whose cases could not be counted.
    """

    cells: tuple[Cell, ...]
    commands: tuple[Command, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    without_data: tuple[NotPlanned, ...]

    @property
    def done(self) -> bool:
        """Whether all cells are done."""
        return all(cell.state == DONE for cell in self.cells)

    def table(self) -> Table | None:
        """The cells that are not done; None where all are."""
        rows = [
            (cell.model, cell.task, cell.state, cell.host or "", cell.why)
            for cell in self.cells
            if cell.state != DONE
        ]
        columns = ("model", "task", "state", "host", "why")
        return (
            Table("missing", "Cells that are not done", columns, tuple(rows), frozenset(columns))
            if rows
            else None
        )

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "cells": [
                {
                    **{
                        name: getattr(cell, name)
                        for name in ("model", "task", "state", "why", "remedy", "host")
                    },
                    "folder": None if cell.folder is None else str(cell.folder),
                    "made": cell.run.made if cell.run else None,
                }
                for cell in self.cells
            ],
            "commands": [{**asdict(one), "text": one.text} for one in self.commands],
            "problems": list(self.problems),
            "notes": list(self.notes),
            "data_missing": [asdict(one) for one in self.without_data],
        }


def find_missing(
    names: Sequence[str],
    results: Sequence[Path],
    models: Sequence[Model],
    options: Options,
    place: Place,
    environ: Mapping[str, str],
    loading: Callable[[], AbstractContextManager[None]],
) -> Missing:
    """Compare what was run with what should be.

    Args:
        names: of tasks.
        results: folders with runs, and bundles.
        models: that the user named; none: those of the runs.
        options: of the runs.
        place: where new runs go.
        environ: may name a judge.
        loading: the context in which data are read.

    Raises:
        InputError: no such folder, or no model is known.
    """
    found = [find_runs_and_bundles(path) for path in results]
    setups = [setup for path in results for setup in find_setups(path)]
    tasks, without_data = [], []
    for name in names:
        with loading():
            loaded, failed = load_tasks([name], options)
        without_data += failed
        # Only the counts stay in memory.
        reason = failed[0].message if failed else ""
        task = loaded[0] if loaded else None
        tasks.append(wanted(name, task, options, reason, cases_digest(task) if task else ""))
    all_models = models_of(found, setups, [model.name for model in models])
    if not all_models:
        raise InputError(
            "no runs of our tasks found, so that no model is known; name the models with --model"
        )
    cells = find_cells(tasks, all_models, found, setups, [model.name for model in models if model.base])
    made = commands(cells, models, place, [run for one in found for run in one.runs])
    unjudged = [] if environ.get("LCT_JUDGE_MODEL") else without_judge(cells, made)
    notes = (
        f"A judge reads the answers of {len(unjudged)} of these tasks ({_listed(unjudged)}), and none is named: set LCT_JUDGE to a judge "
        "file before the commands, or have stored answers judged later with `lct judge run`.",
    )
    return Missing(
        tuple(cells),
        tuple(made),
        tuple(problem.message for problem in unassigned(found)),
        notes if unjudged else (),
        tuple(without_data),
    )
