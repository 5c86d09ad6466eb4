"""All runs under some folders, and in bundles, as the tidy tables of :mod:`long_context_tasks.results.tidy`.

Files are read one run at a time and line by line where they have lines; of a run only the scores stay in memory.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.results import begun_without_answers
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.results import find_runs
from long_context_tasks.results.bundle.format import (
    BundleRun,
    bundles_below,
    is_bundle,
    numbers_of,
    read_bundle,
)
from long_context_tasks.results.bundle.runs import evaluation_of
from long_context_tasks.results.evaluations import (
    NO_JUDGE,
    Evaluation,
    TurnScores,
    judge_label,
    judged_evaluations,
    needs_no_judge,
    short_names,
    turn_scores,
    unjudged_evaluation,
)
from long_context_tasks.results.models import Models, is_path, shown_name
from long_context_tasks.results.settings import (
    cases_told_apart,
    seed_of,
    settings_of,
    without_places,
)
from long_context_tasks.results.tidy import RUNS, SCORES, Collection
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.files import json_value, loads
from long_context_tasks.schema.response import NOT_SCORED, writable
from long_context_tasks.schema.secrets import without_secrets

_LONGEST = 64
_ENDS = 65_536
_Labels = Callable[[str, int], str | None]
"""Case and turn to their labels as JSON; None where there are none."""
_Found = tuple[str, Evaluation]
"""The folder of an evaluation, as the user named it, and the evaluation."""


@dataclass(frozen=True)
class Collected:
    """The tables, and what they were made of.

    Attributes:
        collection: the tables and the problems.
        evaluations: of each run of the tables, by its key ``run``.
        labels: of the judge of each, name and digits; see :mod:`long_context_tasks.results.evaluations`.
    """

    collection: Collection
    evaluations: Mapping[str, Evaluation]
    labels: Mapping[str, str]


def collect(paths: Sequence[Path]) -> Collection:
    """All runs of both hosts and in bundles under some folders, each as often as judges have scored it; see :func:`collect_with_files`."""
    return collect_with_files(paths).collection


def collect_with_files(paths: Sequence[Path]) -> Collected:
    """The runs under some folders as tables, and which files each came from.

    A run that is found twice counts once. A file that cannot be used is named in the problems, and its run left out. A task that
    needs a judge and was scored by several is there once for each; one without a judge is there with what can be said
    without a judge.

    Args:
        paths: folders that lm-eval's ``--output_path`` or OpenCompass's ``-w`` names, or above; bundles, or folders with some.

    Raises:
        InputError: no such folder.
    """
    for path in paths:
        if not path.exists():
            raise InputError(
                f"{path}: not there; give folders that lm-eval's --output_path or OpenCompass's -w names, or bundles"
            )
    problems: list[str] = []
    chosen = _without_doubles(list(_found_in(paths, problems)), problems)
    bundled = list(_bundled(paths, problems))
    labels = {key: _label(evaluation) for key, (_, evaluation) in chosen.items()}
    names = {**short_names([*labels.values(), *(run.label for _, run in bundled)]), NO_JUDGE: None}
    known: dict[str, dict[str, tuple[str | None, ...]]] = {}
    read: dict[str, tuple[BundleRun, Evaluation]] = {}
    for key, (source, evaluation) in chosen.items():
        case_labels = _labels_of(evaluation.run, known.setdefault(evaluation.run.task_key, {}))
        try:
            check_version(evaluation)
            scores = score_rows(
                key, evaluation.headline, on_scale(evaluation, turn_scores(evaluation)), case_labels
            )
            if scores is None:
                raise InputError(
                    f"{evaluation.run.folder}: {evaluation.run} has responses but no scores; evaluate it (OpenCompass: -m eval -r), or run without "
                    "--predict_only"
                )
            row = _row(key, source, evaluation, names[labels[key]], scores)
            found = BundleRun(row, labels[key], None, scores)
            check_means(evaluation, found)
        except InputError as error:
            problems.append(str(error))
            continue
        read[key] = (found, evaluation)
    for path, run in bundled:
        key = run.row["run"]
        if key in read:
            problems += _differing(path, run, read[key][0])
        else:
            row = {**run.row, "judge": names[run.label], "source": str(path)}
            read[key] = (replace(run, row=row, answers=None, by_seed={}), evaluation_of(path, run))
    runs = pl.DataFrame([run.row for run, _ in read.values()], schema=RUNS)
    all_scores = pl.concat([run.scores for run, _ in read.values()]) if read else pl.DataFrame(schema=SCORES)
    runs, notes = cases_told_apart(runs, all_scores)
    return Collected(
        Collection(runs, all_scores, tuple(dict.fromkeys(problems)), tuple(notes)),
        {key: run for key, (_, run) in read.items()},
        {key: run.label for key, (run, _) in read.items()},
    )


def renamed(collected: Collected, models: Models) -> Collected:
    """The runs under the names of the user's models, and a note on each model that hosts name differently."""
    shown: list[str] = []
    names: dict[str, dict[str, None]] = {}
    by_user: set[str] = set()
    for run, name in collected.collection.runs.select("run", "model").iter_rows():
        own = collected.evaluations[run].run.model
        given = models.name_of(own, name)
        shown.append(given or name)
        if given is not None:
            by_user.add(given)
        names.setdefault(shown[-1], {})[own] = None
    notes = []
    for name, written in names.items():
        if len(written) < 2:
            continue
        # Whole paths stay private.
        endings = sorted({(".../" if is_path(value) else "") + shown_name(value) for value in written})
        why = (
            "as the file of models says"
            if name in by_user
            else "as only the folders before the last differ; if they are different models, name each one (--models)"
        )
        notes.append(
            f"{name}: {len(written)} names of hosts ({', '.join(endings)}) are shown as this one model, {why}"
        )
    collection = collected.collection
    runs = collection.runs.with_columns(pl.Series("model", shown, pl.String()))
    return replace(collected, collection=replace(collection, runs=runs, notes=(*collection.notes, *notes)))


