"""Present bundled runs as host runs, so that case pages and missing-cell lists can use them."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.hosts.stored import StoredCase, StoredRun
from long_context_tasks.results import FoundRuns, bundles_below, find_runs
from long_context_tasks.results.bundle.format import (
    UNREADABLE,
    BundleRun,
    fault,
    first_line,
    read_bundle,
    read_responses,
    stated_of,
)
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.evaluations import Evaluation
from long_context_tasks.results.tidy import RUNS, Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import Response


def evaluation_of(path: Path, run: BundleRun) -> Evaluation:
    """Return the evaluation of a run in a bundle; the run's ``folder`` is the bundle, from which its cases are read."""
    row = run.row
    options, described, provenance = (
        loads(row[name]) for name in ("options", "judge_settings", "provenance")
    )
    numbers = run.numbers()
    stored = StoredRun(
        host=row["host"],
        model=row["model"],
        task=row["task"],
        options=options,
        version=row["version"],
        folder=path,
        label=run.answers or row["run"],
        made=row["made"],
        files=(),
        read=lambda _: _cases(path, run),
        numbers=numbers,
        headline=row["headline"],
        points=tuple(row["points"]),
        judge=described,
        provenance=provenance,
    )
    return Evaluation(stored, run.label, numbers, by_seed=run.by_seed, description=described)


def _cases(path: Path, run: BundleRun) -> Iterator[StoredCase]:
    answers: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in read_responses(path, run.answers) if run.answers else ():
        answers.setdefault((str(row["case"]), int(row["repeat"])), []).append(row)
    parts = run.scores.partition_by("case", "repeat", as_dict=True, maintain_order=True)
    # Also a forged name of another run's responses.
    if others := answers.keys() - {(str(case), repeat) for case, repeat in parts}:
        raise fault(path, f"{len(others)} responses to cases without scores, such as {min(others)[0][:80]!r}")
    for (case, repeat), part in parts.items():
        try:
            yield _case(str(case), repeat, part, answers.get((str(case), repeat), []))
        except UNREADABLE as error:
            raise fault(path, f"responses to case {str(case)!r}: {first_line(error)}") from error


def _case(case: str, repeat: int, part: pl.DataFrame, rows: Sequence[Mapping[str, Any]]) -> StoredCase:
    part = part.sort("turn", maintain_order=True)
    by_metric = part.partition_by("metric", as_dict=True, maintain_order=True)
    first = next(iter(by_metric.values()))
    rows = sorted(rows, key=lambda row: row["turn"])
    # Scores and responses come from different members, and a hostile bundle may pair them wrongly.
    if rows and [row["turn"] for row in rows] != list(range(len(first))):
        raise ValueError(f"{len(rows)} responses to {len(first)} turns")
    likely = rows[0]["log_likelihoods"] if rows else None
    # Without responses, the only labels are those of the scores.
    of_scores = first["labels"].cast(pl.String()).to_list()
    return StoredCase(
        id=case,
        responses=tuple(Response(row["text"], row["status"]) for row in rows)
        or (Response(None),) * len(first),
        scores={str(name): tuple(frame["value"].to_list()) for (name,), frame in by_metric.items()},
        reasons=tuple(first["reason"].cast(pl.String()).to_list()),
        log_likelihoods=None if likely is None else tuple(float(value) for value in likely),
        repeat=repeat,
        cluster=str(first["cluster"][0]),
        labels=_labels(rows[0]["labels"]) if rows else {},
        turn_labels=tuple(map(_labels, (row["turn_labels"] for row in rows) if rows else of_scores)),
    )


def _labels(text: str | None) -> dict[str, Any]:
    value = {} if text is None else loads(text)
    if not isinstance(value, dict):
        raise TypeError("labels are not a JSON object")
    return value


def find_runs_and_bundles(path: Path) -> FoundRuns:
    """Find the runs of all hosts and in bundles; a run in a bundle appears once for each judge."""
    bundles = bundles_below(path)
    stored = FoundRuns((), ()) if path in bundles else find_runs(path)
    runs, problems = list(stored.runs), list(stored.problems)
    for bundle in bundles:
        try:
            runs += [evaluation_of(bundle, run).run for run in read_bundle(bundle, problems)]
        except InputError as error:
            problems.append(str(error))
    return FoundRuns(tuple(runs), tuple(problems), stored.begun)


def overview(paths: Iterable[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Check bundles; return a row for each run, with the reasons why it would not be ranked, and all problems."""
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    seen: dict[str, Path] = {}
    for path in paths:
        try:
            runs = read_bundle(path, problems)
            for run in runs:
                deque(_cases(path, run), maxlen=0)
        except InputError as error:
            problems.append(str(error))
            continue
        for run in runs:
            key = run.row["run"]
            if key in seen:
                problems.append(
                    f"{path}: {run.row['task']} of {run.row['model']} is in {seen[key]} as well; leave one out"
                )
            seen.setdefault(key, path)
            rows.append(_overview_row(path, run))
    return rows, problems


def _overview_row(path: Path, run: BundleRun) -> dict[str, Any]:
    frame = pl.DataFrame([{**run.row, "source": str(path)}], schema=RUNS)
    [cell] = cells_of(Collection(frame, run.scores))
    stated = stated_of(run)
    notes = [*filter(None, [cell.why_unranked]), *([] if run.answers else ["no responses"])]
    return {
        "bundle": path.name,
        "host": run.row["host"],
        **{name: run.row[name] for name in ("run", "model", "task", "judge", "version")},
        "metric": run.row["headline"],
        **{name: getattr(stated, name) for name in ("mean", "n", "n_scored")},
        "low": cell.mean.low,
        "high": cell.mean.high,
        "notes": "; ".join(notes),
    }
