"""A simple reader of the synthetic forum: regular expressions read points and parts, no knowledge of the truth."""

import re
from collections.abc import Sequence

from long_context_tasks.corpora.synthetic import Thread

Reading = dict[str, tuple[str, str | int]]  # what is spoken of -> (relation, value)

MEASURE = re.compile(r"(\d+) (kilos|centimetres|watts|hours|degrees|crowns|decibels|litres|months)")
AT_LEAST = re.compile(r"at least|(?:lighter|narrower|quieter|less) than|below|or more|must not stop before")
KINDS = {
    "thread": re.compile(r"([A-Z][a-z]+) thread"),
    "material": re.compile(r"(?:made of|body is|body has to be) ([a-z]+)|No ([a-z]+) in the body"),
    "fuel": re.compile(r"(?:run on|runs on|burns|feed it|All I can get here is) ([a-z ]+)"),
    "place": re.compile(r"(?:spares [a-z ]*(?:in|from)|Spares come from|get to) ([A-Z][a-z]+)"),
}
RULED_OUT = re.compile(r"cannot be|\bNo\b|Nothing|must not")
DEVICE = re.compile(r"(?:my|for a|for the|on the|on my|My|a) ([a-z]+ [a-z]+)\b")


def sentences(text: str) -> list[str]:
    """Cut a text into sentences."""
    return re.split(r"(?<=[.?!:])\s+", text.strip())


def read(text: str) -> Reading:
    """Read what a text says of a part or asks of it."""
    found: Reading = {}
    for sentence in sentences(text):
        if measure := MEASURE.search(sentence):
            found[measure[2]] = ("min" if AT_LEAST.search(sentence) else "max", int(measure[1]))
            continue
        for kind, pattern in KINDS.items():
            if match := pattern.search(sentence):
                wrong = kind != "thread" and RULED_OUT.search(sentence)
                found[kind] = ("not" if wrong else "is", next(group for group in match.groups() if group))
    return found


def missed(question: Reading, answer: Reading) -> int:
    """Count the points of a question that an answer misses."""
    count = 0
    for topic, (relation, wanted) in question.items():
        if topic not in answer:
            count += 1
            continue
        given = answer[topic][1]
        if isinstance(wanted, int) and isinstance(given, int):
            count += not (given <= wanted if relation == "max" else given >= wanted)
        else:
            count += (given == wanted) != (relation == "is")
    return count


def device(text: str, devices: Sequence[str]) -> str:
    """Return the device of which a text speaks first."""
    low = text.lower()
    return min((name for name in devices if name in low), key=low.index)


def choose(question: str, answers: Sequence[str], devices: Sequence[str]) -> list[int]:
    """Return the indices of the answers that meet every point of the question."""
    asked = read(question)
    about = device(question, devices)
    return [
        i
        for i, answer in enumerate(answers)
        if device(answer, devices) == about and not missed(asked, read(answer))
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
