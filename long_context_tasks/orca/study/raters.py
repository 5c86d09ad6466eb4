"""Raters for a comparison over splits: judges and baselines, their plain mean, their fusion, ORCA; everything on 0 to 1.

A score that a rater lacks is missing, also in the mean and the fusion as soon as a judge lacks it; no other value takes its place.

The fusion is that of the ORCA paper (section 5.6): "learned weighted aggregation with score calibration, where weights are optimized on the training set
and applied to calibrated scores using the development set". The paper names no method. Here a judge is calibrated by isotonic regression, which assumes no
more than that a higher score does not mean a worse answer; the weights are non-negative least squares with a constant of any sign. Non-negative, since a
calibrated judge has no reason to count against itself; with a constant and without a sum of 1, since judges that share their errors are best drawn
towards the mean.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.orca.data import Ends, OrcaItem
from long_context_tasks.orca.results import read_results
from long_context_tasks.orca.splits import SplitItems
from long_context_tasks.orca.study.rating import BASELINES, SCALES
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.validated import validated

Kind = Literal["judge", "baseline", "average", "fusion", "orca"]
Floats = NDArray[np.float64]
Scale = tuple[float, float]
PEOPLE = ("people",)
"""Columns that are no judges: people's own mean, as ``lct annotate judge`` writes it."""
NONE = "none"
_JUDGE_SCALE = (1.0, 5.0)
_FEWEST = 2
"""Answers with all scores that a fusion needs in each part; far more to be any good."""


@dataclass(frozen=True)
class Estimate:
    """A rater's estimate for an answer, on 0 to 1.

    Attributes:
        mean: mean rating.
        variance: of people's ratings, from raters that predict it.
    """

    mean: float
    variance: float | None = None


Estimates = Mapping[str, Estimate]
"""Answer's id to its estimate; an id that is missing has no score."""


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


def read_scales(files: Sequence[Path], options: Sequence[str], raters: Iterable[str]) -> dict[str, Scale]:
    """Return the scale of every rater: the option's, else that of its file, else 0 to 1 for baselines and 1 to 5.

    Args:
        files: of scores.
        options: ``NAME=LOW,HIGH`` each.
        raters: their names.

    Raises:
        InputError: a scale that is none, two scales of a rater, or an option for a rater that is not there.
    """
    raters = list(raters)
    found: dict[str, Scale] = {}
    for path in files:
        for place, row in json_rows(path, "rated answers"):
            scales = validated(
                dict[str, Any], row.get(SCALES) or {}, f"{place}: {SCALES}", remedy="rate the answers again"
            )
            for name, value in scales.items():
                scale = _scale(value, f"{place}: {SCALES} of {name}")
                if found.setdefault(name, scale) != scale:
                    raise InputError(
                        f"{place}: {name} has another scale than before; rename one of the raters"
                    )
    for text in options:
        name, _, ends = text.rpartition("=")
        if name not in raters:
            raise InputError(f"--scale {text}: no rater {name!r}; there are: {', '.join(raters)}")
        try:
            numbers = [float(each) for each in ends.split(",")]
        except ValueError as error:
            raise InputError(f"--scale {text}: write NAME=LOW,HIGH, such as gpt-4=1,10") from error
        found[name] = _scale(numbers, f"--scale {text}")
    return {name: found.get(name, (0.0, 1.0) if name in BASELINES else _JUDGE_SCALE) for name in raters}


def _scale(value: Any, where: str) -> Scale:
    low, high = validated(Ends, value, where, remedy="give the lowest and the highest score, such as 1,10")
    return float(low), float(high)


def single_raters(
    ids: Sequence[str],
    ratings: Mapping[str, Sequence[float | None]],
    scales: Mapping[str, Scale],
    n_splits: int,
    *,
    named: bool = False,
) -> list[Rater]:
    """Bring the raters of a table to 0 to 1.

    Args:
        ids: of the answers.
        ratings: rater to its scores in the order of the answers.
        scales: of every rater.
        n_splits: number of splits.
        named: the user named the raters, so people's own mean is among them only if asked for.

    Raises:
        InputError: a score lies outside its scale.
    """
    raters = []
    for name, scores in ratings.items():
        if name in PEOPLE and not named:
            continue
        low, high = scales[name]
        estimates: dict[str, Estimate] = {}
        for each, score in zip(ids, scores, strict=True):
            if score is None:
                continue
            if not low <= score <= high:
                raise InputError(
                    f"{each}: the score {score:g} of {name} is outside its scale {low:g} to {high:g}; give the right one with "
                    f"--scale {name}=LOW,HIGH"
                )
            estimates[each] = Estimate((score - low) / (high - low))
        raters.append(Rater(name, "baseline" if name in BASELINES else "judge", (estimates,) * n_splits))
    return raters


