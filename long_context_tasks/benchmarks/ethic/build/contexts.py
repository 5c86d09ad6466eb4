"""Cases from the first chunks of documents: recalling, organizing, summarizing, and their low-coverage counterparts.

Sections 3.2, 3.3 and 5.1. The counterparts ask about one or two chunks of the very contexts that recalling is built from:
single-document QA (books, debates) about one chunk, multi-document QA (medicine, law) about chunks of two documents, query-focused
summarization about two chunks of any domain. The annotator writes question and answer.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.drafts import Built, Draft, Plan
from long_context_tasks.benchmarks.ethic.build.labels import gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.build.windows import LOOSE, Window, plan_windows, shuffled
from long_context_tasks.benchmarks.ethic.prompts import find_markers
from long_context_tasks.tokens.chunks import JOINT, Chunk

T = TypeVar("T")
FEW = "the context has fewer chunks or paragraphs than --items"
MARKER = {"law": "Segment"}
"""How a section is called where not "Section": official scoring splits law by segments."""
SINGLE_QA, MULTI_QA, FOCUSED_SUMMARY = "single_qa", "multi_qa", "focused_summary"
COUNTERPARTS = {
    "books": (SINGLE_QA, FOCUSED_SUMMARY),
    "debates": (SINGLE_QA, FOCUSED_SUMMARY),
    "medicine": (MULTI_QA, FOCUSED_SUMMARY),
    "law": (MULTI_QA, FOCUSED_SUMMARY),
}
"""Domain to the kinds that suit it."""
_PROMPTS = {
    SINGLE_QA: ("build_single_qa", "build_answer_question"),
    MULTI_QA: ("build_multi_qa", "build_answer_question"),
    FOCUSED_SUMMARY: ("build_focused_summary", "build_answer_query"),
}
_GAP = f"{JOINT}[...]{JOINT}"


def context_strings(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Return chunks as a prompt shows them, in strings that count apart."""
    return tuple(f"{piece.text}{JOINT}" for chunk in chunks for piece in chunk.pieces)


def window_labels(window: Window) -> dict[str, object]:
    """Return what breakdowns need to know of a context."""
    parts = {piece.part for chunk in window.chunks for piece in chunk.pieces}
    return {"title": window.source.title, "num_chunks": len(window.chunks), "num_documents": len(parts)}


def _answers(
    plan: Plan[Window], ask: Callable[[Sequence[str]], Sequence[T | None]]
) -> Callable[[Window], list[T] | None]:
    """Ask about each distinct chunk once; return a window's answers, None where one is missing."""
    texts = list(dict.fromkeys(chunk.text for window in plan.windows for chunk in window.chunks))
    known = dict(zip(texts, ask(texts), strict=True))

    def of(window: Window) -> list[T] | None:
        found = [answer for chunk in window.chunks if (answer := known[chunk.text]) is not None]
        return found if len(found) == len(window.chunks) else None

    return of


def build_recall(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Progress
) -> Built:
    """Build cases whose gold are the labels of their chunks, merged without duplicates.

    The turn's label ``first_chunk`` holds for every label the chunk (from 0) in which it is first found.
    """
    plan = plan_windows(sources, settings, progress)
    labels_of = _answers(plan, lambda texts: annotator.labels(domain, texts))

    def drafts() -> Iterator[tuple[Window, Draft | str]]:
        for window in plan.windows:
            labels = labels_of(window)
            yield window, "a chunk has no labels" if labels is None else recall_draft(window, labels)

    return Built.of("recall", domain, plan, drafts())


def recall_draft(window: Window, labels: Sequence[Sequence[str]]) -> Draft:
    """Return the case of a context whose chunks have these labels."""
    merged = merge_labels(labels)
    lowered = [{label.lower() for label in own} for own in labels]
    first = [next(at for at, own in enumerate(lowered) if label.lower() in own) for label in merged]
    return Draft(
        id=window.source.id,
        length=window.length,
        context=context_strings(window.chunks),
        prompt=f"build_recall_{window.source.domain}",
        gold=gold_labels(merged),
        labels=window_labels(window),
        turn_labels={"first_chunk": first},
    )


def build_organize(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Progress
) -> Built:
    """Build cases that show the summaries of their chunks in random order; the gold are the options' numbers in the text's order.

    As the options take room too, a context has as many whole chunks as fit together with their summaries, at least two. With
    ``items`` that context is shown with the summaries of so many of its chunks, a larger number with those of the smaller ones too.
    """
    plan = plan_windows(sources, settings, progress, fill=False)
    summaries_of = _answers(plan, annotator.summaries)

    def drafts() -> Iterator[tuple[Window, Draft | str]]:
        for window in plan.windows:
            summaries = summaries_of(window)
            fitting = "a chunk has no summary" if summaries is None else _fitting(window, summaries, settings)
            if isinstance(fitting, str):
                yield window, fitting
                continue
            for items in settings.items or (len(fitting),):
                enough = items <= len(fitting)
                yield window, organize_draft(window, fitting, items, settings) if enough else FEW

    return Built.of("organize", domain, plan, drafts())


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
    return Draft(
        id=window.source.id,
        length=window.length,
        context=context_strings(window.chunks[: len(summaries)]),
        prompt="build_organize",
        gold=[str(shown.index(at) + 1) for at in range(items)],
        slots={"options": options},
        labels={**window_labels(window), "num_chunks": len(summaries)},
        items=items if settings.items else None,
    )


