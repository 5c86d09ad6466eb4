"""Which documents give a context of which length: the first chunks of every document that is long enough."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import TypeVar

from long_context_tasks.benchmarks.building import Progress, TaskReport
from long_context_tasks.benchmarks.ethic.build.settings import CaseMaker, Draft, EthicSettings, task_name
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.schema import CaseWriter, format_length
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.chunks import Chunk, chunks_of, pieces_of


@dataclass(frozen=True)
class ChunkedSource:
    """The beginning of a source, in chunks.

    Attributes:
        source: where they come from.
        chunks: as far as the longest context needs them.
        tokens: of the chunks.
        whole: the chunks are all of the source.
    """

    source: Source
    chunks: tuple[Chunk, ...]
    tokens: int
    whole: bool


def chunk_source(source: Source, cap: int, needed: int, tokenizer: Tokenizer) -> ChunkedSource:
    """Chunks of a source from its beginning until they have ``needed`` tokens; the rest is not encoded."""
    chunks: list[Chunk] = []
    size = 0
    for chunk in chunks_of(pieces_of(source.texts, cap, tokenizer), cap):
        if size >= needed:
            return ChunkedSource(source, tuple(chunks), size, whole=False)
        chunks.append(chunk)
        size += chunk.tokens
    return ChunkedSource(source, tuple(chunks), size, whole=True)


def window(chunks: Sequence[Chunk], budget: int, *, fill: bool = True) -> list[Chunk]:
    """The first chunks that fit a budget of tokens.

    Windows of one source lie in one another, so that a chunk is annotated once for all lengths.

    Args:
        chunks: of a source.
        budget: most tokens.
        fill: take the first pieces of the next chunk as far as they fit, as a shorter chunk.
    """
    taken: list[Chunk] = []
    left = budget
    for chunk in chunks:
        if chunk.tokens <= left:
            taken.append(chunk)
            left -= chunk.tokens
            continue
        pieces = []
        for piece in chunk.pieces:
            if piece.tokens > left:
                break
            pieces.append(piece)
            left -= piece.tokens
        if fill and pieces:
            taken.append(Chunk(tuple(pieces)))
        break
    return taken


T = TypeVar("T")
TOO_SHORT = "the document is too short"
"""Below ``min_document``."""
UNFILLED = "the document is shorter than the length"
LOOSE = "whole paragraphs or chunks leave too much of the length empty"
"""The document is long enough, but its next paragraph or chunk does not fit any more."""
NOT_CHOSEN = "not among the first n"


@dataclass(frozen=True)
class Window:
    """The context of one case.

    Attributes:
        source: where it comes from.
        length: most tokens of the prompt.
        chunks: in reading order.
    """

    source: Source
    length: int
    chunks: tuple[Chunk, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the context."""
        return sum(chunk.tokens for chunk in self.chunks)


@dataclass(frozen=True)
class Plan:
    """What can be built of one domain.

    Attributes:
        windows: of all lengths; those of one source side by side.
        dropped: length to reasons why sources gave no case.
        order: ids of the sources that were read.
        longest: tokens of the longest source, as far as it was counted.
    """

    windows: tuple[Window, ...]
    dropped: Mapping[int, "Counter[str]"]
    order: tuple[str, ...] = ()
    longest: int = 0
    notes: list[str] = field(default_factory=list)


def plan_windows(
    sources: Iterable[Source], settings: EthicSettings, progress: Progress, *, fill: bool = True
) -> Plan:
    """Windows of every length over the sources of one domain.

    With ``n``, that many sources are chosen by the seed for each length before anything is annotated.

    Args:
        sources: of one domain.
        settings: lengths, sizes, seed.
        progress: reports long work.
        fill: see :func:`~long_context_tasks.benchmarks.ethic.build.windows.window`.
    """
    needed = max(settings.budget(settings.lengths[-1]), settings.min_document)
    dropped: dict[int, Counter[str]] = {length: Counter() for length in settings.lengths}
    found: dict[int, list[Window]] = {length: [] for length in settings.lengths}
    order: list[str] = []
    longest = 0
    for source in progress.over(sources, "reading and encoding documents", "document"):
        chunked = chunk_source(source, settings.chunk_tokens, needed, settings.measure)
        order.append(source.id)
        longest = max(longest, chunked.tokens)
        for length in settings.lengths:
            chunks = window(chunked.chunks, settings.budget(length), fill=fill)
            one = Window(source, length, tuple(chunks))
            if reason := _too_small(chunked, one, settings, fill=fill):
                dropped[length][reason] += 1
            else:
                found[length].append(one)
    windows = []
    for length, own in found.items():
        windows += first_n(
            own,
            settings.n,
            dropped[length],
            lambda one: choice_key(settings, one.source.domain, one.source.id),
        )
    return Plan(tuple(windows), dropped, tuple(order), longest)


