"""The small world of the meetings: who is there, what has to be settled, and which values somebody may bring up for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from long_context_tasks.synthetic.wording import records, words

__all__ = ["TYPES", "Cast", "Kind", "Subject", "Value", "draw_values", "kinds", "make_cast", "pick", "sample"]

T = TypeVar("T")
Random = Callable[[], float]

FILE = "meeting_things.txt"
CLASSES = ("document", "event", "system", "data")
TYPES = ("who", "what", "when", "howmany")
"""Types of questions, named as in ELITR-Bench."""
JOINED = "\u00a0"
"""Stands for the spaces inside subjects and values, so that nobody stammers there; written as a space in the end."""

_NUMBERS = {
    "pages": (4, 96, 1),
    "people": (8, 240, 1),
    "hours": (3, 160, 1),
    "machines": (2, 48, 1),
    "euros": (200, 9000, 50),
}
ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TAGS = 24  # numbers that tags take


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question.

    Attributes:
        name: of its lists in the data files.
        type: one of :data:`TYPES`.
        domain: kind of its values.
        found: the answer is found out, not decided.
        classes: of the subjects that it can be asked about.
    """

    name: str
    type: str
    domain: str
    found: bool
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that a question is about, e.g. ``the consent form for [PROJECT2]``.

    Attributes:
        text: with :data:`JOINED` for spaces.
        plural: whether it is spoken of as "they".
        group: its class.
    """

    text: str
    plural: bool
    group: str


@dataclass(frozen=True, slots=True)
class Value:
    """A possible answer.

    Attributes:
        text: as it is said, with :data:`JOINED` for spaces.
        forms: ways in which an answer may state it.
    """

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Cast:
    """The tags of one meeting, all with their brackets: ``[PERSON3]``.

    Attributes:
        present: people who speak; the first one leads the meeting.
        absent: people who are only spoken of.
        projects, organizations, locations: that are spoken of.
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]
    projects: tuple[str, ...]
    organizations: tuple[str, ...]
    locations: tuple[str, ...]


def pick(items: Sequence[T], random: Random) -> T:
    """Choose one item."""
    return items[int(random() * len(items))]


def sample(items: Sequence[T], number: int, random: Random) -> list[T]:
    """Choose so many different items, in random order."""
    rest = list(items)
    return [rest.pop(int(random() * len(rest))) for _ in range(number)]


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of question."""
    return tuple(
        Kind(name, kind, domain, style == "find", tuple(classes.split(",")))
        for name, kind, domain, style, classes in records(FILE, "kinds")
    )


@cache
def kinds_of(kind: str, group: str) -> tuple[Kind, ...]:
    """The kinds of a type that can be asked about a class of subjects."""
    return tuple(one for one in kinds() if one.type == kind and group in one.classes)


@cache
def nouns(group: str) -> tuple[tuple[str, bool, str], ...]:
    """Noun, whether it is plural, and the word that joins it to a project, of every subject of a class."""
    return tuple((noun, number == "p", word) for noun, number, word in records(FILE, group))


def make_subject(group: str, place: int, project: str) -> Subject:
    """The subject with a noun of a class and a project."""
    noun, plural, word = nouns(group)[place]
    return Subject(f"the {noun} {word} {project}".replace(" ", JOINED), plural, group)


def make_cast(random: Random, num_tokens: int) -> Cast:
    """Choose who and what a meeting speaks of; long meetings speak of more projects."""

    def tags(name: str, number: int, among: int) -> list[str]:
        return [f"[{name}{one}]" for one in sample(range(1, among + 1), number, random)]

    present = 7 + int(random() * 3)
    people = tags("PERSON", present + 9, _TAGS)
    projects = min(6 + int(random() * 4) + num_tokens // 10_000, 60)
    return Cast(
        present=tuple(people[:present]),
        absent=tuple(people[present:]),
        projects=tuple(tags("PROJECT", projects, max(12, projects))),
        organizations=tuple(tags("ORGANIZATION", 7, 12)),
        locations=tuple(tags("LOCATION", 6, 10)),
    )


def spelled(number: int) -> str:
    """A number below ten thousand in words.

    >>> spelled(14), spelled(250), spelled(1200)
    ('fourteen', 'two hundred fifty', 'one thousand two hundred')
    """
    parts = []
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            parts.append(f"{ONES[number // size]} {name}")
            number %= size
    if number >= 20:
        parts.append(TENS[number // 10 - 2])
        number %= 10
        parts += [ONES[number]] if number else []
    elif number or not parts:
        parts.append(ONES[number])
    return " ".join(parts)


def ordinal(day: int) -> str:
    """The day of a month as it is written: 1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def draw_values(domain: str, number: int, random: Random, people: Sequence[str]) -> list[Value]:
    """Draw different values of one kind.

    Args:
        domain: kind of value.
        number: how many.
        random: from 0 to 1.
        people: tags that may be values where people are asked for.
    """
    if domain == "person":
        return [Value(tag, (tag[1:-1],)) for tag in sample(people, number, random)]
    if domain in _NUMBERS:
        least, most, step = _NUMBERS[domain]
        return [
            Value(str(one), (str(one), spelled(one)))
            for one in sample(range(least, most, step), number, random)
        ]
    if domain == "date":
        first = int(random() * 12)
        months = [words(FILE, "month")[(first + ahead) % 12] for ahead in (0, 1)]
        days = sample(range(1, 29), number, random)
        return [_date(day, months[int(random() * 2)]) for day in days]
    if domain == "weekday":
        days_of_week = sample(words(FILE, "day"), number, random)
        times = words(FILE, "daytime")
        return [Value(_joined(f"{day} {times[int(random() * len(times))]}"), (day,)) for day in days_of_week]
    if domain == "time":
        return [_time(one) for one in sample(range(32, 76), number, random)]
    return [Value(_joined(one), (_bare(one),)) for one in sample(words(FILE, domain), number, random)]


def _joined(text: str) -> str:
    return text.replace(" ", JOINED)


def _bare(text: str) -> str:
    """Without its article."""
    first, _, rest = text.partition(" ")
    return rest if first in ("the", "a", "an") else text


def _date(day: int, month: str) -> Value:
    said = ordinal(day)
    forms = (f"{said} of {month}", f"{said} {month}", f"{month} {said}", f"{month} the {said}")
    plain = (f"{day} of {month}", f"{day} {month}", f"{month} {day}", f"{month} the {day}")
    return Value(_joined(f"the {said} of {month}"), forms + plain)


def _time(quarter: int) -> Value:
    hour, minute = divmod(quarter * 15, 60)
    text = f"{hour}:{minute:02d}"
    clock = f"{(hour - 1) % 12 + 1}:{minute:02d}"
    half = "pm" if hour >= 12 else "am"
    forms = [text, f"{hour:02d}:{minute:02d}", f"{clock} {half}"]
    if minute == 0:
        forms += [f"{(hour - 1) % 12 + 1} {half}", f"{hour} o'clock"]
    return Value(text, tuple(dict.fromkeys(forms)))
