"""All readers decode text by one rule, and builds report the encodings of their files."""

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from run_commands import lct

from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.corpora.opinions import read_opinions
from long_context_tasks.corpora.plain_files import encoding_of, read_text
from long_context_tasks.corpora.reviews import read_reviews
from long_context_tasks.corpora.stack_exchange import html_to_text, rows
from long_context_tasks.schema import InputError

SAID = "“The tide’s out,” he said — and was it? ‘Café’ … yes."
AS_LATIN = SAID.encode("cp1252").decode("iso-8859-1")
LONG = f"{SAID} " * 40


def _opinion(path: Path) -> Iterator[str]:
    return (page for opinion in read_opinions(path) for page in opinion.pages)


READERS: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
    "book.txt": (f"CHAPTER I\n\n{LONG}\n", lambda path: (text for book in read_books(path) for text in book.paragraphs)),
    "book.jsonl": (
        json.dumps({"id": 1, "text": LONG}, ensure_ascii=False),
        lambda path: (text for book in read_books(path) for text in book.paragraphs),
    ),
    "debate.txt": (f"Mr. ROE: {LONG}\n", lambda path: (text for debate in read_debates(path) for text in debate.speeches)),
    "debate.xml": (
        f"<Hansard><Intervention><PersonSpeaking>Ms. Doe</PersonSpeaking><ParaText>{LONG}</ParaText></Intervention></Hansard>",
        lambda path: (text for debate in read_debates(path) for text in debate.speeches),
    ),
    "opinion.txt": (LONG, _opinion),
    "opinion.json": (json.dumps({"absolute_url": "/opinion/1/a-v-b/", "plain_text": LONG}, ensure_ascii=False), _opinion),
    "review.csv": (
        f'record_id,title,abstract,label_included\n1,T,"{LONG}",1\n',
        lambda path: (study.abstract for review in read_reviews(path) for study in review.studies),
    ),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", READERS)
def test_bytes_of_windows_are_quotes_and_dashes(tmp_path: Path, name: str, packed: bool) -> None:
    text, read = READERS[name]
    data = text.encode("cp1252")
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    shown = " ".join(read(path))
    assert LONG.strip() in shown and not any("\x7f" < letter < "\xa0" for letter in shown)
    assert encoding_of(path) == "Windows-1252"


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("name", ["rows.jsonl", "record.json", "marked.json"])
def test_control_characters_inside_records_are_read_as_windows_wrote_them(
    tmp_path: Path, name: str, escaped: bool
) -> None:
    record: dict[str, Any] = {"absolute_url": "/opinion/1/a-v-b/", "plain_text": AS_LATIN}
    if name == "rows.jsonl":
        record = {"id": 1, "text": AS_LATIN}
    elif name == "marked.json":
        numbers = "".join(f"&#{ord(letter)};" if letter > "~" else letter for letter in AS_LATIN)
        record = {"absolute_url": "/opinion/1/a-v-b/", "html": f"<p>{numbers}</p>"}
    path = tmp_path / name
    path.write_text(json.dumps(record, ensure_ascii=escaped), encoding="utf-8")
    [opinion] = read_opinions(path)
    assert opinion.pages == (SAID,)


def test_a_post_has_no_control_characters() -> None:
    assert html_to_text(f"<p>{AS_LATIN}</p>").strip() == SAID


TEXT = "L'été, le garçon naïf a mangé à l'école ; où êtes-vous ? "
WIDE = "UTF-16 or UTF-32"
OTHER = "neither UTF-8 nor Windows-1252"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (TEXT.encode(), "UTF-8"),
        (TEXT.encode("utf-8-sig"), "UTF-8"),
        (b"plain", "UTF-8"),
        (TEXT.encode("iso-8859-1"), "ISO-8859-1"),
        (f"{TEXT}…".encode("cp1252"), "Windows-1252"),
        ((TEXT * 9).encode() + b"caf\xe9 \x96", "UTF-8 with some bytes in Windows-1252"),
    ],
)
def test_the_encoding_of_a_file(tmp_path: Path, data: bytes, found: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert encoding_of(path) == found
    text = read_text(path)
    assert text == "plain" or text.startswith(TEXT[:-1])
    assert not found.startswith("UTF-8 with") or text.endswith("café –")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        *((TEXT.encode(name), WIDE) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        *(((TEXT * 9).encode(name), OTHER) for name in ("cp850", "cp437", "mac_roman")),
        *((("Он пошёл домой. " * 9).encode(name), OTHER) for name in ("cp1251", "koi8_r", "cp866")),
        (("Zażółć gęślą jaźń. " * 9).encode("cp1250"), OTHER),
        (b"\x00\x01PK" + b"data" * 20, "binary"),
    ],
)
@pytest.mark.parametrize("read", [read_books, read_debates, read_opinions, read_reviews])
def test_unreadable_files_are_refused_with_the_cause(
    tmp_path: Path, read: Callable[[Path], Iterator[object]], data: bytes, says: str
) -> None:
    path = tmp_path / ("a.csv" if read is read_reviews else "a.txt")
    path.write_bytes(data)
    with pytest.raises(InputError, match=says) as caught:
        list(read(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ['<posts><row Id="1" PostTypeId="1"/></posts>', '{"Id": 1, "PostTypeId": 1}']
)
def test_posts_in_two_bytes_a_character_are_refused_with_the_cause(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(InputError, match=f"Posts.xml: is text in {WIDE}"):
        list(rows(path))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_screening_list_with_other_separators(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "list.csv"
    rows = [("record_id", "title", "abstract", "label_included"), ("1", "T", "A, B", "1")]
    path.write_text("\n".join(map(separator.join, rows)))
    [review] = read_reviews(path)
    assert review.studies[0].abstract == "A, B"


@pytest.mark.parametrize(
    ("family", "option", "name"),
    [("ada_leval_tsort", "--books", "a.txt"), ("ethic_summarize", "--documents", "books/a.txt")],
)
def test_a_build_states_the_encodings(tmp_path: Path, family: str, option: str, name: str) -> None:
    own = "".join(
        f"It was day {day} of the walk, and “{SAID}” stood on every wall of town {day * 7}. " * 4 + "\n\n"
        for day in range(90)
    )
    for path, coding in (
        (tmp_path / "in" / name, "cp1252"),
        ((tmp_path / "in" / name).with_name("b.txt"), "utf-8"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"CHAPTER I\n\n{own}".encode(coding))
    limits = ("--length", "2k", "--n", "2")  # TSort reads only the books that it needs
    words = ("build", family, option, tmp_path / "in", *limits, "--out", tmp_path / "out")
    code, out, errors = lct(*words)
    assert code == 0, errors
    assert "encoding: 1 of 2 files are UTF-8" in out and "Windows-1252" in out
    tables = json.loads(lct(*words, "--json")[1])["tables"]
    [rows] = [table["rows"] for table in tables if "encoding" in table["columns"]]
    assert {row["file"]: row["encoding"] for row in rows} == {"a.txt": "Windows-1252", "b.txt": "UTF-8"}


def test_a_pipe_among_books_and_a_text_without_end_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputError, match=r"pipe\.txt: cannot be read \(not a regular file\)"):
        list(read_books(tmp_path))
    monkeypatch.setattr("long_context_tasks.corpora.plain_files._LONGEST_TEXT", 3 << 20)
    (tmp_path / "long.txt.gz").write_bytes(gzip.compress(b"a" * (4 << 20)))
    with pytest.raises(InputError, match=r"long\.txt\.gz: more than 3 MiB of text"):
        read_text(tmp_path / "long.txt.gz")
