"""Files that are there whole or not at all."""

import gzip
import json
import multiprocessing
import os
import resource
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import (
    content_of,
    json_rows,
    json_value,
    loads,
    read_json,
    read_yaml,
    whole_folder,
    write_whole,
)


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


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there" / "file.json")
    write_whole(link, "new")
    assert link.is_symlink() and (tmp_path / "there" / "file.json").read_text() == "new"
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path / "there")
    with whole_folder(folder) as part:
        (part / "x").write_text("y")
    assert folder.is_symlink() and [path.name for path in (tmp_path / "there").iterdir()] == ["x"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for write in (lambda: write_whole(tmp_path / "loop", ""), whole_folder(tmp_path / "loop").__enter__):
        with pytest.raises(InputError, match="cannot be followed"):
            write()


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(InputError, match="not a regular file; choose another place"):
            write_whole(tmp_path / name, "x")
        with pytest.raises(InputError, match="not a folder"), whole_folder(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo() and Path("/dev/null").is_char_device()


def test_a_part_of_a_killed_process_is_reused_and_one_of_a_running_process_waited_for(tmp_path: Path) -> None:
    part = tmp_path / ".file.json.part"
    part.write_text("half of a longer text")
    write_whole(tmp_path / "file.json", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]
    assert (tmp_path / "file.json").read_text() == "new"
    begun, end = Event(), Event()

    def slowly() -> Iterator[str]:
        yield "first "
        begun.set()
        end.wait(60)
        yield "writer"

    with ThreadPoolExecutor() as pool:
        first = pool.submit(write_whole, tmp_path / "file.json", slowly())
        begun.wait(60)
        second = pool.submit(write_whole, tmp_path / "file.json", "second writer")
        assert not second.done() and (tmp_path / "file.json").read_text() == "new"
        end.set()
        first.result(60)
        second.result(60)
    assert (tmp_path / "file.json").read_text() == "second writer" and not part.exists()


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
        ("a.jsonl", b'"\xff"', r"a\.jsonl, row 1: not UTF-8 .*expected rows"),
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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[" * 101 + b"]" * 101, "nested deeper"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested deeper"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a": ' + b"9" * 301 + b"}", "a number of more than 300 digits"),
        (b"[" + b"9" * 5000 + b".5]", "a number of more than 300 digits"),
        (b"[" + b"[]," * 4_000_000 + b"1]", "more than 4000000 values"),
        (b'{"a": 1', "Expecting"),
        (b'["\xff"]', "codec can't decode"),
    ],
)
def test_json_beyond_the_limits_is_a_plain_error(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loads(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"[" * 100 + b"]" * 100, None),
        (b'["' + b"[{," * 2_000_000 + b'\\" ,"]', None),
        # As the standard library has it, with the fast parser too.
        (b"[" + b"9" * 300 + b"]", [int("9" * 300)]),
        (b"[18446744073709551616, -0.1e1, 1E400]", [2**64, -1.0, float("inf")]),
        (b'"' + b"1" * 400 + b'"', "1" * 400),
        (b'\xef\xbb\xbf {"a": 1, "a": [NaN]} \r\n', None),
    ],
)
def test_json_within_the_limits_is_read_as_the_standard_library_does(data: bytes, value: Any) -> None:
    expected = json.loads(data)
    assert repr(loads(data)) == repr(expected) and (value is None or expected == value)
    assert repr(loads(data.decode("utf-8-sig"))) == repr(expected)


def test_a_row_that_unpacks_to_gigabytes_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"[" * (1 << 20))
    tracemalloc.start()
    with pytest.raises(InputError, match="line 1 is longer than 64 MiB"):
        list(json_rows(path, "rows"))
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


def test_only_regular_files_of_a_size_that_fits_are_read_whole(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            content_of(path)
    assert content_of(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        content_of(tmp_path / "file", 4)


def test_a_file_beyond_the_memory_is_a_plain_error(tmp_path: Path) -> None:
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        file.truncate(3 << 30)

    text = b" " * (128 << 20)

    def read() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
        with pytest.raises(InputError, match="more memory than there is"):
            read_json(path, "numbers")
        with pytest.raises(ValueError, match="more memory than there is"):
            loads(text)

    child = multiprocessing.get_context("fork").Process(target=read)
    child.start()
    child.join(120)
    assert child.exitcode == 0


def test_a_file_of_json_is_named_with_what_it_should_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": [1]}')
    assert read_json(path, "numbers") == {"a": [1]}
    path.write_text("{")
    with pytest.raises(InputError, match=r"a\.json: not JSON \(.*\); expected numbers"):
        read_json(path, "numbers")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\); expected numbers"):
        read_json(tmp_path, "numbers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: " + "[" * 5000, "not YAML"),  # libyaml itself reads 1,000 levels at most
        ("x: 2020-13-45", "not YAML"),
        ("x: !!timestamp y", "not YAML; mend it"),
        ('x: !!int ""', "not YAML; mend it"),
        ("x: !!python/name:os.system", "line 1: not YAML"),
        ("a: 1\nb: ]", "line 2: not YAML"),
        ("x: \x00", "not YAML"),
        ("{[1]: 2}", "not YAML"),
        ("x: &a [*a]", "too many values or for themselves"),
        (
            "a0: &a0 [x]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
            "too many values",
        ),
    ],
)
def test_text_that_is_not_yaml_is_an_input_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_yaml(path, "thing", remedy="mend it")
    assert str(error.value).startswith(f"thing {path}") and str(error.value).endswith("; mend it")


def test_aliases_and_merges_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text('a: &a {x: 1, z: "' + "1" * 400 + '"}\nb: {<<: *a, y: 2}\nc: *a\nd: 2020-01-02\n')
    found = read_yaml(path, "thing", remedy="mend it")
    assert found["b"] == {"x": 1, "y": 2, "z": "1" * 400} and found["c"] == found["a"]
