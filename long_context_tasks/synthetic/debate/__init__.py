"""Parliamentary debates of any length, with the names of people, the facts and the summaries of their parts.

A paragraph is a speech as :class:`~long_context_tasks.corpora.documents.Debate` has it: the speaker, a colon, the words.
Labels are the parts of every name that refers to a person, in speeches and before them, titles left out. Places,
constituencies, ships, newspapers and institutions have names of their own, which no person has; a law is called after a
person only where that person is named beside it, so that the name is a label in either reading.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from random import Random

from long_context_tasks.synthetic.debate.house import Act, Member, Names, sit
from long_context_tasks.synthetic.document import (
    Document,
    Fact,
    FactTable,
    Paragraph,
    paragraphs_of,
    ranked_facts,
    telling_words,
)
from long_context_tasks.synthetic.wording import (
    PRONOUNS,
    Writer,
    capital,
    parted,
    repair,
    spoken_in,
    stream,
    words,
)

# Measured with cl100k: 3.93 to 3.96 characters a token, 4.06 in a short one; a little more, so that a debate is never too short.
CHARACTERS_PER_TOKEN = 4.15
# What a speech may hold beside its purpose; those of DETAILS name somebody or something new and make a fact.
DETAILS = ("case", "witness")
BODY = (
    *["point"] * 4,
    *["tour"] * 4,
    "refer",
    *["history"] * 3,
    *("money", "press", "scene", "remark", "remark"),
    *DETAILS,
)
MOST_FACTS = 3  # in the summary of a part
BRIEF = frozenset(
    ("call", "ask", "answer", "order_raise", "order_rule", "accept", "withdraw", "divide", "petition")
)
CLOSING = {"support": "close_for", "oppose": "close_against", "move": "close_for"}
MONTHS, WEEKDAYS = words("story_names.txt", "months"), words("story_names.txt", "weekdays")


class Reporter(Writer):
    """Writes down one speech after the other."""

    def __init__(self, seed: int) -> None:
        """Begin with nothing on record."""
        super().__init__(Random(stream(seed, "reporter")).random, "debate.txt")
        self.names = Names(self.random)
        self.people: dict[str, Member] = {}
        self.text: dict[str, str] = {}
        self.spoken: dict[str, None] = {}
        self.plain = False
        self.shown: set[Member] = set()  # named or meant in this speech
        self.used: deque[tuple[str, int]] = deque(maxlen=40)  # plans of late
        self.said: deque[tuple[Member, str]] = deque(maxlen=40)  # who spoke of which place of late

    def speech(self, act: Act) -> Paragraph:
        """Write a speech, with its labels and facts."""
        self.spoken, self.shown = {}, set()
        self.begin(act)
        parts: list[str] = []
        facts: list[Fact] = []
        label = self.label(act)
        long = act.kind not in BRIEF
        if long and act.kind != "move" and self.chance(0.4):
            parts.append(self.say("opening"))
        if act.kind in ("ask", "answer"):
            self.look_back(act.other)
        parts.append(self.say(act.kind))
        if act.speaker is not None:
            self.said.append((act.speaker, self.text["place"]))
        facts.append(fact_of_act(act, self.people, self.text, parts[-1]))
        for kind in self.body(act.kind, long):
            self.refresh()
            self.text["big"] = f"{self.whole(1001, 29_989):,}"
            if kind == "refer":
                self.look_back(act.other)
            parts.append(self.say(kind))
            if kind in DETAILS:
                facts.append(detail(kind, self.people, self.text, parts[-1]))
        if act.kind in CLOSING and self.chance(0.7):
            parts.append(self.say(CLOSING[act.kind]))
        text = label + take_apart(repair(" ".join(parts)))
        return Paragraph(text, spoken_in(text, self.spoken), tuple(facts))

    def body(self, kind: str, long: bool) -> list[str]:
        """Choose what else a speech has."""
        number = (3 if kind in ("tribute", "figure", "correct") else 4) + self.below(6) if long else 0
        if kind in ("ask", "answer") and self.chance(0.4):
            number = 1
        chosen: list[str] = []
        while len(chosen) < number:
            part = self.pick(BODY)
            if not chosen or chosen[-1] != part or part == "point":
                chosen.append(part)
        return chosen

    def begin(self, act: Act) -> None:
        """Say who and what the fields of the plans mean in this speech."""
        issue = act.issue
        self.people = {"M": issue.mover, "N": issue.minister, "P": act.other}
        if act.speaker is not None:
            self.people["S"] = act.speaker
        topic = issue.topic
        self.text = {
            "number": str(issue.number),
            "clause": str(issue.clause),
            "page": str(issue.page),
            "line": str(issue.line),
            "old": issue.old,
            "new": issue.new,
            **asdict(topic),
            "office_bare": topic.office.removeprefix("the "),
            "big": f"{act.figure or self.whole(1001, 29_989):,}",
            "wrong": f"{act.wrong:,}",
            "small": str(self.whole(101, 989)),
            "ayes": str(act.ayes),
            "noes": str(act.noes),
            "result": "agreed to" if act.ayes > act.noes else "negatived",
        }
        self.refresh()

    def refresh(self) -> None:
        """Let the people outside the House be others from now on."""
        for role in ("Q", "W", "H"):
            self.people[role] = self.names.person()
        for field in ("place", "place_b"):
            self.text[field] = self.names.place()
        self.plain = self.chance(0.55)
        self.text["inst"] = f"{self.names.plain_place()} {self.names.draw('inst_last')}"

    def look_back(self, member: Member) -> None:
        """Let the talk be of the place that a Member spoke of last."""
        for speaker, place in reversed(self.said):
            if speaker is member:
                self.text["place"] = place
                return

    def label(self, act: Act) -> str:
        """Return the speaker as the record has it, with the colon."""
        speaker = act.speaker
        if speaker is None:
            return ""
        if speaker.office == "Chair":
            return f"The Deputy Speaker ({self.named(speaker.full, *speaker.names)}): "
        if speaker.office and self.chance(0.7):
            return f"The {speaker.office} ({self.named(speaker.full, *speaker.names)}): "
        name, mark = self.person(speaker, "listed"), self.random()
        if mark < 0.3:
            return f"{name} ({speaker.seat}, {speaker.party}): "
        if mark < 0.6:
            return f"{speaker.seat} ({name}, {speaker.party}): "
        return f"The Member for {speaker.seat} ({name}): " if mark < 0.8 else f"{name}: "

    def say(self, name: str) -> str:
        """Fill one of the plans of a list, if possible none of late."""
        options = self.plans[name]
        at = self.below(len(options))
        while (name, at) in self.used and len(options) > 4:
            at = self.below(len(options))
            self.used.popleft()
        self.used.append((name, at))
        return self.written(options[at])

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field."""
        role, form = field
        person = self.people.get(role)
        if person is not None:
            return self.person(person, form)
        text = self.text[role] if role in self.text else _makers()[role](self.names)
        if "{" in text:
            text = text.replace("{place}", self.text["place"])
        return capital(text) if form == "cap" else text

    def person(self, person: Member, form: str) -> str:
        """Return a person in one of the forms."""
        if form == "":
            return self.refer(person)
        if form in PRONOUNS:
            return PRONOUNS[form][0 if person.female else 1]
        if form in ("seat", "party"):
            return person.seat if form == "seat" else person.party
        plain = not person.seat and self.plain  # somebody outside the House who is spoken of without a title
        short = person.surname if plain else person.called
        text = {
            "full": " ".join(person.names) if plain else person.full,
            "name": short,
            "listed": person.listed,
            "surname": person.surname,
        }[form]
        return self.named(text, *(name for name in person.names if name in text.split()))

    def named(self, text: str, *names: str) -> str:
        """Note the names in a text that is about to be written."""
        self.spoken.update(dict.fromkeys(names))
        return text

    def refer(self, person: Member) -> str:
        """Refer to a Member by name or by seat, and more shortly the second time."""
        again = person in self.shown
        self.shown.add(person)
        alone = all(other is person or other.female != person.female for other in self.shown)
        gentle = "Lady" if person.female else "Gentleman"
        mark = self.random()
        if person.office == "Chair":
            return "the Deputy Speaker"
        if again and alone and mark < 0.5:
            return f"the hon. {gentle}"
        if person.office and mark < 0.4:
            return "the Minister" if mark < 0.15 else f"the {person.office}"
        if mark < 0.7:
            return self.person(person, "name")
        speaker = self.people.get("S")
        own = speaker is not None and speaker.party == person.party and speaker.office != "Chair"
        return f"my hon. Friend the Member for {person.seat}" if own else f"the Member for {person.seat}"


