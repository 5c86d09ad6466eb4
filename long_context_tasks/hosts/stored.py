"""A run of one task as a host has left it on disk, in one form for both hosts."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_context_tasks.schema.response import Response

LM_EVAL = "lm_eval"
OPENCOMPASS = "opencompass"
OWN = "own"
"""A pipeline of the user's, whose responses ``lct runs score`` has scored."""
JUDGED_FOLDER = "judged"
"""What later judges said lies under this name beside a run; it is never searched for runs."""
RESCORED_FOLDER = "rescored"
"""Scores by later rules likewise."""


@dataclass(frozen=True)
class StoredCase:
    """A case of a run: what the model said, and what the host's run made of it. Prompts are not kept.

    Attributes:
        id: of the case.
        responses: one per turn; a single one without text in a task by likelihood.
        scores: metric to its value in each turn (rates from 0 to 1, points as they are), None where there is none; empty when
            the run was not evaluated.
        reasons: why the headline metric of each turn has no value or the lowest, None where there is no reason; empty when
            the run was not evaluated.
        verdicts: of each turn, the judge's rows (see :meth:`long_context_tasks.judges.Verdict.row`), one per seed; empty
            without a judge.
        log_likelihoods: of the candidates, in nats, for a task by likelihood; None when it did not fit, and in other tasks.
        num_candidate_tokens: tokens of the candidates where the host wrote them, else None.
        repeat: 0, or how often the case came before in a run that answers every case several times.
        cluster: what the case shares with others (book, meeting); None where the host's files do not say.
        labels: of the case, where the files have them.
        turn_labels: of its turns, where the files have them.
    """

    id: str
    responses: tuple[Response, ...]
    scores: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    reasons: tuple[str | None, ...] = ()
    verdicts: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    log_likelihoods: tuple[float, ...] | None = None
    num_candidate_tokens: tuple[int, ...] | None = None
    repeat: int = 0
    cluster: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    turn_labels: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class StoredRun:
    """A run of one task with one model.

    Attributes:
        host: ``lm_eval``, ``opencompass`` or ``own``.
        model: as the host names it.
        task: task name.
        options: the ``lct_*`` options that the host wrote down; :func:`long_context_tasks.schema.resolve_options` reads them.
        version: of the task's scores when it ran; None where unknown.
        folder: the host's folder of the run (lm-eval: of the model; OpenCompass: of the time stamp).
        label: distinguishes the runs that share a folder; good for a file name.
        made: when the run was made, as the host wrote it in its names.
        files: with the responses, in order; none when the host kept none (lm-eval without ``--log_samples``).
        result_file: with the host's numbers; None when the run was not evaluated.
        numbers: the host's numbers by key (see :func:`long_context_tasks.stats.means.result_keys`), rates from 0 to 1,
            not-a-number where there is none; empty when the run was not evaluated.
        headline: name of the metric that stands for the task; None where unknown.
        points: metrics that are points of a scale and no rates; None where unknown.
        judge: description of the judge of the run; empty without one.
        provenance: further facts from the host: its version, model arguments, window ...
    """

    host: str
    model: str
    task: str
    options: Mapping[str, Any]
    version: int | None
    folder: Path
    label: str
    made: str
    files: tuple[Path, ...]
    read: Callable[["StoredRun"], Iterator[StoredCase]] = field(repr=False)
    result_file: Path | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    headline: str | None = None
    points: tuple[str, ...] | None = None
    judge: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def cases(self) -> Iterator[StoredCase]:
        """The cases in the order of the files, read as they are asked for.

        Raises:
            InputError: there are none on disk, or a file is damaged (named, with its line where it has lines).
        """
        return self.read(self)

    @property
    def task_key(self) -> str:
        """The same for runs that share a task with its options, so that it is loaded once for all of them."""
        return repr((self.task, sorted(self.options.items())))

    def __str__(self) -> str:
        """For messages."""
        return f"{self.task} ({self.host}, {self.model}, {self.made})"


def metric_names(keys: list[str]) -> list[str]:
    """The metrics among the keys of a result; see :func:`long_context_tasks.stats.means.result_keys`.

    >>> metric_names(["score", "score_low", "score_high", "n", "n_scored", "coverage", "n_empty"])
    ['score']
    """
    known = set(keys)
    return [
        key
        for key in keys
        if key not in ("n", "coverage")
        and not key.startswith("n_")
        and not any(key.endswith(end) and key.removesuffix(end) in known for end in ("_low", "_high"))
    ]


def value_of(value: Any) -> float | None:
    """A score as a host wrote it; not-a-number, null and an empty text are no score.

    Raises:
        ValueError, TypeError: anything else that is no finite number.
    """
    if value is None or value == "" or math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("an infinite score")
    return float(value)


def verdicts_of(value: Any, turns: int) -> tuple[tuple[Mapping[str, Any], ...], ...]:
    """A judge's rows for each turn as a host wrote them; empty without a judge.

    Raises:
        ValueError, TypeError: something else, or of other turns.
    """
    verdicts = tuple(tuple(labels_of(row) for row in turn) for turn in value or ())
    if not any(verdicts):
        return ()
    if len(verdicts) != turns:
        raise ValueError(f"verdicts on {len(verdicts)} of {turns} turns")
    return verdicts


def word_of(value: Any) -> str | None:
    """A name as a host wrote it; None where it wrote none.

    Raises:
        ValueError: something else.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]} in the place of a name")
    return value


def labels_of(value: Any) -> dict[str, Any]:
    """Labels of a case or turn as a host wrote them; none where it wrote none.

    Raises:
        ValueError: something else.
    """
    if not isinstance(value or {}, dict):
        raise ValueError("no object")
    return dict(value or {})
