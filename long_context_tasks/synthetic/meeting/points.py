"""Points that a meeting settles: what they are about, which values come up, and the passages in which people speak of them.

Four people bring up a value each, in words that do not tell which one will be taken. What is taken is then said without
naming it: by who brought it up, by what spoke for it, by leaving out the others, or by its place. So nothing around a value
tells whether it is the answer (not its place, not how often it is named, not the words beside it); only who follows the talk
knows. Later the meeting may come back to a point and settle it otherwise. Notes that are out of date never hold the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from long_context_tasks.synthetic.meeting.speech import FILE, JOINED, Speech, last_speaker, turn
from long_context_tasks.synthetic.numbers import MONTHS, in_words, ordinal
from long_context_tasks.synthetic.wording import Dice, items, words

CLASSES = ("document", "event", "system")
TYPES = ("who", "what", "when", "howmany")
"""Types of questions, named as in ELITR-Bench."""
CANDIDATES = 4
_ORDINALS = ("first", "second", "third", "last")
_NUMBERS = {"pages": (4, 96, 1), "people": (8, 240, 1), "machines": (2, 48, 1), "euros": (200, 9000, 50)}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question, of one of :data:`TYPES`: what its values are, whether the answer is found out, not decided, and of what it is asked."""

    name: str
    type: str
    domain: str
    found: bool
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that a question is about, e.g. ``the consent form for [PROJECT2]``, with :data:`JOINED` for spaces."""

    text: str
    group: str
    noun: str

    @property
    def short(self) -> str:
        """What it is called once it was spoken of, e.g. ``the consent form``."""
        return f"the {self.noun.rpartition(' ')[0]}"


@dataclass(frozen=True, slots=True)
class Value:
    """A possible answer as it is said, with :data:`JOINED` for spaces, and the ways in which an answer may state it."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """Something to settle.

    Attributes:
        subject: what it is about.
        kind: what is asked about it.
        values: what is brought up, in the order in which it is.
        speakers: who brings up each.
        reasons: what speaks for each; empty when no reasons are given.
        leader: who settles it.
        course: place in ``values`` of what is taken, at first and after each change; the last one is the answer.
    """

    subject: Subject
    kind: Kind
    values: tuple[Value, ...]
    speakers: tuple[str, ...]
    reasons: tuple[str, ...]
    leader: str
    course: tuple[int, ...]

    @property
    def answer(self) -> Value:
        """What it comes to in the end."""
        return self.values[self.course[-1]]


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind of question."""
    return tuple(
        Kind(name, kind, domain, manner == "find", tuple(classes.split("/")))
        for name, kind, domain, manner, classes in (line.split(", ") for line in words(FILE, "kinds"))
    )


def draw_subject(dice: Dice, projects: Sequence[str], like: Subject | None = None) -> Subject:
    """Draw a subject, or one with the noun of another and any project."""
    group = like.group if like else dice.pick(CLASSES)
    noun = like.noun if like else dice.pick(items(FILE, group))
    return Subject(f"the {noun} {dice.pick(projects)}".replace(" ", JOINED), group, noun)


def draw_values(domain: str, number: int, dice: Dice, people: Sequence[str]) -> list[Value]:
    """Draw different values of a domain; ``people`` are the tags that may be values where people are asked for."""
    match domain:
        case "person":
            return [Value(tag, (tag[1:-1],)) for tag in dice.sample(people, number)]
        case "pages" | "people" | "machines" | "euros":
            return [
                Value(str(drawn), (str(drawn), in_words(drawn, link=" ", dash=" ")))
                for drawn in dice.sample(range(*_NUMBERS[domain]), number)
            ]
        case "date":
            first = dice.below(12)
            return [
                _date(day, MONTHS[(first + dice.below(2)) % 12]) for day in dice.sample(range(1, 29), number)
            ]
        case "weekday":
            days = dice.sample(_WEEKDAYS, number)
            return [Value(f"{day}{JOINED}{dice.pick(items(FILE, 'daytime'))}", (day,)) for day in days]
        case "time":
            return [_time(quarter) for quarter in dice.sample(range(32, 76), number)]
    drawn = dice.sample(items(FILE, f"{domain}.values"), number)
    return [Value(text.replace(" ", JOINED), (re.sub("^(the|an?) ", "", text),)) for text in drawn]


def _date(day: int, month: str) -> Value:
    said = ordinal(day)
    orders = ("{0} of {1}", "{0} {1}", "{1} {0}", "{1} the {0}")
    forms = tuple(order.format(form, month) for form in (said, day) for order in orders)
    return Value(f"the {said} of {month}".replace(" ", JOINED), forms)


def _time(quarter: int) -> Value:
    hour, minute = divmod(quarter * 15, 60)
    text, twelve = f"{hour}:{minute:02d}", (hour - 1) % 12 + 1
    half = "pm" if hour >= 12 else "am"
    forms = [text, f"{hour:02d}:{minute:02d}", f"{twelve}:{minute:02d} {half}"]
    if minute == 0:
        forms += [f"{twelve} {half}", f"{hour} o'clock"]
    return Value(text, tuple(dict.fromkeys(forms)))


