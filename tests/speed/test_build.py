"""Building cases beside encoding their texts once, which any builder has to do."""

import contextlib
import io
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from case_folders import build
from timing import best_in_turns

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ada_leval.builders import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.building import (
    Work,
    parse_lengths,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.stack_exchange import html_to_text, rows
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


def test_tsort_at_seven_lengths(shared, tmp_path, compared):
    source = shared / "data" / "books"
    lengths = parse_lengths("2k,...,128k", CARDS["tsort"].lengths)
    folder = tmp_path / "ada_leval_tsort"
    books = ["\n\n".join(book.paragraphs) for book in read_books(source)]

    def make() -> None:
        build("ada_leval_tsort", source, TSortSettings(lengths), folder)

    make()
    whole, encoding, write = best_in_turns(
        make,
        lambda: [encode(book) for book in books],
        rewrite(folder, tmp_path / "again"),
        times=3,
        before=forget,
    )
    compared(f"build TSort, {len(books)} books, 7 lengths", whole, "encode and write", encoding + write)


def test_bestanswer_at_ten_lengths(shared, tmp_path, compared):
    source = shared / "data" / "stack_exchange" / "quantumcomputing.stackexchange.com.Posts.xml.gz"
    lengths = parse_lengths("1k,...,128k", CARDS["bestanswer"].lengths)
    folder = tmp_path / "ada_leval_bestanswer"
    posts = [
        html_to_text(row.get("Body") or "") for row in rows(source) if (row.get("PostTypeId") or "") in "12"
    ]
    whole, encoding = best_in_turns(
        lambda: build("ada_leval_bestanswer", source, BestAnswerSettings(lengths), folder),
        lambda: [encode(post) for post in posts],
        times=3,
        before=forget,
    )
    compared(f"build BestAnswer, {len(posts)} posts, 10 lengths", whole, "encode", encoding)


def ruler(n: int, length: int) -> list[str]:
    """Prompts of a task of lm-eval's RULER (variable tracking), whose generator counts in cl100k too."""
    ruler_task = pytest.importorskip("lm_eval.tasks.ruler.vt_utils")

    def tokenizer(text: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=cl100k_encoding().encode_ordinary(text))

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        [example] = ruler_task.sys_vartrack_w_noise_random(tokenizer, 1, 500, incremental=5)
        rows = ruler_task.sys_vartrack_w_noise_random(tokenizer, n, length, icl_example=example)
    return [row["input"] for row in rows]


@pytest.mark.parametrize(
    "name", [name for name, builder in catalogue.builders().items() if builder.source is None]
)
def test_synthetic_cases(name, tmp_path, compared):
    length, n = 8_000, 40
    builder, folder = catalogue.builder(name), tmp_path / name

    def make() -> None:
        builder.write(None, builder.settings((length,), n=n), folder, Work())

    make()
    with sqlite3.connect(folder / "documents.sqlite") as table:
        texts = [text for (text,) in table.execute("SELECT text FROM documents")]
    prompts = max(1, round(sum(map(encode, texts)) / length))  # as many tokens
    whole, encoding, generated = best_in_turns(
        make,
        lambda: [encode(text) for text in texts],
        lambda: ruler(prompts, length),
        times=3,
        clock=time.process_time,
    )
    compared(f"write {name}, {n} cases of 8k", whole, "encode its texts once", encoding)
    compared(f"write {name}, {n} cases of 8k", whole, "lm-eval's RULER, variable tracking", generated)
