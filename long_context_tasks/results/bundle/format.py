"""A bundle: runs in one small file that travels, with scores, provenance and, as far as the benchmark's card allows, responses.

A zip. Nothing in it is executed, unpickled or written to disk, and nothing is read beyond a stated size:

- ``manifest.json``: format, version, size and SHA-256 of the other members, and of each run its row of ``RUNS``, the judge's label, the
  name of its responses, and for people its mean and counts;
- ``scores.parquet``: the rows of ``SCORES`` of all runs;
- ``responses/<name>.parquet``: a row for each turn that the model answered; neither prompts, gold nor what judges wrote.

Parquet is uncompressed (the zip compresses), texts are read as dictionaries, and the number of rows is bounded before any is read: a
stranger's file cannot make a reader allocate much more than it unpacks to.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from long_context_tasks.results.tidy import SCORES
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.validated import Checked, validated

SUFFIX = ".lct.zip"
FORMAT, VERSION = "lct-bundle", 1
MANIFEST, SCORES_MEMBER = "manifest.json", "scores.parquet"
LIMITS: Mapping[str, int] = {MANIFEST: 64 << 20, SCORES_MEMBER: 256 << 20}
"""Most bytes of each member, unpacked; of responses see below."""
MOST_RESPONSES = 1 << 30
"""Bytes of all responses of a bundle, unpacked."""
MOST_MEMBERS = 20_000
MOST_ROWS = 5_000_000
"""Of scores in one bundle, and of one run's responses."""
LONGEST = 500
"""Characters of a name."""
_RESPONSES = re.compile(r"responses/[0-9a-f]{16}\.parquet", re.ASCII)
_CHUNK = 1 << 20
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
"""Labels are JSON; those of a case and its log-likelihoods stand in the row of its first turn."""
UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, pl.exceptions.PolarsError),
    pa.ArrowException,
)
"""What a hostile file may raise in the readers of zip, JSON, Arrow and Polars."""


@dataclass(frozen=True)
class BundleRun:
    """A run in a bundle.

    Attributes:
        row: of ``RUNS``, without ``source``.
        label: of the judge, name and digits; see :mod:`long_context_tasks.results.evaluations`.
        answers: name of its responses in the bundle; None where there are none.
        scores: its rows of ``SCORES``.
        by_seed: numbers with each seed of the judge, where it has several.
    """

    row: Mapping[str, Any]
    label: str
    answers: str | None
    scores: pl.DataFrame = field(repr=False)
    by_seed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class StatedRun(Checked):
    """A run as the manifest states it; ``mean``, ``n`` and ``n_scored`` are for people, and must be what the scores say."""

    row: dict[str, Any]
    label: Annotated[str, Field(max_length=LONGEST)]
    answers: str | None
    mean: float | None
    n: int
    n_scored: int
    by_seed: dict[str, dict[str, float]] = Field(default_factory=dict)


class Member(Checked):
    """Size and hash of a member."""

    bytes: int
    sha256: str


class Manifest(Checked):
    """The manifest."""

    format: Literal["lct-bundle"]
    version: Literal[1]
    package: str
    members: dict[str, Member]
    runs: list[StatedRun]


def is_bundle(path: Path) -> bool:
    """Whether a path is that of a bundle by its name."""
    return path.name.endswith(".zip") and path.is_file()


def bundles_below(path: Path) -> list[Path]:
    """The bundles at or below a path, in order; hidden folders are passed over."""
    if is_bundle(path):
        return [path]
    found = (one for one in path.rglob(f"*{SUFFIX}") if one.is_file()) if path.is_dir() else ()
    return sorted(
        one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts)
    )


def responses_member(answers: str) -> str:
    """The member with the responses of that name."""
    return f"responses/{answers}.parquet"


