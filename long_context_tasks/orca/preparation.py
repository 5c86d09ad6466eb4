"""Rated answers of several sources become ORCA's training data, whole or in parts."""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from long_context_tasks.orca.data import ROWS, SCALE, OrcaItem, check_own_id, check_trainable, item_of_row
from long_context_tasks.orca.splits import PARTS, model_splits, question_numbers, unseen_questions
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, whole_folder, write_whole
from long_context_tasks.schema.validated import Checked

SHUFFLED = "ratings shuffled"
"""Value of the field ``control`` in a row whose ratings are another answer's."""


class DataSettings(Checked):
    """What goes into the data and how they are cut; the descriptions are the help of the command's options.

    A judge learns no more from shuffled ratings than how ratings are distributed. Splits by questions have the seeds 0, 1, ...; there are at most
    ``n_splits`` by models.

    Attributes:
        sources: first parts of ``source`` to take; empty for all.
    """

    sources: tuple[str, ...] = ()
    sample: int | None = Field(
        None, ge=0, description="Of the answers with one rating, take so many; 0 for none."
    )
    keep_rationale: bool = Field(
        False, description="`rationale` is a context of the question, no rater's remark."
    )
    keep_improper: bool = Field(False, description="Keep questions that are marked as flawed.")
    shuffle_ratings: bool = Field(False, description="A control: ratings permuted among the answers.")
    split: Literal["none", "questions", "models"] = Field(
        "none", description="none, questions (8:1:1) or models."
    )
    n_splits: int = Field(5, ge=1, description="How many splits.")
    held_out: int = Field(2, ge=1, description="Models in a test part.")
    seed: int = Field(0, description="Of the splits by models, the sample and the permutation.")


def prepare(
    files: Sequence[Path], settings: DataSettings, published: Iterable[dict[str, Any]] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """Read all sources and bring them to the training format.

    Args:
        files: rated answers.
        settings: what to take.
        published: further rows, each with an ``id``, such as a benchmark publishes them.

    Returns:
        Rows in the training format, and notes on what was left out.

    Raises:
        InputError: a file or a row cannot be used, two rows have the same id, or nothing is left.
    """
    sources = [source for path in files for source in _read(path)]
    sources += [(f"published, {row['id']}", row, item_of_row(row, row["id"])) for row in published]
    if not sources:
        what = f"no rows in {', '.join(map(str, files))}" if files else "no source"
        raise InputError(f"{what}; name files of rated answers")
    if unknown := set(settings.sources) - (groups := {_group(row) for _, row, _ in sources}):
        raise InputError(
            f"--sources {', '.join(sorted(unknown))}: not there; there are: {', '.join(sorted(groups))}"
        )
    notes = []

    def keep(test: Callable[[dict[str, Any], OrcaItem], bool], why: str) -> None:
        nonlocal sources
        kept = [(where, row, item) for where, row, item in sources if test(row, item)]
        if len(kept) < len(sources):
            notes.append(f"{len(sources) - len(kept)} answers left out: {why}")
        sources = kept

    if settings.sources:
        keep(lambda row, _: _group(row) in settings.sources, "of other sources")
    if not settings.keep_improper:
        keep(lambda row, _: not row.get("improper_question"), "the question is marked as flawed")
    keep(lambda _, item: bool(item.ratings), "no rating")
    if settings.sample is not None:
        single = [place for place, (_, _, item) in enumerate(sources) if len(item.ratings) == 1]
        drawn = random.Random(f"sample {settings.seed}").sample(single, min(settings.sample, len(single)))
        taken = {id(sources[place][2]) for place in drawn}
        keep(lambda _, item: len(item.ratings) > 1 or id(item) in taken, "not in the sample")
    if not sources:
        raise InputError(
            f"nothing is left of the sources ({'; '.join(notes)}); rate the answers, or ask for more of them"
        )
    place_of: dict[str, str] = {}
    for where, _, item in sources:
        check_own_id(item, where, place_of)
    made = [_training_row(row, item, settings.keep_rationale) for _, row, item in sources]
    remarks = sum(isinstance(row["rationale"], str) for _, row, _ in sources)
    if remarks and not settings.keep_rationale:
        notes.append(
            f"{remarks} rationales went to `feedback`, as a rater's remark on the answer; if they are context that raters saw, as those of "
            "`lct annotate export` are, give --keep-rationale"
        )
    if settings.shuffle_ratings:
        made = _shuffled(made, settings.seed)
        notes.append(
            "CONTROL, NO REAL RATINGS: ratings permuted among the answers; every row says so in its field `control`"
        )
    return made, notes


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any], OrcaItem]]:
    for where, row in json_rows(path, ROWS):
        # Raters' remarks may be a list with a text of each; only a context must be text.
        remark = row.get("rationale") if isinstance(row, dict) else None
        item = item_of_row({**row, "rationale": None} if isinstance(remark, list) else row, where)
        yield where, {**row, "rationale": remark}, item


