"""Writes threads of a forum about invented devices: a question with several points, one answer that meets them all.

The accepted answer can be told from the others only by comparing it with the question: all answers name equally many
traits of a part in the same words and in any order, and the values of right and wrong parts have one distribution.
No other answer of any thread meets every point of the question.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from random import Random

from long_context_tasks.corpora.synthetic.parts import (
    THREAD,
    Device,
    Point,
    Spec,
    Trait,
    Value,
    devices,
    meets,
    model_name,
    split,
    traits,
)
from long_context_tasks.corpora.synthetic.people import pick
from long_context_tasks.corpora.synthetic.wording import clause, expand, plans, repair, stream, words
from long_context_tasks.schema import InputError

__all__ = ["Thread", "ThreadAnswer", "post_rows", "write_threads"]

FILE = "forum.txt"
POINTS = 4  # points of a question beside the thread
NAMED = 6  # traits that every answer names beside the thread
MOST_ANSWERS = 5
FIRST_DAY = datetime(2012, 1, 2)
FIRST_ID = 1000
IDS_PER_THREAD = MOST_ANSWERS + 1


@dataclass(frozen=True, slots=True)
class ThreadAnswer:
    """One answer: its text begins and ends with a newline; ``spec`` is what it says of the part, for checks."""

    id: int
    body: str
    date: str
    score: int
    spec: Spec


@dataclass(frozen=True, slots=True)
class Thread:
    """A question with its answers in order of their dates, one of them accepted.

    Dates are written as in the dumps of Stack Exchange; ``points`` is what the question asks for, for checks.
    """

    id: int
    title: str
    body: str
    tags: tuple[str, ...]
    date: str
    score: int
    views: int
    answers: tuple[ThreadAnswer, ...]
    accepted_id: int
    device: str
    points: tuple[Point, ...]


class Forum:
    """Writes one thread after the other and keeps in mind what was asked and answered before."""

    def __init__(self, seed: int) -> None:
        """Begin with an empty forum."""
        self.random = Random(seed).random
        self.lists = plans(FILE)
        self.now = FIRST_DAY
        self.number = 0
        # Device and thread -> the questions and the answers with them: only these can meet by chance.
        self.asked: dict[tuple[str, Value], list[tuple[Point, ...]]] = {}
        self.answered: dict[tuple[str, Value], list[Spec]] = {}
        self.fields: dict[str, str] = {}

    # --- what is meant

    def some(self, options: list[Trait], number: int) -> list[Trait]:
        """Draw some of the options, in any order."""
        left = list(options)
        return [left.pop(int(self.random() * len(left))) for _ in range(number)]

    def name_traits(self, device: Device, common: list[Trait]) -> list[Trait]:
        """Draw the traits that an answer names: half of the answers to a question name the same ones."""
        return common if self.random() < 0.5 else self.some(list(device.traits), NAMED)

    def draw(self, device: Device, answers: int) -> tuple[tuple[Point, ...], list[Spec]]:
        """Draw the points of a question and its parts, the right one first.

        Every trait has two values in all answers to a question, so that the right answer agrees with its rivals no
        more than they do among themselves.
        """
        drawn = {trait.name: split(trait, self.random) for trait in device.traits}
        _, right, wrong = split(traits()[THREAD], self.random)
        drawn[THREAD] = Point(THREAD, "is", right), right, wrong
        common = self.some(list(device.traits), NAMED)
        chosen = self.name_traits(device, common)
        points = tuple(
            drawn[name][0] for name in (THREAD, *(trait.name for trait in self.some(chosen, POINTS)))
        )
        asked = {point.trait for point in points}
        specs = [self.spec(chosen, drawn, asked)]
        while len(specs) < answers:
            spec = self.spec(self.name_traits(device, common), drawn, set())
            if not meets(points, spec):
                specs.append(spec)
        return points, specs

    def spec(
        self, named: list[Trait], drawn: dict[str, tuple[Point, Value, Value]], right: Container[str]
    ) -> Spec:
        """Draw a part: the right value for some traits, either of the two for the rest."""
        order = self.some([traits()[THREAD], *named], 1 + len(named))
        found: dict[str, Value] = {}
        for trait in order:
            _, meets_point, breaks_point = drawn[trait.name]
            found[trait.name] = meets_point if trait.name in right or self.random() < 0.5 else breaks_point
        return found

    def plan(self, device: Device, answers: int) -> tuple[tuple[Point, ...], list[Spec]]:
        """Draw a question and its parts such that no answer of another thread meets all points of any question."""
        while True:
            points, specs = self.draw(device, answers)
            key = device.name, points[0].value
            clash = any(meets(points, old) for old in self.answered.get(key, ())) or any(
                meets(old, spec) for spec in specs for old in self.asked.get((device.name, spec[THREAD]), ())
            )
            if not clash:
                break
        self.asked.setdefault(key, []).append(points)
        for spec in specs:
            self.answered.setdefault((device.name, spec[THREAD]), []).append(spec)
        return points, specs

    # --- what is said

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field."""
        return self.fields[field[0]]

    def say(self, name: str) -> str:
        """Write one line of a list."""
        options = self.lists[name]
        out: list[str] = []
        expand(options[int(self.random() * len(options))], self.fill, self.random, out)
        return repair("".join(out))

    def ask(self, points: tuple[Point, ...]) -> str:
        """Write the text of a question."""
        sentences = []
        left = list(points)
        while left:
            point = left.pop(int(self.random() * len(left)))
            self.fields["v"] = str(point.value)
            sentences.append(self.say(f"{point.trait}.{point.relation}"))
        opening = self.say("question.open")
        if self.random() < 0.5:
            opening += " " + self.say("question.middle")
        return f"\n{opening}\n{' '.join(sentences)}\n{self.say('question.close')}\n"

    def answer(self, spec: Spec) -> str:
        """Write the text of an answer: traits in any order, one to three of the other sentences among them."""
        sentences = []
        for trait, value in spec.items():
            self.fields["v"] = str(value)
            sentences.append(self.say(f"{trait}.say"))
        for _ in range(1 + int(self.random() * 3)):
            sentences.insert(int(self.random() * (len(sentences) + 1)), self.say("answer.filler"))
        self.fields["model"] = model_name(self.random)
        sentences.insert(0, self.say("answer.open"))
        sentences.append(self.say("answer.close"))
        cut = 2 + int(self.random() * (len(sentences) - 3))
        return f"\n{' '.join(sentences[:cut])}\n{' '.join(sentences[cut:])}\n"

    def later(self, hours: float) -> datetime:
        """Return a time up to so many hours after the question."""
        return self.now + timedelta(seconds=60 + int(self.random() * hours * 3600))

    def thread(self) -> Thread:
        """Write the next thread."""
        self.now += timedelta(seconds=600 + int(self.random() * 40000))
        device = devices()[int(self.random() * len(devices()))]
        points, specs = self.plan(device, 2 + int(self.random() * (MOST_ANSWERS - 1)))
        aim: list[str] = []
        expand(clause(device.aims), self.fill, self.random, aim)
        part: list[str] = []
        expand(self.lists["part"][0], self.fill, self.random, part)
        self.fields = {"device": device.name, "part": "".join(part), "aim": "".join(aim)}
        title, body = self.say("title"), self.ask(points)
        dates = sorted(self.later(300) for _ in specs)
        # The accepted answer is mostly the last one, sometimes any.
        at = len(specs) - 1 if self.random() < 0.7 else int(self.random() * len(specs))
        ordered = specs[1:]
        ordered.insert(at, specs[0])
        first = FIRST_ID + self.number * IDS_PER_THREAD
        answers = tuple(
            ThreadAnswer(first + 1 + i, self.answer(spec), _date(date), int(self.random() * 12), spec)
            for i, (spec, date) in enumerate(zip(ordered, dates, strict=True))
        )
        tags = (*device.tags, pick(words(FILE, "tags"), self.random))
        # Few questions are popular. (A product, since powers may differ in the last bit between machines.)
        score = int(self.random() * self.random() * self.random() * 120)
        views = score * 40 + int(self.random() * 900)
        self.number += 1
        return Thread(
            first,
            title,
            body,
            tags,
            _date(self.now),
            score,
            views,
            answers,
            first + 1 + at,
            device.name,
            points,
        )


