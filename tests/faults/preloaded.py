"""A process that has imported what commands need, and forks one for each command: forty starts of a host take minutes of imports.

As a script: ``preloaded.py MODULE ...`` reads a command as JSON from every line of its standard input, and writes the process id of
its fork, then the exit code.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

PROGRAMS = {
    "lct": "long_context_tasks.cli:app",
    "lm_eval": "lm_eval.__main__:cli_evaluate",
    "opencompass": "opencompass.cli.main:main",
    "inspect": "inspect_ai._cli.main:main",
}

FIXED = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Variables that libraries read when they are imported."""
HOSTS = {
    "lm_eval": (
        "lm_eval.__main__",
        "lm_eval.evaluator",
        "lm_eval.tasks.manager",
        "lm_eval.models.huggingface",
        "lm_eval.models.openai_completions",
        "long_context_tasks.hosts.lm_eval.task",
        "long_context_tasks.cli",
    ),
    "opencompass": (
        "opencompass.cli.main",
        "opencompass.datasets",
        "opencompass.models",
        "opencompass.openicl",
        "opencompass.partitioners",
        "opencompass.runners",
        "opencompass.summarizers",
        "opencompass.tasks",
        "yapf.yapflib.yapf_api",
    ),
    "inspect": (
        "inspect_ai._cli.main",
        "inspect_ai.agent._acp.server",
        "inspect_ai.log",
        "inspect_ai.model._providers.openai_compatible",
        "scipy.stats",
    ),
}
"""A host's program to what it imports."""


class Fork:
    """A running command, with the methods of :class:`subprocess.Popen` that tests of kills use."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        self._answers = process.stdout
        self.pid = int(self._answers.readline())
        self._code: int | None = None

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if self._code is None and selector.select(0):
                self._code = int(self._answers.readline())
        return self._code

    def wait(self, timeout: float = 600) -> int:
        """Exit code at its end.

        Raises:
            subprocess.TimeoutExpired: it is still at work.
        """
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("fork", timeout)
            time.sleep(0.005)
        return code


class Preloaded:
    """Starts commands of :data:`PROGRAMS`, one at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self, words: Sequence[str], folder: Path, variables: Mapping[str, str], log: Path) -> Fork:
        """Start a command in a session of its own; its output goes to the end of a file."""
        all_variables = {**os.environ, **FIXED, **variables}
        task = {"words": words, "folder": str(folder), "variables": all_variables, "log": str(log)}
        assert self._process.stdin is not None
        print(json.dumps(task), file=self._process.stdin, flush=True)
        return Fork(self._process)


@contextmanager
def preloaded(*modules: str) -> Iterator[Preloaded]:
    """Commands that find these modules imported."""
    with _begun(modules) as process:
        yield Preloaded(process)
        assert process.stdin is not None
        process.stdin.close()


@functools.cache
def preloaded_host(name: str) -> Preloaded:
    """Commands of a host of :data:`HOSTS`; the process ends with this one."""
    return Preloaded(_begun(HOSTS[name]))


def host_ended(words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """Run a host's command to its end; returns its exit code and what it printed."""
    log = folder / f"{words[0]}.log"
    log.unlink(missing_ok=True)
    code = preloaded_host(words[0]).start(words, folder, variables, log).wait()
    return code, log.read_text(encoding="utf-8", errors="replace")


def describe_machine_once() -> None:
    """Keep torch's description of the machine, which lm-eval asks for in every run: half a second of other commands."""
    from torch.utils import collect_env

    if not hasattr(collect_env.get_pretty_env_info, "cache_info"):
        collect_env.get_pretty_env_info = functools.cache(collect_env.get_pretty_env_info)
    collect_env.get_pretty_env_info()


def _begun(modules: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, __file__, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **FIXED},
    )


def _begin(task: dict[str, Any]) -> Any:
    """Become the command; return what its script calls."""
    os.setsid()
    os.chdir(task["folder"])
    os.environ.clear()
    os.environ.update(task["variables"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    log = os.open(task["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(file, number)
    name = task["words"][0]
    sys.argv = [str(Path(sys.executable).with_name(name)), *task["words"][1:]]
    module, _, function = PROGRAMS[name].partition(":")
    return getattr(importlib.import_module(module), function)


def _run(program: Any) -> None:
    """Run a command and end as it asks, after what it has registered for its end, but without freeing what was imported."""
    try:
        sys.exit(program())
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code or 0)


def main() -> None:
    # inspect_ai lists the files of all installed packages anew for every task, which takes a second: here once.
    metadata.packages_distributions = functools.cache(metadata.packages_distributions)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    if manager := sys.modules.get("lm_eval.tasks.manager"):
        # The host's 14,700 own tasks take ten seconds to read: this folder, which has none, stands for theirs.
        manager.__file__ = __file__
        describe_machine_once()
    if formatter := sys.modules.get("yapf.yapflib.yapf_api"):
        # OpenCompass lays out the configs that it dumps: half the time of a run with many tasks, and nobody reads them.
        formatter.FormatCode = lambda text, **_: (text, True)
    # Without this a fork that ends walks, and so copies, all that was imported: two seconds.
    gc.collect()
    gc.freeze()
    while line := sys.stdin.readline():
        if (child := os.fork()) == 0:
            _run(_begin(json.loads(line)))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
