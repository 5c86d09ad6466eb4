"""Runs in bundles as runs of a host, for what reads those: pages of cases, missing cells."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import polars as pl

from long_context_tasks.hosts.stored import StoredCase, StoredRun
from long_context_tasks.results.bundle.check import numbers_of, read_bundle
from long_context_tasks.results.bundle.format import (
    UNREADABLE,
    BundleReader,
    BundleRun,
    bundles_below,
    first_line,
    responses_member,
)
from long_context_tasks.results.evaluations import Evaluation
from long_context_tasks.results.find import FoundRuns, Problem, find_runs
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import Response


def evaluation_of(path: Path, run: BundleRun) -> Evaluation:
    """A run in a bundle as what a judge said of a host's run; its ``folder`` is the bundle, and its cases are read from there."""
    row = run.row
    options, described, provenance = (
        json.loads(row[name]) for name in ("options", "judge_settings", "provenance")
    )
    numbers = numbers_of(run)
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
        read=lambda _: _cases(path, row["run"]),
        numbers=numbers,
        headline=row["headline"],
        points=tuple(row["points"]),
        judge=described,
        provenance=provenance,
    )
    return Evaluation(stored, run.label, numbers, description=described)


@lru_cache(maxsize=1)
def _read_once(path: Path, size: int, time: int) -> list[BundleRun]:
    """Runs of one bundle follow one another when their pages are made."""
    return read_bundle(path)


def _cases(path: Path, key: str) -> Iterator[StoredCase]:
    """The cases of a run with its responses, where the bundle has them."""
    try:
        about = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    [run] = [one for one in _read_once(path, about.st_size, about.st_mtime_ns) if one.row["run"] == key]
    reader = BundleReader(path)
    answers: dict[tuple[str, int], Mapping[str, Any]] = {}
    for place, line in reader.rows(responses_member(run.answers)) if run.answers else ():
        try:
            answers[str(line["case"]), int(line["repeat"])] = line
        except UNREADABLE as error:
            raise reader.error(f"{place}: {first_line(error)}") from error
    for (case, repeat), part in run.scores.partition_by(
        "case", "repeat", as_dict=True, maintain_order=True
    ).items():
        try:
            yield _case(str(case), cast(int, repeat), part, answers.get((str(case), cast(int, repeat)), {}))
        except UNREADABLE as error:
            raise reader.error(f"responses to case {str(case)!r}: {first_line(error)}") from error


def _case(case: str, repeat: int, part: pl.DataFrame, line: Mapping[str, Any]) -> StoredCase:
    part = part.sort("turn", maintain_order=True)
    by_metric = {
        str(key[0]): one
        for key, one in part.partition_by("metric", as_dict=True, maintain_order=True).items()
    }
    first = next(iter(by_metric.values()))
    n = len(first)
    responses = tuple(
        Response(_text(text), _text(status)) for text, status in line.get("responses", [[None, None]] * n)
    )
    if len(responses) != n:
        raise ValueError(f"{len(responses)} responses to {n} turns")
    likely = line.get("log_likelihoods")
    labels, turn_labels = line.get("labels") or {}, line.get("turn_labels") or ()
    if not isinstance(labels, dict) or not all(isinstance(one, dict) for one in turn_labels):
        raise TypeError("labels are no objects")
    return StoredCase(
        id=case,
        responses=responses,
        scores={name: tuple(one["value"].to_list()) for name, one in by_metric.items()},
        reasons=tuple(first["reason"].cast(pl.String()).to_list()),
        log_likelihoods=None if likely is None else tuple(float(one) for one in likely),
        repeat=repeat,
        cluster=str(first["cluster"][0]),
        labels=labels,
        turn_labels=tuple(turn_labels),
    )


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError(f"{str(value)[:40]!r} in the place of a text")
    return value


def find_runs_and_bundles(path: Path) -> FoundRuns:
    """Every run under a path, of either host and in bundles; a bundle's run comes once for each judge.

    Args:
        path: a folder, or a bundle.

    Raises:
        InputError: no such path, or a file that is no bundle.
    """
    bundles = bundles_below(path)
    found = FoundRuns((), ()) if path in bundles else find_runs(path)
    runs, problems = list(found.runs), list(found.problems)
    for bundle in bundles:
        try:
            runs += [evaluation_of(bundle, one).run for one in read_bundle(bundle)]
        except InputError as error:
            problems.append(Problem(bundle, str(error)))
    return FoundRuns(tuple(runs), tuple(problems))
