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
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from long_context_tasks.orca.data import SCALE, OrcaItem, check_trainable
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.splits import normalised_question, question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, Number, Whole

Measure = Literal["loss", "mae", "rho", "within", "composite"]
"""What is best on the development part: the loss of a rating, the mean absolute error of the mean, Spearman's rho, its mean within the answers of each
model, or rho + tau - MAE."""
Scenario = Literal["human", "judge", "judge_all", "mixed", "two_stage"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

_LR = {"lora": 2e-4, "full": 2e-5, "head": 2e-4}
_HEAD_FACTOR = 5
_Count = Annotated[Whole, Field(ge=1)]
_Positive = Annotated[Number, Field(gt=0)]
_Share = Annotated[Number, Field(ge=0, lt=1)]


class TrainSettings(Checked):
    """How a model is trained; the descriptions are the help of the command's options. All but ``save_steps`` decide the loss curve.

    ``lora`` trains an adapter and the head, ``full`` the whole body and the head, ``head`` the head alone, for which each answer is read once. Under ``bf16`` frozen weights are in bfloat16, trained weights in
    float32, and autocast computes. A step with more than ``batch_tokens`` tokens, padding included, is computed in parts.

    Attributes:
        clip: greatest norm of the gradient.
        window: most tokens of an item, to use less than the model's window.
        form: the parts of the text.
    """

    method: Literal["lora", "full", "head"] = Field("lora", description="lora, full or head.")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="fp32 or bf16; auto: bf16 on a GPU."
    )
    epochs: _Count = Field(3, description="Of each stage.")
    steps: _Count | None = Field(None, description="Of each stage, in place of --epochs.")
    batch_size: _Count = Field(16, description="Answers a step, over all processes.")
    batch_tokens: _Count = Field(8192, description="Most tokens computed at once.")
    lr: _Positive | None = Field(None, description="Learning rate. Default: 2e-4; for full 2e-5.")
    head_lr: _Positive | None = Field(None, description="Of the head. Default: five times --lr.")
    warmup: _Share = Field(0.1, description="Share of the steps.")
    weight_decay: _Share = Field(0.01, description="Of AdamW.")
    clip: _Positive = 1.0
    lora_rank: _Count = Field(16, description="Rank of the adapter.")
    lora_alpha: _Count = Field(32, description="Its scale is alpha / rank.")
    lora_dropout: _Share = Field(0.05, description="Share of the adapter's input.")
    seed: int = Field(0, description="Of everything random.")
    eval_steps: _Count | None = Field(
        None, description="Steps between evaluations on --dev. Default: an epoch."
    )
    save_steps: _Count = Field(200, description="Steps between checkpoints.")
    patience: _Count = Field(3, description="Evaluations without a gain that end a stage.")
    select: Measure = Field(
        "loss", description="What is best on --dev: loss, mae, rho, within (models) or composite."
    )
    negatives: Annotated[Number, Field(ge=0)] = Field(
        0.0,
        description="Wrong answers to add, as a share: another question's reference or answer, rated lowest.",
    )
    balance: bool = Field(
        False, description="Weigh answers so that all models have the same share of each rating."
    )
    window: int | None = None
    gradient_checkpointing: bool = Field(False, description="Less memory, more time.")
    form: InputFormat = InputFormat()

    def resolved(self, device: str) -> "TrainSettings":
        """Fill in everything that depends on other settings or the device."""
        lr = self.lr or _LR[self.method]
        precision = self.precision
        if precision == "auto":
            precision = "fp32" if device.startswith("cpu") else "bf16"
        head_lr = self.head_lr or _HEAD_FACTOR * lr
        return self.model_copy(update={"precision": precision, "lr": lr, "head_lr": head_lr})

    def args(self) -> dict[str, Any]:
        """Return what decides the loss curve, as plain values for ``args.yaml``."""
        return {**self.model_dump(exclude={"save_steps", "form"}), **self.form.args()}


@dataclass(frozen=True)
class Stage:
    """Items to train on, until the development part no longer gains.

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


def with_negatives(items: Sequence[OrcaItem], share: float, seed: int) -> list[OrcaItem]:
    """Add answers that are wrong for certain, rated lowest by as many raters.

    By turns an answer has the reference of another question of its domain, and a question with its reference has the answer to another one.

    Args:
        items: rated; all stay, in front.
        share: wrong answers for each of them; 1.5 takes each answer once and half of them again.
        seed: of the draws.

    Raises:
        InputError: no domain has two questions with different references.
    """
    domains: dict[str, list[int]] = {}
    numbers = question_numbers(items)
    for place, item in enumerate(items):
        domains.setdefault(item.domain, []).append(place)

    def differs(place: int, other: int) -> bool:
        a, b = items[place], items[other]
        same = (a.reference or "").strip().casefold() == (b.reference or "").strip().casefold()
        return numbers[place] != numbers[other] and not same

    able = [
        place
        for place, item in enumerate(items)
        if any(differs(place, other) for other in domains[item.domain])
    ]
    if share and not able:
        raise InputError(
            "--negatives: no two questions of a domain have different references, so no answer can be made wrong; leave it out"
        )
    rng = random.Random(seed_of("negatives", seed))
    order: list[int] = []
    while share and len(order) < round(share * len(items)):
        order += rng.sample(able, len(able))
    made = []
    for number, place in enumerate(order[: round(share * len(items))]):
        item = items[place]
        other = place
        while not differs(place, other):
            other = rng.choice(domains[item.domain])
        changes: dict[str, Any] = (
            {"reference": items[other].reference}
            if number % 2
            else {"candidate": items[other].candidate, "model": items[other].model}
        )
        lowest = (SCALE[0],) * len(item.ratings)
        made.append(replace(item, id=f"{item.id} wrong {number}", ratings=lowest, **changes))
    return [*items, *made]


def balanced_weights(items: Sequence[OrcaItem]) -> list[float]:
    """Weigh answers so that each model has the same share of each rating as all models together: who answered then says nothing about the rating.

    The share of a rating in all answers through its share in those of the model, ratings rounded to 1 ... 5; the mean weight is 1. A rating that a model
    never has stays lacking there.
    """
    kinds = [(item.model, round(statistics.fmean(item.ratings))) for item in items]
    of_model = Counter(model for model, _ in kinds)
    of_rating = Counter(rating for _, rating in kinds)
    of_both = Counter(kinds)
    weights = [of_rating[kind[1]] * of_model[kind[0]] / of_both[kind] for kind in kinds]
    mean = statistics.fmean(weights)
    return [weight / mean for weight in weights]


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


def rate(step: int, steps: int, warmup: float) -> float:
    """Return the share of the highest learning rate at a step: it rises in a line over the warm-up, then falls in a line to 0 behind the last step.

    Args:
        step: from 0.
        steps: of the whole stage.
        warmup: share of the steps.

    >>> [rate(step, 4, 0.5) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rising = round(steps * warmup)
    return (step + 1) / rising if step < rising else (steps - step) / (steps - rising)
