"""Cases of TSort from books: segments of whole paragraphs that follow one another, shown in random order.

Section 3.3 and Table 11 of the paper (Wang et al., NAACL 2024). A case begins at a paragraph of the book; each of its N
segments takes whole paragraphs up to its cap, then come whole paragraphs after them; whole paragraphs before the
beginning are the other hint. Beginnings lie a fixed number of paragraphs (the stride) apart.

What the paper leaves open is decided so: a segment takes as many paragraphs as fit, and does not end behind one whose sentence goes
on in the next ("he said,"), as that would tell which segment follows; every part of a case, also the
text before and after, has at least one paragraph, else that beginning gives no case; all N! orders are equally
likely, the right one included; cases are written in turns over the books, in a random order within each, so that the
first n cover all books.

A recast case fills its length: never longer, and at most two per cent shorter. The text before and after the segments
takes what room these leave. Left out are cases whose right order is among the three in which neighbours share most words, as
it is found without reading. The first cases of a book share no paragraph, as far as it has so many.

Every paragraph is encoded once for all lengths: cl100k splits text before it encodes and never joins the text before
a paragraph's first letter with it, so the counts of the pieces add up to that of the prompt.
"""

import itertools
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from math import factorial, fsum, log
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import (
    Ints,
    count_pieces,
    counted_ahead,
    least_tokens,
)
from long_context_tasks.benchmarks.ada_leval.build.leaks import Leak, find_leaks
from long_context_tasks.benchmarks.ada_leval.settings import TSortSettings
from long_context_tasks.benchmarks.building import (
    Progress,
    TaskReport,
    Work,
    bound_of,
    write_task,
)
from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.gutenberg import REASONS
from long_context_tasks.engines import Engine, InProcess
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

_JOINT = "\n\n"
_WORD = re.compile(r"\w+")
_GOES_ON = (",", ":", ";", "–", "—", "-")
"""The end of a paragraph whose sentence goes on in the next one; a closing quote behind a dash ends what is said."""
_BOOKS_AHEAD = 2
_MOST_LEAKS = (
    0.2  # of the places of a book that give a case; from so many on its headings were not understood
)
_TOLD = 3
"""A case whose right order is among so many whose neighbours share most words is left out."""
_FEWEST_LEAKS = 3  # tenths of the book in which some stand; a list in one place is part of the story
_UNEVEN = 2
"""How many times as long as the other one the text before or after the segments may be."""


@dataclass(frozen=True)
class Caps:
    """Sizes of a case, in tokens but for the stride (paragraphs).

    Attributes:
        before, segment, after: most tokens of the text before, of each segment, of the text after.
        stride: paragraphs between two beginnings.
        bound: most tokens of the whole prompt.
    """

    before: int
    segment: int
    after: int
    stride: int
    bound: int


def caps_for(card: TaskCard, length: int, settings: TSortSettings) -> Caps:
    """Return Table 11's row of a length; for other lengths the hints and the stride of the next shorter row.

    The cap of a segment is (length - before - after - 200) / N, which gives the seven rows of the table.

    Raises:
        InputError: nothing is left for the segments.
    """
    table = {parse_length(name): row for name, row in card.build["rows"].items()}
    row = table[max((known for known in table if known <= length), default=min(table))]
    before = settings.before_cap or int(row["before"])
    after = settings.after_cap or int(row["after"])
    room = length - before - after - int(card.build["reserve"])
    segment = settings.segment_cap or room // settings.segments
    if segment < 1:
        raise InputError(
            f"length {format_length(length)}: {settings.segments} segments with {before} tokens before and {after} after "
            "them leave no room; take fewer segments or smaller --before-cap and --after-cap"
        )
    bound = length if settings.fill else bound_of(card, length)
    return Caps(before, segment, after, settings.stride or int(row["stride"]), bound)


@dataclass(frozen=True)
class Window:
    """Place of a case in a book, counted in paragraphs.

    ``[before, edges[0])`` is the text before, ``[edges[i], edges[i + 1])`` are the segments and ``[edges[-1], after)`` is the
    text after.
    """

    before: int
    edges: tuple[int, ...]
    after: int


