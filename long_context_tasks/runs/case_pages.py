"""The cases of a run as pages show them: as much as the benchmark's card allows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.report.case_page import ShownCase, ShownTurn
from long_context_tasks.runs.evaluations import Evaluation, TurnScores, scores_of_case, turn_scores
from long_context_tasks.runs.stored import StoredCase
from long_context_tasks.schema import Case, InputError, LoadedTask
from long_context_tasks.schema.response import Response


def shown_cases(
    key: str, evaluation: Evaluation, task: LoadedTask | None, *, private: bool = False
) -> Iterator[ShownCase]:
    """The cases of a run, one after the other, read as they are asked for.

    The card decides: ``prompts`` stands for prompts and questions, ``gold`` for gold and for what a judge wrote (judges quote gold),
    ``responses`` for what the model and, quoting it, the judge wrote. A case of a run that answers every case several times comes as
    often, with the repeat in its labels.

    Args:
        key: of the run, as in ``RUNS``.
        evaluation: the run with what one judge said of it.
        task: behind the run (:func:`long_context_tasks.runs.tasks.load_task`); None where its data are not here: then there are no
            prompts, questions and gold.
        private: show all, whatever the card says.

    Raises:
        InputError: damaged files.
    """
    rules = catalogue.card(catalogue.parse_task(evaluation.run.task).benchmark).redistribute
    allowed = {what: private or bool(rules.get(what)) for what in ("prompts", "gold", "responses")}
    withheld = _withheld(allowed, task)
    later = _later_scores(evaluation)
    for stored in evaluation.run.cases():
        turns = list(scores_of_case(stored)) if later is None else _of_case(stored, later)
        yield _shown(key, stored, turns, task, allowed, withheld)


def _withheld(allowed: Mapping[str, bool], task: LoadedTask | None) -> str:
    missing = [what for what, may in allowed.items() if not may]
    parts = []
    if missing:
        named = {"gold": "gold answers and judges' replies"}
        parts.append(
            f"The data's owners do not allow {' and '.join(named.get(one, one) for one in missing)} to be shown."
        )
    if task is None and (allowed["prompts"] or allowed["gold"]):
        parts.append(
            "The task's data were not there when this page was made, so prompts and gold answers are missing."
        )
    return " ".join(parts)


def _later_scores(evaluation: Evaluation) -> dict[tuple[str, int, int], TurnScores] | None:
    """Scores of ``lct judge run`` by case, repeat and turn; None where they stand in the host's files."""
    if evaluation.rows is None:
        return None
    return {(one.case, one.repeat, one.turn): one for one in turn_scores(evaluation)}


def _of_case(stored: StoredCase, later: Mapping[tuple[str, int, int], TurnScores]) -> list[TurnScores]:
    return [
        later.get((stored.id, stored.repeat, turn), TurnScores(stored.id, turn, stored.repeat, {}))
        for turn in range(len(stored.responses))
    ]


def _shown(
    key: str,
    stored: StoredCase,
    turns: Sequence[TurnScores],
    task: LoadedTask | None,
    allowed: Mapping[str, bool],
    withheld: str,
) -> ShownCase:
    case = None if task is None else task.by_id.get(stored.id)
    if case is not None and len(case.turns) != len(stored.responses):
        case = None  # of other data
    if case is None and task is not None:
        withheld = f"{withheld} The case is not in the task's data: the run was made with others.".strip()
    prompt = None
    if task is not None and case is not None and allowed["prompts"]:
        prompt = _prompt(task, case, stored.responses)
    labels: dict[str, Any] = dict(stored.labels if case is None else case.labels)
    if stored.repeat:
        labels["repeat"] = stored.repeat
    return ShownCase(
        run=key,
        case=stored.id,
        prompt=prompt,
        labels={name: _text(value) for name, value in {**labels, **_of_all_turns(stored, case)}.items()},
        turns=tuple(_turn(stored, case, one, allowed) for one in turns),
        withheld=withheld,
    )


def _prompt(
    task: LoadedTask, case: Case, responses: Sequence[Response]
) -> tuple[tuple[str, str], ...] | None:
    """What was sent; of a conversation what the last turn sent, which holds the others. A task by likelihood sends no messages."""
    if task.by_likelihood:
        return None
    try:
        messages = task.messages(case, len(case.turns) - 1, [one.text for one in responses[:-1]])
    except InputError:
        return None
    return tuple((message.role, message.content) for message in messages)


def _of_all_turns(stored: StoredCase, case: Case | None) -> dict[str, Any]:
    """Labels of the turns, those of several in one text."""
    turns = [turn.labels for turn in case.turns] if case is not None else list(stored.turn_labels)
    names = dict.fromkeys(name for labels in turns for name in labels)
    return {
        name: ", ".join(dict.fromkeys(_text(labels[name]) for labels in turns if name in labels))
        for name in names
    }


def _turn(
    stored: StoredCase, case: Case | None, scores: TurnScores, allowed: Mapping[str, bool]
) -> ShownTurn:
    turn = None if case is None else case.turns[scores.turn]
    feedback = tuple(
        str(one["feedback"])
        for one in scores.verdicts
        if isinstance(one, Mapping) and one.get("feedback") is not None
    )
    return ShownTurn(
        question=turn.question if turn is not None and allowed["prompts"] else None,
        gold=_text(turn.gold) if turn is not None and allowed["gold"] else None,
        response=_response(stored, scores.turn) if allowed["responses"] else None,
        scores=dict(scores.scores),
        reason=scores.reason,
        feedback=feedback if allowed["gold"] and allowed["responses"] else (),
    )


def _response(stored: StoredCase, turn: int) -> str | None:
    """What the model said; of a task by likelihood, which candidate it found likeliest."""
    likely = stored.log_likelihoods
    if not likely:
        return stored.responses[turn].text
    best = max(range(len(likely)), key=likely.__getitem__)
    return f"Candidate {best + 1} of {len(likely)} is the likeliest: log-likelihood {likely[best]:.4g}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
