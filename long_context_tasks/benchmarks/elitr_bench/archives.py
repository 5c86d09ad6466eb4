"""Read the published archives in memory; they are encrypted to keep the data out of web crawls.

``data.zip`` and ``czech.zip`` contain questions, ``ELITR-English-{dev,test}.tar.zip`` meetings, and
``generated-responses.zip`` the authors' responses with their scores. All are ZIP files with the published
password.
"""

import io
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from long_context_tasks.benchmarks.published_files import PublishedRow, missing_data
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import validated

NAME = "elitr_bench"
# From the README of utter-project/ELITR-Bench. It is public and only keeps crawlers out.
_PASSWORD = b"utter"

QUESTIONS, CZECH, RESPONSES = "data.zip", "czech.zip", "generated-responses.zip"
TRANSCRIPTS = {"dev": "ELITR-English-dev.tar.zip", "test": "ELITR-English-test.tar.zip"}
# Split in task names to split in the files; the corpus has another test split, which the benchmark does not
# use.
FILE_SPLITS = {"dev": "dev", "test": "test2"}

_Type = Literal["who", "what", "when", "howmany"]
_Position = Literal["B", "M", "E", "S"]
TYPES, POSITIONS = get_args(_Type), get_args(_Position)
_FETCH = f"fetch it again with `lct data fetch {NAME}`"


