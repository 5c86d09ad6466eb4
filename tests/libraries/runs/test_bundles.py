"""Runs that travel: what is in a bundle, that reading gives back what was packed, and that nothing hostile gets through."""

import hashlib
import io
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

import polars as pl
import yaml
from collected_runs import (
    CONVERSATION,
    METRICS,
    Run,
    Turn,
    simple,
    write_lm_eval,
    write_opencompass,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.report.cells import cells_of
from long_context_tasks.report.schema import RUNS
from long_context_tasks.runs import bundle as bundle_module
from long_context_tasks.runs.bundle import MANIFEST, RUNS_MEMBER, SCORES_MEMBER, bundles_below
from long_context_tasks.runs.bundle_check import read_bundle
from long_context_tasks.runs.bundle_places import fit_to_travel
from long_context_tasks.runs.bundle_runs import find_runs_and_bundles
from long_context_tasks.runs.case_pages import shown_cases
from long_context_tasks.runs.collect import collect, collect_with_files
from long_context_tasks.runs.missing import DONE, NOTHING, PARTIAL, Wanted, find_cells
from long_context_tasks.runs.pack import pack
from long_context_tasks.schema import InputError

JUDGE = {
    "name": "j",
    "base_url": "http://me:secret@judge.example/v1?key=abc",
    "api_key": "sk-0123456789abcdef0123",
}
VERDICT = ({"feedback": "the gold answer says Prague", "score": 7},)
TALK = {
    "m1": [
        Turn({"judge_score": 7.5, "answered": 1.0}, text="Yes, ü.", verdicts=VERDICT),
        Turn({"judge_score": 2.0, "answered": 1.0}, text="<script>"),
    ],
    "m2": [
        Turn({"judge_score": 4.5, "answered": 1.0}),
        Turn({"judge_score": None, "answered": 0.0}, "judge_unparsable"),
    ],
}


def both_hosts(folder: Path) -> Path:
    """A plain run with a case that did not fit, of lm-eval, and a judged conversation of OpenCompass."""
    arguments = f"pretrained={folder}/models/owl,api_key=sk-0123456789abcdef0123,tokenizer=org/owl"
    plain = Run(
        simple([1.0, 0.0, None, 1.0]),
        model="owl",
        model_args=arguments,
        options={"lct_data_dir": str(folder)},
    )
    write_lm_eval(folder, plain)
    told: dict[str, Any] = {"judge": JUDGE, "points": ("judge_score",), "made": "20260101_100000"}
    write_opencompass(folder / "oc", Run(TALK, CONVERSATION, "owl", **told))
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return both_hosts(tmp_path / "results")


@pytest.fixture
def packed(results: Path, tmp_path: Path) -> Path:
    [one] = pack(collect_with_files([results]), tmp_path / "bundles")
    return one.path


def same_scores(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    text = pl.col(pl.Categorical).cast(pl.String())
    order = ["run", "metric", "case", "repeat", "turn"]
    return one.with_columns(text).sort(order).equals(other.with_columns(text).sort(order), null_equal=True)


# --- there and back ---------------------------------------------------------------------------------------------


def test_a_bundle_gives_the_tables_of_its_runs(results: Path, packed: Path) -> None:
    before, after = collect([results]), collect([packed])
    assert not before.problems and not after.problems
    assert same_scores(before.scores, after.scores)
    changed = {"source", "options", "judge_settings", "provenance"}
    kept = [name for name in RUNS if name not in changed]
    assert before.runs.sort("run").select(kept).equals(after.runs.sort("run").select(kept))
    assert set(after.runs["source"]) == {str(packed)}
    assert [(cell.model, cell.task, cell.judge, cell.mean) for cell in cells_of(before)] == [
        (cell.model, cell.task, cell.judge, cell.mean) for cell in cells_of(after)
    ]


VALUES = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0, 1 / 3]))
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    cases=st.dictionaries(NAMES, st.tuples(VALUES, NAMES, st.text(max_size=20)), min_size=1, max_size=8),
    seed=st.integers(0, 3),
)
def test_any_scores_come_back(cases: dict[str, tuple[float | None, str, str]], seed: int) -> None:
    turns = {
        case: [Turn(dict.fromkeys(METRICS, value), None if value is not None else "does_not_fit", text)]
        for case, (value, _, text) in cases.items()
    }
    clusters = {case: cluster for case, (_, cluster, _) in cases.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lm_eval(folder / "r", Run(turns, clusters=clusters, seed=seed))
        collected = collect_with_files([folder / "r"])
        [one] = pack(collected, folder / "b.zip")
        assert same_scores(collected.collection.scores, collect([one.path]).scores)
        first = one.path.read_bytes()
        pack(collected, folder / "b.zip")
        assert one.path.read_bytes() == first  # the same runs make the same file


def test_no_prompt_gold_key_or_place_is_in_it(results: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        text = "\n".join(file.read(name).decode() for name in file.namelist())
    for leak in (
        "Prague",
        "feedback",
        "What?",
        "sk-0123",
        "secret",
        "key=abc",
        str(results),
        str(results.parent),
        "samples_",
        "lct_data_dir",
    ):
        assert leak not in text, leak
    assert "judge.example/v1" in text and "pretrained=owl" in text and "tokenizer=org/owl" in text
    assert "<script>" in text  # a response, as ELITR-Bench's card allows


def test_a_card_that_keeps_responses_back(results: Path, tmp_path: Path) -> None:
    from long_context_tasks.benchmarks import catalogue

    rules = catalogue.card("elitr_bench").redistribute
    object.__setattr__(catalogue.card("elitr_bench"), "redistribute", {**rules, "responses": False})
    try:
        [one] = pack(collect_with_files([results]), tmp_path / "b")
    finally:
        object.__setattr__(catalogue.card("elitr_bench"), "redistribute", rules)
    assert one.withheld == ("elitr_bench",) and one.cases == 4
    assert b"<script>" not in b"".join(
        zipfile.ZipFile(one.path).read(name) for name in zipfile.ZipFile(one.path).namelist()
    )
    [without] = pack(collect_with_files([results]), tmp_path / "c", responses=False)
    assert without.cases == 0 and len(collect([without.path]).runs) == 2


def test_a_run_counts_once_as_files_and_in_bundles(results: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lct.zip"
    copy.write_bytes(packed.read_bytes())
    for places in ([results, packed], [packed, results], [packed, copy], [tmp_path], [packed.parent, packed]):
        found = collect(places)
        assert len(found.runs) == 2 and not found.problems, places
    assert set(collect([packed, results]).runs["source"]) != {str(packed)}  # the files, which hold more


def test_other_scores_of_one_run_are_told(results: Path, packed: Path) -> None:
    rewrite(packed, on_scores(lambda row: row["columns"].update(value=flipped(row["columns"]["value"]))))
    found = collect([results, packed])
    assert len(found.runs) == 2 and len(found.problems) == 2
    assert all(str(packed) in one and "with other scores" in one for one in found.problems)


def test_a_bundle_of_bundles(packed: Path, tmp_path: Path) -> None:
    [again] = pack(collect_with_files([packed]), tmp_path / "again.zip")
    assert same_scores(collect([packed]).scores, collect([again.path]).scores)
    assert sorted(collect([packed]).runs["run"]) == sorted(collect([again.path]).runs["run"])
    assert again.cases == 6


def test_a_bundle_for_each_model_or_one_for_all(tmp_path: Path) -> None:
    for model in ("org/owl", "org/Owl", "crow"):
        write_lm_eval(tmp_path / "r" / model.replace("O", "_O"), Run(simple([1.0]), model=model))
    found = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    names = [one.path.name for one in found]
    assert len({name.lower() for name in names}) == 3 and "crow.lct.zip" in names
    assert bundles_below(tmp_path / "b") == sorted(one.path for one in found)
    [all_runs] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "all.zip")
    assert all_runs.runs == 3 and len(collect([all_runs.path]).runs) == 3


def test_pages_of_cases_from_a_bundle(packed: Path) -> None:
    collected = collect_with_files([packed])
    by_task = {one.run.task: list(shown_cases(key, one, None)) for key, one in collected.evaluations.items()}
    talk = {one.case: one for one in by_task[CONVERSATION]}
    assert [turn.response for turn in talk["m1"].turns] == ["Yes, ü.", "<script>"]
    assert [turn.scores["judge_score"] for turn in talk["m2"].turns] == [4.5, None]
    assert talk["m2"].turns[1].reason == "judge_unparsable" and talk["m1"].turns[0].feedback == ()
    assert talk["m1"].prompt is None and talk["m1"].turns[0].gold is None
    [plain] = [cases for task, cases in by_task.items() if task != CONVERSATION]
    assert [one.turns[0].reason for one in plain] == [None, None, "does_not_fit", None]
    assert plain[0].labels["length"] == "1000"


def test_missing_cells_from_bundles(packed: Path) -> None:
    found = find_runs_and_bundles(packed.parent)
    assert len(found.runs) == 2 and not found.problems
    [done] = find_cells([Wanted(run_task(found), 1, 3)], ["owl"], [found])
    assert done.state == PARTIAL and "3 of 4" in done.why and done.folder is None
    [talk] = find_cells([Wanted(CONVERSATION, 1, 4)], ["owl"], [found])
    assert talk.state == PARTIAL and talk.remedy == NOTHING and "pack it again" in talk.why
    [old] = find_cells([Wanted(CONVERSATION, 2, 4)], ["owl"], [found])
    assert old.state == "old version"


def run_task(found: Any) -> str:
    return str(next(run.task for run in found.runs if run.task != CONVERSATION))


def test_a_whole_run_is_done(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "r", Run(simple([1.0, 0.0])))
    [one] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    found = find_runs_and_bundles(one.path)
    [cell] = find_cells([Wanted(found.runs[0].task, 1, 2)], ["owl"], [found])
    assert cell.state == DONE
    one.path.write_bytes(b"PK")
    assert [problem.path for problem in find_runs_and_bundles(one.path).problems] == [one.path]


@given(st.text(st.sampled_from("/\\~.:?=,;abC1 '\"-_"), max_size=30) | st.text(max_size=30))
def test_what_was_made_fit_to_travel_is(text: str) -> None:
    once = fit_to_travel({"a": text})
    assert fit_to_travel(once) == once


# --- hostile bundles --------------------------------------------------------------------------------------------

Members = dict[str, bytes]


def rewrite(path: Path, change: Callable[[Members], None], *, hashes: bool = True) -> None:
    """Change members, then make the manifest right again: as somebody would who means it."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    manifest = json.loads(members.get(MANIFEST, b"[]"))
    if hashes and isinstance(manifest, dict):
        manifest["members"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in members.items()
            if name != MANIFEST
        }
        members[MANIFEST] = json.dumps(manifest).encode()
    path.write_bytes(zipped(list(members.items())))
    if hashes and SCORES_MEMBER in members:
        tell_again(path)


def tell_again(path: Path) -> None:
    """The lines for people, from the scores, where these can be read at all."""
    from long_context_tasks.runs import bundle_check

    before, bundle_check._check_told = bundle_check._check_told, lambda *_: None
    try:
        told = [bundle_check.told_of(one) for one in read_bundle(path)]
    except InputError:
        return
    finally:
        bundle_check._check_told = before
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), "runs": told}).encode()
    path.write_bytes(zipped(list(members.items())))


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def on_rows(member: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        rows = [json.loads(line) for line in members[member].splitlines()]
        for row in rows:
            change(row)
        members[member] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    return edit


def on_run(**values: Any) -> Callable[[Members], None]:
    return on_rows(RUNS_MEMBER, lambda row: row["run"].update(values))


def on_scores(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    return on_rows(SCORES_MEMBER, change)


def column(name: str, values: Any) -> Callable[[Members], None]:
    return on_scores(lambda row: row["columns"].update({name: values}))


def flipped(packed_values: Any) -> Any:
    return {"all": 0.25} if isinstance(packed_values, dict) and "all" in packed_values else {"all": 0.5}


def manifest(**values: Any) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), **values}).encode()

    return edit


HUGE = 10**9
BAD: dict[str, tuple[Callable[[Members], None], str]] = {
    "another zip": (lambda members: members.clear() or members.update({"a.txt": b"x"}), "no bundle: it holds 'a.txt'"),  # type: ignore[func-returns-value]
    "a path out": (lambda members: members.update({"../../etc/passwd": b"x"}), r"it holds '../../etc/passwd'"),
    "an absolute path": (lambda members: members.update({"/etc/passwd": b"x"}), "it holds '/etc/passwd'"),
    "a pickle": (lambda members: members.update({"x.pkl": b"x"}), "it holds 'x.pkl'"),
    "no scores": (lambda members: members.pop(SCORES_MEMBER), "where a bundle holds"),
    "no manifest": (lambda members: members.pop(MANIFEST), "where a bundle holds"),
    "a manifest of a list": (lambda members: members.update({MANIFEST: b"[]"}), "no bundle|not that of a bundle|cannot be read"),
    "another format": (manifest(format="x"), "not that of a bundle"),
    "a later version": (manifest(version=99), "schema version 99, and this package reads 1; update"),
    "a version of text": (manifest(version=["x"]), "schema version"),
    "lines that are no JSON": (lambda members: members.update({RUNS_MEMBER: b"{\n"}), "runs.jsonl, line 1: no JSON"),
    "lines that nest": (lambda members: members.update({RUNS_MEMBER: b"[" * 100_000 + b"\n"}), "line 1"),
    "a list for a line": (lambda members: members.update({RUNS_MEMBER: b"[1]\n"}), "line 1: no object"),
    "half a line": (lambda members: members.update({RUNS_MEMBER: b"{}"}), "ends in the middle of a line"),
    "no runs": (lambda members: members.update({RUNS_MEMBER: b"", SCORES_MEMBER: b""}), "has no runs"),
    "runs without scores": (lambda members: members.update({SCORES_MEMBER: b""}), "runs without scores"),
    "a run twice": (lambda members: members.update({RUNS_MEMBER: members[RUNS_MEMBER] * 2}), "is there twice"),
    "scores twice": (lambda members: members.update({SCORES_MEMBER: members[SCORES_MEMBER] * 2}), "or twice"),
    "an unknown column": (on_run(hacked="x"), "column 'hacked' is not known"),
    "a missing column": (on_rows(RUNS_MEMBER, lambda row: row["run"].pop("headline")), "no 'column headline'"),
    "a number for a name": (on_run(model=3), "model is '3', no String"),
    "a null name": (on_run(model=None), "model is null"),
    "an empty name": (on_run(model=""), "model is empty"),
    "a long name": (on_run(model="x" * 600), "longer than 500"),
    "a place for a name": (on_run(model="/home/me/owl"), "local path or a key"),
    "no key": (on_run(run="../x"), "no key of a run"),
    "an unknown host": (on_run(host="evil"), "host 'evil' is not known"),
    "an unknown task": (on_run(task="imagined_1k"), "unknown task 'imagined_1k'"),
    "a task of another benchmark": (on_run(benchmark="ethic"), "benchmark 'ethic' is not that of"),
    "another length": (on_run(length=7), "length 7 is not that of|the scores are not"),
    "an infinite number": (
        lambda members: members.update({RUNS_MEMBER: members[RUNS_MEMBER].replace(b'"n_truncated":', b'"n_truncated":1e999,"x":')}),
        "runs.jsonl, line 1",
    ),
    "an unknown metric": (on_run(metrics=["imagined"], headline="imagined"), "unknown metric 'imagined'"),
    "a headline of its own": (on_run(headline="copy_instruction_"), "is not among the metrics"),
    "JSON that is none": (on_run(settings="{"), "runs.jsonl, line 1"),
    "JSON of a list": (on_run(options="[]"), "options is no JSON object"),
    "a path in the options": (on_run(options='{"lct_cases": "/home/me/cases"}'), "options holds a local path"),
    "a key in the provenance": (on_run(provenance='{"a": "sk-0123456789abcdef0123"}'), "provenance holds a local path, a key"),
    "a limit that is none": (on_run(settings='{"lct_n": "many"}'), "lct_n is 'many'"),
    "responses elsewhere": (on_rows(RUNS_MEMBER, lambda row: row.update(answers="../x")), "are not there"),
    "a judge of a list": (on_rows(RUNS_MEMBER, lambda row: row.update(label=[])), "have no name"),
    "rows without end": (on_scores(lambda row: row.update(rows=HUGE)), "scores in all|rows"),
    "no rows": (on_scores(lambda row: row.update(rows=0)), "0 rows"),
    "rows of text": (on_scores(lambda row: row.update(rows="x")), "scores.jsonl, line 1"),
    "rows below nothing": (on_scores(lambda row: row.update(rows=-5)), "-5 rows"),
    "a column too short": (column("value", [1.0]), "column value has 1 values"),
    "codes out of range": (column("value", {"levels": [1.0], "codes": [7] * 8}), "column value does not fit its levels"),
    "codes below nothing": (column("case", {"levels": ["a"], "codes": [-1] * 8}), "column case does not fit its levels"),
    "a column of text": (column("value", {"all": "1"}), "a value that is no Float64"),
    "a column of truth": (column("value", {"all": True}), "a value that is no Float64"),
    "a column of nothing": (column("value", None), "scores.jsonl, line 1"),
    "turns beyond all": (column("turn", {"all": 10**30}), "scores.jsonl, line 1"),
    "turns below nothing": (column("turn", {"all": -1}), "counted from 0"),
    "no cases": (column("case", {"all": None}), "a score without case"),
    "one case for all": (column("case", {"all": "c"}), "a turn has a metric twice"),
    "a rate above 1": (column("value", {"all": 1.5}), "a rate of 1.5, outside 0 to 1"),
    "a rate below 0": (column("value", {"all": -0.5}), "a rate of -0.5, outside 0 to 1"),
    "a spread below 0": (column("std", {"all": -1.0}), "negative standard deviation"),
    "a reason of markup": (column("reason", {"all": "<b>"}), "reason '<b>' is no word"),
    "labels of no object": (column("labels", {"all": "[1]"}), "labels are no JSON object"),
    "other metrics": (column("metric", {"all": "copy_instruction"}), "metrics of the scores are not those"),
    "an unknown column of scores": (column("hacked", {"all": "x"}), "column 'hacked' is not known"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_bundle_is_named_and_skipped(name: str, tmp_path: Path) -> None:
    change, message = BAD[name]
    write_lm_eval(tmp_path / "r", Run(simple([1.0, 0.0, None, 1.0])))
    write_lm_eval(tmp_path / "good", Run(simple([1.0]), model="crow"))
    [one] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    rewrite(one.path, change)
    with pytest.raises(InputError, match=message) as caught:
        read_bundle(one.path)
    assert str(caught.value).startswith(f"{one.path}: ") and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    found = collect([tmp_path / "good", one.path])
    assert list(found.runs["model"]) == ["crow"] and found.problems == (str(caught.value),)


def test_points_may_not_hide_a_rate(packed: Path) -> None:
    rewrite(
        packed,
        lambda members: (
            on_run(points=["strict_accuracy"])(members),
            column("value", {"all": 50.0})(members),
        ),
    )  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="is a rate and no points"):
        read_bundle(packed)


def test_values_that_are_not_finite(packed: Path) -> None:
    rewrite(packed, column("value", {"all": math.inf}))
    with pytest.raises(InputError, match="not finite"):
        read_bundle(packed)


def test_a_changed_byte_is_seen(packed: Path) -> None:
    rewrite(
        packed, lambda members: members.update({SCORES_MEMBER: members[SCORES_MEMBER] + b" "}), hashes=False
    )
    with pytest.raises(InputError, match=r"scores\.jsonl is not what its manifest\.json says"):
        read_bundle(packed)


def test_responses_are_checked_too(packed: Path) -> None:
    [name, *_] = [name for name in zipfile.ZipFile(packed).namelist() if name.startswith("responses/")]
    rewrite(
        packed,
        lambda members: members.update({name: members[name].replace(b"script", b"zcript")}),
        hashes=False,
    )
    rewrite(packed, lambda members: members.update({name: b"x"}), hashes=False)
    with pytest.raises(InputError, match="is not what its manifest"):
        read_bundle(packed)


def test_responses_of_other_turns(packed: Path) -> None:
    names = [name for name in zipfile.ZipFile(packed).namelist() if name.startswith("responses/")]
    for name in names:
        rewrite(packed, on_rows(name, lambda row: row.update(responses=[["a", None]] * 5)))
    collected = collect_with_files([packed])
    for key, one in collected.evaluations.items():
        with pytest.raises(InputError, match="5 responses to"):
            list(shown_cases(key, one, None))


def test_the_manifest_may_not_praise(packed: Path) -> None:
    runs = json.loads(zipfile.ZipFile(packed).read(MANIFEST))["runs"]
    with zipfile.ZipFile(packed) as file:
        members = {name: file.read(name) for name in file.namelist()}
    for told, message in (
        ([{**one, "mean": 0.99} for one in runs], r"says mean '0\.99' of .*, and its scores"),
        ([{**one, "n": 7} for one in runs], r"says n '7' of .*, and its scores"),
        (runs[:1], "does not list its runs"),
        ([], "does not list its runs"),
    ):
        manifest(runs=told)(members)
        packed.write_bytes(zipped(list(members.items())))
        with pytest.raises(InputError, match=message):
            read_bundle(packed)


def test_bombs(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bundle_module.LIMITS, SCORES_MEMBER, 1000)  # type: ignore[arg-type]
    rewrite(packed, lambda members: members.update({SCORES_MEMBER: b" " * 10_000}))
    assert packed.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to 10,000 bytes, more than the 1,000 allowed"):
        read_bundle(packed)
    # A zip that states a smaller size than it unpacks to.
    content = packed.read_bytes().replace(struct.pack("<I", 10_000), struct.pack("<I", 900))
    packed.write_bytes(content)
    with pytest.raises(InputError, match=r"scores\.jsonl"):
        read_bundle(packed)


def test_many_responses(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_module, "MOST_RESPONSES", 10)
    with pytest.raises(InputError, match="responses unpack to more than the 10 bytes"):
        read_bundle(packed)


@settings(max_examples=60, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_file_is_told_or_the_same(place: float, byte: int, cut: bool) -> None:
    content = bytearray(sample())
    where = int(place * len(content))
    if cut:
        del content[where:]
    else:
        content[where] = byte
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.lct.zip"
        path.write_bytes(bytes(content))
        found = collect([path])
        # A byte that no reader looks at (times, attributes) changes nothing.
        assert bool(found.problems) != bool(len(found.runs))
        if len(found.runs):
            assert cells_of(found)[0].mean.value == 0.5


def sample(known: list[bytes] = []) -> bytes:  # noqa: B006 - made once
    if not known:
        with tempfile.TemporaryDirectory() as name:
            write_lm_eval(Path(name) / "r", Run(simple([1.0, 0.0])))
            [one] = pack(collect_with_files([Path(name) / "r"]), Path(name) / "b")
            known.append(one.path.read_bytes())
    return known[0]


# --- the commands -----------------------------------------------------------------------------------------------


def lct(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_commands(results: Path, tmp_path: Path) -> None:
    done = lct("report", "pack", results, "--out", tmp_path / "b")
    assert done.exit_code == 0, done.output
    [path] = bundles_below(tmp_path / "b")
    assert path.name == "owl.lct.zip" and "owl.lct.zip" in done.stdout
    checked = lct("report", "check", tmp_path / "b")
    assert checked.exit_code == 0, checked.output
    assert (
        "0.6667" in checked.stdout
        and "4.6667" in checked.stdout
        and "1 of 4 without a score" in checked.stdout
    )
    assert "1 bundle, 2 runs, 0 problems" in checked.output
    shown = lct("report", path)
    assert shown.exit_code == 0 and "66.7 %" in shown.stdout
    told = json.loads(lct("report", "check", path, "--json").stdout)
    assert told["result"]["problems"] == [] and len(told["tables"][0]["rows"]) == 2


def test_check_tells_every_problem(results: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lct.zip"
    copy.write_bytes(packed.read_bytes())
    broken, odd = tmp_path / "broken.lct.zip", tmp_path / "odd.txt"
    broken.write_bytes(b"no zip")
    odd.write_bytes(b"")
    done = lct("report", "check", packed, copy, broken, odd)
    assert done.exit_code == 1
    assert f"problem: {broken}: " in done.stderr and f"problem: {odd}: " in done.stderr
    assert done.stderr.count(f"is in {packed} as well") == 2
    assert lct("report", "check", tmp_path / "none").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert "no bundle" in lct("report", "check", tmp_path / "empty").stderr


def test_pack_tells_what_it_cannot_pack(results: Path, tmp_path: Path) -> None:
    path = next(results.rglob("samples_*"))
    path.write_bytes(path.read_bytes()[:-30])
    done = lct("report", "pack", results, "--out", tmp_path / "b")
    assert done.exit_code == 1 and str(path) in done.stderr and len(bundles_below(tmp_path / "b")) == 1
    assert lct("report", "pack", path.parent / "x", "--out", tmp_path / "b").exit_code == 2
    (tmp_path / "file").write_text("")
    assert "--out" in lct("report", "pack", results, "--out", tmp_path / "file").stderr


def test_the_site_from_bundles(packed: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    done = lct("report", packed, "--out", tmp_path / "site")
    assert done.exit_code == 0, done.output
    texts = "".join(
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "site").rglob("*.js")
        if path.name != "plotly.min.js"
    )
    assert "script\\u003e" in texts or "\\u003cscript" in texts


# --- the pull-request check of the docs ---------------------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs" / "results_repository.md"


def test_the_workflow_of_the_docs(results: Path, packed: Path, tmp_path: Path) -> None:
    """Its shell steps, run in a repository: a good bundle passes, a bad one and a change beside the bundles do not."""
    if not DOCS.is_file() or not shutil.which("git") or not shutil.which("bash"):
        pytest.skip("needs the docs, git and bash")
    [text] = [
        block.split("```\n")[0]
        for block in DOCS.read_text(encoding="utf-8").replace("'```", "'~~~").split("```yaml\n")[1:]
    ]
    workflow = yaml.safe_load(text.replace("~~~", "```"))
    assert set(workflow["jobs"]) == {"check", "publish"} and workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in text
    steps = {step["name"]: step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step}
    repository = tmp_path / "repository"
    (repository / "bundles").mkdir(parents=True)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "BASE": "main",
    }

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(name: str) -> None:
        done = shell(f"git add -A && git -c user.name=a -c user.email=a@b commit -qm {name} --allow-empty")
        assert done.returncode == 0, done.stderr

    assert shell("git init -q -b main").returncode == 0
    commit("begin")
    shell("git checkout -qb good")
    shutil.copy(packed, repository / "bundles" / "an owl.lct.zip")
    commit("good")
    assert shell(steps["Only bundles are changed"]).returncode == 0
    done = shell(steps["Check the changed bundles"])
    assert done.returncode == 0 and "an owl.lct.zip" in done.stdout, done.stdout + done.stderr
    assert "```text" in (tmp_path / "summary.md").read_text() and "2 runs" in done.stdout
    shutil.copy(packed, repository / "bundles" / "copy.lct.zip")
    (repository / "bundles" / "bad.lct.zip").write_bytes(packed.read_bytes()[:-100])
    (repository / "requirements.txt").write_text("evil")
    commit("bad")
    only = shell(steps["Only bundles are changed"])
    assert only.returncode == 1 and "requirements.txt" in only.stdout and "owl" not in only.stdout
    bad = shell(steps["Check the changed bundles"])
    assert (
        bad.returncode == 1
        and "problem: bundles/bad.lct.zip: " in bad.stdout
        and "as well; leave one out" in bad.stdout
    )
    assert shell(steps["Check all bundles together"]).returncode == 1
