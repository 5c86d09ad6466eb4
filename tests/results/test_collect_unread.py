"""What of the files of hosts and judges cannot be read is named, and the rest is read, whatever a file holds."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from collected_runs import (
    CONVERSATION,
    METRICS,
    TASK,
    TIME,
    UNJUDGED,
    Run,
    Turn,
    judged_later,
    rows,
    simple,
    write_lm_eval,
    write_opencompass,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_context_tasks.results import find_runs
from long_context_tasks.results.case_pages import shown_cases
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.results.evaluations import judged_path, write_judged
from long_context_tasks.results.tables import csv_text, leaderboard, terminal_rows
from long_context_tasks.schema import InputError


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.write_bytes(
        {"cut": content[: len(content) // 2], "empty": b"", "other": b'{"a": [1]}\n', "binary": b"\xff\x00"}[
            how
        ]
    )


@pytest.mark.parametrize("how", ["cut", "empty", "other", "binary"])
@pytest.mark.parametrize(
    "which", ["results_*.json", "samples_*.jsonl", "predictions/*/*.json", "results/*/*.json"]
)
def test_damaged_files_are_named_and_the_others_read(tmp_path: Path, which: str, how: str) -> None:
    write_lm_eval(tmp_path / "sound", Run(simple([1.0, 0.0]), model="sound"))
    write_lm_eval(tmp_path / "lm", Run(simple([1.0, 0.0])))
    write_opencompass(tmp_path / "oc", Run(simple([1.0, 0.0]), made=TIME, model="crow"))
    [path] = [path for path in tmp_path.rglob(which) if "sound" not in path.parts]
    damage(path, how)
    collection = collect([tmp_path])
    left = {"sound", "owl", "crow"} - {"owl" if "lm" in path.parts else "crow"}
    passed_over = (
        how in ("other", "empty") and "predictions" in which
    )  # of another package, for all one can tell
    assert set(collection.runs["model"]) == left or how == "other"
    assert any(str(path) in problem or path.stem in problem for problem in collection.problems) or passed_over


@pytest.mark.parametrize("which", ["*.json", "*.jsonl"])
def test_damaged_files_of_a_later_judge(tmp_path: Path, which: str) -> None:
    folder = write_lm_eval(tmp_path, Run(UNJUDGED, task=CONVERSATION))
    judged_later(folder, "first")
    [path] = folder.glob(f"judged/*/{which}")
    damage(path, "cut")
    collection = collect([tmp_path])
    assert any(str(path) in problem for problem in collection.problems)
    assert [row["judge"] for row in collection.runs.iter_rows(named=True)] == (
        [None] if which == "*.json" else []
    )


def test_runs_without_cases_or_scores(tmp_path: Path) -> None:
    folder = write_lm_eval(tmp_path / "lm", Run(simple([1.0])))
    next(folder.glob("samples_*")).unlink()
    work = write_opencompass(tmp_path / "oc", Run(simple([1.0]), made=TIME))
    shutil.rmtree(work / "results")
    collection = collect([tmp_path])
    assert not len(collection.runs) and not len(collection.scores)
    assert any("--log_samples" in problem for problem in collection.problems)
    assert any("-m eval -r" in problem for problem in collection.problems)


def test_unknown_tasks_files_and_folders(tmp_path: Path) -> None:
    unknown = Run(simple([1.0]), task="ada_leval_of_tomorrow")
    write_lm_eval(tmp_path / "lm", unknown)
    write_opencompass(tmp_path / "lm", replace(unknown, made=TIME, judge={"name": "j"}))
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    collection = collect([tmp_path / "lm", tmp_path / "empty", tmp_path / "notes.txt"])
    assert not len(collection.runs) and len(collection.problems) == 4
    with pytest.raises(InputError, match="does not exist"):
        collect([tmp_path / "missing"])


@pytest.mark.parametrize("others", [True, False])
def test_a_run_that_was_begun_and_left_no_answers_is_named(tmp_path: Path, others: bool) -> None:
    """A stopped run is named even next to other runs; a task that has answers is not."""
    if others:
        write_lm_eval(tmp_path, Run(simple([1.0, 0.0])))
    folder = write_opencompass(tmp_path / "outputs", Run(simple([1.0, 0.0]), made=TIME))
    datasets = ", ".join(f"dict(abbr='{name}', lct_task='{name}')" for name in (TASK, CONVERSATION))
    (folder / "configs").mkdir()
    (folder / "configs" / f"{TIME}_1.py").write_text(
        f"datasets=[{datasets}]\nmodels=[dict(abbr='owl', type='x')]\n"
    )
    (folder / "configs" / f"{TIME}_2.py").write_text("this is no Python (")
    if not others:
        for path in folder.glob("*/owl/*.json"):
            path.unlink()
    problems = collect([tmp_path]).problems
    missing = CONVERSATION if others else f"{TASK}, {CONVERSATION}"
    [problem] = problems
    assert problem.startswith(f"{folder}: {missing} (owl) begun, and left no answers")


def test_scores_of_fewer_turns_than_responses_are_named(tmp_path: Path) -> None:
    talk = {"m1": [Turn({"judge_score": 7.0}), Turn({"judge_score": 3.0})]}
    work = write_opencompass(tmp_path, Run(talk, task=CONVERSATION, judge={"name": "j"}, made=TIME))
    [path] = work.glob("results/*/*.json")
    content: dict[str, Any] = json.loads(path.read_text())
    content["details"][0]["judge_score"] = [[7.0]]
    path.write_text(json.dumps(content))
    [problem] = collect([tmp_path]).problems
    assert "scores of 1 turns, and 2 responses" in problem


def test_part_of_the_cases_is_not_scored(tmp_path: Path) -> None:
    """Predictions that were made after the evaluation."""
    work = write_opencompass(tmp_path, Run(simple([1.0, 0.0]), made=TIME))
    [path] = work.glob("results/*/*.json")
    [of_one] = write_opencompass(tmp_path.parent / "one", Run(simple([1.0]), made=TIME)).glob(
        "results/*/*.json"
    )
    path.write_bytes(of_one.read_bytes())
    found = rows(collect([tmp_path]))
    assert found["c1", 0, 0, METRICS[0]] == (None, 0.0, "not_scored", "c1")


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
        more = {"points": ["judge_score"], "by_seed": {}}
        write_judged(judged_path(run, "later", description), {**numbers, **more}, rows)
    return root


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return all places in a value, four levels deep."""
    yield at
    if len(at) < 4:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield from places(value[key], (*at, key))


def replaced(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    value[at[0]] = replaced(value[at[0]], at[1:], other)
    return value


@pytest.mark.slow
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
        csv_text(leaderboard(collection, cells)), terminal_rows(cells)
        for key, evaluation in collected.evaluations.items():
            # A later judge's scores may be sound where the host's file is not.
            with suppress(InputError):
                for page in shown_cases(key, evaluation, None, private=True):
                    assert all(isinstance(text, str) for text in page.labels.values())
        # The others are not touched by it.
        assert len(collection.runs) + len(collection.problems) >= 5


@pytest.mark.parametrize("version", ["", "1", 1.5, True, [], {}])
def test_a_version_that_is_no_whole_number(sound: Path, tmp_path: Path, version: Any) -> None:
    root = tmp_path / "runs"
    shutil.copytree(sound, root)
    path = sorted(root.rglob("judged/*/*.json"))[0]
    path.write_text(json.dumps(replaced(json.loads(path.read_text()), ("version",), version)))
    assert any("is not a whole number" in one for one in collect_with_files([root]).collection.problems)
