"""All runs under some folders, and in bundles, as the tidy tables of :mod:`long_context_tasks.report.schema`.

Files are read one run at a time and line by line where they have lines; of a run only the scores stay in memory.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.report.schema import RUNS, Collection
from long_context_tasks.runs.bundle import BundleRun, bundles_below, is_bundle
from long_context_tasks.runs.bundle_check import numbers_of, read_bundle
from long_context_tasks.runs.bundle_runs import evaluation_of
from long_context_tasks.runs.clusters import ClusterFinder
from long_context_tasks.runs.evaluations import (
    NO_JUDGE,
    Evaluation,
    judged_evaluations,
    needs_no_judge,
    short_names,
    turn_scores,
    unjudged_evaluation,
)
from long_context_tasks.runs.find import find_runs
from long_context_tasks.runs.judged import judge_label
from long_context_tasks.runs.labels import LabelFinder
from long_context_tasks.runs.missing import without_answers
from long_context_tasks.runs.opencompass_setups import find_setups
from long_context_tasks.runs.run_rows import described, told_points
from long_context_tasks.runs.score_rows import ScoreColumns, empty_scores
from long_context_tasks.runs.settings import cases_told_apart, other_cases_told_apart
from long_context_tasks.runs.stored import StoredRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value
from long_context_tasks.schema.response import writable

_ENDS = 65_536


@dataclass(frozen=True)
class Collected:
    """The tables, and what they were made of.

    Attributes:
        collection: the tables and the problems.
        evaluations: of each run of the tables, by its key ``run``.
        labels: of the judge of each, name and digits; see :mod:`long_context_tasks.runs.judged`.
    """

    collection: Collection
    evaluations: Mapping[str, Evaluation]
    labels: Mapping[str, str]


def collect(paths: Sequence[Path], data_dir: Path | None = None) -> Collection:
    """All runs of both hosts and in bundles under some folders, each as often as judges have scored it; see :func:`collect_with_files`."""
    return collect_with_files(paths, data_dir).collection


def collect_with_files(paths: Sequence[Path], data_dir: Path | None = None) -> Collected:
    """The runs under some folders as tables, and which files each came from.

    A run that is found twice counts once. A file that cannot be used is named in the problems, and its run left out. A task that
    needs a judge and was scored by several is there once for each; one that nobody has judged is there with what can be said
    without a judge.

    Args:
        paths: folders that lm-eval's ``--output_path`` or OpenCompass's ``-w`` names, or above; bundles, or folders with some.
        data_dir: where the published files lie, for runs whose files do not tell which cases belong together; None: see
            :func:`long_context_tasks.runs.tasks.options_of`.

    Raises:
        InputError: no such folder.
    """
    for path in paths:
        if not path.exists():
            raise InputError(
                f"{path}: not there; give folders that lm-eval's --output_path or OpenCompass's -w names, or bundles"
            )
    found, problems = _find(paths)
    chosen, doubles = _without_doubles(found)
    problems += doubles
    bundled = list(_bundled(paths, problems))
    clusters, case_labels = ClusterFinder(data_dir), LabelFinder(data_dir)
    labels = {key: _label(one) for key, (_, one) in chosen.items()}
    names = short_names([*labels.values(), *(run.label for _, run in bundled)])
    read: dict[str, tuple[BundleRun, Evaluation]] = {}
    for key, (source, one) in chosen.items():
        columns = ScoreColumns(key, one.headline, clusters.of(one.run), case_labels.of(one.run))
        try:
            for turn in turn_scores(one):
                columns.add(turn)
            if not columns.metrics:
                raise InputError(
                    f"{one.run.folder}: {one.run} has responses but no scores; evaluate it (OpenCompass: -m eval -r), or run without "
                    "--predict_only"
                )
            row = _row(key, source, one, names[labels[key]], columns)
        except InputError as error:
            problems.append(str(error))
            continue
        read[key] = (BundleRun(row, labels[key], None, columns.frame()), one)
    for path, run in bundled:
        key = run.row["run"]
        if key in read:
            problems += _differing(path, run, read[key][0])
        else:
            judge = None if run.label == NO_JUDGE else names[run.label]
            row = {**run.row, "judge": judge, "source": str(path)}
            read[key] = (BundleRun(row, run.label, None, run.scores), evaluation_of(path, run))
    runs = pl.DataFrame([one.row for one, _ in read.values()], schema=RUNS)
    scores = pl.concat([one.scores for one, _ in read.values()]) if read else empty_scores()
    runs, notes = other_cases_told_apart(cases_told_apart(runs, scores), scores)
    return Collected(
        Collection(runs, scores, tuple(dict.fromkeys(problems)), (*clusters.problems(), *notes)),
        {key: one for key, (_, one) in read.items()},
        {key: one.label for key, (one, _) in read.items()},
    )


def _bundled(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, BundleRun]]:
    """The runs in bundles; what is wrong with a bundle is added to the problems."""
    seen = set()
    for path in (one for given in paths for one in bundles_below(given)):
        if path.resolve() not in seen:
            seen.add(path.resolve())
            try:
                yield from ((path, run) for run in read_bundle(path))
            except InputError as error:
                problems.append(str(error))


def _differing(path: Path, run: BundleRun, before: BundleRun) -> list[str]:
    """A problem where a run that was found before has other scores in a bundle."""
    one, other = numbers_of(run), numbers_of(before)
    names = (*before.row["metrics"], "n", "n_scored")
    pairs = [(one.get(name, math.nan), other[name]) for name in names]
    if all(
        math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(x) and math.isnan(y)) for x, y in pairs
    ):
        return []
    return [
        f"{path}: {run.row['task']} ({run.row['host']}, {run.row['model']}, {run.row['made']}) is the run in {before.row['source']} with other "
        "scores, and is left out; pack it again, or remove one of them"
    ]


def _find(paths: Sequence[Path]) -> tuple[list[tuple[str, Evaluation]], list[str]]:
    """Evaluations with the folder they were looked for in, and what cannot be used."""
    found: list[tuple[str, Evaluation]] = []
    problems: list[str] = []
    for path in paths:
        if is_bundle(path):
            continue
        if not path.is_dir():
            problems.append(f"{path}: a file and no bundle; give the folder that it lies in")
            continue
        below = find_runs(path)
        problems += [problem.message for problem in below.problems]
        stopped = _stopped(path)
        problems += stopped
        if not below.runs and not below.problems and not stopped and not bundles_below(path):
            problems.append(f"{path}: no runs of our tasks in it")
        for run in below.runs:
            judged, damaged = judged_evaluations(run, skip_damaged=True)
            problems += [message for _, message in damaged]
            if not judged or needs_no_judge(run):
                judged = [unjudged_evaluation(run), *judged]
            source = str(path if run.folder == path else path / run.folder.relative_to(path))
            found += [(source, one) for one in judged]
    return found, problems


def _stopped(path: Path) -> list[str]:
    """A line for each folder of OpenCompass and model, of the tasks that were begun there and left no answers."""
    tasks: dict[tuple[Path, str], list[str]] = {}
    for cell in without_answers(find_setups(path)):
        if cell.folder is not None:
            tasks.setdefault((cell.folder, cell.model), []).append(cell.task)
    return [
        f"{folder}: {', '.join(dict.fromkeys(names))} ({model}) begun, and left no answers; the run was stopped or is still running: see "
        "its logs, and finish it with the host's -r"
        for (folder, model), names in tasks.items()
    ]


def _without_doubles(
    found: Iterable[tuple[str, Evaluation]],
) -> tuple[dict[str, tuple[str, Evaluation]], list[str]]:
    """Key of a run to its place and evaluation; copies of one run count once, and are told where their numbers differ."""
    chosen: dict[str, tuple[str, Evaluation]] = {}
    problems = []
    for source, one in found:
        key = run_key(one)
        before = chosen.setdefault(key, (source, one))
        if before[1] is one or repr(sorted(before[1].numbers.items())) == repr(sorted(one.numbers.items())):
            continue
        kept, left = sorted((before, (source, one)), key=_completeness, reverse=True)
        chosen[key] = kept
        problems.append(
            f"{left[0]}: {one.run} is the run in {kept[0]} with other scores, and is left out; remove one of them"
        )
    return chosen, problems


def _completeness(place: tuple[str, Evaluation]) -> tuple[int, float]:
    one = place[1]
    file = one.rows or one.run.result_file
    scored = one.numbers.get("n_scored", 0.0)
    return (0 if math.isnan(scored) else int(scored)), file.stat().st_mtime if file else 0.0


def run_key(one: Evaluation) -> str:
    """Sixteen digits that stand for a run with one judge, the same in every copy of its files."""
    run = one.run
    told = [run.host, run.model, run.task, run.made, run.label, _files_digest(run), _label(one)]
    text = json.dumps([*told, json_value(run.options)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _files_digest(run: StoredRun) -> str:
    """Of the size and the ends of the files with the responses: logs hold gigabytes of prompts, which need not be read for it."""
    digest = hashlib.sha256()
    for path in run.files:
        try:
            with path.open("rb") as file:
                size = path.stat().st_size
                digest.update(size.to_bytes(8, "big") + file.read(_ENDS))
                file.seek(max(size - _ENDS, 0))
                digest.update(file.read())
        except OSError:
            digest.update(b"unreadable")  # reading its cases tells why
    return digest.hexdigest()


def _label(one: Evaluation) -> str:
    if one.judge == NO_JUDGE:
        return NO_JUDGE
    return judge_label(str(one.description.get("name", "judge")), one.description)


def _row(key: str, source: str, one: Evaluation, judge: str, columns: ScoreColumns) -> dict[str, Any]:
    headline = one.headline if one.headline in columns.metrics else columns.metrics[0]
    row = {
        "run": key,
        **described(one, source),
        "judge": None if judge == NO_JUDGE else judge,
        "headline": headline,
        "metrics": columns.metrics,
        "points": told_points(one, columns.metrics),
    }
    return {name: writable(value) if isinstance(value, str) else value for name, value in row.items()}
