"""Whether the numbers of an opinion belong to citations or not."""

import re

from long_context_tasks.recast.carriers import Passage
from long_context_tasks.recast.quantities import MEASURE
from long_context_tasks.synthetic.numbers import MONTHS

_WHOLE = re.compile(r"\d+(?:,\d{3})*")
_CITED = frozenset(("volume", "page", "title", "section"))
_GOES_ON = re.compile(r"[^\W\d_]|[-–.:]\d")
_IN_NAMES = re.compile(r"\bCir\b|\(\d{1,2}(?:st|d|nd|rd|th) |\bv\. \d")
"""Numbers of courts and parties."""
_DATED = re.compile(rf"\b(?:{'|'.join(MONTHS)})(?: \d{{1,2}})?,? $")


def citations_are_clear(passage: Passage) -> bool:
    """Return whether every number is of a citation or of a date, measures something, or is an amount.

    All others may be of a section that lost its sign, years without a month too: "as required by 1983".
    """
    text = passage.text
    if not text[:1].isupper() or text[-1] not in '.?!”"' or _IN_NAMES.search(text):
        return False
    kinds = {mention.start: mention.key.partition("|")[0] for mention in passage.mentions}
    last = ""
    for match in _WHOLE.finditer(text):
        kind, before = kinds.get(match.start(), ""), text[max(0, match.start() - 20) : match.start()]
        if kind in _CITED:
            # "section 9a", "§ 1208.13", "832 F. 697But", "rule3"; pages of passages: "at 105", one behind another.
            whole = match[0].isdigit() and not (before[-1:].isalpha() or _GOES_ON.match(text, match.end()))
            clear = whole and not before.endswith("at ") and not kind == last == "page"
        elif kind == "year":
            clear = _DATED.search(before) is not None
        else:
            clear = kind == "day" or before.endswith("$") or MEASURE.match(text, match.end()) is not None
        if not clear:
            return False
        last = kind
    return True
