"""Passages of meetings: those that settle a point, and what else is said around them.

Four people bring up a value each, in words that do not tell which one will be taken. What is taken is then said without
naming it: by who brought it up, by what spoke for it, by leaving out the others, or by its place. So nothing around a value
tells whether it is the answer (not its place, not how often it is named, not the words beside it); only who follows the talk
knows. Later the meeting may come back to a point and settle it otherwise.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from long_context_tasks.synthetic.meeting.speech import Speech, turn
from long_context_tasks.synthetic.meeting.world import (
    FILE,
    TYPES,
    Kind,
    Subject,
    Value,
    draw_subject,
    draw_values,
    kinds_of,
    make_subject,
)
from long_context_tasks.synthetic.wording import words

CANDIDATES = 4
_ORDINALS = ("first", "second", "third", "last")


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


@dataclass
class Block:
    """Lines that stand together.

    Attributes:
        lines: without line breaks.
        marks: name to the place of a line: ``0`` ... ``3`` bring up a value, ``settled`` takes one.
    """

    lines: list[str] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)

    def say(self, speaker: str, *sentences: str, mark: str | None = None) -> None:
        """Add a turn; a mark stands for its last line."""
        self.lines += turn(speaker, *sentences)
        if mark is not None:
            self.marks[mark] = len(self.lines) - 1


def make_point(speech: Speech, subject: Subject, kind: Kind, changes: int) -> Point:
    """Draw values, people and the course of a point; what is taken does not depend on anything else."""
    cast = speech.cast
    leader = cast.present[0] if speech.chance(0.75) else speech.others(cast.present[0])
    speakers = tuple(speech.people(CANDIDATES, leader))
    people = [one for one in (*cast.present, *cast.absent) if one not in (*speakers, leader, cast.present[0])]
    values = tuple(draw_values(kind.domain, CANDIDATES, speech, people))
    reasons: tuple[str, ...] = ()
    if speech.chance(0.45):
        reasons = tuple(speech.sample(words(FILE, "reason"), CANDIDATES))
    course = [speech.below(CANDIDATES)]
    for _ in range(changes):
        # Drawn backwards: the last one is as likely to be any, whatever was taken before it.
        course.insert(0, (course[0] + speech.whole(1, CANDIDATES - 1)) % CANDIDATES)
    return Point(subject, kind, values, speakers, reasons, leader, tuple(course))


def fields(subject: Subject) -> dict[str, str]:
    """Return the fields of a plan that speak of a subject."""
    they, them, verb = ("they", "them", "are") if subject.plural else ("it", "it", "is")
    return {"s": subject.text, "they": they, "them": them, "is": verb}


def topic(speech: Speech, point: Point) -> str:
    """Return the clause that names what is to be settled."""
    text = speech.plain(f"{point.kind.name}.topic", **fields(point.subject))
    return text[0].lower() + text[1:]


def discuss(speech: Speech, point: Point, brief: bool = False) -> Block:
    """Return the passage in which a point comes up and is settled for the first time."""
    block = Block()
    values = [value.text for value in point.values]
    # Whoever is spoken to in between is nobody whom the point is about.
    speech.avoided = (*values, *point.speakers, point.leader)
    block.say(point.leader, speech.sentence("open", topic=topic(speech, point)))
    for place in range(CANDIDATES):
        speaker = point.speakers[place]
        if not brief and speech.chance(0.3):
            block.say(_bystander(speech, point), speech.sentence("back"))
        _bring_up(speech, block, point, place)
        if speech.chance(0.1 if brief else 0.22):
            asker = _bystander(speech, point)
            block.say(asker, speech.sentence("echo", v=values[place]))
            block.say(speaker, speech.sentence("echo.yes"))
        elif not brief and speech.chance(0.25):
            block.say(_bystander(speech, point), speech.sentence("doubt"))
        if not brief and speech.chance(0.12):
            first, second = _bystander(speech, point), point.leader
            block.say(first, speech.sentence("tech"))
            block.say(second, speech.sentence("back"))
    _settle(speech, block, point, 0)
    speech.avoided = ()
    return block


def _bystander(speech: Speech, point: Point) -> str:
    """Choose somebody who has no part in the point, or else its leader."""
    free = [one for one in speech.cast.present if one not in point.speakers and one != point.leader]
    return speech.pick(free) if free else point.leader


def _bring_up(speech: Speech, block: Block, point: Point, place: int) -> None:
    said = speech.plain(f"{point.kind.domain}.say", v=point.values[place].text)
    if point.reasons:
        why = speech.plain("reason.say", r=point.reasons[place])
        said = f"{said[:-1]}, {why[0].lower()}{why[1:]}{said[-1]}"
    text = speech.spoken(said)
    if speech.chance(0.18):
        before = speech.sentence("back" if speech.chance(0.6) else "doubt")
        block.say(point.speakers[place], before, text, mark=str(place))
    else:
        block.say(point.speakers[place], text, mark=str(place))


def _settle(speech: Speech, block: Block, point: Point, step: int) -> None:
    chosen = point.course[step]
    others = speech.shuffled([place for place in range(CANDIDATES) if place != chosen])
    roll = speech.random()
    if point.reasons and roll < 0.4:
        way, values = "reason", {"r": point.reasons[chosen]}
    elif roll < 0.75:
        way, values = "speaker", {"p": point.speakers[chosen]}
    elif roll < 0.94:
        way, values = "not", dict(zip("pqx", (point.speakers[one] for one in others), strict=True))
    else:
        way, values = "order", {"ord": _ORDINALS[chosen]}
    manner = "find" if point.kind.found else "change" if step else "decide"
    block.say(point.leader, speech.sentence(f"{manner}.{way}", **values), mark="settled")
    if speech.chance(0.7):
        block.say(speech.others(point.leader), speech.sentence("agree"))


def change(speech: Speech, point: Point, step: int) -> Block:
    """Return the passage in which the meeting comes back to a point and takes another value."""
    block = Block()
    speech.avoided = tuple(value.text for value in point.values)
    opener = speech.others(point.leader)
    why = "change.why.find" if point.kind.found else "change.why"
    block.say(
        opener,
        speech.sentence("change.open", topic=topic(speech, point)),
        *([speech.sentence(why)] if speech.chance(0.5) else []),
    )
    if len(block.lines) == 1:
        block.say(speech.others(opener), speech.sentence("back" if speech.chance(0.5) else "doubt"))
        block.say(opener, speech.sentence(why))
    _settle(speech, block, point, step)
    speech.avoided = ()
    return block


def keep(speech: Speech, point: Point) -> Block:
    """Let somebody ask whether a settled point stands; it does."""
    block = Block()
    asker = speech.others(point.leader)
    block.say(asker, speech.sentence("keep.open", topic=topic(speech, point)))
    block.say(speech.others(asker), speech.sentence("keep.no"))
    return block


def stale(speech: Speech, point: Point) -> Block:
    """Let somebody read a value that was not taken from notes that are out of date."""
    block = Block()
    value = speech.pick([one for one in point.values if one != point.answer])
    reader = speech.others(point.leader)
    block.say(reader, speech.sentence("stale", v=value.text, s=point.subject.text))
    block.say(speech.others(reader), speech.sentence("stale.no"))
    return block


_LITTLE, _MUCH = 60, 330  # tokens: less is room for a word or two, more for a point of its own


class Talk:
    """Goes on talking for as long as it is asked.

    Attributes:
        reserved: subjects that only the points that are asked about may have.
        asked_nouns: class and place of their nouns, which come again with other projects.
    """

    def __init__(self, speech: Speech, count: Callable[[Sequence[str]], int]) -> None:
        """Talk with this voice; ``count`` counts the tokens of lines."""
        self.speech = speech
        self.count = count
        self.reserved: set[str] = set()
        self.asked_nouns: list[tuple[str, int]] = []
        self.taken: set[tuple[str, str]] = set()
        self.pending: deque[Point] = deque()

    def another_point(self) -> Point:
        """Draw a point without a question: often of a noun that is asked about, in another project."""
        speech, projects = self.speech, self.speech.cast.projects
        for _ in range(30):
            if self.asked_nouns and speech.chance(0.3):
                noun = speech.pick(self.asked_nouns)
                subject = make_subject(*noun, speech.pick(projects))
            else:
                subject, noun = draw_subject(speech, projects)
            kind = speech.pick(kinds_of(speech.pick(TYPES), subject.group))
            if subject.text not in self.reserved and (subject.text, kind.name) not in self.taken:
                break
        else:
            while subject.text in self.reserved:
                subject = make_subject(*noun, speech.pick(projects))
        self.taken.add((subject.text, kind.name))
        return make_point(speech, subject, kind, 1 if speech.chance(0.35) else 0)

    def other(self, room: float) -> list[str]:
        """Write something that is not asked about, of about as many tokens as there is room for, or less."""
        roll = self.speech.random()
        if room < _LITTLE:
            lines = self._questions() if room > _LITTLE - 20 else self.turns("back", 2)
            return lines if self.count(lines) <= room else self.turns("back", 1)
        if room > _MUCH and roll < 0.13:
            return self._settle_something()
        if room > 2 * _LITTLE and roll < 0.19:
            return self._next_item()
        if roll < 0.52:
            return self._monologue(room)
        if roll < 0.72:
            return self._questions()
        return self._interrupted() if roll < 0.82 else self._aside()

    def _settle_something(self) -> list[str]:
        """Write a passage of a point without a question; some are changed later, as those with one."""
        if self.pending and self.speech.chance(0.5):
            return change(self.speech, self.pending.popleft(), 1).lines
        point = self.another_point()
        if len(point.course) > 1:
            self.pending.append(point)
        return discuss(self.speech, point).lines

    def _next_item(self) -> list[str]:
        speech = self.speech
        item, _ = draw_subject(speech, speech.cast.projects)
        speech.new_item()
        return turn(speech.cast.present[0], speech.sentence("item", s=item.text))

    def _say(self, speaker: str, *names: str) -> list[str]:
        """Return a turn of sentences from these lists, in which no speaker names himself."""
        self.speech.avoided = (speaker,)
        lines = turn(speaker, *(self.speech.sentence(name) for name in names))
        self.speech.avoided = ()
        return lines

    def turns(self, name: str, number: int) -> list[str]:
        """Write turns of different people."""
        return [line for speaker in self.speech.people(number) for line in self._say(speaker, name)]

    def _monologue(self, room: float) -> list[str]:
        speech = self.speech
        speaker = speech.others()
        names: list[str] = []
        for _ in range(1 + int(speech.random() ** 1.3 * min(11, room / 30))):
            names += ["tiny"] if names and speech.chance(0.12) else []
            names.append("report" if speech.chance(0.5) else "think")
        lines = self._say(speaker, *names)
        return lines + self._say(speech.others(speaker), "back") if speech.chance(0.45) else lines

    def _questions(self) -> list[str]:
        speech = self.speech
        one, other = speech.people(2)
        lines: list[str] = []
        for _ in range(speech.whole(1, 2)):
            lines += self._say(one, *(["tiny"] if speech.chance(0.25) else []), "ask")
            more = ["report"] if speech.chance(0.3) else ["think"] if speech.chance(0.3) else []
            lines += self._say(other, "answer", *more)
            lines += self._say(one, "back") if speech.chance(0.4) else []
        return lines

    def _interrupted(self) -> list[str]:
        """Let somebody be cut short, who may go on afterwards."""
        speech = self.speech
        one, other = speech.people(2)
        begun = speech.plain("unfinished" if speech.chance(0.6) else "start")
        lines = turn(one, f"{speech.spoken(begun.rstrip('.'))}-" if speech.chance(0.6) else f"{begun} -.")
        lines += self._say(other, speech.pick(("tech", "back", "joining", "ask")))
        return lines + self._say(one, "back", "report") if speech.chance(0.6) else lines

    def _aside(self) -> list[str]:
        speech = self.speech
        name = speech.pick(("digress", "digress", "tech", "joining", "away"))
        one, other = speech.people(2)
        lines = self._say(one, name)
        lines += self._say(other, name if speech.chance(0.55) else "back")
        more = "digress" if name == "digress" else "tiny"
        return lines + self._say(one, more) if speech.chance(0.3) else lines
