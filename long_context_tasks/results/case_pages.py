"""Cases of a run as pages and exports show them: as much as the benchmark's card allows."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import (
    CASES_SHA256,
    Places,
    StoredCase,
    StoredRun,
    load_task,
    options_of,
)
from long_context_tasks.results.checks import reason
from long_context_tasks.results.evaluations import Evaluation, TurnScores, scored_cases
from long_context_tasks.results.reuse import file_state, files_in
from long_context_tasks.schema import Case, InputError, LoadedTask
from long_context_tasks.schema.case_folder import NotInCache
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.response import Response

MOST_FOR_PAGES = 1_000_000
"""Tokens of synthetic cases that are generated for each task of a site, about five seconds of work: pages have scores without them."""


@dataclass(slots=True)  # see TurnScores
class ShownTurn:
    """One question of a case. Texts come from the model and the data as they are: a page must escape them."""

    # Question, if the benchmark keeps it separate from the prompt; None if it may not be shown.
    question: str | None
    gold: str | None  # gold answer as text; None if it may not be shown
    response: str | None  # response of the model; None if it is missing or may not be shown
    scores: Mapping[str, float | None] = field(default_factory=dict)  # value of each metric
    reason: str | None = None  # why the headline is missing or lowest
    feedback: tuple[str, ...] = ()  # text of each of the judge's verdicts; empty if they may not be shown


@dataclass(slots=True)
class ShownCase:
    run: str  # key of the run in RUNS
    case: str  # id of the case
    # Role and content of each message; None if it may not be shown.
    prompt: tuple[tuple[str, str], ...] | None
    labels: Mapping[str, str]  # labels of the case, for search and breakdowns
    turns: tuple[ShownTurn, ...]  # one or more
    withheld: str = ""  # why something is not shown, in a sentence or two; empty if everything is
    tokens: tuple[int, int] | None = None  # see StoredCase


class ShownTasks:
    """Loads the tasks of runs whose cases are shown, one at a time, because texts may be large; runs should come task by task."""

    def __init__(self, data_dir: Path | None, warn: Callable[[str], None]) -> None:
        self._places, self._warn, self._key = Places(data_dir), warn, ""
        self._state: list[Any] = []
        self.tried = False  # whether loading the task of the last run was tried
        self._task: LoadedTask | None = None

    def state(self, run: StoredRun) -> list[Any]:
        """Return :func:`data_state` of a run's task, and forget the tasks of other runs."""
        if self._key != run.task_key:
            self._key, self._state = run.task_key, data_state(run, self._places)
            self.tried, self._task = False, None
        return self._state

    def load(self, run: StoredRun) -> LoadedTask | None:
        """Return a run's task; None if its data are missing, with a warning if the reason is another one."""
        self.state(run)
        if not self.tried:
            self.tried = True
            try:
                self._task = load_task(run, self._places, MOST_FOR_PAGES)
            except (
                Exception
            ) as error:  # a plug-in may fail; each page of the run says that the data are missing
                if isinstance(error, NotInCache) or not isinstance(error, InputError):
                    self._warn(f"note: {run.task}: no prompts or gold answers on pages: {reason(error)}")
        return self._task


def data_state(run: StoredRun, places: Places) -> list[Any]:
    """Return values that change with the files from which a run's task is loaded, fit for JSON."""
    try:
        options = options_of(run, places)
        spec = catalogue.parse_task(run.task)
    except InputError:
        return []  # loading the task fails as well
    published = [file for name in (spec.benchmark, "carriers") for file in files_in(data_dir(options, name))]
    named = [value for name in options.names() if isinstance(value := getattr(options, name), Path)]
    # An untrusted run may name any folder, and built cases lie in it or one below.
    own = [
        file_state(path)
        for place in named
        for path in (place, *sorted(place.glob("*")), *sorted(place.glob("*/*")))
    ]
    return [run.task_key, run.provenance.get(CASES_SHA256), published, own]


def may_show(spec: catalogue.TaskSpec) -> dict[str, bool]:
    """Return whether prompts, gold and responses may be published: cases from a seed are our own texts, for others the card decides."""
    rules = catalogue.card(spec.benchmark).redistribute
    return {part: spec.source == "seed" or bool(rules.get(part)) for part in ("prompts", "gold", "responses")}


def shown_cases(
    key: str, evaluation: Evaluation, task: LoadedTask | None, *, private: bool = False
) -> Iterator[ShownCase]:
    """Yield the cases of a run, as much of each as may be shown; see :func:`shower`."""
    return starmap(shower(key, evaluation, task, private=private), scored_cases(evaluation))


