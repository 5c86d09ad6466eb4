"""``lct orca data``: the work behind its options. Rated answers of several sources become ORCA's training format, whole or in parts."""

import json
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.cli.output import give, say
from long_context_tasks.schema.errors import InputError

if TYPE_CHECKING:
    from long_context_tasks.orca import OrcaItem, Split

ELITR_FILE = "qa_test2_st_all-eval"
"""The one published file of ELITR-Bench with scores by people."""
ELITR_RATERS = ("gold", "silver")
SHUFFLED = "ratings shuffled"
"""What the field ``control`` of a row says whose ratings are another answer's."""
_PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class DataOptions:
    """What goes into the data.

    Attributes:
        elitr: raters of ELITR-Bench (gold, silver); empty for none of it.
        data_dir: folder of the published files; None for the usual one.
        keep_rationale: whether ``rationale`` is a context for the model. Else it is what a rater said about the answer, which tells the rating.
        keep_improper: whether questions that are marked as flawed stay.
        sources: first parts of ``source`` to take; empty for all.
        several: only answers with two ratings or more.
        sample: of the answers with one rating, take so many; None for all.
        shuffle: whether the ratings are permuted among the answers; a control, see :func:`shuffled`.
        seed: draws the sample and the permutation.
    """

    elitr: tuple[str, ...] = ()
    data_dir: Path | None = None
    keep_rationale: bool = False
    keep_improper: bool = False
    sources: tuple[str, ...] = ()
    several: bool = False
    sample: int | None = None
    shuffle: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Made:
    """Rows in the training format, and what was left out, in words."""

    rows: list[dict[str, Any]]
    notes: list[str]


def make_rows(files: Sequence[Path], options: DataOptions) -> Made:
    """Read all sources.

    Raises:
        InputError: a file or a row cannot be used, two rows have one id, or nothing is left.
    """
    from long_context_tasks.orca.data import check_own_id

    if options.several and options.sample is not None:
        raise InputError(
            "--several-raters takes no answers with one rating, --sample takes all with several and some of the rest: give one of them"
        )
    rows = [row for path in files for row in _rated_rows(path)]
    rows += _elitr_rows(options)
    if not rows:
        what = f"no rows in {', '.join(map(str, files))}" if files else "no source"
        raise InputError(f"{what}; name files of rated answers, or --elitr gold")
    notes = []

    def leave_out(why: str, kept: list[dict[str, Any]]) -> None:
        nonlocal rows
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept)} answers left out: {why}")
        rows = kept

    if options.sources:
        there = {_group(row) for row in rows}
        if unknown := [name for name in options.sources if name not in there]:
            raise InputError(
                f"--sources {', '.join(unknown)}: not there; there are: {', '.join(sorted(there))}"
            )
        leave_out("of other sources", [row for row in rows if _group(row) in options.sources])
    if not options.keep_improper:
        leave_out(
            "the question is marked as flawed", [row for row in rows if not row.get("improper_question")]
        )
    leave_out("no rating", [row for row in rows if row["item"].ratings])
    if options.several:
        leave_out("only one rating", [row for row in rows if len(row["item"].ratings) > 1])
    if options.sample is not None:
        single = [place for place, row in enumerate(rows) if len(row["item"].ratings) == 1]
        taken = random.Random(f"sample {options.seed}").sample(single, min(options.sample, len(single)))
        dropped = set(single) - set(taken)
        leave_out("not in the sample", [row for place, row in enumerate(rows) if place not in dropped])
    if not rows:
        raise InputError(
            f"nothing is left of the sources ({'; '.join(notes)}); rate the answers, or ask for more of them"
        )
    place_of: dict[str, str] = {}
    for row in rows:
        check_own_id(row["item"], row["where"], place_of)
    made = [_row(row, options) for row in rows]
    if told := sum(isinstance(row["rationale"], str) and not options.keep_rationale for row in rows):
        notes.append(
            f"{told} rationales went to `feedback`, as what a rater said of the answer; if they are context that raters saw, as those of "
            "`lct annotate export` are, give --keep-rationale"
        )
    if options.shuffle:
        made, moved = shuffled(made, options.seed), "ratings permuted among the answers"
        notes.append(f"CONTROL, NO REAL RATINGS: {moved}; every row says so in its field `control`")
    return Made(made, notes)


def shuffled(rows: Sequence[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """A control: the same answers, with their ratings permuted among them. A judge trained on it can learn no more than how ratings are distributed.

    All ratings of an answer go together, with their scale. Which answers there are, their order and their splits stay, so a judge that was trained on
    shuffled ratings can be scored on the true ones of the same test part.

    Args:
        rows: in the training format.
        seed: draws the permutation.

    Raises:
        InputError: there is nothing to permute, since all answers have the same ratings.
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


def _group(row: dict[str, Any]) -> str:
    return str(row.get("source") or "").partition("/")[0]


def _rated_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a file, each with the item that it is."""
    from long_context_tasks.orca.data import ROWS, item_of_row
    from long_context_tasks.schema.files import json_rows

    for where, row in json_rows(path, ROWS):
        # What raters said may be one text each; it is no context, and only that must be text.
        feedback = row.get("rationale") if isinstance(row, dict) else None
        readable = {**row, "rationale": None} if isinstance(feedback, list) else row
        yield {**readable, "rationale": feedback, "item": item_of_row(readable, where), "where": where}


def _elitr_rows(options: DataOptions) -> Iterator[dict[str, Any]]:
    if not options.elitr:
        return
    if unknown := [name for name in options.elitr if name not in ELITR_RATERS]:
        raise InputError(f"--elitr {', '.join(unknown)}: raters are {', '.join(ELITR_RATERS)}")
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.orca.data import item_of_row
    from long_context_tasks.schema import resolve_options

    archives = Archives.of(resolve_options({"lct_data_dir": options.data_dir}))
    for response in archives.responses(ELITR_FILE):
        question = f"{response.meeting}/{response.question.id}"
        name = f"elitr_bench/{question}/{response.model}"
        try:
            ratings = [float(response.scores[f"{rater}-human"]) for rater in options.elitr]
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{name}: a human score is missing or no number; fetch the data again"
            ) from error
        row = {
            "id": name,
            "question": response.question.text,
            "reference": response.question.answer,
            "candidate": response.text,
            "rationale": None,
            "ratings": ratings,
            "scale": [1, 10],
            "source": f"elitr_bench/{response.question.type}",
            "question_id": question,
            "candidate_model": response.model,
        }
        yield {**row, "item": item_of_row(row, name), "where": f"--elitr, {name}"}


def _row(row: dict[str, Any], options: DataOptions) -> dict[str, Any]:
    """A row in the training format, with the ratings on 1 to 5 and as they were given."""
    from long_context_tasks.orca.data import SCALE

    item: OrcaItem = row["item"]
    said = row["rationale"]
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
        "feedback": said if said and (isinstance(said, list) or not options.keep_rationale) else None,
    }
    return made | {name: value for name, value in further.items() if value is not None}


