"""Agreement of raters with people over splits, as in the ORCA paper's Table 2: judges and baselines, their plain mean, their fusion, ORCA; all on 0 to 1.

A score that a rater lacks is missing, also in the mean and the fusion as soon as a judge lacks it; no other value takes its place.

The fusion is that of the ORCA paper (section 5.6): "learned weighted aggregation with score calibration, where weights are optimized on the training set
and applied to calibrated scores using the development set". The paper names no method. Here a judge is calibrated by isotonic regression, which assumes no
more than that a higher score does not mean a worse answer; the weights are non-negative least squares with a constant of any sign. Non-negative, since a
calibrated judge has no reason to count against itself; with a constant and without a sum of 1, since judges that share their errors are best drawn
towards the mean.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.orca.controls import traits_of
from long_context_tasks.orca.data import MISMATCHED, NO_REFERENCE, Ends, OrcaItem
from long_context_tasks.orca.metrics import item_agreement
from long_context_tasks.orca.results import Scored, read_results
from long_context_tasks.orca.splits import SplitItems, all_items, question_numbers
from long_context_tasks.orca.study.rating import BASELINES, BOUNDS, CONTROLS, WORDINGS
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import validated
from long_context_tasks.stats import Interval
from long_context_tasks.stats.raters import (
    Difference,
    mae_difference,
    rho_difference,
    rho_within,
    rhos_within,
    within_difference,
)
from long_context_tasks.stats.shortcuts import LEFT_OUT, SHORTCUTS, cross_predicted, predict_by

Kind = Literal["judge", "baseline", "average", "fusion", "orca", "control", "shortcut"]
"""A ``control`` is a judge that saw another reference or none, a ``shortcut`` what predicts ratings without reading the answers."""
Floats = NDArray[np.float64]
Scale = tuple[float, float]
_PEOPLE = "people"
"""A column that is no judge: the mean of people's ratings."""
_NONE = "none"
_FIGURES = ("rho", "tau", "mae", "variance_mae")
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


def read_scales(
    stated: Mapping[str, Scale], options: Sequence[str], raters: Iterable[str]
) -> dict[str, Scale]:
    """Return the scale of every rater: the option's, else that of its file, else 0 to 1 for baselines and 1 to 5.

    Args:
        stated: scales that the files of scores name.
        options: ``NAME=LOW,HIGH`` each.
        raters: their names.

    Raises:
        InputError: a scale that is none, or an option for a rater that is not there.
    """
    found: dict[str, Scale] = {
        name: stated.get(name, (0.0, 1.0) if name in BASELINES else BOUNDS) for name in raters
    }
    known = list(found)
    for text in options:
        name, _, ends = text.rpartition("=")
        if name not in known:
            raise InputError(f"--scale {text}: no rater {name!r}; there are: {', '.join(known)}")
        try:
            numbers = [float(each) for each in ends.split(",")]
        except ValueError as error:
            raise InputError(f"--scale {text}: write NAME=LOW,HIGH, such as gpt-4=1,10") from error
        low, high = validated(
            Ends, numbers, f"--scale {text}", remedy="give the lowest and the highest score, such as 1,10"
        )
        found[name] = float(low), float(high)
    return found


def _single_rater(name: str, scores: Mapping[str, float | None], scale: Scale, n_splits: int) -> Rater:
    low, high = scale
    estimates: dict[str, Estimate] = {}
    for each, score in scores.items():
        if score is None:
            continue
        if not low <= score <= high:
            raise InputError(
                f"{each}: the score {score:g} of {name} is outside its scale {low:g} to {high:g}; give the right one with "
                f"--scale {name}=LOW,HIGH"
            )
        estimates[each] = Estimate((score - low) / (high - low))
    kind: Kind = "baseline" if name in BASELINES else "judge"
    if set(name.split(":")) & set(CONTROLS):
        kind = "control"
    return Rater(name, kind, (estimates,) * n_splits)


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
    if _NONE in texts:
        if len(texts) > 1:
            raise InputError(f"{option} {_NONE}: leaves all of them out; do not name others beside it")
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
        means = {
            each: [other[each].mean for other in predictions]
            for each in predictions[0]
            if all(each in other for other in predictions)
        }
        by_split.append(
            {
                each: Estimate(statistics.fmean(values), statistics.variance(values))
                for each, values in means.items()
            }
        )
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

    def apply(self, scores: Sequence[float]) -> Floats:
        """Return calibrated scores."""
        found: Floats = np.interp(np.asarray(scores, dtype=float), self.scores, self.values)
        return found


