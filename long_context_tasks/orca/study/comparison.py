"""Agreement of raters with humans over splits, as in Table 2 of the ORCA paper; on [0, 1].

The raters are judges, baselines, their mean and fusion, and ORCA. An answer that lacks a judge's score has no
mean and no fusion, because a value from the remaining judges would be a different rater's.

The fusion follows section 5.6 of the paper: "learned weighted aggregation with score calibration, where
weights are optimized on the training set and applied to calibrated scores using the development set". The
paper does not name a method. Here each judge is calibrated by isotonic regression, which assumes only that a
higher score does not mean a worse answer. The weights come from non-negative least squares, because a
calibrated judge should not count against itself. The fit has a constant and the weights need not sum to 1,
because the mean is the better predictor for judges with shared errors.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev, variance
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.judges.ratings import RatingTable
from long_context_tasks.orca.controls import predict_across_questions, predict_by_shortcuts
from long_context_tasks.orca.metrics import Agreement, item_agreement
from long_context_tasks.orca.results import read_results
from long_context_tasks.orca.splits import SplitItems, all_items, question_numbers
from long_context_tasks.orca.study.rating import BASELINES, BOUNDS, CONTROLS, WORDINGS, column_parts
from long_context_tasks.schema import InputError

Kind = Literal["judge", "baseline", "average", "fusion", "orca", "control", "shortcut"]
"""A ``control`` is a judge that saw a wrong reference or none; a ``shortcut`` never reads the answer."""
Floats = NDArray[np.float64]
_FEWEST = 2
"""Minimum number of fully scored answers in each set for a fusion; a useful fusion needs many more."""


class Estimate(NamedTuple):
    """A rater's estimate of an answer's mean human rating and, if predicted, its variance; on [0, 1]."""

    mean: float
    variance: float | None = None


Estimates = Mapping[str, Estimate]
"""Answer id -> its estimate; answers without a score are missing."""


@dataclass(frozen=True)
class Rater:
    """One row of the comparison, with estimates for each split; for a single judge they are the same in all."""

    name: str
    kind: Kind
    by_split: tuple[Estimates, ...]


def _single_rater(
    name: str, scores: Mapping[str, float | None], scale: tuple[float, float] | None, n_splits: int
) -> Rater:
    """Map a rater's scores to [0, 1].

    The default scale is that of the paper's prompts, or [0, 1] for a baseline.
    """
    # Published judges rate on other scales, such as 1 to 10.
    low, high = scale or ((0.0, 1.0) if name in BASELINES else BOUNDS)
    estimates: dict[str, Estimate] = {}
    for answer, score in scores.items():
        if score is None:
            continue
        if not low <= score <= high:
            raise InputError(
                f"{answer}: the score {score:g} of {name} is outside its scale {low:g} to {high:g}; give the right one in the field "
                f'"scales" of the rows, such as {{"{name}": [1, 10]}}'
            )
        estimates[answer] = Estimate((score - low) / (high - low))
    control = column_parts(name)[1] in CONTROLS
    # Controls are not averaged with judges.
    kind: Kind = "control" if control else "baseline" if name in BASELINES else "judge"
    return Rater(name, kind, (estimates,) * n_splits)


def groups_by_condition(raters: Sequence[Rater]) -> dict[str, list[Rater]]:
    """Group the judges by rating condition, omitting conditions with a single judge.

    Judges without a condition in their name are grouped under "".
    """
    groups: dict[str, dict[str, Rater]] = {}
    # A judge counts once per condition, as in the paper's Tables 2 and 6. The sort is stable and puts the
    # paper's wording first.
    for rater in sorted(raters, key=lambda rater: column_parts(rater.name)[2] != WORDINGS[0]):
        judge, condition, _ = column_parts(rater.name)
        if rater.kind == "judge":
            groups.setdefault(condition, {}).setdefault(judge, rater)
    return {condition: list(own.values()) for condition, own in groups.items() if len(own) > 1}


def averaged(name: str, judges: Sequence[Rater]) -> Rater:
    """Return a rater that averages the judges' scores.

    It predicts the human variance from their sample variance (divisor n - 1).
    """
    by_split = []
    for estimates in zip(*(judge.by_split for judge in judges), strict=True):
        # Only answers scored by every judge.
        shared = [answer for answer in estimates[0] if all(answer in other for other in estimates)]
        scores = {answer: [other[answer].mean for other in estimates] for answer in shared}
        by_split.append({answer: Estimate(fmean(own), variance(own)) for answer, own in scores.items()})
    return Rater(name, "average", tuple(by_split))


Curve = tuple[tuple[float, ...], tuple[float, ...]]
"""A judge's ascending scores and their non-decreasing expected ratings.

