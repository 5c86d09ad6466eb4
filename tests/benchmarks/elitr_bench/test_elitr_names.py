"""Task names: every one parses back, nothing else does."""

import pytest

from long_context_tasks.benchmarks.catalogue import card, task_specs
from long_context_tasks.benchmarks.elitr_bench import names, scoring
from long_context_tasks.schema import InputError

SPECS = [spec for spec in task_specs() if spec.benchmark == "elitr_bench"]
ALL = [names.TaskName.of(spec) for spec in SPECS]


def test_names_are_unique_and_parse_back() -> None:
    assert [task.name for task in ALL] == [spec.name for spec in SPECS]
    assert len(set(ALL)) == len(ALL) == 138
    assert [names.parse_name(task.name) for task in ALL] == ALL


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("qa_test", names.TaskName(False, "test", False)),
        ("qa_test_multiturn", names.TaskName(False, "test", True)),
        (
            "qa_dev_multiturn_goldhistory_czech_wer100",
            names.TaskName(False, "dev", True, gold_history=True, czech=True, wer=100),
        ),
        ("conv_test", names.TaskName(True, "test", True)),
        ("conv_dev_goldhistory_wer60", names.TaskName(True, "dev", True, gold_history=True, wer=60)),
        ("qa_test_czech", names.TaskName(False, "test", False, czech=True)),
        ("qa_synthetic", names.TaskName(False, "synthetic", False)),
        ("conv_synthetic_goldhistory_wer40", names.TaskName(True, "synthetic", True, True, wer=40)),
    ],
)
def test_what_the_names_that_users_type_say(name: str, task: names.TaskName) -> None:
    assert names.parse_name(f"elitr_bench_{name}") == task


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
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown task .*did you mean: elitr_bench_"):
        names.parse_name(name)


def test_the_card_has_the_metrics_of_scoring() -> None:
    held = card("elitr_bench")
    assert set(held.metrics) == set(scoring.SYNTHETIC_METRICS)
    assert set(scoring.INTERVALS) <= set(scoring.METRICS)
    for task, row in held.tasks.items():
        metrics = scoring.SYNTHETIC_METRICS if task.endswith("_synthetic") else scoring.METRICS
        assert row.headline == metrics[0] and row.official in metrics
    assert {"english", "czech"} == {task.language for task in ALL}
