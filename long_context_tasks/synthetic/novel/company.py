"""The world of the novel: the same people in the same region for ever, and what they own goes up and down.

In the world of the stories places and people come and go, so that passages close to one another name the same ones. Here everybody may be
named anywhere, and there is no rhythm: after a move anything may follow, and any kind of event but a move may come after itself. What
came first follows from what each event leaves behind and the next one takes up: where the company is, how many of its goods are
left, who carries what, what is wrong with a thing or a limb.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from long_context_tasks.synthetic.people import (
    STAGES,
    WEATHER,
    Deed,
    Event,
    Goods,
    Journey,
    Person,
    Place,
    Thing,
    Wound,
    goods_kinds,
    thing_kinds,
)
from long_context_tasks.synthetic.wording import words

MAP_SIDE = 10  # of the map from which the region is taken
PLACES, PEOPLE, OBJECTS = 9, 6, 3
RUN_IN = 200  # paragraphs before the first of the text
MAX_THINGS = 4
KINDS = 8  # of things that ever come up: were there more, those of today would tell which passages are close to each other
FEWEST, MOST = 12, 99  # of what is counted
COUNT, HAND = 1.0, 0.6  # how often the goods are counted, and how often an object changes hands
SHARED, TWICE = 0.4, 0.5  # how often a share comes or goes where one can, and how often some come or go twice
# Of every so many goods so many are left.
SHARES = {"half": (2, 1), "double": (1, 2), "third": (3, 2), "but_third": (3, 1)}
# All are multiples of a quarter, so that their sum is exact on every version of Python.
WEIGHTS = {
    "move": 4.5,
    "find": 3.0,
    "gift": 2.0,
    "study": 4.0,
    "mend": 4.0,
    "use": 4.0,
    "sell": 2.5,
    "give": 1.5,
    "lose": 1.0,
    "hurt": 2.0,
    "tend": 6.0,
    "heal": 2.0,
    "hear": 1.5,
    "news": 1.5,
    "outing": 2.0,
    "rest": 1.5,
}
HOSTS = ("gift", "sell", "give", "tend", "hear")  # kinds of event that somebody of the place takes part in


@dataclass(slots=True)
class Story:
    """Something that has begun and not ended: who or what it is about, how far it has come, its last event."""

    subject: Thing | Wound | Deed
    actor: Person | None
    stage: str
    cause: int


def _possible(before: int, whole: int, part: int) -> bool:
    return before % whole == 0 and FEWEST <= before // whole * part <= MOST


class Company(Journey):
    """A company of travellers; `step` makes the next thing happen."""

    def __init__(self, seed: int) -> None:
        """Choose the people, their region, and what they own; the same for the same seed on every machine."""
        super().__init__(seed, MAP_SIDE, RUN_IN)
        self.region = self._region()
        party: list[Person] = []
        while len(party) < PEOPLE:
            person = self.inventory.person(party)
            # Names that begin alike are hard to keep apart.
            if all(other.name[0] != person.name[0] for other in party):
                party.append(person)
        self.party = tuple(party)
        self.goods = self.sample(goods_kinds(), 1)
        self.kinds = self.sample(thing_kinds(), KINDS)
        self.objects = self.sample(words("goods.txt", "objects"), OBJECTS)
        self.place = self.region[0]
        self.left = {goods.name: self.whole(FEWEST, MOST) for goods in self.goods}
        self.holders = {thing: self._anyone() for thing in self.objects}
        self.things: list[Story] = []
        self.injury: Story | None = None
        self.rumour: Story | None = None
        self.kind = ""

    def _region(self) -> tuple[Place, ...]:
        """Places of different kinds whose names begin differently."""
        region: list[Place] = []
        for place in self.inventory.places:
            if all(other.kind != place.kind and other.name[:3] != place.name[:3] for other in region):
                region.append(place)
        return tuple(region[:PLACES])

    def _anyone(self, without: Person | None = None) -> Person:
        return self.pick([person for person in self.party if person is not without])

    def _stranger(self) -> Person:
        female = self.chance(0.5)
        trade = self.pick(self.inventory.trades(female))
        return Person(f"the {trade}", "", female, trade)

    def _host(self, kind: str) -> Person | None:
        return self._stranger() if kind in HOSTS else None

    def _elsewhere(self) -> Place:
        return self.pick([place for place in self.region if place is not self.place])

    def step(self) -> tuple[Event, ...]:
        """Make the next thing happen; return the events of a paragraph, the main one first."""
        self.pass_time()
        # The weather is as changeable as the rest: were it to last, it would show which passages are close to each other.
        self.weather = self.pick(WEATHER)
        self.kind = self._next_kind()
        events = [self._main(self.kind)]
        events += [self._count(goods) for goods in self.goods if self.chance(COUNT)]
        if self.chance(HAND):
            events.append(self._hand())
        return tuple(events)

    def _next_kind(self) -> str:
        stages = [story.stage for story in self.things]
        injury = self.injury
        allowed = {
            "move": self.kind != "move",
            "find": len(stages) < MAX_THINGS,
            "gift": len(stages) < MAX_THINGS,
            **{kind: before in stages for kind, (before, _) in STAGES.items()},
            "hurt": injury is None,
            "tend": injury is not None and injury.stage == "hurt",
            "heal": injury is not None and injury.stage == "tended",
            "hear": self.rumour is None,
            "news": self.rumour is not None,
        }
        return self.weighted({kind: weight for kind, weight in WEIGHTS.items() if allowed.get(kind, True)})

    def _main(self, kind: str) -> Event:
        if kind == "move":
            return self._move()
        if kind in ("find", "gift"):
            return self._begin(kind)
        if kind in STAGES:
            return self._advance(kind)
        if kind in ("hurt", "tend", "heal"):
            return self._injure(kind)
        if kind in ("hear", "news"):
            return self._tell(kind)
        return self.event(kind, actor=self._anyone())

    def _move(self) -> Event:
        target = self._elsewhere()
        event = self.event("move", target=target, spot=self.pick(target.looks))
        self.place = target
        return event

    def _begin(self, kind: str) -> Event:
        things = [self.inventory.thing_of(kind) for kind in self.kinds]
        carried = {story.subject.noun for story in self.things if isinstance(story.subject, Thing)}
        able = [thing for thing in things if thing.noun not in carried]
        story = Story(self.pick(able), self._anyone(), "new", self.number)
        self.things.append(story)
        spot = self.pick(self.place.spots)
        return self.event(kind, actor=story.actor, other=self._host(kind), thing=story.subject, spot=spot)

    def _advance(self, kind: str) -> Event:
        before, after = STAGES[kind]
        story = self.pick([story for story in self.things if story.stage == before])
        cause, story.cause, story.stage = story.cause, self.number, after
        if not after:
            self.things.remove(story)
        return self.event(kind, cause, actor=story.actor, other=self._host(kind), thing=story.subject)

    def _injure(self, kind: str) -> Event:
        story = self.injury
        if story is None:
            story = self.injury = Story(self.inventory.wound(), self._anyone(), "hurt", self.number)
            return self.event(kind, actor=story.actor, wound=story.subject)
        cause, story.cause, story.stage = story.cause, self.number, "tended"
        if kind == "heal":
            self.injury = None
        return self.event(kind, cause, actor=story.actor, other=self._host(kind), wound=story.subject)

    def _tell(self, kind: str) -> Event:
        story = self.rumour
        if story is None:
            deed = self.inventory.deed(self._stranger(), self._elsewhere())
            self.rumour = Story(deed, None, "heard", self.number)
            return self.event(kind, other=deed.teller, deed=deed, target=deed.place)
        self.rumour = None
        return self.event(kind, story.cause, deed=story.subject)

    def _count(self, goods: Goods) -> Event:
        """Let some come or go, or a share of them; other changes would hide how many there were before."""
        before = self.left[goods.name]
        shares = [share for share, (whole, part) in SHARES.items() if _possible(before, whole, part)]
        reason, amounts = "", [before]
        if shares and self.chance(SHARED):
            reason = self.pick(shares)
            whole, part = SHARES[reason]
            amounts.append(before // whole * part)
        else:
            steps = 2 if self.chance(TWICE) else 1
            while len(amounts) <= steps:
                amount = self.whole(FEWEST, MOST)
                if abs(amount - amounts[-1]) > 1:
                    amounts.append(amount)
        self.left[goods.name] = amounts[-1]
        changes = tuple(after - earlier for earlier, after in pairwise(amounts))
        reasons = tuple(self.pick(goods.gained if change > 0 else goods.spent) for change in changes)
        return self.event(
            "count", goods=goods, changes=changes, reasons=reasons, left=amounts[-1], reason=reason
        )

    def _hand(self) -> Event:
        thing = self.pick(self.objects)
        giver = self.holders[thing]
        taker = self.holders[thing] = self._anyone(without=giver)
        return self.event("hand", actor=giver, other=taker, spot=thing)

    def travel(self) -> Iterator[tuple[Event, ...]]:
        """Yield for ever the events of one paragraph after the other, numbered from 0."""
        while True:
            events = self.step()
            if self.number >= 0:
                yield events
