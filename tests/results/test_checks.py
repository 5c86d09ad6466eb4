"""A results folder in which one number was changed: every command that reads it says so, and leaves the run out."""

from pathlib import Path

import pytest
from collected_runs import CONVERSATION, TIME, Run, Turn, simple, write_lm_eval, write_opencompass

from long_context_tasks.results.collect import collect

TALK = {"m1": [Turn({"judge_score": 3.0, "answered": 1.0}), Turn({"judge_score": 5.0, "answered": 1.0})]}
JUDGED = Run(TALK, task=CONVERSATION, judge={"name": "j", "model": "m", "seeds": [1]})


def changed(folder: Path, glob: str, old: str, new: str) -> list[str]:
    """Change a text in one file without problems, and return the problems afterwards."""
    assert not collect([folder]).problems
    [path] = [path for path in folder.rglob(glob) if old in path.read_text()]
    path.write_text(path.read_text().replace(old, new, 1))
    collection = collect([folder])
    assert len(collection.runs) == 0
    return list(collection.problems)


def test_a_changed_mean_is_noticed_in_either_host(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "a", Run(simple([1.0, 0.0])))
    [problem] = changed(
        tmp_path / "a", "results_*.json", '"strict_accuracy,none": 0.5', '"strict_accuracy,none": 0.75'
    )
    assert "strict_accuracy is 0.75, but the cases give 0.5" in problem and "results_" in problem
    write_opencompass(tmp_path / "b", Run(simple([1.0, 0.0, 1.0, 1.0]), made=TIME))
    [problem] = changed(
        tmp_path / "b", "results/*/*.json", '"strict_accuracy": 75.0', '"strict_accuracy": 80.0'
    )
    assert "strict_accuracy is 0.8, but the cases give 0.75" in problem


def test_a_changed_count_is_noticed(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, Run(simple([1.0, None])))
    [problem] = changed(tmp_path, "results_*.json", '"n_scored,none": 1', '"n_scored,none": 2')
    assert "n_scored is 2, but the cases give 1" in problem


@pytest.mark.parametrize("score", ["11.0", "-0.5"])
def test_a_score_off_its_scale_is_noticed(tmp_path: Path, score: str) -> None:
    write_lm_eval(tmp_path, JUDGED)
    [problem] = changed(tmp_path, "samples_*.jsonl", '"judge_score": [3.0', f'"judge_score": [{score}')
    assert f"judge_score of {float(score):g} is outside the scale of 0 to 10" in problem


def test_a_later_version_of_a_task_is_noticed(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, Run(simple([1.0])))
    [problem] = changed(tmp_path, "results_*.json", '"version": 1', '"version": 99')
    assert "version 99 of the task, and this package has" in problem


def test_a_verdict_off_the_scale_is_noticed(tmp_path: Path) -> None:
    verdict = {"score": 4, "feedback": "fine"}
    cases = {"m1": [Turn({"judge_score": 4.0, "answered": 1.0}, verdicts=(verdict,))]}
    write_opencompass(
        tmp_path, Run(cases, task=CONVERSATION, made=TIME, judge=JUDGED.judge, points=["judge_score"])
    )
    [problem] = changed(tmp_path, "results/*/*.json", '"score": 4', '"score": 40')
    assert "a verdict of 40 is outside the scale of 0 to 10" in problem


@pytest.mark.parametrize(("rubric", "score"), [("gpt", 8), ("prometheus", 4)])
def test_a_verdict_unlike_the_score_is_noticed(tmp_path: Path, rubric: str, score: int) -> None:
    cases = {
        "m1": [Turn({"judge_score": 8.0, "answered": 1.0}, verdicts=({"score": score, "feedback": ""},))]
    }
    judge = {**JUDGED.judge, "rubric": rubric}
    write_opencompass(tmp_path, Run(cases, task=CONVERSATION, made=TIME, judge=judge, points=["judge_score"]))
    [problem] = changed(tmp_path, "results/*/*.json", f'"score": {score}', '"score": 3')
    made = 3 if rubric == "gpt" else 6
    assert f"case 'm1': judge_score is 8, but its verdicts give {made}" in problem
