"""ETHIC's official scoring rules, quirks included; ``repaired.py`` has repaired versions.

"Crash" in the docstrings means that the official run stops there; our callers count such an item as wrong.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

REFUSAL = "FAILED"  # the text that the official code stores if a model's API returns no text
NONE = "None"
# Consistency, faithfulness, relevance, in the order of the official requests.
CRITERIA = ("con", "faith", "rel")
# Each task's domains, as in Table 2 of the paper; items in other domains are not counted.
DOMAINS: Mapping[str, tuple[str, ...]] = {
    "recall": ("books", "debates", "medicine", "law"),
    "summarize": ("books", "debates", "medicine", "law"),
    "organize": ("books", "debates"),
    "attribute": ("medicine", "law"),
}

_SEPARATOR = re.compile(r"[;,]\s*")
_NUMBER = re.compile(r"\d+")
_HEADER = re.compile(r"(Related Segments|Core IDs):\s*(.+)")


@dataclass(frozen=True)
class F1:
    """Precision, recall and their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    f1: float


NOTHING = F1(0.0, 0.0, 0.0)


def _clean(piece: str) -> str:
    return piece.lower().strip(".").strip()


def f1(prediction: str, labels: Sequence[str]) -> F1:
    """Return the F1 of a text against labels, after splitting at commas and semicolons.

    Pieces are lower-cased and stripped of dots at both ends. A line break does not split, an empty piece
    counts as a prediction, a duplicate label can never be fully recalled, and without labels everything is 0.

    >>> f1("Anne, Kitty, ", ["Anne", "Jane"])
    F1(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    pieces = {_clean(piece) for piece in _SEPARATOR.split(prediction)}
    cleaned = [_clean(label) for label in labels]
    known = set(cleaned)
    return rates(sum(piece in known for piece in pieces), len(pieces), len(cleaned))


def rates(hits: int, predicted: int, labels: int) -> F1:
    """Compute precision, recall and F1 from counts; 0 if a denominator is 0."""
    precision = hits / predicted if predicted else 0.0
    recall = hits / labels if labels else 0.0
    both = precision + recall
    return F1(precision, recall, 2 * precision * recall / both if both else 0.0)


def recalling(prediction: str, labels: Sequence[str]) -> F1:
    return NOTHING if prediction == REFUSAL else f1(prediction, labels)


def attributing(prediction: str, answer: Sequence[str]) -> F1:
    """Score an Attributing item by the numbers after the header in its line.

    Without a header, all numbers in the text count. The correct "None" scores 0, because without numbers the
    prediction is empty. If nothing follows the header in its line, the next line is used, which has the other
    category's ids.
    """
    if prediction == REFUSAL:
        return NOTHING
    header = _HEADER.search(prediction)
    numbers = dict.fromkeys(_NUMBER.findall(header[2] if header else prediction))
    return f1(", ".join(numbers), attributing_labels(answer))


def attributing_labels(answer: Sequence[str]) -> list[str]:
    """Return the first number in each entry, or ``None`` for an entry without one.

    >>> attributing_labels(["<Segment 24>", "none"])
    ['24', 'None']
    """
    found = [_NUMBER.search(entry) for entry in answer]
    return [match[0] if match else NONE for match in found]


def order_of(text: str) -> list[str]:
    """Return all numbers anywhere in a text.

    >>> order_of("1. [3] > [2]")
    ['1', '3', '2']
    """
    return _NUMBER.findall(text)


def organizing(prediction: str, answer: Sequence[str]) -> float:
    """Score an Organizing item: longest common subsequence divided by the answer's length.

    Repeated numbers can only raise the score.

    Args:
        prediction: the model's text. A refusal crashes.
        answer: the correct order. An empty one crashes.
    """
    return LCSseq.similarity(order_of(prediction), answer) / len(answer)


def rating(token: str) -> int | None:
    """Parse a token as a rating from 1 to 5; blanks, a sign and digits of other scripts are accepted.

    >>> rating(" 4"), rating("6"), rating("4.")
    (4, None, None)
    """
    try:
        value = int(token)
    except ValueError:
        return None
    return value if 1 <= value <= 5 else None


def weighted(top: Iterable[tuple[str, float | None]]) -> float:
    """Sum ratings times probabilities without dividing by the probability mass found.

    Probability mass on other tokens therefore lowers the score.

    Args:
        top: candidates for the first token of a judge's reply, with their natural log-probabilities.
    """
    score = 0.0
    for token, logprob in top:
        value = rating(token)
        if value is not None and logprob is not None:
            score += value * math.exp(logprob)
    return score


def normalized(top: Iterable[tuple[str, float | None]]) -> float | None:
    """Return :func:`weighted` divided by the probability mass found, or None if that is 0.

    >>> normalized([("4", math.log(0.25)), ("5", math.log(0.25)), ("The", -0.7)])
    4.5
    """
    known = [(rating(token), math.exp(value)) for token, value in top if value is not None]
    mass = math.fsum(chance for value, chance in known if value is not None)
    if mass <= 0:
        return None
    # Rounding could push the quotient off the scale.
    return min(
        5.0, max(1.0, math.fsum(value * chance for value, chance in known if value is not None) / mass)
    )
