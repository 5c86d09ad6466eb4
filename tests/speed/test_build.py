"""Building cases costs little more than encoding the texts once. Ratios within one run; `pytest -m speed -s` prints them."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from naive_builders import naive_bestanswer, naive_tsort
from timing import best_in_turns

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ada_leval import build
from long_context_tasks.benchmarks.ada_leval.build.tsort import caps_for
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.building import bound_of, parse_lengths
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.stack_exchange import html_to_text, parse_tags, read_posts
from long_context_tasks.schema import CaseSet, CaseWriter
from long_context_tasks.tokens import cl100k_encoding, get_tokenizer

pytestmark = pytest.mark.speed
CARDS = card("ada_leval").tasks


def encode(text: str) -> int:
    """Tokens of a text: the work that any builder has to do once."""
    return len(cl100k_encoding().encode_ordinary(text))


def forget() -> None:
    """Leave nothing counted beforehand."""
    get_tokenizer.cache_clear()
    get_tokenizer("cl100k").count("warm")


def rewrite(folder: Path, out: Path) -> Callable[[], None]:
    """Function that writes finished cases and their documents once more: what writing the output costs."""
    tasks = [path.stem for path in sorted(folder.glob("*.jsonl"))]
    cases = {task: CaseSet.read(folder, task).cases for task in tasks}
    documents = (
        sqlite3.connect(folder / "documents.sqlite").execute("SELECT key, text FROM documents").fetchall()
    )

    def write() -> None:
        with CaseWriter(out, {}) as writer:
            writer.add_documents(documents)
            for task in tasks:
                writer.add_cases(task, cases[task])

    return write


def test_tsort_at_seven_lengths(shared, tmp_path):
    source = shared / "data" / "books"
    lengths = parse_lengths("2k,...,128k", CARDS["tsort"].lengths)
    folder = tmp_path / "ada_leval_tsort"
    books = ["\n\n".join(book.paragraphs) for book in read_books(source)]

    def make() -> None:
        build.build("ada_leval_tsort", source, TSortSettings(lengths), folder)

    make()
    whole, encoding, write = best_in_turns(
        make,
        lambda: [encode(book) for book in books],
        rewrite(folder, tmp_path / "again"),
        times=3,
        before=forget,
        enough=lambda whole, encoding, write: whole <= 2 * (encoding + write),
    )
    print(
        f"\nTSort, {len(books)} books, 7 lengths: {whole:.2f} s; encoding {encoding:.2f} s, writing {write:.2f} s; "
        f"ratio {whole / (encoding + write):.2f} (at most 2)"
    )
    assert whole <= 2 * (encoding + write)


def test_bestanswer_at_ten_lengths(shared, tmp_path):
    source = shared / "data" / "stack_exchange" / "quantumcomputing.stackexchange.com.Posts.xml.gz"
    lengths = parse_lengths("1k,...,128k", CARDS["bestanswer"].lengths)
    folder = tmp_path / "ada_leval_bestanswer"
    posts = [html_to_text(post["Body"]) for post in read_posts(source) if post["PostTypeId"] in "12"]
    whole, encoding = best_in_turns(
        lambda: build.build("ada_leval_bestanswer", source, BestAnswerSettings(lengths), folder),
        lambda: [encode(post) for post in posts],
        times=3,
        before=forget,
        enough=lambda whole, encoding: whole <= 3 * encoding,
    )
    print(
        f"\nBestAnswer, {len(posts)} posts, 10 lengths: {whole:.2f} s; encoding {encoding:.2f} s; "
        f"ratio {whole / encoding:.2f} (at most 3)"
    )
    assert whole <= 3 * encoding


def test_synthetic_cases(tmp_path):
    """Writing a case from a seed, and counting it, costs a few times what encoding its texts once costs."""
    for name, (benchmark, builder) in catalogue.builders().items():
        if builder.source is not None:
            continue
        write, settings = benchmark.writer_of(builder), benchmark.settings_of(builder)((32_000,), n=4)
        folder = tmp_path / name

        def make(name=name, write=write, settings=settings, folder=folder) -> None:
            write(name, None, settings, folder)

        make()
        with sqlite3.connect(folder / "documents.sqlite") as table:
            texts = [text for (text,) in table.execute("SELECT text FROM documents")]
        whole, encoding = best_in_turns(
            make,
            lambda texts=texts: [encode(text) for text in texts],
            times=3,
            clock=time.process_time,
            enough=lambda whole, encoding: whole <= 8 * encoding,
        )
        print(f"\n{name}: {whole:.2f} s; encoding {encoding:.2f} s; ratio {whole / encoding:.1f} (at most 8)")
        assert whole <= 8 * encoding


def test_against_the_plain_rules(shared, tmp_path):
    """Real texts: the cases are those of the oracle of the tests, which counts every prompt whole."""
    books = [(book.id, book.paragraphs) for book in read_books(shared / "data" / "books")][:2]
    lines = ["\n".join(paragraphs) for _, paragraphs in books]
    for (name, _), text in zip(books, lines, strict=True):
        (tmp_path / "books").mkdir(exist_ok=True)
        (tmp_path / "books" / f"{name}.txt").write_text(text.replace("\n", "\n\n"), encoding="utf-8")
    books = [(book.id, book.paragraphs) for book in read_books(tmp_path / "books")]
    settings = TSortSettings((8000,))
    caps = caps_for(CARDS["tsort"], 8000, settings)
    build.build("ada_leval_tsort", tmp_path / "books", settings, tmp_path / "ada_leval_tsort")
    made = CaseSet.read(tmp_path / "ada_leval_tsort", "ada_leval_tsort_8k").cases
    expected = naive_tsort(books, caps, 4, 0, "ada_leval_tsort_8k", encode)
    assert [case.id for case in made] == [row[0] for row in expected]

    source = shared / "data" / "stack_exchange" / "coffee.stackexchange.com.Posts.xml.gz"
    bounds = {length: bound_of(CARDS["bestanswer"], length) for length in (1000, 2000)}
    posts = [
        {
            "Id": int(post["Id"]),
            "PostTypeId": int(post["PostTypeId"]),
            "ParentId": int(post.get("ParentId", 0)),
            "AcceptedAnswerId": int(post.get("AcceptedAnswerId", 0)),
            "CreationDate": post["CreationDate"],
            "Score": int(post["Score"]),
            "Tags": parse_tags(post.get("Tags", "")),
            "Body": post["Body"],
        }
        for post in read_posts(source)
    ]
    out = tmp_path / "ada_leval_bestanswer"
    plain_settings = BestAnswerSettings((1000, 2000), same_as=(), min_own=0)
    build.build("ada_leval_bestanswer", source, plain_settings, out)
    made = CaseSet.read(out, "ada_leval_bestanswer_2k").cases
    expected = naive_bestanswer(posts, bounds, 32000, 0, encode)[2000]
    assert [list(map(int, case.inputs["answers"])) for case in made] == [row[1] for row in expected]
