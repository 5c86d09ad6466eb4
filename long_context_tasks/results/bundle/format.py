"""The bundle format: runs in one zip file with scores, provenance and, as far as the benchmark's card allows, responses.

- ``manifest.json``: format, version, size and SHA-256 of the other members; for each run its row of ``RUNS``, the judge's label, the name
  of its responses, and its mean and counts for human readers.
- ``scores.parquet``: the rows of ``SCORES`` of all runs.
- ``responses/<name>.parquet``: a row for each turn that the model answered. No prompts, gold answers or judges' texts.

A bundle may come from a stranger, so reading is checking: nothing in it is executed, unpickled or written to disk, and anything
inconsistent, or impossible as a result of a known task, is refused with the reason. Parquet is uncompressed (the zip compresses), texts
are read as dictionaries, and the number of rows is bounded before any row is read, so that a file cannot make its reader allocate much
more memory than it unpacks to.
"""

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.readers import HOST_OF
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.results.settings import without_places
from long_context_tasks.results.tidy import SCORES, TidyRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.secrets import HIDDEN, without_secrets
from long_context_tasks.schema.validated import Checked, validated

FORMAT, VERSION = "lct-bundle", 1
MANIFEST, SCORES_MEMBER = "manifest.json", "scores.parquet"
LIMITS: Mapping[str, int] = {MANIFEST: 64 << 20, SCORES_MEMBER: 256 << 20}
"""Maximum number of unpacked bytes of each member."""
MOST_RESPONSES = 1 << 30
"""Maximum number of unpacked bytes of all responses of a bundle."""
MOST_MEMBERS = 20_000
MOST_ROWS = 5_000_000
"""Maximum number of scores in a bundle, and of responses of a run."""
LONGEST = 500
"""Maximum number of characters of a name."""
_RESPONSES = re.compile(r"responses/[0-9a-f]{16}\.parquet", re.ASCII)
_CHUNK = 1 << 20
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


@dataclass(frozen=True)
class BundleRun(TidyRun):
    """A run in a bundle; its row is without ``source``."""

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
    # Ranking compares this number with the number of cases.
    limit = value.get("lct_n")
    if limit is not None and not re.fullmatch(r"[0-9]{1,9}", str(limit), re.ASCII):
        raise ValueError(f"must hold a number of cases: lct_n is {str(limit)[:40]!r}")
    return text


_Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]
_Count = Annotated[int, Field(strict=True, gt=-(2**63), lt=2**63)]
_Json = Annotated[str, AfterValidator(_public_json)]


class RunRow(Checked):
    """A row of ``RUNS`` in a bundle, without ``source``; names must be those of the task."""

    run: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    host: Annotated[str, AfterValidator(_known_host)]
    model: Annotated[_Name, AfterValidator(_public_name)]
    benchmark: str
    task: _Name
    family: str
    length: _Count | None
    variant: str
    wer: _Count | None
    made: _Name
    version: _Count
    options: _Json
    settings: _Json
    seed: str
    judge: str | None
    judge_settings: _Json
    headline: _Name
    metrics: list[str]
    points: list[str]
    n_cases_available: _Count | None
    n_truncated: float | None
    window: str | None
    host_version: str | None
    package: str | None
    commit: str | None
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


class Member(Checked):
    bytes: int
    sha256: str


class Manifest(Checked):
    format: Literal["lct-bundle"]
    version: Literal[1]
    package: str
    members: dict[str, Member]
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
        "members": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in members.items()
        },
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
    pq.write_table(
        table,
        buffer,
        compression="NONE",
        write_statistics=False,
        store_schema=False,
        row_group_size=MOST_ROWS,
    )
    return buffer.getvalue()


