"""``lct orca study``: what the ORCA paper did besides its judge. Ratings by language models, comparisons over splits."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from long_context_tasks.cli.options import (
    DataDir,
    Json,
    Judges,
    JudgeSeeds,
    examples,
    words,
)
from long_context_tasks.cli.output import give, print_table, say
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.plugin import Benchmark
    from long_context_tasks.judges import JudgeConfig
    from long_context_tasks.orca.splits import SplitItems
    from long_context_tasks.orca.study.comparison import Comparison, Spread
    from long_context_tasks.orca.study.rating import Column
    from long_context_tasks.stats.raters import Difference

app = typer.Typer(add_completion=False, no_args_is_help=True)
_CONDITIONS = (
    "Texts that a judge is shown beside reference and candidate, with commas. with_context: question, rationale and transcript; "
    "without_transcription: question and rationale; without_context: question; without_question: no more; all: each of them. Controls: "
    "mismatched_reference: question and another question's reference; no_reference: question alone."
)


@app.callback()
def study() -> None:
    """Replicate the ORCA paper: its ratings by language models, its comparison of judges with people."""


def publisher(name: str) -> "Benchmark":
    """Return the benchmark whose published ratings are named.

    Raises:
        InputError: there is no such benchmark, or it publishes none.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.schema import InputError

    if name in catalogue.benchmark_names() and catalogue.benchmark(name).has_ratings:
        return catalogue.benchmark(name)
    raise InputError(f"--published {name}: no benchmark of this name publishes ratings of responses")


