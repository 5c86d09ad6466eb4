"""A small world that goes on by itself: travellers, places, things, rumours, causes and effects.

The world knows nothing of sentences. It yields one `Event` after the other, each with the events that made it
possible; stories tell them (the novel has a world of its own, :mod:`.company`). The process has no beginning and no end that
could be told from an event: it is run in for a while before the first event is handed out, so that every kind of
event is as likely anywhere, and only the chain of causes says what came first.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from long_context_tasks.synthetic.event import Event
from long_context_tasks.synthetic.people import Deed, Inventory, Person, Place, Thing, Wound

__all__ = ["World", "simulate"]

MAP_SIDE = 28  # places stand on a square map without borders
ROADS = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if (x, y) != (0, 0)]
RUN_IN = 400  # events before the first that is told
MAX_THINGS = 4
MIN_COMPANIONS, MAX_COMPANIONS = 2, 3
WEATHER = ("clear", "rain", "fog", "wind")


@dataclass(slots=True)
class Carried:
    """A thing in the baggage: who carries it, how far its story has come, the last event of that story."""

    thing: Thing
    carrier: Person
    stage: str
    cause: int
    since: int


@dataclass(slots=True)
class Errand:
    """A thing to be brought to someone elsewhere."""

    thing: Thing
    carrier: Person
    sender: Person
    receiver: Person
    place: Place
    cause: int


# How likely each kind of event is at a place, where it is possible. All are multiples of a quarter, so that their sum
# is exact: Python 3.12 adds other fractions in another way than 3.11.
WEIGHTS = {
    "find": 3.0,
    "gift": 2.0,
    "study": 4.0,
    "mend": 4.0,
    "use": 4.0,
    "sell": 2.5,
    "give": 1.5,
    "lose": 1.0,
    "join": 2.5,
    "part": 1.5,
    "hurt": 2.0,
    "tend": 6.0,
    "heal": 2.0,
    "hear": 2.0,
    "accept": 2.0,
    "rest": 0.75,
}


class World:
    """The state of the world; `step` makes the next event happen."""

    def __init__(self, seed: int) -> None:
        """Make the map and the travellers; the same world for the same seed on every machine."""
        self.random = Random(seed).random
        self.inventory = Inventory(self.random, MAP_SIDE)
        self.number = -1
        self.day = self.hour = 0
        self.weather = WEATHER[0]
        self.leader = self.inventory.person()
        # Companions in the order in which they joined -> number of the event that brought them.
        self.companions: dict[Person, int] = {}
        self.things: list[Carried] = []
        self.errand: Errand | None = None
        self.rumour: tuple[Deed, int] | None = None
        self.proof: tuple[Deed, int] | None = None
        self.injury: tuple[Person, Wound, str, int] | None = None
        self.host: Person | None = None
        self.place = self.inventory.places[0]
        self.origin = self.place
        self.road: tuple[Place, int] | None = None
        self.road_left = 0
        self.stay = 3
        self.visited: deque[int] = deque([0], maxlen=150)
        for _ in range(MIN_COMPANIONS):
            self.companions[self._newcomer()] = 0

    def _choose(self, options: list[str], weights: list[float]) -> str:
        mark = self.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            mark -= weight
            if mark < 0:
                return option
        return options[-1]

    def _anyone(self, without: Person | None = None) -> Person:
        party = [person for person in (self.leader, *self.companions) if person is not without]
        return party[int(self.random() * len(party))]

    def _newcomer(self) -> Person:
        known = [self.leader, *self.companions]
        if self.errand is not None:
            known += [self.errand.sender, self.errand.receiver]
        if self.rumour is not None:
            known.append(self.rumour[0].teller)
        return self.inventory.person(known)

    def _neighbour(self) -> Place:
        """Choose a place up to two squares away that was not visited lately."""
        row, column = divmod(self.place.index, MAP_SIDE)
        near = [((row + y) % MAP_SIDE) * MAP_SIDE + (column + x) % MAP_SIDE for x, y in ROADS]
        fresh = [index for index in near if index not in self.visited]
        while not fresh:
            index = int(self.random() * MAP_SIDE * MAP_SIDE)
            fresh = [index] if index not in self.visited else []
        return self.inventory.places[fresh[int(self.random() * len(fresh))]]

    def step(self) -> Event:
        """Make the next event happen and return it."""
        self._pass_time()
        kind = self._next_kind()
        self.number += 1
        return getattr(self, f"_{kind}")()  # type: ignore[no-any-return]

    def _pass_time(self) -> None:
        self.hour += (0, 1, 1, 1, 2)[int(self.random() * 5)]
        if self.hour > 5:
            self.hour -= 6
            self.day += 1
        if self.random() < 0.12:
            self.weather = WEATHER[int(self.random() * len(WEATHER))]

    def _next_kind(self) -> str:
        if self.road is not None:
            self.road_left -= 1
            return "arrive" if self.road_left < 0 else "road"
        if self.proof is not None:
            return "settle"
        if self.host is None:
            return self._first_kind()
        if self.stay <= 0:
            return "depart"
        self.stay -= 1
        possible = self._possible()
        return self._choose(list(possible), list(possible.values()))

    def _first_kind(self) -> str:
        """Return what happens first at a place: what the travellers came for, or that they meet somebody."""
        if self.rumour is not None and self.rumour[0].place is self.place:
            return "confirm"
        if self.errand is not None and self.errand.place is self.place:
            return "deliver"
        return "meet"

    def _possible(self) -> dict[str, float]:
        """Return the kinds of event that can happen now, with their weights, always in the same order."""
        stages = [carried.stage for carried in self.things]
        room = len(self.things) < MAX_THINGS
        allowed = {
            "find": room,
            "gift": room,
            "study": "new" in stages,
            "mend": "known" in stages,
            "use": "whole" in stages,
            "sell": "used" in stages,
            "give": "used" in stages,
            "lose": "used" in stages or len(self.things) == MAX_THINGS,
            "join": len(self.companions) < MAX_COMPANIONS,
            "part": len(self.companions) > MIN_COMPANIONS,
            "hurt": self.injury is None,
            "tend": self.injury is not None and self.injury[2] == "hurt",
            "heal": self.injury is not None
            and self.injury[2] == "tended"
            and self.number - self.injury[3] > 5,
            "hear": self.rumour is None,
            "accept": self.errand is None,
            "rest": True,
        }
        return {kind: WEIGHTS[kind] for kind, yes in allowed.items() if yes}

    def _event(self, kind: str, causes: tuple[int, ...] = (), **fields: object) -> Event:
        # Numbers count from the first event that is told; causes before it have numbers below zero.
        return Event(
            number=self.number - RUN_IN,
            causes=tuple(cause - RUN_IN for cause in causes),
            kind=kind,
            day=self.day,
            hour=self.hour,
            weather=self.weather,
            place=self.place,
            party=(self.leader, *self.companions),
            **fields,  # type: ignore[arg-type]
        )

    # --- moving

    def _depart(self) -> Event:
        reason, target = "chance", self._neighbour()
        causes: tuple[int, ...] = ()
        actor, third, thing, deed = None, None, None, None
        if self.errand is not None and self.random() < 0.6:
            errand = self.errand
            reason, target, causes = "errand", errand.place, (errand.cause,)
            actor, third, thing = errand.carrier, errand.receiver, errand.thing
        elif self.rumour is not None and self.random() < 0.7:
            deed, cause = self.rumour
            reason, target, causes = "deed", deed.place, (cause,)
        self.road, self.road_left = (target, self.number), int(self.random() * 1.6)
        self.origin, self.host = self.place, None
        return self._event(
            "depart",
            target=target,
            actor=actor,
            third=third,
            thing=thing,
            deed=deed,
            reason=reason,
            causes=causes,
        )

    def _road(self) -> Event:
        assert self.road is not None
        return self._event("road", target=self.road[0], causes=(self.road[1],))

    def _arrive(self) -> Event:
        assert self.road is not None
        (self.place, cause), self.road = self.road, None
        self.visited.append(self.place.index)
        self.stay = 1 + int(self.random() * 3)
        looks = self.place.looks
        look = looks[int(self.random() * len(looks))]
        return self._event("arrive", target=self.origin, spot=look, causes=(cause,))

    # --- people

    def _meet(self) -> Event:
        self.host = self._newcomer()
        return self._event("meet", other=self.host)

    def _join(self) -> Event:
        person = self._newcomer()
        self.companions[person] = self.number
        return self._event("join", actor=person)

    def _part(self) -> Event:
        # Whoever came last stays: nobody joins and leaves in one breath.
        able = [
            person
            for person in list(self.companions)[:-1]
            if (self.injury is None or self.injury[0] is not person)
            and (self.errand is None or self.errand.carrier is not person)
        ]
        if not able:
            return self._rest()
        person = able[int(self.random() * len(able))]
        cause = self.companions.pop(person)
        for carried in self.things:
            if carried.carrier is person:
                carried.carrier = self.leader
        return self._event("part", actor=person, causes=(cause,))

    def _hurt(self) -> Event:
        person, wound = self._anyone(), self.inventory.wound()
        self.injury = (person, wound, "hurt", self.number)
        return self._event("hurt", actor=person, wound=wound)

    def _tend(self) -> Event:
        assert self.injury is not None
        person, wound, _, cause = self.injury
        self.injury = (person, wound, "tended", self.number)
        return self._event("tend", actor=person, other=self.host, wound=wound, causes=(cause,))

    def _heal(self) -> Event:
        assert self.injury is not None
        person, wound, _, cause = self.injury
        self.injury = None
        return self._event("heal", actor=person, wound=wound, causes=(cause,))

    def _rest(self) -> Event:
        return self._event("rest", actor=self._anyone())

    # --- things

    def _carry(self, kind: str, spot: str = "") -> Event:
        carried = Carried(self.inventory.thing(), self._anyone(), "new", self.number, self.number)
        self.things.append(carried)
        other = self.host if kind == "gift" else None
        return self._event(kind, actor=carried.carrier, other=other, thing=carried.thing, spot=spot)

    def _find(self) -> Event:
        return self._carry("find", self.place.spots[int(self.random() * len(self.place.spots))])

    def _gift(self) -> Event:
        return self._carry("gift")

    def _advance(self, kind: str, before: str, after: str) -> Event:
        """Move one of the things that are at stage ``before`` to the next; an empty ``after`` ends its story."""
        able = [carried for carried in self.things if carried.stage == before] or self.things[:1]
        carried = able[int(self.random() * len(able))]
        cause, carried.cause, carried.stage = carried.cause, self.number, after
        if not after:
            self.things.remove(carried)
        other = self.host if kind in ("sell", "give") else None
        return self._event(kind, actor=carried.carrier, other=other, thing=carried.thing, causes=(cause,))

    def _study(self) -> Event:
        return self._advance("study", "new", "known")

    def _mend(self) -> Event:
        return self._advance("mend", "known", "whole")

    def _use(self) -> Event:
        return self._advance("use", "whole", "used")

    def _sell(self) -> Event:
        return self._advance("sell", "used", "")

    def _give(self) -> Event:
        return self._advance("give", "used", "")

    def _lose(self) -> Event:
        return self._advance("lose", "used", "")

    def _accept(self) -> Event:
        assert self.host is not None
        thing, carrier, receiver, place = (
            self.inventory.thing(),
            self._anyone(),
            self._newcomer(),
            self._neighbour(),
        )
        self.errand = Errand(thing, carrier, self.host, receiver, place, self.number)
        return self._event(
            "accept", actor=carrier, other=self.host, third=receiver, thing=thing, target=place
        )

    def _deliver(self) -> Event:
        assert self.errand is not None
        errand, self.errand = self.errand, None
        self.host = errand.receiver
        return self._event(
            "deliver",
            actor=errand.carrier,
            other=errand.sender,
            third=errand.receiver,
            thing=errand.thing,
            causes=(errand.cause,),
        )

    # --- rumours

    def _hear(self) -> Event:
        assert self.host is not None
        deed = self.inventory.deed(self.host, self._neighbour())
        self.rumour = (deed, self.number)
        return self._event("hear", other=self.host, deed=deed, target=deed.place)

    def _confirm(self) -> Event:
        assert self.rumour is not None
        (deed, cause), self.rumour = self.rumour, None
        self.proof = (deed, self.number)
        return self._event("confirm", other=deed.teller, deed=deed, causes=(cause,))

    def _settle(self) -> Event:
        assert self.proof is not None
        (deed, cause), self.proof = self.proof, None
        return self._event("settle", deed=deed, causes=(cause,))


def simulate(seed: int, history: int = 0) -> Iterator[Event]:
    """Yield the events of one world for ever, numbered from 0; the same events for the same seed.

    ``history`` events before the first (at most `RUN_IN`) come with them, for writers whose people remember.
    """
    world = World(seed)
    for _ in range(RUN_IN - history):
        world.step()
    while True:
        yield world.step()
