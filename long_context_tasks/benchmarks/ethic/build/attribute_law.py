"""Build law Attributing cases (3.2, 3.3), which ask for the segments that cite a target case.

From each citing case a run of pages is taken, around the first page on which the target's name or its
citation seems to occur. On every page the annotator, who is given the target's title and a summary, copies the
spans that refer to it. All case citations are masked with the same mark, and pages are grouped into segments.
A case is dropped and counted if a segment may or may not cite the target.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, first_sentences, parse_spans
from long_context_tasks.benchmarks.ethic.build.citations import (
    ANY_MARK,
    FREQUENT,
    MARK,
    MARKS,
    TARGET_MARK,
    CitationSpan,
    Cites,
    find_citations,
    find_quotes,
    full_name,
    mask,
    name_of,
    rare_words,
)
from long_context_tasks.benchmarks.ethic.build.drafts import (
    UNFILLED,
    CaseDraft,
    ContextCandidate,
    ContextPlan,
    DomainCases,
    NoCase,
    fill_slots,
    plan_contexts,
)
from long_context_tasks.benchmarks.ethic.build.sources import CitedCase, cited_cases, opinion_texts
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.corpora.opinions import Opinion
from long_context_tasks.tokens.chunks import JOINT, Chunk, Text, chunks_of, pieces_of

# Why a segment may or may not be right if it has no citation that is surely the target's.
_DOUBTS = {
    MARKS[Cites.UNSURE]: "a citation may be the target's or another case's",
    MARKS[Cites.DISPUTED]: "the annotator copied a citation of another case",
}

# The rest of a citation without volume and page. It would follow only the target's marks and give them away.
_UNPRINTED = re.compile(
    re.escape(TARGET_MARK)
    + r"(?:[,\s]*(?:[-_]{2,}|F\.\s?[23]d|No\.\s*[\d-]+|n\.\s?\d+|slip op\.(?:\s+at\s+[\d-]+)?))+"
    r"(?:[,\s]*\([^()]{0,60}\d{4}[^()]{0,40}\))?(?:\s*\[No\.[^\[\]]{0,60}\])?"
)
# Per citing case. A page has half as many tokens as a chunk, so a segment is as long as a chunk.
SEGMENT_PAGES = 2
# Minimum number of tokens per citing case, so that short contexts have a few cases rather than scraps of
# many.
LEAST_SHARE = 1_500
_SUMMARY_CHUNKS = 4
_NOT_THERE = "spans do not stand on their page word for word, and were ignored"
_UNRELATED = "spans name neither the target nor a citation, and were ignored"
_AGAIN = "pages still showed the target's name, which was masked as a citation of it"


class CitingPage(NamedTuple):
    """A page of a citing case; ``opinion`` is the case's index among those that cite the target."""

    chunk: Chunk
    opinion: int


class _Pages(NamedTuple):
    """A case's context: pages of the cases that cite a target."""

    group: CitedCase
    length: int
    pages: list[CitingPage]


def build_attribute_law(
    opinions: Sequence[Opinion], settings: EthicSettings, annotator: Annotator, progress: Work
) -> DomainCases:
    """Build a case for every target that other opinions cite; the gold is the segments that cite it."""
    strings: dict[str, set[str]] = defaultdict(set)
    for opinion in opinions:
        for name, own in opinion.citation_strings.items():
            strings[name].update(own)
    chunked: dict[str, list[Chunk]] = {}
    plan = plan_contexts(_groups(opinions, chunked, settings, progress), settings)
    summaries = _target_summaries([found.group.target for found in plan.contexts], settings, annotator)
    citations = citations_on(plan.contexts, strings, chunked)
    masked, counts = _masked_pages(plan, summaries, annotator, citations)
    built = DomainCases("attribute", "law", plan)
    for group, length, pages in plan.contexts:
        target = group.target.id
        texts = [text for page in pages if (text := masked.get((target, page.chunk.text))) is not None]
        with built.counting(length):
            if target not in summaries or len(texts) < len(pages):
                raise NoCase("a page or the target was not annotated")
            built.drafts.append(segments_draft(group, length, pages, texts, summaries[target]))
    built.notes = tuple(
        f"annotator {annotator.config.name}: {count} {reason}" for reason, count in counts.items()
    )
    return built


