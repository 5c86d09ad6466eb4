"""``lct orca data`` and ``lct orca study data``: training data from rated answers."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import DataDir, Json, words
from long_context_tasks.cli.output import give, print_table, say

if TYPE_CHECKING:
    from long_context_tasks.orca.preparation import DataOptions, SplitOptions

_Files = Annotated[
    list[Path] | None, typer.Argument(help="Rated answers, JSON Lines or .gz; see docs/orca.md.")
]
_Out = Annotated[Path, typer.Option("--out", "-o", help="File to write; with --split a new folder.")]
_Split = Annotated[str, typer.Option("--split", help="none, questions (8:1:1) or models.")]
_Splits = Annotated[int, typer.Option("--n-splits", min=1, help="How many splits.")]
_HeldOut = Annotated[int, typer.Option("--held-out", min=1, help="Models in a test part.")]
_KeepRationale = Annotated[
    bool,
    typer.Option("--keep-rationale", help="`rationale` is a context of the question, no rater's remark."),
]
_KeepImproper = Annotated[
    bool, typer.Option("--keep-improper", help="Keep questions that are marked as flawed.")
]


def data(
    output: _Out,
    files: _Files = None,
    split: _Split = "none",
    splits: _Splits = 5,
    held_out: _HeldOut = 2,
    keep_rationale: _KeepRationale = False,
    keep_improper: _KeepImproper = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the splits by models.")] = 0,
    as_json: Json = False,
) -> None:
    """Make training data: ratings brought to 1 to 5, raters' remarks taken out of the text, parts without a common question."""
    from long_context_tasks.orca.preparation import DataOptions, SplitOptions

    options = DataOptions(keep_rationale=keep_rationale, keep_improper=keep_improper)
    _write(files or [], output, options, SplitOptions(split, splits, held_out, seed))


def study_data(
    output: _Out,
    files: _Files = None,
    published: Annotated[
        str, typer.Option("--published", help="Benchmark whose published scores by people to add.")
    ] = "",
    raters: Annotated[
        str, typer.Option("--raters", help="With --published: the people, with commas. Default: all.")
    ] = "",
    data_dir: DataDir = None,
    split: _Split = "none",
    splits: _Splits = 5,
    held_out: _HeldOut = 2,
    sources: Annotated[
        str, typer.Option("--sources", help="Only these, with commas: first part of each row's source.")
    ] = "",
    several: Annotated[
        bool, typer.Option("--several-raters", help="Only answers with two ratings or more.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option("--sample", min=0, help="Of the answers with one rating, take so many.")
    ] = None,
    keep_rationale: _KeepRationale = False,
    keep_improper: _KeepImproper = False,
    shuffle_ratings: Annotated[
        bool, typer.Option("--shuffle-ratings", help="A control: ratings permuted among the answers.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the sample, the splits by models and the permutation.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Make training data as `lct orca data` does, from published scores, samples and permuted ratings, too."""
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.orca.preparation import DataOptions, SplitOptions
    from long_context_tasks.schema import InputError

    options = DataOptions(
        keep_rationale=keep_rationale,
        keep_improper=keep_improper,
        sources=words(sources),
        several=several,
        sample=sample,
        shuffle=shuffle_ratings,
        seed=seed,
    )
    further: Iterable[dict[str, Any]] = ()
    if published:
        further = published_ratings(published).rated_answers(
            resolve_options({"lct_data_dir": data_dir}), words(raters)
        )
    elif raters:
        raise InputError("--raters goes with --published; leave it out, or name the benchmark")
    _write(files or [], output, options, SplitOptions(split, splits, held_out, seed), further)


def published_ratings(benchmark: str) -> Any:
    """Return the module with the ratings that a benchmark publishes.

    Raises:
        InputError: no such benchmark, or it publishes none.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.schema import InputError

    known = benchmark in catalogue.benchmark_names()
    if known and (ratings := catalogue.benchmark(benchmark).function("ratings")) is not None:
        return ratings
    raise InputError(f"--published {benchmark}: no benchmark of this name publishes ratings of responses")


def _write(
    files: list[Path],
    output: Path,
    options: "DataOptions",
    split: "SplitOptions",
    published: Iterable[dict[str, Any]] = (),
) -> None:
    from long_context_tasks.orca.preparation import COUNTS, counts_by_source, prepare, write_data
    from long_context_tasks.schema import InputError

    if output.resolve() in {path.resolve() for path in files}:
        raise InputError(f"{output}: is a source; choose another --out")
    made = prepare(files, options, published)
    lines = write_data(made.rows, output, split)
    for note in made.notes:
        say(note)
    print_table(
        "Rated answers by source, ratings on 1 to 5",
        list(COUNTS),
        [[*map(str, row[:-1]), f"{row[-1]:.2f}"] for row in counts_by_source(made.rows)],
    )
    for line in lines:
        say(line)
    give(None, out=output, answers=len(made.rows), notes=made.notes)
