"""Recognise the dates above letters and diary entries in eleven languages."""

import re
from functools import cache

from long_context_tasks.corpora.blocks import QUOTES
from long_context_tasks.corpora.numerals import folded, months

_LONGEST_DATE = 90  # characters of a paragraph that is a date, with its place
_QUOTES = QUOTES + "„"
_DAY = r"(?<!\d)\d{1,2}(?:[^\W\d]{1,2}\b|[.:]?[ºª°]|:[ae]\b)?(?!\d)"  # "3", "3rd", "3.º", "3:e"
_OF = r"\W{1,3}(?:(?:of|de|di|d)\W{1,3})?"
_YEAR = r"\d{2}(?:\d\d|-+)"  # "1815", "18--"
_PLACE = r"[\W_]*(?P<before>(?:[^\W\d_][^!?;:]{0,45}?\W+?)?[\W_]*)"  # a place, a weekday or an article
_CLOSED = re.compile(r"[\"”»«“](?!\w)")
_BEFORE_DATE = re.compile(r"(?:.*[,.] |)(?:\w+[,.]? ){0,2}$", re.DOTALL)
_AFTER_DATE = re.compile(r"[.,:;_)\]]*\s?[—–_-]|[.:_)\]]+\s|[^\w]*$")


@cache
def _date() -> re.Pattern[str]:
    month = rf"\b(?:{'|'.join(sorted(months()))})\b"
    forms = (rf"{_DAY}{_OF}{month}", rf"{month}\W{{1,3}}(?:the )?(?:{_DAY}|{_YEAR})")
    year = rf"(?:,? (?:(?:de|del|anno) )?{_YEAR})?"
    return re.compile(rf"{_PLACE}(?:{'|'.join(forms)}){year}(?P<rest>.*)$", re.DOTALL)


def is_dated(text: str) -> bool:
    """Return whether a paragraph is a date, perhaps with a place, or begins with one as letters and diaries do.

    >>> [is_dated(text) for text in ("16 października.", "Baskerville Hall, 13 October", "#Marzo 18--#", "« Le 18 mai. »")]
    [True, True, True, True]
    >>> [is_dated(text) for text in ("On the 3rd of May they left the house, and nobody saw them.", "“He came on May 3.”")]
    [True, False]
    >>> is_dated("On the 3rd of May they left the house, and nobody saw them again before the snow was gone, and the road free.")
    False
    """
    found = _date().match(folded(text[: 2 * _LONGEST_DATE]).strip("_#*=~ "))
    if found is None:
        return False
    begins = bool(_BEFORE_DATE.match(found["before"]) and _AFTER_DATE.match(found["rest"]))
    # Single quotation marks count only at the end: elsewhere they may be apostrophes.
    ending = re.split(r"\w", text[1:])[-1]
    if text[0] in _QUOTES and (_CLOSED.search(text, 1) or "’" in ending or "'" in ending):
        # People mention dates too; only an open quotation mark shows that a letter continues below.
        return begins and found["rest"].lstrip()[:1] not in ("?", "!")
    asked = set("!?") & set(found["rest"].lstrip(" .,;:)]!?"))
    return (len(text) <= _LONGEST_DATE and not asked) or begins
