"""What lm-eval's command line says of where the responses go; the host does not tell its tasks."""

import argparse
from collections.abc import Sequence
from pathlib import Path


def kept_in(arguments: Sequence[str]) -> str | None:
    """The folder that will hold the sample logs; None when they are not kept, or when nothing tells.

    Args:
        arguments: of the command, as in ``sys.argv[1:]``. What stands in a file of ``--config`` is not looked up.

    >>> kept_in(["run", "--tasks", "x", "--output_path", "out", "--log_samples"])
    'out'
    >>> kept_in(["--tasks", "x", "-o", "out"]) is None
    True
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--output_path", "-o")
    parser.add_argument("--log_samples", "-s", action="store_true")
    parser.add_argument("--predict_only", "-x", action="store_true")
    try:
        given, _ = parser.parse_known_args(list(arguments))
    except (argparse.ArgumentError, SystemExit):
        return None
    if not given.output_path or not (given.log_samples or given.predict_only):
        return None
    path = Path(given.output_path)
    return str(path.parent if path.suffix == ".json" else path)
