"""Agreement of raters with people over splits, as in the ORCA paper's Table 2: judges and baselines, their plain mean, their fusion, ORCA; all on 0 to 1.

A score that a rater lacks is missing, also in the mean and the fusion as soon as a judge lacks it; no other value takes its place.

The fusion is that of the ORCA paper (section 5.6): "learned weighted aggregation with score calibration, where weights are optimized on the training set
and applied to calibrated scores using the development set". The paper names no method. Here a judge is calibrated by isotonic regression, which assumes no
more than that a higher score does not mean a worse answer; the weights are non-negative least squares with a constant of any sign. Non-negative, since a
calibrated judge has no reason to count against itself; with a constant and without a sum of 1, since judges that share their errors are best drawn
towards the mean.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev, variance
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.judges.ratings import RatingTable
from long_context_tasks.orca.controls import predicted_by_shortcuts, traits_of
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.metrics import item_agreement
from long_context_tasks.orca.results import read_results
from long_context_tasks.orca.splits import SplitItems, all_items, question_numbers
from long_context_tasks.orca.study.rating import BASELINES, BOUNDS, CONTROLS, WORDINGS, column_parts
from long_context_tasks.schema import InputError
from long_context_tasks.stats.raters import Difference, mae_difference, rho_difference
from long_context_tasks.stats.shortcuts import SHORTCUTS, cross_predicted

Kind = Literal["judge", "baseline", "average", "fusion", "orca", "control", "shortcut"]
"""A ``control`` is a judge that saw another reference or none, a ``shortcut`` what predicts ratings without reading the answers."""
Floats = NDArray[np.float64]
_FEWEST = 2
"""Answers with all scores that a fusion needs in each part; far more to be any good."""


@dataclass(frozen=True)
class Estimate:
    """A rater's estimate of an answer's mean rating, on 0 to 1, and of the variance of people's ratings if it predicts one."""

    mean: float
    variance: float | None = None


Estimates = Mapping[str, Estimate]
"""Answer's id to its estimate; an id that is missing has no score."""


@dataclass(frozen=True)
class Rater:
    """One row of the comparison, with predictions for each split in their order; those of a single judge are the same in all."""

    name: str
    kind: Kind
    by_split: tuple[Estimates, ...]


def _single_rater(
    name: str, scores: Mapping[str, float | None], scale: tuple[float, float] | None, n_splits: int
) -> Rater:
    """Bring a rater's scores to 0 ... 1; a baseline's scale is 0 to 1 where its file names none, a judge's that of the paper's prompts."""
    low, high = scale or ((0.0, 1.0) if name in BASELINES else BOUNDS)
    given = {each: score for each, score in scores.items() if score is not None}
    for each, score in given.items():
        if not low <= score <= high:
            raise InputError(
                f"{each}: the score {score:g} of {name} is outside its scale {low:g} to {high:g}; give the right one in the field "
                f'"scales" of the rows, such as {{"{name}": [1, 10]}}'
            )
    control = column_parts(name)[1] in CONTROLS
    kind: Kind = "control" if control else "baseline" if name in BASELINES else "judge"
    estimates = {each: Estimate((score - low) / (high - low)) for each, score in given.items()}
    return Rater(name, kind, (estimates,) * n_splits)


def named_groups(texts: Sequence[str], option: str, raters: Sequence[Rater]) -> list[tuple[str, list[Rater]]]:
    """Return name and members of each group of raters that an option asks for.

    Args:
        texts: ``[NAME=]a,b,c`` each, or ``none``; without any :func:`groups_by_condition`.
        option: for messages; without its dashes the name of a group that has none.
        raters: that can be members.

    Raises:
        InputError: an unknown rater, or none in a group.
    """
    kind = option.removeprefix("--")
    if not texts:
        return groups_by_condition(kind, raters)
    if list(texts) == ["none"]:
        return []
    by_name = {rater.name: rater for rater in raters}
    groups = []
    for text in texts:
        given, _, listed = text.rpartition("=")
        names = list(dict.fromkeys(word.strip() for word in listed.split(",") if word.strip()))
        if not names:
            raise InputError(f"{option} {text}: names no rater; write a,b,c or NAME=a,b,c")
        if unknown := [name for name in names if name not in by_name]:
            raise InputError(
                f"{option} {text}: no rater {', '.join(unknown)}; there are: {', '.join(by_name)}"
            )
        unnamed = kind if len(texts) == 1 else f"{kind} of {', '.join(names)}"
        groups.append((given.strip() or unnamed, [by_name[name] for name in names]))
    return groups


