"""Tells what happens to a company of travellers as a novel of any length.

Every paragraph tells one event, and beside it that some goods were counted or that an object changed hands, talk of the region
around, and perhaps weather and small doings. The order of the paragraphs follows from what happens in them: roads lead from
where the travellers are to where they are next, so many candles are left as there were less those that were burned, only who has the
rope can hand it on, things are found before they are mended and mended before they are sold. It does not follow from the words: the
people and the places are the same on every page, nobody looks back on the paragraph before, and the company is in a steady state.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from long_context_tasks.synthetic.document import check_length
from long_context_tasks.synthetic.novel.company import Company
from long_context_tasks.synthetic.numbers import in_words
from long_context_tasks.synthetic.people import Event, Place
from long_context_tasks.synthetic.teller import Teller
from long_context_tasks.synthetic.wording import LONG, SENTENCE, repair, stream

# Measured with cl100k: 3.94 to 4.15 characters a token, by what is counted; a little more, so that a novel is never too short.
CHARACTERS_PER_TOKEN = 4.2
CHAPTER = 22  # paragraphs before a chapter may end, at the next move
SHORTEST, LONGEST = 250, 360  # characters that a paragraph is filled up to
OWN = re.compile(rf"[A-Z]|\b(?:{'|'.join(map(in_words, range(10, 100)))})\b")
AROUND = 0.85  # how often the region is spoken of

# What more may be said of an event, beside its own sentences.
DETAILS = {"find": "detail.thing", "gift": "detail.thing", "study": "detail.thing"}


@dataclass(frozen=True)
class Novel:
    """A novel and what happens in it.

    Attributes:
        id: the same for the same seed.
        title: for people.
        paragraphs: in order, one line each.
        chapters: index of the first paragraph of each chapter, ascending, beginning with 0.
        events: of each paragraph what happens in it: the main event first, then what was counted and what changed hands.
    """

    id: str
    title: str
    paragraphs: tuple[str, ...]
    chapters: tuple[int, ...]
    events: tuple[tuple[Event, ...], ...]


class NovelTeller(Teller):
    """Writes one paragraph after the other."""

    def __init__(self, seed: int, region: Sequence[Place]) -> None:
        """Begin anywhere in a region."""
        super().__init__(seed, "novel.txt")
        self.region = region

    def write(self, events: Sequence[Event]) -> str:
        """Write the paragraph of what happens next."""
        self.named = []
        event, *others = events
        main = self.part(f"tell.{event.kind}", event)
        rest = [self.part(self.plan_of(other), other) for other in others]
        if self.chance(AROUND) and len(main) + sum(map(len, rest)) < LONGEST:
            rest.append(self.part("around", event))
        goal = SHORTEST + (LONGEST - SHORTEST) * self.random()
        # Told of any time of day and any weather, in no order.
        extras = [f"sky.{event.weather}", f"hour.{event.hour}", "gesture", "story", "turn"]
        extras.append(DETAILS.get(event.kind, "detail.talk"))
        while len(main) + sum(map(len, rest)) < goal and extras:
            rest.append(self.part(extras.pop(self.below(len(extras))), event))
        mixed = self.shuffled(rest)
        mixed.insert(0 if self.chance(0.5) else self.below(len(mixed) + 1), main)
        return repair(" ".join(mixed))

    def plan_of(self, event: Event) -> str:
        """Return the list of plans for an event beside the main one."""
        if event.kind != "count":
            return event.kind
        if len(event.changes) == 2:
            return "count.twice"
        return f"count.{event.reason or ('more' if event.changes[0] > 0 else 'less')}"

    def part(self, name: str, event: Event) -> str:
        """Write a sentence or two that may stand anywhere in a paragraph: no pronoun reaches back over its beginning."""
        self.last = None
        return " ".join(
            self.vouched(sentence, event) for sentence in SENTENCE.split(self.say_of(name, event))
        )

    def vouched(self, sentence: str, event: Event) -> str:
        """Say by whose word it is in a long sentence that names nobody and counts nothing: other novels may have the same."""
        if len(sentence.split()) <= LONG or not sentence.endswith(".") or OWN.search(sentence[1:]):
            return sentence
        return f"{sentence[:-1]}, {self.say_of('vouched', event)}."

    def set_fields(self, event: Event, now: Event) -> None:
        """Say who and what the fields of a plan mean; only moves name the place where the company is."""
        super().set_fields(event, now)
        text = self.text
        if event.kind == "move":
            text["look"] = event.spot
        else:
            text["place"], text["kind"] = self.say("here"), self.say("noise")
        others = [place for place in self.region if place is not event.place and place is not event.target]
        text["P"], text["Q"] = (place.name for place in self.sample(others, 2))
        if event.kind == "hand":
            assert event.actor is not None and event.other is not None
            self.roles |= {"G": event.actor, "K": event.other}
            text["object"] = event.spot
        if event.goods is not None:
            text["goods"], text["store"] = event.goods.name, event.goods.store
            text["left"] = in_words(event.left)
            for number, change, reason in zip(("", "two"), event.changes, event.reasons, strict=False):
                text[f"change{number}"], text[f"why{number}"] = in_words(abs(change)), reason
                text[f"came{number}"] = self.say("came" if change > 0 else "went")

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field; N is any number."""
        if field[0] == "N":
            return in_words(self.whole(2, 99))
        return super().fill(field, out)


def tell(seed: int) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """Yield paragraph after paragraph for ever, each with its events."""
    company = Company(stream(seed, "world"))
    teller = NovelTeller(stream(seed, "teller"), company.region)
    for events in company.travel():
        yield teller.write(events), events


def write_novel(seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN) -> Novel:
    """Write a novel of at least ``num_tokens`` tokens and at most one paragraph more.

    The arguments and errors are those of :func:`~long_context_tasks.synthetic.write_story`.
    """
    check_length(num_tokens, "a novel")
    wanted = num_tokens * characters_per_token
    paragraphs: list[str] = []
    events: list[tuple[Event, ...]] = []
    chapters = [0]
    length = 0.0
    for text, told in tell(seed):
        if len(paragraphs) - chapters[-1] >= CHAPTER and told[0].kind == "move":
            chapters.append(len(paragraphs))
        paragraphs.append(text)
        events.append(told)
        length += len(text) + 2  # paragraphs are joined by an empty line
        if length >= wanted:
            break
    return Novel(
        id=f"synthetic-novel-{seed}",
        title=f"The Roads of {told[0].party[0].surname}",
        paragraphs=tuple(paragraphs),
        chapters=tuple(chapters),
        events=tuple(events),
    )
