"""The synthetic novel as a document for recall, organizing and summarizing: :mod:`.novel` told with titles, surnames and asides.

The events and most sentence plans are those of the novel. What differs: people are called by first name, surname, full
name, with or without a title, and by epithet ("the captain"); asides bring in places, houses, ships, laws, newspapers,
songs and feasts, none of which is named after a person. The labels of a paragraph are the parts of the names of
people that stand in it, each once, titles left out, as the recall task asks for.
"""

import hashlib
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from long_context_tasks.synthetic.document import Document, Fact, Paragraph, paragraphs_of
from long_context_tasks.synthetic.event import Event
from long_context_tasks.synthetic.people import Person, pick
from long_context_tasks.synthetic.story_facts import facts_of
from long_context_tasks.synthetic.story_towns import two_words
from long_context_tasks.synthetic.teller import MEMORY, Teller
from long_context_tasks.synthetic.wording import plans, records, repair, stream, words
from long_context_tasks.synthetic.world import simulate

__all__ = ["CHARACTERS_PER_TOKEN", "spoken_in", "stream_story", "summary_of", "write_story"]

# Measured with cl100k: 4.05 to 4.09 characters a token; a little more, so that a story is never too short.
CHARACTERS_PER_TOKEN = 4.1
MOST_FACTS = 3  # in the summary of a part
TITLED = 55  # of 100 people have a title
FULL_TITLED = 0.15  # share of full names of such people that have it
NAME = re.compile(r"\b[A-Z][a-z]+\b")
LONG = 12  # words; a longer sentence without a proper name may come in other stories too, and is taken apart
SENTENCE = re.compile(r"(?<=[.?!])\s+|(?<=[.?!]\")\s+")
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


@lru_cache(maxsize=128)
def _style(seed: int, person: Person) -> Style:
    """The style of a person, the same at any time: nothing needs to be remembered of people who are gone."""
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
        super().__init__(stream(seed, "teller"))
        self.seed = seed
        self.scenes = plans("scenes.txt", "scenery.txt", "story.txt")
        self.proper = {
            field: tuple(words("story_names.txt", name) for name in names) for field, names in PROPER.items()
        }
        self.halls, self.books = (
            words("story_names.txt", "hall_last"),
            tuple(words("story_names.txt", name) for name in ("book_first", "book_last")),
        )
        self.titles = words("story_names.txt", "titles_things")
        self.place_names = words("names.txt", "place_first"), words("names.txt", "place_last")
        self.surnames = words("names.txt", "surname_first"), words("names.txt", "surname_last")
        self.first_names = words("names.txt", "women"), words("names.txt", "men")
        self.spoken: dict[str, None] = {}
        self.party: tuple[Person, ...] = ()

    def tell(self, event: Event) -> Paragraph:
        """Write the paragraph of the next event, with its labels and facts."""
        self.spoken = {}
        text, _ = self.paragraph(event)
        if self.chance(0.88):
            aside = self.aside("aside_person" if self.chance(0.07) else "aside", event)
            text = f"{text} {aside}" if self.chance(0.75) else f"{aside} {text}"
        away = event.kind in ("depart", "road")
        text = take_apart(text, f"{'outside' if away else 'at'} {event.place.name}", self.in_full)
        return Paragraph(text, spoken_in(text, self.spoken), facts_of(event))

    def in_full(self, sentence: str) -> str:
        """Add the surname to the first name of somebody who is there."""
        for person in (*self.named, *self.party):
            changed = re.sub(rf"\b{person.name}\b", f"{person.name} {person.surname}", sentence, count=1)
            if changed != sentence:
                self.speak(person.name, person.surname)
                return changed
        return sentence

    def aside(self, name: str, event: Event) -> str:
        """Write something beside the point."""
        # Pronouns must not reach back over what was told in between.
        self.last = None
        return repair(self.say(name, event))

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
            return f"{pick(self.titles, self.random)} {self.plain_place()}"
        if role == "hall":
            return f"{self.plain_place()} {pick(self.halls, self.random)}"
        if role == "far_cap":
            return self.text["far"].upper()
        if role in ("book", "book_bare"):
            book = f"{pick(self.books[0], self.random)} of {pick(self.books[1], self.random)}"
            return book if role == "book" else f"the {self.new_place()} Almanac"
        name = " ".join(pick(lines, self.random) for lines in self.proper[role.removesuffix("_cap")])
        return name.upper() if role.endswith("_cap") else name

    def new_place(self) -> str:
        """Make the name of a place that nobody in the story goes to, as a rule; many have two words, as people do."""
        return two_words(self.plain_place(), self.random)

    def plain_place(self) -> str:
        """Make a name of one word."""
        while True:
            first, last = pick(self.place_names[0], self.random), pick(self.place_names[1], self.random)
            if first[-1] != last[0] and first.lower() not in last:
                return first + last

    def passer(self) -> Person:
        """Make somebody who is only spoken of."""
        female = self.chance(0.5)
        surname = pick(self.surnames[0], self.random) + pick(self.surnames[1], self.random)
        return Person(pick(self.first_names[0 if female else 1], self.random), surname, female, "stranger")

    def speak(self, *parts: str) -> str:
        """Note the parts of a name that is about to be written."""
        self.spoken.update(dict.fromkeys(parts))
        return " ".join(parts)

    def full(self, person: Person) -> str:
        """First name and surname; the title comes with short forms, see :meth:`call`."""
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

    def alone(self, person: Person) -> bool:
        """Whether nobody else in this paragraph has the same trade or sex."""
        return all(other is person or other.female != person.female for other in self.named)


