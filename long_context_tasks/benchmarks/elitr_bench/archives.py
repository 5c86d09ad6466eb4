"""Reader of the published archives as they are: encrypted, in memory, nothing is unpacked to disk.

``data.zip`` and ``czech.zip`` hold questions, ``ELITR-English-{dev,test}.tar.zip`` meetings, ``generated-responses.zip`` the
authors' responses with their scores. All are ZIP files with the published password. Whatever a ZIP would give may also lie
beside it unpacked (``data/elitr-bench-qa_dev.json``, ``ELITR-English-dev.tar``), and a ZIP may be without a password.
"""

import io
import os
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
PASSWORD = "utter"
"""The published password (README of utter-project/ELITR-Bench); it keeps the data out of crawls, it is no secret."""
PASSWORD_VARIABLE = "LCT_ELITR_PASSWORD"

QUESTIONS, CZECH, RESPONSES = "data.zip", "czech.zip", "generated-responses.zip"
TRANSCRIPTS = {"dev": "ELITR-English-dev.tar.zip", "test": "ELITR-English-test.tar.zip"}
FILE_SPLITS = {"dev": "dev", "test": "test2"}
"""Split in task names to split in the files; the corpus has another ``test``, which the benchmark does not use."""

_Type = Literal["who", "what", "when", "howmany"]
_Position = Literal["B", "M", "E", "S"]
TYPES, POSITIONS = get_args(_Type), get_args(_Position)
_MOST_BYTES = 256 << 20
"""No published member is a tenth of it; more is a damaged or forged archive."""


class _ResponseRow(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    model: str
    text: Annotated[str, Field(alias="generated-response")]


@dataclass(frozen=True)
class Question:
    """A question with its gold answer.

    Attributes:
        id: unique within its meeting.
        type: who, what (why is among them), when or howmany.
        position: of the answer in the transcript: B, M, E (thirds of it) or S (several places).
        text: the question, as in the file.
        answer: the gold answer, as in the file.
        responses: as a file of responses has them; :meth:`Archives.responses` gives them.
    """

    id: str
    type: Annotated[_Type, Field(alias="question-type")]
    position: Annotated[_Position, Field(alias="answer-position")]
    text: Annotated[str, Field(alias="question")]
    answer: Annotated[str, Field(alias="groundtruth-answer")]
    responses: Annotated[tuple[_ResponseRow, ...], Field(alias="generated-responses")] = ()


@dataclass(frozen=True)
class Meeting:
    """A meeting with its questions, in the order in which a conversation asks them."""

    id: str
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]