def shower(
    key: str, evaluation: Evaluation, task: LoadedTask | None, *, private: bool = False
) -> Callable[[StoredCase, Sequence[TurnScores]], ShownCase]:
    """Return the function that makes a case of a run, with the scores of its turns, into as much of it as may be shown.

    Cases that are written from a seed are shown whole. For others the card decides: ``prompts`` covers prompts and questions, ``gold``
    gold answers and judges' texts (judges quote gold), and ``responses`` the model's and, because they quote it, judges' texts. A case
    that was answered several times is yielded once for each repeat, with the repeat in its labels.

    Args:
        key: key of the run in ``RUNS``.
        evaluation: the run with the scores of one judge.
        task: task of the run; None if its data are missing, and with them prompts, questions and gold answers.
        private: show everything, even against the card.
    """
    spec = catalogue.parse_task(evaluation.run.task)
    allowed = {part: private or may for part, may in may_show(spec).items()}
    parts = []
    if missing := [part for part, may in allowed.items() if not may]:
        named = " and ".join(
            "gold answers and judges' replies" if part == "gold" else part for part in missing
        )
        parts.append(f"The data's owners do not allow {named} to be shown.")
    if task is None and (allowed["prompts"] or allowed["gold"]):
        parts.append(
            "The task's data were missing when this page was made, so it has no prompts and gold answers."
        )
    withheld = " ".join(parts)
    if spec.benchmark in catalogue.READ_ONLY:
        withheld = "Prompts and gold answers are in the host's own files."
    return partial(_shown, key, task, allowed, withheld)


def without_responses(case: ShownCase) -> ShownCase:
    """Remove the model's responses, and the judge's texts, which quote them."""
    return replace(case, turns=tuple(replace(turn, response=None, feedback=()) for turn in case.turns))


def _shown(
    key: str,
    task: LoadedTask | None,
    allowed: Mapping[str, bool],
    withheld: str,
    stored: StoredCase,
    turns: Sequence[TurnScores],
) -> ShownCase:
    case = None if task is None else task.by_id.get(stored.id)
    if case is not None and len(case.turns) != len(stored.responses):
        case = None  # a case of other data with the same id
    if case is None and task is not None:
        withheld = f"{withheld} The case is not in the task's data: the run used other data.".strip()
    prompt = None
    if task is not None and case is not None and allowed["prompts"]:
        prompt = _prompt(task, case, stored.responses)
    labels: dict[str, Any] = dict(stored.labels if case is None else case.labels)
    if stored.repeat:
        labels["repeat"] = stored.repeat
    of_turns: dict[str, dict[str, None]] = {}
    # Lists among the labels are the places of the items of an answer, for heat maps; people do not read them.
    for turn_labels in stored.turn_labels if case is None else [turn.labels for turn in case.turns]:
        for name, value in turn_labels.items():
            if not isinstance(value, list | tuple):
                of_turns.setdefault(name, {})[_text(value)] = None
    labels |= {name: ", ".join(texts) for name, texts in of_turns.items()}
    return ShownCase(
        run=key,
        case=stored.id,
        prompt=prompt,
        labels={name: text for name, value in labels.items() if (text := _label_text(value))},
        turns=tuple(_turn(stored, case, turn, allowed) for turn in turns),
        withheld=withheld,
        tokens=stored.tokens,
    )


def _prompt(
    task: LoadedTask, case: Case, responses: Sequence[Response]
) -> tuple[tuple[str, str], ...] | None:
    """Return the messages of the last turn, which contain the earlier turns; None for tasks by likelihood, which send no messages."""
    if task.by_likelihood:
        return None
    try:
        messages = task.messages(case, len(case.turns) - 1, [response.text for response in responses[:-1]])
    except InputError:
        return None
    return tuple((message.role, message.content) for message in messages)


def _turn(
    stored: StoredCase, case: Case | None, scores: TurnScores, allowed: Mapping[str, bool]
) -> ShownTurn:
    turn = None if case is None else case.turns[scores.turn]
    response, likely = stored.responses[scores.turn].text, stored.log_likelihoods
    if likely:
        best = max(range(len(likely)), key=likely.__getitem__)
        response = (
            f"Candidate {best + 1} of {len(likely)} is the likeliest: log-likelihood {likely[best]:.4g}"
        )
    texts = [verdict.get("feedback") for verdict in scores.verdicts if isinstance(verdict, Mapping)]
    feedback = tuple(str(text) for text in texts if text is not None)
    return ShownTurn(
        question=turn.question if turn is not None and allowed["prompts"] else None,
        gold=_text(turn.gold) if turn is not None and allowed["gold"] else None,
        response=response if allowed["responses"] else None,
        scores=dict(scores.scores),
        reason=scores.reason,
        # Judges quote the gold answer and the response, so both must be allowed.
        feedback=feedback if allowed["gold"] and allowed["responses"] else (),
    )


def _label_text(value: Any) -> str:
    """Format a label's value for display: list items joined by commas, floats with three digits; empty for an empty list."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return f"{value:.3g}" if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    if type(value) is int:
        return str(value)  # many times faster
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
