"""Laws of chunks and windows, on any text."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.attribute_law import choose_pages
from long_context_tasks.benchmarks.ethic.build.contexts import evidence, split_sections
from long_context_tasks.benchmarks.ethic.build.drafts import (
    LOOSE,
    NOT_CHOSEN,
    ContextCandidate,
    ContextWindow,
    choice_key,
    first_chunks,
    first_fitting,
    plan_contexts,
    plan_windows,
)
from long_context_tasks.benchmarks.ethic.build.sources import CitedCase, EthicSource
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.synthetic.maker import even_sections
from long_context_tasks.corpora.opinions import Opinion
from long_context_tasks.tokens import Tokenizer, get_tokenizer
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, Text, chunks_of, pieces_of, sentence_ends

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
    chunks = first_chunks(map(Text, texts), cap, max(budgets), tokenizer)
    small, large = (first_fitting(chunks, budget) for budget in sorted(budgets))
    assert sum(chunk.tokens for chunk in large) <= max(budgets)
    assert sum(chunk.tokens for chunk in small) <= min(budgets)
    short = [piece for chunk in small for piece in chunk.pieces]
    assert [piece for chunk in large for piece in chunk.pieces][: len(short)] == short
    # All chunks but the last are those of the source.
    assert [chunk.text for chunk in small[:-1]] == [chunk.text for chunk in chunks[: len(small) - 1]]
    whole = first_fitting(chunks, max(budgets), fill=False)
    assert [chunk.text for chunk in whole] == [chunk.text for chunk in chunks[: len(whole)]]


def test_opinions_take_turns_and_longer_contexts_hold_shorter_ones() -> None:
    tokenizer = Tokenizer("words", lambda texts: [text.split() for text in texts])

    def shown(*sizes: int) -> list[list[int]]:
        """Words of each opinion at 4k and 8k."""
        texts = (Text(f"word{n} " * 100, part) for part, size in enumerate(sizes) for n in range(size // 100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EthicSettings, "measure", property(lambda _: tokenizer))
            patch.setattr(EthicSettings, "budget", lambda _, length: length - 500)
            own = EthicSettings(lengths=(4000, 8000), chunk_tokens=1000, min_document=0)
            plan = plan_windows([EthicSource("s", "", "law", tuple(texts))], own, Work())
        found = [[piece for chunk in one.chunks for piece in chunk.pieces] for one in plan.contexts]
        assert all([piece.part for piece in one] == sorted(piece.part for piece in one) for one in found)
        assert set(found[0]) <= set(found[1])
        counts = (Counter(piece.part for piece in one) for one in found)
        return [[100 * count[part] for part in range(len(sizes))] for count in counts]

    assert shown(4000, 5000, 6000) == [[2000, 1500, 0], [3500, 2000, 2000]]
    assert shown(300, 900, 7000) == [[300, 900, 2300], [300, 900, 6300]]
    assert shown(9000) == [[3500], [7500]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(50, 400))
def test_sections_hold_every_chunk_once(sizes: list[int], size: int) -> None:
    chunks = [next(chunks_of([Piece(f"p{n}", tokens)], 1000)) for n, tokens in enumerate(sizes)]
    sections = split_sections(chunks, size)
    assert [chunk for section in sections for chunk in section] == chunks
    totals = [sum(chunk.tokens for chunk in section) for section in sections]
    assert all(total <= 2 * size + 100 for total in totals)
    assert len(totals) == 1 or totals[-1] >= size / 2


@pytest.mark.parametrize(
    "name",
    [
        "Mass. Gen. Hosp. Corp. v. Cent. Power Co.",
        "Nat’l Ass'n. Corp. v. Dep’t. Bd. of Labor",
        "Univ. Ctr. v. Cty. Sch. Bd. of Adm'rs",
        "Metro. Ins. Exch. v. S. Pac. Ry. Sys., Inc.",
        "Comm'n v. Fid. Tr. & Sav. Ass’n",
        "Env't Soc'y v. Pub. Util. Comm'r",
        "Roe v. Doe, 7 Mass. App. Ct. 12, 4 N. Me. Rptr. 2d 5 (Bankr. D. Mass. Sept. 5, 2001)",
        "Roe, 3 Ohio Op. 5 (C.C. Ohio Dec. 4)",
    ],
)
def test_no_sentence_ends_within_a_name_or_a_citation(name: str) -> None:
    text = f"He lost. So in {name} it was. We agree. Did he?"
    assert [text[:end] for end in sentence_ends(text)] == ["He lost.", text[:-18], text[:-8]]


def test_sentences_stay_whole_and_citations_too() -> None:
    sentence = "The court held in United States v. Gifford, 17 F.3d 462 (1st Cir. 1994), that Acme Inc. v. Roe was settled law."
    pieces = list(pieces_of([Text(" ".join([sentence] * 20))], 100, cl100k()))
    assert len(pieces) > 3 and all(len(piece.text) % (len(sentence) + 1) == len(sentence) for piece in pieces)


def test_n_sources_are_chosen_by_the_seed_alike_at_every_length() -> None:
    names = [f"s{number}" for number in range(40)]

    def chosen(seed: int, n: int | None, own: list[str], key: bool = True) -> list[str]:
        settings = EthicSettings(lengths=(4000,), seed=seed, n=n)
        plan = plan_contexts(
            (
                ContextCandidate(
                    name, 10**5, choice_key(settings, "books", name) if key else "", lambda _, id=name: id
                )
                for name in own
            ),
            settings,
        )
        kept = list(plan.contexts)
        assert kept == [name for name in own if name in kept]
        assert plan.dropped[4000][NOT_CHOSEN] == len(own) - len(kept) and plan.order == tuple(own)
        return kept

    assert chosen(0, 10, names) != chosen(1, 10, names) and len(chosen(0, 10, names)) == 10
    assert set(chosen(0, 5, names)) < set(chosen(0, 10, names))
    assert chosen(0, 40, names) == chosen(0, None, names) == names
    # If a longer length has fewer sources, the preferred ones are the same.
    longer = [name for name in names if name not in chosen(0, 5, names)]
    assert chosen(0, 5, longer) == [name for name in chosen(0, 10, names) if name in longer]
    # Without keys the order decides.
    assert chosen(0, 3, names, key=False) == names[:3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 900), min_size=1, max_size=12), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.5, 0.8]),
    st.booleans(),
)
def test_windows_are_filled_or_counted(documents: list[list[int]], min_fill: float, fill: bool) -> None:
    """Paragraphs of any size in words, which the tokenizer counts."""
    tokenizer = Tokenizer("words", lambda texts: [text.split() for text in texts])
    sources = [
        EthicSource(str(number), "", "books", tuple(Text("word " * size) for size in sizes))
        for number, sizes in enumerate(documents)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EthicSettings, "measure", property(lambda _: tokenizer))
        own = EthicSettings(lengths=(1000, 2000), min_document=0, min_fill=min_fill)
        plan = plan_windows(sources, own, Work(), fill=fill)
        for length in own.lengths:
            there = [one for one in plan.contexts if one.length == length]
            assert len(there) + plan.dropped[length].total() == len(sources)
            for one in there:
                tokens = sum(chunk.tokens for chunk in one.chunks)
                assert one.chunks and tokens <= own.budget(length)
                assert not fill or tokens >= min_fill * own.budget(length)


def test_a_paragraph_over_the_budget_gives_no_window() -> None:
    sources = [EthicSource("s", "", "debates", (Text("one two three " * 250), *[Text("short")] * 2000))]
    for min_fill in (0.0, 0.8):
        own = EthicSettings(lengths=(1000, 4000), min_document=0, min_fill=min_fill)
        plan = plan_windows(sources, own, Work())
        assert [one.length for one in plan.contexts] == [4000] and plan.dropped[1000] == {LOOSE: 1}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.data())
def test_even_sections(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(sizes)))
    chunks = [Chunk((Piece(str(place), tokens),)) for place, tokens in enumerate(sizes)]
    sections = even_sections(chunks, n)
    assert len(sections) == n and all(sections)
    assert [chunk for section in sections for chunk in section] == chunks
    # No section is longer than its share by more than a chunk, unless it is a single one.
    for section in sections:
        size = sum(chunk.tokens for chunk in section)
        assert len(section) == 1 or size <= sum(sizes) / n + max(sizes)


@pytest.mark.parametrize(
    ("budget", "opinions"), [(1500, [0, 1, 2, 3]), (300, [0]), (9000, [0, 1, 2, 3, 4, 5])]
)
def test_short_opinions_fill_a_context_together(budget: int, opinions: list[int]) -> None:
    """A context takes a citing case for each 1,500 tokens, and more where these are too short."""
    citing = tuple(Opinion(str(number), f"Case {number}", ("",)) for number in range(6))
    chunked = {opinion.id: [Chunk((Piece("We affirm.", 200),))] * 2 for opinion in citing}
    pages = choose_pages(CitedCase(Opinion("t", "Doe v. Roe", ("",)), citing), chunked, budget)
    assert sorted({page.opinion for page in pages}) == opinions
    assert sum(page.chunk.tokens for page in pages) <= budget


def contexts(*shown: str) -> list[ContextWindow]:
    """Contexts of one source, each given as chunks of documents: ``a1 a2|b1`` has two chunks."""
    return [
        ContextWindow(
            EthicSource("x", "X", "law", ()),
            1000 * length,
            tuple(
                Chunk(tuple(Piece(name, 9, ord(name[0])) for name in chunk.split()))
                for chunk in text.split("|")
            ),
        )
        for length, text in enumerate(shown, start=1)
    ]


@pytest.mark.parametrize("kind", ["single_qa", "multi_qa", "focused_summary"])
@pytest.mark.parametrize("seed", range(5))
def test_every_context_shows_the_evidence(kind: str, seed: int) -> None:
    windows = contexts("a1 a2|a3|b1 b2", "a1 a2|b1 b2 b3|c1", "a1|b1 b2 b3|c1 c2|d1")
    least, chunks = evidence(windows, kind, seed)
    names = [piece.text for chunk in chunks for piece in chunk.pieces]
    # Of the first context, all others show no more than these.
    assert least == 1000 and names and set(names) <= {"a1", "b1", "b2"}
    if kind == "multi_qa":
        assert [name[0] for name in names] == ["a", "b"]


def test_contexts_with_a_single_document_are_left_out() -> None:
    assert evidence(contexts("a1", "a1 a2|b1", "a1|b1|c1"), "multi_qa", 0)[0] == 2000
    assert evidence(contexts("a1", "a1 a2"), "multi_qa", 0) == (1000, [])
