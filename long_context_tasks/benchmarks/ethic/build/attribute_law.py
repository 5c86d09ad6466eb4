"""Build attributing cases of law: which segments of other cases cite the target case (sections 3.2 and 3.3).

Of each citing case a run of pages is taken, around the first place where the target's name or its citation seems to occur. On every
page an annotator copies the spans that refer to the target, by its title and a summary of it; they and, where the data know how the
target is cited, those citations are the target's. All citations of cases are masked alike, and pages grouped into segments.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, first_sentences, parse_spans
from long_context_tasks.benchmarks.ethic.build.drafts import UNFILLED, Built, Draft, fill
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import CitedCase, cited_cases, opinion_texts
from long_context_tasks.benchmarks.ethic.build.windows import Offer, plan_cases
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.corpora.documents import Opinion
from long_context_tasks.schema import InputError
from long_context_tasks.tokens.chunks import JOINT, Chunk, Text, chunks_of, pieces_of

TARGET_MARK = "[TARGET CITATION]"
MARK = "[CITATION]"
# Court and year behind a citation; what else stands in parentheses says why the case is cited, and stays.
_COURT_AND_YEAR = re.compile(r"[^()]{0,80}\([^()]{0,40}\d{4}\)")
_PIN = re.compile(r"(?:,? ?(?:at )?\d+(?:[-–]\d+)?(?: n\.\d+)?)*")
# Words before a case's name that eyecite takes for its beginning.
_LEAD = re.compile(
    r"(?:(?:[a-z][\w'’]*|In(?! re\b)|Also|And|But|Under|As|Yet|Since|The|With|See)\b|[^\w\[]+)+"
)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Span:
    """A citation: character offsets, and whether it is of the target case."""

    start: int
    end: int
    target: bool = False


def find_citations(text: str, target_strings: Iterable[str] = ()) -> list[Span]:
    """Find citations of cases in a text: full, short, supra and id., with the names before them; statutes are none.

    The target strings are citations of the target, e.g. ``17 F.3d 462``, where they are known.

    Raises:
        InputError: eyecite is not installed.
    """
    try:
        from eyecite import get_citations, resolve_citations
        from eyecite.models import CaseCitation, IdCitation, SupraCitation
    except ImportError as error:
        raise InputError("cases of law need eyecite, which finds citations: pip install eyecite") from error
    if not text:
        return []
    # It warns of citations that it is unsure of, one line each.
    logging.getLogger("eyecite").setLevel(logging.ERROR)
    known = {_plain(one) for one in target_strings}
    # As a plain tuple: a union would make the type checker ask for types that eyecite does not have.
    kinds: Any = (CaseCitation, IdCitation, SupraCitation)
    found: list[Any] = get_citations(text, remove_ambiguous=False)
    targets = set()
    resolved: dict[Any, Any] = dict(resolve_citations(found))
    for resource, citations in resolved.items():
        if _plain(resource.citation.matched_text()) in known:
            targets |= {id(one) for one in citations}
    spans: list[Span] = []
    free = 0
    for one in sorted(found, key=lambda citation: tuple(citation.span())):
        end = one.span()[1]
        if isinstance(one, kinds):
            is_target = id(one) in targets or _plain(one.matched_text()) in known
            start, end = _extent(text, one.span(), one.full_span(), free)
            spans.append(Span(start, end, is_target))
        # A name cannot begin before the end of the citation before it, be that of a case or a statute.
        free = max(free, end)
    return spans


def _plain(text: str) -> str:
    return _BLANKS.sub("", text).lower()


def _extent(text: str, core: tuple[int, int], full: tuple[int, int], free: int) -> tuple[int, int]:
    """From the names to court and year, without a parenthesis that explains; nothing of what is masked already."""
    start = max(min(core[0], full[0]), free)
    if lead := _LEAD.match(text, start, core[0]):
        start = lead.end()
    match = _COURT_AND_YEAR.match(text, core[1], full[1]) or _PIN.match(text, core[1], full[1])
    return start, max(core[1], match.end() if match else 0)


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Spans in order that do not overlap: those that do become one, of the target if one of them is."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        if joined and span.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = Span(last.start, max(last.end, span.end), last.target or span.target)
        else:
            joined.append(span)
    return joined


def find_quotes(text: str, quotes: Iterable[str]) -> list[Span]:
    """Find every place where a quoted span occurs in a text as whole words; white space and case may differ.

    >>> find_quotes("See Doe  v. Roe. Doe v. Roe", ["doe v. Roe"])
    [Span(start=4, end=15, target=True), Span(start=17, end=27, target=True)]
    """
    found = []
    for quote in quotes:
        words = quote.split()
        if words:
            whole = r"\s+".join(map(re.escape, words))
            pattern = rf"(?<!\w){whole}(?!\w)"
            found += [Span(*match.span(), True) for match in re.finditer(pattern, text, re.IGNORECASE)]
    return found


def mask(text: str, quotes: Iterable[str], target_strings: Iterable[str] = ()) -> tuple[str, int]:
    """Replace every citation in a text by a mark, and count those of the target.

    The quotes are spans that refer to the target, as an annotator copied them; for the strings see :func:`find_citations`.

    >>> mask("In Doe v. Roe, 17 F.3d 462, 467 (1st Cir. 1994), we held so; cf. 18 U.S.C. § 922.", ["Doe v. Roe"])
    ('In [TARGET CITATION], we held so; cf. 18 U.S.C. § 922.', 1)
    """
    spans = _apart([*find_citations(text, target_strings), *find_quotes(text, quotes)])
    pieces, done, count = [], 0, 0
    for span in spans:
        pieces += [text[done : span.start], TARGET_MARK if span.target else MARK]
        count += span.target
        done = span.end
    return "".join([*pieces, text[done:]]), count


SEGMENT_PAGES = 2
"""Pages of one case in a segment, at most. A page has half the tokens of a chunk, so that a segment is as long as a chunk."""
LEAST_SHARE = 1_500
"""Tokens of a citing case in a context, at least, so that short contexts have few cases rather than scraps of many."""
_SUMMARY_CHUNKS = 4
_SMALL = frozenset(
    (
        *("united", "states", "state", "people", "commonwealth", "matter", "city", "county", "company"),
        *("inc", "corp", "the", "and", "for"),
    )
)
"""Words that the names of many cases have."""


@dataclass(frozen=True)
class Page:
    """A page of a citing case.

    Attributes:
        opinion: number of the case among those that cite the target.
    """

    chunk: Chunk
    opinion: int


@dataclass(frozen=True)
class _Pages:
    group: CitedCase
    length: int
    pages: list[Page]


def build_attribute_law(
    opinions: Sequence[Opinion], settings: EthicSettings, annotator: Annotator, progress: Progress
) -> Built:
    """Build cases of every target that other opinions cite; the gold are the segments with a citation of it.

    A case whose pages hold no citation of the target, as far as the annotator sees, is left out. Groups with many citing cases come
    first.
    """
    chunked: dict[str, list[Chunk]] = {}

    def offer(group: CitedCase) -> Offer[_Pages]:
        for one in group.citing:
            if one.id not in chunked:
                page_tokens = settings.chunk_tokens // 2
                pieces = pieces_of(opinion_texts(one), page_tokens, settings.measure)
                chunked[one.id] = list(chunks_of(pieces, page_tokens))

        def at(length: int) -> _Pages | str:
            pages = choose_pages(group, chunked, settings.budget(length))
            filled = sum(page.chunk.tokens for page in pages)
            enough = filled >= settings.min_fill * settings.budget(length)
            return _Pages(group, length, pages) if enough else UNFILLED

        tokens = sum(chunk.tokens for one in group.citing for chunk in chunked[one.id])
        return Offer(group.target.id, tokens, at)

    groups = progress.over(cited_cases(opinions), "reading and encoding opinions", "case")
    plan = plan_cases(map(offer, groups), settings)
    summaries = _target_summaries([found.group.target for found in plan.windows], settings, annotator)
    masked, ignored = _masked_pages(plan.windows, summaries, annotator)
    if ignored:
        plan.notes.append(
            f"annotator {annotator.config.name}: {ignored} spans name neither the target nor a citation, and were ignored"
        )

    def draft(found: _Pages) -> Draft | str:
        target = found.group.target.id
        summary = summaries[target]
        texts = [text for page in found.pages if (text := masked.get((target, page.chunk.text))) is not None]
        if summary is None or len(texts) < len(found.pages):
            return "a page or the target was not annotated"
        return segments_draft(found.group, found.length, found.pages, texts, summary)

    return Built.of("attribute", "law", plan, ((found, draft(found)) for found in plan.windows))


def choose_pages(group: CitedCase, chunked: dict[str, list[Chunk]], budget: int) -> list[Page]:
    """Choose a run of pages of each citing case, equal shares of a budget of tokens; what short cases leave goes to the next ones."""
    citing = group.citing[: max(1, budget // LEAST_SHARE)]
    sizes = [sum(chunk.tokens for chunk in chunked[one.id]) for one in citing]
    # Short cases first, so that the others can have what they leave.
    order = sorted(range(len(citing)), key=lambda place: sizes[place])
    taken: dict[int, list[Page]] = {}
    room = budget
    for done, place in enumerate(order):
        share = room // (len(order) - done)
        opinion = citing[place]
        chunks = _around(chunked[opinion.id], hints(group.target, opinion), share)
        taken[place] = [Page(chunk, place) for chunk in chunks]
        room -= sum(chunk.tokens for chunk in chunks)
    return [page for place in sorted(taken) for page in taken[place]]


def hints(target: Opinion, citing: Opinion) -> list[re.Pattern[str]]:
    """Return what a reference to the target looks like, the surest first: its citation or its full name, else a word of its name.

    >>> [hint.pattern for hint in hints(Opinion("1", "United States v. Gifford", ()), Opinion("2", "", ()))]
    ['United\\\\W+States\\\\W+v\\\\W+Gifford', '\\\\bGifford\\\\b']
    """
    known = [re.escape(one).replace(r"\ ", r"\s+") for one in citing.citation_strings.get(target.id, ())]
    full = r"\W+".join(re.findall(r"\w+", target.title))
    names = [word for word in re.findall(r"\w{4,}", target.title) if word.lower() not in _SMALL]
    patterns = ["|".join([*known, *([full] if full else [])]), *(rf"\b{name}\b" for name in names[-1:])]
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns if pattern]


def _around(chunks: Sequence[Chunk], signs: Sequence[re.Pattern[str]], share: int) -> list[Chunk]:
    """A run of pages within a share of tokens, with the first page that shows the surest sign in it."""
    places = (place for sign in signs for place, chunk in enumerate(chunks) if sign.search(chunk.text))
    hit = next(places, 0)
    first = last = hit
    used = chunks[hit].tokens
    if used > share:
        return []
    grown = True
    while grown:
        grown = False
        for place in (last + 1, first - 1):
            if 0 <= place < len(chunks) and used + chunks[place].tokens <= share:
                used += chunks[place].tokens
                first, last, grown = min(first, place), max(last, place), True
    return list(chunks[first : last + 1])


def _target_summaries(
    targets: Sequence[Opinion], settings: EthicSettings, annotator: Annotator
) -> dict[str, str | None]:
    """Id of a target to a summary of its first pages."""
    unique = list({one.id: one for one in targets}.values())
    prompts = []
    for one in unique:
        pieces = pieces_of(map(Text, one.pages), settings.chunk_tokens, settings.measure)
        size = 0
        texts: list[str] = []
        for piece in pieces:
            if texts and size + piece.tokens > _SUMMARY_CHUNKS * settings.chunk_tokens:
                break
            size += piece.tokens
            texts.append(piece.text)
        prompts.append(
            fill(template("build_target_summary"), {"title": one.title, "passages": JOINT.join(texts)})
        )
    answers = annotator.texts(prompts)
    return {
        one.id: None if text is None else first_sentences(text)
        for one, text in zip(unique, answers, strict=True)
    }


def target_text(target: Opinion, summary: str) -> str:
    """Return the target as prompts show it."""
    return f"Title: {target.title}\nSummary: {summary}"


def _masked_pages(
    found: Sequence[_Pages], summaries: dict[str, str | None], annotator: Annotator
) -> tuple[dict[tuple[str, str], str], int]:
    """Target and page to the page with marks; each page is asked about once for all lengths.

    Returns:
        The pages, and the number of spans that cannot be references.
    """
    pages = {
        (one.group.target.id, page.chunk.text): (one.group.target, one.group.citing[page.opinion], summary)
        for one in found
        if (summary := summaries[one.group.target.id]) is not None
        for page in one.pages
    }
    prompt = template("build_target_spans")
    answers = annotator.texts(
        [
            fill(prompt, {"passages": text, "target_case": target_text(target, summary)})
            for (_, text), (target, _, summary) in pages.items()
        ]
    )
    masked = {}
    ignored = 0
    for ((name, text), (target, citing, _)), answer in zip(pages.items(), answers, strict=True):
        if answer is not None:
            spans = parse_spans(answer)
            telling = [span for span in spans if may_refer(span, target)]
            ignored += len(spans) - len(telling)
            masked[name, text], _ = mask(text, telling, citing.citation_strings.get(name, ()))
    return masked, ignored


def may_refer(span: str, target: Opinion) -> bool:
    """Return whether a span can be a reference to a target: it has a capitalised word of its name, or is a citation.

    >>> target = Opinion("1", "The State v. Gifford", ())
    >>> [may_refer(span, target) for span in ("Gifford, at 7", "17 F.3d 462", "the State", "the court")]
    [True, True, False, False]
    """
    words = {word for word in re.findall(r"\w{3,}", target.title) if word.lower() not in _SMALL}
    return not words.isdisjoint(re.findall(r"[A-Z]\w+", span)) or bool(find_citations(span))


def segments_draft(
    group: CitedCase,
    length: int,
    pages: Sequence[Page],
    texts: Sequence[str],
    summary: str,
    segment_pages: int = SEGMENT_PAGES,
) -> Draft | str:
    """Return a case of segments of neighbouring pages of one case, numbered through; or why they make none.

    Pages of one case stand side by side; their texts have marks in place of citations.
    """
    segments: list[list[str]] = []
    last = None
    for page, text in zip(pages, texts, strict=True):
        if page.opinion != last or len(segments[-1]) == segment_pages:
            segments.append([])
        segments[-1].append(text)
        last = page.opinion
    gold = [
        f"<Segment {number}>"
        for number, own in enumerate(segments, start=1)
        if any(TARGET_MARK in text for text in own)
    ]
    if not gold:
        return "no citation of the target was found"
    if len(gold) == len(segments):
        return "every segment cites the target"
    strings = [
        string
        for number, own in enumerate(segments, start=1)
        for string in (
            f"<Segment {number}>\n",
            *(f"{text.replace(TARGET_MARK, MARK)}{JOINT}" for text in own),
        )
    ]
    return Draft(
        id=group.target.id,
        length=length,
        context=tuple(strings),
        prompt="build_attribute_law",
        gold=gold,
        slots={"target_case": target_text(group.target, summary)},
        labels={
            "title": group.target.title,
            "num_segments": len(segments),
            "num_documents": len({page.opinion for page in pages}),
        },
    )