def named_groups(texts: Sequence[str], option: str, raters: Sequence[Rater]) -> list[tuple[str, list[Rater]]]:
    """Return name and members of each group of raters that an option asks for.

    Args:
        texts: ``[NAME=]a,b,c`` each, or ``none``; without any a group of all judges, where there are several.
        option: for messages; without its dashes the name of a group that has none.
        raters: that can be members.

    Raises:
        InputError: an unknown rater, or none in a group.
    """
    kind = option.removeprefix("--")
    if not texts:
        judges = [rater for rater in raters if rater.kind == "judge"]
        return [(kind, judges)] if len(judges) > 1 else []
    if NONE in texts:
        if len(texts) > 1:
            raise InputError(f"{option} {NONE}: leaves all of them out; do not name others beside it")
        return []
    by_name = {rater.name: rater for rater in raters}
    groups = []
    for text in texts:
        given, _, listed = text.rpartition("=")
        names = list(dict.fromkeys(word.strip() for word in listed.split(",") if word.strip()))
        if unknown := [name for name in names if name not in by_name]:
            raise InputError(
                f"{option} {text}: no rater {', '.join(unknown)}; there are: {', '.join(by_name)}"
            )
        if not names:
            raise InputError(f"{option} {text}: names no rater; write a,b,c or NAME=a,b,c")
        unnamed = kind if len(texts) == 1 else f"{kind} of {', '.join(names)}"
        groups.append((given.strip() or unnamed, [by_name[name] for name in names]))
    return groups


def averaged(name: str, judges: Sequence[Rater]) -> Rater:
    """Return the plain mean of judges; the sample variance of their scores (divisor n - 1) is its predicted variance.

    An answer that a judge has no score for has none here: a mean of the others would be another rater's.

    Raises:
        InputError: fewer than two judges.
    """
    if len(judges) < 2:
        raise InputError(f"--average: {name} has one judge; name two or more")
    by_split: list[Estimates] = []
    for predictions in zip(*(judge.by_split for judge in judges), strict=True):
        estimates = {}
        for each in predictions[0]:
            if all(each in other for other in predictions):
                means = [other[each].mean for other in predictions]
                estimates[each] = Estimate(statistics.fmean(means), statistics.variance(means))
        by_split.append(estimates)
    return Rater(name, "average", tuple(by_split))


@dataclass(frozen=True)
class Calibration:
    """A curve that never falls, from a judge's score to the rating to be expected.

    Attributes:
        scores: where the curve has a point, rising.
        values: its height there; straight lines between, level beyond the ends.
    """

    scores: tuple[float, ...]
    values: tuple[float, ...]

    def apply(self, scores: Sequence[float] | Floats) -> Floats:
        """Return calibrated scores."""
        found: Floats = np.interp(np.asarray(scores, dtype=float), self.scores, self.values)
        return found


def calibrate(scores: Sequence[float], truth: Sequence[float]) -> Calibration:
    """Fit people's ratings to a judge's scores by isotonic regression; equal scores count as one point with their mean and number.

    Raises:
        ValueError: no scores, or lengths differ.
    """
    from scipy.optimize import isotonic_regression

    if not scores or len(scores) != len(truth):
        raise ValueError(f"{len(scores)} scores and {len(truth)} ratings")
    points, place = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    counts = np.bincount(place).astype(float)
    means = np.bincount(place, weights=np.asarray(truth, dtype=float)) / counts
    curve = isotonic_regression(means, weights=counts).x
    return Calibration(tuple(map(float, points)), tuple(map(float, curve)))


@dataclass(frozen=True)
class Fusion:
    """A learned sum of calibrated judges.

    Attributes:
        calibrations: judge to its curve.
        weights: judge to its weight, 0 or more.
        constant: added to the sum.
    """

    calibrations: Mapping[str, Calibration]
    weights: Mapping[str, float]
    constant: float

    def predict(self, scores: Mapping[str, Sequence[float]]) -> list[float]:
        """Return ratings to be expected, within 0 and 1.

        Args:
            scores: of every judge, in one order of items.

        Raises:
            KeyError: a judge is missing.
        """
        total: Floats = np.asarray(self.constant)
        for name, weight in self.weights.items():
            total = total + weight * self.calibrations[name].apply(scores[name])
        return [float(value) for value in np.clip(np.atleast_1d(total), 0.0, 1.0)]