def calibrate(scores: Sequence[float], truth: Sequence[float]) -> Calibration:
    """Fit people's ratings to a judge's scores by isotonic regression; equal scores count as one point with their mean and number."""
    from scipy.optimize import isotonic_regression

    points, place = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    counts = np.bincount(place).astype(float)
    means = np.bincount(place, weights=np.asarray(truth, dtype=float)) / counts
    curve = isotonic_regression(means, weights=counts).x
    return Calibration(tuple(points.tolist()), tuple(curve.tolist()))


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
        """Return ratings to be expected, within 0 and 1, from the scores of every judge in one order of items."""
        total: Floats = np.asarray(self.constant)
        for name, weight in self.weights.items():
            total = total + weight * self.calibrations[name].apply(scores[name])
        predicted: list[float] = np.clip(total, 0.0, 1.0).tolist()
        return predicted


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
    """
    from scipy.optimize import nnls

    curves = {name: calibrate(scores, dev_truth) for name, scores in dev.items()}
    columns = np.column_stack([curves[name].apply(train[name]) for name in dev])
    target = np.asarray(train_truth, dtype=float)
    # Taking the means away leaves the constant free, as `nnls` itself would not.
    middle, height = columns.mean(axis=0), float(target.mean())
    weights, _ = nnls(columns - middle, target - height)
    constant = height - float(weights @ middle)
    return Fusion(curves, dict(zip(dev, weights.tolist(), strict=True)), constant)


def fused(name: str, judges: Sequence[Rater], splits: Sequence[SplitItems]) -> tuple[Rater, list[Fusion]]:
    """Calibrate judges on each split's development part, weigh them on its training part, and predict its test part.

    No rating of a test part is used. Answers without a score of every judge teach nothing and get no prediction.

    Returns:
        The fusion as a rater, which predicts the test parts only, and what it learned in each split.

    Raises:
        InputError: a part has fewer than two answers with a score of every judge.
    """
    by_split, learned = [], []
    for number, split in enumerate(splits):
        estimates = {judge.name: judge.by_split[number] for judge in judges}
        items, scores, truth = {}, {}, {}
        for part in ("dev", "train", "test"):
            kept = [
                item for item in getattr(split, part) if all(item.id in each for each in estimates.values())
            ]
            if len(kept) < _FEWEST and part != "test":
                raise InputError(
                    f"{name}: {split.name} has {len(kept)} answers in {part} with a score of all of {', '.join(estimates)}; "
                    "rate all parts of the splits, or leave the fusion out"
                )
            items[part] = kept
            scores[part] = {judge: [each[item.id].mean for item in kept] for judge, each in estimates.items()}
            truth[part] = [item.rating_mean for item in kept]
        fusion = fuse(scores["dev"], truth["dev"], scores["train"], truth["train"])
        means = fusion.predict(scores["test"]) if items["test"] else []
        by_split.append({item.id: Estimate(mean) for item, mean in zip(items["test"], means, strict=True)})
        learned.append(fusion)
    return Rater(name, "fusion", tuple(by_split)), learned


def orca_raters(text: str, splits: Sequence[SplitItems]) -> list[Rater]:
    """Read ORCA's predictions from the files of ``NAME=PATTERN``; with a clamped column also those, as ``NAME clamped``.

    ``{split}`` in the pattern is the name of a split's folder, ``{number}`` its number.

    Raises:
        InputError: no name or pattern, a file is missing or no scored answers, or only some files are clamped.
    """
    name, _, pattern = (part.strip() for part in text.partition("="))
    if not name or not ("{split}" in pattern or "{number}" in pattern):
        raise InputError(
            f"--orca {text}: write NAME=PATTERN with {{split}} in it, such as orca=scored/{{split}}/test.jsonl"
        )
    columns: dict[str, Callable[[Scored], float | None]] = {
        name: lambda row: row.mean,
        f"{name} clamped": lambda row: row.clamped,
        f"{name}, {MISMATCHED}": lambda row: row.mismatched,
        f"{name}, {NO_REFERENCE}": lambda row: row.no_reference,
    }
    predicted: dict[str, list[Estimates]] = {each: [] for each in columns}
    for split in splits:
        path = Path(pattern.replace("{split}", split.name).replace("{number}", split.number))
        scored = read_results(path)
        rows = {row.id: row for row in scored}
        if len(rows) < len(scored) or "" in rows:
            wrong = "an answer has no id" if "" in rows else "an id is there twice"
            raise InputError(f"{path}: {wrong}; score the answers again")
        for each, column in columns.items():
            found = {
                key: Estimate(
                    mean, row.variance if row.predicts_variance and each in list(columns)[:2] else None
                )
                for key, row in rows.items()
                if (mean := column(row)) is not None
            }
            predicted[each] += [found] if found else []
    for each, by_split in predicted.items():
        if len(by_split) not in (0, len(splits)):
            raise InputError(
                f"--orca {text}: {len(by_split)} of {len(splits)} files have the scores of {each}; score and clamp all in the same way"
            )
    return [
        Rater(each, "orca" if each in list(columns)[:2] else "control", tuple(by_split))
        for each, by_split in predicted.items()
        if by_split
    ]


def shortcut_raters(splits: Sequence[SplitItems]) -> list[Rater]:
    """Return what each of :data:`SHORTCUTS` predicts for the test parts, learned from the training parts; across questions where there is none.

    Answers of which no model is named teach nothing of identity, so then lengths alone are returned.
    """
    known = all_items(splits).values()
    cross = not all(split.train for split in splits)
    if cross and len(set(question_numbers(list(known)))) < 2:
        return []
    found: dict[str, list[Estimates]] = {}
    for split in splits:
        test = [traits_of(item) for item in split.test]
        if cross:
            ratings = [float(item.rating_mean or 0) for item in split.test]
            predicted = cross_predicted(test, ratings, question_numbers(split.test))
            predicted.pop(LEFT_OUT, None)
        else:
            train = [traits_of(item) for item in split.train]
            ratings = [float(item.rating_mean or 0) for item in split.train]
            predicted = {name: predict_by(name, train, ratings, test) for name in SHORTCUTS}
        for name, means in predicted.items():
            found.setdefault(name, []).append(
                {
                    item.id: Estimate(min(max(mean, 0.0), 1.0))
                    for item, mean in zip(split.test, means, strict=True)
                }
            )
    named = any(item.model for item in known)
    return [
        Rater(name, "shortcut", tuple(each))
        for name, each in found.items()
        if named or name == "lengths only"
    ]


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
        within: mean of rho within each answering model.
        within_interval: 95 %, of the test answers of all splits together, over whole questions.
        by_model: rho within each answering model, mean over the splits.
    """

    name: str
    kind: Kind
    n: int
    n_variance: int
    rho: Spread
    tau: Spread
    mae: Spread
    variance_mae: Spread
    within: Spread
    within_interval: Interval
    by_model: Mapping[str, float]


