"""Changes of a study, each one transaction: all or nothing."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone

from long_context_tasks.annotation.records import (
    FIELDS,
    TIME,
    Annotation,
    Incoming,
    Question,
    Review,
    check_annotation,
    name_problem,
)
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError


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
        versions: dict[str, list[Question]] = {}
        for each in study.all_versions():
            versions.setdefault(each.id, []).append(each)
        for one in incoming:
            version = _add_question(study, one, versions.get(one.question.id, []))
            for key, model, answer in one.candidates:
                _add_candidate(study, key, one.question.id, version, model, answer, one.where)
        return study.count("questions") - before_questions, study.count("candidates") - before_candidates


def _add_question(study: Study, one: Incoming, versions: Sequence[Question]) -> int:
    asked = one.question
    if versions:
        newest = versions[-1]
        differing = _differing(asked, newest)
        if not differing:
            return newest.version
        for before in reversed(versions[:-1]):
            # The file from before a correction is passed over; but what it adds would answer a question that no longer counts.
            if not _differing(asked, before) and all(
                _has_candidate(study, asked.id, before.version, model) for _, model, _ in one.candidates
            ):
                return before.version
        raise InputError(
            f"{one.where}: {differing[0]} of question {asked.id} differs from version {newest.version} in the study; correct it "
            "with `lct annotate correct`, or give it another id"
        )
    if asked.document is not None and study.document(asked.document) is None:
        raise InputError(
            f"{one.where}: document {asked.document} is missing; give it with --documents, or take the field out"
        )
    study.db.execute(
        "INSERT INTO questions VALUES (?, ?, ?, ?, ?, (SELECT COALESCE(MAX(place) + 1, 0) FROM questions))",
        (asked.id, asked.document, asked.domain, asked.category, asked.source),
    )
    study.db.execute(
        "INSERT INTO versions VALUES (?, 1, ?, ?, ?, ?)",
        (asked.id, asked.question, asked.reference, asked.rationale, asked.transcription),
    )
    return 1


def _differing(asked: Question, before: Question) -> list[str]:
    given = {name: asked.field(name) for name in FIELDS}
    return [name for name, each in given.items() if each is not None and each != before.field(name)]


def _has_candidate(study: Study, question: str, version: int, model: str) -> bool:
    found = study.db.execute(
        "SELECT 1 FROM candidates WHERE question_id = ? AND version = ? AND model = ?",
        (question, version, model),
    )
    return found.fetchone() is not None


def _add_candidate(
    study: Study,
    key: str | None,
    question: str,
    version: int,
    model: str,
    content: str,
    where: str,
) -> None:
    before = study.db.execute(
        "SELECT id, text FROM candidates WHERE question_id = ? AND version = ? AND model = ?",
        (question, version, model),
    ).fetchone()
    if before is not None:
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
    """Add a model's answers to questions that have none of it; all or none.

    Returns:
        How many were added.
    """
    with study.transaction():
        before = study.count("candidates")
        for asked, content in answers:
            _add_candidate(study, None, asked.id, asked.version, model, content, f"question {asked.id}")
        return study.count("candidates") - before


def set_rationales(study: Study, rationales: Iterable[tuple[Question, str]]) -> int:
    """Fill in rationales that are missing, all or none; what was shown to annotators is not touched.

    Returns:
        How many were set.
    """
    with study.transaction() as db:
        done = 0
        for asked, content in rationales:
            done += db.execute(
                "UPDATE versions SET rationale = ? WHERE question_id = ? AND version = ? AND rationale IS NULL AND NOT EXISTS "
                "(SELECT 1 FROM annotations a JOIN candidates c ON c.id = a.candidate WHERE c.question_id = ? AND c.version = ?)",
                (content, asked.id, asked.version, asked.id, asked.version),
            ).rowcount
        return done


def annotate(study: Study, annotations: Iterable[Annotation], *, replace: bool = True) -> int:
    """Store annotations, all or none.

    Args:
        study: open.
        annotations: checked against the scale here.
        replace: whether they may change what the same person said of the same candidate before.

    Returns:
        How many are new or changed.

    Raises:
        InputError: an unknown candidate, a rating outside the scale, or one that would change another.
    """
    with study.transaction() as db:
        known = {row[0] for row in db.execute("SELECT id FROM candidates")}
        changed = 0
        for one in annotations:
            if one.candidate not in known:
                raise InputError(
                    f"no candidate {one.candidate} in {study.path}; take the ids from an export of this study"
                )
            check_annotation(one, study.scale)
            before = study.annotation(one.candidate, one.annotator)
            if before is not None:
                same = (before.rating, before.codes, before.comment) == (
                    one.rating,
                    one.codes,
                    one.comment,
                )
                if same:
                    continue
                if not replace:
                    raise InputError(
                        f"{one.annotator} has another annotation of {one.candidate} in {study.path}; add --replace to change it"
                    )
            db.execute(
                "INSERT OR REPLACE INTO annotations VALUES (?, ?, ?, ?, ?, ?)",
                (one.candidate, one.annotator, one.rating, one.codes, one.comment, one.at or now()),
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
        questions = fields = 0
        for one in reviews:
            before = _newest(study, one)
            changed = {name: new for name, new in one.changes.items() if new != before.field(name)}
            if one.decision != "correct" and changed:
                raise InputError(
                    f"question {one.question_id}: {', '.join(changed)} differs from the study, but the decision is {one.decision}; "
                    "write correct, or leave the text as it was"
                )
            cursor = db.execute(
                "INSERT INTO reviews (question_id, version, decision, editor, note, at) VALUES (?, ?, ?, ?, ?, ?)",
                (one.question_id, before.version, one.decision, editor, one.note, now()),
            )
            if one.decision == "keep":
                _note_seen(study, cursor.lastrowid, before, one)
            if one.decision != "correct":
                continue
            if not changed:
                raise InputError(
                    f"question {one.question_id}: the correction changes nothing; write decision keep"
                )
            texts = [changed.get(name, before.field(name)) for name in FIELDS]
            db.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)",
                (one.question_id, before.version + 1, *texts),
            )
            db.executemany(
                "INSERT INTO corrections VALUES (?, ?, ?, ?)",
                [(cursor.lastrowid, name, before.field(name), new) for name, new in changed.items()],
            )
            questions, fields = questions + 1, fields + len(changed)
        return questions, fields


def _note_seen(study: Study, review: int | None, asked: Question, one: Review) -> None:
    """Remember which flags a decision to keep answers. One that came later, or from another machine, is shown to the expert then."""
    flags = one.seen
    if flags is None:
        there = study.db.execute(
            "SELECT a.candidate, a.annotator, a.codes, a.comment FROM annotations a JOIN candidates c ON c.id = a.candidate "
            "WHERE c.question_id = ? AND c.version = ?",
            (asked.id, asked.version),
        )
        flags = tuple((str(a), str(b), str(c), str(d)) for a, b, c, d in there)
    study.db.executemany("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", [(review, *flag) for flag in flags])


def _newest(study: Study, one: Review) -> Question:
    newest = study.newest(one.question_id)
    if newest is None:
        raise InputError(
            f"no question {one.question_id} in {study.path}; take the ids from `lct annotate review`"
        )
    if one.version is not None and one.version != newest.version:
        raise InputError(
            f"question {one.question_id} is at version {newest.version}, the review is of version {one.version}; write a new "
            "review file with `lct annotate review`"
        )
    return newest
