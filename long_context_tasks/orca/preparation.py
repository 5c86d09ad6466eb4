"""Rated answers of several sources become ORCA's training data, whole or in parts."""

import json
import os
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.orca.data import ROWS, SCALE, OrcaItem, check_own_id, check_trainable, item_of_row
from long_context_tasks.orca.splits import PARTS, Split, model_splits, question_numbers, question_splits
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, write_whole

SHUFFLED = "ratings shuffled"
"""Value of the field ``control`` in a row whose ratings are another answer's."""
SPLITS = ("none", "questions", "models")


@dataclass(frozen=True)
class DataOptions:
    """What goes into the data.

    Attributes:
        keep_rationale: whether ``rationale`` is a context for the model. Else it is a rater's remark on the answer, which gives the rating away.
        keep_improper: whether questions that are marked as flawed stay.
        sources: first parts of ``source`` to take; empty for all.
        several: only answers with two ratings or more.
        sample: of the answers with one rating, take so many; None for all.
        shuffle: whether the ratings are permuted among the answers; a control, from which a judge can learn no more than how ratings are distributed.
        seed: draws the sample and the permutation.
    """

    keep_rationale: bool = False
    keep_improper: bool = False
    sources: tuple[str, ...] = ()
    several: bool = False
    sample: int | None = None
    shuffle: bool = False
    seed: int = 0


@dataclass(frozen=True)
class SplitOptions:
    """How the data are cut.

    Attributes:
        by: one of :data:`SPLITS`.
        number: of splits; by questions with the seeds 0, 1, ...; by models at most so many.
        held_out: models in the test part of a split by models.
        seed: of splits by models.
    """

    by: str = "none"
    number: int = 5
    held_out: int = 2
    seed: int = 0


@dataclass(frozen=True)
class Prepared:
    """Rows in the training format, and notes on what was left out."""

    rows: list[dict[str, Any]]
    notes: list[str]


@dataclass(frozen=True)
class _Source:
    row: dict[str, Any]
    item: OrcaItem
    where: str

    @property
    def group(self) -> str:
        return _group(self.row)


def prepare(
    files: Sequence[Path], options: DataOptions, published: Iterable[dict[str, Any]] = ()
) -> Prepared:
    """Read all sources and bring them to the training format.

    Args:
        files: rated answers.
        options: what to take.
        published: further rows, each with an ``id``, such as a benchmark publishes them.

    Raises:
        InputError: a file or a row cannot be used, two rows have the same id, or nothing is left.
    """
    if options.several and options.sample is not None:
        raise InputError(
            "--several-raters takes no answers with one rating, --sample takes all with several and some of the rest: give one of them"
        )
    rows = [source for path in files for source in _read(path)]
    rows += [_Source(row, item_of_row(row, row["id"]), f"published, {row['id']}") for row in published]
    if not rows:
        what = f"no rows in {', '.join(map(str, files))}" if files else "no source"
        raise InputError(f"{what}; name files of rated answers")
    notes = []

    def keep(which: Iterable[_Source], why: str) -> None:
        nonlocal rows
        kept = list(which)
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept)} answers left out: {why}")
        rows = kept

    if options.sources:
        groups = {row.group for row in rows}
        if unknown := [name for name in options.sources if name not in groups]:
            raise InputError(
                f"--sources {', '.join(unknown)}: not there; there are: {', '.join(sorted(groups))}"
            )
        keep((row for row in rows if row.group in options.sources), "of other sources")
    if not options.keep_improper:
        keep(
            (row for row in rows if not row.row.get("improper_question")), "the question is marked as flawed"
        )
    keep((row for row in rows if row.item.ratings), "no rating")
    if options.several:
        keep((row for row in rows if len(row.item.ratings) > 1), "only one rating")
    if options.sample is not None:
        single = [place for place, row in enumerate(rows) if len(row.item.ratings) == 1]
        taken = random.Random(f"sample {options.seed}").sample(single, min(options.sample, len(single)))
        dropped = set(single) - set(taken)
        keep((row for place, row in enumerate(rows) if place not in dropped), "not in the sample")
    if not rows:
        raise InputError(
            f"nothing is left of the sources ({'; '.join(notes)}); rate the answers, or ask for more of them"
        )
    place_of: dict[str, str] = {}
    for row in rows:
        check_own_id(row.item, row.where, place_of)
    made = [_training_row(row, options) for row in rows]
    remarks = sum(isinstance(row.row["rationale"], str) for row in rows)
    if remarks and not options.keep_rationale:
        notes.append(
            f"{remarks} rationales went to `feedback`, as a rater's remark on the answer; if they are context that raters saw, as those of "
            "`lct annotate export` are, give --keep-rationale"
        )
    if options.shuffle:
        made = _shuffled(made, options.seed)
        notes.append(
            "CONTROL, NO REAL RATINGS: ratings permuted among the answers; every row says so in its field `control`"
        )
    return Prepared(made, notes)


