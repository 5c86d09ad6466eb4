"""Splits: no question in two parts, the ratio in every stratum, models that training never saw."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.splits import Split, model_splits, question_numbers, unseen_questions
from long_context_tasks.schema import InputError


def _item(question: int, domain: int = 0, category: int = 0, model: int | None = None) -> OrcaItem:
    return OrcaItem(
        f"{question}-{model}",
        f"Question {question}?",
        "r",
        "c",
        domain=f"d{domain}",
        category=f"c{category}",
        model=None if model is None else f"m{model}",
    )


def _parts(split: Split) -> dict[str, tuple[int, ...]]:
    return {"train": split.train, "dev": split.dev, "test": split.test}


def _questions_apart(items: list[OrcaItem], split: Split, names: tuple[str, ...]) -> bool:
    numbers = question_numbers(items)
    parts = [{numbers[index] for index in _parts(split)[name]} for name in names]
    return sum(map(len, parts)) == len(set().union(*parts))


ITEMS = st.lists(
    st.builds(_item, st.integers(0, 30), st.integers(0, 2), st.integers(0, 3), st.integers(0, 8)),
    max_size=120,
)


@given(ITEMS, st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_every_item_is_in_one_part_and_every_question_too(items: list[OrcaItem], seed: int) -> None:
    n_questions = len({item.question for item in items})
    if n_questions < 3:
        with pytest.raises(InputError, match=f"on {n_questions} questions"):
            unseen_questions(items, seed)
        return
    split = unseen_questions(items, seed)
    assert sorted(split.train + split.dev + split.test) == list(range(len(items)))
    assert all(part == tuple(sorted(part)) and part for part in _parts(split).values())
    assert _questions_apart(items, split, ("train", "dev", "test"))
    numbers = question_numbers(items)
    sizes = [len({numbers[index] for index in part}) for part in _parts(split).values()]
    for size, share in zip(sizes, (0.8, 0.1, 0.1), strict=True):
        assert abs(size - share * n_questions) <= 2
    assert split == unseen_questions(items, seed)


def test_strata_have_the_ratio_of_the_whole() -> None:
    items = [
        _item(100 * domain + 10 * category + question, domain, category, model)
        for domain in range(3)
        for category in range(10)
        for question in range(10)
        for model in range(3)
    ]
    splits = [unseen_questions(items, seed) for seed in range(5)]
    assert [split.name for split in splits] == [f"seed {seed}" for seed in range(5)]
    for split in splits:
        for name, share in (("train", 8), ("dev", 1), ("test", 1)):
            questions = {items[index].question: items[index] for index in _parts(split)[name]}
            assert len(questions) == share * 30
            by_domain = Counter(item.domain for item in questions.values())
            assert all(abs(count - 10 * share) <= 2 for count in by_domain.values())
            by_category = Counter((item.domain, item.category) for item in questions.values())
            assert all(abs(count - share) <= 1 for count in by_category.values())
    tests = [frozenset(split.test) for split in splits]
    assert len(set(tests)) == 5


def test_one_question_under_several_names_stays_together() -> None:
    """By wording apart from case and space, by id within its data set, and by way of a third item."""
    items = [
        OrcaItem("0", "Who came?", "r", "c", question_id="1", domain="a"),
        OrcaItem("1", " who  CAME?", "r", "c", question_id="2", domain="b"),
        OrcaItem("2", "Who was it that came?", "r", "c", question_id="2", domain="b"),
        OrcaItem("3", "When?", "r", "c", question_id="2", domain="a"),
        OrcaItem("4", None, "r", "c", question_id="1", domain="a"),
    ]
    assert question_numbers(items) == [0, 0, 0, 1, 0]


@given(ITEMS, st.integers(1, 3), st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_models_of_the_test_part_are_nowhere_else(items: list[OrcaItem], held_out: int, seed: int) -> None:
    models = {item.model for item in items}
    try:
        splits = model_splits(items, held_out=held_out, seed=seed)
    except InputError:
        fewest = min((len({i.question for i in items if i.model != m}) for m in models), default=0)
        assert len(models) <= held_out or held_out > 1 or fewest < 2
        return
    assert len(splits) == min(5, len(models) // held_out)
    held: list[str | None] = []
    for split in splits:
        tested = {items[index].model for index in split.test}
        assert len(tested) == held_out
        assert not tested & {items[index].model for index in (*split.train, *split.dev)}
        assert split.train and split.dev
        assert sorted(split.train + split.dev + split.test) == list(range(len(items)))
        assert _questions_apart(items, split, ("train", "dev"))
        held += tested
    assert len(held) == len(set(held))


def test_five_splits_hold_ten_of_fifteen_models_out() -> None:
    items = [_item(question, model=model) for question in range(45) for model in range(15)]
    splits = model_splits(items)
    assert len({items[index].model for split in splits for index in split.test}) == 10
    assert all((len(s.train), len(s.dev), len(s.test)) == (40 * 13, 5 * 13, 90) for s in splits)
    assert splits == model_splits(items)
    assert splits != model_splits(items, seed=1)
    assert splits[0].name == " + ".join(sorted({str(items[index].model) for index in splits[0].test}))


def test_too_few_models_are_refused() -> None:
    items = [_item(question, model=model) for question in range(5) for model in range(3)]
    assert len(model_splits(items)) == 1
    assert len(model_splits(items, held_out=1)) == 3
    with pytest.raises(InputError, match="3 models are too few to hold 3 out"):
        model_splits(items, held_out=3)
    with pytest.raises(InputError, match='item 1-None: no "candidate_model"'):
        model_splits([*items, _item(1)])
