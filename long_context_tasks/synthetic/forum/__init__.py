"""Generate forum questions with eight requirements for a part, and their answers.

One answer meets all requirements, the others miss one to three. Each of these misses one requirement, in
turn, and some also miss one or both of two more. The most frequent values among the answers are therefore not
always the required ones, so the question must be read, and a reader who skips some requirements cannot
exclude the answers that miss only those. Values of a measure are near its bound on either side; an excluded
kind is named in the question and in answers that miss it. Every answer also mentions a part that it does not
recommend, with values on either side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from long_context_tasks.synthetic.vocabulary import Vocabulary
from long_context_tasks.synthetic.wording import PlanWriter, capital, items, repair, stream, words

FILE = "forum.txt"
POINTS = 8
KINDS = 3  # maximum number of requirements for a kind instead of a measure
_NEAR = 5  # maximum steps of a measure from its bound
_OPEN = 2  # requirements missed by up to half of the answers, so that frequent values do not reveal them
_RELATIONS = ("max", "min", "between")

Value = int | str


@cache
def measures() -> Mapping[str, range]:
    rows = (line.split(", ") for line in words(FILE, "measures"))
    return {name: range(int(low), int(high) + 1, int(step)) for name, _, low, high, step in rows}


@cache
def kinds() -> Mapping[str, tuple[str, ...]]:
    return {name: items(FILE, f"{name}.values") for name in items(FILE, "kinds")}


@dataclass(frozen=True, slots=True)
class Requirement:
    trait: str  # a measure or a kind
    relation: str  # "max", "min" or "between" for measures, bounds included; "is" or "neither" for kinds
    values: tuple[Value, ...]  # the bounds, or the required or excluded words
    # right, wrong: values of parts that meet or miss the requirement
    right: tuple[Value, ...]
    wrong: tuple[Value, ...]


class Requirements(PlanWriter):
    """A forum question with any number of answers, each determined by the seed and its number."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(stream(seed, "requirements")).random, FILE)
        self.seed = seed
        device, _, aim = self.say("devices").partition(" to ")
        self.fields = {"device": device, "aim": aim, "part": self.say("part")}
        asked = self.sample(kinds(), self.whole(1, KINDS))
        asked += self.sample(measures(), POINTS - len(asked))
        self.points = tuple(self._point(trait) for trait in self.shuffled(asked))
        self._open = {place: 0.1 + 0.4 * self.random() for place in self.sample(range(POINTS), _OPEN)}
        self._wishes = " ".join(self._wish(point) for point in self.points)
        self._texts = {name: repair(self.say(name)).rstrip() for name in ("open", "conditions", "close")}

    def _point(self, trait: str) -> Requirement:
        if trait in kinds():
            kind = tuple(self.shuffled(kinds()[trait]))
            if self.chance(0.4):
                return Requirement(trait, "is", kind[:1], kind[:1], kind[1:])
            return Requirement(trait, "neither", kind[:2], kind[2:], kind[:2])
        values, relation = measures()[trait], self.pick(_RELATIONS)
        low = self.whole(_NEAR, len(values) - 1 - 2 * _NEAR)
        high = low + self.whole(2, _NEAR)
        # Wrong values are as close to the bound as right ones, so that extreme values do not reveal them.
        below, above = values[low - _NEAR : low], values[high + 1 : high + 1 + _NEAR]
        if relation == "max":
            return Requirement(
                trait, relation, (values[high],), tuple(values[high - _NEAR + 1 : high + 1]), tuple(above)
            )
        if relation == "min":
            return Requirement(
                trait, relation, (values[low],), tuple(values[low : low + _NEAR]), tuple(below)
            )
        inside, outside = tuple(values[low : high + 1]), (*below[-2:], *above[:2])
        return Requirement(trait, relation, (values[low], values[high]), inside, outside)

    def _wish(self, point: Requirement) -> str:
        relations = _RELATIONS if point.trait in measures() else ("is", "neither")
        self.fields |= {"v": str(point.values[0]), "w": str(point.values[-1])}
        return repair(self.written(self.plans[point.trait][relations.index(point.relation)]))

    def question(self, asides: str = "") -> str:
        """Return the question, with neutral sentences after its opening."""
        texts = self._texts
        middle = f"{asides}\n" if asides else ""
        return f"\n{texts['open']}\n{middle}{texts['conditions']} {self._wishes}\n{texts['close']}\n"

    def asides(self) -> list[str]:
        """Return neutral sentences for a question that mention no devices, parts or values."""
        writer = _PartWriter(self, "asides")
        return [repair(writer.written(plan)) for plan in writer.shuffled(self.plans["aside"])]

    def missed(self, number: int) -> frozenset[int]:
        """Return the indices of the missed requirements: none for answer 0, one to three for others."""
        if not number:
            return frozenset()
        turn, place = divmod(number - 1, POINTS)
        missed = _PartWriter(self, f"turn {turn}").shuffled(range(POINTS))[place]
        also = _PartWriter(self, f"also {number}")
        return frozenset((missed, *(open_ for open_, share in self._open.items() if also.chance(share))))

    def answer(self, number: int) -> str:
        """Return an answer; answer 0 meets every requirement."""
        part = _PartWriter(self, f"answer {number}")
        text = part.told(self.missed(number))
        if part.chance(0.5):
            text.insert(part.below(3), repair(part.say("filler")))
        if part.chance(0.3):
            text.append(repair(part.say("bye")))
        return "\n" + "\n".join(text) + "\n"


class _PartWriter(PlanWriter):
    """Describe a part using the random numbers of one answer."""

    def __init__(self, asked: Requirements, name: str) -> None:
        super().__init__(Random(stream(asked.seed, name)).random, FILE)
        self.asked = asked
        self.fields = dict(asked.fields)

    def _name(self, vocabulary: Vocabulary) -> str:
        return f"{vocabulary.name('product')} {self.pick('ABCDEFGHKLMNPRSTUVWXZ')}{self.whole(10, 99)}"

    def _described(self, subject: str, values: Mapping[str, Value]) -> str:
        """Return sentences that describe two to four traits of a part each."""
        said = []
        for trait in self.shuffled(list(values)):
            self.fields["v"] = str(values[trait])
            said.append(self.written(self.plans[trait][-1]))
        text = []
        while said:
            number = len(said) if len(said) < 4 else self.whole(2, 4)
            now, said = said[:number], said[number:]
            listed = f"{', '.join(now[:-1])} and {now[-1]}" if len(now) > 1 else now[0]
            text.append(f"{subject} {listed}.")
            subject = "It"
        return " ".join(text)

    def told(self, missed: frozenset[int]) -> list[str]:
        """Return the descriptions of the recommended and a rejected part in random order."""
        points = self.asked.points
        values = {
            point.trait: self.pick(point.wrong if place in missed else point.right)
            for place, point in enumerate(points)
        }
        others = {point.trait: self.pick((*point.right, *point.wrong)) for point in self.sample(points, 3)}
        # Each answer has its own names, so that it does not depend on the number of answers before it.
        vocabulary = Vocabulary(stream(self.asked.seed, f"names {int(self.random() * 2**40)}"))
        name, other = self._name(vocabulary), self._name(vocabulary)
        self.fields |= {"made": name.split()[0], "other": other}
        text = f"{self._described(f'The {name}', values)} {repair(self.say('choose'))}"
        if self.chance(0.5):
            text = f"{repair(self.say('choose'))} {self._described(f'The {name}', values)}"
        rejected = capital(self._described(self.say("reject"), others))
        return [text, rejected] if self.chance(0.5) else [rejected, text]
