"""Cases of TSort built from books: order, whole paragraphs, caps, counts, seeds, bad input."""

import hashlib
import itertools
import json
import random
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from case_folders import build
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from other_tokenizers import count, other_tokenizer
from written_book import paragraphs, write_books

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
from long_context_tasks.benchmarks.ada_leval.build.tsort import (
    Caps,
    CountedBook,
    Passage,
    TSortDraft,
    caps_for,
    filled_passages,
)
from long_context_tasks.benchmarks.ada_leval.builders import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.building import parse_lengths
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import CaseSet, InputError, format_length
from long_context_tasks.tokens import get_tokenizer
from long_context_tasks.tokens.build_settings import settings_of

FAMILY = "ada_leval_tsort"
CARD = card("ada_leval").tasks["tsort"]


def built(folder: Path, books: dict[str, list[str]], **options) -> dict[int, CaseSet]:
    chosen = TSortSettings(**options)
    out = folder / FAMILY
    build(FAMILY, write_books(folder, books), chosen, out)
    return {length: CaseSet.read(out, f"{FAMILY}_{format_length(length)}") for length in chosen.lengths}


def plain_book(paragraphs: int, words: int = 20, name: str = "w") -> list[str]:
    return [" ".join(f"{name}{i}x{j}" for j in range(words)) + "." for i in range(paragraphs)]


@pytest.mark.parametrize("name", list(CARD.build["rows"]))
def test_caps_are_those_of_the_paper(name):
    row = CARD.build["rows"][name]
    (length,) = parse_lengths(name, [])
    caps = caps_for(CARD, length, TSortSettings((length,)))
    assert (caps.before, caps.segment, caps.after, caps.stride) == tuple(
        row[key] for key in ("before", "segment", "after", "stride")
    )
    assert caps.bound == CARD.bounds[name]


