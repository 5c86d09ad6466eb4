"""A study in one SQLite file: written in transactions, checked when it is opened.

The file is made beside its place and moved there, so a broken creation leaves nothing; every later change is one transaction.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from long_context_tasks.annotation.records import (
    Annotation,
    Candidate,
    Question,
    check_annotation,
    check_types,
)
from long_context_tasks.annotation.scale import Scale
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import validated

_APPLICATION = 0x4C435441  # "LCTA", in the head of the SQLite file
_FORMAT = 1
_BUSY_SECONDS = 20.0

_CURRENT = (
    "SELECT question_id, MAX(version) AS version FROM versions GROUP BY question_id HAVING NOT EXISTS (SELECT 1 FROM reviews r "
    "WHERE r.question_id = versions.question_id AND r.id = (SELECT MAX(id) FROM reviews s WHERE s.question_id = "
    "versions.question_id) AND r.decision = 'remove')"
)
"""Questions that count, with their newest version: all but those whose last review removed them."""


_QUESTION = "q.id, v.question, v.reference, v.rationale, v.transcription, q.document, q.domain, q.category, q.source, v.version"
_ANNOTATION = "a.candidate, a.annotator, a.rating, a.codes, a.comment, a.at"


class Study:
    """An open study; use it in ``with``."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        """Use :func:`create` or :func:`open_study`."""
        self.path = path
        self.db = db
        self.scale = self._read_scale()
        self.seed = int(self._setting("seed"))
        self.raters = int(self._setting("raters"))

    def __enter__(self) -> "Study":
        """Return the study."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.db.close()

    def _setting(self, name: str) -> str:
        found = self.db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        whole = found is not None and str(found[0]).isascii() and str(found[0]).isdigit()
        if found is None or (name != "scale" and not whole):
            raise InputError(f"{self.path}: setting {name} is missing or wrong; {_EDITED}")
        return str(found[0])

    def _read_scale(self) -> Scale:
        setting = self._setting("scale")
        try:
            row = json.loads(setting)
        except ValueError as error:
            raise InputError(f"{self.path}: setting scale is not JSON ({error}); {_EDITED}") from error
        return validated(Scale, row, f"{self.path}, setting scale", remedy=_EDITED)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Make the changes of the block, all or none."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield self.db
            self.db.execute("COMMIT")
        except BaseException as error:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise InputError(f"{self.path}: cannot be written ({error}); nothing was changed") from error
            raise

    def questions(self) -> list[Question]:
        """Return the questions that count, in their newest version, in order."""
        kept = self.current()
        return [one for one in self.all_versions() if (one.id, one.version) in kept]

    def all_versions(self) -> list[Question]:
        """Return every version of every question, also of removed questions."""
        found = self.db.execute(
            f"SELECT {_QUESTION} FROM versions v JOIN questions q ON q.id = v.question_id ORDER BY q.place, v.version"
        )
        return [Question(*row) for row in found]

    def newest(self, question: str) -> Question | None:
        """Return the newest version of a question, also of a removed one; None for an unknown id."""
        row = self.db.execute(
            f"SELECT {_QUESTION} FROM versions v JOIN questions q ON q.id = v.question_id WHERE q.id = ? "
            "ORDER BY v.version DESC LIMIT 1",
            (question,),
        ).fetchone()
        return None if row is None else Question(*row)

    def current(self) -> set[tuple[str, int]]:
        """Return question and version of all that counts."""
        return {(row[0], row[1]) for row in self.db.execute(_CURRENT)}

    def candidates(self, *, current: bool = False) -> list[Candidate]:
        """Return all candidates, or only those of versions that count, in order."""
        found = [
            Candidate(*row)
            for row in self.db.execute(
                "SELECT id, question_id, version, model, text FROM candidates ORDER BY place"
            )
        ]
        if not current:
            return found
        kept = self.current()
        return [one for one in found if (one.question_id, one.version) in kept]

    def annotations(self) -> list[Annotation]:
        """Return all annotations, by candidate, then by annotator."""
        found = self.db.execute(
            f"SELECT {_ANNOTATION} FROM annotations a JOIN candidates c ON c.id = a.candidate ORDER BY c.place, a.annotator"
        )
        return [Annotation(*row) for row in found]

    def annotation(self, candidate: str, annotator: str) -> Annotation | None:
        """Return a person's annotation of a candidate; None without any."""
        row = self.db.execute(
            f"SELECT {_ANNOTATION} FROM annotations a WHERE candidate = ? AND annotator = ?",
            (candidate, annotator),
        ).fetchone()
        return None if row is None else Annotation(*row)

    def item(self, candidate: str) -> tuple[Question, Candidate] | None:
        """Return a candidate and its question in the version that it answers; None when it is unknown or no longer counts."""
        row = self.db.execute(
            f"SELECT {_QUESTION}, c.id, c.question_id, c.version, c.model, c.text FROM candidates c JOIN questions q ON q.id = "
            "c.question_id JOIN versions v ON v.question_id = q.id AND v.version = c.version "
            f"JOIN ({_CURRENT}) n ON n.question_id = q.id AND n.version = v.version WHERE c.id = ?",
            (candidate,),
        ).fetchone()
        return None if row is None else (Question(*row[:10]), Candidate(*row[10:]))

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return int(self.db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])

    def document(self, key: str) -> str | None:
        """Return the text of a source document; None for an unknown id."""
        row = self.db.execute("SELECT text FROM documents WHERE id = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def corrections(self) -> list[dict[str, Any]]:
        """Return the history: every review, with old and new text of each corrected field, in order of time."""
        history = []
        for key, question, version, decision, editor, note, at in self.db.execute(
            "SELECT id, question_id, version, decision, editor, note, at FROM reviews ORDER BY id"
        ).fetchall():
            changed = self.db.execute(
                "SELECT field, old, new FROM corrections WHERE review = ?", (key,)
            ).fetchall()
            history.append(
                {
                    "question_id": question,
                    "version": version,
                    "decision": decision,
                    "editor": editor,
                    "note": note,
                    "at": at,
                    "changes": {field: {"old": old, "new": new} for field, old, new in sorted(changed)},
                }
            )
        return history

    def seen(self) -> dict[tuple[str, int], set[tuple[str, str, str, str]]]:
        """Return question and version to the flags that experts saw when they kept it: ``(candidate, annotator, codes, comment)``."""
        found: dict[tuple[str, int], set[tuple[str, str, str, str]]] = {}
        for question, version, *flag in self.db.execute(
            "SELECT r.question_id, r.version, s.candidate, s.annotator, s.codes, s.comment FROM seen s JOIN reviews r ON r.id = s.review"
        ):
            found.setdefault((question, version), set()).add((flag[0], flag[1], flag[2], flag[3]))
        return found

    def taken(self, candidate: str, annotator: str) -> bool:
        """Whether as many others as the study wants have done a candidate, and this person has not."""
        if not self.raters or self.annotation(candidate, annotator) is not None:
            return False
        done = self.db.execute("SELECT COUNT(*) FROM annotations WHERE candidate = ?", (candidate,))
        return int(done.fetchone()[0]) >= self.raters

    def queue(self, annotator: str) -> list[tuple[str, bool]]:
        """Return the candidates for a person, each with whether the person has done it; the same order at every call.

        Questions about the same document follow each other, so that it is read once; otherwise the order is the person's own. A
        candidate that enough others have done is left out.
        """
        kept = self.current()
        found = self.db.execute(
            "SELECT c.id, c.question_id, c.version, COALESCE(q.document, ''), SUM(a.annotator = ?), COUNT(a.annotator) "
            "FROM candidates c JOIN questions q ON q.id = c.question_id LEFT JOIN annotations a ON a.candidate = c.id "
            "GROUP BY c.id",
            (annotator,),
        ).fetchall()

        def draw(kind: str, name: str) -> bytes:
            return hashlib.sha256(f"{self.seed}\0{annotator}\0{kind}\0{name}".encode()).digest()

        chosen = [
            (
                draw("document", document or question),
                draw("question", question),
                draw("candidate", key),
                key,
                bool(mine),
            )
            for key, question, version, document, mine, all_of_them in found
            if (question, version) in kept and (mine or not self.raters or all_of_them < self.raters)
        ]
        return [(key, done) for *_, key, done in sorted(chosen)]


_EDITED = "was it edited by hand? Take a copy from before that, or make a new study from its exports"


def create(path: Path, scale: Scale, *, seed: int = 0, raters: int = 0) -> None:
    """Make an empty study.

    Args:
        path: of the file; must not be there.
        scale: what annotators are asked.
        seed: of the order in which annotators see candidates.
        raters: annotators a candidate is offered to; 0: all.

    Raises:
        InputError: the file is there, or cannot be written.
    """
    if path.exists():
        raise InputError(
            f"{path}: is there already; leave --scale, --seed and --annotators out to add to it, or name another file"
        )
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        db = sqlite3.connect(part)
        try:
            schema = resources.files("long_context_tasks.annotation") / "schema.sql"
            db.executescript(schema.read_text(encoding="utf-8"))
            settings = {"scale": json.dumps(scale.as_row()), "seed": str(seed), "raters": str(raters)}
            db.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            db.commit()
        finally:
            db.close()
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: cannot be written ({error}); choose another place") from error
    finally:
        part.unlink(missing_ok=True)


def open_study(path: Path) -> Study:
    """Open a study and check all of it.

    Raises:
        InputError: no study, one of a newer version, or one with contents that this package would not have written.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: no such study; make one with `lct annotate prepare {path} --questions FILE`"
        )
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be opened ({error}); see that you may read and write it") from error
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise InputError(
                f"{path}: a database of another program, not a study; name the file that `lct annotate prepare` made"
            )
        if (version := db.execute("PRAGMA user_version").fetchone()[0]) != _FORMAT:
            raise InputError(
                f"{path}: format {version}, this version reads {_FORMAT}; update long_context_tasks"
            )
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        if (state := db.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise InputError(f"{path}: damaged ({state}); take a copy from before that")
        if broken := db.execute("PRAGMA foreign_key_check").fetchone():
            raise InputError(
                f"{path}: row {broken[1]} of {broken[0]} names a row of {broken[2]} that is not there; {_EDITED}"
            )
        _check_texts(path, db)
        study = Study(path, db)
        for one in study.annotations():
            try:
                check_types(one)
                check_annotation(one, study.scale)
            except InputError as error:
                raise InputError(f"{path}: {error}; {_EDITED}") from None
    except sqlite3.Error as error:
        db.close()
        raise InputError(
            f"{path}: no study, or a damaged one ({error}); name the file that `lct annotate prepare` made"
        ) from error
    except BaseException:
        db.close()
        raise
    return study


_TEXTS = {
    "documents": ("id", "text"),
    "questions": ("id", "domain", "category", "source"),
    "versions": ("question", "reference", "COALESCE(rationale, '')", "COALESCE(transcription, '')"),
    "candidates": ("id", "model", "text"),
    "reviews": ("editor", "note", "at"),
    "corrections": ("COALESCE(old, '')", "COALESCE(new, '')"),
}


def _check_texts(path: Path, db: sqlite3.Connection) -> None:
    # SQLite stores any type in any column.
    for table, columns in _TEXTS.items():
        wrong = " OR ".join(f"typeof({name}) <> 'text'" for name in columns)
        if found := db.execute(f"SELECT rowid FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            raise InputError(f"{path}: row {found[0]} of {table} holds something that is no text; {_EDITED}")
        for row in db.execute(
            f"SELECT rowid, {', '.join(f'CAST({name} AS BLOB)' for name in columns)} FROM {table}"
        ):
            try:
                for each in row[1:]:
                    each.decode("utf-8")
            except UnicodeDecodeError:
                raise InputError(f"{path}: row {row[0]} of {table} is not UTF-8; {_EDITED}") from None
