"""Krippendorff's alpha of ratings, with any number of annotators and missing ratings.

Krippendorff (2019), Content Analysis, chapter 12; the computation is NLTK's, which comes with
``pip install 'long_context_tasks[annotation]'``. (The package krippendorff is under the GPL.) The ORCA paper does not say which
level of measurement it took; here it is ``ordinal`` unless another is asked for.
"""

import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema import InputError

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Alpha:
    """Agreement of some annotators.

    Attributes:
        value: 1 full agreement, 0 as by chance; not a number when no item has two ratings, or all ratings are equal.
        items, ratings, annotators: that enter, which are those of items with two ratings or more.
    """

    value: float
    items: int
    ratings: int
    annotators: int


def krippendorff_alpha(ratings: Sequence[tuple[str, str, float]], level: Level = "ordinal") -> Alpha:
    """Alpha of ``(annotator, item, rating)``, at most one of each annotator and item.

    Raises:
        InputError: NLTK is not installed.
        ValueError: an annotator rated an item twice.
    """
    pairs = Counter((annotator, item) for annotator, item, _ in ratings)
    if twice := [pair for pair, count in pairs.items() if count > 1]:
        raise ValueError(f"{twice[0][0]} rated {twice[0][1]} twice")
    per_item = Counter(item for _, item, _ in ratings)
    used = [row for row in ratings if per_item[row[1]] > 1]
    sizes = (len({item for _, item, _ in used}), len(used), len({annotator for annotator, _, _ in used}))
    counts = Counter(rating for *_, rating in used)
    if len(counts) < 2:
        return Alpha(math.nan, *sizes)
    try:
        nltk = importlib.import_module("nltk.metrics.agreement")
    except ImportError as error:
        raise InputError(
            "Krippendorff's alpha needs the library nltk: pip install 'long_context_tasks[annotation]'"
        ) from error
    return Alpha(float(nltk.AnnotationTask(used, distance=_distance(level, counts)).alpha()), *sizes)


def _distance(level: Level, counts: Counter[float]) -> Callable[[float, float], float]:
    """Squared difference of two ratings."""
    if level == "nominal":
        return lambda one, other: float(one != other)
    if level == "interval":
        return lambda one, other: (one - other) ** 2
    below, place = 0.0, {}
    for rating in sorted(counts):
        # Ranks: the sum of the counts from one rating to the other, less half of the two, is the difference of these places.
        place[rating] = below + counts[rating] / 2
        below += counts[rating]
    return lambda one, other: (place[one] - place[other]) ** 2
