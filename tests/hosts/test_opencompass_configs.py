"""The generated configs: current, readable by the host from the checkout and from a wheel, nothing secret in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs import needs

from long_context_tasks.benchmarks.catalogue import task_specs
from long_context_tasks.hosts.opencompass.configs import task_groups
from long_context_tasks.hosts.opencompass.generate import opencompass_files
from long_context_tasks.schema import InputError

pytestmark = needs("opencompass")

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = REPOSITORY / "configs"


@pytest.fixture(params=["checkout", "wheel"])
def configs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder in the checkout; a copy under another name in another place, as a wheel has it."""
    if request.param == "checkout":
        return CONFIGS
    return Path(shutil.copytree(CONFIGS, tmp_path / "site-packages" / "long_context_tasks" / "configs"))


def read(path: Path, folder: Path) -> tuple[Any, str]:
    """As the host does: read, written down in ``folder`` for the task processes, and read again."""
    from mmengine.config import Config

    dumped = folder / "dumped.py"
    Config.fromfile(str(path), format_python_code=False).dump(str(dumped))
    return Config.fromfile(str(dumped), format_python_code=False), dumped.read_text()


def test_generating_again_changes_nothing() -> None:
    for path, text in opencompass_files().items():
        assert (REPOSITORY / path).read_text(encoding="utf-8") == text, f"{path} is old: run `lct generate`"


def test_every_task_stands_in_one_file() -> None:
    names = [name for group in task_groups("ada_leval").values() for name in group]
    assert sorted(names) == sorted(spec.name for spec in task_specs() if spec.benchmark == "ada_leval")


def test_by_default_few_synthetic_cases_and_the_demo_model(configs: Path, tmp_path: Path) -> None:
    config, _ = read(configs / "eval_ada_leval.py", tmp_path)
    assert {dataset["lct_n"] for dataset in config.datasets} == {5}
    assert all(dataset["lct_task"].endswith("_synthetic") for dataset in config.datasets)
    assert config.models[0]["type"] == "long_context_tasks.hosts.opencompass.task.DemoModel"
    assert config.summarizer["type"].endswith("CaseSummarizer")


def test_tasks_and_model_from_the_environment(
    configs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "LCT_TASKS", "ada_leval_tsort_2k, ada_leval_bestanswer_1k_front,ada_leval_tsort_2k_ppl"
    )
    monkeypatch.setenv("LCT_MODEL", "/models/tiny-one/")
    monkeypatch.setenv("LCT_WORKERS", "3")
    config, text = read(configs / "eval_ada_leval.py", tmp_path)
    names = ["ada_leval_tsort_2k", "ada_leval_bestanswer_1k_front", "ada_leval_tsort_2k_ppl"]
    assert [dataset["abbr"] for dataset in config.datasets] == names
    assert [dataset["infer_cfg"]["inferencer"]["type"].rsplit(".")[-1] for dataset in config.datasets] == [
        "CaseGenInferencer",
        "CaseGenInferencer",
        "CasePPLInferencer",
    ]
    assert "lct_n" not in config.datasets[0]
    assert config.models[0]["abbr"] == "tiny-one"
    assert config.models[0]["type"].endswith("HuggingFacewithChatTemplate")
    assert config.infer["partitioner"]["num_worker"] == 3
    assert len(text.splitlines()) < 200