def _found_in(paths: Iterable[Path], problems: list[str]) -> Iterator[_Found]:
    """Yield the evaluations in folders; what cannot be used is added to the problems."""
    for path in paths:
        if is_bundle(path):
            continue
        if not path.is_dir():
            problems.append(f"{path}: a file and no bundle; give the folder that it lies in")
            continue
        below = find_runs(path)
        problems += [problem.message for problem in below.problems]
        stopped = begun_without_answers(path)
        problems += stopped
        if not below.runs and not below.problems and not stopped and not bundles_below(path):
            problems.append(f"{path}: no runs of our tasks in it")
        for run in below.runs:
            judged, damaged = judged_evaluations(run)
            problems += damaged
            if not judged or needs_no_judge(run):
                judged = [unjudged_evaluation(run), *judged]
            source = str(path if run.folder == path else path / run.folder.relative_to(path))
            yield from ((source, evaluation) for evaluation in judged)


def _without_doubles(found: Iterable[_Found], problems: list[str]) -> dict[str, _Found]:
    """Return the evaluations by key of the run; copies of one run count once, with a note where their numbers differ."""
    chosen: dict[str, _Found] = {}
    for source, evaluation in found:
        key = run_key(evaluation)
        before = chosen.setdefault(key, (source, evaluation))
        if before[1] is evaluation or repr(sorted(before[1].numbers.items())) == repr(
            sorted(evaluation.numbers.items())
        ):
            continue
        kept, left = sorted((before, (source, evaluation)), key=_completeness, reverse=True)
        chosen[key] = kept
        problems.append(
            f"{left[0]}: {evaluation.run} is the run in {kept[0]} with other scores, and is left out; remove one of them"
        )
    return chosen


def _completeness(place: _Found) -> tuple[int, float]:
    evaluation = place[1]
    file = evaluation.rows or evaluation.run.result_file
    scored = evaluation.numbers.get("n_scored", 0.0)
    return (0 if math.isnan(scored) else int(scored)), file.stat().st_mtime if file else 0.0


def _bundled(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, BundleRun]]:
    """Yield the runs in bundles; what is wrong with a bundle is added to the problems."""
    files: dict[Path, Path] = {}
    for path in (path for given in paths for path in bundles_below(given)):
        files.setdefault(path.resolve(), path)
    for path in files.values():
        try:
            yield from ((path, run) for run in read_bundle(path))
        except InputError as error:
            problems.append(str(error))


