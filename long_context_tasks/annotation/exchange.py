"""Questions, documents, annotations, reviews and training data as JSON Lines.

Files are written whole; what is read is checked before anything is stored.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict

from long_context_tasks.annotation.records import (
    CODES,
    FIELDS,
    QUESTION_CODES,
    TIME,
    Annotation,
    Id,
    Incoming,
    Perhaps,
    Question,
    Review,
    Scale,
    Sound,
    Text,
    Words,
    check_annotation,
    ratings_of,
)
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, write_whole
from long_context_tasks.schema.validated import Checked, validated

_QUESTION = (
    '{"id": "q1", "question": "...", "reference": "...", "candidates": [{"model": "m", "text": "..."}]} or '
    '{"id": "q1/m", "question_id": "q1", "question": "...", "reference": "...", "candidate": "...", "candidate_model": "m"}'
)
_DOCUMENT = '{"id": "meeting1", "text": "..."}'
_ANNOTATION = '{"item": "q1/m", "annotator": "ana", "rating": 4, "codes": ["A"], "comment": "", "at": ""}'
_REVIEW = '{"question_id": "q1", "version": 1, "decision": "keep, correct or remove", "question": "...", "note": "..."}'
_SQLITE = b"SQLite format 3\0"


_Row = TypeVar("_Row", bound=Checked)


def _rows(path: Path, kind: type[_Row], example: str, remedy: str = "") -> Iterator[tuple[str, _Row]]:
    """Yield the rows of a JSON Lines file, checked, each with its place for messages; there must be some."""
    empty = True
    for where, row in json_rows(path, f"JSON Lines, {example}"):
        empty = False
        yield where, validated(kind, row, where, remedy=f"{remedy}expected {example}")
    if empty:
        raise InputError(f"{path}: no rows; expected {example}")


class _Candidate(Checked):
    model_config = ConfigDict(extra="ignore")

    model: Id
    text: Sound
    id: Id | None = None


@dataclass(frozen=True)
class _QuestionRow(Question):
    """A question with its candidates."""

    candidates: tuple[_Candidate, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class _CandidateRow(Question):
    """A candidate with its question, as in ORCA's data."""

    id: Annotated[Id, Field(alias="question_id")]
    key: Annotated[Id, Field(alias="id")]
    model: Annotated[Id, Field(alias="candidate_model")]
    text: Annotated[Sound, Field(alias="candidate")]


def read_questions(path: Path) -> list[Incoming]:
    """Read questions, with or without candidates, from JSON Lines.

    A row is a question with a list ``candidates``, or one candidate with ``question_id``, ``candidate`` and
    ``candidate_model`` as in ORCA's data; rows of one question must agree.

    Raises:
        InputError: names file, row and remedy.
    """
    found: dict[str, Incoming] = {}
    for where, row in json_rows(path, f"JSON Lines, {_QUESTION}"):
        entry = _incoming(row, where)
        before = found.get(entry.question.id)
        if before is None:
            found[entry.question.id] = entry
            continue
        if "candidate" not in row:
            raise InputError(
                f"{where}: question {entry.question.id} came before ({before.where}); give each its own id"
            )
        if before.question != entry.question:
            raise InputError(
                f"{where}: question {entry.question.id} differs from {before.where}; rows of one question_id must agree in "
                "question, reference, rationale, transcription, document, domain, category and source"
            )
        found[entry.question.id] = Incoming(
            before.question, before.candidates + entry.candidates, before.where
        )
    if not found:
        raise InputError(f"{path}: no rows; expected {_QUESTION}")
    return list(found.values())


