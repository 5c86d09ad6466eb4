"""Case folders: what goes in comes out, all or nothing, damage is named."""

import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Turn
from long_context_tasks.schema.case_folder import cached_folder

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_TURN = st.builds(
    Turn, gold=_VALUE, question=st.none() | _TEXT, labels=st.dictionaries(_TEXT, _VALUE, max_size=2)
)
_CASE = st.builds(
    Case,
    id=_TEXT,
    task=_TEXT,
    inputs=st.dictionaries(_TEXT, _VALUE, max_size=3),
    turns=st.lists(_TURN, min_size=1, max_size=3).map(tuple),
    cluster=_TEXT,
    num_tokens=st.dictionaries(_TEXT, st.integers(0, 10**9), max_size=2),
    document=st.none() | _TEXT,
    labels=st.dictionaries(_TEXT, _VALUE, max_size=2),
)


def _case(name: str = "a") -> Case:
    return Case(name, "toy_1k", {"text": "d"}, (Turn([1, 2]),), "d", document="d")


def _write(folder: Path, *names: str) -> None:
    with CaseWriter(folder, {"lct_seed": 1}) as writer:
        writer.add_documents([("d", "zażółć\r\n\ttext \u2028 😀")])
        writer.add_cases("toy_1k", [_case(name) for name in names])


@pytest.mark.slow
@given(_CASE)
def test_a_case_comes_back_equal(case: Case) -> None:
    line = case.to_json()
    assert "\n" not in line
    assert Case.from_json(line) == case


@settings(deadline=None, max_examples=15)
@given(
    st.dictionaries(_TEXT, _TEXT, min_size=1, max_size=5),
    st.lists(_CASE, max_size=5, unique_by=lambda case: case.id),
)
def test_a_folder_comes_back_equal(tmp_path_factory: Any, texts: dict[str, str], cases: list[Case]) -> None:
    folder = tmp_path_factory.mktemp("cases") / "toy"
    with CaseWriter(folder, {}) as writer:
        writer.add_documents(texts.items())
        writer.add_cases("toy_1k", cases)
    read = CaseSet.read(folder, "toy_1k")
    assert list(read.cases) == cases
    assert {key: read.documents[key] for key in texts} == texts


def test_a_second_case_with_one_id_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"toy_1k.jsonl: a second case has the id 'a'; make each id from"):
        _write(tmp_path / "toy", "a", "b", "a")
    _write(tmp_path / "toy", "a", "b")
    path = tmp_path / "toy" / "toy_1k.jsonl"
    path.write_text(path.read_text().replace('"id":"b"', '"id":"a"'))
    with pytest.raises(InputError, match=r"toy_1k.jsonl, line 2: a second case has the id 'a'; make each"):
        CaseSet.read(tmp_path / "toy", "toy_1k")


def test_documents_survive_pickling(tmp_path: Path) -> None:
    _write(tmp_path / "toy", "a")
    documents = CaseSet.read(tmp_path / "toy", "toy_1k").documents
    before = documents["d"]
    assert pickle.loads(pickle.dumps(documents))["d"] == before


@pytest.mark.parametrize("old", [(), ("old",)])
def test_a_failure_leaves_what_was_there(tmp_path: Path, old: tuple[str, ...]) -> None:
    if old:
        _write(tmp_path / "toy", *old)
    with pytest.raises(RuntimeError), CaseWriter(tmp_path / "toy", {}) as writer:
        writer.add_documents([("d", "x")])
        writer.add_cases("toy_1k", [_case("new")])
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["toy"][: len(old)]
    if old:
        assert [case.id for case in CaseSet.read(tmp_path / "toy", "toy_1k").cases] == ["old"]
        _write(tmp_path / "toy", "new", "newer")
        assert [case.id for case in CaseSet.read(tmp_path / "toy", "toy_1k").cases] == ["new", "newer"]
        assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_a_folder_of_other_things_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a folder of cases"):
        _write(tmp_path, "a")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    _write(tmp_path / "x", "a", "b")
    _write(tmp_path / "y", "a", "b")
    for name in ("documents.sqlite", "toy_1k.jsonl", "manifest.json"):
        assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "y" / name).read_bytes()


@pytest.mark.parametrize(
    ("file", "pattern", "new", "message"),
    [
        ("toy_1k.jsonl", rb"(?s).{20}\Z", b"", "toy_1k.jsonl, line 2"),
        ("toy_1k.jsonl", rb"\n.*\n\Z", b"\n", "1 cases instead of 2"),
        ("manifest.json", rb"(?s)\{.*", b"{", "manifest.json: damaged"),
        ("manifest.json", rb'"format": 1', b'"format": 99', "newer version"),
    ],
)
def test_damage_is_named(tmp_path: Path, file: str, pattern: bytes, new: bytes, message: str) -> None:
    _write(tmp_path, "a", "b")
    damaged, times = re.subn(pattern, new, (tmp_path / file).read_bytes())
    assert times == 1
    (tmp_path / file).write_bytes(damaged)
    with pytest.raises(InputError, match=message):
        CaseSet.read(tmp_path, "toy_1k")


def test_missing_things_are_named(tmp_path: Path) -> None:
    _write(tmp_path / "toy", "a")
    with pytest.raises(InputError, match="it has: toy_1k"):
        CaseSet.read(tmp_path / "toy", "toy_2k")
    with pytest.raises(InputError, match="no document 'x'"):
        CaseSet.read(tmp_path / "toy", "toy_1k").documents["x"]
    (tmp_path / "toy" / "documents.sqlite").write_bytes(b"not a database at all")
    with pytest.raises(InputError, match="not a readable document table"):
        CaseSet.read(tmp_path / "toy", "toy_1k").documents["d"]


def test_a_folder_lost_between_the_last_two_steps_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    _write(folder, "a")
    folder.replace(tmp_path / ".toy.lct-old")  # as when the writer is killed there
    with pytest.raises(InputError, match=r"the old cases are in .*\.toy\.lct-old"):
        CaseSet.read(folder, "toy_1k")
    with pytest.raises(ZeroDivisionError), CaseWriter(folder, {}):
        raise ZeroDivisionError
    assert [case.id for case in CaseSet.read(folder, "toy_1k").cases] == ["a"]
    _write(folder, "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy"]


def test_a_folder_in_the_cache_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one of those that ask at the same time; after a failure, by the next that asks."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    written, together = [], Barrier(4)

    def write(folder: Path) -> None:
        written.append(folder)
        time.sleep(0.05)
        _write(folder, "a")

    def ask(_: int) -> int:
        together.wait()
        return len(CaseSet.read(cached_folder("toy", {"seed": 1}, write), "toy_1k"))

    def fail(_: Path) -> None:
        raise InputError("no room")

    with pytest.raises(InputError, match="no room"):
        cached_folder("toy", {"seed": 1}, fail)
    assert [path for path in tmp_path.glob("cases/*") if path.suffix != ".lock"] == []
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [1] * 4
    assert written == [cached_folder("toy", {"seed": 1}, fail)]
    other = cached_folder("toy", {"seed": 2}, write)
    assert written == [written[0], other] and other != written[0]
