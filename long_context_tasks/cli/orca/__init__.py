"""``lct orca``: the judge that is trained on people's ratings. Make its data, train it, score with it, clamp its scores; replicate its paper."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.judge import print_rank_figures
from long_context_tasks.cli.options import (
    BatchTokens,
    DataDir,
    Device,
    Json,
    Window,
    examples,
    tokens,
    typed_options,
    with_settings,
    words,
)
from long_context_tasks.cli.orca.study import app as study
from long_context_tasks.cli.orca.study import four_places, publisher
from long_context_tasks.cli.output import add_table, give, json_wanted, print_table, say
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from long_context_tasks.orca.checkpoint import Checkpoint
    from long_context_tasks.orca.data import OrcaItem
    from long_context_tasks.orca.inputs import InputFormat
    from long_context_tasks.orca.metrics import Agreement

_FEW = 20
"""Questions below which an interval that draws them is too narrow."""
_WRITTEN_OVER = "would be written over what it is made from; choose another --out"

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def orca() -> None:
    """ORCA, a judge that predicts how people would rate an answer and how far they would disagree."""


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
    sources: Annotated[
        str, typer.Option(help="Only these, with commas: first part of each row's source.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Make training data: ratings brought to 1 to 5, raters' remarks taken out of the text, parts without a common question."""
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.orca.preparation import (
        COUNTS,
        DataSettings,
        counts_by_source,
        prepare,
        write_data,
    )
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.validated import validated

    typed = {**typed_options(ctx), "sources": words(sources)}
    settings = validated(DataSettings, typed, "lct orca data")
    if output.resolve() in {path.resolve() for path in files or []}:
        raise InputError(f"{output}: is a source; choose another --out")
    further: Iterable[dict[str, Any]] = ()
    if published:
        options = resolve_options({"lct_data_dir": data_dir})
        further = publisher(published).rated_answers(options, words(raters))
    elif raters:
        raise InputError("--raters goes with --published; leave it out, or name the benchmark")
    rows, notes = prepare(files or [], settings, further)
    lines = write_data(rows, output, settings)
    for note in notes:
        say(note)
    print_table(
        "Rated answers by source, ratings on 1 to 5",
        list(COUNTS),
        [[*map(str, row[:-1]), f"{row[-1]:.2f}"] for row in counts_by_source(rows)],
    )
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
    dev: Annotated[Path, typer.Option(help="Development part, by which the best epoch is chosen.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the checkpoint; there when all is done.")
    ],
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training part, rated by people.")
    ] = None,
    judge_train: Annotated[
        Path | None, typer.Option(help="Answers rated by LLM judges, for other scenarios.")
    ] = None,
    scenario: Annotated[
        str, typer.Option(help="human, judge, judge_all, mixed or two_stage; see docs/orca_study.md.")
    ] = "human",
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="File whose questions are not learned from judges, such as the test part."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Language model: folder or hub id.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option(help="ORCA checkpoint to go on from, in place of --model.")
    ] = None,
    head: Annotated[str | None, typer.Option(help="beta, multinomial or bernoulli.")] = None,
    device: Device = "auto",
    window: Window = "",
    question: Annotated[bool, typer.Option("--question/--no-question", help="Show it to the model.")] = True,
    rationale: Annotated[bool, typer.Option("--rationale/--no-rationale", help="Show the context.")] = True,
    transcript: Annotated[bool, typer.Option("--transcript/--no-transcript", help="Show it.")] = False,
) -> None:
    """Train a judge on rated answers. The same command goes on with a training that was stopped.

    Several GPUs: accelerate launch --multi_gpu --num_processes 4 "$(which lct)" orca train ...
    """
    from long_context_tasks.orca.inputs import InputFormat
    from long_context_tasks.orca.train import TrainFiles, run_training
    from long_context_tasks.orca.train.plan import TrainSettings
    from long_context_tasks.schema.validated import validated

    form = InputFormat().with_parts(question=question, rationale=rationale, transcript=transcript)
    typed = {**typed_options(ctx), "window": tokens(window), "form": form}
    settings = validated(TrainSettings, typed, "lct orca train")
    files = TrainFiles(train_file, judge_train, dev, exclude or [], model, init, head)
    done = run_training(files, scenario, settings, output, device, lambda line: typer.echo(line, err=True))
    if done is not None:
        say(f"{output}: {'trained' if done else 'is finished already; nothing was done'}")


