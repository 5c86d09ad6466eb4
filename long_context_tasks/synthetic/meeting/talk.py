"""What else is said in a meeting, around the points that are asked about: other points, reports, questions, digressions."""

from collections import deque
from collections.abc import Callable, Sequence

from long_context_tasks.synthetic.meeting.points import Point, change, discuss, make_point
from long_context_tasks.synthetic.meeting.speech import Speech, turn
from long_context_tasks.synthetic.meeting.world import TYPES, draw_subject, kinds_of, make_subject

__all__ = ["Talk"]

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
        """A point that nobody asks about: often of a noun that is asked about, in another project."""
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
        """Something that is not asked about and has about as many tokens as there is room for, or less."""
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
        """A passage of a point that nobody asks about; some are changed later, as those that are asked about."""
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
        """A turn of sentences from these lists, in which nobody speaks of himself by name."""
        self.speech.avoided = (speaker,)
        lines = turn(speaker, *(self.speech.sentence(name) for name in names))
        self.speech.avoided = ()
        return lines

    def turns(self, name: str, number: int) -> list[str]:
        """Turns of different people."""
        return [line for speaker in self.speech.several(number) for line in self._say(speaker, name)]

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
        one, other = speech.several(2)
        lines: list[str] = []
        for _ in range(speech.whole(1, 2)):
            lines += self._say(one, *(["tiny"] if speech.chance(0.25) else []), "ask")
            more = ["report"] if speech.chance(0.3) else ["think"] if speech.chance(0.3) else []
            lines += self._say(other, "answer", *more)
            lines += self._say(one, "back") if speech.chance(0.4) else []
        return lines

    def _interrupted(self) -> list[str]:
        """Somebody is cut short, and may go on afterwards."""
        speech = self.speech
        one, other = speech.several(2)
        begun = speech.plain("unfinished" if speech.chance(0.6) else "start")
        lines = turn(one, f"{speech.spoken(begun.rstrip('.'))}-" if speech.chance(0.6) else f"{begun} -.")
        lines += self._say(other, speech.pick(("tech", "back", "joining", "ask")))
        return lines + self._say(one, "back", "report") if speech.chance(0.6) else lines

    def _aside(self) -> list[str]:
        speech = self.speech
        name = speech.pick(("digress", "digress", "tech", "joining", "away"))
        one, other = speech.several(2)
        lines = self._say(one, name)
        lines += self._say(other, name if speech.chance(0.55) else "back")
        more = "digress" if name == "digress" else "tiny"
        return lines + self._say(one, more) if speech.chance(0.3) else lines
