"""Spare parts for invented devices: what can be said of one, what is asked of one, and whether the two agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from long_context_tasks.synthetic.wording import Dice, records, words

FILE = "forum.txt"
THREADS, PLACES, TRAITS_PER_DEVICE = 40, 16, 8
LEVELS = 3  # values that a trait has on one device, and parts that every answer compares

Value = int | str
Levels = tuple[Value, ...]
Spec = Mapping[str, Value]  # trait -> value


@dataclass(frozen=True, slots=True)
class Trait:
    """Something that can be said of a part; a measure has numbers, a kind has words."""

    name: str
    values: tuple[Value, ...]

    @property
    def is_measure(self) -> bool:
        """Whether the values can be compared."""
        return isinstance(self.values[0], int)


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a question asks for.

    Attributes:
        trait: name of the trait.
        relation: "max", "min" or "between" for measures, bounds included; "is" or "neither" for kinds.
        values: the bounds, or the words that are asked for or ruled out.
    """

    trait: str
    relation: str
    values: tuple[Value, ...]

    def holds(self, value: Value | None) -> bool:
        """Say whether a value satisfies the point; a value that is not given does not."""
        if value is None:
            return False
        if not isinstance(value, int):
            return (value in self.values) == (self.relation == "is")
        bounds = [bound for bound in self.values if isinstance(bound, int)]
        return not (
            (self.relation != "min" and value > bounds[-1]) or (self.relation != "max" and value < bounds[0])
        )


@dataclass(frozen=True, slots=True)
class Device:
    """An invented device: its tags, what it is used for, and the traits that matter for its parts."""

    name: str
    tags: tuple[str, ...]
    aims: str
    traits: tuple[Trait, ...]


def meets(points: tuple[Point, ...], spec: Spec) -> bool:
    """Return whether a part meets every point."""
    return all(one.holds(spec.get(one.trait)) for one in points)


@cache
def traits() -> dict[str, Trait]:
    """Return all traits by name; "thread" is that of a screw."""
    found: dict[str, Trait] = {}
    for name, _, smallest, largest, step in records("devices.txt", "measures"):
        found[name] = Trait(name, tuple(range(int(smallest), int(largest) + 1, int(step))))
    for name in ("material", "fuel"):
        found[name] = Trait(name, words(FILE, f"{name}.values"))
    first, last = words("names.txt", "place_first"), words("names.txt", "place_last")
    places = tuple((first[4 * i + 1] + last[2 * i + 3]).capitalize() for i in range(PLACES))
    found["place"] = Trait("place", places)
    first, last = words(FILE, "maker_first"), words(FILE, "maker_last")
    threads = tuple(
        first[i % len(first)] + last[(3 * i + i // len(first)) % len(last)] for i in range(THREADS)
    )
    found["thread"] = Trait("thread", threads)
    return found


@cache
def devices() -> tuple[Device, ...]:
    """Return the devices; which traits matter is fixed for each."""
    every = list(traits().values())
    result = []
    for number, (name, tags, aims) in enumerate(records("devices.txt", "devices")):
        own = tuple(every[(number + 5 * i) % len(every)] for i in range(TRAITS_PER_DEVICE))
        result.append(Device(name, tuple(tags.split(", ")), aims, own))
    return tuple(result)


def draw_levels(trait: Trait, dice: Dice) -> Levels:
    """Draw the three values that a trait has on a device, numbers in ascending order and not next to each other."""
    while True:
        places: list[int] = []
        while len(places) < LEVELS:
            place = dice.below(len(trait.values))
            if place not in places:
                places.append(place)
        if trait.is_measure:
            places.sort()
            if any(b - a < 2 for a, b in pairwise(places)):
                continue
        return tuple(trait.values[place] for place in places)


def point(trait: Trait, levels: Levels, right: int, dice: Dice) -> Point:
    """Draw a point that the value of one level meets and those of the other two do not."""
    if not trait.is_measure:
        if dice.chance(0.5):
            return Point(trait.name, "is", (levels[right],))
        others = [value for level, value in enumerate(levels) if level != right]
        if dice.chance(0.5):
            others.reverse()
        return Point(trait.name, "neither", tuple(others))
    values = trait.values
    place = values.index(levels[right])
    # A bound lies anywhere between the right value and the next wrong one.
    highest = values.index(levels[right + 1]) - 1 if right + 1 < LEVELS else 0
    lowest = values.index(levels[right - 1]) + 1 if right else 0
    if right == 0:
        return Point(trait.name, "max", (values[dice.whole(place, highest)],))
    if right == LEVELS - 1:
        return Point(trait.name, "min", (values[place - dice.below(place - lowest + 1)],))
    bounds = (values[place - 1 - dice.below(place - lowest)], values[dice.whole(place + 1, highest)])
    return Point(trait.name, "between", bounds)


@cache
def makers() -> tuple[str, ...]:
    """Return the names of makers; none is that of a thread."""
    threads = set(traits()["thread"].values)
    found = (one + two for one in words(FILE, "maker_first") for two in words(FILE, "maker_last"))
    return tuple(name for name in found if name not in threads)


def model_name(maker: str, dice: Dice) -> str:
    """Make up the name of a model: the maker, a letter, a number."""
    return f"{maker} {dice.pick('ABCDEFGHKLMNPRSTUVWXZ')}{dice.whole(10, 99)}"
