"""Runs of every host and of later judges as tidy tables: no value is lost, and unreadable files are named."""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import (
    CONVERSATION,
    JUDGED_METRICS,
    METRICS,
    TIME,
    UNJUDGED,
    Cases,
    Run,
    Turn,
    judged_later,
    rows,
    simple,
    write_lm_eval,
    write_opencompass,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.results import find_runs
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.schema.response import REASONS

JUDGE = {"name": "j", "model": "m", "seeds": [1]}


VALUE = st.none() | st.floats(0, 1, allow_nan=False)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.isprintable)


def turns(metrics: tuple[str, ...]) -> st.SearchStrategy[Turn]:
    return st.builds(
        Turn,
        st.fixed_dictionaries(dict.fromkeys(metrics, VALUE)),
        st.none() | st.sampled_from(REASONS),
        st.text(st.characters(codec="utf-8"), max_size=20)
        | st.sampled_from(['"target_hash": NaN', ', "resps": [["x"]]', "NaN"]),
    )


def cases(metrics: tuple[str, ...], most: int) -> st.SearchStrategy[Cases]:
    return st.dictionaries(NAMES, st.lists(turns(metrics), min_size=1, max_size=most), min_size=1, max_size=4)


PLAIN = st.builds(Run, cases(METRICS, 1), clusters=st.just({}))
TALKS = st.builds(Run, cases(JUDGED_METRICS, 3), task=st.just(CONVERSATION), judge=st.just(JUDGE))


@settings(max_examples=60, deadline=None)
@given(run=PLAIN | TALKS, opencompass=st.booleans())
def test_every_value_comes_back(run: Run, opencompass: bool) -> None:
    run = replace(run, clusters={case: f"cluster of {case}" for case in run.cases})
    with tempfile.TemporaryDirectory() as folder:
        if opencompass:
            write_opencompass(Path(folder), replace(run, made=TIME))
        else:
            write_lm_eval(Path(folder), run)
        collection = collect([Path(folder)])
    assert not collection.problems
    expected = {
        (case, turn, 0, metric): (
            value,
            0.0,
            one.reason if metric == run.metrics[0] else None,
            f"cluster of {case}",
        )
        for case, all_turns in run.cases.items()
        for turn, one in enumerate(all_turns)
        for metric, value in one.scores.items()
    }
    assert rows(collection) == expected
    [row] = collection.runs.iter_rows(named=True)
    assert (row["task"], row["headline"], row["metrics"]) == (run.task, run.metrics[0], list(run.metrics))
    assert row["judge"] == (run.judge.get("name") if run.judge else None)


def test_the_columns_of_a_run(tmp_path: Path) -> None:
    options = {"lct_seed": 3, "lct_data_dir": "/data", "lct_subset": 200, "lct_cut_keep": "front"}
    secret = "model=m,base_url=http://me:pw@host/v1,api_key=sk-12345"
    given_arguments = "temperature=0.5,seed=7"
    write_lm_eval(
        tmp_path,
        Run(simple([1.0, None]), options=options, gen_kwargs=given_arguments, model_args=secret, available=9),
    )
    [row] = collect([tmp_path]).runs.iter_rows(named=True)
    assert (row["host"], row["model"], row["benchmark"], row["family"]) == (
        "lm_eval",
        "owl",
        "ada_leval",
        "ada_leval_bestanswer",
    )
    assert (row["length"], row["variant"], row["wer"], row["version"]) == (1000, "", None, 1)
    assert json.loads(row["settings"]) == {"lct_subset": 200, "temperature": 0.5}
    assert json.loads(row["options"]) == options
    assert (row["n_cases_available"], row["n_truncated"], row["window"]) == (9, 0.0, "8192 (host)")
    assert (row["host_version"], row["judge"], row["points"]) == ("0.4.13", None, [])
    told = json.loads(row["provenance"])
    assert told["commit"] == "abc1234" and told["model_args"].startswith("model=m,base_url=http://host/v1,")
    assert "sk-12345" not in row["provenance"] and "pw" not in row["provenance"]
    assert row["source"] == str(tmp_path / "owl")


