"""The training plan, which needs no model: settings, stages, and each step's items and learning rate.

The stages follow the paper's five ways to use human and LLM-judge ratings (section 6.4, Table 3):

========= ==========================================================================================
human     (1) human ratings
judge     (2) judges' ratings of the questions in the human training set
judge_all (3) all judges' ratings
mixed     (4) the human data, with judges' ratings of the same answers as additional ratings
two_stage (5) first all judges' ratings, then human ratings
========= ==========================================================================================

Questions in the development set, or in any other held-out set, are never trained on with judges' ratings.

Steps are pure functions of the seed and the step number. A resumed run therefore continues exactly like an
uninterrupted one, without saving the state of random generators.
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

# The paper (section 5.5) names the objective but no optimizer settings; these are usual for fine-tuning.
_LR = {"lora": 2e-4, "full": 2e-5}
HEAD_FACTOR = 5
"""Learning rate of the randomly initialised head, relative to the language model's."""
WARMUP = 0.1
"""Fraction of steps in the learning-rate warm-up."""
WEIGHT_DECAY = 0.01
CLIP = 1.0
"""Maximum gradient norm."""
LORA_ALPHA, LORA_DROPOUT = 32, 0.05
SAVE_SHARE = 10
"""A step is saved once this multiple of the last save's duration has passed."""
# Whole and Number reject booleans, which pydantic would read as 1 and 0.
_Count = Annotated[Whole, Field(ge=1)]
_Positive = Annotated[Number, Field(gt=0)]


class TrainSettings(Checked):
    """Training settings; the field descriptions double as help for the command's options."""

    model: str | None = None  # folder or hub id of a language model; None to start from init
    scenario: Scenario = Field(
        "human", description="human, judge, judge_all, mixed or two_stage; see docs/orca_study.md."
    )
    init: Path | None = Field(None, description="ORCA checkpoint to start from, instead of --model.")
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
    window: int | None = None  # maximum tokens per item, to use less than the model's window

    @property
    def form(self) -> InputFormat:
        # Training and scoring share these options, so one function reads both.
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
    """Return a scenario's stages in order, and notes for the user."""
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
    # Numbered together, so that a question is recognised across files.
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
        # Answers are matched by text, because ids differ between human and judge files.
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
    """Derive a 63-bit seed from the string forms of values."""
    # Not hash(), which differs between processes.
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def steps_per_epoch(items: int, batch_size: int) -> int:
    return -(-items // batch_size)


def step_items(items: int, batch_size: int, step: int, *seed: object) -> list[int]:
    """Return the item indices of a step, counted from 0; each epoch has its own order."""
    epoch, place = divmod(step, steps_per_epoch(items, batch_size))
    order = list(range(items))
    # Python's own generator: its shuffle does not depend on the version of torch or numpy.
    random.Random(seed_of("order", *seed, epoch)).shuffle(order)
    return order[place * batch_size : (place + 1) * batch_size]


def rate(step: int, steps: int) -> float:
    """Return a step's learning rate relative to the peak: linear warm-up, then linear decay to 0.

    >>> [rate(step, 10) for step in range(3)]
    [1.0, 1.0, 0.8888888888888888]
    """
    rising = round(steps * WARMUP)
    return (step + 1) / rising if step < rising else (steps - step) / (steps - rising)
