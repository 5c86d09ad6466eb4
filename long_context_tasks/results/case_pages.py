"""The cases of a run as pages show them: as much as the benchmark's card allows."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import StoredCase
from long_context_tasks.results.evaluations import Evaluation, TurnScores, scored_cases
from long_context_tasks.schema import Case, InputError, LoadedTask
from long_context_tasks.schema.response import Response


@dataclass(frozen=True)
class ShownTurn:
    """One question of a case. Texts are as the model or the data have them: hostile until a page has escaped them.

    Attributes:
        question: where the benchmark has one apart from the prompt; None where it may not be shown.
        gold: as text; None where it may not be shown.
        response: None where there is none, or it may not be shown.
        scores: metric to value.
        reason: why the headline has no value or the lowest.
        feedback: what the judge wrote, one text a verdict; empty where it may not be shown.
    """

    question: str | None
    gold: str | None
    response: str | None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    reason: str | None = None
    feedback: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownCase:
    """A case of a run.

    Attributes:
        run: of ``RUNS``.
        case: its id.
        prompt: role and content of each message; None where it may not be shown.
        labels: of the case, for search and breakdowns.
        turns: one or more.
        withheld: why something may not be shown, in one sentence; empty where all is.
        answers: message, start and end of the stretches of the prompt that read like an accepted answer, in characters.
    """

    run: str
    case: str
    prompt: tuple[tuple[str, str], ...] | None
    labels: Mapping[str, str]
    turns: tuple[ShownTurn, ...]
    withheld: str = ""
    answers: tuple[tuple[int, int, int], ...] = ()


def shown_cases(
    key: str, evaluation: Evaluation, task: LoadedTask | None, *, private: bool = False
) -> Iterator[ShownCase]:
    """The cases of a run, one after the other, read as they are asked for.

    Cases from a seed are shown whole. Of others the card decides: ``prompts`` stands for prompts and questions, ``gold`` for gold and for what a judge wrote (judges quote gold),
    ``responses`` for what the model and, quoting it, the judge wrote. A case of a run that answers every case several times comes as
    often, with the repeat in its labels.

    Args:
        key: of the run, as in ``RUNS``.
        evaluation: the run with what one judge said of it.
        task: behind the run (:func:`long_context_tasks.hosts.stored.load_task`); None where its data are not here: then there are no
            prompts, questions and gold.
        private: show all, whatever the card says.

    Raises:
        InputError: damaged files.
    """
    spec = catalogue.parse_task(evaluation.run.task)
    rules = catalogue.card(spec.benchmark).redistribute
    free = private or spec.source == "seed"
    allowed = {what: free or bool(rules.get(what)) for what in ("prompts", "gold", "responses")}
    parts = []
    if missing := [what for what, may in allowed.items() if not may]:
        named = " and ".join(
            "gold answers and judges' replies" if what == "gold" else what for what in missing
        )
        parts.append(f"The data's owners do not allow {named} to be shown.")
    if task is None and (allowed["prompts"] or allowed["gold"]):
        parts.append(
            "The task's data were not there when this page was made, so prompts and gold answers are missing."
        )
    withheld = " ".join(parts)
    for stored, turns in scored_cases(evaluation):
        yield _shown(key, stored, turns, task, allowed, withheld)


def without_responses(case: ShownCase) -> ShownCase:
    """A case without what the model wrote, and what the judge wrote of it."""
    return replace(case, turns=tuple(replace(turn, response=None, feedback=()) for turn in case.turns))


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
    answers: tuple[tuple[int, int, int], ...] = ()
    if task is not None and case is not None and prompt is not None and allowed["gold"]:
        answers = answer_places(case, prompt)
    labels: dict[str, Any] = dict(stored.labels if case is None else case.labels)
    if stored.repeat:
        labels["repeat"] = stored.repeat
    of_turns: dict[str, dict[str, None]] = {}
    # Labels of the turns, those of several in one text. Lists are for maps: the place of each item of the answer.
    for own in stored.turn_labels if case is None else [turn.labels for turn in case.turns]:
        for name, value in own.items():
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
        answers=answers,
    )


def _prompt(
    task: LoadedTask, case: Case, responses: Sequence[Response]
) -> tuple[tuple[str, str], ...] | None:
    """What was sent; of a conversation what the last turn sent, which holds the others. A task by likelihood sends no messages."""
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
    said = [verdict.get("feedback") for verdict in scores.verdicts if isinstance(verdict, Mapping)]
    feedback = tuple(str(text) for text in said if text is not None)
    return ShownTurn(
        question=turn.question if turn is not None and allowed["prompts"] else None,
        gold=_text(turn.gold) if turn is not None and allowed["gold"] else None,
        response=response if allowed["responses"] else None,
        scores=dict(scores.scores),
        reason=scores.reason,
        feedback=feedback if allowed["gold"] and allowed["responses"] else (),
    )


def _label_text(value: Any) -> str:
    """A label's value for people: items of a list, measured numbers in short; empty for a list of nothing.

    >>> _label_text(["a", "b"]), _label_text([]), _label_text(3), _label_text(0.40382), _label_text("who")
    ('a, b', '', '3', '0.404', 'who')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return f"{value:.3g}" if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


MOST = 300
"""Places in one prompt; the rest stay unmarked."""


def answer_places(case: Case, prompt: Sequence[tuple[str, str]]) -> tuple[tuple[int, int, int], ...]:
    """Return message, start and end of the stretches that read like an accepted answer, in order and apart; in characters.

    Whole words and whole numbers count, in capitals or not. An order, which names each of 1 to n once, has no such place.
    """
    accepted: set[str] = set()
    for turn in case.turns:
        items = turn.gold if isinstance(turn.gold, list | tuple) else [turn.gold]
        texts = {item for item in items if isinstance(item, str) and item.strip()}
        if texts != {str(number + 1) for number in range(len(items))}:
            accepted |= texts
    if not accepted:
        return ()
    either = "|".join(map(re.escape, sorted(accepted, key=len, reverse=True)))
    # No part of "38,130" and none of a longer word.
    alone = re.compile(rf"(?<!\w)(?<!\d[,.])(?:{either})(?!\w|[,.]\d)", re.IGNORECASE)
    found = (
        (number, *match.span()) for number, (_, text) in enumerate(prompt) for match in alone.finditer(text)
    )
    return tuple(itertools.islice(found, MOST))
