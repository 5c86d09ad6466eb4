"""A score without a judge, where the possible answers are known: a response has to state the right one and no other.

The meetings of the synthetic tasks bring up several values for each question, and the writer knows which of them is right. A
response is right when it states the right value in one of its forms and none of the others, so that naming all of them is no way
out. A value that is only ruled out ("not on Monday", "rather than [PERSON7]") is not stated. It is stricter than a judge: who tells
the whole story, with the values that were given up, is not counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.answer_words import words_of
from long_context_tasks.schema import Case

__all__ = ["INPUT", "METRIC", "is_found", "is_known", "states", "words_of"]

METRIC = "answer_found"
INPUT = "stated"
"""Field of a case's inputs: for each turn, the forms of the right value (``right``) and of each other one (``wrong``)."""

_NOT = frozenset(("not", "nor", "neither", "isn't", "wasn't", "aren't", "weren't"))
_BEFORE_VALUES = frozenset(("on", "at", "by", "for", "to", "with", "from"))
"""Words that may stand between "not" and what is ruled out; articles are left out before. "Not only" rules nothing out."""


def states(words: Sequence[str], forms: Iterable[str]) -> bool:
    """Whether a text, as words, has one of the forms in it, word for word, and does not only rule it out.

    >>> states(words_of("Not on the 3rd, on May 14th"), ["14 May", "May 14"]), states(words_of("not PERSON3"), ["PERSON3"])
    (True, False)
    """
    return any(_has(words, words_of(form)) for form in forms)


def _has(words: Sequence[str], form: Sequence[str]) -> bool:
    if not form:
        return False
    places = [at for at in range(len(words) - len(form) + 1) if list(words[at : at + len(form)]) == form]
    return any(not _ruled_out(words[:at]) for at in places)


def _ruled_out(before: Sequence[str]) -> bool:
    """Whether the words before a value say that it is not the one."""
    at = len(before)
    while at and before[at - 1] in _BEFORE_VALUES:
        at -= 1
    last = list(before[max(0, at - 2) : at])
    return bool(last) and (last[-1] in _NOT or last[-1] == "instead" or last == ["rather", "than"])


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
