"""A study in one JSON file: versioned questions, candidate answers, annotations and expert reviews.

:func:`changing` reads and replaces the file under a lock, so a killed process changes nothing and two
processes cannot overwrite each other's changes. Studies are small enough (thousands of answers) to be read
whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from filelock import FileLock
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Strict

from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import read_json, write_json
from long_context_tasks.schema.validated import Checked, validated

FIELDS = ("question", "reference", "rationale", "transcription")
"""Texts of a question that a correction can change."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Format of all times, which are in UTC."""
NAME_MAX = 64
_EDITED = "was it edited by hand? Take an older copy, or make a new study from its exports"


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


Text = Annotated[str, AfterValidator(_not_blank)]
Words = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Perhaps = Annotated[str | None, BeforeValidator(lambda value: value or None)]
"""Text; an empty one becomes None."""
Id = Annotated[str, BeforeValidator(_as_text), AfterValidator(_one_line)]
"""Single-line printable text, or an integer."""
_Whole = Annotated[int, Strict()]
Decision = Literal["keep", "correct", "remove"]


@dataclass(frozen=True)
class StudyQuestion:
    id: Id  # the same in all versions
    question: Text
    reference: Text
    rationale: Perhaps = None  # why the reference is right; None if not yet written
    transcription: Perhaps = None  # transcript of speech in the source
    document: Id | None = None  # id of the source document
    # domain, category, source: labels for statistics and splits; source is, for example, the benchmark
    domain: Words = ""
    category: Words = ""
    source: Words = ""
    version: int = 1  # 1 for the original, plus one per correction

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
    text: str

    @property
    def question(self) -> tuple[str, int]:
        return self.question_id, self.version


@dataclass(frozen=True)
class Flag:
    """The feedback in an annotation, without rating and time."""

    candidate: str
    annotator: str
    codes: str
    comment: str


@dataclass(frozen=True)
class Annotation:
    # Otherwise a misspelt field would silently lose a rating.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    candidate: Id
    annotator: Text
    rating: _Whole | None = None  # on the study's scale; None if the annotator could not or would not judge
    # Letters of the feedback codes, in the order of CODES, so that equal feedback is equal text.
    codes: str = ""
    comment: Words = ""
    at: Words = ""  # UTC time, ISO 8601; empty if unknown

    @property
    def flag(self) -> Flag:
        return Flag(self.candidate, self.annotator, self.codes, self.comment)


class ExpertReview(Checked):
    """An expert's decision on a question: an edited row of ``lct annotate review``."""

    question_id: Id
    decision: Decision
    version: _Whole | None = None  # the reviewed version; None for the newest
    # question, reference, rationale, transcription: corrected texts; an omitted text is unchanged
    question: Text = ""
    reference: Text = ""
    rationale: Perhaps = None
    transcription: Perhaps = None
    note: Words = ""
    flags: tuple[Flag, ...] | None = None  # flags the expert saw; None for all existing ones


class AppliedReview(Checked):
    question_id: str
    version: int
    decision: Decision
    editor: str
    note: str
    at: str
    changes: dict[str, dict[Literal["old", "new"], str | None]]  # field -> its old and new text
    # Flags the expert saw when keeping the question; other flags require a new review.
    seen: tuple[Flag, ...] = ()


@dataclass(frozen=True)
class Incoming:
    """A question from a file with its candidates, each ``(id or None, model, text)``."""

    question: StudyQuestion
    candidates: tuple[tuple[str | None, str, str], ...]
    where: str


def ratings_of(annotations: Iterable[Annotation]) -> dict[str, list[int]]:
    """Return the ratings of each rated candidate, in annotation order."""
    found: dict[str, list[int]] = {}
    for annotation in annotations:
        if annotation.rating is not None:
            found.setdefault(annotation.candidate, []).append(annotation.rating)
    return found


def name_problem(name: str) -> str | None:
    """Return why a string is not a valid annotator name, or None if it is valid."""
    if not name.strip() or name != name.strip() or len(name) > NAME_MAX or not name.isprintable():
        return f"a name has 1 to {NAME_MAX} printable characters and no blank at either end"
    return None


