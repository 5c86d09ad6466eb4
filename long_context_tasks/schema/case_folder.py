"""A case folder: one JSONL file per task and one table of the long texts to which they refer.

``cases/toy_sort/`` contains ``documents.sqlite`` (table ``documents(key, text)``: every text once),
``toy_sort_2k.jsonl`` and so on, and ``manifest.json``. SQLite gives random access by key without loading the
table into memory, so with a thousand cases of 128k tokens a host holds only the prompts that it keeps.
"""

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, TypeVar

from long_context_tasks.schema.case import Case
from long_context_tasks.schema.files import (
    InputError,
    alone_in,
    aside,
    content_of,
    lines,
    loads,
    make_folder,
    whole_folder,
)
from long_context_tasks.schema.options import cache_dir

T = TypeVar("T")

FORMAT = 1
DOCUMENTS = "documents.sqlite"
MANIFEST = "manifest.json"


def file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def text_key(text: str) -> str:
    """Return the key under which a document table stores a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def stable_seed(*parts: object) -> str:
    """Return a seed for ``random.Random`` that does not depend on the process or the Python version."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


class Documents:
    """Read access to a document table; opened on first use in each process, and picklable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open_in: int | None = None

    def _select(self, key: str) -> str:
        try:
            row = self._connection.execute("SELECT text FROM documents WHERE key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path}: not a readable document table ({error}); build the cases again"
            ) from error
        if row is None:
            raise InputError(f"{self.path}: no document {key!r}; build the cases again")
        return str(row[0])

    def __getitem__(self, key: str) -> str:
        if self._open_in != os.getpid():
            if not self.path.is_file():
                raise InputError(f"{self.path}: the document table is missing; build the cases again")
            uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            # Cases on the same document are adjacent, so the last two texts are the most likely to be needed
            # next.
            self._read = lru_cache(maxsize=2)(self._select)
            self._open_in = os.getpid()
        return self._read(key)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_open_in": None}


class CaseSet:
    """The cases of one task in official order, with their texts and the folder's build record."""

    def __init__(self, cases: Iterable[Case], documents: Documents, manifest: Mapping[str, Any]) -> None:
        self.cases = tuple(cases)
        self.documents = documents
        self.manifest = dict(manifest)

    def __len__(self) -> int:
        return len(self.cases)

    @classmethod
    def read(cls, folder: Path, task: str) -> "CaseSet":
        """Read a task's cases from a case folder.

        Raises:
            InputError: the folder or task does not exist, or a file is damaged (the message names the line).
        """
        manifest = read_manifest(folder)
        path, stated = folder / f"{task}.jsonl", manifest["tasks"].get(task)
        if stated is None or not path.is_file():
            has = ", ".join(sorted(manifest["tasks"])) or "none"
            raise InputError(
                f"{folder}: holds no cases of {task} (it has: {has}); name the tasks that it has instead of a group, or build "
                "the others with `lct build`"
            )
        cases: dict[str, Case] = {}
        with path.open("rb") as file:
            for number, line in enumerate(lines(file), start=1):
                try:
                    case = Case.from_json(line)
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        f"{path}, line {number}: not a case ({error}); build the cases again"
                    ) from error
                if case.id in cases:
                    raise _same_id(f"{path}, line {number}", case.id)
                cases[case.id] = case
        # The number is checked first: a truncated file also has a different hash, but this message helps
        # more.
        if stated["n"] != len(cases):
            raise InputError(
                f"{path}: {len(cases)} cases instead of {stated['n']}; the file was cut, build it again"
            )
        if stated["sha256"] != file_sha256(path):
            raise InputError(f"{path}: was changed after it was built; build it again")
        return cls(cases.values(), Documents(folder / DOCUMENTS), manifest)

    def selected(self, cases: Iterable[Case]) -> "CaseSet":
        """Return the same folder with other (fewer, modified) cases."""
        return CaseSet(cases, self.documents, self.manifest)


def _same_id(place: str, name: str) -> InputError:
    return InputError(
        f"{place}: a second case has the id {name!r}; make each id from the case's number or source, and build the cases again"
    )


