"""Messages shared by all hosts: misspelt variables, unanswered cases, missing judges, and one-line errors."""

import difflib
import logging
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.secrets import without_known, without_secrets

logger = logging.getLogger(__name__)

# Variables other than run options: for config files, the demo, the start-up hook and tests.
OTHER_VARIABLES = (
    *("LCT_API_BASE", "LCT_API_MODEL", "LCT_ATTENTION", "LCT_BATCH_SIZE", "LCT_CACHE_DIR"),
    *("LCT_COLLECT_CASES", "LCT_COLLECT_CHARACTERS", "LCT_COLLECT_RUNS", "LCT_DEMO_MODEL", "LCT_REPORT_RUNS"),
    *("LCT_EVAL_GPUS", "LCT_FAULTS", "LCT_GPUS", "LCT_MODEL", "LCT_MODEL_TYPE"),
    *("LCT_NO_HOOK", "LCT_OVERHEAD_CASES", "LCT_OVERHEAD_COMMAND"),
    *("LCT_QUERIES_PER_SECOND", "LCT_RUNS", "LCT_RUN_SEED", "LCT_SHARED"),
    *("LCT_SLURM_ARGS", "LCT_SLURM_PARTITION", "LCT_SLURM_QOS", "LCT_SLURM_SEQUENTIAL"),
    *("LCT_SYNTHETIC_CASES", "LCT_SYNTHETIC_SEED", "LCT_TASKS", "LCT_TEMPERATURE", "LCT_TOP_P"),
    *("LCT_VLLM", "LCT_WORKERS"),
)
_FAMILIES = ("LCT_API_", "LCT_JUDGE_")  # users' own keys, named in judge files
# At 0.8, LCT_LENGHT matches LCT_LENGTH and LCT_TASK matches LCT_TASKS, but other programs' names match
# nothing.
_SIMILARITY = 0.8
_LONG_ANSWER = 2048  # tokens


def known_variables() -> tuple[str, ...]:
    options = (f"LCT_{name.upper()}" for name in sorted(catalogue.option_names()))
    return (*options, *OTHER_VARIABLES)


