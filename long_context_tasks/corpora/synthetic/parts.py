"""Spare parts for invented devices: what is asked of one, what one is like, and whether the two agree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from long_context_tasks.corpora.synthetic.people import pick
from long_context_tasks.corpora.synthetic.wording import records, words

__all__ = ["THREAD", "Device", "Point", "Trait", "devices", "meets", "traits"]

Random = Callable[[], float]
FILE = "forum.txt"
THREAD = "thread"  # every question asks for one, every answer names one
THREADS, PLACES, TRAITS_PER_DEVICE = 40, 16, 8

Value = int | str
Spec = Mapping[str, Value]  # trait -> value, in the order in which an answer names them


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
    """One thing that a question asks for; ``relation`` is "max", "min", "is" or "not"."""

    trait: str
    relation: str
    value: Value

    def holds(self, value: Value | None) -> bool:
        """Say whether a value satisfies the point; a value that is not given does not."""
        if value is None:
            return False
        if isinstance(value, int) and isinstance(self.value, int):
            return value <= self.value if self.relation == "max" else value >= self.value
        return (value == self.value) == (self.relation == "is")


@dataclass(frozen=True, slots=True)
class Device:
    """An invented device: its tags, and the traits that matter for its parts."""

    name: str
    tags: tuple[str, ...]
    aims: str
    traits: tuple[Trait, ...]


def meets(points: tuple[Point, ...], spec: Spec) -> bool:
    """Say whether a part meets every point."""
    return all(point.holds(spec.get(point.trait)) for point in points)


@cache
def traits() -> dict[str, Trait]:
    """Return all traits by name; the thread is the last."""
    found: dict[str, Trait] = {}
    for name, _, smallest, largest, step in records("devices.txt", "measures"):
        found[name] = Trait(name, tuple(range(int(smallest), int(largest) + 1, int(step))))
    for name in words(FILE, "kinds"):
        if name != "place":
            found[name] = Trait(name, words(FILE, f"{name}.values"))
    first, last = words("names.txt", "place_first"), words("names.txt", "place_last")
    places = tuple((first[4 * i + 1] + last[2 * i + 3]).capitalize() for i in range(PLACES))
    found["place"] = Trait("place", places)
    first, last = words(FILE, "maker_first"), words(FILE, "maker_last")
    threads = tuple(
        first[i % len(first)] + last[(3 * i + i // len(first)) % len(last)] for i in range(THREADS)
    )
    found[THREAD] = Trait(THREAD, threads)
    return found


@cache
def devices() -> tuple[Device, ...]:
    """Return the devices; which traits matter is fixed for each."""
    every = [trait for name, trait in traits().items() if name != THREAD]
    result = []
    for number, (name, tags, aims) in enumerate(records("devices.txt", "devices")):
        own = tuple(every[(number + 5 * i) % len(every)] for i in range(TRAITS_PER_DEVICE))
        result.append(Device(name, tuple(tags.split(", ")), aims, own))
    return tuple(result)


def split(trait: Trait, random: Random) -> tuple[Point, Value, Value]:
    """Draw a point, a value that meets it and one that does not.

    Both values have the same distribution: a pair is drawn first, and which of the two is right afterwards.
    """
    number = len(trait.values)
    one = int(random() * number)
    other = (one + 1 + int(random() * (number - 1))) % number
    first, second = trait.values[one], trait.values[other]
    if not trait.is_measure:
        # ``first`` is as often the one that is asked for as the one that is ruled out.
        if random() < 0.5:
            return Point(trait.name, "is", first), first, second
        return Point(trait.name, "not", second), first, second
    low, high = sorted((one, other))
    bound = low + int(random() * (high - low))
    if random() < 0.5:
        return Point(trait.name, "max", trait.values[bound]), trait.values[low], trait.values[high]
    return Point(trait.name, "min", trait.values[bound + 1]), trait.values[high], trait.values[low]


def model_name(random: Random) -> str:
    """Make up the name of a model: a maker, a letter, a number."""
    maker = pick(words(FILE, "maker_first"), random) + pick(words(FILE, "maker_last"), random)
    return f"{maker} {'ABCDEFGHKLMNPRSTUVWXZ'[int(random() * 21)]}{10 + int(random() * 90)}"