@dataclass(frozen=True, eq=False)
class CountedBook:
    """A book with the tokens of its paragraphs.

    Attributes:
        book: the book.
        tokens: int64 (n,): tokens of every paragraph with the blank line after it.
    """

    book: Book
    tokens: Ints

    @classmethod
    def of(cls, book: Book, tokenizer: Tokenizer) -> "CountedBook":
        """Encode every paragraph of a book once."""
        return cls(book, count_pieces([f"{text}{_JOINT}" for text in book.paragraphs], tokenizer))

    @cached_property
    def cumulated(self) -> Ints:
        """int64 (n + 1,): tokens of all paragraphs before each one."""
        return np.concatenate([[0], np.cumsum(self.tokens)])

    @cached_property
    def is_break(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Bool (n + 1,): whether a part may end before each paragraph, as no sentence goes on there; true at both ends."""
        ends = (text.rstrip("_*") for text in self.book.paragraphs[:-1])
        return np.array([True, *(not end.endswith(_GOES_ON) for end in ends), True])

    @cached_property
    def last_breaks(self) -> Ints:
        """int64 (n + 1,): the last break at or before each paragraph."""
        return np.maximum.accumulate(np.where(self.is_break, np.arange(len(self.is_break)), 0))

    @cached_property
    def offsets(self) -> list[int]:
        """Character offset of every paragraph in the document, one more for the end."""
        return [
            0,
            *itertools.accumulate(len(paragraph) + len(_JOINT) for paragraph in self.book.paragraphs),
        ]

    @property
    def document(self) -> str:
        """The text that spans refer to."""
        return _JOINT.join(self.book.paragraphs)

    @cached_property
    def words(self) -> csr_matrix:
        """float64 (n, words): words of every paragraph, weighted by their rarity in the book."""
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
        """Return the book with the tokens that its paragraphs have in the whole text.

        Those of cl100k add up. In other tokenizers a paragraph alone may have a token more or less, always the same way.
        """
        if tokenizer.name == CL100K:
            return self
        share = tokenizer.count(self.document) / int(self.cumulated[-1])
        return replace(self, tokens=np.diff(np.rint(self.cumulated * share).astype(np.int64)))


def find_windows(counted: CountedBook, caps: Caps, segments: int, dropped: Counter[str]) -> list[Window]:
    """Return every place of a book that gives a case; ``dropped`` counts why others give none."""
    sums = counted.cumulated
    n = len(counted.tokens)
    # The first case begins where there is enough text before it, so that its hint is as long as the others'.
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
    return [Window(start, tuple(row), end) for start, row, end in places]


def filled_windows(counted: CountedBook, caps: Caps, segments: int, fixed: int) -> Iterator[Window]:
    """Yield every place of a novel at which a case fills its length, with the hints that are most equal.

    Segments take whole paragraphs up to their cap; the text before and after whole paragraphs that fill the rest.

    ``fixed`` are the tokens of the prompt beside its paragraphs; the caps of the text before and after do not count.
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
        best, found = _UNEVEN + 1e-9, None
        for start in range(first - 1, -1, -1):
            before = int(sums[first] - sums[start])
            if before >= most:
                break
            # For each beginning the latest end that fits counts.
            end = int(np.searchsorted(sums, sums[last] + most - before, side="right")) - 1
            after = int(sums[end] - sums[last])
            if end > last and before + after >= least:
                uneven = max(before, after) / min(before, after)
                if uneven < best:
                    best, found = uneven, Window(start, tuple(edges), end)
        if found is not None:
            yield found


@dataclass(frozen=True)
class Draft:
    """A case that is chosen but not yet written; ``shown`` are the segments in the order of the prompt."""

    id: str
    book: CountedBook
    window: Window
    shown: tuple[int, ...]

    @classmethod
    def of(cls, book: CountedBook, window: Window, task: str, seed: int) -> "Draft":
        """Shuffle the segments of a window; the order depends on seed and place only."""
        case_id = "_".join(map(str, (book.book.id, *window.edges)))
        shown = list(range(len(window.edges) - 1))
        random.Random(stable_seed(seed, task, case_id)).shuffle(shown)
        return cls(case_id, book, window, tuple(shown))

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Paragraph ranges in the order of the prompt: before, the parts as shown, after."""
        window = self.window
        parts = list(itertools.pairwise(window.edges))
        shown = (parts[place] for place in self.shown)
        return [(window.before, window.edges[0]), *shown, (window.edges[-1], window.after)]

    def is_told_by_words(self) -> bool:
        """Return whether the right order is of the three whose neighbours share most words (cosine of tf-idf)."""
        window = self.window
        edges = (window.before, *window.edges, window.after)
        parts = [
            np.asarray(self.book.words[first:last].sum(axis=0)).ravel()
            for first, last in itertools.pairwise(edges)
        ]
        vectors = np.stack([part / (np.linalg.norm(part) or 1) for part in parts])
        alike, last = vectors @ vectors.T, len(parts) - 1

        def shared(order: Sequence[int]) -> float:
            return fsum(alike[one, two] for one, two in itertools.pairwise((0, *order, last)))

        right = shared(range(1, last))
        better = sum(shared(order) > right + 1e-12 for order in itertools.permutations(range(1, last)))
        return better < _TOLD

    @property
    def prompt(self) -> str:
        """The whole prompt."""
        before, *parts, after = (
            _JOINT.join(self.book.book.paragraphs[first:last]) for first, last in self.spans
        )
        return prompts.render_tsort(before, parts, after)

    def to_case(self, task: str, num_tokens: Mapping[str, int], length: int) -> Case:
        """Return the case as it is stored, with character offsets in place of texts."""
        offsets, book = self.book.offsets, self.book.book
        before, *parts, after = ([offsets[first], offsets[last] - len(_JOINT)] for first, last in self.spans)
        # The right reading order of the shown parts, numbered from 1.
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


class _Counter:
    """Tokens of drafts' prompts; in cl100k from the counts of their paragraphs."""

    def __init__(self, settings: TSortSettings) -> None:
        self.measure, self._other = settings.measure, settings.other_tokenizer
        frame = [prompts.tsort_instruction(settings.segments), *prompts.tsort_labels(settings.segments)]
        self.fixed = sum(map(self.measure.count, frame))
        self._space_before = lru_cache(maxsize=None)(self._count_space)

    def _count_space(self, word: str) -> int:
        return self.measure.count(f" {word}") - self.measure.count(word)

    def count(self, draft: Draft) -> int:
        """Count a prompt in the tokenizer of the caps."""
        if self.measure.name != CL100K:
            return self.measure.count(draft.prompt)
        sums, paragraphs = draft.book.cumulated, draft.book.book.paragraphs
        total = self.fixed
        for first, last in draft.spans:
            # Encoding goes by pieces that begin at spaces, so only the first word depends on the text before it.
            word, space, _ = paragraphs[first].partition(" ")
            total += int(sums[last] - sums[first]) + self._space_before(word if space else word + _JOINT)
        return total

    def count_all(self, draft: Draft) -> dict[str, int]:
        """Count a prompt in cl100k and in the other tokenizer, if there is one."""
        if self._other is None:
            return {CL100K: self.count(draft)}
        prompt = draft.prompt
        in_cl100k = self.measure.name == CL100K
        cl100k = self.count(draft) if in_cl100k else get_tokenizer(CL100K).count(prompt)
        return {CL100K: cl100k, self._other.name: self._other.count(prompt)}


@dataclass(frozen=True)
class _Length:
    """A length to build: its task and caps, the cases of each book, and why places gave none."""

    length: int
    task: str
    caps: Caps
    found: list[Sequence[Draft | Case]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _FromBook:
    """What a book gives.

    Attributes:
        id: of the book.
        tokens: of it.
        document: its text; empty where it gives no case.
        rows: for each length the cases, and why places gave none.
    """

    id: str
    tokens: int
    document: str
    rows: Sequence[tuple[Sequence[Draft | Case], Counter[str]]]


def _from_books(
    books: Iterable[Book],
    rows: Sequence[_Length],
    settings: TSortSettings,
    change: Callable[[Book], Book] | None,
    engine: Engine,
) -> Iterator[_FromBook]:
    """Yield what each book gives: made by the engine, or here, where one book is encoded while the next is read."""
    blank = tuple(replace(row, found=[], dropped=Counter()) for row in rows)
    if not isinstance(engine, InProcess):
        yield from engine.mapped(partial(_from_book, blank, settings, change), books)
        return

    def counted(book: Book) -> CountedBook:
        return CountedBook.of(book, settings.measure)

    changed = books if change is None else map(change, books)
    yield from map(partial(_from_counted, blank, settings), counted_ahead(changed, counted, _BOOKS_AHEAD))


def _from_book(
    rows: Sequence[_Length], settings: TSortSettings, change: Callable[[Book], Book] | None, book: Book
) -> _FromBook:
    changed = book if change is None else change(book)
    return _from_counted(rows, settings, CountedBook.of(changed, settings.measure))


def _from_counted(rows: Sequence[_Length], settings: TSortSettings, counted: CountedBook) -> _FromBook:
    counter, leaks = _Counter(settings), find_leaks(counted.book)
    own = [replace(row, dropped=Counter()) for row in rows]
    found = [(_cases_of(counted, row, settings, counter, leaks), row.dropped) for row in own]
    document = counted.document if any(cases for cases, _ in found) else ""
    return _FromBook(counted.book.id, int(counted.cumulated[-1]), document, found)


def build_tsort(
    books: Iterable[Book],
    card: TaskCard,
    settings: TSortSettings,
    writer: CaseWriter,
    work: Work,
    *,
    name: str,
    source: str,
    change: Callable[[Book], Book] | None = None,
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder.

    Args:
        books: the corpus, one book after the other.
        card: TSort's part of the card.
        settings: see :class:`TSortSettings`.
        writer: an open writer.
        work: how to work.
        name: of the tasks, with ``*`` in place of the length.
        source: what the books were read from, for messages.
        change: returns the book that is used in the place of one.

    Raises:
        InputError: a length for which no book gives a case.
    """
    rows = [
        _Length(length, name.replace("*", format_length(length)), caps_for(card, length, settings))
        for length in settings.lengths
    ]
    sizes: dict[str, int] = {}
    sources: list[dict[str, Any]] = []
    taken = _taken(books, settings, sources, source)
    read = work.over(taken, "reading and encoding books", "book")
    for made in _from_books(read, tuple(rows), settings, change, work.engine):
        sizes[made.id] = made.tokens
        for row, (found, dropped) in zip(rows, made.rows, strict=True):
            row.found.append(found)
            row.dropped.update(dropped)
        if made.document:
            writer.add_documents([(made.id, made.document)])
    counter = _Counter(settings)
    reports = [_write_length(row, settings, counter, writer, work, sizes) for row in rows]
    if empty := [row for row, report in zip(rows, reports, strict=True) if not report.tokens]:
        longest = max(sizes, key=lambda book: sizes[book])
        reasons = "; ".join(f"{count} x {reason}" for reason, count in empty[0].dropped.items())
        raise InputError(
            f"{source}: no case of {', '.join(format_length(row.length) for row in empty)} can be built. The longest of "
            f"{len(sizes)} books, {longest}, has {sizes[longest]:,} tokens; at {format_length(empty[0].length)}: "
            f"{reasons or 'a single paragraph'}. Leave out those lengths, add longer books, or change the caps"
        )
    writer.sources += sources
    return [replace(reports[0], sources=sources, notes=[*_doubts(sources), *reports[0].notes]), *reports[1:]]


def _taken(
    books: Iterable[Book], settings: TSortSettings, sources: list[dict[str, Any]], place: str
) -> Iterator[Book]:
    """Yield the books of the forms asked for; note all in ``sources``, with the words kept and removed.

    Raises:
        InputError: there is no such book.
    """
    forms = settings.forms
    for book in books:
        taken = book.form in forms
        row = {"book": book.id, "form": book.form, "chapters": len(book.chapters), "taken": taken}
        kept = {"words kept": sum(len(text.split()) for text in book.paragraphs)}
        removed = {reason: book.dropped.get(reason, 0) for reason in REASONS}
        sources.append(row | kept | removed | {"doubts": "; ".join(book.warnings)})
        if taken:
            yield book
    if not any(row["taken"] for row in sources):
        found = ", ".join(sorted({row["form"] for row in sources}))
        raise InputError(
            f"{place}: of {len(sources)} books none is of the form {', '.join(forms)} (found: {found}); add --forms {found}"
        )


def _doubts(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the user should look at: books left out, and chapters that are not as they should be."""
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


def _cases_of(
    counted: CountedBook, row: _Length, settings: TSortSettings, counter: _Counter, leaks: Sequence[Leak]
) -> Sequence[Draft | Case]:
    """Return what a book gives at a length, in random order.

    Raises:
        InputError: what looks like a heading stands in more than a few of its cases.
    """
    total = hidden = dated = 0
    headings = [leak for leak in leaks if not leak.dated]

    def silent(windows: Iterable[Window]) -> Iterator[Window]:
        """Leave out what shows numbers or titles of chapters, or dates, in two parts or more, so that these are ordered without reading."""
        nonlocal total, hidden, dated
        for window in windows:
            total += 1
            if _in_two_parts(window, headings):
                hidden += 1
            elif _in_two_parts(window, leaks):
                dated += 1
            else:
                yield window
        series = [leak for leak in leaks if leak.counted]
        for shown, most in ((series, 0), (headings, _MOST_LEAKS * total)):
            places = {10 * leak.paragraph // len(counted.book.paragraphs) for leak in shown}
            if hidden > most and len(places) >= _FEWEST_LEAKS:
                what = "numbers that rise" if shown is series else "what looks like a heading"
                seen = "; ".join(f"paragraph {leak.paragraph + 1}: {leak.text!r}" for leak in shown[:3])
                raise InputError(
                    f"{counted.book.id}: {hidden} of {total} cases of {row.task} show {what} ({seen}), which "
                    "tells the order of segments; remove these lines from the file, or the file from the folder"
                )

    def mixed(windows: Iterable[Window]) -> list[Draft]:
        drafts = [Draft.of(counted, window, row.task, settings.seed) for window in windows]
        random.Random(stable_seed(settings.seed, row.task, counted.book.id)).shuffle(drafts)
        return drafts

    caps = row.caps
    windows: Iterable[Window]
    if not settings.fill:
        windows = list(silent(find_windows(counted, caps, settings.segments, row.dropped)))
        if hidden:
            row.dropped["what looks like headings stands in two of its parts"] += hidden
        if dated:
            row.dropped["dates stand in two of its parts"] += dated
        return mixed(windows)
    counted = counted.as_in_whole(settings.measure)
    if settings.segment_cap is None:
        # The paper's reserve is too small for the frame in tokenizers with short tokens.
        room = (caps.bound - caps.before - caps.after - counter.fixed) // settings.segments
        caps = replace(caps, segment=min(caps.segment, room))
    windows = silent(filled_windows(counted, caps, settings.segments, counter.fixed))
    windows = _apart(windows, caps.stride, stable_seed(settings.seed, row.task, counted.book.id, "first"))
    # What words at the edges have more or less is not in the windows' sums.
    least = least_tokens(caps.bound)
    fitting = (
        draft
        for draft in _spread(mixed(windows))
        if least <= counter.count(draft) <= caps.bound and not draft.is_told_by_words()
    )
    drafts = list(itertools.islice(fitting, settings.per_book))
    if not drafts:
        row.dropped["no paragraphs around the segments fill the length"] += 1
    # Cases, as a draft keeps its book, and there may be any number of novels.
    return [draft.to_case(row.task, counter.count_all(draft), row.length) for draft in drafts]


def _in_two_parts(window: Window, leaks: Iterable[Leak]) -> bool:
    """Return whether two parts or more show what tells their order."""
    edges = (window.before, *window.edges, window.after)
    return len({bisect_right(edges, leak.paragraph) for leak in leaks} - {0, len(edges)}) > 1


def _apart(windows: Iterable[Window], stride: int, seed: str) -> Iterator[Window]:
    """Yield the windows that begin at least a stride after the last one taken; where the first begins depends on the seed."""
    free = random.Random(seed).randrange(stride)
    for window in windows:
        if window.edges[0] >= free:
            free = window.edges[0] + stride
            yield window


def _spread(drafts: Iterable[Draft]) -> list[Draft]:
    """Return drafts with those first that share no paragraph with one before them."""
    apart: list[Draft] = []
    others: list[Draft] = []
    for draft in drafts:
        window = draft.window
        free = all(
            window.after <= other.window.before or other.window.after <= window.before for other in apart
        )
        (apart if free else others).append(draft)
    return apart + others


def _write_length(
    row: _Length,
    settings: TSortSettings,
    counter: _Counter,
    writer: CaseWriter,
    progress: Progress,
    sizes: Mapping[str, int],
) -> TaskReport:
    def cases() -> Iterator[Case]:
        turns = itertools.chain.from_iterable(itertools.zip_longest(*row.found))
        found = (item for item in turns if item is not None)
        for item in progress.over(found, f"writing {row.task}", "case", sum(map(len, row.found))):
            case = (
                item
                if isinstance(item, Case)
                else item.to_case(row.task, counter.count_all(item), row.length)
            )
            if case.num_tokens[settings.measure.name] <= row.caps.bound:
                covered.add(case.cluster)
                yield case
            else:
                row.dropped["the prompt is over the bound"] += 1

    covered: set[str] = set()
    guess = 1 / factorial(settings.segments)
    report = write_task(writer, row.task, cases(), settings, lambda _: guess, row.dropped)
    without = [book for book in sizes if book not in covered] if settings.n is None else []
    if not (report.tokens and without):
        return report
    listed = ", ".join(f"{book} ({sizes[book]:,} tokens)" for book in without[:5])
    more = f" and {len(without) - 5} more books" if len(without) > 5 else ""
    note = f"{row.task}: no case from {listed}{more}: too short, or their paragraphs are too long"
    return replace(report, notes=[note])
