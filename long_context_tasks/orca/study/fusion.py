"""Several judges as one: their plain mean, or a learned sum of their calibrated scores.

The ORCA paper (section 5.6): "learned weighted aggregation with score calibration, where weights are optimized on the training set and applied to
calibrated scores using the development set". It names no method. Here a judge is calibrated by isotonic regression, which assumes no more than that a
higher score does not mean a worse answer; the weights are non-negative least squares with a constant of any sign. Non-negative, since a calibrated
judge has no reason to count against itself; with a constant and without a sum of 1, since judges that share their errors are best drawn towards the mean.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, nnls

Floats = NDArray[np.float64]


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
        """Calibrated scores."""
        found: Floats = np.interp(np.asarray(scores, dtype=float), self.scores, self.values)
        return found


def calibrate(scores: Sequence[float], truth: Sequence[float]) -> Calibration:
    """Isotonic regression of people's ratings on a judge's scores; equal scores count as one point with their mean and number.

    Raises:
        ValueError: no scores, or lengths differ.
    """
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
        constant: what is added.
    """

    calibrations: Mapping[str, Calibration]
    weights: Mapping[str, float]
    constant: float

    def predict(self, scores: Mapping[str, Sequence[float]]) -> list[float]:
        """Ratings to be expected, within 0 and 1.

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


def average(scores: Sequence[float]) -> tuple[float, float | None]:
    """Mean of several judges' scores of one answer, and their sample variance (divisor n - 1); None for a single judge.

    >>> average([0.0, 0.5, 1.0])
    (0.5, 0.25)

    Raises:
        statistics.StatisticsError: no scores.
    """
    return statistics.fmean(scores), statistics.variance(scores) if len(scores) > 1 else None
