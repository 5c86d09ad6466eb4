"""Find and mask the case citations in an opinion, and tell which are a target's.

eyecite finds citations and resolves later ones to full ones; the data list the target's full citations; the
annotator copies spans that refer to the target. Where these leave or make a doubt, a mark of its own says so.
"""

import logging
import re
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from itertools import dropwhile
from typing import Any, NamedTuple

from long_context_tasks.schema.extras import require
from long_context_tasks.tokens.chunks import sentence_ends


class Cites(IntEnum):
    """The case that a citation refers to."""

    OTHER = 0
    UNSURE = 1  # the target or another case
    DISPUTED = 2  # the target for the annotator, another case for eyecite
    COPIED = 3  # the target for the annotator
    TARGET = 4
    NAMESAKE = 5  # a decision of the target's name, whose number the data do not list


TARGET_MARK, MARK = "[TARGET CITATION]", "[CITATION]"
MARKS = {case: f"[{case.name} CITATION]" for case in Cites}
MARKS |= {Cites.OTHER: MARK, Cites.COPIED: TARGET_MARK}
ANY_MARK = re.compile("|".join(map(re.escape, MARKS.values())))
# Pages, notes and paragraphs after a citation ("at 467-68 & n.3", "¶¶ 4, 6"), then court and year. Other
# parentheses are explanatory and are kept.
_TAIL = re.compile(
    r"(?:,? ?(?:& |and |at )?(?:(?:¶+ ?)?\*{0,2}\d+(?:[-–] ?\*{0,2}\d+)?(?!\d| [A-Z])|nn?\. ?\d+(?:[-–]\d+)?))*"
    r"(?:,? ?\([^()]{0,40}\d{4}\))?"
)
# Between two reporters of one citation: "17 F.3d 462, 465-66, 93 S. Ct. 705".
_BETWEEN_REPORTERS = re.compile(r"(?:[,\s\d&¶–-]|nn?\.|at )*")
_LONGEST_NAME = 120
# Words before a name that are not part of it; they are capitalized if they begin a sentence.
_LISTED = (
    "in also accord and but under as yet since the with see unlike like citing quoting compare contra following applying indeed "
    "moreover nevertheless nonetheless therefore accordingly furthermore consequently similarly likewise because although though "
    "while both thus however here for that when if on to from by at then nor so or e.g cf"
)
_PARTICLE = r"(?:de|la|las|los|del|van|von|der|den|du|da|dos|ex)(?=\s)"
# Docket numbers may follow a name: "Doe v. Roe, No. 92-CR-884, 1993 WL 4".
_WORD = rf"(?:[A-Z\d](?:[^\s(\[]*[^\s(\[;:)\]\"”])?|(?:v\.|vs\.|of|the|for|and|&|rel\.|parte|re),?|{_PARTICLE})(?:\s+|\Z)"
_NOT_FIRST = rf"(?i:{'|'.join(map(re.escape, _LISTED.split()))})[\s.,]"
_NAME = re.compile(rf"(?<![^\s(\[])(?:In (?=re )|(?!{_NOT_FIRST})(?=[A-Z]|{_PARTICLE}))(?:{_WORD})*\Z")
_TYPED = str.maketrans("‘’“”–—", "''\"\"--")
_FORM = r"(?:inc|l\.?l\.?[cp]|l\.?p|corp|co|ltd)"
_IN_MANY_NAMES = "united states state people commonwealth matter city county company inc corp the and for"
FREQUENT = frozenset(_IN_MANY_NAMES.split())


class CitationSpan(NamedTuple):
    start: int
    end: int
    cites: Cites


class _Found(NamedTuple):
    citation: Any  # eyecite's
    start: int
    end: int
    shown: str  # with the name before it


def find_citations(text: str, strings: Collection[str] = (), title: str = "") -> list[CitationSpan]:
    """Find case citations in an opinion: full, short, "supra" and "Id.", each with the name before it.

    ``strings`` are the target's citations, such as ``17 F.3d 462``, and ``title`` is its name.
    """
    require("build", "finding citations", "eyecite")
    from eyecite import get_citations
    from eyecite.models import FullCaseCitation, IdCitation, SupraCitation

    if not text:
        return []
    # eyecite logs a warning for every citation that it is unsure of.
    logging.getLogger("eyecite").setLevel(logging.ERROR)
    found: list[_Found] = []
    before = None
    # The heading on the first page names the opinion itself.
    free = text.find("\n") + 1 if text.startswith("Case: ") else 0
    citations: list[Any] = get_citations(text, remove_ambiguous=False)  # as Any, because eyecite lacks stubs
    for citation in sorted(citations, key=lambda one: tuple(one.span())):
        start, end = citation.span()
        if isinstance(citation, SupraCitation):  # eyecite's span includes the punctuation after "supra"
            end = start + len(text[start:end].rstrip(").;,"))
        if tail := _TAIL.match(text, end):
            end = tail.end()
        both_full = all(isinstance(one, FullCaseCitation) for one in (before, citation))
        if both_full and _BETWEEN_REPORTERS.fullmatch(text, free, max(free, start)):
            start = free  # parallel reporters touch, and get one mark
        elif not isinstance(citation, IdCitation):
            start = _name_start(text, start, free)
        start, free = max(free, start), max(free, end)
        found.append(_Found(citation, start, free, text[start:free]))
        before = citation
    cites = _attributed(found, strings, title)
    return [
        CitationSpan(one.start, one.end, case)
        for one in found
        if (case := cites.get(id(one.citation))) is not None and one.start < one.end
    ]


