"""Build law Attributing cases (3.2, 3.3), which ask for the segments that cite a target case.

From each citing case a run of pages is taken, around the first page on which the target's name or its
citation seems to occur. Three sources attribute citations to the target: the ids and citation strings in the
data; eyecite, which finds citations and resolves short ones by volume and page; and the annotator, who is
given the target's title and a summary and copies the spans that refer to it from every page. A case is
dropped and counted if a citation may or may not refer to the target. All case citations are masked with the
same mark, and pages are grouped into segments.
"""

import logging
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import partial
from itertools import accumulate, chain, dropwhile
from typing import Any, NamedTuple

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, first_sentences, parse_spans
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
from long_context_tasks.schema.extras import require
from long_context_tasks.tokens.chunks import JOINT, Chunk, Text, chunks_of, pieces_of, sentence_ends


class Cites(IntEnum):
    """The case that a citation refers to; among overlapping citations, the greatest value wins."""

    OTHER = 0
    UNSURE = 1  # the target or another case
    TARGET = 2


TARGET_MARK, MARK = "[TARGET CITATION]", "[CITATION]"
_MARKS = {Cites.TARGET: TARGET_MARK, Cites.UNSURE: "[UNSURE CITATION]", Cites.OTHER: MARK}

# Pages, notes and paragraphs after a citation ("at 467-68 & n.3", "¶¶ 4, 6"), then court and year. Other
# parentheses are explanatory and are kept.
_TAIL = re.compile(
    r"(?:,? ?(?:& |and |at )?(?:(?:¶+ ?)?\*{0,2}\d+(?:[-–] ?\*{0,2}\d+)?(?!\d| [A-Z])|nn?\. ?\d+(?:[-–]\d+)?))*"
    r"(?:,? ?\([^()]{0,40}\d{4}\))?"
)
# Between two reporters of one citation: "17 F.3d 462, 465-66, 93 S. Ct. 705".
_BETWEEN_REPORTERS = re.compile(r"(?:[,\s\d&¶–-]|nn?\.|at )*")
# A rule, guideline or report, which eyecite does not recognise; a following "Id." may refer to it.
_AUTHORITY = re.compile(r"(?:\b[A-Z][\w.]{0,20}\.|§|\b[Ss]ection|\bRule) ?\d")
_SECTION_OF_STATUTE = re.compile(r",? ?(?:at )?§")
# Volume with reporter, and first page, after blanks are removed.
_PLACE = re.compile(r"(\d+\D.*?\D),?(?:at)?(\d+)")
# The rest of a citation without volume and page. It would follow only the target's marks and give them away.
_UNPRINTED = re.compile(
    re.escape(TARGET_MARK)
    + r"(?:[,\s]*(?:[-_]{2,}|F\.\s?[23]d|No\.\s*[\d-]+|n\.\s?\d+|slip op\.(?:\s+at\s+[\d-]+)?))+"
    r"(?:[,\s]*\([^()]{0,60}\d{4}[^()]{0,40}\))?(?:\s*\[No\.[^\[\]]{0,60}\])?"
)
_BLANKS = re.compile(r"\s+")
_LONGEST_NAME = 120
# Lower-case words in case names: those that may begin a name, and the others.
_PARTICLES = frozenset(("de", "la", "las", "los", "del", "van", "von", "der", "den", "du", "da", "dos", "ex"))
_INSIDE_NAMES = _PARTICLES | {"v.", "vs.", "of", "the", "for", "and", "&", "rel.", "parte", "re"}
_LISTED = (
    "in also accord and but under as yet since the with see unlike like citing quoting compare contra following applying indeed "
    "moreover nevertheless nonetheless therefore accordingly furthermore consequently similarly likewise because although though "
    "while both thus however here for that when if on to from by at then nor so or e.g cf"
)
# Words before a name that are not part of it; they are capitalized if they begin a sentence.
_BEFORE_NAMES = frozenset(_LISTED.split())
_TYPED = str.maketrans("‘’“”–—", "''\"\"--")


class CitationSpan(NamedTuple):
    start: int
    end: int
    cites: Cites


