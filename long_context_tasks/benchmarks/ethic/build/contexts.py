"""Build cases from the first chunks of documents: recall, Organizing, Summarizing, and their counterparts.

The cases follow sections 3.2, 3.3 and 5.1 of the paper. The low-coverage counterparts ask about one or two
chunks of the same contexts as recall: single-document QA (books, debates) about one chunk, multi-document QA
(medicine, law) about chunks of two documents, and query-focused summarization about two neighbouring chunks
in any domain. A document has the same question at all lengths, so that only the length varies. The annotator
writes the question and the answer.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.drafts import (
    LOOSE,
    CaseDraft,
    ContextPlan,
    ContextWindow,
    DomainCases,
    NoCase,
    plan_windows,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.build.sources import EthicSource
from long_context_tasks.benchmarks.ethic.prompts import find_markers
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece

T = TypeVar("T")
_SINGLE_QA, _MULTI_QA, _FOCUSED_SUMMARY = "single_qa", "multi_qa", "focused_summary"
# Kind of counterpart to the annotator's prompt and the case's prompt.
_PROMPTS = {
    _SINGLE_QA: ("build_single_qa", "build_answer_question"),
    _MULTI_QA: ("build_multi_qa", "build_answer_question"),
    _FOCUSED_SUMMARY: ("build_focused_summary", "build_answer_query"),
}


def _pieces(chunks: Iterable[Chunk]) -> list[Piece]:
    return [piece for chunk in chunks for piece in chunk.pieces]


def _context(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    """Return chunks as a prompt shows them, in strings whose token counts are additive."""
    return tuple(f"{piece.text}{JOINT}" for piece in _pieces(chunks))


def _draft(window: ContextWindow, prompt: str, gold: Any, labels: dict[str, Any], **more: Any) -> CaseDraft:
    own = {
        "title": window.source.title,
        "num_chunks": len(window.chunks),
        "num_documents": len({piece.part for piece in _pieces(window.chunks)}),
    }
    more = {"context": _context(window.chunks), **more}
    return CaseDraft(window.source.id, window.length, prompt=prompt, gold=gold, labels=own | labels, **more)


def _annotated(
    plan: ContextPlan[ContextWindow], ask: Callable[[Sequence[str]], Sequence[T | None]]
) -> Iterator[tuple[ContextWindow, list[T] | None]]:
    """Yield windows with their chunks' answers, or None if one is missing; each chunk is sent once."""
    # Windows are nested, so most chunks occur at several lengths.
    texts = list(dict.fromkeys(chunk.text for window in plan.contexts for chunk in window.chunks))
    known = dict(zip(texts, ask(texts), strict=True))
    for window in plan.contexts:
        answers = [answer for chunk in window.chunks if (answer := known[chunk.text]) is not None]
        yield window, answers if len(answers) == len(window.chunks) else None


