"""What a training does before it computes: order of the items, learning rate, the five scenarios, settings."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.orca import InputFormat, OrcaItem
from long_context_tasks.orca.train.plan import (
    Scenario,
    TrainSettings,
    make_stages,
    rate,
    seed_of,
    shared_questions,
    step_items,
    steps_per_epoch,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import validated


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 5), st.integers())
def test_every_epoch_has_every_item_once(items: int, batch_size: int, epoch: int, seed: int) -> None:
    steps = steps_per_epoch(items, batch_size)
    batches = [step_items(items, batch_size, epoch * steps + step, seed) for step in range(steps)]
    assert sorted(place for batch in batches for place in batch) == list(range(items))
    assert all(0 < len(batch) <= batch_size for batch in batches)
    assert batches == [step_items(items, batch_size, epoch * steps + step, seed) for step in range(steps)]


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = [step_items(50, 50, epoch, seed) for epoch in range(3) for seed in range(3)]
    assert len(set(map(tuple, orders))) == 9
    assert seed_of("a", 1) != seed_of("b", 1)


@given(st.integers(1, 300))
def test_the_rate_rises_then_falls(steps: int) -> None:
    rates = [rate(step, steps) for step in range(steps)]
    assert all(0 < each <= 1 for each in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


def _item(
    number: int, question: str, candidate: str = "a", ratings: tuple[float, ...] = (1.0, 5.0)
) -> OrcaItem:
    return OrcaItem(str(number), question, "r", candidate, ratings=ratings)


HUMAN = [_item(1, "Who?"), _item(2, "What?", "b")]
JUDGE = [
    _item(1, "who? ", ratings=(2.0,)),
    _item(2, "Who?", "c", (3.0,)),
    _item(3, "When?", ratings=(4.0, 5.0)),
    _item(4, "Held?", ratings=(5.0,)),
]
HELD = [_item(9, "held?")]


def test_the_five_scenarios() -> None:
    made = {
        scenario: make_stages(scenario, HUMAN, () if scenario == "human" else JUDGE, HELD)[0]
        for scenario in get_args(Scenario)
    }
    named = {
        scenario: [(stage.name, [item.id for item in stage.items]) for stage in stages]
        for scenario, stages in made.items()
    }
    assert named == {
        "human": [("human", ["1", "2"])],
        "judge": [("judge", ["1", "2"])],
        "judge_all": [("judge", ["1", "2", "3"])],
        "mixed": [("mixed", ["1", "2"])],
        "two_stage": [("judge", ["1", "2", "3"]), ("human", ["1", "2"])],
    }
    assert [item.ratings for item in made["mixed"][0].items] == [(1.0, 5.0, 2.0), (1.0, 5.0)]
    assert make_stages("judge_all", [], JUDGE, HELD)[0] == made["judge_all"]
    assert make_stages("mixed", HUMAN, JUDGE, HELD)[1] == [
        "1 of 4 judged answers left out: their questions are held out",
        "1 of 2 answers have ratings by judges too",
    ]


@pytest.mark.parametrize(
    ("scenario", "human", "judge", "message"),
    [
        ("human", [], [], "scenario human needs ratings by people"),
        ("human", HUMAN, JUDGE, "does not use ratings by judges"),
        ("two_stage", HUMAN, [], "needs ratings by judges"),
        ("judge", HUMAN, JUDGE[2:], "nothing to train on in stage judge"),
        ("mixed", HUMAN, JUDGE[2:], "no answer has ratings by people and by judges"),
        ("judge_all", [], JUDGE[3:], "nothing to train on in stage judge"),
        ("judge_all", [], [replace(JUDGE[0], ratings=(2.0,))], "every rating is 2 .*one class only"),
        ("human", [_item(1, "Who?", ratings=(3.0, 3.0))], [], "one class only"),
    ],
)
def test_data_that_cannot_be_used(
    scenario: Scenario, human: list[OrcaItem], judge: list[OrcaItem], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make_stages(scenario, human, judge, HELD)


def test_shared_questions_are_counted() -> None:
    assert shared_questions(HUMAN, [_item(1, "WHO?"), _item(2, "Else?")]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "half"}, "training: method must be 'lora' or 'full'"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"lr": -1.0}, "lr must be above 0"),
        ({"lr": float("nan")}, "lr must be a finite number"),
    ],
)
def test_settings_are_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validated(TrainSettings, change, "training")


def test_what_settings_stand_for() -> None:
    settings = TrainSettings(method="full", no_question=True)
    args = settings.args()
    assert (args["lr"], TrainSettings().args()["lr"], TrainSettings(lr=0.1).args()["lr"]) == (2e-5, 2e-4, 0.1)
    assert args["skip_question"] is True
    assert InputFormat.of_args(args) == settings.form
