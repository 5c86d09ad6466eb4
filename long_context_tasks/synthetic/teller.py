"""Tells events of a small world: the common part of the novel and of the stories."""

from random import Random

from long_context_tasks.synthetic.people import Event, Person
from long_context_tasks.synthetic.wording import PRONOUNS, Writer, capital, clause


class Teller(Writer):
    """Writes sentences about events."""

    def __init__(self, seed: int, file: str) -> None:
        """Tell by the plans that all tellers share and by those of a file."""
        super().__init__(Random(seed).random, "scenes.txt", "scenery.txt", file)
        # Who was named last in this paragraph, and everyone named in it: a pronoun must mean one person only.
        self.last: Person | None = None
        self.named: list[Person] = []
        self.roles: dict[str, Person] = {}
        self.text: dict[str, str] = {}

    def say_of(self, name: str, event: Event, now: Event | None = None) -> str:
        """Fill one of the plans of a list about an event; ``now`` is the later event from which it is seen."""
        self.set_fields(event, now or event)
        return self.say(name)

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
            roles["X"] = self.pick(companions)
        roles["M"] = self.pick([person for person in there if person is not event.actor] or party[:1])
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
            text["thing"] = thing.whole if self.chance(0.6) else thing.noun
            text["athing"] = f"a(n) {thing.whole}"
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
                return self.written(clause(self.text["cause"]))
            return capital(self.text[role]) if form == "cap" else self.text[role]
        if form == "":
            return self.name(person, out)
        if form in ("n", "full"):
            self.mention(person)
            return person.name if form == "n" else person.full
        if form == "trade":
            return person.trade
        return PRONOUNS[form][0 if person.female else 1]

    def mention(self, person: Person) -> None:
        """Keep in mind that someone was named."""
        self.last = person
        if person not in self.named:
            self.named.append(person)

    def alone(self, person: Person) -> bool:
        """Return whether everybody else named in this paragraph is of the other sex."""
        return all(other is person or other.female != person.female for other in self.named)

    def name(self, person: Person, out: list[str]) -> str:
        """Choose a name, or a pronoun at the beginning of a sentence when it can mean only this person."""
        begins = not out or out[-1].endswith((". ", "? ", "! "))
        if begins and self.last is person and self.alone(person) and self.chance(0.7):
            return "she" if person.female else "he"
        self.mention(person)
        return person.name
