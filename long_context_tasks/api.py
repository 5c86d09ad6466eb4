"""The package in a notebook: load a task, render prompts, score, judge, add noise, read results.

``import long_context_tasks as lct`` provides these names; each loads its libraries when called.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Score

if TYPE_CHECKING:
    import polars as pl

    from long_context_tasks.noise import Noisy, Rules
    from long_context_tasks.results.tidy import Collection
    from long_context_tasks.schema.response import Response

__all__ = [
    "Task",
    "build",
    "inject_noise",
    "leaderboard",
    "load_results",
    "load_task",
    "task_names",
    "word_error_rate",
]

ResponseText = str | Sequence[str | None] | None
"""A response's text; for a conversation, one text per turn. ``None`` marks a missing response."""


def task_names(prefix: str = "") -> list[str]:
    """Return the names of all tasks with a prefix, in the order of the benchmarks' cards."""
    from long_context_tasks.benchmarks.catalogue import task_specs

    return [spec.name for spec in task_specs() if spec.name.startswith(prefix)]


def load_task(name: str, **options: Any) -> "Task":
    """Load a task with its cases; missing synthetic cases are generated and cached.

    Args:
        name: one of :func:`task_names`.
        **options: run options, such as ``n=20``, ``length="8k"``, ``cases="cases/"``, ``judge="judge.yaml"``;
            with their prefix (``lct_n=20``) or without it. Others are read from the environment (``LCT_N`` ...).

    Raises:
        InputError: the task or an option is unknown, a value is invalid, the task has a fixed length and
            another one is given, or data or the judge file are missing; the message gives the remedy.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
    from long_context_tasks.judges.kinds import load_judge

    if not isinstance(name, str):
        raise InputError(f"{name!r}: expected the name of a task; lct.task_names() lists them")
    if name not in task_names() and name in (groups := lm_eval_groups()):
        first = catalogue.members_of(name, groups)[0]
        raise InputError(
            f"{name} is a group; load one of its tasks, such as {first}; `lct tasks {name} --names` lists them"
        )
    given = {key if key.startswith("lct_") else f"lct_{key}": value for key, value in options.items()}
    try:
        resolved = catalogue.resolve_options(given)
    except InputError as error:
        raise InputError(str(error).removeprefix("lct_").replace(" lct_", " ")) from None
    if given.get("lct_judge"):
        load_judge(resolved.judge)  # reports a mistake before the responses are collected
    spec = catalogue.parse_task(catalogue.with_variant(name, resolved)[0])
    # Hosts and the environment give a length to many tasks at once; here it is meant for this one.
    wanted = resolved.length if given.get("lct_length") else None
    if reason := catalogue.fixed_length(spec, wanted, "length"):
        raise InputError(reason)
    task = Task(catalogue.load_task(name, resolved))
    if wanted and task.loaded.options.length is None:
        raise InputError(f"{spec.name}: its texts keep their own length; leave out length")
    return task


@dataclass(frozen=True)
class Task:
    """A task with its cases. Prompts and scores equal those of all hosts, byte for byte and digit for digit.

    Attributes:
        loaded: the underlying object used by hosts, with everything this class does not expose.
    """

    loaded: LoadedTask

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {len(self.cases)} cases)"

    @property
    def name(self) -> str:
        return self.loaded.name

    @property
    def cases(self) -> Sequence[Case]:
        """The cases, in the order they run."""
        return self.loaded.cases.cases

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, headline first."""
        return self.loaded.metrics

    @property
    def options(self) -> dict[str, Any]:
        """The task's version and resolved options, as recorded in results."""
        return self.loaded.description()

    def messages(self, case: Case, turn: int = 0, answers: Sequence[str | None] = ()) -> list[dict[str, str]]:
        """Return a turn's chat messages with role and content, ready for an OpenAI-compatible client.

        Args:
            case: a case of this task.
            turn: number of the turn, from 0; above 0 only in a conversation.
            answers: the model's own responses to the earlier turns. Thinking is removed; ``None`` is skipped.

        Raises:
            InputError: ``case`` is not a case, or has no such turn.
        """
        from long_context_tasks.schema.thinking import without_thinking

        _check_case(case)
        if not 0 <= turn < len(case.turns):
            raise InputError(f"{case.id} has no turn {turn}; it has {len(case.turns)}, counted from 0")
        # Conversations exclude earlier thinking, as in all hosts.
        history = [None if answer is None else without_thinking(answer).text for answer in answers]
        return [
            {"role": message.role, "content": message.content}
            for message in self.loaded.messages(case, turn, history)
        ]

    def score(self, case: Case, response: ResponseText) -> list[CaseScores]:
        """Score the response to a case by rule. Judge metrics are ``not_judged``; see :meth:`judge`.

        Returns:
            Each turn's scores by metric; a task without a conversation has one turn.

        Raises:
            InputError: the task is scored by likelihood, ``case`` is not a case, the response is not text, or the
                number of texts differs from the number of turns.
        """
        from long_context_tasks.judges.task_judge import score_turns

        _check_case(case)
        return score_turns(self.loaded, case, self._responses(case, response))

    def judge(self, responses: Mapping[str, ResponseText]) -> dict[str, list[CaseScores]]:
        """Score responses by case id with the judge from ``load_task(..., judge=...)`` or ``LCT_JUDGE``.

        One short call comes first, so that a server that is down is an error within seconds. Stored replies are
        not requested again.

        Returns:
            Each case's scores, as returned by :meth:`score`, keyed by case id.

        Raises:
            InputError: the judge is missing or unusable, a case is unknown, or :meth:`score` raises an error.
        """
        from long_context_tasks.judges.task_judge import score_turns, with_judge

        by_case = self._by_case(responses)
        task, judge = with_judge(self.loaded)
        if judge is None:
            raise InputError(
                f"{self.name}: no judge to ask; give load_task a judge file (judge='judge.yaml'), or score by rule "
                "where the task needs no judge"
            )
        judge.check(task)
        verdicts, _ = judge.verdicts(task, by_case)
        return {
            name: score_turns(task, task.by_id[name], turns, verdicts[name], judge.rubric_name)
            for name, turns in by_case.items()
        }

    def summary(self, scores: Mapping[str, Sequence[CaseScores]]) -> dict[str, float]:
        """Return means, clustered 95 % intervals and counts, under the keys that hosts use.

        ``scores`` maps case ids to their turns' scores; other cases are not counted.

        Raises:
            InputError: there are no scores, a case is unknown, or a turn lacks the score of a metric.
        """
        from long_context_tasks.stats.means import task_numbers

        turns, clusters = [], []
        for name, scored in _by_id(scores).items():
            for turn in scored if isinstance(scored, Iterable) else [scored]:
                turns.append(turn if isinstance(turn, Mapping) else {})
                clusters.append(self._case(name).cluster)
        if not turns:
            raise InputError("no scores; give summary the results of Task.score or Task.judge by case id")
        # A trained judge replaces another judge's metrics with its own.
        own = not turns[0] or set(self.metrics) <= set(turns[0])
        metrics = self.metrics if own else tuple(turns[0])
        if not all(isinstance(turn.get(metric), Score) for turn in turns for metric in metrics):
            raise InputError("expected the scores of each turn, as Task.score and Task.judge return them")
        intervals = self.loaded.intervals if own else metrics[:1]
        return task_numbers(turns, clusters, metrics, intervals, points=self.loaded.points)

    def save(
        self, responses: Mapping[str, ResponseText], model: str, folder: str | Path, pipeline: str = ""
    ) -> Path:
        """Write responses and their scores as a run that ``lct report`` and ``lct judge run`` can read.

        Args:
            responses: responses by case id.
            model: name of the model in reports.
            folder: the directory in which the model's folder is created.
            pipeline: origin of the responses, for the provenance.

        Returns:
            The path to the results file.
        """
        from long_context_tasks.hosts.own.score import score_own

        by_case = self._by_case(responses)
        run = score_own(self.loaded, by_case, model, Path(folder), pipeline)
        return run.folder / f"{run.label}.json"

    def _case(self, name: str) -> Case:
        if name not in self.loaded.by_id:
            raise InputError(f"{self.name} has no case {name!r}; ids are those of task.cases")
        return self.loaded.by_id[name]

    def _by_case(self, responses: Mapping[str, ResponseText]) -> "dict[str, list[Response]]":
        return {name: self._responses(self._case(name), text) for name, text in _by_id(responses).items()}

    def _responses(self, case: Case, response: ResponseText) -> "list[Response]":
        from long_context_tasks.schema.response import Response

        if self.loaded.by_likelihood:
            raise InputError(f"{self.name} compares log-likelihoods; use task.loaded.score_candidates")
        given: Any = response  # a notebook passes what it has
        several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
        texts = list(given) if several else [given]
        if not all(text is None or isinstance(text, str) for text in texts):
            raise InputError(f"{case.id}: expected text or None, or a list with one of them per turn")
        if len(texts) != len(case.turns):
            raise InputError(
                f"{case.id}: {len(texts)} responses to {len(case.turns)} turns; give a list with one text per turn"
            )
        return [Response(text, None if text is not None else "endpoint_failed") for text in texts]