@dataclass(frozen=True)
class Against:
    """A rater minus another, over the test answers of all splits together that both have a score for.

    Attributes:
        name: of the first rater.
        n, questions: answers (one that is in two test parts counts twice), and distinct questions, which are drawn whole.
        rho, within, mae: the differences.
    """

    name: str
    n: int
    questions: int
    rho: Difference
    within: Difference
    mae: Difference


@dataclass(frozen=True)
class Comparison:
    """All rows.

    Attributes:
        figures: of every rater.
        total: answers in the test parts.
        left_out: those that did not count, as some rater has no score.
        lacking: rater to the test answers that it has no score for; only those with some.
        against: differences to one rater, where one was named.
    """

    figures: tuple[RaterFigures, ...]
    total: int
    left_out: int
    lacking: Mapping[str, int]
    against: tuple[Against, ...] = ()


def compare_raters(
    splits: Sequence[SplitItems], raters: Sequence[Rater], *, against: str | None = None
) -> Comparison:
    """Measure how raters agree with people on the answers in the test part of every split that all of them have a score for.

    Args:
        splits: with ratings.
        raters: all rows of the table.
        against: rater that the others are subtracted from, see :class:`Against`.

    Raises:
        InputError: nothing is left of a split's test part, or ``against`` is none of the raters.
    """
    by_name = {rater.name: rater for rater in raters}
    if against is not None and against not in by_name:
        raise InputError(f"--against {against}: no such rater; there are: {', '.join(by_name)}")
    tested = list(enumerate(splits))
    lacking = {
        rater.name: missing
        for rater in raters
        if (missing := sum(item.id not in rater.by_split[at] for at, split in tested for item in split.test))
    }
    kept = [
        [item for item in split.test if all(item.id in rater.by_split[at] for rater in raters)]
        for at, split in tested
    ]
    for split, items in zip(splits, kept, strict=True):
        if not items:
            without = ", ".join(f"{each} {count}" for each, count in lacking.items()) or "none"
            raise InputError(
                f"{split.name}: no answer of its test part has a score of every rater; its ids are such as {split.test[0].id} "
                f"(without a score: {without})"
            )
    known = all_items(splits)
    questions = dict(zip(known, question_numbers(list(known.values())), strict=True))
    others = [] if against is None else [rater for rater in raters if rater.name != against]
    total = sum(len(split.test) for split in splits)
    return Comparison(
        tuple(_figures(rater, kept, questions) for rater in raters),
        total,
        total - sum(map(len, kept)),
        lacking,
        tuple(_against(rater, by_name[str(against)], kept, questions) for rater in others),
    )


