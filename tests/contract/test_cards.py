"""Every benchmark's card is complete, and its files are where the architecture has them."""

import dataclasses
import importlib.resources

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.card import parse_card

BENCHMARKS = catalogue.benchmark_names()
FILES = (
    "card.yaml",
    "data.py",
    "build.py",
    "prompts.py",
    "scoring.py",
    "opencompass.py",
    "lm_eval.py",
    "lm_eval_tasks",
    "prompts",
)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_has_the_same_files(name: str) -> None:
    folder = importlib.resources.files(catalogue.PACKAGE) / name
    assert [file for file in FILES if not (folder / file).is_file() and not (folder / file).is_dir()] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_card_is_complete(name: str) -> None:
    card = catalogue.card(name)
    assert card.name == name
    assert card.version >= 1
    assert {"title", "authors", "venue"} <= set(card.paper)
    assert set(card.redistribute) == {"prompts", "gold", "responses"}
    assert card.licence.strip() and card.about.strip() and card.deviations
    assert all({"name", "value", "source"} <= set(setting) for setting in card.settings)
    for task in card.tasks.values():
        assert task.headline in card.metrics and task.official in card.metrics
        assert list(task.lengths) == sorted(task.lengths, key=parse_length)
        assert set(task.bounds) <= set(task.lengths) and set(task.files) <= set(task.lengths)
        assert task.answer_budget > 0 and task.chance
        assert len({variant.name for variant in task.variants}) == len(task.variants)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_can_be_built_belongs_to_the_card(name: str) -> None:
    """`lct build` finds builders by their families only."""
    for family, made in catalogue.core(name, "build").FAMILIES.items():
        assert family.startswith(f"{name}_{made.task}") and made.task in catalogue.card(name).tasks
        assert "lengths" in {field.name for field in dataclasses.fields(made.settings)}


def test_task_names_are_unique_and_parse_back() -> None:
    names = [spec.name for spec in catalogue.task_specs()]
    assert len(names) == len(set(names))
    assert [catalogue.parse_task(name).name for name in names] == names


def test_an_unknown_task_gets_its_neighbours() -> None:
    with pytest.raises(InputError, match="ada_leval_bestanswer_1k"):
        catalogue.parse_task("ada_leval_bestanswer_1kk")


def test_a_card_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(InputError, match=r"here: unknown keys \['colour'\]"):
        parse_card("colour: red\ntasks: {}", "here")