@app.command(epilog=examples("lct orca score answers.jsonl --checkpoint judge --out scored.jsonl"))
def score(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Answers, JSON Lines; ratings are not needed.")
    ],
    checkpoint: Annotated[Path, typer.Option(help="Your own, or a released one.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of results. Default: standard output.")
    ] = None,
    base_model: Annotated[
        str | None,
        typer.Option(
            help="Folder or hub id of the base model of a LoRA adapter. Default: the one that the adapter names."
        ),
    ] = None,
    tokenizer: Annotated[str, typer.Option(help="Folder of the tokenizer, if elsewhere.")] = "",
    device: Device = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16; auto: by the device.")] = "auto",
    window: Window = "",
    batch_tokens: BatchTokens = 8192,
    batch_size: Annotated[int, typer.Option(min=1, help="Most answers at once.")] = 64,
    question: Annotated[
        bool | None,
        typer.Option(
            "--question/--no-question", help="Show it to the model. Default: as it was trained; so the next."
        ),
    ] = None,
    rationale: Annotated[
        bool | None, typer.Option("--rationale/--no-rationale", help="Show the context.")
    ] = None,
    transcript: Annotated[bool | None, typer.Option("--transcript/--no-transcript", help="Show it.")] = None,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="With --out and ratings: score again with another question's reference, and with none; three times the work.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Score answers: mean, variance, interval and parameters of each; its agreement with the ratings where there are some.

    With --out, the same command goes on with a scoring that was stopped.
    """
    from long_context_tasks.orca import (
        InputFormat,
        item_agreement,
        read_items,
        write_results,
    )
    from long_context_tasks.orca.checkpoint import (
        find_checkpoint,
        fingerprint,
        load_checkpoint,
        named_failures,
    )
    from long_context_tasks.orca.controls import reference_controls
    from long_context_tasks.orca.kept import KeptPredictions
    from long_context_tasks.orca.results import CONTROL_FIELDS, result_row
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import json_value

    items = read_items(data)
    find_checkpoint(checkpoint)
    most_tokens = tokens(window)
    if out is not None and out.resolve() == data.resolve():
        raise InputError(f"{out}: {_WRITTEN_OVER}")
    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"{out}: its folder is not there; make it, or choose another place")
    if controls and (out is None or not any(item.ratings for item in items)):
        raise InputError("--controls needs ratings, and --out for the scores; leave it out, or give both")
    with named_failures("scoring"):
        from long_context_tasks.orca.scoring import score_items
    loaded = load_checkpoint(
        checkpoint,
        device=device,
        dtype=dtype,
        base_model=base_model,
        tokenizer=Path(tokenizer) if tokenizer else None,
    )
    form = InputFormat.of_args(loaded.args).with_parts(
        question=question, rationale=rationale, transcript=transcript
    )
    for warning in _warnings(loaded, items, form, data.name):
        typer.echo(warning, err=True)
    kept = None
    if out is not None:
        computing = f"{loaded.model.device.type} {next(loaded.model.lm.parameters()).dtype}"
        kept = KeptPredictions(out, f"{fingerprint(checkpoint, base_model)} {computing}")
        if kept:
            typer.echo(f"going on with {len(kept)} predictions in {kept.path}", err=True)
    limits: dict[str, Any] = {
        "window": most_tokens,
        "batch_tokens": batch_tokens,
        "batch_size": batch_size,
        "kept": kept,
    }
    scoring = score_items(loaded, items, form, what="scoring", **limits)
    typer.echo(str(scoring), err=True)
    if scoring.unfit == len(items):
        raise InputError(
            f"no answer fits the window of {scoring.window} tokens, so nothing was written; raise --window"
        )
    if out is None or kept is None:
        rows = [result_row(*both) for both in zip(items, scoring.scores, strict=True)]
        add_table(f"scores of {data.name}", rows)
        for row in rows if not json_wanted() else ():
            typer.echo(json.dumps(json_value(row), ensure_ascii=False))
        return
    means = [each.mean for each in scoring.scores]
    spread = loaded.model.head.quantiles is not None
    variances = [each.variance if spread else None for each in scoring.scores]
    figures = item_agreement(items, means, variances)
    control_means: dict[str, list[float | None]] = {}
    for name, changed in reference_controls(items) if controls else ():
        again = score_items(loaded, changed, form, what=name, **limits)
        control_means[name] = [each.mean for each in again.scores]
    write_results(
        out, items, scoring.scores, {CONTROL_FIELDS[name]: each for name, each in control_means.items()}
    )
    kept.remove()
    _print_agreement(data.name, items, {"orca": means, **control_means}, variances, figures)
    give(f"{out}: {len(items)} rows", file=out, rows=len(items))


def _warnings(
    checkpoint: "Checkpoint", items: Sequence["OrcaItem"], form: "InputFormat", name: str
) -> Iterator[str]:
    """Yield what must be known of a judge, and of the answers in a file, before its scores are believed."""
    from long_context_tasks.orca.controls import doubt_of

    if control := checkpoint.args.get("control"):
        yield f"CONTROL ({control}): this judge did not learn from the answers' own ratings"
    if any(item.row.get("control") for item in items):
        yield f"CONTROL: the ratings in {name} are not the answers' own"
    if doubt := doubt_of(checkpoint.folder):
        yield f"WARNING: {doubt}"
    if warning := form.lacking(items):
        yield f"WARNING: {warning}"


def _print_agreement(
    name: str,
    items: Sequence["OrcaItem"],
    scores: Mapping[str, Sequence[float | None]],
    variances: Sequence[float | None],
    figures: "Agreement",
) -> None:
    """Print how the scores in ``orca`` agree with the ratings of a file, and shortcuts and controls beside them."""
    from long_context_tasks.orca import disagreement, item_intervals
    from long_context_tasks.orca.controls import beside_shortcuts

    if figures.n:
        found = item_intervals(items, scores["orca"])
        table = [
            ("mean: Spearman's rho", figures.n, figures.rho, interval_text(found.rho, 3)),
            ("mean: Kendall's tau-b", figures.n, figures.tau, interval_text(found.tau, 3)),
            ("mean: MAE", figures.n, figures.mae, interval_text(found.mae, 3)),
            ("variance: Spearman's rho", figures.n_variance, figures.variance_rho, ""),
            ("variance: Kendall's tau-b", figures.n_variance, figures.variance_tau, ""),
            ("variance: MAE", figures.n_variance, figures.variance_mae, ""),
        ]
        print_table(
            f"Agreement with the ratings in {name}, all on 0 to 1",
            ["figure", "n", "value", f"95 % interval over {found.questions} questions"],
            [[what, str(n), four_places(value), interval] for what, n, value, interval in table],
        )
        if found.questions < _FEW:
            say(
                f"note: {found.questions} questions are too few for an interval; it looks narrower than it is"
            )
        ranked = beside_shortcuts(items, scores)
        print_rank_figures("Beside what needs no judgement, on 0 to 1", ranked, errors=True)
    differing = disagreement(items, variances)
    if differing.differ and differing.agree:
        say(
            f"predicted variance against raters who differ: AUC {differing.auc:.4f} ({differing.differ} answers whose raters differ, "
            f"{differing.agree} whose raters agree; 0.5 says nothing)"
        )


@app.command(epilog=examples("lct orca clamp --dev dev_scored.jsonl test_scored.jsonl --out clamped"))
def clamp(
    files: Annotated[list[Path] | None, typer.Argument(help="Files that `lct orca score` wrote.")] = None,
    dev: Annotated[Path | None, typer.Option(help="Scored development part; finds the threshold.")] = None,
    composite: Annotated[str, typer.Option(help="paper: rho + tau - MAE; released: rho + tau.")] = "paper",
    threshold: Annotated[float | None, typer.Option(help="In place of --dev.")] = None,
    threshold_from: Annotated[
        Path | None, typer.Option(help="A clamp.yaml or score_clamp.yaml; in place of --dev.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the clamped files.")] = None,
    as_json: Json = False,
) -> None:
    """Move means near an end to it where the predicted variance is small; the threshold comes from the development part."""
    from long_context_tasks.orca.metrics import composite_of, weights_of
    from long_context_tasks.orca.results import clamp_file, dev_threshold, read_threshold, write_clamped
    from long_context_tasks.schema import InputError

    files = files or []
    if [dev, threshold, threshold_from].count(None) != 2:
        raise InputError(
            "give either --dev, scored answers with ratings, or --threshold, or --threshold-from"
        )
    if dev is None and not files:
        raise InputError("nothing to clamp: name files that `lct orca score` wrote")
    weights = weights_of(composite)
    paths = list(dict.fromkeys([*([dev] if dev else []), *files]))
    if len({path.stem for path in paths}) < len(paths) or len(set(files)) < len(files):
        raise InputError("two files have the same name; give them different ones, as the results go by it")
    if dev is not None:
        search = dev_threshold(dev, weights)
        threshold = search.threshold
        if math.isnan(search.composite_clamped):
            typer.echo(
                "WARNING: all predicted means of the development part are equal, so there is nothing to choose a threshold by; "
                f"{threshold:g} is the first one tried, as in the released code",
                err=True,
            )
        elif not threshold:
            typer.echo("clamping does not help on the development part: the threshold is 0", err=True)
    else:
        threshold = read_threshold(threshold_from) if threshold_from is not None else threshold or 0.0
        if not 0 <= threshold < 1:
            place = "--threshold" if threshold_from is None else f"{threshold_from}: threshold"
            raise InputError(f"{place} {threshold}: a variance on 0 to 1; give 0 or more, below 1")
    clamped = [clamp_file(path, threshold) for path in paths]
    rows = []
    for each in clamped:
        for name, figures in (("as predicted", each.before), ("clamped", each.after)):
            values = (figures.rho, figures.tau, figures.mae, composite_of(figures, weights))
            changed = str(each.changed) if name == "clamped" else ""
            rows.append([str(each.path), name, str(figures.n), changed, *map(four_places, values)])
    give(threshold=threshold, composite=composite)
    print_table(
        f"Threshold of the variance {threshold:.8f}, composite {composite}",
        ["file", "means", "n rated", "changed", "rho", "tau", "MAE", "composite"],
        rows,
        ("means",),
    )
    if output is not None:
        write_clamped(output, clamped, files, threshold, composite)
        give(f"{output}: {len(files)} files, clamp.yaml and score_clamp.yaml", folder=output)


app.add_typer(study, name="study")
