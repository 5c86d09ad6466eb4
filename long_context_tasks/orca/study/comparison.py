"""Judges of correctness beside each other over splits, as in the ORCA paper's Table 2: single judges, their mean, their fusion, ORCA.

Everything on 0 to 1. What a rater has no score for is missing, for the mean of judges as soon as one of them has none; nothing stands in for it.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.metrics import Agreement, item_agreement
from long_context_tasks.orca.study.fusion import Fusion, average, fuse
from long_context_tasks.orca.study.splits import SplitItems, all_items, question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.stats import Difference, mae_difference, rho_difference

Kind = Literal["judge", "baseline", "average", "fusion", "orca"]
_FEWEST = 2
"""Answers with all scores that a fusion needs in each part; far more to be any good."""


@dataclass(frozen=True)
class Estimate:
    """What a rater says of an answer, on 0 to 1.

    Attributes:
        mean: mean rating.
        variance: of people's ratings, from raters that predict it.
    """

    mean: float
    variance: float | None = None


Estimates = Mapping[str, Estimate]
"""Answer's id to what is said of it; an id that is missing has no score."""


@dataclass(frozen=True)
class Rater:
    """One row of the comparison.

    Attributes:
        name, kind: for the table.
        by_split: predictions for each split, in their order; those of a single judge are the same in all.
    """

    name: str
    kind: Kind
    by_split: tuple[Estimates, ...]


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
        """Of one value a split."""
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
    against: tuple[Against, ...] = field(default=())


def averaged(name: str, judges: Sequence[Rater]) -> Rater:
    """The plain mean of judges; the sample variance of their scores (divisor n - 1) is its predicted variance.

    An answer that one of them has no score for has none here: a mean of the others would be another rater's.
    """
    by_split: list[Estimates] = []
    for number in range(len(judges[0].by_split)):
        shared = _shared([judge.by_split[number] for judge in judges])
        by_split.append(
            {
                each: Estimate(*average([judge.by_split[number][each].mean for judge in judges]))
                for each in shared
            }
        )
    return Rater(name, "average", tuple(by_split))


def _shared(predictions: Sequence[Estimates]) -> list[str]:
    first, *others = predictions
    return [each for each in first if all(each in other for other in others)]


def fused(name: str, judges: Sequence[Rater], splits: Sequence[SplitItems]) -> tuple[Rater, list[Fusion]]:
    """Judges calibrated on each split's development part and weighed on its training part; see :mod:`long_context_tasks.orca.study.fusion`.

    No rating of a test part is looked at. Answers without a score of every judge teach nothing and get no prediction.

    Returns:
        The rater, which predicts the test parts only, and what was learned in each split.

    Raises:
        InputError: a part has fewer than two answers with a score of every judge.
    """
    by_split, learned = [], []
    for number, split in enumerate(splits):
        scores = {judge.name: judge.by_split[number] for judge in judges}

        def part(
            items: Sequence[OrcaItem], scores: Mapping[str, Estimates] = scores
        ) -> tuple[list[OrcaItem], dict[str, list[float]]]:
            kept = [item for item in items if all(item.id in each for each in scores.values())]
            return kept, {judge: [each[item.id].mean for item in kept] for judge, each in scores.items()}

        def truth(items: Sequence[OrcaItem]) -> list[float]:
            return [item.rating_mean for item in items if item.rating_mean is not None]

        dev, dev_scores = part(split.dev)
        train, train_scores = part(split.train)
        for which, kept in (("dev", dev), ("train", train)):
            if len(kept) < _FEWEST:
                raise InputError(
                    f"{name}: {split.name} has {len(kept)} answers in {which} with a score of all of {', '.join(scores)}; "
                    "rate all parts of the splits, or leave the fusion out"
                )
        found = fuse(dev_scores, truth(dev), train_scores, truth(train))
        test, test_scores = part(split.test)
        means = found.predict(test_scores) if test else []
        by_split.append({item.id: Estimate(mean) for item, mean in zip(test, means, strict=True)})
        learned.append(found)
    return Rater(name, "fusion", tuple(by_split)), learned


