"""What a training decides before it computes: its settings, its stages, and what each step does.

The stages follow the paper's five ways to use ratings by people and by LLM judges (section 6.4, Table 3):

========= =========================================================================================
human     (1) ratings by people
judge     (2) ratings by judges, of the questions that the training part of the human data has
judge_all (3) all ratings by judges
mixed     (4) the human data, each answer with the ratings that judges gave it as further ratings
two_stage (5) first all ratings by judges, then those by people
========= =========================================================================================

No question of the development part, or of any other part that is held out, is trained on with ratings by judges.

Steps are pure functions of the seed and the step: which items, which random numbers, which learning rate. So a run that was stopped goes on exactly as it
would have, without the state of any generator.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from long_context_tasks.orca.data import OrcaItem, check_trainable
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.splits import normalised_question, question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, Number, Whole

Scenario = Literal["human", "judge", "judge_all", "mixed", "two_stage"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

# The paper (section 5.5) names the objective and no settings of the optimizer; all these are usual for fine-tuning.
_LR = {"lora": 2e-4, "full": 2e-5}
HEAD_FACTOR = 5
"""Learning rate of the head, which begins at random, over that of the language model."""
WARMUP = 0.1
"""Share of the steps in which the learning rate rises."""
WEIGHT_DECAY = 0.01
CLIP = 1.0
"""Greatest norm of the gradient."""
LORA_ALPHA, LORA_DROPOUT = 32, 0.05
SAVE_SHARE = 10
"""A step is saved if this many times as long as saving takes has passed since the step that was saved before."""
QUICK_SAVE = 0.05
"""Seconds: if saving takes less, every step is saved."""
_Count = Annotated[Whole, Field(ge=1)]
_Positive = Annotated[Number, Field(gt=0)]


class TrainSettings(Checked):
    """How a model is trained, all of which decides the loss curve; the descriptions are the help of the command's options.

    ``lora`` trains an adapter and the head, ``full`` the whole body and the head. A step with more than ``batch_tokens`` tokens, padding included, is
    computed in parts.

    Attributes:
        window: most tokens of an item, to use less than the model's window.
        form: the parts of the text.
    """

    method: Literal["lora", "full"] = Field("lora", description="lora or full.")
    epochs: _Count = Field(3, description="Of each stage.")
    batch_size: _Count = Field(16, description="Answers a step, over all processes.")
    batch_tokens: _Count = Field(8192, description="Most tokens computed at once.")
    lr: _Positive | None = Field(None, description="Learning rate. Default: 2e-4; for full 2e-5.")
    lora_rank: _Count = Field(16, description="Rank of the adapter.")
    seed: int = Field(0, description="Of everything random.")
    window: int | None = None
    form: InputFormat = InputFormat()

    @property
    def peak_lr(self) -> float:
        """The highest learning rate of the language model."""
        return self.lr or _LR[self.method]

    def args(self) -> dict[str, Any]:
        """Return all settings as plain values for ``args.yaml``."""
        return {**self.model_dump(exclude={"form"}), "lr": self.peak_lr, **self.form.args()}


@dataclass(frozen=True)
class Stage:
    """Items to train on; the stage ends with the model that was best on the development part.

    Attributes:
        name: ``human``, ``judge`` or ``mixed``.
        items: with ratings.
    """

    name: str
    items: tuple[OrcaItem, ...]


def make_stages(
    scenario: str,
    human: Sequence[OrcaItem],
    judge: Sequence[OrcaItem] = (),
    held_out: Sequence[OrcaItem] = (),
) -> tuple[list[Stage], list[str]]:
    """Make the stages of a scenario.

    Args:
        scenario: one of :data:`SCENARIOS`.
        human: training part of the ratings by people.
        judge: ratings by judges.
        held_out: development part and whatever else must not be trained on with judges' ratings.

    Returns:
        The stages in order, and notes for the user.

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
        further: dict[tuple[str, str], tuple[float, ...]] = {}
        for item, _ in allowed:
            further[_answer(item)] = further.get(_answer(item), ()) + item.ratings
        items = [replace(item, ratings=item.ratings + further.get(_answer(item), ())) for item in human]
        matched = sum(_answer(item) in further for item in human)
        if not matched:
            raise InputError(
                "scenario mixed: no answer has ratings by people and by judges; question and candidate must be the same in both files"
            )
        notes.append(f"{matched} of {len(human)} answers have ratings by judges too")
        return _checked([Stage("mixed", tuple(items))], notes)
    stages = [
        Stage("judge", tuple(item for item, number in allowed if scenario != "judge" or number in asked))
    ]
    if scenario == "two_stage":
        stages.append(Stage("human", tuple(human)))
    return _checked(stages, notes)


def _checked(stages: list[Stage], notes: list[str]) -> tuple[list[Stage], list[str]]:
    for stage in stages:
        if not stage.items:
            raise InputError(
                f"nothing to train on in stage {stage.name}: no judged answer is left; "
                "its questions are held out, or the training part has none of them"
            )
        check_trainable(stage.items, f"stage {stage.name}")
    return stages, notes


def _answer(item: OrcaItem) -> tuple[str, str]:
    return normalised_question(str(item.question)), " ".join(str(item.candidate).split())


def shared_questions(train: Sequence[OrcaItem], dev: Sequence[OrcaItem]) -> int:
    """Count the questions of the development part that the training items have too."""
    numbers = question_numbers([*train, *dev])
    return len(set(numbers[: len(train)]) & set(numbers[len(train) :]))


def seed_of(*parts: object) -> int:
    """Make a seed of 63 bits from values by their printed form.

    >>> seed_of(0, "human", 3) == seed_of(0, "human", 3) != seed_of(0, "human", 4)
    True
    """
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def steps_per_epoch(items: int, batch_size: int) -> int:
    """Return the steps in which every item is seen once; the last may have fewer items."""
    return -(-items // batch_size)


def step_items(items: int, batch_size: int, step: int, *seed: object) -> list[int]:
    """Return the indices of the items of a step, in an order that is drawn anew for each epoch.

    Args:
        items: their number.
        batch_size: items of a step.
        step: from 0.
        seed: of the order.

    >>> sorted(step_items(5, 2, 0, 7) + step_items(5, 2, 1, 7) + step_items(5, 2, 2, 7))
    [0, 1, 2, 3, 4]
    """
    epoch, place = divmod(step, steps_per_epoch(items, batch_size))
    order = list(range(items))
    random.Random(seed_of("order", *seed, epoch)).shuffle(order)
    return order[place * batch_size : (place + 1) * batch_size]


def rate(step: int, steps: int) -> float:
    """Return the share of the highest learning rate at a step: it rises in a line over the warm-up, then falls in a line to 0 behind the last step.

    Args:
        step: from 0.
        steps: of the whole stage.

    >>> [rate(step, 10) for step in range(3)]
    [1.0, 1.0, 0.8888888888888888]
    """
    rising = round(steps * WARMUP)
    return (step + 1) / rising if step < rising else (steps - step) / (steps - rising)
