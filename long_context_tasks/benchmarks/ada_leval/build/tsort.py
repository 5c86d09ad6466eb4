"""Cases of TSort from books: segments of whole paragraphs that follow one another, shown in random order.

Section 3.3 and Table 11 of the paper (Wang et al., NAACL 2024). A case begins at a paragraph of the book; each of its N
segments takes whole paragraphs up to its cap, then come whole paragraphs after them; whole paragraphs before the
beginning are the other hint. Beginnings lie a fixed number of paragraphs (the stride) apart.

What the paper leaves open is decided so: a segment takes as many paragraphs as fit; every part of a case, also the
text before and after, has at least one paragraph, else that beginning gives no case; all N! orders are equally
likely, the right one included; cases are written in turns over the books, in a random order within each, so that the
first n cover all books.

Every paragraph is encoded once for all lengths: cl100k splits text before it encodes and never joins the text before
a paragraph's first letter with it, so the counts of the pieces add up to that of the prompt.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice, zip_longest
from math import factorial

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import counted_ahead
from long_context_tasks.benchmarks.ada_leval.build.fit import (
    as_counted_together,
    filled_windows,
    least_tokens,
)
from long_context_tasks.benchmarks.ada_leval.build.windows import (
    JOINT,
    Caps,
    CountedBook,
    Window,
    apart,
    caps_for,
    find_windows,
)
from long_context_tasks.benchmarks.ada_leval.settings import TSortSettings
from long_context_tasks.benchmarks.building import Progress, TaskReport, stable_seed
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import CL100K, get_tokenizer

_MARK = "\u2042"
_BOOKS_AHEAD = 2


@dataclass(frozen=True)
class Draft:
    """A case that is chosen but not yet written."""

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
    def gold(self) -> list[int]:
        """The right reading order of the shown parts, numbered from 1."""
        return [self.shown.index(place) + 1 for place in range(len(self.shown))]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Paragraph ranges in the order of the prompt: before, the parts as shown, after."""
        window = self.window
        parts = list(zip(window.edges, window.edges[1:], strict=False))
        shown = (parts[place] for place in self.shown)
        return [(window.before, window.edges[0]), *shown, (window.edges[-1], window.after)]

    @property
    def prompt(self) -> str:
        """The whole prompt."""
        before, *parts, after = (self.book.text(*span) for span in self.spans)
        return prompts.render_tsort(before, parts, after)

    def to_case(self, task: str, num_tokens: Mapping[str, int], length: int) -> Case:
        """Return the case as it is stored."""
        before, *parts, after = (self.book.span(*span) for span in self.spans)
        book = self.book.book
        return Case(
            id=self.id,
            task=task,
            inputs={"before": before, "segments": parts, "after": after},
            turns=(Turn(gold=self.gold),),
            cluster=book.id,
            num_tokens=num_tokens,
            document=book.id,
            labels={"title": book.title, "num_segments": len(parts), "length": length},
        )


class PromptCounter:
    """Tokens of drafts' prompts; in cl100k from the counts of their paragraphs."""

    def __init__(self, settings: TSortSettings) -> None:
        """Count the fixed pieces of the prompt, and note what surrounds each text."""
        self.measure, self._other = settings.measure, settings.other_tokenizer
        pieces = prompts.tsort_parts([_MARK], [[_MARK]] * settings.segments, [_MARK])
        self.fixed = sum(self.measure.count(piece) for piece in pieces if _MARK not in piece)
        around = [piece.partition(_MARK) for piece in pieces if _MARK in piece]
        if len(around) != settings.segments + 2 or any(tail != JOINT for _, _, tail in around):
            raise AssertionError(
                "prompts.tsort_parts must give every text a piece of its own that ends in a blank line"
            )
        self._heads = [head for head, _, _ in around]
        self._head = lru_cache(maxsize=None)(self._count_head)

    def count(self, draft: Draft) -> int:
        """Count a prompt in the tokenizer of the caps."""
        return self._from_parts(draft) if self.measure.name == CL100K else self.measure.count(draft.prompt)

    def count_all(self, draft: Draft) -> dict[str, int]:
        """Count a prompt in cl100k and in the other tokenizer, if there is one."""
        if self._other is None:
            return {CL100K: self._from_parts(draft)}
        prompt = draft.prompt
        by_parts = self.measure.name == CL100K
        cl100k = self._from_parts(draft) if by_parts else get_tokenizer(CL100K).count(prompt)
        return {CL100K: cl100k, self._other.name: self._other.count(prompt)}

    def _from_parts(self, draft: Draft) -> int:
        sums, paragraphs = draft.book.cumulated, draft.book.book.paragraphs
        total = self.fixed
        for (first, last), head in zip(draft.spans, self._heads, strict=True):
            total += int(sums[last] - sums[first])
            if head:
                # Encoding goes by pieces that begin at spaces, so only the first word depends on the text before it.
                word, space, _ = paragraphs[first].partition(" ")
                total += self._head(head, word if space else word + JOINT)
        return total

    def _count_head(self, head: str, word: str) -> int:
        return self.measure.count(head + word) - self.measure.count(word)


