"""``lct orca score`` and ``lct orca clamp``: the work behind their options."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from long_context_tasks.cli.output import add_table, give, interval_text, json_wanted, print_table, say
from long_context_tasks.schema.errors import InputError

if TYPE_CHECKING:
    from long_context_tasks.orca import Agreement, Disagreement, OrcaItem
    from long_context_tasks.orca.metrics import Intervals
    from long_context_tasks.orca.scoring import OrcaScore

_FEW = 20
"""Questions below which an interval that draws them is too narrow."""


@dataclass(frozen=True)
class ScoreOptions:
    """How ``lct orca score`` reads and computes; the parts of the text are None where the checkpoint decides."""

    checkpoint: Path
    base_model: str | None
    tokenizer: Path | None
    device: str
    dtype: str
    window: int | None
    batch_tokens: int
    batch_size: int
    question: bool | None
    rationale: bool | None
    transcript: bool | None
    released: bool
    scores_yaml: Path | None = None


def score_file(data: Path, out: Path | None, options: ScoreOptions) -> None:
    """Score a file, write its rows, show how it agrees with its ratings.

    Raises:
        InputError: the data, the checkpoint or the place of the result cannot be used.
    """
    from long_context_tasks.orca import disagreement, item_agreement, read_items, write_results
    from long_context_tasks.orca.checkpoint import find_checkpoint, load_checkpoint, named_failures
    from long_context_tasks.orca.results import add_released_scores, released_scores, result_row

    items = read_items(data, rules="released" if options.released else "checked")
    find_checkpoint(options.checkpoint)
    if options.window is not None and options.window < 1:
        raise InputError(f"--window {options.window}: give 1 or more")
    if options.scores_yaml is not None and out is None:
        raise InputError("--scores-yaml goes with --out, as the released code writes both")
    if out is not None and out.resolve() == data.resolve():
        raise InputError(f"{out}: would be written over what it is made from; choose another --out")
    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"{out}: its folder is not there; make it, or choose another place")
    with named_failures("scoring"):
        from long_context_tasks.orca.scoring import score_items
    checkpoint = load_checkpoint(
        options.checkpoint,
        device=options.device,
        dtype=options.dtype,
        base_model=options.base_model,
        tokenizer=options.tokenizer,
    )
    if control := checkpoint.args.get("control"):
        typer.echo(f"CONTROL ({control}): this judge did not learn from the answers' own ratings", err=True)
    if any(item.row.get("control") for item in items):
        typer.echo(f"CONTROL: the ratings in {data.name} are not the answers' own", err=True)
    scoring = score_items(
        checkpoint,
        items,
        _form(checkpoint.args, options),
        window=options.window,
        batch_tokens=options.batch_tokens,
        batch_size=options.batch_size,
        progress=True,
    )
    typer.echo(str(scoring), err=True)
    if scoring.unfit == len(items):
        raise InputError(
            f"no answer fits the window of {scoring.window} tokens, so nothing was written; raise --window"
        )
    if out is None:
        _print_results(data, [result_row(*both) for both in zip(items, scoring.scores, strict=True)])
        return
    write_results(out, items, scoring.scores)
    predicts = checkpoint.model.head.quantiles is not None
    figures = item_agreement(
        items,
        [score.mean for score in scoring.scores],
        [score.variance if predicts else None for score in scoring.scores],
    )
    if figures.n:
        _print_agreement(
            f"Agreement with the ratings in {data.name}", figures, *_intervals(items, scoring.scores)
        )
        if predicts:
            _print_disagreement(disagreement(items, [score.variance for score in scoring.scores]))
    if options.scores_yaml is not None:
        stem = data.name.removesuffix(".gz").removesuffix(".jsonl")
        add_released_scores(options.scores_yaml, stem, released_scores(figures, spread=predicts))
    give(f"{out}: {len(items)} rows", file=out, rows=len(items))


def _print_results(data: Path, rows: Sequence[dict[str, Any]]) -> None:
    """JSON Lines on standard output, or the one document of ``--json``."""
    from long_context_tasks.schema.files import json_value

    add_table(f"scores of {data.name}", rows)
    for row in rows if not json_wanted() else ():
        typer.echo(json.dumps(json_value(row), ensure_ascii=False))


def _form(args: Any, options: ScoreOptions) -> Any:
    from dataclasses import replace

    from long_context_tasks.orca import InputFormat

    given = {
        name: value
        for name in ("question", "rationale", "transcript")
        if (value := getattr(options, name)) is not None
    }
    return replace(InputFormat.of_args(args), **given)


def _intervals(items: "Sequence[OrcaItem]", scores: "Sequence[OrcaScore]") -> "tuple[Intervals, int]":
    """The intervals, and over how many questions."""
    from long_context_tasks.orca import agreement_intervals
    from long_context_tasks.orca.study.splits import question_numbers

    rows = [
        (item.rating_mean, score.mean, number)
        for item, score, number in zip(items, scores, question_numbers(items), strict=True)
        if item.rating_mean is not None and score.mean is not None
    ]
    questions = [number for _, _, number in rows]
    found = agreement_intervals([a for a, _, _ in rows], [b for _, b, _ in rows], questions)
    return found, len(set(questions))


def _print_agreement(title: str, figures: "Agreement", intervals: "Intervals", questions: int) -> None:
    rows = [
        ["mean: Spearman's rho", str(figures.n), _text(figures.rho), interval_text(intervals.rho, 3)],
        ["mean: Kendall's tau-b", str(figures.n), _text(figures.tau), interval_text(intervals.tau, 3)],
        ["mean: MAE", str(figures.n), _text(figures.mae), interval_text(intervals.mae, 3)],
        ["variance: Spearman's rho", str(figures.n_variance), _text(figures.variance_rho), ""],
        ["variance: Kendall's tau-b", str(figures.n_variance), _text(figures.variance_tau), ""],
        ["variance: MAE", str(figures.n_variance), _text(figures.variance_mae), ""],
    ]
    columns = ["figure", "n", "value", f"95 % interval over {questions} questions"]
    print_table(f"{title}, all on 0 to 1", columns, rows)
    if questions < _FEW:
        say(f"note: {questions} questions are too few for an interval; it looks narrower than it is")


def _print_disagreement(found: "Disagreement") -> None:
    """One line, where some answers have two raters or more who differ and some who do not."""
    if found.differ and found.agree:
        say(
            f"predicted variance against raters who differ: AUC {found.auc:.4f} ({found.differ} answers whose raters differ, {found.agree} whose "
            "raters agree; 0.5 says nothing)"
        )


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


@dataclass(frozen=True)
class ClampOptions:
    """How ``lct orca clamp`` works: the threshold is given, read from a file, or found on ``dev``."""

    dev: Path | None
    composite: str
    threshold: float | None
    output: Path | None
    threshold_from: Path | None = None


def clamp_files(files: Sequence[Path], options: ClampOptions) -> None:
    """Find the threshold, apply it to each file, show what it changes, write the rows.

    Raises:
        InputError: a file cannot be read, has no ratings to find a threshold by, or the rows cannot be written.
    """
    from long_context_tasks.orca import clamp_all, read_results, scored_agreement
    from long_context_tasks.orca.clamp import composite_of, weights_of
    from long_context_tasks.orca.results import released_clamp_scores

    if [options.dev, options.threshold, options.threshold_from].count(None) != 2:
        raise InputError(
            "give either --dev, scored answers with ratings, or --threshold, or --threshold-from"
        )
    if options.dev is None and not files:
        raise InputError("nothing to clamp: name files that `lct orca score` wrote")
    weights = weights_of(options.composite)
    read = {path: read_results(path) for path in [*([options.dev] if options.dev else []), *files]}
    if len({path.stem for path in read}) < len(read) or len(set(files)) < len(files):
        raise InputError("two files have the same name; give them different ones, as the results go by it")
    threshold = _threshold(options, weights)
    rows, figures_of, released = [], {}, {}
    for path, scored in read.items():
        clamped = clamp_all([row.mean for row in scored], [row.variance for row in scored], threshold)
        changed = sum(a.mean != b for a, b in zip(scored, clamped, strict=True))
        before, after = scored_agreement(scored), scored_agreement(scored, clamped)
        figures_of[path.stem] = {"n_clamped": changed, "before": asdict(before), "clamped": asdict(after)}
        released[path.stem] = released_clamp_scores(after, threshold)
        for name, each in (("as predicted", before), ("clamped", after)):
            composite = composite_of(each, weights)
            cells = [_text(value) for value in (each.rho, each.tau, each.mae, composite)]
            rows.append([str(path), name, str(each.n), str(changed) if name == "clamped" else "", *cells])
    give(threshold=threshold, composite=options.composite)
    print_table(
        f"Threshold of the variance {threshold:.8f}, composite {options.composite}",
        ["file", "means", "n rated", "changed", "rho", "tau", "MAE", "composite"],
        rows,
        ("means",),
    )
    if options.output is not None:
        _write_clamped(options, files, threshold, figures_of, released)


def _threshold(options: ClampOptions, weights: tuple[float, float, float]) -> float:
    from long_context_tasks.orca import find_threshold, read_results
    from long_context_tasks.orca.results import read_threshold

    if options.dev is None:
        known = options.threshold_from
        given = float(options.threshold or 0) if known is None else read_threshold(known)
        if not 0 <= given < 1:
            named = "--threshold" if known is None else f"{known}: threshold"
            raise InputError(f"{named} {given}: a variance on 0 to 1; give 0 or more, below 1")
        return given
    rated = [row for row in read_results(options.dev) if row.truth is not None]
    try:
        search = find_threshold(
            [row.truth for row in rated if row.truth is not None],
            [row.mean for row in rated],
            [row.variance for row in rated],
            weights,
        )
    except InputError as error:
        raise InputError(f"{options.dev}: {error}") from error
    if not search.threshold:
        typer.echo("clamping does not help on the development part: the threshold is 0", err=True)
    return search.threshold


def _write_clamped(
    options: ClampOptions,
    files: Sequence[Path],
    threshold: float,
    figures: dict[str, Any],
    released: dict[str, Any],
) -> None:
    """``FOLDER/<name>.jsonl`` with ``rating_orca_clamped`` beside the rest, and ``clamp.yaml``; ``score_clamp.yaml`` as the released code has it."""
    import yaml

    from long_context_tasks.orca.clamp import clamp
    from long_context_tasks.schema.files import json_value, write_whole

    folder = options.output or Path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made ({error.strerror or error}); choose another --out"
        ) from error
    for path in files:
        target = folder / f"{path.stem}.jsonl"
        if target.resolve() == path.resolve():
            raise InputError(f"{target}: would be written over what it is made from; choose another --out")
        lines = []
        for line in filter(str.strip, path.read_text(encoding="utf-8").split("\n")):
            row = json.loads(line)
            mean, variance = row["rating_orca"], row["variance_orca"]
            there = mean is not None and variance is not None
            row["rating_orca_clamped"] = clamp(mean, variance, threshold) if there else None
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        write_whole(target, lines)
    summary = {
        "var_threshold": round(threshold, 8),
        "composite": options.composite,
        "files": json_value(figures),
    }
    write_whole(folder / "score_clamp.yaml", yaml.safe_dump(released, sort_keys=False, allow_unicode=True))
    write_whole(folder / "clamp.yaml", yaml.safe_dump(summary, sort_keys=False, allow_unicode=True))
    give(f"{folder}: {len(files)} files, clamp.yaml and score_clamp.yaml", folder=folder)
