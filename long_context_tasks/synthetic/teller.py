"""Tells events of a small world, paragraph after paragraph: the common part of the novel and of the stories."""

from collections import deque
from random import Random

from long_context_tasks.synthetic.event import Event
from long_context_tasks.synthetic.people import Person
from long_context_tasks.synthetic.wording import clause, expand, plans, repair

__all__ = ["MEMORY", "PRONOUNS", "Teller"]

MEMORY = 60  # events that somebody may still speak of

# What more may be told of an event, beside its own sentences.
DETAILS = {
    "arrive": "detail.arrive",
    "meet": "detail.meet",
    "join": "detail.join",
    "find": "detail.thing",
    "gift": "detail.thing",
    "study": "detail.thing",
    "accept": "detail.thing",
}
PRONOUNS = {
    "he": ("she", "he"),
    "He": ("She", "He"),
    "him": ("her", "him"),
    "his": ("her", "his"),
    "himself": ("herself", "himself"),
    "person": ("woman", "man"),
}


class Teller:
    """Writes one paragraph after the other."""

    def __init__(self, seed: int) -> None:
        """Begin with an empty memory."""
        self.random = Random(seed).random
        self.scenes = plans("scenes.txt", "scenery.txt")
        self.memories: deque[Event] = deque(maxlen=MEMORY)
        self.before: Event | None = None
        # Who was named last in this paragraph, and everyone named in it: a pronoun must mean one person only.
        self.last: Person | None = None
        self.named: list[Person] = []
        self.roles: dict[str, Person] = {}
        self.text: dict[str, str] = {}

    def chance(self, probability: float) -> bool:
        """Answer yes with the given probability."""
        return self.random() < probability

    def paragraph(self, event: Event) -> tuple[str, tuple[Event, ...]]:
        """Write the paragraph of the next event; return it with the events that it tells."""
        self.last, self.named = None, []
        told = [event]
        parts: list[str] = []
        before = self.before
        weather_changed = before is not None and before.weather != event.weather
        hour_changed = before is not None and before.hour != event.hour
        scenery = None
        if weather_changed:
            scenery = f"weather.{event.weather}"
        elif hour_changed and self.chance(0.4):
            scenery = f"hour.{event.hour}"
        elif self.chance(0.45):
            scenery = f"sky.{event.weather}"
        scenery_first = scenery is not None and self.chance(0.35)
        if scenery is not None and scenery_first:
            parts.append(self.say(scenery, event))
        if before is not None:
            parts.append(self.say(f"after.{before.kind}", before, event))
        kind = f"depart.{event.reason}" if event.kind == "depart" else event.kind
        if scenery is not None and not scenery_first and self.chance(0.5):
            parts.append(self.say(scenery, event))
            scenery = None
        parts.append(self.say(f"tell.{kind}", event))
        if self.chance(0.5):
            parts.append(self.say(DETAILS.get(event.kind, "detail.talk"), event))
        if scenery is not None and not scenery_first:
            parts.append(self.say(scenery, event))
        length = sum(map(len, parts))
        goal = 170 + 230 * self.random()
        extras = ["gesture", "story", "memory"]
        while length < goal and extras:
            extra = extras.pop(int(self.random() * len(extras)))
            memory = self.recall(event) if extra == "memory" else None
            if extra == "memory" and memory is None:
                continue
            if memory is not None:
                told.append(memory)
                parts.append(self.say(f"memory.{memory.kind}", memory, event))
            else:
                parts.append(self.say(extra, event))
            length += len(parts[-1])
        self.remember(event)
        return repair(" ".join(parts)), tuple(told)

    def remember(self, event: Event) -> None:
        """Take note of an event, told or not."""
        self.memories.append(event)
        self.before = event

    def recall(self, event: Event) -> Event | None:
        """Choose an event of some time ago that somebody may speak of now."""
        old = self.memories[int(self.random() * (len(self.memories) - 12))]
        if f"memory.{old.kind}" not in self.scenes:
            return None
        if old.kind in ("mend", "heal") and old.actor not in event.party:
            return None
        return old

    def say(self, name: str, event: Event, now: Event | None = None) -> str:
        """Write one of the plans of a list about an event; ``now`` is the later event from which it is seen."""
        self.set_fields(event, now or event)
        options = self.scenes[name]
        out: list[str] = []
        expand(options[int(self.random() * len(options))], self.fill, self.random, out)
        return "".join(out)

    def set_fields(self, event: Event, now: Event) -> None:
        """Say who and what the fields of a plan mean."""
        party = now.party
        roles = {"L": party[0]}
        if event.actor is not None:
            roles["A"] = event.actor
        # Someone who has just come has no opinion on what was before.
        there = [person for person in party if person in event.party]
        companions = [person for person in there[1:] if person is not event.actor]
        if companions:
            roles["X"] = companions[int(self.random() * len(companions))]
        others = [person for person in there if person is not event.actor] or [party[0]]
        roles["M"] = others[int(self.random() * len(others))]
        if event.other is not None:
            roles["B"] = event.other
        if event.third is not None:
            roles["C"] = event.third
        self.roles = roles
        text = {"place": event.place.name, "kind": event.place.kind, "spot": event.spot, "look": event.spot}
        text["from_"] = event.place.name
        if event.target is not None:
            text["dest"] = event.target.name
        thing = event.thing
        if thing is not None:
            text["noun"] = thing.noun
            text["thing"] = f"{thing.adjective} {thing.noun}" if self.chance(0.6) else thing.noun
            text["athing"] = f"a(n) {thing.adjective} {thing.noun}"
            text["flaw"], text["fix"], text["use"] = thing.flaw, thing.fix, thing.use
        deed = event.deed
        if deed is not None:
            text["official"], text["crime"] = deed.official, deed.crime
            text["evidence"], text["outcome"] = deed.evidence, deed.outcome
        if event.wound is not None:
            text["part"], text["cure"] = event.wound.part, event.wound.cure
            if event.kind == "hurt" and now is event:
                text["cause"] = event.wound.cause
        self.text = text

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field; ``out`` is what stands before it."""
        role, form = field
        person = self.roles.get(role)
        if person is None:
            if role == "cause":
                return self.cause()
            text = self.text[role]
            return text[0].upper() + text[1:] if form == "cap" else text
        if form == "":
            return self.name(person, out)
        if form in ("n", "full"):
            self.mention(person)
            return person.name if form == "n" else f"{person.name} {person.surname}"
        if form == "trade":
            return person.trade
        return PRONOUNS[form][0 if person.female else 1]

    def cause(self) -> str:
        """Tell how an injury came about."""
        out: list[str] = []
        expand(clause(self.text["cause"]), self.fill, self.random, out)
        return "".join(out)

    def mention(self, person: Person) -> None:
        """Keep in mind that someone was named."""
        self.last = person
        if person not in self.named:
            self.named.append(person)

    def name(self, person: Person, out: list[str]) -> str:
        """Choose a name, or a pronoun at the beginning of a sentence when it can mean only this person."""
        begins = not out or out[-1].endswith((". ", "? ", "! "))
        alone = all(other is person or other.female != person.female for other in self.named)
        if begins and self.last is person and alone and self.chance(0.7):
            return "she" if person.female else "he"
        self.mention(person)
        return person.name