def groups_by_condition(kind: str, raters: Sequence[Rater]) -> list[tuple[str, list[Rater]]]:
    """Return a group of all judges for each condition that several judges rated under, named ``KIND:CONDITION``.

    As in the paper's Tables 2 and 6, a judge counts once: under one condition, with one wording, the paper's if it has that. Judges without a
    condition in their name are a group called ``KIND``.
    """
    groups: dict[str, dict[str, Rater]] = {}
    # Sorting is stable, and the paper's wording comes first.
    for rater in sorted(raters, key=lambda rater: column_parts(rater.name)[2] != WORDINGS[0]):
        judge, condition, _ = column_parts(rater.name)
        if rater.kind == "judge":
            groups.setdefault(condition, {}).setdefault(judge, rater)
    return [
        (f"{kind}:{condition}" if condition else kind, list(own.values()))
        for condition, own in groups.items()
        if len(own) > 1
    ]


def averaged(name: str, judges: Sequence[Rater]) -> Rater:
    """Return the plain mean of judges; the sample variance of their scores (divisor n - 1) is its predicted variance.

    An answer that a judge has no score for has none here: a mean of the others would be another rater's.

    Raises:
        InputError: fewer than two judges.
    """
    if len(judges) < 2:
        raise InputError(f"--average: {name} has one judge; name two or more")
    by_split = []
    for predictions in zip(*(judge.by_split for judge in judges), strict=True):
        shared = [each for each in predictions[0] if all(each in other for other in predictions)]
        scores = {each: [other[each].mean for other in predictions] for each in shared}
        by_split.append({each: Estimate(fmean(given), variance(given)) for each, given in scores.items()})
    return Rater(name, "average", tuple(by_split))


Curve = tuple[tuple[float, ...], tuple[float, ...]]
"""Judge's scores, rising, and the ratings to be expected there, which never fall; straight lines between, level beyond the ends."""


def calibrate(scores: Sequence[float], truth: Sequence[float]) -> Curve:
    """Fit people's ratings to a judge's scores by isotonic regression; equal scores count as one point with their mean and number."""
    from scipy.optimize import isotonic_regression

    points, place = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    counts = np.bincount(place).astype(float)
    means = np.bincount(place, weights=np.asarray(truth, dtype=float)) / counts
    curve = isotonic_regression(means, weights=counts).x
    return tuple(points.tolist()), tuple(curve.tolist())


@dataclass(frozen=True)
class Fusion:
    """A learned sum of calibrated judges.

    Attributes:
        curves: judge to its calibration.
        weights: judge to its weight, 0 or more.
        constant: added to the sum.
    """

    curves: Mapping[str, Curve]
    weights: Mapping[str, float]
    constant: float

    def predict(self, scores: Mapping[str, Sequence[float]]) -> list[float]:
        """Return ratings to be expected, within 0 and 1, from the scores of every judge in one order of items."""
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
    """Calibrate each judge on the development part, then weigh them on the training part.

    Args:
        dev: judge to scores on 0 to 1 on the development part, in one order of items.
        dev_truth: people's mean ratings of these items, on 0 to 1.
        train: likewise on the training part.
        train_truth: likewise.
    """
    from scipy.optimize import nnls

    curves = {name: calibrate(scores, dev_truth) for name, scores in dev.items()}
    columns = np.column_stack([np.interp(train[name], *curve) for name, curve in curves.items()])
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
        scores, truth = {}, {}
        for part in ("dev", "train", "test"):
            every = getattr(split, part)
            items = [item for item in every if all(item.id in said for said in estimates.values())]
            if len(items) < _FEWEST and part != "test":
                raise InputError(
                    f"{name}: {split.name} has {len(items)} answers in {part} with a score of all of {', '.join(estimates)}; "
                    "rate all parts of the splits, or leave the fusion out"
                )
            scores[part] = {
                judge: [said[item.id].mean for item in items] for judge, said in estimates.items()
            }
            truth[part] = [item.rating_mean for item in items]
        learned.append(fuse(scores["dev"], truth["dev"], scores["train"], truth["train"]))
        means = learned[-1].predict(scores["test"])
        by_split.append({item.id: Estimate(mean) for item, mean in zip(items, means, strict=True)})
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
    files = []
    for split in splits:
        path = Path(pattern.replace("{split}", split.name).replace("{number}", split.number))
        files.append(read_results(path))
        ids = {row.id for row in files[-1]}
        if len(ids) < len(files[-1]) or "" in ids:
            wrong = "an answer has no id" if "" in ids else "an id is there twice"
            raise InputError(f"{path}: {wrong}; score the answers again")
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
        if (full := sum(map(bool, by_split))) not in (0, len(splits)):
            raise InputError(
                f"--orca {text}: {full} of {len(splits)} files have the scores of {title}; score and clamp all in the same way"
            )
        raters += [Rater(title, "orca", by_split)] if full else []
    return raters


