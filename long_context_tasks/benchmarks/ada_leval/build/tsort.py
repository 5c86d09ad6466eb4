"""Build TSort cases from books: consecutive segments of whole paragraphs, shown in random order.

Section 3.3 and Table 11 of the paper (Wang et al., NAACL 2024). A case begins at a paragraph of the book;
each of its N segments takes whole paragraphs up to its cap. Whole paragraphs before and after the segments
are the hints. Case starts are a fixed number of paragraphs (the stride) apart. The paper leaves the rest
open; we decided:

* A segment takes as many paragraphs as fit, and does not end after one whose sentence continues in the next
  ("he said,").
* A start yields no case if a segment or a hint would be empty.
* All N! orders are equally likely, including the correct one.
* Cases alternate between the books, which are in random order, as the cases within each are. So the first n cover all books,
  or are the first cases of n random books that have any; the other books are not read.

A recast case fills its length: it is at most 2 % shorter, and the hints take the room that the segments
leave. A case is dropped if the correct order is among the three whose neighbouring segments share the most
words, because it can be solved without understanding the text. The first cases from a book share no
paragraph, as long as it has enough.

Every paragraph is encoded once for all lengths: cl100k splits text before encoding and never joins a
paragraph's first letter to the text before it, so the counts of the pieces are additive.
"""

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from math import factorial, fsum, inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.leaks import (
    Leak,
    find_leaks,
    in_two_parts,
    refuse_headings,
)
from long_context_tasks.benchmarks.ada_leval.build.marks import find_marks
from long_context_tasks.benchmarks.building import (
    TaskReport,
    Work,
    bound_of,
    least_tokens,
    write_task,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import REASONS, Book, UnreadBook, no_books, unread_books
from long_context_tasks.corpora.plain_files import encodings_of, unique
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from long_context_tasks.benchmarks.ada_leval.builders import TSortSettings

_JOINT = "\n\n"
_WORD = re.compile(r"\w+")
# Not a closing quote after a dash, which ends the quoted speech.
_GOES_ON = (",", ":", ";", "–", "—", "-")
_EASIEST_ORDERS = 3
_UNEVEN = 2
"""Largest ratio of the longer hint to the shorter one in a case that fills its length."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Caps:
    """The size limits of a case."""

    # before, segment, after: maximum number of tokens in the text before, in each segment, in the text after
    before: int
    segment: int
    after: int
    stride: int  # number of paragraphs between case starts
    bound: int  # maximum number of tokens in the whole prompt


def caps_for(task: TaskCard, length: int, settings: "TSortSettings") -> Caps:
    """Return the caps in Table 11 for a length; other lengths use the next shorter row's hints and stride.

    The cap for a segment is (length - before - after - 200) / N, which reproduces the table's seven rows.
    """
    table = {parse_length(name): row for name, row in task.build["rows"].items()}
    # Lengths between two rows use the hints of the shorter one.
    row = table[max((known for known in table if known <= length), default=min(table))]
    before = settings.before_cap or int(row["before"])
    after = settings.after_cap or int(row["after"])
    room = length - before - after - int(task.build["reserve"])
    segment = settings.segment_cap or room // settings.segments
    if segment < 1:
        raise InputError(
            f"length {format_length(length)}: {settings.segments} segments with {before} tokens before and {after} after "
            "them leave no room; take fewer segments or smaller --before-cap and --after-cap"
        )
    bound = length if settings.fill else bound_of(task, length)
    return Caps(before, segment, after, settings.stride or int(row["stride"]), bound)


@dataclass(frozen=True)
class Passage:
    """The position of a case in a book, in paragraphs.

    ``[before, edges[0])`` is the text before, ``[edges[i], edges[i + 1])`` are the segments and
    ``[edges[-1], after)`` is the text after.
    """

    before: int
    edges: tuple[int, ...]
    after: int

    @property
    def borders(self) -> tuple[int, ...]:
        """Borders of all parts, including the hints."""
        return (self.before, *self.edges, self.after)


@dataclass(frozen=True, eq=False)
class CountedBook:
    """A book with its paragraphs' token counts."""

    book: Book
    tokens: Ints  # int64 (n,): tokens in every paragraph and the blank line after it

    @classmethod
    def of(cls, book: Book, tokenizer: Tokenizer) -> "CountedBook":
        # A fresh tokenizer discards its cached counts, so memory does not grow with the number of books.
        counts = tokenizer.fresh().count_many([f"{text}{_JOINT}" for text in book.paragraphs])
        return cls(book, np.array(counts, dtype=np.int64))

    @cached_property
    def cumulated(self) -> Ints:
        """int64 (n + 1,): the number of tokens before each paragraph, and in total."""
        return np.concatenate([[0], np.cumsum(self.tokens)])

    @cached_property
    def is_break(self) -> npt.NDArray[np.bool_]:
        """Bool (n + 1,): whether a part may end before each paragraph because no sentence continues."""
        ends = (text.rstrip("_*") for text in self.book.paragraphs[:-1])
        return np.array([True, *(not end.endswith(_GOES_ON) for end in ends), True])

    @cached_property
    def last_breaks(self) -> Ints:
        """int64 (n + 1,): the last break at or before each paragraph."""
        return np.maximum.accumulate(np.where(self.is_break, np.arange(len(self.is_break)), 0))

    @cached_property
    def offsets(self) -> list[int]:
        """Character offset of every paragraph in the document, and of its end."""
        return [0, *itertools.accumulate(len(paragraph) + len(_JOINT) for paragraph in self.book.paragraphs)]

    @property
    def document(self) -> str:
        return _JOINT.join(self.book.paragraphs)

    @cached_property
    def words(self) -> "csr_matrix":
        """float64 (n, words): each paragraph's words, weighted by their rarity in the book."""
        from scipy.sparse import csr_matrix

        counts = [Counter(_WORD.findall(paragraph.casefold())) for paragraph in self.book.paragraphs]
        spread = Counter(word for count in counts for word in count)
        columns = {word: column for column, word in enumerate(spread)}
        data = [
            number * log(1 + len(counts) / spread[word]) for count in counts for word, number in count.items()
        ]
        ends = [0, *itertools.accumulate(map(len, counts))]
        return csr_matrix(
            (data, [columns[word] for count in counts for word in count], ends), (len(counts), len(columns))
        )

    def as_in_whole(self, tokenizer: Tokenizer) -> "CountedBook":
        """Return the book with the token counts that its paragraphs have within the whole text.

        cl100k counts are additive. In other tokenizers, separate paragraphs have consistently more or fewer
        tokens.
        """
        if tokenizer.name == CL100K:
            return self
        share = tokenizer.count(self.document) / int(self.cumulated[-1])
        return replace(self, tokens=np.diff(np.rint(self.cumulated * share).astype(np.int64)))


def find_passages(counted: CountedBook, caps: Caps, segments: int, dropped: Counter[str]) -> list[Passage]:
    """Return every position in a book that yields a case; ``dropped`` counts why the others do not."""
    sums = counted.cumulated
    n = len(counted.tokens)
    # The first case begins after enough text that its hint is as long as the others'.
    first = max(1, int(np.searchsorted(sums, caps.before)))
    breaks = np.flatnonzero(counted.is_break)
    starts = breaks[np.searchsorted(breaks, np.arange(first, n, caps.stride))]
    edges = [np.unique(starts[starts < n])]
    for _ in range(segments):
        full = np.searchsorted(sums, sums[edges[-1]] + caps.segment, side="right") - 1
        edges.append(counted.last_breaks[full])
    table = np.stack(edges, axis=1)
    before = np.searchsorted(sums, sums[table[:, 0]] - caps.before, side="left")
    after = np.searchsorted(sums, sums[table[:, -1]] + caps.after, side="right") - 1

    # A segment that reaches the book's end is not full, and nothing follows it.
    ends = table[:, -1] >= n
    too_long = ~ends & (np.diff(table, axis=1) == 0).any(axis=1)
    no_hint = ~ends & ~too_long & ((before == table[:, 0]) | (after == table[:, -1]))
    for reason, hits in (
        ("the book ends before the case does", ends),
        ("a paragraph is longer than a segment may be", too_long),
        ("the paragraph before or after the segments is longer than its cap", no_hint),
    ):
        if count := int(hits.sum()):
            dropped[reason] += count
    good = ~(ends | too_long | no_hint)
    places = zip(before[good].tolist(), table[good].tolist(), after[good].tolist(), strict=True)
    return [Passage(start, tuple(row), end) for start, row, end in places]


def filled_passages(counted: CountedBook, caps: Caps, segments: int, fixed: int) -> Iterator[Passage]:
    """Yield every position in a novel at which a case fills its length, with hints as equal as possible.

    ``fixed`` is the number of tokens in the prompt without its paragraphs; the hints' caps are ignored.
    """
    sums = counted.cumulated
    for first in np.flatnonzero(counted.is_break)[1:-1].tolist():
        edges = [first]
        for _ in range(segments):
            full = int(np.searchsorted(sums, sums[edges[-1]] + caps.segment, side="right")) - 1
            edges.append(int(counted.last_breaks[full]))
        last = edges[-1]
        if last >= len(counted.tokens):
            return
        if any(start == end for start, end in itertools.pairwise(edges)):
            continue
        around = fixed + int(sums[last] - sums[first])
        most, least = caps.bound - around, least_tokens(caps.bound) - around
        best, passage = _UNEVEN + 1e-9, None
        for start in range(first - 1, -1, -1):
            before = int(sums[first] - sums[start])
            if before >= most:
                break
            # For each start, only the latest end that fits is considered.
            end = int(np.searchsorted(sums, sums[last] + most - before, side="right")) - 1
            after = int(sums[end] - sums[last])
            if end > last and before + after >= least:
                uneven = max(before, after) / min(before, after)
                if uneven < best:
                    best, passage = uneven, Passage(start, tuple(edges), end)
        if passage is not None:
            yield passage


@dataclass(frozen=True)
class TSortDraft:
    """A case that is chosen but not yet written; ``shown`` are the segments in prompt order."""

    id: str
    book: CountedBook
    passage: Passage
    shown: tuple[int, ...]

    @classmethod
    def of(cls, book: CountedBook, passage: Passage, task: str, seed: int) -> "TSortDraft":
        """Shuffle a passage's segments; the order depends only on the seed and the position."""
        case_id = "_".join(map(str, (book.book.id, *passage.edges)))
        shown = list(range(len(passage.edges) - 1))
        random.Random(stable_seed(seed, task, case_id)).shuffle(shown)
        return cls(case_id, book, passage, tuple(shown))

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Paragraph ranges in prompt order: before, the segments as shown, after."""
        before, *parts, after = itertools.pairwise(self.passage.borders)
        return [before, *(parts[place] for place in self.shown), after]

    def is_told_by_words(self) -> bool:
        """Return whether the correct order ranks in the top three by similarity of neighbours (tf-idf)."""
        parts = [
            np.asarray(self.book.words[first:last].sum(axis=0)).ravel()
            for first, last in itertools.pairwise(self.passage.borders)
        ]
        vectors = np.stack([part / (np.linalg.norm(part) or 1) for part in parts])
        alike, last = vectors @ vectors.T, len(parts) - 1

        def shared(order: Sequence[int]) -> float:
            return fsum(alike[pair] for pair in itertools.pairwise((0, *order, last)))

        right = shared(range(1, last))
        better = sum(shared(order) > right + 1e-12 for order in itertools.permutations(range(1, last)))
        return better < _EASIEST_ORDERS

    # Not stored, because the prompts of all drafts would not fit into memory.
    @property
    def prompt(self) -> str:
        before, *parts, after = (
            _JOINT.join(self.book.book.paragraphs[first:last]) for first, last in self.spans
        )
        return prompts.render_tsort(before, parts, after)

    def to_case(self, task: str, num_tokens: Mapping[str, int], length: int) -> Case:
        """Return the case as stored, with character offsets instead of texts."""
        offsets, book = self.book.offsets, self.book.book
        before, *parts, after = ([offsets[first], offsets[last] - len(_JOINT)] for first, last in self.spans)
        # The correct reading order of the parts as shown, numbered from 1.
        gold = [self.shown.index(place) + 1 for place in range(len(self.shown))]
        return Case(
            id=self.id,
            task=task,
            inputs={"before": before, "segments": parts, "after": after},
            turns=(Turn(gold=gold),),
            cluster=book.id,
            num_tokens=num_tokens,
            document=book.id,
            labels={"title": book.title, "num_segments": len(parts), "length": length},
        )


class TSortCounter:
    """Counts the tokens in drafts' prompts; in cl100k, from the counts of their paragraphs."""

    def __init__(self, settings: "TSortSettings") -> None:
        self._measure, self._other = settings.measure, settings.other_tokenizer
        frame = [prompts.tsort_instruction(settings.segments), *prompts.tsort_labels(settings.segments)]
        self.fixed = sum(map(self._measure.count, frame))
        self._space_before = lru_cache(maxsize=None)(self._count_space)

    def _count_space(self, word: str) -> int:
        return self._measure.count(f" {word}") - self._measure.count(word)

    def count(self, draft: TSortDraft) -> int:
        if self._measure.name != CL100K:
            return self._measure.count(draft.prompt)
        sums, paragraphs = draft.book.cumulated, draft.book.book.paragraphs
        total = self.fixed
        for first, last in draft.spans:
            # Encoding works on pieces that begin at spaces, so only the first word depends on the text before
            # it.
            word, space, _ = paragraphs[first].partition(" ")
            total += int(sums[last] - sums[first]) + self._space_before(word if space else word + _JOINT)
        return total

    def count_all(self, draft: TSortDraft) -> dict[str, int]:
        if self._other is None:
            return {CL100K: self.count(draft)}
        prompt = draft.prompt
        in_cl100k = self._measure.name == CL100K
        cl100k = self.count(draft) if in_cl100k else get_tokenizer(CL100K).count(prompt)
        return {CL100K: cl100k, self._other.name: self._other.count(prompt)}


@dataclass(frozen=True)
class _Plan:
    length: int
    task: str
    caps: Caps


@dataclass(frozen=True)
class _BookCases:
    """The cases from one book.

    ``cases`` and ``dropped`` are keyed by length; ``document`` is empty if the book yields no cases.
    """

    place: str
    files: tuple[Path, ...]
    id: str
    tokens: int  # 0 if the book is not of a wanted form
    document: str
    cases: Mapping[int, Sequence[Case | None]]  # None takes the turn of a prompt over the bound
    dropped: Mapping[int, Counter[str]]
    source: Mapping[str, Any]  # form, chapters, and words kept and removed


def build_tsort(
    tasks: Mapping[int, str],
    source: Path,
    settings: "TSortSettings",
    folder: Path,
    work: Work,
    *,
    recast: bool = False,
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder.

    With ``recast``, the books' names are replaced, and cases fill their length.
    """
    benchmark = card("ada_leval")
    # Recorded before the recast settings, which follow from the builder's name.
    options = {**asdict(settings), "source": str(source), "card_version": benchmark.version}
    if recast:
        settings = replace(settings, fill=True)
    plans = [
        _Plan(length, task, caps_for(benchmark.tasks["tsort"], length, settings))
        for length, task in tasks.items()
    ]
    with work.writer(folder, options) as writer:
        read = _read_and_choose(plans, source, settings, recast, writer, work)
        books = [book for book in read if book.source["taken"]]
        reports = [_write_length(plan, books, settings, writer, work) for plan in plans]
        if empty := [plan for plan, report in zip(plans, reports, strict=True) if not report.tokens]:
            raise _no_case(source, empty, reports[plans.index(empty[0])].dropped, books)
        sources = [book.source for book in read]
        writer.sources += sources
        notes = [*_doubts(sources), *reports[0].notes]
        files = dict.fromkeys(file for book in read for file in book.files)
        encodings = encodings_of(source, files, work.engine.mapped)
        first = replace(reports[0], sources=sources, notes=notes, encodings=encodings)
        return [first, *reports[1:]]


def _read_and_choose(
    plans: Sequence[_Plan],
    source: Path,
    settings: "TSortSettings",
    recast: bool,
    writer: CaseWriter,
    work: Work,
) -> list[_BookCases]:
    """Read books until they have enough cases, and write their documents."""
    books = work.over(unread_books(source, settings.seed), "reading and encoding books", "book")
    made = work.engine.mapped(partial(_cases_of_book, plans, settings, recast), books)
    read: list[_BookCases] = []
    # Number of books that begin with a case of a length. A case of each book comes before the second of any, so that a
    # length with n of them needs no more books.
    begun: Counter[int] = Counter()
    for _, book in unique(((book.place, book) for book in made), no_books(source)):
        missing = {plan.length for plan in plans if settings.n is None or begun[plan.length] < settings.n}
        cases = {length: own if length in missing else [] for length, own in book.cases.items()}
        if any(map(any, cases.values())):
            writer.add_documents([(book.id, book.document)])
        begun.update(length for length, own in cases.items() if own and own[0] is not None)
        read.append(replace(book, document="", cases=cases))  # whole corpora do not fit into memory
        if all(begun[length] >= (settings.n or inf) for length in missing):
            break
    if not any(book.source["taken"] for book in read):
        others = ", ".join(sorted({book.source["form"] for book in read}))
        raise InputError(
            f"{source}: of {len(read)} books none is of the form {', '.join(settings.forms)} (found: {others}); add --forms {others}"
        )
    return read


def _no_case(
    source: Path, empty: Sequence[_Plan], dropped: Mapping[str, int], books: Sequence[_BookCases]
) -> InputError:
    longest = max(books, key=lambda book: book.tokens)
    reasons = "; ".join(f"{count} x {reason}" for reason, count in dropped.items())
    return InputError(
        f"{source}: no case of {', '.join(format_length(plan.length) for plan in empty)} can be built. The longest of "
        f"{len(books)} books, {longest.id}, has {longest.tokens:,} tokens; at {format_length(empty[0].length)}: "
        f"{reasons or 'a single paragraph'}. Leave out those lengths, add longer books, or change the caps"
    )


def _doubts(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = [
        f"{row['book']} is left out: it is not a novel but {row['form']}; --forms novel,{row['form']} takes it"
        for row in sources
        if not row["taken"]
    ]
    return notes + [
        f"{row['book']}: {row['chapters']} chapters found; {row['doubts']}; look whether a heading stays in the text"
        for row in sources
        if row["taken"] and row["doubts"]
    ]


def _renamed(book: Book, seed: int) -> Book:
    """Return a book with its names replaced; the id is kept, the title is removed."""
    from long_context_tasks.recast.renaming import names_of, rename

    texts = rename([*book.paragraphs, *book.headings], names_of(book.paragraphs), seed, book.id)
    paragraphs, headings = texts[: len(book.paragraphs)], texts[len(book.paragraphs) :]
    return replace(book, title="", paragraphs=tuple(paragraphs), headings=tuple(headings))


def _cases_of_book(
    plans: Sequence[_Plan], settings: "TSortSettings", recast: bool, unread: UnreadBook
) -> _BookCases:
    """Read a book and make its cases; there are none if it is not of a requested form."""
    book = unread.book()
    taken = book.form in settings.forms
    row = {"book": book.id, "form": book.form, "chapters": len(book.chapters), "taken": taken}
    words = {"words kept": sum(len(text.split()) for text in book.paragraphs)}
    removed = {reason: book.dropped.get(reason, 0) for reason in REASONS}
    source = row | words | removed | {"doubts": "; ".join(book.warnings)}
    if not taken:
        return _BookCases(*unread[:2], book.id, 0, "", {}, {}, source)
    # Renaming changes token counts, so it comes first.
    counted = CountedBook.of(_renamed(book, settings.seed) if recast else book, settings.measure)
    # Leaks do not depend on the length, so they are found once per book.
    leaks = [*find_leaks(counted.book), *find_marks(counted.book)]
    counter = TSortCounter(settings)
    choose: Callable[..., Iterator[TSortDraft | None]] = _filling_drafts if settings.fill else _drafts
    cases: dict[int, list[Case | None]] = {}
    dropped: dict[int, Counter[str]] = {}
    for plan in plans:
        dropped[plan.length] = Counter()
        drafts = choose(counted, plan, settings, counter, leaks, dropped[plan.length])
        # Drafts keep the book in memory, cases do not.
        made = (
            None if draft is None else draft.to_case(plan.task, counter.count_all(draft), plan.length)
            for draft in drafts
        )
        cases[plan.length] = list(_first(made, settings.n))
    document = counted.document if any(map(any, cases.values())) else ""
    return _BookCases(*unread[:2], book.id, int(counted.cumulated[-1]), document, cases, dropped, source)


def _first(cases: Iterable[Case | None], n: int | None) -> Iterator[Case | None]:
    """Yield the cases up to the nth, because no more are needed from one book."""
    number = 0
    for case in cases:
        yield case
        number += case is not None
        if number == n:
            return


def _drafts(
    counted: CountedBook,
    plan: _Plan,
    settings: "TSortSettings",
    counter: TSortCounter,
    leaks: Sequence[Leak],
    dropped: Counter[str],
) -> Iterator[TSortDraft | None]:
    """Yield a book's cases at one length, in random order; None replaces one over the bound."""
    passages = find_passages(counted, plan.caps, settings.segments, dropped)
    passages = _without_leaks(passages, counted, plan, leaks, dropped)
    for draft in _shuffled(passages, counted, plan, settings):
        fits = counter.count(draft) <= plan.caps.bound
        if not fits:
            dropped["the prompt is over the bound"] += 1
        yield draft if fits else None


def _filling_drafts(
    counted: CountedBook,
    plan: _Plan,
    settings: "TSortSettings",
    counter: TSortCounter,
    leaks: Sequence[Leak],
    dropped: Counter[str],
) -> Iterator[TSortDraft]:
    """Yield a book's cases that fill a length; those that share no paragraph come first."""
    caps = plan.caps
    counted = counted.as_in_whole(settings.measure)
    if settings.segment_cap is None:
        # The paper's reserve is too small for the frame in tokenizers with short tokens.
        room = (caps.bound - caps.before - caps.after - counter.fixed) // settings.segments
        caps = replace(caps, segment=min(caps.segment, room))
    passages = list(filled_passages(counted, caps, settings.segments, counter.fixed))
    passages = _without_leaks(passages, counted, plan, leaks, Counter())
    passages = _apart(passages, caps.stride, stable_seed(settings.seed, plan.task, counted.book.id, "first"))
    least, empty = least_tokens(caps.bound), True
    for draft in _disjoint_first(_shuffled(passages, counted, plan, settings)):
        # Words at the edges may have slightly more or fewer tokens than in the passages' sums.
        if least <= counter.count(draft) <= caps.bound and not draft.is_told_by_words():
            empty = False
            yield draft
    if empty:
        dropped["no paragraphs around the segments fill the length"] += 1


def _without_leaks(
    passages: Sequence[Passage],
    counted: CountedBook,
    plan: _Plan,
    leaks: Sequence[Leak],
    dropped: Counter[str],
) -> list[Passage]:
    """Drop passages with chapter numbers, titles, dates or marks of an unknown form in two or more parts, which may reveal the order."""
    headings = [leak for leak in leaks if not leak.told]
    without_headings = [each for each in passages if not in_two_parts(each.borders, headings)]
    silent = [each for each in without_headings if not in_two_parts(each.borders, leaks)]
    hidden, marked = len(passages) - len(without_headings), len(without_headings) - len(silent)
    refuse_headings(counted.book, headings, hidden, len(passages), plan.task)
    if hidden:
        dropped["two of its parts contain what looks like headings"] += hidden
    if marked:
        dropped[
            "two of its parts contain dates, items of a list, or lines that may be titles or numbers"
        ] += marked
    return silent


def _shuffled(
    passages: Iterable[Passage], counted: CountedBook, plan: _Plan, settings: "TSortSettings"
) -> list[TSortDraft]:
    drafts = [TSortDraft.of(counted, passage, plan.task, settings.seed) for passage in passages]
    random.Random(stable_seed(settings.seed, plan.task, counted.book.id)).shuffle(drafts)
    return drafts


def _apart(passages: Iterable[Passage], stride: int, seed: str) -> list[Passage]:
    """Return passages whose starts are at least a stride apart; the seed determines the first start."""
    free = random.Random(seed).randrange(stride)
    apart = []
    for passage in passages:
        if passage.edges[0] >= free:
            free = passage.edges[0] + stride
            apart.append(passage)
    return apart


def _disjoint_first(drafts: Iterable[TSortDraft]) -> list[TSortDraft]:
    """Return the drafts, with those that share no paragraph with an earlier one first."""
    apart: list[TSortDraft] = []
    others: list[TSortDraft] = []
    for draft in drafts:
        place = draft.passage
        free = all(
            place.after <= other.passage.before or other.passage.after <= place.before for other in apart
        )
        (apart if free else others).append(draft)
    return apart + others


def _write_length(
    plan: _Plan, books: Sequence[_BookCases], settings: "TSortSettings", writer: CaseWriter, work: Work
) -> TaskReport:
    """Write one length's cases, alternating between books; name books without a case."""
    by_book = [book.cases[plan.length] for book in books]
    dropped = Counter[str]()
    for book in books:
        dropped.update(book.dropped[plan.length])
    # One case per book in turn, so that --n does not take all cases from one book.
    turns = (case for cases in itertools.zip_longest(*by_book) for case in cases if case is not None)
    cases = work.over(turns, f"writing {plan.task}", "case", sum(map(len, by_book)))
    guess = 1 / factorial(settings.segments)
    report = write_task(writer, plan.task, cases, settings, lambda _: guess, dropped)
    # With --n, some books may remain unused.
    without = [book for book in books if not any(book.cases[plan.length])] if settings.n is None else []
    if not (report.tokens and without):
        return report
    listed = ", ".join(f"{book.id} ({book.tokens:,} tokens)" for book in without[:5])
    more = f" and {len(without) - 5} more books" if len(without) > 5 else ""
    note = f"{plan.task}: no case from {listed}{more}: too short, or their paragraphs are too long"
    return replace(report, notes=[note])