def _check_case(case: object) -> None:
    if not isinstance(case, Case):
        raise InputError(f"expected a case of task.cases, not a {type(case).__name__}")


def _by_id(values: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise InputError(f"expected a dictionary by case id, not a {type(values).__name__}")
    return values


def build(builder: str, *, length: str, out: str | Path = "cases", jobs: int = 1, **settings: Any) -> Path:
    """Build test cases of any length like ``lct build``; ``load_task(..., cases=out)`` reads them.

    Args:
        builder: name of a builder; ``lct build`` lists them.
        length: comma-separated lengths: ``"4k,32k"``.
        out: folder in which the builder's folder is created or replaced.
        jobs: number of processes; the output does not depend on it.
        **settings: options of ``lct build`` with underscores: ``n=50``, ``seed=7``, ``books="books/"``.

    Returns:
        The builder's folder.
    """
    from long_context_tasks.benchmarks.building import (
        Work,
        ready_build,
    )
    from long_context_tasks.engines import engine_of

    ready = ready_build(builder, length, settings)
    with engine_of(jobs) as engine:
        ready.write(Path(out) / builder, Work(engine))
    return Path(out) / builder


def inject_noise(
    text: str, wer: float, *, seed: int = 0, rules: "Rules | None" = None, mode: str = "exact"
) -> "Noisy":
    """Inject speech recognition errors into a text.

    Args:
        text: any text; line ends are kept.
        wer: target word error rate, 0 to 1.
        seed: equal seeds give equal bytes.
        rules: result of ``long_context_tasks.noise.learn``; the packaged rules by default.
        mode: ``exact`` meets the measured target; ``official`` is the ELITR-Bench paper's simulator.

    Returns:
        The noisy ``text`` and its ``measured_wer``.
    """
    from long_context_tasks.noise import default_rules, inject

    return inject(text, rules or default_rules(), wer, seed, mode)


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return the word-level edit distance over the number of reference words; it can exceed 1."""
    from long_context_tasks.noise import word_error_rate as measure

    return measure(reference, hypothesis)


def load_results(*paths: str | Path) -> "pl.DataFrame":
    """Read stored runs and bundles as a Polars frame with a row per case, turn, repeat and metric.

    The columns are those of ``results.parquet``. Each skipped run or file causes a warning. Polars comes with
    the extra ``report``.

    Args:
        *paths: folders of results or bundles, or folders that contain them.
    """
    _need_polars("load_results")
    from long_context_tasks.results.tables import joined

    return joined(_collection(paths))


def leaderboard(*paths: str | Path) -> "pl.DataFrame":
    """Read stored runs like :func:`load_results`, as a frame with a row per model, task, judge and settings.

    The columns are those of ``leaderboard.parquet``: ``value`` is the mean of the headline, ``low`` to
    ``high`` its 95 % interval, ``coverage`` the fraction of turns with a score, ``ranked`` whether the row
    may be compared with others of its task.
    """
    _need_polars("leaderboard")
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.tables import leaderboard as table

    collection = _collection(paths)
    return table(collection, cells_of(collection))


def _need_polars(function: str) -> None:
    from long_context_tasks.schema.extras import require

    require("report", f"long_context_tasks.{function}", "polars")


def _collection(paths: Sequence[str | Path]) -> "Collection":
    from long_context_tasks.results.collect import collect

    collection = collect([Path(path) for path in paths])
    for problem in collection.problems:
        warnings.warn(problem, stacklevel=3)
    return collection