def _name_start(text: str, core: int, free: int) -> int:
    """Return the start of the case name before a citation.

    eyecite takes only the last part of "Dames & Moore v. Regan". ``core`` is the offset of the volume and
    reporter, or of "supra"; the name does not begin before ``free``.
    """
    floor = max(free, core - _LONGEST_NAME)
    floor += max(sentence_ends(text[floor:core]), default=0)
    name = _NAME.search(text[floor:core])
    return floor + name.start() if name else max(free, core)


def _attributed(found: Sequence[_Found], strings: Collection[str], title: str) -> dict[int, Cites | None]:
    """Return the case of each citation by its ``id``, or None for statutes and the like.

    The data list the target's full citations, and eyecite finds the full citation that a later one refers to.
    """
    from eyecite.models import CaseCitation, FullCaseCitation, IdCitation, ReferenceCitation, SupraCitation

    by_name: Any = (ReferenceCitation, SupraCitation)
    by_number: Any = CaseCitation
    name, volumes = name_of(title), set(map(_volume, strings))
    named = {id(one.citation) for one in found if name.search(one.shown)}
    cases: dict[int, Cites | None] = {}
    for source, own in _resolved(found, strings).items():
        whose = Cites.TARGET if source is Cites.TARGET else Cites.OTHER
        if whose is Cites.OTHER and not named.isdisjoint(map(id, own)):
            # If the data list none of the target's citations, this may be one.
            whose = Cites.NAMESAKE if strings else Cites.UNSURE
        cases |= dict.fromkeys(map(id, own), whose if isinstance(own[0], FullCaseCitation) else None)
    words = rare_words(title)

    def has_word(shown: str) -> bool:
        return not words.isdisjoint(re.findall(r"\w+", shown))

    last = Cites.OTHER
    for one in found:
        citation: Any = one.citation
        case = cases.get(id(citation))
        unresolved = id(citation) not in cases
        if isinstance(citation, IdCitation) and (unresolved or case is Cites.TARGET):
            # eyecite does not know every rule and record to which "Id." may refer.
            case = Cites.OTHER if last is Cites.OTHER else Cites.UNSURE
        elif isinstance(citation, by_number) and unresolved:
            near = _volume(citation.corrected_citation()) in volumes
            case = Cites.UNSURE if near or has_word(one.shown) else Cites.OTHER
        elif isinstance(citation, by_name) and case in (None, Cites.OTHER):
            case = Cites.UNSURE if has_word(one.shown) else Cites.OTHER
        cases[id(citation)] = case
        last = last if case is None else case
    return cases


def _resolved(found: Sequence[_Found], strings: Collection[str]) -> dict[Any, list[Any]]:
    """Return the citations by what eyecite resolves them to; the target stands as ``Cites.TARGET``."""
    from eyecite import resolve_citations
    from eyecite.models import FullCaseCitation, Resource

    full: Any = FullCaseCitation
    numbers: dict[int, set[str]] = {}  # one set for all reporters of a citation
    own, ended = set[str](), -1
    for citation, start, end, _ in found:
        if isinstance(citation, full):
            own = own if start == ended else set()
            own |= {_plain(citation.corrected_citation()), _plain(citation.matched_text())}
            numbers[id(citation)] = own
        ended = end if isinstance(citation, full) else -1
    known = set(map(_plain, strings))
    # The target's reporters stand next to those that the data list.
    known = known.union(*(own for own in numbers.values() if not known.isdisjoint(own)))

    def source(citation: Any) -> Any:
        return Resource(citation) if known.isdisjoint(numbers.get(id(citation), ())) else Cites.TARGET

    resolved: dict[Any, list[Any]] = resolve_citations([one.citation for one in found], source)
    return resolved


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def _volume(citation: str) -> str:
    """Return the volume and reporter of a citation."""
    return re.sub(r",?(?:at)?(?<!\d)\d+$", "", _plain(citation))


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
                CitationSpan(*match.span(), Cites.COPIED)
                for match in re.finditer(pattern, text, re.IGNORECASE)
            ]
    return found


def mask(text: str, spans: Iterable[CitationSpan]) -> tuple[str, int]:
    """Replace every citation in a text with a mark, and count the target's citations.

    Overlapping or adjacent spans are merged. The annotator's spans decide about citations that eyecite cannot
    attribute; if they contain only citations of other cases, the two disagree.

    >>> text = "In Doe v. Roe, 17 F.3d 462, 467 (1st Cir. 1994), we held so; cf. 18 U.S.C. § 922."
    >>> mask(text, find_citations(text, ["17 F.3d 462"]))
    ('In [TARGET CITATION], we held so; cf. 18 U.S.C. § 922.', 1)
    >>> mask(text, [*find_citations(text), *find_quotes(text, ["Doe v. Roe"])])
    ('In [DISPUTED CITATION], we held so; cf. 18 U.S.C. § 922.', 0)
    """
    joined: list[tuple[int, int, set[Cites]]] = []
    for start, end, cites in sorted(spans):
        if joined and start <= joined[-1][1]:
            first, last, claims = joined[-1]
            joined[-1] = (first, max(last, end), claims | {cites})
        else:
            joined.append((start, end, {cites}))
    pieces, done = [], 0
    for start, end, claims in joined:
        case = max(claims)
        if case is Cites.COPIED and Cites.OTHER in claims and Cites.UNSURE not in claims:
            case = Cites.DISPUTED
        pieces += [text[done:start], MARKS[case]]
        done = end
    return "".join([*pieces, text[done:]]), pieces.count(TARGET_MARK)


def full_name(title: str) -> str:
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
    full = full_name(title)
    return re.compile(rf"\b{full}(?:-\w+)*(?!\w)" if r"\W" in full else "(?!)", re.IGNORECASE)


def rare_words(title: str) -> set[str]:
    """Return the words of a title that few other names share."""
    return {word for word in re.findall(r"\w{3,}", title) if word.lower() not in FREQUENT}
