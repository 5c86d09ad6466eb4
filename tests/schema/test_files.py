"""Files that are there whole or not at all."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, json_value, write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_whole(path, "old")

    def breaks() -> Iterator[str]:
        yield "new"
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        write_whole(path, breaks())
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    write_whole(path, iter(["a\ud800", "b"]))
    assert path.read_text() == "a\\ud800b"
    write_whole(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"


def test_a_place_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/x: cannot be written \(No such file.*\); go elsewhere"):
        write_whole(tmp_path / "none" / "x", "", remedy="go elsewhere")


def test_values_that_json_has_no_word_for() -> None:
    value = {1: (float("inf"), 1.5), "a": {"b": float("nan")}, "c": None, "d": "text"}
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == {
        "1": [None, 1.5],
        "a": {"b": None},
        "c": None,
        "d": "text",
    }


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_json_rows_come_with_their_places(tmp_path: Path, name: str) -> None:
    """A line separator of Unicode ends no row, blank lines count."""
    path = tmp_path / name
    data = '{"a": "x\u2028y"}\n\n[1]'.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(json_rows(path, "rows")) == [(f"{path}, row 1", {"a": "x\u2028y"}), (f"{path}, row 3", [1])]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b"1\n{", r"a\.jsonl, row 2: not JSON .*expected rows"),
        ("a.jsonl", b"[" * 200_000, r"row 1: not JSON"),
        ("a.jsonl", b'"\xff"', r"a\.jsonl: cannot be read \(not UTF-8"),
        ("a.jsonl.gz", gzip.compress(b"1\n" * 99, mtime=0)[:-9], r"a\.jsonl\.gz: cannot be read"),
        ("a.jsonl", None, r"a\.jsonl: cannot be read .*expected rows"),
    ],
)
def test_json_rows_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(json_rows(tmp_path / name, "rows"))
