"""A study in one SQLite file: written in transactions, checked when it is opened.

The file is made beside its place and moved there, so a broken creation leaves nothing; every later change is one transaction:
all or nothing.
"""

import json
import os
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Json

from long_context_tasks.annotation.records import (
    FIELDS,
    TIME,
    Annotation,
    Candidate,
    Incoming,
    Question,
    Review,
    Scale,
    check_annotation,
    name_problem,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, validated

_APPLICATION = 0x4C435441  # "LCTA", in the head of the SQLite file
_FORMAT = 1
_EDITED = "was it edited by hand? Take a copy from before that, or make a new study from its exports"
_QUESTION = "id, question, reference, rationale, transcription, document, domain, category, source, version"
_CURRENT = "(SELECT question_id, version FROM current_versions)"


class _Settings(Checked):
    scale: Json[Scale]


class Study:
    """An open study; use it in ``with``."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        """Use :func:`create` or :func:`open_study`."""
        self.path = path
        self.db = db
        given = dict(db.execute("SELECT name, value FROM settings"))
        self.scale: Scale = validated(_Settings, given, f"{path}, settings", remedy=_EDITED).scale

    def __enter__(self) -> "Study":
        """Return the study."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.db.close()

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

    def _questions(self, which: str = "", *values: str) -> list[Question]:
        sql = f"SELECT {_QUESTION} FROM question_versions {which} ORDER BY place, version"
        return [Question(*row) for row in self.db.execute(sql, values)]

    def questions(self) -> list[Question]:
        """Return the questions that count, in their newest version, in order."""
        return self._questions(f"WHERE (id, version) IN {_CURRENT}")

    def all_versions(self) -> list[Question]:
        """Return every version of every question, also of removed questions."""
        return self._questions()

    def versions(self, question: str) -> list[Question]:
        """Return the versions of a question, also of a removed one; none for an unknown id."""
        return self._questions("WHERE id = ?", question)

    def candidates(self, *, current: bool = False) -> list[Candidate]:
        """Return all candidates, or only those of versions that count, in order."""
        which = f"WHERE (question_id, version) IN {_CURRENT}" if current else ""
        sql = f"SELECT id, question_id, version, model, text FROM candidates {which} ORDER BY place"
        return [Candidate(*row) for row in self.db.execute(sql)]

    def documents_of_candidates(self) -> dict[str, str]:
        """Return the document of each candidate's question, empty without one."""
        document = {
            (question.id, question.version): question.document or "" for question in self.all_versions()
        }
        return {
            candidate.id: document[candidate.question_id, candidate.version]
            for candidate in self.candidates()
        }

    def annotations(self) -> list[Annotation]:
        """Return all annotations, by candidate, then by annotator."""
        found = self.db.execute(
            "SELECT a.* FROM annotations a JOIN candidates c ON c.id = a.candidate ORDER BY c.place, a.annotator"
        )
        return [Annotation(*row) for row in found]

    def annotation(self, candidate: str, annotator: str) -> Annotation | None:
        """Return a person's annotation of a candidate; None without any."""
        row = self.db.execute(
            "SELECT * FROM annotations WHERE candidate = ? AND annotator = ?", (candidate, annotator)
        ).fetchone()
        return None if row is None else Annotation(*row)

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return int(self.db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])

    def document(self, key: str) -> str | None:
        """Return the text of a source document; None for an unknown id."""
        row = self.db.execute("SELECT text FROM documents WHERE id = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def corrections(self) -> list[dict[str, Any]]:
        """Return the history: every review, with old and new text of each corrected field, in order of time."""
        changes: dict[int, dict[str, dict[str, str | None]]] = {}
        for key, field, old, new in self.db.execute("SELECT * FROM corrections ORDER BY field"):
            changes.setdefault(key, {})[field] = {"old": old, "new": new}
        names = ("question_id", "version", "decision", "editor", "note", "at")
        return [
            {**dict(zip(names, values, strict=True)), "changes": changes.get(key, {})}
            for key, *values in self.db.execute(f"SELECT id, {', '.join(names)} FROM reviews ORDER BY id")
        ]

    def seen(self) -> dict[tuple[str, int], set[tuple[str, str, str, str]]]:
        """Return question and version to the flags that experts saw when they kept it: ``(candidate, annotator, codes, comment)``."""
        found: dict[tuple[str, int], set[tuple[str, str, str, str]]] = {}
        for question, version, *flag in self.db.execute(
            "SELECT r.question_id, r.version, s.candidate, s.annotator, s.codes, s.comment FROM seen s JOIN reviews r ON r.id = s.review"
        ):
            found.setdefault((question, version), set()).add((flag[0], flag[1], flag[2], flag[3]))
        return found


def create(
    path: Path,
    scale: Scale,
    incoming: Sequence[Incoming] = (),
    documents: Mapping[str, str] | None = None,
) -> tuple[int, int]:
    """Make a study with questions and candidates, whole or not at all; of several processes only one makes it.

    Returns:
        How many questions and how many candidates it has.

    Raises:
        InputError: the file is there or cannot be written, or as :func:`add`.
    """
    taken = f"{path}: is there already; run again without --scale to add to it, or name another file"
    if path.exists():
        raise InputError(taken)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    schema = resources.files("long_context_tasks.annotation").joinpath("schema.sql")
    try:
        part.unlink(missing_ok=True)
        with closing(sqlite3.connect(part)) as db:
            db.executescript(schema.read_text(encoding="utf-8"))
            db.execute("INSERT INTO settings VALUES ('scale', ?)", (json.dumps(scale.as_row()),))
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            db.commit()
        with open_study(part) as study:
            new = add(study, incoming, documents)
        os.link(part, path)  # never over a study that another process has made meanwhile
        return new
    except FileExistsError:
        raise InputError(taken) from None
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
    db = None
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        return _checked(path, db)
    except BaseException as error:
        if db is not None:
            db.close()
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # the latter from damaged names of tables
            raise InputError(
                f"{path}: no study, or a damaged one ({error}); name the file that `lct annotate prepare` made"
            ) from error
        raise


def _checked(path: Path, db: sqlite3.Connection) -> Study:
    if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise InputError(
            f"{path}: a database of another program, not a study; name the file that `lct annotate prepare` made"
        )
    if (version := db.execute("PRAGMA user_version").fetchone()[0]) != _FORMAT:
        raise InputError(f"{path}: format {version}, this version reads {_FORMAT}; update long_context_tasks")
    db.execute("PRAGMA foreign_keys = ON")
    if (state := db.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
        raise InputError(f"{path}: damaged ({state}); {_EDITED}")
    if broken := db.execute("PRAGMA foreign_key_check").fetchone():
        raise InputError(
            f"{path}: row {broken[1]} of {broken[0]} names a row of {broken[2]} that is not there; {_EDITED}"
        )
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        try:
            deque(db.execute(f"SELECT * FROM {table}"), maxlen=0)  # fails where a text is not UTF-8
        except sqlite3.OperationalError as error:
            raise InputError(f"{path}: {table}: {error}; {_EDITED}") from None
    study = Study(path, db)
    for annotation in study.annotations():
        try:
            check_annotation(annotation, study.scale)
        except InputError as error:
            raise InputError(f"{path}: {error}; {_EDITED}") from None
    return study


def now() -> str:
    """Return the time of UTC, to the second."""
    return datetime.now(timezone.utc).strftime(TIME)


def add(
    study: Study, incoming: Sequence[Incoming], documents: Mapping[str, str] | None = None
) -> tuple[int, int]:
    """Add questions and candidates, all or none; what is there already is passed over.

    Returns:
        How many questions and how many candidates are new.

    Raises:
        InputError: a question that differs from the one that is there, a candidate of a model that answered otherwise, an
            id that is taken, or a document that is missing.
    """
    with study.transaction() as db:
        for name, content in (documents or {}).items():
            there = study.document(name)
            if there is not None and there != content:
                raise InputError(f"document {name} is in the study with another text; give it another id")
            if there is None:
                db.execute("INSERT INTO documents VALUES (?, ?)", (name, content))
        before_questions, before_candidates = study.count("questions"), study.count("candidates")
        for entry in incoming:
            version = _add_question(study, entry, study.versions(entry.question.id))
            for key, model, answer in entry.candidates:
                _add_candidate(study, key, entry.question.id, version, model, answer, entry.where)
        return study.count("questions") - before_questions, study.count("candidates") - before_candidates


def _add_question(study: Study, entry: Incoming, versions: Sequence[Question]) -> int:
    """Return the version that the candidates of an incoming question answer."""
    asked = entry.question
    for before in reversed(versions):
        given = {name: text for name, text in asked.texts.items() if text is not None}
        if not given.items() - before.texts.items():
            # The file from before a correction is passed over; but what it adds would answer a question that no longer counts.
            answered = (
                _candidate(study, asked.id, before.version, model) for _, model, _ in entry.candidates
            )
            if before is versions[-1] or all(answered):
                return before.version
    if versions:
        newest = versions[-1]
        differing = next(name for name, text in asked.texts.items() if text not in (None, newest.texts[name]))
        raise InputError(
            f"{entry.where}: {differing} of question {asked.id} differs from version {newest.version} in the study; correct it "
            "with `lct annotate correct`, or give it another id"
        )
    if asked.document is not None and study.document(asked.document) is None:
        raise InputError(
            f"{entry.where}: document {asked.document} is missing; give it with --documents, or take the field out"
        )
    study.db.execute(
        "INSERT INTO questions VALUES (?, ?, ?, ?, ?, (SELECT COALESCE(MAX(place) + 1, 0) FROM questions))",
        (asked.id, asked.document, asked.domain, asked.category, asked.source),
    )
    study.db.execute("INSERT INTO versions VALUES (?, 1, ?, ?, ?, ?)", (asked.id, *asked.texts.values()))
    return 1


def _candidate(study: Study, question: str, version: int, model: str) -> tuple[str, str] | None:
    """Return id and text of a model's answer to a version of a question."""
    found: tuple[str, str] | None = study.db.execute(
        "SELECT id, text FROM candidates WHERE question_id = ? AND version = ? AND model = ?",
        (question, version, model),
    ).fetchone()
    return found


def _add_candidate(
    study: Study, key: str | None, question: str, version: int, model: str, content: str, where: str
) -> None:
    if (before := _candidate(study, question, version, model)) is not None:
        if before[1] != content:
            raise InputError(
                f"{where}: {model} has another answer to question {question} in the study ({before[0]}); one answer a model"
            )
        return
    key = key or (f"{question}/{model}" if version == 1 else f"{question}@{version}/{model}")
    if study.db.execute("SELECT 1 FROM candidates WHERE id = ?", (key,)).fetchone():
        raise InputError(f"{where}: the id {key} is taken by another candidate; give it another")
    study.db.execute(
        "INSERT INTO candidates VALUES (?, ?, ?, ?, ?, (SELECT COALESCE(MAX(place) + 1, 0) FROM candidates))",
        (key, question, version, model, content),
    )


def add_answers(study: Study, model: str, answers: Iterable[tuple[Question, str]]) -> int:
    """Add a model's answers to questions that have none of it, all or none; return how many were added."""
    with study.transaction():
        before = study.count("candidates")
        for asked, content in answers:
            _add_candidate(study, None, asked.id, asked.version, model, content, f"question {asked.id}")
        return study.count("candidates") - before


def set_rationales(study: Study, rationales: Iterable[tuple[Question, str]]) -> int:
    """Fill in rationales that are missing, all or none; return how many. What was shown to annotators is not touched."""
    with study.transaction() as db:
        before = db.total_changes
        db.executemany(
            "UPDATE versions SET rationale = ? WHERE question_id = ? AND version = ? AND rationale IS NULL AND NOT EXISTS "
            "(SELECT 1 FROM annotations a JOIN candidates c ON c.id = a.candidate "
            "WHERE c.question_id = versions.question_id AND c.version = versions.version)",
            ((content, asked.id, asked.version) for asked, content in rationales),
        )
        return db.total_changes - before


def annotate(
    study: Study,
    annotations: Iterable[Annotation],
    *,
    withdrawn: Iterable[tuple[str, str]] = (),
    replace: bool = True,
) -> int:
    """Store annotations and delete those that were withdrawn, all or none.

    Args:
        study: open.
        annotations: new or changed; those that the study has already are passed over.
        withdrawn: candidate and annotator; passed over if the study has no such annotation.
        replace: may change and delete annotations.

    Returns:
        How many are new, changed or deleted.

    Raises:
        InputError: an unknown candidate, a rating outside the scale, or a change although ``replace`` is false.
    """
    with study.transaction() as db:
        known = {row[0] for row in db.execute("SELECT id FROM candidates")}
        changed = 0
        for annotation in annotations:
            if annotation.candidate not in known:
                raise InputError(
                    f"no candidate {annotation.candidate} in {study.path}; take the ids from an export of this study"
                )
            check_annotation(annotation, study.scale)
            said = (annotation.rating, annotation.codes, annotation.comment)
            if (before := study.annotation(annotation.candidate, annotation.annotator)) is not None:
                if (before.rating, before.codes, before.comment) == said:
                    continue
                if not replace:
                    raise InputError(
                        f"{annotation.annotator} has another annotation of {annotation.candidate} in {study.path}; add --replace to change it"
                    )
            db.execute(
                "INSERT OR REPLACE INTO annotations VALUES (?, ?, ?, ?, ?, ?)",
                (annotation.candidate, annotation.annotator, *said, annotation.at),
            )
            changed += 1
        for candidate, annotator in withdrawn:
            if study.annotation(candidate, annotator) is None:
                continue
            if not replace:
                raise InputError(
                    f"{annotator} withdrew the annotation of {candidate}, which {study.path} has; add --replace to delete it"
                )
            db.execute(
                "DELETE FROM annotations WHERE candidate = ? AND annotator = ?", (candidate, annotator)
            )
            changed += 1
        return changed


def review(study: Study, reviews: Sequence[Review], editor: str) -> tuple[int, int]:
    """Apply an expert's decisions, all or none. A correction makes a new version, which has no candidates yet.

    Returns:
        How many questions were corrected and how many fields.

    Raises:
        InputError: an unknown question, one that was corrected in the meantime, or a correction that changes nothing.
    """
    if problem := name_problem(editor):
        raise InputError(f"--editor: {problem}")
    with study.transaction() as db:
        fields = [_apply(study, db, review, editor) for review in reviews]
    return sum(map(bool, fields)), sum(fields)


def _apply(study: Study, db: sqlite3.Connection, review: Review, editor: str) -> int:
    """Apply a decision; return how many fields it corrects."""
    versions = study.versions(review.question_id)
    if not versions:
        raise InputError(
            f"no question {review.question_id} in {study.path}; take the ids from `lct annotate review`"
        )
    before = versions[-1]
    where = f"question {review.question_id}"
    if review.version not in (None, before.version):
        raise InputError(
            f"{where} is at version {before.version}, the review is of version {review.version}; write a new "
            "review file with `lct annotate review`"
        )
    changed = {name: new for name, new in review.changes.items() if new != before.texts[name]}
    if review.decision != "correct" and changed:
        raise InputError(
            f"{where}: {', '.join(changed)} differs from the study, but the decision is {review.decision}; "
            "write correct, or leave the text as it was"
        )
    if review.decision == "correct" and not changed:
        raise InputError(f"{where}: the correction changes nothing; write decision keep")
    key = db.execute(
        "INSERT INTO reviews (question_id, version, decision, editor, note, at) VALUES (?, ?, ?, ?, ?, ?)",
        (review.question_id, before.version, review.decision, editor, review.note, now()),
    ).lastrowid
    if review.decision == "keep":
        # A flag that came later, or from another machine, is shown to the expert then.
        flags: Iterable[tuple[str, ...]] | None = review.seen
        if flags is None:
            flags = db.execute(
                "SELECT a.candidate, a.annotator, a.codes, a.comment FROM annotations a JOIN candidates c ON c.id = a.candidate "
                "WHERE c.question_id = ? AND c.version = ?",
                (before.id, before.version),
            ).fetchall()
        db.executemany("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", [(key, *flag) for flag in flags])
    if changed:
        texts = {**before.texts, **changed}
        values = (review.question_id, before.version + 1, *(texts[name] for name in FIELDS))
        db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", values)
        db.executemany(
            "INSERT INTO corrections VALUES (?, ?, ?, ?)",
            [(key, name, before.texts[name], new) for name, new in changed.items()],
        )
    return len(changed)