def _groups(
    opinions: Sequence[Opinion], chunked: dict[str, list[Chunk]], settings: EthicSettings, progress: Work
) -> Iterator[ContextCandidate[_Pages]]:
    """Yield the targets and their citing cases; store those cases' pages in ``chunked``, keyed by id."""
    page_tokens = settings.chunk_tokens // 2
    for whole in progress.over(cited_cases(opinions), "reading and encoding opinions", "case"):
        name = name_of(whole.target.title)
        # A case with the target's name, such as a later appeal, repeats it on every page.
        group = replace(whole, citing=tuple(one for one in whole.citing if not name.search(one.title)))
        for opinion in group.citing:
            if opinion.id not in chunked:
                pieces = pieces_of(opinion_texts(opinion), page_tokens, settings.measure)
                chunked[opinion.id] = list(chunks_of(pieces, page_tokens))
        tokens = sum(chunk.tokens for opinion in group.citing for chunk in chunked[opinion.id])
        # Without a key the first groups are chosen: those with the most citing cases.
        yield ContextCandidate(group.target.id, tokens, "", partial(_pages, group, chunked, settings))


def _pages(
    group: CitedCase, chunked: Mapping[str, Sequence[Chunk]], settings: EthicSettings, length: int
) -> _Pages:
    budget = settings.budget(length)
    pages = choose_pages(group, chunked, budget)
    if sum(page.chunk.tokens for page in pages) < settings.min_fill * budget:
        raise NoCase(UNFILLED)
    return _Pages(group, length, pages)


