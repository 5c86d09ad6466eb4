"""Laws of chunks and windows, on any text."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ethic.build_settings import EthicSettings
from long_context_tasks.benchmarks.ethic.chunks import (
    JOINT,
    Piece,
    chunk_source,
    chunks_of,
    pieces_of,
    window,
)
from long_context_tasks.benchmarks.ethic.context_builders import split_sections
from long_context_tasks.benchmarks.ethic.coverage import split_context
from long_context_tasks.benchmarks.ethic.sources import Source, Text
from long_context_tasks.benchmarks.ethic.windows import Window, choose
from long_context_tasks.tokens import Tokenizer, get_tokenizer

WORDS = st.text(alphabet="abcXYZ .,;!?'\"()-—ß漢字12\n", min_size=1, max_size=400)
TEXTS = st.lists(WORDS, min_size=1, max_size=12)


def cl100k() -> Tokenizer:
    return get_tokenizer("cl100k")


def letters(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(32, 200))
def test_chunks_keep_every_letter_in_order_and_their_size(texts: list[str], cap: int) -> None:
    tokenizer = cl100k()
    pieces = list(pieces_of([Text(text, part) for part, text in enumerate(texts)], cap, tokenizer))
    chunks = list(chunks_of(pieces, cap))
    assert letters("".join(chunk.text for chunk in chunks)) == letters("".join(texts))
    for chunk in chunks:
        assert tokenizer.count(chunk.text + JOINT) == chunk.tokens <= cap
    assert [piece for chunk in chunks for piece in chunk.pieces] == pieces
    # No two neighbours could have been one.
    for one, other in itertools.pairwise(chunks):
        assert one.tokens + other.pieces[0].tokens > cap
    assert [piece.part for piece in pieces] == sorted(piece.part for piece in pieces)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(32, 100), st.lists(st.integers(32, 600), min_size=2, max_size=2))
def test_windows_lie_in_one_another(texts: list[str], cap: int, budgets: list[int]) -> None:
    tokenizer = cl100k()
    source = Source("s", "s", "books", tuple(map(Text, texts)))
    chunked = chunk_source(source, cap, max(budgets), tokenizer)
    small, large = (window(chunked.chunks, budget) for budget in sorted(budgets))
    assert sum(chunk.tokens for chunk in large) <= max(budgets)
    assert sum(chunk.tokens for chunk in small) <= min(budgets)
    short = [piece for chunk in small for piece in chunk.pieces]
    assert [piece for chunk in large for piece in chunk.pieces][: len(short)] == short
    # All chunks but the last are those of the source.
    assert [chunk.text for chunk in small[:-1]] == [chunk.text for chunk in chunked.chunks[: len(small) - 1]]
    whole = window(chunked.chunks, max(budgets), fill=False)
    assert [chunk.text for chunk in whole] == [chunk.text for chunk in chunked.chunks[: len(whole)]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(50, 400))
def test_sections_hold_every_chunk_once(sizes: list[int], size: int) -> None:
    chunks = [next(chunks_of([Piece(f"p{n}", tokens)], 1000)) for n, tokens in enumerate(sizes)]
    sections = split_sections(chunks, size)
    assert [chunk for section in sections for chunk in section] == chunks
    totals = [sum(chunk.tokens for chunk in section) for section in sections]
    assert all(total <= 2 * size + 100 for total in totals)
    assert len(totals) == 1 or totals[-1] >= size / 2


def test_a_text_is_encoded_once() -> None:
    counted: list[str] = []

    def count(texts: list[str]) -> list[int]:
        counted.extend(texts)
        return [len(text.split()) for text in texts]

    tokenizer = Tokenizer("words", count)  # type: ignore[arg-type]
    rng = random.Random(0)
    texts = tuple(Text(" ".join(str(rng.random()) for _ in range(40))) for _ in range(50))
    source = Source("s", "s", "books", texts)
    chunk_source(source, 100, 10**6, tokenizer)
    chunk_source(source, 100, 500, tokenizer)
    assert len(counted) == len(set(counted)) == 50


def test_the_rest_of_a_long_document_is_not_encoded() -> None:
    counted: list[str] = []

    def count(texts: list[str]) -> list[int]:
        counted.extend(texts)
        return [len(text.split()) for text in texts]

    texts = tuple(Text(f"paragraph {n} " + "word " * 60) for n in range(1000))
    chunked = chunk_source(Source("s", "s", "books", texts), 100, 500, Tokenizer("words", count))  # type: ignore[arg-type]
    assert not chunked.whole and chunked.tokens >= 500 and len(counted) < 20


@pytest.mark.parametrize("context", ["", " \n\n "])
def test_nothing_has_no_chunks(context: str) -> None:
    assert split_context(context, cl100k()) == []


def test_sentences_stay_whole_and_citations_too() -> None:
    sentence = "The court held in United States v. Gifford, 17 F.3d 462 (1st Cir. 1994), that Acme Inc. v. Roe was settled law."
    pieces = list(pieces_of([Text(" ".join([sentence] * 20))], 100, cl100k()))
    assert len(pieces) > 3 and all(len(piece.text) % (len(sentence) + 1) == len(sentence) for piece in pieces)


def test_n_sources_are_chosen_by_the_seed_alike_at_every_length() -> None:
    def chosen(seed: int, n: int, length: int) -> list[str]:
        own = [Window(Source(f"s{number}", "", "books", ()), length, ()) for number in range(40)]
        return [one.source.id for one in choose(own, EthicSettings(lengths=(4000,), seed=seed, n=n), length)]

    assert chosen(0, 10, 4000) == chosen(0, 10, 8000) != chosen(1, 10, 4000)
    assert set(chosen(0, 5, 4000)) < set(chosen(0, 10, 4000)) and len(chosen(0, 10, 4000)) == 10
    assert chosen(0, 40, 4000) == [f"s{number}" for number in range(40)]
