"""Runs under some folders and in bundles, read into the tables of :mod:`long_context_tasks.results.tidy`."""

import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.readers import RESULT_FOLDERS
from long_context_tasks.hosts.stored import OtherTask
from long_context_tasks.results import FoundRuns, bundles_below, find_runs, is_bundle
from long_context_tasks.results.checks import Failures, check_means, check_version, checked_turns, left_out
from long_context_tasks.results.evaluations import (
    NO_JUDGE,
    Evaluation,
    ScoredCase,
    TurnScores,
    judge_label,
    judged_evaluations,
    needs_no_judge,
    scored_cases,
    short_names,
    unjudged_evaluation,
)
from long_context_tasks.results.models import NO_MODELS, Models, is_path, shown_name
from long_context_tasks.results.reuse import NO_REUSE, Reuse, frame_bytes, state_of, whole
from long_context_tasks.results.settings import seed_of, separate_case_sets, settings_of, without_places
from long_context_tasks.results.tidy import RUNS, SCORES, Collection, TidyRun
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import MOST_BYTES, json_value, loads
from long_context_tasks.schema.progress import progress
from long_context_tasks.schema.response import NOT_SCORED, writable
from long_context_tasks.schema.secrets import without_secrets

_LONGEST = 64
_NAMED = 8  # skipped tasks in a note; a run of MMLU has dozens
_ENDS = 65_536
# Fields of a run that decide how its files are read, and its row of RUNS.
_FACTS = (
    *("host", "model", "task", "options", "version", "label", "made", "numbers", "headline", "points"),
    *("judge", "provenance"),
)
_STATED = ("judge", "numbers", "by_seed", "description", "stated")  # the same of an evaluation
_Sourced = tuple[str, Evaluation]
"""The folder of an evaluation, as the user named it, and the evaluation."""
_Labels = dict[str, tuple[Any, tuple[str | None, ...]]]
"""The labels of a case and its turns as the host has them, and those of each turn as JSON, by the id of the case."""


@dataclass(frozen=True)
class CollectedRuns:
    """Tables of runs, with the stored runs that they were read from."""

    collection: Collection
    evaluations: Mapping[str, Evaluation]  # by the run's key ``run``
    labels: Mapping[str, str]  # label of the judge of each run, see judge_label
    models: Models = NO_MODELS  # the user's models, whose names the tables have


def collect(paths: Sequence[Path]) -> Collection:
    """Read all runs under some folders and in bundles, without the objects that they were read from."""
    return collect_with_files(paths).collection


class CasePages(Protocol):
    """Makes the pages of runs' cases while their scores are read, so that no file is read twice."""

    def find(self, key: str, evaluation: Evaluation, content: str) -> bool:
        """Return whether an earlier report made the pages of a run whose files have the hash ``content``, which is empty if unknown."""

    def read(self, key: str, evaluation: Evaluation, cases: Iterable[ScoredCase]) -> Iterator[ScoredCase]:
        """Make the pages of a run, and yield its cases on."""

    def read_all(self, key: str, evaluation: Evaluation) -> None:
        """Make the pages of a run whose scores are known."""

    def keep(self, key: str) -> None:
        """Let later reports find the pages of a run."""


