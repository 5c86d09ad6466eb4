"""What a debate's speeches come down to: plain statements with the words that tell whether a text states them."""

import hashlib
import zlib
from collections.abc import Mapping, Sequence

from long_context_tasks.corpora.synthetic.debate_house import Act, Member
from long_context_tasks.corpora.synthetic.document import Fact
from long_context_tasks.corpora.synthetic.story_facts import telling_words
from long_context_tasks.corpora.synthetic.wording import repair

__all__ = ["MAJOR", "MIDDLE", "MINOR", "detail", "fact_of_act", "summarize"]

MAJOR, MIDDLE, MINOR = 1.0, 0.6, 0.2
MOST_FACTS = 3  # in the summary of a part
Words = tuple[str, ...]


def _choose(*options: str) -> str:
    """One of several ways to say the same, the same each time."""
    return options[zlib.crc32(options[0].encode()) % len(options)]


def _fact(weight: float, statement: str, *groups: Words) -> Fact:
    return Fact(repair(statement), groups, weight)


def fact_of_act(act: Act, people: Mapping[str, Member], text: Mapping[str, str]) -> Fact:
    """The fact of a speech's purpose.

    Args:
        act: the speech.
        people: who "Q" is, the person outside the House.
        text: the fields of the speech.
    """
    if act.kind in ("petition", "tribute"):
        return _of_person(act.kind, people["Q"], text["place"], text["big"])
    return _DECISIVE[act.kind](act) if act.kind in _DECISIVE else _of_talk(act)


def _of_person(kind: str, person: Member, place: str, number: str) -> Fact:
    name = " ".join(person.names)
    if kind == "petition":
        told = _choose(
            f"A petition from {place} with {number} names was presented; {name} stood behind it.",
            f"{number} people of {place}, {name} among them, petitioned the House.",
        )
        return _fact(MAJOR, told, (place,), (number,), person.names)
    told = _choose(
        f"The late {name} was remembered in the House.",
        f"A tribute was paid to {name}.",
        f"A Member spoke of the death of {name}.",
    )
    return _fact(MAJOR, told, (person.name,), (person.surname,))


def _move(act: Act) -> Fact:
    issue, aim = act.issue, act.issue.topic.aim
    told = _choose(
        f"An amendment by {issue.mover.called} would {aim}, with “{issue.new}” in the place of “{issue.old}”.",
        f"{issue.mover.called} proposed to {aim}: “{issue.new}” was to stand for “{issue.old}”.",
        f"It was moved by {issue.mover.called} that “{issue.old}” become “{issue.new}”, to {aim}.",
    )
    return _fact(MAJOR, told, (issue.new,), (issue.old,), issue.mover.names)


def _divide(act: Act) -> Fact:
    number, carried = act.issue.number, "carried" if act.ayes > act.noes else "lost"
    told = _choose(
        f"A vote on amendment {number} was {carried} by {act.ayes} to {act.noes}.",
        f"There was a division: {act.ayes} for amendment {number}, {act.noes} against it.",
        f"Amendment {number} was {carried}, with {act.ayes} in favour and {act.noes} opposed.",
    )
    return _fact(MAJOR, told, (str(number),), (str(act.ayes),), (str(act.noes),))


def _accept(act: Act) -> Fact:
    number, subject = act.issue.number, act.issue.topic.subject
    told = _choose(
        f"The Government took over amendment {number}, on {subject}, and it was agreed to.",
        f"Amendment {number} was agreed to without a vote, the Minister being content to accept it; it concerned {subject}.",
    )
    return _fact(MIDDLE, told, (str(number),), ("agreed", "accept", "accepted", "accepts"))


def _withdraw(act: Act) -> Fact:
    number = act.issue.number
    told = _choose(
        f"Amendment {number}, on {act.issue.topic.subject}, was withdrawn.",
        f"Leave was given for amendment {number} to be withdrawn.",
    )
    return _fact(MIDDLE, told, (str(number),), ("withdrawn", "withdraw", "withdrew"))


