"""A simple reader of constraint matching: regular expressions read requirements and parts, no knowledge of the truth.

It knows units, and the phrases around materials, fuels, colours and countries, but none of these words.
"""

import re
from collections.abc import Sequence

Value = int | str
Wish = tuple[str, str, list[Value]]  # unit ("" for words), relation, values

UNIT = re.compile(r"\b(kilos|centimetres|watts|hours|degrees|crowns|decibels|litres|months)\b")
AT_LEAST = re.compile(r"at least|(?:lighter|narrower|quieter|less) than|below|or more|must not stop before")
MODEL = re.compile(r"\b([A-Z][a-z]+) [A-Z]\d\d\b")
_WORD = r"([A-Za-z]+(?: (?!(?:nor|or|and|in|is)\b)[a-z]+)?)"
RULED_OUT = re.compile(
    rf"\b(?:neither|no|of(?! neither)|nothing from|burns) (?:from )?{_WORD} (?:nor|and no|or) (?:from |of )?{_WORD}(?:[.,]| in the casing| is out)",
    re.IGNORECASE,
)
ASKED_FOR = re.compile(
    rf"\b(?:(?:has to|must) be(?: made of| made in)?|run on|here is|what is made in) {_WORD}[.,]"
)
DESCRIBED = re.compile(
    rf"\b(?:made of|casing of|built of|runs on|burns|fired with|comes in|is painted|made in|comes from|built in|is) {_WORD}(?:[.,]| and )"
)

COLOURS = "black white grey red green blue yellow brown orange purple silver cream"
SPEAKS_OF = {
    "weight": r"kilos|weigh(?:s|t)?|heavy|heavier|lighter",
    "width": r"centimetres|wide|wider|width|narrow(?:er)?|size",
    "power": r"watts|power|strong|stronger",
    "running": r"hours|filling",
    "heat": r"degrees|heat|hot|hotter|warm|cool|cold|steam is|poor steam",
    "price": r"crowns|costs?|price|money|spend|cheap|expensive|budget",
    "noise": r"decibels|loud|louder|noise|noisy|quiet|quieter|heard here",
    "water": r"litres|water",
    "guarantee": r"months|guarantee",
    "material": r"made of|casing|metal|material",
    "fuel": r"run on|burns?|fuel|oil",
    "colour": rf"colour|paint(?:ed)?|finish|looks|{COLOURS.replace(' ', '|')}",
    "origin": r"made in|(?:come|nothing) (?:neither )?from|country|abroad|customs",
}
"""Property to the words of sentences that constrain it, or that say that it does not matter."""


def constrained_twice(question: str) -> list[tuple[str, str, str]]:
    """Find pairs of sentences of a question that concern the same property, which one of them may contradict: property, sentences."""
    seen: dict[str, str] = {}
    found = []
    for sentence in re.split(r"(?<=[.?!])\s+", question.strip()):
        for name, words in SPEAKS_OF.items():
            if re.search(rf"\b(?:{words})\b", sentence, re.IGNORECASE):
                if name in seen:
                    found.append((name, seen[name], sentence))
                seen[name] = sentence
    return found


def numbers(text: str) -> list[tuple[str, int]]:
    """Read the numbers in a text, in order, each with the next unit."""
    units = [(match.start(), match[1]) for match in UNIT.finditer(text)]
    found = [
        (next((unit for at, unit in units if at > match.start()), ""), int(match[0]))
        for match in re.finditer(r"\b\d+\b", text)
    ]
    return [one for one in found if one[0]]


def wishes(question: str) -> list[Wish]:
    """Read what a question asks for, in order."""
    found: list[Wish] = []
    for sentence in re.split(r"(?<=[.?!])\s+", question.strip()):
        if said := numbers(sentence):
            relation = "between" if len(said) > 1 else "min" if AT_LEAST.search(sentence) else "max"
            found.append((said[0][0], relation, [value for _, value in said]))
        elif ruled_out := RULED_OUT.search(sentence):
            found.append(("", "neither", [*ruled_out.groups()]))
        elif asked_for := ASKED_FOR.search(sentence):
            found.append(("", "is", [asked_for[1]]))
    return found


Part = tuple[dict[str, int], set[str]]  # unit to number, and the words that describe it


def recommended(answer: str) -> Part:
    """Read what an answer says of the part that it recommends: the one that it names without its number."""
    models = list(MODEL.finditer(answer))
    bare = MODEL.sub("", answer)
    best = next(match for match in models if re.search(rf"\b{match[1]}\b", bare))
    after = [match.start() for match in models if match.start() > best.start()]
    # What is said of the other part follows its name up to the end of the sentence.
    own = answer[best.end() : after[0] if after else len(answer)]
    return dict(numbers(own)), set(DESCRIBED.findall(own))


def met(wish: Wish, part: Part) -> bool:
    """Say whether a part meets a wish."""
    unit, relation, wanted = wish
    measures, words = part
    if not unit:
        return words.isdisjoint(wanted) == (relation == "neither")  # type: ignore[arg-type]
    given, low, high = measures.get(unit), wanted[0], wanted[-1]
    return given is not None and (relation == "max" or given >= low) and (relation == "min" or given <= high)  # type: ignore[operator]


def choose(question: str, answers: Sequence[str]) -> list[int]:
    """Return the places of the answers that meet every wish of the question."""
    wanted = wishes(question)
    return [
        place
        for place, answer in enumerate(answers)
        if (part := recommended(answer)) and all(met(wish, part) for wish in wanted)
    ]