@cache
def _makers() -> dict[str, Callable[[Names], str]]:
    """Return how the fields are made that mean something new each time."""
    return {
        "n": lambda names: str(names.whole(3, 19)),
        "year": lambda names: str(names.whole(1812, 1938)),
        "lately": lambda names: str(names.whole(1921, 1938)),
        "month": lambda names: MONTHS[names.whole(0, 11)],
        "month_b": lambda names: MONTHS[names.whole(0, 11)],
        "weekday": lambda names: WEEKDAYS[names.whole(0, 6)],
        "day": lambda names: f"{names.whole(1, 28)} {MONTHS[names.whole(0, 11)]}",
        "pct": lambda names: f"{names.whole(2, 88)} per cent",
        "sum": lambda names: f"{names.whole(3, 97)} crowns",
        "money": Names.amount,
        "money_b": Names.amount,
        "town": Names.place,
        "titled": lambda names: f"{names.draw('titles_things')} {names.plain_place()}",
        "law": lambda names: (
            f"{names.draw('law_subject')} {names.draw('law_kind')} Act {names.whole(1812, 1938)}"
            if names.random() < 0.6
            else f"{names.draw('law_subject')} Act {names.whole(1812, 1938)}"
        ),
        "paper": lambda names: f"{names.plain_place()} {names.draw('paper_last')}",
        "hall": lambda names: f"{names.plain_place()} {names.draw('hall_last')}",
        "river": lambda names: f"River {names.draw('river_last')}",
        "ship": lambda names: f"{names.draw('ship_first')} {names.draw('ship_last')}",
        "committee": lambda names: names.draw("committee"),
        "department": lambda names: names.draw("department"),
        "people": lambda names: names.draw("peoples"),
        "country": lambda names: names.draw("countries"),
    }


