"""Tasks on cases from a seed need no length, and their results say which they took."""

import pytest

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options


@pytest.mark.parametrize(
    "name",
    ["ada_leval_bestanswer_any_synthetic", "elitr_bench_qa_synthetic", "ethic_recall_medicine_synthetic"],
)
def test_a_task_from_a_seed_has_8k_tokens_without_a_length(name: str) -> None:
    task = load_task(name, resolve_options({"lct_n": 1}))
    assert task.description()["lct_length"] == 8_000
    [case] = task.cases.cases
    assert 7_600 <= case.num_tokens["cl100k"] <= 8_000
