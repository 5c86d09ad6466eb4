"""Build attributing cases (sections 3.2 and 3.3).

Medicine: which of a review's studies another review includes. The target is the other review that includes most of the studies, by
PubMed id. Where no other review includes any, a screening list that has excluded studies too is its own target: what was screened is
the context, what the finished review uses are the labels. Else the background is that of some other review, and "none" is right.

Law: which segments of other cases cite the target case. Of each citing case a run of pages is taken, around the first place where the
target's name or its citation seems to occur. On every page an annotator copies the spans that refer to the target, by its title and
a summary of it; they and the citations that the data and eyecite give to the target (:func:`find_citations`) are the target's. A case
with a citation that may be the target's is left out. All citations of cases are masked alike, and pages grouped into segments.
"""

import logging
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, dropwhile
from typing import Any, NamedTuple

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, first_sentences, parse_spans
from long_context_tasks.benchmarks.ethic.build.drafts import (
    UNFILLED,
    Built,
    Draft,
    Offer,
    choice_key,
    fill,
    plan_cases,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.build.sources import (
    CitedCase,
    cited_cases,
    included_elsewhere,
    opinion_texts,
    study_text,
)
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.corpora.opinions import Opinion
from long_context_tasks.corpora.reviews import Review
from long_context_tasks.schema.extras import require
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, Text, chunks_of, pieces_of, sentence_ends

NONE = "none"
OTHER, OWN = "another review", "the finished review"
_NO_BACKGROUND = "the target has no background"
_TITLES = 20
_LEAST_SHARE = 2
"""Right studies have at most one of so many tokens, so that a short context is no list of right answers only."""


@dataclass(frozen=True)
class Target:
    """What the studies of a review are to be attributed to.

    Attributes:
        review: whose background is shown.
        labels: ids of the right studies; empty for "none".
        kind: where the labels come from.
    """

    review: Review
    labels: frozenset[str]
    kind: str


def find_target(review: Review, reviews: Sequence[Review], seed: int) -> Target | None:
    """Return the target of a review's studies; None when there is no other review and nothing to tell apart in this."""
    if found := included_elsewhere(review, reviews):
        return Target(found[0], found[1], OTHER)
    if review.included and len(review.included) < len(review.studies):
        return Target(review, review.included, OWN)
    others = [other for other in reviews if other.id != review.id]
    if not others:
        return None
    [first, *_] = shuffled(len(others), seed, "background", review.id)
    return Target(others[first], frozenset(), NONE)


class _Abstracts(NamedTuple):
    """The context of a case: some abstracts of a review, by study."""

    review: Review
    target: Target
    pieces: dict[str, Piece]
    length: int


def build_attribute_medicine(
    reviews: Sequence[Review], settings: EthicSettings, annotator: Annotator | None, progress: Work
) -> Built:
    """Build cases with as many abstracts of a review as fit, right ones in half of the room at most, in random order.

    The annotator writes the background of reviews that have none; without it those stay out.
    """

    def offer(review: Review) -> Offer[_Abstracts]:
        texts = {study.id: Text(study_text(study)) for study in review.studies}
        cut = {
            study: list(pieces_of([text], settings.chunk_tokens, settings.measure))
            for study, text in texts.items()
        }
        # Half an abstract is none.
        pieces = {study: parts[0] for study, parts in cut.items() if len(parts) == 1}
        target = find_target(review, reviews, settings.seed)

        def at(length: int) -> _Abstracts | str:
            if target is None:
                return "no other review to compare with"
            chosen = _choose(review, target, pieces, settings, length)
            filled = sum(piece.tokens for piece in chosen.values())
            if not chosen or filled < settings.min_fill * settings.budget(length):
                return UNFILLED
            if not target.review.background and annotator is None:
                return _NO_BACKGROUND
            return _Abstracts(review, target, chosen, length)

        tokens = sum(piece.tokens for piece in pieces.values())
        return Offer(review.id, tokens, at, choice_key(settings, "medicine", review.id))

    plan = plan_cases(
        map(offer, progress.over(reviews, "reading and encoding abstracts", "review")), settings
    )
    # Only now, so that nothing is paid for what is not chosen.
    targets = {found.target.review.id: found.target.review for found in plan.windows}
    backgrounds = {name: review.background for name, review in targets.items()}
    missing = [name for name, background in backgrounds.items() if not background]
    if annotator is not None and missing:
        prompts = []
        for name in missing:
            used = [study.title for study in targets[name].studies if study.included and study.title]
            passages = "\n".join(f"- {title}" for title in used[:_TITLES])
            values = {"title": targets[name].title, "passages": passages}
            prompts.append(fill(template("build_background"), values))
        answers = annotator.texts(prompts)
        backgrounds |= {
            name: " ".join((text or "").split()) for name, text in zip(missing, answers, strict=True)
        }
    made: list[tuple[int, Draft | str]] = []
    for review, target, pieces, length in plan.windows:
        background = backgrounds[target.review.id]
        draft = review_draft(review, target, pieces, background, length) if background else _NO_BACKGROUND
        made.append((length, draft))
    return Built("attribute", "medicine", plan, made)


def _choose(
    review: Review, target: Target, pieces: Mapping[str, Piece], settings: EthicSettings, length: int
) -> dict[str, Piece]:
    ids = [list(pieces)[place] for place in shuffled(len(pieces), settings.seed, "studies", review.id)]
    room = settings.budget(length)
    chosen: list[str] = []
    for right, most in ((True, room // _LEAST_SHARE), (False, room)):
        used = 0
        for study in ids:
            tokens = pieces[study].tokens
            if (study in target.labels) == right and tokens <= room and used + tokens <= most:
                chosen.append(study)
                used += tokens
                room -= tokens
    order = shuffled(len(chosen), settings.seed, "order", review.id, length)
    return {chosen[place]: pieces[chosen[place]] for place in order}


def review_draft(
    review: Review, target: Target, chosen: Mapping[str, Piece], background: str, length: int
) -> Draft:
    """Return the case of these abstracts of a review, in their order."""
    return Draft(
        id=review.id,
        length=length,
        context=tuple(f"{piece.text}{JOINT}" for piece in chosen.values()),
        prompt="build_attribute_medicine",
        gold=[study for study in chosen if study in target.labels] or [NONE],
        slots={"background": background},
        labels={
            "title": review.title,
            "target": target.review.id,
            "target_kind": target.kind,
            "num_documents": len(chosen),
        },
    )


TARGET_MARK = "[TARGET CITATION]"
MARK = "[CITATION]"
_UNSURE_MARK = "[UNSURE CITATION]"
# Court and year behind a citation; what else stands in parentheses says why the case is cited, and stays.
_COURT_AND_YEAR = re.compile(r"[^()]{0,80}\([^()]{0,40}\d{4}\)")
_PIN = re.compile(
    r"(?:,? ?(?:at )?\*{0,2}\d+(?:[-–] ?\*?\d+)?(?: n\. ?\d+)?)*(?:[-–] ?\d+)?(?:(?: &)? nn?\. ?\d+(?:[-–]\d+)?)?"
)
# Court and year that eyecite does not know, as in "(1st Cir.1993)".
_COURT = re.compile(r",? \((?:(?:\d{1,2}(?:st|nd|rd|d|th)|[A-Z][\w.]*) ?)*(?:Cir\.)? ?\d{4}\)")
# A rule, guideline or report, which eyecite does not know: an "Id." without a page may be of it.
_AUTHORITY = re.compile(r"(?:\b[A-Z][\w.]{0,20}\.|§|\b[Ss]ection|\bRule) ?\d")
# What makes "Id." one of a statute, which is no citation of a case.
_OF_STATUTE = re.compile(r",? ?(?:at )?§")
# Words before a case's name that eyecite takes for its beginning.
_LEAD = re.compile(
    r"(?:(?:[a-z][\w'’]*|In(?! re\b)|Also|Accord|And|But|Under|As|Yet|Since|The|With|See|Unlike|Like|Citing|Quoting|Compare|Contra|"
    r"Following|Applying|Indeed|Moreover|Nevertheless|Nonetheless|Therefore|Accordingly|Furthermore|Consequently|Similarly|Likewise|"
    r"Because|Although|Though|While|Both|Thus|However|Here|For|That|When|If|On|To|From|By|At|Then|Nor|So|Or)\b|[^\w\[]+)+"
)
_FIRM = re.compile(
    r"(?:\b[A-Z][\w.'’-]*,? )+& $|"
    r"(?:\b(?:[A-Z]\. ?|[A-Z][\w.&'’-]*,? |(?:\d+|of|the|for|and|&|de|la|del) )+v\.|\bIn re) (?:(?:[A-Z][\w'’-]*|of|the|and|for) )*$"
)
# "de la" in "de la Torre v. Roe".
_PARTICLES = re.compile(r"\b(?:(?:de|la|las|los|del|van|von|der|den|du|da|dos) )+$")
_LONGEST_FIRM = 120
# A name before a short citation; behind another citation eyecite takes none or a wrong one.
_SHORT_NAME = re.compile(r"\b([A-Z][\w'’-]+)(?: (?:Co|Corp|Inc|Ltd|Bros)\.| LLC)?,? $")
# Its words before those that eyecite takes: "Harrow" in "Harrow Mills, supra".
_WORDS_BEFORE = re.compile(r"(?:\b[A-Z][\w'’-]+ )+$")
# The name above a case's first page. Where the opinion begins with its own citation, eyecite reads both as one.
_HEADING = re.compile(r"Case: .*\n")
# Where a court numbers its paragraphs: "2001 ME 37, ¶ 10", "at ¶¶ 4-6, 9".
_PARAGRAPHS = re.compile(
    r",? ?(?:at )?(?:¶ ?\d+(?:[-–] ?\d+)?|¶¶ ?\d+(?:[-–] ?\d+)?(?:(?:,| &| and|, and) \d{1,4}(?:[-–]\d{1,4})?(?![\d-]{0,9} [A-Z]))*)"
    r"(?:(?:,| &)? nn?\. ?\d+)?"
)
# Between a court's own citation and its reporter's: "2001 ME 37, ¶ 10, 767 A.2d 310".
_PARAGRAPH = re.compile(rf"{_PARAGRAPHS.pattern}, |, ¶+ ?")
# A citation without blanks and its words in small letters: volume with reporter, and page.
_PLACE = re.compile(r"(\d+\D.*?\D),?(?:at)?(\d+)")
# Between two reporters of one citation.
_PARALLEL = re.compile(r"(?:[,\s\d&¶–-]|nn?\.|at )*")
_TARGET, _UNSURE = "target", "unsure"
# With what stands in place of volume and page: else only citations of the target would show it behind their mark.
_UNPRINTED = re.compile(
    re.escape(TARGET_MARK)
    + r"(?:[,\s]*(?:[-_]{2,}|F\.\s?[23]d|No\.\s*[\d-]+|n\.\s?\d+|slip op\.(?:\s+at\s+[\d-]+)?))+"
    r"(?:[,\s]*\([^()]{0,60}\d{4}[^()]{0,40}\))?(?:\s*\[No\.[^\[\]]{0,60}\])?"
)
_BLANKS = re.compile(r"\s+")
_TYPED = str.maketrans("‘’“”–—", "''\"\"--")


class Span(NamedTuple):
    """A citation: character offsets, whether it is of the target, and whether it may be of the target or of another case."""

    start: int
    end: int
    target: bool = False
    unsure: bool = False


class Cited(NamedTuple):
    """How a target is cited: its citations, e.g. ``17 F.3d 462``, and its title."""

    strings: Collection[str] = ()
    title: str = ""


_UNKNOWN = Cited()


def find_citations(text: str, cited: Cited = _UNKNOWN) -> list[Span]:
    """Find citations of cases in an opinion: full, short, supra and id., with the names before them; statutes are none.

    A citation goes from the names to court and year, without a parenthesis that explains.

    Raises:
        InputError: eyecite is not installed.
    """
    require("build", "finding citations", "eyecite")
    from eyecite import get_citations
    from eyecite.models import (
        CaseCitation,
        FullCaseCitation,
        IdCitation,
        ReferenceCitation,
        ShortCaseCitation,
        SupraCitation,
    )

    if not text:
        return []
    # It warns of citations that it is unsure of, one line each.
    logging.getLogger("eyecite").setLevel(logging.ERROR)
    # As a plain tuple: a union would make the type checker ask for types that eyecite does not have.
    later: Any = (ShortCaseCitation, SupraCitation)
    kinds: Any = (CaseCitation, IdCitation, SupraCitation, ReferenceCitation)
    found: list[Any] = get_citations(text, remove_ambiguous=False)
    found.sort(key=lambda citation: tuple(citation.span()))
    cases, cited = _cases(text, found, cited)
    same_name: set[str] = set()
    last = ""
    spans: list[Span] = []
    free = 0
    heading = match.end() if (match := _HEADING.match(text)) else 0
    for citation in found:
        core, end = citation.span(), citation.span()[1]
        if isinstance(citation, SupraCitation):  # which takes "supra)." whole
            end = core[0] + len(text[core[0] : end].rstrip(").;"))
        free = max(free, heading if core[0] >= heading else 0)
        if isinstance(citation, kinds):
            full = citation.full_span()
            # A name cannot begin before the end of the citation before it, be that of a case or a statute.
            start = _start(text, max(min(core[0], full[0]), free), core[0], free, isinstance(citation, later))
            if isinstance(citation, IdCitation) and _OF_STATUTE.match(text, end):
                continue
            behind = _COURT_AND_YEAR.match(text, end, full[1]) or _PIN.match(text, end)
            end = max(end, behind.end() if behind else 0)
            if court := _COURT.match(text, end):
                end = court.end()
            case = cases.get(id(citation), "")
            if isinstance(citation, IdCitation):  # of what stands before it
                sure = case and (citation.metadata.pin_cite or not _AUTHORITY.search(text, free, core[0]))
                last = last if sure else last and _UNSURE
            else:
                case = _UNSURE if case in same_name else case
                last = _attributed(citation, case, text[start:end], start == core[0], cited)
                if last == _UNSURE and isinstance(citation, FullCaseCitation):
                    same_name.add(case)
            if start < end:
                spans.append(Span(start, end, last == _TARGET, last == _UNSURE))
            elif last == _TARGET and spans:  # another reporter of the citation before, which holds it
                spans[-1] = spans[-1]._replace(target=True)
        else:
            last = ""
        free = max(free, end)
    return spans


def _start(text: str, start: int, core: int, free: int, later: bool) -> int:
    """Return where the name before a citation begins.

    Args:
        text: of the opinion.
        start: as eyecite has it.
        core: where volume and reporter begin.
        free: the name begins here at the earliest.
        later: whether it is a short citation or "supra".
    """
    for words in (_SHORT_NAME, _WORDS_BEFORE) if later else ():
        before = words.search(text, max(free, start - _LONGEST_FIRM), start)
        start = before.start() if before else start
    # It takes the last part of a name alone: "Dames & Moore v. Regan", "Gannett v. City of Rye, supra".
    floor = max(free, start - _LONGEST_FIRM)
    floor += max(sentence_ends(text[floor:core]), default=0)
    behind = start + 3 if text.startswith("v. ", start) else start
    if joined := _FIRM.search(text, floor, behind):
        start = joined.start()
    if lead := _LEAD.match(text, start, core):
        start = lead.end()
    particles = _PARTICLES.search(text, max(free, start - _LONGEST_FIRM), start)
    return particles.start() if particles else start


def _cases(text: str, found: Sequence[Any], cited: Cited) -> tuple[dict[int, str], Cited]:
    """Return the case of each citation (by ``id``) that eyecite can place, and the target with its other reporters.

    The data say which full citations are the target's.
    """
    from eyecite import resolve_citations
    from eyecite.models import FullCaseCitation

    full: list[Any] = [citation for citation in found if isinstance(citation, FullCaseCitation)]
    groups = [
        (group, {_plain(own) for one in group for own in (one.corrected_citation(), one.matched_text())})
        for group in _parallel(text, full)
    ]
    known = set(map(_plain, cited.strings))
    known = known.union(*(strings for _, strings in groups if not known.isdisjoint(strings)))
    case_of = {
        id(one): min(strings) if known.isdisjoint(strings) else _TARGET
        for group, strings in groups
        for one in group
    }

    begins = [(_place(one.corrected_citation()), case_of[id(one)]) for one in full]

    def only_one(citation: Any, _: object) -> str | None:
        volume, page = _place(citation.corrected_citation())
        cases = {case for (own, first), case in begins if own == volume and first <= page}
        return cases.pop() if len(cases) == 1 else None

    # As a plain value: its types are those of eyecite's own rules.
    resolve: Any = resolve_citations
    resolved = resolve(
        list(found),
        resolve_full_citation=lambda one: case_of.get(id(one)) or _plain(one.matched_text()),
        # eyecite's own rule guesses at a name, and often takes that of the citation before.
        resolve_shortcase_citation=only_one,
    )
    placed = {id(citation): case for case, own in resolved.items() for citation in own}
    return placed, cited._replace(strings=known)


def _attributed(citation: Any, case: str, shown: str, bare: bool, cited: Cited) -> str:
    """Return whether a citation other than "Id." is the target's, or may be.

    Args:
        citation: as eyecite has it.
        case: where eyecite places it, if anywhere.
        shown: its text, with the name before it.
        bare: whether it has no name before it.
        cited: how the target is cited.
    """
    from eyecite.models import FullCaseCitation, ShortCaseCitation

    full, short = (isinstance(citation, kind) for kind in (FullCaseCitation, ShortCaseCitation))
    named = not _telling(cited.title).isdisjoint(re.findall(r"\w+", shown))
    if case == _TARGET:
        return _TARGET if full or named or bare else _UNSURE
    if full:
        # Another of the same name, such as the decision below, or the target before it was printed.
        return _UNSURE if case == _UNSURE or name_of(cited.title).search(shown) else ""
    volumes = {_place(string)[0] for string in cited.strings}
    volume = _place(citation.corrected_citation())[0]
    in_volume = short and (volume in volumes if volumes else bool(cited.title))
    doubtful = named and (in_volume or not short) if case else named or in_volume
    return _UNSURE if case == _UNSURE or doubtful else ""


def _parallel(text: str, full: Iterable[Any]) -> list[list[Any]]:
    """Return full citations in groups: reporters of one citation."""
    groups: list[list[Any]] = []
    for citation in full:
        if groups and _PARALLEL.fullmatch(text, groups[-1][-1].span()[1], citation.span()[0]):
            groups[-1].append(citation)
        else:
            groups.append([citation])
    return groups


def _place(citation: str) -> tuple[str, int]:
    """Return a citation's volume with its reporter, and its page."""
    place = _PLACE.fullmatch(_plain(citation))
    return (place[1], int(place[2])) if place else ("", 0)


def _plain(text: str) -> str:
    return _BLANKS.sub("", text).lower()


def find_quotes(text: str, quotes: Iterable[str]) -> list[Span]:
    """Find every place where a quoted span occurs in a text as whole words; white space, case, quote marks and dashes may differ.

    >>> find_quotes("See O’Doe  v. Roe. O'Doe v. Roe", ["o’doe v. Roe"])
    [Span(start=4, end=17, target=True, unsure=False), Span(start=19, end=31, target=True, unsure=False)]
    """
    found = []
    text = text.translate(_TYPED)
    for quote in quotes:
        if words := quote.translate(_TYPED).split():
            whole = r"\s+".join(map(re.escape, words))
            pattern = rf"(?<!\w){whole}(?!\w)"
            found += [Span(*match.span(), True) for match in re.finditer(pattern, text, re.IGNORECASE)]
    return found


def mask(text: str, spans: Iterable[Span]) -> tuple[str, int]:
    """Replace every citation in a text by a mark, with the paragraphs that it names, and count those of the target.

    Spans that overlap or touch become one, of the target if one of them is, and so do citations of one case.

    >>> text = "In Doe v. Roe, 17 F.3d 462, 467 (1st Cir. 1994), we held so; cf. 18 U.S.C. § 922."
    >>> mask(text, [*find_citations(text), *find_quotes(text, ["Doe v. Roe"])])
    ('In [TARGET CITATION], we held so; cf. 18 U.S.C. § 922.', 1)
    """
    joined: list[Span] = []
    for span in sorted(spans):
        last = joined[-1] if joined else None
        if last and (span.start <= last.end or _PARAGRAPH.fullmatch(text, last.end, span.start)):
            either = last.target or span.target, last.unsure or span.unsure
            joined[-1] = Span(last.start, max(last.end, span.end), *either)
        else:
            joined.append(span)
    pieces, done = [], 0
    for span in joined:
        mark = TARGET_MARK if span.target else _UNSURE_MARK if span.unsure else MARK
        pieces += [text[done : span.start], mark]
        named = _PARAGRAPHS.match(text, span.end)
        done = named.end() if named else span.end
    return "".join([*pieces, text[done:]]), sum(span.target for span in joined)


SEGMENT_PAGES = 2
"""Pages of one case in a segment, at most. A page has half the tokens of a chunk, so that a segment is as long as a chunk."""
LEAST_SHARE = 1_500
"""Tokens of a citing case in a context, at least, so that short contexts have few cases rather than scraps of many."""
_SUMMARY_CHUNKS = 4
_NOT_THERE = "spans do not stand on their page word for word, and were ignored"
_NOT_TELLING = "spans name neither the target nor a citation, and were ignored"
_AGAIN = "pages still showed the target's name, which was masked as a citation of it"
_FORM = r"(?:inc|l\.?l\.?[cp]|l\.?p|corp|co|ltd)"
_SMALL = re.compile("united|states|state|people|commonwealth|matter|city|county|company|inc|corp|the|and|for")
"""Words that the names of many cases have."""


class Page(NamedTuple):
    """A page of a citing case.

    Attributes:
        opinion: number of the case among those that cite the target.
    """

    chunk: Chunk
    opinion: int


class _Pages(NamedTuple):
    group: CitedCase
    length: int
    pages: list[Page]


def build_attribute_law(
    opinions: Sequence[Opinion], settings: EthicSettings, annotator: Annotator, progress: Work
) -> Built:
    """Build cases of every target that other opinions cite; the gold are the segments with a citation of it.

    A case whose pages hold no citation of the target, as far as the annotator sees, is left out. Groups with many citing cases come
    first. Citing cases of the target's own name, such as a later appeal, are left out, as their pages name it everywhere.
    """
    page_tokens = settings.chunk_tokens // 2
    strings: dict[str, set[str]] = defaultdict(set)
    for opinion in opinions:
        for name, own in opinion.citation_strings.items():
            strings[name].update(own)
    chunked: dict[str, list[Chunk]] = {}

    def offer(group: CitedCase) -> Offer[_Pages]:
        for opinion in group.citing:
            if opinion.id not in chunked:
                pieces = pieces_of(opinion_texts(opinion), page_tokens, settings.measure)
                chunked[opinion.id] = list(chunks_of(pieces, page_tokens))

        def at(length: int) -> _Pages | str:
            pages = choose_pages(group, chunked, settings.budget(length))
            filled = sum(page.chunk.tokens for page in pages)
            enough = filled >= settings.min_fill * settings.budget(length)
            return _Pages(group, length, pages) if enough else UNFILLED

        tokens = sum(chunk.tokens for opinion in group.citing for chunk in chunked[opinion.id])
        return Offer(group.target.id, tokens, at)

    cited = [
        replace(
            group,
            citing=tuple(
                opinion for opinion in group.citing if not name_of(group.target.title).search(opinion.title)
            ),
        )
        for group in cited_cases(opinions)
    ]
    groups = progress.over(cited, "reading and encoding opinions", "case")
    plan = plan_cases(map(offer, groups), settings)
    summaries = _target_summaries([found.group.target for found in plan.windows], settings, annotator)
    masked, counts = _masked_pages(
        plan.windows, summaries, annotator, citations_on(plan.windows, strings, chunked)
    )
    made: list[tuple[int, Draft | str]] = []
    for group, length, pages in plan.windows:
        target = group.target.id
        texts = [text for page in pages if (text := masked.get((target, page.chunk.text))) is not None]
        draft: Draft | str = "a page or the target was not annotated"
        if target in summaries and len(texts) == len(pages):
            draft = segments_draft(group, length, pages, texts, summaries[target])
        made.append((length, draft))
    notes = tuple(f"annotator {annotator.config.name}: {count} {what}" for what, count in counts.items())
    return Built("attribute", "law", plan, made, notes)


def choose_pages(group: CitedCase, chunked: Mapping[str, Sequence[Chunk]], budget: int) -> list[Page]:
    """Choose a run of pages of each citing case, equal shares of a budget of tokens; what short cases leave goes to the next ones."""
    sizes = [sum(chunk.tokens for chunk in chunked[opinion.id]) for opinion in group.citing]
    # More of them where the first ones are too short to fill the context.
    filled = bisect_left(list(accumulate(sizes)), budget) + 1
    citing = group.citing[: max(filled, budget // LEAST_SHARE)]
    sizes = sizes[: len(citing)]
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
    known = [
        re.escape(string).replace(r"\ ", r"\s+") for string in citing.citation_strings.get(target.id, ())
    ]
    full = _spaced(target.title)
    names = [word for word in re.findall(r"\w{4,}", target.title) if not _SMALL.fullmatch(word.lower())]
    patterns = ["|".join([*known, *([full] if full else [])]), *(rf"\b{name}\b" for name in names[-1:])]
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns if pattern]


def _spaced(title: str) -> str:
    words = re.findall(r"\w+", title)
    parties = list(dropwhile(re.compile(_FORM, re.IGNORECASE).fullmatch, reversed(words)))[::-1]
    # "Roe v. Gulf Lifting LLC" may stand as "Roe v. Gulf Lifting, L.L.C."
    return r"\W+".join(parties) + (rf"(?:,? {_FORM}\b\.?)*" if parties != words else "")


def name_of(title: str) -> re.Pattern[str]:
    """Return what the full name of a target looks like, longer last names included; a title of one word is none.

    >>> name_of("United States v. Olivier").findall("See United States v.  Olivier-Diaz")
    ['United States v.  Olivier-Diaz']
    >>> name_of("Roe v. Rye LLC").findall("Roe v. Rye, L.L.C., at 2; Roe v. Ryeham")
    ['Roe v. Rye, L.L.C.']
    """
    full = _spaced(title)
    return re.compile(rf"\b{full}(?:-\w+)*(?!\w)" if r"\W" in full else "(?!)", re.IGNORECASE)


def _around(chunks: Sequence[Chunk], signs: Sequence[re.Pattern[str]], share: int) -> Sequence[Chunk]:
    """A run of pages within a share of tokens, with the first page that shows the surest sign in it."""
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
    """Id of a target to a summary of its first pages; without those that the annotator did not summarize."""
    unique = list({target.id: target for target in targets}.values())
    prompts = []
    for target in unique:
        pieces = pieces_of(map(Text, target.pages), settings.chunk_tokens, settings.measure)
        first = next(chunks_of(pieces, _SUMMARY_CHUNKS * settings.chunk_tokens), Chunk(()))
        prompts.append(
            fill(template("build_target_summary"), {"title": target.title, "passages": first.text})
        )
    answers = zip(unique, annotator.texts(prompts), strict=True)
    return {target.id: first_sentences(text) for target, text in answers if text is not None}


def citations_on(
    found: Sequence[_Pages], strings: Mapping[str, Collection[str]], chunked: Mapping[str, Sequence[Chunk]]
) -> dict[tuple[str, str], list[Span]]:
    """Return target and page to the citations on it, which are looked for in whole opinions.

    Args:
        found: targets and pages.
        strings: id of a target to its citations, in all opinions.
        chunked: id of a citing case to its pages.
    """
    spans: dict[tuple[str, str], list[Span]] = {}
    done = set()
    for group, _, pages in found:
        target = group.target
        cited = Cited(strings[target.id], target.title)
        for citing in {page.opinion: group.citing[page.opinion] for page in pages}.values():
            if (target.id, citing.id) in done:
                continue
            done.add((target.id, citing.id))
            chunks = [chunk.text for chunk in chunked[citing.id]]
            everywhere = find_citations(JOINT.join(chunks), cited)
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
    found: Sequence[_Pages],
    summaries: Mapping[str, str],
    annotator: Annotator,
    citations: Mapping[tuple[str, str], Sequence[Span]],
) -> tuple[dict[tuple[str, str], str], Counter[str]]:
    """Target and page to the page with marks; each page is asked about once for all lengths.

    What eyecite and the annotator missed, such as a name before "slip op.", is masked where it is the full name of the target.

    Returns:
        The pages, and what was ignored or masked again, with counts.
    """
    pages = {
        (group.target.id, page.chunk.text): group.target
        for group, _, own in found
        if group.target.id in summaries
        for page in own
    }
    prompt = template("build_target_spans")
    answers = annotator.texts(
        [
            fill(prompt, {"passages": text, "target_case": _target_text(target, summaries[target.id])})
            for (_, text), target in pages.items()
        ]
    )
    masked = {}
    counts: Counter[str] = Counter()
    for ((name, text), target), answer in zip(pages.items(), answers, strict=True):
        if answer is not None:
            spans = parse_spans(answer)
            there = [span for span in spans if find_quotes(text, [span])]
            telling = [span for span in there if may_refer(span, target)]
            once, _ = mask(text, [*citations[name, text], *find_quotes(text, telling)])
            again, standing = name_of(target.title).subn(TARGET_MARK, once)
            masked[name, text] = _UNPRINTED.sub(TARGET_MARK, again)
            counts[_NOT_THERE] += len(spans) - len(there)
            counts[_NOT_TELLING] += len(there) - len(telling)
            counts[_AGAIN] += standing > 0
    return masked, +counts


def may_refer(span: str, target: Opinion) -> bool:
    """Return whether a span can be a reference to a target: it has a capitalised word of its name, or is a citation.

    >>> target = Opinion("1", "The State v. Gifford", ())
    >>> [may_refer(span, target) for span in ("Gifford, at 7", "17 F.3d 462", "the State", "the court")]
    [True, True, False, False]
    """
    return not _telling(target.title).isdisjoint(re.findall(r"[A-Z]\w+", span)) or bool(find_citations(span))


def _telling(title: str) -> set[str]:
    """Return the words of a title that few other names have."""
    return {word for word in re.findall(r"\w{3,}", title) if not _SMALL.fullmatch(word.lower())}


def segments_draft(
    group: CitedCase, length: int, pages: Sequence[Page], texts: Sequence[str], summary: str
) -> Draft | str:
    """Return a case of segments of neighbouring pages of one case, numbered through; or why they make none.

    Pages of one case stand side by side; their texts have marks in place of citations.
    """
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
    if any(_UNSURE_MARK in text for text in texts):
        return "a citation may be the target's or another case's"
    if not gold:
        return "no citation of the target was found"
    if len(gold) == len(segments):
        return "every segment cites the target"
    return Draft(
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
