"""The task behind a stored run, loaded again with the run's own options, and the run's responses to it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from long_context_tasks.benchmarks import catalogue, loading
from long_context_tasks.hosts.stored import StoredCase, StoredRun
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.response import Response

T = TypeVar("T")
MOST_WRITTEN = 400_000_000
"""Tokens of synthetic cases that are written for a stored run, which anybody may have sent: some ten minutes' work."""
_CASES = 200  # of a synthetic run that does not tell their number
Responses = Mapping[str, list[Response]]
"""Case to one response per turn."""


def options_of(
    run: StoredRun, data_dir: Path | None = None, environ: Mapping[str, str] | None = None
) -> Options:
    """The options of a run, without its judge; other options in today's environment do not count.

    Args:
        run: any.
        data_dir: where the published files lie now; without it ``LCT_DATA_DIR``, else the run's own place.
        environ: the environment.

    Raises:
        InputError: an option that this version does not know.
    """
    environ = os.environ if environ is None else environ
    options = {key: value for key, value in run.options.items() if key != "lct_judge"}
    if place := data_dir or environ.get("LCT_DATA_DIR"):
        options["lct_data_dir"] = str(place)
    return catalogue.resolve_options(options, {})


def load_task(run: StoredRun, data_dir: Path | None = None) -> LoadedTask:
    """The task of a run, with the run's options; synthetic cases are written again where they are not in the cache.

    Raises:
        InputError: an unknown task or option, data that are not there any more, or a synthetic run of more tokens than a report
            may write.
    """
    spec = catalogue.parse_task(run.task)
    options = options_of(run, data_dir)
    tokens = (spec.tokens or options.length or 0) * (options.n or _CASES)
    if spec.source == "seed" and options.cases is None and tokens > MOST_WRITTEN:
        raise InputError(
            f"{run}: {tokens:,} tokens of synthetic cases would have to be written, and at most {MOST_WRITTEN:,} are for a stored run"
        )
    return loading.load_task(run.task, options)


def responses_to(run: StoredRun, task: LoadedTask) -> list[Responses]:
    """All responses of a run, one mapping for each repeat of the cases (one, unless the host repeats cases).

    Raises:
        InputError: a damaged file, or responses to cases or turns that the task does not have.
    """
    return list(in_repeats((case, list(case.responses)) for case in cases_of(run, task)))


def in_repeats(values: Iterable[tuple[StoredCase, T]]) -> list[dict[str, T]]:
    """What belongs to cases, by case, one mapping for each repeat of the cases."""
    repeats: list[dict[str, T]] = []
    for case, value in values:
        while len(repeats) <= case.repeat:
            repeats.append({})
        repeats[case.repeat][case.id] = value
    return repeats


def cases_of(run: StoredRun, task: LoadedTask) -> Iterator[StoredCase]:
    """The cases of a run, read as they are asked for; they are cases of the task, with the turns that they have there.

    Raises:
        InputError: a damaged file; at the end, responses to cases or turns that the task does not have, or none at all.
    """
    foreign: list[str] = []
    number = 0
    for case in run.cases():
        known = task.by_id.get(case.id)
        if known is None or len(known.turns) != len(case.responses):
            foreign.append(case.id)
            continue
        number += 1
        yield case
    if foreign:
        shown = ", ".join(dict.fromkeys(foreign[:5])) + (", ..." if len(foreign) > 5 else "")
        raise InputError(
            f"{run}: {len(foreign)} responses are to cases that the task does not have, or that have other turns there: {shown}. "
            "They were made with other data; give the folder of those data (--data-dir)"
        )
    if not number:
        raise InputError(f"{run}: holds no responses; run again")
