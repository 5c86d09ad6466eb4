"""A score without a judge, where the possible answers are known: a response has to state the right one and no other.

The meetings of the synthetic tasks bring up several values for each question, and the writer knows which of them is right. A
response is right when it states the right value in one of its forms and none of the others, so that naming all of them is no way
out. It is stricter than a judge: who tells the whole story, with the values that were given up, is not counted.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from long_context_tasks.corpora.synthetic.meeting_world import ONES, TENS
from long_context_tasks.schema import Case

METRIC = "answer_found"
INPUT = "stated"
"""Field of a case's inputs: for each turn, the forms of the right value (``right``) and of each other one (``wrong``)."""

_TAG = re.compile(r"\b(person|project|organization|location)[\s_-]*(\d+)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_HALF_OF_DAY = re.compile(r"(?<![a-z])([ap])\.? ?m\b\.?")
_WORD = re.compile(r"[a-z']+\d*|\d+")
_SMALL = {
    **{word: number for number, word in enumerate(ONES)},
    **{word: 10 * number for number, word in enumerate(TENS, 2)},
}
_LARGE = {"hundred": 100, "thousand": 1000}
_LEFT_OUT = frozenset(("the", "a", "an", "of", "and", "in"))


def words_of(text: str) -> list[str]:
    """The words of a text in one spelling: small letters, plain numbers, no articles.

    >>> words_of("(Person 3), on the 14th of May at 2:30 p.m., for 1,250 euros and twenty-five people")
    ['person3', 'on', '14', 'may', 'at', '2', '30', 'pm', 'for', '1250', 'euros', '25', 'people']
    """
    text = text.lower().replace("\u2019", "'")
    text = _TAG.sub(r"\1\2", text)
    text = _THOUSANDS.sub("", text)
    text = _ORDINAL.sub(r"\1", text)
    text = _HALF_OF_DAY.sub(r" \1m", text)
    return _with_numbers([word for word in _WORD.findall(text) if word not in _LEFT_OUT])


def _with_numbers(words: Sequence[str]) -> list[str]:
    """The words with a number in figures for each that is spelled out.

    >>> _with_numbers(["one", "thousand", "two", "hundred", "fifty", "or", "two", "five"])
    ['1250', 'or', '2', '5']
    """
    found: list[str] = []
    whole = part = 0
    least = 0  # below this the next small number belongs to the one before it; 0 where there is none
    for word in (*words, ""):
        if (small := _SMALL.get(word)) is not None and least and 0 < small < least:
            part += small
            least = 10 if small >= 20 else 0
        elif word in _LARGE and (least or part):
            part = (part or 1) * _LARGE[word]
            if word == "thousand":
                whole, part = whole + part, 0
            least = _LARGE[word]
        else:
            if whole or part:
                found.append(str(whole + part))
            whole = part = least = 0
            if small is not None:
                part, least = small, 10 if small >= 20 else 0
                found += ["0"] if small == 0 else []
            elif word in _LARGE:
                part, least = _LARGE[word], _LARGE[word]
                if word == "thousand":
                    whole, part = part, 0
            elif word:
                found.append(word)
    return found


def states(words: Sequence[str], forms: Iterable[str]) -> bool:
    """Whether a text, as words, has one of the forms in it, word for word."""
    text = f" {' '.join(words)} "
    return any(f" {' '.join(words_of(form))} " in text for form in forms)


def is_found(response: str, stated: Mapping[str, Any]) -> bool:
    """Whether a response states the right value and no other.

    Args:
        response: without thinking.
        stated: the turn's row of :data:`INPUT`.
    """
    words = words_of(response)
    return states(words, stated["right"]) and not any(states(words, forms) for forms in stated["wrong"])


def is_known(case: Case) -> bool:
    """Whether the possible answers of a case are known."""
    return INPUT in case.inputs
