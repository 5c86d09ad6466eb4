"""What is trained on, one stage after the other: the paper's five ways to use ratings by people and by LLM judges (section 6.4, Table 3).

========= =========================================================================================
human     (1) ratings by people
judge     (2) ratings by judges, of the questions that the training part of the human data has
judge_all (3) all ratings by judges
mixed     (4) the human data, each answer with the ratings that judges gave it as further ratings
two_stage (5) first all ratings by judges, then those by people
========= =========================================================================================

No question of the development part, or of any other part that is held out, is trained on with ratings by judges.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from long_context_tasks.orca.data import OrcaItem, check_trainable
from long_context_tasks.orca.study.splits import question_numbers
from long_context_tasks.schema import InputError

Scenario = Literal["human", "judge", "judge_all", "mixed", "two_stage"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)


@dataclass(frozen=True)
class Stage:
    """Items to train on, until the development part no longer gains.

    Attributes:
        name: ``human``, ``judge`` or ``mixed``.
        items: with ratings.
    """

    name: str
    items: tuple[OrcaItem, ...]


@dataclass(frozen=True)
class Stages:
    """The stages in order, and what to know about them, in words."""

    stages: tuple[Stage, ...]
    notes: tuple[str, ...]


def make_stages(
    scenario: str,
    human: Sequence[OrcaItem],
    judge: Sequence[OrcaItem] = (),
    held_out: Sequence[OrcaItem] = (),
) -> Stages:
    """The stages of a scenario.

    Args:
        scenario: one of :data:`SCENARIOS`.
        human: training part of the ratings by people.
        judge: ratings by judges.
        held_out: development part and whatever else must not be trained on with judges' ratings.

    Raises:
        InputError: an unknown scenario, data that it needs are missing, or nothing is left of them.
    """
    if scenario not in SCENARIOS:
        raise InputError(f"scenario {scenario!r} is none of {', '.join(SCENARIOS)}")
    if scenario != "judge_all" and not human:
        raise InputError(
            f"scenario {scenario} needs ratings by people; name their training part with --train"
        )
    if scenario == "human":
        if judge:
            raise InputError(
                "scenario human takes no ratings by judges; leave --judge-train out or name another --scenario"
            )
        return _checked([Stage("human", tuple(human))], [])
    if not judge:
        raise InputError(f"scenario {scenario} needs ratings by judges; name their file with --judge-train")
    numbers = question_numbers([*held_out, *human, *judge])
    closed = set(numbers[: len(held_out)])
    asked = set(numbers[len(held_out) : len(held_out) + len(human)])
    numbered = list(zip(judge, numbers[len(held_out) + len(human) :], strict=True))
    allowed = [(item, number) for item, number in numbered if number not in closed]
    notes = []
    if len(allowed) < len(judge):
        notes.append(
            f"{len(judge) - len(allowed)} of {len(judge)} judged answers left out: their questions are held out"
        )
    if scenario == "mixed":
        items, matched = _augmented(human, [item for item, _ in allowed])
        if not matched:
            raise InputError(
                "scenario mixed: no answer has ratings by people and by judges; question and candidate must be the same in both files"
            )
        notes.append(f"{matched} of {len(human)} answers have ratings by judges too")
        return _checked([Stage("mixed", tuple(items))], notes)
    taken = [item for item, number in allowed if scenario != "judge" or number in asked]
    stages = [Stage("judge", tuple(taken))]
    if scenario == "two_stage":
        stages.append(Stage("human", tuple(human)))
    return _checked(stages, notes)


def _checked(stages: Sequence[Stage], notes: Sequence[str]) -> Stages:
    for stage in stages:
        if not stage.items:
            raise InputError(
                f"nothing to train on in stage {stage.name}: no judged answer is left; "
                "its questions are held out, or the training part has none of them"
            )
        check_trainable(stage.items, f"stage {stage.name}")
    return Stages(tuple(stages), tuple(notes))


def _augmented(human: Sequence[OrcaItem], judge: Sequence[OrcaItem]) -> tuple[list[OrcaItem], int]:
    """The human items with further ratings, and how many have some."""

    def key(item: OrcaItem) -> tuple[str, str]:
        return " ".join(str(item.question).casefold().split()), " ".join(str(item.candidate).split())

    further: dict[tuple[str, str], tuple[float, ...]] = {}
    for item in judge:
        further[key(item)] = further.get(key(item), ()) + item.ratings
    items = [replace(item, ratings=item.ratings + further.get(key(item), ())) for item in human]
    return items, sum(key(item) in further for item in human)


def shared_questions(train: Sequence[OrcaItem], dev: Sequence[OrcaItem]) -> int:
    """Questions of the development part that the training items have too."""
    numbers = question_numbers([*train, *dev])
    return len(set(numbers[: len(train)]) & set(numbers[len(train) :]))
