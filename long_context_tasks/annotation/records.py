"""What a study holds: its scale, questions in versions, candidate answers, annotations, corrections.

The scale with its feedback codes and guidelines comes from a small YAML file. The five codes are fixed, since the statistics know
them (ORCA paper, Appendix A); how they read is up to the file.
"""

import importlib.resources
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    field_validator,
)

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.validated import Checked, validated

FIELDS = ("question", "reference", "rationale", "transcription")
"""What a correction can change."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How times are written; always UTC."""
CODES = "QARUE"
"""Question incomplete, rationale insufficient (A), Reference flawed, Unable to judge (ambiguous), lack of Expertise."""
QUESTION_CODES = "QAR"
"""Those that ask for a correction of the question, its rationale or its reference."""
DEFAULT_SCALE = "orca"
_SCALES = importlib.resources.files("long_context_tasks.annotation") / "scales"
SHIPPED = tuple(sorted(file.name.removesuffix(".yaml") for file in _SCALES.iterdir()))
"""Names of the scales that come with the package."""
MAX_STEPS = 11
NAME_MAX = 64
COMMENT_MAX = 10_000


class Step(Checked):
    """A row of the scale.

    Attributes:
        values: ratings that this row describes, ascending.
        label: its name, may be empty.
        text: what it means.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    values: tuple[Annotated[int, Strict(), Field(ge=0)], ...]
    label: str = ""
    text: str = ""


class Code(Checked):
    """A feedback code as annotators read it."""

    model_config = ConfigDict(str_strip_whitespace=True)

    label: str
    text: str = ""


class Scale(Checked):
    """What annotators are asked.

    Attributes:
        title: of the study.
        source: what the source is called, such as document or audio.
        writes: what annotators write about a passage, such as Labels, in place of rating an answer; empty where they rate.
        steps: of the scale, ascending; ``scale`` in the file.
        codes: the five of :data:`CODES`, in that order.
        guidelines: plain text.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    title: str = "Annotation"
    source: str = "document"
    writes: str = ""
    steps: tuple[Step, ...] = Field(alias="scale")
    codes: dict[str, Code]
    guidelines: str = ""

    @field_validator("steps")
    @classmethod
    def _ascending(cls, steps: tuple[Step, ...], info: ValidationInfo) -> tuple[Step, ...]:
        values = [value for step in steps for value in step.values]
        if info.data.get("writes"):
            if values:
                raise ValueError("must be [] where annotators write")
        elif not 2 <= len(values) <= MAX_STEPS or values != list(range(values[0], values[-1] + 1)):
            raise ValueError(
                f"must hold 2 to {MAX_STEPS} ratings, whole numbers that follow each other, ascending: "
                "[{values: [1], label: Wrong, text: The answer is wrong.}, ...]"
            )
        return steps

    @field_validator("codes")
    @classmethod
    def _all_five(cls, codes: dict[str, Code]) -> dict[str, Code]:
        if set(codes) != set(CODES):
            raise ValueError(f"must hold exactly {', '.join(CODES)}, each with label and text")
        return {code: codes[code] for code in CODES}

    @property
    def values(self) -> tuple[int, ...]:
        """All ratings, ascending."""
        return tuple(value for step in self.steps for value in step.values)

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest rating; zeros where annotators write."""
        return min(self.values, default=0), max(self.values, default=0)

    def as_row(self) -> dict[str, Any]:
        """Return the content of the YAML file."""
        return self.model_dump(by_alias=True, mode="json")


def load_scale(name: str = DEFAULT_SCALE) -> Scale:
    """Return a scale that comes with the package, by name, or one from a YAML file.

    Raises:
        InputError: no such file, or a file that is no scale.
    """
    file = _SCALES / f"{name}.yaml"
    with importlib.resources.as_file(file) if name in SHIPPED else nullcontext(Path(name)) as path:
        found = read_yaml(path, "scale", remedy=f"give a YAML file or one of {', '.join(SHIPPED)}")
        return validated(Scale, found, str(name))


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

    @property
    def texts(self) -> dict[str, str | None]:
        """What a correction can change: :data:`FIELDS`."""
        return {name: getattr(self, name) for name in FIELDS}


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
        codes: letters of the feedback codes, in the order of :data:`CODES`.
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
    for annotation in annotations:
        if annotation.rating is not None:
            found.setdefault(annotation.candidate, []).append(annotation.rating)
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


def name_problem(name: str) -> str | None:
    """Return what is wrong with a person's name; None without a problem."""
    if not name.strip() or name != name.strip() or len(name) > NAME_MAX or not name.isprintable():
        return f"a name has 1 to {NAME_MAX} printable characters, none of them a blank at an end"
    return None


def check_annotation(annotation: Annotation, scale: Scale, where: str = "") -> None:
    """Refuse an annotation that the study's scale does not allow.

    Args:
        annotation: with values of the right types.
        scale: of the study.
        where: begins the message.

    Raises:
        InputError: says which and why.
    """
    low, high = scale.bounds
    if problem := name_problem(annotation.annotator):
        pass
    elif annotation.rating is not None and annotation.rating not in scale.values:
        problem = (
            f"rating {annotation.rating!r} is no whole number from {low} to {high}; correct it, or write null"
        )
    elif annotation.codes != "".join(code for code in CODES if code in annotation.codes):
        problem = f"codes {annotation.codes!r} are not among {', '.join(CODES)}"
    elif len(annotation.comment) > COMMENT_MAX:
        problem = f"the comment has more than {COMMENT_MAX:,} characters"
    elif annotation.rating is None and not annotation.codes and not annotation.comment:
        problem = "says nothing; give a rating, a code or a comment"
    if problem:
        raise InputError(
            f"{where}annotation of {annotation.candidate} by {annotation.annotator!r}: {problem}"
        )