def _figure(act: Act) -> Fact:
    unit = act.issue.topic.unit
    told = _choose(
        f"The number of {unit} was put at {act.figure:,}.",
        f"A figure of {act.figure:,} was quoted for {unit}.",
        f"There were said to be {act.figure:,} {unit}.",
    )
    return _fact(MAJOR, told, (f"{act.figure:,}",), telling_words(unit) or (unit,))


def _correct(act: Act) -> Fact:
    told = _choose(
        f"A figure was put right: {act.figure:,} {act.issue.topic.unit}, not {act.wrong:,}.",
        f"It was {act.figure:,} and not {act.wrong:,}, the Committee heard in correction.",
        f"{act.wrong:,} turned out to be wrong, and {act.figure:,} was given in its place.",
    )
    return _fact(MAJOR, told, (f"{act.figure:,}",), (f"{act.wrong:,}",))


_DECISIVE = {
    "move": _move,
    "divide": _divide,
    "accept": _accept,
    "withdraw": _withdraw,
    "figure": _figure,
    "correct": _correct,
}


def _of_talk(act: Act) -> Fact:
    """The fact of a speech that decides nothing: who spoke to what end."""
    assert act.speaker is not None
    issue, topic, other = act.issue, act.issue.topic, act.other.called
    number, names = (str(issue.number),), act.speaker.names
    matter = (*number, issue.new, *telling_words(f"{topic.subject} {topic.single} {topic.aim}"))
    groups: dict[str, tuple[Words, ...]] = {
        "call": (number, issue.mover.names),
        "support": (names, matter),
        "oppose": (names, matter),
        "order_raise": (names, ("order",)),
        "order_rule": (("order",),),
    }
    told = {
        "call": f"Amendment {issue.number} was called, in the name of {issue.mover.called}.",
        "support": f"{act.speaker.full} spoke for what was proposed on {topic.subject}.",
        "oppose": f"{act.speaker.full} spoke against what was proposed on {topic.subject}.",
        "ask": f"{act.speaker.full} put a question to {other}.",
        "answer": f"{act.speaker.full} replied to a question of {other}.",
        "order_raise": f"{act.speaker.full} raised a point of order against {other}.",
        "order_rule": f"The Chair gave a ruling on a point of order of {other}.",
        "reply": f"{act.speaker.full} spoke for the Government on {topic.subject}.",
    }[act.kind]
    return _fact(MINOR, told, *groups.get(act.kind, (names,)))


def detail(kind: str, people: Mapping[str, Member], text: Mapping[str, str], said: str) -> Fact:
    """The fact of a case that was told or of evidence that was quoted.

    Args:
        kind: "case" or "witness".
        people: who "Q" (of the case) and "W" (the witness) are.
        text: the fields of the speech.
        said: the words of the speech about it.
    """
    # Without titles: the speech may have left them out.
    if kind == "case":
        person, place = people["Q"], text["place"]
        name = " ".join(person.names)
        if place not in said:
            told = _choose(
                f"The hardship of {name} was put before the House.",
                f"The House heard what {name} had suffered.",
            )
            return _fact(MAJOR, told, (person.name,), (person.surname,))
        told = _choose(
            f"The hardship of {name} of {place} was put before the House.",
            f"The House heard of {name} of {place}, who had been badly served.",
            f"A Member told what had been done to {name} of {place}.",
            f"{name}, of {place}, was held up as an example of those who suffer.",
        )
        return _fact(MAJOR, told, (person.surname,), (place,))
    name = " ".join(people["W"].names)
    told = _choose(
        f"The evidence of {name} was quoted.",
        f"{name} was cited as an authority.",
        f"Somebody appealed to what {name} had found.",
        f"The views of {name} were brought up in the argument.",
    )
    return _fact(MAJOR, told, (people["W"].name,), (people["W"].surname,))


def summarize(facts: Sequence[Fact]) -> str:
    """The three weightiest facts, chosen and arranged by chance that is always the same."""
    ranked = sorted(facts, key=lambda fact: (-fact.weight, hashlib.sha256(fact.statement.encode()).digest()))
    return " ".join(dict.fromkeys(fact.statement for fact in ranked[:MOST_FACTS]))