@dataclass(frozen=True)
class _Length:
    """A length to build: its task and caps, the cases of each book, and why places gave none."""

    length: int
    task: str
    caps: Caps
    found: list[Sequence[Draft | Case]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def build_tsort(
    books: Iterable[Book],
    card: TaskCard,
    settings: TSortSettings,
    writer: CaseWriter,
    *,
    task_name: Callable[[int], str],
    source: str,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder.

    Args:
        books: the corpus, one book after the other.
        card: TSort's part of the card.
        settings: see :class:`TSortSettings`.
        writer: an open writer.
        task_name: function of a length in tokens that gives the task's name.
        source: what the books were read from, for messages.
        progress: reports long work.

    Raises:
        InputError: a length for which no book gives a case.
    """
    progress = progress or Progress()
    rows = [
        _Length(length, task_name(length), caps_for(card, length, settings)) for length in settings.lengths
    ]
    sizes: dict[str, int] = {}
    counter = PromptCounter(settings)
    read = progress.over(books, "reading and encoding books", "book")
    for counted in counted_ahead(read, lambda book: CountedBook.of(book, settings.measure), _BOOKS_AHEAD):
        sizes[counted.book.id] = int(counted.cumulated[-1])
        for row in rows:
            row.found.append(_cases_of(counted, row, settings, counter))
        if any(row.found[-1] for row in rows):
            writer.add_documents([(counted.book.id, counted.document)])
    reports = [_write_length(row, settings, counter, writer, progress, sizes) for row in rows]
    _require_cases(rows, reports, source, sizes)
    return reports


def _cases_of(
    counted: CountedBook, row: _Length, settings: TSortSettings, counter: PromptCounter
) -> Sequence[Draft | Case]:
    """Return what a book gives at a length, in random order."""
    if settings.fill:
        # Cases, as a draft keeps its book, and there may be any number of novels.
        drafts = _filled(counted, row, settings, counter)
        return [draft.to_case(row.task, counter.count_all(draft), row.length) for draft in drafts]
    return _mixed(counted, find_windows(counted, row.caps, settings.segments, row.dropped), row, settings)


def _mixed(
    counted: CountedBook, windows: Iterable[Window], row: _Length, settings: TSortSettings
) -> list[Draft]:
    drafts = [Draft.of(counted, window, row.task, settings.seed) for window in windows]
    random.Random(stable_seed(settings.seed, row.task, counted.book.id)).shuffle(drafts)
    return drafts


def _filled(
    counted: CountedBook, row: _Length, settings: TSortSettings, counter: PromptCounter
) -> list[Draft]:
    """Return the cases of a novel, each of which fills the length."""
    caps = row.caps
    counted = as_counted_together(counted, settings.measure)
    if settings.segment_cap is None:
        # The paper's reserve is too small for the frame in tokenizers with short tokens; and in very short cases a paragraph
        # may be longer than a segment should be.
        room = (caps.bound - caps.before - caps.after - counter.fixed) // settings.segments
        caps = replace(caps, segment=max(min(caps.segment, room), int(counted.tokens.max())))
    windows: Iterable[Window] = filled_windows(counted, caps, settings.segments, counter.fixed)
    if settings.per_book != 1:
        windows = apart(windows, caps.stride)
    # What words at the edges have more or less is not in the windows' sums.
    least = least_tokens(caps.bound)
    drafts = _mixed(counted, windows, row, settings)
    fitting = (draft for draft in drafts if least <= counter.count(draft) <= caps.bound)
    found = list(islice(fitting, settings.per_book))
    if not found:
        row.dropped["no paragraphs around the segments fill the length"] += 1
    return found


def _write_length(
    row: _Length,
    settings: TSortSettings,
    counter: PromptCounter,
    writer: CaseWriter,
    progress: Progress,
    sizes: Mapping[str, int],
) -> TaskReport:
    tokens: list[int] = []
    clusters: set[str] = set()

    def cases() -> Iterator[Case]:
        turns: Iterator[Draft | Case | None] = chain.from_iterable(zip_longest(*row.found))
        found = (item for item in turns if item is not None)
        for item in progress.over(found, f"writing {row.task}", "case", sum(map(len, row.found))):
            case = (
                item
                if isinstance(item, Case)
                else item.to_case(row.task, counter.count_all(item), row.length)
            )
            size = case.num_tokens[settings.measure.name]
            if size > row.caps.bound:
                row.dropped["the prompt is over the bound"] += 1
                continue
            tokens.append(size)
            clusters.add(case.cluster)
            yield case
            if len(tokens) == settings.n:
                return

    writer.add_cases(row.task, cases())
    without = [book for book in sizes if book not in clusters] if settings.n is None else []
    notes = []
    if tokens and without:
        listed = ", ".join(f"{book} ({sizes[book]:,} tokens)" for book in without[:5])
        more = f" and {len(without) - 5} more books" if len(without) > 5 else ""
        notes.append(f"{row.task}: no case from {listed}{more}: too short, or their paragraphs are too long")
    return TaskReport(row.task, tokens, len(clusters), 1 / factorial(settings.segments), row.dropped, notes)


def _require_cases(
    rows: Sequence[_Length], reports: Sequence[TaskReport], source: str, sizes: Mapping[str, int]
) -> None:
    empty = [row for row, report in zip(rows, reports, strict=True) if not report.tokens]
    if not empty:
        return
    longest = max(sizes, key=lambda book: sizes[book])
    reasons = (
        "; ".join(f"{count} x {reason}" for reason, count in empty[0].dropped.items()) or "a single paragraph"
    )
    raise InputError(
        f"{source}: no case of {', '.join(format_length(row.length) for row in empty)} can be built. The longest of "
        f"{len(sizes)} books, {longest}, has {sizes[longest]:,} tokens; at {format_length(empty[0].length)}: {reasons}. "
        "Leave out those lengths, add longer books, or change the caps"
    )
