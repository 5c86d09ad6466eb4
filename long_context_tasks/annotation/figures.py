"""Statistics of a study: Krippendorff's alpha before and after filtering, Tables 1, 4, 5 and Fig. 5 of the ORCA paper.

Alpha (Krippendorff 2019, Content Analysis, chapter 12) is NLTK's, which comes with ``pip install 'long_context_tasks[annotation]'``; the
package krippendorff is under the GPL. The paper does not name its level of measurement; here it is ``ordinal`` unless another is asked for.
Filtering is the paper's (Section 5.2, Stage 3): what was said of a question that was corrected or removed afterwards does not count.
"""

import importlib
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from long_context_tasks.annotation.records import FIELDS, Annotation, ratings_of
from long_context_tasks.annotation.scale import CODES, QUESTION_CODES
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
HIGH_VARIANCE = 1.0


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


@dataclass(frozen=True)
class Part:
    """Ratings of one part: all (before), those filtered out (removed), those kept (after).

    Attributes:
        questions: with an annotation of any kind; a question counts once, whatever its versions.
        pairs: candidates with a rating.
        ratings: number of them.
        feedback: annotations with a code or a comment.
        alpha: Krippendorff's.
        high_variance: share of the pairs with two ratings or more whose variance (divisor n - 1) is above 1; not a number without any.
        histogram: rating to count, every rating of the scale (Fig. 5).
    """

    questions: int
    pairs: int
    ratings: int
    feedback: int
    alpha: Alpha
    high_variance: float
    histogram: dict[int, int]

    @property
    def annotations(self) -> int:
        """Ratings and feedback entries together, as the paper counts."""
        return self.ratings + self.feedback

    @property
    def ratings_per_pair(self) -> float:
        """Return the mean; not a number without pairs."""
        return self.ratings / self.pairs if self.pairs else math.nan


@dataclass(frozen=True)
class CodeCount:
    """A row of Table 4.

    Attributes:
        code: a letter, or ``comment``.
        count: questions for Q, A and R; annotations for U, E and comments.
        of: what the share is of: annotated questions, or annotations with feedback.
    """

    code: str
    count: int
    of: int

    @property
    def share(self) -> float:
        """Between 0 and 1; not a number of nothing."""
        return self.count / self.of if self.of else math.nan


@dataclass(frozen=True)
class ModelRow:
    """A row of Table 5, after filtering.

    Attributes:
        model: its name.
        answers: with a rating.
        ratings: of them.
        mean, sd: of the ratings (divisor n - 1; sd is not a number for one rating).
        words: mean length of the rated answers.
    """

    model: str
    answers: int
    ratings: int
    mean: float
    sd: float
    words: float


@dataclass(frozen=True)
class Figures:
    """All statistics of a study.

    Attributes:
        before, removed, after: see :class:`Part`.
        codes: Table 4, over all annotations.
        total_codes: codes of all annotations together.
        models: Table 5.
        corrected: Table 1: field to benchmark (``source`` of the question) to number of corrections.
        level: of measurement, for alpha.
    """

    before: Part
    removed: Part
    after: Part
    codes: tuple[CodeCount, ...]
    total_codes: int
    models: tuple[ModelRow, ...]
    corrected: dict[str, dict[str, int]]
    level: Level


def study_figures(study: Study, level: Level = "ordinal") -> Figures:
    """Compute the statistics.

    Args:
        study: open.
        level: of measurement, for alpha.

    Raises:
        InputError: NLTK is not installed.
    """
    kept_versions = study.current()
    candidates = {one.id: one for one in study.candidates()}
    question_of = {key: one.question_id for key, one in candidates.items()}
    kept = {key for key, one in candidates.items() if (one.question_id, one.version) in kept_versions}
    every = study.annotations()
    after = [one for one in every if one.candidate in kept]
    values = study.scale.values
    rated = ratings_of(after)
    models: dict[str, list[str]] = {}
    for key in rated:
        models.setdefault(candidates[key].model, []).append(key)
    return Figures(
        before=_part(every, question_of, values, level),
        removed=_part([one for one in every if one.candidate not in kept], question_of, values, level),
        after=_part(after, question_of, values, level),
        codes=_codes(every, question_of),
        total_codes=sum(len(one.codes) for one in every),
        models=tuple(
            _model(name, [rated[key] for key in models[name]], [candidates[key].text for key in models[name]])
            for name in sorted(models, key=str.casefold)
        ),
        corrected=_corrected(study),
        level=level,
    )


def _part(
    annotations: Sequence[Annotation], question_of: dict[str, str], values: Iterable[int], level: Level
) -> Part:
    rated = ratings_of(annotations)
    triples = [
        (one.annotator, one.candidate, float(one.rating)) for one in annotations if one.rating is not None
    ]
    counts = Counter(rating for ratings in rated.values() for rating in ratings)
    variances = [statistics.variance(ratings) for ratings in rated.values() if len(ratings) > 1]
    high = sum(variance > HIGH_VARIANCE for variance in variances)
    return Part(
        questions=len({question_of[one.candidate] for one in annotations}),
        pairs=len(rated),
        ratings=len(triples),
        feedback=sum(bool(one.codes or one.comment) for one in annotations),
        alpha=krippendorff_alpha(triples, level),
        high_variance=high / len(variances) if variances else math.nan,
        histogram={value: counts[value] for value in values},
    )