Interpolation is linear, extrapolation constant.
"""


def calibrate(scores: Sequence[float], truth: Sequence[float]) -> Curve:
    """Fit human ratings to a judge's scores by isotonic regression, with equal scores merged."""
    from scipy.optimize import isotonic_regression

    # isotonic_regression takes one value per score.
    points, place = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    counts = np.bincount(place).astype(float)
    means = np.bincount(place, weights=np.asarray(truth, dtype=float)) / counts
    curve = isotonic_regression(means, weights=counts).x
    return tuple(points.tolist()), tuple(curve.tolist())


@dataclass(frozen=True)
class Fusion:
    """A weighted sum of calibrated judges plus a constant; both mappings are keyed by judge."""

    curves: Mapping[str, Curve]
    weights: Mapping[str, float]
    constant: float

    def predict(self, scores: Mapping[str, Sequence[float]]) -> list[float]:
        total: Floats = np.asarray(self.constant)
        for name, weight in self.weights.items():
            total = total + weight * np.interp(scores[name], *self.curves[name])
        return [float(each) for each in np.clip(total, 0.0, 1.0)]


def fuse(
    dev: Mapping[str, Sequence[float]],
    dev_truth: Sequence[float],
    train: Mapping[str, Sequence[float]],
    train_truth: Sequence[float],
) -> Fusion:
    """Calibrate the judges on the development set, then fit their weights on the training set; on [0, 1]."""
    from scipy.optimize import nnls

    curves = {name: calibrate(scores, dev_truth) for name, scores in dev.items()}
    columns = np.column_stack([np.interp(train[name], *curve) for name, curve in curves.items()])
    target = np.asarray(train_truth, dtype=float)
    # nnls would force the constant to be positive; centring the data leaves it free.
    middle, height = columns.mean(axis=0), float(target.mean())
    weights, _ = nnls(columns - middle, target - height)
    constant = height - float(weights @ middle)
    return Fusion(curves, dict(zip(dev, weights.tolist(), strict=True)), constant)


def fused(name: str, judges: Sequence[Rater], splits: Sequence[SplitItems]) -> tuple[Rater, list[Fusion]]:
    """Calibrate the judges on each development set, fit weights on the training set, predict the test set.

    Returns the fusion as a rater, with predictions for the test sets only, and each split's fusion.
    """
    by_split, learned = [], []
    for number, split in enumerate(splits):
        estimates = {judge.name: judge.by_split[number] for judge in judges}
        scores, truth = {}, {}
        for part in ("dev", "train", "test"):
            items = [
                item for item in getattr(split, part) if all(item.id in own for own in estimates.values())
            ]
            if len(items) < _FEWEST and part != "test":
                raise InputError(
                    f"{name}: {split.name} has {len(items)} answers in {part} with a score of all of {', '.join(estimates)}; "
                    "rate all parts of the splits"
                )
            scores[part] = {judge: [own[item.id].mean for item in items] for judge, own in estimates.items()}
            truth[part] = [item.rating_mean for item in items]
        learned.append(fuse(scores["dev"], truth["dev"], scores["train"], truth["train"]))
        means = learned[-1].predict(scores["test"])
        by_split.append({item.id: Estimate(mean) for item, mean in zip(items, means, strict=True)})
    return Rater(name, "fusion", tuple(by_split)), learned


