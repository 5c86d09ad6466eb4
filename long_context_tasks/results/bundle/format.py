"""The bundle format: runs in one zip file with scores, provenance and, as far as the benchmark's card allows, responses.

- ``manifest.json``: format, version, and for each run its row of ``RUNS``, the judge's label, the name of its responses, and its mean and
  counts for human readers.
- ``scores.parquet``: the rows of ``SCORES`` of all runs.
- ``responses/<name>.parquet``: a row for each turn that the model answered. No prompts, gold answers or judges' texts.

A bundle may come from a stranger, so reading is checking: nothing in it is executed, unpickled or written to disk, and anything
inconsistent, or impossible as a result of a known task, is refused with the reason. Parquet is uncompressed (the zip compresses), texts
are read as dictionaries, and the number of rows is bounded before any row is read, so that a file cannot make its reader allocate much
more memory than it unpacks to.
"""

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.readers import HOST_OF
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.results.settings import without_places
from long_context_tasks.results.tidy import SCORES, TidyRun, moment
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.secrets import HIDDEN, without_secrets
from long_context_tasks.schema.validated import Checked, validated

FORMAT, VERSION = "lct-bundle", 1
MANIFEST, SCORES_MEMBER = "manifest.json", "scores.parquet"
# Maximum number of unpacked bytes of each member, and of all responses of a bundle.
LIMITS: Mapping[str, int] = {MANIFEST: 64 << 20, SCORES_MEMBER: 256 << 20}
MOST_RESPONSES = 1 << 30
MOST_MEMBERS = 20_000
MOST_ROWS = 5_000_000  # maximum number of scores in a bundle, and of responses of a run
LONGEST = 500  # maximum number of characters of a name
_RESPONSES = re.compile(r"responses/[0-9a-f]{16}\.parquet", re.ASCII)
_FILE = re.compile(r"\bfile://+", re.ASCII)
_HIDDEN_WORD = "(not_shown)"
_ROUNDS = 8
_REASON = re.compile(r"[a-z][a-z0-9_]{0,60}", re.ASCII)
_NEAR = 1e-9
_WHEN = (1980, 1, 1, 0, 0, 0)
REMEDY = "pack the runs again with `lct report pack`"
_KINDS = {pl.String: pa.string(), pl.Categorical: pa.string(), pl.Int16: pa.int16(), pl.Float64: pa.float64()}
_SCORES = pa.schema([(name, _KINDS[type(kind)]) for name, kind in SCORES.items()])
RESPONSES = pa.schema(
    [
        *((name, pa.string()) for name in ("case", "text", "status", "labels", "turn_labels")),
        *((name, pa.int16()) for name in ("repeat", "turn")),
        ("log_likelihoods", pa.list_(pa.float64())),
    ]
)
"""Columns of the responses. Labels are JSON; the first turn of a case has the labels of the case and its log-likelihoods."""
UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, pl.exceptions.PolarsError),
    pa.ArrowException,
)
"""Errors that a hostile file may cause in the readers of zip, JSON, Arrow and Polars."""


_FIRST_DAY = datetime(2023, 1, 1, tzinfo=timezone.utc)
_MOST = 10**9  # cases, tokens


