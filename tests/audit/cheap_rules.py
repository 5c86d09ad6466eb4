"""Attackers that learn nothing: they read a prompt and write a response."""

import itertools
import math
import re
from collections import Counter
from random import Random

from sklearn.feature_extraction.text import TfidfVectorizer

DICE = Random(0)
_INSTRUCTION = "Now, respond to the instruction."

# BestAnswer.
_CODE = re.compile(r"\b([A-Z][a-z]+) [A-Z]\d\d\b")
# A number with its unit, or a word that is not one of those with which values are stated.
_VALUE = re.compile(
    r"(?<!\w)(\d+) ([a-z]+)|\b(?!comes|guarantee|from|with|gets|takes|scales|runs|wide|through|costs?|made|built|rated"
    r"|draws|pulls|weighs|uses|reaches|makes|hums|loud|across|meter|settles|filling|cent|spares|thread|kilo)([A-Za-z]{3,})\b"
)


def answers(prompt: str) -> list[str]:
    shown = prompt.rpartition("Possible answers are given below.")[2].rpartition("Now the answers are over")[
        0
    ]
    return re.split(r"^A\d+:$", shown, flags=re.MULTILINE)[1:]


def any_answer(prompt: str) -> str:
    return f"Answer: A{DICE.randint(1, len(answers(prompt)))}"


def without_rare_values(prompt: str) -> str:
    """The answer with the fewest values that are rare among all answers; the question is not read.

    Wrong answers miss one to three requirements, so that a value that meets one is mostly more frequent than a value that does not.
    """
    texts = [_recommended(answer) for answer in answers(prompt)]
    sets = [{(unit, number or word) for number, unit, word in _VALUE.findall(text)} for text in texts]
    counts = Counter(value for values in sets for value in values)
    words = {value for value, n in counts.items() if not value[0] and 0.75 <= n / len(texts) < 0.97}
    numbers: dict[str, list[int]] = {}
    for (unit, value), n in counts.items():
        if unit:
            numbers.setdefault(unit, []).extend([int(value)] * n)

    # How often a number is stated or, if there are few answers, one near it; of units that most answers have.
    width, share = 1 + 25 / len(texts), {}
    for unit, found in numbers.items():
        several = sorted({*found})
        step = min((b - a for a, b in itertools.pairwise(several)), default=1)
        near = {a: sum(max(0.0, 1 - abs(a - b) / (width * step)) for b in found) for a in several}
        if len(found) > len(texts) / 2:
            share |= {(unit, str(number)): value / max(near.values()) for number, value in near.items()}

    rare = [sum(share.get(value, 1.0) <= 0.4 for value in values) + len(words - values) for values in sets]
    left = [at for at, number in enumerate(rare) if number == min(rare)]
    # Those that are left and wrong have a word that is seldom elsewhere: one that the question excludes.
    inside = Counter(value for at in left for value in sets[at])

    def oddest(at: int) -> tuple[float, float]:
        kinds = [value for value in sets[at] if not value[0] and 5 <= counts[value] < 0.6 * len(texts)]
        density = math.fsum(math.log(share[value]) for value in sets[at] if value in share)
        return max((inside[value] / counts[value] for value in kinds), default=0.0), -density

    return f"Answer: A{1 + min(left, key=oddest)}"


def _recommended(answer: str) -> str:
    """An answer without its sentence on the part that it does not recommend: that part is named once."""
    others = [maker for maker in _CODE.findall(answer) if answer.count(maker) == 1]
    sentences = re.split(r"(?<=[.?!])\s+", answer)
    return " ".join(sentence for sentence in sentences if not any(maker in sentence for maker in others))


# Lists of numbers.
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w%]|[.,]\d)")
_SECTION = re.compile(r'begins with the words "(.*?)"(?: and ends before the words "(.*?)")?')


def listed_text(prompt: str) -> str:
    """The context, or the section that is asked about."""
    context, _, instruction = prompt.partition(_INSTRUCTION)
    if section := _SECTION.search(instruction):
        start = context.find(section[1])
        return context[start : context.find(section[2], start) if section[2] else len(context)]
    return context


def numbers_in(text: str) -> list[tuple[str, int, int]]:
    """Each whole number without commas, where it begins and where it ends."""
    return [(match[0].replace(",", ""), *match.span()) for match in _NUMBER.finditer(text)]


def every_number(prompt: str) -> str:
    return "; ".join(dict.fromkeys(number for number, _, _ in numbers_in(listed_text(prompt))))


# Attribute.
def studies(prompt: str) -> dict[str, str]:
    """The studies by id."""
    _, *parts = re.split(r"^ID: (\d+)\n", prompt.partition(_INSTRUCTION)[0], flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def core(ids: list[str]) -> str:
    return "- Core IDs: " + ", ".join(f"[{one}]" for one in ids)


def every_study(prompt: str) -> str:
    return core([*studies(prompt)])


# Organize.
def options(prompt: str) -> dict[str, str]:
    """The options by number."""
    return dict(re.findall(r"^\[(\d+)\] (.*)$", prompt.rpartition("### Options:")[2], re.MULTILINE))


def ordered(numbers: list[str]) -> str:
    return ", ".join(f"[{number}]" for number in numbers)


def any_order(prompt: str) -> str:
    numbers = [*options(prompt)]
    return ordered(DICE.sample(numbers, len(numbers)))


def by_paragraphs(prompt: str) -> str:
    """The options in the order of the paragraphs that share the most rare words with them."""
    found, paragraphs = options(prompt), prompt.partition(_INSTRUCTION)[0].split("\n\n")
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform([*paragraphs, *found.values()])
    best = (vectors[len(paragraphs) :] @ vectors[: len(paragraphs)].T).toarray().argmax(axis=1)
    return ordered([number for _, number in sorted(zip(best, found, strict=True), key=lambda one: one[0])])