def build_summarize(
    sources: Iterable[Source], domain: str, settings: EthicSettings, progress: Progress
) -> Built:
    """Build cases whose context is split into marked sections of whole chunks; the gold are the markers.

    With ``items`` the same context is split into so many sections of whole paragraphs.
    """
    plan = plan_windows(sources, settings, progress)
    made = (
        (window, _summarize_draft(window, items, settings))
        for window in plan.windows
        for items in settings.items or (None,)
    )
    return Built.of("summarize", domain, plan, made)


def _summarize_draft(window: Window, items: int | None, settings: EthicSettings) -> Draft | str:
    """A case with a number of sections, or with sections of the usual size; or why there is none."""
    if items is None:
        size = settings.section_tokens or max(settings.chunk_tokens, window.length // 8)
        return sections_draft(window, split_sections(window.chunks, size))
    paragraphs = [Chunk((piece,)) for chunk in window.chunks for piece in chunk.pieces]
    if len(paragraphs) < items:
        return FEW
    return sections_draft(window, even_sections(paragraphs, items), items)


def sections_draft(
    window: Window, sections: Sequence[Sequence[Chunk]], items: int | None = None
) -> Draft | str:
    """Return a case with these sections; or why there is none."""
    domain = window.source.domain
    markers = [f"<{MARKER.get(domain, 'Section')} {number}>" for number in range(1, len(sections) + 1)]
    strings = [
        string
        for marker, chunks in zip(markers, sections, strict=True)
        for string in (f"{marker}\n", *context_strings(chunks))
    ]
    if find_markers("".join(strings), domain) != markers:
        return "the text has markers of sections in it"
    return Draft(
        id=window.source.id,
        length=window.length,
        context=tuple(strings),
        prompt="build_summarize",
        gold=markers,
        slots={"num_sections": str(len(sections))},
        labels={**window_labels(window), "num_sections": len(sections)},
        rewrite={" section": " segment", "<Section": "<Segment"} if domain == "law" else {},
        items=items,
    )


def split_sections(chunks: Sequence[Chunk], size: int) -> list[tuple[Chunk, ...]]:
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
    return [tuple(section) for section in sections]


def even_sections(chunks: Sequence[Chunk], n: int) -> list[tuple[Chunk, ...]]:
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
    return [tuple(section) for section in sections]


def build_counterparts(
    sources: Iterable[Source], domain: str, settings: EthicSettings, annotator: Annotator, progress: Progress
) -> list[Built]:
    """Build cases of every kind that suits the domain, as tasks ``ethic_<kind>_<domain>``; the gold is a list with one answer.

    Settings that are equal to those of a recalling build give equal contexts.
    """
    contexts = plan_windows(sources, settings, progress)
    built = []
    for kind in COUNTERPARTS[domain]:
        dropped = {length: Counter(own) for length, own in contexts.dropped.items()}
        plan = replace(contexts, dropped=dropped, notes=[])
        asked, answered = _PROMPTS[kind]
        places = [evidence(window, kind, settings.seed) for window in plan.windows]
        usable = [(window, found) for window, found in zip(plan.windows, places, strict=True) if found]
        pairs = annotator.pairs(asked, [_passage(window, kind, found) for window, found in usable])
        made: list[tuple[Window, Draft | str]] = [
            (
                window,
                "no question was written"
                if pair is None
                else Draft(
                    id=window.source.id,
                    length=window.length,
                    context=context_strings(window.chunks),
                    prompt=answered,
                    gold=[pair[1]],
                    slots={"question": pair[0]},
                    labels={**window_labels(window), "coverage": "low"},
                    turn_labels={"evidence": found},
                ),
            )
            for (window, found), pair in zip(usable, pairs, strict=True)
        ]
        without = (window for window, found in zip(plan.windows, places, strict=True) if not found)
        made += [(window, "the context holds a single document") for window in without]
        built.append(Built.of(kind, domain, plan, made))
    return built


def evidence(window: Window, kind: str, seed: int) -> list[int]:
    """Choose what a question is asked about: one chunk, two neighbours, or, for multi-document QA, a piece each of two documents.

    Returns:
        Numbers of chunks; of pieces for multi-document QA; empty where the context has too few.
    """
    order = (seed, kind, window.source.domain, window.source.id, window.length)
    if kind == SINGLE_QA:
        return shuffled(len(window.chunks), *order)[:1]
    if kind == FOCUSED_SUMMARY:
        first = shuffled(max(1, len(window.chunks) - 1), *order)[0]
        return list(range(first, min(first + 2, len(window.chunks))))
    pieces = [piece for chunk in window.chunks for piece in chunk.pieces]
    chosen: dict[int, int] = {}
    for place in shuffled(len(pieces), *order):
        chosen.setdefault(pieces[place].part, place)
    return sorted(list(chosen.values())[:2]) if len(chosen) > 1 else []


def _passage(window: Window, kind: str, places: Sequence[int]) -> str:
    if kind == MULTI_QA:
        pieces = [piece for chunk in window.chunks for piece in chunk.pieces]
        return _GAP.join(pieces[place].text for place in places)
    return JOINT.join(window.chunks[place].text for place in places)
