"""``lct orca``: a judge that is trained on human ratings: its data, training and scores, and the tables of its paper."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import (
    DataDir,
    Device,
    Json,
    Judges,
    JudgeSeeds,
    Window,
    examples,
    tokens,
    typed_options,
    with_settings,
    words,
)
from long_context_tasks.cli.output import (
    add_table,
    check_out,
    give,
    json_wanted,
    print_table,
    say,
    warn,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, write_json, write_whole
from long_context_tasks.schema.report import interval_text
from long_context_tasks.tokens.build_settings import settings_of

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.plugin import Benchmark
    from long_context_tasks.judges.config import JudgeConfig
    from long_context_tasks.orca.score_file import Clamping, ScoredFile
    from long_context_tasks.orca.splits import SplitItems
    from long_context_tasks.orca.study.comparison import Comparison, Fusion, SplitSpread
    from long_context_tasks.orca.study.rating import RatingColumn

_FEW = 20
"""Number of questions below which an interval over questions is too narrow."""
_CONDITIONS = (
    "Texts that a judge sees in addition to reference and candidate, with commas. with_context: question, rationale and transcript; "
    "without_transcription: question and rationale; without_context: question; without_question: no more; all: each of them. Controls: "
    "mismatched_reference: question and another question's reference; no_reference: question only."
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="ORCA, a judge that predicts how people would rate an answer and how far they would disagree.",
)


def _publisher(name: str) -> "Benchmark":
    """Return a benchmark that publishes ratings of responses."""
    from long_context_tasks.benchmarks import catalogue

    if name in catalogue.benchmark_names() and catalogue.benchmark(name).has_ratings:
        return catalogue.benchmark(name)
    raise InputError(f"--published {name}: no benchmark of this name publishes ratings of responses")


@app.command(
    cls=with_settings("long_context_tasks.orca.preparation:DataSettings"),
    epilog=examples("lct orca data ratings.jsonl --split questions --out parts"),
)
def data(
    ctx: typer.Context,
    output: Annotated[Path, typer.Option("--out", "-o", help="File to write; with --split a new folder.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Rated answers, JSON Lines or .gz; see docs/orca.md.")
    ] = None,
    published: Annotated[str, typer.Option(help="Benchmark whose published scores by people to add.")] = "",
    raters: Annotated[
        str, typer.Option(help="With --published: the people, with commas. Default: all.")
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Make training data: ratings mapped to 1 to 5, raters' remarks removed from the text, parts without a common question."""
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.orca.preparation import DataSettings, prepare, write_data

    settings = settings_of(DataSettings, typed_options(ctx), "lct orca data")
    if output.resolve() in {path.resolve() for path in files or []}:
        raise InputError(f"{output}: is a source; choose another --out")
    further: Iterable[dict[str, Any]] = ()
    if published:
        options = resolve_options({"lct_data_dir": data_dir})
        further = _publisher(published).rated_answers(options, words(raters))
    elif raters:
        raise InputError("--raters goes with --published; leave it out, or name the benchmark")
    rows, notes = prepare(files or [], settings, further)
    lines = write_data(rows, output, settings)
    for note in notes:
        say(note)
    for line in lines:
        say(line)
    give(None, out=output, answers=len(rows), notes=notes)


@app.command(
    cls=with_settings("long_context_tasks.orca.train.plan:TrainSettings"),
    epilog=examples(
        "lct orca train --train parts/split_0/train.jsonl --dev parts/split_0/dev.jsonl --model HuggingFaceTB/SmolLM2-135M-Instruct --head beta --out judge"
    ),
)
def train(
    ctx: typer.Context,
    dev: Annotated[Path, typer.Option(help="Development part with ratings; chooses the best epoch.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the checkpoint; appears at the end.")
    ],
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training part, rated by people.")
    ] = None,
    judge_train: Annotated[
        Path | None, typer.Option(help="Answers rated by LLM judges, for other scenarios.")
    ] = None,
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="File whose questions are not learned from judges, such as the test part."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Language model: folder or hub id.")
    ] = None,
    device: Device = "auto",
    window: Window = "",
) -> None:
    """Train a judge on rated answers. The same command resumes a stopped training."""
    from long_context_tasks.orca.train import TrainFiles, run_training
    from long_context_tasks.orca.train.plan import TrainSettings

    typed = {**typed_options(ctx), "model": model, "window": tokens(window)}
    settings = settings_of(TrainSettings, typed, "lct orca train")
    files = TrainFiles(train_file, judge_train, dev, exclude or [])
    done = run_training(files, settings, output, device, warn)
    say(f"{output}: {'trained' if done else 'is finished already; nothing was done'}")


