"""Which cells are still to be run, and why."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_cells import ASKED, OTHER, SETTINGS, TASK, only_cell, stored

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.results import FoundRuns
from long_context_tasks.results.plan.missing import (
    ABSENT,
    DONE,
    FAILED,
    OLD,
    PARTIAL,
    UNKNOWN,
    Missing,
    models_of,
    same_model,
    wanted,
)


@pytest.mark.parametrize(
    ("changes", "state", "why"),
    [
        ({}, DONE, ""),
        ({"task": OTHER}, ABSENT, "no finished run"),
        ({"model": "/models/tiny2"}, ABSENT, "no finished run"),
        (
            {"options": {"lct_length": 1000, "lct_answer_budget": 9}},
            ABSENT,
            "lct_answer_budget=9 instead of None",
        ),
        ({"options": {"lct_length": 1000, "lct_n": 10, "lct_window": 8}}, DONE, ""),
        # OpenCompass writes down what was given.
        ({"options": {}, "host": "opencompass"}, DONE, ""),
        ({"version": 0}, OLD, f"version 0, today it is {ASKED.version}"),
        ({"numbers": {}}, FAILED, "no scores"),
        ({"numbers": {}, "host": "opencompass"}, FAILED, "answers without scores"),
        ({"numbers": {"n": 4, "n_scored": 4}}, PARTIAL, "4 of 10"),
        ({"numbers": {"n": 10, "n_scored": 7, "n_does_not_fit": 3}}, PARTIAL, "3 does_not_fit"),
        ({"numbers": {"n": 10, "n_scored": 0, "n_not_judged": 10}}, PARTIAL, "10 not_judged"),
        (
            {"numbers": {"n": 10, "n_scored": 7, "n_endpoint_failed": 1, "n_not_judged": 2}},
            PARTIAL,
            "7 of 10 responses scored (1 endpoint_failed, 2 not_judged)",
        ),
    ],
)
def test_the_state_of_a_cell(changes: dict[str, Any], state: str, why: str) -> None:
    cell = only_cell(stored(**changes))
    assert cell.state == state and why in cell.why and bool(cell.why) is (state != DONE)


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
    judged = {"judge": {"name": "judge"}, "numbers": {"n": 10, "n_scored": 10}, "by_seed": {}}
    path.write_text(json.dumps({**judged, "headline": "judge_score", "points": ["judge_score"]}))
    path.with_suffix(".jsonl").touch()
    assert only_cell(run).state == DONE


BUDGET, CASES = {"lct_answer_budget": 96}, {"lct_cases": "/built/cases"}


@pytest.mark.parametrize(
    ("asked", "options", "told", "state", "why"),
    [
        ({}, {}, {"n_cases_available": 10}, DONE, ""),
        # OpenCompass writes it down as text.
        ({}, {}, {"n_cases_available": "10"}, DONE, ""),
        ({}, {}, {}, UNKNOWN, "the number of cases is unknown: no data here"),
        ({}, BUDGET, {"n_cases_available": 10}, ABSENT, "lct_answer_budget=96 instead of None"),
        ({}, {"lct_answer_budget": 64}, {"n_cases_available": 10}, DONE, ""),  # the task's own
        ({}, CASES, {"n_cases_available": 10}, ABSENT, "lct_cases=/built/cases instead of None"),
        (BUDGET, {}, {"n_cases_available": 10}, ABSENT, "lct_answer_budget=None instead of 96"),
        (BUDGET | CASES, BUDGET | CASES, {"n_cases_available": 10}, DONE, ""),
        # The host counts what lct_n has left.
        ({}, {"lct_n": 10}, {"n_cases_available": 10}, PARTIAL, "run with 10 cases, all requested"),
        ({}, {"lct_n": 50}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_n": 10}, {"lct_n": 10}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_n": 12}, {"lct_n": 10}, {}, PARTIAL, "run with 10 cases, 12 requested"),
        ({"lct_n": 4}, {"lct_n": 10}, {"n_cases_available": 10}, DONE, ""),
        ({"lct_subset": 200}, {"lct_subset": 50}, {"n_cases_available": 50}, PARTIAL, "run with 50"),
        # lm-eval's --limit.
        ({}, {}, {"n_cases_available": 40, "n_samples": 10}, PARTIAL, "10 of 40 cases requested"),
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
    assert only_cell(replace(run, version=0), task=task).state in (OLD, ABSENT)


@pytest.mark.parametrize(
    ("place", "told", "why"),
    [
        ("/built/cases", "0123", ""),
        ("/elsewhere/old", "0123", ""),
        ("/built/cases", "4567", "lct_cases=/built/cases contained different cases than /built/cases"),
        ("/built/cases", None, "contained different cases"),
    ],
)
def test_built_cases_are_known_by_what_they_hold(place: str, told: str | None, why: str) -> None:
    asked = replace(ASKED, settings={"lct_cases": "/built/cases"}, digest="0123")
    cell = only_cell(stored(options={"lct_cases": place}, provenance={"cases_sha256": told}), task=asked)
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


RECORDED = [
    "lm_eval",
    "--model_args",
    "pretrained=a b,api_key=sk-0123456789abcdef",
    "--hf_token",
    "secret",
    "a\x1b[2J",
]


def test_the_recorded_command_is_shown_without_secrets(tmp_path: Path) -> None:
    partial = stored(numbers={"n": 4, "n_scored": 4}, provenance={"command": RECORDED})
    shown = "lm_eval --model_args 'pretrained=a b,api_key=(not shown)' --hf_token '(not shown)' 'a\x1b[2J'"
    assert only_cell(partial).command == shown
    done, other = (
        only_cell(stored(provenance={"command": RECORDED})),
        only_cell(partial, task=replace(ASKED, task=OTHER)),
    )
    found = Missing((only_cell(partial), done, other), (), {})
    assert found.commands == {shown: [only_cell(partial)]}
    assert [cell["command"] for cell in found.document()["cells"]] == [shown, shown, None]
    # A bundle is a stranger's file.
    bundle = tmp_path / "tiny.lct.zip"
    bundle.write_bytes(b"")
    assert not only_cell(replace(partial, folder=bundle)).command
    for unlike in (None, "rm -r", {"a": 1}):
        assert not only_cell(replace(partial, provenance={"command": unlike})).command


def test_names_of_models() -> None:
    assert same_model("/models/org__Tiny", "Tiny") and not same_model("tiny", "tiny-vllm")
    found = [FoundRuns((stored(), stored(model="tiny"), stored(model="other")), ())]
    assert models_of(found) == ["/models/tiny", "other"]
    assert models_of(found, ["new", "new"]) == ["new"]
