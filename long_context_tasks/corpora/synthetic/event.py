"""Events: what the world hands to those who tell of it."""

from dataclasses import dataclass

from long_context_tasks.corpora.synthetic.people import Deed, Person, Place, Thing, Wound

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    ``kind`` is one of the kinds in ``world.WEIGHTS``, or "meet", "arrive", "depart", "road", "confirm", "deliver" or
    "settle"; ``place`` is where it happened (the place left behind while on the road), ``target`` the place that it
    points to; ``actor``, ``other`` and ``third`` are its people; ``party`` the travellers after it, the leader first;
    ``causes`` the numbers of the events without which it could not have happened. Numbers count from 0; what happened
    before the first event that is told has numbers below zero.
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
