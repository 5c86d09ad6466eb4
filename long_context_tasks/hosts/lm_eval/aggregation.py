"""How lm-eval makes one number of the values of all cases, key by key.

The value of a case is a number, or value, cluster and standard deviation where an interval is wanted; a conversation has a list of
them, one for each turn.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from long_context_tasks.stats import interval_of_mean


def _turns(values: Sequence[Any], depth: int) -> list[Any]:
    """Values of turns in one list: a case of a conversation has a list of them, any other case a single one.

    Args:
        values: of cases.
        depth: 0 where the value of a turn is a number, 1 where it is a list.
    """
    flat: list[Any] = []
    for value in values:
        inner = value[0] if isinstance(value, list) and value else value
        several = isinstance(inner, list) if depth else isinstance(value, list)
        flat += value if several else [value]
    return flat


def nan_mean(values: Sequence[float]) -> float:
    """Mean of the values that are numbers; not a number when there are none."""
    numbers = [value for value in _turns(values, 0) if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def total(values: Sequence[float]) -> float:
    """Sum; not a number when any is."""
    return math.fsum(_turns(values, 0))


def interval_low(rows: Sequence[tuple[float, str, float]], *, rates: bool = True) -> float:
    """Lower end of the 95 % interval of the mean, from rows of value, cluster and standard deviation.

    Args:
        rows: of the turns.
        rates: see :func:`long_context_tasks.stats.mean_of_scores`.
    """
    return _interval(rows, rates)[0]


def interval_high(rows: Sequence[tuple[float, str, float]], *, rates: bool = True) -> float:
    """Upper end; see :func:`interval_low`."""
    return _interval(rows, rates)[1]


def _interval(rows: Sequence[tuple[float, str, float]], rates: bool) -> tuple[float, float]:
    kept = [row for row in _turns(rows, 1) if not math.isnan(row[0])]
    if not kept:
        return math.nan, math.nan
    values, clusters, stds = zip(*kept, strict=True)
    ends = interval_of_mean(values, clusters, rates=rates, stds=stds)
    return ends.low, ends.high


def aggregation_of(key: str, points: Collection[str] = ()) -> Callable[[Any], float]:
    """How the values of a result key over all cases become one number.

    Args:
        key: see :func:`long_context_tasks.stats.means.result_keys`.
        points: the metrics that are points of a scale and no rates.
    """
    for ending, end in (("_low", interval_low), ("_high", interval_high)):
        if key.endswith(ending):
            return partial(end, rates=False) if key.removesuffix(ending) in points else end
    return total if key == "n" or key.startswith("n_") else nan_mean


def higher_is_better(key: str) -> bool:
    """For the arrows of the host's table."""
    return not (key.startswith("n_") and key != "n_scored") and key != "copy_instruction"
