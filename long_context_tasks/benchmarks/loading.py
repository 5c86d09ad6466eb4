"""Load a task by name, for hosts, ``lct`` and reports."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Options, Score
from long_context_tasks.schema.case_folder import check_texts


def load_task(name: str, options: Options | Mapping[str, Any] | None = None) -> LoadedTask:
    """Load a task: its cases, prompts and scoring.

    Args:
        name: a name of ``lct tasks``; the name of the loaded task includes the variant of ``lct_variant``.
        options: resolved options, or a host's keys (``lct_length`` ...), which take precedence over the environment.
    """
    if not isinstance(options, Options):
        options = catalogue.resolve_options(options)
    name, options = catalogue.with_variant(name, options)
    spec = catalogue.parse_task(name)
    benchmark = catalogue.benchmark(spec.benchmark)
    task = benchmark.load_task(name, benchmark.options.of(options))
    function = f"{type(benchmark).__module__}.{type(benchmark).__qualname__}.load_task"
    _check(task, spec, function)
    texts = task.cases.documents.path
    # A user may have edited or cut a built folder; cached folders are ours.
    if options.cases is not None and texts.is_relative_to(options.cases):
        check_texts(texts)
    return replace(task, score=_checked(task.score, task, function))


def _check(task: Any, spec: catalogue.TaskSpec, function: str) -> None:
    place = f"{spec.name} ({function})"
    if not isinstance(task, LoadedTask):
        raise InputError(f"{place}: returned a {type(task).__name__}, expected a LoadedTask")
    known = catalogue.card(spec.benchmark).metrics
    if unknown := [metric for metric in task.metrics if metric not in known]:
        raise InputError(f"{place}: metrics {unknown} are not in the card, which has {', '.join(known)}")
    # Tasks by likelihood have fewer metrics than their card promises for responses.
    missing = set(spec.card.main_metrics) - set(task.metrics)
    if spec.scoring == "generate" and missing - {spec.headline}:
        raise InputError(
            f"{place}: the card promises {', '.join(sorted(missing))}, the task has {list(task.metrics)}"
        )
    # Reports rank models by the headline, so it must be among the scores.
    if spec.headline not in task.metrics:
        raise InputError(
            f"{place}: the card's headline {spec.headline} is not one of its metrics {list(task.metrics)}"
        )
    if (spec.scoring == "likelihood") != task.by_likelihood:
        raise InputError(
            f"{place}: the card has scoring: {spec.scoring}, but the task was loaded for the other kind"
        )


def _checked(score: Callable[..., CaseScores], task: LoadedTask, function: str) -> Callable[..., CaseScores]:
    """Wrap a scoring function so that its first scores are checked; errors name the task, case and function."""
    # Once is enough: a benchmark returns the same metrics for every case.
    seen = False

    @wraps(score)
    def checked(case: Case, response: str | None, status: str | None) -> CaseScores:
        nonlocal seen
        scores = score(case, response, status)
        if seen:
            return scores
        module, name = getattr(score, "__module__", function), getattr(score, "__name__", "score")
        place = f"{task.name}, case {case.id} ({module}.{name})"
        if missing := ", ".join(metric for metric in task.metrics if metric not in scores):
            raise InputError(f"{place}: returned no {missing}; the task promises {', '.join(task.metrics)}")
        for metric in task.metrics:
            if not isinstance(scores[metric], Score):
                raise InputError(f"{place}: {metric} is a {type(scores[metric]).__name__}, expected a Score")
        seen = True
        return scores

    return checked