def bundle_bytes(
    runs: Sequence[tuple[BundleRun, StatedRun]],
    responses: Mapping[str, Sequence[Mapping[str, Any]]],
    made_with: str,
) -> bytes:
    """A bundle as the bytes of its file; the same runs always give the same bytes.

    Args:
        runs: one or more, with what the manifest states.
        responses: name to rows of :data:`RESPONSES`.
        made_with: version of this package.
    """
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
    # Halves of surrogate pairs stay escapes, which is why all of it is ASCII.
    top = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, content in {MANIFEST: top.encode("ascii"), **members}.items():
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
    """The members of a bundle, none of which is trusted.

    Attributes:
        manifest: checked.
    """

    def __init__(self, path: Path) -> None:
        """Read the manifest.

        Raises:
            InputError: no bundle of a version that this package knows.
        """
        self.path = path
        self._sizes: dict[str, int] = {}
        try:
            with zipfile.ZipFile(path) as file:
                self._check_members(file)
                # zipfile stops at the size that the zip states, which was checked.
                content = loads(file.read(MANIFEST))
        except InputError:
            raise
        except UNREADABLE as error:
            raise self.error(f"cannot be read ({first_line(error)})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self.error(f"its {MANIFEST} is not that of a bundle")
        if content.get("version") != VERSION:
            raise InputError(
                f"{path}: a bundle of schema version {str(content.get('version'))[:20]}, and this package reads {VERSION}; update "
                "long_context_tasks, or pack the runs again"
            )
        self.manifest = validated(Manifest, content, f"{path}: {MANIFEST}", remedy=REMEDY)
        if {MANIFEST, *self.manifest.members} != set(self._sizes):
            raise self.error(f"its {MANIFEST} does not list what it holds")

    @property
    def members(self) -> set[str]:
        """Names of what it holds."""
        return set(self._sizes)

    def error(self, what: str) -> InputError:
        """An error that names the bundle."""
        return InputError(f"{self.path}: {what}; {REMEDY}")

    def _check_members(self, file: zipfile.ZipFile) -> None:
        names = [one.filename for one in file.infolist()]
        odd = [name for name in names if name not in LIMITS and not _RESPONSES.fullmatch(name)]
        if odd or len(set(names)) < len(names) or not set(LIMITS) <= set(names) or len(names) > MOST_MEMBERS:
            shown = ", ".join(repr(name[:80]) for name in (odd or sorted(names))[:3]) or "nothing"
            raise self.error(
                f"no bundle: it holds {shown}, where a bundle holds {', '.join(LIMITS)} and responses, each once"
            )
        self._sizes = {one.filename: one.file_size for one in file.infolist()}
        for one in file.infolist():
            if one.flag_bits & 1 or one.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
                raise self.error(f"{one.filename} is encrypted or packed in a way that bundles are not")
            if (limit := LIMITS.get(one.filename)) is not None and one.file_size > limit:
                raise self.error(
                    f"{one.filename} unpacks to {one.file_size:,} bytes, more than the {limit:,} allowed"
                )
        if sum(size for name, size in self._sizes.items() if name not in LIMITS) > MOST_RESPONSES:
            raise self.error(f"its responses unpack to more than the {MOST_RESPONSES:,} bytes allowed")

    def check_hashes(self) -> None:
        """Read every member for its size and hash alone, in pieces.

        Raises:
            InputError: one is not what the manifest says.
        """
        for name, stated in self.manifest.members.items():
            digest, size = hashlib.sha256(), 0
            for chunk in self._chunks(name):
                digest.update(chunk)
                size += len(chunk)
            if stated != Member(bytes=size, sha256=digest.hexdigest()):
                raise self.error(f"{name} is not what its {MANIFEST} says (changed, or damaged on the way)")

    def _chunks(self, name: str) -> Iterator[bytes]:
        try:
            with zipfile.ZipFile(self.path) as file, file.open(name) as member:
                while chunk := member.read(_CHUNK):
                    yield chunk
        except UNREADABLE as error:
            raise self.error(f"{name} cannot be read ({first_line(error)})") from error

    def scores(self) -> pl.DataFrame:
        """The rows of ``SCORES`` of all runs; check the hashes first.

        Raises:
            InputError: the member is not of that form.
        """
        frame = pl.DataFrame(self._table(SCORES_MEMBER, _SCORES))
        return frame.with_columns(pl.col(name).cast(kind) for name, kind in SCORES.items())

    def responses(self, answers: str) -> list[dict[str, Any]]:
        """Rows of :data:`RESPONSES`.

        Raises:
            InputError: the member is not of that form.
        """
        rows: list[dict[str, Any]] = self._table(responses_member(answers), RESPONSES).to_pylist()
        return rows

    def _table(self, name: str, schema: pa.Schema) -> pa.Table:
        try:
            content = pa.BufferReader(b"".join(self._chunks(name)))
            file = pq.ParquetFile(
                content, read_dictionary=[one.name for one in schema if one.type == pa.string()]
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
                f"{name}: column {', '.join(map(repr, unknown[:3]))} is not known; a newer version of long_context_tasks may have made it"
            )
        for column in schema:
            given = file.schema_arrow.field(column.name).type
            if (given.value_type if pa.types.is_dictionary(given) else given) != column.type:
                raise self.error(f"{name}: column {column.name} is no {column.type}")
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        if about.num_rows != sum(group.num_rows for group in groups) or not 0 <= about.num_rows <= MOST_ROWS:
            raise self.error(f"{name}: {about.num_rows:,} rows; at most {MOST_ROWS:,} are read")
        for group in groups:
            codecs = {group.column(number).compression for number in range(group.num_columns)}
            if group.num_rows < 0 or codecs - {"UNCOMPRESSED"}:
                raise self.error(f"{name} is compressed within, which bundles are not")


def first_line(error: BaseException) -> str:
    """An error of a reader in short."""
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    return what.splitlines()[0][:300] if what else type(error).__name__
