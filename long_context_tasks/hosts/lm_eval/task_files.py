"""The folder with lm-eval's YAML files: made from the cards of all benchmarks at first use, and kept in the cache.

The folder's name is a hash of what the files are made from, so that another card, another version of this package, or another
installed benchmark gets a folder of its own. Where the cache cannot be written, the files lie in a temporary folder as long as the
process runs.
"""

import atexit
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from long_context_tasks.schema.files import InputError, make_folder, write_whole
from long_context_tasks.schema.options import cache_dir

logger = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parents[2]
_BENCHMARKS = (
    "long_context_tasks.benchmarks"  # ENTRY_POINTS of benchmarks.plugin, which imports too much for here
)
_CODE = ("hosts/lm_eval/generate.py", "benchmarks/catalogue.py", "schema/card.py")
_COMPLETE = "complete"
"""In a folder: how many files it has. Written last."""


def task_folder() -> Path:
    """Return the folder with the files of all tasks and groups; make them where they are missing.

    Nothing of the benchmarks is imported unless they have to be made.
    """
    key = hashlib.sha256(b"\0".join(_made_from())).hexdigest()[:16]
    folder = cache_dir() / "lm_eval_tasks" / key
    return folder if _is_complete(folder) else _made(folder)


def _made_from() -> Iterator[bytes]:
    """What the files depend on: code, our cards, and the cards of benchmarks that other packages name in entry points."""
    yield from (_PACKAGE.joinpath(name).read_bytes() for name in _CODE)
    yield from (path.read_bytes() for path in sorted(_PACKAGE.glob("benchmarks/*/card.yaml")))
    for point in sorted(importlib.metadata.entry_points(group=_BENCHMARKS)):
        yield f"{point.name} {point.value} {point.dist and point.dist.version}".encode()
        try:
            spec = importlib.util.find_spec(point.module)
        except ImportError:  # reported where the benchmark is used
            continue
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found = (Path(place) / name for name in ("card.yaml", "__init__.py"))
            yield from (path.read_bytes() for path in found if path.is_file())


def _is_complete(folder: Path) -> bool:
    """Whether all files are there: whoever cleans a cache may have left some."""
    try:
        expected = (folder / _COMPLETE).read_text(encoding="utf-8")
    except OSError:
        return False
    return expected == str(len(list(folder.glob("*.yaml"))))


def _made(folder: Path) -> Path:
    from long_context_tasks.benchmarks.catalogue import broken_benchmarks
    from long_context_tasks.hosts.lm_eval.generate import task_files

    files = task_files()
    if broken_benchmarks():  # they may be whole the next time, with the same cards
        return _temporary(folder.name, tuple(files.items()))
    try:
        _write(files, folder)
    except InputError as error:
        logger.info("%s: lm-eval's task files lie in a temporary folder instead", error)
        return _temporary(folder.name, tuple(files.items()))
    return folder


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Write each file whole; several processes that do so at once write the same.

    Raises:
        InputError: the folder cannot be written.
    """
    remedy = "point LCT_CACHE_DIR at another folder"
    make_folder(folder, remedy=remedy)
    for name, text in files.items():
        write_whole(folder / name, text, remedy=remedy)
    write_whole(folder / _COMPLETE, str(len(files)), remedy=remedy)


@cache
def _temporary(key: str, files: tuple[tuple[str, str], ...]) -> Path:
    """Return a folder that this process removes when it ends.

    Raises:
        InputError: there is no room for temporary files either.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"lm_eval_tasks_{key}_"))
    except OSError as error:
        raise InputError(
            f"neither {cache_dir()} nor {tempfile.gettempdir()} can be written ({error.strerror or error}), so that lm-eval "
            "gets no task files; point LCT_CACHE_DIR at another folder"
        ) from error
    atexit.register(_remove, folder, os.getpid())
    _write(dict(files), folder)
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked process must not
        shutil.rmtree(folder, ignore_errors=True)
