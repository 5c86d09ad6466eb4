"""Commands of the package in processes that are killed with SIGKILL at random moments, and run again."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from preloaded import Fork, Preloaded

ALL = "LCT_FAULTS" in os.environ
"""Whether `make faults` runs."""
MOMENTS = 20 if ALL else 1
"""Kills of each kind."""
LCT = (sys.executable, "-c", "from long_context_tasks.cli import app; app()")


def killed_and_finished(make: Callable[[Path], "Command"], folder: Path, after: float) -> "Command":
    """Kill a command so many seconds after its work began, earlier where it was done by then, and run it again to its end.

    Args:
        make: gives the command that works in a new folder.
        folder: that folder.
        after: seconds.
    """
    while not (command := make(folder)).kill(after):
        shutil.rmtree(folder)
        after *= 0.7
    command.finish()
    return command


def moments(name: str) -> Iterator[tuple[int, float]]:
    """Yield numbered moments, as shares of the time that the work takes; the same for a name in every run."""
    drawn = random.Random(zlib.crc32(name.encode()))
    for number in range(MOMENTS):
        yield number, 0.9 * drawn.random()


@dataclass
class Command:
    """A command line of this Python environment.

    Attributes:
        words: of the command line.
        folder: where it runs; its output goes to ``output.log`` in it.
        variables: of the environment, beside the caller's.
        begun: whether the work has begun, so that no kill is spent on the imports.
        preloaded: forks the command from a process with its imports; None: it starts from nothing.
    """

    words: tuple[str | Path, ...]
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    begun: Callable[[], bool] = lambda: True
    preloaded: Preloaded | None = None

    def start(self) -> "subprocess.Popen[bytes] | Fork":
        """Start it in a session of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **self.variables}
        if self.preloaded is not None:
            words = [str(word) for word in self.words]
            return self.preloaded.start(words, self.folder, self.variables, self.folder / "output.log")
        with (self.folder / "output.log").open("ab") as log:
            return subprocess.Popen(
                [str(word) for word in self.words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_work(self, process: "subprocess.Popen[bytes] | Fork") -> None:
        deadline = time.monotonic() + 120
        while process.poll() is None and not self.begun() and time.monotonic() < deadline:
            time.sleep(0.005)

    def finish(self) -> float:
        """Run it to its end, which has to be a good one; return the seconds of its work."""
        process = self.start()
        self._wait_for_work(process)
        begun = time.monotonic()
        code = process.wait(timeout=600)
        assert code == 0, self.output()[-4000:]
        return time.monotonic() - begun

    def kill(self, after: float) -> bool:
        """Run it and kill it and all its children so many seconds after its work began; whether it was still at work."""
        process = self.start()
        self._wait_for_work(process)
        try:
            process.wait(timeout=after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL

    def output(self) -> str:
        """What it has printed, in all runs in its folder."""
        return (self.folder / "output.log").read_text(errors="replace")
