"""Cases from the first chunks of documents: recalling, organizing, summarizing, and their low-coverage counterparts.

Sections 3.2, 3.3 and 5.1. The counterparts ask about one or two chunks of the very contexts that recalling is built from, the same
question about all contexts of a source, so that only the length varies:
single-document QA (books, debates) about one chunk, multi-document QA (medicine, law) about chunks of two documents, query-focused
summarization about two chunks of any domain. The annotator writes question and answer.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.drafts import (
    LOOSE,
    Built,
    Draft,
    Plan,
    Window,
    plan_windows,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.prompts import find_markers
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece

T = TypeVar("T")
FEW = "the context has fewer chunks or paragraphs than --items"
_SINGLE_QA, _MULTI_QA, _FOCUSED_SUMMARY = "single_qa", "multi_qa", "focused_summary"
_PROMPTS = {
    _SINGLE_QA: ("build_single_qa", "build_answer_question"),
    _MULTI_QA: ("build_multi_qa", "build_answer_question"),
    _FOCUSED_SUMMARY: ("build_focused_summary", "build_answer_query"),
}
"""Kind of counterpart to the prompt that asks the annotator, and that of the case."""


def _pieces(chunks: Iterable[Chunk]) -> list[Piece]:
    return [piece for chunk in chunks for piece in chunk.pieces]


def _context(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    """Chunks as a prompt shows them, in strings that count apart."""
    return tuple(f"{piece.text}{JOINT}" for piece in _pieces(chunks))


def _draft(window: Window, prompt: str, gold: Any, labels: dict[str, Any], **more: Any) -> Draft:
    own = {
        "title": window.source.title,
        "num_chunks": len(window.chunks),
        "num_documents": len({piece.part for piece in _pieces(window.chunks)}),
    }
    more = {"context": _context(window.chunks), **more}
    return Draft(window.source.id, window.length, prompt=prompt, gold=gold, labels=own | labels, **more)


def _answers(
    plan: Plan[Window], ask: Callable[[Sequence[str]], Sequence[T | None]]
) -> Iterable[tuple[Window, list[T] | None]]:
    """Ask about each distinct chunk once; yield every window with its answers, None where one is missing."""
    texts = list(dict.fromkeys(chunk.text for window in plan.windows for chunk in window.chunks))
    known = dict(zip(texts, ask(texts), strict=True))
    for window in plan.windows:
        found = [answer for chunk in window.chunks if (answer := known[chunk.text]) is not None]
        yield window, found if len(found) == len(window.chunks) else None


def build_recall(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[Built]:
    """Build cases whose gold are the labels of their chunks, merged without duplicates.

    The turn's label ``first_chunk`` holds for every label the chunk (from 0) in which it is first found.
    """
    plan = plan_windows(sources, settings, progress)
    made: list[tuple[int, Draft | str]] = [
        (window.length, "a chunk has no labels" if labels is None else recall_draft(window, labels))
        for window, labels in _answers(plan, lambda texts: annotator.labels(domain, texts))
    ]
    return [Built("recall", domain, plan, made)]


def recall_draft(window: Window, labels: Sequence[Sequence[str]]) -> Draft:
    """Return the case of a context whose chunks have these labels."""
    merged = merge_labels(labels)
    found: dict[str, int] = {}
    for place, own in enumerate(labels):
        for label in own:
            found.setdefault(label.lower(), place)
    first = [found[label.lower()] for label in merged]
    prompt = f"build_recall_{window.source.domain}"
    return _draft(window, prompt, gold_labels(merged), {}, turn_labels={"first_chunk": first})


def build_organize(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[Built]:
    """Build cases that show the summaries of their chunks in random order; the gold are the options' numbers in the text's order.

    As the options take room too, a context has as many whole chunks as fit together with their summaries, at least two. With
    ``items`` that context is shown with the summaries of so many of its chunks, a larger number with those of the smaller ones too.
    """
    plan = plan_windows(sources, settings, progress, fill=False)
    made: list[tuple[int, Draft | str]] = []
    for window, summaries in _answers(plan, annotator.summaries):
        fitting = "a chunk has no summary" if summaries is None else _fitting(window, summaries, settings)
        if isinstance(fitting, str):
            made.append((window.length, fitting))
            continue
        for items in settings.items or (len(fitting),):
            enough = items <= len(fitting)
            draft = organize_draft(window, fitting, items, settings) if enough else FEW
            made.append((window.length, draft))
    return [Built("organize", domain, plan, made)]


def _fitting(window: Window, summaries: list[str], settings: EthicSettings) -> list[str] | str:
    """The summaries of as many chunks as fit a length together with them; or why these make no case."""
    for count in range(len(summaries), 1, -1):
        own = summaries[:count]
        draft = organize_draft(window, own, count, settings)
        if draft.tokens_in(settings.measure) > window.length:
            continue
        if len(set(own)) < count:
            return "two chunks have the same summary"
        filled = sum(chunk.tokens for chunk in window.chunks[:count])
        filled += settings.measure.count(draft.slots["options"])
        return own if filled >= settings.min_fill * settings.budget(window.length) else LOOSE
    return "fewer than two chunks fit with their summaries"


def organize_draft(window: Window, summaries: Sequence[str], items: int, settings: EthicSettings) -> Draft:
    """Return a case with the chunks of all summaries, and some of these as options."""
    seed = (settings.seed, "organize", window.source.domain, window.source.id, window.length)
    chosen = sorted(shuffled(len(summaries), *seed, "options")[:items])
    shown = shuffled(items, *seed)
    options = "\n".join(f"[{number}] {summaries[chosen[at]]}" for number, at in enumerate(shown, start=1))
    return _draft(
        window,
        "build_organize",
        [str(shown.index(at) + 1) for at in range(items)],
        {"num_chunks": len(summaries)},
        context=_context(window.chunks[: len(summaries)]),
        slots={"options": options},
        items=items if settings.items else None,
    )


def build_summarize(
    sources: Iterable[Source], domain: str, settings: EthicSettings, progress: Work
) -> list[Built]:
    """Build cases whose context is split into marked sections of whole chunks; the gold are the markers.

    With ``items`` the same context is split into so many sections of whole paragraphs.
    """
    plan = plan_windows(sources, settings, progress)
    made: list[tuple[int, Draft | str]] = []
    for window in plan.windows:
        paragraphs = [Chunk((piece,)) for piece in _pieces(window.chunks)]
        size = settings.section_tokens or max(settings.chunk_tokens, window.length // 8)
        for items in settings.items or (None,):
            if items is None:
                draft = sections_draft(window, split_sections(window.chunks, size))
            elif len(paragraphs) < items:
                draft = FEW
            else:
                draft = sections_draft(window, even_sections(paragraphs, items), items)
            made.append((window.length, draft))
    return [Built("summarize", domain, plan, made)]


def sections_draft(
    window: Window, sections: Sequence[Sequence[Chunk]], items: int | None = None
) -> Draft | str:
    """Return a case with these sections; or why there is none."""
    domain = window.source.domain
    # Official scoring splits law by segments.
    name = "Segment" if domain == "law" else "Section"
    markers = [f"<{name} {number}>" for number in range(1, len(sections) + 1)]
    context = tuple(
        string
        for marker, chunks in zip(markers, sections, strict=True)
        for string in (f"{marker}\n", *_context(chunks))
    )
    if find_markers("".join(context), domain) != markers:
        return "the text has markers of sections in it"
    return _draft(
        window,
        "build_summarize",
        markers,
        {"num_sections": len(sections)},
        context=context,
        slots={"num_sections": str(len(sections))},
        rewrite={" section": " segment", "<Section": "<Segment"} if domain == "law" else {},
        items=items,
    )


FEWEST_WORDS = 4
"""Of a section's first words, by which it is named."""


