"""How people talk in the meetings: sentence plans filled with tags and numbers, then hesitations, repeats and false starts."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from long_context_tasks.synthetic.meeting.world import FILE, JOINED, Cast
from long_context_tasks.synthetic.numbers import ordinal
from long_context_tasks.synthetic.wording import Writer, repair, words

FILES = ("meeting_questions.txt", "meeting_flow.txt", "meeting_talk.txt")
VOICE = "meeting_voice.txt"
_ITEM = {"gadget": 5, "thing": 4, "units": 3}  # how many of each an item has
_PAUSE, _REPEAT, _RESTART, _DROP, _NOISE = 0.045, 0.085, 0.05, 0.03, 0.012


class Speech(Writer):
    """Speaks for everybody in one meeting."""

    def __init__(self, cast: Cast, random: Callable[[], float]) -> None:
        """Speak of what the cast has, with these random numbers."""
        super().__init__(random, *FILES)
        self.cast = cast
        self.values: Mapping[str, str] = {}
        self.avoided: Sequence[str] = ()
        self.used: dict[str, str] = {}
        self.known: dict[str, list[str]] = {}
        self._makers: dict[str, Callable[[], str]] = {
            **{role: partial(self._person, role) for role in "abc"},
            "n": self._number,
            "m": lambda: str(1 + self.below(int(self.used.get("n", "40")))),
            **{role: partial(self._spoken_of, role) for role in ("gadget", "thing", "units")},
            "project": lambda: self.pick(cast.projects),
            "org": lambda: self.pick(cast.organizations),
            "loc": lambda: self.pick(cast.locations),
            "laugh": lambda: self.pick(("<laugh/>", "<laugh/>", "Ha.", "Oh.", "Ah, nice.")),
            "date": lambda: f"the {ordinal(self.whole(1, 28))} of {self.pick(words(FILE, 'month'))}",
            "time": lambda: f"{self.whole(8, 18)}:{self.pick(('00', '15', '30', '45'))}",
        }

    def new_item(self) -> None:
        """Go on to other things: what people work on, and what it is counted in."""
        self.known = {}
        self.known = {role: [self._new(role) for _ in range(size)] for role, size in _ITEM.items()}

    def plain(self, name: str, **values: str) -> str:
        """Return a sentence of a list without hesitations; tags and numbers that are not given are chosen."""
        self.values, self.used = values, {}
        return _tidy(self.say(name))

    def sentence(self, name: str, **values: str) -> str:
        """Return a sentence of a list as somebody says it."""
        return self.spoken(self.plain(name, **values))

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field: what is given, else something new."""
        given = self.values.get(field[0])
        return self._makers[field[0]]() if given is None else given

    def _person(self, role: str) -> str:
        if role not in self.used:
            everybody = (*self.cast.present, *self.cast.absent)
            self.used[role] = self.pick([one for one in everybody if one not in self.avoided])
        return self.used[role]

    def _number(self) -> str:
        self.used["n"] = str(3 + int(self.random() ** 2 * 180))
        return self.used["n"]

    def _spoken_of(self, role: str) -> str:
        """Return something of the item that people are at, or now and then something else."""
        known = self.known.get(role)
        return self.pick(known) if known and self.chance(0.75) else self._new(role)

    def _new(self, role: str) -> str:
        return self.say("gadget.thing" if role == "thing" else role)

    def spoken(self, text: str) -> str:
        """Add hesitations, repeated and dropped words and false starts to a sentence."""
        random = self.random
        parts = text.split(" ")
        if len(parts) < 3:
            return text.replace(JOINED, " ")
        out: list[str] = []
        for place, word in enumerate(parts):
            bare = word.lower().rstrip(",")
            if place and bare in ("the", "a") and random() < _DROP:
                continue
            if place and random() < _PAUSE:
                out.append(self.pick(words(VOICE, "pauses")))
            out.append(word)
            if bare in _repeated() and not word.endswith((".", "?", ",")) and random() < _REPEAT:
                out.append(word if place else _small(word))
        if random() < _RESTART:
            cut = 1 + int(random() * min(3, len(parts) - 1))
            begun = [one for one in parts[:cut] if JOINED not in one and one[0] not in "[{"]
            if begun:
                out = [*begun[:-1], begun[-1].rstrip(",.?") + "-", _small(out[0]), *out[1:]]
        if random() < _NOISE:
            out.append(self.pick(words(VOICE, "noises")))
        return " ".join(out).replace(JOINED, " ")

    def others(self, *without: str) -> str:
        """Choose somebody who is there and none of these."""
        return self.pick([one for one in self.cast.present if one not in without])

    def people(self, number: int, *without: str) -> list[str]:
        """Choose different people who are there and none of these."""
        return self.sample([one for one in self.cast.present if one not in without], number)


def _tidy(text: str) -> str:
    """Without the gaps that empty choices leave, and with the mark that a question has."""
    text = repair(" ".join(text.split(" ")).strip())
    while "  " in text:
        text = text.replace("  ", " ")
    for mark in "?.,":
        text = text.replace(f" {mark}", mark)
    text = text.replace("..", ".")
    return f"{text[:-1]}?" if text.endswith(".") and text.startswith(_asks()) else text


@cache
def _asks() -> tuple[str, ...]:
    # "Has any" begins "Has anybody", too.
    return tuple(begin if begin == "Has any" else f"{begin} " for begin in words(VOICE, "asks"))


@cache
def _repeated() -> frozenset[str]:
    return frozenset(" ".join(words(VOICE, "repeated")).split())


def _small(word: str) -> str:
    """Write a word that no longer begins a sentence; names, "I" and tags keep their capitals."""
    first = word.partition(JOINED)[0].rstrip(",.?")
    if word[0] == "[" or first.partition("'")[0] == "I" or first in _proper():
        return word
    return word[0].lower() + word[1:]


@cache
def _proper() -> frozenset[str]:
    return frozenset(name for part in ("name", "month", "day") for name in words(FILE, part))


def turn(speaker: str, *sentences: str) -> list[str]:
    """Return the lines of a turn: only the first one has the speaker's tag."""
    first, *rest = sentences
    return [f"({speaker[1:-1]}) {first}", *rest]
