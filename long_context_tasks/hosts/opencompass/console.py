"""Lines that a task of OpenCompass writes for the terminal: its progress, and our errors in one line.

OpenCompass sends everything that a task prints to a log file. Progress is written there in lines that begin with :data:`MARK`; the runner
of our config files (:mod:`.runner`) repeats these lines in the terminal. With ``--datasets`` OpenCompass chooses its own runner, and a task
writes to the terminal that it was started from, if there is one.
"""

import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

from long_context_tasks.hosts.messages import end_in_one_line
from long_context_tasks.schema.secrets import without_secrets

FOLLOWED = "_LCT_FOLLOWED"
"""Set for the tasks of a runner that repeats their progress."""
MARK = "progress: "
ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
"""A line of a log that names an error."""
_LOGGED = re.compile(r" - OpenCompass - ERROR - .{1,300} - \d+ - (.+)$", re.MULTILINE)
_SEE_LOG = "Check the logs for details."
_SECONDS = 10.0  # between two lines of one task


class CaseProgress:
    """Counts the finished cases of a task, and reports their number and the remaining time every few seconds."""

    def __init__(self, task: str, total: int, done: int, *, shown: bool = True) -> None:
        self._task, self._total, self._done, self._before = task, total, done, done
        self._shown = shown
        self._start = self._reported = time.monotonic()

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._shown and (self._done == self._total or now - self._reported >= _SECONDS):
            self._reported = now
            per_case = (now - self._start) / (self._done - self._before)
            left = f", about {_duration(per_case * (self._total - self._done))} left"
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
    """Write a line of progress to standard error and, if that is a log that no runner repeats, to the terminal."""
    sys.stderr.write(f"{MARK}{text}\n")
    sys.stderr.flush()
    if not sys.stderr.isatty() and FOLLOWED not in os.environ:
        # Without a terminal, as under nohup, the line in the log is enough.
        with suppress(OSError):
            # Overwrites the bar that OpenCompass draws there.
            Path("/dev/tty").write_text(f"\r\x1b[K{text}\n", encoding="utf-8")


def last_error(log: str) -> str:
    """Return the last line of a log that names an error, without the module of its class; empty without one.

    If that line only refers to the log, the last two errors that OpenCompass logged take the place of the reference.
    """
    found: list[str] = ERROR.findall(log)
    error = re.sub(r"^(?:\w+\.)+(?=\w)", "", found[-1]) if found else ""
    if error.endswith(_SEE_LOG) and (logged := _LOGGED.findall(log)):
        last = "; ".join(message.strip()[:200] for message in dict.fromkeys(logged[-2:]))
        error = error.replace(_SEE_LOG, without_secrets(last))
    return error


def show_input_errors_in_one_line() -> None:
    """Let an :class:`InputError` end a process of OpenCompass without a traceback, except with ``--debug``."""
    if "opencompass" in sys.argv[0] and "--debug" not in sys.argv:
        end_in_one_line()