def beginnings(sections: Sequence[Sequence[Chunk]]) -> list[str] | None:
    """Return the first words of each section: as few as occur once in the context; None where a whole paragraph comes again."""
    context = "".join(string for chunks in sections for string in _context(chunks))
    found = []
    for chunks in sections:
        words = chunks[0].pieces[0].text.split(" ")
        shown = (" ".join(words[:end]) for end in range(min(FEWEST_WORDS, len(words)), len(words) + 1))
        first = next((text for text in shown if context.count(text) == 1), None)
        if first is None:
            return None
        found.append(first)
    return found


def split_sections(chunks: Sequence[Chunk], size: int) -> list[list[Chunk]]:
    """Split whole chunks into sections of about ``size`` tokens each; a short rest belongs to the section before it."""
    sections: list[list[Chunk]] = []
    tokens: list[int] = []
    for chunk in chunks:
        # A chunk goes where most of it belongs.
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


def even_sections(chunks: Sequence[Chunk], n: int) -> list[list[Chunk]]:
    """Split chunks, at least ``n``, into ``n`` sections, as even as whole chunks allow; none is empty."""
    total = sum(chunk.tokens for chunk in chunks)
    sections: list[list[Chunk]] = [[]]
    done = 0
    for place, chunk in enumerate(chunks):
        wanted = n - len(sections)
        # A chunk goes where most of it belongs; the last ones go where nothing is yet.
        over = (done + chunk.tokens / 2) * n > total * len(sections)
        if sections[-1] and wanted and (over or len(chunks) - place == wanted):
            sections.append([])
        sections[-1].append(chunk)
        done += chunk.tokens
    return sections


