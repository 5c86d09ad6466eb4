"""Events: what the world hands to those who tell of it."""

from dataclasses import dataclass

from long_context_tasks.synthetic.people import Deed, Goods, Person, Place, Thing, Wound

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    ``kind`` is one of the kinds in ``world.WEIGHTS``, or "meet", "arrive", "depart", "road", "confirm", "deliver" or
    "settle"; ``place`` is where it happened (the place left behind while on the road), ``target`` the place that it
    points to; ``actor``, ``other`` and ``third`` are its people; ``party`` the travellers after it, the leader first;
    ``causes`` the numbers of the events without which it could not have happened. Numbers count from 0; what happened
    before the first event that is told has numbers below zero.

    A company (:mod:`.company`) knows moves ("move"), outings ("outing") and news ("news") besides, and what happens to the same things
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
