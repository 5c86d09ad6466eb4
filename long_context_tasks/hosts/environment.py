"""What surrounds a run of a host: misspelt ``LCT_`` variables, which would pass unread, and errors of ours in one line."""

import difflib
import logging
import os
import sys
from collections.abc import Mapping
from functools import cache
from types import TracebackType

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError

logger = logging.getLogger(__name__)

OTHER_VARIABLES = (
    *("LCT_API_BASE", "LCT_API_MODEL", "LCT_ATTENTION", "LCT_BATCH_SIZE", "LCT_CACHE_DIR"),
    *("LCT_COLLECT_CASES", "LCT_COLLECT_CHARACTERS", "LCT_COLLECT_RUNS", "LCT_DEMO_MODEL"),
    *("LCT_EVAL_GPUS", "LCT_FAULTS", "LCT_GPUS", "LCT_MEMORY_CASES", "LCT_MODEL", "LCT_MODEL_TYPE"),
    *("LCT_NO_HOOK", "LCT_OVERHEAD_CASES", "LCT_OVERHEAD_COMMAND", "LCT_PRESET"),
    *("LCT_QUERIES_PER_SECOND", "LCT_RUNS", "LCT_RUN_SEED", "LCT_SHARED"),
    *("LCT_SLURM_ARGS", "LCT_SLURM_PARTITION", "LCT_SLURM_QOS", "LCT_SLURM_SEQUENTIAL"),
    *("LCT_SYNTHETIC_CASES", "LCT_SYNTHETIC_SEED", "LCT_TASKS", "LCT_TEMPERATURE", "LCT_TOP_P"),
    *("LCT_VLLM", "LCT_WORKERS"),
)
"""Variables that are no options of a run: for config files, the demo, the start-up hook, tests."""
_OWN_FAMILIES = ("LCT_API_", "LCT_JUDGE_")
# 0.8 takes LCT_LENGHT for LCT_LENGTH and LCT_TASK for LCT_TASKS, and leaves another program's names alone.
_NEAR = 0.8


def known_variables() -> tuple[str, ...]:
    """Every variable that this package reads."""
    of_benchmarks = (
        name for each in catalogue.benchmark_names() for name in catalogue.benchmark(each).variables
    )
    options = (f"LCT_{name.upper()}" for name in sorted(catalogue.option_names()))
    return (*options, *of_benchmarks, *OTHER_VARIABLES)


def misspelt_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return unread variables that are near a known name, with that name.

    >>> misspelt_variables({"LCT_LENGHT": "2k", "LCT_N": "5", "LCT_OF_ANOTHER_PROGRAM": "1"})
    {'LCT_LENGHT': 'LCT_LENGTH'}
    """
    known = known_variables()
    found = {}
    for name in sorted(environ):
        if name.startswith("LCT_") and name not in known and not name.startswith(_OWN_FAMILIES):
            near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
            if near:
                found[name] = near[0]
    return found


def warn_of_misspelt_variables(environ: Mapping[str, str] | None = None) -> None:
    """Warn of every misspelt variable, once in a process; values are not logged."""
    for name, meant in misspelt_variables(os.environ if environ is None else environ).items():
        _warn(name, meant)


@cache
def _warn(name: str, meant: str) -> None:
    logger.warning("the environment variable %s is not read; did you mean %s?", name, meant)


def end_in_one_line() -> None:
    """Let an :class:`InputError` that nothing catches end this process without its traceback; it says all that the user needs."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show_error


def _show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, InputError):
        sys.stderr.write(f"{kind.__name__}: {error}\n")
    else:
        sys.__excepthook__(kind, error, trace)
