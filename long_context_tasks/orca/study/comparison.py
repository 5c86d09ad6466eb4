"""Agreement of raters with people over splits, as in the ORCA paper's Table 2: single judges, their mean, their fusion, ORCA; all on 0 to 1."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.metrics import Agreement, item_agreement
from long_context_tasks.orca.splits import SplitItems, all_items, question_numbers
from long_context_tasks.orca.study.raters import (
    Fusion,
    Kind,
    Rater,
    averaged,
    fused,
    named_groups,
    orca_raters,
    read_scales,
    single_raters,
)
from long_context_tasks.schema import InputError
from long_context_tasks.stats.raters import Difference, mae_difference, rho_difference


@dataclass(frozen=True)
class Spread:
    """A figure over splits.

    Attributes:
        mean: not a number unless every split has the figure.
        sd: of the splits (divisor n - 1); not a number below two.
        by_split: in their order.
    """

    mean: float
    sd: float
    by_split: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Sum up a value of each split."""
        whole = not any(map(math.isnan, values))
        return cls(
            statistics.fmean(values) if whole else math.nan,
            statistics.stdev(values) if whole and len(values) > 1 else math.nan,
            tuple(values),
        )


@dataclass(frozen=True)
class RaterFigures:
    """How a rater agrees with people on the test parts.

    Attributes:
        name, kind: of the rater.
        n: answers, over all test parts together.
        n_variance: those of them with three ratings or more and a predicted variance.
        rho, tau, mae: of the mean: Spearman, Kendall's tau-b, mean absolute error.
        variance_mae: mean absolute error of the variance.
    """

    name: str
    kind: Kind
    n: int
    n_variance: int
    rho: Spread
    tau: Spread
    mae: Spread
    variance_mae: Spread


@dataclass(frozen=True)
class Against:
    """A rater minus another, over the test answers of all splits together that both have a score for.

    Attributes:
        name: of the first rater.
        n, questions: answers (one that is in two test parts counts twice), and distinct questions, which are drawn whole.
        rho, mae: the differences.
    """

    name: str
    n: int
    questions: int
    rho: Difference
    mae: Difference


@dataclass(frozen=True)
class Comparison:
    """All rows.

    Attributes:
        figures: of every rater.
        total: answers in the test parts.
        left_out: those that did not count, as some rater has no score; 0 where each rater has its own.
        lacking: rater to the test answers that it has no score for; only those with some.
        against: differences to one rater, where one was named.
    """

    figures: tuple[RaterFigures, ...]
    total: int
    left_out: int
    lacking: Mapping[str, int]
    against: tuple[Against, ...] = ()


