"""Show errors in OpenCompass tasks as single lines."""

import re
import sys

from long_context_tasks.hosts.messages import end_in_one_line
from long_context_tasks.schema.secrets import without_secrets

# A log line that names an error.
_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
_LOGGED = re.compile(r" - OpenCompass - ERROR - .{1,300} - \d+ - (.+)$", re.MULTILINE)
_SEE_LOG = "Check the logs for details."


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
