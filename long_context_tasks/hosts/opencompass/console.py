"""Show what OpenCompass' processes do, and their errors as single lines."""

import logging
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from long_context_tasks.hosts import server
from long_context_tasks.hosts.messages import as_variables, end_in_one_line, hide_secrets_in_logs
from long_context_tasks.schema.files import visible
from long_context_tasks.schema.secrets import excerpt

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
_TOLD = b"long_context_tasks: "  # begins what a process logs for the terminal, maybe right behind a bar
_BEFORE_TOLD = re.compile(rb"(?:^|\d(?:it)? \[[^\[\]]*\])(?:\x1b\[\w+)*$")
_LONGEST_TOLD = 500  # characters


def last_error(log: str) -> str:
    """Return the last log line that names an error, without the module of its class; empty if none does.

    If that line only refers to the log, the reference is replaced by the last two errors that OpenCompass
    logged.
    """
    errors: list[str] = _ERROR.findall(log)
    error = re.sub(r"^(?:\w+\.)+(?=\w)", "", errors[-1]) if errors else ""
    if error.endswith(_SEE_LOG) and (logged := _LOGGED.findall(log)):
        error = error.replace(_SEE_LOG, "; ".join(excerpt(message) for message in dict.fromkeys(logged[-2:])))
    return error


def show_input_errors_in_one_line() -> None:
    """Make an :class:`InputError` end an OpenCompass process without a traceback, except with ``--debug``."""
    if "opencompass" in sys.argv[0] and "--debug" not in sys.argv:
        end_in_one_line()


def show_server_messages() -> None:
    """Make an OpenCompass process log what it finds about a server in a form that the terminal shows."""
    log = logging.getLogger(server.__name__)
    if "opencompass" in sys.argv[0] and not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_ForTerminal())
        log.addHandler(handler)
        hide_secrets_in_logs(log)


class _ForTerminal(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _TOLD.decode() + as_variables(super().format(record))


class _Told:
    """Reads the lines for the terminal in logs, each text once."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}  # number of bytes
        self._texts: set[bytes] = set()

    def new_lines(self, logs: Iterable[Path]) -> Iterator[str]:
        for log in logs:
            with log.open("rb") as file:
                if self._read.get(log, 0) > log.stat().st_size:  # it was written anew
                    self._read[log] = 0
                file.seek(self._read.get(log, 0))
                # A bar is drawn again after each \r; what follows the last one may not be complete.
                *lines, rest = re.split(rb"[\r\n]", file.read())
                self._read[log] = file.tell() - len(rest)
                for line in lines:
                    before, _, told = line.partition(_TOLD)
                    text = told.strip()
                    if text and text not in self._texts and _BEFORE_TOLD.search(before[-_LONGEST_TOLD:]):
                        self._texts.add(text)
                        yield visible(excerpt(text.decode("utf-8", "replace"), _LONGEST_TOLD))


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
    """Show the last line of the newest log on standard error, and the lines for the terminal in all logs.

    On a terminal the last line is shown in place with the time since the start, otherwise at most every ten seconds.
    """
    started, ended, in_place = time.time(), Event(), sys.stderr.isatty()

    def show() -> None:
        shown, told, clear = "starting", _Told(), "\r\x1b[2K" if in_place else ""
        going = True
        while going:
            going = not ended.wait(1.0 if in_place else _SILENT_SECONDS)
            line = shown
            with suppress(OSError):  # a log that was deleted since it was found
                times = {log: log.stat().st_mtime for log in folder.rglob("*.out") if log.is_file()}
                recent = [log for log in times if times[log] >= started]
                for text in told.new_lines(recent):
                    sys.stderr.write(f"{clear}{text}\n")
                if recent:
                    line = last_line(max(recent, key=times.__getitem__)) or shown
            if in_place and going:
                minutes, seconds = divmod(int(time.time() - started), 60)
                room = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"{clear}{f'{minutes}:{seconds:02} {line}'[:room]}")
            elif line != shown and going:
                sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
            shown = line
        sys.stderr.write(clear)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
