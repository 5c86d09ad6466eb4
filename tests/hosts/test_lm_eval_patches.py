"""What lm-eval does with our tasks before it loads a model and after it has their scores."""

import copy
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judge_server import Answer, judge_server
from lm_eval_runs import TASK
from needs import needs

from long_context_tasks.hosts.lm_eval.patches import _keeping_answers, _refusal_in, apply_patches
from long_context_tasks.hosts.lm_eval.task_files import task_folder
from long_context_tasks.schema import InputError

pytestmark = [needs("lm_eval"), pytest.mark.slow]


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A manager of our tasks in lm-eval's command."""
    from lm_eval.tasks import TaskManager

    apply_patches()
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lm_eval", "run"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    return TaskManager(include_defaults=False, include_path=str(task_folder()), metadata={})


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", [TASK, "ada_leval_bestanswer", "ada_leval"])
def test_missing_data_show_when_the_command_matches_names(manager: Any, name: str) -> None:
    """The command matches names before it loads the model; a group has the data of its members."""
    with pytest.raises(InputError, match="lct data fetch"):
        manager.match_tasks([name])


def test_a_misspelt_name_of_ours_is_refused_with_the_right_one(
    manager: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the command; a folder of tasks may have any name, and lm-eval reports its own tasks itself."""
    with pytest.raises(InputError, match="unknown task ethic_recal; did you mean: ethic_recall,"):
        manager.match_tasks(["ethic_recal"])
    (tmp_path / "ethic_recal").mkdir()
    monkeypatch.chdir(tmp_path)
    for word in ("ethic_recal", "capitals"):
        assert manager.match_tasks([word]) in ([], [word])  # lm-eval 0.5 keeps it


@pytest.mark.usefixtures("published")
def test_a_task_is_loaded_once(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert manager.match_tasks([TASK]) == [TASK]
    task = manager._lct_loaded[TASK]
    assert manager.load([TASK])["tasks"][TASK] is task
    assert manager.load([TASK])["tasks"][TASK] is not task
    for words in (["/usr/bin/a_program"], ["/usr/bin/lm_eval", "validate"]):
        monkeypatch.setattr(sys, "argv", words)
        manager.match_tasks([TASK])
        assert not manager._lct_loaded


@pytest.mark.parametrize(
    ("tasks", "pooled", "mean"),
    [
        # Mean, number of cases, number of scored cases.
        ([(0.5, 10, 4), (1.0, 10, 10)], True, 12 / 14),
        ([(0.5, 10, 4), (1.0, 10, 10)], False, 0.75),
        ([(0.5, 10, 4), (math.nan, 3, 0)], True, 0.5),
        ([(0.5, 10, 4), (math.nan, 3, 0)], False, math.nan),
        ([(1.0, 1, 1), (0.0, 1, 1)], True, 0.5),
        ([(math.nan, 10, 0), (math.nan, 3, 0)], True, math.nan),
    ],
)
def test_the_mean_of_a_pooled_group_is_that_of_its_scored_cases(
    tasks: list[tuple[float, int, int]], pooled: bool, mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lm_eval.api.group import Group
    from lm_eval.config.group import GroupConfig

    apply_patches()
    metrics = [{"metric": "f1", "weight_by_size": pooled, "filter_list": "none"}]
    group = Group.from_config(GroupConfig("both", task=["a", "b"], aggregate_metric_list=metrics))
    monkeypatch.setattr(
        group,
        "get_all_tasks",
        lambda: [SimpleNamespace(task_name=name, _qualified_name=name) for name in "ab"],
    )
    results = {}
    for name, (value, n, n_scored) in zip("ab", tasks, strict=True):
        of_task = {"f1,none": value, "f1_stderr,none": 0.1, "n_scored,none": float(n_scored)}
        results[name] = {"sample_len": n, **of_task}
    numbers = group.aggregate(results)
    assert numbers["f1,none"] == pytest.approx(mean, nan_ok=True)
    assert numbers["sample_len"] == sum(n for _, n, _ in tasks)


@pytest.mark.parametrize(
    "attributes",
    [{"status": None}, {"status": "gone"}, {"response": {"Error": 1}}, {"status": 500, "message": b"x"}],
)
def test_an_error_of_another_library_is_no_refusal(attributes: dict[str, Any]) -> None:
    error = ValueError("x")
    vars(error).update(attributes)
    assert _refusal_in(error) == (0, "")


def test_a_model_at_an_endpoint_can_be_copied_after_a_failure() -> None:
    request = SimpleNamespace(window_is_unchecked=True, args=("x",), task_name="toy")
    with judge_server(lambda *_: Answer()) as server:
        model = SimpleNamespace(base_url=server.url, model="m", header={}, tokenized_requests=False)
        with pytest.raises(AttributeError, match="parse_generations"):  # a model of another library
            _keeping_answers(list)(model, [request])
    assert copy.deepcopy(model) == model
