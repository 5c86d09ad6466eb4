"""Every benchmark's card is complete, and its files are where the architecture has them."""

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.card import Card
from long_context_tasks.tokens.build_settings import BuildSettings

BENCHMARKS = catalogue.benchmark_names()


def test_no_benchmark_of_this_package_is_broken() -> None:
    assert catalogue.broken_benchmarks() == {} and {"ada_leval", "elitr_bench", "ethic"} <= set(BENCHMARKS)


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
        assert task.headline in card.metrics
        # Tasks of ours have no official rule.
        assert task.official in card.metrics or (task.source, task.official) == ("seed", "")
        assert list(task.lengths) == sorted(task.lengths, key=parse_length)
        assert set(task.bounds) <= set(task.lengths) and set(task.files) <= set(task.lengths)
        assert task.answer_budget > 0 and task.chance
        assert len({variant.name for variant in task.variants}) == len(task.variants)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_builders_are_named_after_their_task(name: str) -> None:
    benchmark = catalogue.benchmark(name)
    for builder in benchmark.builders():
        assert builder.name.startswith(f"{name}_{builder.task}") and builder.task in benchmark.card.tasks
        assert issubclass(builder.settings, BuildSettings)
        assert catalogue.builder(builder.name).task == builder.task


def test_task_names_are_unique_and_parse_back() -> None:
    names = [spec.name for spec in catalogue.task_specs()]
    assert len(names) == len(set(names))
    assert [catalogue.parse_task(name).name for name in names] == names


def test_an_unknown_task_gets_its_neighbours() -> None:
    with pytest.raises(InputError, match="ada_leval_bestanswer_1k"):
        catalogue.parse_task("ada_leval_bestanswer_1kk")


_TASKS = "name: x\ntitle: X\nmetrics: {accuracy: right}\ntasks: {a: {source: seed, headline: %s, chance: 0}}"


def test_the_version_has_two_parts_and_a_task_a_human_baseline() -> None:
    card = Card.parse(_TASKS % "accuracy, human: {score: 0.93, source: 'Doe 2025, Table 2'}", "here")
    assert (card.version, card.interface) == (1, 0) and card.tasks["a"].human.score == 0.93
    for text, parts in (("2", (2, 0)), ("1.3", (1, 3)), ('"1.10"', (1, 10))):
        card = Card.parse(f"{_TASKS % 'accuracy'}\nversion: {text}", "here")
        assert (card.version, card.interface) == parts


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("colour: red\ntasks: {}", "here: unknown key 'colour'"),
        (_TASKS % "accuracy" + "\ncolour: red", "here: unknown key 'colour'"),
        (_TASKS % "accuracy" + "\nversion: 1.x", "here: interface"),
        (_TASKS % "accuracy" + "\ninterface: 2", "second part of version"),
        (_TASKS % "accuracy, human: {score: 93, source: Doe}", "93, outside the scale of accuracy"),
        (_TASKS % "accuracy, human: {score: 0.9}", "source"),
        (_TASKS % "acuracy", "here: task a names the metric 'acuracy'"),
        (_TASKS % "accuracy" + "\ntitle: Y", "here, line 5: its mapping has this key already; remove one"),
        (_TASKS % "accuracy" + "\ndata: {url: u}", "here: data: unknown key 'url'; keys are: base_url"),
        ((_TASKS % "accuracy").replace("0}", "1.2}"), "here: tasks, a, chance must be a number from 0 to 1"),
        ((_TASKS % "accuracy").replace("0}", "0, lengths: [8k, 2k]}"), "tasks, a, lengths must ascend"),
    ],
)
def test_a_misspelt_card_is_refused(card: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Card.parse(card, "here")