def spoken_in(text: str, names: Container[str]) -> tuple[str, ...]:
    """The names that stand in a text as words, in order, each once.

    >>> spoken_in("Ann met Bob. Bobby met Ann.", {"Bob", "Ann", "Eve"})
    ('Ann', 'Bob')
    """
    return tuple(dict.fromkeys(word for word in NAME.findall(text) if word in names))


def take_apart(text: str, where: str = "", in_full: Callable[[str], str] | None = None) -> str:
    """Make two or more sentences of every long one that has no rare name in it; what cannot be parted gets one.

    Args:
        text: of a paragraph.
        where: "at" somewhere, for long sentences that are told by nobody, name nobody and have no joint.
        in_full: adds the surname to a first name in a sentence.

    >>> take_apart("A girl shouted a greeting, and there was a slow movement behind the shutters.")
    'A girl shouted a greeting. There was a slow movement behind the shutters.'
    """
    parts: list[str] = []
    spoken = False
    for sentence in SENTENCE.split(text):
        for one in SENTENCE.split(_shorter(sentence)):
            named = in_full(one) if in_full is not None and _common(one) else one
            parts.append(named if not where or spoken or '"' in sentence else _placed(named, where))
        spoken ^= sentence.count('"') % 2 == 1
    return " ".join(parts)


def _common(sentence: str) -> bool:
    """Whether a sentence is long and has neither a surname nor the name of a place."""
    return len(sentence.split()) > LONG and not any(name in _rare() for name in NAME.findall(sentence))


def _placed(sentence: str, where: str) -> str:
    """Say where it was, in front of a long sentence without a name."""
    if not _common(sentence) or sentence.split(maxsplit=1)[0] in LINKS:
        return sentence
    comma = "," if sentence.startswith(("With ", "At ")) else ""
    return f"{where[0].upper()}{where[1:]}{comma} {sentence[0].lower()}{sentence[1:]}"


@cache
def _rare() -> frozenset[str]:
    """Every surname and every name of a place."""
    lists = [
        words("names.txt", name) for name in ("surname_first", "surname_last", "place_first", "place_last")
    ]
    return frozenset(one + two for first, last in (lists[:2], lists[2:]) for one in first for two in last)


def _shorter(sentence: str) -> str:
    if len(sentence.split()) > LONG and not INNER.search(sentence):
        joint = JOINTS.search(sentence)
        if joint is None:
            return sentence
        head, tail = sentence[: joint.start()], sentence[joint.end() :]
        tail = f"But {tail}" if joint[0] == ", but " else tail[0].upper() + tail[1:]
        return f"{head}. {_shorter(tail)}"
    return sentence


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

    Args:
        paragraphs: one after the other.
    """
    chosen: list[Fact] = []
    facts = [fact for paragraph in paragraphs for fact in paragraph.facts]
    for fact in sorted(facts, key=lambda fact: (-fact.weight, _mark(fact.statement))):
        if len(chosen) < MOST_FACTS and (not chosen or fact.weight > 0.5):
            chosen.append(fact)
    return " ".join(fact.statement for fact in facts if fact in chosen)


def _mark(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