@pytest.mark.parametrize(
    ("task", "family", "length", "variant", "wer"),
    [
        ("ada_leval_tsort_8k", "ada_leval_tsort", 8000, "", None),
        ("ada_leval_bestanswer_any_front", "ada_leval_bestanswer", 4096, "front", None),
        ("elitr_bench_qa_test_wer40", "elitr_bench_qa_test", 4096, "wer40", 40),
    ],
)
def test_what_a_task_name_says(
    tmp_path: Path, task: str, family: str, length: int, variant: str, wer: int | None
) -> None:
    write_lm_eval(tmp_path, Run(simple([1.0]), task=task, options={"lct_length": 4096}))
    [row] = collect([tmp_path]).runs.iter_rows(named=True)
    assert (row["family"], row["length"], row["variant"], row["wer"]) == (family, length, variant, wer)


def test_a_run_found_twice_counts_once(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "a", Run(simple([1.0, 0.0])))
    write_opencompass(tmp_path / "a" / "oc", Run(simple([1.0, 0.0]), made=TIME))
    once = collect([tmp_path / "a"])
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for paths in (
        [tmp_path],
        [tmp_path / "a", tmp_path / "a"],
        [tmp_path / "a" / "owl", tmp_path / "a" / "oc", tmp_path],
    ):
        twice = collect(paths)
        assert set(twice.runs["run"]) == set(once.runs["run"]) and len(twice.scores) == len(once.scores)
        assert not twice.problems


def test_linked_folders_are_read_once_each(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "elsewhere", Run(simple([1.0, 0.0])))
    results = tmp_path / "results"
    results.mkdir()
    for name in ("linked", "again"):
        (results / name).symlink_to(tmp_path / "elsewhere")
    (results / "loop").symlink_to(results)
    assert len(find_runs(results).runs) == 1


def test_runs_of_one_second_are_told_apart_by_their_responses(tmp_path: Path) -> None:
    for place, text in enumerate(("A1", "A2")):
        talk = {"c0": [Turn(dict.fromkeys(METRICS, 1.0), text=text)]}
        write_opencompass(tmp_path / str(place), Run(talk, made=TIME))
    assert len(collect([tmp_path]).runs) == 2


def test_a_run_evaluated_twice_is_told(tmp_path: Path) -> None:
    """The same responses with other scores: the fuller evaluation counts."""
    write_opencompass(tmp_path / "a", Run(simple([1.0, None], "judge_failed"), made=TIME))
    write_opencompass(tmp_path / "b", Run(simple([1.0, 0.0]), made=TIME))
    for paths in ([tmp_path / "a", tmp_path / "b"], [tmp_path / "b", tmp_path / "a"]):
        collection = collect(paths)
        assert collection.scores["value"].null_count() == 0
        [problem] = collection.problems
        assert str(tmp_path / "a") in problem and "with other scores" in problem


def test_later_judges_stand_beside_one_another(tmp_path: Path) -> None:
    folder = write_lm_eval(tmp_path, Run(UNJUDGED, task=CONVERSATION))
    assert [row["judge"] for row in collect([tmp_path]).runs.iter_rows(named=True)] == [None]
    judged_later(folder, "first", version=0)
    judged_later(folder, "second")
    judged_later(folder, "second", seed=2)
    collected = collect_with_files([tmp_path])
    runs = list(collected.collection.runs.iter_rows(named=True))
    names = [row["judge"] for row in runs]
    assert (
        names[0] == "first" and len(set(names)) == 3 and all(name.startswith("second-") for name in names[1:])
    )
    assert [row["version"] for row in runs] == [0, 1, 1] and {row["package"] for row in runs} == {"9.9"}
    assert all(row["points"] == ["judge_score"] for row in runs)
    of_first = collected.collection.scores.filter(collected.collection.scores["run"] == runs[0]["run"])
    assert of_first.filter(of_first["metric"] == "judge_score")["reason"].to_list() == ["refused", None]
    assert set(of_first["cluster"]) == {"m"} and of_first["value"].to_list() == [10, 10, 1, 1]
    assert set(collected.evaluations) == {row["run"] for row in runs}


def test_the_host_s_judge_asked_again_counts_once(tmp_path: Path) -> None:
    talk = {"m1": [Turn({"judge_score": 3.0, "answered": 1.0})]}
    folder = write_lm_eval(tmp_path, Run(talk, task=CONVERSATION, judge={"name": "j", "seeds": [1]}))
    assert [row["judge"] for row in collect([tmp_path]).runs.iter_rows(named=True)] == ["j"]
    judged_later(folder, "j", seed=1)
    collection = collect([tmp_path])
    assert [row["judge"] for row in collection.runs.iter_rows(named=True)] == ["j"]
    assert 10.0 in collection.scores["value"].to_list()
    judged_later(folder, "other")
    assert len(collect([tmp_path]).runs) == 2


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
