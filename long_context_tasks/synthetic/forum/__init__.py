"""Writes threads of a forum about invented devices: a question with several points, one answer that meets them all.

Words alone cannot tell the accepted answer from the others. On one device every trait has three values in the whole forum,
and every answer compares three parts, one of which it recommends. Each part has another of the three values, so all
answers about a device hold the same values, those that are asked for included; what counts is which of them belong to
the recommended part, and that hangs on its name, which is made up for this one answer. Whether the part is right can
only be found by reading all points: each is met by a third of the other answers of the forum, and by half of those to
the question itself. No other answer of any thread meets every point of a question.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from html import escape
from itertools import count
from random import Random

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.forum.parts import (
    LEVELS,
    Device,
    Levels,
    Point,
    Spec,
    devices,
    draw_levels,
    makers,
    model_name,
    point,
)
from long_context_tasks.synthetic.wording import Dice, clause, plans, repair, stream, variants, words

FILE = "forum.txt"
MOST_ANSWERS = 4
MOST_THREADS = 30_000
"""More would need questions with more points, for each to be met by one answer only; enough for cases of 1.2 million tokens."""
FIRST_DAY = datetime(2012, 1, 2)
FIRST_ID = 1000
IDS_PER_THREAD = MOST_ANSWERS + 1

Choice = tuple[int, ...]  # of every trait of a device the level (0, 1 or 2) of its value


@dataclass(frozen=True, slots=True)
class ThreadAnswer:
    """One answer: its text begins and ends with a newline; ``spec`` is the part that it recommends, for checks."""

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


class Shelf:
    """What has been asked and answered about one device."""

    def __init__(self, device: Device, dice: Dice) -> None:
        """Draw the values that the traits have on this device."""
        self.device = device
        self.levels: list[Levels] = [draw_levels(trait, dice) for trait in device.traits]
        self.asked: set[Choice] = set()
        self.answered: set[Choice] = set()


@cache
def sentences() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return every list of the file: for each line all that it can say."""
    return {name: tuple(map(variants, lines)) for name, lines in plans(FILE).items()}


