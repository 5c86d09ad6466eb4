"""A gate's files: the verdict as JSON, the endpoints' runs for later gates, and a page with the flips."""

import importlib.resources
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.gate.run import Gate, Pair
from long_context_tasks.gate.stacks import SIDES, Endpoint, GateCell, Stack
from long_context_tasks.hosts import stored
from long_context_tasks.hosts.own.score import score_own
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results.case_pages import ShownCase, shown_cases
from long_context_tasks.results.evaluations import unjudged_evaluation
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.files import make_folder, write_json, write_whole
from long_context_tasks.site.build import templates
from long_context_tasks.site.contents import SiteOptions

JSON, PAGE = "gate.json", "index.html"
_MOST_FLIPS = 200
_SHOWN = 2_000
# The page has no plots or search, so it needs only these files of the site.
_ASSETS = ("site.css", "plot.css", "theme.js", "core.js", "icon.svg")


def document_of(gate: Gate) -> dict[str, Any]:
    return {
        "format": 1,
        "verdict": gate.verdict,
        "line": gate.line(),
        "a": gate.a,
        "b": gate.b,
        "margin": gate.settings.margin,
        "alpha": gate.settings.alpha,
        "loss": gate.loss,
        "lengths": [
            {
                "length": one.length,
                "verdict": one.look.verdict,
                "loss": one.look.mean,
                "loss_low": one.look.low,
                "loss_high": one.look.high,
                "documents": one.documents,
                "documents_available": one.available,
                "cases": len(one.pairs),
            }
            for one in gate.lengths
        ],
        "documents": gate.documents,
        "documents_available": gate.available,
        "cases": len(gate.pairs),
        "cases_left_out": gate.left_out,
        "turns_without_answer_of_a": gate.lacking,
        "cells": [asdict(row) for row in gate.means],
        "faults": [asdict(fault) for fault in gate.faults],
        "flips": [asdict(pair) for pair in gate.flips],
    }


def write_gate(
    gate: Gate, stacks: Sequence[Stack], cells: Sequence[GateCell], out: Path, *, private: bool = False
) -> Path:
    """Write the endpoints' runs, the page and last ``gate.json``; return the page's path."""
    make_folder(out, remedy="choose another --out")
    runs = {cell.name: dict(cell.runs) for cell in cells}
    models = [stack.config.model for stack in stacks if isinstance(stack, Endpoint)]
    for stack in stacks:
        for number, cell in enumerate(cells):
            given = {
                case: answer.responses
                for (name, case), answer in gate.answers[stack.side].items()
                if name == cell.name
            }
            if isinstance(stack, Endpoint) and cell.task is not None and given:
                # Several cells may belong to one task, so each gets its own folder.
                place = out / "runs" / stack.side / f"{number:02d}"
                shutil.rmtree(place, ignore_errors=True)  # of an earlier run of this gate
                # Readers of results take runs of one model for repeats.
                model = stack.config.model + f" ({stack.side})" * (len(models) > len(set(models)))
                runs[cell.name][stack.side] = score_own(cell.task, given, model, place, "lct gate")
    make_folder(out / "assets", remedy="choose another --out")
    text = (
        templates()
        .get_template("gate.html.j2")
        .render(
            options=SiteOptions(title="Gate", downloads=(JSON,)),
            page="index",
            root="",
            styles="",
            gate=gate,
            flips=_shown_flips(gate, cells, runs, private),
            n_flips=len(gate.flips),
            sides=SIDES,
            most=_SHOWN,
        )
    )
    assets = importlib.resources.files("long_context_tasks.site") / "assets"
    try:
        for name in _ASSETS:
            write_whole(out / "assets" / name, (assets / name).read_bytes())
        # Lone surrogates cannot be encoded as UTF-8.
        write_whole(out / PAGE, text.encode("utf-8", "replace"))
        write_json(out / JSON, document_of(gate))
    except InputError:
        # The disk is full: a page without its style or verdict looks like a finished one.
        for path in (out / PAGE, *(out / "assets" / name for name in _ASSETS)):
            path.unlink(missing_ok=True)
        raise
    return out / PAGE


@dataclass(frozen=True)
class Flip:
    """A case whose score flipped, as shown for each side; the page must escape its texts."""

    pair: Pair
    shown: Mapping[str, ShownCase]


def _shown_flips(
    gate: Gate, cells: Sequence[GateCell], runs: Mapping[str, Mapping[str, StoredRun]], private: bool
) -> list[Flip]:
    pairs = gate.flips[:_MOST_FLIPS]
    shown: dict[tuple[str, str], dict[str, ShownCase]] = {}
    for cell in cells:
        wanted = {pair.case for pair in pairs if pair.cell == cell.name}
        for side, run in runs[cell.name].items() if wanted else ():
            task = cell.task or _task_of(run)
            for case in shown_cases(side, unjudged_evaluation(run), task, private=private):
                if case.case in wanted:
                    shown.setdefault((cell.name, case.case), {}).setdefault(side, case)
    return [Flip(pair, shown.get((pair.cell, pair.case), {})) for pair in pairs]


def _task_of(run: StoredRun) -> LoadedTask | None:
    try:
        return stored.load_task(run)
    except InputError:
        return None
