"""Dates, counts of people, and other whole numbers."""

import re
from collections.abc import Iterator

from long_context_tasks.recast.mention import Mention
from long_context_tasks.synthetic.numbers import MONTHS, in_words

_MONTH = "|".join((*MONTHS, r"(?<![A-Z]\. )(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"))
"""In "I. & N. Dec." it is none."""
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH}) (?P<day>\d{{1,2}}(?:st|nd|rd|th)?)(?=,? \d{{4}}|\b)|(?P<day2>\d{{1,2}}(?:st|nd|rd|th)?)(?: of)? (?P<month2>{_MONTH})(?!\w))"
)
_YEAR = re.compile(
    r"(?:(?<![\d.,$£€/-])|(?<=\b[Mm]id-)|(?<=\b[Pp]re-)|(?<=\b[Pp]ost-)|(?<=\b[12]\d\d\d-))\b(?:1[5-9]\d\d|20\d\d)(?=s?\b)(?![.,]\d|%)"
)
_LATER = re.compile(r"[-–/](\d\d)\b(?![-–/.,]?\d)")
"""The end of a span of years: 2008-09."""
_LONGEST_SPAN = 15
_WORDS = {in_words(number): number for number in range(2, 100)}
_WORD_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True))
_PEOPLE = (
    r"(?:patients?|women|men|subjects?|participants?|persons?|people|children|adults|individuals|volunteers|girls|boys|infants|"
    r"males|females|outpatients|inpatients|users|controls|cases|residents|respondents|students|physicians|nurses|adolescents|mothers|twins|"
    r"survivors|members|soldiers|employees|workers|families)"
)
_SETS = "(?:sub)?groups|arms|cohorts|studies|trials|samples|types|kinds|classes|categories|series|sets|pairs"
"""Counts of these count no people: "three groups of patients"."""
_NOT_BEHIND = "".join(
    rf"(?<!{words} )"
    for words in (
        *("hundred", "thousand", "hundred and", "thousand and", "enty", "irty", "orty", "ifty", "ixty", "ighty", "inety"),
        *("ype", "roup", "hase", "rade", "tage"),
    )
)  # fmt: skip
"""No part of a longer number, and not the number of a type, a group, a phase, a grade, a stage."""
_TIME = r"(?:years?|months?|weeks?|days?|hours?|minutes?|times)"
# A number begins with a digit or a few letters; this is tested first, as it is cheap.
_COUNT = re.compile(
    rf"\b(?=[\dTtFfSsEeNn])(?<![\d.,/$£€-]){_NOT_BEHIND}(?!(?:(?<=in )|(?<=to )|(?<=and )|(?<=from )|(?<=since ))(?:19|20)\d\d\b)"
    rf"(?P<number>\d{{1,3}}(?:[, ]\d{{3}})+|\d+|(?i:{_WORD_NUMBER}))\b"
    rf"(?![.,]\d|%| %|-| ?per ?cent| {_TIME}\b| (?i:{_WORD_NUMBER}|hundred|thousand)\b)"
    rf"(?= (?:\(\d+(?:\.\d+)? ?%\) )?(?:of (?:the )?)?(?:(?!(?:with|for|that|who|in|to|by|was|were|{_SETS})\b)[a-z][a-z-]*,? ){{0,4}}?{_PEOPLE}\b)"
    r"|\b[nN] ?= ?(?P<n>\d{1,3}(?:,\d{3})+|\d+)\b(?![.,]\d|%)"
)
_NUMBER = re.compile(
    r"(?<![\d.,/:§-])(?<!\b[A-Z])\b\d{1,3}(?:[, ]\d{3})+\b(?![.,]\d)|(?<![\d.,/:-])(?<!\b[Aa]ge of )(?<!\b[Aa]ged )\b\d{2,9}\b(?![.,:/]\d|-\d)"
)
MEASURE = re.compile(
    r"\s?(?:%|per ?cent|mg|g|kg|ml|mcg|µg|microg|mm|cm|km|m|mmol|mmhg|hz|min|minutes?|h|hours?|hrs?|days?|weeks?|wk|months?|mo|years?|yrs?|y|st|nd|rd|th|"
    r"degrees|iu|units?|mu|ng|pg|°|x|o'clock|a\.m|p\.m|am|pm)\b|\s?(?:%|\+/-|±)|-(?:year|month|week|day|hour|mg)",
    re.IGNORECASE,
)
LEAST = 20
"""Smaller numbers are no facts of their own: ages of children, list marks, clock times."""


def quantity_mentions(text: str) -> Iterator[Mention]:
    """Yield dates, counts of people, and whole numbers from :data:`LEAST` on that measure nothing; none overlaps another."""
    taken: set[int] = set()

    def free(start: int, end: int) -> bool:
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            return True
        return False

    for match in _DATE.finditer(text):
        month = "month" if match["month"] else "month2"
        day = "day" if match["month"] else "day2"
        if free(*match.span(month)):
            name = next(name for name in MONTHS if name.startswith(match[month][:3]))
            yield Mention(*match.span(month), "date", f"month|{name}")
        if free(*match.span(day)):
            yield Mention(*match.span(day), "date", f"day|{int(match[day].rstrip('dhnrst'))}")
    for match in _COUNT.finditer(text):
        group = "number" if match["number"] else "n"
        if free(*match.span(group)):
            yield Mention(*match.span(group), "count", str(value_of(match[group])))
    for match in _YEAR.finditer(text):
        if free(*match.span()):
            yield Mention(*match.span(), "date", f"year|{match[0]}")
            later = _LATER.match(text, match.end())
            if later and 0 < int(later[1]) - int(match[0][2:]) <= _LONGEST_SPAN and free(*later.span(1)):
                yield Mention(*later.span(1), "date", f"later|{later[1]}")
    for match in _NUMBER.finditer(text):
        value = value_of(match[0])
        if value >= LEAST and not MEASURE.match(text, match.end()) and free(*match.span()):
            yield Mention(*match.span(), "number", str(value))


def value_of(text: str) -> int:
    """Return the value of a number in digits or words."""
    return _WORDS.get(text.lower()) or int(re.sub("[, ]", "", text))


def spelled(number: int, *, like: str) -> str:
    """Return a number in digits or words, with a comma, a space, or neither, as another one is written.

    >>> spelled(1300, like="1,204"), spelled(1300, like="1 204"), spelled(14, like="Twelve"), spelled(130, like="ninety")
    ('1,300', '1 300', 'Fourteen', '130')
    """
    if like[0].isdigit():
        mark = like.lstrip("0123456789")[:1]
        return f"{number:,}".replace(",", mark) if mark else str(number)
    text = in_words(number) if number < 100 else str(number)
    return text.capitalize() if like[0].isupper() else text
