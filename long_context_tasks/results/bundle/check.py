"""Reads a bundle. To read is to check: what does not hold together, or cannot be a result of a known task, is refused with the reason."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import polars as pl
from pydantic import Field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.bundle.format import (
    LONGEST,
    REMEDY,
    UNREADABLE,
    BundleReader,
    BundleRun,
    StatedRun,
    first_line,
    responses_member,
)
from long_context_tasks.results.settings import without_places
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.secrets import HIDDEN, without_secrets
from long_context_tasks.schema.validated import Checked, validated

OF_THE_MACHINE = ("lct_data_dir", "lct_judge")
"""Options that tell a place and nothing about the task; left out."""
_FILE = re.compile(r"\bfile://+", re.ASCII)
_WORD = "(not_shown)"
_ROUNDS = 8
_ORCA = ("orca_mean", "orca_std")
_REASON = re.compile(r"[a-z][a-z0-9_]{0,60}", re.ASCII)
JSON = ("options", "settings", "judge_settings", "provenance")
"""Columns of ``RUNS`` that hold JSON objects."""
_NEAR = 1e-9
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]
_Count = Annotated[int, Field(strict=True, gt=-(2**63), lt=2**63)]


class RunRow(Checked):
    """A row of ``RUNS`` as it travels, without ``source``."""

    run: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    host: Literal["lm_eval", "opencompass", "own"]
    model: _Name
    benchmark: str
    task: _Name
    family: str
    length: _Count | None = None
    variant: str | None = None
    wer: _Count | None = None
    made: _Name
    version: _Count | None = None
    options: str
    settings: str
    seed: str | None = None
    judge: str | None = None
    judge_settings: str
    headline: _Name
    metrics: list[str]
    points: list[str]
    n_cases_available: _Count | None = None
    n_truncated: float | None = None
    window: str | None = None
    host_version: str | None = None
    package: str | None = None
    commit: str | None = None
    provenance: str


def read_bundle(path: Path) -> list[BundleRun]:
    """All runs of a bundle, checked.

    Raises:
        InputError: the first thing that is wrong with it.
    """
    reader = BundleReader(path)
    reader.check_hashes()
    rows: dict[str, tuple[dict[str, Any], StatedRun]] = {}
    for number, stated in enumerate(reader.manifest.runs, start=1):
        place = f"manifest.json, run {number}"
        row = validated(RunRow, stated.row, f"{path}: {place}", remedy=REMEDY).model_dump()
        try:
            _check_row(row)
            if stated.answers is not None and responses_member(stated.answers) not in reader.members:
                raise ValueError(f"its responses {stated.answers[:40]!r} are not there")
            if row["run"] in rows:
                raise ValueError(f"run {row['run']} is there twice")
        except UNREADABLE as error:
            raise reader.error(f"{place}: {first_line(error)}") from error
        row["n_truncated"] = math.nan if row["n_truncated"] is None else row["n_truncated"]
        rows[row["run"]] = (row, stated)
    frames = {
        str(key[0]): frame
        for key, frame in reader.scores().partition_by("run", as_dict=True, maintain_order=True).items()
    }
    if not rows or set(frames) != set(rows):
        raise reader.error("has runs without scores, or scores without a run" if rows else "has no runs")
    found = []
    for key, (row, stated) in rows.items():
        run = BundleRun(row, stated.label, stated.answers, frames[key], stated.by_seed)
        try:
            _check_scores(run.scores, row)
            _check_stated(run, stated)
        except UNREADABLE as error:
            raise reader.error(f"scores of {row['task']}: {first_line(error)}") from error
        found.append(run)
    return found


def _check_row(row: Mapping[str, Any]) -> None:
    """Names must be those of the task, and nothing may be in it that must not travel."""
    try:
        spec = catalogue.parse_task(row["task"])
    except InputError as error:
        raise ValueError(
            f"unknown task {row['task'][:80]!r}; update long_context_tasks where it is a new one"
        ) from error
    family = "_".join(part for part in (spec.family, spec.split) if part)
    named = {"benchmark": spec.benchmark, "family": family, "variant": spec.variant}
    if odd := [name for name, value in named.items() if (row[name] or "") != value]:
        raise ValueError(f"{odd[0]} {str(row[odd[0]])[:60]!r} is not that of {row['task']}")
    if spec.tokens and row["length"] != spec.tokens:
        raise ValueError(f"length {row['length']} is not that of {row['task']}")
    card = catalogue.card(spec.benchmark)
    if unknown := [name for name in row["metrics"] if name not in (*card.metrics, *_ORCA)]:
        raise ValueError(f"unknown metric {unknown[0][:60]!r} of {spec.benchmark}")
    if row["headline"] not in row["metrics"] or len(set(row["metrics"])) < len(row["metrics"]):
        raise ValueError(f"headline {row['headline'][:60]!r} is not among the metrics, or one is there twice")
    if odd := [name for name in row["points"] if name not in card.points]:
        raise ValueError(f"{odd[0][:60]!r} is a rate and no points of a scale")
    for name in JSON:
        _check_json(name, row[name])
    if fit_to_travel(row["model"]) != row["model"]:
        raise ValueError("the model's name holds a local path or a key")


def _check_json(name: str, text: str) -> None:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no JSON object")
    if fit_to_travel(value) != value:
        raise ValueError(f"{name} holds a local path, a key or an address with more than it needs")
    limit = value.get("lct_n")
    if limit is not None and not re.fullmatch(r"[0-9]{1,9}", str(limit), re.ASCII):
        raise ValueError(f"{name}: lct_n is {str(limit)[:40]!r}")


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
        if not _REASON.fullmatch(name):
            raise ValueError(f"reason {name[:40]!r} is no word")
    for text in frame["labels"].unique().drop_nulls().cast(pl.String()):
        if not isinstance(loads(text.encode("utf-8", "surrogatepass")), dict):
            raise TypeError("labels are no JSON object")
    longest = cast(int, frame["case"].unique().cast(pl.String()).str.len_chars().max())
    if longest > LONGEST:
        raise ValueError(f"a case's id is longer than {LONGEST} characters")


def stated_of(run: BundleRun) -> StatedRun:
    """A run as the manifest states it: for people, and for reviewers who see a bundle only as a diff, with what its scores say.

    The mean is over turns and repeats with a value.
    """
    numbers = numbers_of(run)
    mean = numbers.get(run.row["headline"], math.nan)
    return StatedRun(
        row=dict(run.row),
        label=run.label,
        answers=run.answers,
        mean=None if math.isnan(mean) else mean,
        n=int(numbers["n"]),
        n_scored=int(numbers["n_scored"]),
        by_seed={seed: dict(own) for seed, own in run.by_seed.items()},
    )


def _check_stated(run: BundleRun, stated: StatedRun) -> None:
    """What the manifest says for people must be what the scores say."""
    now = stated_of(run)
    for name in ("n", "n_scored", "mean"):
        value, said = getattr(now, name), getattr(stated, name)
        near = None not in (value, said) and math.isclose(value, said, rel_tol=_NEAR, abs_tol=_NEAR)
        if said != value and not near:
            raise ValueError(f"manifest.json says {name} {str(said)[:60]!r}, and the scores {value!r}")


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


def fit_to_travel(value: Any) -> Any:
    """A value in which a path of this machine is its last part, and keys and what stands behind ``?`` in addresses are not shown.

    >>> fit_to_travel({"model_args": "pretrained=/home/me/Qwen2.5-7B,base_url=http://host/v1?key=1", "a": ["../x/y", "Qwen/Qwen2"]})
    {'model_args': 'pretrained=Qwen2.5-7B,base_url=http://host/v1', 'a': ['y', 'Qwen/Qwen2']}
    """
    # A text that has lost a part may show another: what is packed must hold out against a second look.
    for _ in range(_ROUNDS):
        before, value = value, _once(value)
        if before == value:
            break
    return value


def _once(value: Any) -> Any:
    # In one word, so that what was hidden before is hidden as a whole.
    before = _each(value, lambda text: text.replace(HIDDEN, _WORD))
    return _each(
        without_places(_each(without_secrets(before), lambda text: _FILE.sub("/", text))),
        lambda text: text.replace(_WORD, HIDDEN),
    )


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """A value with every text in it changed, keys too."""
    if isinstance(value, Mapping):
        return {change(str(key)): _each(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_each(each, change) for each in value]
    return change(value) if isinstance(value, str) else value
