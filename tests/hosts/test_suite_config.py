"""`configs/eval_all.py` runs any tasks of any benchmark with any of the models; the files for lm-eval are taken by the host."""

import os
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.configs import task_groups
from long_context_tasks.schema import InputError

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
LM_EVAL_FILES = sorted((CONFIGS / "models").glob("*_lm_eval*.yaml"))


def read(folder: Path) -> tuple[Any, str]:
    """As the host does: read, written down in ``folder`` for the task processes, and read again."""
    pytest.importorskip("opencompass")
    from mmengine.config import Config

    dumped = folder / "dumped.py"
    Config.fromfile(str(CONFIGS / "eval_all.py"), format_python_code=False).dump(str(dumped))
    return Config.fromfile(str(dumped), format_python_code=False), dumped.read_text()


def test_everything_official_without_a_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, _ = read(tmp_path)
    official = [task for name in catalogue.benchmark_names() for task in task_groups(name)[f"{name}_gen"]]
    assert [dataset["abbr"] for dataset in config.datasets] == official
    assert config.models[0]["type"].endswith("DemoModel")
    monkeypatch.setenv("LCT_TASKS", "official ada_leval_tsort_2k_ppl,ada_leval_tsort_2k")
    config, _ = read(tmp_path)
    chosen = [dataset["abbr"] for dataset in config.datasets]
    assert chosen[:2] == ["ada_leval_tsort_2k_ppl", "ada_leval_tsort_2k"]
    assert sorted(chosen) == sorted([*official, "ada_leval_tsort_2k_ppl"])


def test_tasks_of_several_benchmarks_in_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "ethic_recall_law",
        "elitr_bench_conv_dev_wer40",
        "ada_leval_tsort_any_synthetic",
        "ethic_single_qa_books",
    ]
    monkeypatch.setenv("LCT_TASKS", ",".join(names))
    monkeypatch.setenv("LCT_RUNS", "3")
    config, text = read(tmp_path)
    assert [dataset["abbr"] for dataset in config.datasets] == names
    assert {(dataset["n"], dataset["k"]) for dataset in config.datasets} == {(3, 3)}
    # Nothing is written down but what runs.
    assert len(text.splitlines()) < 250
    monkeypatch.setenv("LCT_TASKS", "ethic_recall_laws")
    with pytest.raises(InputError, match="did you mean"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("variables", "kind", "name"),
    [
        ({"LCT_MODEL": "a/m"}, "HuggingFacewithChatTemplate", "m"),
        ({"LCT_MODEL": "a/m", "LCT_MODEL_TYPE": "base"}, "HuggingFaceBaseModel", "m"),
        (
            {"LCT_MODEL": "a/m", "LCT_MODEL_TYPE": "vllm", "LCT_TEMPERATURE": "0.5"},
            "VLLMwithChatTemplate",
            "m-vllm_t0.5_p1",
        ),
        ({"LCT_API_BASE": "http://h/v1", "LCT_API_MODEL": "a/m"}, "OpenAISDK", "a_m"),
    ],
)
def test_one_file_for_every_kind_of_model(
    variables: dict[str, str], kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    config, _ = read(tmp_path)
    [model] = config.models
    assert (model["type"].rsplit(".")[-1], model["abbr"]) == (kind, name)


def test_requests_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's threads go by the processors, and it begins one query a second, when it is told nothing."""
    monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    monkeypatch.setenv("LCT_BATCH_SIZE", "48")
    monkeypatch.setenv("LCT_QUERIES_PER_SECOND", "20")
    [model] = read(tmp_path)[0].models
    assert (model["batch_size"], model["max_workers"], model["query_per_second"]) == (48, 48, 20)


@pytest.mark.parametrize("sequential", ["", "1"])
def test_slurm(sequential: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner is built by the host from the config, and makes the srun command from it."""
    for key, value in {
        "LCT_SLURM_PARTITION": "gpu",
        "LCT_SLURM_QOS": "night",
        "LCT_SLURM_ARGS": "--time=12:00:00 -c 8",
        "LCT_SLURM_SEQUENTIAL": sequential,
        "LCT_WORKERS": "4",
        "LCT_GPUS": "2",
        "LCT_MODEL": "a/m",
    }.items():
        monkeypatch.setenv(key, value)
    config, _ = read(tmp_path)
    from opencompass.registry import RUNNERS

    for stage in ("infer", "eval"):
        runner = RUNNERS.build(dict(config[stage]["runner"]))
        assert type(runner).__name__ == ("SlurmSequentialRunner" if sequential else "SlurmRunner")
        assert (runner.partition, runner.qos, runner.quotatype) == ("gpu", "night", None)
        assert (runner.max_num_workers, runner.extra_command) == (4, ["--time=12:00:00", "-c", "8"])
    assert config.infer["partitioner"]["num_worker"] == 4
    assert config.models[0]["run_cfg"]["num_gpus"] == 2


def test_a_job_is_sent_to_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for srun: it writes down what it was asked, and runs it here."""
    pytest.importorskip("opencompass")
    from opencompass.registry import RUNNERS

    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\necho "$@" >> "$SRUN_LOG"\n')
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SRUN_LOG", str(tmp_path / "log"))
    for key, value in {"PARTITION": "gpu", "ARGS": "--time=12:00:00"}.items():
        monkeypatch.setenv(f"LCT_SLURM_{key}", value)
    monkeypatch.setenv("LCT_TASKS", "ada_leval_tsort_2k_synthetic")
    monkeypatch.setenv("LCT_MODEL", "a/m")
    monkeypatch.setenv("LCT_GPUS", "2")
    config, _ = read(tmp_path)
    monkeypatch.chdir(tmp_path)
    from mmengine.config import Config

    one = Config(
        {
            "models": config.models,
            "datasets": [[config.datasets[0]]],
            "work_dir": str(tmp_path / "work"),
            "infer": config.infer,
        }
    )
    runner = RUNNERS.build({**config.infer["runner"], "debug": True, "retry": 0})
    runner.launch([one])
    words = (tmp_path / "log").read_text()
    assert words.startswith("-p gpu --gres=gpu:2 --time=12:00:00 -N1 -u -J")
    assert "openicl_infer.py" in words and "quotatype" not in words


@pytest.mark.parametrize("path", LM_EVAL_FILES, ids=lambda path: path.stem)
def test_lm_eval_takes_every_file(path: Path) -> None:
    pytest.importorskip("lm_eval")
    import lm_eval.models  # noqa: F401 - fills the registry
    from lm_eval._cli.harness import HarnessCLI
    from lm_eval.api.registry import model_registry
    from lm_eval.config.evaluate_config import EvaluatorConfig

    words = [
        "run",
        "--config",
        str(path),
        "--tasks",
        "lct_official",
        "--log_samples",
        "--output_path",
        "results",
    ]
    config = EvaluatorConfig.from_cli(HarnessCLI()._parser.parse_args(words))
    assert config.apply_chat_template is True and config.log_samples and config.tasks
    # Known to the host, also where its package (vLLM) is not installed.
    assert config.model in model_registry
    assert isinstance(config.model_args, dict) and {"pretrained", "model"} & set(config.model_args)
    assert not [name for name in config.model_args if "key" in name or "token" in name]
