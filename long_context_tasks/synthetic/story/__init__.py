"""Stories for recall, organizing and summarizing: events of a small world, with titles, surnames and asides.

Most sentence plans are those of the novel. What differs: people are called by first name, surname, full
name, with or without a title, and by epithet ("the captain"); asides bring in places, houses, ships, laws, newspapers,
songs and feasts, none of which is named after a person. The labels of a paragraph are the parts of the names of
people that stand in it, each once, titles left out, as the recall task asks for.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from long_context_tasks.synthetic.document import (
    Document,
    Fact,
    FactTable,
    Paragraph,
    paragraphs_of,
    ranked_facts,
    telling_words,
)
from long_context_tasks.synthetic.people import Event, Person, two_words
from long_context_tasks.synthetic.story.world import simulate
from long_context_tasks.synthetic.teller import Teller
from long_context_tasks.synthetic.wording import (
    LONG,
    NAME,
    SENTENCE,
    parted,
    records,
    repair,
    spoken_in,
    stream,
    words,
)

# Measured with cl100k: 4.05 to 4.09 characters a token; a little more, so that a story is never too short.
CHARACTERS_PER_TOKEN = 4.1
MOST_FACTS = 3  # in the summary of a part
TITLED = 55  # of 100 people have a title
FULL_TITLED = 0.15  # share of full names of such people that have it
MEMORY = 60  # events that somebody may still speak of
# What more may be said of an event, beside its own sentences.
DETAILS = {
    "arrive": "detail.arrive",
    "meet": "detail.meet",
    "join": "detail.join",
    "find": "detail.thing",
    "gift": "detail.thing",
    "study": "detail.thing",
    "accept": "detail.thing",
}
SUBJECT = (
    r"(?=(?:he|she|it|they|there|the|an?|one|nobody|no one|somebody|someone|every|everyone|some|her|his|its|their|in the|"
    r"that|half|people|somewhere|far off|out of sight|by|when|then|at|a|beyond|down|across|behind|nothing|all|until|as)\b)"
)
JOINTS = re.compile(rf"; |: |, (?:and|but) {SUBJECT}")
INNER = re.compile(r"(?<=[a-z,;:] )\"?[A-Z]")  # a proper name, or the beginning of what somebody says
LINKS = ("And", "But", "So", "Then", "If", "After", "Since", "Because", "For", "Or")
PROPER = {  # field -> lists of which one line each makes the name
    "ship": ("ship_first", "ship_last"),
    "inn": ("inn_first", "inn_last"),
    "board": ("board_first", "board_last"),
    "law": ("law_first", "law_last"),
    "river": ("river_first", "river_last"),
    "war": ("war_first", "war_last"),
    "song": ("song_first", "song_last"),
    "feast": ("feast",),
    "month": ("months",),
    "weekday": ("weekdays",),
    "people": ("peoples",),
}


@dataclass(frozen=True, slots=True)
class Style:
    """How somebody is called: title, whether the first name follows it, and a phrase without a name."""

    title: str
    first: bool
    epithet: str


def _names(name: str) -> tuple[str, ...]:
    return words("story_names.txt", name)


@lru_cache(maxsize=128)
def _style(seed: int, person: Person) -> Style:
    """Return the style of a person, the same at any time: nothing needs to be remembered of people who are gone."""
    key = f"{seed}:{person.name}:{person.surname}:{person.trade}"
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")
    if number % 100 >= TITLED:
        return Style("", False, f"the {person.trade}")
    number //= 100
    titles = tuple(records("story_names.txt", "titles_women" if person.female else "titles_men"))
    title, follows, epithet = titles[number % len(titles)]
    return Style(title, follows == "name", epithet)


class StoryTeller(Teller):
    """Writes one paragraph after the other, with more ways of naming people and things."""

    def __init__(self, seed: int) -> None:
        """Begin with an empty memory."""
        super().__init__(stream(seed, "teller"), "story.txt")
        self.seed = seed
        self.memories: deque[Event] = deque(maxlen=MEMORY)
        self.before: Event | None = None
        self.spoken: dict[str, None] = {}
        self.party: tuple[Person, ...] = ()

    def tell(self, event: Event) -> Paragraph:
        """Write the paragraph of the next event, with its labels and facts."""
        self.spoken = {}
        text = self.paragraph(event)
        if self.chance(0.88):
            # Pronouns must not reach back over what was said in between.
            name = "aside_person" if self.chance(0.07) else "aside"
            self.last = None
            aside = repair(self.say_of(name, event))
            text = f"{text} {aside}" if self.chance(0.75) else f"{aside} {text}"
        away = event.kind in ("depart", "road")
        text = take_apart(text, f"{'outside' if away else 'at'} {event.place.name}", self.in_full)
        return Paragraph(text, spoken_in(text, self.spoken), (fact_of(event),))

    def paragraph(self, event: Event) -> str:
        """Write what happens, without asides."""
        self.last, self.named = None, []
        before = self.before
        parts: list[str] = []
        scenery = self.scenery(event)
        if scenery is not None and self.chance(0.35):
            parts.append(self.say_of(scenery, event))
            scenery = None
        if before is not None:
            parts.append(self.say_of(f"after.{before.kind}", before, event))
        if scenery is not None and self.chance(0.5):
            parts.append(self.say_of(scenery, event))
            scenery = None
        kind = f"depart.{event.reason}" if event.kind == "depart" else event.kind
        parts.append(self.say_of(f"tell.{kind}", event))
        if self.chance(0.5):
            parts.append(self.say_of(DETAILS.get(event.kind, "detail.talk"), event))
        if scenery is not None:
            parts.append(self.say_of(scenery, event))
        length = sum(map(len, parts))
        goal = 170 + 230 * self.random()
        extras = ["gesture", "story", "memory"]
        while length < goal and extras:
            extra = extras.pop(self.below(len(extras)))
            if extra != "memory":
                parts.append(self.say_of(extra, event))
            elif (memory := self.recall(event)) is not None:
                parts.append(self.say_of(f"memory.{memory.kind}", memory, event))
            else:
                continue
            length += len(parts[-1])
        self.remember(event)
        return repair(" ".join(parts))

    def scenery(self, event: Event) -> str | None:
        """Choose what is said of the weather or the time of day; what has changed more often than what has not."""
        before = self.before
        if before is not None and before.weather != event.weather:
            return f"weather.{event.weather}"
        if before is not None and before.hour != event.hour and self.chance(0.4):
            return f"hour.{event.hour}"
        return f"sky.{event.weather}" if self.chance(0.45) else None

    def remember(self, event: Event) -> None:
        """Take note of an event, told or not."""
        self.memories.append(event)
        self.before = event

    def recall(self, event: Event) -> Event | None:
        """Choose an event of some time ago that somebody may speak of now."""
        old = self.memories[self.below(len(self.memories) - 12)]
        if f"memory.{old.kind}" not in self.plans:
            return None
        return None if old.kind in ("mend", "heal") and old.actor not in event.party else old

    def in_full(self, sentence: str) -> str:
        """Add the surname to the first name of somebody who is there."""
        for person in (*self.named, *self.party):
            changed = re.sub(rf"\b{person.name}\b", f"{person.name} {person.surname}", sentence, count=1)
            if changed != sentence:
                self.speak(person.name, person.surname)
                return changed
        return sentence

    def set_fields(self, event: Event, now: Event) -> None:
        """Say who and what the fields of a plan mean; places far away are new each time."""
        super().set_fields(event, now)
        self.party = now.party
        self.text["far"], self.text["beyond"] = self.new_place(), self.new_place()

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field."""
        role, form = field
        if role == "Q":
            return self.full(self.passer())
        person = self.roles.get(role)
        if person is not None and form in ("n", "full"):
            self.mention(person)
            return self.full(person) if form == "full" else self.call(person)
        if person is None and role not in self.text and role != "cause":
            return self.proper_name(role)
        return super().fill(field, out)

    def proper_name(self, role: str) -> str:
        """Make the name of something that is no person."""
        if role == "town":
            return self.new_place()
        if role == "titled":
            return f"{self.pick(_names('titles_things'))} {self.plain_place()}"
        if role == "hall":
            return f"{self.plain_place()} {self.pick(_names('hall_last'))}"
        if role == "far_cap":
            return self.text["far"].upper()
        if role in ("book", "book_bare"):
            book = f"{self.pick(_names('book_first'))} of {self.pick(_names('book_last'))}"
            return book if role == "book" else f"the {self.new_place()} Almanac"
        name = " ".join(self.pick(_names(part)) for part in PROPER[role.removesuffix("_cap")])
        return name.upper() if role.endswith("_cap") else name

    def new_place(self) -> str:
        """Make the name of a place that nobody in the story goes to, as a rule; many have two words, as people do."""
        return two_words(self.plain_place(), self)

    def plain_place(self) -> str:
        """Make a name of one word."""
        while True:
            first = self.pick(words("names.txt", "place_first"))
            last = self.pick(words("names.txt", "place_last"))
            if first[-1] != last[0] and first.lower() not in last:
                return first + last

    def passer(self) -> Person:
        """Make somebody who is only spoken of."""
        female = self.chance(0.5)
        surname = self.made_up("surname")
        return Person(
            self.pick(words("names.txt", "women" if female else "men")), surname, female, "stranger"
        )

    def speak(self, *parts: str) -> str:
        """Note the parts of a name that is about to be written."""
        self.spoken.update(dict.fromkeys(parts))
        return " ".join(parts)

    def full(self, person: Person) -> str:
        """Return first name and surname; the title comes with short forms, see :meth:`call`."""
        name = self.speak(person.name, person.surname)
        title = _style(self.seed, person).title
        return f"{title} {name}" if title and self.chance(FULL_TITLED) else name

    def call(self, person: Person) -> str:
        """Choose how somebody is called: companions mostly by first name, others mostly with title and surname."""
        style = _style(self.seed, person)
        first, surname = (0.55, 0.7) if person in self.party else (0.2, 0.4)
        mark = self.random()
        if mark < first:
            return self.speak(person.name)
        if mark < surname:
            return self.speak(person.surname)
        if mark > 0.95 or not style.title:
            return self.full(person)
        return f"{style.title} {self.speak(person.name if style.first else person.surname)}"

    def name(self, person: Person, out: list[str]) -> str:
        """Choose a name, an epithet, or a pronoun at the beginning of a sentence when it can mean only this person."""
        if person in self.named and self.chance(0.3) and self.alone(person):
            epithet = f"the {person.trade}" if person not in self.party else _style(self.seed, person).epithet
            if all(other is person or _style(self.seed, other).epithet != epithet for other in self.named):
                self.last = person
                return epithet
        name = super().name(person, out)
        return name if name in ("he", "she") else self.call(person)


