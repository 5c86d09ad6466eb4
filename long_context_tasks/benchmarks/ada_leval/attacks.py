"""Cases as attackers see them (:mod:`long_context_tasks.audit`), and attacks by those who read the builders."""

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import partial

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.benchmarks.ada_leval.prompts import sorting_texts
from long_context_tasks.schema import Case, Documents


def take_apart(case: Case, documents: Documents) -> list[Challenge]:
    """Return the only turn of a case as attackers see it."""
    gold = case.turns[0].gold
    if "question" not in case.inputs:
        before, segments, after = sorting_texts(case, documents)
        order = tuple(part - 1 for part in gold)
        # Segments are read as they are shown, between the texts before and after.
        ends = list(itertools.accumulate(map(len, (before, *segments, after))))
        return [
            Challenge(
                form="order",
                context="",
                query="",
                options=tuple(segments),
                gold=order,
                rests=tuple(ends[place + 1] / ends[-1] for place in order),
                write=lambda places: f"Answer: {[place + 1 for place in places]}",
                around=(before, after),
                carrier="novels",
            )
        ]
    answers = tuple(documents[key] for key in case.inputs["answers"])
    right = int(gold[1:]) - 1
    ends = list(itertools.accumulate(map(len, answers)))
    return [
        Challenge(
            form="choice",
            context="",
            query="" if case.inputs["question"] is None else documents[case.inputs["question"]],
            options=answers,
            gold=(right,),
            rests=(ends[right] / ends[-1],),
            write=lambda places: f"Answer: A{places[0] + 1}",
            rules={
                "half of the points": partial(by_points, share=0.5),
                "all points": partial(by_points, share=1),
            },
            carrier="forums",
        )
    ]


_MODEL = re.compile(r"\b([A-Z][a-z]+) [A-Z]\d\d\b")
_MEASURE = re.compile(r"\b(\d+)(?: and (\d+))?(?: ([a-z]{4,}))?")
_AT_LEAST = re.compile(r"at least|(?:lighter|narrower|quieter|less) than|below|or more|must not stop before")
_KIND = re.compile(
    r"(?:made of|painted|comes in|comes from|made in|built in|\ball|body of|burns|runs on|fed with|burn|spares (?:in|from)|(?:cut for|on with|has) the|thread) (?!(?:the|for|of|from|and|same)\b)([A-Za-z]{3,})|(?!(?:[Tt]he|and|that)\b)([A-Za-z]{3,}) (?:thread|body)\b"
)
_SAID = re.compile(
    r"comes|painted|built in|made in|thread|spares|body|made of|\ball [a-z]+|burn|runs on|fed\b|fuel|\d"
)


def by_points(challenge: Challenge, share: float) -> Sequence[int]:
    """Take the answer whose part meets most of the first points of the question; ``share`` of them are read."""
    read = [_recommended(option) for option in challenge.options]
    kinds = {word for option in challenge.options for pair in _KIND.findall(option) for word in pair if word}
    points = [
        (text, kinds & {*re.findall(r"\w+", text)})
        for text in re.split(r"(?<=[.?!])\s+", challenge.query)
        if _MEASURE.search(text) or kinds & {*re.findall(r"\w+", text)}
    ]
    points = points[: round(share * len(points))]
    met = [sum(_meets(*point, *of_part) for point in points) for of_part in read]
    return [met.index(max(met))]


def _recommended(answer: str) -> tuple[set[str], dict[str, int]]:
    """What an answer says of the part that it recommends: its words, and its measures by unit."""
    makers = dict.fromkeys(_MODEL.findall(answer))
    words: dict[str, set[str]] = {maker: set() for maker in makers}
    measures: dict[str, dict[str, int]] = {maker: {} for maker in makers}
    about, best = "", ""
    for sentence in re.split(r"(?<=[.?!])\s+", _MODEL.sub(r"\1", answer)):
        named = [maker for maker in makers if re.search(rf"\b{maker}\b", sentence)]
        if len(named) == 1 and not _SAID.search(sentence):
            best = named[0]
        units = [unit for *_, unit in _MEASURE.findall(sentence) if unit]
        for clause in re.split(r", | and ", sentence) if len(named) > 1 else [sentence]:
            about = next((maker for maker in named if maker in clause), about)
            if about:
                words[about] |= {*re.findall(r"\w+", clause)}
                found = _MEASURE.findall(clause)
                measures[about] |= {unit or (units or [""])[0]: int(number) for number, _, unit in found}
    return words.get(best, set()), measures.get(best, {})


def _meets(point: str, kinds: set[str], words: set[str], measures: Mapping[str, int]) -> bool:
    if found := _MEASURE.search(point):
        low, high, given = int(found[1]), int(found[2] or found[1]), measures.get(found[3] or "", -1)
        if found[2]:
            return low <= given <= high
        return given >= low if _AT_LEAST.search(point) else 0 <= given <= low
    return bool(kinds & words) != bool(re.search(r"[Nn]either|Nothing|Not?\b|is out", point))
