"""Citations in a legal text: where they stand, and which of them are of the target case. Found by eyecite."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.schema import InputError

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
    """Citations of cases in a text: full, short, supra and id., with the names before them; statutes are none.

    Args:
        text: one page or more.
        target_strings: how the target is cited, e.g. ``17 F.3d 462``, where that is known.

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
    """Every place where a quoted span stands in a text as whole words; white space and case may differ.

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
    """A text with every citation replaced by a mark, and the number of those of the target.

    Args:
        text: of a page.
        quotes: spans that refer to the target, as an annotator copied them.
        target_strings: see :func:`find_citations`.

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