def _differing(path: Path, run: BundleRun, before: BundleRun) -> list[str]:
    """Return a problem where a run that was found before has other scores in a bundle."""
    one, other = numbers_of(run), numbers_of(before)
    pairs = [(one.get(name, math.nan), other[name]) for name in (*before.row["metrics"], "n", "n_scored")]
    if all(
        math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(x) and math.isnan(y)) for x, y in pairs
    ):
        return []
    return [
        f"{path}: {run.row['task']} ({run.row['host']}, {run.row['model']}, {run.row['made']}) is the run in {before.row['source']} with other "
        "scores, and is left out; pack it again, or remove one of them"
    ]


def run_key(evaluation: Evaluation) -> str:
    """Sixteen digits that stand for a run with one judge, the same in every copy of its files."""
    run = evaluation.run
    digest = hashlib.sha256()
    # Size and ends of the files with the responses: logs hold gigabytes of prompts, which need not be read for it.
    for path in run.files:
        try:
            with path.open("rb") as file:
                size = path.stat().st_size
                digest.update(size.to_bytes(8, "big") + file.read(_ENDS))
                file.seek(max(size - _ENDS, 0))
                digest.update(file.read())
        except OSError:
            digest.update(b"unreadable")  # reading its cases tells why
    parts = [run.host, run.model, run.task, run.made, run.label, digest.hexdigest(), _label(evaluation)]
    text = json.dumps([*parts, json_value(run.options)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _label(evaluation: Evaluation) -> str:
    if evaluation.judge == NO_JUDGE:
        return NO_JUDGE
    return judge_label(str(evaluation.description.get("name", "judge")), evaluation.description)


def score_rows(
    run: str, headline: str | None, turns: Iterable[TurnScores], labels_of: _Labels
) -> pl.DataFrame | None:
    """Rows of :data:`SCORES`, metric by metric, headline first; None where no turn has a score."""
    rows: list[tuple[str, str, int, int, str | None, str | None]] = []
    values: dict[str, list[float | None]] = {}
    stds: dict[str, dict[int, float]] = {}
    for place, turn in enumerate(turns):
        cluster = turn.case if turn.cluster is None else turn.cluster
        reason = turn.reason if turn.scores else NOT_SCORED
        labels = labels_of(turn.case, turn.turn)
        rows.append((writable(turn.case), writable(cluster), turn.turn, turn.repeat, reason, labels))
        for name in turn.scores:
            if name not in values:
                values[name] = [None] * place
        for name, held in values.items():
            held.append(turn.scores.get(name))
        for name, std in turn.stds.items():
            stds.setdefault(name, {})[place] = std
    if not values:
        return None
    names = ("case", "cluster", "turn", "repeat", "reason", "labels")
    frame = pl.DataFrame(rows, schema={name: SCORES[name] for name in names}, orient="row")
    metrics = sorted(values, key=lambda name: name != headline)
    frames = []
    for name in metrics:
        spread = stds.get(name, {})
        more = [
            pl.lit(run, pl.Categorical()).alias("run"),
            pl.lit(name, pl.Categorical()).alias("metric"),
            pl.Series("value", values[name], pl.Float64()),
            pl.Series("std", [spread.get(place, 0.0) for place in range(len(rows))], pl.Float64())
            if spread
            else pl.lit(0.0).alias("std"),
            *([] if name == metrics[0] else [pl.lit(None, pl.Categorical()).alias("reason")]),
        ]
        frames.append(frame.with_columns(more).select(*SCORES))
    return pl.concat(frames)


def _labels_of(run: StoredRun, known: dict[str, tuple[str | None, ...]]) -> _Labels:
    """Return case and turn to their labels, from the first run of a task that has the case.

    The hosts' files have labels. The rows of ``lct judge run`` do not: the labels of the run that was judged count.

    Args:
        run: read when the first case is unknown.
        known: case to the labels of its turns, shared by the runs of a task.
    """
    read = False

    def labels(case: str, turn: int) -> str | None:
        nonlocal read
        if case not in known and not read:
            read = True
            benchmark = catalogue.parse_task(run.task).benchmark
            try:
                for stored in run.cases():
                    if stored.id not in known:
                        turns = stored.turn_labels or ({},) * len(stored.responses)
                        known[stored.id] = label_texts(benchmark, stored.id, stored.labels, turns)
            except InputError:
                pass  # reading its scores reports why
        found = known.get(case, ())
        return found[turn] if turn < len(found) else None

    return labels


def label_texts(
    benchmark: str, case: str, labels: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]
) -> tuple[str | None, ...]:
    """The labels of each turn with those of its case, as JSON: words, numbers, yes and no; lists and long texts are left out.

    >>> label_texts(catalogue.benchmark_names()[0], "b1", {"domain": "books", "evidence": ["a text"]}, [{}])
    ('{"domain": "books"}',)
    """
    common = {**labels, **catalogue.benchmark(benchmark).labels(case, labels)}
    texts = []
    for own in turns:
        kept = {name: value for name, value in {**common, **own}.items() if _short(value)}
        texts.append(json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None)
    return tuple(texts)


def _short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, int | float) and math.isfinite(value)


