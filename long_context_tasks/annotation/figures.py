"""Study statistics as tables: Krippendorff's alpha, and Tables 1, 4, 5 and Fig. 5 of the ORCA paper.

Filtering follows the paper (Section 5.2, Stage 3): annotations of a question that was later corrected or
removed do not count. The paper does not name its level of measurement for alpha; the default here is
``ordinal``.
"""

import importlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance
from typing import Literal

from long_context_tasks.annotation.scale import CODES, QUESTION_CODES
from long_context_tasks.annotation.study import FIELDS, Annotation, AnnotationStudy, ratings_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.report import Table, figure_text
from long_context_tasks.stats.raters import correlate

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
_HIGH_VARIANCE = 1.0
_BAR = 24
"""Maximum bar length of the histogram, in characters."""


def study_tables(study: AnnotationStudy, level: Level = "ordinal") -> list[Table]:
    kept = {candidate.id for candidate in study.candidates(current=True)}
    every = study.annotations()
    after = [annotation for annotation in every if annotation.candidate in kept]
    removed = [annotation for annotation in every if annotation.candidate not in kept]
    return [
        _filtering_table(study, {"before": every, "removed": removed, "after": after}, level),
        _feedback_table(study, every),
        _corrections_table(study),
        _models_table(study, after),
        _histogram_table(study, every, after),
    ]


def _questions(study: AnnotationStudy, annotations: Sequence[Annotation]) -> set[str]:
    return {study.answers[annotation.candidate].question_id for annotation in annotations}


def _with_feedback(annotations: Sequence[Annotation]) -> int:
    return sum(bool(annotation.codes or annotation.comment) for annotation in annotations)


def _filtering_table(
    study: AnnotationStudy, stages: Mapping[str, Sequence[Annotation]], level: Level
) -> Table:
    """Return a row per filtering stage. Pairs are candidates with a rating; variances have divisor n - 1."""
    rows = []
    for name, annotations in stages.items():
        rated = ratings_of(annotations)
        triples = [(each.annotator, each.candidate, each.rating) for each in annotations]
        alpha, items = krippendorff_alpha([(a, c, float(r)) for a, c, r in triples if r is not None], level)
        several = [variance(ratings) for ratings in rated.values() if len(ratings) > 1]
        high = fmean(value > _HIGH_VARIANCE for value in several) if several else math.nan
        n, feedback = sum(map(len, rated.values())), _with_feedback(annotations)
        # The paper's "annotations" are ratings plus feedback: 9,728 + 1,993 = 11,721.
        counts = (len(_questions(study, annotations)), len(rated), n, feedback, n + feedback)
        figures = (
            figure_text(n / len(rated) if rated else math.nan),
            figure_text(alpha),
            f"{items:,}",
            figure_text(100 * high, 1),
        )
        rows.append((name, *(f"{count:,}" for count in counts), *figures))
    return Table(
        "filtering",
        f"Filtering (Krippendorff's alpha, {level})",
        (
            *("", "questions", "rated pairs", "ratings", "feedback", "annotations", "ratings per pair"),
            *("alpha", "items of alpha", "variance > 1, %"),
        ),
        tuple(rows),
    )


def _feedback_table(study: AnnotationStudy, annotations: Sequence[Annotation]) -> Table:
    """Return Table 4. As in the paper, Q, A and R count by question; U, E and comments by annotation."""
    asked, feedback = len(_questions(study, annotations)), _with_feedback(annotations)
    rows = []
    for code in (*CODES, "comment"):
        holding = [
            each for each in annotations if (each.comment if code == "comment" else code in each.codes)
        ]
        by_question = code in QUESTION_CODES
        count, of = (len(_questions(study, holding)), asked) if by_question else (len(holding), feedback)
        meaning = study.scale.codes[code].label if code in study.scale.codes else "free text"
        share = figure_text(100 * count / of if of else math.nan, 1)
        rows.append((code, meaning, f"{count:,}", f"{of:,}", share))
    total = sum(len(annotation.codes) for annotation in annotations)
    return Table(
        "feedback",
        "Feedback (Table 4): Q, A, R of annotated questions, the others of annotations with feedback",
        ("code", "meaning", "count", "of", "%"),
        (*rows, ("all codes", "", f"{total:,}", "", "")),
        frozenset(("meaning",)),
    )


def _corrections_table(study: AnnotationStudy) -> Table:
    corrected: dict[str, Counter[str]] = {name: Counter() for name in (*FIELDS, "total")}
    for review in study.reviews:
        # Corrections do not change the source.
        source = study.versions[review.question_id][0].source
        for name in review.changes:
            corrected[name][source] += 1
            corrected["total"][source] += 1
    sources = sorted(corrected["total"])
    return Table(
        "corrections",
        "Corrections (Table 1)",
        ("field", *(source or "no source" for source in sources), "total"),
        tuple(
            (name, *(str(counts[source]) for source in sources), str(counts.total()))
            for name, counts in corrected.items()
        ),
    )