def annotation_problem(annotation: Annotation, scale: Scale) -> str | None:
    """Explain why a study's scale does not allow an annotation; None if it does."""
    low, high = scale.bounds
    if problem := name_problem(annotation.annotator):
        pass
    elif annotation.rating is not None and annotation.rating not in scale.values:
        problem = f"rating {annotation.rating!r} is not a whole number from {low} to {high}; correct it, or write null"
    elif annotation.codes != "".join(code for code in CODES if code in annotation.codes):
        problem = f"codes {annotation.codes!r} are not among {', '.join(CODES)}, each once and in this order"
    # Such a row would count as an annotation although it is empty.
    elif annotation.rating is None and not annotation.codes and not annotation.comment:
        problem = "it is empty; give a rating, a code or a comment"
    return problem and f"annotation of {annotation.candidate} by {annotation.annotator!r}: {problem}"


class _StudyFile(Checked):
    study: Literal[1]  # format version; also distinguishes a study from other JSON files
    scale: Scale
    documents: dict[str, str]
    questions: list[StudyQuestion]
    candidates: list[CandidateAnswer]
    annotations: list[Annotation]
    reviews: list[AppliedReview]


@dataclass
class AnnotationStudy:
    """A study in memory. Methods that change it raise :class:`InputError` for bad input."""

    path: Path
    scale: Scale
    documents: dict[str, str] = field(default_factory=dict)
    # Question id -> all its versions, oldest first, including removed questions.
    versions: dict[str, list[StudyQuestion]] = field(default_factory=dict)
    answers: dict[str, CandidateAnswer] = field(default_factory=dict)  # candidate id -> candidate
    # (candidate, annotator) -> annotation
    given: dict[tuple[str, str], Annotation] = field(default_factory=dict)
    reviews: list[AppliedReview] = field(default_factory=list)  # the history, oldest first

    def questions(self) -> list[StudyQuestion]:
        """Return the newest version of each question that was not removed."""
        decisions = {review.question_id: review.decision for review in self.reviews}  # the last one counts
        return [versions[-1] for key, versions in self.versions.items() if decisions.get(key) != "remove"]

    def candidates(self, *, current: bool = False) -> list[CandidateAnswer]:
        """Return all candidates, or only those that answer :meth:`questions`."""
        if not current:
            return list(self.answers.values())
        counting = {question.key for question in self.questions()}
        return [each for each in self.answers.values() if each.question in counting]

    def annotations(self) -> list[Annotation]:
        """Return all annotations, sorted by candidate, then annotator."""
        # Makes the files of a study identical, regardless of who annotated first.
        rank = {key: number for number, key in enumerate(self.answers)}
        return sorted(self.given.values(), key=lambda each: (rank[each.candidate], each.annotator))

    def question_of(self, candidate: str) -> StudyQuestion:
        answer = self.answers[candidate]
        return self.versions[answer.question_id][answer.version - 1]

    def annotated(self) -> set[tuple[str, int]]:
        return {self.answers[candidate].question for candidate, _ in self.given}

    def add(
        self, incoming: Sequence[Incoming], documents: Mapping[str, str] | None = None
    ) -> tuple[int, int]:
        """Add questions and candidates that the study lacks; return how many of each are new."""
        for name, content in (documents or {}).items():
            if self.documents.setdefault(name, content) != content:
                raise InputError(
                    f"document {name} is in the study with a different text; give it a different id"
                )
        before = len(self.versions), len(self.answers)
        for entry in incoming:
            asked = self._add_question(entry)
            self._add_candidates(asked, entry.candidates, entry.where)
        return len(self.versions) - before[0], len(self.answers) - before[1]

    def _add_question(self, entry: Incoming) -> StudyQuestion:
        asked, where = entry.question, entry.where
        versions = self.versions.setdefault(asked.id, [])
        given = {name: text for name, text in asked.texts.items() if text is not None}
        for before in reversed(versions):
            if given.items() <= before.texts.items():
                # A file from before a correction may be added again, but a new answer in it would answer an
                # outdated question.
                models = {each.model for each in self.answers.values() if each.question == before.key}
                if before is versions[-1] or models.issuperset(model for _, model, _ in entry.candidates):
                    return before
        if versions:
            newest = versions[-1]
            differing = next(name for name, text in given.items() if text != newest.texts[name])
            raise InputError(
                f"{where}: {differing} of question {asked.id} differs from version {newest.version} in the study; correct it "
                "with `lct annotate correct`, or give it a different id"
            )
        if asked.document is not None and asked.document not in self.documents:
            raise InputError(
                f"{where}: document {asked.document} is missing; give it with --documents, or remove the field"
            )
        versions.append(asked)
        return asked

    def _add_candidates(
        self, asked: StudyQuestion, given: Iterable[tuple[str | None, str, str]], where: str
    ) -> None:
        # Ids include the version, because earlier answers keep theirs.
        name = asked.id if asked.version == 1 else f"{asked.id}@{asked.version}"
        known = {each.model: each for each in self.answers.values() if each.question == asked.key}
        for own_id, model, text in given:
            if (before := known.get(model)) is None:
                key = own_id or f"{name}/{model}"
                if key in self.answers:
                    raise InputError(f"{where}: the id {key} belongs to another candidate; choose another id")
                new = CandidateAnswer(key, asked.id, asked.version, model, text)
                self.answers[key] = known[model] = new
            elif before.text != text:
                raise InputError(
                    f"{where}: {model} has a different answer to question {asked.id} in the study ({before.id}); give one answer per model"
                )

    def add_answers(self, model: str, answers: Iterable[tuple[StudyQuestion, str]]) -> int:
        before = len(self.answers)
        for asked, text in answers:
            self._add_candidates(asked, [(None, model, text)], f"question {asked.id}")
        return len(self.answers) - before

    def set_rationales(self, rationales: Iterable[tuple[StudyQuestion, str]]) -> int:
        """Fill in missing rationales, except for annotated questions; return how many were added."""
        # Annotators rated the question as it was, so it must not change afterwards.
        annotated, count = self.annotated(), 0
        for asked, text in rationales:
            versions = self.versions[asked.id]
            before = versions[asked.version - 1]
            if before.rationale is None and before.key not in annotated:
                versions[asked.version - 1] = replace(before, rationale=text)
                count += 1
        return count

    def annotate(
        self,
        annotations: Iterable[Annotation],
        *,
        withdrawn: Iterable[tuple[str, str]] = (),
        may_replace: bool = True,
    ) -> int:
        """Store annotations and delete withdrawn ones; return the number of changes.

        ``withdrawn`` holds pairs of candidate and annotator.
        """
        count = 0
        for new in annotations:
            if new.candidate not in self.answers:
                raise InputError(
                    f"no candidate {new.candidate} in {self.path}; take the ids from an export of this study"
                )
            if problem := annotation_problem(new, self.scale):
                raise InputError(problem)
            before = self.given.get((new.candidate, new.annotator))
            # The time is not compared, so importing the same file again changes nothing.
            if before is not None and (before.rating, before.flag) == (new.rating, new.flag):
                continue
            if before is not None and not may_replace:
                raise InputError(
                    f"{new.annotator} has a different annotation of {new.candidate} in {self.path}; add --replace to change it"
                )
            self.given[new.candidate, new.annotator] = new
            count += 1
        for key in set(withdrawn) & self.given.keys():
            if not may_replace:
                raise InputError(
                    f"{key[1]} withdrew the annotation of {key[0]}, which {self.path} has; add --replace to delete it"
                )
            del self.given[key]
            count += 1
        return count

    def review(self, reviews: Sequence[ExpertReview], editor: str) -> tuple[int, int]:
        """Apply an expert's decisions; return the numbers of corrected questions and fields.

        A correction creates a new version, which has no candidates yet.
        """
        if problem := name_problem(editor):
            raise InputError(f"--editor: {problem}")
        fields = [self._apply(review, editor) for review in reviews]
        return sum(map(bool, fields)), sum(fields)

    def _apply(self, review: ExpertReview, editor: str) -> int:
        where = f"question {review.question_id}"
        if review.question_id not in self.versions:
            raise InputError(f"no {where} in {self.path}; take the ids from `lct annotate review`")
        before = self.versions[review.question_id][-1]
        # Another expert has corrected the question since the review file was written.
        if review.version not in (None, before.version):
            raise InputError(
                f"{where} is at version {before.version}, the review is of version {review.version}; write a new "
                "review file with `lct annotate review`"
            )
        given = review.model_dump(include=review.model_fields_set & set(FIELDS))
        changed = {name: new for name, new in given.items() if new != before.texts[name]}
        if review.decision != "correct" and changed:
            raise InputError(
                f"{where}: {', '.join(changed)} differs from the study, but the decision is {review.decision}; "
                "write correct, or restore the text"
            )
        if review.decision == "correct" and not changed:
            raise InputError(f"{where}: the correction changes nothing; write decision keep")
        seen = review.flags
        if seen is None:  # a hand-written review covers all existing flags
            seen = tuple(
                each.flag for each in self.given.values() if self.question_of(each.candidate) == before
            )
        self.reviews.append(
            AppliedReview(
                question_id=before.id,
                version=before.version,
                decision=review.decision,
                editor=editor,
                note=review.note,
                at=datetime.now(timezone.utc).strftime(TIME),
                changes={name: {"old": before.texts[name], "new": new} for name, new in changed.items()},
                seen=seen if review.decision == "keep" else (),
            )
        )
        if changed:
            # Old versions are kept, so that every rating keeps the text that was rated.
            self.versions[before.id].append(replace(before, version=before.version + 1, **changed))
        return len(changed)