def test_caps_of_other_lengths():
    million = caps_for(CARD, 1_000_000, TSortSettings((1_000_000,)))
    assert (million.segment, million.before, million.bound) == ((1_000_000 - 1200) // 4, 500, 1_000_000)
    assert caps_for(CARD, 1000, TSortSettings((1000,))).segment == 100
    chosen = TSortSettings((3000,), segments=5, before_cap=100, after_cap=50, stride=7)
    assert caps_for(CARD, 3000, chosen).segment == (3000 - 100 - 50 - 200) // 5
    with pytest.raises(InputError, match="leave no room"):
        caps_for(CARD, 600, TSortSettings((600,)))


# Paragraphs that try to join with what stands around them: quotes, dots, digits, letters of all kinds.
_UGLY = "abcXYZ '\"“”’.,;:!?-—_()0123456789é中я😀\u00a0\u200b<|>"
WORD = st.lists(
    st.one_of(
        st.sampled_from([*_UGLY, "'s", "'ll", "A1:", "```", "<|endoftext|>", "\u0301"]),
        # Readers repair control characters.
        st.characters(exclude_categories=["Cs", "Cc"]),
    ),
    min_size=1,
    max_size=12,
).map("".join)
PARAGRAPH = (
    st.lists(WORD, min_size=1, max_size=12)
    .map(" ".join)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
# A long book of few paragraphs in random order: quick to draw, and still every paragraph meets every other.
BOOK = st.builds(
    lambda paragraphs, ends, seed: [
        random.Random(f"{seed} {at}").choice(paragraphs) + random.Random(f"{at} {seed}").choice(ends)
        for at in range(70)
    ],
    st.lists(PARAGRAPH, min_size=3, max_size=12),
    st.just(("", ".", ",", ":--")),
    st.integers(0, 99),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    books=st.lists(BOOK, min_size=1, max_size=3),
    seed=st.integers(0, 3),
    stride=st.integers(1, 9),
    segments=st.integers(2, 5),
)
def test_cases_obey_the_rules(books, seed, stride, segments):
    named = {f"b{i}": book for i, book in enumerate(books)}
    assume(not any(find_leaks(Book("b", "B", tuple(book), (0,))) for book in books))
    options = {"stride": stride, "segments": segments}
    # Paragraphs of one letter may be verse, or the names of a play.
    options["forms"] = ("novel", "letters", "play", "verse")
    with tempfile.TemporaryDirectory() as name:
        try:
            cases = built(Path(name), named, lengths=(900, 1200), seed=seed, **options)
        except InputError as error:
            assert "no case of" in str(error)
            event("no case")
            return
        for length, made in cases.items():
            caps = caps_for(CARD, length, TSortSettings((length,), **options))
            assert len({case.id for case in made.cases}) == len(made)
            for case in made.cases:
                document = made.documents[case.document]
                assert document == "\n\n".join(named[case.document])
                spans = (case.inputs["before"], *case.inputs["segments"], case.inputs["after"])
                before, *parts, after = (document[start:end] for start, end in spans)
                gold = case.turns[0].gold
                assert sorted(gold) == list(range(1, segments + 1))
                # Read in the right order, the case is a piece of the book, of whole paragraphs.
                piece = "\n\n".join([before, *(parts[place - 1] for place in gold), after])
                assert f"\n\n{piece}\n\n" in f"\n\n{document}\n\n"
                tokens = count(prompts.prompt(case, made.documents))
                assert case.num_tokens == {"cl100k": tokens} and tokens <= caps.bound
                assert all(count(part + "\n\n") <= caps.segment for part in parts)
                assert case.cluster == case.document


def test_all_orders_occur_and_the_first_cases_cover_all_books(tmp_path):
    books = {f"b{i}": plain_book(700, name=f"v{i}") for i in range(5)}
    (made,) = built(tmp_path, books, lengths=(2000,), stride=3).values()
    orders = Counter(tuple(case.turns[0].gold) for case in made.cases)
    assert len(orders) == 24 and max(orders.values()) < 3 * len(made) / 24
    assert [case.cluster for case in made.cases[:10]] == [f"b{i}" for i in range(5)] * 2
    (fewer,) = built(tmp_path, books, lengths=(2000,), stride=3, n=7).values()
    assert fewer.cases == made.cases[:7]


def test_few_cases_come_from_random_files(tmp_path):
    folder = tmp_path / "books"
    folder.mkdir()
    for i in range(6):
        text = "CHAPTER I\n\n\n" + "\n\n".join(plain_book(300, name=f"v{i}"))
        (folder / f"b{i}.txt").write_text(text, encoding="utf-8")
    chosen = set()
    for seed in range(3):
        build(FAMILY, folder, TSortSettings((2000,), n=1, seed=seed), tmp_path / FAMILY)
        [row] = json.loads((tmp_path / FAMILY / "manifest.json").read_text())["sources"]
        chosen.add(row["book"])
    assert len(chosen) > 1


def test_books_that_give_no_case_are_not_read(tmp_path):
    # The third and fifth book are too short for the greater length.
    books = {f"b{i}": plain_book(80 if i in (2, 4) else 300, name=f"v{i}") for i in range(7)}
    every = built(tmp_path, books, lengths=(2000, 16_000))
    assert {case.cluster for case in every[2000].cases} >= {"b2", "b4"}
    fewer = built(tmp_path, books, lengths=(2000, 16_000), n=3)
    assert all(fewer[length].cases == cases.cases[:3] for length, cases in every.items())
    sources = json.loads((tmp_path / FAMILY / "manifest.json").read_text())["sources"]
    assert [row["book"] for row in sources] == ["b0", "b1", "b2", "b3"]
    fewer = built(tmp_path, books, lengths=(2000, 16_000), n=4)
    with sqlite3.connect(tmp_path / FAMILY / "documents.sqlite") as table:
        # The fifth book was read, but is in no case.
        assert [key for (key,) in table.execute("SELECT key FROM documents ORDER BY key")] == [
            *("b0", "b1", "b2", "b3", "b5"),
        ]


def test_same_seed_same_bytes_other_seed_other_orders(tmp_path):
    books = {f"b{i}": plain_book(300, name=f"v{i}") for i in range(3)}
    files = []
    for place, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(place)
        folder.mkdir()
        built(folder, books, lengths=(2000, 4000), seed=seed)
        files.append((folder / FAMILY / f"{FAMILY}_2k.jsonl").read_bytes())
    assert files[0] == files[1] != files[2]
    # A length's cases do not depend on which others are built beside it.
    built(tmp_path, books, lengths=(2000,), seed=1)
    assert (tmp_path / FAMILY / f"{FAMILY}_2k.jsonl").read_bytes() == files[0]


def test_golden_bytes(tmp_path):
    built(
        tmp_path,
        {"one": plain_book(150), "two": plain_book(90, 33, "é—")},
        lengths=(1000, 2000),
        seed=5,
        stride=10,
    )
    digests = [
        hashlib.sha256((tmp_path / FAMILY / f"{FAMILY}_{name}.jsonl").read_bytes()).hexdigest()
        for name in ("1k", "2k")
    ]
    assert digests == [
        "1fa03f90a7672646685f6db854dc776ddee341fe1df56cad5549dbfc04e30e0d",
        "4f720449bd98a428088e9d0d3ae1f676fb1b560282f1ed00c71dbc856db070fa",
    ]


@pytest.mark.parametrize("policy", ["same_information", "same_tokens"])
def test_another_tokenizer_is_counted_too_and_can_set_the_length(tmp_path, policy):
    books = {"b": plain_book(300, 15)}
    words = get_tokenizer(other_tokenizer("plain words", tmp_path / "words"))
    (made,) = built(tmp_path, books, lengths=(2000,), tokenizer=words.name, length_policy=policy).values()
    for case in made.cases:
        prompt = prompts.prompt(case, made.documents)
        assert case.num_tokens == {"cl100k": count(prompt), words.name: words.count(prompt)}
    measured = "cl100k" if policy == "same_information" else words.name
    assert 1700 < max(case.num_tokens[measured] for case in made.cases) <= 2000


def test_too_short_a_book_is_named(tmp_path):
    books = {"long": plain_book(800), "short": plain_book(30)}
    (report,) = build(FAMILY, write_books(tmp_path, books), TSortSettings((8000,)), tmp_path / FAMILY)
    tokens = f"{sum(count(paragraph + chr(10) * 2) for paragraph in books.pop('short')):,}"
    assert f"no case from short ({tokens} tokens): too short" in report.notes[0]
    source = write_books(tmp_path, {"short": plain_book(30)})
    with pytest.raises(InputError, match=f"books.jsonl: no case of 8k, 16k .* short, has {tokens} tokens"):
        build(FAMILY, source, TSortSettings((8000, 16000)), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_paragraphs_that_are_too_long_are_counted(tmp_path):
    book = plain_book(200)
    book[100] = " ".join(["long"] * 500)
    reports = build(
        FAMILY, write_books(tmp_path, {"b": book}), TSortSettings((2000,), stride=1), tmp_path / FAMILY
    )
    assert reports[0].dropped["a paragraph is longer than a segment may be"] > 0
    assert reports[0].dropped["the paragraph before or after the segments is longer than its cap"] >= 2


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (TSortSettings, {"lengths": ()}, "--length"),
        (TSortSettings, {"lengths": (100,)}, "too short"),
        (TSortSettings, {"n": 0}, "--n"),
        (TSortSettings, {"segments": 1}, "--segments"),
        (TSortSettings, {"length_policy": "same_tokens"}, "--tokenizer"),
        (BestAnswerSettings, {"bounds": "odd"}, "--bounds"),
        (BestAnswerSettings, {"tags": 0}, "--tags"),
        (BestAnswerSettings, {"shared_tags": 1.5}, "--shared-tags"),
    ],
)
def test_bad_settings(kind, options, words):
    with pytest.raises(InputError, match=words):
        settings_of(kind, {"lengths": (2000,), **options}, "here")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("...,2k", "between"),
        ("2k,...", "between"),
        ("8k,...,2k", "none is between"),
        ("2q", "not a length"),
    ],
)
def test_bad_lengths(text, words):
    with pytest.raises(InputError, match=words):
        parse_lengths(text, CARD.lengths)


