"""Checks on synthetic stories and debates that know nothing of the writers' bookkeeping: rules over the finished text.

A dictionary (words that the sentence plans have in small letters), a list of places and a list of other proper words
stand for what a reader knows of English and of the invented country.
"""

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from long_context_tasks.synthetic.document import Fact, Paragraph
from long_context_tasks.synthetic.wording import lines_of, words

PLANS = {
    "story": ("scenes.txt", "scenery.txt", "story.txt", "things.txt"),
    "debate": ("debate.txt", "debate_topics.txt", "debate_names.txt"),
}
KNOWN = {"story": {"Almanac"}, "debate": {"Deputy", "Speaker", "Gentleman", "Lady", "River"}}
SHARED = ("months", "weekdays", "town_first", "town_last")  # lists of the story that debates use too
WORDS = (*PLANS["story"], *PLANS["debate"], "wounds.txt", "troubles.txt", "places.txt", "names.txt")
PEOPLE = {
    "names.txt": ("women", "men", "surname_first", "surname_last", "place_first", "place_last"),
    "debate_names.txt": ("women", "men", "surname_first", "surname_last"),
}
_TITLES = (
    "Mr Mrs Miss Ms Mistress Dame Captain Dr Lady Widow Sergeant Professor Sister Madam Aunt Canoness Master Sir Squire "
    "Colonel Brother Father Uncle Alderman Ensign Councillor Nurse Canon Speaker Chair Minister"
)
TITLES = frozenset(_TITLES.split())
CAPITAL = re.compile(r"\b[A-Z][a-z]+\b")
START = re.compile(r"(?:^|[.?!:]|[.?!][\"”’]|,[\"”])\s*[\"“‘]?$|[\"“‘]$|\($")


@cache
def dictionary() -> frozenset[str]:
    """Words that plans have in small letters."""
    text = " ".join(
        line
        for file in WORDS
        for name, lines in lines_of(file).items()
        for line in lines
        if name not in PEOPLE.get(file, ())
    )
    return frozenset(re.findall(r"(?<![A-Za-z{<.])[a-z]+", re.sub(r"\{[^}]*\}|<[a-z_.0-9]+>", " ", text)))


@cache
def places() -> frozenset[str]:
    """Every name that a place can have."""
    firsts, lasts = words("names.txt", "place_first"), words("names.txt", "place_last")
    return frozenset((first + last).capitalize() for first in firsts for last in lasts)


@cache
def other_proper_words(genre: str) -> frozenset[str]:
    """Parts of the names of ships, laws, newspapers, months ... and what the register writes with a capital."""
    found = set(KNOWN[genre])
    for file in (*PLANS[genre], "story_names.txt"):
        for name, lines in lines_of(file).items():
            own = genre == "story" or file != "story_names.txt" or name in SHARED
            if own and name not in PEOPLE.get(file, ()) and name != "hurts" and not name.startswith("titles"):
                bare = re.sub(r"\{[^}]*\}|<[a-z_.0-9]+>", "x", " ; ".join(lines))
                found.update(CAPITAL.findall(bare))
    return frozenset(found)


def names_in(text: str, genre: str) -> set[str]:
    """Parts of the names of people in a text: capitalised words that are nothing else."""
    found, other = set(), other_proper_words(genre)
    for match in CAPITAL.finditer(text):
        word = match[0]
        if word in places():
            continue  # the Lady Otterwold is a ship
        before = text[: match.start()]
        after_title = re.search(r"\b([A-Z][a-z]+) $", before)
        if after_title and after_title[1] in TITLES and word not in TITLES and word not in other:
            found.add(word)
            continue
        if word in TITLES or word in other:
            continue
        if START.search(before) and word.lower() in dictionary():
            continue
        found.add(word)
    return found


