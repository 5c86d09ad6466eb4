"""Task names: every one parses back, nothing else does."""

import pytest
import yaml

from long_context_tasks.benchmarks.elitr_bench import answers as answer_found
from long_context_tasks.benchmarks.elitr_bench import names, prompts, scoring
from long_context_tasks.schema import InputError

ALL = [*names.task_names(), *names.synthetic_task_names()]


def test_names_are_unique_and_parse_back() -> None:
    assert len({task.name for task in ALL}) == len(ALL)
    assert [names.parse_name(task.name) for task in ALL] == ALL


@pytest.mark.parametrize(
    "name",
    [
        "elitr_bench_qa_test",
        "elitr_bench_qa_test_multiturn",
        "elitr_bench_qa_dev_multiturn_goldhistory_czech_wer100",
        "elitr_bench_conv_test",
        "elitr_bench_conv_dev_goldhistory_wer60",
        "elitr_bench_qa_test_wer20",
        "elitr_bench_qa_test_czech",
        "elitr_bench_qa_synthetic",
        "elitr_bench_conv_synthetic_goldhistory_wer40",
    ],
)
def test_the_names_that_users_type(name: str) -> None:
    assert name in {task.name for task in ALL}


@pytest.mark.parametrize(
    "name",
    [
        "elitr_bench_qa",
        "elitr_bench_qa_test2",
        "elitr_bench_qa_test_goldhistory",
        "elitr_bench_conv_test_multiturn",
        "elitr_bench_qa_test_wer30",
        "elitr_bench_qa_test_wer40_czech",
        "elitr_bench_qa_test_wer200",
        "elitr_bench_qa_test_",
        "elitr_bench_qa_synthetic_czech",
        "elitr_bench_qa_synthetic_multiturn",
        "",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown task .*did you mean: elitr_bench_"):
        names.parse_name(name)


def test_the_card_says_the_same() -> None:
    from importlib.resources import files

    folder = files("long_context_tasks.benchmarks.elitr_bench")
    card = yaml.safe_load((folder / "card.yaml").read_text(encoding="utf-8"))
    assert tuple(card["metrics"]) == (*scoring.METRICS, answer_found.METRIC)
    assert set(scoring.INTERVALS) <= set(scoring.METRICS)
    listed = set()
    for task, row in card["tasks"].items():
        metrics = scoring.SYNTHETIC_METRICS if task.endswith("_synthetic") else scoring.METRICS
        assert row["headline"] == metrics[0] and row["official"] in metrics
        axes: dict[str, list[str]] = {}
        for variant in row["variants"]:
            axes.setdefault(variant["axis"], [""]).append(variant["name"])
        parts = [[f"elitr_bench_{task}"], row.get("splits", [""]), *axes.values()]
        built = [""]
        for part in parts:
            built = [f"{head}_{tail}" if head and tail else head or tail for head in built for tail in part]
        listed |= set(built)
    assert listed == {task.name for task in ALL}
    assert set(prompts.LANGUAGES) == {task.language for task in ALL}
