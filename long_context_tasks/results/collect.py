"""All runs under some folders, and in bundles, as the tidy tables of :mod:`long_context_tasks.results.tidy`.

Files are read one run at a time and line by line where they have lines; of a run only the scores stay in memory.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.results import find_setups
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results.bundle.check import numbers_of, read_bundle
from long_context_tasks.results.bundle.format import BundleRun, bundles_below, is_bundle
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
from long_context_tasks.results.find import find_runs
from long_context_tasks.results.models import shown_name
from long_context_tasks.results.plan.missing import without_answers
from long_context_tasks.results.settings import (
    cases_told_apart,
    other_cases_told_apart,
    seed_of,
    settings_of,
    without_places,
)
from long_context_tasks.results.tidy import RUNS, SCORES, Collection
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import json_value
from long_context_tasks.schema.response import NOT_SCORED, writable
from long_context_tasks.schema.secrets import without_secrets


def _no_labels(case: str, turn: int) -> str | None:
    return None


class ScoreColumns:
    """Gathers the turns of a run; a column is a list, and a row of the table is made at the end.

    Attributes:
        metrics: of all turns so far, headline first.
    """

    def __init__(
        self,
        run: str,
        headline: str | None,
        labels_of: Callable[[str, int], str | None] = _no_labels,
    ) -> None:
        """Begin.

        Args:
            run: key of the run.
            headline: the metric whose reasons are kept; None: the first one.
            labels_of: case and turn to their labels as JSON; None without any.
        """
        self._run = run
        self._headline = headline
        self._labels_of = labels_of
        self._turns: list[tuple[str, str, int, int, str | None, str | None]] = []
        self._values: dict[str, list[float | None]] = {}
        self._stds: dict[str, dict[int, float]] = {}

    @property
    def metrics(self) -> list[str]:
        """See the class."""
        return sorted(self._values, key=lambda name: name != self._headline)

    def add(self, turn: TurnScores) -> None:
        """Take a turn."""
        place = len(self._turns)
        cluster = turn.case if turn.cluster is None else turn.cluster
        reason = turn.reason if turn.scores else NOT_SCORED
        labels = self._labels_of(turn.case, turn.turn)
        self._turns.append((writable(turn.case), writable(cluster), turn.turn, turn.repeat, reason, labels))
        for name in turn.scores:
            if name not in self._values:
                self._values[name] = [None] * place
        for name, values in self._values.items():
            values.append(turn.scores.get(name))
        for name, std in turn.stds.items():
            self._stds.setdefault(name, {})[place] = std

    def frame(self) -> pl.DataFrame:
        """The rows, metric by metric."""
        turns = pl.DataFrame(
            self._turns,
            schema={
                "case": pl.Categorical(),
                "cluster": pl.Categorical(),
                "turn": pl.Int16(),
                "repeat": pl.Int16(),
                "reason": pl.Categorical(),
                "labels": pl.Categorical(),
            },
            orient="row",
        )
        none = pl.lit(None, pl.Categorical())
        metrics = self.metrics
        frames = []
        for name in metrics:
            stds = self._stds.get(name, {})
            frames.append(
                turns.with_columns(
                    pl.lit(self._run, pl.Categorical()).alias("run"),
                    pl.lit(name, pl.Categorical()).alias("metric"),
                    pl.Series("value", self._values[name], pl.Float64()),
                    pl.Series("std", [stds.get(place, 0.0) for place in range(len(turns))], pl.Float64())
                    if stds
                    else pl.lit(0.0).alias("std"),
                    *([] if name == metrics[0] else [none.alias("reason")]),
                ).select(*SCORES)
            )
        return pl.concat(frames)


_LONGEST = 64
_WER = re.compile(r"(?:^|_)wer(\d+)(?:_|$)", re.ASCII)
_Known = dict[str, tuple[str | None, ...]]


class LabelFinder:
    """Reads the labels of a task's cases from the first run that has them.

    The hosts' files have labels. The rows of ``lct judge run`` do not: the labels of the run that was judged count.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._known: dict[str, _Known] = {}

    def of(self, run: StoredRun) -> Callable[[str, int], str | None]:
        """Case and turn to their labels as JSON; None where there are none."""
        known = self._known.setdefault(run.task_key, {})
        read = False

        def labels(case: str, turn: int) -> str | None:
            nonlocal read
            if case not in known and not read:
                read = True
                _read_labels(run, known)
            found = known.get(case, ())
            return found[turn] if turn < len(found) else None

        return labels


