"""What a novel's events come down to: plain statements with the words that tell whether a text states them.

Events that begin something (somebody is met, a thing comes to light) weigh 1; what follows from them weighs less. A short
summary is made of the heavy ones, so that summaries of neighbouring parts share few words: the order of the parts
has to be read from the text.
"""

import re
import zlib
from functools import cache

from long_context_tasks.synthetic.document import Fact
from long_context_tasks.synthetic.event import Event
from long_context_tasks.synthetic.people import Deed, Person, Thing, Wound
from long_context_tasks.synthetic.wording import records, repair

__all__ = ["facts_of", "full_name", "telling_words"]

MAJOR, MIDDLE, MINOR = 1.0, 0.6, 0.2
WORD = re.compile(r"[a-zA-Z-]{4,}")
_COMMON = (
    "about above after again against back been before behind beneath better between brought came come could door down "
    "each ever every everyone four from front gave half have held hour into itself just keep kept last least left long "
    "made more never night nine nobody nothing only open over paid part people place said same selling sent shut some "
    "somebody sorted stood such that their them then there they thing three through till together town turned twice two "
    "under until upon very went were what when which while with without would years your under inside high loose where "
    "before below round among second along away good dark right true found find whole knew told"
)
COMMON = frozenset(_COMMON.split())
LOST = "lost lose losing loss missing stolen stole took lifted gone vanished fell slid seen walked went there"
HEALED = "healed healing heal recovered mended well good again"
DELIVERED = "delivered deliver gave given handed hands received got kept promise sent put home known knew"
LEFT = "parted parting farewell"


def full_name(person: Person) -> str:
    """First name and surname."""
    return f"{person.name} {person.surname}"


def telling_words(text: str) -> tuple[str, ...]:
    """The words of a phrase that are not everyday words, lower case, each once."""
    plain = re.sub(r"\{[^}]*\}", " ", text).lower()
    return tuple(dict.fromkeys(word for word in WORD.findall(plain) if word not in COMMON))


def _longest(text: str) -> tuple[str, ...]:
    """The two longest of the telling words."""
    return tuple(sorted(telling_words(text), key=len)[-2:])


@cache
def _hurts() -> dict[str, tuple[str, tuple[str, ...]]]:
    return {part: (told, tuple(keys.split(", "))) for part, told, keys in records("story_names.txt", "hurts")}


def _of(person: Person | None) -> tuple[str, ...]:
    assert person is not None
    return person.name, person.surname


def _choose(*options: str) -> str:
    """One of several ways to say the same, the same each time."""
    return options[zlib.crc32(options[0].encode()) % len(options)]


def _fact(weight: float, statement: str, *words: tuple[str, ...]) -> Fact:
    return Fact(repair(statement), words, weight)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _there(person: Person | None) -> Person:
    assert person is not None
    return person


def _thing(event: Event) -> Thing:
    assert event.thing is not None
    return event.thing


def _whole(event: Event) -> str:
    return f"{_thing(event).adjective} {_thing(event).noun}"


def _deed(event: Event) -> Deed:
    assert event.deed is not None
    return event.deed


def _wound(event: Event) -> Wound:
    assert event.wound is not None
    return event.wound


def _target(event: Event) -> str:
    assert event.target is not None
    return event.target.name


def facts_of(event: Event) -> tuple[Fact, ...]:
    """The facts of one event; every event has one."""
    return (_KINDS[event.kind](event),)


# --- people and places


def _meet(event: Event) -> Fact:
    host, place = _there(event.other), event.place.name
    told = _choose(
        f"Acquaintance was made with {full_name(host)}, {host.trade} of {place}.",
        f"{full_name(host)}, who was {host.trade} at {place}, took notice of the strangers.",
        f"At {place} they got to know the {host.trade}, {full_name(host)}.",
        f"Their host at {place} was {full_name(host)}, a(n) {host.trade}.",
        f"A(n) {host.trade} of {place} is brought into the story: {full_name(host)}.",
    )
    return _fact(MAJOR, told, _of(host), (host.trade,))


def _join(event: Event) -> Fact:
    actor = _there(event.actor)
    told = _choose(
        f"A(n) {actor.trade} called {full_name(actor)} became one of the company.",
        f"The company grew by one, {full_name(actor)}, a(n) {actor.trade}.",
        f"{full_name(actor)}, a(n) {actor.trade}, was taken along.",
    )
    return _fact(MAJOR, told, _of(actor), (actor.trade,))


def _part(event: Event) -> Fact:
    actor = _there(event.actor)
    return _fact(MIDDLE, f"The company parted from {full_name(actor)}.", _of(actor), tuple(LEFT.split()))


def _arrive(event: Event) -> Fact:
    place = event.place
    told = f"They came to {place.name}, where there was a(n) {place.kind}. {_capital(event.spot)}."
    return _fact(MIDDLE, told, (place.name,), _longest(event.spot))


def _depart(event: Event) -> Fact:
    place, target = event.place.name, _target(event)
    told = f"They set out from {place} to {target}"
    if event.deed is not None:
        return _fact(
            MINOR, f"{told} because of the {event.deed.official}.", (event.deed.official,), (target,)
        )
    if event.thing is not None:
        told = f"With the {event.thing.noun} for {full_name(_there(event.third))} they set out from {place} to {target}"
    return _fact(MINOR, f"{told}.", (place,), (target,))


def _road(event: Event) -> Fact:
    return _fact(MINOR, f"They were held up on the way to {_target(event)}.", (_target(event),))


