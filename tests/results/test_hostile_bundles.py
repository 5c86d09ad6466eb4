"""Bundles of strangers: whatever was done to one, it is named and skipped, and nothing of it gets through."""

import json
import math
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("polars")

from bundle_files import (
    Members,
    both_hosts,
    column,
    manifest,
    on_rows,
    on_run,
    on_scores,
    pack_one,
    rewrite,
    zipped,
)
from collected_runs import Run, simple, write_lm_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.results.bundle import format as bundle_module
from long_context_tasks.results.bundle.check import read_bundle
from long_context_tasks.results.bundle.format import MANIFEST, RUNS_MEMBER, SCORES_MEMBER
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.case_pages import shown_cases
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.schema import InputError


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return pack_one(both_hosts(tmp_path / "results"), tmp_path / "bundles")


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