@app.command(
    epilog=examples(
        "lct orca study rate answers.jsonl --judge judge.yaml --out rated.jsonl",
        "lct orca study rate answers.jsonl --baselines --out baselines.jsonl",
    )
)
def rate(
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the scores, for `lct judge compare`.")],
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS", help="Answers, JSON Lines as for `lct orca`; ratings are not needed."
        ),
    ] = None,
    judge_files: Judges = None,
    condition: Annotated[str, typer.Option(help=_CONDITIONS)] = "without_transcription",
    wording: Annotated[
        Literal["paper", "modified"],
        typer.Option(help="Prompt of the ORCA paper: Fig. 7, or the modified one of Fig. 8."),
    ] = "paper",
    seeds: JudgeSeeds = "",
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also ROUGE-L and exact match, on 0 to 1; alone, without a judge."),
    ] = False,
    published: Annotated[
        str,
        typer.Option(
            help="Instead of all that: the scores by machines that this benchmark publishes with its responses."
        ),
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let judges rate how correct answers are, 1 to 5, with the prompts of the ORCA paper.

    A row for each answer: id, cluster (its question), and a score or null for each judge and condition, under JUDGE:CONDITION. Stored replies
    are not asked for again, so a stopped run goes on where it was. A reply without a readable score is null and counted. Exit
    code 1 when a score is missing.
    """
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.cli.judge import named_judges
    from long_context_tasks.judges import Store, default_store_path
    from long_context_tasks.orca import read_items
    from long_context_tasks.orca.study.rating import (
        Column,
        baseline_columns,
        check_raters,
        chosen_conditions,
        cluster_of,
        rate_answers,
        without_context,
    )
    from long_context_tasks.results.rescore import with_seeds
    from long_context_tasks.schema import InputError

    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: its folder is not there; make it, or choose another place")
    if published:
        if answers is not None or judge_files or baselines:
            raise InputError("--published goes alone; rate your own answers in another call")
        benchmark, options = publisher(published), resolve_options({"lct_data_dir": data_dir})
        keys = [(row["id"], row["question_id"]) for row in benchmark.rated_answers(options)]
        _write(out, keys, [Column(*each) for each in benchmark.machine_scores(options)])
        return
    if answers is None:
        raise InputError("no answers; name a file of them, or give --published")
    conditions = chosen_conditions(words(condition))
    items = read_items(answers)
    configs: list[JudgeConfig] = []
    if judge_files or not baselines:
        configs = [with_seeds(config, seeds) for config in named_judges(judge_files or [])]
    check_raters(configs)
    columns = baseline_columns(items) if baselines else []
    for note in without_context(items, conditions) if configs else ():
        typer.echo(note, err=True)
    for config in configs:
        rated, summary = rate_answers(items, config, conditions, wording, Store(default_store_path(config)))
        say(f"{config.name}: {summary}")
        columns += rated
    _write(out, [(item.id, cluster_of(item)) for item in items], columns)


def _write(out: Path, keys: Sequence[tuple[str, str]], columns: "Sequence[Column]") -> None:
    """Write all rows and report missing scores; exit code 1 when there are some."""
    from long_context_tasks.orca.study.rating import rated_rows
    from long_context_tasks.schema.files import write_whole

    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rated_rows(keys, columns))
    write_whole(out, lines, remedy="choose another --out")
    table = []
    for column in columns:
        scores = [score for score in column.scores if score is not None]
        mean = f"{sum(scores) / len(scores):.2f}" if scores else "-"
        scale = f"{column.scale[0]:g} to {column.scale[1]:g}"
        table.append([column.name, scale, str(len(scores)), str(len(keys)), str(column.missing), mean])
    print_table(
        f"Scores in {out}", ["rater", "scale", "n", "of", "missing scores", "mean"], table, ("scale",)
    )
    missing = sum(column.missing for column in columns)
    give(f"{out}: {len(keys)} rows", file=out, rows=len(keys), missing=missing)
    if missing:
        typer.echo(
            f"{missing} scores are missing, see above; the same command asks again for those that a judge did not answer",
            err=True,
        )
        raise typer.Exit(1)


@app.command(
    epilog=examples("lct orca study compare rated.jsonl --splits parts --against qwen:without_transcription")
)
def compare(
    files: Annotated[
        list[Path], typer.Argument(help="Scores, as for `lct judge compare`. Files are joined by id.")
    ],
    splits_folder: Annotated[
        Path,
        typer.Option(
            "--splits",
            help="Folder that `lct orca data --split` wrote, with people's ratings; or a file of rated answers, all of which count.",
        ),
    ],
    raters: Annotated[
        str, typer.Option(help="Fields with scores, with commas. Default: all that hold numbers.")
    ] = "",
    average: Annotated[
        list[str] | None,
        typer.Option(
            help="[NAME=]A,B,C: their plain mean; repeatable. Default: all judges, for each condition; or none."
        ),
    ] = None,
    fusion: Annotated[
        list[str] | None,
        typer.Option(
            help="[NAME=]A,B,C: calibrated on dev, weighed on train; repeatable. Default: as for --average; or none."
        ),
    ] = None,
    orca: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=PATTERN: files of `lct orca score` or `clamp`, {split} stands for split_0 ..., {number} for 0 ...; repeatable."
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Rater that all others are compared with, pair by pair.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the figures as JSON, too.")] = None,
    as_json: Json = False,
) -> None:
    """Compare judges with people on the test parts of splits, and with what predicts ratings without reading the answers.

    Rank correlation and error of every judge, of their mean, their fusion and of ORCA against people's ratings, as in the ORCA paper. Intervals are 95 %
    and over whole questions.
    """
    from long_context_tasks.judges.ratings import read_ratings
    from long_context_tasks.orca.splits import PARTS, read_splits
    from long_context_tasks.orca.study.comparison import compare_files
    from long_context_tasks.schema.files import write_json

    splits = read_splits(splits_folder)
    table = read_ratings(files, words(raters), fewest=1)
    found, learned, notes = compare_files(
        table,
        splits,
        named=bool(raters),
        averages=average or (),
        fusions=fusion or (),
        orca=orca or (),
        against=against,
    )
    for note in filter(None, (table.note, *notes)):
        typer.echo(f"note: {note}", err=True)
    _print_comparison(found, splits, against)
    for name, fusions in learned.items():
        # Adding 0 makes -0.0 a plain 0.
        weights = [
            [
                split.name,
                *(f"{round(each, 3) + 0.0:.3f}" for each in (*fusion.weights.values(), fusion.constant)),
            ]
            for split, fusion in zip(splits, fusions, strict=True)
        ]
        columns = ["split", *fusions[0].weights, "constant"]
        print_table(f"{name}: weights of the calibrated scores", columns, weights)
    if out is not None:
        content = {
            "splits": [
                {"name": split.name, **{part: len(getattr(split, part)) for part in PARTS}}
                for split in splits
            ],
            "against": against,
            "comparison": asdict(found),
            "fusions": {name: list(map(asdict, fusions)) for name, fusions in learned.items()},
        }
        write_json(out, content, remedy="choose another place with --out")
        give(None, file=out)


def _print_comparison(found: "Comparison", splits: "Sequence[SplitItems]", against: str | None) -> None:
    from long_context_tasks.orca.study.comparison import over_wordings

    spread = f"mean ± sd over {len(splits)} splits" if len(splits) > 1 else f"of {splits[0].name}"
    print_table(
        f"Agreement with people on the test parts, all on 0 to 1, {spread}",
        [
            *("rater", "kind", "n", "Spearman's rho"),
            *("Kendall's tau-b", "MAE of mean", "MAE of variance"),
        ],
        [
            [
                each.name,
                each.kind,
                str(each.n),
                *map(_spread, (each.rho, each.tau, each.mae, each.variance_mae)),
            ]
            for each in found.figures
        ],
        ("kind",),
    )
    if wordings := over_wordings(found.figures):
        print_table(
            "Mean ± sd over the wordings of a prompt",
            ["judge", "wordings", "Spearman's rho", "MAE of mean"],
            [[name, str(n), _spread(rho), _spread(mae)] for name, n, rho, mae in wordings],
        )
    if found.left_out:
        lacking = ", ".join(f"{name} {count}" for name, count in found.lacking.items())
        say(
            f"{found.left_out} of {found.total} test answers left out, as a rater has no score for them: {lacking}"
        )
    else:
        say(f"all {found.total} test answers of the splits; every rater has a score for each")
    if against is not None:
        print_table(
            f"Each rater minus {against}: {found.total - found.left_out} test answers of all splits together, {found.questions} questions; "
            "95 % intervals over whole questions",
            ["rater", *("rho", "95 % interval", "by rho"), *("MAE", "95 % interval", "by MAE")],
            [
                [each.name, *_difference(each.rho_difference), *_difference(each.mae_difference)]
                for each in found.figures
                if each.name != against
            ],
            ("by rho", "by MAE"),
        )


def _spread(figure: "Spread") -> str:
    return four_places(figure.mean) + ("" if math.isnan(figure.sd) else f" ± {figure.sd:.4f}")


def four_places(value: float) -> str:
    """Return a figure for a table; a dash where it is not a number."""
    return "-" if math.isnan(value) else f"{value:.4f}"


def _difference(each: "Difference | None") -> list[str]:
    assert each is not None
    value = "-" if math.isnan(each.value) else f"{each.value:+.4f}"
    return [value, interval_text(each.interval, 4), each.outcome]