def orca_raters(text: str, splits: Sequence[SplitItems]) -> list[Rater]:
    """Read ORCA's predictions from the files of ``NAME=PATTERN``, with ``{split}`` for a split's folder.

    Clamped means form a second rater.
    """
    name, _, pattern = (part.strip() for part in text.partition("="))
    if not name or "{split}" not in pattern:
        raise InputError(
            f"--orca {text}: write NAME=PATTERN with {{split}} in it, such as orca=scored/{{split}}/test.jsonl"
        )
    files = []
    for split in splits:
        path = Path(pattern.replace("{split}", split.name))
        files.append(read_results(path))
        # Estimates are joined to answers by id.
        if len({row.id for row in files[-1]} - {""}) < len(files[-1]):
            raise InputError(f"{path}: an answer has no id of its own; score the answers again")
    raters = []
    for title, field in ((name, "mean"), (f"{name} clamped", "clamped")):
        by_split = tuple(
            {
                row.id: Estimate(getattr(row, field), row.variance if row.predicts_variance else None)
                for row in rows
                if getattr(row, field) is not None
            }
            for rows in files
        )
        # A rater present in only some splits would exclude all answers in the others.
        if (full := sum(map(bool, by_split))) not in (0, len(splits)):
            raise InputError(
                f"--orca {text}: {full} of {len(splits)} files have the scores of {title}; score and clamp all in the same way"
            )
        raters += [Rater(title, "orca", by_split)] if full else []
    return raters


def shortcut_raters(splits: Sequence[SplitItems]) -> list[Rater]:
    """Return the predictions of :data:`SHORTCUTS` for the test sets.

    Shortcuts learn from the training sets; if any is empty, they learn from the other questions.
    """
    cross = not all(split.train for split in splits)
    if cross and len(set(question_numbers(list(all_items(splits).values())))) < 2:
        return []
    by_name: dict[str, list[Estimates]] = {}
    for split in splits:
        predicted = (
            predict_across_questions(split.test) if cross else predict_by_shortcuts(split.train, split.test)
        )
        for name, means in predicted.items():
            estimates = {item.id: Estimate(mean) for item, mean in zip(split.test, means, strict=True)}
            by_name.setdefault(name, []).append(estimates)
    # A split whose answers do not name their models has no identity shortcut.
    whole = {name: each for name, each in by_name.items() if len(each) == len(splits)}
    return [Rater(name, "shortcut", tuple(each)) for name, each in whole.items()]


@dataclass(frozen=True)
class SplitSpread:
    mean: float  # NaN unless every split has the metric
    sd: float  # across splits (divisor n - 1); NaN with fewer than two
    by_split: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> "SplitSpread":
        whole = not any(map(math.isnan, values))
        sd = stdev(values) if whole and len(values) > 1 else math.nan
        return cls(fmean(values) if whole else math.nan, sd, tuple(values))


_SPREAD = ("rho", "tau", "mae", "variance_mae")


@dataclass(frozen=True)
class RaterFigures:
    name: str
    kind: Kind
    n: int  # answers in all test sets combined
    n_variance: int  # those with at least three ratings and a predicted variance
    # rho, tau, mae: Spearman's rho, Kendall's tau-b and mean absolute error of the mean
    rho: SplitSpread
    tau: SplitSpread
    mae: SplitSpread
    variance_mae: SplitSpread  # mean absolute error of the variance


@dataclass(frozen=True)
class Comparison:
    figures: tuple[RaterFigures, ...]
    total: int  # answers in the test sets; one in two test sets counts twice
    left_out: int  # those that lack some rater's score and are excluded
    lacking: Mapping[str, int]  # Rater -> number of test answers without its score, if any.


