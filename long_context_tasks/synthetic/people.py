"""What the small worlds of novels and stories are made of: people, places, things, misdeeds, injuries, and events."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeVar

from long_context_tasks.synthetic.wording import Dice, records, words

T = TypeVar("T")
WEATHER = ("clear", "rain", "fog", "wind")
STAGES = {
    "study": ("new", "known"),
    "mend": ("known", "whole"),
    "use": ("whole", "used"),
    "sell": ("used", ""),
    "give": ("used", ""),
    "lose": ("used", ""),
}
"""Kind of event -> how far a thing has come before it and after it; an empty word ends its story."""
_BEFORE, _AFTER = 0.35, 0.42  # shares of towns that have a second word before or after the name
# How long a name, a trade, a noun stays out of use after it was drawn.
_MEMORY = {"name": 60, "trade": 14, "noun": 28, "deed": 12, "official": 8, "wound": 8}


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with a name, a sex and a trade."""

    name: str
    surname: str
    female: bool
    trade: str

    @property
    def full(self) -> str:
        """First name and surname."""
        return f"{self.name} {self.surname}"


@dataclass(frozen=True, slots=True)
class Place:
    """A named place; ``index`` is its square on the map, row by row."""

    index: int
    name: str
    kind: str
    spots: tuple[str, ...]
    looks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that can be found, studied, mended, used and given away."""

    adjective: str
    noun: str
    flaw: str
    fix: str
    use: str

    @property
    def whole(self) -> str:
        """Adjective and noun."""
        return f"{self.adjective} {self.noun}"


@dataclass(frozen=True, slots=True)
class Deed:
    """What an official is said to have done, what shows it, how it ends."""

    official: str
    crime: str
    evidence: str
    outcome: str
    teller: Person
    place: Place


@dataclass(frozen=True, slots=True)
class Wound:
    """An injury: which part, the clause that tells how, and the cure."""

    part: str
    cause: str
    cure: str


@dataclass(frozen=True, slots=True)
class Goods:
    """Something that is counted: where it is kept, what some may go for, how some may come in."""

    name: str
    store: str
    spent: tuple[str, ...]
    gained: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    ``kind`` is one of the kinds in ``story.world.WEIGHTS``, or "meet", "arrive", "depart", "road", "confirm", "deliver" or
    "settle"; ``place`` is where it happened (the place left behind while on the road), ``target`` the place that it
    points to; ``actor``, ``other`` and ``third`` are its people; ``party`` the travellers after it, the leader first;
    ``causes`` the numbers of the events without which it could not have happened. Numbers count from 0; what happened
    before the first event of the text has numbers below zero.

    A company (:mod:`.novel.company`) knows moves ("move"), outings ("outing") and news ("news") besides, and what happens to the same things
    all the time. Its goods are counted ("count"): ``changes`` came, or went if below 0, for ``reasons``, or a share of them went or came
    (``reason``), and ``left`` are left. An object goes from hand to hand ("hand"): from ``actor`` to ``other``; ``spot`` is the object.
    """

    number: int
    kind: str
    day: int
    hour: int
    weather: str
    place: Place
    party: tuple[Person, ...]
    target: Place | None = None
    actor: Person | None = None
    other: Person | None = None
    third: Person | None = None
    thing: Thing | None = None
    deed: Deed | None = None
    wound: Wound | None = None
    spot: str = ""
    reason: str = ""
    causes: tuple[int, ...] = ()
    goods: Goods | None = None
    changes: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    left: int = 0


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";"))


@cache
def thing_kinds() -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...]], ...]:
    """Return the kinds of things: noun, adjectives, pairs of flaw and repair, uses."""
    return tuple(
        (noun, _split(adjectives), tuple(tuple(pair.split(" = ")) for pair in _split(flaws)), _split(uses))
        for noun, adjectives, flaws, uses in records("things.txt", "things")
    )


@cache
def goods_kinds() -> tuple[Goods, ...]:
    """Return everything that a company may count."""
    spent_too, gained_too = words("goods.txt", "spent"), words("goods.txt", "gained")
    return tuple(
        Goods(name, store, (*_split(spent), *spent_too), (*_split(gained), *gained_too))
        for name, store, spent, gained in records("goods.txt", "goods")
    )


def two_words(place: str, dice: Dice) -> str:
    """Give most names of towns a second word, so that they look like names of people: "Great Otterwold", "Otterwold Cross"."""
    mark = dice.random()
    if mark < _BEFORE:
        return f"{dice.pick(words('story_names.txt', 'town_first'))} {place}"
    return f"{place} {dice.pick(words('story_names.txt', 'town_last'))}" if mark < _BEFORE + _AFTER else place