@app.command(
    cls=with_settings("long_context_tasks.orca.score_file:ScoreSettings"),
    epilog=examples("lct orca score test.jsonl --checkpoint judge --dev dev.jsonl --out scored.jsonl"),
)
def score(
    ctx: typer.Context,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Answers, JSON Lines; ratings are not needed.")
    ],
    checkpoint: Annotated[Path, typer.Option(help="Your own, or a released one.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of results. Default: standard output.")
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            help="Development part with ratings: scored too, and the scores are clamped by the variance that is best there."
        ),
    ] = None,
    device: Device = "auto",
    window: Window = "",
    as_json: Json = False,
) -> None:
    """Score answers: mean, variance, interval and parameters of each, and their agreement with the ratings, if any.

    Clamping moves means near an end to that end if the predicted variance is small. With --out, the same command continues a scoring
    that was stopped.
    """
    from long_context_tasks.orca.score_file import ScoreSettings, score_file

    settings = settings_of(ScoreSettings, typed_options(ctx), "lct orca score")
    scored = score_file(
        data, checkpoint, settings, out=out, dev=dev, device=device, window=tokens(window), report=warn
    )
    if out is None:
        add_table(f"scores of {data.name}", scored.rows)
        for row in scored.rows if not json_wanted() else ():
            typer.echo(json.dumps(json_value(row), ensure_ascii=False))
        return
    _print_agreement(data.name, scored)
    if scored.clamping is not None:
        _print_clamping(data.name, scored.clamping)
    give(f"{out}: {len(scored.rows)} rows", file=out, rows=len(scored.rows))


def _print_agreement(name: str, scored: "ScoredFile") -> None:
    """Print the agreement of the scores with the ratings of a file, next to shortcuts and controls."""
    from long_context_tasks.orca import item_agreement
    from long_context_tasks.orca.controls import beside_shortcuts

    figures = item_agreement(scored.items, scored.means, scored.variances)
    if not figures.n:
        return
    table = [
        ["mean: Spearman's rho", figures.n, figures.rho],
        ["mean: Kendall's tau-b", figures.n, figures.tau],
        ["mean: MAE", figures.n, figures.mae],
        ["variance: Spearman's rho", figures.n_variance, figures.variance_rho],
        ["variance: Kendall's tau-b", figures.n_variance, figures.variance_tau],
        ["variance: MAE", figures.n_variance, figures.variance_mae],
    ]
    title = f"Agreement with the ratings in {name}, all on 0 to 1"
    print_table(title, ["figure", "n", "value"], table, places=4)
    ranked = beside_shortcuts(scored.items, {"orca": scored.means, **scored.controls})
    questions = ranked[0].clusters
    print_table(
        "Compared with shortcuts that read no answer: Spearman's rho with people",
        ["rater", "n", "rho", f"95 % interval over {questions} questions"],
        [[each.first, each.n, each.value, interval_text(each.interval, 3)] for each in ranked],
        places=4,
    )
    if questions < _FEW:
        say(f"note: {questions} questions are too few for an interval; it is narrower than it should be")


def _print_clamping(name: str, clamping: "Clamping") -> None:
    if clamping.useful is None:
        warn(
            "WARNING: all predicted means of the development part are equal, so no threshold is better than another; "
            f"{clamping.threshold:g} is the first one tried, as in the released code"
        )
    elif not clamping.useful:
        warn("clamping does not help on the development part: the threshold is 0")
    rows = [
        [title, figures.n, changed, figures.rho, figures.tau, figures.mae]
        for title, figures, changed in (
            ("as predicted", clamping.before, None),
            ("clamped", clamping.after, clamping.changed),
        )
    ]
    give(threshold=clamping.threshold)
    columns = ["means", "n rated", "changed", "rho", "tau", "MAE"]
    print_table(f"{name}, clamped at a variance of {clamping.threshold:.8f}", columns, rows, places=4)


