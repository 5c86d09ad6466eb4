"""Prepare ORCA's training data from several sources of rated answers, as one file or as splits."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from long_context_tasks.orca.data import ROWS, SCALE, OrcaItem, check_own_id, check_trainable, item_of_row
from long_context_tasks.orca.splits import PARTS, model_splits, unseen_questions
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, whole_folder, write_whole
from long_context_tasks.schema.validated import Checked


class DataSettings(Checked):
    """Data selection and splits; the field descriptions double as help for the command's options."""

    keep_rationale: bool = Field(
        False, description="`rationale` is a context of the question, not a rater's remark."
    )
    keep_improper: bool = Field(False, description="Keep questions that are marked as flawed.")
    split: Literal["none", "questions", "models"] = Field(
        "none", description="none, questions (8:1:1) or models."
    )
    n_splits: int = Field(5, ge=1, description="Number of splits; by questions, with the seeds 0, 1, ...")
    held_out: int = Field(2, ge=1, description="Models in a test part.")
    seed: int = Field(0, description="Seed of the splits by models.")


def prepare(
    files: Sequence[Path], settings: DataSettings, published: Iterable[dict[str, Any]] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """Read all sources; return rows in the training format, and notes on skipped answers."""
    sources = [source for path in files for source in _read(path)]
    sources += [(f"published, {row['id']}", row, item_of_row(row, row["id"])) for row in published]
    if not sources:
        problem = f"no rows in {', '.join(map(str, files))}" if files else "no source"
        raise InputError(f"{problem}; name files of rated answers")
    sound = [each for each in sources if settings.keep_improper or not each[1].get("improper_question")]
    rated = [each for each in sound if each[2].ratings]
    counts = {
        "the question is marked as flawed": len(sources) - len(sound),
        "no rating": len(sound) - len(rated),
    }
    notes = [f"{count} answers left out: {why}" for why, count in counts.items() if count]
    if not rated:
        raise InputError(f"nothing is left of the sources ({'; '.join(notes)}); rate the answers")
    # Checked after filtering, so that a repeated id among skipped questions does no harm.
    place_of: dict[str, str] = {}
    for where, _, item in rated:
        check_own_id(item, where, place_of)
    made = [_training_row(row, item, settings.keep_rationale) for _, row, item in rated]
    remarks = sum(isinstance(row["rationale"], str) for _, row, _ in rated)
    if remarks and not settings.keep_rationale:
        notes.append(
            f"{remarks} rationales went to `feedback`, as a rater's remark on the answer; if they are context that raters saw, as those of "
            "`lct annotate export` are, give --keep-rationale"
        )
    return made, notes


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any], OrcaItem]]:
    for where, row in json_rows(path, ROWS):
        # Raters' remarks may be a list with one text per rater; only a context must be text.
        remark = row.get("rationale") if isinstance(row, dict) else None
        item = item_of_row({**row, "rationale": None} if isinstance(remark, list) else row, where)
        yield where, {**row, "rationale": remark}, item


def _training_row(row: dict[str, Any], item: OrcaItem, keep_rationale: bool) -> dict[str, Any]:
    """Return a training row with ratings on [1, 5], alongside the original ones."""
    remark = row["rationale"]
    further = {
        "transcription": item.transcription,
        "question_id": item.question_id,
        "candidate_model": item.model,
        "domain": item.domain or None,
        "category": item.category or None,
        "feedback": remark if remark and (isinstance(remark, list) or not keep_rationale) else None,
    }
    return {
        "id": item.id,
        "question": item.question,
        "reference": item.reference,
        "candidate": item.candidate,
        # A rater's remark reveals the rating, so the model must not read it.
        "rationale": item.rationale if keep_rationale else None,
        "ratings": list(item.ratings),
        "scale": list(SCALE),
        "source": row.get("source"),
        "ratings_given": row["ratings"],
        "scale_given": row.get("scale") or list(SCALE),
        **{name: value for name, value in further.items() if value is not None},
    }


def write_data(rows: Sequence[dict[str, Any]], output: Path, settings: DataSettings) -> list[str]:
    """Write one file, or a folder for each split; return messages for the user."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    items = [item_of_row(row, f"row {number}") for number, row in enumerate(rows, start=1)]
    if settings.split == "none":
        write_whole(output, lines, remedy="choose another --out")
        messages = [f"{output}: {len(lines)} answers"]
        try:
            check_trainable(items, "note")
        except InputError as error:  # the answers may be meant for scoring
            messages.append(f"{error}; `lct orca train` refuses these as they are")
        return messages
    if settings.split == "questions":
        splits = [unseen_questions(items, seed) for seed in range(settings.n_splits)]
    else:
        splits = model_splits(items, held_out=settings.held_out, seed=settings.seed)[: settings.n_splits]
    # All splits are checked before the first is written.
    for number, split in enumerate(splits):
        check_trainable(
            [items[index] for index in split.train],
            f"split_{number} ({split.name}), its training part; nothing is written",
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: exists; name a new folder")
    messages = [f"{output}: {len(splits)} splits by {settings.split}"]
    with whole_folder(output, remedy="choose another --out") as whole:
        for number, split in enumerate(splits):
            folder = whole / f"split_{number}"
            folder.mkdir()
            for part in PARTS:
                write_whole(folder / f"{part}.jsonl", (lines[index] for index in getattr(split, part)))
            counts = ", ".join(f"{part} {len(getattr(split, part))}" for part in PARTS)
            messages.append(f"  {folder.name} ({split.name}): {counts}")
    return messages
