"""Runs that judges scored later, in the tidy tables."""

from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import (
    CONVERSATION,
    TIME,
    UNJUDGED,
    Run,
    Turn,
    judged_later,
    simple,
    write_lm_eval,
    write_opencompass,
)

from long_context_tasks.results.collect import collect, collect_with_files


def test_later_judges_stand_beside_one_another(tmp_path: Path) -> None:
    folder = write_lm_eval(tmp_path, Run(UNJUDGED, task=CONVERSATION))
    assert [row["judge"] for row in collect([tmp_path]).runs.iter_rows(named=True)] == [None]
    judged_later(folder, "first", version=2)
    judged_later(folder, "second")
    judged_later(folder, "second", seed=2)
    collected = collect_with_files([tmp_path])
    runs = list(collected.collection.runs.iter_rows(named=True))
    names = [row["judge"] for row in runs]
    assert (
        names[0] == "first" and len(set(names)) == 3 and all(name.startswith("second-") for name in names[1:])
    )
    assert [row["version"] for row in runs] == [2, 1, 1] and {row["package"] for row in runs} == {"9.9"}
    assert all(row["points"] == ["judge_score"] for row in runs)
    of_first = collected.collection.scores.filter(collected.collection.scores["run"] == runs[0]["run"])
    assert of_first.filter(of_first["metric"] == "judge_score")["reason"].to_list() == ["refused", None]
    assert set(of_first["cluster"]) == {"m"} and of_first["value"].to_list() == [10, 10, 1, 1]
    assert set(collected.evaluations) == {row["run"] for row in runs}


def test_the_host_s_judge_asked_again_counts_once(tmp_path: Path) -> None:
    talk = {"m1": [Turn({"judge_score": 3.0, "answered": 1.0})]}
    folder = write_lm_eval(
        tmp_path, Run(talk, task=CONVERSATION, judge={"name": "j", "seeds": [1], "rubric": "gpt"})
    )
    assert [row["judge"] for row in collect([tmp_path]).runs.iter_rows(named=True)] == ["j"]
    judged_later(folder, "j", seed=1)
    collection = collect([tmp_path])
    assert [row["judge"] for row in collection.runs.iter_rows(named=True)] == ["j"]
    assert 10.0 in collection.scores["value"].to_list()
    judged_later(folder, "other")
    assert len(collect([tmp_path]).runs) == 2


def test_a_task_without_a_judge_keeps_its_own_scores(tmp_path: Path) -> None:
    """ORCA can judge it too: then it is there twice."""
    folder = write_lm_eval(tmp_path, Run(simple([1.0, 0.0])))
    judged_later(folder, "orca")
    assert sorted(map(str, collect([tmp_path]).runs["judge"])) == ["None", "orca"]


def test_the_spread_that_orca_predicts(tmp_path: Path) -> None:
    told = '{"mean": 0.5, "std": 0.25, "low": 0.1, "high": 0.9, "dropped_tokens": 0}'
    talk = {
        "m1": [
            Turn({"orca_mean": 0.5, "orca_std": 0.25}, verdicts=({"score": 0.5, "feedback": told},)),
            Turn({"orca_mean": 0.0, "orca_std": 0.0}, "empty"),
        ]
    }
    for write, made in ((write_lm_eval, "2026-01-01T10-00-00.000000"), (write_opencompass, TIME)):
        write(
            tmp_path / made, Run(talk, task=CONVERSATION, judge={"name": "orca", "kind": "orca"}, made=made)
        )
        scores = collect([tmp_path / made]).scores
        assert scores.filter(scores["metric"] == "orca_mean")["std"].to_list() == [0.25, 0.0]
        assert scores.filter(scores["metric"] == "orca_std")["std"].to_list() == [0.0, 0.0]
