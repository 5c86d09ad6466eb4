"""The world of the novel: the same people in the same region for ever, and what they own goes up and down.

In :mod:`.world` places and people come and go, so that passages close to one another name the same ones. Here everybody may be
named anywhere, and there is no rhythm: after a move anything may follow, and any kind of event but a move may come after itself. What
came first can be told from what each event leaves behind and the next one takes up: where the company is, how many of its goods are
left, who carries what, what is wrong with a thing or a limb.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TypeVar

from long_context_tasks.synthetic.event import Event
from long_context_tasks.synthetic.people import (
    Deed,
    Goods,
    Inventory,
    Person,
    Place,
    Thing,
    Wound,
    goods_kinds,
    pick,
    thing_kinds,
)
from long_context_tasks.synthetic.wording import words

__all__ = ["Company"]

MAP_SIDE = 10  # of the map from which the region is taken
PLACES, PEOPLE, OBJECTS = 9, 6, 3
RUN_IN = 200  # paragraphs before the first that is told
MAX_THINGS = 4
KINDS = 8  # of things that ever come up: were there more, those of today would tell which passages are close to each other
FEWEST, MOST = 12, 99  # of what is counted
COUNT, HAND = 1.0, 0.6  # how often the goods are counted, and how often an object changes hands
SHARED, TWICE = 0.4, 0.5  # how often a share comes or goes where one can, and how often some come or go twice
# Of every so many goods so many are left.
SHARES = {"half": (2, 1), "double": (1, 2), "third": (3, 2), "but_third": (3, 1)}
WEATHER = ("clear", "rain", "fog", "wind")

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
# Kind of event -> how far a thing has come before it and after it; an empty word ends its story.
STAGES = {
    "study": ("new", "known"),
    "mend": ("known", "whole"),
    "use": ("whole", "used"),
    "sell": ("used", ""),
    "give": ("used", ""),
    "lose": ("used", ""),
}
T = TypeVar("T")

HOSTS = ("gift", "sell", "give", "tend", "hear")  # kinds of event that somebody of the place takes part in


@dataclass(slots=True)
class Story:
    """Something that has begun and not ended: who or what it is about, how far it has come, its last event."""

    subject: Thing | Wound | Deed
    actor: Person | None
    stage: str
    cause: int


@dataclass(slots=True)
class State:
    """What goes on at one moment."""

    place: Place
    left: dict[str, int]
    holders: dict[str, Person]
    things: list[Story] = field(default_factory=list)
    injury: Story | None = None
    rumour: Story | None = None
    kind: str = ""


def _possible(before: int, whole: int, part: int) -> bool:
    """Whether that many goods can be divided so."""
    return before % whole == 0 and FEWEST <= before // whole * part <= MOST


class Company:
    """A company of travellers; `step` makes the next thing happen."""

    def __init__(self, seed: int) -> None:
        """Choose the people, their region, and what they own; the same for the same seed on every machine."""
        self.random = Random(seed).random
        self.inventory = Inventory(self.random, MAP_SIDE)
        self.region = self._region()
        party: list[Person] = []
        while len(party) < PEOPLE:
            person = self.inventory.person(party)
            # Names that begin alike are hard to keep apart.
            if all(other.name[0] != person.name[0] for other in party):
                party.append(person)
        self.party = tuple(party)
        self.goods = self._some(goods_kinds(), 1)
        self.kinds = self._some(tuple(range(len(thing_kinds()))), KINDS)
        self.objects = self._some(words("goods.txt", "objects"), OBJECTS)
        self.number = -RUN_IN - 1
        self.day = self.hour = 0
        self.weather = WEATHER[0]
        self.state = State(
            self.region[0],
            {goods.name: self._amount() for goods in self.goods},
            {one: self._anyone() for one in self.objects},
        )

    def _region(self) -> tuple[Place, ...]:
        """Places of different kinds whose names begin differently."""
        region: list[Place] = []
        for place in self.inventory.places:
            if all(other.kind != place.kind and other.name[:3] != place.name[:3] for other in region):
                region.append(place)
        return tuple(region[:PLACES])

    def _some(self, options: tuple[T, ...], number: int) -> tuple[T, ...]:
        rest = list(options)
        return tuple(rest.pop(int(self.random() * len(rest))) for _ in range(number))

    def _amount(self) -> int:
        return FEWEST + int(self.random() * (MOST - FEWEST + 1))

    def _anyone(self, without: Person | None = None) -> Person:
        able = [person for person in self.party if person is not without]
        return able[int(self.random() * len(able))]

    def _stranger(self) -> Person:
        """Somebody of the place, who has no name."""
        female = self.random() < 0.5
        trade = pick(self.inventory.trades[0 if female else 1], self.random)
        return Person(f"the {trade}", "", female, trade)

    def elsewhere(self, random: Callable[[], float]) -> Place:
        """Any other place of the region."""
        able = [place for place in self.region if place is not self.state.place]
        return able[int(random() * len(able))]

    def step(self) -> tuple[Event, ...]:
        """Make the next thing happen; return what one paragraph tells, the main event first."""
        self.number += 1
        self.hour += (0, 1, 1, 1, 2)[int(self.random() * 5)]
        if self.hour > 5:
            self.hour -= 6
            self.day += 1
        # The weather is as changeable as the rest: were it to last, it would show which passages are close to each other.
        self.weather = WEATHER[int(self.random() * len(WEATHER))]
        kind = self._next_kind()
        self.state.kind = kind
        events = [self._main(kind)]
        events += [self._count(goods) for goods in self.goods if self.random() < COUNT]
        if self.random() < HAND:
            events.append(self._hand())
        return tuple(events)

    def _next_kind(self) -> str:
        state = self.state
        stages = [story.stage for story in state.things]
        injury = state.injury
        allowed = {
            "move": state.kind != "move",
            "find": len(stages) < MAX_THINGS,
            "gift": len(stages) < MAX_THINGS,
            **{kind: before in stages for kind, (before, _) in STAGES.items()},
            "hurt": injury is None,
            "tend": injury is not None and injury.stage == "hurt",
            "heal": injury is not None and injury.stage == "tended",
            "hear": state.rumour is None,
            "news": state.rumour is not None,
        }
        possible = {kind: weight for kind, weight in WEIGHTS.items() if allowed.get(kind, True)}
        mark = self.random() * sum(possible.values())
        for kind, weight in possible.items():
            mark -= weight
            if mark < 0:
                return kind
        return "rest"

    def _event(self, kind: str, cause: int | None = None, **fields: object) -> Event:
        return Event(
            number=self.number,
            causes=() if cause is None else (cause,),
            kind=kind,
            day=self.day,
            hour=self.hour,
            weather=self.weather,
            place=self.state.place,
            party=self.party,
            **fields,  # type: ignore[arg-type]
        )

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
        return self._event(kind, actor=self._anyone())

    def _move(self) -> Event:
        target = self.elsewhere(self.random)
        event = self._event("move", target=target, spot=pick(target.looks, self.random))
        self.state.place = target
        return event

    def _begin(self, kind: str) -> Event:
        things = [self.inventory.thing_of(kind) for kind in self.kinds]
        carried = {story.subject.noun for story in self.state.things if isinstance(story.subject, Thing)}
        able = [thing for thing in things if thing.noun not in carried]
        story = Story(able[int(self.random() * len(able))], self._anyone(), "new", self.number)
        self.state.things.append(story)
        spot = pick(self.state.place.spots, self.random)
        other = self._stranger() if kind in HOSTS else None
        return self._event(kind, actor=story.actor, other=other, thing=story.subject, spot=spot)

    def _advance(self, kind: str) -> Event:
        before, after = STAGES[kind]
        able = [story for story in self.state.things if story.stage == before]
        story = able[int(self.random() * len(able))]
        cause, story.cause, story.stage = story.cause, self.number, after
        if not after:
            self.state.things.remove(story)
        other = self._stranger() if kind in HOSTS else None
        return self._event(kind, cause, actor=story.actor, other=other, thing=story.subject)

    def _injure(self, kind: str) -> Event:
        story = self.state.injury
        if story is None:
            story = self.state.injury = Story(self.inventory.wound(), self._anyone(), "hurt", self.number)
            return self._event(kind, actor=story.actor, wound=story.subject)
        cause, story.cause, story.stage = story.cause, self.number, "tended"
        if kind == "heal":
            self.state.injury = None
        other = self._stranger() if kind in HOSTS else None
        return self._event(kind, cause, actor=story.actor, other=other, wound=story.subject)

    def _tell(self, kind: str) -> Event:
        story = self.state.rumour
        if story is None:
            deed = self.inventory.deed(self._stranger(), self.elsewhere(self.random))
            self.state.rumour = Story(deed, None, "heard", self.number)
            return self._event(kind, other=deed.teller, deed=deed, target=deed.place)
        self.state.rumour = None
        return self._event(kind, story.cause, deed=story.subject)

    def _count(self, goods: Goods) -> Event:
        """Some come or go, or a share of them; otherwise how many there are then says nothing of how many there were."""
        before = self.state.left[goods.name]
        shares = [share for share, (whole, part) in SHARES.items() if _possible(before, whole, part)]
        reason, amounts = "", [before]
        if shares and self.random() < SHARED:
            reason = shares[int(self.random() * len(shares))]
            whole, part = SHARES[reason]
            amounts.append(before // whole * part)
        else:
            steps = 2 if self.random() < TWICE else 1
            while len(amounts) <= steps:
                amount = self._amount()
                if abs(amount - amounts[-1]) > 1:
                    amounts.append(amount)
        self.state.left[goods.name] = amounts[-1]
        changes = tuple(after - earlier for earlier, after in pairwise(amounts))
        reasons = tuple(pick(goods.gained if change > 0 else goods.spent, self.random) for change in changes)
        return self._event(
            "count", goods=goods, changes=changes, reasons=reasons, left=amounts[-1], reason=reason
        )

    def _hand(self) -> Event:
        one = pick(self.objects, self.random)
        giver = self.state.holders[one]
        taker = self.state.holders[one] = self._anyone(without=giver)
        return self._event("hand", actor=giver, other=taker, spot=one)

    def travel(self) -> Iterator[tuple[Event, ...]]:
        """Yield for ever what one paragraph after the other tells, numbered from 0."""
        while True:
            events = self.step()
            if self.number >= 0:
                yield events
