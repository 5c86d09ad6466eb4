"""Whether the names of a passage are those of persons or not."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from long_context_tasks.recast.carriers import Passage
from long_context_tasks.recast.entities import PERSON, is_marked, word_set

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_CONTRACTED = re.compile(r"['’](?:s|m|d|re|ve|ll)$")
_LAST_WORD = re.compile(r"([^\W\d_]{1,30})\.? $")
_NEXT_WORD = re.compile(r" ([a-z]{1,30})")
_TO_PLACES = word_set("beside.txt", "prepositions of places") | {"from"}
_OF_PERSONS = word_set("beside.txt", "verbs of saying") | word_set("beside.txt", "verbs of persons")
_ARTICLE = re.compile(r"\b(?:[Tt]he|[Aa]n?|[Ee]very) (?:(?:old|little|poor|young|new|good|learned) )?$")
_NO_PERSON = re.compile(
    rf"{_ARTICLE.pattern}|\b(?:(?:[Ii]n|[Ii]nto|[Nn]ear|[Aa]t)(?: Prince)?|(?:Duke|Duchess|Earl|Countess|Marquis|Baron|[Hh]ouse) of|[Mm]ember for) $"
    r"|\b(?:van|von|der|de|du|la|di|al) $"
    r"|\bthe (?:King|Queen|Prince|Princess|Lord|Lady) $|\($"
)
"""What stands before a name that may be of a town, a ship, a family, and not of a person; or before half of a name."""
_JOINED = re.compile(r"(?:['’]s)? |-| (?:and|&|against) ")
_MONTH_OR_NAME = re.compile(r"\b(?:April|June|May(?! (?:I|we|he|she|it|they|God|the|this|his|her|all)\b))\b")
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][^\W\d_]+")
"""Words with a capital letter inside a sentence."""
_BEFORE = re.compile(rf"({_INSIDE.pattern}) $")
_LONGEST_ACRONYM = 4
_RECURRING = 4
"""How often a novel has a name, at least."""
_HALF = re.compile(r"(?<!-)-$")
_ARTICLED = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|[Tt]h(?:is|at|ese|ose)|[Ee]very|[Ee]ach|[Nn]o|[Hh]is|[Hh]er|[Mm]y|[Oo]ur|[Yy]our|[Tt]heir|[Ii]ts|[Ss]ome|[Aa]ny|[Aa]ll|"
    r"[Ss]uch|[Oo]f) (?:[\w-]{1,30} ){0,2}$"
)
_ADDRESSES = frozenset(("Mr", "Mrs", "Ms", "Miss", "Dr", "Hon", "Sir", "Lady", "Lord"))
_TITLES = frozenset().union(*(word_set("beside.txt", f"titles of {who}") for who in ("men", "women", "both")))
_OFFICES = word_set("beside.txt", "offices") | {"chancellor", "surveyor", "warden"}
_RANKS = _TITLES | _OFFICES | {"don", "marchesa", "monseigneur", "serjeant"}
_NEVER = (word_set("common.txt", "never") | _TITLES | {"friend", "friends"}) - {"leader", "st"}
"""Words with a capital that are no names."""
_FIRST_NAMES = word_set("gazetteer.txt", "men") | word_set("gazetteer.txt", "women")
PLACED = frozenset(("place", "organisation"))


def names_are_clear(passages: Sequence[Passage], text: str, *, story: bool) -> Callable[[Passage], bool]:
    """Return what says whether every word with a capital in a passage is a person's name, another's, or no name.

    Args:
        passages: of a carrier.
        text: the whole of it.
        story: whether names recur; a debate has most of them once or twice.
    """
    unsure = _unsure(passages, story)
    words, inside = Counter(_WORD.findall(text)), Counter(_INSIDE.findall(text))
    # "Will Ladislaw", "the little Pockets" of Mrs. Pocket: common words that are names, too.
    persons = (mention.key for passage in passages for mention in passage.mentions if mention.kind in PERSON)
    for name in (*map(str.casefold, _first_names(passages)), *(f"{key}s" for key in persons)):
        words[name] = 0

    def clear(passage: Passage) -> bool:
        unsure_here = any(mention.key in unsure and not mention.tail for mention in passage.mentions)
        return not unsure_here and _names_are_clear(passage, words, inside)

    return clear


def _unsure(passages: Iterable[Passage], story: bool) -> frozenset[str]:
    """Return the names of which the text says too little.

    Args:
        passages: of a carrier.
        story: every name has to recur, and a place's to stand behind "in" or "at" often and hardly as a person's ("dear Adeline").
    """
    # "Dutton's" is a shop; "the Bedford decision" may have the name of a person.
    owner = ("'s", "’s") if story else (" decision", " case", " ruling")
    every, shown, denied = Counter[tuple[bool, str]](), Counter[str](), Counter[str]()
    for passage in passages:
        text, (starts, ends) = passage.text, _places_of_persons(passage)
        for mention in passage.mentions:
            last = _LAST_WORD.search(text, max(0, mention.start - 30), mention.start)
            before = last[1].casefold() if last else ""
            if mention.kind in PERSON:
                after = _NEXT_WORD.match(text, mention.end)
                shown[mention.key] += before in _OF_PERSONS or (after is not None and after[1] in _OF_PERSONS)
                beside = mention.start - 1 in ends or mention.end + 1 in starts
                shown[mention.key] += 2 * (before in _TITLES or beside)
                denied[mention.key] += bool(_ARTICLE.search(text[max(0, mention.start - 70) : mention.start]))
            elif mention.kind == "place" and not mention.tail:
                shown[mention.key] += before in _TO_PLACES
                denied[mention.key] += before in ("dear", "poor") or text.startswith(owner, mention.end)
            else:
                continue
            every[mention.kind in PERSON, mention.key] += 1
    known = word_set("gazetteer.txt", "places")

    def unsure(person: bool, key: str, count: int) -> bool:
        if person:
            return (
                shown[key] < (2 if story else 1) or denied[key] * 10 > count or (story and count < _RECURRING)
            )
        if denied[key] * 5 > count or not story:
            return denied[key] * 5 > count or not shown[key]
        often = shown[key] * (10 if key in known else 5) >= count and shown[key] >= (1 if key in known else 2)
        return not often or count < _RECURRING

    return frozenset(
        key for (person, key), count in every.items() if " " not in key and unsure(person, key, count)
    )


def _first_names(passages: Iterable[Passage]) -> Iterator[str]:
    """Yield the words with a capital that stand before a person's name inside a sentence and are neither names nor titles."""
    for passage in passages:
        ends = {mention.end for mention in passage.mentions}
        for mention in passage.mentions:
            match = _BEFORE.search(passage.text[: mention.start]) if mention.kind in PERSON else None
            if match and match.end(1) not in ends and match[1].casefold() not in _NEVER:
                yield match[1]