def _row(
    key: str, source: str, evaluation: Evaluation, judge: str | None, scores: pl.DataFrame
) -> dict[str, Any]:
    """Return the row of a run with one judge.

    Raises:
        InputError: a task that this version does not know.
    """
    run = evaluation.run
    try:
        spec = catalogue.parse_task(run.task)
    except InputError as error:
        raise InputError(f"{source}: {run}: {error}") from error
    provenance = run.provenance
    metrics = scores["metric"].unique(maintain_order=True).cast(pl.String()).to_list()
    labels = loads(scores["labels"].drop_nulls().cast(pl.String()).first() or "{}")
    stated = {
        key: evaluation.stated[key]
        for key in ("judged", "usage", "notes", "before")
        if evaluation.stated.get(key)
    }
    row = {
        "run": key,
        "host": run.host,
        "model": shown_name(run.model),
        "benchmark": spec.benchmark,
        "task": run.task,
        "family": "_".join(part for part in (spec.family, spec.split) if part),
        "length": spec.tokens or _length(run.options.get("lct_length")),
        "variant": spec.variant,
        "wer": _whole(labels.get("wer")),
        "made": run.made,
        "version": evaluation.version,
        "options": as_json(run.options),
        "settings": as_json(settings_of(run)),
        "seed": seed_of(run),
        "judge": judge,
        "judge_settings": as_json(evaluation.description),
        "headline": evaluation.headline if evaluation.headline in metrics else metrics[0],
        "metrics": metrics,
        "points": [name for name in metrics if name in (evaluation.stated.get("points", run.points) or ())],
        "n_cases_available": _whole(provenance.get("n_cases_available")),
        "n_truncated": float(run.numbers.get("n_truncated", math.nan)),
        "window": _text(provenance.get("window")),
        "host_version": _text(provenance.get("host_version")),
        "package": _text(evaluation.stated.get("package") or provenance.get("package")),
        "commit": _text(provenance.get("commit")),
        "provenance": as_json({k: value for k, value in provenance.items() if value is not None} | stated),
        "source": source,
    }
    return {name: writable(value) if isinstance(value, str) else value for name, value in row.items()}