class Inventory(Dice):
    """Makes people, places, things, deeds and wounds; nothing is repeated within living memory."""

    def __init__(self, random: Callable[[], float], side: int) -> None:
        """Draw the names of ``side`` x ``side`` places; everything else is made when asked for."""
        super().__init__(random)
        self.used: dict[str, deque[object]] = {what: deque(maxlen=size) for what, size in _MEMORY.items()}
        self.places = self._map(side * side)

    def fresh(self, what: str, options: Sequence[T], without: Sequence[T] = ()) -> T:
        """Draw an option that was not drawn lately and is none of those ``without``."""
        used = self.used[what]
        while True:
            if (drawn := self.pick(options)) not in used:
                used.append(drawn)
                if drawn not in without:
                    return drawn

    def _map(self, number: int) -> tuple[Place, ...]:
        firsts, lasts = words("names.txt", "place_first"), words("names.txt", "place_last")
        kinds = tuple(records("places.txt", "kinds"))
        seen: set[int] = set()
        places: list[Place] = []
        while len(places) < number:
            code = self.below(len(firsts) * len(lasts))
            first, last = firsts[code // len(lasts)].lower(), lasts[code % len(lasts)]
            # "Lambbeck" and the like: three equal letters or the same letter at the seam read badly.
            if code in seen or first[-1] == last[0] or first in last:
                continue
            seen.add(code)
            kind, spots, looks = self.pick(kinds)
            name = (first + last).capitalize()
            places.append(Place(len(places), name, kind, _split(spots), _split(looks)))
        return tuple(places)

    def person(self, known: Sequence[Person] = ()) -> Person:
        """Make a person whose first name and trade are not those of anybody of late, nor of anybody ``known``."""
        taken = [person.name for person in known] + [person.trade for person in known]
        female = self.random() < 0.5
        name = self.fresh("name", words("names.txt", "women" if female else "men"), taken)
        trade = self.fresh("trade", self.trades(female), taken)
        return Person(name, self.made_up("surname"), female, trade)

    @staticmethod
    def trades(female: bool) -> tuple[str, ...]:
        """Return what women or men may be."""
        return words("names.txt", "trades_women" if female else "trades_men")

    def thing(self) -> Thing:
        """Make a thing of a kind that no one has now."""
        return self.thing_of(self.fresh("noun", thing_kinds()))

    def thing_of(
        self, kind: tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...]]
    ) -> Thing:
        """Make a thing of one of :func:`thing_kinds`."""
        noun, adjectives, flaws, uses = kind
        flaw, fix = self.pick(flaws)
        return Thing(self.pick(adjectives), noun, flaw, fix, self.pick(uses))

    def deed(self, teller: Person, place: Place) -> Deed:
        """Make a misdeed of an official of ``place``, as told by ``teller``."""
        crime, evidence, outcome = self.fresh("deed", tuple(records("troubles.txt", "deeds")))
        official = self.fresh("official", words("troubles.txt", "officials"))
        return Deed(official, crime, evidence, outcome, teller, place)

    def wound(self) -> Wound:
        """Make an injury of a kind that no one has now."""
        return Wound(*self.fresh("wound", tuple(records("wounds.txt", "wounds"))))


class Journey(Dice):
    """People who travel a small world: what time it is, where they are, and what happens there.

    Attributes:
        number: of the last event; what happened before the first one of the text has numbers below 0.
        place: where the people are.
        party: the people, the leader first.
    """

    place: Place
    party: tuple[Person, ...]

    def __init__(self, seed: int, side: int, run_in: int) -> None:
        """Make the map; ``run_in`` events come before the first one of the text."""
        super().__init__(Random(seed).random)
        self.inventory = Inventory(self.random, side)
        self.number = -run_in - 1
        self.day = self.hour = 0
        self.weather = WEATHER[0]

    def pass_time(self) -> None:
        """Go on to the next event, some hours later."""
        self.number += 1
        self.hour += self.pick((0, 1, 1, 1, 2))
        if self.hour > 5:
            self.hour -= 6
            self.day += 1

    def event(self, kind: str, *causes: int, **fields: object) -> Event:
        """Record what happens here and now."""
        return Event(
            number=self.number,
            causes=causes,
            kind=kind,
            day=self.day,
            hour=self.hour,
            weather=self.weather,
            place=self.place,
            party=self.party,
            **fields,  # type: ignore[arg-type]
        )