def take_apart(text: str, where: str = "", in_full: Callable[[str], str] | None = None) -> str:
    """Make two or more sentences of every long one that has no rare name in it; what cannot be parted gets one.

    ``where`` ("at" somewhere) is for long sentences outside quotations without names and joints; ``in_full`` adds a surname.

    >>> take_apart("A girl shouted a greeting, and there was a slow movement behind the shutters.")
    'A girl shouted a greeting. There was a slow movement behind the shutters.'
    """
    parts: list[str] = []
    spoken = False
    for sentence in SENTENCE.split(text):
        for one in SENTENCE.split(parted(sentence, INNER, JOINTS)):
            named = in_full(one) if in_full is not None and _common(one) else one
            parts.append(named if not where or spoken or '"' in sentence else _placed(named, where))
        spoken ^= sentence.count('"') % 2 == 1
    return " ".join(parts)


def _common(sentence: str) -> bool:
    """Return whether a sentence is long and has neither a surname nor the name of a place."""
    return len(sentence.split()) > LONG and not any(name in _rare() for name in NAME.findall(sentence))


def _placed(sentence: str, where: str) -> str:
    """Say where it was, in front of a long sentence without a name."""
    if not _common(sentence) or sentence.split(maxsplit=1)[0] in LINKS:
        return sentence
    comma = "," if sentence.startswith(("With ", "At ")) else ""
    return f"{where[0].upper()}{where[1:]}{comma} {sentence[0].lower()}{sentence[1:]}"


