"""Meeting transcripts of any length, in the form of ELITR-Bench, with questions whose answers the writer knows.

A meeting goes from item to item. Around the points that are asked about, it settles others of the same kinds, people report,
ask, digress, come late and have trouble with their microphones. See :mod:`.passages` for how a point is settled.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.meeting.passages import (
    Block,
    Point,
    Talk,
    change,
    discuss,
    fields,
    keep,
    make_point,
    stale,
)
from long_context_tasks.synthetic.meeting.speech import Speech, turn
from long_context_tasks.synthetic.meeting.world import (
    JOINED,
    TYPES,
    Subject,
    draw_subject,
    kinds_of,
    make_cast,
)
from long_context_tasks.synthetic.wording import Dice, stream
from long_context_tasks.tokens import CL100K, get_tokenizer

POSITIONS = ("B", "M", "E", "S")
"""Where an answer stands: in the first, second or last third, or in several places; named as in ELITR-Bench."""
SHORTEST = 700
"""Tokens of the shortest transcript that has room for a point and what stands around it."""

Tokens = int | Callable[[Sequence["MeetingQuestion"]], int]
_DRAFTS = 12
_CLOSING = 28
_ROOM = 70  # tokens left free at the end of a third, so that its last passage does not run into the next


@dataclass(frozen=True)
class MeetingQuestion:
    """A question with its answer.

    Attributes:
        type: who, what, when or howmany.
        position: B, M, E or S, see :data:`POSITIONS`.
        text: as it is asked alone.
        follow_up: as it is asked in a conversation, after the question before it; None where that speaks of something else.
        answer: the gold answer.
        options: the values that people brought up, in random order; the answer is one of them.
        right: its place in ``options``.
        forms: for each option, the ways in which an answer may state it.
    """

    type: str
    position: str
    text: str
    follow_up: str | None
    answer: str
    options: tuple[str, ...]
    right: int
    forms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Meeting:
    """A transcript with its questions.

    Attributes:
        id: the same for the same seed.
        lines: of the transcript.
        questions: in the order in which a conversation asks them.
        num_tokens: of the transcript, every line with its line break.
    """

    id: str
    lines: tuple[str, ...]
    questions: tuple[MeetingQuestion, ...]
    num_tokens: int

    @property
    def transcript(self) -> str:
        """The text."""
        return "\n".join(self.lines)


@dataclass
class _Asked:
    point: Point
    position: str
    blocks: list[Block]
    question: MeetingQuestion


def write_meeting(
    seed: int,
    num_tokens: Tokens,
    num_questions: int,
    *,
    first: int = 0,
    count: Callable[[str], int] | None = None,
) -> Meeting:
    """Write a meeting of at most ``num_tokens`` tokens and few less.

    Args:
        seed: any integer; the same meeting for the same seed on every machine and Python version.
        num_tokens: of the transcript, or a function from the questions to it, for who needs room for these too.
        num_questions: how many questions it has; 250 tokens each are the least.
        first: number of its first question in a series of meetings: types and positions take turns over the series.
        count: tokens of a text; without it those of cl100k.

    Raises:
        InputError: too few tokens for the questions.
    """
    rough = num_tokens if isinstance(num_tokens, int) else num_tokens(())
    _check(rough, num_questions)
    count = count or get_tokenizer(CL100K).count
    # Passages that happen to be long may not leave room for the last ones; then another draft is written.
    for draft in range(_DRAFTS):
        random = Random(stream(seed, f"meeting {draft}")).random
        writer = _Writer(Speech(make_cast(Dice(random), rough), random), count)
        asked = writer.ask(num_questions, first, rough)
        total = rough if isinstance(num_tokens, int) else num_tokens([one.question for one in asked])
        lines = list(writer.write(asked, total))
        placed = writer.used <= total and all(writer.position(one) == one.position for one in asked)
        if placed or (draft >= _DRAFTS // 2 and writer.used <= total):
            break
    else:
        raise InputError(
            f"seed {seed}: no meeting of {total} tokens has room for its questions; ask for more tokens"
        )
    return Meeting(
        id=f"synthetic-meeting-{seed}",
        lines=tuple(lines),
        questions=tuple(replace(one.question, position=writer.position(one)) for one in asked),
        num_tokens=writer.used,
    )


def _check(num_tokens: int, num_questions: int) -> None:
    if num_questions < 1:
        raise InputError(f"a meeting with {num_questions} questions cannot be written: ask for at least 1")
    least = max(SHORTEST, 350 * num_questions)
    if num_tokens < least:
        raise InputError(
            f"a meeting of {num_tokens} tokens is too short for {num_questions} questions: give it {least} or more"
        )


class _Writer:
    def __init__(self, speech: Speech, count: Callable[[str], int]) -> None:
        self.speech = speech
        self.count = count
        self.used = 0
        self.talk = Talk(speech, self._tokens)
        self.starts: dict[int, int] = {}

    def ask(self, number: int, first: int, num_tokens: int) -> list[_Asked]:
        """Draw the points that are asked about; two questions that follow each other are about one subject."""
        speech = self.speech
        brief = num_tokens < 3000
        asked: list[_Asked] = []
        subject: Subject | None = None
        for place in range(number):
            turn_of = first + place
            kind_type = TYPES[turn_of % 4]
            position = POSITIONS[(turn_of + turn_of // 4) % 4]
            follows = place % 2 == 1 and subject is not None
            if not follows or subject is None:
                subject = self._new_subject()
                self.talk.reserved.add(subject.text)
            kind = speech.pick(kinds_of(kind_type, subject.group))
            # In one third a point may be changed too, where there is room; in several places it always is.
            changes = 1 if position == "S" or (num_tokens >= 1600 and speech.chance(0.4)) else 0
            point = make_point(speech, subject, kind, changes)
            blocks = [discuss(speech, point, brief)]
            blocks += [change(speech, point, step) for step in range(1, changes + 1)]
            asked.append(_Asked(point, position, blocks, self._question(point, position, follows)))
        return asked

    def _new_subject(self) -> Subject:
        """Return a subject that no point that is asked about has; its noun may come again with another project."""
        while True:
            subject, noun = draw_subject(self.speech, self.speech.cast.projects)
            if subject.text not in self.talk.reserved:
                self.talk.asked_nouns.append(noun)
                return subject

    def _question(self, point: Point, position: str, follows: bool) -> MeetingQuestion:
        speech = self.speech
        about = fields(point.subject)
        name = point.kind.name
        text = speech.plain(f"{name}.ask", **about)
        follow = speech.plain(f"{name}.follow", **about) if follows else None
        answer = speech.plain(f"{point.kind.domain}.answer", v=point.answer.text)
        options = speech.shuffled(point.values)
        return MeetingQuestion(
            type=point.kind.type,
            position=position,
            text=text.replace(JOINED, " "),
            follow_up=follow and follow.replace(JOINED, " "),
            answer=answer.replace(JOINED, " "),
            options=tuple(one.text.replace(JOINED, " ") for one in options),
            right=options.index(point.answer),
            forms=tuple(one.forms for one in options),
        )

    def write(self, asked: Sequence[_Asked], total: int) -> Iterator[str]:
        """Yield the lines: passages of the points at their places, other talk between them."""
        self.speech.new_item()
        opening = self.talk.turns("welcome", 2)
        yield from self._emit(opening)
        for start, block in self._plan(asked, total):
            yield from self._fill_up(start)
            self.starts[id(block)] = self.used
            yield from self._emit(block.lines)
        closing: list[str] = []
        for name in ("bye", "bye"):
            closing += turn(self.speech.others(), self.speech.sentence(name))
        end = total - self._tokens(closing)
        if end - self.used < 0:
            closing, end = [], total
        yield from self._fill_up(end)
        yield from self._fill_exactly(end)
        yield from self._emit(closing)

    def _tokens(self, lines: Sequence[str]) -> int:
        return self.count("".join(f"{line}\n" for line in lines))

    def _emit(self, lines: list[str]) -> list[str]:
        self.used += self._tokens(lines)
        return lines

    def _plan(self, asked: Sequence[_Asked], total: int) -> list[tuple[float, Block]]:
        """Return where each passage begins, in tokens; those of a third have chance gaps between them."""
        random = self.speech.random
        thirds: list[list[Block]] = [[], [], []]
        for one in asked:
            if one.position == "S":
                early = self.speech.below(2)
                late = self.speech.whole(early + 1, 2)
                thirds[early].append(one.blocks[0])
                thirds[late] += one.blocks[1:]
            else:
                thirds[POSITIONS.index(one.position)] += one.blocks
        follows = {
            id(later): before
            for one in asked
            for before, later in zip(one.blocks, one.blocks[1:], strict=False)
        }
        extra: list[tuple[float, Block]] = []
        planned: list[tuple[float, Block]] = []
        for third, mixed in enumerate(thirds):
            blocks = _in_order(self.speech.shuffled(mixed), follows)
            sizes = [self._tokens(block.lines) for block in blocks]
            start = max(self.used if not third else 0, total * third / 3 + (8 if third else 0))
            end = total * (third + 1) / 3 - (_CLOSING if third == 2 else 8)
            slack = max(0.0, end - start - sum(sizes))
            room = max(0.0, slack - _ROOM) if slack > 2 * _ROOM else 0.0
            cuts = sorted(random() * room for _ in blocks)
            behind = 0
            for cut, size, block in zip(cuts, sizes, blocks, strict=True):
                planned.append((start + cut + behind, block))
                behind += size
        if total >= 2500:
            last = {
                id(one): max(at for at, block in planned if any(block is own for own in one.blocks))
                for one in asked
            }
            for one in asked:
                for make, chance in ((stale, 0.4), (keep, 0.25)):
                    if self.speech.chance(chance):
                        at = last[id(one)] + 1 + random() * max(0.0, 0.97 * total - 1 - last[id(one)])
                        extra.append((at, make(self.speech, one.point)))
        return sorted([*planned, *extra], key=lambda pair: pair[0])

    def _fill_up(self, until: float) -> Iterator[str]:
        """Yield other talk, until the next passage may begin."""
        while (room := until - self.used) > 30:
            lines = self.talk.other(room)
            # What is too long is left unsaid; the next passage has its place.
            yield from self._emit(lines if self._tokens(lines) <= room + 12 else self.talk.turns("back", 1))

    def _fill_exactly(self, end: int) -> Iterator[str]:
        for name, tries in (("back", 6), ("tiny", 12)):
            failed = 0
            while failed < tries and end - self.used > 5:
                lines = turn(self.speech.others(), self.speech.sentence(name))
                if self.used + self._tokens(lines) <= end:
                    yield from self._emit(lines)
                else:
                    failed += 1

    def position(self, asked: _Asked) -> str:
        """Return where the lines are that give an answer, once the meeting is written: in one third of its tokens, or in several."""
        first, last = asked.blocks[0], asked.blocks[-1]
        marks = ((first, str(asked.point.course[-1])), (last, "settled"))
        places = [
            self.starts[id(block)] + self._tokens(block.lines[: block.marks[mark]]) for block, mark in marks
        ]
        thirds = {min(2, 3 * place // self.used) for place in places}
        return POSITIONS[thirds.pop()] if len(thirds) == 1 else "S"


def _in_order(blocks: list[Block], follows: dict[int, Block]) -> list[Block]:
    """Return the passages with those of one point in their order."""
    done: list[Block] = []
    for block in blocks:
        chain = [block]
        while (before := follows.get(id(chain[0]))) is not None and any(before is one for one in blocks):
            chain.insert(0, before)
        done += [one for one in chain if not any(one is other for other in done)]
    return done