def _models_table(study: AnnotationStudy, annotations: Sequence[Annotation]) -> Table:
    rated: dict[str, list[tuple[str, list[int]]]] = {}
    for key, ratings in ratings_of(annotations).items():
        rated.setdefault(study.answers[key].model, []).append((study.answers[key].text, ratings))
    rows = []
    for model in sorted(rated, key=str.casefold):
        flat = [rating for _, ratings in rated[model] for rating in ratings]
        sd = stdev(flat) if len(flat) > 1 else math.nan
        words = fmean(len(text.split()) for text, _ in rated[model])
        figures = figure_text(fmean(flat)), figure_text(sd), figure_text(words, 1)
        rows.append((model, f"{len(rated[model]):,}", f"{len(flat):,}", *figures))
    columns = ("model", "answers", "ratings", "mean rating", "sd", "words")
    return Table("models", "Models after filtering (Table 5)", columns, tuple(rows))


def _histogram_table(
    study: AnnotationStudy, before: Sequence[Annotation], after: Sequence[Annotation]
) -> Table:
    counts = [Counter(annotation.rating for annotation in each) for each in (before, after)]
    # Both bars share one scale, so that filtering is visible.
    most = max(1, *(counts[0][value] for value in study.scale.values), 1)
    rows = []
    for value in study.scale.values:
        cells = [(str(each[value]), "#" * round(_BAR * each[value] / most)) for each in counts]
        rows.append((str(value), *cells[0], *cells[1]))
    # The bars have no heading, but column names must differ.
    columns = ("rating", "before", "", "after", " ")
    return Table("ratings", "Ratings (Fig. 5)", columns, tuple(rows), frozenset(("", " ")))


def krippendorff_alpha(
    ratings: Sequence[tuple[str, str, float]], level: Level = "ordinal"
) -> tuple[float, int]:
    """Compute Krippendorff's alpha from ``(annotator, item, rating)`` triples.

    Each (annotator, item) pair may occur only once. Source: Krippendorff 2019, Content Analysis, chapter 12.

    Returns:
        Alpha, and the number of items with two or more ratings. Alpha is 1 for full agreement, 0 for chance;
        NaN if no item has two ratings, or all ratings are equal.
    """
    per_item = Counter(item for _, item, _ in ratings)
    used = [row for row in ratings if per_item[row[1]] > 1]
    items = len({item for _, item, _ in used})
    counts = Counter(rating for *_, rating in used)
    if len(counts) < 2:
        return math.nan, items
    # Not the krippendorff package, which is under the GPL.
    require("annotation", "Krippendorff's alpha", "nltk")
    nltk = importlib.import_module("nltk.metrics.agreement")
    return float(nltk.AnnotationTask(used, distance=_distance(level, counts)).alpha()), items


def _distance(level: Level, counts: Counter[float]) -> Callable[[float, float], float]:
    """Return the squared distance of two ratings at a level of measurement, as NLTK expects it."""
    if level == "nominal":
        return lambda one, other: float(one != other)
    if level == "interval":
        return lambda one, other: (one - other) ** 2
    below, place = 0.0, {}
    for rating in sorted(counts):
        # The ordinal distance (the counts between two ratings, less half of both) is the difference of these
        # positions.
        place[rating] = below + counts[rating] / 2
        below += counts[rating]
    return lambda one, other: (place[one] - place[other]) ** 2


@dataclass(frozen=True)
class GoldAgreement:
    """Agreement of an annotator with the gold ratings of the answers about one document."""

    annotator: str
    document: str  # id; empty for questions without a document
    n: int  # candidates that both have rated
    pearson: float  # correlation; NaN if either side is constant
    difference: float  # annotator's mean rating minus the mean gold rating


def agreement_with(study: AnnotationStudy, gold: str) -> list[GoldAgreement]:
    rated = [
        (annotation.annotator, annotation.candidate, annotation.rating)
        for annotation in study.annotations()
        if annotation.rating is not None
    ]
    right = {candidate: rating for annotator, candidate, rating in rated if annotator == gold}
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for annotator, candidate, rating in rated:
        if annotator != gold and candidate in right:
            document = study.question_of(candidate).document or ""
            pairs.setdefault((annotator, document), []).append((rating, right[candidate]))
    if not pairs:
        names = ", ".join(sorted({annotator for annotator, *_ in rated})) or "none"
        raise InputError(
            f"--gold {gold}: no candidate has a rating of this annotator and of another; with ratings: {names}"
        )
    return [
        GoldAgreement(
            *key,
            len(both),
            correlate([x for x, _ in both], [y for _, y in both]),
            fmean(x - y for x, y in both),
        )
        for key, both in sorted(pairs.items())
    ]


def inconsistent(found: Sequence[GoldAgreement], least: float) -> set[tuple[str, str]]:
    """Return (annotator, document) pairs whose correlation is below ``least`` or NaN."""
    return {(each.annotator, each.document) for each in found if not each.pearson >= least}


def agreement_table(found: Sequence[GoldAgreement], gold: str) -> Table:
    rows = []
    for each in found:
        figures = figure_text(each.pearson), figure_text(each.difference)
        rows.append((each.annotator, each.document, str(each.n), *figures))
    columns = ("annotator", "document", "ratings", "Pearson", "mean difference")
    title = f"Annotators against {gold}"
    return Table("gold", title, columns, tuple(rows), frozenset(("annotator", "document")))