class _File(PublishedRow):
    split: str | None = None
    meetings: Annotated[tuple[Meeting, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Response:
    """A published response with its scores.

    Attributes:
        meeting: id of the meeting.
        question: with type, position and gold answer.
        model: as the paper names it.
        text: the response.
        scores: evaluator (``gpt-4``, ``prometheus``, ``gold-human``, ``silver-human``) to its score, a string as stored.
    """

    meeting: str
    question: Question
    model: str
    text: str
    scores: Mapping[str, str]


@dataclass(frozen=True)
class Archives:
    """The folder with the published archives.

    Attributes:
        folder: holds the archives under their published names.
        password: of all of them.
        task: that reads them, for messages; empty for the paper's tables.
    """

    folder: Path
    password: str = PASSWORD
    task: str = ""

    @classmethod
    def of(cls, options: Options, task: str = "") -> "Archives":
        """Return the archives that a run's options name; another password comes from ``LCT_ELITR_PASSWORD``."""
        return cls(data_dir(options, NAME), os.environ.get(PASSWORD_VARIABLE) or PASSWORD, task)

    def questions(self, split: str, conv: bool = False, czech: bool = False) -> list[Meeting]:
        """Return the meetings of a split (dev, test) with their questions, ordered by meeting id.

        Raises:
            InputError: missing or damaged archive, wrong password, or a record of another shape.
        """
        setting, file_split = "conv" if conv else "qa", _file_split(split)
        file, stem = (CZECH, "elitr-bench-czech") if czech else (QUESTIONS, "elitr-bench")
        place, row = self._read(file, f"{file.removesuffix('.zip')}/{stem}-{setting}_{file_split}.json")
        if row.split != file_split:
            raise InputError(f"{place}: says it is split {row.split!r}, not {file_split!r}; {_FETCH}")
        return sorted(row.meetings, key=lambda meeting: meeting.id)

    def responses(self, name: str) -> list[Response]:
        """Return the published responses of a file, in file order.

        Args:
            name: ``qa_dev_st_gpt-4-eval``, ``qa_test2_st_all-eval`` ...; the file's stem without ``elitr-bench-``.

        Raises:
            InputError: as :meth:`questions`; for an unknown name the known ones are given.
        """
        stem = name.removesuffix(".json").removeprefix("elitr-bench-")
        place, row = self._read(RESPONSES, f"generated-responses/elitr-bench-{stem}.json")
        found = [
            Response(meeting.id, question, response.model, response.text, _scores(response, place))
            for meeting in row.meetings
            for question in meeting.questions
            for response in question.responses
        ]
        if not found:
            raise InputError(f"{place}: holds no responses; {_FETCH}")
        return found

    def transcripts(self, split: str) -> dict[str, str]:
        """Return transcripts by meeting id, as the official preparation makes it and its reader reads it, ordered by id.

        Raises:
            InputError: as :meth:`questions`.
        """
        _file_split(split)
        file = TRANSCRIPTS[split]
        place, data = self._bytes(file, file.removesuffix(".zip"))
        with _readable(place), tarfile.open(fileobj=io.BytesIO(data)) as tar:
            # Links, devices and what is forged to look larger than any archive are passed over.
            members = (member for member in tar if member.isreg() and member.size <= _MOST_BYTES)
            found = ((member.name, tar.extractfile(member)) for member in members)
            prepared = prepare_transcripts((name, file.read()) for name, file in found if file)
        if not prepared:
            raise InputError(f"{place}: holds no transcript_MAN* file; {_FETCH}")
        return {meeting: read_text(prepared[meeting], f"{place}, {meeting}") for meeting in sorted(prepared)}

    def paths(self, split: str, czech: bool = False) -> list[Path]:
        """Return the files, packed or plain, that questions and transcripts of a split can come from.

        Raises:
            InputError: one is missing.
        """
        _file_split(split)
        found = []
        for file in (QUESTIONS, *([CZECH] if czech else []), TRANSCRIPTS[split]):
            plain = self.folder / file.removesuffix(".zip")
            candidates = [self.folder / file, plain, *sorted(plain.glob("*.json"))]
            found += [path for path in candidates if path.is_file()] or [self._archive(file)]
        return found

    def _archive(self, file: str) -> Path:
        path = self.folder / file
        if not path.is_file():
            raise missing_data(str(path), f"{NAME}/{file}", NAME, self.task)
        return path

    def _bytes(self, file: str, member: str) -> tuple[str, bytes]:
        """Return a member's place for messages, and its bytes."""
        plain = self.folder / member
        if plain.is_file():
            return str(plain), plain.read_bytes()
        path = self._archive(file)
        place = f"{path}, {member}"
        with _readable(str(path)), zipfile.ZipFile(path) as archive:
            if member not in archive.namelist():
                hidden = ("/", ".DS_Store")  # leftovers of macOS
                has = ", ".join(name for name in archive.namelist() if not name.endswith(hidden)) or "nothing"
                raise InputError(f"{path}: holds no {member} (it has: {has}); {_FETCH}")
            if archive.getinfo(member).file_size > _MOST_BYTES:
                raise InputError(f"{place}: larger than {_MOST_BYTES:,} bytes unpacked; {_FETCH}")
            return place, archive.read(member, pwd=self.password.encode())

    def _read(self, file: str, member: str) -> tuple[str, _File]:
        """Return a member's place for messages, and its content with unique ids."""
        place, data = self._bytes(file, member)
        try:
            content = loads(data)
        except ValueError as error:
            raise InputError(f"{place}: not JSON ({error}); {_FETCH}") from error
        row = validated(_File, content, place, remedy=_FETCH)
        ids = [(f"{place}: meeting", meeting.id) for meeting in row.meetings]
        ids += [
            (f"{place}, {each.id}: question", question.id)
            for each in row.meetings
            for question in each.questions
        ]
        [(repeated, times)] = Counter(ids).most_common(1)
        if times > 1:
            raise InputError(f"{' '.join(repeated)} is there twice; {_FETCH}")
        return place, row


_FETCH = (
    f"fetch it again with `lct data fetch {NAME}`, or remove it where it lies unpacked beside its archive"
)


def _file_split(split: str) -> str:
    if split not in FILE_SPLITS:
        raise InputError(f"split {split!r} is none of {', '.join(FILE_SPLITS)}")
    return FILE_SPLITS[split]


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Turn what zipfile and tarfile raise into one clear error."""
    try:
        yield
    except NotImplementedError as error:
        raise InputError(f"{place}: packed in another way than published ({error}); {_FETCH}") from error
    except RuntimeError as error:  # zipfile: the password does not fit
        raise InputError(
            f"{place}: the password does not fit; leave {PASSWORD_VARIABLE} unset for the published one, or {_FETCH}"
        ) from error
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        # One wrong password in 256 passes zipfile's check and shows only here.
        raise InputError(
            f"{place}: damaged or cut short ({error}), or {PASSWORD_VARIABLE} is set to a wrong password; {_FETCH}"
        ) from error


def prepare_transcripts(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the bytes of transcripts by meeting id, by the official rule.

    Every file whose name begins with ``transcript_MAN`` in a folder whose path contains ``dev`` or ``test2`` is the transcript of
    the meeting that its folder is named after; of several the last one wins. Nothing is cleaned.

    >>> prepare_transcripts([("dev/m1/transcript_MAN_a.txt", b"x"), ("dev/m1/._transcript_MAN_a.txt", b"y")])
    {'m1': b'x'}
    """
    found = {}
    for name, data in files:
        path = PurePosixPath(name)
        folder = str(path.parent)
        if path.name.startswith("transcript_MAN") and ("dev" in folder or "test2" in folder):
            found[path.parent.name] = data
    return found


def read_text(data: bytes, place: str) -> str:
    """Return UTF-8 text as Python's text mode reads it: CRLF and CR become LF, nothing else changes.

    >>> read_text(b"a\\r\\nb\\rc\\n\\n", "here")
    'a\\nb\\nc\\n\\n'

    Raises:
        InputError: not UTF-8.
    """
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=None).read()
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 at byte {error.start}; {_FETCH}") from error


def _scores(response: _ResponseRow, place: str) -> dict[str, str]:
    given = {
        name.removesuffix("-eval_score"): score
        for name, score in (response.model_extra or {}).items()
        if name.endswith("-eval_score")
    }
    return validated(dict[str, str], given, f"{place}: score of {response.model}", remedy=_FETCH)
