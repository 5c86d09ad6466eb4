"""Agreement of several raters: intra-class correlation (ICC).

Forms after Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; when to use which: Koo and Li (2016).
ICC(1, .): every target has raters of its own (different annotators from meeting to meeting). ICC(2, .): the same
raters, drawn from many, scored every target; differences in level count as disagreement. ICC(3, .): the same raters and
only these; differences in level do not count. (., 1) is the reliability of one rater, (., k) of the mean of all k.

The computation is pingouin's, which comes with ``pip install 'long_context_tasks[agreement]'``.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from long_context_tasks.schema import InputError
from long_context_tasks.stats.intervals import Interval

# As pingouin calls them from 0.6 on (A: absolute agreement, C: consistency).
_FORMS = {
    "ICC(1,1)": "ICC(1,1)",
    "ICC(2,1)": "ICC(A,1)",
    "ICC(3,1)": "ICC(C,1)",
    "ICC(1,k)": "ICC(1,k)",
    "ICC(2,k)": "ICC(A,k)",
    "ICC(3,k)": "ICC(C,k)",
}
MIN_TARGETS = 5


@dataclass(frozen=True)
class Icc:
    """One form of the coefficient.

    Attributes:
        form: ``ICC(1,1)`` ... ``ICC(3,k)``.
        value: not a number or infinite when nothing varies.
        interval: 95 %, from the F distribution (targets taken as independent).
        f, df1, df2, p: F test against no agreement.
        targets, raters: size of the table.
    """

    form: str
    value: float
    interval: Interval
    f: float
    df1: int
    df2: int
    p: float
    targets: int
    raters: int


def icc(ratings: Sequence[Sequence[float]]) -> dict[str, Icc]:
    """All six forms for a table of ratings, one row a target, one column a rater; every cell filled.

    Raises:
        InputError: pingouin is not installed.
        ValueError: fewer than five targets or two raters, rows of unequal length, or a rating that is no number.
    """
    sizes = {len(row) for row in ratings}
    if len(ratings) < MIN_TARGETS or len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(
            f"ICC needs at least {MIN_TARGETS} targets, each with the same two or more raters; "
            f"there are {len(ratings)} targets with {sorted(sizes)} ratings"
        )
    if any(math.isnan(rating) for row in ratings for rating in row):
        raise ValueError("ICC needs a complete table; a rating is not a number")
    pandas, pingouin = _load("pandas"), _load("pingouin")
    raters = sizes.pop()
    table = pandas.DataFrame(
        [
            (target, rater, float(rating))
            for target, row in enumerate(ratings)
            for rater, rating in enumerate(row)
        ],
        columns=["target", "rater", "rating"],
    )
    # pingouin rounds intervals to two decimals unless told otherwise, by a setting of the whole process.
    before = dict(pingouin.options)
    pingouin.options["round.column.CI95"] = None
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # raters in full agreement; documented above
            found = pingouin.intraclass_corr(data=table, targets="target", raters="rater", ratings="rating")
    finally:
        pingouin.options.update(before)
    rows = found.set_index("Type")
    return {form: _one(form, rows.loc[name], len(ratings), raters) for form, name in _FORMS.items()}


def _one(form: str, row: Any, targets: int, raters: int) -> Icc:
    low, high = row["CI95"]
    return Icc(
        form=form,
        value=float(row["ICC"]),
        interval=Interval(float(low), float(high)),
        f=float(row["F"]),
        df1=int(row["df1"]),
        df2=int(row["df2"]),
        p=float(row["pval"]),
        targets=targets,
        raters=raters,
    )


def _load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"ICC needs the library {name}: pip install 'long_context_tasks[agreement]'"
        ) from error