def write_data(made: Made, output: Path, split: str, seeds: int, held_out: int, seed: int) -> list[str]:
    """Write one file, or a folder for each split; whole or not at all.

    Args:
        made: the rows.
        output: a file, or for splits a folder that is not there yet or empty.
        split: ``none``, ``questions`` or ``models``.
        seeds: splits by questions, with the seeds 0, 1, ...; of splits by models at most so many.
        held_out: models in the test part of a split by models.
        seed: of the splits by models.

    Returns:
        Lines for the user.

    Raises:
        InputError: the rows cannot be split so, nothing can be learned from a training part since all its ratings are equal, or the place
            cannot be written.
    """
    from long_context_tasks.orca.data import check_trainable, item_of_row
    from long_context_tasks.orca.study.splits import model_splits, question_splits
    from long_context_tasks.schema.files import write_whole

    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in made.rows]
    items = [item_of_row(row, f"row {number}") for number, row in enumerate(made.rows, start=1)]
    if split == "none":
        write_whole(output, lines, remedy="choose another --out")
        return [f"{output}: {len(lines)} answers", *_one_class(items)]
    if split == "questions":
        splits = question_splits(items, range(seeds))
    elif split == "models":
        splits = model_splits(items, held_out=held_out, seed=seed)[:seeds]
    else:
        raise InputError(f"--split {split}: it is one of none, questions, models")
    for number, one in enumerate(splits):
        check_trainable(
            [items[place] for place in one.train],
            f"split_{number} ({one.name}), its training part; nothing is written",
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already; name a new folder")
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        told = [_write_split(one, part, number, lines) for number, one in enumerate(splits)]
        part.replace(output)
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); choose another --out"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [f"{output}: {len(splits)} splits by {split}", *told]


def _one_class(items: "Sequence[OrcaItem]") -> list[str]:
    """A note where nothing can be learned from the answers; they may be there to be scored."""
    from long_context_tasks.orca.data import check_trainable

    try:
        check_trainable(items, "note")
    except InputError as error:
        return [f"{error}; `lct orca train` refuses these as they are"]
    return []


def _write_split(split: "Split", folder: Path, number: int, lines: Sequence[str]) -> str:
    place = folder / f"split_{number}"
    place.mkdir(parents=True)
    for name in _PARTS:
        (place / f"{name}.jsonl").write_text(
            "".join(lines[index] for index in getattr(split, name)), encoding="utf-8"
        )
    counts = ", ".join(f"{name} {len(getattr(split, name))}" for name in _PARTS)
    return f"  {place.name} ({split.name}): {counts}"


def print_counts(rows: Sequence[dict[str, Any]]) -> None:
    """A table: answers, questions and ratings of each source."""
    from long_context_tasks.cli.output import print_table
    from long_context_tasks.orca.data import item_of_row
    from long_context_tasks.orca.study.splits import question_numbers

    items = [item_of_row(row) for row in rows]
    numbers = question_numbers(items)
    groups: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(_group(row) or "(no source)", []).append(place)
    table = []
    for name, places in [*groups.items(), ("all", list(range(len(rows))))]:
        ratings = [rating for place in places for rating in items[place].ratings]
        several = [place for place in places if len(items[place].ratings) > 1]
        table.append(
            [
                name,
                str(len(places)),
                str(len({numbers[place] for place in places})),
                str(len(ratings)),
                str(len(several)),
                str(sum(len(set(items[place].ratings)) > 1 for place in several)),
                f"{sum(ratings) / len(ratings):.2f}",
            ]
        )
    print_table(
        "Rated answers by source, ratings on 1 to 5",
        ["source", "answers", "questions", "ratings", "several raters", "they differ", "mean rating"],
        table,
    )


def run_data(
    files: Sequence[Path], options: DataOptions, output: Path, split: str, seeds: int, held_out: int
) -> None:
    """Make, write, tell.

    Raises:
        InputError: see :func:`make_rows` and :func:`write_data`; or the result would be written over a source.
    """
    if output.resolve() in {path.resolve() for path in files}:
        raise InputError(f"{output}: is a source; choose another --out")
    made = make_rows(files, options)
    told = write_data(made, output, split, seeds, held_out, options.seed)
    for note in made.notes:
        say(note)
    print_counts(made.rows)
    for line in told:
        say(line)
    give(None, out=output, answers=len(made.rows), notes=made.notes)
