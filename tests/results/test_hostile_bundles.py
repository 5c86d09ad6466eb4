"""Bundles of strangers: whatever was done to one, it is named and skipped, and nothing of it gets through."""

import json
import math
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

import polars as pl
from bundle_files import (
    Members,
    both_hosts,
    column,
    manifest,
    on_run,
    on_scores,
    on_stated,
    on_table,
    pack_one,
    rewrite,
    zipped,
)
from collected_runs import Run, simple, write_lm_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.results.bundle import format as bundle_module
from long_context_tasks.results.bundle.format import MANIFEST, SCORES_MEMBER, read_bundle
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.bundle.runs import overview
from long_context_tasks.results.case_pages import shown_cases
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.schema import InputError


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return pack_one(both_hosts(tmp_path / "results"), tmp_path / "bundles")


def rows_twice(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame])


BAD: dict[str, tuple[Callable[[Members], object], str]] = {
    "another zip": (lambda members: members.clear() or members.update({"a.txt": b"x"}), "not a bundle: it holds 'a.txt'"),  # type: ignore[func-returns-value]
    "a path out": (lambda members: members.update({"../../etc/passwd": b"x"}), r"it holds '../../etc/passwd'"),
    "no scores": (lambda members: members.pop(SCORES_MEMBER), "but a bundle holds"),
    "no manifest": (lambda members: members.pop(MANIFEST), "but a bundle holds"),
    "a manifest of a list": (lambda members: members.update({MANIFEST: b"[]"}), "does not belong to a bundle"),
    "another format": (manifest(format="x"), "does not belong to a bundle"),
    "a later version": (manifest(version=99), "schema version 99, but this package reads 1; update"),
    "a version of text": (manifest(version=["x"]), "schema version"),
    "more in the manifest": (manifest(hacked="x"), "hacked"),
    "no runs": (manifest(runs=[]), "has no runs"),
    "runs without scores": (on_scores(lambda frame: frame.clear()), "runs without scores"),
    "scores without a run": (column("run", "0" * 16), "scores without a run"),
    "scores twice": (on_scores(rows_twice), "a turn has a metric twice"),
    "an unknown column": (on_run(hacked="x"), "hacked"),
    "a missing column": (on_stated(lambda run: run["row"].pop("headline")), "headline"),
    "a long name": (on_run(model="x" * 600), "model"),
    "a place for a name": (on_run(model="/home/me/owl"), "local path or a key"),
    "no key": (on_run(run="../x"), "run"),
    "a key and a line": (on_run(run="0" * 16 + "\n"), "run"),
    "an unknown host": (on_run(host="evil"), "host"),
    "an unknown task": (on_run(task="imagined_1k"), "unknown task 'imagined_1k'"),
    "another length": (on_run(length=7), "length 7 does not belong to"),
    "an infinite number": (
        lambda members: members.update({MANIFEST: members[MANIFEST].replace(b'"n_scored":', b'"n_scored": 1e999, "x":')}),
        "n_scored|cannot be read",
    ),
    "an unknown metric": (on_run(metrics=["imagined"], headline="imagined"), "unknown metric 'imagined'"),
    "a headline of its own": (on_run(headline="copy_instruction_"), "is not among the metrics"),
    "JSON that is none": (on_run(settings="{"), "manifest.json, run 1"),
    "JSON of a list": (on_run(options="[]"), "options is not a JSON object"),
    "a path in the options": (on_run(options='{"lct_cases": "/home/me/cases"}'), "options holds a local path"),
    "a key in the provenance": (on_run(provenance='{"a": "sk-0123456789abcdef0123"}'), "provenance holds a local path, a key"),
    "a limit that is none": (on_run(settings='{"lct_n": "many"}'), "lct_n is 'many'"),
    "a seed of 100,000 digits": (on_run(settings=json.dumps({"lct_seed": "9" * 100_000})), "lct_seed is '9999"),
    "a long seed of the host": (on_run(seed="9" * 101), "seed"),
    "a run of the year 9999": (on_run(made="9999-01-01T00-00-00"), "made lies in the future"),
    "a run of no day": (on_run(made="2026-02-31T00-00-00"), "made does not begin with a date"),
    "fewer cases than none": (on_run(n_cases_available=-1), "n_cases_available"),
    "a count of -1e300": (on_run(n_truncated=-1e300), "n_truncated"),
    "a version below 0": (on_run(version=-1), "version"),
    "a long window": (on_run(window="x" * 501), "window"),
    "responses elsewhere": (on_stated(lambda run: run.update(answers="../x")), "its responses are not those that its manifest.json names"),
    "a judge of a list": (on_stated(lambda run: run.update(label=[])), "label"),
    "responses of no run": (lambda members: members.update({f"responses/{'0' * 16}.parquet": b"x"}), "its responses are not those"),
    "no Parquet": (lambda members: members.update({SCORES_MEMBER: b"x"}), "scores.parquet cannot be read"),
    "Parquet that ends early": (lambda members: members.update({SCORES_MEMBER: members[SCORES_MEMBER][:-20]}), "scores.parquet cannot be read"),
    "Parquet within a zip within": (on_scores(lambda frame: frame, compression="ZSTD"), "compressed inside"),
    "a column less": (on_scores(lambda frame: frame.drop("turn")), "scores.parquet cannot be read"),
    "a column of text": (column("value", "1"), "column value is not of type double"),
    "turns of other numbers": (on_scores(lambda frame: frame.with_columns(pl.col("turn").cast(pl.Int64()))), "column turn is not of type int16"),
    "turns below nothing": (column("turn", -1), "counted from 0"),
    "no cases": (column("case", None), "a score without case"),
    "points that hide a rate": (on_run(points=["strict_accuracy"]), "is a rate, not points"),
    "a value that is not finite": (column("value", math.inf), "not finite"),
    "a rate above 1": (column("value", 1.5), "a rate of 1.5, outside 0 to 1"),
    "a rate below 0": (column("value", -0.5), "a rate of -0.5, outside 0 to 1"),
    "a spread below 0": (column("std", -1.0), "negative standard deviation"),
    "a reason of markup": (column("reason", "<b>"), "reason '<b>' is not a word"),
    "labels of no object": (column("labels", "[1]"), "labels are not a JSON object"),
    "other metrics": (column("metric", "copy_instruction"), "scores do not have the metrics of the run"),
    "an unknown column of scores": (column("hacked", "x"), "unknown column 'hacked'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_bundle_is_named_and_skipped(name: str, tmp_path: Path) -> None:
    change, message = BAD[name]
    write_lm_eval(tmp_path / "r", Run(simple([1.0, 0.0, None, 1.0])))
    write_lm_eval(tmp_path / "good", Run(simple([1.0]), model="crow"))
    [one] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    rewrite(one.path, change)
    with pytest.raises(InputError, match=message) as caught:
        read_bundle(one.path, [])
    assert str(caught.value).startswith(f"{one.path}: ") and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    found = collect([tmp_path / "good", one.path])
    assert list(found.runs["model"]) == ["crow"] and found.problems == (str(caught.value),)


def test_more_rows_than_are_read(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_module, "MOST_ROWS", 3)
    with pytest.raises(InputError, match=r"scores\.parquet cannot be read \(\d+ rows; at most 3 are read"):
        read_bundle(packed, [])


@pytest.mark.parametrize("how", ["pipe", "device"])
def test_special_files_are_not_opened(tmp_path: Path, how: str) -> None:
    path = tmp_path / "x.lct.zip"
    os.mkfifo(path) if how == "pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        read_bundle(path, [])


def test_a_manifest_that_nests(tmp_path: Path) -> None:
    path = tmp_path / "x.lct.zip"
    path.write_bytes(zipped([(MANIFEST, b'{"a":' * 100_000), (SCORES_MEMBER, b"")]))
    with pytest.raises(InputError, match="cannot be read"):
        read_bundle(path, [])


def test_damage_to_responses_is_seen_before_they_are_read(packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        [member, *_] = [member for member in file.infolist() if member.filename.startswith("responses/")]
    content = bytearray(packed.read_bytes())
    # Behind the local header of 30 bytes and the name.
    content[member.header_offset + 30 + len(member.filename) + member.compress_size // 2] ^= 255
    packed.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"responses/\w+\.parquet was changed or damaged|cannot be read"):
        read_bundle(packed, [])


def test_responses_of_other_turns(packed: Path) -> None:
    for name in zipfile.ZipFile(packed).namelist():
        if name.startswith("responses/"):
            rewrite(packed, on_table(name, rows_twice))
    collected = collect_with_files([packed])
    for key, one in collected.evaluations.items():
        with pytest.raises(InputError, match=r"[24] responses to [12] turns"):
            list(shown_cases(key, one, None))


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("member", [MANIFEST, SCORES_MEMBER, "responses"])
def test_other_content_of_the_same_size(kind: int, member: str, packed: Path, tmp_path: Path) -> None:
    """The checksums in the zip, at both places, stay those of the first content."""
    with zipfile.ZipFile(packed) as file:
        members = {name: file.read(name) for name in file.namelist()}
    [name, *_] = [name for name in members if name.startswith(member)]
    forged = bytearray(members[name])
    forged[len(forged) // 2] ^= 1
    for content in (members, members | {name: bytes(forged)}):
        with zipfile.ZipFile(tmp_path / f"{len(list(tmp_path.iterdir()))}.zip", "w", kind) as file:
            for each, data in content.items():
                file.writestr(each, data)
    first, second = sorted(tmp_path.glob("*.zip"))
    with zipfile.ZipFile(first) as file:
        right = struct.pack("<I", file.getinfo(name).CRC)
    with zipfile.ZipFile(second) as file:
        wrong = struct.pack("<I", file.getinfo(name).CRC)
    data = second.read_bytes()
    assert data.count(wrong) == 2
    packed.write_bytes(data.replace(wrong, right))
    with pytest.raises(InputError, match=r"was changed or damaged|cannot be read"):
        read_bundle(packed, [])
    assert overview([packed])[1]


@pytest.mark.parametrize(
    ("change", "others"),
    [
        (on_run(model="thief"), "model"),
        (on_run(made="2026-01-02T10-00-00"), "made"),
        (on_run(settings='{"temperature": 1}'), "settings"),
        (on_scores(lambda frame: frame.with_columns(pl.col("value").reverse().over("metric"))), "scores"),
    ],
)
@pytest.mark.parametrize("honest", ["0.lct.zip", "2.lct.zip", "files"])
def test_a_run_with_the_key_of_another(
    change: Callable[[Members], object], others: str, honest: str, tmp_path: Path
) -> None:
    """Keys are hashes of files that a bundle lacks. With equal means, the other run would be left out silently."""
    folder = tmp_path / "bundles"
    write_lm_eval(tmp_path / "r", Run(simple([1.0, 0.0, 1.0, 0.0]), model="owl"))
    packed = pack_one(tmp_path / "r", folder)
    forged = packed.with_name("1.lct.zip")
    forged.write_bytes(packed.read_bytes())
    packed = packed.rename(folder / honest) if honest.endswith(".zip") else tmp_path / "r"
    rewrite(forged, change)
    [problem] = collect([forged, packed] if honest == "files" else [folder]).problems
    assert f"with other {others} and is left out" in problem
    if honest.endswith(".zip"):
        assert any("leave one out" in each for each in overview([packed, forged])[1])


RESPONSES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "of other cases": (
        lambda data: changed(data, case="x"),
        "responses to cases without scores, such as 'x'",
    ),
    "of other repeats": (lambda data: changed(data, repeat=7), "responses to cases without scores"),
    "that are no table": (lambda data: b"x" * len(data), "cannot be read"),
}


def changed(data: bytes, **columns: Any) -> bytes:
    members = {"x": data}
    on_table(
        "x", lambda frame: frame.with_columns(**{k: pl.lit(v, frame.schema[k]) for k, v in columns.items()})
    )(members)
    return members["x"]


@pytest.mark.parametrize("name", RESPONSES)
def test_a_check_reads_responses(name: str, packed: Path) -> None:
    """Their checksums are right, and nothing else of a bundle depends on them."""
    change, message = RESPONSES[name]
    for member in zipfile.ZipFile(packed).namelist():
        if member.startswith("responses/"):
            rewrite(packed, lambda members, member=member: members.update({member: change(members[member])}))
    rows, problems = overview([packed])
    assert not rows and len(problems) == 1 and message in problems[0]


def test_responses_of_another_run(packed: Path) -> None:
    """The names of responses, which are hashes, are exchanged in the manifest."""

    def exchange(members: Members) -> None:
        content = json.loads(members[MANIFEST])
        one, other = content["runs"]
        one["answers"], other["answers"] = other["answers"], one["answers"]
        members[MANIFEST] = json.dumps(content).encode()

    rewrite(packed, exchange)
    [problem] = overview([packed])[1]
    assert "responses to cases without scores" in problem


def test_scores_of_another_run(tmp_path: Path) -> None:
    for model, values in (("owl", [1.0, 1.0]), ("crow", [0.0, 1.0])):
        write_lm_eval(tmp_path / "r", Run(simple(values), model=model))
    [one] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b.lct.zip")

    def exchange(frame: pl.DataFrame) -> pl.DataFrame:
        first, second = frame["run"].unique(maintain_order=True)
        return frame.with_columns(pl.col("run").replace({first: second, second: first}))

    rewrite(one.path, on_scores(exchange))
    with pytest.raises(InputError, match=r"has mean '\d\.\d', but the scores give"):
        read_bundle(one.path, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": 0.99}, r"has mean '0\.99', but the scores"),
        ({"n": 7}, r"has n '7', but the scores"),
        ({"mean": None}, r"has mean 'None', but the scores"),
    ],
)
def test_the_manifest_may_not_praise(packed: Path, change: dict[str, Any], message: str) -> None:
    rewrite(packed, on_stated(lambda run: run.update(change)))
    with pytest.raises(InputError, match=message):
        read_bundle(packed, [])


def test_bombs(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bundle_module.LIMITS, SCORES_MEMBER, 1000)  # type: ignore[arg-type]
    rewrite(packed, lambda members: members.update({SCORES_MEMBER: b" " * 10_000}))
    assert packed.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to 10,000 bytes, more than the 1,000 allowed"):
        read_bundle(packed, [])
    # A zip that states a smaller size than it unpacks to.
    content = packed.read_bytes().replace(struct.pack("<I", 10_000), struct.pack("<I", 900))
    packed.write_bytes(content)
    with pytest.raises(InputError, match=r"scores\.parquet"):
        read_bundle(packed, [])


def test_many_responses(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_module, "MOST_RESPONSES", 10)
    with pytest.raises(InputError, match="responses unpack to more than the 10 bytes"):
        read_bundle(packed, [])


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
