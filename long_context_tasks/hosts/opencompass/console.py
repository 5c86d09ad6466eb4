"""Show what OpenCompass' processes do, and their errors as single lines."""

import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from long_context_tasks.hosts.messages import end_in_one_line
from long_context_tasks.schema.files import visible
from long_context_tasks.schema.secrets import without_secrets

# A log line that names an error.
_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
_LOGGED = re.compile(r" - OpenCompass - ERROR - .{1,300} - \d+ - (.+)$", re.MULTILINE)
_SEE_LOG = "Check the logs for details."
# Settings and steps of the host, which are neither progress nor results.
_NOTED = re.compile(r" - OpenCompass - (?:\x1b\[\d+m)*(?:DEBUG|INFO|WARNING)\b")
# Without the bars of an endpoint's class, which count the prompts of one batch.
_BAR = re.compile(r"(?!Inferencing:).*?\b(?P<done>\d+)/(?P<all>\d+) \[[^\]]*\]")
_SILENT_SECONDS = 10.0  # between two lines of progress in a file
_TAIL_BYTES = 20_000


def last_error(log: str) -> str:
    """Return the last log line that names an error, without the module of its class; empty if none does.

    If that line only refers to the log, the reference is replaced by the last two errors that OpenCompass
    logged.
    """
    errors: list[str] = _ERROR.findall(log)
    error = re.sub(r"^(?:\w+\.)+(?=\w)", "", errors[-1]) if errors else ""
    if error.endswith(_SEE_LOG) and (logged := _LOGGED.findall(log)):
        last = "; ".join(message.strip()[:200] for message in dict.fromkeys(logged[-2:]))
        error = error.replace(_SEE_LOG, without_secrets(last))
    return error


def show_input_errors_in_one_line() -> None:
    """Make an :class:`InputError` end an OpenCompass process without a traceback, except with ``--debug``."""
    if "opencompass" in sys.argv[0] and "--debug" not in sys.argv:
        end_in_one_line()


def last_line(log: Path) -> str:
    """Return the last progress bar of a log if it is not full, otherwise the last line that OpenCompass did not log."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    # OpenCompass logs its settings behind the bar at each case.
    bars = [bar for line in lines if (bar := _BAR.match(line))]
    if bars and bars[-1]["done"] != bars[-1]["all"]:
        return visible(bars[-1][0].strip())
    shown = (line.strip() for line in reversed(lines) if line.strip() and not _NOTED.search(line))
    return visible(next(shown, bars[-1][0].strip() if bars else ""))


@contextmanager
def shown_logs(folder: Path) -> Iterator[None]:
    """Show the last line of the newest log on standard error.

    On a terminal it is shown in place with the time since the start, otherwise at most every ten seconds.
    """
    started, ended, in_place = time.time(), Event(), sys.stderr.isatty()

    def show() -> None:
        shown = "starting"
        while not ended.wait(1.0 if in_place else _SILENT_SECONDS):
            line = shown
            with suppress(OSError):  # a log that was deleted since it was found
                times = {log: log.stat().st_mtime for log in folder.rglob("*.out") if log.is_file()}
                newest = max(times, key=times.__getitem__, default=None)
                if newest is not None and times[newest] >= started:
                    line = last_line(newest) or shown
            if in_place:
                minutes, seconds = divmod(int(time.time() - started), 60)
                room = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\x1b[2K{f'{minutes}:{seconds:02} {line}'[:room]}")
            elif line != shown:
                sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
            shown = line
        if in_place:
            sys.stderr.write("\r\x1b[2K")

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
