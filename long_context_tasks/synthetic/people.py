"""What the small world is made of: people, places, things, misdeeds, injuries."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from long_context_tasks.synthetic.wording import records, words

__all__ = ["Deed", "Goods", "Inventory", "Person", "Place", "Thing", "Wound", "pick"]

Random = Callable[[], float]


def pick(options: tuple[str, ...], random: Random) -> str:
    """Choose one of the options; the same choice on every Python version."""
    return options[int(random() * len(options))]


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with a name, a sex and a trade."""

    name: str
    surname: str
    female: bool
    trade: str


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


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";"))


@cache
def place_kinds() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Return the kinds of places: name, where things lie hidden, what is seen on arrival."""
    return tuple(
        (kind, _split(spots), _split(looks)) for kind, spots, looks in records("places.txt", "kinds")
    )


@cache
def thing_kinds() -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...]], ...]:
    """Return the kinds of things: noun, adjectives, pairs of flaw and repair, uses."""
    kinds = []
    for noun, adjectives, flaws, uses in records("things.txt", "things"):
        pairs = [tuple(part.strip() for part in pair.split(" = ")) for pair in _split(flaws)]
        kinds.append((noun, _split(adjectives), tuple((flaw, fix) for flaw, fix in pairs), _split(uses)))
    return tuple(kinds)


@cache
def goods_kinds() -> tuple[Goods, ...]:
    """Return everything that a company may count."""
    return tuple(
        Goods(
            name,
            store,
            (*_split(spent), *words("goods.txt", "spent")),
            (*_split(gained), *words("goods.txt", "gained")),
        )
        for name, store, spent, gained in records("goods.txt", "goods")
    )


class Inventory:
    """Makes people, places, things, deeds and wounds; nothing is repeated within living memory."""

    def __init__(self, random: Random, side: int) -> None:
        """Draw the names of ``side`` x ``side`` places; everything else is made when asked for."""
        self.random = random
        self.women, self.men = words("names.txt", "women"), words("names.txt", "men")
        self.trades = words("names.txt", "trades_women"), words("names.txt", "trades_men")
        self.first, self.last = words("names.txt", "surname_first"), words("names.txt", "surname_last")
        self.deeds = tuple(records("troubles.txt", "deeds"))
        self.officials = words("troubles.txt", "officials")
        self.wounds = tuple(records("wounds.txt", "wounds"))
        # How long a name, a trade, a noun stays out of use after it was drawn.
        self.used: dict[str, deque[object]] = {
            "name": deque(maxlen=60),
            "trade": deque(maxlen=14),
            "noun": deque(maxlen=28),
            "deed": deque(maxlen=12),
            "official": deque(maxlen=8),
            "wound": deque(maxlen=8),
        }
        self.places = self._map(side * side)

    def fresh(self, what: str, draw: Callable[[], object]) -> object:
        """Draw until something comes that was not drawn lately."""
        used = self.used[what]
        while (drawn := draw()) in used:
            pass
        used.append(drawn)
        return drawn

    def _map(self, number: int) -> tuple[Place, ...]:
        first, last = words("names.txt", "place_first"), words("names.txt", "place_last")
        names = [one.lower() for one in first], last
        kinds = place_kinds()
        seen: dict[int, bool] = {}
        places: list[Place] = []
        while len(places) < number:
            code = int(self.random() * len(first) * len(last))
            beginning, end = names[0][code // len(last)], names[1][code % len(last)]
            # "Lambbeck" and the like: three equal letters or the same letter at the seam read badly.
            if code in seen or beginning[-1] == end[0] or beginning in end:
                continue
            seen[code] = True
            kind, spots, looks = kinds[int(self.random() * len(kinds))]
            places.append(Place(len(places), (beginning + end).capitalize(), kind, spots, looks))
        return tuple(places)

    def person(self, known: Sequence[Person] = ()) -> Person:
        """Make someone whose first name and trade nobody of late has, and nobody of those ``known``."""
        taken = [person.name for person in known] + [person.trade for person in known]
        female = self.random() < 0.5
        while (
            name := self.fresh("name", lambda: pick(self.women if female else self.men, self.random))
        ) in taken:
            pass
        trades = self.trades[0 if female else 1]
        while (trade := self.fresh("trade", lambda: pick(trades, self.random))) in taken:
            pass
        surname = pick(self.first, self.random) + pick(self.last, self.random)
        return Person(str(name), surname, female, str(trade))

    def thing(self) -> Thing:
        """Make a thing of a kind that nobody has now."""
        kinds = thing_kinds()
        number = self.fresh("noun", lambda: int(self.random() * len(kinds)))
        assert isinstance(number, int)
        return self.thing_of(number)

    def thing_of(self, number: int) -> Thing:
        """Make a thing of a kind, by its place in the list of kinds."""
        noun, adjectives, flaws, uses = thing_kinds()[number]
        flaw, fix = flaws[int(self.random() * len(flaws))]
        return Thing(pick(adjectives, self.random), noun, flaw, fix, pick(uses, self.random))

    def deed(self, teller: Person, place: Place) -> Deed:
        """Make a misdeed of an official of ``place``, as told by ``teller``."""
        number = self.fresh("deed", lambda: int(self.random() * len(self.deeds)))
        official = self.fresh("official", lambda: pick(self.officials, self.random))
        assert isinstance(number, int)
        crime, evidence, outcome = self.deeds[number]
        return Deed(str(official), crime, evidence, outcome, teller, place)

    def wound(self) -> Wound:
        """Make an injury of a kind that nobody has now."""
        number = self.fresh("wound", lambda: int(self.random() * len(self.wounds)))
        assert isinstance(number, int)
        return Wound(*self.wounds[number])