@app.command(
    epilog=examples(
        "lct orca rate answers.jsonl --judge judge.yaml --out rated.jsonl",
        "lct orca rate answers.jsonl --baselines --out baselines.jsonl",
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
        typer.Option("--baselines", help="Add ROUGE-L and exact match, on 0 to 1; needs no judge."),
    ] = False,
    published: Annotated[
        str,
        typer.Option(help="Write the scores by machines that this benchmark publishes instead."),
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let judges rate how correct answers are, 1 to 5, with the prompts of the ORCA paper.

    A row for each answer: id, cluster (its question), and a score or null for each judge and condition, under JUDGE:CONDITION. Stored
    replies are reused, so a stopped run is resumed. A reply without a readable score is null and counted. Exit code 1 if a score is
    missing.
    """
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.orca.study.rating import RatingColumn

    check_out(out)
    if published:
        if answers is not None or judge_files or baselines:
            raise InputError("--published goes alone; rate your own answers in a separate call")
        benchmark, options = _publisher(published), resolve_options({"lct_data_dir": data_dir})
        keys = [(row["id"], row["question_id"]) for row in benchmark.rated_answers(options)]
        columns = [RatingColumn(*each) for each in benchmark.machine_scores(options)]
    elif answers is None:
        raise InputError("no answers; name a file of them, or give --published")
    else:
        files = judge_files or (None if baselines else [])  # no files: the judge of the environment
        keys, columns = _rated(answers, files, words(condition), wording, seeds, baselines)
    _write_rated(out, keys, columns)


def _rated(
    answers: Path,
    judge_files: "list[Path] | None",
    condition: Sequence[str],
    wording: Literal["paper", "modified"],
    seeds: str,
    baselines: bool,
) -> tuple[list[tuple[str, str]], "list[RatingColumn]"]:
    """Let baselines and judges rate answers; ``judge_files`` is None for baselines without a judge."""
    from long_context_tasks.cli.judge import named_judges
    from long_context_tasks.judges.store import Store, default_store_path
    from long_context_tasks.orca import read_items
    from long_context_tasks.orca.study import rating
    from long_context_tasks.results.new_scores import with_seeds

    conditions = rating.chosen_conditions(condition)
    items = read_items(answers)
    configs: list[JudgeConfig] = []
    if judge_files is not None:
        configs = [with_seeds(config, seeds) for config in named_judges(judge_files)]
    rating.check_raters(configs)
    columns = rating.baseline_columns(items) if baselines else []
    for note in rating.without_context(items, conditions) if configs else ():
        warn(note)
    for config in configs:
        store = Store(default_store_path(config))
        rated, summary = rating.rate_answers(items, config, conditions, wording, store)
        say(f"{config.name}: {summary}")
        columns += rated
    return [(item.id, rating.cluster_of(item)) for item in items], columns


def _write_rated(out: Path, keys: Sequence[tuple[str, str]], columns: "Sequence[RatingColumn]") -> None:
    """Write all rows and report missing scores; exit code 1 if there are some."""
    from long_context_tasks.orca.study.rating import rated_rows

    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rated_rows(keys, columns))
    write_whole(out, lines, remedy="choose another place with --out")
    table = []
    for column in columns:
        scores = [score for score in column.scores if score is not None]
        mean = sum(scores) / len(scores) if scores else math.nan
        scale = f"{column.scale[0]:g} to {column.scale[1]:g}"
        table.append([column.name, scale, len(scores), len(keys), column.missing, mean])
    names = ["rater", "scale", "n", "of", "missing scores", "mean"]
    print_table(f"Scores in {out}", names, table, ("scale",), places=2)
    missing = sum(column.missing for column in columns)
    give(f"{out}: {len(keys)} rows", file=out, rows=len(keys), missing=missing)
    if missing:
        warn(
            f"{missing} scores are missing, see above; the same command asks again for those that a judge did not answer"
        )
        raise typer.Exit(1)


@app.command(epilog=examples("lct orca compare rated.jsonl --splits parts"))
def compare(
    files: Annotated[
        list[Path], typer.Argument(help="Scores, as for `lct judge compare`. Files are joined by id.")
    ],
    splits_folder: Annotated[
        Path,
        typer.Option(
            "--splits",
            help="Folder that `lct orca data --split` wrote, with human ratings; or a file of rated answers, all of which count.",
        ),
    ],
    raters: Annotated[
        str, typer.Option(help="Fields with scores, with commas. Default: all that hold numbers.")
    ] = "",
    orca: Annotated[
        list[str] | None,
        typer.Option(help="NAME=PATTERN: files of `lct orca score`, {split} means split_0 ...; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the figures as JSON, too.")] = None,
    as_json: Json = False,
) -> None:
    """Compare judges with people on the test parts of splits, and with shortcuts that predict ratings without reading the answers.

    Rank correlation and error of every judge, of their mean and their fusion in each condition, and of ORCA, as in the ORCA paper.
    """
    from long_context_tasks.judges.ratings import read_ratings
    from long_context_tasks.orca.splits import PARTS, read_splits
    from long_context_tasks.orca.study.comparison import compare_files

    splits = read_splits(splits_folder)
    table = read_ratings(files, words(raters), fewest=1)
    comparison, fusions, notes = compare_files(table, splits, named=bool(raters), orca=orca or ())
    for note in filter(None, (table.note, *notes)):
        warn(f"note: {note}")
    _print_comparison(comparison, splits)
    for name, learned in fusions.items():
        _print_fusion(name, splits, learned)
    if out is not None:
        counts = [{part: len(getattr(split, part)) for part in PARTS} for split in splits]
        content = {
            "splits": [{"name": split.name, **each} for split, each in zip(splits, counts, strict=True)],
            "comparison": asdict(comparison),
            "fusions": {name: list(map(asdict, learned)) for name, learned in fusions.items()},
        }
        write_json(out, content, remedy="choose another place with --out")
        give(None, file=out)


def _print_comparison(comparison: "Comparison", splits: "Sequence[SplitItems]") -> None:
    from long_context_tasks.orca.study.comparison import over_wordings

    spread = f"mean ± sd over {len(splits)} splits" if len(splits) > 1 else f"of {splits[0].name}"
    rows = []
    for rater in comparison.figures:
        figures = map(_spread, (rater.rho, rater.tau, rater.mae, rater.variance_mae))
        rows.append([rater.name, rater.kind, str(rater.n), *figures])
    print_table(
        f"Agreement with people on the test parts, all on 0 to 1, {spread}",
        ["rater", "kind", "n", "Spearman's rho", "Kendall's tau-b", "MAE of mean", "MAE of variance"],
        rows,
        ("kind",),
    )
    if wordings := over_wordings(comparison.figures):
        print_table(
            "Mean ± sd over the wordings of a prompt",
            ["judge", "wordings", "Spearman's rho", "MAE of mean"],
            [[name, str(n), _spread(rho), _spread(mae)] for name, n, rho, mae in wordings],
        )
    if comparison.left_out:
        lacking = ", ".join(f"{name} {count}" for name, count in comparison.lacking.items())
        say(
            f"{comparison.left_out} of {comparison.total} test answers left out, as a rater has no score for them: {lacking}"
        )
    else:
        say(f"all {comparison.total} test answers of the splits; every rater has a score for each")


def _print_fusion(name: str, splits: "Sequence[SplitItems]", learned: "Sequence[Fusion]") -> None:
    rows = []
    for split, fusion in zip(splits, learned, strict=True):
        # + 0.0 turns -0.0 into 0.0
        rows.append(
            [split.name, *(round(weight, 3) + 0.0 for weight in (*fusion.weights.values(), fusion.constant))]
        )
    columns = ["split", *learned[0].weights, "constant"]
    print_table(f"{name}: weights of the calibrated scores", columns, rows)


def _spread(figure: "SplitSpread") -> str:
    mean = "-" if math.isnan(figure.mean) else f"{figure.mean:.4f}"
    return mean if math.isnan(figure.sd) else f"{mean} ± {figure.sd:.4f}"