def shortcut_raters(splits: Sequence[SplitItems]) -> list[Rater]:
    """Return what each of :data:`SHORTCUTS` predicts for the test parts, learned from the training parts; across questions where there is none.

    Answers of which no model is named teach nothing of identity, so then lengths alone are returned.
    """
    known = all_items(splits).values()
    cross = not all(split.train for split in splits)
    if cross and len(set(question_numbers(list(known)))) < 2:
        return []
    named = any(item.model for item in known)
    found: dict[str, list[Estimates]] = {}
    for split in splits:
        if cross:
            traits = [traits_of(item) for item in split.test]
            ratings = [float(item.rating_mean or 0) for item in split.test]
            predicted = cross_predicted(traits, ratings, question_numbers(split.test))
        else:
            predicted = predicted_by_shortcuts(split.train, split.test, named=named)
        for name, (identity, _) in SHORTCUTS.items():
            if named or not identity:
                means = zip(split.test, predicted[name], strict=True)
                estimates = {item.id: Estimate(min(max(mean, 0.0), 1.0)) for item, mean in means}
                found.setdefault(name, []).append(estimates)
    return [Rater(name, "shortcut", tuple(by_split)) for name, by_split in found.items()]


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
        sd = stdev(values) if whole and len(values) > 1 else math.nan
        return cls(fmean(values) if whole else math.nan, sd, tuple(values))


@dataclass(frozen=True)
class RaterFigures:
    """How a rater agrees with people on the test parts.

    Attributes:
        name, kind: of the rater.
        n: answers, over all test parts together.
        n_variance: those of them with three ratings or more and a predicted variance.
        rho, tau, mae: of the mean: Spearman, Kendall's tau-b, mean absolute error.
        variance_mae: mean absolute error of the variance.
        rho_difference, mae_difference: this rater minus the one that all are compared with, over the test answers of all splits together; None
            for that one, and without one.
    """

    name: str
    kind: Kind
    n: int
    n_variance: int
    rho: Spread
    tau: Spread
    mae: Spread
    variance_mae: Spread
    rho_difference: Difference | None = None
    mae_difference: Difference | None = None


@dataclass(frozen=True)
class Comparison:
    """All rows.

    Attributes:
        figures: of every rater.
        total: answers in the test parts; one that is in two test parts counts twice.
        left_out: those that did not count, as some rater has no score.
        lacking: rater to the test answers that it has no score for; only those with some.
        questions: of the answers that counted; differences draw them whole.
    """

    figures: tuple[RaterFigures, ...]
    total: int
    left_out: int
    lacking: Mapping[str, int]
    questions: int


