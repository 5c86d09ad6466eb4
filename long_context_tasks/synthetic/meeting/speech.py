"""How people talk in meetings: sentence plans filled with names and numbers, then hesitations, repeats and false starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from long_context_tasks.synthetic.numbers import MONTHS, ordinal
from long_context_tasks.synthetic.wording import Plan, Writer, items, repair, without_gaps

FILE = "meeting.txt"
FILES = (FILE, "meeting_talk.txt")
JOINED = "\u00a0"
"""Stands for the spaces inside subjects and values, so that no hesitation falls there; written as a space in the end."""
_BEGIN, _PAUSE, _REPEAT, _RESTART, _NOISE = 0.3, 0.05, 0.08, 0.04, 0.012
_JOINING = ("And", "But", "So")
_NOISES = ("<laugh/>", "<laugh/>", "<unintelligible/>", "<parallel_talk/>", "<other_noise/>")


@dataclass(frozen=True)
class Cast:
    """Who and what a meeting speaks of, people with brackets as in ``[PERSON3]``.

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


class Speech(Writer):
    """Speaks for everybody in one meeting.

    Attributes:
        cast: who and what is spoken of.
        avoided: people who are not named where a plan leaves the person open.
    """

    def __init__(self, cast: Cast, random: Callable[[], float]) -> None:
        """Speak of what the cast has, with these random numbers."""
        super().__init__(random, *FILES)
        self.cast = cast
        self.avoided: Sequence[str] = ()
        self._values: dict[str, str] = {}
        self._decks: dict[str, list[Plan]] = {}

    def plain(self, name: str, line: int | None = None, /, **values: str) -> str:
        """Return a sentence of a list without hesitations, from its lines in turn or from one of them; open fields are drawn."""
        self._values = values
        if line is not None:
            return _tidy(self.written(self.plans[name][line]))
        deck = self._decks.setdefault(name, [])
        deck = self._decks[name] = deck or self.shuffled(self.plans[name])
        return _tidy(self.written(deck.pop()))

    def sentence(self, name: str, **values: str) -> str:
        """Return a sentence of a list as somebody says it."""
        return self.spoken(self.plain(name, **values))

    def exchange(self, name: str, first: str, second: str, **values: str) -> list[str]:
        """Return the lines of a list's plan that two people say in turn."""
        self.avoided, before = (*self.avoided, first, second), self.avoided
        turns = self.plain(name, **values).split(" / ")
        self.avoided = before
        return [
            line
            for text, speaker in zip(turns, (first, second), strict=False)
            for line in turn(speaker, self.spoken(repair(text)))
        ]

    def fill(self, field: tuple[str, str]) -> str:
        """Return the text of a field: what is given or was drawn for this sentence, else something new."""
        if field[0] not in self._values:
            self._values[field[0]] = self._drawn(field[0])
        return self._values[field[0]]

    def _drawn(self, role: str) -> str:
        cast, known = self.cast, self._values
        if role in ("a", "b"):
            taken = (*self.avoided, *known.values())
            return self.pick([person for person in (*cast.present, *cast.absent) if person not in taken])
        drawn: dict[str, Callable[[], str]] = {
            "n": lambda: str(4 + int(self.random() ** 2 * 90)),
            "m": lambda: str(self.whole(2, int(known.get("n", "30")) - 1)),
            "date": lambda: f"the {ordinal(self.whole(1, 28))} of {self.pick(MONTHS)}",
            "time": lambda: f"{self.whole(8, 18)}:{self.pick(('00', '15', '30', '45'))}",
            "org": lambda: self.pick(cast.organizations),
            "loc": lambda: self.pick(cast.locations),
            "project": lambda: self.pick(cast.projects),
        }
        return drawn[role]()

    def spoken(self, text: str) -> str:
        """Add hesitations, repeated words and false starts to a sentence."""
        random, repeated = self.random, items(FILE, "repeated")
        parts = text.split(" ")
        if len(parts) < 3:
            return text.replace(JOINED, " ")
        out: list[str] = []
        for place, word in enumerate(parts):
            if place and random() < _PAUSE:
                out.append(self.pick(items(FILE, "pauses")))
            out.append(word)
            if word.lower() in repeated and random() < _REPEAT:
                out.append(word if place or word == "I" else word.lower())
        if random() < _RESTART and parts[0].isalpha():
            begun = parts[: 2 if parts[1].isalpha() else 1]
            out = [*begun[:-1], f"{begun[-1]}-", _small(out[0]), *out[1:]]
        if random() < _BEGIN and parts[0].lower() in repeated and parts[0] not in _JOINING:
            begin = self.pick(items(FILE, "begin"))
            out = [begin if begin in _JOINING[:2] else f"{begin},", _small(out[0]), *out[1:]]
        if random() < _NOISE:
            out.append(self.pick(_NOISES))
        return " ".join(out).replace(JOINED, " ")

    def people(self, number: int, *without: str) -> list[str]:
        """Choose different people who are there and none of these."""
        return self.sample([person for person in self.cast.present if person not in without], number)

    def other(self, *without: str) -> str:
        """Choose somebody who is there and none of these."""
        return self.people(1, *without)[0]


def _tidy(text: str) -> str:
    """Without the gaps and doubled stops that empty choices leave."""
    return without_gaps(repair(text.strip()), "?.,").replace("..", ".").replace(",.", ".")


def _small(word: str) -> str:
    """Write a word that no longer begins a sentence; "I" and names of days and months keep their capitals."""
    return word if word == "I" or word.endswith("day") or word in MONTHS else word[0].lower() + word[1:]


def last_speaker(lines: Sequence[str]) -> str:
    """Return who says the last of some lines, with brackets; "" if there are none."""
    tags = [line[1 : line.index(")")] for line in lines if line.startswith("(PERSON")]
    return f"[{tags[-1]}]" if tags else ""


def turn(speaker: str, *sentences: str) -> list[str]:
    """Return the lines of a turn: only the first one has the speaker's tag."""
    first, *rest = sentences
    return [f"({speaker[1:-1]}) {first}", *rest]