def _date(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def write_threads(seed: int, num_threads: int) -> list[Thread]:
    """Write threads of a forum.

    Args:
        seed: Any integer; the same threads for the same seed on every machine and Python version. More threads of the
            same seed begin with the fewer ones.
        num_threads: How many; they have two to five answers each (3.5 on average) of 100 to 200 tokens.

    Raises:
        InputError: ``num_threads`` is below 1.
    """
    if num_threads < 1:
        raise InputError(f"a forum of {num_threads} threads cannot be written: ask for at least 1 thread")
    forum = Forum(stream(seed, "forum"))
    return [forum.thread() for _ in range(num_threads)]


def post_rows(threads: Iterable[Thread]) -> Iterator[dict[str, str]]:
    """Yield the posts as rows of a Stack Exchange dump (``Posts.xml``), bodies in HTML, questions before their answers."""
    for thread in threads:
        yield {
            "Id": str(thread.id),
            "PostTypeId": "1",
            "AcceptedAnswerId": str(thread.accepted_id),
            "CreationDate": thread.date,
            "Score": str(thread.score),
            "ViewCount": str(thread.views),
            "Body": _html(thread.body),
            "Title": thread.title,
            "Tags": "".join(f"<{tag}>" for tag in thread.tags),
            "AnswerCount": str(len(thread.answers)),
        }
        for answer in thread.answers:
            yield {
                "Id": str(answer.id),
                "PostTypeId": "2",
                "ParentId": str(thread.id),
                "CreationDate": answer.date,
                "Score": str(answer.score),
                "Body": _html(answer.body),
            }


def _html(text: str) -> str:
    return "".join(f"<p>{escape(line, quote=False)}</p>\n" for line in text.strip("\n").split("\n"))