def _places_of_persons(passage: Passage) -> tuple[set[int], set[int]]:
    """Return where the names of persons begin, and where they end."""
    persons = [mention for mention in passage.mentions if mention.kind in PERSON]
    return {mention.start for mention in persons}, {mention.end for mention in persons}


def _persons_are_clear(passage: Passage) -> bool:
    """Return whether what stands beside the names of persons leaves no other reading: a town, a ship, a firm, half of another name."""
    text, (starts, ends) = passage.text, _places_of_persons(passage)
    for one, other in pairwise(passage.mentions):
        between, kinds = text[one.end : other.start], {one.kind, other.kind}
        # "Tim Hortons", "Queen's Crawley", "Banff and Buchan"; "Dodson and Fogg".
        if _JOINED.fullmatch(between) and (
            (kinds & PERSON and kinds & PLACED)
            or (kinds == {"surname"} and between[0] == between[-1] == " " != between)
        ):
            return False
    for mention in passage.mentions:
        if mention.kind in PERSON:
            before, behind = (
                text[max(0, mention.start - 70) : mention.start],
                text[mention.end : mention.end + 2],
            )
            half = (_HALF.search(before) and mention.start - 1 not in ends) or (
                behind[:1] == "-" != behind[1:] and mention.end + 1 not in starts
            )
            rank = mention.key in _RANKS or is_marked(mention.key)
            if mention.tail or half or rank or _NO_PERSON.search(before):
                return False
    return True


def _names_are_clear(passage: Passage, words: Mapping[str, int], inside: Mapping[str, int]) -> bool:
    """Return whether every word with a capital is a person's name, another's, or no name.

    Args:
        passage: of a carrier.
        words: how often the carrier has each word.
        inside: how often it has each word with a capital inside a sentence and without an article.
    """
    text, named = passage.text, {mention.start: mention for mention in passage.mentions}
    unclear = (
        one.kind in ("name", "initial") or (one.kind == "acronym" and len(one.key) > _LONGEST_ACRONYM)
        for one in passage.mentions
    )
    # "Mrs. Archer and May", outside a date.
    months = (month.start() not in named for month in _MONTH_OR_NAME.finditer(text))
    if any(unclear) or any(months) or not _persons_are_clear(passage):
        return False
    persons = {text[mention.start : mention.end] for mention in passage.mentions if mention.kind in PERSON}
    starts, _ = _places_of_persons(passage)
    before, end = "", 0
    for match in _WORD.finditer(text):
        word, own, gap = match[0], named.get(match.start()), text[end : match.start()]
        key = _CONTRACTED.sub("", word)
        # A person's name in that of a street or a house; "St. John's".
        near = gap in (" ", ". ")
        placed = own is not None and near and before in ("St", "Mount", "Lake", "River", "Fort", "Port")
        # A part of a name that begins small: "King Cyprian kaSolomon".
        if placed or (gap == " " and before in persons and word[0].islower() and word != word.lower()):
            return False
        # A name that is a common word too: "Hon. Bill Chiselers", "Ms. Beneth Young"; or a letter that is no initial.
        titled = near and before in _ADDRESSES
        if word[0].isupper() and (own is None or own.kind not in PERSON):
            # "Wayne Easter", "Bill Frist", "Wood and Briggs"; "Well, Bill"
            behind = gap == " " and before in persons and key != "I"
            ahead = (
                (gap == " " or word != key)
                and match.end() + 1 in starts
                and word.casefold() not in _RANKS - {"earl"}
            )
            ahead |= text.startswith(" and ", match.end()) and match.end() + 5 in starts
            called = key.casefold() in _FIRST_NAMES and (gap == ", " or (gap == " " and before[:1].isupper()))
            if behind or ahead or called or (titled and key.casefold() not in _OFFICES):
                return False
        if word[0].isupper() and len(key) > 1 and key.casefold() not in _NEVER and own is None:
            within = any(mention.start <= match.start() < mention.end for mention in passage.mentions)
            lower = words[key.casefold()]
            # Common words have an article inside a sentence ("the House"); "said Brown", "Brown laughed", "of Lot's wife" are names.
            common = lower > words[key] and word == key and _ARTICLED.search(text[: match.start()][-50:])
            alone = inside[key] and text[match.end() : match.end() + 1] in (".", "!", "?")
            opens = lower > inside[key] and not alone
            if not within and not (common if gap in (" ", ", ") else opens):
                return False
        before, end = key, match.end()
    return True
