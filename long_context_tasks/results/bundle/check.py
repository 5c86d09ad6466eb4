"""Reads a bundle. To read is to check: what does not hold together, or cannot be a result of a known task, is refused with the reason."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import LM_EVAL, OPENCOMPASS, OWN
from long_context_tasks.results.bundle.format import (
    MOST_ROWS,
    RUNS_MEMBER,
    SCORES_MEMBER,
    UNREADABLE,
    BundleReader,
    BundleRun,
    first_line,
    responses_member,
    scores_frame,
)
from long_context_tasks.results.bundle.private import fit_to_travel
from long_context_tasks.results.tidy import RUNS, SCORES
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads

_ORCA = ("orca_mean", "orca_std")
_KEY = re.compile(r"[0-9a-f]{16}", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9_]{0,60}", re.ASCII)
_JSON = ("options", "settings", "judge_settings", "provenance")
_NEEDED = (
    "run",
    "host",
    "model",
    "benchmark",
    "task",
    "family",
    "made",
    "headline",
    "metrics",
    "points",
    *_JSON,
)
_LONGEST = 500
_NEAR = 1e-9


def read_bundle(path: Path) -> list[BundleRun]:
    """All runs of a bundle, checked.

    Raises:
        InputError: the first thing that is wrong with it.
    """
    reader = BundleReader(path)
    reader.check_hashes()
    rows: dict[str, tuple[dict[str, Any], str, str | None]] = {}
    for place, line in reader.rows(RUNS_MEMBER):
        try:
            row = _run_row(line["run"])
            label, answers = line["label"], line["answers"]
            if not isinstance(label, str) or len(label) > _LONGEST or not isinstance(answers, str | None):
                raise TypeError("its judge or responses have no name")
            if answers is not None and responses_member(answers) not in reader.members:
                raise ValueError(f"its responses {answers[:40]!r} are not there")
            if row["run"] in rows:
                raise ValueError(f"run {row['run']} is there twice")
        except UNREADABLE as error:
            raise reader.error(f"{place}: {first_line(error)}") from error
        rows[row["run"]] = (row, label, answers)
    found, left = {}, MOST_ROWS
    for place, line in reader.rows(SCORES_MEMBER):
        key = line.get("run")
        if not isinstance(key, str) or key not in rows or key in found:
            raise reader.error(f"{place}: scores of a run that is not there, or twice")
        row, label, answers = rows[key]
        try:
            left -= line["rows"]
            if left < 0:
                raise ValueError(f"more than {MOST_ROWS:,} scores in all")
            frame = scores_frame(line, key)
            _check_columns(line["columns"], SCORES, ("run",))
            _check_scores(frame, row)
        except UNREADABLE as error:
            raise reader.error(f"{place} ({row['task']}): {first_line(error)}") from error
        found[key] = BundleRun(row, label, answers, frame)
    if not rows or len(found) < len(rows):
        raise reader.error("has runs without scores" if rows else "has no runs")
    _check_told(reader, found)
    return [found[key] for key in rows]


def _check_columns(given: Mapping[str, Any], schema: Mapping[str, Any], besides: tuple[str, ...]) -> None:
    if unknown := sorted(set(given) - set(schema) - set(besides)):
        raise ValueError(
            f"column {', '.join(map(repr, unknown[:3]))} is not known; a newer version of long_context_tasks may have made it"
        )


# --- a run ------------------------------------------------------------------------------------------------------


def _run_row(given: Any) -> dict[str, Any]:
    """A row of ``RUNS`` whose types and names are right; columns that came to the schema later are None."""
    if not isinstance(given, dict):
        raise TypeError("the run is no object")
    _check_columns(given, RUNS, ())
    if missing := [name for name in _NEEDED if name not in given]:
        raise KeyError(f"column {', '.join(missing)}")
    row: dict[str, Any] = {
        name: math.nan if given.get(name) == "NaN" and dtype.is_float() else given.get(name)
        for name, dtype in RUNS.items()
    }
    for name, dtype in RUNS.items():
        _check_type(name, row[name], dtype)
    for name in ("run", "host", "model", "task", "made", "headline"):
        if not row[name] or len(row[name]) > _LONGEST:
            raise ValueError(f"{name} is empty or longer than {_LONGEST} characters")
    if not _KEY.fullmatch(row["run"]):
        raise ValueError(f"{row['run'][:40]!r} is no key of a run")
    if row["host"] not in (LM_EVAL, OPENCOMPASS, OWN):
        raise ValueError(f"host {row['host'][:40]!r} is not known")
    spec = _spec(row["task"])
    family = "_".join(part for part in (spec.family, spec.split) if part)
    named = {"benchmark": spec.benchmark, "family": family, "variant": spec.variant}
    if odd := [name for name, value in named.items() if (row[name] or "") != value]:
        raise ValueError(f"{odd[0]} {str(row[odd[0]])[:60]!r} is not that of {row['task']}")
    if spec.tokens and row["length"] != spec.tokens:
        raise ValueError(f"length {row['length']} is not that of {row['task']}")
    _check_metrics(row, spec.benchmark)
    for name in _JSON:
        _check_json(name, row[name])
    if fit_to_travel(row["model"]) != row["model"]:
        raise ValueError("the model's name holds a local path or a key")
    return row


def _check_type(name: str, value: Any, dtype: Any) -> None:
    if value is None:
        if name in _NEEDED:
            raise TypeError(f"{name} is null")
        return
    if dtype == pl.String():
        right = isinstance(value, str)
    elif dtype == pl.List(pl.String()):
        right = isinstance(value, list) and all(isinstance(one, str) for one in value)
    elif dtype.is_integer():
        right = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    elif dtype.is_float():
        right = isinstance(value, int | float) and not isinstance(value, bool) and not math.isinf(value)
    else:
        pl.Series(name, [value], dtype=dtype, strict=True)
        right = True
    if not right:
        raise TypeError(f"{name} is {str(value)[:40]!r}, no {dtype}")


def _spec(task: str) -> Any:
    try:
        return catalogue.parse_task(task)
    except InputError as error:
        raise ValueError(
            f"unknown task {task[:80]!r}; update long_context_tasks where it is a new one"
        ) from error


def _check_metrics(row: Mapping[str, Any], benchmark: str) -> None:
    known = {*catalogue.card(benchmark).metrics, *_ORCA}
    if unknown := [name for name in row["metrics"] if name not in known]:
        raise ValueError(f"unknown metric {unknown[0][:60]!r} of {benchmark}")
    if row["headline"] not in row["metrics"] or len(set(row["metrics"])) < len(row["metrics"]):
        raise ValueError(f"headline {row['headline'][:60]!r} is not among the metrics, or one is there twice")
    points = catalogue.card(benchmark).points
    if odd := [name for name in row["points"] if name not in points]:
        raise ValueError(f"{odd[0][:60]!r} is a rate and no points of a scale")


def _check_json(name: str, text: str) -> None:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no JSON object")
    if fit_to_travel(value) != value:
        raise ValueError(f"{name} holds a local path, a key or an address with more than it needs")
    limit = value.get("lct_n")
    if limit is not None and not re.fullmatch(r"[0-9]{1,9}", str(limit), re.ASCII):
        raise ValueError(f"{name}: lct_n is {str(limit)[:40]!r}")


# --- its scores -------------------------------------------------------------------------------------------------


def _check_scores(frame: pl.DataFrame, row: Mapping[str, Any]) -> None:
    must = ("case", "cluster", "turn", "repeat", "metric")
    if frame.select(must).null_count().sum_horizontal().item():
        raise ValueError(f"a score without {', '.join(must)}")
    if sorted(frame["metric"].unique().cast(pl.String()).to_list()) != sorted(row["metrics"]):
        raise ValueError(f"the metrics of the scores are not those of the run: {', '.join(row['metrics'])}")
    if cast(int, frame["turn"].min()) < 0 or cast(int, frame["repeat"].min()) < 0:
        raise ValueError("turns and repeats are counted from 0")
    if not frame["value"].drop_nulls().is_finite().all() or not frame["std"].drop_nulls().is_finite().all():
        raise ValueError("a value that is not finite")
    rates = frame.filter(~pl.col("metric").cast(pl.String()).is_in(row["points"]))
    outside = rates.filter(~pl.col("value").is_between(0, 1))["value"]
    if len(outside):
        raise ValueError(f"a rate of {outside[0]}, outside 0 to 1")
    if (frame["std"].drop_nulls() < 0).any():
        raise ValueError("a negative standard deviation")
    places = frame.select("metric", "case", "turn", "repeat")
    if places.is_duplicated().any():
        raise ValueError("a turn has a metric twice")
    counts = frame.group_by("metric").len()["len"]
    if counts.n_unique() > 1:
        raise ValueError("a metric has fewer turns than another")
    _check_texts(frame)


def _check_texts(frame: pl.DataFrame) -> None:
    for name in frame["reason"].unique().drop_nulls().cast(pl.String()):
        if not _WORD.fullmatch(name):
            raise ValueError(f"reason {name[:40]!r} is no word")
    for text in frame["labels"].unique().drop_nulls().cast(pl.String()):
        if not isinstance(loads(text.encode("utf-8", "surrogatepass")), dict):
            raise TypeError("labels are no JSON object")
    longest = cast(int, frame["case"].unique().cast(pl.String()).str.len_chars().max())
    if longest > _LONGEST:
        raise ValueError(f"a case's id is longer than {_LONGEST} characters")


def told_of(run: BundleRun) -> dict[str, Any]:
    """A run in one line for people, and for reviewers who see a bundle only as a diff: what its scores say.

    The mean is over turns and repeats with a value.
    """
    numbers = numbers_of(run)
    names = ("run", "model", "task", "judge", "version")
    mean = numbers.get(run.row["headline"], math.nan)
    return {
        **{name: run.row[name] for name in names},
        "metric": run.row["headline"],
        "mean": None if math.isnan(mean) else mean,
        "n": int(numbers["n"]),
        "n_scored": int(numbers["n_scored"]),
    }


def _check_told(reader: BundleReader, found: Mapping[str, BundleRun]) -> None:
    """What the manifest says for people must be what the scores say."""
    told = {one.get("run"): one for one in reader.told if isinstance(one, dict)}
    if set(told) != set(found) or len(reader.told) != len(found):
        raise reader.error("its manifest.json does not list its runs")
    for key, run in found.items():
        now, then = told_of(run), told[key]
        for name, value in now.items():
            said = then.get(name)
            near = (
                isinstance(value, float)
                and isinstance(said, int | float)
                and math.isclose(value, said, rel_tol=_NEAR, abs_tol=_NEAR)
            )
            if said != value and not near:
                raise reader.error(
                    f"its manifest.json says {name} {str(said)[:60]!r} of {run.row['task']}, and its scores {value!r}"
                )


def numbers_of(run: BundleRun) -> dict[str, float]:
    """Means and counts as a host's result file has them, from the scores."""
    frame = run.scores
    metric = pl.col("metric").cast(pl.String())
    means = frame.group_by(metric).agg(pl.col("value").mean())
    numbers = {name: math.nan if mean is None else float(mean) for name, mean in means.iter_rows()}
    headline = frame.filter(metric == run.row["headline"])
    numbers |= {"n": float(len(headline)), "n_scored": float(headline["value"].count())}
    numbers["n_truncated"] = math.nan if run.row["n_truncated"] is None else float(run.row["n_truncated"])
    reasons = headline.group_by(pl.col("reason").cast(pl.String())).len()
    return numbers | {f"n_{name}": float(count) for name, count in reasons.iter_rows() if name}