def compare_raters(
    splits: Sequence[SplitItems],
    raters: Sequence[Rater],
    *,
    own_items: bool = False,
    against: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Agreement of raters with people on the test part of every split.

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
                    f"its ids are such as {split.test[0].id} (without a score: {_counts(lacking)})"
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


def _counts(lacking: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in lacking.items()) or "none"


def _tested(splits: Sequence[SplitItems], rater: Rater) -> list[list[OrcaItem]]:
    """Test items of each split that a rater has a score for."""
    return [
        [item for item in split.test if item.id in predictions]
        for split, predictions in zip(splits, rater.by_split, strict=True)
    ]


def _figures(rater: Rater, parts: Sequence[Sequence[OrcaItem]]) -> RaterFigures:
    found: list[Agreement] = []
    for items, predictions in zip(parts, rater.by_split, strict=True):
        said = [predictions[item.id] for item in items]
        found.append(item_agreement(items, [each.mean for each in said], [each.variance for each in said]))
    return RaterFigures(
        rater.name,
        rater.kind,
        sum(each.n for each in found),
        sum(each.n_variance for each in found),
        Spread.of([each.rho for each in found]),
        Spread.of([each.tau for each in found]),
        Spread.of([each.mae for each in found]),
        Spread.of([each.variance_mae for each in found]),
    )


def _against(
    first: Rater,
    second: Rater,
    parts: Sequence[Sequence[OrcaItem]],
    questions: Mapping[str, int],
    seed: int,
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


# ORCA's scored answers, one file a split, as rows of a comparison.


def orca_raters(text: str, splits: Sequence[SplitItems]) -> list[Rater]:
    """ORCA's predictions from the files of ``NAME=PATTERN``; with a clamped column also those, as ``NAME clamped``.

    ``{split}`` in the pattern is the name of a split's folder, ``{number}`` its number.

    Raises:
        InputError: no name or pattern, a file is missing or no scored answers, or only some files are clamped.
    """
    name, _, pattern = text.partition("=")
    if not name.strip() or not ("{split}" in pattern or "{number}" in pattern):
        raise InputError(
            f"--orca {text}: write NAME=PATTERN with {{split}} in it, such as orca=scored/{{split}}/test.jsonl"
        )
    plain, clamped = [], []
    for split in splits:
        path = Path(pattern.replace("{split}", split.name).replace("{number}", split.number))
        as_predicted, with_clamping = _orca_file(path)
        plain.append(as_predicted)
        clamped.append(with_clamping)
    raters = [Rater(name.strip(), "orca", tuple(plain))]
    there = [each for each in clamped if each is not None]
    if there and len(there) < len(splits):
        raise InputError(
            f"--orca {text}: {len(there)} of {len(splits)} files have a clamped column; clamp all"
        )
    return [*raters, Rater(f"{name.strip()} clamped", "orca", tuple(there))] if there else raters


def _orca_file(path: Path) -> tuple[Estimates, Estimates | None]:
    plain: dict[str, Estimate] = {}
    clamped: dict[str, Estimate] = {}
    has_clamped = False
    for where, row in json_rows(path, "answers that `lct orca score` scored"):
        if not isinstance(row, dict) or not {"id", "rating_orca", "variance_orca"} <= row.keys():
            raise InputError(
                f"{where}: no id, rating_orca and variance_orca; name a file that `lct orca score` wrote"
            )
        name = str(row["id"])
        if name in plain:
            raise InputError(f"{where}: {name} stands there twice; score the answers again")
        # A head that predicts no spread has no interval either.
        predicts = not ("low_orca" in row and row["low_orca"] is None)
        variance = _unit(row["variance_orca"], f"{where}: variance_orca") if predicts else None
        mean = _unit(row["rating_orca"], f"{where}: rating_orca")
        if mean is not None:
            plain[name] = Estimate(mean, variance)
        if "rating_orca_clamped" in row:
            has_clamped = True
            mean = _unit(row["rating_orca_clamped"], f"{where}: rating_orca_clamped")
            if mean is not None:
                clamped[name] = Estimate(mean, variance)
    return plain, clamped if has_clamped else None


def _unit(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            f"{where} is {json.dumps(value)[:40]}, no number from 0 to 1; score the answers again"
        )
    return float(value)