_LONGEST_NAME = 200
"""Maximum number of characters in a task's name, which is also a file name."""


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        if not folder.exists() and aside(folder).is_dir():
            raise InputError(
                f"{folder}: a build was stopped while it replaced this folder; the old cases are in {aside(folder)}: "
                "move them back, or build again"
            )
        raise InputError(
            f"{folder}: not a folder of cases (no {MANIFEST}); make one with `lct build ... --out DIR`"
        )
    try:
        manifest: dict[str, Any] = loads(content_of(path))
        form = int(manifest["format"])
        options, tasks, _ = (manifest[name] for name in ("options", "tasks", "documents_sha256"))
        if not all(isinstance(about, dict) for about in (options, *tasks.values())):
            raise TypeError("a task, or the options, are not a mapping")
        if not all({"n", "sha256"} <= about.keys() for about in tasks.values()):
            raise ValueError("a task lacks its number of cases or its hash")
        if any(Path(task).name != task or len(task) > _LONGEST_NAME for task in tasks):
            raise ValueError("a task has a name that cannot be a file name")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: damaged ({error}); build the cases again") from error
    if form > FORMAT:
        raise InputError(f"{path}: written by a newer version; update long_context_tasks")
    return manifest


class NotInCache(InputError):
    """Raised if synthetic cases are not in the cache and generating them again would take too long."""


def cached_folder(
    name: str, made_from: Mapping[str, Any], write: Callable[[Path], object], refusal: str = ""
) -> Path:
    """Return a case folder in the user's cache, writing it on first use.

    The folder's name ends in a hash of ``made_from`` and this package's version; ``made_from`` is everything
    else on which the content depends. ``write`` writes a folder, all or nothing, as :class:`CaseWriter` does.
    If a refusal is given, :class:`NotInCache` is raised instead of writing.
    """
    from filelock import FileLock

    from long_context_tasks import __version__

    facts = json.dumps({"long_context_tasks": __version__, **made_from}, sort_keys=True, default=str)
    digest = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    folder = cache_dir() / "cases" / f"{name}-{digest}"
    if not (folder / MANIFEST).is_file():
        if refusal:
            raise NotInCache(refusal)
        make_folder(folder.parent, remedy=_OTHER_CACHE)
        try:
            lock = FileLock(folder.with_name(f".{folder.name}.lock")).acquire()
        except OSError as error:
            raise InputError(
                f"{folder.parent}: cannot be written ({error.strerror}); {_OTHER_CACHE}"
            ) from error
        with lock:
            # Another process may have written it in the meantime.
            if not (folder / MANIFEST).is_file():
                write(folder)
    return folder