class BundleReader:
    """Reads the members of a bundle and trusts none of them."""

    def __init__(self, path: Path) -> None:
        """Read and check the manifest."""
        self.path = path
        self._sizes: dict[str, int] = {}
        try:
            with zipfile.ZipFile(path) as file:
                self._check_members(file)
                # zipfile stops at the size that the zip states, and that size is checked already.
                content = loads(file.read(MANIFEST))
        except InputError:
            raise
        except UNREADABLE as error:
            raise self.error(f"cannot be read ({first_line(error)})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self.error(f"its {MANIFEST} does not belong to a bundle")
        if content.get("version") != VERSION:
            raise InputError(
                f"{path}: a bundle of schema version {str(content.get('version'))[:20]}, but this package reads {VERSION}; update "
                "long_context_tasks, or pack the runs again"
            )
        self.manifest = validated(Manifest, content, f"{path}: {MANIFEST}", remedy=REMEDY)
        if {MANIFEST, *self.manifest.members} != set(self._sizes):
            raise self.error(f"its {MANIFEST} does not list what it holds")

    @property
    def members(self) -> set[str]:
        return set(self._sizes)

    def error(self, problem: str) -> InputError:
        return InputError(f"{self.path}: {problem}; {REMEDY}")

    def _check_members(self, file: zipfile.ZipFile) -> None:
        names = [member.filename for member in file.infolist()]
        # A zip may contain a name twice, and readers differ in which one they take.
        odd = [name for name in names if name not in LIMITS and not _RESPONSES.fullmatch(name)]
        if odd or len(set(names)) < len(names) or not set(LIMITS) <= set(names) or len(names) > MOST_MEMBERS:
            shown = ", ".join(repr(name[:80]) for name in (odd or sorted(names))[:3]) or "nothing"
            raise self.error(
                f"not a bundle: it holds {shown}, but a bundle holds {', '.join(LIMITS)} and responses, each once"
            )
        self._sizes = {member.filename: member.file_size for member in file.infolist()}
        for member in file.infolist():
            # Bit 0 marks encryption.
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
                raise self.error(
                    f"{member.filename} is encrypted or compressed by a method that bundles do not use"
                )
            if (limit := LIMITS.get(member.filename)) is not None and member.file_size > limit:
                raise self.error(
                    f"{member.filename} unpacks to {member.file_size:,} bytes, more than the {limit:,} allowed"
                )
        if sum(size for name, size in self._sizes.items() if name not in LIMITS) > MOST_RESPONSES:
            raise self.error(f"its responses unpack to more than the {MOST_RESPONSES:,} bytes allowed")

    def check_hashes(self) -> None:
        """Compare size and hash of every member with the manifest, reading in pieces."""
        for name, stated in self.manifest.members.items():
            digest, size = hashlib.sha256(), 0
            for chunk in self._chunks(name):
                digest.update(chunk)
                size += len(chunk)
            if stated != Member(bytes=size, sha256=digest.hexdigest()):
                raise self.error(f"{name} differs from its {MANIFEST} (it was changed or damaged)")

    def _chunks(self, name: str) -> Iterator[bytes]:
        try:
            with zipfile.ZipFile(self.path) as file, file.open(name) as member:
                while chunk := member.read(_CHUNK):
                    yield chunk
        except UNREADABLE as error:
            raise self.error(f"{name} cannot be read ({first_line(error)})") from error

    def scores(self) -> pl.DataFrame:
        """Return the rows of ``SCORES`` of all runs; check the hashes first."""
        frame = pl.DataFrame(self._table(SCORES_MEMBER, _SCORES))
        return frame.with_columns(pl.col(name).cast(kind) for name, kind in SCORES.items())

    def responses(self, answers: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table(responses_member(answers), RESPONSES).to_pylist()
        return rows

    def _table(self, name: str, schema: pa.Schema) -> pa.Table:
        try:
            content = pa.BufferReader(b"".join(self._chunks(name)))
            # As dictionaries, because a text that repeats in millions of rows would be unpacked as often.
            file = pq.ParquetFile(
                content, read_dictionary=[field.name for field in schema if field.type == pa.string()]
            )
            self._check_table(name, file, schema)
            return file.read()
        except InputError:
            raise
        except UNREADABLE as error:
            raise self.error(f"{name} cannot be read ({first_line(error)})") from error

    def _check_table(self, name: str, file: pq.ParquetFile, schema: pa.Schema) -> None:
        about = file.metadata
        if unknown := sorted(set(file.schema_arrow.names) - set(schema.names)):
            raise self.error(
                f"{name}: unknown column {', '.join(map(repr, unknown[:3]))}; a newer version of long_context_tasks may have made it"
            )
        for column in schema:
            given = file.schema_arrow.field(column.name).type
            if (given.value_type if pa.types.is_dictionary(given) else given) != column.type:
                raise self.error(f"{name}: column {column.name} is not of type {column.type}")
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        # Both the file and its row groups state numbers of rows, and a hostile file may state different ones.
        if about.num_rows != sum(group.num_rows for group in groups) or not 0 <= about.num_rows <= MOST_ROWS:
            raise self.error(f"{name}: {about.num_rows:,} rows; at most {MOST_ROWS:,} are read")
        for group in groups:
            codecs = {group.column(number).compression for number in range(group.num_columns)}
            if group.num_rows < 0 or codecs - {"UNCOMPRESSED"}:
                raise self.error(f"{name} is compressed inside Parquet, which bundles are not")


def first_line(error: BaseException) -> str:
    text = f"no {error}" if isinstance(error, KeyError) else str(error)
    return text.splitlines()[0][:300] if text else type(error).__name__


def read_bundle(path: Path) -> list[BundleRun]:
    """Return all runs of a bundle after checking them; the error names the first fault."""
    reader = BundleReader(path)
    reader.check_hashes()
    rows: dict[str, tuple[dict[str, Any], StatedRun]] = {}
    for number, stated in enumerate(reader.manifest.runs, start=1):
        place = f"{MANIFEST}, run {number}"
        row = validated(RunRow, stated.row, f"{path}: {place}", remedy=REMEDY).model_dump()
        if stated.answers is not None and responses_member(stated.answers) not in reader.members:
            raise reader.error(f"{place}: its responses {stated.answers[:40]!r} are missing")
        if row["run"] in rows:
            raise reader.error(f"{place}: run {row['run']} is listed twice")
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
        run = BundleRun(row, stated.label, frames[key], stated.answers, stated.by_seed)
        try:
            _check_scores(run.scores, row)
            _check_stated(run, stated)
        except UNREADABLE as error:
            raise reader.error(f"scores of {row['task']}: {first_line(error)}") from error
        found.append(run)
    return found


def _check_scores(frame: pl.DataFrame, row: Mapping[str, Any]) -> None:
    must = ("case", "cluster", "turn", "repeat", "metric")
    if frame.select(must).null_count().sum_horizontal().item():
        raise ValueError(f"a score without {', '.join(must)}")
    if sorted(frame["metric"].unique().cast(pl.String()).to_list()) != sorted(row["metrics"]):
        raise ValueError(f"the scores do not have the metrics of the run: {', '.join(row['metrics'])}")
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
            raise ValueError(f"reason {name[:40]!r} is not a word")
    for text in frame["labels"].unique().drop_nulls().cast(pl.String()):
        if not isinstance(loads(text.encode("utf-8", "surrogatepass")), dict):
            raise TypeError("labels are not a JSON object")
    # Pages and tables show every id.
    longest = cast(int, frame["case"].unique().cast(pl.String()).str.len_chars().max())
    if longest > LONGEST:
        raise ValueError(f"a case's id is longer than {LONGEST} characters")


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
        by_seed={seed: dict(own) for seed, own in run.by_seed.items()},
    )


def _check_stated(run: BundleRun, stated: StatedRun) -> None:
    now = stated_of(run)
    for name in ("n", "n_scored", "mean"):
        value, given = getattr(now, name), getattr(stated, name)
        near = None not in (value, given) and math.isclose(value, given, rel_tol=_NEAR, abs_tol=_NEAR)
        if given != value and not near:
            raise ValueError(f"manifest.json has {name} {str(given)[:60]!r}, but the scores give {value!r}")