def krippendorff_alpha(ratings: Sequence[tuple[str, str, float]], level: Level = "ordinal") -> Alpha:
    """Compute alpha of ``(annotator, item, rating)``, at most one of each annotator and item.

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


def _codes(annotations: Sequence[Annotation], question_of: dict[str, str]) -> tuple[CodeCount, ...]:
    questions = len({question_of[one.candidate] for one in annotations})
    feedback = sum(bool(one.codes or one.comment) for one in annotations)
    found = []
    for code in CODES:
        holding = [one for one in annotations if code in one.codes]
        if code in QUESTION_CODES:
            found.append(CodeCount(code, len({question_of[one.candidate] for one in holding}), questions))
        else:
            found.append(CodeCount(code, len(holding), feedback))
    return (*found, CodeCount("comment", sum(bool(one.comment) for one in annotations), feedback))


def _model(name: str, ratings: Sequence[Sequence[int]], answers: Sequence[str]) -> ModelRow:
    flat = [rating for each in ratings for rating in each]
    return ModelRow(
        model=name,
        answers=len(answers),
        ratings=len(flat),
        mean=statistics.fmean(flat),
        sd=statistics.stdev(flat) if len(flat) > 1 else math.nan,
        words=statistics.fmean(len(answer.split()) for answer in answers),
    )


def _corrected(study: Study) -> dict[str, dict[str, int]]:
    source = {one.id: one.source for one in study.all_versions()}
    counts: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
    for review in study.corrections():
        for name in review["changes"]:
            counts[name][source[review["question_id"]]] += 1
    return {name: dict(sorted(counts[name].items())) for name in FIELDS}


_BAR = 24


@dataclass(frozen=True)
class Table:
    """A table; columns in ``left`` are aligned left."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...] = ()


def figure_tables(figures: Figures, labels: Mapping[str, str]) -> list[Table]:
    """Return all tables of a study.

    Args:
        figures: of the study.
        labels: feedback code to what it is called.
    """
    return [
        _filtering(figures),
        _feedback(figures, labels),
        _corrections(figures),
        _models(figures),
        _histogram(figures),
    ]


def _filtering(figures: Figures) -> Table:
    def row(name: str, part: Part) -> tuple[str, ...]:
        counts = (part.questions, part.pairs, part.ratings, part.feedback, part.annotations)
        return (
            name,
            *(f"{count:,}" for count in counts),
            _number(part.ratings_per_pair),
            _number(part.alpha.value),
            f"{part.alpha.items:,}",
            _percent(part.high_variance),
        )

    parts = (("before", figures.before), ("removed", figures.removed), ("after", figures.after))
    counted = ("questions", "rated pairs", "ratings", "feedback", "annotations", "ratings per pair")
    return Table(
        f"Filtering (Krippendorff's alpha, {figures.level})",
        ("", *counted, "alpha", "items of alpha", "variance > 1, %"),
        tuple(row(name, part) for name, part in parts),
    )


def _feedback(figures: Figures, labels: Mapping[str, str]) -> Table:
    rows = [
        (one.code, labels.get(one.code, "free text"), f"{one.count:,}", f"{one.of:,}", _percent(one.share))
        for one in figures.codes
    ]
    return Table(
        "Feedback (Table 4): Q, A, R of annotated questions, the others of annotations with feedback",
        ("code", "meaning", "count", "of", "%"),
        (*rows, ("all codes", "", f"{figures.total_codes:,}", "", "")),
        ("meaning",),
    )


def _corrections(figures: Figures) -> Table:
    sources = sorted({name for counts in figures.corrected.values() for name in counts})
    rows = [
        (field, *(str(counts.get(name, 0)) for name in sources), str(sum(counts.values())))
        for field, counts in figures.corrected.items()
    ]
    totals = [sum(counts.get(name, 0) for counts in figures.corrected.values()) for name in sources]
    return Table(
        "Corrections (Table 1)",
        ("field", *(name or "no source" for name in sources), "total"),
        (*rows, ("total", *map(str, totals), str(sum(totals)))),
    )


def _models(figures: Figures) -> Table:
    rows = (
        (
            one.model,
            f"{one.answers:,}",
            f"{one.ratings:,}",
            _number(one.mean),
            _number(one.sd),
            _number(one.words, 1),
        )
        for one in figures.models
    )
    return Table(
        "Models after filtering (Table 5)",
        ("model", "answers", "ratings", "mean rating", "sd", "words"),
        tuple(rows),
    )


def _histogram(figures: Figures) -> Table:
    before, after = figures.before.histogram, figures.after.histogram
    most = max(1, *before.values())
    rows = (
        (str(value), str(n), _bar(n, most), str(after[value]), _bar(after[value], most))
        for value, n in before.items()
    )
    return Table("Ratings (Fig. 5)", ("rating", "before", "", "after", " "), tuple(rows), ("", " "))


def _bar(count: int, most: int) -> str:
    return "#" * round(_BAR * count / most)


def _number(value: float, places: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{places}f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"