def compare_raters(
    splits: Sequence[SplitItems],
    raters: Sequence[Rater],
    *,
    own_items: bool = False,
    against: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Measure how raters agree with people on the test part of every split.

    Args:
        splits: with ratings.
        raters: all rows of the table.
        own_items: each rater on all answers that it has a score for; else all on those that everyone has one for.
        against: rater that the others are subtracted from, see :class:`Against`.
        seed: of the draws.

    Raises:
        InputError: nothing is left of a split's test part, or ``against`` is none of the raters.
    """
    names = [rater.name for rater in raters]
    if against is not None and against not in names:
        raise InputError(f"--against {against}: no such rater; there are: {', '.join(names)}")
    total = sum(len(split.test) for split in splits)
    lacking = {
        rater.name: missing for rater in raters if (missing := total - sum(map(len, _tested(splits, rater))))
    }
    kept = [_tested(splits, rater) for rater in raters]
    if not own_items:
        common = [
            [item for item in split.test if all(item.id in rater.by_split[number] for rater in raters)]
            for number, split in enumerate(splits)
        ]
        kept = [common for _ in raters]
    for rater, parts in zip(raters, kept, strict=True):
        for split, items in zip(splits, parts, strict=True):
            if not items:
                whose = rater.name if own_items else "every rater"
                raise InputError(
                    f"{split.name}: no answer of its test part has a score of {whose}; "
                    f"its ids are such as {split.test[0].id} (without a score: {', '.join(f'{name} {count}' for name, count in lacking.items()) or 'none'})"
                )
    figures = tuple(_figures(rater, parts) for rater, parts in zip(raters, kept, strict=True))
    left_out = 0 if own_items else total - sum(map(len, kept[0]))
    rows: tuple[Against, ...] = ()
    if against is not None:
        place = names.index(against)
        numbers = dict(
            zip(all_items(splits), question_numbers(list(all_items(splits).values())), strict=True)
        )
        rows = tuple(
            _against(rater, raters[place], parts, numbers, seed)
            for rater, parts in zip(raters, kept, strict=True)
            if rater.name != against
        )
    return Comparison(figures, total, left_out, lacking, rows)


def _tested(splits: Sequence[SplitItems], rater: Rater) -> list[list[OrcaItem]]:
    """Test items of each split that a rater has a score for."""
    return [
        [item for item in split.test if item.id in predictions]
        for split, predictions in zip(splits, rater.by_split, strict=True)
    ]


def _figures(rater: Rater, parts: Sequence[Sequence[OrcaItem]]) -> RaterFigures:
    found: list[Agreement] = []
    for items, predictions in zip(parts, rater.by_split, strict=True):
        estimates = [predictions[item.id] for item in items]
        means, variances = [each.mean for each in estimates], [each.variance for each in estimates]
        found.append(item_agreement(items, means, variances))
    counts = (sum(getattr(each, name) for each in found) for name in ("n", "n_variance"))
    figures = (
        Spread.of([getattr(each, name) for each in found]) for name in ("rho", "tau", "mae", "variance_mae")
    )
    return RaterFigures(rater.name, rater.kind, *counts, *figures)


def _against(
    first: Rater, second: Rater, parts: Sequence[Sequence[OrcaItem]], questions: Mapping[str, int], seed: int
) -> Against:
    rows = [
        (one[item.id].mean, other[item.id].mean, people, questions[item.id])
        for items, one, other in zip(parts, first.by_split, second.by_split, strict=True)
        for item in items
        if item.id in one and item.id in other and (people := item.rating_mean) is not None
    ]
    if not rows:
        raise InputError(f"--against {second.name}: {first.name} has a score for none of its answers")
    x, y, truth, clusters = (list(column) for column in zip(*rows, strict=True))
    return Against(
        first.name,
        len(rows),
        len(set(clusters)),
        rho_difference(x, y, truth, clusters, seed),
        mae_difference(x, y, truth, clusters),
    )


@dataclass(frozen=True)
class SplitComparison:
    """The comparison of all raters, what each fusion learned in each split, and notes for the user."""

    comparison: Comparison
    fusions: Mapping[str, Sequence[Fusion]]
    notes: Sequence[str]


def compare_files(
    files: Sequence[Path],
    ids: Sequence[str],
    ratings: Mapping[str, Sequence[float | None]],
    splits: Sequence[SplitItems],
    *,
    named: bool = False,
    scales: Sequence[str] = (),
    averages: Sequence[str] = (),
    fusions: Sequence[str] = (),
    orca: Sequence[str] = (),
    **options: Any,
) -> SplitComparison:
    """Compare the raters of files of scores, their averages and fusions, and ORCA.

    Args:
        files: of the scores, which may name the raters' scales.
        ids: of the answers in the files.
        ratings: rater to its scores in the order of ``ids``.
        splits: with people's ratings.
        named: the user named the raters.
        scales: ``NAME=LOW,HIGH`` each.
        averages: ``[NAME=]a,b,c`` each, or ``none``; empty for one of all judges.
        fusions: likewise.
        orca: ``NAME=PATTERN`` each.
        options: of :func:`compare_raters`.

    Raises:
        InputError: scores and splits share no answer, or an option cannot be used; see the parts.
    """
    plain = single_raters(ids, ratings, read_scales(files, scales, ratings), len(splits), named=named)
    notes = []
    known = all_items(splits)
    if others := sum(name not in known for name in ids):
        if others == len(ids):
            raise InputError(
                f"none of the {len(ids)} rated answers is in the splits: there {min(known)}, here {ids[0]}; "
                "rate the answers that the splits were made of"
            )
        notes.append(f"{others} rated answers are in no split and were passed over")
    trained = [rater for text in orca for rater in orca_raters(text, splits)]
    means = [averaged(*group) for group in named_groups(averages, "--average", plain)]
    learned: dict[str, list[Fusion]] = {}
    fused_raters = []
    for name, members in named_groups(fusions, "--fusion", plain):
        try:
            found = fused(name, members, splits)
        except InputError as error:
            if fusions:
                raise InputError(f"--fusion: {error}") from error
            notes.append(f"no fusion: {error}")  # the default is dropped where it cannot be made
        else:
            fused_raters.append(found.rater)
            learned[name] = found.learned
    raters = [*plain, *means, *fused_raters, *trained]
    counts = Counter(rater.name for rater in raters)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"two raters are called {twice[0]}; name averages, fusions and ORCA with NAME=...")
    return SplitComparison(compare_raters(splits, raters, **options), learned, notes)
