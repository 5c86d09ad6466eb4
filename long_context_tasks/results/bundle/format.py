"""A bundle: runs in one small file that travels, with scores, provenance and, as far as the benchmark's card allows, responses.

A zip. Nothing in it is executed, unpickled or written to disk, and nothing is read beyond a stated size:

- ``manifest.json``: format, schema version, size and SHA-256 of the other members, and for people a line for each run;
- ``runs.jsonl``: a line for each run: its row of ``RUNS``, the judge's label, and the name of its responses;
- ``scores.jsonl``: a line for each run: its rows of ``SCORES``, column by column;
- ``responses/<name>.jsonl``: a line for each case that the model answered; neither prompts, gold nor what judges wrote.

Text rather than Parquet, because a file from a stranger must not be able to make a reader allocate more than the text is long.
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
from typing import Any, cast

import polars as pl

from long_context_tasks.results.tidy import SCORES
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads

SUFFIX = ".lct.zip"
FORMAT, VERSION = "lct-bundle", 1
MANIFEST, RUNS_MEMBER, SCORES_MEMBER = "manifest.json", "runs.jsonl", "scores.jsonl"
NEEDED = (MANIFEST, RUNS_MEMBER, SCORES_MEMBER)
LIMITS: Mapping[str, int] = {MANIFEST: 16 << 20, RUNS_MEMBER: 64 << 20, SCORES_MEMBER: 256 << 20}
"""Most bytes of each member, unpacked; of responses see below."""
MOST_RESPONSES = 1 << 30
"""Bytes of all responses of a bundle, unpacked."""
MOST_MEMBERS = 20_000
LONGEST_LINE = 64 << 20
MOST_ROWS = 5_000_000
"""Of scores, in one bundle."""
_RESPONSES = re.compile(r"responses/[0-9a-f]{16}\.jsonl", re.ASCII)
_CHUNK = 1 << 20
_WHEN = (1980, 1, 1, 0, 0, 0)
REMEDY = "pack the runs again with `lct report pack`"


@dataclass(frozen=True)
class BundleRun:
    """A run in a bundle.

    Attributes:
        row: of ``RUNS``, without ``source``.
        label: of the judge, name and digits; see :mod:`long_context_tasks.results.evaluations`.
        answers: name of its responses in the bundle; None where there are none.
        scores: its rows of ``SCORES``.
    """

    row: Mapping[str, Any]
    label: str
    answers: str | None
    scores: pl.DataFrame = field(repr=False)


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
    return f"responses/{answers}.jsonl"


# --- writing ---------------------------------------------------------------------------------------------------


def bundle_bytes(
    runs: Sequence[BundleRun],
    responses: Mapping[str, Sequence[Mapping[str, Any]]],
    made_with: str,
    told: Sequence[Mapping[str, Any]],
) -> bytes:
    """A bundle as the bytes of its file; the same runs always give the same bytes.

    Args:
        runs: one or more.
        responses: name to a row for each case.
        made_with: version of this package.
        told: for people: what each run says, in the order of the runs.
    """
    members = {
        RUNS_MEMBER: b"".join(
            _line({"run": one.row, "label": one.label, "answers": one.answers}) for one in runs
        ),
        SCORES_MEMBER: b"".join(_line(_columns(one)) for one in runs),
        **{responses_member(name): b"".join(map(_line, rows)) for name, rows in responses.items()},
    }
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "package": made_with,
        "members": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in members.items()
        },
        "runs": list(told),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        for name, content in {MANIFEST: text.encode(), **members}.items():
            about = zipfile.ZipInfo(name, _WHEN)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            file.writestr(about, content)
    return buffer.getvalue()


def _line(value: Mapping[str, Any]) -> bytes:
    # Halves of surrogate pairs stay escapes, which is why all of it is ASCII.
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode("ascii")


def _columns(one: BundleRun) -> dict[str, Any]:
    frame = one.scores.drop("run")
    return {
        "run": one.row["run"],
        "rows": len(frame),
        "columns": {name: _packed(frame[name]) for name in frame.columns},
    }


def _packed(series: pl.Series) -> Any:
    """The values of a column; where few differ, the different ones and the place of each."""
    values = series.to_list()
    if series.dtype.is_nested():
        return values
    levels = list(dict.fromkeys(values))
    if len(levels) == 1:
        return {"all": levels[0]}
    if len(levels) * 2 > len(values):
        return values
    places = {value: place for place, value in enumerate(levels)}
    return {"levels": levels, "codes": [places[value] for value in values]}


# --- reading ---------------------------------------------------------------------------------------------------


class BundleReader:
    """The members of a bundle, none of which is trusted."""

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
                manifest = loads(self._whole(file, MANIFEST))
            self._read_manifest(manifest)
        except InputError:
            raise
        except UNREADABLE as error:
            raise self.error(f"cannot be read ({first_line(error)})") from error

    @property
    def members(self) -> set[str]:
        """Names of what it holds."""
        return set(self._sizes)

    def error(self, what: str) -> InputError:
        """An error that names the bundle."""
        return InputError(f"{self.path}: {what}; {REMEDY}")

    def _check_members(self, file: zipfile.ZipFile) -> None:
        names = [one.filename for one in file.infolist()]
        odd = [name for name in names if name not in NEEDED and not _RESPONSES.fullmatch(name)]
        if odd or len(set(names)) < len(names) or not set(NEEDED) <= set(names) or len(names) > MOST_MEMBERS:
            shown = ", ".join(repr(name[:80]) for name in (odd or sorted(names))[:3]) or "nothing"
            raise self.error(
                f"no bundle: it holds {shown}, where a bundle holds {', '.join(NEEDED)} and responses, each once"
            )
        self._sizes = {one.filename: one.file_size for one in file.infolist()}
        for one in file.infolist():
            if one.flag_bits & 1 or one.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
                raise self.error(f"{one.filename} is encrypted or packed in a way that bundles are not")
            if (limit := LIMITS.get(one.filename)) is not None and one.file_size > limit:
                raise self.error(
                    f"{one.filename} unpacks to {one.file_size:,} bytes, more than the {limit:,} allowed"
                )
        if sum(size for name, size in self._sizes.items() if name not in NEEDED) > MOST_RESPONSES:
            raise self.error(f"its responses unpack to more than the {MOST_RESPONSES:,} bytes allowed")

    def _whole(self, file: zipfile.ZipFile, name: str) -> bytes:
        # zipfile stops at the size that the zip states, which was checked.
        with file.open(name) as member:
            return member.read(self._sizes[name])

    def _read_manifest(self, manifest: Any) -> None:
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise self.error(f"its {MANIFEST} is not that of a bundle")
        if manifest.get("version") != VERSION:
            raise InputError(
                f"{self.path}: a bundle of schema version {str(manifest.get('version'))[:20]}, and this package reads {VERSION}; update "
                "long_context_tasks, or pack the runs again"
            )
        self.package = str(manifest.get("package"))[:100]
        told = manifest.get("runs")
        self.told: list[Any] = told if isinstance(told, list) else []
        self._members = manifest["members"]
        if {MANIFEST, *self._members} != set(self._sizes):
            raise self.error(f"its {MANIFEST} does not list what it holds")

    def check_hashes(self) -> None:
        """Read every member for its size and hash alone, in pieces.

        Raises:
            InputError: one is not what the manifest says.
        """
        for name in self._members:
            self._check_hash(name)

    def _check_hash(self, name: str) -> None:
        digest, size = hashlib.sha256(), 0
        for chunk in self._chunks(name):
            digest.update(chunk)
            size += len(chunk)
        told = self._members[name]
        if told != {"bytes": size, "sha256": digest.hexdigest()}:
            raise self.error(f"{name} is not what its {MANIFEST} says (changed, or damaged on the way)")

    def _chunks(self, name: str) -> Iterator[bytes]:
        try:
            with zipfile.ZipFile(self.path) as file, file.open(name) as member:
                while chunk := member.read(_CHUNK):
                    yield chunk
        except InputError:
            raise
        except UNREADABLE as error:
            raise self.error(f"{name} cannot be read ({first_line(error)})") from error

    def rows(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The lines of a member with their places for messages; check the hashes first.

        Raises:
            InputError: a line is no JSON object, or too long.
        """
        number, rest = 0, b""
        for chunk in self._chunks(name):
            *whole, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
            if len(rest) > LONGEST_LINE:
                raise self.error(f"{name}, line {number + len(whole) + 1}: too long")
            for text in whole:
                number += 1
                yield self._row(name, number, text)
        if rest:
            raise self.error(f"{name} ends in the middle of a line")

    def _row(self, name: str, number: int, text: bytes) -> tuple[str, dict[str, Any]]:
        place = f"{name}, line {number}"
        try:
            row = loads(text)
        except ValueError as error:
            raise self.error(f"{place}: no JSON ({error})") from error
        if not isinstance(row, dict):
            raise self.error(f"{place}: no object")
        return place, cast(dict[str, Any], row)


UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, pl.exceptions.PolarsError),
)
"""What a hostile file may raise in the readers of zip, JSON and Polars. Errors of ours are among them, as values that are wrong."""


def first_line(error: BaseException) -> str:
    """An error of a reader in short."""
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    return what.splitlines()[0][:300] if what else type(error).__name__


def scores_frame(row: Mapping[str, Any], run: str) -> pl.DataFrame:
    """The rows of ``SCORES`` in a line of ``scores.jsonl``. Columns that came to the schema later are null.

    Args:
        row: the line.
        run: key of the run.

    Raises:
        ValueError, TypeError, KeyError, PolarsError: it is not what is written there.
    """
    n, columns = row["rows"], row["columns"]
    if not isinstance(n, int) or isinstance(n, bool) or not 0 < n <= MOST_ROWS:
        raise ValueError(f"{str(n)[:20]} rows")
    series = [pl.Series("run", [run], dtype=SCORES["run"]).new_from_index(0, n)]
    for name, dtype in SCORES.items():
        if name != "run":
            series.append(_column(name, columns.get(name, {"all": None}), n, dtype))
    return pl.DataFrame(series)


def _column(name: str, packed: Any, n: int, dtype: pl.DataType) -> pl.Series:
    if isinstance(packed, list):
        if len(packed) != n:
            raise ValueError(f"column {name} has {len(packed)} values, not {n}")
        return pl.Series(name, _of_type(packed, dtype), dtype=dtype, strict=True)
    if "all" in packed:
        one = pl.Series(name, _of_type([packed["all"]], dtype), dtype=dtype, strict=True)
        repeated: pl.Series = one.new_from_index(0, n)
        return repeated
    levels = pl.Series(name, _of_type(packed["levels"], dtype), dtype=dtype, strict=True)
    codes = pl.Series("codes", packed["codes"], dtype=pl.Int64(), strict=True)
    if (
        len(codes) != n
        or codes.null_count()
        or not 0 <= int(cast(int, codes.min())) <= int(cast(int, codes.max())) < len(levels)
    ):
        raise ValueError(f"column {name} does not fit its levels")
    return levels.gather(codes)


def _of_type(values: list[Any], dtype: pl.DataType) -> list[Any]:
    """Values whose types are those of the column; Polars would take True for a number."""
    kinds: tuple[type, ...] | None = (str,) if dtype in (pl.String(), pl.Categorical()) else None
    kinds = (int,) if dtype.is_integer() else kinds
    kinds = (int, float) if dtype.is_float() else kinds
    if kinds is not None and any(
        one is not None and (not isinstance(one, kinds) or isinstance(one, bool)) for one in values
    ):
        raise TypeError(f"a value that is no {dtype}")
    return values