def find_citations(text: str, strings: Collection[str] = (), title: str = "") -> list[CitationSpan]:
    """Find case citations in an opinion: full, short, "supra" and "Id.", each with the name before it.

    ``strings`` are the target's citations, such as ``17 F.3d 462``, and ``title`` is its name.
    """
    require("build", "finding citations", "eyecite")
    from eyecite import get_citations
    from eyecite.models import CaseCitation, IdCitation, ReferenceCitation, SupraCitation

    if not text:
        return []
    # eyecite logs a warning for every citation that it is unsure of.
    logging.getLogger("eyecite").setLevel(logging.ERROR)
    # Typed as Any, because with a union the type checker would require stubs that eyecite lacks.
    kinds: Any = (CaseCitation, IdCitation, SupraCitation, ReferenceCitation)
    found: list[Any] = sorted(get_citations(text, remove_ambiguous=False), key=lambda one: tuple(one.span()))
    cases = _FullCitations(text, found, strings, title)
    spans: list[CitationSpan] = []
    last, last_group = Cites.OTHER, -1
    # The heading on the first page names the opinion itself.
    free = text.find("\n") + 1 if text.startswith("Case: ") else 0
    for citation in found:
        core, end = citation.span()
        is_id = isinstance(citation, IdCitation)
        if not isinstance(citation, kinds) or (is_id and _SECTION_OF_STATUTE.match(text, end)):
            # The next "Id." refers to this statute.
            last, free = Cites.OTHER, max(free, end)
            continue
        if isinstance(citation, SupraCitation):  # eyecite's span includes the punctuation after "supra"
            end = core + len(text[core:end].rstrip(").;,"))
        if tail := _TAIL.match(text, end):
            end = tail.end()
        group = cases.group_of.get(id(citation), -1)
        if spans and group == last_group >= 0:
            # A parallel reporter of the preceding citation.
            spans[-1] = spans[-1]._replace(end=max(spans[-1].end, end))
        else:
            start = max(free, core) if is_id else _name_start(text, core, free)
            if not is_id:
                last = cases.attributed(citation, text[start:end], bare=start == core)
            elif last is Cites.TARGET and not cases.is_still_target(citation, text[free:core]):
                last = Cites.UNSURE
            if start < end:
                spans.append(CitationSpan(start, end, last))
        last_group, free = group, max(free, end)
    return spans


def _name_start(text: str, core: int, free: int) -> int:
    """Return the start of the case name before a citation.

    eyecite takes only the last part of "Dames & Moore v. Regan". ``core`` is the offset of the volume and
    reporter, or of "supra"; the name does not begin before ``free``.
    """
    floor = max(free, core - _LONGEST_NAME)
    floor += max(sentence_ends(text[floor:core]), default=0)
    words = list(re.finditer(r"[^\s(\[]+", text[floor:core]))
    first = len(words)
    while first and _may_be_in_name(words[first - 1][0]):
        first -= 1
        # An opening parenthesis before a word ends the name.
        if first and "(" in text[floor + words[first - 1].end() : floor + words[first].start()]:
            break
    for place, word in enumerate(words[first:], start=first):
        plain = word[0].strip(",.")
        in_re = plain == "In" and place + 1 < len(words) and words[place + 1][0] == "re"
        if in_re or plain in _PARTICLES or (plain[:1].isupper() and plain.lower() not in _BEFORE_NAMES):
            return floor + word.start()
    return max(free, core)


def _may_be_in_name(word: str) -> bool:
    # Docket numbers may follow a name: "Doe v. Roe, No. 92-CR-884, 1993 WL 4".
    begins = word[0].isupper() or word[0].isdigit() or word.strip(",") in _INSIDE_NAMES
    return begins and word[-1] not in ';:)]"”'