def _group(row: dict[str, Any]) -> str:
    return str(row.get("source") or "").partition("/")[0]


def _training_row(row: dict[str, Any], item: OrcaItem, keep_rationale: bool) -> dict[str, Any]:
    """Return a row in the training format, with the ratings on 1 to 5 and as they were given."""
    remark = row["rationale"]
    further = {
        "transcription": item.transcription,
        "question_id": item.question_id,
        "candidate_model": item.model,
        "domain": item.domain or None,
        "category": item.category or None,
        "control": row.get("control"),  # once shuffled, a row stays marked
        "feedback": remark if remark and (isinstance(remark, list) or not keep_rationale) else None,
    }
    return {
        "id": item.id,
        "question": item.question,
        "reference": item.reference,
        "candidate": item.candidate,
        "rationale": item.rationale if keep_rationale else None,
        "ratings": list(item.ratings),
        "scale": list(SCALE),
        "source": row.get("source"),
        "ratings_given": row["ratings"],
        "scale_given": row.get("scale") or list(SCALE),
        **{name: value for name, value in further.items() if value is not None},
    }


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


def write_data(rows: Sequence[dict[str, Any]], output: Path, settings: DataSettings) -> list[str]:
    """Write one file, or a folder for each split; whole or not at all.

    Args:
        rows: in the training format.
        output: a file, or for splits a folder that is not there yet or empty.
        settings: of the splits.

    Returns:
        Lines for the user.

    Raises:
        InputError: the rows cannot be split so, nothing can be learned from a training part since all its ratings are equal, or the place
            cannot be written.
    """
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    items = [item_of_row(row, f"row {number}") for number, row in enumerate(rows, start=1)]
    if settings.split == "none":
        write_whole(output, lines, remedy="choose another --out")
        said = [f"{output}: {len(lines)} answers"]
        try:
            check_trainable(items, "note")
        except InputError as error:  # they may be there to be scored
            said.append(f"{error}; `lct orca train` refuses these as they are")
        return said
    if settings.split == "questions":
        splits = [unseen_questions(items, seed) for seed in range(settings.n_splits)]
    else:
        splits = model_splits(items, held_out=settings.held_out, seed=settings.seed)[: settings.n_splits]
    for number, split in enumerate(splits):
        check_trainable(
            [items[place] for place in split.train],
            f"split_{number} ({split.name}), its training part; nothing is written",
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already; name a new folder")
    said = [f"{output}: {len(splits)} splits by {settings.split}"]
    with whole_folder(output, remedy="choose another --out") as whole:
        for number, split in enumerate(splits):
            folder = whole / f"split_{number}"
            folder.mkdir()
            for part in PARTS:
                write_whole(folder / f"{part}.jsonl", (lines[place] for place in getattr(split, part)))
            counts = ", ".join(f"{part} {len(getattr(split, part))}" for part in PARTS)
            said.append(f"  {folder.name} ({split.name}): {counts}")
    return said


COUNTS = ("source", "answers", "questions", "ratings", "several raters", "they differ", "mean rating")


def counts_by_source(rows: Sequence[dict[str, Any]]) -> list[tuple[str, int, int, int, int, int, float]]:
    """Count answers, questions and ratings of each source and of all; the columns are :data:`COUNTS`."""
    items = [item_of_row(row) for row in rows]
    groups: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
    every = [(number, item.ratings) for number, item in zip(question_numbers(items), items, strict=True)]
    for row, rated in zip(rows, every, strict=True):
        groups.setdefault(_group(row) or "(no source)", []).append(rated)
    table = []
    for name, answers in [*groups.items(), ("all", every)]:
        ratings = [given for _, given in answers]
        count = sum(map(len, ratings))
        table.append(
            (
                name,
                len(answers),
                len({number for number, _ in answers}),
                count,
                sum(len(given) > 1 for given in ratings),
                sum(len(set(given)) > 1 for given in ratings),
                sum(map(sum, ratings)) / count,
            )
        )
    return table
