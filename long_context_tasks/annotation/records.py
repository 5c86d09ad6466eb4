"""What a study holds: questions in versions, candidate answers, annotations, corrections."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.validated import Checked, validated

FIELDS = ("question", "reference", "rationale", "transcription")
"""What a correction can change."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How times are written; always UTC."""


def _encodable(value: str | None) -> str | None:
    try:
        (value or "").encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"holds broken text ({error.reason}); save it anew as UTF-8") from None
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty; write text")
    return value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _one_line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("must be a short text on one line")
    return value


Sound = Annotated[str, AfterValidator(_encodable)]
"""Text that UTF-8 can hold."""
Text = Annotated[Sound, AfterValidator(_not_blank)]
Words = Annotated[Sound, BeforeValidator(lambda value: "" if value is None else value)]
"""Text that may be empty or null."""
Perhaps = Annotated[str | None, BeforeValidator(lambda value: value or None), AfterValidator(_encodable)]
"""Text; None where it is empty."""
Id = Annotated[str, BeforeValidator(_as_text), AfterValidator(_one_line)]
"""Text, or a whole number, of printable characters on one line."""


@dataclass(frozen=True)
class Question:
    """A question in one of its versions.

    Attributes:
        id: of the question; the same in all versions.
        question, reference: texts.
        rationale: why the reference is right; None while it is not written.
        transcription: of speech in the source, None when there is none.
        document: id of the source document, None when there is none.
        domain, category, source: for statistics and splits; ``source`` names the benchmark, say.
        version: 1 as it came, one more after each correction.
    """

    id: Id
    question: Text
    reference: Text
    rationale: Perhaps = None
    transcription: Perhaps = None
    document: Id | None = None
    domain: Words = ""
    category: Words = ""
    source: Words = ""
    version: int = 1

    def field(self, name: str) -> str | None:
        """Return one of :data:`FIELDS`."""
        value = getattr(self, name)
        return None if value is None else str(value)


@dataclass(frozen=True)
class Candidate:
    """A model's answer to a question, the thing that is rated."""

    id: str
    question_id: str
    version: int
    model: str
    text: str


@dataclass(frozen=True)
class Annotation:
    """What a person says of a candidate.

    Attributes:
        candidate: its id.
        annotator: name of the person.
        rating: on the study's scale, None when the person could or would not judge.
        codes: letters of the feedback codes, in the order of :data:`~long_context_tasks.annotation.scale.CODES`.
        comment: free text.
        at: time of UTC, ISO 8601; empty when it is not known.
    """

    candidate: str
    annotator: str
    rating: int | None = None
    codes: str = ""
    comment: str = ""
    at: str = ""


def ratings_of(annotations: Iterable[Annotation]) -> dict[str, list[int]]:
    """Return the ratings of each candidate that has any, in the order of the annotations."""
    found: dict[str, list[int]] = {}
    for one in annotations:
        if one.rating is not None:
            found.setdefault(one.candidate, []).append(one.rating)
    return found


@dataclass(frozen=True)
class Review:
    """An expert's decision on a question.

    Attributes:
        question_id: of the question.
        decision: ``keep`` (nothing is wrong), ``correct`` or ``remove``.
        changes: field to corrected text, for ``correct``.
        note: why.
        version: that was reviewed; None takes the current one.
        seen: flags that the expert had before them, ``(candidate, annotator, codes, comment)``; None: all that there are.
    """

    question_id: str
    decision: str
    changes: Mapping[str, str | None]
    note: str = ""
    version: int | None = None
    seen: tuple[tuple[str, str, str, str], ...] | None = None


@dataclass(frozen=True)
class Incoming:
    """A question as a file gives it, with its candidates: ``(id or None, model, text)``."""

    question: Question
    candidates: tuple[tuple[str | None, str, str], ...]
    where: str


