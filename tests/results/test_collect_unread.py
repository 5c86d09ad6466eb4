"""What of the files of hosts and judges cannot be read is named, and the rest is read, whatever a file holds."""

import json
import os
import shutil
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

from long_context_tasks.results.collect import collect
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


@pytest.mark.parametrize("how", ["pipe", "endless device", "link to nowhere"])
@pytest.mark.parametrize(
    "which",
    [
        "results_*.json",
        "samples_*.jsonl",
        "predictions/*/*.json",
        "results/*/*.json",
        "judged/*/*.json",
        "judged/*/*.jsonl",
        "configs/*.py",
    ],
)
def test_special_files_are_named_and_never_opened(tmp_path: Path, which: str, how: str) -> None:
    """Opening a pipe would wait for ever, which the time limit of the tests ends."""
    write_lm_eval(tmp_path / "sound", Run(simple([1.0, 0.0]), model="sound"))
    write_lm_eval(tmp_path / "lm", Run(simple([1.0, 0.0])))
    write_opencompass(tmp_path / "oc", Run(simple([1.0, 0.0]), made=TIME, model="crow"))
    (tmp_path / "oc" / TIME / "configs").mkdir()
    (tmp_path / "oc" / TIME / "configs" / "run.py").touch()
    judged_later(write_lm_eval(tmp_path / "talks", Run(UNJUDGED, task=CONVERSATION)), "first")
    places = ("talks",) if "judged" in which else ("lm", "oc")
    [path] = [path for path in tmp_path.rglob(which) if path.relative_to(tmp_path).parts[0] in places]
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if how == "endless device" else tmp_path / "nowhere")
    collection = collect([tmp_path])
    assert "sound" in set(collection.runs["model"])
    named = any(path.stem in problem for problem in collection.problems)
    # A judge's file that leads nowhere is as good as none: the run is not judged.
    assert named or (how, which) == ("link to nowhere", "judged/*/*.json")


def test_a_case_that_is_there_twice_is_named(tmp_path: Path) -> None:
    folder = write_lm_eval(tmp_path, Run(simple([1.0, 0.0])))
    [path] = folder.glob("samples_*")
    path.write_text(path.read_text().replace('"case": "c1"', '"case": "c0"'))
    collection = collect([tmp_path])
    assert not len(collection.runs)
    [problem] = collection.problems
    assert "has case 'c0' twice" in problem


def test_very_deep_folders_are_named(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "shallow", Run(simple([1.0, 0.0])))
    deep = tmp_path
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    write_lm_eval(deep, Run(simple([1.0, 0.0]), model="deep"))
    collection = collect([tmp_path])
    assert list(collection.runs["model"]) == ["owl"]
    [problem] = collection.problems
    assert "folders below are left out" in problem


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
    assert (
        f"; the run failed, was stopped or is still running: see {TIME}/logs, and finish the run" in problem
    )
    assert problem.endswith(f"-r {TIME}, or delete the folder if a later run replaces it")


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("version", value) for value in ("", "1", 1.5, True, [], {})),
        *(("numbers", value) for value in (None, [], {"n": "many"})),
        *[("judge", None), ("headline", []), ("points", 1), ("by_seed", 3)],
    ],
)
def test_a_wrong_value_in_the_file_of_a_later_judge(tmp_path: Path, name: str, value: Any) -> None:
    folder = write_lm_eval(tmp_path, Run(UNJUDGED, task=CONVERSATION))
    judged_later(folder, "later")
    [path] = folder.glob("judged/*/*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    collection = collect([tmp_path])
    assert any(path.stem in problem for problem in collection.problems)
    assert "later" not in collection.runs["judge"].to_list()
