"""Task names: every one parses back, nothing else does."""

import pytest

from long_context_tasks.benchmarks.elitr_bench.task import parse_name
from long_context_tasks.schema import InputError


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("qa_test", ("test", False, False, "english", None)),
        ("qa_test_multiturn", ("test", True, False, "english", None)),
        ("qa_dev_multiturn_goldhistory_czech_wer100", ("dev", True, True, "czech", 100)),
        ("conv_test", ("test", True, False, "english", None)),
        ("conv_dev_goldhistory_wer60", ("dev", True, True, "english", 60)),
        ("qa_test_czech", ("test", False, False, "czech", None)),
        ("qa_synthetic", ("", False, False, "english", None)),
        ("conv_synthetic_goldhistory_wer40", ("", True, True, "english", 40)),
    ],
)
def test_task_names_are_parsed(name: str, said: tuple[object, ...]) -> None:
    task = parse_name(f"elitr_bench_{name}")
    assert (task.split, task.conversation, task.gold_history, task.language, task.wer) == said
    assert (task.source == "seed") is ("synthetic" in name)


@pytest.mark.parametrize(
    "name",
    [
        "qa",
        "qa_test2",
        "qa_test_goldhistory",
        "conv_test_multiturn",
        "qa_test_wer30",
        "qa_test_wer40_czech",
        "qa_test_wer200",
        "qa_test_",
        "qa_synthetic_czech",
        "qa_synthetic_multiturn",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown task .*did you mean: elitr_bench_"):
        parse_name(f"elitr_bench_{name}")
