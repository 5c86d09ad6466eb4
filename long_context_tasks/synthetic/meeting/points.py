"""Generate the passages in which a meeting settles a point.

Four people propose a value each, in words that do not reveal which one will be chosen. The chosen value is
then identified without being named: by who proposed it, by its reason, by excluding the others, or by its
order. So neither a value's place, nor its frequency, nor the words next to it reveal that it is the answer;
only a reader who follows the talk finds it. Later the meeting may return to a point and decide differently.
Outdated notes never contain the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from long_context_tasks.synthetic.meeting.speech import FILE, JOINED, Speech, last_speaker, turn
from long_context_tasks.synthetic.numbers import MONTHS, in_words, ordinal
from long_context_tasks.synthetic.wording import Dice, items, words

CLASSES = ("document", "event", "system")
TYPES = ("who", "what", "when", "howmany")  # question types, named as in ELITR-Bench
CANDIDATES = 4
_ORDINALS = ("first", "second", "third", "last")
_NUMBERS = {"pages": (4, 96, 1), "people": (8, 240, 1), "machines": (2, 48, 1), "euros": (200, 9000, 50)}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

Lines = list[str]


@dataclass(frozen=True, slots=True)
class QuestionKind:
    name: str  # name of its plans
    type: str  # one of TYPES
    domain: str  # kind of its values
    # Whether the meeting discovers the answer, such as the cause of a fault, instead of deciding it.
    found: bool
    classes: tuple[str, ...]  # possible subject classes; see CLASSES


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a question, e.g. ``the consent form for [PROJECT2]``, with :data:`JOINED` for spaces."""

    text: str
    group: str
    noun: str

    @property
    def short(self) -> str:
        """Return the subject's name after its first mention, e.g. ``the consent form``."""
        return f"the {self.noun.rpartition(' ')[0]}"


@dataclass(frozen=True, slots=True)
class Value:
    """A possible answer as spoken, with :data:`JOINED` for spaces, and the accepted ways to state it."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class MeetingPoint:
    subject: Subject
    kind: QuestionKind  # kind of the question about it
    values: tuple[Value, ...]  # the values proposed, in order
    speakers: tuple[str, ...]  # the person who proposes each value
    reasons: tuple[str, ...]  # a reason for each value; empty if no reasons are given
    leader: str  # the person who settles it
    # Indices in values of the chosen one, at first and after each change; the last one is the answer.
    course: tuple[int, ...]

    @property
    def answer(self) -> Value:
        return self.values[self.course[-1]]


@cache
def kinds() -> tuple[QuestionKind, ...]:
    return tuple(
        QuestionKind(name, kind, domain, manner == "find", tuple(classes.split("/")))
        for name, kind, domain, manner, classes in (line.split(", ") for line in words(FILE, "kinds"))
    )


def draw_subject(dice: Dice, projects: Sequence[str], like: Subject | None = None) -> Subject:
    """Draw a new subject, or one that reuses another subject's noun with any project."""
    group = like.group if like else dice.pick(CLASSES)
    noun = like.noun if like else dice.pick(items(FILE, group))
    return Subject(f"the {noun} {dice.pick(projects)}".replace(" ", JOINED), group, noun)


def draw_values(domain: str, number: int, dice: Dice, people: Sequence[str]) -> list[Value]:
    """Draw different values of a domain; ``people`` are the candidate tags for persons."""
    match domain:
        case "person":
            return [Value(tag, (tag[1:-1],)) for tag in dice.sample(people, number)]
        case "pages" | "people" | "machines" | "euros":
            return [
                Value(str(drawn), (str(drawn), in_words(drawn, link=" ", dash=" ")))
                for drawn in dice.sample(range(*_NUMBERS[domain]), number)
            ]
        case "date":
            # Dates within two months are plausible alternatives.
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


def make_point(speech: Speech, subject: Subject, type_: str, changes: int) -> MeetingPoint:
    """Draw a point; the chosen value is independent of everything else."""
    cast = speech.cast
    kind = speech.pick([kind for kind in kinds() if kind.type == type_ and subject.group in kind.classes])
    leader = cast.present[0] if speech.chance(0.75) else speech.other(cast.present[0])
    speakers = tuple(speech.people(CANDIDATES, leader))
    # A speaker in the passage is not among its values.
    people = [
        person
        for person in (*cast.present, *cast.absent)
        if person not in (*speakers, leader, cast.present[0])
    ]
    values = tuple(draw_values(kind.domain, CANDIDATES, speech, people))
    # Only decisions have reasons; a fault has causes.
    reasons = (
        tuple(speech.sample(items(FILE, "reasons"), CANDIDATES))
        if not kind.found and speech.chance(0.45)
        else ()
    )
    course = [speech.below(CANDIDATES)]
    for _ in range(changes):
        # Drawing backwards makes each value equally likely to be the last one.
        course.insert(0, (course[0] + speech.whole(1, CANDIDATES - 1)) % CANDIDATES)
    return MeetingPoint(subject, kind, values, speakers, reasons, leader, tuple(course))


def topic(speech: Speech, point: MeetingPoint) -> str:
    """Return the clause that names a point."""
    text = speech.plain(f"ask.{point.kind.name}", 0, s=point.subject.text)
    return text[0].lower() + text[1:]


def asked(speech: Speech, point: MeetingPoint, *, follow_up: bool) -> str:
    """Return the question about a point, phrased to stand alone or as a follow-up on the same subject."""
    text = speech.plain(f"ask.{point.kind.name}", 2 if follow_up else 1, s=point.subject.text)
    return text.replace(JOINED, " ")


def discuss(speech: Speech, point: MeetingPoint, brief: bool = False) -> Lines:
    """Return the passage that settles a point for the first time; ``brief`` omits most asides."""
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


def _settle(speech: Speech, point: MeetingPoint, step: int) -> Lines:
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


def change(speech: Speech, point: MeetingPoint, step: int) -> Lines:
    """Return the passage in which the meeting changes its decision about a point."""
    opener = speech.other(point.leader)
    why = "again.find" if point.kind.found else "again.decide"
    sentences = speech.sentence("again", topic=topic(speech, point)), speech.sentence(why)
    return turn(opener, *sentences) + _settle(speech, point, step)


def keep(speech: Speech, point: MeetingPoint) -> Lines:
    """Return an exchange that confirms a settled point."""
    return speech.exchange("keep", *speech.people(2, point.leader), topic=topic(speech, point))


def stale(speech: Speech, point: MeetingPoint) -> Lines:
    """Return an exchange in which outdated notes mention a value that was not chosen in the end."""
    value = speech.pick([value for value in point.values if value != point.answer])
    # People do not refer to themselves by name.
    people = speech.people(2, point.leader, *(one.text for one in point.values))
    return speech.exchange("stale", *people, v=value.text, topic=topic(speech, point))