def _too_small(chunked: ChunkedSource, one: Window, settings: EthicSettings, *, fill: bool) -> str | None:
    least = settings.min_fill * settings.budget(one.length)
    if chunked.tokens < settings.min_document:
        return TOO_SHORT
    if chunked.tokens < least:
        return UNFILLED
    # Whoever leaves room for more than chunks has to see to the rest.
    return LOOSE if not one.chunks or (fill and one.tokens < least) else None


def choice_key(settings: EthicSettings, domain: str, source: str) -> str:
    """Sources with the least keys are chosen: the same ones at every length."""
    return stable_seed(settings.seed, "choose", domain, source)


def first_n(
    found: Sequence[T], n: int | None, dropped: "Counter[str]", key: Callable[[T], str] = lambda _: ""
) -> list[T]:
    """The n with the least keys, in their order; the first n where keys are equal. The others are counted."""
    if n is None or len(found) <= n:
        return list(found)
    dropped[NOT_CHOSEN] += len(found) - n
    kept = sorted(range(len(found)), key=lambda place: key(found[place]))[:n]
    return [found[place] for place in sorted(kept)]


def distinct_texts(windows: Iterable[Window]) -> list[str]:
    """The texts of all chunks, each once, in order."""
    return list(dict.fromkeys(chunk.text for one in windows for chunk in one.chunks))


def shuffled(n: int, *seed: object) -> list[int]:
    """The numbers below n in an order that depends on the seed only."""
    order = list(range(n))
    random.Random(stable_seed(*seed)).shuffle(order)
    return order


@dataclass(frozen=True)
class Built:
    """The cases of one task and domain, before they are written.

    Attributes:
        task: as in its name, ``recall`` say.
        domain: of the documents.
        drafts: of all lengths.
        plan: what they were made from.
    """

    task: str
    domain: str
    drafts: Sequence[Draft]
    plan: Plan


def write(built: Built, settings: EthicSettings, writer: CaseWriter) -> list[TaskReport]:
    """Write the cases of a task and domain, and report each length that has some.

    Drafts over their length are left out; lengths without a case are told in a note.
    """
    task, domain, drafts, plan = built.task, built.domain, built.drafts, built.plan
    maker = CaseMaker(settings, writer, task, domain)
    kept = []
    for draft in drafts:
        if maker.tokens(draft) > draft.length:
            plan.dropped[draft.length]["the prompt is over the length"] += 1
        else:
            kept.append(draft)
    sizes = maker.write(kept, plan.order)
    reports = []
    for length in settings.lengths:
        if length in sizes:
            name = f"{task_name(task, domain)} {format_length(length)}"
            clusters = len({draft.id for draft in kept if draft.length == length})
            reports.append(
                TaskReport(name, sizes[length], clusters, nan, plan.dropped[length], tuple(plan.notes))
            )
            plan.notes.clear()
    if missing := [length for length in settings.lengths if length not in sizes]:
        listed = ", ".join(map(format_length, missing))
        reasons = sum((plan.dropped[length] for length in missing), Counter())
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common()) or "no documents"
        if reasons[TOO_SHORT] or reasons[UNFILLED]:
            # Documents are counted as far as the greatest length needs.
            why += f"; the longest of {len(plan.order)} documents has {plan.longest:,} tokens or more"
        note = f"{task_name(task, domain)}: no case of {listed} ({why})"
        if reports:
            last = reports[-1]
            reports[-1] = TaskReport(
                last.task, last.tokens, last.clusters, last.random_guess, last.dropped, (*last.notes, note)
            )
        else:
            reports.append(TaskReport(task_name(task, domain), (), 0, nan, {}, (note,)))
    return reports
