"""What a training does before it computes: order of the items, learning rate, the five scenarios, settings."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.orca import InputFormat, OrcaItem
from long_context_tasks.orca.train.plan import (
    SCENARIOS,
    TrainSettings,
    balanced_weights,
    make_stages,
    rate,
    seed_of,
    shared_questions,
    step_items,
    steps_per_epoch,
    with_negatives,
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


@given(st.integers(1, 300), st.floats(0, 0.99))
def test_the_rate_rises_then_falls(steps: int, warmup: float) -> None:
    rates = [rate(step, steps, warmup) for step in range(steps)]
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
        for scenario in SCENARIOS
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
        ("all", HUMAN, JUDGE, "scenario 'all' is none of human, judge"),
        ("human", [], [], "scenario human needs ratings by people"),
        ("human", HUMAN, JUDGE, "takes no ratings by judges"),
        ("two_stage", HUMAN, [], "needs ratings by judges"),
        ("judge", HUMAN, JUDGE[2:], "nothing to train on in stage judge"),
        ("mixed", HUMAN, JUDGE[2:], "no answer has ratings by people and by judges"),
        ("judge_all", [], JUDGE[3:], "nothing to train on in stage judge"),
        ("judge_all", [], [replace(JUDGE[0], ratings=(2.0,))], "every rating is 2 .*one class only"),
        ("human", [_item(1, "Who?", ratings=(3.0, 3.0))], [], "one class only"),
    ],
)
def test_data_that_cannot_be_used(
    scenario: str, human: list[OrcaItem], judge: list[OrcaItem], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make_stages(scenario, human, judge, HELD)


def test_shared_questions_are_counted() -> None:
    assert shared_questions(HUMAN, [_item(1, "WHO?"), _item(2, "Else?")]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "half"}, "training: method must be 'lora', 'full' or 'head'"),
        ({"precision": "fp8"}, "precision must be 'auto', 'fp32' or 'bf16'"),
        ({"select": "best"}, "select must be 'loss'"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"eval_steps": 0}, "eval_steps must be at least 1"),
        ({"lr": -1.0}, "lr must be above 0"),
        ({"lr": float("nan")}, "lr must be a finite number"),
        ({"warmup": 1.0}, "warmup must be below 1"),
    ],
)
def test_settings_are_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validated(TrainSettings, change, "training")


def test_what_settings_stand_for() -> None:
    settings = TrainSettings(method="full", form=InputFormat(question=False))
    cpu, gpu = settings.resolved("cpu"), settings.resolved("cuda:0")
    assert (cpu.precision, gpu.precision, cpu.lr, cpu.head_lr) == ("fp32", "bf16", 2e-5, 1e-4)
    args = cpu.args()
    assert args["skip_question"] is True and "save_steps" not in args
    assert InputFormat.of_args(args) == settings.form


def _rated(
    number: int, model: str, rating: float, domain: str = "d", reference: str | None = None
) -> OrcaItem:
    wanted = f"r{number}" if reference is None else reference
    return OrcaItem(
        f"{model}{number}", f"q{number}", wanted, f"{model} says {number}", ratings=(rating, rating),
        model=model, domain=domain,
    )  # fmt: skip


@pytest.mark.parametrize("share", [0.5, 1.0, 2.5])
def test_wrong_answers_are_wrong_and_rated_lowest(share: float) -> None:
    items = [
        _rated(number, model, 4.0, "de"[number % 2], reference=("Yes" if number in (2, 4) else None))
        for number in range(8)
        for model in "ab"
    ]
    made = with_negatives(items, share, 0)
    assert made[: len(items)] == items and len(made) == len(items) + round(share * len(items))
    own = {item.question: item for item in items}
    kinds = Counter()
    for item in made[len(items) :]:
        assert item.ratings == (1.0, 1.0) and item.domain == own[item.question].domain
        answered = next(each for each in items if each.candidate == item.candidate)
        belongs = next(each for each in items if each.reference == item.reference)
        assert belongs.domain == answered.domain == item.domain
        assert (answered.reference or "").lower() != (item.reference or "").lower()
        assert item.model == answered.model
        kinds["reference" if answered.question == item.question else "answer"] += 1
        if answered.question != item.question:
            assert item.reference == own[item.question].reference
    assert abs(kinds["reference"] - kinds["answer"]) <= 1
    assert len({item.id for item in made}) == len(made)
    assert made == with_negatives(items, share, 0) != with_negatives(items, share, 1)


def test_nothing_can_be_made_wrong_where_references_are_equal() -> None:
    items = [_rated(1, "a", 5.0, reference="Yes"), _rated(2, "a", 1.0, reference=" yes ")]
    assert with_negatives(items, 0.0, 0) == items
    with pytest.raises(InputError, match="--negatives: no two questions of a domain"):
        with_negatives(items, 0.5, 0)
    with pytest.raises(
        InputError, match="--negatives"
    ):  # one question, whose reference is written in two ways
        with_negatives(
            [replace(_rated(1, "a", 5.0), question="Q", reference=each) for each in ("a", "b")], 1.0, 0
        )
    # Alone in its domain, an answer is not made wrong by another domain's.
    mixed = [*items, _rated(3, "a", 5.0, "e"), _rated(4, "a", 5.0, "e")]
    assert {item.domain for item in with_negatives(mixed, 2.0, 0)[4:]} == {"e"}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5)), min_size=1, max_size=40))
def test_balanced_models_have_the_same_share_of_each_rating(drawn: list[tuple[str, int]]) -> None:
    every = [(model, rating) for model in "ab" for rating in range(1, 6)]  # so that nothing is lacking
    items = [_rated(place, model, float(rating)) for place, (model, rating) in enumerate([*every, *drawn])]
    weights = balanced_weights(items)
    for model in "ab":  # a model counts as much as before
        own = [weight for weight, item in zip(weights, items, strict=True) if item.model == model]
        assert sum(own) == pytest.approx(len(own))

    def shares(model: str) -> list[float]:
        of_rating = [
            sum(
                w
                for w, item in zip(weights, items, strict=True)
                if item.model == model and item.ratings[0] == r
            )
            for r in range(1, 6)
        ]
        return [each / sum(of_rating) for each in of_rating]

    assert shares("a") == pytest.approx(shares("b"))


def test_ratings_that_models_share_alike_need_no_weights() -> None:
    items = [_rated(place, "ab"[place % 2], float(1 + place // 2 % 5)) for place in range(20)]
    assert balanced_weights(items) == [1.0] * 20
    skewed = [
        _rated(1, "a", 5.0),
        _rated(2, "a", 5.0),
        _rated(3, "a", 1.0),
        _rated(4, "b", 1.0),
        _rated(5, "b", 5.0),
    ]
    a_high, _, a_low, b_low, b_high = balanced_weights(skewed)
    assert a_low > a_high and b_high > b_low
