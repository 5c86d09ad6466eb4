"""A simple reader of the synthetic novel: regular expressions over the finished text, no event log.

It knows English phrases for coming and going, giving and taking, counting, and what may happen to each kind of thing (a dictionary),
nothing of the case. From every paragraph it takes what changed: the company was at one place and is at another, so many candles
were there and so many are left, the rope was with her and is with him, a thing was broken and is whole. Four shuffled segments are in
order when every change begins with what the one before it has left.
"""

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trials_reader import VALUES

from long_context_tasks.synthetic.wording import records, words

NAME = r"([A-Z][a-z]+)"
LEFT = [
    rf"left {NAME} [^.]*?(?:for|to) {NAME}",
    rf"no more to do at {NAME}[^\"]*?(?:for|towards) {NAME}",
    rf"(?:go from|comes after|way from) {NAME}\?\"[^\"]*\"(?:To |We might try )?{NAME}",
    rf"From {NAME} they went on towards {NAME}",
]
OBJECT = f"({'|'.join(words('goods.txt', 'objects'))})"
# Object, giver and taker are found in this order of groups.
HANDED = [
    (rf"{NAME} (?:handed|gave|passed) the {OBJECT} to {NAME}", (2, 1, 3)),
    (rf"{NAME} took the {OBJECT} from {NAME}", (2, 3, 1)),
    (rf"it was {NAME} and no longer {NAME} who carried the {OBJECT}", (3, 2, 1)),
    (rf"The {OBJECT} went from {NAME} to {NAME}", (1, 2, 3)),
    (rf"{NAME} (?:asked|begged) {NAME} for the {OBJECT} and got it", (3, 2, 1)),
    (rf"the {OBJECT}, {NAME},\" said {NAME}", (1, 3, 2)),
]
NUMBERS = {word: number for word, number in VALUES.items() if number}
NUMBERS |= {
    f"{tens}-{unit}": ten + one
    for tens, ten in VALUES.items()
    for unit, one in VALUES.items()
    if ten >= 20 and 0 < one < 10
}
NUMBER = re.compile(rf"\b({'|'.join(sorted(NUMBERS, key=len, reverse=True))})\b(?!-)", re.IGNORECASE)
GOODS = [name for name, *_ in records("goods.txt", "goods")]
SHARES = {
    "all but a third": Fraction(3),
    "a third of": Fraction(3, 2),
    "half of": Fraction(2),
    "half emptied": Fraction(2),
    "as many": Fraction(1, 2),
}
VERB = re.compile(
    rf"(?:{NUMBER.pattern.replace('(', '(?:', 1)})(?: (?:{'|'.join(GOODS)}))? (went|had gone|were gone|were got|were earned|came)\b",
    re.IGNORECASE,
)
ELSEWHERE = re.compile(r"\b(?:[Aa]t|from|of|to) [A-Z]|^\"?If [A-Z]")
THINGS = {
    noun: (adjectives.replace("; ", "|"), [pair.split(" = ") for pair in flaws.split("; ")], uses.split("; "))
    for noun, adjectives, flaws, uses in records("things.txt", "things")
}
GONE = (
    "sold THE to|eye on THE from|coming back to THE,|could not eat an? NOUN|more than an? NOUN|took THE across|gave THE to the|left THE with|"
    "present of THE|cut the strap and took THE|walked off with THE|lifted THE|THE (?:slid out|went off|fell down)|THE was not there"
)
WOUNDS = list(records("wounds.txt", "wounds"))
HEALED = r"'s PART had healed|(?:favour|nursing) the PART\b|could use the PART again"
DEEDS = list(records("troubles.txt", "deeds"))
MISREAD = 8.0
"""How much a change that does not begin with what the one before it has left counts against an order."""


@dataclass(frozen=True)
class Change:
    """What a paragraph says of something: how it was and how it is now; equal ``kinds`` are as hard to hit by chance."""

    what: str
    was: object
    now: object
    kinds: int


def moves(paragraph: str) -> Iterator[Change]:
    """Where the company was, and where it is."""
    for pattern in LEFT:
        if found := re.search(pattern, paragraph):
            yield Change("place", found[1], found[2], 9)
            return


def counts(paragraph: str) -> Iterator[Change]:
    """How many there were, and how many are left."""
    for sentence in re.split(r"(?<=[.?!])\"? ", paragraph):
        found = re.search(rf"\b(?:{'|'.join(GOODS)})\b", sentence)
        numbers = [NUMBERS[number.lower()] for number in NUMBER.findall(sentence)]
        if found is None or not numbers or ELSEWHERE.search(sentence):
            continue
        left = numbers.pop(0 if sentence.startswith('"') else -1)
        share = next((share for phrase, share in SHARES.items() if phrase in sentence.lower()), None)
        if share is not None and not numbers:
            yield Change(found[0], left * share, left, 88)
        elif len(numbers) == 1:
            [change] = numbers
            fewer = re.search(r"\b(?:left|remained)\b", sentence)
            yield Change(found[0], left + change if fewer else left - change, left, 88)
        elif len(numbers) == 2:
            signs = [
                1 if verb in ("went", "had gone", "were gone") else -1 for verb in VERB.findall(sentence)
            ]
            if len(signs) == 2:
                before = left + sum(sign * number for sign, number in zip(signs, numbers, strict=True))
                yield Change(found[0], before, left, 88)


