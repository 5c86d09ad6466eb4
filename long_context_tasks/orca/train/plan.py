"""The plan of a training, which needs no model: settings, stages, and the items and learning rate of each step.

The stages follow the paper's five ways to use ratings by people and by LLM judges (section 6.4, Table 3):

========= ==========================================================================================
human     (1) ratings by people
judge     (2) ratings by judges, of the questions in the training part of the human data
judge_all (3) all ratings by judges
mixed     (4) the human data, with judges' ratings of the same answers as further ratings
two_stage (5) first all ratings by judges, then those by people
========= ==========================================================================================

Questions of the development part, or of any other part that is held out, are never trained on with ratings by judges.

Steps are pure functions of the seed and the step number. So a resumed run continues exactly as an uninterrupted one would, without saving the
state of random generators.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from long_context_tasks.orca.data import HeadName, OrcaItem, check_trainable
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.splits import normalised_question, question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, Number, Whole

Scenario = Literal["human", "judge", "judge_all", "mixed", "two_stage"]

# The paper (section 5.5) names the objective, but no settings of the optimizer; all these are usual for fine-tuning.
_LR = {"lora": 2e-4, "full": 2e-5}
HEAD_FACTOR = 5
"""Learning rate of the head, which starts at random, relative to that of the language model."""
WARMUP = 0.1
"""Share of the steps in which the learning rate rises."""
WEIGHT_DECAY = 0.01
CLIP = 1.0
"""Maximum norm of the gradient."""
LORA_ALPHA, LORA_DROPOUT = 32, 0.05
SAVE_SHARE = 10
"""A step is saved if at least this many times the duration of a save has passed since the last save."""
# Whole and Number refuse true and false, which pydantic would read as 1 and 0.
_Count = Annotated[Whole, Field(ge=1)]
_Positive = Annotated[Number, Field(gt=0)]


class TrainSettings(Checked):
    """How a model is trained; the descriptions are the help of the command's options."""

    model: str | None = None  # folder or hub id of a language model; None to start from init
    scenario: Scenario = Field(
        "human", description="human, judge, judge_all, mixed or two_stage; see docs/orca_study.md."
    )
    init: Path | None = Field(None, description="ORCA checkpoint to continue from, instead of --model.")
    head: HeadName | None = Field(None, description="beta, multinomial or bernoulli.")
    method: Literal["lora", "full"] = Field("lora", description="lora or full.")
    epochs: _Count = Field(3, description="Of each stage.")
    batch_size: _Count = Field(16, description="Answers a step.")
    batch_tokens: _Count = Field(8192, description="Maximum tokens computed at once.")
    lr: _Positive | None = Field(None, description="Learning rate. Default: 2e-4; for full 2e-5.")
    lora_rank: _Count = Field(16, description="Rank of the adapter.")
    seed: int = Field(0, description="Seed of everything random.")
    no_question: bool = Field(False, description="Do not show the question to the model.")
    no_rationale: bool = Field(False, description="Do not show the context.")
    transcript: bool = Field(False, description="Show the transcript, too.")
    window: int | None = None  # maximum tokens of an item, to use less than the model's window

    @property
    def form(self) -> InputFormat:
        # The options of training are those of scoring, so one function reads both.
        parts = {name: getattr(self, name) for name in ("no_question", "no_rationale", "transcript")}
        return InputFormat().ablated(**parts)

    @property
    def peak_lr(self) -> float:
        return self.lr or _LR[self.method]

    def args(self) -> dict[str, Any]:
        own = self.model_dump(exclude={"no_question", "no_rationale", "transcript", "init", "head"})
        return {**own, "lr": self.peak_lr, **self.form.args()}


@dataclass(frozen=True)
class Stage:
    name: str
    items: tuple[OrcaItem, ...]


def make_stages(
    scenario: Scenario,
    human: Sequence[OrcaItem],
    judge: Sequence[OrcaItem] = (),
    held_out: Sequence[OrcaItem] = (),
) -> tuple[list[Stage], list[str]]:
    """Return the stages of a scenario in order, and notes for the user."""
    if scenario != "judge_all" and not human:
        raise InputError(
            f"scenario {scenario} needs ratings by people; name their training part with --train"
        )
    if scenario == "human":
        if judge:
            raise InputError(
                "scenario human does not use ratings by judges; leave --judge-train out or name another --scenario"
            )
        return _checked([Stage("human", tuple(human))], [])
    if not judge:
        raise InputError(f"scenario {scenario} needs ratings by judges; name their file with --judge-train")
    # Numbered together, so that a question is found in all files.
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
        # Answers are matched by text, because ids of people's and judges' files differ.
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
    numbers = question_numbers([*train, *dev])
    return len(set(numbers[: len(train)]) & set(numbers[len(train) :]))


def seed_of(*parts: object) -> int:
    """Make a 63-bit seed from the printed forms of values."""
    # Not hash(), which differs between processes.
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def steps_per_epoch(items: int, batch_size: int) -> int:
    return -(-items // batch_size)


def step_items(items: int, batch_size: int, step: int, *seed: object) -> list[int]:
    """Return the indices of the items of a step, counted from 0; each epoch has its own order."""
    epoch, place = divmod(step, steps_per_epoch(items, batch_size))
    order = list(range(items))
    # Python's own generator: its shuffle does not depend on the version of torch or numpy.
    random.Random(seed_of("order", *seed, epoch)).shuffle(order)
    return order[place * batch_size : (place + 1) * batch_size]


def rate(step: int, steps: int) -> float:
    """Return the learning rate of a step, from 0, relative to the highest one: it rises linearly, then falls linearly to 0 after the last.

    >>> [rate(step, 10) for step in range(3)]
    [1.0, 1.0, 0.8888888888888888]
    """
    rising = round(steps * WARMUP)
    return (step + 1) / rising if step < rising else (steps - step) / (steps - rising)