def build_recall(
    sources: Iterable[EthicSource], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[DomainCases]:
    """Build cases whose gold is the merged labels of their chunks."""
    built = DomainCases("recall", domain, plan_windows(sources, settings, progress))
    for window, labels in _annotated(built.plan, lambda texts: annotator.labels(domain, texts)):
        with built.counting(window.length):
            if labels is None:
                raise NoCase("a chunk has no labels")
            built.drafts.append(recall_draft(window, labels))
    return [built]


def recall_draft(window: ContextWindow, labels: Sequence[Sequence[str]]) -> CaseDraft:
    merged = merge_labels(labels)
    # Label to the number of its first chunk, for scores by position; in lower case, as labels are scored.
    first_chunk: dict[str, int] = {}
    for number, of_chunk in enumerate(labels):
        for label in of_chunk:
            first_chunk.setdefault(label.lower(), number)
    first = [first_chunk[label.lower()] for label in merged]
    prompt = f"build_recall_{window.source.domain}"
    return _draft(window, prompt, gold_labels(merged), {}, turn_labels={"first_chunk": first})


def build_organize(
    sources: Iterable[EthicSource], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[DomainCases]:
    """Build cases that list their chunks' summaries in random order; the gold is the order in the text."""
    built = DomainCases("organize", domain, plan_windows(sources, settings, progress, fill=False))
    for window, summaries in _annotated(built.plan, annotator.summaries):
        with built.counting(window.length):
            if summaries is None:
                raise NoCase("a chunk has no summary")
            built.drafts.append(_fitting(window, summaries, settings))
    return [built]


def _fitting(window: ContextWindow, summaries: list[str], settings: EthicSettings) -> CaseDraft:
    """Return the draft with as many chunks as fit a length together with their summaries."""
    for count in range(len(summaries), 1, -1):
        draft = organize_draft(window, summaries[:count], settings.seed)
        if draft.tokens_in(settings.measure) > window.length:
            continue
        # Identical options have no correct order.
        if len(set(summaries[:count])) < count:
            raise NoCase("two chunks have the same summary")
        filled = sum(chunk.tokens for chunk in window.chunks[:count])
        filled += settings.measure.count(draft.slots["options"])
        if filled < settings.min_fill * settings.budget(window.length):
            raise NoCase(LOOSE)
        return draft
    raise NoCase("fewer than two chunks fit with their summaries")


def organize_draft(window: ContextWindow, summaries: Sequence[str], seed: int) -> CaseDraft:
    """Draft a case from a window's first chunks, one per summary; the summaries are its options."""
    number = len(summaries)
    shown = shuffled(number, seed, "organize", window.source.domain, window.source.id, window.length)
    options = "\n".join(f"[{place}] {summaries[at]}" for place, at in enumerate(shown, start=1))
    return _draft(
        window,
        "build_organize",
        [str(shown.index(at) + 1) for at in range(number)],
        {"num_chunks": number},
        context=_context(window.chunks[:number]),
        slots={"options": options},
    )


def build_summarize(
    sources: Iterable[EthicSource], domain: str, settings: EthicSettings, progress: Work
) -> list[DomainCases]:
    """Build cases whose context is split into marked sections of whole chunks; the gold is the markers."""
    built = DomainCases("summarize", domain, plan_windows(sources, settings, progress))
    for window in built.plan.contexts:
        size = max(settings.chunk_tokens, window.length // 8)
        with built.counting(window.length):
            built.drafts.append(sections_draft(window, split_sections(window.chunks, size)))
    return [built]


def sections_draft(window: ContextWindow, sections: Sequence[Sequence[Chunk]]) -> CaseDraft:
    domain = window.source.domain
    # Official scoring splits law contexts at segment markers.
    name = "Segment" if domain == "law" else "Section"
    markers = [f"<{name} {number}>" for number in range(1, len(sections) + 1)]
    context = tuple(
        string
        for marker, chunks in zip(markers, sections, strict=True)
        for string in (f"{marker}\n", *_context(chunks))
    )
    # The official code would also split the context at such a marker.
    if find_markers("".join(context), domain) != markers:
        raise NoCase("the text has markers of sections in it")
    return _draft(
        window,
        "build_summarize",
        markers,
        {"num_sections": len(sections)},
        context=context,
        slots={"num_sections": str(len(sections))},
        rewrite={" section": " segment", "<Section": "<Segment"} if domain == "law" else {},
    )


def split_sections(chunks: Sequence[Chunk], size: int) -> list[list[Chunk]]:
    """Split chunks into sections of about ``size`` tokens; a short remainder joins the previous section."""
    sections: list[list[Chunk]] = []
    tokens: list[int] = []
    for chunk in chunks:
        # A chunk belongs to the section that contains most of it.
        if sections and tokens[-1] + chunk.tokens / 2 <= size:
            sections[-1].append(chunk)
            tokens[-1] += chunk.tokens
        else:
            sections.append([chunk])
            tokens.append(chunk.tokens)
    if len(sections) > 1 and tokens[-1] < size / 2:
        rest = sections.pop()
        sections[-1] += rest
    return sections


def build_counterparts(
    sources: Iterable[EthicSource], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[DomainCases]:
    """Build both kinds of cases that suit the domain, as tasks ``ethic_<kind>_<domain>``.

    The gold is a list with one answer.
    """
    # With the settings of a recall build, the contexts are equal, so that reports can compare them.
    plan = plan_windows(sources, settings, progress)
    of_source: dict[str, list[ContextWindow]] = {}
    for window in sorted(plan.contexts, key=lambda window: window.length):
        of_source.setdefault(window.source.id, []).append(window)
    every = []
    for kind in (_SINGLE_QA if domain in ("books", "debates") else _MULTI_QA, _FOCUSED_SUMMARY):
        built = DomainCases(kind, domain, plan)
        asked, answered = _PROMPTS[kind]
        asked_about = {name: evidence(windows, kind, settings.seed) for name, windows in of_source.items()}
        passages = {name: _passage(chunks, kind) for name, (_, chunks) in asked_about.items() if chunks}
        pairs = dict(zip(passages, annotator.pairs(asked, list(passages.values())), strict=True))
        for window in plan.contexts:
            least, chunks = asked_about[window.source.id]
            with built.counting(window.length):
                if not chunks or window.length < least:
                    raise NoCase("the context holds a single document")
                if (pair := pairs[window.source.id]) is None:
                    raise NoCase("no question was written")
                labels = {"evidence": _places(window, chunks, kind)}
                more = {"slots": {"question": pair[0]}, "turn_labels": labels}
                built.drafts.append(_draft(window, answered, [pair[1]], {"coverage": "low"}, **more))
        every.append(built)
    return every


def evidence(windows: Sequence[ContextWindow], kind: str, seed: int) -> tuple[int, list[Chunk]]:
    """Choose the chunks that a question is about.

    These are one chunk, two neighbours, or for multi-document QA one piece from each of two documents. The
    windows are those of one document, the shortest first.

    Returns:
        The smallest length at which this and all longer contexts show the chosen chunks; and the chunks,
        empty if no context shows two documents.
    """
    source = windows[0].source
    order = (seed, kind, source.domain, source.id)
    # The shortest contexts may show a single document; these lengths yield no multi-document QA case.
    for least, first in enumerate(windows):
        chunks = _shown_by_all(windows[least:])
        if kind == _SINGLE_QA:
            return first.length, [chunks[place] for place in shuffled(len(chunks), *order)[:1]]
        if kind == _FOCUSED_SUMMARY:
            place = shuffled(max(1, len(chunks) - 1), *order)[0]
            return first.length, chunks[place : place + 2]
        pieces = _pieces(chunks)
        chosen: dict[int, int] = {}
        for place in shuffled(len(pieces), *order):
            chosen.setdefault(pieces[place].part, place)
        if len(chosen) > 1:
            return first.length, [Chunk((pieces[place],)) for place in sorted(list(chosen.values())[:2])]
    return windows[0].length, []


def _shown_by_all(windows: Sequence[ContextWindow]) -> list[Chunk]:
    """Return the first context's chunks, restricted to the pieces that appear in every other context."""
    first, *others = windows
    shown = [set(_pieces(window.chunks)) for window in others]
    kept = [
        Chunk(tuple(piece for piece in chunk.pieces if all(piece in own for own in shown)))
        for chunk in first.chunks
    ]
    return [chunk for chunk in kept if chunk.pieces]


def _passage(chunks: Sequence[Chunk], kind: str) -> str:
    between = f"{JOINT}[...]{JOINT}" if kind == _MULTI_QA else JOINT
    return between.join(chunk.text for chunk in chunks)


def _places(window: ContextWindow, chunks: Sequence[Chunk], kind: str) -> list[int]:
    """Return the indices of the context's chunks (for multi-document QA, pieces) that hold the evidence."""
    units = (
        [(piece,) for piece in _pieces(window.chunks)]
        if kind == _MULTI_QA
        else [chunk.pieces for chunk in window.chunks]
    )
    return [next(place for place, unit in enumerate(units) if chunk.pieces[0] in unit) for chunk in chunks]
