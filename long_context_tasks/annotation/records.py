"""What a study holds: questions in versions, candidate answers, annotations, corrections."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows

FIELDS = ("question", "reference", "rationale", "transcription")
"""What a correction can change."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How times are written; always UTC."""
_MAY_BE_EMPTY = ("rationale", "transcription")


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

    id: str
    question: str
    reference: str
    rationale: str | None = None
    transcription: str | None = None
    document: str | None = None
    domain: str = ""
    category: str = ""
    source: str = ""
    version: int = 1

    def field(self, name: str) -> str | None:
        """One of :data:`FIELDS`."""
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
    """What one person said of one candidate.

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
    """A question as a file gives it, with the candidates that stand beside it: ``(id or None, model, text)``."""

    question: Question
    candidates: tuple[tuple[str | None, str, str], ...]
    where: str


def rows(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of a JSON Lines file, each with its place for messages; blank lines are skipped.

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


def text(
    row: Mapping[str, Any], name: str, where: str, *, needed: bool = True, empty: bool = False
) -> str | None:
    """A field that holds text.

    Args:
        row: of a file.
        name: of the field.
        where: names the row in messages.
        needed: whether it may be missing or null.
        empty: whether it may hold nothing but white space.

    Raises:
        InputError: it is missing, no text, empty, or holds half of a surrogate pair.
    """
    value = row.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str):
        raise InputError(
            f"{where}: {name} is {'missing' if value is None else json.dumps(value)[:40]}; write text"
        )
    if not empty and not value.strip():
        raise InputError(f"{where}: {name} is empty; write text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: {name} holds broken text ({error.reason}); save it anew as UTF-8"
        ) from error
    return value


def identifier(row: Mapping[str, Any], name: str, where: str) -> str:
    """An id: text or a whole number, of printable characters on one line.

    Raises:
        InputError: anything else.
    """
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{where}: {name} is {json.dumps(value)[:40]}; give it a short text on one line")
    return value


_ROW = (
    '{"id": "q1", "question": "...", "reference": "...", "candidates": [{"model": "m", "text": "..."}]} or '
    '{"id": "q1/m", "question_id": "q1", "question": "...", "reference": "...", "candidate": "...", "candidate_model": "m"}'
)


def read_questions(path: Path) -> list[Incoming]:
    """Questions, with or without candidates, from JSON Lines.

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


def _incoming(row: Mapping[str, Any], where: str) -> Incoming:
    flat = "candidate" in row
    if flat and "candidates" in row:
        raise InputError(f"{where}: has both candidate and candidates; keep one")
    question = Question(
        identifier(row, "question_id" if flat else "id", where),
        text(row, "question", where) or "",
        text(row, "reference", where) or "",
        text(row, "rationale", where, needed=False, empty=True) or None,
        text(row, "transcription", where, needed=False, empty=True) or None,
        identifier(row, "document", where) if row.get("document") is not None else None,
        domain=text(row, "domain", where, needed=False, empty=True) or "",
        category=text(row, "category", where, needed=False, empty=True) or "",
        source=text(row, "source", where, needed=False, empty=True) or "",
    )
    if flat:
        model = identifier(row, "candidate_model", where)
        given = (identifier(row, "id", where), model, text(row, "candidate", where, empty=True) or "")
        return Incoming(question, (given,), where)
    listed = row.get("candidates") or []
    if not isinstance(listed, list):
        raise InputError(f'{where}: candidates must be a list such as [{{"model": "m", "text": "..."}}]')
    candidates = []
    for number, each in enumerate(listed, start=1):
        place = f"{where}, candidate {number}"
        if not isinstance(each, Mapping):
            raise InputError(f'{place}: write {{"model": "m", "text": "..."}}')
        own = identifier(each, "id", place) if each.get("id") is not None else None
        candidates.append(
            (own, identifier(each, "model", place), text(each, "text", place, empty=True) or "")
        )
    return Incoming(question, tuple(candidates), where)


def read_documents(path: Path) -> dict[str, str]:
    """Source documents by id: JSON Lines with ``id`` and ``text``, or a folder of ``.txt`` files (id: name without ``.txt``).

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
        key = identifier(row, "id", where)
        if key in found:
            raise InputError(f"{where}: document {key} came before; give each its own id")
        found[key] = text(row, "text", where) or ""
    return found


# What an annotation may hold, wherever it comes from: the page, a file, or the study itself.


NAME_MAX = 64
COMMENT_MAX = 10_000


def name_problem(name: str) -> str | None:
    """What is wrong with a person's name; None: nothing."""
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
