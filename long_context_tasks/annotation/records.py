"""Records of a study: questions in versions, candidate answers, annotations and experts' reviews, checked when they are read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Strict

from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.schema.validated import Checked

FIELDS = ("question", "reference", "rationale", "transcription")
"""Texts of a question that a correction can change."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Format of all times, which are in UTC."""
NAME_MAX = 64
COMMENT_MAX = 10_000


# Half of a surrogate pair could not be written to UTF-8 files later.
def _encodable(value: str | None) -> str | None:
    try:
        (value or "").encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"holds broken text ({error.reason}); save it as UTF-8") from None
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty; write text")
    return value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# Ids appear in messages, which are single lines.
def _one_line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("must be a short text on one line")
    return value


# pydantic would convert "4", 4.0 and true.
def _whole(value: Any) -> Any:
    if isinstance(value, bool | str) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("must be a whole number, or null")
    return value


def _time(value: str) -> str:
    try:
        if value:
            datetime.strptime(value, TIME)
    except ValueError:
        raise ValueError("must be a time in UTC such as 2026-01-31T12:00:00Z, or left out") from None
    return value


# Annotators and editors may name codes in any order; equal feedback must be equal text.
def _in_order(value: Any) -> Any:
    return "".join(sorted(value, key=CODES.find)) if isinstance(value, str) else value


Sound = Annotated[str, AfterValidator(_encodable)]
"""Text that UTF-8 can hold."""
Text = Annotated[Sound, AfterValidator(_not_blank)]
Words = Annotated[Sound, BeforeValidator(lambda value: "" if value is None else value)]
"""Text that may be empty or null."""
Perhaps = Annotated[str | None, BeforeValidator(lambda value: value or None), AfterValidator(_encodable)]
"""Text; None if it is empty."""
Id = Annotated[str, BeforeValidator(_as_text), AfterValidator(_one_line)]
"""Printable text on one line, or a whole number."""


@dataclass(frozen=True)
class StudyQuestion:
    id: Id  # the same in all versions
    question: Text
    reference: Text
    rationale: Perhaps = None  # why the reference is right; None until it is written
    transcription: Perhaps = None  # transcript of speech in the source
    document: Id | None = None  # id of the source document
    # domain, category, source: labels for statistics and splits; source is the benchmark, for example
    domain: Words = ""
    category: Words = ""
    source: Words = ""
    version: int = 1  # 1 for the original, one more after each correction

    @property
    def key(self) -> tuple[str, int]:
        return self.id, self.version

    @property
    def texts(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in FIELDS}


@dataclass(frozen=True)
class CandidateAnswer:
    id: Id
    question_id: Id
    version: int
    model: Id
    text: Sound

    @property
    def question(self) -> tuple[str, int]:
        return self.question_id, self.version


@dataclass(frozen=True)
class Annotation:
    # A misspelt field would otherwise lose a rating silently.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    candidate: Id
    annotator: Text
    # On the study's scale; None if the person could not or would not judge.
    rating: Annotated[int | None, BeforeValidator(_whole)] = None
    # Letters of the feedback codes, in the order of CODES.
    codes: Annotated[str, BeforeValidator(_in_order)] = ""
    comment: Words = ""
    at: Annotated[Words, AfterValidator(_time)] = ""  # time in UTC, ISO 8601; empty if unknown

    @property
    def flag(self) -> tuple[str, str, str, str]:
        """The feedback in it, without rating and time."""
        return self.candidate, self.annotator, self.codes, self.comment


class Flag(Checked):
    candidate: str
    annotator: str
    codes: str
    comment: str


class ExpertReview(Checked):
    """An expert's decision on a question: a row of ``lct annotate review``, edited."""

    question_id: Id
    decision: Literal["keep", "correct", "remove"]
    version: Annotated[int, Strict()] | None = None  # the version that was reviewed; None for the newest
    # question, reference, rationale, transcription: corrected texts; a text that was left out does not change
    question: Text = ""
    reference: Text = ""
    rationale: Perhaps = None
    transcription: Perhaps = None
    note: Words = ""
    flags: tuple[Flag, ...] | None = None  # flags that the expert saw; None for all that there are


class AppliedReview(Checked):
    question_id: str
    version: int
    decision: Literal["keep", "correct", "remove"]
    editor: str
    note: str
    at: str
    changes: dict[str, dict[Literal["old", "new"], str | None]]  # field to its old and new text
    # Flags that the expert saw when they kept the question; other flags ask for a new review.
    seen: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True)
class Incoming:
    """A question from a file with its candidates, each ``(id or None, model, text)``."""

    question: StudyQuestion
    candidates: tuple[tuple[str | None, str, str], ...]
    where: str


def ratings_of(annotations: Iterable[Annotation]) -> dict[str, list[int]]:
    """Return the ratings of each candidate that has any, in the order of the annotations."""
    found: dict[str, list[int]] = {}
    for annotation in annotations:
        if annotation.rating is not None:
            found.setdefault(annotation.candidate, []).append(annotation.rating)
    return found


def name_problem(name: str) -> str | None:
    """Explain why a text cannot be a person's name; None if it can."""
    if not name.strip() or name != name.strip() or len(name) > NAME_MAX or not name.isprintable():
        return f"a name has 1 to {NAME_MAX} printable characters and no blank at either end"
    return None


def annotation_problem(annotation: Annotation, scale: Scale) -> str | None:
    """Explain why the scale of a study does not allow an annotation; None if it does."""
    low, high = scale.bounds
    if problem := name_problem(annotation.annotator):
        pass
    elif annotation.rating is not None and annotation.rating not in scale.values:
        problem = f"rating {annotation.rating!r} is not a whole number from {low} to {high}; correct it, or write null"
    elif annotation.codes != "".join(code for code in CODES if code in annotation.codes):
        problem = f"codes {annotation.codes!r} are not among {', '.join(CODES)}"
    elif len(annotation.comment) > COMMENT_MAX:
        problem = f"the comment has more than {COMMENT_MAX:,} characters"
    # Such a row would be counted as an annotation, although it holds none.
    elif annotation.rating is None and not annotation.codes and not annotation.comment:
        problem = "it is empty; give a rating, a code or a comment"
    return problem and f"annotation of {annotation.candidate} by {annotation.annotator!r}: {problem}"
