"""The synthetic edition is found by the cards: its group in lm-eval, its config in OpenCompass, every task at one small length."""

from pathlib import Path

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ANY, resolve_options
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.lm_eval.generate import lm_eval_groups, synthetic_tasks
from long_context_tasks.hosts.opencompass.configs import synthetic_datasets
from long_context_tasks.results.plan.cost import expand_tasks
from long_context_tasks.schema import Options

TASKS = synthetic_tasks()


def test_every_benchmark_has_some_and_none_is_by_likelihood() -> None:
    assert {spec.benchmark for spec in TASKS} == set(catalogue.benchmark_names())
    assert all(spec.length in ("", ANY) and "ppl" not in spec.name for spec in TASKS)


def test_the_group_holds_them_all_once() -> None:
    expanded = expand_tasks(["lct_synthetic"], lm_eval_groups())
    assert sorted(expanded) == sorted(spec.name for spec in TASKS)


def test_the_config_runs_them_all() -> None:
    assert [dataset["abbr"] for dataset in synthetic_datasets()] == [spec.name for spec in TASKS]


def test_no_synthetic_task_counts_as_published() -> None:
    official = set(expand_tasks(["lct_official"], lm_eval_groups()))
    assert official and not official & {spec.name for spec in TASKS}


@pytest.mark.parametrize("spec", TASKS, ids=lambda spec: spec.name)
def test_a_task_loads_without_data_and_fits_its_length(
    spec: catalogue.TaskSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    length = 2000
    options = resolve_options({"lct_length": str(length), "lct_n": "2", "lct_seed": "7"}, {})
    task = load_task(spec.name, options)
    assert len(task.cases) == 2 and task.description()["lct_seed"] == 7
    assert task.metrics[0] == spec.headline
    assert all(0.98 * length <= case.num_tokens["cl100k"] <= length for case in task.cases.cases)
    other = load_task(spec.name, Options(length=length, n=2, seed=8))
    first, second = ([one.messages(case) for case in one.cases.cases] for one in (task, other))
    assert not {str(one) for one in first} & {str(one) for one in second}