class _FullCitations:
    """An opinion's full citations, used to resolve its short-form citations.

    Parallel reporters in one citation ("410 U.S. 113, 93 S. Ct. 705") count as one case, which is the target
    if the data list any of them.
    """

    def __init__(self, text: str, found: Iterable[Any], strings: Collection[str], title: str) -> None:
        from eyecite.models import FullCaseCitation, ShortCaseCitation

        # As Any, because their methods are not typed.
        self._full: Any = FullCaseCitation
        self._short: Any = ShortCaseCitation
        self._title, self._words = name_of(title), _rare_words(title)
        self._same_name: set[str] = set()
        groups: list[list[Any]] = []
        full: list[Any] = [one for one in found if isinstance(one, self._full)]
        for citation in full:
            if groups and _BETWEEN_REPORTERS.fullmatch(text, groups[-1][-1].span()[1], citation.span()[0]):
                groups[-1].append(citation)
            else:
                groups.append([citation])
        named = [
            {_plain(string) for one in group for string in (one.corrected_citation(), one.matched_text())}
            for group in groups
        ]
        known = set(map(_plain, strings))
        # The target's parallel reporters are also known.
        known = known.union(*(names for names in named if not known.isdisjoint(names)))
        self.group_of = {id(one): number for number, group in enumerate(groups) for one in group}
        self._targets = {number for number, names in enumerate(named) if not known.isdisjoint(names)}
        self._places: dict[str, set[tuple[int, Cites | str]]] = defaultdict(set)
        for string in strings:
            volume, page = _place(string)
            self._places[volume].add((page, Cites.TARGET))
        for number, group in enumerate(groups):
            case = Cites.TARGET if number in self._targets else _plain(group[0].corrected_citation())
            for one in group:
                volume, page = _place(one.corrected_citation())
                self._places[volume].add((page, case))

    def attributed(self, citation: Any, shown: str, *, bare: bool) -> Cites:
        """Classify any citation but "Id."; ``shown`` includes the name before it unless it is ``bare``."""
        named = not self._words.isdisjoint(re.findall(r"\w+", shown))
        if isinstance(citation, self._full):
            if self.group_of[id(citation)] in self._targets:
                return Cites.TARGET
            # Another decision of the same name, such as the one below, or the target before it was reported.
            plain = _plain(citation.corrected_citation())
            if self._title.search(shown):
                self._same_name.add(plain)
            return Cites.UNSURE if plain in self._same_name else Cites.OTHER
        if isinstance(citation, self._short):
            # A short citation belongs to the only case in its volume that begins at or before its page.
            volume, page = _place(citation.corrected_citation())
            cases = {case for first, case in self._places[volume] if first <= page}
            if cases == {Cites.TARGET} and (named or bare):
                return Cites.TARGET
            doubtful = Cites.TARGET in cases or not cases.isdisjoint(self._same_name) or (named and not cases)
            return Cites.UNSURE if doubtful else Cites.OTHER
        # "Gifford, supra" has only a name; the annotator decides whether it refers to the target.
        return Cites.UNSURE if named else Cites.OTHER

    def is_still_target(self, citation: Any, before: str) -> bool:
        """Return whether an "Id." after the target surely refers to it, given the text in between."""
        page = re.search(r"\d+", citation.metadata.pin_cite or "")
        if page is None:
            return not _AUTHORITY.search(before)
        places = chain.from_iterable(self._places.values())
        return any(case is Cites.TARGET and first <= int(page[0]) for first, case in places)


def _place(citation: str) -> tuple[str, int]:
    """Return a citation's volume with its reporter, and its page."""
    place = _PLACE.fullmatch(_plain(citation))
    return (place[1], int(place[2])) if place else ("", 0)


def _plain(text: str) -> str:
    return _BLANKS.sub("", text).lower()


def find_quotes(text: str, quotes: Iterable[str]) -> list[CitationSpan]:
    """Find all whole-word occurrences of quoted spans; white space, case, quotes and dashes may differ.

    >>> [span.start for span in find_quotes("See O’Doe  v. Roe. O'Doe v. Roe", ["o’doe v. Roe"])]
    [4, 19]
    """
    found = []
    text = text.translate(_TYPED)
    for quote in quotes:
        if words := quote.translate(_TYPED).split():
            whole = r"\s+".join(map(re.escape, words))
            pattern = rf"(?<!\w){whole}(?!\w)"
            found += [
                CitationSpan(*match.span(), Cites.TARGET)
                for match in re.finditer(pattern, text, re.IGNORECASE)
            ]
    return found


