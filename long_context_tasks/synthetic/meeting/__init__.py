"""Generate meeting transcripts of any length in ELITR-Bench's format, with questions and known answers.

Between the decisions covered by questions the talk continues: other decisions of the same kinds are made, and
people report, ask and digress. :mod:`.points` writes the decisions, and :mod:`.talk` everything else.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.meeting.points import (
    TYPES,
    Lines,
    MeetingPoint,
    asked,
    change,
    discuss,
    keep,
    make_point,
    stale,
)
from long_context_tasks.synthetic.meeting.speech import JOINED, last_speaker, turn
from long_context_tasks.synthetic.meeting.talk import Talk
from long_context_tasks.synthetic.wording import capital, stream
from long_context_tasks.tokens import CL100K, get_tokenizer

# Answer position: in the first, second or last third, or in several places; named as in ELITR-Bench.
POSITIONS = ("B", "M", "E", "S")
SHORTEST = 700  # tokens of a transcript with room for one point

Tokens = int | Callable[[Sequence["MeetingQuestion"]], int]
_DRAFTS = 12
_GAP = 30  # maximum unused tokens before a passage
_SMALL = 8  # maximum unused tokens at the end


@dataclass(frozen=True)
class MeetingQuestion:
    type: str  # who, what, when or howmany
    position: str  # B, M, E or S; see POSITIONS
    text: str  # standalone wording
    # Wording as a follow-up to the previous question; None if that has another subject.
    follow_up: str | None
    answer: str  # the gold answer
    options: tuple[str, ...]  # the values proposed, in random order, including the answer
    right: int  # index of the answer in options
    forms: tuple[tuple[str, ...], ...]  # for each option, the accepted ways to state it


@dataclass(frozen=True)
class SyntheticMeeting:
    id: str  # equal for equal seeds
    # Separately counted parts of the transcript; each but the last ends in a line break.
    passages: tuple[str, ...]
    questions: tuple[MeetingQuestion, ...]  # in conversation order
    num_tokens: int  # tokens of the transcript including line breaks

    @property
    def transcript(self) -> str:
        return "".join(self.passages)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.transcript.split("\n"))


def write_meeting(
    seed: int,
    num_tokens: Tokens,
    num_questions: int,
    *,
    first: int = 0,
    count: Callable[[str], int] | None = None,
) -> SyntheticMeeting:
    """Generate a meeting of at most, and only slightly under, ``num_tokens`` tokens.

    Args:
        seed: any integer; equal seeds give equal meetings on every machine and Python version.
        num_tokens: tokens of the transcript, or a function that computes them from the questions, whose
            prompt needs room too.
        num_questions: number of questions; a meeting needs 350 tokens for each.
        first: number of the first question in a series of meetings, over which types and positions alternate.
        count: returns a text's token count; by default with cl100k.
    """
    rough = num_tokens if isinstance(num_tokens, int) else num_tokens(())
    if num_questions < 1:
        raise InputError(f"a meeting with {num_questions} questions cannot be written: ask for at least 1")
    least = max(SHORTEST, 350 * num_questions)
    if rough < least:
        raise InputError(
            f"a meeting of {rough} tokens is too short for {num_questions} questions: give it {least} or more"
        )
    tokens = count or get_tokenizer(CL100K).count

    def size(lines: Sequence[str]) -> int:
        return tokens(_text(lines))

    # Long passages may leave no room for the last ones; another draft is then tried.
    for draft in range(_DRAFTS):
        writer = _MeetingWriter(
            Talk(stream(seed, f"meeting {draft}"), rough, size), num_questions, first, rough
        )
        total = rough if isinstance(num_tokens, int) else num_tokens(writer.questions)
        passages = [_text(lines) for lines in writer.write(total) if lines]
        placed = (
            writer.used <= total
            and [question.position for question in writer.questions] == writer.positions()
        )
        if placed or (draft >= _DRAFTS // 2 and writer.used <= total):
            break
    else:
        raise InputError(
            f"seed {seed}: no meeting of {total} tokens has room for its questions; ask for more tokens"
        )
    questions = zip(writer.questions, writer.positions(), strict=True)
    return SyntheticMeeting(
        id=f"synthetic-meeting-{seed}",
        passages=(*passages[:-1], passages[-1].removesuffix("\n")),
        questions=tuple(replace(question, position=position) for question, position in questions),
        num_tokens=writer.used,
    )


def _text(lines: Sequence[str]) -> str:
    return "".join([f"{line}\n" for line in lines])


class _MeetingWriter:
    """A draft of a meeting: its questions, and the passages that settle each point, in order."""

    def __init__(self, talk: Talk, number: int, first: int, num_tokens: int) -> None:
        self.talk, self.speech = talk, talk.speech
        self.used = 0
        self.last = ""
        self.points: list[MeetingPoint] = []
        self.passages: list[list[Lines]] = []
        self.questions: list[MeetingQuestion] = []
        self.spans: dict[int, tuple[int, int]] = {}
        speech = self.speech
        for place in range(first, first + number):
            # Neighbouring questions form pairs about one subject.
            follows = (place - first) % 2 == 1
            if not follows:
                talk.reserved.append(talk.new_subject())
            # The shift after every four questions gives every type every position.
            position = POSITIONS[(place + place // 4) % 4]
            # An answer in several places needs a change; others may have one if there is room.
            changes = 1 if position == "S" or (num_tokens >= 1600 and speech.chance(0.4)) else 0
            point = make_point(speech, talk.reserved[-1], TYPES[place % 4], changes)
            self.points.append(point)
            self.passages.append(
                [
                    discuss(speech, point, num_tokens < 3000),
                    *(change(speech, point, 1) for _ in range(changes)),
                ]
            )
            self.questions.append(self._question(point, position, follows))

    def _question(self, point: MeetingPoint, position: str, follows: bool) -> MeetingQuestion:
        options = self.speech.shuffled(point.values)
        return MeetingQuestion(
            type=point.kind.type,
            position=position,
            text=asked(self.speech, point, follow_up=False),
            follow_up=asked(self.speech, point, follow_up=True) if follows else None,
            answer=capital(point.answer.text.replace(JOINED, " ")),
            options=tuple(option.text.replace(JOINED, " ") for option in options),
            right=options.index(point.answer),
            forms=tuple(option.forms for option in options),
        )

    def write(self, total: int) -> Iterator[Lines]:
        """Yield the points' passages at their positions, with other talk in between."""
        yield self._said(self.talk.opening())
        closing = self.talk.closing()
        for start, passage in self._plan(total, self.talk.count(closing) + _SMALL):
            yield from self._talk_until(start, _GAP)
            before = self.used
            yield self._said(passage)
            self.spans[id(passage)] = before, self.used
        end = total - self.talk.count(closing)
        # The farewell is omitted if the last passages were too long.
        closing, end = (closing, end) if end >= self.used else ([], total)
        yield from self._talk_until(end, _SMALL)
        yield self._said(closing)

    def _said(self, lines: Lines) -> Lines:
        lines = self._after_another(lines)
        # Passages are counted one by one: their sum is an upper bound for the transcript.
        self.used += self.talk.count(lines)
        self.last = last_speaker(lines) or self.last
        return lines

    def _after_another(self, lines: Lines) -> Lines:
        """Return lines, preceded by a word from someone else if the last speaker would answer themselves."""
        if not lines or last_speaker(lines[:1]) != self.last:
            return lines
        return [*turn(self.speech.other(self.last), self.speech.sentence("tiny")), *lines]

    def _talk_until(self, end: float, small: int) -> Iterator[Lines]:
        """Yield other talk until at most ``small`` tokens are left."""
        failed = 0
        while (room := end - self.used) > small and failed < 20:
            lines = self._after_another(self.talk.more(room, self.last)) if failed < 3 else []
            if not lines:
                said = self.speech.sentence("back" if room > 12 else "tiny")
                lines = turn(self.speech.other(self.last), said)
            if self.talk.count(lines) > room:
                failed += 1
            else:
                yield self._said(lines)

    def _plan(self, total: int, closing: int) -> list[tuple[float, Lines]]:
        """Return the earliest start of each passage in tokens; gaps within a third are random."""
        speech = self.speech
        thirds: list[list[tuple[float, Lines]]] = [[], [], []]
        for question, passages in zip(self.questions, self.passages, strict=True):
            if question.position == "S":
                early = speech.below(2)
                places = [early, speech.whole(early + 1, 2)]
            else:
                places = [POSITIONS.index(question.position)] * len(passages)
            turns = sorted(speech.random() for _ in passages)
            for place, passage, when in zip(places, passages, turns, strict=True):
                thirds[place].append((when, passage))
        planned: list[tuple[float, Lines]] = []
        for place, mixed in enumerate(thirds):
            passages = [passage for _, passage in sorted(mixed, key=lambda pair: pair[0])]
            behind = list(accumulate(map(self.talk.count, passages), initial=0))
            start = max(self.used, total * place / 3 + _SMALL)
            end = total * (place + 1) / 3 - (closing if place == 2 else _SMALL)
            # Gaps leave room for an exchange that is too long.
            room = max(0.0, end - start - behind[-1] - _GAP)
            cuts = sorted(speech.random() * room for _ in passages)
            planned += zip(
                (start + cut + size for cut, size in zip(cuts, behind, strict=False)), passages, strict=True
            )
        last = {id(passage): start for start, passage in planned}
        later: list[tuple[float, Lines]] = []
        # Short meetings have no room for exchanges that settle nothing.
        if total >= 2500:
            for point, passages in zip(self.points, self.passages, strict=True):
                for make, chance in ((stale, 0.4), (keep, 0.25)):
                    if speech.chance(chance):
                        least = last[id(passages[-1])] + 1
                        start = least + speech.random() * max(0.0, 0.97 * total - least)
                        later.append((start, make(speech, point)))
        return sorted([*planned, *later], key=lambda pair: pair[0])

    def positions(self) -> list[str]:
        """Return each answer's position in the finished meeting: its third by tokens, or "S" for several."""
        found = []
        for passages in self.passages:
            ends = [end for passage in (passages[0], passages[-1]) for end in self.spans[id(passage)]]
            thirds = {min(2, 3 * end // (self.used + 1)) for end in ends}
            found.append(POSITIONS[thirds.pop()] if len(thirds) == 1 else "S")
        return found
