"""`lct data`: fetch the published files of a benchmark and check those that are there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import DataDir, Json, complete_benchmark, examples, words
from long_context_tasks.cli.output import add_table, give, say, warn
from long_context_tasks.schema import InputError, Options, resolve_options
from long_context_tasks.schema.files import loads, write_whole
from long_context_tasks.schema.options import data_dir as data_folder

if TYPE_CHECKING:
    from long_context_tasks.schema.card import Card

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Fetch published files and check those that are there."
)

_RECORD = "fetched.json"  # in the folder of the files; addresses and checksums of what was fetched
CARRIERS = "carriers"
_WRONG = "WRONG CHECKSUM"
_MISSING = "missing"
_NAMED = 8  # missing files that `lct data status` names; it counts the others
_ATTEMPTS = 5


@dataclass(frozen=True)
class PublishedFile:
    """A file that a benchmark's authors published."""

    name: str
    task: str  # task that reads it, e.g. tsort; empty if several tasks share it.
    length: str  # e.g. 2k, or empty
    urls: tuple[str, ...]  # addresses of the file, in order of trial
    sha256: str | None  # of the unpacked file; None if no copy could be checked

    @property
    def names(self) -> tuple[str, ...]:
        """Names by which a user may choose the file."""
        return self.name, self.task, self.length, f"{self.task}_{self.length}"


def published_files(card: "Card") -> list[PublishedFile]:
    base, others = card.data.get("base_url"), card.data.get("other_urls", {})
    owners = {
        name: (task, length)
        for task, task_card in card.tasks.items()
        for length, name in task_card.files.items()
    }
    files = []
    for name in dict.fromkeys((*owners, *others)):
        task, length = owners.get(name, ("", ""))
        urls = (f"{base}/{name}" if base else None, others.get(name))
        sha256 = card.data.get("sha256", {}).get(name)
        files.append(PublishedFile(name, task, length, tuple(url for url in urls if url), sha256))
    return files


def choose_files(files: list[PublishedFile], wanted: str) -> list[PublishedFile]:
    """Return the files that ``--file`` names by name, task, length, or task and length; * stands for anything."""
    chosen: list[PublishedFile] = []
    for pattern in words(wanted):
        hits = [file for file in files if any(fnmatchcase(name, pattern) for name in file.names)]
        if not hits:
            names = ", ".join(file.name for file in files)
            raise InputError(f"--file {pattern}: no such file; there are: {names}")
        chosen += hits
    return [file for file in files if file in chosen]


def _files_of(benchmark: str, data_dir: Path | None) -> tuple[list[PublishedFile], Path]:
    """Return the published files of a benchmark, or the carriers of recast tasks, and their folder."""
    from long_context_tasks.benchmarks.catalogue import benchmark_names, card
    from long_context_tasks.recast.carriers import carrier_files

    folder = data_folder(resolve_options({"lct_data_dir": data_dir}), benchmark)
    if benchmark == CARRIERS:
        carriers = [
            PublishedFile(f"{file.kind}/{file.name}", file.kind, "", (file.url,), file.sha256)
            for file in carrier_files()
        ]
        return carriers, folder
    if benchmark not in benchmark_names():
        raise InputError(
            f"unknown benchmark {benchmark}; there are: {', '.join((*benchmark_names(), CARRIERS))}"
        )
    return published_files(card(benchmark)), folder


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        record = loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _web_page(path: Path) -> str | None:
    """Return what is wrong with a file that is a web page, with which some servers answer dead links."""
    with path.open("rb") as file:
        # A byte order mark or blank lines may come first.
        head = file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return (
        "the address gives a web page, not data" if head.startswith((b"<!doctype html", b"<html")) else None
    )


def _alternatives(benchmark: str) -> str:
    """Return a hint, to append to an error, on how to work without the published files."""
    from long_context_tasks.benchmarks.published_files import without_data

    if benchmark == CARRIERS:
        return ". Without them: name a folder with your own texts with lct_carriers (LCT_CARRIERS)"
    ways = without_data(benchmark)
    return f". Without published files: {', or '.join(ways)}" if ways else ""


