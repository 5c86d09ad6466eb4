"""Questions, documents, annotations, reviews and training data as JSON Lines."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict

from long_context_tasks.annotation.scale import QUESTION_CODES, Scale
from long_context_tasks.annotation.study import (
    Annotation,
    AnnotationStudy,
    ExpertReview,
    Id,
    Incoming,
    StudyQuestion,
    Text,
    annotation_problem,
    ratings_of,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, write_whole
from long_context_tasks.schema.validated import Checked, validated

_QUESTION = (
    '{"id": "q1", "question": "...", "reference": "...", "candidates": [{"model": "m", "text": "..."}]} or '
    '{"id": "q1/m", "question_id": "q1", "question": "...", "reference": "...", "candidate": "...", "candidate_model": "m"}'
)
_DOCUMENT = '{"id": "meeting1", "text": "..."}'
_ANNOTATION = '{"candidate": "q1/m", "annotator": "ana", "rating": 4, "codes": "A", "comment": "", "at": ""}'
_REVIEW = '{"question_id": "q1", "version": 1, "decision": "keep, correct or remove", "question": "...", "note": "..."}'

_AnyRow = TypeVar("_AnyRow")


def _rows(path: Path, kind: type[_AnyRow], example: str, remedy: str = "") -> Iterator[tuple[str, _AnyRow]]:
    """Yield location and content of each row of a JSON Lines file; raise an error if it is empty."""
    empty = True
    for where, row in json_rows(path, f"JSON Lines, {example}"):
        empty = False
        yield where, validated(kind, row, where, remedy=f"{remedy}expected {example}")
    if empty:
        raise InputError(f"{path}: no rows; expected {example}")


class _GivenAnswer(Checked):
    model_config = ConfigDict(extra="ignore")

    model: Id
    text: str
    id: Id | None = None


@dataclass(frozen=True)
class _QuestionRow(StudyQuestion):
    candidates: tuple[_GivenAnswer, ...] | None = None


def read_questions(path: Path) -> list[Incoming]:
    """Read questions, with or without candidates, from JSON Lines.

    A row is either a question with a ``candidates`` list, or one candidate with its question, as in ORCA's
    data. The study checks whether rows with the same id have the same question.
    """
    found: dict[StudyQuestion, Incoming] = {}
    for where, row in json_rows(path, f"JSON Lines, {_QUESTION}"):
        entry = _incoming(row, where)
        before = found.get(entry.question, Incoming(entry.question, (), where))
        found[entry.question] = replace(before, candidates=before.candidates + entry.candidates)
    if not found:
        raise InputError(f"{path}: no rows; expected {_QUESTION}")
    return list(found.values())


def _incoming(row: Any, where: str) -> Incoming:
    if isinstance(row, dict):
        # A row exported from another study has that study's version.
        row = {name: value for name, value in row.items() if name != "version"}
        if "candidate" in row:
            if "candidates" in row:
                raise InputError(f"{where}: has both candidate and candidates; keep one")
            if missing := {"question_id", "candidate_model"} - row.keys():
                raise InputError(f"{where}: {min(missing)} is missing; expected {_QUESTION}")
            # Converted to the other form, so that one class validates both.
            answer = {"id": row.get("id"), "model": row["candidate_model"], "text": row["candidate"]}
            row |= {"id": row["question_id"], "candidates": [answer]}
    read = validated(_QuestionRow, row, where, remedy=f"expected {_QUESTION}")
    question = StudyQuestion(**{name: getattr(read, name) for name in StudyQuestion.__dataclass_fields__})
    return Incoming(
        question, tuple((each.id, each.model, each.text) for each in read.candidates or ()), where
    )


class _DocumentRow(Checked):
    model_config = ConfigDict(extra="ignore")

    id: Id
    text: Text


def read_documents(path: Path) -> dict[str, str]:
    """Read source documents by id, from JSON Lines with ``id`` and ``text`` or a folder of ``ID.txt`` files."""
    found: dict[str, str] = {}
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            try:
                found[file.stem] = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{file}: cannot be read ({error}); save it as UTF-8") from error
        if not found:
            raise InputError(f"{path}: holds no .txt files")
        return found
    for where, document in _rows(path, _DocumentRow, _DOCUMENT):
        if document.id in found:
            raise InputError(
                f"{where}: document {document.id} is in an earlier row too; give each its own id"
            )
        found[document.id] = document.text
    return found


def write_rows(path: Path, found: Iterable[Mapping[str, Any]]) -> int:
    # All rows are serialised before the file is opened, so an error leaves an existing file unchanged.
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in found]
    write_whole(path, lines, remedy="choose another place with --out")
    return len(lines)


def annotation_rows(study: AnnotationStudy) -> list[dict[str, Any]]:
    return [asdict(annotation) for annotation in study.annotations()]


def read_annotations(path: Path, scale: Scale) -> list[Annotation]:
    found: dict[tuple[str, str], str] = {}
    annotations = []
    for where, row in _rows(path, Annotation, _ANNOTATION):
        annotation = replace(row, comment=row.comment.strip())
        if problem := annotation_problem(annotation, scale):
            raise InputError(f"{where}: {problem}")
        if before := found.get((row.candidate, row.annotator)):
            raise InputError(
                f"{where}: {row.annotator} also annotated {row.candidate} in {before}; keep one of them"
            )
        found[row.candidate, row.annotator] = where
        annotations.append(annotation)
    return annotations


def review_rows(study: AnnotationStudy, *, every: bool = False) -> list[dict[str, Any]]:
    """Return the questions for expert review.

    These are the questions whose newest version has the codes Q, A or R, a comment, or no annotation. Experts
    edit the texts of the newest version and set ``decision``. Flags that an expert saw when keeping a
    question are not shown again.
    """
    # Feedback on older versions was resolved by their correction.
    candidates = {candidate.id: candidate for candidate in study.candidates(current=True)}
    kept = [review for review in study.reviews if review.decision == "keep"]
    seen = {(review.question_id, review.version, flag) for review in kept for flag in review.seen}
    touched = {review.question_id for review in kept}
    flags: dict[str, list[dict[str, str]]] = {}
    for annotation in study.annotations():
        if (candidate := candidates.get(annotation.candidate)) is None:
            continue
        touched.add(candidate.question_id)
        flagged = bool(annotation.comment) or any(code in QUESTION_CODES for code in annotation.codes)
        if flagged and (*candidate.question, annotation.flag) not in seen:
            flags.setdefault(candidate.question_id, []).append(asdict(annotation.flag))
    return [
        {
            "question_id": asked.id,
            "version": asked.version,
            "decision": "keep",
            **asked.texts,
            "note": "",
            "flags": flags.get(asked.id, []),
        }
        for asked in study.questions()
        # A question without annotations may be unclear, so experts see it.
        if every or asked.id in flags or asked.id not in touched
    ]


def read_reviews(path: Path) -> list[ExpertReview]:
    reviews: dict[str, ExpertReview] = {}
    remedy = "leave version and flags as `lct annotate review` wrote them; "
    for where, row in _rows(path, ExpertReview, _REVIEW, remedy):
        if row.question_id in reviews:
            raise InputError(
                f"{where}: question {row.question_id} is in an earlier row too; keep one of them"
            )
        reviews[row.question_id] = row
    return list(reviews.values())


def history_rows(study: AnnotationStudy) -> list[dict[str, Any]]:
    return [review.model_dump(exclude={"seen"}) for review in study.reviews]


def label_rows(study: AnnotationStudy) -> list[dict[str, Any]]:
    if not study.scale.writes:
        raise InputError(f"{study.path}: holds ratings and no labels; make a study with --scale labels")
    current = {candidate.id for candidate in study.candidates(current=True)}
    rows = []
    for annotation in study.annotations():
        if annotation.candidate not in current or not annotation.comment:
            continue
        asked = study.question_of(annotation.candidate)
        labels = [label.strip() for label in re.split(r"[;\n]", annotation.comment) if label.strip()]
        row = {"domain": asked.domain, "passage": asked.reference, "labels": labels}
        rows.append({**row, "annotator": annotation.annotator, "source": asked.source})
    return rows


def training_rows(
    study: AnnotationStudy, without: Collection[tuple[str, str | None]] = ()
) -> list[dict[str, Any]]:
    """Return the rated candidates as ORCA training data, including the scale of their ratings.

    The released ORCA code requires a rationale in every row and ratings of 1 to 5; ours reads ``scale``.
    ``without`` lists pairs of annotator and document whose ratings are excluded; a document of None excludes
    all of the annotator's.
    """
    ratings = ratings_of(
        annotation
        for annotation in study.annotations()
        if (annotation.annotator, None) not in without
        and (annotation.annotator, study.question_of(annotation.candidate).document or "") not in without
    )
    rows = []
    for candidate in study.candidates(current=True):
        if candidate.id not in ratings:
            continue
        asked = study.question_of(candidate.id)
        row: dict[str, Any] = {
            "id": candidate.id,
            "question_id": asked.id,
            "version": asked.version,
            "question": asked.question,
            "reference": asked.reference,
            "rationale": asked.rationale or "",
            "candidate": candidate.text,
            "candidate_model": candidate.model,
            "ratings": ratings[candidate.id],
            "scale": list(study.scale.bounds),
            "domain": asked.domain,
            "category": asked.category,
            "source": asked.source,
        }
        if asked.transcription is not None:
            row["transcription"] = asked.transcription
        rows.append(row)
    return rows
