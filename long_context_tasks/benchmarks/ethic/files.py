"""Rows of the data set: from a local copy, read as a stream, or from the Hugging Face hub.

A local copy lies in ``LCT_DATA_DIR/ethic``, as one of these leaves it; ``X`` is Recalling, Summarizing, Organizing or Attributing:

* ``X.parquet``, ``X.jsonl``, ``X.jsonl.gz`` or ``X.json``: ``lct data fetch ethic``, ``Dataset.to_parquet``, ``Dataset.to_json``;
* ``X/...arrow``: ``Dataset.save_to_disk``;
* files in a folder ``X``, or whose names begin with ``X``, at any depth: ``huggingface-cli download --local-dir``.

Where there are several kinds, Parquet comes first, then Arrow, then JSON.
"""

import ast
import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS, order_of
from long_context_tasks.benchmarks.ethic.sections import context_of, split_sections
from long_context_tasks.schema import Case, InputError, Options, Turn, file_sha256
from long_context_tasks.schema.folders import data_dir

logger = logging.getLogger(__name__)

NAME = "ethic"
HUB = "dmis-lab/ETHIC"
SPLIT = "test"
CONFIGURATIONS: Mapping[str, str] = {
    "recall": "Recalling",
    "summarize": "Summarizing",
    "organize": "Organizing",
    "attribute": "Attributing",
}
COLUMNS = ("ID", "Domain", "System_msg", "User_msg", "Answer")

_KINDS = ((".parquet",), (".arrow",), (".jsonl", ".jsonl.gz", ".json", ".json.gz"))
_BESIDE = ("dataset_info.json", "state.json", "dataset_dict.json")
# Rows of long texts; a batch of them is all that is held.
_BATCH = 4
_DEEPEST = 20
"""Levels of a JSON value; a row has three."""