@app.command(epilog=examples("lct data fetch BENCHMARK", "lct data fetch BENCHMARK --file 1k,2k"))
def fetch(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="A benchmark, or carriers for the texts of recast tasks.",
            autocompletion=complete_benchmark,
        ),
    ],
    file: Annotated[
        str,
        typer.Option(
            help="Only these, with commas: lengths (1k), tasks with lengths (tsort_2k) or file names; * stands for anything."
        ),
    ] = "*",
    data_dir: DataDir = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch files again that are already there.")] = False,
    as_json: Json = False,
) -> None:
    """Download the published files. A partial download is kept, and the next call fetches the rest."""
    import stamina.instrumentation

    stamina.instrumentation.set_on_retry_hooks([])  # they would log every attempt
    every, folder = _files_of(benchmark, data_dir)
    files = choose_files(every, file)
    failures: list[str] = []
    for item in files:
        path = folder / item.name
        if not force and (path.is_file() or (folder / f"{item.name}.gz").is_file()):
            state = _state(folder, item, _read_record(folder).get(item.name, {}))
            say(f"{item.name}: there already, {state}")
            if _WRONG in state:
                failures.append(
                    f"{path}: its content differs from the published file; --force fetches it again"
                )
            continue
        try:
            # After a failure the server is likely down, and waiting for it again would take long.
            _fetch_one(folder, item, attempts=1 if failures else _ATTEMPTS)
        except InputError as error:
            # One dead link must not keep the other files away.
            failures.append(str(error))
            warn(f"{item.name}: FAILED")
    if failures:
        more = f" ({len(failures) - 1} more files failed likewise)" if len(failures) > 1 else ""
        raise InputError(f"{failures[0]}{more}{_alternatives(benchmark)}")
    give(f"in {folder}", folder=folder, files=[item.name for item in files])


def _fetch_one(folder: Path, item: PublishedFile, attempts: int) -> None:
    """Fetch a file and record its checksum."""
    from tqdm import tqdm

    from long_context_tasks.benchmarks.downloads import fetch_file

    units: Any = {"unit": "B", "unit_scale": True, "unit_divisor": 1000}
    with tqdm(desc=item.name, delay=0.5, disable=None, leave=False, **units) as bar:

        def on_bytes(size: int, total: int | None) -> None:
            # A resumed download starts above 0, and the total is known only from the server's answer.
            bar.total = total
            bar.update(size - bar.n)

        done = fetch_file(
            item.urls,
            folder / item.name,
            sha256=item.sha256,
            check=_web_page,
            on_bytes=on_bytes,
            attempts=attempts,
        )
    # Many published files have no published checksum; the record shows later changes of those.
    note = {"url": done.url, "sha256": done.sha256, "size": done.size}
    record = {**_read_record(folder), item.name: note}
    write_whole(folder / _RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    checked = "checksum agrees"
    if not done.verified:
        checked = f"no published checksum; sha256 {done.sha256} recorded"
    say(f"{item.name}: {done.size:,} bytes, {checked}")


def plain_sha256(path: Path) -> str:
    # Checksums are those of the unpacked files, which users may have gzipped.
    import gzip
    import hashlib
    import zlib

    digest = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error}); fetch it again") from error
    return digest.hexdigest()


@app.command(epilog=examples("lct data status"))
def status(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="A benchmark, or carriers. Default: all.",
            show_default=False,
            autocompletion=complete_benchmark,
        ),
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show which published files are there and whether their checksums agree."""
    from long_context_tasks.benchmarks.catalogue import benchmark_names

    rows = []
    for name in [benchmark] if benchmark else [*benchmark_names(), CARRIERS]:
        files, folder = _files_of(name, data_dir)
        record = _read_record(folder)
        say(f"{name}: {folder if files else 'no published files to fetch'}")
        states = {item.name: _state(folder, item, record.get(item.name, {})) for item in files}
        there = [file for file, state in states.items() if state != _MISSING]
        width = max(map(len, there), default=0)
        for file in there:
            say(f"  {file:{width}}  {states[file]}")
        if missing := [file for file, state in states.items() if state == _MISSING]:
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            say(f"  missing: {', '.join(missing[:_NAMED])}{more}; `lct data fetch {name}`")
            if others := _tasks_with_other_files(name, data_dir):
                say(
                    f"  {len(others)} tasks run without them, on other files in this folder: {', '.join(others[:_NAMED])}"
                )
        rows += [
            {"benchmark": name, "folder": folder, "file": file, "state": state}
            for file, state in states.items()
        ]
    add_table("published files", rows)


def _tasks_with_other_files(benchmark: str, data_dir: Path | None) -> list[str]:
    """Return the tasks with data although a file is missing: some benchmarks also read copies of other forms."""
    from long_context_tasks.benchmarks.catalogue import card, has_data, task_specs

    if benchmark == CARRIERS or card(benchmark).data.get("base_url"):
        return []  # such tasks read the files listed and no others
    options: Options = resolve_options({"lct_data_dir": data_dir})
    return [
        spec.name
        for spec in task_specs()
        if spec.benchmark == benchmark and spec.source == "published" and has_data(spec, options)
    ]


def _state(folder: Path, item: PublishedFile, note: Mapping[str, Any]) -> str:
    for path in (folder / item.name, folder / f"{item.name}.gz"):
        if path.is_file():
            break
    else:
        return "partly fetched" if (folder / f"{item.name}.part").is_file() else _MISSING
    size = f"{path.stat().st_size:,} bytes"
    expected = item.sha256 or note.get("sha256")
    if expected is None:
        return f"{size}, checksum unknown"
    if plain_sha256(path) != expected:
        return f"{size}, {_WRONG}: fetch it again with --force"
    return f"{size}, checksum {'agrees' if item.sha256 else 'as when fetched'}"
