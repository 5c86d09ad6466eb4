"""The small world of the meetings: who is there, what has to be settled, and which values somebody may bring up for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from long_context_tasks.synthetic.numbers import in_words, ordinal
from long_context_tasks.synthetic.wording import Dice, records, words

FILE = "meeting_things.txt"
CLASSES = ("document", "event", "system", "data")
TYPES = ("who", "what", "when", "howmany")
"""Types of questions, named as in ELITR-Bench."""
JOINED = "\u00a0"
"""Stands for the spaces inside subjects and values, so that no hesitation falls there; written as a space in the end."""

_NUMBERS = {
    "pages": (4, 96, 1),
    "people": (8, 240, 1),
    "hours": (3, 160, 1),
    "machines": (2, 48, 1),
    "euros": (200, 9000, 50),
}
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


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind of question."""
    return tuple(
        Kind(name, kind, domain, style == "find", tuple(classes.split(",")))
        for name, kind, domain, style, classes in records(FILE, "kinds")
    )


@cache
def kinds_of(kind: str, group: str) -> tuple[Kind, ...]:
    """Return the kinds of a type that can be asked about a class of subjects."""
    return tuple(one for one in kinds() if one.type == kind and group in one.classes)


@cache
def nouns(group: str) -> tuple[tuple[str, bool, str], ...]:
    """Noun, whether it is plural, and the word that joins it to a project, of every subject of a class."""
    return tuple((noun, number == "p", word) for noun, number, word in records(FILE, group))


def make_subject(group: str, place: int, project: str) -> Subject:
    """Return the subject with a noun of a class and a project."""
    noun, plural, word = nouns(group)[place]
    return Subject(f"the {noun} {word} {project}".replace(" ", JOINED), plural, group)


def draw_subject(dice: Dice, projects: Sequence[str]) -> tuple[Subject, tuple[str, int]]:
    """Draw a subject; return it with the class and the place of its noun."""
    group = dice.pick(CLASSES)
    place = dice.below(len(nouns(group)))
    return make_subject(group, place, dice.pick(projects)), (group, place)


def make_cast(dice: Dice, num_tokens: int) -> Cast:
    """Choose who and what a meeting speaks of; long meetings speak of more projects."""

    def tags(name: str, number: int, among: int) -> list[str]:
        return [f"[{name}{one}]" for one in dice.sample(range(1, among + 1), number)]

    present = dice.whole(7, 9)
    people = tags("PERSON", present + 9, _TAGS)
    projects = min(dice.whole(6, 9) + num_tokens // 10_000, 60)
    return Cast(
        present=tuple(people[:present]),
        absent=tuple(people[present:]),
        projects=tuple(tags("PROJECT", projects, max(12, projects))),
        organizations=tuple(tags("ORGANIZATION", 7, 12)),
        locations=tuple(tags("LOCATION", 6, 10)),
    )


def draw_values(domain: str, number: int, dice: Dice, people: Sequence[str]) -> list[Value]:
    """Draw different values of a domain; ``people`` are the tags that may be values where people are asked for."""
    if domain == "person":
        return [Value(tag, (tag[1:-1],)) for tag in dice.sample(people, number)]
    if domain in _NUMBERS:
        return [_number(value) for value in dice.sample(range(*_NUMBERS[domain]), number)]
    if domain == "date":
        first = dice.below(12)
        months = [words(FILE, "month")[(first + ahead) % 12] for ahead in (0, 1)]
        return [_date(day, dice.pick(months)) for day in dice.sample(range(1, 29), number)]
    if domain == "weekday":
        times = words(FILE, "daytime")
        days = dice.sample(words(FILE, "day"), number)
        return [Value(_joined(f"{day} {dice.pick(times)}"), (day,)) for day in days]
    if domain == "time":
        return [_time(quarter) for quarter in dice.sample(range(32, 76), number)]
    return [Value(_joined(text), (_bare(text),)) for text in dice.sample(words(FILE, domain), number)]


def _number(value: int) -> Value:
    return Value(str(value), (str(value), in_words(value, link=" ", dash=" ")))


def _joined(text: str) -> str:
    return text.replace(" ", JOINED)


def _bare(text: str) -> str:
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
