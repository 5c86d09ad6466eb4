"""What a run of OpenCompass shows in the terminal: how far its tasks are, and errors of ours in one line.

The host sends everything that a task prints to a log file. Progress is written there in lines of a form of its own; the runner of our
config files repeats these lines in the terminal. With ``--datasets`` the host chooses its own runner, and a task writes to the terminal
that it was started from, where it has one.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tqdm import tqdm

from long_context_tasks.hosts.messages import end_in_one_line
from long_context_tasks.schema.secrets import without_secrets

FOLLOWED = "_LCT_FOLLOWED"
"""Set for the tasks of a runner that repeats their progress."""
MARK = "progress: "
ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
"""A line of a log that names an error."""
_LOGGED = re.compile(r" - OpenCompass - ERROR - .{1,300} - \d+ - (.+)$", re.MULTILINE)
_SEE_LOG = "Check the logs for details."
_SECONDS = 10.0
"""Between two lines on one task."""
_LOOKS = 2.0
"""Seconds between two looks at a log."""


class Progress:
    """Counts the cases of a task, and says at times how many are done and how long the others take."""

    def __init__(self, task: str, total: int, done: int, *, shown: bool = True) -> None:
        """Begin."""
        self._task, self._total, self._done, self._before = task, total, done, done
        self._shown = shown
        self._start = self._said = time.monotonic()

    def step(self) -> None:
        """Count a case."""
        self._done += 1
        now = time.monotonic()
        if self._shown and (self._done == self._total or now - self._said >= _SECONDS):
            self._said = now
            took = (now - self._start) / (self._done - self._before)
            left = f", about {_duration(took * (self._total - self._done))} left"
            say(
                f"{self._task}: {self._done} of {self._total} cases{left if self._done < self._total else ''}"
            )


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(42), _duration(240), _duration(9000)
    ('42 s', '4 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def say(text: str) -> None:
    """Write a line of progress, to standard error and, where that is a log that nothing repeats, to the terminal."""
    sys.stderr.write(f"{MARK}{text}\n")
    sys.stderr.flush()
    if not sys.stderr.isatty() and FOLLOWED not in os.environ:
        # No terminal, as under nohup: the log has the line.
        with suppress(OSError):
            # In the place of the bar that the host draws there.
            Path("/dev/tty").write_text(f"\r\x1b[K{text}\n", encoding="utf-8")


@contextmanager
def followed(log: Path) -> Iterator[None]:
    """Repeat lines of progress of a log, from its beginning, in this block."""
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(log, ended), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _follow(log: Path, ended: threading.Event) -> None:
    at = 0
    while True:
        last = ended.wait(_LOOKS)
        if log.is_file():
            with log.open("rb") as file:
                file.seek(at)
                whole, newline, _ = file.read().rpartition(b"\n")
            at += len(whole) + len(newline)
            for line in whole.decode("utf-8", "replace").splitlines():
                if line.startswith(MARK):
                    tqdm.write(line.removeprefix(MARK))
        if last:
            return


def last_error(log: str) -> str:
    """Return the last line of a log that names an error, without the module of its class; empty when there is none.

    Where it says no more than that the log does, it ends in the last two things that the host logged as errors.
    """
    found: list[str] = ERROR.findall(log)
    error = re.sub(r"^(?:\w+\.)+(?=\w)", "", found[-1]) if found else ""
    if error.endswith(_SEE_LOG) and (logged := _LOGGED.findall(log)):
        last = "; ".join(message.strip()[:200] for message in dict.fromkeys(logged[-2:]))
        error = error.replace(_SEE_LOG, without_secrets(last))
    return error


def show_input_errors_in_one_line() -> None:
    """Let an :class:`InputError` end a process of the host without its traceback; ``--debug`` keeps that. Other programs are left alone."""
    if "opencompass" in sys.argv[0] and "--debug" not in sys.argv:
        end_in_one_line()