@pytest.mark.slow
def test_real_books(shared, tmp_path):
    lengths = parse_lengths("2k,...,128k", CARD.lengths)
    reports = build(FAMILY, shared / "data" / "books", TSortSettings(lengths), tmp_path / FAMILY)
    for length, report in zip(lengths, reports, strict=True):
        made = CaseSet.read(tmp_path / FAMILY, report.task)
        assert len(made) >= 50 and max(report.tokens) <= CARD.bounds[format_length(length)]
        # Table 1: cases are nine tenths full on average.
        assert sum(report.tokens) / len(report.tokens) > 0.85 * length
        for case in made.cases[:: max(1, len(made) // 5)]:
            assert count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"]


def test_letters_are_left_out_and_named(tmp_path):
    novel = paragraphs(200, 3)
    books = tmp_path / "books"
    books.mkdir()
    (books / "novel.txt").write_text("CHAPTER I\n\n" + "\n\n".join(novel), encoding="utf-8")
    letters = (
        f"LETTER {i + 1}\n\n\nMy dear Anne,\n\n{text}\n\nYours, E.\n\n\n" for i, text in enumerate(novel)
    )
    (books / "letters.txt").write_text("\n".join(letters), encoding="utf-8")
    out = tmp_path / "ada_leval_tsort"
    (report,) = build("ada_leval_tsort", books, TSortSettings((2000,), stride=3), out)
    assert {case.cluster for case in CaseSet.read(out, report.task).cases} == {"novel"}
    assert "letters is left out: it is not a novel but letters" in report.notes[0]
    sources = json.loads((out / "manifest.json").read_text())["sources"]
    assert [(row["book"], row["taken"]) for row in sources] == [("letters", False), ("novel", True)]
    settings = TSortSettings((2000,), stride=3, forms=("novel", "letters"))
    (both,) = build("ada_leval_tsort", books, settings, out)
    assert both.clusters == 2


def filled_cases(folder: Path, length: int, per_book: int, **options) -> CaseSet:
    """Cases that fill their length, of three written books in turn."""
    books = write_books(folder, {f"b{place}": paragraphs(1000, place) for place in range(3)})
    chosen = TSortSettings((length,), fill=True, n=3 * per_book, **options)
    build(FAMILY, books, chosen, folder / FAMILY)
    return CaseSet.read(folder / FAMILY, f"{FAMILY}_{format_length(length)}")


@pytest.mark.parametrize("length", [1000, 1130, 4000])
def test_a_filled_prompt_is_at_most_two_percent_below_its_length(length, tmp_path):
    made = filled_cases(tmp_path, length, 5)
    assert len(made) == 15
    starts = {name: [] for name in ("b0", "b1", "b2")}
    for case in made.cases:
        document = made.documents[case.document]
        assert 0.98 * length <= case.num_tokens["cl100k"] <= length
        assert case.num_tokens["cl100k"] == count(prompts.prompt(case, made.documents))
        spans = [case.inputs["before"], *case.inputs["segments"], case.inputs["after"]]
        before, *parts, after = (document[a:b] for a, b in spans)
        piece = "\n\n".join([before, *(parts[place - 1] for place in case.turns[0].gold), after])
        assert f"\n\n{piece}\n\n" in f"\n\n{document}\n\n"
        assert 0.5 <= count(before) / count(after) <= 2.1
        assert max(map(count, parts)) - min(map(count, parts)) <= 80
        starts[case.cluster].append(int(case.id.split("_")[-5]))
    for places in starts.values():
        assert all(b - a >= 64 for a, b in itertools.pairwise(sorted(places)))


def test_a_filled_case_is_not_told_by_the_words_that_its_parts_share():
    chain = ("ash elm", "elm oak", "oak fir", "fir yew", "yew bay", "bay box")
    for told, order in ((True, range(6)), (False, (0, 3, 1, 4, 2, 5))):
        book = Book("b", "B", tuple(chain[at] for at in order), (), "novel")
        counted = CountedBook(book, np.ones(6, np.int64))
        draft = TSortDraft.of(counted, Passage(0, (1, 2, 3, 4, 5), 6), "t", 0)
        assert draft.is_told_by_words() is told


def test_no_part_of_a_filled_case_ends_where_a_sentence_goes_on():
    """Such an end tells which part follows: the one that begins with what is said."""
    texts = tuple("And he said," if at % 3 == 0 else "He left." for at in range(40))
    counted = CountedBook(Book("b", "B", texts, (0,)), np.full(40, 30))
    caps = Caps(before=0, segment=100, after=0, stride=1, bound=600)
    edges = [edge for place in filled_passages(counted, caps, 3, 0) for edge in place.edges]
    assert len(edges) > 20 and all(texts[edge - 1] == "He left." for edge in edges)


def test_the_first_filled_cases_of_a_book_share_no_paragraph(tmp_path):
    spans = {}
    for case in filled_cases(tmp_path, 1000, 3).cases:
        spans.setdefault(case.cluster, []).append((case.inputs["before"][0], case.inputs["after"][1]))
    assert all(a[1] <= b[0] for own in spans.values() for a, b in itertools.pairwise(sorted(own)))


def test_another_tokenizer_fills_in_its_own_tokens(tmp_path):
    words = other_tokenizer("words", tmp_path / "words")
    made = filled_cases(tmp_path, 2000, 2, tokenizer=words, length_policy="same_tokens")
    assert len(made) == 6
    for case in made.cases:
        prompt = prompts.prompt(case, made.documents)
        assert case.num_tokens == {"cl100k": count(prompt), words: get_tokenizer(words).count(prompt)}
        assert 0.98 * 2000 <= case.num_tokens[words] <= 2000
