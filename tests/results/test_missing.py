"""Which cells are still to be run, and why."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_cells import ASKED, OTHER, SETTINGS, TASK, only_cell, stored

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.opencompass.results import Setup
from long_context_tasks.hosts.stored import StoredCase
from long_context_tasks.results import FoundRuns, Problem
from long_context_tasks.results.plan.missing import (
    ABSENT,
    DONE,
    EVALUATE,
    FAILED,
    GO_ON,
    JUDGE,
    NOTHING,
    OLD,
    PARTIAL,
    RUN,
    UNKNOWN,
    BuiltCases,
    find_cells,
    lacks_template,
    models_of,
    same_model,
    unassigned,
    wanted,
)


@pytest.mark.parametrize(
    ("changes", "state", "remedy", "why"),
    [
        ({}, DONE, "", ""),
        ({"task": OTHER}, ABSENT, RUN, "not run"),
        ({"model": "/models/tiny2"}, ABSENT, RUN, "not run"),
        (
            {"options": {"lct_length": 1000, "lct_answer_budget": 9}},
            ABSENT,
            RUN,
            "lct_answer_budget=9 instead of None",
        ),
        ({"options": {"lct_length": 1000, "lct_n": 10, "lct_window": 8}}, DONE, "", ""),
        # OpenCompass writes down what was given.
        ({"options": {}, "host": "opencompass"}, DONE, "", ""),
        ({"version": 0}, OLD, RUN, f"version 0, today it is {ASKED.version}"),
        ({"version": None}, OLD, RUN, "no version recorded"),
        ({"numbers": {}}, FAILED, RUN, "no scores"),
        ({"numbers": {}, "host": "opencompass"}, FAILED, EVALUATE, "no scores"),
        ({"numbers": {"n": 4, "n_scored": 4}}, PARTIAL, RUN, "4 of 10"),
        ({"numbers": {"n": 10, "n_scored": 7, "n_does_not_fit": 3}}, PARTIAL, NOTHING, "3 does_not_fit"),
        ({"numbers": {"n": 10, "n_scored": 0, "n_not_judged": 10}}, PARTIAL, JUDGE, "10 not_judged"),
        (
            {"numbers": {"n": 10, "n_scored": 7, "n_endpoint_failed": 1, "n_not_judged": 2}},
            PARTIAL,
            RUN,
            "1 endpoint_failed",
        ),
    ],
)
def test_the_state_of_a_cell(changes: dict[str, Any], state: str, remedy: str, why: str) -> None:
    cell = only_cell(stored(**changes))
    assert (cell.state, cell.remedy) == (state, remedy)
    assert why in cell.why


def test_an_option_that_was_given_must_be_in_the_run() -> None:
    asked = replace(
        ASKED, settings={**SETTINGS, "lct_answer_budget": 9}, given=frozenset({"lct_answer_budget"})
    )
    assert only_cell(stored(), task=asked).why.endswith("(lct_answer_budget=None instead of 9)")
    asked_so = stored(options={"lct_answer_budget": 9}, host="opencompass")
    assert only_cell(asked_so, task=asked).state == DONE


def test_the_best_run_counts_and_of_those_the_newest() -> None:
    partial = stored(numbers={"n": 4, "n_scored": 4}, made="2026-03-01")
    assert only_cell(stored(version=0), partial, stored(numbers={})).state == PARTIAL
    newer = replace(partial, made="2026-04-01")
    chosen = only_cell(newer, partial).run
    assert chosen is newer
    assert only_cell(newer, stored()).state == DONE
    # Hosts write the time in their own ways.
    late = replace(partial, made="2026-04-01T10-00-00.5")
    assert only_cell(replace(partial, host="opencompass", made="20260401_095959"), late).run is late


def test_a_run_that_a_judge_has_scored_later_is_done(tmp_path: Path) -> None:
    run = stored(folder=tmp_path, numbers={"n": 10, "n_scored": 0, "n_not_judged": 10})
    path = tmp_path / "judged" / "judge-12345678" / f"{run.label}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"judge": {"name": "judge"}, "numbers": {"n": 10, "n_scored": 10}}))
    assert only_cell(run).state == DONE


BUDGET, CASES = {"lct_answer_budget": 96}, {"lct_cases": "/built/cases"}


@pytest.mark.parametrize(
    ("asked", "options", "told", "state", "why"),
    [
        ({}, {}, {"n_cases_available": 10}, DONE, ""),
        # OpenCompass writes it down as text.
        ({}, {}, {"n_cases_available": "10"}, DONE, ""),
        ({}, {}, {}, UNKNOWN, "how many there are is unknown: no data here"),
        ({}, BUDGET, {"n_cases_available": 10}, ABSENT, "lct_answer_budget=96 instead of None"),
        ({}, CASES, {"n_cases_available": 10}, ABSENT, "lct_cases=/built/cases instead of None"),
        (BUDGET, {}, {"n_cases_available": 10}, ABSENT, "lct_answer_budget=None instead of 96"),
        (BUDGET | CASES, BUDGET | CASES, {"n_cases_available": 10}, DONE, ""),
        # The host counts what lct_n has left.
        ({}, {"lct_n": 10}, {"n_cases_available": 10}, PARTIAL, "run with 10 cases, all asked for"),
        ({}, {"lct_n": 50}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_n": 10}, {"lct_n": 10}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_n": 12}, {"lct_n": 10}, {}, PARTIAL, "run with 10 cases, 12 asked for"),
        ({"lct_n": 4}, {"lct_n": 10}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_subset": 200}, {"lct_subset": 50}, {"n_cases_available": 50}, PARTIAL, "run with 50"),
        # lm-eval's --limit.
        ({}, {}, {"n_cases_available": 40, "n_samples": 10}, PARTIAL, "10 of 40 cases asked for"),
    ],
)
def test_without_data_the_options_and_the_word_of_the_run_count(
    asked: dict[str, Any], options: dict[str, Any], told: dict[str, Any], state: str, why: str
) -> None:
    task = wanted(TASK, None, resolve_options(asked, {}), "no data here")
    assert task.responses is None
    run = stored(options={"lct_length": 1000, **options}, provenance=told)
    cell = only_cell(run, task=task)
    assert cell.state == state and why in cell.why
    assert (cell.remedy == RUN) is (state in (ABSENT, PARTIAL))
    assert only_cell(replace(run, version=0), task=task).state in (OLD, ABSENT)


DIGEST, OTHER_DIGEST = "0123456789abcdef", "fedcba9876543210"


@pytest.mark.parametrize(
    ("place", "told", "ids", "why"),
    [
        ("/built/cases", DIGEST, "", ""),
        ("/elsewhere/old", DIGEST, "x", ""),
        ("/built/cases", OTHER_DIGEST, "abc", "lct_cases=/built/cases held other cases than /built/cases"),
        # Runs of before tell no hash: the folder, or its name with the ids, of which either may have fewer (lct_n).
        ("/built/cases", None, "x", ""),
        ("/moved/cases/", None, "abc", ""),
        ("cases", None, "a", ""),
        ("C:\\built\\cases", None, "abcd", ""),
        ("/moved/cases", None, "ax", "lct_cases=/moved/cases held other cases than /built/cases"),
        ("/moved/others", None, "abc", "lct_cases=/moved/others instead of /built/cases"),
        ("/moved/cases", None, "", "held other cases"),
    ],
)
def test_built_cases_are_known_by_what_they_hold(place: str, told: str | None, ids: str, why: str) -> None:
    settings = {"lct_cases": "/built/cases"}
    asked = replace(ASKED, settings=settings, built=BuiltCases(DIGEST, frozenset("abc")))
    run = stored(
        options={"lct_cases": place},
        provenance={"cases_sha256": told},
        read=lambda _: iter([StoredCase(one, ()) for one in ids]),
    )
    cell = only_cell(run, task=asked)
    assert cell.state == (ABSENT if why else DONE) and why in cell.why


def test_bundles_keep_the_last_name_of_a_path(tmp_path: Path) -> None:
    bundle = tmp_path / "owl.lct.zip"
    bundle.write_bytes(b"")
    for key in ("lct_noise_rules", "lct_cases"):
        asked = replace(ASKED, settings={key: f"/a/b/{key}"}, given=frozenset({key}))
        run = stored(options={key: key}, folder=bundle)
        assert only_cell(run, task=asked).state == DONE
        assert only_cell(replace(run, folder=tmp_path), task=asked).state == ABSENT
        assert (
            f"{key}=other instead of {key}" in only_cell(replace(run, options={key: "other"}), task=asked).why
        )


def test_a_conversation_is_not_asked_of_a_model_without_template() -> None:
    told = {"model": "hf", "model_args": {"pretrained": "/models/tiny"}, "chat_template_sha": None}
    bare = stored(provenance=told)
    talk, question = wanted("elitr_bench_conv_dev"), wanted("elitr_bench_qa_dev")
    assert talk.conversation and talk.judged and question.judged and not question.conversation
    assert wanted("elitr_bench_qa_test_multiturn").conversation and not wanted(TASK).judged
    cells = find_cells([talk, question], ["tiny"], [FoundRuns((bare,), ())])
    assert [(cell.state, cell.remedy) for cell in cells] == [(ABSENT, NOTHING), (ABSENT, RUN)]
    assert "needs a chat template" in cells[0].why
    templated = replace(bare, provenance={**told, "chat_template_sha": "f00"})
    assert find_cells([talk], ["tiny"], [FoundRuns((templated,), ())])[0].remedy == RUN
    assert find_cells([talk], ["tiny"], [], base=["tiny"])[0].remedy == NOTHING


def test_what_tells_that_a_model_has_no_template() -> None:
    bare = stored(provenance={"model": "hf", "model_args": "pretrained=/models/tiny"})
    served = stored(provenance={"model": "local-chat-completions", "model_args": {"base_url": "http://h"}})
    assert lacks_template("tiny", [bare]) and not lacks_template("other", [bare])
    assert not lacks_template("tiny", [served]) and not lacks_template("tiny", [])
    # A bundle keeps what lm-eval said, but for what was empty.
    assert lacks_template("tiny", [replace(bare, folder=Path("tiny.lct.zip"))])
    kinds = ("HuggingFaceBaseModel", "HuggingFacewithChatTemplate")
    setups = [Setup(Path(), {"tiny": {"type": f"opencompass.models.{kind}"}}) for kind in kinds]
    assert lacks_template("tiny", [], setups[:1]) and not lacks_template("tiny", [bare], setups)


def test_damaged_files_are_cells_where_their_names_tell() -> None:
    folder = Path("outputs/20260101_000000")
    problems = (
        Problem(folder / "predictions" / "tiny" / f"tmp_{TASK}.jsonl", "stopped"),
        Problem(Path("results/tiny/results_2026-01-01T00-00-00.json"), "damaged"),
    )
    cell = only_cell(problems=problems)
    assert (cell.state, cell.remedy, cell.folder, cell.host) == (PARTIAL, GO_ON, folder, "opencompass")
    assert unassigned([FoundRuns((), problems)]) == [problems[1]]
    part = Problem(folder / "predictions" / "tiny" / f"tmp_{TASK}_3.jsonl", "stopped")
    assert only_cell(problems=(part,)).state == PARTIAL
    sample = Problem(Path(f"results/tiny/samples_{TASK}_2026-01-01T00-00-00.1.jsonl"), "no results file")
    cell = only_cell(problems=(sample,))
    assert (cell.state, cell.remedy, cell.host) == (FAILED, RUN, "lm_eval")


def test_names_of_models() -> None:
    assert same_model("/models/org__Tiny", "Tiny") and not same_model("tiny", "tiny-vllm")
    found = [FoundRuns((stored(), stored(model="tiny"), stored(model="other")), ())]
    assert models_of(found, ()) == ["/models/tiny", "other"]
    assert models_of(found, (), ["new", "new"]) == ["new"]