@dataclass(frozen=True)
class BundleRun(TidyRun):
    """A run in a bundle; its row has no ``source``."""

    answers: str | None = None  # name of its responses in the bundle; None without responses
    # Numbers with each seed of the judge, if it has several.
    by_seed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def publishable(value: Any) -> Any:
    """Remove from a value whatever must not leave this machine: paths but their last name, keys, and queries of web addresses.

    >>> publishable({"model_args": "pretrained=/home/me/Qwen2.5-7B,base_url=http://host/v1?key=1", "a": ["../x/y", "Qwen/Qwen2"]})
    {'model_args': 'pretrained=Qwen2.5-7B,base_url=http://host/v1', 'a': ['y', 'Qwen/Qwen2']}
    """
    # Removing one part may make another recognisable, so the result is checked until nothing changes.
    for _ in range(_ROUNDS):
        before = value
        # "(not shown)" as one word, so that the patterns treat what is already hidden as a whole.
        value = without_secrets(_each(value, lambda text: text.replace(HIDDEN, _HIDDEN_WORD)))
        value = without_places(_each(value, lambda text: _FILE.sub("/", text)))
        value = _each(value, lambda text: text.replace(_HIDDEN_WORD, HIDDEN))
        if before == value:
            break
    return value


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {change(str(key)): _each(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_each(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


def _known_host(name: str) -> str:
    if name not in HOST_OF:
        raise ValueError(f"is not one of {', '.join(HOST_OF)}")
    return name


def _public_name(name: str) -> str:
    if publishable(name) != name:
        raise ValueError("holds a local path or a key")
    return name


def _public_json(text: str) -> str:
    try:
        value = loads(text)
        public = publishable(value) == value
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    if not public:
        raise ValueError("holds a local path, a key or an address with more than it needs")
    # Ranking compares the first with the number of cases; pages show both.
    for name, form in (("lct_n", r"[0-9]{1,9}"), ("lct_seed", r"-?[0-9]{1,20}")):
        if (given := value.get(name)) is not None and not re.fullmatch(form, str(given), re.ASCII):
            raise ValueError(f"must hold a whole number of a usual size: {name} is {str(given)[:40]!r}")
    return text


def _time_of_a_run(made: str) -> str:
    try:
        day = datetime.strptime(moment(made)[:8], "%Y%m%d").replace(tzinfo=timezone.utc)
    except ValueError:
        raise ValueError("does not begin with a date") from None
    # A day of tolerance for clocks; the newest run would otherwise stay the newest for years.
    if not _FIRST_DAY <= day <= datetime.now(timezone.utc) + timedelta(days=1):
        raise ValueError(f"lies in the future, or before {_FIRST_DAY.year}")
    return made


_Text = Annotated[str, Field(max_length=LONGEST)]
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]
_Count = Annotated[int, Field(strict=True, ge=0, le=_MOST)]
_Json = Annotated[str, AfterValidator(_public_json)]


class RunRow(Checked):
    """A row of ``RUNS`` in a bundle, without ``source``; names must be those of the task."""

    run: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    host: Annotated[str, AfterValidator(_known_host)]
    model: Annotated[_Name, AfterValidator(_public_name)]
    benchmark: _Text
    task: _Name
    family: _Text
    length: Annotated[_Count, Field(gt=0)] | None
    variant: _Text
    wer: Annotated[_Count, Field(le=1_000)] | None
    made: Annotated[_Name, AfterValidator(_time_of_a_run)]
    version: _Count
    options: _Json
    settings: _Json
    seed: Annotated[str, Field(max_length=100)]  # lm-eval has up to four numbers
    judge: _Text | None
    judge_settings: _Json
    headline: _Name
    metrics: list[str]
    points: list[str]
    n_cases_available: _Count | None
    n_truncated: Annotated[float, Field(ge=0, le=_MOST)] | None
    window: _Text | None
    host_version: _Text | None
    package: _Text | None
    commit: _Text | None
    provenance: _Json

    @model_validator(mode="after")
    def _is_of_its_task(self) -> Self:
        try:
            spec = catalogue.parse_task(self.task)
        except InputError as error:
            raise ValueError(
                f"unknown task {self.task[:80]!r}; update long_context_tasks if it is a new one"
            ) from error
        family = "_".join(part for part in (spec.family, spec.split) if part)
        named = {"benchmark": spec.benchmark, "family": family, "variant": spec.variant}
        for name, value in named.items():
            if getattr(self, name) != value:
                raise ValueError(f"{name} {str(getattr(self, name))[:60]!r} does not belong to {self.task}")
        if spec.tokens and self.length != spec.tokens:
            raise ValueError(f"length {self.length} does not belong to {self.task}")
        card, judge = catalogue.card(spec.benchmark), stored_kind(loads(self.judge_settings))
        # A trained judge has metrics that no card lists.
        known = (*card.metrics, *(judge.metrics if judge else ()))
        if unknown := [name for name in self.metrics if name not in known]:
            raise ValueError(f"unknown metric {unknown[0][:60]!r} of {spec.benchmark}")
        if self.headline not in self.metrics or len(set(self.metrics)) < len(self.metrics):
            raise ValueError(
                f"headline {self.headline[:60]!r} is not among the metrics, or a metric is listed twice"
            )
        if odd := [name for name in self.points if name not in card.points]:
            raise ValueError(f"{odd[0][:60]!r} is a rate, not points of a scale")
        return self


JSON = ("options", "settings", "judge_settings", "provenance")
"""Columns of ``RUNS`` that hold JSON objects."""


class StatedRun(Checked):
    """A run in the manifest; ``mean``, ``n`` and ``n_scored`` are for human readers and must follow from the scores."""

    row: dict[str, Any]
    label: Annotated[str, Field(max_length=LONGEST)]
    answers: str | None
    mean: float | None
    n: int
    n_scored: int
    by_seed: dict[str, dict[str, float]] = Field(default_factory=dict)
    # Distribution and version of the package that brings the benchmark; empty for ours.
    brought_by: Annotated[str, Field(pattern="^[ -~]*$", max_length=LONGEST)] = ""


class Manifest(Checked):
    format: Literal["lct-bundle"]
    version: Literal[1]
    package: str
    runs: list[StatedRun]


def responses_member(answers: str) -> str:
    return f"responses/{answers}.parquet"


def bundle_bytes(
    runs: Sequence[tuple[BundleRun, StatedRun]],
    responses: Mapping[str, Sequence[Mapping[str, Any]]],
    made_with: str,
) -> bytes:
    """Return the bytes of a bundle; the same runs always give the same bytes."""
    text = pl.col(pl.Categorical).cast(pl.String())
    scores = pl.concat([run.scores.with_columns(text) for run, _ in runs]).select(*SCORES).to_arrow()
    members = {SCORES_MEMBER: _parquet(scores.cast(_SCORES))}
    for name, rows in responses.items():
        members[responses_member(name)] = _parquet(pa.Table.from_pylist(list(rows), RESPONSES))
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "package": made_with,
        "runs": [stated.model_dump(exclude_defaults=True) for _, stated in runs],
    }
    # ASCII, because unpaired surrogates in responses can only be written as escapes.
    top = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, content in {MANIFEST: top.encode("ascii"), **members}.items():
            # A constant time, so that the same runs give the same bytes.
            about = zipfile.ZipInfo(name, _WHEN)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            file.writestr(about, content)
    return buffer.getvalue()


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    options: dict[str, Any] = {"compression": "NONE", "write_statistics": False, "store_schema": False}
    pq.write_table(table, buffer, row_group_size=MOST_ROWS, **options)
    return buffer.getvalue()


def read_bundle(path: Path, problems: list[str]) -> list[BundleRun]:
    """Return the runs of a bundle after checking them; the error names the first fault.

    ``problems`` takes runs of tasks of other packages that are not here; they are left out.
    """
    with _opened(path) as file:
        manifest = _manifest(path, file)
        if not manifest.runs:
            raise fault(path, "has no runs")
        answers = {responses_member(run.answers) for run in manifest.runs if run.answers is not None}
        if {*LIMITS, *answers} != set(file.namelist()):
            raise fault(path, f"its responses are not those that its {MANIFEST} names")
        # The checksums show damage to any member, also to responses, which are read later.
        if (damaged := file.testzip()) is not None:
            raise fault(path, f"{damaged} was changed or damaged")
        table = _table(path, file, SCORES_MEMBER, _SCORES)
    scores = pl.DataFrame(table).with_columns(pl.col(name).cast(kind) for name, kind in SCORES.items())
    rows: dict[str, tuple[dict[str, Any], StatedRun]] = {}
    known, foreign = {spec.name for spec in catalogue.task_specs()}, dict[str, str]()
    for number, stated in enumerate(manifest.runs, start=1):
        place = f"{MANIFEST}, run {number}"
        if stated.brought_by and (task := str(stated.row.get("task"))) not in known:
            foreign[str(stated.row.get("run"))] = (
                f"{path}: {place} is left out: {task[:80]!r} needs the package {stated.brought_by}"
            )
            continue
        row = validated(RunRow, stated.row, f"{path}: {place}", remedy=REMEDY).model_dump()
        if row["run"] in rows:
            raise fault(path, f"{place}: run {row['run']} is listed twice")
        row["n_truncated"] = math.nan if row["n_truncated"] is None else row["n_truncated"]
        rows[row["run"]] = (row, stated)
    frames = {
        str(run): frame
        for (run,), frame in scores.partition_by("run", as_dict=True, maintain_order=True).items()
    }
    if set(frames) != {*rows, *foreign}:
        raise fault(path, "has runs without scores, or scores without a run")
    problems += foreign.values()
    runs = []
    for key, (row, stated) in rows.items():
        run = BundleRun(row, stated.label, frames[key], stated.answers, stated.by_seed)
        try:
            _check_scores(run.scores, row)
            _check_stated(run, stated)
        except UNREADABLE as error:
            raise fault(path, f"scores of {row['task']}: {first_line(error)}") from error
        runs.append(run)
    return runs


def read_responses(path: Path, answers: str) -> list[dict[str, Any]]:
    """Return the rows of the responses with a name in a bundle."""
    with _opened(path) as file:
        rows: list[dict[str, Any]] = _table(path, file, responses_member(answers), RESPONSES).to_pylist()
        return rows


def fault(path: Path, problem: str) -> InputError:
    return InputError(f"{path}: {problem}; {REMEDY}")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a bundle and check the names and sizes of its members."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("not a regular file")
        with zipfile.ZipFile(path) as file:
            _check_members(path, file)
            yield file
    except InputError:
        raise
    except UNREADABLE as error:
        raise fault(path, f"cannot be read ({first_line(error)})") from error


def _check_members(path: Path, file: zipfile.ZipFile) -> None:
    names = file.namelist()
    # A zip may contain a name twice, and readers differ in which one they take.
    odd = [name for name in names if name not in LIMITS and not _RESPONSES.fullmatch(name)]
    if odd or len(set(names)) < len(names) or not set(LIMITS) <= set(names) or len(names) > MOST_MEMBERS:
        shown = ", ".join(repr(name[:80]) for name in (odd or sorted(names))[:3]) or "nothing"
        raise fault(
            path,
            f"not a bundle: it holds {shown}, but a bundle holds {', '.join(LIMITS)} and responses, each once",
        )
    for member in file.infolist():
        # Bit 0 marks encryption.
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            raise fault(
                path, f"{member.filename} is encrypted or compressed by a method that bundles do not use"
            )
        if (limit := LIMITS.get(member.filename)) is not None and member.file_size > limit:
            raise fault(
                path,
                f"{member.filename} unpacks to {member.file_size:,} bytes, more than the {limit:,} allowed",
            )
    if sum(member.file_size for member in file.infolist() if member.filename not in LIMITS) > MOST_RESPONSES:
        raise fault(path, f"its responses unpack to more than the {MOST_RESPONSES:,} bytes allowed")


def _manifest(path: Path, file: zipfile.ZipFile) -> Manifest:
    # zipfile stops at the size that the zip states, and that size is checked already.
    content = loads(file.read(MANIFEST))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise fault(path, f"its {MANIFEST} does not belong to a bundle")
    if content.get("version") != VERSION:
        raise InputError(
            f"{path}: a bundle of schema version {str(content.get('version'))[:20]}, but this package reads {VERSION}; update "
            "long_context_tasks, or pack the runs again"
        )
    return validated(Manifest, content, f"{path}: {MANIFEST}", remedy=REMEDY)


def _table(path: Path, file: zipfile.ZipFile, name: str, schema: pa.Schema) -> pa.Table:
    try:
        # As dictionaries, because a text that repeats in millions of rows would be unpacked as often.
        texts = [field.name for field in schema if field.type == pa.string()]
        table = pq.ParquetFile(pa.BufferReader(file.read(name)), read_dictionary=texts)
        _check_table(table, schema)
        return table.read()
    except UNREADABLE as error:
        raise fault(path, f"{name} cannot be read ({first_line(error)})") from error


def _check_table(file: pq.ParquetFile, schema: pa.Schema) -> None:
    about = file.metadata
    if unknown := sorted(set(file.schema_arrow.names) - set(schema.names)):
        raise ValueError(
            f"unknown column {', '.join(map(repr, unknown[:3]))}; a newer version of long_context_tasks may have made it"
        )
    for column in schema:
        kind = file.schema_arrow.field(column.name).type
        if (kind.value_type if pa.types.is_dictionary(kind) else kind) != column.type:
            raise ValueError(f"column {column.name} is not of type {column.type}")
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    # Both the file and its row groups state numbers of rows, and a hostile file may state different ones.
    if about.num_rows != sum(group.num_rows for group in groups) or not 0 <= about.num_rows <= MOST_ROWS:
        raise ValueError(f"{about.num_rows:,} rows; at most {MOST_ROWS:,} are read")
    for group in groups:
        codecs = {group.column(number).compression for number in range(group.num_columns)}
        if group.num_rows < 0 or codecs - {"UNCOMPRESSED"}:
            raise ValueError("it is compressed inside Parquet, which bundles are not")


def first_line(error: BaseException) -> str:
    text = f"no {error}" if isinstance(error, KeyError) else str(error)
    return text.splitlines()[0][:300] if text else type(error).__name__


def _check_scores(frame: pl.DataFrame, row: Mapping[str, Any]) -> None:
    required = ("case", "cluster", "turn", "repeat", "metric")
    rates = frame.filter(~pl.col("metric").cast(pl.String()).is_in(row["points"]))["value"]
    outside = rates.filter((rates < 0) | (rates > 1))
    odd = next((text for text in _texts(frame, "reason") if not _REASON.fullmatch(text)), None)
    infinite = frame.select(pl.any_horizontal(~pl.col("value", "std").is_finite()).any()).item()
    faults = {
        f"a score without {', '.join(required)}": frame.select(required).null_count().sum_horizontal().item(),
        f"the scores do not have the metrics of the run: {', '.join(row['metrics'])}": sorted(
            _texts(frame, "metric")
        )
        != sorted(row["metrics"]),
        "turns and repeats are counted from 0": ((frame["turn"] < 0) | (frame["repeat"] < 0)).any(),
        "a value that is not finite": infinite,
        f"a rate of {outside.first()}, outside 0 to 1": len(outside),
        "a negative standard deviation": (frame["std"] < 0).any(),
        "a turn has a metric twice": frame.select("metric", "case", "turn", "repeat").is_duplicated().any(),
        "a metric has fewer turns than another": frame.group_by("metric").len()["len"].n_unique() > 1,
        f"reason {str(odd)[:40]!r} is not a word": odd is not None,
        # Pages and tables show every id.
        f"a case's id is longer than {LONGEST} characters": any(
            len(case) > LONGEST for case in _texts(frame, "case")
        ),
    }
    for message, fails in faults.items():
        if fails:
            raise ValueError(message)
    for text in _texts(frame, "labels"):
        if not isinstance(loads(text.encode("utf-8", "surrogatepass")), dict):
            raise TypeError("labels are not a JSON object")


def _texts(frame: pl.DataFrame, column: str) -> list[str]:
    texts: list[str] = frame[column].unique().drop_nulls().cast(pl.String()).to_list()
    return texts


def stated_of(run: BundleRun) -> StatedRun:
    numbers = run.numbers()
    mean = numbers.get(run.row["headline"], math.nan)
    return StatedRun(
        row=dict(run.row),
        label=run.label,
        answers=run.answers,
        mean=None if math.isnan(mean) else mean,
        n=int(numbers["n"]),
        n_scored=int(numbers["n_scored"]),
        by_seed={seed: dict(values) for seed, values in run.by_seed.items()},
        brought_by=catalogue.package_of(run.row["benchmark"]),
    )


def _check_stated(run: BundleRun, stated: StatedRun) -> None:
    computed = stated_of(run)
    for name in ("n", "n_scored", "mean"):
        value, claimed = getattr(computed, name), getattr(stated, name)
        near = None not in (value, claimed) and math.isclose(value, claimed, rel_tol=_NEAR, abs_tol=_NEAR)
        if claimed != value and not near:
            raise ValueError(f"manifest.json has {name} {str(claimed)[:60]!r}, but the scores give {value!r}")
