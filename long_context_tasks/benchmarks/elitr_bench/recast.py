"""The talk of real meetings around the points that are asked about; people are tags, other names are replaced from a seed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from long_context_tasks.corpora.meetings import MeetingTalk, read_meetings
from long_context_tasks.recast.carriers import recast_texts
from long_context_tasks.recast.entities import PERSON
from long_context_tasks.recast.substitution import Recast
from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.meeting.points import Lines
from long_context_tasks.synthetic.meeting.speech import Cast, turn
from long_context_tasks.synthetic.meeting.talk import Talk
from long_context_tasks.synthetic.vocabulary import Vocabulary

FEWEST = 6
"""People whom a meeting needs, so that a point has four who bring up values, who settles it, and somebody else."""
_MOST = 9  # of them take part in points
_ABSENT = 9
_PIECE = 120  # tokens of real talk between two decisions whether something else is said
_MOST_TURNS = 40  # in one piece
_SENTENCE = re.compile(
    r"(?<=[.?!])(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\b[A-Z]\.) (?=[A-Z<-])"
)
_NAME = re.compile(r"[^\W\d_]{3,}")

Turns = Sequence[tuple[str, str]]


@lru_cache(maxsize=1)
def carriers(folder: Path) -> Sequence[MeetingTalk]:
    """Return the meetings of a folder in which enough people speak.

    Raises:
        InputError: there is none.
    """
    found = [one for one in read_meetings(folder) if len({speaker for speaker, _ in one.turns}) >= FEWEST]
    if not found:
        raise InputError(f"{folder}: in no meeting speak {FEWEST} people or more; put others there")
    return found


class RealTalk(Talk):
    """Goes on with real meetings: from any turn of any of them to its end, then with another one.

    The people who speak most have the same tags in each of them, and only they take part in points.
    """

    def __init__(
        self,
        folder: Path,
        names: int,
        seed: int,
        num_tokens: int,
        count: Callable[[Sequence[str]], int],
    ) -> None:
        """Talk as in the meetings of a folder.

        Args:
            folder: of the carriers.
            names: seed of the replaced names.
            seed: of everything else.
            num_tokens: of the meeting.
            count: returns the tokens of lines.
        """
        random = Random(seed)
        meetings = random.sample(carriers(folder), len(carriers(folder)))
        most = max(len(_speakers(one)) for one in meetings)
        numbers = Random(names).sample(range(1, most + _ABSENT + 1), most + _ABSENT)
        people = [f"[PERSON{one}]" for one in numbers]
        vocabulary = Vocabulary(names)
        cast = Cast(
            present=tuple(people[: min(_MOST, *(len(_speakers(one)) for one in meetings))]),
            absent=tuple(people[most:]),
            projects=tuple(vocabulary.product() for _ in range(8 + num_tokens // 10_000)),
            organizations=(),
            locations=(),
        )
        super().__init__(cast, random.random, count)
        self._turns = _endless(meetings, people, names, random)
        self._left: tuple[str, list[str]] = ("", [])

    def chat(self, room: float) -> Lines:
        """Return the next turns, and of the last one as many sentences as there is room for; what is longer than the room is left out."""
        lines: Lines = []
        for _ in range(_MOST_TURNS):
            speaker, sentences = self._left if self._left[1] else next(self._turns)
            said = 0
            while (
                said < len(sentences) and self.count([*lines, *turn(speaker, *sentences[: said + 1])]) <= room
            ):
                said += 1
            if said:
                lines += turn(speaker, *sentences[:said])
            elif not lines:
                said = 1
            self._left = speaker, sentences[said:]
            if lines and (self._left[1] or self.count(lines) >= _PIECE):
                break
        return lines


def _speakers(meeting: MeetingTalk) -> Mapping[str, int]:
    """Return the speakers with their places: who speaks most is the first."""
    ranked = Counter(speaker for speaker, _ in meeting.turns).most_common()
    return {speaker: place for place, (speaker, _) in enumerate(ranked)}


def _endless(
    meetings: Sequence[MeetingTalk], people: Sequence[str], names: int, random: Random
) -> Iterator[tuple[str, list[str]]]:
    """Yield speakers and sentences: the first meeting from any turn on, then the others from their beginning."""
    start: int | None = random.randrange(len(meetings[0].turns))
    while True:
        for meeting in meetings:
            tags = {speaker: people[place] for speaker, place in _speakers(meeting).items()}
            for speaker, text in list(_recast(meeting, names, tuple(tags.items())))[start:]:
                yield speaker, _SENTENCE.split(text)
            start = None


@lru_cache(maxsize=32)
def _recast(meeting: MeetingTalk, names: int, tags: tuple[tuple[str, str], ...]) -> Turns:
    """Return the turns with other names: those of speakers are their tags."""
    owners: dict[str, set[str]] = {}
    for speaker, tag in tags:
        for word in _NAME.findall(speaker.partition("(")[0]):
            owners.setdefault(word, set()).add(tag)
    known = {word: next(iter(found)) for word, found in owners.items() if len(found) == 1}
    texts = recast_texts([f"{speaker}: {text}" for speaker, text in meeting.turns], names, meeting.id)
    return [
        (dict(tags)[speaker], _tagged(one, known))
        for (speaker, _), one in zip(meeting.turns, texts, strict=True)
    ]


def _tagged(recast: Recast, known: Mapping[str, str]) -> str:
    """Return what is said behind the speaker's name, with tags for the names of those who speak in the meeting."""
    text, at, parts, before = recast.text, recast.text.index(": ") + 2, [], ""
    for span in recast.spans:
        word = _NAME.match(span.original)
        tag = known.get(word[0]) if word and span.kind in PERSON | {"name"} else None
        if span.start < at or tag is None:
            continue
        between = text[at : span.start]
        if not (before == tag and between == " "):
            parts += [between, tag]
        end = re.search(r"['’]s?$", span.original)
        parts.append(end[0] if end else "")
        at, before = span.end, tag
    return "".join(parts) + text[at:]
