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
from statistics import fmean
from typing import Literal

from long_context_tasks.annotation.records import CODES, FIELDS, QUESTION_CODES, Annotation, ratings_of
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.report import Table, figure_text
from long_context_tasks.stats import correlate

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

    Raises:
        InputError: NLTK is not installed.
    """
    candidates = {candidate.id: candidate for candidate in study.candidates()}
    question_of = {key: candidate.question_id for key, candidate in candidates.items()}
    kept = {candidate.id for candidate in study.candidates(current=True)}
    every = study.annotations()
    after = [annotation for annotation in every if annotation.candidate in kept]
    removed = [annotation for annotation in every if annotation.candidate not in kept]
    before, without, rest = (
        _part(part, question_of, study.scale.values, level) for part in (every, removed, after)
    )
    models: dict[str, list[tuple[str, list[int]]]] = {}
    for key, ratings in ratings_of(after).items():
        models.setdefault(candidates[key].model, []).append((candidates[key].text, ratings))
    source = {question.id: question.source for question in study.all_versions()}
    corrected: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
    for review in study.corrections():
        for name in review["changes"]:
            corrected[name][source[review["question_id"]]] += 1
    return Figures(
        before=before,
        removed=without,
        after=rest,
        codes=_codes(every, question_of, before),
        total_codes=sum(len(annotation.codes) for annotation in every),
        models=tuple(_model(name, models[name]) for name in sorted(models, key=str.casefold)),
        corrected={name: dict(sorted(counts.items())) for name, counts in corrected.items()},
        level=level,
    )


def _part(
    annotations: Sequence[Annotation], question_of: dict[str, str], values: Iterable[int], level: Level
) -> Part:
    rated = ratings_of(annotations)
    triples = [
        (annotation.annotator, annotation.candidate, float(annotation.rating))
        for annotation in annotations
        if annotation.rating is not None
    ]
    counts = Counter(rating for ratings in rated.values() for rating in ratings)
    high = [statistics.variance(ratings) > HIGH_VARIANCE for ratings in rated.values() if len(ratings) > 1]
    return Part(
        questions=len({question_of[annotation.candidate] for annotation in annotations}),
        pairs=len(rated),
        ratings=len(triples),
        feedback=sum(bool(annotation.codes or annotation.comment) for annotation in annotations),
        alpha=krippendorff_alpha(triples, level),
        high_variance=statistics.fmean(high) if high else math.nan,
        histogram={value: counts[value] for value in values},
    )


def _codes(
    annotations: Sequence[Annotation], question_of: dict[str, str], before: Part
) -> tuple[CodeCount, ...]:
    found = []
    for code in CODES:
        holding = [
            question_of[annotation.candidate] for annotation in annotations if code in annotation.codes
        ]
        if code in QUESTION_CODES:
            found.append(CodeCount(code, len(set(holding)), before.questions))
        else:
            found.append(CodeCount(code, len(holding), before.feedback))
    return (
        *found,
        CodeCount("comment", sum(bool(annotation.comment) for annotation in annotations), before.feedback),
    )


def _model(name: str, rated: Sequence[tuple[str, list[int]]]) -> ModelRow:
    flat = [rating for _, ratings in rated for rating in ratings]
    return ModelRow(
        model=name,
        answers=len(rated),
        ratings=len(flat),
        mean=statistics.fmean(flat),
        sd=statistics.stdev(flat) if len(flat) > 1 else math.nan,
        words=statistics.fmean(len(answer.split()) for answer, _ in rated),
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
    require("annotation", "Krippendorff's alpha", "nltk")
    nltk = importlib.import_module("nltk.metrics.agreement")
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


_BAR = 24


def figure_tables(figures: Figures, labels: Mapping[str, str]) -> list[Table]:
    """Return all tables of a study."""
    parts = (("before", figures.before), ("removed", figures.removed), ("after", figures.after))
    sizes = ("questions", "pairs", "ratings", "feedback", "annotations")
    filtering = Table(
        "filtering",
        f"Filtering (Krippendorff's alpha, {figures.level})",
        (
            *("", "questions", "rated pairs", "ratings", "feedback", "annotations", "ratings per pair"),
            *("alpha", "items of alpha", "variance > 1, %"),
        ),
        tuple(
            (
                name,
                *(f"{getattr(part, size):,}" for size in sizes),
                figure_text(part.ratings_per_pair),
                figure_text(part.alpha.value),
                f"{part.alpha.items:,}",
                figure_text(100 * part.high_variance, 1),
            )
            for name, part in parts
        ),
    )
    shares = [
        (
            code.code,
            labels.get(code.code, "free text"),
            f"{code.count:,}",
            f"{code.of:,}",
            figure_text(100 * code.share, 1),
        )
        for code in figures.codes
    ]
    feedback = Table(
        "feedback",
        "Feedback (Table 4): Q, A, R of annotated questions, the others of annotations with feedback",
        ("code", "meaning", "count", "of", "%"),
        (*shares, ("all codes", "", f"{figures.total_codes:,}", "", "")),
        frozenset(("meaning",)),
    )
    total: Counter[str] = Counter()
    for counts in figures.corrected.values():
        total.update(counts)
    corrections = Table(
        "corrections",
        "Corrections (Table 1)",
        ("field", *(name or "no source" for name in sorted(total)), "total"),
        tuple(
            (field, *(str(counts.get(name, 0)) for name in sorted(total)), str(sum(counts.values())))
            for field, counts in {**figures.corrected, "total": total}.items()
        ),
    )
    models = Table(
        "models",
        "Models after filtering (Table 5)",
        ("model", "answers", "ratings", "mean rating", "sd", "words"),
        tuple(
            (
                *(model.model, f"{model.answers:,}", f"{model.ratings:,}"),
                *(figure_text(model.mean), figure_text(model.sd), figure_text(model.words, 1)),
            )
            for model in figures.models
        ),
    )
    most = max((1, *figures.before.histogram.values()))
    ratings = Table(
        "ratings",
        "Ratings (Fig. 5)",
        ("rating", "before", "", "after", " "),
        tuple(
            (str(value), *(cell for n in (n, after) for cell in (str(n), "#" * round(_BAR * n / most))))
            for (value, n), after in zip(
                figures.before.histogram.items(), figures.after.histogram.values(), strict=True
            )
        ),
        frozenset(("", " ")),
    )
    return [filtering, feedback, corrections, models, ratings]


@dataclass(frozen=True)
class GoldAgreement:
    """An annotator's ratings of the answers about one document.

    Attributes:
        annotator: name.
        document: id; empty for questions without a document.
        n: candidates that both have rated.
        pearson: correlation with the gold ratings; not a number when one side is constant.
        difference: mean of the annotator's ratings less that of the gold ratings.
    """

    annotator: str
    document: str
    n: int
    pearson: float
    difference: float


def agreement_with(study: Study, gold: str) -> list[GoldAgreement]:
    """Compare every annotator with the gold annotator.

    Raises:
        InputError: the gold annotator has rated nothing that another one has rated too.
    """
    documents = study.documents_of_candidates()
    rated = [
        (annotation.annotator, annotation.candidate, annotation.rating)
        for annotation in study.annotations()
        if annotation.rating is not None
    ]
    right = {candidate: rating for annotator, candidate, rating in rated if annotator == gold}
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for annotator, candidate, rating in rated:
        if annotator != gold and candidate in right:
            pairs.setdefault((annotator, documents[candidate]), []).append((rating, right[candidate]))
    if not pairs:
        names = ", ".join(sorted({annotator for annotator, *_ in rated})) or "none"
        raise InputError(f"--gold {gold}: no rating beside one of another annotator; with ratings: {names}")
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
    """Return annotator and document of those whose correlation is below ``least``, or is not a number."""
    return {
        (agreement.annotator, agreement.document) for agreement in found if not agreement.pearson >= least
    }


def agreement_table(found: Sequence[GoldAgreement], gold: str) -> Table:
    """Return a row for every annotator and document."""
    return Table(
        "gold",
        f"Annotators against {gold}",
        ("annotator", "document", "ratings", "Pearson", "mean difference"),
        tuple(
            (
                agreement.annotator,
                agreement.document,
                str(agreement.n),
                figure_text(agreement.pearson),
                figure_text(agreement.difference),
            )
            for agreement in found
        ),
        frozenset(("annotator", "document")),
    )