def misspelt_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Map each unknown variable to the known one that it resembles.

    >>> misspelt_variables({"LCT_LENGHT": "2k", "LCT_N": "5", "LCT_OF_ANOTHER_PROGRAM": "1"})
    {'LCT_LENGHT': 'LCT_LENGTH'}
    """
    unknown = [
        name
        for name in sorted(environ)
        if name.startswith("LCT_") and name not in OTHER_VARIABLES and not name.startswith(_FAMILIES)
    ]
    if not unknown:  # so that most runs load no benchmark
        return {}
    known = known_variables()
    near = {
        name: difflib.get_close_matches(name, known, n=1, cutoff=_SIMILARITY)
        for name in unknown
        if name not in known
    }
    return {name: similar[0] for name, similar in near.items() if similar}


def warn_of_misspelt_variables(environ: Mapping[str, str] | None = None) -> None:
    """Warn about every misspelt variable once per process; values are not logged."""
    for name, meant in misspelt_variables(os.environ if environ is None else environ).items():
        _warn(name, meant)


@cache
def _warn(name: str, meant: str) -> None:
    logger.warning("the environment variable %s is not read; did you mean %s?", name, meant)


def check_length(tasks: Sequence[str], length: Any, option: str) -> None:
    """Check that a length given to a whole run is that of a task in it; name the tasks that ignore it.

    Raises:
        InputError: it is no length, or every task has another, fixed length.
    """
    try:
        wanted = catalogue.resolve_options({"lct_length": length}).length if length and tasks else None
    except InputError as error:
        raise InputError(str(error).replace("lct_length", option, 1)) from None
    specs = {spec.name: spec for spec in catalogue.task_specs()}
    # A name that is not ours may be a group of the user's.
    reasons = [name in specs and catalogue.fixed_length(specs[name], wanted, option) for name in tasks]
    if reasons and all(reasons):
        raise InputError(str(reasons[0]))
    if ignoring := [name for name, reason in zip(tasks, reasons, strict=True) if reason]:
        shown = ", ".join(ignoring[:3]) + (", ..." if len(ignoring) > 3 else "")
        logger.warning("tasks of a fixed length ignore %s: %s", option, shown)


def warn_of_long_answers(task: str, budget: int) -> None:
    """Say once per process that answers of up to ``budget`` tokens are very long, because such a run on a CPU looks hung."""
    if budget >= _LONG_ANSWER:
        _warn_of_long_answers(catalogue.parse_task(task).benchmark, budget)


@cache
def _warn_of_long_answers(benchmark: str, tokens: int) -> None:
    logger.warning(
        "%s: a model may write up to %s tokens for each answer; without a GPU that can take many minutes a case. "
        "lct_answer_budget (LCT_ANSWER_BUDGET) changes it; the results then count as a different setting.",
        benchmark,
        f"{tokens:,}",
    )


def checked_model(name: str, model: str) -> str:
    """Return a model as given; a folder must exist and hold one, because hosts take any other for a name on a hub and fail late.

    Args:
        name: what the model was given with, such as ``--model``.
        model: a path or a hub id.
    """
    path = Path(model).expanduser()
    if model.startswith((".", "/", "~")) and not path.exists():
        raise InputError(
            f"{name} {model}: no such folder; correct the path, or give a hub id such as Qwen/Qwen3-8B"
        )
    # A model may be in a subfolder, and that a link, which rglob() does not follow.
    found = (each for depth in ("*", "*/*", "*/*/*") for each in path.glob(depth))
    if model and path.is_dir() and not any(each.suffix in (".json", ".gguf") for each in found):
        raise InputError(f"{name} {model}: the folder holds no model (no config.json); correct the path")
    return model


def end_in_one_line() -> None:
    """Make an uncaught :class:`InputError`, or Ctrl-C, end this process without a traceback; users need only its text."""
    # A debugger or notebook may have installed its own hook.
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show_error


def _show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, InputError):
        sys.stderr.write(without_known(f"InputError: {error}\n"))
    elif isinstance(error, KeyboardInterrupt):
        sys.stderr.write(
            "interrupted; lm-eval with --use_cache, or OpenCompass with -r, goes on where it stopped\n"
        )
    else:
        # An error of a connection quotes the address.
        sys.stderr.write(without_known("".join(traceback.format_exception(kind, error, trace))))


def as_variables(text: str) -> str:
    """Spell options as environment variables, for OpenCompass; paths and other names are unchanged.

    >>> as_variables("set lct_window and lct_tokenizer (LCT_TOKENIZER); see /tmp/lct_cases")
    'set LCT_WINDOW and LCT_TOKENIZER; see /tmp/lct_cases'
    """
    options = "|".join(sorted(catalogue.option_names()))
    return re.sub(
        rf"(?<![\w/\\.-])lct_({options})\b(?![/\\-]|\.\w)(?: \(LCT_\w+\))?",
        lambda match: f"LCT_{match[1].upper()}",
        text,
    )


def hide_secrets_in_logs(log: logging.Logger) -> None:
    """Hide known secrets, and arguments named like one, in all lines that a host and this package log from now on."""
    for handler in (*log.handlers, logging.lastResort):
        if handler is not None and not isinstance(handler.formatter, _Hiding):
            handler.setFormatter(_Hiding(handler.formatter or logging.Formatter()))


class _Hiding(logging.Formatter):
    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return without_known(str(without_secrets(self._inner.format(record))))


MORE_ROOM = (
    "to keep them, take a shorter length, a smaller lct_answer_budget or a model with a larger window; "
    "lct_window (LCT_WINDOW) corrects a wrong one"
)


def left_out(task: LoadedTask, ids: Sequence[str], n: int, why: str, window: str) -> str:
    """Describe the cases that got no answer; ``why`` is a verb phrase such as "do not fit the window"."""
    part = " from the first turn that does not fit" if task.is_conversation else ""
    shown = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
    return (
        f"{task.name}: {len(ids)} of {n} cases {why} ({window}) and are left out{part}: {shown}; {MORE_ROOM}"
    )


NO_PARTS = "lct_split_messages is for chat models at an endpoint; leave it out"
NO_JUDGE = "no judge was named (lct_judge, LCT_JUDGE or LCT_JUDGE_MODEL)"


def not_judged_hint(name: str, results: str, why: str = NO_JUDGE) -> str:
    """Explain how to judge a task's responses later; ``results`` is quoted for a shell."""
    return f"{name}: not judged: {why}; the responses can be judged later: lct judge run {results} --judge judge.yaml"