def build_counterparts(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Work
) -> list[Built]:
    """Build cases of every kind that suits the domain, as tasks ``ethic_<kind>_<domain>``; the gold is a list with one answer.

    Settings that are equal to those of a recalling build give equal contexts.
    """
    plan = plan_windows(sources, settings, progress)
    of_source: dict[str, list[Window]] = {}
    for window in sorted(plan.windows, key=lambda window: window.length):
        of_source.setdefault(window.source.id, []).append(window)
    built = []
    for kind in (_SINGLE_QA if domain in ("books", "debates") else _MULTI_QA, _FOCUSED_SUMMARY):
        asked, answered = _PROMPTS[kind]
        found = {name: evidence(windows, kind, settings.seed) for name, windows in of_source.items()}
        passages = {name: _passage(chunks, kind) for name, (_, chunks) in found.items() if chunks}
        pairs = dict(zip(passages, annotator.pairs(asked, list(passages.values())), strict=True))
        made: list[tuple[int, Draft | str]] = []
        for window in plan.windows:
            least, chunks = found[window.source.id]
            draft: Draft | str = "the context holds a single document"
            if chunks and window.length >= least:
                draft = "no question was written"
                if (pair := pairs[window.source.id]) is not None:
                    places = _places(window, chunks, kind)
                    more = {"slots": {"question": pair[0]}, "turn_labels": {"evidence": places}}
                    draft = _draft(window, answered, [pair[1]], {"coverage": "low"}, **more)
            made.append((window.length, draft))
        built.append(Built(kind, domain, plan, made))
    return built


def evidence(windows: Sequence[Window], kind: str, seed: int) -> tuple[int, list[Chunk]]:
    """Choose what a question is asked about: one chunk, two neighbours, or, for multi-document QA, a piece each of two documents.

    Args:
        windows: of one source, the shortest first.
        kind: of counterpart.
        seed: of the choice.

    Returns:
        The least length whose context, like all longer ones, shows the chosen chunks; and the chunks, none where all contexts have
        too few documents.
    """
    source = windows[0].source
    order = (seed, kind, source.domain, source.id)
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


def _shown_by_all(windows: Sequence[Window]) -> list[Chunk]:
    """The chunks of the first context as far as all others show them."""
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


def _places(window: Window, chunks: Sequence[Chunk], kind: str) -> list[int]:
    """Numbers of the chunks of a context that hold the evidence; of its pieces for multi-document QA."""
    units = (
        [(piece,) for piece in _pieces(window.chunks)]
        if kind == _MULTI_QA
        else [chunk.pieces for chunk in window.chunks]
    )
    return [next(place for place, unit in enumerate(units) if chunk.pieces[0] in unit) for chunk in chunks]
