"""Cases of TSort from books: segments of whole paragraphs that follow one another, shown in random order.

Section 3.3 and Table 11 of the paper (Wang et al., NAACL 2024). A case begins at a paragraph of the book; each of its N
segments takes whole paragraphs up to its cap, then come whole paragraphs after them; whole paragraphs before the
beginning are the other hint. Beginnings lie a fixed number of paragraphs (the stride) apart.

What the paper leaves open is decided so: a segment takes as many paragraphs as fit; every part of a case, also the
text before and after, has at least one paragraph, else that beginning gives no case; all N! orders are equally
likely, the right one included; cases are written in turns over the books, in a random order within each, so that the
first n cover all books.

Every paragraph is encoded once for all lengths: cl100k splits text before it encodes and never joins what stands before
a paragraph's first letter with it, so the counts of the pieces add up to that of the prompt.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice, zip_longest
from math import factorial

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.fit import (
    as_counted_together,
    filled_windows,
    least_tokens,
)
from long_context_tasks.benchmarks.ada_leval.build.plan import (
    BuildSettings,
    Progress,
    TaskReport,
    stable_seed,
)
from long_context_tasks.benchmarks.ada_leval.build.windows import (
    JOINT,
    Caps,
    CountedBook,
    TSortSettings,
    Window,
    apart,
    caps_for,
    find_windows,
)
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import CL100K, Tokenizer

_MARK = "\u2042"
_BOOKS_AHEAD = 2


@dataclass(frozen=True)
class Draft:
    """A case that is chosen but not yet written."""

    id: str
    book: CountedBook
    window: Window
    shown: tuple[int, ...]

    @property
    def gold(self) -> list[int]:
        """The right reading order of the shown parts, numbered from 1."""
        return [self.shown.index(place) + 1 for place in range(len(self.shown))]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Paragraph ranges in the order of the prompt: before, the parts as shown, after."""
        window = self.window
        parts = list(zip(window.edges, window.edges[1:], strict=False))
        return [
            (window.before, window.edges[0]),
            *(parts[place] for place in self.shown),
            (window.edges[-1], window.after),
        ]

    @property
    def prompt(self) -> str:
        """The whole prompt."""
        before, *parts, after = (self.book.text(*span) for span in self.spans)
        return prompts.render_tsort(before, parts, after)

    def to_case(self, task: str, num_tokens: Mapping[str, int], length: int) -> Case:
        """The case as it is stored."""
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


def draft(counted: CountedBook, window: Window, task: str, seed: int) -> Draft:
    """Shuffle the segments of a window; the order depends on seed and place only."""
    case_id = "_".join(map(str, (counted.book.id, *window.edges)))
    shown = list(range(len(window.edges) - 1))
    random.Random(stable_seed(seed, task, case_id)).shuffle(shown)
    return Draft(case_id, counted, window, tuple(shown))


class PromptCounter:
    """Exact number of cl100k tokens of a prompt from the counts of its paragraphs."""

    def __init__(self, segments: int, tokenizer: Tokenizer) -> None:
        """Count the fixed pieces of the prompt, and note what stands around each text."""
        self._tokenizer = tokenizer
        pieces = prompts.tsort_parts([_MARK], [[_MARK]] * segments, [_MARK])
        self.fixed = sum(tokenizer.count(piece) for piece in pieces if _MARK not in piece)
        around = [piece.partition(_MARK) for piece in pieces if _MARK in piece]
        if len(around) != segments + 2 or any(tail != JOINT for _, _, tail in around):
            raise AssertionError(
                "prompts.tsort_parts must give every text a piece of its own that ends in a blank line"
            )
        self._heads = [head for head, _, _ in around]
        self._head = lru_cache(maxsize=None)(self._count_head)

    def count(self, draft: Draft) -> int:
        """Tokens of a draft's prompt."""
        sums, paragraphs = draft.book.cumulated, draft.book.book.paragraphs
        total = self.fixed
        for (first, last), head in zip(draft.spans, self._heads, strict=True):
            total += int(sums[last] - sums[first])
            if head:
                # Encoding goes by pieces that begin at spaces, so only the first word can feel what stands before it.
                word, space, _ = paragraphs[first].partition(" ")
                total += self._head(head, word if space else word + JOINT)
        return total

    def _count_head(self, head: str, word: str) -> int:
        return self._tokenizer.count(head + word) - self._tokenizer.count(word)


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
    rows = {length: caps_for(card, length, settings) for length in settings.lengths}
    if settings.fill:
        rows = {length: replace(caps, bound=length) for length, caps in rows.items()}
    dropped: dict[int, Counter[str]] = {length: Counter() for length in rows}
    found: dict[int, list[list[Draft] | list[Case]]] = {length: [] for length in rows}
    sizes: dict[str, int] = {}
    measure = settings.measure
    frame = PromptCounter(settings.segments, measure)
    counter = _case_counter(settings)
    for counted in _counted(progress.over(books, "reading and encoding books", "book"), measure):
        book = counted.book
        sizes[book.id] = int(counted.cumulated[-1])
        used = False
        for length, caps in rows.items():
            name = task_name(length)
            if settings.fill:
                filled = _filled_drafts(counted, caps, frame, settings, name, dropped[length])
                # Cases, as a draft keeps its book, and there may be any number of novels.
                found[length].append([one.to_case(name, counter(one), length) for one in filled])
            else:
                windows = find_windows(counted, caps, settings.segments, dropped[length])
                found[length].append(_mixed(counted, windows, settings, name))
            used = used or bool(found[length][-1])
        if used:
            writer.add_documents([(book.id, counted.document)])
    reports = [
        _write_length(
            length,
            caps,
            found[length],
            dropped[length],
            settings,
            counter,
            writer,
            task_name(length),
            progress,
            source,
            sizes,
        )
        for length, caps in rows.items()
    ]
    _require_cases(reports, settings, source, sizes)
    return reports