def _read(path: Path) -> Iterator[_Source]:
    for where, row in json_rows(path, ROWS):
        # Raters' remarks may be a list with a text of each; only a context must be text.
        remark = row.get("rationale") if isinstance(row, dict) else None
        readable = {**row, "rationale": None} if isinstance(remark, list) else row
        item = item_of_row(readable, where)
        yield _Source({**readable, "rationale": remark}, item, where)


def _group(row: dict[str, Any]) -> str:
    return str(row.get("source") or "").partition("/")[0]


def _training_row(source: _Source, options: DataOptions) -> dict[str, Any]:
    """Return a row in the training format, with the ratings on 1 to 5 and as they were given."""
    row, item, remark = source.row, source.item, source.row["rationale"]
    made: dict[str, Any] = {
        "id": item.id,
        "question": item.question,
        "reference": item.reference,
        "candidate": item.candidate,
        "rationale": item.rationale if options.keep_rationale else None,
        "ratings": list(item.ratings),
        "scale": list(SCALE),
        "source": row.get("source"),
        "ratings_given": row["ratings"],
        "scale_given": row.get("scale") or list(SCALE),
    }
    further = {
        "transcription": item.transcription,
        "question_id": item.question_id,
        "candidate_model": item.model,
        "domain": item.domain or None,
        "category": item.category or None,
        "control": row.get("control"),  # once shuffled, a row stays marked
        "feedback": remark if remark and (isinstance(remark, list) or not options.keep_rationale) else None,
    }
    return made | {name: value for name, value in further.items() if value is not None}


def _shuffled(rows: Sequence[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Permute the ratings among the answers, those of an answer together, with their scale.

    The answers, their order and their splits stay, so a judge that was trained on shuffled ratings can be scored on the true ones of the same test part.
    """
    if len({tuple(row["ratings"]) for row in rows}) < 2:
        raise InputError(
            "--shuffle-ratings: all answers have the same ratings, so there is nothing to shuffle"
        )
    places = list(range(len(rows)))
    random.Random(f"shuffled ratings {seed}").shuffle(places)
    moved = ("ratings", "ratings_given", "scale_given")
    return [
        {**row, **{name: rows[place][name] for name in moved}, "control": SHUFFLED}
        for row, place in zip(rows, places, strict=True)
    ]


def write_data(rows: Sequence[dict[str, Any]], output: Path, options: SplitOptions) -> list[str]:
    """Write one file, or a folder for each split; whole or not at all.

    Args:
        rows: in the training format.
        output: a file, or for splits a folder that is not there yet or empty.
        options: of the splits.

    Returns:
        Lines for the user.

    Raises:
        InputError: the rows cannot be split so, nothing can be learned from a training part since all its ratings are equal, or the place
            cannot be written.
    """
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    items = [item_of_row(row, f"row {number}") for number, row in enumerate(rows, start=1)]
    if options.by == "none":
        write_whole(output, lines, remedy="choose another --out")
        return [f"{output}: {len(lines)} answers", *_untrainable(items)]
    if options.by == "questions":
        splits = question_splits(items, range(options.number))
    elif options.by == "models":
        splits = model_splits(items, held_out=options.held_out, seed=options.seed)[: options.number]
    else:
        raise InputError(f"--split {options.by}: it is one of {', '.join(SPLITS)}")
    for number, split in enumerate(splits):
        check_trainable(
            [items[place] for place in split.train],
            f"split_{number} ({split.name}), its training part; nothing is written",
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already; name a new folder")
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        counts = [_write_split(split, part / f"split_{n}", lines) for n, split in enumerate(splits)]
        part.replace(output)
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); choose another --out"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [f"{output}: {len(splits)} splits by {options.by}", *counts]


def _untrainable(items: Sequence[OrcaItem]) -> list[str]:
    """Return a note where nothing can be learned from the answers; they may be there to be scored."""
    try:
        check_trainable(items, "note")
    except InputError as error:
        return [f"{error}; `lct orca train` refuses these as they are"]
    return []


def _write_split(split: Split, place: Path, lines: Sequence[str]) -> str:
    place.mkdir(parents=True)
    parts = {name: [lines[index] for index in getattr(split, name)] for name in PARTS}
    for name, rows in parts.items():
        (place / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in parts.items())
    return f"  {place.name} ({split.name}): {counts}"


COUNTS = ("source", "answers", "questions", "ratings", "several raters", "they differ", "mean rating")


def counts_by_source(rows: Sequence[dict[str, Any]]) -> list[tuple[str, int, int, int, int, int, float]]:
    """Count answers, questions and ratings of each source and of all; the columns are :data:`COUNTS`."""
    items = [item_of_row(row) for row in rows]
    numbers = question_numbers(items)
    groups: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(_group(row) or "(no source)", []).append(place)
    table = []
    for name, places in [*groups.items(), ("all", list(range(len(rows))))]:
        ratings = [items[place].ratings for place in places]
        several = [each for each in ratings if len(each) > 1]
        table.append(
            (
                name,
                len(places),
                len({numbers[place] for place in places}),
                sum(map(len, ratings)),
                len(several),
                sum(len(set(each)) > 1 for each in several),
                sum(map(sum, ratings)) / sum(map(len, ratings)),
            )
        )
    return table
