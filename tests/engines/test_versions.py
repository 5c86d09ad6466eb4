"""lm-eval's side with transformers 4.57 and 5, datasets 3 and 5: the same prompts, responses and scores of a small model.

Each pair is installed over what is installed here, in an environment of its own.
"""

import json
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from both_hosts import REPOSITORY
from engine_runs import samples, scores_of
from environments import Environment, run
from tiny_model import demo_model

from long_context_tasks.hosts.lm_eval.task_files import task_folder

pytestmark = pytest.mark.engines

TASKS = ("ada_leval_bestanswer_any_synthetic", "elitr_bench_qa_synthetic")
# pip refuses transformers 4.57 beside datasets 5.2: their requirements conflict.
PAIRS = [("4.57.6", "3.6.0"), ("5.19.0", "3.6.0"), ("5.19.0", "5.2.0")]
VERSIONS = "import datasets, transformers; print(transformers.__version__, datasets.__version__)"


def results(folder: Path, environment: Environment | None) -> dict[str, Any]:
    """Run lm-eval's command; return prompt, responses and scores by case."""
    python = sys.executable if environment is None else str(environment.python)
    run(
        [
            *(python, "-m", "lm_eval", "run", "--model", "hf", "--tasks", ",".join(TASKS), "--apply_chat_template"),
            *("--model_args", f"pretrained={demo_model()},dtype=float32", "--device", "cpu"),
            *("--metadata", json.dumps({"lct_n": 2, "lct_length": "1k"}), "--log_samples", "--output_path", str(folder)),
            *("--include_path", str(task_folder())),
        ],
        PYTHONPATH=str(REPOSITORY), HF_HUB_OFFLINE="1",
    )  # fmt: skip
    return {
        case: (row["arguments"], row["resps"], scores_of(row))
        for task in TASKS
        for case, row in samples(folder, task).items()
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("lm_eval")
    return results(tmp_path_factory.mktemp("here"), None)


@pytest.mark.parametrize(("transformers", "datasets"), PAIRS)
def test_versions_make_no_difference(
    transformers: str, datasets: str, here: dict[str, Any], tmp_path: Path
) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "environment")])
    environment = Environment(tmp_path / "environment")
    environment.pip("install", "-q", f"transformers=={transformers}", f"datasets=={datasets}")
    # Behind its own packages it sees those installed here.
    (environment.site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert environment.run(VERSIONS).split() == [transformers, datasets]
    assert results(tmp_path / "made", environment) == here