def make_point(speech: Speech, subject: Subject, type_: str, changes: int) -> Point:
    """Draw kind, values, people and course of a point; what is taken does not depend on anything else."""
    cast = speech.cast
    kind = speech.pick([kind for kind in kinds() if kind.type == type_ and subject.group in kind.classes])
    leader = cast.present[0] if speech.chance(0.75) else speech.other(cast.present[0])
    speakers = tuple(speech.people(CANDIDATES, leader))
    people = [
        person
        for person in (*cast.present, *cast.absent)
        if person not in (*speakers, leader, cast.present[0])
    ]
    values = tuple(draw_values(kind.domain, CANDIDATES, speech, people))
    # A fault has causes; reasons speak for what is decided.
    reasons = (
        tuple(speech.sample(items(FILE, "reasons"), CANDIDATES))
        if not kind.found and speech.chance(0.45)
        else ()
    )
    course = [speech.below(CANDIDATES)]
    for _ in range(changes):
        # Drawn backwards: the last one is as likely to be any, whatever was taken before it.
        course.insert(0, (course[0] + speech.whole(1, CANDIDATES - 1)) % CANDIDATES)
    return Point(subject, kind, values, speakers, reasons, leader, tuple(course))


def topic(speech: Speech, point: Point) -> str:
    """Return the clause that names what is to be settled."""
    text = speech.plain(f"ask.{point.kind.name}", 0, s=point.subject.text)
    return text[0].lower() + text[1:]


def asked(speech: Speech, point: Point, *, follow_up: bool) -> str:
    """Return the question about a point: alone, or where its subject was just spoken of."""
    text = speech.plain(f"ask.{point.kind.name}", 2 if follow_up else 1, s=point.subject.text)
    return text.replace(JOINED, " ")


def discuss(speech: Speech, point: Point, brief: bool = False) -> Lines:
    """Return the passage in which a point comes up and is settled for the first time; ``brief`` leaves out most asides."""
    involved = (*point.speakers, point.leader, *(value.text for value in point.values))
    free = [person for person in speech.cast.present if person not in involved] or [point.leader]
    lines = turn(point.leader, speech.sentence("open", topic=topic(speech, point)))
    for place, speaker in enumerate(point.speakers):
        if not brief and speech.chance(0.2):
            doubter = speech.other(last_speaker(lines), speaker, point.leader)
            lines += turn(doubter, speech.sentence("doubt"))
        number = speech.below(len(speech.plans[f"say.{point.kind.domain}"]))
        said = speech.plain(f"say.{point.kind.domain}", number, v=point.values[place].text)
        if point.reasons:
            why = speech.plain("why", r=point.reasons[place])
            said = f"{said[:-1]}, {why[0].lower()}{why[1:]}{said[-1]}"
        lines += turn(speaker, speech.spoken(said))
        if speech.chance(0.1 if brief else 0.2):
            lines += speech.exchange("echo", speech.pick(free), speaker, v=point.values[place].text)
    return lines + _settle(speech, point, 0)


def _settle(speech: Speech, point: Point, step: int) -> Lines:
    chosen, roll = point.course[step], speech.random()
    others = speech.shuffled([place for place in range(CANDIDATES) if place != chosen])
    if point.reasons and roll < 0.4:
        way, values = "reason", {"r": point.reasons[chosen]}
    elif roll < 0.75:
        way, values = "speaker", {"p": point.speakers[chosen]}
    elif roll < 0.94:
        way, values = "not", dict(zip("pqx", (point.speakers[one] for one in others), strict=True))
    else:
        way, values = "order", {"ord": _ORDINALS[chosen]}
    manner = "find" if point.kind.found else "change" if step else "decide"
    lines = turn(point.leader, speech.sentence(f"{manner}.{way}", **values))
    return lines + (turn(speech.other(point.leader), speech.sentence("agree")) if speech.chance(0.7) else [])


def change(speech: Speech, point: Point, step: int) -> Lines:
    """Return the passage in which the meeting comes back to a point and takes another value."""
    opener = speech.other(point.leader)
    why = "again.find" if point.kind.found else "again.decide"
    sentences = speech.sentence("again", topic=topic(speech, point)), speech.sentence(why)
    return turn(opener, *sentences) + _settle(speech, point, step)


def keep(speech: Speech, point: Point) -> Lines:
    """Let somebody ask whether a settled point stays as it is; it does."""
    return speech.exchange("keep", *speech.people(2, point.leader), topic=topic(speech, point))


def stale(speech: Speech, point: Point) -> Lines:
    """Let somebody read a value that was not taken in the end from notes that are out of date."""
    value = speech.pick([value for value in point.values if value != point.answer])
    # Nobody speaks of oneself by name.
    people = speech.people(2, point.leader, *(one.text for one in point.values))
    return speech.exchange("stale", *people, v=value.text, topic=topic(speech, point))