class _ResponseRow(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    model: str
    text: Annotated[str, Field(alias="generated-response")]


@dataclass(frozen=True)
class PublishedQuestion:
    """A question with its gold answer, both as in the file."""

    id: str  # unique within its meeting only
    type: Annotated[_Type, Field(alias="question-type")]  # who, what (which includes why), when or howmany
    # Position of the answer in the transcript: B, M, E (its thirds) or S (several positions).
    position: Annotated[_Position, Field(alias="answer-position")]
    text: Annotated[str, Field(alias="question")]
    answer: Annotated[str, Field(alias="groundtruth-answer")]
    # Present only in response files; read by Archives.responses.
    responses: Annotated[tuple[_ResponseRow, ...], Field(alias="generated-responses")] = ()


@dataclass(frozen=True)
class PublishedMeeting:
    """A meeting with its questions, in dialogue order."""

    id: str
    questions: Annotated[tuple[PublishedQuestion, ...], Field(min_length=1)]


class _QuestionFile(PublishedRow):
    split: str | None = None
    meetings: Annotated[tuple[PublishedMeeting, ...], Field(min_length=1)]


@dataclass(frozen=True)
class PublishedResponse:
    meeting: str
    question: PublishedQuestion
    model: str  # the model's name in the paper
    text: str
    # Evaluator (gpt-4, prometheus, gold-human, silver-human) to its score, stored as a string.
    scores: Mapping[str, str]


@dataclass(frozen=True)
class Archives:
    """The folder with the published archives."""

    folder: Path  # the archives have their published names
    task: str = ""  # the task that reads them, for error messages; empty for the paper's tables

    @classmethod
    def of(cls, options: Options, task: str = "") -> "Archives":
        return cls(data_dir(options, NAME), task)

    def questions(self, split: str, conv: bool = False, czech: bool = False) -> list[PublishedMeeting]:
        """Return the meetings in a split (dev, test) with their questions, ordered by meeting id."""
        setting, file_split = "conv" if conv else "qa", FILE_SPLITS[split]
        file, stem = (CZECH, "elitr-bench-czech") if czech else (QUESTIONS, "elitr-bench")
        place, row = self._read(file, f"{file.removesuffix('.zip')}/{stem}-{setting}_{file_split}.json")
        # A file that contains another split would silently give wrong cases.
        if row.split != file_split:
            raise InputError(f"{place}: says it is split {row.split!r}, not {file_split!r}; {_FETCH}")
        return sorted(row.meetings, key=lambda meeting: meeting.id)

    def responses(self, name: str) -> list[PublishedResponse]:
        """Return the published responses in a file such as ``qa_test2_st_all-eval``, in file order."""
        place, row = self._read(RESPONSES, f"generated-responses/elitr-bench-{name}.json")
        responses = [
            PublishedResponse(meeting.id, question, response.model, response.text, _scores(response, place))
            for meeting in row.meetings
            for question in meeting.questions
            for response in question.responses
        ]
        if not responses:
            raise InputError(f"{place}: holds no responses; {_FETCH}")
        return responses

    def transcripts(self, split: str) -> dict[str, str]:
        """Return the transcripts by meeting id, sorted, prepared and decoded as in the official code."""
        file = TRANSCRIPTS[split]
        place, data = self._bytes(file, file.removesuffix(".zip"))
        with _readable(place), tarfile.open(fileobj=io.BytesIO(data)) as tar:
            members = ((member.name, tar.extractfile(member)) for member in tar if member.isreg())
            prepared = prepare_transcripts((name, file.read()) for name, file in members if file)
        if not prepared:
            raise InputError(f"{place}: holds no transcript_MAN* file; {_FETCH}")
        return {meeting: read_text(prepared[meeting], f"{place}, {meeting}") for meeting in sorted(prepared)}

    def paths(self, split: str, czech: bool = False) -> list[Path]:
        """Return the files that contain a split's questions and transcripts."""
        return [self._archive(file) for file in (QUESTIONS, *([CZECH] if czech else []), TRANSCRIPTS[split])]

    def _archive(self, file: str) -> Path:
        path = self.folder / file
        if not path.is_file():
            raise missing_data(str(path), f"{NAME}/{file}", NAME, self.task)
        return path

    def _bytes(self, file: str, member: str) -> tuple[str, bytes]:
        """Return a member's location for error messages, and its bytes."""
        path = self._archive(file)
        with _readable(str(path)), zipfile.ZipFile(path) as archive:
            if member not in archive.namelist():
                names = ", ".join(archive.namelist()) or "nothing"
                raise InputError(f"{path}: holds no {member} (it has: {names}); {_FETCH}")
            return f"{path}, {member}", archive.read(member, pwd=_PASSWORD)

    def _read(self, file: str, member: str) -> tuple[str, _QuestionFile]:
        """Return a member's location for error messages, and its content; check that ids are unique."""
        place, data = self._bytes(file, member)
        try:
            content = loads(data)
        except ValueError as error:
            raise InputError(f"{place}: not JSON ({error}); {_FETCH}") from error
        row = validated(_QuestionFile, content, place, remedy=_FETCH)
        ids = [(f"{place}: meeting", meeting.id) for meeting in row.meetings]
        ids += [
            (f"{place}, {each.id}: question", question.id)
            for each in row.meetings
            for question in each.questions
        ]
        # Scores are joined by these ids.
        [(repeated, times)] = Counter(ids).most_common(1)
        if times > 1:
            raise InputError(f"{' '.join(repeated)} is there twice; {_FETCH}")
        return place, row


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Convert the errors of zipfile and tarfile into an InputError with a remedy."""
    try:
        yield
    # zipfile raises RuntimeError for a wrong password or an unsupported compression method.
    except (RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise InputError(f"{place}: damaged or cut short ({error}); {_FETCH}") from error


def prepare_transcripts(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the transcripts' bytes by meeting id, following the official rule.

    A transcript is any file whose name begins with ``transcript_MAN``, in a folder whose path contains
    ``dev`` or ``test2``. The folder is named after the meeting; if it has several such files, the last one is
    taken. Nothing is cleaned.

    >>> prepare_transcripts([("dev/m1/transcript_MAN_a.txt", b"x"), ("dev/m1/._transcript_MAN_a.txt", b"y")])
    {'m1': b'x'}
    """
    transcripts = {}
    for name, data in files:
        path = PurePosixPath(name)
        folder = str(path.parent)
        if path.name.startswith("transcript_MAN") and ("dev" in folder or "test2" in folder):
            transcripts[path.parent.name] = data
    return transcripts


def read_text(data: bytes, place: str) -> str:
    """Decode UTF-8 as Python's text mode does: CRLF and CR become LF, nothing else changes."""
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=None).read()
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 at byte {error.start}; {_FETCH}") from error


def _scores(response: _ResponseRow, place: str) -> dict[str, str]:
    scores = {
        name.removesuffix("-eval_score"): score
        for name, score in (response.model_extra or {}).items()
        if name.endswith("-eval_score")
    }
    return validated(dict[str, str], scores, f"{place}: score of {response.model}", remedy=_FETCH)
