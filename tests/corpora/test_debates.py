"""Debates from JSON Lines and from plain transcripts."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.schema import InputError


def test_both_forms_in_one_folder(tmp_path: Path) -> None:
    row = {
        "debate_id": "d1",
        "title": "A sitting",
        "turns": [
            {"speaker": " Ms. Collins ", "text": "I move\nthe bill.", "topic": None},
            {"speaker": None, "text": "Order!"},
            {"speaker": "The Speaker", "text": "  "},
        ],
    }
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((json.dumps(row) + "\n\n").encode()))
    (tmp_path / "b.txt").write_bytes("\ufeffThe Chair: Welcome.\r\nAll.\r\n\r\nMr. Kröger: Thanks.".encode())
    (tmp_path / "README.txt").write_text("not a debate")
    first, second = read_debates(tmp_path)
    assert (first.id, first.title) == ("d1", "A sitting")
    assert first.speeches == ("Ms. Collins: I move the bill.", "Order!")
    assert (second.id, second.speeches) == ("b", ("The Chair: Welcome. All.", "Mr. Kröger: Thanks."))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"id": 1, "turns": [{"text": "a"}]}', "{"], r"x.jsonl, line 2: no JSON"),
        (["[]"], r"line 1: a list instead of an object"),
        (['{"turns": []}'], r"line 1: no debate_id or id"),
        (['{"id": 1, "text": "a"}'], r"line 1: \"turns\" must be a list"),
        (['{"id": 1, "turns": [{"text": "a"}, {"speaker": "b"}]}'], r"line 1, turn 2: must be"),
        (['{"id": 1, "turns": []}'], r"line 1: the debate has no words"),
        (['{"id": 1, "turns": [{"text": "a"}]}'] * 2, r"line 2: the id '1' is also that of .*line 1"),
        ([], "no debates in it; give"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, lines: list[Any], message: str) -> None:
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match=message):
        list(read_debates(tmp_path))


def test_a_damaged_file_and_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    with pytest.raises(InputError, match="cut off or damaged"):
        list(read_debates(tmp_path))
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_debates(tmp_path / "nothing"))


def test_the_real_debates(shared: Path) -> None:
    debates = list(read_debates(shared / "data" / "debates"))
    assert len(debates) == 19 and sum(len(debate.speeches) for debate in debates) > 4000


def test_half_a_surrogate_pair_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": 1, "turns": [{"text": "a \\ud83d b \\ud83d\\ude00"}]}\n')
    [debate] = read_debates(tmp_path)
    assert debate.speeches == ("a ? b \U0001f600",) and debate.speeches[0].encode()