def _rest(event: Event) -> Fact:
    actor, place = _there(event.actor), event.place.name
    return _fact(MINOR, f"It was a day of rest at {place}, for {actor.name} too.", (place,), _of(actor))


# --- things


def _find(event: Event) -> Fact:
    whole, spot = _whole(event), event.spot
    told = _choose(
        f"A(n) {whole} came to light {spot}.",
        f"They discovered a(n) {whole} {spot}.",
        f"Somebody had hidden a(n) {whole} {spot}, and it was found.",
        f"The hiding place of a(n) {whole}, {spot}, was laid open.",
    )
    return _fact(MAJOR, told, (_thing(event).noun,), telling_words(spot))


def _gift(event: Event) -> Fact:
    whole, host = _whole(event), _there(event.other)
    giver = f"{full_name(host)} the {host.trade}"
    told = _choose(
        f"They had a(n) {whole} as a present from {giver}.",
        f"{giver} parted with a(n) {whole} in their favour.",
        f"A(n) {whole} passed into their hands, and the giver was {giver}.",
    )
    return _fact(MAJOR, told, (_thing(event).noun,), _of(host))


def _study(event: Event) -> Fact:
    thing = _thing(event)
    told = f"A(n) {_whole(event)} was looked over. {_capital(thing.flaw)}."
    return _fact(MIDDLE, told, (thing.noun,), telling_words(thing.flaw))


def _mend(event: Event) -> Fact:
    thing = _thing(event)
    told = f"{_there(event.actor).name} {thing.fix}, and so the {thing.noun} was repaired."
    return _fact(MIDDLE, told, (thing.noun,), telling_words(thing.fix))


def _use(event: Event) -> Fact:
    thing = _thing(event)
    return _fact(MIDDLE, f"The {_whole(event)} {thing.use}.", (thing.noun,), telling_words(thing.use))


def _hand_over(event: Event) -> Fact:
    other = _there(event.other)
    verb = "was sold to" if event.kind == "sell" else "was given away to"
    told = f"The {_whole(event)} {verb} {full_name(other)}."
    return _fact(MIDDLE, told, (_thing(event).noun,), _of(other))


def _lose(event: Event) -> Fact:
    return _fact(
        MIDDLE, f"The {_whole(event)} was lost for good.", (_thing(event).noun,), tuple(LOST.split())
    )


def _accept(event: Event) -> Fact:
    whole, third, there = _whole(event), _there(event.third), _target(event)
    receiver = f"{full_name(third)}, a(n) {third.trade}"
    told = _choose(
        f"They undertook to carry a(n) {whole} to {receiver} at {there}.",
        f"An errand was laid on them: a(n) {whole} for {receiver} at {there}.",
        f"{receiver} at {there}, was to have a(n) {whole} by their hands.",
    )
    return _fact(MAJOR, told, (_thing(event).noun,), _of(third), (there,))


def _deliver(event: Event) -> Fact:
    noun, third = _thing(event).noun, _there(event.third)
    told = f"The {noun} was delivered to {full_name(third)}, a(n) {third.trade}."
    return _fact(MIDDLE, told, (noun,), _of(third), tuple(DELIVERED.split()))


# --- rumours and wounds


def _hear(event: Event) -> Fact:
    deed = _deed(event)
    who = f"the {deed.official} of {deed.place.name}"
    told = _choose(
        f"It was said that {who} {deed.crime}.",
        f"A rumour reached them: {who} {deed.crime}.",
        f"They were told in confidence that {who} {deed.crime}.",
    )
    return _fact(MAJOR, told, (deed.official,), telling_words(deed.crime))


def _confirm(event: Event) -> Fact:
    deed = _deed(event)
    told = f"What was said against the {deed.official} was true. {_capital(deed.evidence)}."
    return _fact(MIDDLE, told, (deed.official,), telling_words(deed.evidence))


def _settle(event: Event) -> Fact:
    deed = _deed(event)
    told = f"The {deed.official} was called to account. {_capital(deed.outcome)}."
    return _fact(MIDDLE, told, (deed.official,), telling_words(deed.outcome))


def _hurt(event: Event) -> Fact:
    wound = _wound(event)
    told, keys = _hurts()[wound.part]
    return _fact(MAJOR, f"One of the travellers {told}.", keys, (wound.part, *telling_words(wound.cause)))


def _tend(event: Event) -> Fact:
    wound, host = _wound(event), _there(event.other)
    told = f"{host.name} the {host.trade} treated the {wound.part} with {wound.cure}."
    return _fact(MIDDLE, told, (wound.part,), _of(host))


def _heal(event: Event) -> Fact:
    part, actor = _wound(event).part, _there(event.actor)
    return _fact(
        MIDDLE, f"The {part} of {actor.name} had healed.", (part,), _of(actor), tuple(HEALED.split())
    )


_KINDS = {
    "meet": _meet,
    "join": _join,
    "part": _part,
    "arrive": _arrive,
    "depart": _depart,
    "road": _road,
    "rest": _rest,
    "find": _find,
    "gift": _gift,
    "study": _study,
    "mend": _mend,
    "use": _use,
    "sell": _hand_over,
    "give": _hand_over,
    "lose": _lose,
    "accept": _accept,
    "deliver": _deliver,
    "hear": _hear,
    "confirm": _confirm,
    "settle": _settle,
    "hurt": _hurt,
    "tend": _tend,
    "heal": _heal,
}