def test_repeats_of_a_sampling_model(configs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's own --dataset-num-runs has no effect beside a config file."""
    monkeypatch.setenv("LCT_TASKS", "ada_leval_tsort_2k,ada_leval_bestanswer_1k")
    for name, value in (("RUNS", "3"), ("TEMPERATURE", "0.6"), ("TOP_P", "0.9"), ("MODEL", "/models/tiny")):
        monkeypatch.setenv(f"LCT_{name}", value)
    config, _ = read(configs / "eval_ada_leval.py", tmp_path)
    assert [(dataset["n"], dataset["k"]) for dataset in config.datasets] == [(3, 3), (3, 3)]
    [model] = config.models
    assert model["abbr"] == "tiny_t0.6_p0.9"
    assert model["generation_kwargs"] == {"do_sample": True, "temperature": 0.6, "top_p": 0.9}


def test_official_means_all_published_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_TASKS", "official")
    config, _ = read(CONFIGS / "eval_ada_leval.py", tmp_path)
    assert [dataset["abbr"] for dataset in config.datasets] == task_groups("ada_leval")["ada_leval_gen"]


def test_unknown_tasks_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest names are given; by a dataset file too, whichever stands beside it."""
    from mmengine.config import Config

    monkeypatch.setenv("LCT_TASKS", "ada_leval_tsort_2k,ada_leval_tsort_3k")
    for path in (CONFIGS / "eval_ada_leval.py", CONFIGS / "datasets" / "ada_leval" / "ada_leval_gen.py"):
        with pytest.raises(
            InputError, match=r"LCT_TASKS: unknown task ada_leval_tsort_3k; did you mean.*lct tasks"
        ):
            Config.fromfile(str(path))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("ada_leval_tsort_2k_ppl,ada_leval_tsort_4k", {"ada_leval_ppl": 1, "ada_leval_gen": 1}),
        ("official", {"ada_leval_gen": 18}),
        (
            "official ada_leval_tsort_4k ada_leval_bestanswer_1k_mid",
            {"ada_leval_gen": 18, "ada_leval_variants_gen": 1},
        ),
    ],
)
def test_a_file_takes_only_its_own_tasks(
    given: str, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mmengine.config import Config

    monkeypatch.setenv("LCT_TASKS", given)
    found = {}
    for path in (CONFIGS / "datasets" / "ada_leval").glob("ada_leval_*.py"):
        config = Config.fromfile(str(path))
        ((_, datasets),) = [(key, value) for key, value in config.items() if key.endswith("_datasets")]
        found[path.stem] = len(datasets)
    assert {name: n for name, n in found.items() if n} == expected


@pytest.mark.hosts
def test_tasks_of_another_file_are_not_silently_left_out(tmp_path: Path) -> None:
    """The real command: nothing is left to run, and it says where the task is."""
    command = [
        *(str(Path(sys.executable).with_name("opencompass")), "--datasets", "ada_leval_gen"),
        *("--models", "lct_model", "--config-dir", str(CONFIGS)),
    ]
    environment = {**os.environ, "LCT_TASKS": "ada_leval_tsort_2k_ppl", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NOT RUN: LCT_TASKS names ada_leval_tsort_2k_ppl" in done.stdout
    assert "it is in ada_leval_ppl: opencompass --datasets ada_leval_ppl" in done.stdout


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.py")), ids=lambda path: path.stem)
def test_every_file_reads_and_hides_the_environment(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    if path.stem != "__init__":
        _, text = read(path, tmp_path)
        assert "sk-secret" not in text and "environ" not in text


def test_the_host_takes_our_summarizer_when_none_is_named() -> None:
    import opencompass
    from opencompass.utils.run import match_cfg_file

    theirs = Path(opencompass.__file__).parent / "configs" / "summarizers"
    ((_, path),) = match_cfg_file([str(CONFIGS / "summarizers"), str(theirs)], ["example"])
    assert Path(path).parent == CONFIGS / "summarizers"


@pytest.mark.parametrize(
    "group", [path.stem for path in sorted((CONFIGS / "datasets").rglob("ada_leval_*.py"))]
)
def test_dataset_files_hold_what_their_name_says(group: str) -> None:
    from mmengine.config import Config

    config = Config.fromfile(str(CONFIGS / "datasets" / "ada_leval" / f"{group}.py"))
    ((_, datasets),) = [(key, value) for key, value in config.items() if key.endswith("_datasets")]
    assert [dataset["abbr"] for dataset in datasets] == task_groups("ada_leval")[group]


def test_importing_the_package_loads_no_host() -> None:
    code = "import sys, long_context_tasks, long_context_tasks.hosts.opencompass.generate as g; g.opencompass_files()"
    code += "; assert not {'torch', 'transformers', 'opencompass', 'mmengine'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)