def compare_raters(
    splits: Sequence[SplitItems], raters: Sequence[Rater], *, against: str | None = None
) -> Comparison:
    """Measure how raters agree with people on the answers in the test part of every split that all of them have a score for.

    Args:
        splits: with ratings.
        raters: all rows of the table.
        against: rater that is subtracted from all others.

    Raises:
        InputError: nothing is left of a split's test part, or ``against`` is none of the raters.
    """
    by_name = {rater.name: rater for rater in raters}
    if against is not None and against not in by_name:
        raise InputError(f"--against {against}: no such rater; there are: {', '.join(by_name)}")
    lacking: Counter[str] = Counter()
    kept = []
    for at, split in enumerate(splits):
        without = {
            item.id: [rater.name for rater in raters if item.id not in rater.by_split[at]]
            for item in split.test
        }
        lacking.update(name for names in without.values() for name in names)
        kept.append([item for item in split.test if not without[item.id]])
        if not kept[-1]:
            counts = ", ".join(f"{name} {count}" for name, count in lacking.items())
            raise InputError(
                f"{split.name}: no answer of its test part has a score of every rater; its ids are such as {split.test[0].id} "
                f"(without a score: {counts})"
            )
    known = all_items(splits)
    numbers = dict(zip(known, question_numbers(list(known.values())), strict=True))
    questions = [numbers[item.id] for items in kept for item in items]
    total = sum(len(split.test) for split in splits)
    return Comparison(
        tuple(_figures(rater, by_name.get(str(against)), kept, questions) for rater in raters),
        total,
        total - len(questions),
        {rater.name: lacking[rater.name] for rater in raters if lacking[rater.name]},
        len(set(questions)),
    )


def _figures(
    rater: Rater, against: Rater | None, parts: Sequence[Sequence[OrcaItem]], questions: Sequence[int]
) -> RaterFigures:
    def estimates(of: Rater) -> list[list[Estimate]]:
        return [[said[item.id] for item in items] for said, items in zip(of.by_split, parts, strict=True)]

    own = estimates(rater)
    found = [
        item_agreement(items, [each.mean for each in part], [each.variance for each in part])
        for items, part in zip(parts, own, strict=True)
    ]
    differences = []
    if against is not None and against is not rater:
        truth = [float(item.rating_mean or 0) for items in parts for item in items]
        x, y = ([each.mean for part in said for each in part] for said in (own, estimates(against)))
        differences = [each(x, y, truth, questions) for each in (rho_difference, mae_difference)]
    n, n_variance = (sum(getattr(each, name) for each in found) for name in ("n", "n_variance"))
    rho, tau, mae, variance_mae = (
        Spread.of([getattr(each, name) for each in found]) for name in ("rho", "tau", "mae", "variance_mae")
    )
    return RaterFigures(rater.name, rater.kind, n, n_variance, rho, tau, mae, variance_mae, *differences)


def over_wordings(figures: Sequence[RaterFigures]) -> list[tuple[str, int, Spread, Spread]]:
    """Return name, number of wordings, rho and MAE of each judge that rated with several wordings of a prompt (Table 7).

    The name is ``JUDGE:CONDITION``; mean and standard deviation are over wordings, of the figures of all splits.
    """
    groups: dict[str, list[RaterFigures]] = {}
    for each in figures:
        judge, condition, _ = column_parts(each.name)
        groups.setdefault(f"{judge}:{condition}" if condition else judge, []).append(each)
    several = {name: own for name, own in groups.items() if len(own) > 1}
    rhos = [Spread.of([each.rho.mean for each in own]) for own in several.values()]
    maes = [Spread.of([each.mae.mean for each in own]) for own in several.values()]
    return list(zip(several, map(len, several.values()), rhos, maes, strict=True))


def compare_files(
    table: RatingTable,
    splits: Sequence[SplitItems],
    *,
    named: bool = False,
    averages: Sequence[str] = (),
    fusions: Sequence[str] = (),
    orca: Sequence[str] = (),
    against: str | None = None,
) -> tuple[Comparison, dict[str, list[Fusion]], list[str]]:
    """Compare the raters of files of scores, their averages and fusions, ORCA and the shortcuts.

    Args:
        table: the files of scores.
        splits: with people's ratings.
        named: the user named the raters; else people's own mean, which rated answers among the files have, is none of them.
        averages: texts for :func:`named_groups`.
        fusions: likewise.
        orca: texts for :func:`orca_raters`.
        against: rater that is subtracted from all others.

    Returns:
        The comparison of all raters, what each fusion learned in each split, and notes for the user.

    Raises:
        InputError: scores and splits share no answer, a score lies outside its scale, or an option cannot be used; see the parts.
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
            continue
        fused_raters.append(rater)
    raters = [*plain, *means, *fused_raters, *trained, *shortcut_raters(splits)]
    (name, count), *_ = Counter(rater.name for rater in raters).most_common(1)
    if count > 1:
        raise InputError(f"two raters are called {name}; name averages, fusions and ORCA with NAME=...")
    return compare_raters(splits, raters, against=against), learned, notes
