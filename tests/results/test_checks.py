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


RATED = {"m1": [Turn({"judge_score": 4.0, "answered": 1.0}, verdicts=({"score": 4, "feedback": "fine"},))]}
LM_EVAL, SAMPLES, OPENCOMPASS = "results_*.json", "samples_*.jsonl", "results/*/*.json"


@pytest.mark.parametrize(
    ("run", "file", "old", "new", "problem"),
    [
        (Run(simple([1.0, 0.0])), LM_EVAL, '"strict_accuracy,none": 0.5', '"strict_accuracy,none": 0.75', "strict_accuracy is 0.75, but the cases give 0.5"),
        (Run(simple([1.0, 0.0, 1.0, 1.0]), made=TIME), OPENCOMPASS, '"strict_accuracy": 75.0', '"strict_accuracy": 80.0', "strict_accuracy is 0.8, but the cases give 0.75"),
        (Run(simple([1.0, None])), LM_EVAL, '"n_scored,none": 1', '"n_scored,none": 2', "n_scored is 2, but the cases give 1"),
        (JUDGED, SAMPLES, '"judge_score": [3.0', '"judge_score": [11.0', "judge_score of 11 is outside the scale of 0 to 10; if `lct check elitr_bench` says so too, the benchmark gives it"),
        (JUDGED, SAMPLES, '"judge_score": [3.0', '"judge_score": [-0.5', "judge_score of -0.5 is outside the scale of 0 to 10"),
        (Run(simple([1.0])), LM_EVAL, '"version": 1', '"version": 99', "version 99 of the task, and this package has"),
        (Run(RATED, CONVERSATION, made=TIME, judge=JUDGED.judge, points=["judge_score"]), OPENCOMPASS, '"score": 4', '"score": 40', "a verdict of 40 is outside the scale of 0 to 10"),
    ],
)  # fmt: skip
def test_a_changed_number_is_noticed(
    tmp_path: Path, run: Run, file: str, old: str, new: str, problem: str
) -> None:
    write = write_opencompass if run.made == TIME else write_lm_eval
    write(tmp_path, run)
    [found] = changed(tmp_path, file, old, new)
    assert problem in found and str(tmp_path) in found


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