def fuse(
    dev: Mapping[str, Sequence[float]],
    dev_truth: Sequence[float],
    train: Mapping[str, Sequence[float]],
    train_truth: Sequence[float],
) -> Fusion:
    """Calibrate each judge on the development part, then weigh them on the training part.

    Args:
        dev: judge to scores on 0 to 1 on the development part, in one order of items.
        dev_truth: people's mean ratings of these items, on 0 to 1.
        train: likewise on the training part.
        train_truth: likewise.

    Raises:
        ValueError: a part is empty, or lengths differ.
    """
    from scipy.optimize import nnls

    curves = {name: calibrate(scores, dev_truth) for name, scores in dev.items()}
    columns = np.column_stack([curves[name].apply(train[name]) for name in dev])
    target = np.asarray(train_truth, dtype=float)
    if not len(target) or len(target) != len(columns):
        raise ValueError(f"{len(columns)} items and {len(target)} ratings")
    # Taking the means away leaves the constant free, as `nnls` itself would not.
    middle, height = columns.mean(axis=0), float(target.mean())
    weights, _ = nnls(columns - middle, target - height)
    constant = height - float(weights @ middle)
    return Fusion(curves, {name: float(weight) for name, weight in zip(dev, weights, strict=True)}, constant)


@dataclass(frozen=True)
class Fused:
    """A fusion as a rater, which predicts the test parts only, and what it learned in each split."""

    rater: Rater
    learned: list[Fusion]


def fused(name: str, judges: Sequence[Rater], splits: Sequence[SplitItems]) -> Fused:
    """Calibrate judges on each split's development part, weigh them on its training part, and predict its test part.

    No rating of a test part is used. Answers without a score of every judge teach nothing and get no prediction.

    Raises:
        InputError: a part has fewer than two answers with a score of every judge.
    """
    by_split, learned = [], []
    for number, split in enumerate(splits):
        estimates = {judge.name: judge.by_split[number] for judge in judges}
        parts, scores = {}, {}
        for part, items in (("dev", split.dev), ("train", split.train), ("test", split.test)):
            kept = [item for item in items if all(item.id in each for each in estimates.values())]
            if len(kept) < _FEWEST and part != "test":
                raise InputError(
                    f"{name}: {split.name} has {len(kept)} answers in {part} with a score of all of {', '.join(estimates)}; "
                    "rate all parts of the splits, or leave the fusion out"
                )
            parts[part] = kept
            scores[part] = {judge: [each[item.id].mean for item in kept] for judge, each in estimates.items()}
        fusion = fuse(scores["dev"], _truth(parts["dev"]), scores["train"], _truth(parts["train"]))
        means = fusion.predict(scores["test"]) if parts["test"] else []
        by_split.append({item.id: Estimate(mean) for item, mean in zip(parts["test"], means, strict=True)})
        learned.append(fusion)
    return Fused(Rater(name, "fusion", tuple(by_split)), learned)


def _truth(items: Sequence[OrcaItem]) -> list[float]:
    return [item.rating_mean for item in items if item.rating_mean is not None]


def orca_raters(text: str, splits: Sequence[SplitItems]) -> list[Rater]:
    """Read ORCA's predictions from the files of ``NAME=PATTERN``; with a clamped column also those, as ``NAME clamped``.

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
        clamped += [with_clamping] if with_clamping else []
    if 0 < len(clamped) < len(splits):
        raise InputError(
            f"--orca {text}: {len(clamped)} of {len(splits)} files have a clamped column; clamp all"
        )
    raters = [Rater(name.strip(), "orca", tuple(plain))]
    return [*raters, Rater(f"{name.strip()} clamped", "orca", tuple(clamped))] if clamped else raters


def _orca_file(path: Path) -> tuple[Estimates, Estimates]:
    plain: dict[str, Estimate] = {}
    clamped: dict[str, Estimate] = {}
    for row in read_results(path):
        if not row.id or row.id in plain:
            raise InputError(
                f"{path}: {f'{row.id} is there twice' if row.id else 'an answer has no id'}; score the answers again"
            )
        variance = row.variance if row.predicts_variance else None
        for found, mean in ((plain, row.mean), (clamped, row.clamped)):
            if mean is not None:
                found[row.id] = Estimate(mean, variance)
    return plain, clamped