def collect_with_files(
    paths: Sequence[Path],
    models: Models = NO_MODELS,
    reuse: Reuse = NO_REUSE,
    pages: CasePages | None = None,
) -> CollectedRuns:
    """Read all runs under some folders and in bundles.

    Runs are read one at a time, task by task, and only their scores stay in memory. A run found twice counts once. A file that cannot be
    used is named in the problems, and its run is left out. A run that several judges scored appears once for each judge; a run whose judge has not read it
    yet appears with the scores that need no judge.

    Args:
        paths: folders that a host wrote to, or folders above; bundles, or folders that hold some.
        models: the user's names of models; others are shown by the names that hosts use.
        reuse: keeps the scores of runs whose files have not changed.
        pages: makes the pages of the runs' cases.

    Raises:
        InputError: a path does not exist.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: does not exist; give folders that {RESULT_FOLDERS} names, or bundles")
    # One damaged file must not stop a report of hundreds of runs, so problems are collected.
    problems: list[str] = []
    others: dict[OtherTask, None] = {}
    failures: Failures = {}
    contents: dict[str, str] = {}
    found: dict[str, TidyRun | InputError] = {}
    with progress(0) as bar:
        bar.set_description_str("reading runs")
        sourced = _distinct(list(_evaluations_in(paths, problems, others)), problems, reuse)
        bundled = list(_bundled(paths, problems))
        labels = {key: _label(evaluation) for key, (_, evaluation) in sourced.items()}
        # Names depend on all judges: a name that several settings share needs digits.
        names = {**short_names([*labels.values(), *(run.label for _, run, _ in bundled)]), NO_JUDGE: None}
        reader = _Reader(reuse, pages, failures, contents)
        bar.reset(len(sourced))
        for key in sorted(sourced, key=lambda key: sourced[key][1].run.task_key):
            try:
                found[key] = reader.read(key, sourced[key][1], labels[key])
            except InputError as error:
                found[key] = error
            bar.update()
    read: dict[str, tuple[TidyRun, Evaluation]] = {}
    of_bundles: dict[str, Evaluation] = {}
    for key, (source, evaluation) in sourced.items():
        run = found[key]
        if isinstance(run, InputError):
            problems.append(str(run))
        else:
            row = {**run.row, "source": writable(source), "judge": names[labels[key]]}
            read[key] = (replace(run, row=row), evaluation)
    for path, run, evaluation in bundled:
        key = run.row["run"]
        if key in read:
            problems += _differing(path, run, read[key][0])
        else:
            row = {**run.row, "judge": names[run.label], "source": str(path)}
            read[key] = (TidyRun(row, run.label, run.scores), evaluation)
            of_bundles[key] = evaluation
    if pages:
        for key, evaluation in sorted(of_bundles.items(), key=lambda item: item[1].run.task_key):
            pages.read_all(key, evaluation)
    runs = pl.DataFrame([run.row for run, _ in read.values()], schema=RUNS)
    all_scores = pl.concat([run.scores for run, _ in read.values()]) if read else pl.DataFrame(schema=SCORES)
    runs, notes = separate_case_sets(runs, all_scores)
    evaluations = {key: evaluation for key, (_, evaluation) in read.items()}
    reuse.save()
    runs, notes_on_names = _renamed(runs, evaluations, models)
    notes_on_names += _skipped(others)
    problems += left_out(failures)
    return CollectedRuns(
        Collection(
            runs, all_scores, tuple(dict.fromkeys(problems)), (*notes, *notes_on_names), contents, reuse
        ),
        evaluations,
        {key: run.label for key, (run, _) in read.items()},
        models,
    )


def _renamed(
    runs: pl.DataFrame, evaluations: Mapping[str, Evaluation], models: Models
) -> tuple[pl.DataFrame, list[str]]:
    """Return the runs under the names of the user's models, and a note on each model that hosts name differently."""
    shown: list[str] = []
    written: dict[str, dict[str, None]] = {}
    for run, name in runs.select("run", "model").iter_rows():
        host_name = evaluations[run].run.model
        shown.append(models.name_of(host_name, name) or name)
        written.setdefault(shown[-1], {})[host_name] = None
    notes = []
    for name, host_names in written.items():
        if len(host_names) < 2:
            continue
        # Whole paths stay private.
        endings = sorted({(".../" if is_path(value) else "") + shown_name(value) for value in host_names})
        why = (
            "as the file of models has it"
            if name in models.facts
            else "because only the folders before the last differ; if they are different models, name each one (--models)"
        )
        notes.append(
            f"{name}: {len(host_names)} names of hosts ({', '.join(endings)}) are shown as this one model, {why}"
        )
    return runs.with_columns(pl.Series("model", shown, pl.String())), notes


def _skipped(others: Iterable[OtherTask]) -> list[str]:
    names = [f"{task.name[:80]} ({task.host})" for task in others]
    if not names:
        return []
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    listed = ", ".join(names[:_NAMED] + more)
    return [f"skipped, as neither a benchmark nor a card has these tasks: {listed}; --cards adds cards"]


def _evaluations_in(
    paths: Iterable[Path], problems: list[str], others: dict[OtherTask, None]
) -> Iterator[_Sourced]:
    for path in paths:
        if is_bundle(path):
            continue
        if not path.is_dir():
            problems.append(f"{path}: a file that is not a bundle; give its folder")
            continue
        below = find_runs(path, hosts_own=True)
        problems += below.problems
        problems += below.begun
        others.update(dict.fromkeys(below.others))
        if below == FoundRuns((), ()) and not bundles_below(path):
            problems.append(
                f"{path}: no runs of our tasks in it; give the folder that {RESULT_FOLDERS} names, or bundles of `lct report pack`"
            )
        for run in below.runs:
            judged, damaged = judged_evaluations(run)
            problems += damaged
            source = str(path if run.folder == path else path / run.folder.relative_to(path))
            try:
                if not judged or (run.numbers.get("n_scored") and needs_no_judge(run)):
                    judged = [unjudged_evaluation(run), *judged]
            except InputError as error:  # an unknown task
                problems.append(f"{source}: {run}: {error}")
                continue
            yield from ((source, evaluation) for evaluation in judged)


