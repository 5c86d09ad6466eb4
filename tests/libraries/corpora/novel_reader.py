"""A simple reader of the synthetic novel: regular expressions over the finished text, no event log.

It knows English phrases for coming, going and being introduced, and what each kind of thing may suffer (a dictionary),
nothing of the case. It puts four shuffled segments in order by three questions: where are the travellers at the
beginning and end of a segment; was this person or thing introduced before it is spoken of as known, and is a thing
mended after it was seen to be broken; does a segment begin with what another one ended with?
"""

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.corpora.synthetic.wording import records, words

NAME = r"([A-Z][a-z]+)"
LEFT = [
    rf"left {NAME} [^.]*?(?:for|to) {NAME}",
    rf"(?:no more to do at|packed up at|backs on) {NAME}[^\"]*?(?:for|towards) {NAME}",
    rf"go from {NAME} to {NAME}",
    rf"(?:go from|comes after|way from) {NAME}\?\"[^\"]*\"(?:To |We might try )?{NAME}",
    rf"when {NAME} was behind them.*?{NAME},",
    rf"From {NAME} they went on towards {NAME}",
]
LEFT_SWAPPED = rf"promised to be at {NAME}.*?goodbye to {NAME}"
CAME = [
    rf"came (?:down|up|round by the back lane|over the stile|in by the low road) to {NAME}",
    rf"{NAME} was (?:no more than )?an? (?:\w+ ){{1,3}}(?:at the end|under a|in a bend|with its back|where two)",
    rf"So this was {NAME}",
    rf"They reached {NAME}",
    rf"(?:first saw|pointed out|recognised) the [\w ]+ at {NAME}",
    rf"[Tt]he [\w ]+ at {NAME} (?:showed itself|came out of|turned out|was not hard)",
]
TRADES = "|".join([*words("names.txt", "trades_women"), *words("names.txt", "trades_men")])
INTRODUCED = re.compile(rf"{NAME} [A-Z][a-z]+, (?:the|an?) (?:[\w-]+ )?(?:{TRADES})\b")
CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
ISSUES = {noun: flaws for noun, _, flaws, _ in records("things.txt", "things")}
ADJECTIVES = {
    noun: adjectives.replace("; ", "|") for noun, adjectives, _, _ in records("things.txt", "things")
}
USES = {noun: uses.split("; ") for noun, _, _, uses in records("things.txt", "things")}
TOPIC = re.compile(
    r"\b(?:"
    + "|".join(
        [
            *ISSUES,
            *(part for part, *_ in records("wounds.txt", "wounds")),
            *words("troubles.txt", "officials"),
        ]
    )
    + r")\b"
)


@dataclass
class Facts:
    """What is known of one segment."""

    start: tuple[str, str] | None
    end: tuple[str, str] | None
    introduced: set[str]
    names: set[str]
    stages: dict[str, list[int]]


def move(paragraph: str) -> tuple[str, str, str] | None:
    """Return ("came", place, place) or ("left", place, next place) when the paragraph tells of a move."""
    for pattern in CAME:
        if found := re.search(pattern, paragraph):
            return "came", found[1], found[1]
    if found := re.search(LEFT_SWAPPED, paragraph):
        return "left", found[2], found[1]
    for pattern in LEFT:
        if found := re.search(pattern, paragraph):
            return "left", found[1], found[2]
    return None


def stage(paragraph: str, noun: str) -> int | None:
    """How far the story of a thing has come: 0 it appears, 1 broken, 2 mended, 3 of use; -1 unknown; None not named."""
    pairs = [pair.split(" = ") for pair in ISSUES[noun].split("; ")]
    low = paragraph.lower()
    broken = any(flaw.lower() in low for flaw, _ in pairs)
    if not broken and not re.search(rf"\b{noun}\b", paragraph):
        return None
    if re.search(rf"\b[Aa]n? (?:{ADJECTIVES[noun]}) {noun}\b", paragraph):
        return 0
    if any(fix in paragraph for _, fix in pairs):
        return 2
    if broken:
        return 1
    return 3 if any(use in paragraph for use in USES[noun]) else -1


def facts(segment: Sequence[str]) -> Facts:
    """Read one segment."""
    moves = [found for paragraph in segment if (found := move(paragraph))]
    start = end = None
    if moves:
        start = ("bound for" if moves[0][0] == "came" else "at", moves[0][1])
        end = ("at" if moves[-1][0] == "came" else "bound for", moves[-1][2])
    text = " ".join(segment)
    stages = {}
    for noun in ISSUES:
        seen = [found for paragraph in segment if (found := stage(paragraph, noun)) is not None]
        if seen:
            stages[noun] = seen
    introduced = {found[1] for found in INTRODUCED.finditer(text)}
    return Facts(start, end, introduced, set(CAPITALISED.findall(text)), stages)


def before(first: Facts, second: Facts) -> float:
    """Score that one segment stands somewhere before another: below 0 where that would be absurd."""
    score = 0.0
    for noun in first.stages.keys() & second.stages.keys():
        known = [number for number in first.stages[noun] if number >= 0]
        later = [number for number in second.stages[noun] if number >= 0]
        if 0 in later:
            score -= 6  # spoken of before it was found
        elif known and later and max(known) > min(later):
            score -= 4  # mended before it broke
    return score - 4 * len((second.introduced - first.introduced) & first.names)


def topics(text: str) -> set[str]:
    """Return the names, things, injuries and officials that a text speaks of."""
    return set(CAPITALISED.findall(text)) | set(TOPIC.findall(text))


def order(head: Sequence[str], parts: Sequence[Sequence[str]], tail: Sequence[str]) -> list[int]:
    """Return the indices of the parts in reading order; ``head`` and ``tail`` stand before and after all of them."""
    shown = [part for part in (head, *parts, tail) if part]
    first = 1 if head else 0
    read = [facts(part) for part in shown]
    opening = [topics(" ".join(re.split(r"(?<=[.?!])\"? ", part[0])[:3])) for part in shown]
    closing = [topics(part[-1]) for part in shown]
    common = Counter(topic for found in (*opening, *closing) for topic in found)

    def joint(one: int, two: int) -> float:
        return sum(
            max(0.0, math.log(2 * len(shown) / common[topic]) - 0.5) * (1.5 if topic[0].islower() else 1.0)
            for topic in sorted(closing[one] & opening[two])
        )

    def plausibility(permutation: Sequence[int]) -> float:
        row = [index + first for index in permutation]
        row = [0, *row] if head else row
        row = [*row, len(shown) - 1] if tail else row
        score = sum(joint(one, two) for one, two in itertools.pairwise(row))
        score += sum(before(read[one], read[two]) for one, two in itertools.combinations(row, 2))
        place = None
        for index in row:
            start = read[index].start
            if place and start:
                score += 5 if place == start else -5
            elif place and place[1] in read[index].names:
                score += 2
            place = read[index].end or place
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