def _figures(rater: Rater, parts: Sequence[Sequence[OrcaItem]], questions: Mapping[str, int]) -> RaterFigures:
    found, within = [], []
    pooled: list[tuple[float, float, tuple[int, str], int]] = []
    by_model: dict[str, list[float]] = {}
    for number, (items, predictions) in enumerate(zip(parts, rater.by_split, strict=True)):
        estimates = [predictions[item.id] for item in items]
        found.append(
            item_agreement(items, [each.mean for each in estimates], [each.variance for each in estimates])
        )
        rows = [
            (each.mean, float(item.rating_mean or 0), (number, item.model or ""), questions[item.id])
            for item, each in zip(items, estimates, strict=True)
        ]
        own = {}
        if rows:
            means, truth, groups, _ = (list(column) for column in zip(*rows, strict=True))
            rhos = rhos_within(means, truth, groups)
            own = {str(model): rho for (_, model), rho in rhos.items() if not math.isnan(rho)}
        within.append(statistics.fmean(own.values()) if own else math.nan)
        for model, rho in own.items():
            by_model.setdefault(model, []).append(rho)
        pooled += rows
    interval = Interval(math.nan, math.nan)
    if pooled:
        means, truth, groups, clusters = (list(column) for column in zip(*pooled, strict=True))
        _, interval = rho_within(means, truth, groups, clusters)
    return RaterFigures(
        rater.name,
        rater.kind,
        sum(each.n for each in found),
        sum(each.n_variance for each in found),
        **{name: Spread.of([getattr(each, name) for each in found]) for name in _FIGURES},
        within=Spread.of(within),
        within_interval=interval,
        by_model={model: statistics.fmean(rhos) for model, rhos in by_model.items()},
    )


def _against(
    first: Rater, second: Rater, parts: Sequence[Sequence[OrcaItem]], questions: Mapping[str, int]
) -> Against:
    rows = [
        (one[item.id].mean, other[item.id].mean, item.rating_mean, (number, item.model), questions[item.id])
        for number, (items, one, other) in enumerate(zip(parts, first.by_split, second.by_split, strict=True))
        for item in items
    ]
    x, y, truth, models, clusters = (list(column) for column in zip(*rows, strict=True))
    return Against(
        first.name,
        len(rows),
        len(set(clusters)),
        rho_difference(x, y, truth, clusters),
        within_difference(x, y, truth, models, clusters),
        mae_difference(x, y, truth, clusters),
    )


def over_wordings(figures: Sequence[RaterFigures]) -> list[tuple[str, int, Spread, Spread]]:
    """Return name, number of wordings, rho and MAE of each judge that rated with several wordings of a prompt (Table 7).

    The name is ``JUDGE:CONDITION``; mean and standard deviation are over wordings, of the figures of all splits.
    """
    groups: dict[str, list[RaterFigures]] = {}
    for each in figures:
        name, _, wording = each.name.rpartition(":")
        groups.setdefault(name if wording in WORDINGS else each.name, []).append(each)
    return [
        (
            name,
            len(own),
            Spread.of([each.rho.mean for each in own]),
            Spread.of([each.mae.mean for each in own]),
        )
        for name, own in groups.items()
        if len(own) > 1
    ]


def compare_files(
    stated: Mapping[str, Scale],
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
) -> tuple[Comparison, dict[str, list[Fusion]], list[str]]:
    """Compare the raters of files of scores, their averages and fusions, and ORCA.

    Args:
        stated: scales of the raters that the files of scores name.
        ids: of the answers in the files.
        ratings: rater to its scores in the order of ``ids``.
        splits: with people's ratings.
        named: the user named the raters, so people's own mean is one of them where it is named.
        scales: ``NAME=LOW,HIGH`` each.
        averages: ``[NAME=]a,b,c`` each, or ``none``; empty for one of all judges.
        fusions: likewise.
        orca: ``NAME=PATTERN`` each.
        options: of :func:`compare_raters`.

    Returns:
        The comparison of all raters, what each fusion learned in each split, and notes for the user.

    Raises:
        InputError: scores and splits share no answer, a score lies outside its scale, or an option cannot be used; see the parts.
    """
    scale_of = read_scales(stated, scales, ratings)
    plain = [
        _single_rater(name, dict(zip(ids, scores, strict=True)), scale_of[name], len(splits))
        for name, scores in ratings.items()
        if named or name != _PEOPLE
    ]
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
            rater, learned[name] = fused(name, members, splits)
        except InputError as error:
            if fusions:
                raise InputError(f"--fusion: {error}") from error
            notes.append(f"no fusion: {error}")  # the default is dropped where it cannot be made
        else:
            fused_raters.append(rater)
    raters = [*plain, *means, *fused_raters, *trained, *shortcut_raters(splits)]
    counts = Counter(rater.name for rater in raters)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"two raters are called {twice[0]}; name averages, fusions and ORCA with NAME=...")
    return compare_raters(splits, raters, **options), learned, notes