def create(
    path: Path,
    scale: Scale,
    incoming: Sequence[Incoming] = (),
    documents: Mapping[str, str] | None = None,
) -> tuple[int, int]:
    # Built first, so that bad input leaves no lock file.
    study = AnnotationStudy(path, scale)
    new = study.add(incoming, documents)
    with _locked(path):
        if path.exists():
            raise InputError(f"{path}: exists; run again without --scale to add to it, or name another file")
        _write(study)
    return new


def open_study(path: Path) -> AnnotationStudy:
    _check_exists(path)
    content = read_json(path, "a study that `lct annotate prepare` made")
    found = validated(_StudyFile, content, str(path), remedy=_EDITED)
    study = AnnotationStudy(path, found.scale, documents=found.documents, reviews=found.reviews)
    for question in found.questions:
        study.versions.setdefault(question.id, []).append(question)
    study.answers = {each.id: each for each in found.candidates}
    study.given = {(each.candidate, each.annotator): each for each in found.annotations}
    for problem in _inconsistencies(study, found):
        raise InputError(f"{path}: {problem}; {_EDITED}")
    return study


def _inconsistencies(study: AnnotationStudy, found: _StudyFile) -> Iterator[str]:
    """Yield dangling references in a file, and annotations that the scale does not allow."""
    for key, versions in study.versions.items():
        if [each.version for each in versions] != list(range(1, len(versions) + 1)):
            yield f"the versions of question {key} are not 1, 2, ..."
        if (document := versions[0].document) is not None and document not in study.documents:
            yield f"document {document} of question {key} is missing"
    # The mappings above drop repeated keys.
    if (len(study.answers), len(study.given)) != (len(found.candidates), len(found.annotations)):
        yield "a candidate or an annotation is there twice"
    known = {question.key for question in found.questions}
    for answer in found.candidates:
        if answer.question not in known:
            yield f"the question of candidate {answer.id} is missing"
    for review in found.reviews:
        if (review.question_id, review.version) not in known:
            yield f"question {review.question_id} of a review is missing"
    for annotation in found.annotations:
        if annotation.candidate not in study.answers:
            yield f"candidate {annotation.candidate} of an annotation is missing"
        if problem := annotation_problem(annotation, study.scale):
            yield problem


@contextmanager
def changing(path: Path) -> Iterator[AnnotationStudy]:
    """Open a study for changes; the file is written if the block ends without an error."""
    _check_exists(path)  # before a lock file is created next to it
    with _locked(path):
        study = open_study(path)
        yield study
        _write(study)


def _check_exists(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: no such study; make one with `lct annotate prepare {path} --questions FILE`"
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # A separate lock file: a lock belongs to a file, and every change replaces the study file.
    try:
        lock = FileLock(path.with_name(f".{path.name}.lock")).acquire()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be written ({reason}); choose another place") from error
    with lock:
        yield


def _write(study: AnnotationStudy) -> None:
    content = {
        "study": 1,
        "scale": study.scale.as_row(),
        "documents": study.documents,
        "questions": [asdict(each) for versions in study.versions.values() for each in versions],
        "candidates": [asdict(each) for each in study.answers.values()],
        "annotations": [asdict(each) for each in study.annotations()],
        "reviews": [each.model_dump() for each in study.reviews],
    }
    write_json(study.path, content)
