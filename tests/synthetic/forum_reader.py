"""A simple reader of constraint matching: regular expressions read requirements and parts, no knowledge of the truth.

It knows units and the words for materials, fuels, colours and countries (a dictionary).
"""

import re
from collections.abc import Sequence

from long_context_tasks.synthetic.forum import kinds

Value = int | str
Wish = tuple[str, str, list[Value]]  # trait, relation, values

UNIT = re.compile(r"\b(kilos|centimetres|watts|hours|degrees|crowns|decibels|litres|months)\b")
KINDS = {value: trait for trait, values in kinds().items() for value in values}
VALUE = re.compile(r"\b(\d+|" + "|".join(sorted(KINDS, key=len, reverse=True)) + r")\b")
AT_LEAST = re.compile(r"at least|(?:lighter|narrower|quieter|less) than|below|or more|must not stop before")
RULED_OUT = re.compile(r"[Nn]either|\b[Nn]o\b|Nothing|is out")
MODEL = re.compile(r"\b([A-Z][a-z]+) [A-Z]\d\d\b")


def values(text: str) -> list[tuple[str, Value]]:
    """Read the values in a text with their traits or units, in order; a number belongs to the next unit."""
    found: list[tuple[str, Value]] = []
    units = [(match.start(), match[1]) for match in UNIT.finditer(text)]
    for match in VALUE.finditer(text):
        if match[1] in KINDS:
            found.append((KINDS[match[1]], match[1]))
        elif unit := next((unit for at, unit in units if at > match.start()), None):
            found.append((unit, int(match[1])))
    return found


def wishes(question: str) -> list[Wish]:
    """Read what a question asks for, in order."""
    found: list[Wish] = []
    for sentence in re.split(r"(?<=[.?!])\s+", question.strip()):
        if said := values(sentence):
            wanted = [value for _, value in said]
            if isinstance(wanted[0], int):
                relation = "min" if AT_LEAST.search(sentence) else "max"
                relation = "between" if len(wanted) > 1 else relation
            else:
                relation = "neither" if RULED_OUT.search(sentence) else "is"
            found.append((said[0][0], relation, wanted))
    return found


def recommended(answer: str) -> dict[str, Value]:
    """Read what an answer says of the part that it recommends: the one that it names without its number."""
    models = list(MODEL.finditer(answer))
    bare = MODEL.sub("", answer)
    best = next(match for match in models if re.search(rf"\b{match[1]}\b", bare))
    after = [match.start() for match in models if match.start() > best.start()]
    # What is said of the other part follows its name up to the end of the sentence.
    own = answer[best.end() : after[0] if after else len(answer)]
    return dict(values(own))


def met(wish: Wish, spec: dict[str, Value]) -> bool:
    """Say whether a part meets a wish."""
    trait, relation, wanted = wish
    given = spec.get(trait)
    if given is None:
        return False
    if isinstance(given, int):
        low, high = wanted[0], wanted[-1]
        return not ((relation != "max" and given < low) or (relation != "min" and given > high))  # type: ignore[operator]
    return (given in wanted) == (relation == "is")


def added(question: str, answers: Sequence[str]) -> tuple[str, list[str]]:
    """Cut what requirements and parts were added to real posts out of them."""
    start = re.search(r"(?:P\.S\.|One more thing:|Besides,) I (?:need|am looking for) a [^.]*, to ", question)
    assert start is not None, question
    return question[start.start() :], [answer.rstrip("\n").rpartition("\n")[2] for answer in answers]


def choose(question: str, answers: Sequence[str], asked: slice = slice(None)) -> list[int]:
    """Return the places of the answers that meet every wish of the question, or those of a part of it."""
    wanted = wishes(question)[asked]
    return [
        place
        for place, answer in enumerate(answers)
        if (spec := recommended(answer)) and all(met(wish, spec) for wish in wanted)
    ]
