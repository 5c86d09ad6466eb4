"""Errors of OpenCompass' tasks in one line."""

import re
import sys

from long_context_tasks.hosts.messages import end_in_one_line
from long_context_tasks.schema.secrets import without_secrets

# A line of a log that names an error.
_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
_LOGGED = re.compile(r" - OpenCompass - ERROR - .{1,300} - \d+ - (.+)$", re.MULTILINE)
_SEE_LOG = "Check the logs for details."


def last_error(log: str) -> str:
    """Return the last line of a log that names an error, without the module of its class; empty without one.

    If that line only refers to the log, the last two errors that OpenCompass logged take the place of the reference.
    """
    errors: list[str] = _ERROR.findall(log)
    error = re.sub(r"^(?:\w+\.)+(?=\w)", "", errors[-1]) if errors else ""
    if error.endswith(_SEE_LOG) and (logged := _LOGGED.findall(log)):
        last = "; ".join(message.strip()[:200] for message in dict.fromkeys(logged[-2:]))
        error = error.replace(_SEE_LOG, without_secrets(last))
    return error


def show_input_errors_in_one_line() -> None:
    """Let an :class:`InputError` end a process of OpenCompass without a traceback, except with ``--debug``."""
    if "opencompass" in sys.argv[0] and "--debug" not in sys.argv:
        end_in_one_line()
