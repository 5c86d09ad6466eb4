"""A small world that goes on by itself: travellers, places, things, rumours, causes and effects.

The world knows nothing of sentences. It yields one `Event` after the other, each with the events that made it
possible; stories tell them (the novel has a world of its own, :mod:`long_context_tasks.synthetic.novel.company`). The process has no beginning and no end that
could be seen in an event: it is run in for a while before the first event is returned, so that every kind of
event is as likely anywhere, and only the chain of causes says what came first.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from long_context_tasks.synthetic.people import (
    STAGES,
    WEATHER,
    Deed,
    Event,
    Journey,
    Person,
    Place,
    Thing,
    Wound,
)

MAP_SIDE = 28  # places lie on a square map without borders
ROADS = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if (x, y) != (0, 0)]
RUN_IN = 400  # events before the first of the text
MAX_THINGS = 4
MIN_COMPANIONS, MAX_COMPANIONS = 2, 3


@dataclass(slots=True)
class Carried:
    """A thing in the baggage: who carries it, how far its story has come, the last event of that story."""

    thing: Thing
    carrier: Person
    stage: str
    cause: int


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


class World(Journey):
    """The state of the world; `step` makes the next event happen."""

    def __init__(self, seed: int) -> None:
        """Make the map and the travellers; the same world for the same seed on every machine."""
        super().__init__(seed, MAP_SIDE, RUN_IN)
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
            self.companions[self._newcomer()] = -RUN_IN

    @property
    def party(self) -> tuple[Person, ...]:  # type: ignore[override]
        """The travellers, the leader first."""
        return (self.leader, *self.companions)

    def _newcomer(self) -> Person:
        known = [*self.party]
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
            index = self.below(MAP_SIDE * MAP_SIDE)
            fresh = [index] if index not in self.visited else []
        return self.inventory.places[self.pick(fresh)]

    def step(self) -> Event:
        """Make the next event happen and return it."""
        self.pass_time()
        if self.chance(0.12):
            self.weather = self.pick(WEATHER)
        kind = self._next_kind()
        if kind in STAGES:
            return self._advance(kind)
        if kind in ("tend", "heal"):
            return self._care(kind)
        return getattr(self, f"_{kind}")()  # type: ignore[no-any-return]

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
        return self.weighted(self._possible())

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
        state, since = (self.injury[2], self.number - self.injury[3]) if self.injury else ("", 0)
        allowed = {
            "find": room,
            "gift": room,
            **{kind: before in stages for kind, (before, _) in STAGES.items()},
            "lose": "used" in stages or not room,
            "join": len(self.companions) < MAX_COMPANIONS,
            "part": len(self.companions) > MIN_COMPANIONS,
            "hurt": self.injury is None,
            "tend": state == "hurt",
            "heal": state == "tended" and since > 6,
            "hear": self.rumour is None,
            "accept": self.errand is None,
        }
        return {kind: weight for kind, weight in WEIGHTS.items() if allowed.get(kind, True)}

    def _depart(self) -> Event:
        target = self._neighbour()
        causes: tuple[int, ...] = ()
        fields: dict[str, object] = {"reason": "chance"}
        if self.errand is not None and self.chance(0.6):
            errand, target = self.errand, self.errand.place
            causes = (errand.cause,)
            fields = {
                "reason": "errand",
                "actor": errand.carrier,
                "third": errand.receiver,
                "thing": errand.thing,
            }
        elif self.rumour is not None and self.chance(0.7):
            deed, cause = self.rumour
            target, causes, fields = deed.place, (cause,), {"reason": "deed", "deed": deed}
        self.road, self.road_left = (target, self.number), int(self.random() * 1.6)
        self.origin, self.host = self.place, None
        return self.event("depart", *causes, target=target, **fields)

    def _road(self) -> Event:
        assert self.road is not None
        return self.event("road", self.road[1], target=self.road[0])

    def _arrive(self) -> Event:
        assert self.road is not None
        (self.place, cause), self.road = self.road, None
        self.visited.append(self.place.index)
        self.stay = self.whole(1, 3)
        return self.event("arrive", cause, target=self.origin, spot=self.pick(self.place.looks))

    def _meet(self) -> Event:
        self.host = self._newcomer()
        return self.event("meet", other=self.host)

    def _join(self) -> Event:
        person = self._newcomer()
        self.companions[person] = self.number
        return self.event("join", actor=person)

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
        person = self.pick(able)
        cause = self.companions.pop(person)
        for carried in self.things:
            if carried.carrier is person:
                carried.carrier = self.leader
        return self.event("part", cause, actor=person)

    def _hurt(self) -> Event:
        person, wound = self.pick(self.party), self.inventory.wound()
        self.injury = (person, wound, "hurt", self.number)
        return self.event("hurt", actor=person, wound=wound)

    def _care(self, kind: str) -> Event:
        assert self.injury is not None
        person, wound, _, cause = self.injury
        self.injury = (person, wound, "tended", self.number) if kind == "tend" else None
        return self.event(kind, cause, actor=person, other=self.host if kind == "tend" else None, wound=wound)

    def _rest(self) -> Event:
        return self.event("rest", actor=self.pick(self.party))

    def _find(self) -> Event:
        spot = self.pick(self.place.spots)
        carried = self._carry()
        return self.event("find", actor=carried.carrier, thing=carried.thing, spot=spot)

    def _gift(self) -> Event:
        carried = self._carry()
        return self.event("gift", actor=carried.carrier, other=self.host, thing=carried.thing)

    def _carry(self) -> Carried:
        carried = Carried(self.inventory.thing(), self.pick(self.party), "new", self.number)
        self.things.append(carried)
        return carried

    def _advance(self, kind: str) -> Event:
        """Move one of the things at a stage to the next one, or end its story."""
        before, after = STAGES[kind]
        able = [carried for carried in self.things if carried.stage == before] or self.things[:1]
        carried = self.pick(able)
        cause, carried.cause, carried.stage = carried.cause, self.number, after
        if not after:
            self.things.remove(carried)
        other = self.host if kind in ("sell", "give") else None
        return self.event(kind, cause, actor=carried.carrier, other=other, thing=carried.thing)

    def _accept(self) -> Event:
        assert self.host is not None
        thing, carrier = self.inventory.thing(), self.pick(self.party)
        receiver, place = self._newcomer(), self._neighbour()
        self.errand = Errand(thing, carrier, self.host, receiver, place, self.number)
        return self.event("accept", actor=carrier, other=self.host, third=receiver, thing=thing, target=place)

    def _deliver(self) -> Event:
        assert self.errand is not None
        errand, self.errand = self.errand, None
        self.host = errand.receiver
        return self.event(
            "deliver",
            errand.cause,
            actor=errand.carrier,
            other=errand.sender,
            third=errand.receiver,
            thing=errand.thing,
        )

    def _hear(self) -> Event:
        assert self.host is not None
        deed = self.inventory.deed(self.host, self._neighbour())
        self.rumour = (deed, self.number)
        return self.event("hear", other=self.host, deed=deed, target=deed.place)

    def _confirm(self) -> Event:
        assert self.rumour is not None
        (deed, cause), self.rumour = self.rumour, None
        self.proof = (deed, self.number)
        return self.event("confirm", cause, other=deed.teller, deed=deed)

    def _settle(self) -> Event:
        assert self.proof is not None
        (deed, cause), self.proof = self.proof, None
        return self.event("settle", cause, deed=deed)


def simulate(seed: int, history: int = 0) -> Iterator[Event]:
    """Yield the events of one world for ever, numbered from 0; the same events for the same seed.

    ``history`` events before the first (at most `RUN_IN`) come with them, for writers whose people remember.
    """
    world = World(seed)
    while True:
        event = world.step()
        if event.number >= -history:
            yield event