class Forum(Dice):
    """Writes one thread after the other and keeps in mind what was asked and answered before."""

    def __init__(self, seed: int) -> None:
        """Begin with an empty forum."""
        super().__init__(Random(seed).random)
        self.shelves = [Shelf(device, self) for device in devices()]
        self.turn: list[Shelf] = []
        self.now = FIRST_DAY
        self.number = 0

    def mixed(self, number: int) -> list[int]:
        """Draw an order of the numbers from 0 on."""
        order = list(range(number))
        for last in range(number - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def draw(self, shelf: Shelf, answers: int) -> list[Choice]:
        """Draw what the answers to a question recommend; the first is what is asked for.

        Every trait has two values in all of them, so that the right answer agrees with its rivals no more than they do
        among themselves. No answer of another thread is what any question asks for.
        """
        while True:
            pairs = [self.mixed(LEVELS)[:2] for _ in shelf.levels]
            right = tuple(pair[0] for pair in pairs)
            if right in shelf.answered:
                continue
            choices = [right]
            for _ in range(64):
                choice = tuple(pair[self.below(2)] for pair in pairs)
                if choice not in choices and choice not in shelf.asked:
                    choices.append(choice)
                if len(choices) == answers:
                    shelf.asked.add(right)
                    shelf.answered.update(choices)
                    return choices

    def say(self, name: str, fields: dict[str, object]) -> str:
        """Write one line of a list."""
        return self.pick(self.pick(sentences()[name])).format_map(fields)

    def ask(self, points: Sequence[Point], fields: dict[str, object]) -> str:
        """Write the text of a question."""
        wishes = []
        for wish in points:
            fields["v"], fields["w"] = wish.values[0], wish.values[-1]
            wishes.append(self.say(f"{wish.trait}.{wish.relation}", fields))
        opening = self.say("question.open", fields)
        if self.chance(0.5):
            opening += " " + self.say("question.middle", fields)
        return repair(f"\n{opening}\n{' '.join(wishes)}\n{self.say('question.close', fields)}\n")

    def names(self) -> list[str]:
        """Make up three names of models; their makers differ."""
        found: list[str] = []
        while len(found) < LEVELS:
            maker = self.pick(makers())
            if maker not in found:
                found.append(maker)
        return found

    def describe(self, name: str, shelf: Shelf, part: Choice, told: Sequence[int], notes: bool) -> str:
        """Write what a part is like in some traits, in any order."""
        traits = shelf.device.traits
        said = []
        for at in self.mixed(len(told)):
            trait = told[at]
            fields: dict[str, object] = {"v": shelf.levels[trait][part[trait]]}
            said.append(self.say(f"{traits[trait].name}.{'note' if notes else 'say'}", fields))
        if notes:
            return f"{name}: {', '.join(said)}."
        text, subject = [], f"The {name}"
        while said:
            number = len(said) if len(said) < 4 else self.whole(2, 4)
            now, said = said[:number], said[number:]
            listed = f"{', '.join(now[:-1])} and {now[-1]}" if len(now) > 1 else now[0]
            text.append(f"{subject} {listed}.")
            subject = "It"
        return " ".join(text)

    def compare(self, trait: int, shelf: Shelf, names: Sequence[str], parts: Sequence[Choice]) -> str:
        """Write a sentence on one trait of all parts."""
        fields: dict[str, object] = {}
        for at, name, value in zip(self.mixed(LEVELS), "abc", "xyz", strict=True):
            fields[name], fields[value] = names[at], shelf.levels[trait][parts[at][trait]]
        return self.say(f"{shelf.device.traits[trait].name}.each", fields)

    def answer(self, shelf: Shelf, choice: Choice) -> str:
        """Write the text of an answer that recommends a part and compares it with two others.

        Where the recommended part stands among them, and in which words each is described, does not depend on anything.
        """
        turns = [self.below(2) for _ in choice]
        parts = [choice]
        for other in range(2):
            levels = zip(choice, turns, strict=True)
            parts.append(tuple((level + 1 + (turn ^ other)) % LEVELS for level, turn in levels))
        order = self.mixed(LEVELS)
        parts = [parts[at] for at in order]
        short = self.names()
        full = [model_name(name, self) for name in short]
        made = order.index(0)
        early, listed, notes = self.chance(0.5), self.chance(0.3), self.chance(0.5)
        mixed = self.mixed(len(choice))
        compared = self.below(2)
        fields: dict[str, object] = {"device": shelf.device.name}
        text = []
        if listed:
            at = self.mixed(LEVELS)
            fields.update(first=full[at[0]], second=full[at[1]], third=full[at[2]])
            text.append(self.say("answer.names", fields))
        fields["made"] = short[made]
        chosen = self.say("answer.choose" if listed else "answer.choose_for", fields)
        if early:
            text.insert(self.below(len(text) + 1), chosen)
        shown = short if listed else full
        lines = [self.describe(shown[at], shelf, parts[at], mixed[compared:], notes) for at in range(LEVELS)]
        text.append(("\n" if notes else " ").join(lines))
        text.extend(self.compare(trait, shelf, short, parts) for trait in mixed[:compared])
        for _ in range(self.below(2)):
            text.insert(self.below(len(text) + 1), self.say("answer.filler", fields))
        if not early:
            text.append(chosen)
        if self.chance(0.4):
            text.append(self.say("answer.close", fields))
        cut = self.whole(1, len(text) - 1) if len(text) > 1 else 1
        whole = f"{' '.join(text[:cut])}\n{' '.join(text[cut:])}" if len(text) > 1 else text[0]
        return f"\n{whole}\n"

    def later(self, hours: float) -> datetime:
        """Return a time up to so many hours after the question."""
        return self.now + timedelta(seconds=60 + int(self.random() * hours * 3600))

    def thread(self) -> Thread:
        """Write the next thread; the devices take turns, in another order each time."""
        self.now += timedelta(seconds=600 + self.below(40_000))
        if not self.turn:
            self.turn = [self.shelves[at] for at in self.mixed(len(self.shelves))]
        shelf = self.turn.pop()
        device = shelf.device
        choices = self.draw(shelf, self.whole(2, MOST_ANSWERS))
        points = tuple(
            point(device.traits[at], shelf.levels[at], choices[0][at], self)
            for at in self.mixed(len(shelf.levels))
        )
        fields: dict[str, object] = {
            "device": device.name,
            "part": self.pick(variants(plans(FILE)["part"][0])),
            "aim": self.pick(variants(clause(device.aims))),
        }
        title, body = repair(self.say("title", fields)), self.ask(points, fields)
        dates = sorted(self.later(300) for _ in choices)
        # The accepted answer is mostly the last one, sometimes any.
        at = len(choices) - 1 if self.chance(0.7) else self.below(len(choices))
        ordered = choices[1:]
        ordered.insert(at, choices[0])
        first = FIRST_ID + self.number * IDS_PER_THREAD
        answers = tuple(
            ThreadAnswer(post, self.answer(shelf, choice), _date(date), self.below(12), _spec(shelf, choice))
            for post, choice, date in zip(count(first + 1), ordered, dates, strict=False)
        )
        tags = (*device.tags, self.pick(words(FILE, "tags")))
        # Few questions are popular. (A product, since powers may differ in the last bit between machines.)
        score = int(self.random() * self.random() * self.random() * 120)
        views = score * 40 + self.below(900)
        self.number += 1
        date, accepted = _date(self.now), first + 1 + at
        return Thread(first, title, body, tags, date, score, views, answers, accepted, device.name, points)


def _spec(shelf: Shelf, choice: Choice) -> Spec:
    known = zip(shelf.device.traits, shelf.levels, choice, strict=True)
    return {trait.name: levels[level] for trait, levels, level in known}


def _date(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def write_threads(seed: int, num_threads: int) -> list[Thread]:
    """Write threads of a forum.

    Args:
        seed: Any integer; the same threads for the same seed on every machine and Python version. More threads of the
            same seed begin with the fewer ones.
        num_threads: How many; they have two to four answers each of 150 to 250 tokens.

    Raises:
        InputError: ``num_threads`` is below 1 or above :data:`MOST_THREADS`.
    """
    if num_threads < 1:
        raise InputError(f"a forum of {num_threads} threads cannot be written: ask for at least 1 thread")
    if num_threads > MOST_THREADS:
        raise InputError(
            f"a forum of {num_threads:,} threads cannot be written, at most one of {MOST_THREADS:,}: ask for shorter cases"
        )
    forum = Forum(stream(seed, "forum"))
    return [forum.thread() for _ in range(num_threads)]


def asides(seed: int) -> list[str]:
    """Return sentences that an asker may add and that say nothing of devices, parts and values; none says the same as another."""
    dice = Dice(Random(stream(seed, "asides")).random)
    said = [dice.pick(options) for options in sentences()["question.aside"]]
    return sorted(said, key=lambda _: dice.random())


def with_asides(body: str, added: Sequence[str]) -> str:
    """Return the text of a question with such sentences behind its opening."""
    opening, _, rest = body.strip("\n").partition("\n")
    return f"\n{opening}\n{' '.join(added)}\n{rest}\n"


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