def hands(paragraph: str) -> Iterator[Change]:
    """Who had something, and who has it."""
    for pattern, (what, giver, taker) in HANDED:
        for found in re.finditer(pattern, paragraph):
            yield Change(found[what], found[giver], found[taker], 6)


def things(paragraph: str) -> Iterator[Change]:
    """How far the story of a thing has come: it is found, seen to be broken, mended, used, and gone."""
    low = paragraph.lower()
    for noun, (adjectives, pairs, uses) in THINGS.items():
        if not re.search(rf"\b{noun}\b", paragraph):
            continue
        gone = GONE.replace("THE", f"[Tt]he (?:(?:{adjectives}) )?{noun}").replace("NOUN", noun)
        if re.search(rf"\b[Aa]n? (?:{adjectives}) {noun}\b", paragraph):
            yield Change(noun, "", "found", 4)
        elif any(fix in paragraph for _, fix in pairs):
            yield Change(noun, "broken", "whole", 4)
        elif any(flaw.lower() in low for flaw, _ in pairs):
            yield Change(noun, "found", "broken", 4)
        elif any(use in paragraph for use in uses):
            yield Change(noun, "whole", "used", 4)
        elif re.search(gone, paragraph):
            yield Change(noun, "used", "", 4)


def limbs(paragraph: str) -> Iterator[Change]:
    """Whether a limb is hurt, tended, or sound."""
    for part, cause, cure in WOUNDS:
        told = (
            re.escape(cause).replace(r"\{A\}", r"(?:[A-Z][a-z]+|s?he)").replace(r"\{A\.his\}", "(?:his|her)")
        )
        if re.search(f"(?i:{told})", paragraph):
            yield Change(part, "", "hurt", 3)
        elif cure in paragraph:
            yield Change(part, "hurt", "tended", 3)
        elif re.search(HEALED.replace("PART", part), paragraph):
            yield Change(part, "tended", "", 3)


def rumours(paragraph: str) -> Iterator[Change]:
    """Whether a misdeed is spoken of, or over."""
    low = paragraph.lower()
    for crime, _, outcome in DEEDS:
        if crime in paragraph:
            yield Change(crime, "", "heard", 2)
        elif outcome.lower() in low:
            yield Change(crime, "heard", "", 2)


READ = (moves, counts, hands, things, limbs, rumours)


def changes(segment: Sequence[str]) -> dict[str, tuple[Change, Change]]:
    """The first and the last change of everything in a segment."""
    found: dict[str, tuple[Change, Change]] = {}
    for paragraph in segment:
        for change in itertools.chain.from_iterable(read(paragraph) for read in READ):
            found[change.what] = (found.get(change.what, (change,))[0], change)
    return found


def order(head: Sequence[str], parts: Sequence[Sequence[str]], tail: Sequence[str]) -> list[int]:
    """Return the indices of the parts in reading order; ``head`` and ``tail`` stand before and after all of them."""
    first, *read, last = [changes(part) for part in (head, *parts, tail)]

    def plausibility(permutation: Sequence[int]) -> float:
        score = 0.0
        state: dict[str, object] = {}
        for segment in (first, *(read[index] for index in permutation), last):
            for what, (begin, end) in segment.items():
                if what in state:
                    score += math.log(begin.kinds) if state[what] == begin.was else -MISREAD
                state[what] = end.now
        return score

    return list(max(itertools.permutations(range(len(parts))), key=plausibility))


@dataclass
class SortingCase:
    """Four segments of a book in the order of the book, with what stands before and after them."""

    head: list[str]
    parts: list[list[str]]
    tail: list[str]


def sorting_cases(
    paragraphs: Sequence[str], length: int, number: int, seed: int, around: int = 200
) -> list[SortingCase]:
    """Cut cases of a length in tokens (about four characters) out of a book at random places, as TSort does."""
    tokens = [len(text) // 4 for text in paragraphs]
    cap = (length - 2 * around - 200) // 4
    generator = random.Random(seed)

    def whole(start: int, most: int, step: int = 1) -> list[int]:
        taken: list[int] = []
        at = start
        while 0 <= at < len(paragraphs) and sum(tokens[i] for i in taken) + tokens[at] <= most:
            taken.append(at)
            at += step
        return taken

    cases: list[SortingCase] = []
    while len(cases) < number:
        at = begin = generator.randrange(len(paragraphs))
        parts = []
        for _ in range(4):
            part = whole(at, cap)
            at = part[-1] + 1 if part else len(paragraphs)
            parts.append(part)
        tail = whole(at, around)
        if at < len(paragraphs):
            head = whole(begin - 1, around, -1)[::-1]
            texts = [[paragraphs[i] for i in indices] for indices in (head, *parts, tail)]
            cases.append(SortingCase(texts[0], texts[1:-1], texts[-1]))
    return cases