def _mixed(
    counted: CountedBook, windows: Iterable[Window], settings: TSortSettings, task: str
) -> list[Draft]:
    drafts = [draft(counted, window, task, settings.seed) for window in windows]
    random.Random(stable_seed(settings.seed, task, counted.book.id)).shuffle(drafts)
    return drafts


def _filled_drafts(
    counted: CountedBook,
    caps: Caps,
    frame: PromptCounter,
    settings: TSortSettings,
    task: str,
    dropped: Counter[str],
) -> list[Draft]:
    """The cases of a novel, each of which fills the length."""
    measure = settings.measure
    counted = as_counted_together(counted, measure)
    if settings.segment_cap is None:
        # The paper's reserve is too small for the frame in tokenizers with short tokens; and in very short cases a paragraph
        # may be longer than a segment should be.
        room = (caps.bound - caps.before - caps.after - frame.fixed) // settings.segments
        caps = replace(caps, segment=max(min(caps.segment, room), int(counted.tokens.max())))
    windows: Iterable[Window] = filled_windows(counted, caps, settings.segments, frame.fixed)
    if settings.per_book != 1:
        windows = apart(windows, caps.stride)
    # What words at the edges have more or less is not in the windows' sums.
    drafts = islice(
        (
            one
            for one in _mixed(counted, windows, settings, task)
            if least_tokens(caps.bound)
            <= (frame.count(one) if measure.name == CL100K else measure.count(one.prompt))
            <= caps.bound
        ),
        settings.per_book,
    )
    found = list(drafts)
    if not found:
        dropped["no paragraphs around the segments fill the length"] += 1
    return found


def _counted(books: Iterable[Book], measure: Tokenizer) -> Iterator[CountedBook]:
    """Books with their tokens; one is encoded while the next is read."""
    waiting: deque[Future[CountedBook]] = deque()
    with ThreadPoolExecutor(max_workers=1) as beside:
        for book in books:
            waiting.append(beside.submit(CountedBook.of, book, measure))
            if len(waiting) > _BOOKS_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _write_length(
    length: int,
    caps: Caps,
    found: Sequence[list[Draft] | list[Case]],
    dropped: Counter[str],
    settings: TSortSettings,
    counter: Callable[[Draft], dict[str, int]],
    writer: CaseWriter,
    task: str,
    progress: Progress,
    source: str,
    sizes: Mapping[str, int],
) -> TaskReport:
    tokens: list[int] = []
    clusters: set[str] = set()

    def cases() -> Iterator[Case]:
        total = sum(map(len, found))
        turns: Iterator[Draft | Case | None] = chain.from_iterable(zip_longest(*found))
        for item in progress.over(
            (one for one in turns if one is not None), f"writing {task}", "case", total
        ):
            case = item if isinstance(item, Case) else item.to_case(task, counter(item), length)
            size = case.num_tokens[settings.measure.name]
            if size > caps.bound:
                dropped["the prompt is over the bound"] += 1
                continue
            tokens.append(size)
            clusters.add(case.cluster)
            yield case
            if len(tokens) == settings.n:
                return

    writer.add_cases(task, cases())
    without = [book for book in sizes if book not in clusters] if settings.n is None else []
    notes = []
    if tokens and without:
        listed = ", ".join(f"{book} ({sizes[book]:,} tokens)" for book in without[:5])
        more = f" and {len(without) - 5} more books" if len(without) > 5 else ""
        notes.append(f"{task}: no case from {listed}{more}: too short, or their paragraphs are too long")
    return TaskReport(task, tokens, len(clusters), 1 / factorial(settings.segments), dropped, notes)


def _case_counter(settings: TSortSettings) -> Callable[[Draft], dict[str, int]]:
    """Function that gives the tokens of a draft by tokenizer name."""
    other = settings.other_tokenizer
    if settings.measure.name == CL100K:
        by_parts = PromptCounter(settings.segments, settings.measure)

        def count(item: Draft) -> dict[str, int]:
            counts = {CL100K: by_parts.count(item)}
            return counts if other is None else {**counts, other.name: other.count(item.prompt)}

        return count

    cl100k = BuildSettings(settings.lengths).measure

    def count_prompt(item: Draft) -> dict[str, int]:
        prompt = item.prompt
        return {CL100K: cl100k.count(prompt), settings.measure.name: settings.measure.count(prompt)}

    return count_prompt


def _require_cases(
    reports: Sequence[TaskReport], settings: TSortSettings, source: str, sizes: Mapping[str, int]
) -> None:
    empty = [
        (length, report)
        for length, report in zip(settings.lengths, reports, strict=True)
        if not report.tokens
    ]
    if not empty:
        return
    length, report = empty[0]
    longest = max(sizes, key=lambda book: sizes[book])
    reasons = (
        "; ".join(f"{count} x {reason}" for reason, count in report.dropped.items()) or "a single paragraph"
    )
    raise InputError(
        f"{source}: no case of {', '.join(format_length(length) for length, _ in empty)} can be built. The longest of "
        f"{len(sizes)} books, {longest}, has {sizes[longest]:,} tokens; at {format_length(length)}: {reasons}. Leave out "
        "those lengths, add longer books, or change the caps"
    )