def _distinct(sourced: Iterable[_Sourced], problems: list[str], reuse: Reuse) -> dict[str, _Sourced]:
    """Return the evaluations by key of the run; of copies with different numbers the more complete one counts, and a problem is added."""
    chosen: dict[str, _Sourced] = {}
    for copy in sourced:
        key = run_key(copy[1], reuse)
        before = chosen.setdefault(key, copy)
        # As text, because NaN does not equal itself.
        if before is copy or repr(sorted(before[1].numbers.items())) == repr(sorted(copy[1].numbers.items())):
            continue
        # More scored cases win before the later file: a second evaluation may have been stopped.
        chosen[key], left_out = sorted((before, copy), key=_completeness, reverse=True)
        problems.append(
            f"{left_out[0]}: {copy[1].run} is the run in {chosen[key][0]} with other scores and is left out; remove one of them"
        )
    return chosen


def _completeness(sourced: _Sourced) -> tuple[int, float]:
    _, evaluation = sourced
    file = evaluation.rows or evaluation.run.result_file
    scored = evaluation.numbers.get("n_scored", 0.0)
    return (0 if math.isnan(scored) else int(scored)), file.stat().st_mtime if file else 0.0


def _bundled(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, TidyRun, Evaluation]]:
    files: dict[Path, Path] = {}
    for bundle in (bundle for path in paths for bundle in bundles_below(path)):
        # A bundle may be given by name and also lie in a given folder.
        files.setdefault(bundle.resolve(), bundle)
    if not files:
        return
    # Most reports have no bundles and need not load Arrow.
    from long_context_tasks.results.bundle.format import read_bundle
    from long_context_tasks.results.bundle.runs import evaluation_of

    for path in files.values():
        try:
            yield from ((path, run, evaluation_of(path, run)) for run in read_bundle(path, problems))
        except InputError as error:
            problems.append(str(error))


def _differing(path: Path, run: TidyRun, before: TidyRun) -> list[str]:
    """Return a problem if a run in a bundle has the key of an earlier run but is another; without its files, a key may be forged."""
    said, known = _identity(run.row), _identity(before.row)
    others = [name for name in said if said[name] != known[name]]
    if not _same_scores(run.scores, before.scores):
        others.append("scores")
    if not others:
        return []
    return [
        f"{path}: {run.row['task']} ({run.row['host']}, {run.row['model']}, {run.row['made']}) is the run in {before.row['source']} with other "
        f"{', '.join(others)} and is left out; pack it again, or remove one of them"
    ]


