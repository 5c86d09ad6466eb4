"""Generate the talk between the points covered by questions, including other points."""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from long_context_tasks.synthetic.meeting.points import (
    TYPES,
    Lines,
    MeetingPoint,
    Subject,
    change,
    discuss,
    draw_subject,
    make_point,
)
from long_context_tasks.synthetic.meeting.speech import Cast, Speech, turn
from long_context_tasks.synthetic.wording import Dice

_ROOM_FOR_POINT = 330  # tokens
_TAGS = 24  # numbers used for tags


class Talk:
    """Generate reports on successive subjects, questions about them, asides, and points without a question."""

    def __init__(self, seed: int, num_tokens: int, count: Callable[[Sequence[str]], int]) -> None:
        random = Random(seed).random
        self.speech = Speech(_make_cast(Dice(random), num_tokens), random)
        self.count = count  # counts the tokens of lines
        # Subjects of the points covered by questions; other points reuse their nouns with other projects.
        self.reserved: list[Subject] = []
        self._pending: deque[MeetingPoint] = deque()
        self._subject: Subject | None = None

    def new_subject(self, alike: float = 0.0) -> Subject:
        """Draw a subject that is not reserved, with probability ``alike`` one with a reserved noun."""
        while True:
            like = self.speech.pick(self.reserved) if self.reserved and self.speech.chance(alike) else None
            subject = draw_subject(self.speech, self.speech.cast.projects, like)
            if subject not in self.reserved:
                return subject

    def more(self, room: float, last: str) -> Lines:
        """Return at most ``room`` tokens of lines that settle no point with a question; none if nothing fits."""
        if room > _ROOM_FOR_POINT and self.speech.chance(0.1):
            return self._other_point()
        lines = self._chat(room, last)
        cut = False
        # A question needs room for its answer.
        while lines and (self.count(lines) > room or (cut and "?" in lines[-1])):
            lines.pop()
            cut = True
        return lines

    def _other_point(self) -> Lines:
        """Return a passage about a point that no question covers; it, too, may be revised later."""
        speech = self.speech
        # Other points change too, so that a change does not mark the points covered by questions.
        if self._pending and speech.chance(0.5):
            return change(speech, self._pending.popleft(), 1)
        changes = 1 if speech.chance(0.35) else 0
        point = make_point(speech, self.new_subject(0.3), speech.pick(TYPES), changes)
        if changes:
            self._pending.append(point)
        return discuss(speech, point)

    def opening(self) -> Lines:
        return self.speech.exchange("hello", *self.speech.people(2))

    def closing(self) -> Lines:
        return self.speech.exchange("bye", *self.speech.people(2))

    def _chat(self, room: float, last: str) -> Lines:
        speech, roll = self.speech, self.speech.random()
        if roll < 0.15:
            return speech.exchange("aside", *speech.people(2, last))
        chair = speech.cast.present[0] if last != speech.cast.present[0] else speech.other(last)
        one, other = speech.people(2, chair, last)
        lines: Lines = []
        if self._subject is None or roll < 0.55:
            self._subject = self.new_subject()
            lines += turn(chair, speech.sentence("item", s=self._subject.text, a=one))
        speech.avoided = (one,)
        reports = [
            speech.sentence(
                f"{self._subject.group}.report", s=self._subject.short if place else self._subject.text
            )
            for place in range(1 + int(speech.random() ** 2 * min(4, room / 40)))
        ]
        speech.avoided = ()
        lines += turn(one, *reports)
        for _ in range(speech.below(4)):
            name = "more" if speech.chance(0.25) else f"{self._subject.group}.more"
            lines += speech.exchange(name, other, one)
            other = speech.other(one) if speech.chance(0.3) else other
        return lines + (turn(other, speech.sentence("back")) if speech.chance(0.5) else [])


def _make_cast(dice: Dice, num_tokens: int) -> Cast:
    def tags(name: str, number: int, among: int) -> tuple[str, ...]:
        return tuple(f"[{name}{drawn}]" for drawn in dice.sample(range(1, among + 1), number))

    present = dice.whole(7, 9)
    people = tags("PERSON", present + 9, _TAGS)
    projects = min(dice.whole(6, 9) + num_tokens // 10_000, 60)
    return Cast(
        present=people[:present],
        absent=people[present:],
        projects=tags("PROJECT", projects, max(12, projects)),
        organizations=tags("ORGANIZATION", 7, 12),
        locations=tags("LOCATION", 6, 10),
    )
