"""Generate meeting speech: plans filled with names and numbers, then hesitations, repeats and false starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from long_context_tasks.synthetic.numbers import MONTHS, ordinal
from long_context_tasks.synthetic.wording import Plan, PlanWriter, items, repair, without_gaps

FILE = "meeting.txt"
FILES = (FILE, "meeting_talk.txt")
# Replaces spaces inside subjects and values until the end, so that no hesitation is inserted there.
JOINED = "\u00a0"
_BEGIN, _PAUSE, _REPEAT, _RESTART, _NOISE = 0.3, 0.05, 0.08, 0.04, 0.012
_JOINING = ("And", "But", "So")
_NOISES = ("<laugh/>", "<laugh/>", "<unintelligible/>", "<parallel_talk/>", "<other_noise/>")


@dataclass(frozen=True)
class Cast:
    """The tags of a meeting, with brackets as in ``[PERSON3]``."""

    present: tuple[str, ...]  # speakers; the first one leads the meeting
    absent: tuple[str, ...]  # people who are only mentioned
    # projects, organizations, locations: other names that are mentioned
    projects: tuple[str, ...]
    organizations: tuple[str, ...]
    locations: tuple[str, ...]


class Speech(PlanWriter):
    """Generate the sentences of all people in a meeting."""

    def __init__(self, cast: Cast, random: Callable[[], float]) -> None:
        super().__init__(random, *FILES)
        self.cast = cast
        self.avoided: Sequence[str] = ()  # people not to be named by a plan with an open person
        self._decks: dict[str, list[Plan]] = {}

    def plain(self, name: str, line: int | None = None, /, **values: str) -> str:
        """Return a sentence without hesitations, from a shuffled deck of a list's lines or from one line.

        Fields missing from ``values`` are drawn.
        """
        self.fields = values
        if line is not None:
            return _tidy(self.written(self.plans[name][line]))
        # A deck repeats no plan before all have been used.
        deck = self._decks.setdefault(name, [])
        deck = self._decks[name] = deck or self.shuffled(self.plans[name])
        return _tidy(self.written(deck.pop()))

    def sentence(self, name: str, **values: str) -> str:
        return self.spoken(self.plain(name, **values))

    def exchange(self, name: str, first: str, second: str, **values: str) -> list[str]:
        """Return the lines of a dialogue between two people."""
        self.avoided, before = (*self.avoided, first, second), self.avoided
        turns = self.plain(name, **values).split(" / ")
        self.avoided = before
        return [
            line
            for text, speaker in zip(turns, (first, second), strict=False)
            for line in turn(speaker, self.spoken(repair(text)))
        ]

    def fill(self, role: str, form: str) -> str:
        """Return the text of a field, drawn at its first use in a sentence."""
        text = self.fields[role] = self._drawn(role)
        return text

    def _drawn(self, role: str) -> str:
        cast, known = self.cast, self.fields
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
        # A hesitation would dominate a reply of one or two words.
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
        return self.sample([person for person in self.cast.present if person not in without], number)

    def other(self, *without: str) -> str:
        return self.people(1, *without)[0]


def _tidy(text: str) -> str:
    return without_gaps(repair(text.strip()), "?.,").replace("..", ".").replace(",.", ".")


def _small(word: str) -> str:
    """Lowercase a word, unless it is "I" or the name of a day or month."""
    return word if word == "I" or word.endswith("day") or word in MONTHS else word[0].lower() + word[1:]


def last_speaker(lines: Sequence[str]) -> str:
    """Return the tag of the last speaker, or an empty string."""
    tags = [line[1 : line.index(")")] for line in lines if line.startswith("(PERSON")]
    return f"[{tags[-1]}]" if tags else ""


def turn(speaker: str, *sentences: str) -> list[str]:
    """Return the lines of a turn; only the first has the speaker's tag."""
    first, *rest = sentences
    return [f"({speaker[1:-1]}) {first}", *rest]