def _content_sha256(table: sqlite3.Connection) -> str:
    """Return a hash of keys and texts that does not depend on the order in which they were written."""
    digest = hashlib.sha256()
    for row in table.execute("SELECT key, text FROM documents ORDER BY key"):
        for part in row:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def check_texts(path: Path) -> None:
    """Check that a document table still contains the texts of the build.

    The result is cached by the file's size and modification time.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); build the cases again") from error
    if read_manifest(path.parent)["documents_sha256"] != _texts_sha256(
        path, state.st_size, state.st_mtime_ns
    ):
        raise InputError(f"{path}: was changed after it was built; build the cases again")


@lru_cache(maxsize=8)
def _texts_sha256(path: Path, *_: int) -> str:
    try:
        # `immutable` also works on file systems without locks.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as table:
            return _content_sha256(table)
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: damaged ({error}); build the cases again") from error


_OTHER_CACHE = "make room there, or point LCT_CACHE_DIR at another folder"
_OTHER_PLACE = "make room there or choose another place"


@contextmanager
def _disk_full(folder: Path) -> Iterator[None]:
    # SQLite reports a full or broken disk as its own kind of error.
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InputError(f"{folder}: cannot be written ({error}); {_OTHER_PLACE}") from error


@dataclass(frozen=True)
class Shard:
    """A part of a build that runs separately from the others."""

    number: int  # from 1 to ``of``
    of: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InputError(f"--shard {text}: give its number and the number of shards, from 1/7 to 7/7")
        return cls(int(number), int(of))

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """Return this shard's items; concatenated over all shards, these are all items in order.

        >>> [list(Shard(number, 3).part(range(7))) for number in (1, 2, 3)]
        [[0, 1], [2, 3], [4, 5, 6]]
        """
        return items[len(items) * (self.number - 1) // self.of : len(items) * self.number // self.of]

    def folder(self, whole: Path) -> Path:
        return whole.with_name(f"{whole.name}.shard-{self.number}-of-{self.of}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class CaseWriter:
    """Write a case folder, all or nothing: a temporary folder replaces the old one at the end.

    >>> import tempfile; from long_context_tasks.schema.case import Turn
    >>> folder = Path(tempfile.mkdtemp()) / "toy"
    >>> with CaseWriter(folder, {"lct_seed": 1}) as writer:
    ...     writer.add_documents([("d", "some text")])
    ...     writer.add_cases("toy_1k", [Case("a", "toy_1k", {"text": "d"}, (Turn("x"),), "d")])
    1
    >>> cases = CaseSet.read(folder, "toy_1k")
    >>> cases.documents[cases.cases[0].inputs["text"]]
    'some text'
    """

    def __init__(self, folder: Path, options: Mapping[str, Any], shard: Shard | None = None) -> None:
        self.folder = folder
        self.options = dict(options)
        self.shard = shard
        self._parts: list[int] = []
        self.tasks: dict[str, dict[str, Any]] = {}
        self.sources: list[Mapping[str, Any]] = []
        """Descriptions of all books or documents read."""

    def __enter__(self) -> "CaseWriter":
        with _disk_full(self.folder), ExitStack() as stack:
            self._part = stack.enter_context(whole_folder(self.folder, remedy=_OTHER_PLACE))
            # Another process may be replacing the folder, which is missing for a moment.
            with alone_in(self.folder.resolve().parent):
                if self.folder.exists() and not (self.folder.is_dir() and not any(self.folder.iterdir())):
                    read_manifest(self.folder)  # raises if the folder has other contents
            self._table = stack.enter_context(closing(sqlite3.connect(self._part / DOCUMENTS)))
            # The folder appears complete or not at all, so SQLite needs no journal.
            self._table.execute("PRAGMA journal_mode = OFF")
            self._table.execute("PRAGMA synchronous = OFF")
            self._table.execute(
                "CREATE TABLE documents (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID"
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _disk_full(self.folder), self._stack:
            if error is not None:
                raise error
            self._finish()

    def add_documents(self, documents: Iterable[tuple[str, str]]) -> None:
        """Store texts by key.

        A key (a hash, a position in a book) determines its text, so an existing key keeps its text.
        """
        self._table.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", documents)

    def add_cases(self, task: str, cases: Iterable[Case]) -> int:
        return self.add_lines(task, ((case.id, case.to_json() + "\n") for case in cases))

    def add_lines(self, task: str, lines: Iterable[tuple[str, str]]) -> int:
        """Write cases by id, each as a line of JSON."""
        path = self._part / f"{task}.jsonl"
        ids: set[str] = set()
        self._parts = []
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for name, line in lines:
                if name in ids:
                    raise _same_id(str(self.folder / path.name), name)
                ids.add(name)
                file.write(line)
                if self._parts:
                    self._parts[-1] += 1
        self.tasks[task] = {"n": len(ids), "sha256": file_sha256(path)}
        if self.shard is not None:
            if lost := len(ids) - sum(self._parts):
                raise InputError(
                    f"{task}: {lost} of {len(ids)} cases are in no part, and merging shards would lose them; the builder has to "
                    "make its cases with Work.cases, or to call begin_part of the writer first"
                )
            self.tasks[task]["parts"] = self._parts
        return len(ids)

    def spool(self) -> TextIO:
        """Return an anonymous file in the folder, for case lines generated out of order."""
        return tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n", dir=self._part)

    def begin_part(self) -> None:
        """Begin a part of the task being written; every shard has consecutive cases from each part."""
        self._parts.append(0)

    def _finish(self) -> None:
        from long_context_tasks import __version__

        self._table.commit()
        facts = {
            "format": FORMAT,
            "long_context_tasks": __version__,
            "options": self.options,
            "tasks": self.tasks,
            "documents_sha256": _content_sha256(self._table),
        }
        if self.shard is not None:
            # The file itself is checked before shards are merged.
            documents = file_sha256(self._part / DOCUMENTS)
            facts["shard"] = {"number": self.shard.number, "of": self.shard.of, "documents": documents}
        manifest = json.dumps(
            facts | ({"sources": self.sources} if self.sources else {}), indent=1, sort_keys=True
        )
        (self._part / MANIFEST).write_text(manifest, encoding="utf-8")