def choose_pages(group: CitedCase, chunked: Mapping[str, Sequence[Chunk]], budget: int) -> list[CitingPage]:
    """Choose a run of pages from each citing case.

    Cases get equal shares of the token budget; tokens that short cases leave over are passed on to the
    others.
    """
    sizes = [sum(chunk.tokens for chunk in chunked[opinion.id]) for opinion in group.citing]
    # More cases if the first ones are too short to fill the context.
    filled = bisect_left(list(accumulate(sizes)), budget) + 1
    citing = group.citing[: max(filled, budget // LEAST_SHARE)]
    sizes = sizes[: len(citing)]
    # Short cases first, so that the others can use their leftover tokens.
    order = sorted(range(len(citing)), key=lambda place: sizes[place])
    taken: dict[int, list[CitingPage]] = {}
    room = budget
    for done, place in enumerate(order):
        share = room // (len(order) - done)
        opinion = citing[place]
        chunks = _around(chunked[opinion.id], hints(group.target, opinion), share)
        taken[place] = [CitingPage(chunk, place) for chunk in chunks]
        room -= sum(chunk.tokens for chunk in chunks)
    return [page for place in sorted(taken) for page in taken[place]]


def hints(target: Opinion, citing: Opinion) -> list[re.Pattern[str]]:
    """Return patterns that match a reference to the target, the most reliable first.

    The first matches its citation or full name, the second a word of its name.
    """
    known = [
        re.escape(string).replace(r"\ ", r"\s+") for string in citing.citation_strings.get(target.id, ())
    ]
    full = full_name(target.title)
    names = [word for word in re.findall(r"\w{4,}", target.title) if word.lower() not in FREQUENT]
    patterns = ["|".join([*known, *([full] if full else [])]), *(rf"\b{name}\b" for name in names[-1:])]
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns if pattern]


def _around(chunks: Sequence[Chunk], signs: Sequence[re.Pattern[str]], share: int) -> Sequence[Chunk]:
    """Return a run of pages within the share that includes the first page with the most reliable sign."""
    # All pages are searched for the most reliable sign before the next sign is tried.
    places = (place for sign in signs for place, chunk in enumerate(chunks) if sign.search(chunk.text))
    first = last = next(places, 0)
    used = chunks[first].tokens
    if used > share:
        return []
    grown = True
    while grown:
        grown = False
        for place in (last + 1, first - 1):
            if 0 <= place < len(chunks) and used + chunks[place].tokens <= share:
                used += chunks[place].tokens
                first, last, grown = min(first, place), max(last, place), True
    return chunks[first : last + 1]


def _target_summaries(
    targets: Sequence[Opinion], settings: EthicSettings, annotator: Annotator
) -> dict[str, str]:
    """Return summaries of the targets' first pages by id, omitting targets that were not summarized."""
    unique = list({target.id: target for target in targets}.values())
    prompts = []
    for target in unique:
        pieces = pieces_of(map(Text, target.pages), settings.chunk_tokens, settings.measure)
        first = next(chunks_of(pieces, _SUMMARY_CHUNKS * settings.chunk_tokens), Chunk(()))
        values = {"title": target.title, "passages": first.text}
        prompts.append(fill_slots(template("build_target_summary"), values))
    answers = zip(unique, annotator.texts(prompts), strict=True)
    return {target.id: first_sentences(text) for target, text in answers if text is not None}


def citations_on(
    found: Sequence[_Pages], strings: Mapping[str, Collection[str]], chunked: Mapping[str, Sequence[Chunk]]
) -> dict[tuple[str, str], list[CitationSpan]]:
    """Return the citations on each page for each target, keyed by the target's id and the page's text."""
    spans: dict[tuple[str, str], list[CitationSpan]] = {}
    pairs = {
        (group.target.id, citing.id): (group.target, citing.id)
        for group, _, pages in found
        for citing in (group.citing[page.opinion] for page in pages)
    }
    # Whole opinions are searched, because short citations refer to full ones on other pages.
    for target, citing in pairs.values():
        chunks = [chunk.text for chunk in chunked[citing]]
        everywhere = find_citations(JOINT.join(chunks), strings[target.id], target.title)
        start = 0
        for text in chunks:
            end = start + len(text)
            spans[target.id, text] = [
                span._replace(start=max(span.start, start) - start, end=min(span.end, end) - start)
                for span in everywhere
                if span.start < end and span.end > start
            ]
            start = end + len(JOINT)
    return spans


def _target_text(target: Opinion, summary: str) -> str:
    return f"Title: {target.title}\nSummary: {summary}"


def _masked_pages(
    plan: ContextPlan[_Pages],
    summaries: Mapping[str, str],
    annotator: Annotator,
    citations: Mapping[tuple[str, str], Sequence[CitationSpan]],
) -> tuple[dict[tuple[str, str], str], Counter[str]]:
    """Return a mapping from (target, page) to the masked page, and counts of corrections.

    The counts are of spans that were ignored and of pages on which names were masked afterwards.
    """
    # Each page once, although several lengths show it.
    pages = {
        (group.target.id, page.chunk.text): group.target
        for group, _, own in plan.contexts
        if group.target.id in summaries
        for page in own
    }
    prompt = template("build_target_spans")
    answers = annotator.texts(
        [
            fill_slots(prompt, {"passages": text, "target_case": _target_text(target, summaries[target.id])})
            for (_, text), target in pages.items()
        ]
    )
    masked = {}
    counts: Counter[str] = Counter()
    for ((name, text), target), answer in zip(pages.items(), answers, strict=True):
        if answer is None:
            continue
        spans = parse_spans(answer)
        there = [span for span in spans if find_quotes(text, [span])]
        related = [span for span in there if may_refer(span, target)]
        once, _ = mask(text, [*citations[name, text], *find_quotes(text, related)])
        # eyecite and the annotator may miss a name, such as one before "slip op.".
        again, left = name_of(target.title).subn(TARGET_MARK, once)
        masked[name, text] = _UNPRINTED.sub(TARGET_MARK, again)
        counts[_NOT_THERE] += len(spans) - len(there)
        counts[_UNRELATED] += len(there) - len(related)
        counts[_AGAIN] += left > 0
    return masked, +counts


def may_refer(span: str, target: Opinion) -> bool:
    """Return whether a span has a capitalized word from the target's name or contains a citation."""
    return not rare_words(target.title).isdisjoint(re.findall(r"[A-Z]\w+", span)) or bool(
        find_citations(span)
    )


def segments_draft(
    group: CitedCase, length: int, pages: Sequence[CitingPage], texts: Sequence[str], summary: str
) -> CaseDraft:
    """Draft a case from consecutively numbered segments, each of neighbouring pages of one opinion."""
    segments: list[list[str]] = []
    last = None
    for page, text in zip(pages, texts, strict=True):
        if page.opinion != last or len(segments[-1]) == SEGMENT_PAGES:
            segments.append([])
        segments[-1].append(text)
        last = page.opinion
    context: list[str] = []
    gold = []
    doubts: list[str] = []
    for number, own in enumerate(segments, start=1):
        marker = f"<Segment {number}>"
        context += [f"{marker}\n", *(f"{ANY_MARK.sub(MARK, text)}{JOINT}" for text in own)]
        if any(TARGET_MARK in text for text in own):
            gold.append(marker)
        else:
            doubts += [reason for mark, reason in _DOUBTS.items() if any(mark in text for text in own)]
    if any(MARKS[Cites.NAMESAKE] in text for text in texts):
        raise NoCase("a decision with the target's name has another number")
    if doubts:
        raise NoCase(doubts[0])
    if not gold:
        raise NoCase("no citation of the target was found")
    if len(gold) == len(segments):
        raise NoCase("every segment cites the target")
    return CaseDraft(
        id=group.target.id,
        length=length,
        context=tuple(context),
        prompt="build_attribute_law",
        gold=gold,
        slots={"target_case": _target_text(group.target, summary)},
        labels={
            "title": group.target.title,
            "num_segments": len(segments),
            "num_documents": len({page.opinion for page in pages}),
        },
    )
