"""Find published files in the data folder and read them as a stream of checked rows; errors name file and row."""

import gzip
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ConfigDict

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, Options, format_length
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import MissingDataError, lines, loads, shallow
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import Checked, validated

_Row = TypeVar("_Row", bound="PublishedRow")
# Levels of a JSON value; published rows have a few, and a damaged file must not exhaust the stack.
_DEEPEST = 20


class PublishedRow(Checked):
    """A row of a published file; additional fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def remedy(benchmark: str) -> str:
    return f"fetch it again with `lct data fetch {benchmark}`"


def find_file(name: str, options: Options, benchmark: str, task: str = "") -> Path:
    """Return the path of a published file, plain or gzipped; see :func:`missing_data` for ``task``."""
    folder = data_dir(options, benchmark)
    # Users compress the files, some of which take hundreds of megabytes.
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise missing_data(f"{folder / name}[.gz]", f"{benchmark}/{name}", benchmark, task)


def published_length(spec: catalogue.TaskSpec, options: Options, known: Iterable[str]) -> str:
    """Return the name of the published length that a run asks for; an InputError names other ways for other lengths."""
    length = format_length(options.length) if options.length else "none"
    if length in known and options.length_policy == "same_information":
        return length
    ways = (*without_data(spec.benchmark, spec.name), "build cases and give lct_cases")
    raise InputError(
        f"{spec.name}: its published lengths are {', '.join(known)} (same_information), not {length} "
        f"({options.length_policy}); give one with lct_length, or {', or '.join(ways)}"
    )


def missing_data(what: str, name: str, benchmark: str, task: str = "", why: str = "") -> MissingDataError:
    """Return the error about missing published data, in the same words for every benchmark.

    Args:
        what: the missing data with their path.
        name: path of the file in LCT_DATA_DIR.
        benchmark: name of the benchmark.
        task: the task that reads the file; the remedies name a similar task that needs no data, and the command that builds its cases.
        why: the reason why a download failed.
    """
    remedies = [
        f"`lct data fetch {benchmark}` downloads the published files",
        f"point LCT_DATA_DIR (or lct_data_dir) at a folder that holds {name}",
        *without_data(benchmark, task),
    ]
    listed = "; ".join(f"({number}) {each}" for number, each in enumerate(remedies, start=1))
    return MissingDataError(f"{what} is missing{f', and {why}' if why else ''}. Remedies: {listed}")


def without_data(benchmark: str, task: str = "") -> list[str]:
    """Return ways to work without the published files: the seeded task most similar to ``task``, and a builder of cases."""
    seeded = [spec for spec in catalogue.synthetic_tasks() if spec.benchmark == benchmark]
    other, length = "", catalogue.ANY
    # Carriers are downloaded texts as well, so they do not replace missing data.
    builders = [
        builder
        for builder in catalogue.benchmark(benchmark).builders()
        if builder.source is not None and builder.source.name != "carriers"
    ]
    if task:
        wanted = catalogue.parse_task(task)
        seeded.sort(
            key=lambda spec: (spec.task.removesuffix("_synthetic") != wanted.task, spec.split != wanted.split)
        )
        builders = [builder for builder in builders if builder.task == wanted.task]
        length = wanted.length
        other = (
            ", another task" if seeded and seeded[0].task.removesuffix("_synthetic") != wanted.task else ""
        )
    ways = []
    if seeded:
        name = seeded[0].name
        same_length = name.replace(f"_{catalogue.ANY}_", f"_{length}_")
        name = same_length if any(spec.name == same_length for spec in catalogue.task_specs()) else name
        ways.append(f"run {name}{other}, which is generated from a seed and needs no data")
    if builders:
        ways.append(f"build your own cases with `lct build {builders[0].name}` and give lct_cases")
    return ways


def checked_rows(path: Path, kind: type[_Row], benchmark: str) -> Iterator[tuple[str, _Row]]:
    """Yield the rows of a file as records of a kind, each with its place for messages (``FILE, row 3``)."""
    for place, row in json_rows(path, benchmark):
        yield place, validated(kind, row, place, remedy=remedy(benchmark))


def json_rows(path: Path, benchmark: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a JSON list, of JSON Lines (both plain, gzipped or zipped) or of a Parquet table, each with its place.

    Only a few rows are in memory.
    """
    if path.suffix == ".parquet":
        yield from _parquet_rows(path, benchmark)
        return
    # Only published data need it, seeded tasks do not.
    import ijson

    number = 0
    try:
        with _open(path) as file:
            # The file's name does not distinguish a JSON list from JSON Lines.
            is_list = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
            file.seek(0)
            rows: Iterator[tuple[int, Any]]
            if is_list:
                events = ijson.parse(shallow(ijson.basic_parse(file, use_float=True), _DEEPEST))
                rows = enumerate(ijson.items(events, "item"), start=1)
            else:
                rows = ((n, loads(line)) for n, line in enumerate(lines(file), start=1) if line.strip())
            for number, row in rows:
                yield f"{path}, row {number}", row
    except (ijson.JSONError, ValueError, EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}, after row {number}: damaged or cut short ({reason}); {remedy(benchmark)}"
        ) from error
    if not number:
        raise InputError(f"{path}: holds no rows; {remedy(benchmark)}")


def _parquet_rows(path: Path, benchmark: str) -> Iterator[tuple[str, Any]]:
    require("report", str(path), "pyarrow")
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            # Rows of prompts of a million tokens take megabytes.
            for batch in table.iter_batches(batch_size=8):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (pyarrow.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{path}, after row {number}: damaged or cut short ({said}); {remedy(benchmark)}"
        ) from error
    if not number:
        raise InputError(f"{path}: holds no rows; {remedy(benchmark)}")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if path.suffix != ".zip":
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive:
        # macOS adds a hidden twin of every file to an archive.
        names = [name for name in archive.namelist() if ".json" in name and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise ValueError(f"{len(names)} JSON files in the archive instead of one")
        with archive.open(names[0]) as member:
            yield member
