"""Cases built from real texts are those of the oracle, which counts every prompt whole."""

from pathlib import Path

import pytest
from case_folders import build
from naive_builders import naive_bestanswer, naive_tsort

from long_context_tasks.benchmarks.ada_leval.build.tsort import caps_for
from long_context_tasks.benchmarks.ada_leval.builders import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.building import bound_of
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.stack_exchange import parse_tags, read_posts
from long_context_tasks.schema import CaseSet
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow
CARDS = card("ada_leval").tasks


def test_tsort_of_two_books(shared: Path, tmp_path: Path) -> None:
    books = [(book.id, book.paragraphs) for book in read_books(shared / "data" / "books")][:2]
    lines = ["\n".join(paragraphs) for _, paragraphs in books]
    for (name, _), text in zip(books, lines, strict=True):
        (tmp_path / "books").mkdir(exist_ok=True)
        (tmp_path / "books" / f"{name}.txt").write_text(text.replace("\n", "\n\n"), encoding="utf-8")
    books = [(book.id, book.paragraphs) for book in read_books(tmp_path / "books")]
    settings = TSortSettings((8000,))
    caps = caps_for(CARDS["tsort"], 8000, settings)
    build("ada_leval_tsort", tmp_path / "books", settings, tmp_path / "ada_leval_tsort")
    made = CaseSet.read(tmp_path / "ada_leval_tsort", "ada_leval_tsort_8k").cases
    expected = naive_tsort(books, caps, 4, 0, "ada_leval_tsort_8k", get_tokenizer("cl100k").count)
    assert [case.id for case in made] == [row[0] for row in expected]


def test_bestanswer_of_a_dump(shared: Path, tmp_path: Path) -> None:
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
    build("ada_leval_bestanswer", source, plain_settings, out)
    made = CaseSet.read(out, "ada_leval_bestanswer_2k").cases
    expected = naive_bestanswer(posts, bounds, 32000, 0, get_tokenizer("cl100k").count)[2000]
    assert [list(map(int, case.inputs["answers"])) for case in made] == [row[1] for row in expected]
