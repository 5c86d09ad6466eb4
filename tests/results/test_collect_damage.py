"""Whatever a file holds in place of what belongs there: the run is read, or named and left out; nothing else happens."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from collected_runs import CONVERSATION, Run, Turn, simple, write_lm_eval, write_opencompass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_context_tasks.results import find_runs
from long_context_tasks.results.case_pages import shown_cases
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.evaluations import judged_path, write_judged
from long_context_tasks.results.tables import csv_text, markdown_text, terminal_rows
from long_context_tasks.schema import InputError

OTHER = st.sampled_from(
    [None, True, -1, 10**30, 0.5, float("nan"), float("inf"), "", "x", "[1]", [], [[]], [None], {}, {"a": 1}]
)
FILES = (
    "results_*.json",
    "samples_*.jsonl",
    "predictions/*/*.json",
    "results/*/*.json",
    "judged/*/*.json",
    "judged/*/*.jsonl",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain run and a conversation of each host, the latter judged again."""
    root = tmp_path_factory.mktemp("sound")
    verdict = {"score": 7.0, "feedback": "fine", "seed": 1}
    turn = Turn({"judge_score": 7.0, "answered": 1.0}, verdicts=(verdict,))
    talk = {"m1": [turn, turn], "m2": [turn]}
    judge = {"name": "j", "seeds": [1]}
    for task, cases, own in (
        ("ada_leval_bestanswer_1k", simple([1.0, None]), {}),
        (CONVERSATION, talk, judge),
    ):
        write_lm_eval(root / "lm" / task, Run(cases, task=task, judge=own))
        write_opencompass(root / "oc", Run(cases, task=task, judge=own, made="20260101_100000"))
    for run in find_runs(root).runs:
        description = {"name": "later", "seeds": [1]}
        row = {"case": "m1", "turn": 0, "repeat": 0, "cluster": "m1", "scores": {"judge_score": 3.0}}
        rows = [{**row, "reasons": {"judge_score": "empty"}, "verdicts": [verdict]}]
        numbers = {"judge": description, "numbers": {"n": 1}, "headline": "judge_score", "version": 1}
        write_judged(judged_path(run, "later", description), numbers, rows)
    return root


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a value, four levels deep."""
    yield at
    if len(at) < 4:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield from places(value[key], (*at, key))


def replaced(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    value[at[0]] = replaced(value[at[0]], at[1:], other)
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=st.sampled_from(FILES), other=OTHER, draw=st.data())
def test_any_value_in_any_place(sound: Path, which: str, other: Any, draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "runs"
        shutil.copytree(sound, root)
        path = draw.draw(st.sampled_from(sorted(root.rglob(which))))
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        value = json.loads(lines[0])
        lines[0] = json.dumps(replaced(value, draw.draw(st.sampled_from(list(places(value)))), other))
        path.write_text("\n".join(lines) + "\n")
        collected = collect_with_files([root])
        collection = collected.collection
        assert set(collected.evaluations) == set(collection.runs["run"])
        cells = cells_of(collection)
        csv_text(collection, cells), markdown_text(cells), terminal_rows(cells)
        for key, evaluation in collected.evaluations.items():
            # A later judge's scores may be sound where the host's file is not.
            with suppress(InputError):
                for page in shown_cases(key, evaluation, None, private=True):
                    assert all(isinstance(text, str) for text in page.labels.values())
        # The others are not touched by it.
        assert len(collection.runs) + len(collection.problems) >= 5