def _read_labels(run: StoredRun, known: _Known) -> None:
    benchmark = catalogue.parse_task(run.task).benchmark
    try:
        for stored in run.cases():
            if stored.id not in known:
                turns = stored.turn_labels or ({},) * len(stored.responses)
                known[stored.id] = label_texts(benchmark, stored.id, stored.labels, turns)
    except InputError:
        pass  # reading its scores reports why


def label_texts(
    benchmark: str, case: str, labels: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]
) -> tuple[str | None, ...]:
    """The labels of each turn with those of its case, as JSON: words, numbers, yes and no; lists and long texts are left out.

    >>> label_texts(catalogue.benchmark_names()[0], "b1", {"domain": "books", "evidence": ["a text"]}, [{}])
    ('{"domain": "books"}',)
    """
    labels_of = catalogue.benchmark(benchmark).function("labels")
    common = {**labels, **(labels_of(case, labels) if labels_of else {})}
    texts = []
    for own in turns:
        kept = {name: value for name, value in {**common, **own}.items() if _short(value)}
        texts.append(json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None)
    return tuple(texts)


def _short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, int | float) and math.isfinite(value)


_ENDS = 65_536


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
    needs a judge and was scored by several is there once for each; one that nobody has judged is there with what can be said
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
    found, problems = _find(paths)
    chosen, doubles = _without_doubles(found)
    problems += doubles
    bundled = list(_bundled(paths, problems))
    case_labels = LabelFinder()
    labels = {key: _label(one) for key, (_, one) in chosen.items()}
    names = short_names([*labels.values(), *(run.label for _, run in bundled)])
    read: dict[str, tuple[BundleRun, Evaluation]] = {}
    for key, (source, one) in chosen.items():
        columns = ScoreColumns(key, one.headline, case_labels.of(one.run))
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
    scores = pl.concat([one.scores for one, _ in read.values()]) if read else pl.DataFrame(schema=SCORES)
    runs, notes = other_cases_told_apart(cases_told_apart(runs, scores), scores)
    return Collected(
        Collection(runs, scores, tuple(dict.fromkeys(problems)), tuple(notes)),
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
        **_described(one, source),
        "judge": None if judge == NO_JUDGE else judge,
        "headline": headline,
        "metrics": columns.metrics,
        "points": [
            name for name in columns.metrics if name in (one.told.get("points", one.run.points) or ())
        ],
    }
    return {name: writable(value) if isinstance(value, str) else value for name, value in row.items()}


def _described(one: Evaluation, source: str) -> dict[str, Any]:
    """All columns that do not depend on the cases.

    Args:
        one: the run with its judge.
        source: its folder, as the user named it.

    Raises:
        InputError: a task that this version does not know.
    """
    run = one.run
    try:
        spec = catalogue.parse_task(run.task)
    except InputError as error:
        raise InputError(f"{source}: {run}: {error}") from error
    wer = _WER.search(spec.variant)
    provenance = run.provenance
    return {
        "host": run.host,
        "model": shown_name(run.model),
        "benchmark": spec.benchmark,
        "task": run.task,
        "family": "_".join(part for part in (spec.family, spec.split) if part),
        "length": spec.tokens or _length(run.options.get("lct_length")),
        "variant": spec.variant,
        "wer": int(wer[1]) if wer else None,
        "made": run.made,
        "version": _whole(one.version),
        "options": as_json(run.options),
        "settings": as_json(settings_of(run)),
        "seed": seed_of(run),
        "judge_settings": as_json(one.description),
        "n_cases_available": _whole(provenance.get("n_cases_available")),
        "n_truncated": float(run.numbers.get("n_truncated", math.nan)),
        "window": None if provenance.get("window") is None else str(provenance["window"]),
        "host_version": _text(provenance.get("host_version")),
        "package": _text(one.told.get("package") or provenance.get("package")),
        "commit": _text(provenance.get("commit")),
        "provenance": as_json(
            {
                **{key: value for key, value in provenance.items() if value is not None},
                **{key: one.told[key] for key in ("judged", "usage", "notes", "before") if one.told.get(key)},
            }
        ),
        "source": source,
    }


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
    """A whole number, which OpenCompass' files have as text; None where a damaged file has something else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