def _identity(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what copies of a run share, as bundles have it."""
    from long_context_tasks.results.bundle.format import publishable

    names = ("host", "model", "task", "version", "made", "seed", "headline")
    facts = {**{name: row[name] for name in names}, "settings": loads(row["settings"] or "{}")}
    return {name: publishable(value) for name, value in facts.items()}


def _same_scores(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    keys = ["metric", "case", "repeat", "turn"]
    first, second = (frame.with_columns(pl.col(keys).cast(pl.String())).sort(keys) for frame in (one, other))
    values, known = first["value"].to_numpy(), second["value"].to_numpy()
    return first.select(keys).equals(second.select(keys)) and np.allclose(
        values, known, rtol=1e-9, atol=1e-12, equal_nan=True
    )


def run_key(evaluation: Evaluation, reuse: Reuse = NO_REUSE) -> str:
    """Return sixteen digits that identify a run with one judge and are the same for every copy of its files."""
    run = evaluation.run
    try:
        ends = reuse.digest(run.files, _both_ends)
    except OSError:
        ends = "unreadable"  # reading its cases reports the reason
    parts = [run.host, run.model, run.task, run.made, run.label, ends, _label(evaluation)]
    text = json.dumps([*parts, json_value(run.options)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _both_ends(paths: Sequence[Path]) -> str:
    """Return a hash of the size and both ends of each file, because logs hold gigabytes of prompts."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            size = path.stat().st_size
            digest.update(size.to_bytes(8, "big") + file.read(_ENDS))
            file.seek(max(size - _ENDS, 0))
            digest.update(file.read())
    return digest.hexdigest()


def _label(evaluation: Evaluation) -> str:
    if evaluation.judge == NO_JUDGE:
        return NO_JUDGE
    return judge_label(str(evaluation.description.get("name", "judge")), evaluation.description)


class _Reader:
    """Reads runs, or takes what earlier reports kept of the same files.

    ``failures`` and ``contents``, the hash of the files of each run that may be kept, are updated in place.
    """

    def __init__(
        self, reuse: Reuse, pages: CasePages | None, failures: Failures, contents: dict[str, str]
    ) -> None:
        self._reuse, self._pages, self._failures, self._contents = reuse, pages, failures, contents
        # Runs of one task have the same labels, which are formatted once.
        self._task, self._labels = "", _Labels()

    def read(self, key: str, evaluation: Evaluation, label: str) -> TidyRun:
        """Return a run as rows."""
        before = _states(evaluation)
        content = _content(key, evaluation, before, self._reuse) if self._reuse.enabled and before else ""
        paged = not self._pages or self._pages.find(key, evaluation, content)
        run = self._kept(content, label) if content and paged else None
        if run is not None:
            self._contents[key] = content
            return run
        cases = scored_cases(evaluation)
        if self._pages and not paged:
            cases = self._pages.read(key, evaluation, cases)
        failed: Failures = {}
        run = self._tidy(key, evaluation, label, cases, failed)
        # A run may have changed since its hash was computed.
        if content and not failed and _states(evaluation) == before:
            self._contents[key] = content
            row = json.dumps(run.row).encode()
            self._reuse.put(self._reuse.key("scores", content), row + b"\n" + frame_bytes(run.scores))
            if self._pages:
                self._pages.keep(key)
        for part, error in failed.items():
            self._failures.setdefault(part, error)
        return run

    def _kept(self, content: str, label: str) -> TidyRun | None:
        found = self._reuse.get(self._reuse.key("scores", content))
        if found is None:
            return None
        row, _, scores = found.partition(b"\n")
        return TidyRun(loads(row), label, pl.read_ipc_stream(io.BytesIO(scores)))

    def _tidy(
        self,
        key: str,
        evaluation: Evaluation,
        label: str,
        cases: Iterable[ScoredCase],
        failures: Failures,
    ) -> TidyRun:
        check_version(evaluation)
        if self._task != evaluation.run.task_key:
            self._task, self._labels = evaluation.run.task_key, {}
        turns = _turns(evaluation, cases, self._labels, failures)
        scores = _scores(key, evaluation, checked_turns(evaluation, turns, failures), self._labels)
        run = TidyRun(_row(key, evaluation, scores), label, scores)
        check_means(evaluation, run)
        return run


def _files(evaluation: Evaluation) -> list[Path]:
    run = evaluation.run
    return [path for path in (*run.files, run.result_file, evaluation.rows) if path]


def _states(evaluation: Evaluation) -> list[tuple[int, ...]]:
    """Return numbers that change with the files of a run; none if they cannot be read."""
    try:
        return [state_of(path) for path in _files(evaluation)]
    except OSError:
        return []  # reading the cases reports the reason


def _content(key: str, evaluation: Evaluation, states: Sequence[tuple[int, ...]], reuse: Reuse) -> str:
    """Return a hash of everything from which the scores and cases of a run are read; empty if they must be read each time."""
    run = evaluation.run
    # The card of a host's own task is the user's file.
    if run.hosts_own:
        return ""
    given = [*(getattr(run, name) for name in _FACTS), getattr(run.read, "keywords", None)]
    stated = [getattr(evaluation, name) for name in _STATED]
    try:
        # Reading refuses a long line at once, which may be a hole of terabytes.
        if max(size for _, _, size, *_ in states) > MOST_BYTES:
            return ""
        files = reuse.digest(_files(evaluation), whole)
    except OSError:
        return ""  # reading the cases reports the reason
    text = json.dumps([key, files, given, stated], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _scores(run: str, evaluation: Evaluation, turns: Iterable[TurnScores], known: _Labels) -> pl.DataFrame:
    """Return the rows of :data:`SCORES` of a run, metric by metric, headline first; ``known`` holds the labels of its cases."""
    rows: list[tuple[Any, ...]] = []  # case, cluster, turn, repeat, reason and labels
    values: dict[str, list[float | None]] = {}
    stds: dict[str, dict[int, float]] = {}
    for place, turn in enumerate(turns):
        _, of_case = known[turn.case]
        case = writable(turn.case)
        cluster = case if turn.cluster is None else writable(turn.cluster)
        reason = turn.reason if turn.scores else NOT_SCORED
        labels = of_case[turn.turn] if turn.turn < len(of_case) else None
        rows.append((case, cluster, turn.turn, turn.repeat, reason, labels))
        for name in turn.scores:
            # A metric may appear late.
            if name not in values:
                values[name] = [None] * place
        for name, column in values.items():
            column.append(turn.scores.get(name))
        for name, std in turn.stds.items():
            stds.setdefault(name, {})[place] = std
    if not values:
        problem = (
            "has responses but no scores; evaluate it (OpenCompass: -m eval -r), or run without --predict_only"
            if rows
            else "has no cases; run it again, without --limit"
        )
        raise InputError(f"{evaluation.run.folder}: {evaluation.run} {problem}")
    metrics = sorted(values, key=lambda name: name != evaluation.headline)
    n = len(rows)
    cases, clusters, numbers, repeats, reasons, texts = map(list, zip(*rows, strict=True))
    places = list(zip(cases, numbers, repeats, strict=True))
    if len(set(places)) < n:
        [(case, *_), _] = Counter(places).most_common(1)[0]
        raise InputError(
            f"{evaluation.run.folder}: {evaluation.run} has case {case[:80]!r} twice; the file was changed, run again"
        )
    return pl.DataFrame(
        {
            "run": [run] * (n * len(metrics)),
            "case": cases * len(metrics),
            "cluster": clusters * len(metrics),
            "turn": numbers * len(metrics),
            "repeat": repeats * len(metrics),
            "metric": [name for name in metrics for _ in range(n)],
            "value": [value for name in metrics for value in values[name]],
            "std": [std for name in metrics for std in map(stds.get(name, {}).get, range(n), [0.0] * n)],
            # Only the headline has reasons.
            "reason": [*reasons, *[None] * (n * (len(metrics) - 1))],
            "labels": texts * len(metrics),
        },
        schema=SCORES,
    )


def _turns(
    evaluation: Evaluation, cases: Iterable[ScoredCase], known: _Labels, failures: Failures
) -> Iterator[TurnScores]:
    """Yield the turns of a run's cases; ``known`` and ``failures`` are updated in place."""
    benchmark = catalogue.benchmark(catalogue.parse_task(evaluation.run.task).benchmark)
    for case, turns in cases:
        labels = case.turn_labels or ({},) * len(case.responses)
        if known.get(case.id, (None,))[0] != (case.labels, labels):
            added: Mapping[str, Any] = {}
            try:
                added = benchmark.labels(case.id, case.labels)
            except Exception as error:  # of a plug-in, whose scores stay
                failures.setdefault(f"{benchmark.name}: added labels", error)
            known[case.id] = (case.labels, labels), label_texts({**case.labels, **added}, labels)
        yield from turns


def label_texts(common: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]) -> tuple[str | None, ...]:
    """Return the labels of each turn and its case as JSON: words, numbers, true and false; no lists and no long texts.

    >>> label_texts({"domain": "books", "evidence": ["a text"]}, [{}])
    ('{"domain": "books"}',)
    """
    texts = []
    for of_turn in turns:
        # Long texts belong to the data, which must not leave with the tables.
        shown = {name: value for name, value in {**common, **of_turn}.items() if _short(value)}
        texts.append(json.dumps(shown, ensure_ascii=False, sort_keys=True) if shown else None)
    return tuple(texts)


def _short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, int | float) and math.isfinite(value)


def _row(key: str, evaluation: Evaluation, scores: pl.DataFrame) -> dict[str, Any]:
    """Return a run's row of :data:`RUNS`, without its source and the judge's name, which depends on the other runs."""
    run = evaluation.run
    spec = catalogue.parse_task(run.task)
    provenance = run.provenance
    metrics = list(dict.fromkeys(scores["metric"].to_list()))
    labels = loads(next(filter(None, scores["labels"].to_list()), "{}"))
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
        "judge": None,
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
        "source": "",
    }
    return {name: writable(value) if isinstance(value, str) else value for name, value in row.items()}


def as_json(value: Mapping[str, Any]) -> str:
    """Return JSON with sorted keys, without passwords and keys, and with only the last name of each local path.

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
    """Return a whole number, which OpenCompass stores as text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