def heuristics(text: str, stop: frozenset[str]) -> dict[str, set[str]]:
    """What simple rules take for names.

    Args:
        text: of a document.
        stop: common English words, small letters.
    """
    stopped = (
        stop | {title.lower() for title in TITLES} | {"hon", "member", "house", "committee", "government"}
    )
    stopped |= {
        word.lower() for word in (*words("story_names.txt", "months"), *words("story_names.txt", "weekdays"))
    }
    every = {word for word in CAPITAL.findall(text) if word.lower() not in stopped}
    small = set(re.findall(r"\b[a-z]+\b", text))
    middle, no_place, titled = set(), set(), set()
    for match in CAPITAL.finditer(text):
        before = text[max(0, match.start() - 30) : match.start()]
        if match[0].lower() in stopped:
            continue
        if not START.search(before) and match.start():
            middle.add(match[0])
            if not re.search(r"\b(?:at|in|of|to|from|for|near|by|the) $", before):
                no_place.add(match[0])
        last = re.search(r"([A-Z][a-z]+) (?:[A-Z][a-z]+ )?$", before)
        if last and last[1] in TITLES:
            titled.add(match[0])
    pairs = set()
    for match in re.finditer(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b", text):
        if not re.search(r"\b[Tt]he $", text[max(0, match.start() - 5) : match.start()]):
            pairs.update(word for word in match.groups() if word.lower() not in stopped)
    spoken = re.findall(r"^([^:\n]{3,80}):", text, re.MULTILINE)
    return {
        "two capitalised words in a row, not after the": pairs,
        "before the colon of a speech": {
            word for label in spoken for word in CAPITAL.findall(label) if word.lower() not in stopped
        },
        "before the colon, outside brackets": {
            word
            for label in spoken
            for word in CAPITAL.findall(label.split(" (")[0])
            if word.lower() not in stopped
        },
        "capitalised, minus stop list": every,
        "capitalised inside sentences, minus stop list": middle,
        "the same, never in small letters": {word for word in middle if word.lower() not in small},
        "the same, not after at, in, of, the ...": no_place,
        "up to two words after a title": titled,
    }


def states(text: str, fact: Fact) -> bool:
    """Whether a text has one word of each group of a fact, in any case."""
    low = text.lower()
    return all(
        any(re.search(rf"(?<!\w){re.escape(one.lower())}(?!\w)", low) for one in group)
        for group in fact.words
    )


def chunked(paragraphs: Sequence[Paragraph], characters: int = 4200) -> list[list[Paragraph]]:
    """Paragraphs in chunks of about 1,024 tokens."""
    chunks: list[list[Paragraph]] = [[]]
    size = 0
    for paragraph in paragraphs:
        if chunks[-1] and size + len(paragraph.text) > characters:
            chunks.append([])
            size = 0
        chunks[-1].append(paragraph)
        size += len(paragraph.text) + 2
    return chunks


TOKEN = re.compile(r"\d[\d,]*\d|\w+")


def tokens(text: str) -> list[str]:
    """Words and numbers, small letters."""
    return TOKEN.findall(text.lower())


def terms(text: str) -> list[str]:
    """Words, numbers, and pairs of neighbouring ones, small letters."""
    single = tokens(text)
    return [*single, *map(" ".join, itertools.pairwise(single))]


def told_in(paragraphs: Sequence[str], summaries: Sequence[str]) -> list[list[list[float]]]:
    """How much each sentence of each summary shares with each paragraph: rare words, names and numbers count most."""
    bags = [set(terms(text)) for text in paragraphs]
    seen = Counter(term for bag in bags for term in bag)
    weight = {term: math.log((len(bags) + 1) / count) ** 2 for term, count in seen.items()}
    found = []
    for summary in summaries:
        rows = []
        for sentence in re.split(r"(?<=[a-z0-9”][.?!]) |; ", summary):
            named = {word.lower() for word in re.findall(r"(?<!^)\b[A-Z][a-z]+|\d[\d,]*\d|\d", sentence)}
            heavy = {term: 3.0 if named & set(term.split()) else 1.0 for term in terms(sentence)}
            rows.append(
                [math.fsum(weight[term] * heavy[term] for term in heavy.keys() & bag) for bag in bags]
            )
        found.append(rows)
    return found


def places_of(chunks: Sequence[Sequence[str]], summaries: Sequence[str]) -> list[int]:
    """For each summary the chunk of paragraphs where its sentences are told, by :func:`told_in`."""
    owner = [at for at, chunk in enumerate(chunks) for _ in chunk]
    place = []
    for rows in told_in([text for chunk in chunks for text in chunk], summaries):
        votes = [0.0] * len(chunks)
        for row in rows:
            best = [max(itertools.compress(row, (own == at for own in owner))) for at in range(len(chunks))]
            # A chunk that tells one sentence best and the others not at all comes after one that tells all of them well.
            top = max(best) + 1
            votes = [vote + (score / top) ** 4 for vote, score in zip(votes, best, strict=True)]
        place.append(votes.index(max(votes)))
    return place


def pairs_right(order: Sequence[int]) -> float:
    """Share of pairs in the right order."""
    right = [one < two for at, one in enumerate(order) for two in order[at + 1 :]]
    return sum(right) / len(right)


def common_subsequence(order: Sequence[int]) -> float:
    """Longest part of the right order, over its length."""
    best: list[int] = []
    for at, one in enumerate(order):
        best.append(1 + max((best[i] for i in range(at) if order[i] < one), default=0))
    return max(best) / len(order)


def blind_orders(shown: Sequence[str], seed: int) -> dict[str, list[int]]:
    """Orders of shuffled summaries by rules that do not read the text."""
    numbers = [[int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", text)] for text in shown]
    months = words("story_names.txt", "months")
    dates = [min((months.index(word) for word in months if word in text), default=99) for text in shown]
    count = range(len(shown))
    bags = [{word for word in tokens(text) if len(word) > 3} for text in shown]
    chance = list(count)
    random.Random(seed).shuffle(chance)
    return {
        "random": chance,
        "smallest number": sorted(count, key=lambda at: min(numbers[at], default=10**9)),
        "first number": sorted(count, key=lambda at: (numbers[at] or [10**9])[0]),
        "month": sorted(count, key=lambda at: dates[at]),
        "length": sorted(count, key=lambda at: len(shown[at])),
        "overlap with neighbours": _chain(bags),
    }


def _chain(bags: Sequence[set[str]]) -> list[int]:
    """From the first shown always on to the text that shares most words."""
    order, left = [0], list(range(1, len(bags)))
    while left:
        best = max(
            left, key=lambda at: len(bags[at] & bags[order[-1]]) / (1 + len(bags[at] | bags[order[-1]]))
        )
        order.append(best)
        left.remove(best)
    return order