def as_json(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys; what may be a password or a key is not in it, of a local path its last name only.

    >>> as_json({"model_args": "base_url=http://me:pw@host/v1,api_key=sk-1,pretrained=/home/me/owl", "n": 1})
    '{"model_args": "base_url=http://host/v1,api_key=(not shown),pretrained=owl", "n": 1}'
    """
    shown = without_places(without_secrets(json_value(value)))
    return json.dumps(shown, sort_keys=True, ensure_ascii=False, default=str)


def _length(given: Any) -> int | None:
    try:
        return None if given in (None, "") else _whole(parse_length(given))
    except InputError:
        return None


def _whole(value: Any) -> int | None:
    """Return a whole number, which OpenCompass' files have as text; None where a damaged file has something else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


CHECKS = "means and counts made again from the cases, scores and verdicts on their scales, versions of tasks"
"""What is checked of each run with cases, for people."""
_CLOSE = 1e-6
"""Sums in another order differ by less; so do the percentages of a host."""


def check_version(evaluation: Evaluation) -> None:
    """Refuse a run of a later version than this package scores.

    Raises:
        InputError: a later version, or no whole number; names the run and the remedy.
    """
    if type(evaluation.version) is not int or evaluation.version < 0:
        raise InputError(
            f"{_place(evaluation)}: version {str(evaluation.version)[:40]!r} of the task is no whole number; {_REMEDY}"
        )
    today = catalogue.card(catalogue.parse_task(evaluation.run.task).benchmark).version
    if evaluation.version > today:
        raise InputError(
            f"{_place(evaluation)}: version {evaluation.version} of the task, and this package has {today}; update long_context_tasks, or run again "
            "where the file was changed"
        )


def on_scale(evaluation: Evaluation, turns: Iterable[TurnScores]) -> Iterator[TurnScores]:
    """Yield the turns of a run.

    Raises:
        InputError: a score or a judge's verdict lies off its scale, or a score is not that of its verdicts.
    """
    benchmark = catalogue.benchmark(catalogue.parse_task(evaluation.run.task).benchmark)
    card, judge = benchmark.card, evaluation.description or {}
    rated = stored_kind(judge) is None
    known = [scale for scale in card.points.values() if scale]
    # A verdict has the judge's scale, which the benchmark may widen to that of its points.
    verdicts = (0.0, max(high for _, high in known)) if known else None
    for turn in turns:
        for metric, value in turn.scores.items():
            _check(evaluation, turn, metric, value, _scale(card, metric, evaluation))
        for verdict in turn.verdicts:
            score = verdict.get("score")
            if not isinstance(score, int | float | None) or isinstance(score, bool):
                raise InputError(
                    f"{_place(evaluation)}, case {turn.case[:80]!r}: a verdict that is no number; {_REMEDY}"
                )
            _check(evaluation, turn, "a verdict", score, verdicts)
        said = [verdict.get("score") for verdict in turn.verdicts]
        made_again = benchmark.rating(turn.scores, said, judge.get("rubric")) if rated else {}
        for metric, made in made_again.items():
            stored = turn.scores.get(metric)
            if stored is not None and made is not None and abs(stored - made) > _CLOSE:
                raise InputError(
                    f"{_place(evaluation)}, case {turn.case[:80]!r}: {metric} is {stored:.6g} there, and the verdicts make {made:.6g}; {_REMEDY}"
                )
        yield turn


_REMEDY = "the file was changed or damaged; score the run again with `lct runs rescore`, or run again"


def _scale(card: Card, metric: str, evaluation: Evaluation) -> tuple[float, float] | None:
    if metric in card.points:
        return card.points[metric]
    # Metrics of judges of other kinds may be points as the run has it.
    return None if metric in (evaluation.run.points or ()) or metric not in card.metrics else (0.0, 1.0)


def _check(
    evaluation: Evaluation,
    turn: TurnScores,
    what: str,
    value: float | None,
    scale: tuple[float, float] | None,
) -> None:
    if value is None or scale is None or scale[0] - _CLOSE <= value <= scale[1] + _CLOSE:
        return
    raise InputError(
        f"{_place(evaluation)}, case {turn.case[:80]!r}: {what} of {value:g} lies off the scale of {scale[0]:g} to {scale[1]:g}; {_REMEDY}"
    )


def check_means(evaluation: Evaluation, run: BundleRun) -> None:
    """Refuse a run whose results file has other means or counts than its cases make.

    Raises:
        InputError: names the first number that differs, and the remedy.
    """
    if run.scores["repeat"].max():
        return  # hosts differ in what they make of repeats
    made = numbers_of(run)
    made["n"] -= made.get(f"n_{NOT_SCORED}", 0)  # answered after the evaluation
    for name in (*run.row["metrics"], "n", "n_scored"):
        stated = evaluation.numbers.get(name)
        if stated is None:
            continue
        own = made.get(name, math.nan)
        if math.isnan(stated) and math.isnan(own):
            continue
        if not math.isclose(stated, own, rel_tol=_CLOSE, abs_tol=_CLOSE):
            raise InputError(
                f"{_place(evaluation)}: {evaluation.run.task}: {name} is {stated:.6g} there, and the cases make {own:.6g}; {_REMEDY}"
            )


def _place(evaluation: Evaluation) -> str:
    return str(evaluation.rows or evaluation.run.result_file or evaluation.run.folder)