def _incoming(row: Any, where: str) -> Incoming:
    remedy = f"expected {_QUESTION}"
    if isinstance(row, dict):
        row = {name: value for name, value in row.items() if name != "version"}  # of the study it comes from
    if isinstance(row, dict) and "candidate" in row:
        if "candidates" in row:
            raise InputError(f"{where}: has both candidate and candidates; keep one")
        flat = validated(_CandidateRow, row, where, remedy=remedy)
        question: Question = flat
        candidates: tuple[tuple[str | None, str, str], ...] = ((flat.key, flat.model, flat.text),)
    else:
        question = listed = validated(_QuestionRow, row, where, remedy=remedy)
        candidates = tuple((each.id, each.model, each.text) for each in listed.candidates or ())
    plain = Question(**{name: getattr(question, name) for name in Question.__dataclass_fields__})
    return Incoming(plain, candidates, where)


class _Document(Checked):
    model_config = ConfigDict(extra="ignore")

    id: Id
    text: Text


def read_documents(path: Path) -> dict[str, str]:
    """Read source documents by id: JSON Lines with ``id`` and ``text``, or a folder of ``.txt`` files (id: name without ``.txt``).

    Raises:
        InputError: names file, row and remedy.
    """
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
    for where, document in _rows(path, _Document, _DOCUMENT):
        if document.id in found:
            raise InputError(f"{where}: document {document.id} came before; give each its own id")
        found[document.id] = document.text
    return found


def write_rows(path: Path, found: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON Lines, whole or not at all; return how many.

    Raises:
        InputError: the file cannot be written.
    """
    keep_databases(path)
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in found]
    write_whole(path, lines, remedy="choose another place with --out")
    return len(lines)


def keep_databases(path: Path) -> None:
    """Refuse to write over a study, or any other database.

    Raises:
        InputError: the file is one.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except OSError:
        return  # not there, or the writing itself will say why not
    if head == _SQLITE:
        raise InputError(f"{path}: is a database, perhaps the study; choose another place with --out")


def annotation_rows(study: Study) -> list[dict[str, Any]]:
    """Return all annotations, also of superseded versions; :func:`read_annotations` reads them back."""
    rows = [asdict(annotation) for annotation in study.annotations()]
    return [{"item": row.pop("candidate"), **row, "codes": list(row["codes"])} for row in rows]


def _whole(value: Any) -> Any:
    if isinstance(value, bool | str) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("must be a whole number, or null")
    return value


def _time(value: str) -> str:
    try:
        if value:
            datetime.strptime(value, TIME)
    except ValueError:
        raise ValueError("must be a time of UTC such as 2026-01-31T12:00:00Z, or left out") from None
    return value


class _AnnotationRow(Checked):
    item: Id
    annotator: Text
    rating: Annotated[int | None, BeforeValidator(_whole)] = None
    codes: tuple[Literal["Q", "A", "R", "U", "E"], ...] = ()
    comment: Words = ""
    at: Annotated[Words, AfterValidator(_time)] = ""


def read_annotations(path: Path, scale: Scale) -> list[Annotation]:
    """Read annotations from JSON Lines and check all of them.

    Raises:
        InputError: names file, row and remedy.
    """
    found: dict[tuple[str, str], str] = {}
    annotations = []
    for where, given in _rows(path, _AnnotationRow, _ANNOTATION):
        codes = "".join(code for code in CODES if code in given.codes)
        annotation = Annotation(
            given.item, given.annotator, given.rating, codes, given.comment.strip(), given.at
        )
        check_annotation(annotation, scale, f"{where}: ")
        key = (annotation.candidate, annotation.annotator)
        if key in found:
            raise InputError(
                f"{where}: {annotation.annotator} annotated {annotation.candidate} before, in {found[key]}; keep one of them"
            )
        found[key] = where
        annotations.append(annotation)
    return annotations


def review_rows(study: Study, *, every: bool = False) -> list[dict[str, Any]]:
    """Return the questions for experts: those whose newest version has the codes Q, A or R, a comment, or no annotation at all.

    The texts are those of the newest version: an expert changes them and sets ``decision``. What an expert had before them when they
    decided to keep a question is not shown again.
    """
    candidates = {candidate.id: candidate for candidate in study.candidates(current=True)}
    seen = study.seen()
    touched = {row["question_id"] for row in study.corrections() if row["decision"] == "keep"}
    flags: dict[str, list[dict[str, str]]] = {}
    for annotation in study.annotations():
        if (candidate := candidates.get(annotation.candidate)) is None:
            continue
        touched.add(candidate.question_id)
        flagged = bool(annotation.comment) or any(code in QUESTION_CODES for code in annotation.codes)
        flag = (annotation.candidate, annotation.annotator, annotation.codes, annotation.comment)
        if flagged and flag not in seen.get((candidate.question_id, candidate.version), ()):
            row = dict(zip(_Flag.model_fields, flag, strict=True))
            flags.setdefault(candidate.question_id, []).append(row)
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
        if every or asked.id in flags or asked.id not in touched
    ]