@dataclass(frozen=True)
class Row:
    """A row as it stands in the data.

    Attributes:
        place: file and row, for messages.
        values: column to value.
    """

    place: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the rows of a task lie: local files, or a data set that the hub's library has loaded.

    Attributes:
        name: for messages.
        folder: of the local copy.
        files: local ones, in it at any depth; none for a data set of the hub.
        dataset: of the hub.
    """

    name: str
    folder: Path = Path()
    files: tuple[Path, ...] = ()
    dataset: Any = None

    def made_from(self) -> dict[str, str]:
        """What tells one edition of the data from another."""
        if self.dataset is not None:
            return {"hub": HUB, "fingerprint": str(self.dataset._fingerprint)}
        # Files in different folders may have one name.
        return {
            path.relative_to(self.folder).as_posix(): _sha256(
                path, path.stat().st_size, path.stat().st_mtime_ns
            )
            for path in self.files
        }

    def rows(self) -> Iterator[Row]:
        """All rows in order, a few at a time.

        Raises:
            InputError: a file that cannot be read, or columns that are missing.
        """
        if self.dataset is not None:
            _check_columns(self.dataset.column_names, self.name)
            for number, values in enumerate(self.dataset, start=1):
                yield Row(f"{self.name}, row {number}", values)
        for path in self.files:
            yield from _read(path)


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    """Of the content of a file, once for as long as size and time stay."""
    return file_sha256(path)


def source_of(task: str, options: Options) -> Source:
    """The local copy of a task's data, else the hub's data set.

    Raises:
        InputError: neither is to be had; names both remedies.
    """
    configuration = CONFIGURATIONS[task]
    folder = data_dir(options, NAME)
    if files := local_files(folder, configuration):
        return Source(str(folder), folder, tuple(files))
    logger.info("no %s in %s; taking %s from the Hugging Face hub", configuration, folder, HUB)
    return Source(f"{HUB}/{configuration}", dataset=_from_hub(configuration, folder))


def local_files(folder: Path, configuration: str) -> list[Path]:
    """The files of a configuration in a folder, see the top of this module; of one kind, in order of their paths."""
    if not folder.is_dir():
        return []
    wanted = configuration.lower()
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _belongs(path.relative_to(folder), wanted)
    ]
    for endings in _KINDS:
        if files := [path for path in found if path.name.endswith(endings)]:
            return files
    return []


def _belongs(path: Path, configuration: str) -> bool:
    if any(part.startswith(".") for part in path.parts) or path.name.startswith("cache-"):
        return False
    folders = [part.lower() for part in path.parent.parts]
    return path.name not in _BESIDE and (
        configuration in folders or path.name.lower().startswith(configuration)
    )


def _from_hub(configuration: str, folder: Path) -> Any:
    remedies = (
        f"put a copy into {folder} ({configuration}.parquet or .jsonl; LCT_DATA_DIR names the folder above), or allow the "
        "download: a network, no HF_HUB_OFFLINE, and `pip install datasets`"
    )
    try:
        import datasets
    except ImportError as error:
        raise InputError(
            f"ETHIC {configuration}: no local copy, and the hub's library is missing; {remedies}"
        ) from error
    try:
        return datasets.load_dataset(HUB, configuration, split=SPLIT)
    except Exception as error:
        # The library lets through whatever its HTTP and file layers raise.
        raise InputError(
            f"ETHIC {configuration}: no local copy, and {HUB} cannot be had from the Hugging Face hub "
            f"({type(error).__name__}); {remedies}"
        ) from error


def _check_columns(there: "list[str] | Any", place: str) -> None:
    if missing := [column for column in COLUMNS if column not in there]:
        raise InputError(
            f"{place}: no column {', '.join(missing)} (there are: {', '.join(map(str, there)) or 'none'}); ETHIC has "
            f"{', '.join(COLUMNS)}: fetch the data again, or rename the columns"
        )


def _read(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        yield from _read_parquet(path)
    elif path.suffix == ".arrow":
        yield from _read_arrow(path)
    else:
        yield from _read_json(path)


def _number(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Row]:
    for number, values in enumerate(rows, start=1):
        yield Row(f"{path}, row {number}", values)


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__}); the file was cut or is of another kind, fetch it again"
        ) from error


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow.parquet

    with (
        _arrow_errors(path),
        pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file,
    ):
        _check_columns(file.schema_arrow.names, str(path))
        batches = file.iter_batches(_BATCH, columns=list(COLUMNS), use_threads=False)
        yield from _number(path, (row for batch in batches for row in batch.to_pylist()))


def _read_arrow(path: Path) -> Iterator[Row]:
    import pyarrow

    # Not memory mapped: what has been read would count as this process's memory to the end.
    with _arrow_errors(path), pyarrow.OSFile(str(path)) as file:
        stream = pyarrow.ipc.open_stream(file)
        _check_columns(stream.schema.names, str(path))
        columns = [stream.schema.get_field_index(name) for name in COLUMNS]
        yield from _number(
            path,
            (
                dict(zip(COLUMNS, (batch.column(column)[place].as_py() for column in columns), strict=True))
                for batch in stream
                for place in range(batch.num_rows)
            ),
        )


def _read_json(path: Path) -> Iterator[Row]:
    import ijson

    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            if not _is_list(file):
                yield from _read_lines(path, file)
                return
            events = _not_deep(ijson.basic_parse(file, use_float=True))
            for row in _number(path, ijson.items(ijson.parse(events), "item")):
                _check_row(row)
                yield row
    except (ijson.JSONError, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{path}: cannot be read as JSON ({said}); the file was cut or is of another kind, fetch it again"
        ) from error


def _not_deep(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The same events; one level more than a row can have is an error, before reading it takes hours."""
    import ijson

    depth = 0
    for event, value in events:
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > _DEEPEST:
            raise ijson.JSONError(f"more than {_DEEPEST} values inside one another")
        yield event, value


def _is_list(file: Any) -> bool:
    """Whether the first character that is no white space opens a list; the file is at its beginning afterwards."""
    head = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    file.seek(0)
    return bool(head.startswith(b"["))


