"""A simple reader of the synthetic forum: regular expressions read points and parts, no knowledge of the truth.

It knows the words for materials, fuels, places and threads, and the units of measures (a dictionary).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.synthetic import Thread
from long_context_tasks.synthetic.forum.parts import traits
from long_context_tasks.synthetic.wording import records

Value = int | str
Wishes = dict[str, tuple[str, list[Value]]]  # trait -> relation and values

UNITS = {unit: name for name, unit, *_ in records("devices.txt", "measures")}
KINDS = {
    str(value): trait.name for trait in traits().values() if not trait.is_measure for value in trait.values
}
UNIT = re.compile(r"\b(" + "|".join(UNITS) + r")\b")
VALUE = re.compile(r"\b(\d+|" + "|".join(sorted(KINDS, key=len, reverse=True)) + r")\b")
AT_LEAST = re.compile(r"at least|(?:lighter|narrower|quieter|less) than|below|or more|must not stop before")
MODEL = re.compile(r"\b([A-Z][a-z]+) [A-Z]\d\d\b")


@dataclass
class Reading:
    """What an answer says: the values of every part by its maker, and the part that it recommends."""

    parts: dict[str, dict[str, Value]]
    best: str

    @property
    def spec(self) -> dict[str, Value]:
        """What it says of the recommended part."""
        return self.parts.get(self.best, {})


def sentences(text: str) -> list[str]:
    """Cut a text into sentences."""
    return re.split(r"(?<=[.?!])\s+", text.strip())


def values(sentence: str) -> list[tuple[str, Value]]:
    """Read the values in a sentence with their traits, in order."""
    found: list[tuple[str, Value]] = []
    units = [(match.start(), UNITS[match[1]]) for match in UNIT.finditer(sentence)]
    for match in VALUE.finditer(sentence):
        if match[1] in KINDS:
            found.append((KINDS[match[1]], match[1]))
        else:
            # A number belongs to the next unit; the later numbers of a comparison leave theirs out.
            names = [name for at, name in units if at > match.start()] or [units[-1][1]]
            found.append((names[0], int(match[1])))
    return found


def wishes(text: str) -> Wishes:
    """Read what a question asks for."""
    found: Wishes = {}
    for sentence in sentences(text):
        said = values(sentence)
        if said:
            wanted = [value for _, value in said]
            if isinstance(wanted[0], int):
                relation = "min" if AT_LEAST.search(sentence) else "max"
                relation = "between" if len(wanted) > 1 else relation
            else:
                relation = "neither" if len(wanted) > 1 else "is"
            found[said[0][0]] = relation, wanted
    return found


def read(text: str) -> Reading:
    """Read an answer."""
    makers = dict.fromkeys(MODEL.findall(text))
    parts: dict[str, dict[str, Value]] = {maker: {} for maker in makers}
    known = re.compile(r"\b(" + "|".join(makers) + r")\b")
    about, best = "", ""
    for sentence in sentences(text):
        named, said = known.findall(sentence), values(MODEL.sub(r"\1", sentence))
        if len(named) == 1 and not said:
            best = named[0]
        elif len(named) == len(said) > 1:
            for maker, (trait, value) in zip(named, said, strict=True):
                parts[maker][trait] = value
        elif len(named) <= 1:
            about = named[0] if named else about
            for trait, value in said:
                parts[about][trait] = value
    return Reading(parts, best)


def missed(question: Wishes, spec: dict[str, Value]) -> int:
    """Count the points of a question that a part misses."""
    count = 0
    for trait, (relation, wanted) in question.items():
        given = spec.get(trait)
        if given is None:
            count += 1
        elif isinstance(given, int):
            low, high = wanted[0], wanted[-1]
            count += (relation != "max" and given < low) or (relation != "min" and given > high)  # type: ignore[operator]
        else:
            count += (given in wanted) != (relation == "is")
    return count


def device(text: str, devices: Sequence[str]) -> str:
    """Return the device of which a text speaks first."""
    low = text.lower()
    return min((name for name in devices if name in low), key=low.index)


def choose(question: str, answers: Sequence[str], devices: Sequence[str]) -> list[int]:
    """Return the indices of the answers that meet every point of the question."""
    asked = wishes(question)
    about = device(question, devices)
    return [
        i
        for i, answer in enumerate(answers)
        if device(answer, devices) == about and not missed(asked, read(answer).spec)
    ]


def candidates(threads: Sequence[Thread], at: int, number: int) -> tuple[list[str], int]:
    """Collect answers for the question of one thread as BestAnswer does; return them and the index of the right one.

    Answers of the same question count when they are older than the accepted one; then come answers to questions that
    share at least 40 % of the tags (of the smaller set), nearest first.
    """
    thread = threads[at]
    right = next(answer for answer in thread.answers if answer.id == thread.accepted_id)
    found = [answer.body for answer in thread.answers if answer.date < right.date]
    tags = set(thread.tags)
    for distance in range(1, len(threads)):
        other = threads[(at + distance) % len(threads)]
        if len(tags & set(other.tags)) >= 0.4 * min(len(tags), len(other.tags)):
            found.extend(answer.body for answer in other.answers)
        if len(found) >= number - 1:
            break
    found = found[: number - 1]
    # The place of the right answer has to be even over the candidates, without a generator.
    place = thread.id * 2654435761 % 2**32 % (len(found) + 1)
    return [*found[:place], right.body, *found[place:]], place