@cache
def _rare() -> frozenset[str]:
    lists = [
        words("names.txt", name) for name in ("surname_first", "surname_last", "place_first", "place_last")
    ]
    return frozenset(one + two for first, last in (lists[:2], lists[2:]) for one in first for two in last)


_FACTS = FactTable("story_facts.txt")
_PEOPLE = ("place", "target", "actor", "other", "third", "thing", "deed", "wound", "spot")


def fact_of(event: Event) -> Fact:
    """Return what an event comes down to.

    What begins something (somebody is met, a thing comes to light) weighs 1; what follows from it weighs less. Short summaries
    are made of heavy facts, so that summaries of neighbouring parts share few words: their order has to be read from the text.
    """
    fields: dict[str, object] = {name: getattr(event, name) for name in _PEOPLE}
    if event.kind == "arrive":
        fields["longest"] = ", ".join(sorted(telling_words(event.spot), key=len)[-2:])
    if event.kind == "hurt" and event.wound is not None:
        fields["told"], fields["keys"] = _hurts()[event.wound.part]
    return _FACTS.fact(f"depart.{event.reason}" if event.kind == "depart" else event.kind, fields)


@cache
def _hurts() -> dict[str, tuple[str, str]]:
    return {part: (told, keys) for part, told, keys in records("story_names.txt", "hurts")}


def stream_story(seed: int) -> Iterator[Paragraph]:
    """Yield paragraph after paragraph for ever; memory does not grow."""
    teller = StoryTeller(seed)
    for event in simulate(stream(seed, "world"), history=MEMORY):
        if event.number < 0:
            teller.remember(event)
        else:
            yield teller.tell(event)


def write_story(
    seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Document:
    """Write a story of at least ``num_tokens`` tokens and at most one paragraph more.

    Args:
        seed: Any integer; the same story for the same seed on every machine and Python version. A longer story of the
            same seed begins with the shorter one.
        num_tokens: The length wanted, in tokens of cl100k.
        characters_per_token: How many characters are taken for a token.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    paragraphs = paragraphs_of(stream_story(seed), num_tokens, characters_per_token)
    return Document(f"synthetic-story-{seed}", f"The Roads, told again ({seed})", paragraphs)


def summary_of(paragraphs: Sequence[Paragraph]) -> str:
    """Summarize a part of a story: its up to three weightiest facts.

    Of equal weights a checksum of the statement decides, so that nothing in the summary says where in the book the part
    stands; facts below 0.6 are left out where there is another.
    """
    ranked = ranked_facts(paragraphs)[:MOST_FACTS]
    chosen = [fact for fact in ranked if fact is ranked[0] or fact.weight > 0.5]
    return " ".join(fact.statement for part in paragraphs for fact in part.facts if fact in chosen)