def _read_lines(path: Path, file: Any) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            row = Row(f"{path}, row {number}", json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, row {number}: not a line of JSON ({error}); fetch it again") from error
        _check_row(row)
        yield row


def _check_row(row: Row) -> None:
    if not isinstance(row.values, dict):
        raise InputError(f"{row.place}: not a JSON object; ETHIC has {', '.join(COLUMNS)}: fetch it again")
    _check_columns(list(row.values), row.place)


# A row of the data set to a case, with all that can be wrong with it told by file and row.


_ALL_DOMAINS = DOMAINS["recall"]


@dataclass(frozen=True)
class Read:
    """A case and the texts that it refers to, by key."""

    case: Case
    texts: dict[str, str]


def case_of(row: Row, task: str) -> Read | None:
    """The case of a row.

    Args:
        row: with all columns.
        task: recall, summarize, organize or attribute.

    Returns:
        None for a domain that the task does not have, which the official code ignores.

    Raises:
        InputError: an unknown domain, or a value of the wrong kind.
    """
    values = row.values
    domain = str(values["Domain"]).strip().lower()
    if domain not in _ALL_DOMAINS:
        raise InputError(
            f"{row.place}: unknown domain {values['Domain']!r}; ETHIC has {', '.join(_ALL_DOMAINS)} (column Domain)"
        )
    if domain not in DOMAINS[task]:
        return None
    own_id = _id(row)
    system = "" if values["System_msg"] is None else _text(row, "System_msg")
    user = _text(row, "User_msg")
    if not user.strip():
        raise InputError(f"{row.place}: User_msg is empty; fetch the data again")
    gold = _gold(row, task, domain, user)
    user_key = f"{task}_{domain}_{own_id}"
    texts = {user_key: user}
    system_key = ""
    if system:
        # The same for many cases.
        system_key = f"system_{hashlib.sha256(system.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        texts[system_key] = system
    case = Case(
        id=own_id,
        task=f"ethic_{task}_{domain}",
        inputs={"system": system_key, "user": user_key},
        turns=(Turn(gold=gold),),
        cluster=f"{domain}_{own_id}",
        document=user_key,
        labels={"domain": domain, "answer_items": len(gold)},
    )
    return Read(case, texts)


def _id(row: Row) -> str:
    value = row.values["ID"]
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise InputError(f"{row.place}: ID must be a text or a whole number, not {_shown(value)}")
    return str(value)


def _text(row: Row, column: str) -> str:
    value = row.values[column]
    if not isinstance(value, str):
        raise InputError(f"{row.place}: {column} must be a text, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(value).__name__})"


def _gold(row: Row, task: str, domain: str, user: str) -> list[str]:
    if task == "summarize":
        # There are no reference summaries; what there is to summarize is the right answer's form.
        context = context_of(user)
        markers = list(split_sections(context, domain)) if context is not None else []
        if not markers:
            what = "<Segment n>" if domain == "law" else "<Section n>"
            raise InputError(
                f"{row.place}: User_msg has no sections marked {what} between '### Context:' and 'Now, respond to the "
                "instruction'; fetch the data again"
            )
        return markers
    answer = row.values["Answer"]
    if task == "organize":
        numbers = _numbers(answer)
        if not numbers:
            raise InputError(
                f"{row.place}: Answer of {CONFIGURATIONS[task]} must be a text with the options' numbers in order, not "
                f"{_shown(answer)}"
            )
        return numbers
    labels = _labels(answer)
    if labels is None:
        raise InputError(
            f"{row.place}: Answer of {CONFIGURATIONS[task]} must be a list of texts, not {_shown(answer)}"
        )
    return labels


def _numbers(answer: Any) -> list[str]:
    if isinstance(answer, str):
        return order_of(answer)
    if isinstance(answer, list) and all(_is_label(item) for item in answer):
        return [number for item in answer for number in order_of(str(item))]
    return []


def _labels(answer: Any) -> list[str] | None:
    """A list of texts, also when it was written into a text as JSON or as Python does; None for anything else."""
    if isinstance(answer, str) and answer.lstrip().startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                answer = read(answer)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    if not isinstance(answer, list) or not all(_is_label(item) for item in answer):
        return None
    return [str(item) for item in answer]


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