def rows(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with its place for messages; blank lines are skipped.

    Args:
        path: of the file.
        what: a row as it should be, for messages.

    Raises:
        InputError: the file or a row cannot be read.
    """
    for where, row in json_rows(path, f"JSON Lines, {what}"):
        if not isinstance(row, dict):
            raise InputError(f"{where}: not an object; expected {what}")
        yield where, row


_ROW = (
    '{"id": "q1", "question": "...", "reference": "...", "candidates": [{"model": "m", "text": "..."}]} or '
    '{"id": "q1/m", "question_id": "q1", "question": "...", "reference": "...", "candidate": "...", "candidate_model": "m"}'
)


def read_questions(path: Path) -> list[Incoming]:
    """Read questions, with or without candidates, from JSON Lines.

    A row is a question with a list ``candidates``, or one candidate with ``question_id``, ``candidate`` and
    ``candidate_model`` as in ORCA's data; rows of one question must agree.

    Raises:
        InputError: names file, row and remedy.
    """
    found: dict[str, Incoming] = {}
    for where, row in rows(path, _ROW):
        one = _incoming(row, where)
        before = found.get(one.question.id)
        if before is None:
            found[one.question.id] = one
            continue
        if "candidate" not in row:
            raise InputError(
                f"{where}: question {one.question.id} came before ({before.where}); give each its own id"
            )
        if before.question != one.question:
            raise InputError(
                f"{where}: question {one.question.id} differs from {before.where}; rows of one question_id must agree in "
                "question, reference, rationale, transcription, document, domain, category and source"
            )
        found[one.question.id] = Incoming(before.question, before.candidates + one.candidates, before.where)
    if not found:
        raise InputError(f"{path}: no rows; expected {_ROW}")
    return list(found.values())


class _Candidate(Checked):
    model_config = ConfigDict(extra="ignore")

    model: Id
    text: Sound
    id: Id | None = None


class _Listed(Checked):
    model_config = ConfigDict(extra="ignore")

    candidates: tuple[_Candidate, ...] | None = None


_OF_QUESTIONS = tuple(name for name in Question.__dataclass_fields__ if name not in ("id", "version"))


def _incoming(row: Mapping[str, Any], where: str) -> Incoming:
    flat = "candidate" in row
    if flat and "candidates" in row:
        raise InputError(f"{where}: has both candidate and candidates; keep one")
    key = "question_id" if flat else "id"
    given = {name: row[name] for name in _OF_QUESTIONS if name in row}
    given |= {"id": row[key]} if key in row else {}
    question = validated(Question, given, where, places={"id": f"{where}: {key}"})
    if flat:
        names = {"id": "id", "model": "candidate_model", "text": "candidate"}
        places = {ours: f"{where}: {theirs}" for ours, theirs in names.items()}
        given = {ours: row[theirs] for ours, theirs in names.items() if theirs in row}
        if given.get("id") is None:
            raise InputError(f"{where}: id is missing")
        listed: tuple[_Candidate, ...] = (validated(_Candidate, given, where, places=places),)
    else:
        remedy = 'candidates are a list such as [{"model": "m", "text": "..."}]'
        listed = validated(_Listed, row, where, remedy=remedy).candidates or ()
    return Incoming(question, tuple((each.id, each.model, each.text) for each in listed), where)


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
    for where, row in rows(path, '{"id": "meeting1", "text": "..."}'):
        one = validated(_Document, row, where)
        if one.id in found:
            raise InputError(f"{where}: document {one.id} came before; give each its own id")
        found[one.id] = one.text
    return found


NAME_MAX = 64
COMMENT_MAX = 10_000


def name_problem(name: str) -> str | None:
    """Return what is wrong with a person's name; None without a problem."""
    if not name.strip() or name != name.strip() or len(name) > NAME_MAX or not name.isprintable():
        return f"a name has 1 to {NAME_MAX} printable characters, none of them a blank at an end"
    return None


def check_annotation(one: Annotation, scale: Scale) -> None:
    """Refuse an annotation that the study's scale does not allow.

    Raises:
        InputError: says which and why.
    """
    who = f"annotation of {one.candidate} by {one.annotator!r}"
    if problem := name_problem(one.annotator):
        raise InputError(f"{who}: {problem}")
    if one.rating is not None and (isinstance(one.rating, bool) or one.rating not in scale.values):
        low, high = scale.bounds
        raise InputError(
            f"{who}: rating {one.rating!r} is no whole number from {low} to {high}; correct it, or write null"
        )
    if one.codes != "".join(code for code in CODES if code in one.codes):
        raise InputError(f"{who}: codes {one.codes!r} are not among {', '.join(CODES)}")
    if len(one.comment) > COMMENT_MAX:
        raise InputError(f"{who}: the comment has more than {COMMENT_MAX:,} characters")
    if one.rating is None and not one.codes and not one.comment:
        raise InputError(f"{who}: says nothing; give a rating, a code or a comment")


def check_types(one: Annotation) -> None:
    """Refuse values of other types than the class says.

    Raises:
        InputError: says whose.
    """
    # SQLite stores any type in any column.
    texts = (one.annotator, one.codes, one.comment, one.at)
    if not all(isinstance(each, str) for each in texts) or not isinstance(one.rating, int | None):
        raise InputError(f"annotation of {one.candidate} by {one.annotator!r}: a value of the wrong type")