JOINTS = re.compile(
    r"; |: (?=(?:the|an?|that|he|she|it|they|there|nobody|one|no|boys|men|furniture|good|I|we)\b)|"
    r", (?:and|but) (?=(?:he|she|it|they|there|the|I|we|nobody|no|so|that|one)\b)"
)
COMMON = "|".join(
    (*MONTHS, *WEEKDAYS, "Committee", "Government", "Minister", "Member", "River", "Friend", "Gentleman")
)
OWN = re.compile(rf"\d{{3}}|\b(?!(?:{COMMON})\b)[A-Z][a-z]{{5,}}")


def take_apart(text: str) -> str:
    """Make two sentences of every long one that has neither a number nor a longer proper name in it."""
    return " ".join(parted(sentence, OWN, JOINTS) for sentence in re.split(r"(?<=[a-z”][.?!])\s+", text))


_FACTS = FactTable("debate_facts.txt")


def fact_of_act(act: Act, people: Mapping[str, Member], text: Mapping[str, str], said: str) -> Fact:
    """Return the fact of a speech's purpose; ``said`` are the words of the speech to this purpose, "Q" is outside the House."""
    issue, place = act.issue, text["place"]
    also, about = (f", and of {place}", f" about {place}") if place in said else ("", "")
    fields = {
        **people,
        **text,
        "act": act,
        "issue": issue,
        "speaker": act.speaker,
        "carried": "carried" if act.ayes > act.noes else "lost",
        "matter": f"{issue.topic.subject} {issue.topic.single} {issue.topic.aim}",
        "also": also,
        "about": about,
    }
    return _FACTS.fact("petition_act" if act.kind == "petition" else act.kind, fields)


def detail(kind: str, people: Mapping[str, Member], text: Mapping[str, str], said: str) -> Fact:
    """Return the fact of a case that was described or of evidence that was quoted; titles may have been left out of the speech.

    ``kind`` is "case" or "witness"; "Q" (of the case) and "W" (the witness) are among the people; ``said`` are the words about it.
    """
    plight = ", ".join(word for word in telling_words(said) if word in _plights())
    kind = "case_of_place" if kind == "case" and text["place"] in said else kind
    return _FACTS.fact(kind, {**people, **text, "plight": plight})


@cache
def _plights() -> frozenset[str]:
    plans = [*words("debate.txt", "plight"), *words("debate.txt", "plight_i")]
    return frozenset(telling_words(re.sub(r"[\[\]|]", " ", " ".join(plans))))


def stream_debate(seed: int) -> Iterator[Paragraph]:
    """Yield speech after speech for ever; memory does not grow."""
    reporter = Reporter(seed)
    for act in sit(stream(seed, "house")):
        yield reporter.speech(act)


def write_debate(
    seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Document:
    """Write a debate of at least ``num_tokens`` tokens and at most one speech more.

    The arguments and errors are those of :func:`~long_context_tasks.synthetic.write_story`.
    """
    speeches = paragraphs_of(stream_debate(seed), num_tokens, characters_per_token)
    return Document(f"synthetic-debate-{seed}", f"Committee of the whole House, sitting {seed}", speeches)


def summary_of(paragraphs: Sequence[Paragraph]) -> str:
    """Summarize a part of a debate: what sets it apart, in three facts, in an order that says nothing."""
    return " ".join(dict.fromkeys(fact.statement for fact in ranked_facts(paragraphs)[:MOST_FACTS]))