class _Flag(Checked):
    item: str
    annotator: str
    codes: str
    comment: str


class _ReviewRow(Checked):
    question_id: Id
    decision: Literal["keep", "correct", "remove"]
    version: Annotated[int, Strict()] | None = None
    question: Text = ""
    reference: Text = ""
    rationale: Perhaps = None
    transcription: Perhaps = None
    note: Words = ""
    flags: tuple[_Flag, ...] | None = None


def read_reviews(path: Path) -> list[Review]:
    """Read experts' decisions from JSON Lines, as :func:`review_rows` gives them, edited.

    Raises:
        InputError: names file, row and remedy.
    """
    reviews: dict[str, Review] = {}
    remedy = "leave version and flags as `lct annotate review` wrote them; "
    for where, review in _rows(path, _ReviewRow, _REVIEW, remedy):
        if review.question_id in reviews:
            raise InputError(
                f"{where}: question {review.question_id} came before; keep one row of each question"
            )
        changes = review.model_dump(include=review.model_fields_set & set(FIELDS))
        seen = None
        if review.flags is not None:
            seen = tuple((each.item, each.annotator, each.codes, each.comment) for each in review.flags)
        reviews[review.question_id] = Review(
            review.question_id, review.decision, changes, review.note, review.version, seen
        )
    return list(reviews.values())


def label_rows(study: Study) -> list[dict[str, Any]]:
    """Return what people wrote about passages: ``domain``, ``passage``, ``labels``, ``annotator``, ``source``.

    Raises:
        InputError: people rate in this study.
    """
    if not study.scale.writes:
        raise InputError(f"{study.path}: holds ratings and no labels; make a study with --scale labels")
    questions = {question.id: question for question in study.questions()}
    asked = {candidate.id: questions[candidate.question_id] for candidate in study.candidates(current=True)}
    return [
        {
            "domain": asked[annotation.candidate].domain,
            "passage": asked[annotation.candidate].reference,
            "labels": [label.strip() for label in re.split(r"[;\n]", annotation.comment) if label.strip()],
            "annotator": annotation.annotator,
            "source": asked[annotation.candidate].source,
        }
        for annotation in study.annotations()
        if annotation.candidate in asked and annotation.comment
    ]


def training_rows(
    study: Study, *, before: bool = False, without: Collection[tuple[str, str | None]] = ()
) -> list[dict[str, Any]]:
    """Return the rated candidates in the format of ORCA's training data, with the scale beside the ratings.

    The released ORCA code wants a rationale on every row and ratings of 1 to 5; ours reads ``scale``.

    Args:
        study: open.
        before: also what a correction or a removal has made invalid.
        without: annotator and document whose ratings are left out; document None: all of the annotator's.
    """
    questions = {(question.id, question.version): question for question in study.all_versions()}
    documents = study.documents_of_candidates()
    ratings = ratings_of(
        annotation
        for annotation in study.annotations()
        if (annotation.annotator, None) not in without
        and (annotation.annotator, documents[annotation.candidate]) not in without
    )
    found = []
    for candidate in study.candidates(current=not before):
        if candidate.id not in ratings:
            continue
        asked = questions[candidate.question_id, candidate.version]
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
        found.append(row)
    return found