def compare_raters(splits: Sequence[SplitItems], raters: Sequence[Rater]) -> Comparison:
    lacking: Counter[str] = Counter()
    agreements: list[list[Agreement]] = []  # per split, in rater order
    left_out = 0
    for number, split in enumerate(splits):
        estimates = {rater.name: rater.by_split[number] for rater in raters}
        for name, by_id in estimates.items():
            lacking[name] += sum(item.id not in by_id for item in split.test)
        # All raters are compared on the same answers.
        items = [item for item in split.test if all(item.id in by_id for by_id in estimates.values())]
        left_out += len(split.test) - len(items)
        if not items:
            counts = ", ".join(f"{name} {count}" for name, count in (+lacking).items())
            raise InputError(
                f"{split.name}: no answer of its test part has a score of every rater; its ids are such as {split.test[0].id} "
                f"(without a score: {counts})"
            )
        means, variances = (
            [[getattr(by_id[item.id], name) for item in items] for by_id in estimates.values()]
            for name in Estimate._fields
        )
        agreements.append([item_agreement(items, *each) for each in zip(means, variances, strict=True)])
    return Comparison(
        tuple(
            RaterFigures(
                rater.name,
                rater.kind,
                sum(each.n for each in own),
                sum(each.n_variance for each in own),
                *(SplitSpread.of([getattr(each, name) for each in own]) for name in _SPREAD),
            )
            for rater, own in zip(raters, zip(*agreements, strict=True), strict=True)
        ),
        sum(len(split.test) for split in splits),
        left_out,
        dict(+lacking),
    )


def over_wordings(figures: Sequence[RaterFigures]) -> list[tuple[str, int, SplitSpread, SplitSpread]]:
    """Return the name, number of wordings, rho and MAE of each judge run with several prompt wordings (Table 7).

    The name is ``JUDGE:CONDITION``; rho and MAE are summarised over wordings.
    """
    groups: dict[str, list[RaterFigures]] = {}
    for each in figures:
        judge, condition, _ = column_parts(each.name)
        groups.setdefault(f"{judge}:{condition}" if condition else judge, []).append(each)
    rows = []
    for name, own in groups.items():
        if len(own) > 1:
            rhos, maes = [each.rho.mean for each in own], [each.mae.mean for each in own]
            rows.append((name, len(own), SplitSpread.of(rhos), SplitSpread.of(maes)))
    return rows


def compare_files(
    table: RatingTable,
    splits: Sequence[SplitItems],
    *,
    named: bool = False,
    orca: Sequence[str] = (),
) -> tuple[Comparison, dict[str, list[Fusion]], list[str]]:
    """Compare all raters in the score files, their averages and fusions per condition, ORCA and shortcuts.

    Returns the comparison, each condition's fusions by split, and notes for the user.
    """
    plain = [
        _single_rater(name, dict(zip(table.ids, scores, strict=True)), table.scales.get(name), len(splits))
        for name, scores in table.ratings.items()
        if named or name != "people"
    ]
    notes = []
    known = all_items(splits)
    if others := sum(name not in known for name in table.ids):
        if others == len(table.ids):
            raise InputError(
                f"none of the {others} rated answers is in the splits: there {min(known)}, here {table.ids[0]}; "
                "rate the answers that the splits were made of"
            )
        notes.append(f"{others} rated answers are in no split and were skipped")
    averages, fusions = [], []
    learned: dict[str, list[Fusion]] = {}
    for condition, judges in groups_by_condition(plain).items():
        suffix = f":{condition}" if condition else ""
        averages.append(averaged(f"average{suffix}", judges))
        try:
            rater, learned[f"fusion{suffix}"] = fused(f"fusion{suffix}", judges, splits)
            fusions.append(rater)
        except InputError as error:  # the other rows are still useful
            notes.append(f"no fusion: {error}")
    trained = [rater for text in orca for rater in orca_raters(text, splits)]
    raters = [*plain, *averages, *fusions, *trained, *shortcut_raters(splits)]
    (name, count), *_ = Counter(rater.name for rater in raters).most_common(1)
    if count > 1:
        raise InputError(f"two raters are called {name}; name ORCA otherwise with --orca NAME=...")
    return compare_raters(splits, raters), learned, notes
