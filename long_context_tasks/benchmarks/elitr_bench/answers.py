"""Score answers without a judge if the possible answers are known.

A response must state the correct value and no other. Texts are normalized to one spelling of numbers, clock
times, days and tags, so that a value is found in any notation.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from long_context_tasks.synthetic.numbers import MONTHS, TENS, UNITS

METRIC = "answer_found"
# Key in a case's inputs: for each turn, the forms of the correct value (right) and of each other value
# (wrong).
INPUT = "stated"

_ELEMENT = re.compile(r"</?[a-z]+ ?/?>")
_TAG = re.compile(r"\b(person|project|organization|location)[\s_\\#-]*0*((?!0)\d+|0)\b")
_THOUSANDS = re.compile(r"(?<=\d)[,.'\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_HALF_OF_DAY = re.compile(r"(?<![a-z])([ap])\.? ?m\b\.?")
_NOT_AT_ALL = re.compile(r"\bnot(?=\s*[.,;:!?])")
_WORD = re.compile(r"[a-z']+\d*|\d+")
_SMALL = {
    **{word: number for number, word in enumerate(UNITS)},
    **{word: 10 * number for number, word in enumerate(TENS, 2)},
}
_LARGE = {"hundred": 100, "thousand": 1000}
_LEFT_OUT = frozenset(("the", "a", "an", "of", "and", "in"))

# A time of day in four parts. Examples of matches and their normalized forms:
#   half past two -> 14 30     quarter to 9 in the morning -> 8 45     14:30:00 -> 14 30
#   9.15 am -> 9 15     ten o'clock -> 10 00
_HOUR = rf"\d{{1,2}}|{'|'.join(UNITS[1:13])}"
_PAST_OR_TO = r"(?:(?P<part>half|quarter)[ -](?P<way>past|to) )?"
_HOUR_AND_MINUTE = rf"(?P<hour>{_HOUR})(?:[:h](?P<minute>[0-5]\d)|\.(?P<dotted>[0-5]\d)(?= *[ap]m\b))?(?::[0-5]\d)?(?: ?h\b)?"
_HALF_OR_TIME = (
    r"(?P<oclock> o'clock)?(?: *(?P<half>[ap])m\b| in the (?P<time>morning|afternoon|evening))?(?![\w:])"
)
_CLOCK = re.compile(rf"(?<![\w:.,]){_PAST_OR_TO}{_HOUR_AND_MINUTE}{_HALF_OR_TIME}")
# Earliest hour mentioned in meetings, so a bare "2:30" is in the afternoon.
_OFFICE = 7

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth"),
    *(f"twenty-{word}" for word in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")),
    *("twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
_DAYS_IN_WORDS = {word: number for number, word in enumerate(_ORDINALS, 1)}
# Longest first, so that "twenty-first" is not read as "twenty" and "first".
_DAY_NAMES = "|".join(sorted((word.replace("-", "[ -]") for word in _ORDINALS), key=len, reverse=True))
_MONTHS = tuple(month.lower() for month in MONTHS)
_MONTH_NAMES = "|".join(_MONTHS)
_SHORT = r"(jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_SHORT_MONTH = re.compile(rf"(?<=\d )(?:of )?{_SHORT}|\b{_SHORT}(?= \d)")
_DATE_IN_WORDS = re.compile(
    rf"\b({_MONTH_NAMES}) (?:the )?({_DAY_NAMES})\b|\b({_DAY_NAMES}) (?:of )?({_MONTH_NAMES})\b"
)
_ISO = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Without "sat" and "sun", which are also other words.
_SHORT_DAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_WEEKDAY = {
    **{f"{day}s": day for day in _WEEKDAYS},
    **{short: _WEEKDAYS[place] for short, place in _SHORT_DAYS.items()},
}


def words_of(text: str) -> list[str]:
    """Return a text's words in a normalized spelling: lower case, plain numbers, hours 0 to 23, no articles.

    >>> words_of("(Person 3), on the 14th of May at 2:30 p.m., for 1,250 euros and twenty-five people")
    ['person3', 'on', '14', 'may', 'at', '14', '30', 'for', '1250', 'euros', '25', 'people']
    """
    text = text.lower().replace("\u2019", "'")
    # Every step relies on earlier ones: "14<sup>th</sup>" must be "14th" before ordinals are parsed.
    text = _ELEMENT.sub("", text)
    text = _TAG.sub(r"\1\2", text)
    text = _ISO.sub(lambda match: f"{int(match[2])} {_MONTHS[int(match[1]) - 1]}", text)
    text = _THOUSANDS.sub("", text)
    text = _ORDINAL.sub(r"\1", text)
    text = _HALF_OF_DAY.sub(r" \1m", text)
    text = _CLOCK.sub(_clock, text)
    text = _SHORT_MONTH.sub(_month, text)
    text = _DATE_IN_WORDS.sub(_date, text)
    # "Certainly not. PERSON3 will" does not rule out a person.
    text = _NOT_AT_ALL.sub("no", text)
    return _with_numbers([_WEEKDAY.get(word, word) for word in _WORD.findall(text) if word not in _LEFT_OUT])


def _clock(match: re.Match[str]) -> str:
    """Convert a time of day to hours (0 to 23) and two-digit minutes; leave other numbers unchanged."""
    minutes, half, time = match["minute"] or match["dotted"], match["half"], match["time"]
    if not (minutes or half or time or match["oclock"] or match["part"]):
        return match[0]
    hour = int(match["hour"]) if match["hour"].isdecimal() else UNITS.index(match["hour"])
    if match["part"]:
        minutes = "30" if match["part"] == "half" else "15" if match["way"] == "past" else "45"
        hour -= match["way"] == "to"
    morning = half == "a" or time == "morning"
    if half or time:
        hour = hour % 12 + (0 if morning else 12) if hour <= 12 else hour
    elif 0 < hour < _OFFICE and not match["hour"].startswith("0"):
        hour += 12
    return f"{hour} {minutes or '00'}"


def _month(match: re.Match[str]) -> str:
    short = match[1] or match[2]
    return next(month for month in _MONTHS if month.startswith(short[:3]))


def _date(match: re.Match[str]) -> str:
    month, day = match[1] or match[4], match[2] or match[3]
    number = _DAYS_IN_WORDS[day.replace(" ", "-")]
    return f"{month} {number}" if match[1] else f"{number} {month}"


def _with_numbers(words: Sequence[str]) -> list[str]:
    """Replace spelled-out numbers with digits."""
    numbered: list[str] = []
    whole = part = 0
    # A smaller number than this continues the previous one ("twenty" + "five"); 0 outside a number.
    least = 0
    for word in (*words, ""):
        if (small := _SMALL.get(word)) is not None and least and 0 < small < least:
            part += small
            least = 10 if small >= 20 else 0
        elif word in _LARGE and (least or part):
            part = (part or 1) * _LARGE[word]
            if word == "thousand":
                whole, part = whole + part, 0
            least = _LARGE[word]
        else:
            if whole or part:
                numbered.append(str(whole + part))
            whole = part = least = 0
            if small is not None:
                part, least = small, 10 if small >= 20 else 0
                numbered += ["0"] if small == 0 else []
            elif word in _LARGE:
                part, least = _LARGE[word], _LARGE[word]
                if word == "thousand":
                    whole, part = part, 0
            elif word:
                numbered.append(word)
    return numbered


_NOT = frozenset(("not", "nor", "neither", "isn't", "wasn't", "aren't", "weren't"))
# Words allowed between "not" and a value that is ruled out. "Not only" does not rule a value out.
_BEFORE_VALUES = frozenset(("on", "at", "by", "for", "to", "with", "from"))


def states(words: Sequence[str], forms: Iterable[str]) -> bool:
    """Return whether a text mentions one of the forms without negating it.

    >>> states(words_of("Not on the 3rd, on May 14th"), ["14 May", "May 14"]), states(words_of("not PERSON3"), ["PERSON3"])
    (True, False)
    """
    listed = list(words)
    return any(
        listed[at : at + len(form)] == form and not _ruled_out(listed[:at])
        for form in map(words_of, forms)
        for at in range(len(listed) - len(form) + 1)
        if form
    )


def _ruled_out(before: Sequence[str]) -> bool:
    at = len(before)
    while at and before[at - 1] in _BEFORE_VALUES:
        at -= 1
    last = list(before[max(0, at - 2) : at])
    return bool(last) and (last[-1] in _NOT or last[-1] == "instead" or last == ["rather", "than"])


def is_found(response: str, stated: Mapping[str, Any]) -> bool:
    """Return whether a response (without thinking) states the correct value and no other.

    ``stated`` is the turn's entry in :data:`INPUT`.
    """
    words = words_of(response)
    # A response that lists all candidates must not count as correct.
    return states(words, stated["right"]) and not any(states(words, forms) for forms in stated["wrong"])