def mask(text: str, spans: Iterable[CitationSpan]) -> tuple[str, int]:
    """Replace every citation in a text with a mark, and count the target's citations.

    Overlapping or adjacent spans are merged; the result refers to the target if any of them does.

    >>> text = "In Doe v. Roe, 17 F.3d 462, 467 (1st Cir. 1994), we held so; cf. 18 U.S.C. § 922."
    >>> mask(text, [*find_citations(text), *find_quotes(text, ["Doe v. Roe"])])
    ('In [TARGET CITATION], we held so; cf. 18 U.S.C. § 922.', 1)
    """
    joined: list[CitationSpan] = []
    for span in sorted(spans):
        if joined and span.start <= (last := joined[-1]).end:
            joined[-1] = CitationSpan(last.start, max(last.end, span.end), max(last.cites, span.cites))
        else:
            joined.append(span)
    pieces, done = [], 0
    for span in joined:
        pieces += [text[done : span.start], _MARKS[span.cites]]
        done = span.end
    return "".join([*pieces, text[done:]]), sum(span.cites is Cites.TARGET for span in joined)


# Per citing case. A page has half as many tokens as a chunk, so a segment is as long as a chunk.
SEGMENT_PAGES = 2
# Minimum number of tokens per citing case, so that short contexts have a few cases rather than scraps of
# many.
LEAST_SHARE = 1_500
_SUMMARY_CHUNKS = 4
_NOT_THERE = "spans do not stand on their page word for word, and were ignored"
_UNRELATED = "spans name neither the target nor a citation, and were ignored"
_AGAIN = "pages still showed the target's name, which was masked as a citation of it"
_FORM = r"(?:inc|l\.?l\.?[cp]|l\.?p|corp|co|ltd)"
_IN_MANY_NAMES = "united states state people commonwealth matter city county company inc corp the and for"
_FREQUENT = frozenset(_IN_MANY_NAMES.split())


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
    full = _spaced(target.title)
    names = [word for word in re.findall(r"\w{4,}", target.title) if word.lower() not in _FREQUENT]
    patterns = ["|".join([*known, *([full] if full else [])]), *(rf"\b{name}\b" for name in names[-1:])]
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns if pattern]


def _spaced(title: str) -> str:
    words = re.findall(r"\w+", title)
    parties = list(dropwhile(re.compile(_FORM, re.IGNORECASE).fullmatch, reversed(words)))[::-1]
    # "Roe v. Gulf Lifting LLC" may be cited as "Roe v. Gulf Lifting, L.L.C."
    return r"\W+".join(parties) + (rf"(?:,? {_FORM}\b\.?)*" if parties != words else "")


def name_of(title: str) -> re.Pattern[str]:
    """Return a pattern for a target's full name, longer last names included; one-word titles match nothing.

    >>> name_of("United States v. Olivier").findall("See United States v.  Olivier-Diaz")
    ['United States v.  Olivier-Diaz']
    >>> name_of("Roe v. Rye LLC").findall("Roe v. Rye, L.L.C., at 2; Roe v. Ryeham")
    ['Roe v. Rye, L.L.C.']
    """
    full = _spaced(title)
    return re.compile(rf"\b{full}(?:-\w+)*(?!\w)" if r"\W" in full else "(?!)", re.IGNORECASE)


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
    return not _rare_words(target.title).isdisjoint(re.findall(r"[A-Z]\w+", span)) or bool(
        find_citations(span)
    )


def _rare_words(title: str) -> set[str]:
    """Return the words of a title that few other names share."""
    return {word for word in re.findall(r"\w{3,}", title) if word.lower() not in _FREQUENT}


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
    for number, own in enumerate(segments, start=1):
        marker = f"<Segment {number}>"
        context += [f"{marker}\n", *(f"{text.replace(TARGET_MARK, MARK)}{JOINT}" for text in own)]
        if any(TARGET_MARK in text for text in own):
            gold.append(marker)
    if any(_MARKS[Cites.UNSURE] in text for text in texts):
        raise NoCase("a citation may be the target's or another case's")
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
