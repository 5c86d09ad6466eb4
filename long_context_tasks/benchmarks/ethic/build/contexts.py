"""Recalling, organizing and summarizing cases from the first chunks of documents (sections 3.2 and 3.3)."""

from collections.abc import Iterable, Sequence

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.labels import gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.settings import Draft, EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.build.windows import (
    LOOSE,
    Built,
    Window,
    distinct_texts,
    plan_windows,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.sections import find_markers
from long_context_tasks.tokens.chunks import JOINT, Chunk

FEW = "the context has fewer chunks or paragraphs than --items"
MARKER = {"law": "Segment"}
"""How a section is called where not "Section": official scoring splits law by segments."""


def context_strings(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Chunks as they stand in a prompt, in strings that count apart."""
    return tuple(f"{piece.text}{JOINT}" for chunk in chunks for piece in chunk.pieces)


def window_labels(window: Window) -> dict[str, object]:
    """What breakdowns want to know of a context."""
    parts = {piece.part for chunk in window.chunks for piece in chunk.pieces}
    return {"title": window.source.title, "num_chunks": len(window.chunks), "num_documents": len(parts)}


def build_recall(
    sources: Iterable[Source],
    domain: str,
    settings: EthicSettings,
    annotator: Annotator,
    progress: Progress,
) -> Built:
    """Cases whose gold are the labels of their chunks, merged without duplicates.

    The turn's label ``first_chunk`` says for every label in which chunk (from 0) it is first found.
    """
    plan = plan_windows(sources, settings, progress)
    texts = distinct_texts(plan.windows)
    known = dict(zip(texts, annotator.labels(domain, texts), strict=True))
    drafts = []
    for one in plan.windows:
        lists = [known[chunk.text] for chunk in one.chunks]
        there = [labels for labels in lists if labels is not None]
        if len(there) < len(lists):
            plan.dropped[one.length]["a chunk has no labels"] += 1
            continue
        drafts.append(recall_draft(one, there))
    return Built("recall", domain, drafts, plan)


def recall_draft(one: Window, labels: Sequence[Sequence[str]]) -> Draft:
    """The case of a context whose chunks have these labels."""
    merged = merge_labels(labels)
    lowered = [{label.lower() for label in own} for own in labels]
    first = [next(at for at, own in enumerate(lowered) if label.lower() in own) for label in merged]
    return Draft(
        id=one.source.id,
        length=one.length,
        context=context_strings(one.chunks),
        prompt=f"build_recall_{one.source.domain}",
        gold=gold_labels(merged),
        labels=window_labels(one),
        turn_labels={"first_chunk": first},
    )


def build_organize(
    sources: Iterable[Source],
    domain: str,
    settings: EthicSettings,
    annotator: Annotator,
    progress: Progress,
) -> Built:
    """Cases that show the summaries of their chunks in random order; the gold are the options' numbers in the order of the text.

    As the options take room too, a context has as many whole chunks as fit together with their summaries, two at least. With
    ``items`` that context is shown with the summaries of so many of its chunks, a larger number with those of the smaller ones too.
    """
    plan = plan_windows(sources, settings, progress, fill=False)
    texts = distinct_texts(plan.windows)
    known = dict(zip(texts, annotator.summaries(texts), strict=True))
    drafts = []
    for one in plan.windows:
        summaries = [known[chunk.text] for chunk in one.chunks]
        if None in summaries:
            plan.dropped[one.length]["a chunk has no summary"] += 1
            continue
        fitting = _fitting(one, [str(text) for text in summaries], settings)
        if isinstance(fitting, str):
            plan.dropped[one.length][fitting] += 1
            continue
        for items in settings.items or (len(fitting),):
            if items > len(fitting):
                plan.dropped[one.length][FEW] += 1
            else:
                drafts.append(organize_draft(one, fitting, items, settings))
    return Built("organize", domain, drafts, plan)


def _fitting(one: Window, summaries: list[str], settings: EthicSettings) -> list[str] | str:
    """The summaries of as many chunks as fit a length together with them; or why these make no case."""
    for count in range(len(summaries), 1, -1):
        own = summaries[:count]
        draft = organize_draft(one, own, count, settings)
        if draft.tokens_in(settings.measure) > one.length:
            continue
        if len(set(own)) < count:
            return "two chunks have the same summary"
        filled = sum(chunk.tokens for chunk in one.chunks[:count])
        filled += settings.measure.count(draft.slots["options"])
        return own if filled >= settings.min_fill * settings.budget(one.length) else LOOSE
    return "fewer than two chunks fit with their summaries"


def organize_draft(one: Window, summaries: Sequence[str], items: int, settings: EthicSettings) -> Draft:
    """A case with the chunks of all summaries, and some of these as options."""
    seed = (settings.seed, "organize", one.source.domain, one.source.id, one.length)
    chosen = sorted(shuffled(len(summaries), *seed, "options")[:items])
    shown = shuffled(items, *seed)
    options = "\n".join(f"[{number}] {summaries[chosen[at]]}" for number, at in enumerate(shown, start=1))
    return Draft(
        id=one.source.id,
        length=one.length,
        context=context_strings(one.chunks[: len(summaries)]),
        prompt="build_organize",
        gold=[str(shown.index(at) + 1) for at in range(items)],
        slots={"options": options},
        labels={**window_labels(one), "num_chunks": len(summaries)},
        items=items if settings.items else None,
    )


def build_summarize(
    sources: Iterable[Source],
    domain: str,
    settings: EthicSettings,
    progress: Progress,
) -> Built:
    """Cases whose context is split into marked sections of whole chunks; the gold are the markers.

    With ``items`` the same context is split into so many sections of whole paragraphs.
    """
    plan = plan_windows(sources, settings, progress)
    drafts = []
    for one in plan.windows:
        for items in settings.items or (None,):
            draft = _summarize_draft(one, items, settings)
            if isinstance(draft, str):
                plan.dropped[one.length][draft] += 1
            else:
                drafts.append(draft)
    return Built("summarize", domain, drafts, plan)


def _summarize_draft(one: Window, items: int | None, settings: EthicSettings) -> Draft | str:
    """A case with a number of sections, or with sections of the usual size; or why there is none."""
    if items is None:
        size = settings.section_tokens or max(settings.chunk_tokens, one.length // 8)
        sections = split_sections(one.chunks, size)
    else:
        paragraphs = [Chunk((piece,)) for chunk in one.chunks for piece in chunk.pieces]
        if len(paragraphs) < items:
            return FEW
        sections = even_sections(paragraphs, items)
    return sections_draft(one, sections, items)


def sections_draft(one: Window, sections: Sequence[Sequence[Chunk]], items: int | None = None) -> Draft | str:
    """A case with these sections; or why there is none."""
    domain = one.source.domain
    markers = [f"<{MARKER.get(domain, 'Section')} {number}>" for number in range(1, len(sections) + 1)]
    strings = [
        string
        for marker, chunks in zip(markers, sections, strict=True)
        for string in (f"{marker}\n", *context_strings(chunks))
    ]
    if find_markers("".join(strings), domain) != markers:
        return "the text has markers of sections in it"
    return Draft(
        id=one.source.id,
        length=one.length,
        context=tuple(strings),
        prompt="build_summarize",
        gold=markers,
        slots={"num_sections": str(len(sections))},
        labels={**window_labels(one), "num_sections": len(sections)},
        rewrite={" section": " segment", "<Section": "<Segment"} if domain == "law" else {},
        items=items,
    )


def split_sections(chunks: Sequence[Chunk], size: int) -> list[tuple[Chunk, ...]]:
    """Whole chunks in sections of about ``size`` tokens each; a short rest belongs to the section before it."""
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
    """Chunks in ``n`` sections, as even as whole chunks allow; none is empty.

    Args:
        chunks: ``n`` at least.
        n: of sections.
    """
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
