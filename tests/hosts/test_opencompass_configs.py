"""The configs: current, readable by the host from the checkout and from a wheel, nothing secret in them; any task with any model."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from preloaded import host_ended

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.messages import _warn_of_long_answers
from long_context_tasks.hosts.opencompass.configs import datasets, task_groups
from long_context_tasks.schema import InputError

pytestmark = [needs("opencompass"), pytest.mark.slow]

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = REPOSITORY / "configs"
DATASET_FILES = sorted((CONFIGS / "datasets" / "ada_leval").glob("ada_leval_*.py"))
LM_EVAL_FILES = sorted((CONFIGS / "models").glob("*_lm_eval*.yaml"))
Read = Callable[..., tuple[Any, str]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a config as the host does, after it has written it down for the task processes; and what it has written."""

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "m").mkdir(parents=True)  # a model
    (tmp_path / "a" / "m" / "config.json").write_text("{}")

    def read(name: str | Path, **variables: str) -> tuple[Any, str]:
        from mmengine.config import Config

        for key, value in variables.items():
            monkeypatch.setenv(f"LCT_{key}", value)
        dumped = tmp_path / "dumped.py"
        Config.fromfile(str(CONFIGS / name), format_python_code=False).dump(str(dumped))
        return Config.fromfile(str(dumped), format_python_code=False), dumped.read_text()

    return read


def names(config: Any) -> list[str]:
    return [dataset["abbr"] for dataset in config.datasets]


def datasets_of(path: Path) -> list[str]:
    from mmengine.config import Config

    ((_, datasets),) = [(k, v) for k, v in Config.fromfile(str(path)).items() if k.endswith("_datasets")]
    return [dataset["abbr"] for dataset in datasets]


def test_every_task_stands_in_one_file() -> None:
    grouped = [name for group in task_groups("ada_leval").values() for name in group]
    specs = catalogue.task_specs()
    assert sorted(grouped) == sorted(spec.name for spec in specs if spec.benchmark == "ada_leval")
    assert {path.stem: datasets_of(path) for path in DATASET_FILES} == task_groups("ada_leval")


@pytest.mark.parametrize("wheel", [False, True])
def test_by_default_few_synthetic_cases_and_the_demo_model(read: Read, wheel: bool, tmp_path: Path) -> None:
    """Also from a copy under another name in another place, as a wheel has it."""
    place = tmp_path / "site-packages" / "long_context_tasks" / "configs"
    configs = Path(shutil.copytree(CONFIGS, place)) if wheel else CONFIGS
    config, _ = read(configs / "eval_ada_leval.py")
    assert {dataset["lct_n"] for dataset in config.datasets} == {4}
    assert all(dataset["lct_task"].endswith("_synthetic") for dataset in config.datasets)
    [*walks] = read(configs / "eval_graph_walks.py")[0].datasets
    # Two kinds of tasks on texts of 2k, too, would take longer than two minutes.
    assert [each["abbr"] for each in walks] == [
        f"graph_walks_{kind}_1k_synthetic" for kind in ("bfs", "parents")
    ]
    assert {dataset["lct_answer_budget"] for dataset in walks} == {64}
    [*walks] = read(configs / "eval_graph_walks.py", ANSWER_BUDGET="9")[0].datasets
    assert {dataset["lct_answer_budget"] for dataset in walks} == {9}
    assert config.models[0]["type"] == "long_context_tasks.hosts.opencompass.task.DemoModel"
    assert config.summarizer["type"].endswith("CaseSummarizer")


def test_a_length_that_no_task_takes_is_refused(
    read: Read, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed, free = "ada_leval_bestanswer_1k_synthetic", "ada_leval_bestanswer_any_synthetic"
    with pytest.raises(InputError, match=f"{fixed} has a fixed length; leave out LCT_LENGTH, or name {free}"):
        read("eval_ada_leval.py", TASKS=fixed, LENGTH="2k")
    monkeypatch.setenv("LCT_TASKS", fixed)
    monkeypatch.setenv("LCT_LENGTH", "2k")
    with pytest.raises(InputError, match=f"{fixed} has a fixed length"):
        datasets("ada_leval_synthetic_gen")
    read("eval_ada_leval.py", TASKS=fixed, LENGTH="1k")
    read("eval_ada_leval.py", TASKS=free, LENGTH="2k")
    assert "fixed length" not in caplog.text
    read("eval_ada_leval.py", TASKS=f"{fixed},{free}", LENGTH="2k")
    assert f"tasks of a fixed length ignore LCT_LENGTH: {fixed}" in caplog.messages


def test_the_terminal_announces_a_trial_and_long_answers(
    read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_of_long_answers.cache_clear()
    config, _ = read("eval_ada_leval.py")
    [trial] = caplog.messages
    assert "trial with 4 cases of each of ada_leval_bestanswer_" in trial and "LCT_TASKS" in trial
    # Equal to the default of the task, so other hosts' runs have the same settings.
    assert not any("lct_answer_budget" in dataset for dataset in config.datasets)
    caplog.clear()
    read("eval_ethic.py")
    assert len(caplog.messages) == 1  # the demo model's answers are short
    read("eval_ethic.py", TASKS="ethic_recall_medicine_synthetic", LENGTH="1k", MODEL="a/m")
    assert "may write up to 4,096 tokens" in caplog.messages[-1] and len(caplog.messages) == 2


def test_tasks_model_and_repeats_from_the_environment(read: Read, tmp_path: Path) -> None:
    """The host's own --dataset-num-runs has no effect beside a config file."""
    tasks = ["ada_leval_tsort_2k", "ada_leval_bestanswer_1k_front", "ada_leval_tsort_2k_ppl"]
    model = tmp_path / "tiny-one"
    model.mkdir()
    (model / "config.json").write_text("{}")
    config, text = read("eval_ada_leval.py", TASKS=", ".join(tasks), MODEL=f"{model}/", WORKERS="3", RUNS="2")
    assert names(config) == tasks and "lct_n" not in config.datasets[0]
    inferencers = [dataset["infer_cfg"]["inferencer"]["type"] for dataset in config.datasets]
    assert [name.rsplit(".")[-1] for name in inferencers] == [*["CaseGenInferencer"] * 2, "CasePPLInferencer"]
    assert {(dataset["n"], dataset["k"]) for dataset in config.datasets} == {(2, 2)}
    assert config.models[0]["abbr"] == "tiny-one"
    assert config.models[0]["type"].endswith("HuggingFacewithChatTemplate")
    assert config.infer["partitioner"]["num_worker"] == 3
    # Nothing is written down but what runs.
    assert len(text.splitlines()) < 200
    assert "lct_answer_budget" not in read("eval_graph_walks.py", TASKS="")[0].datasets[0]
    [warm] = read("eval_ada_leval.py", TEMPERATURE="0.6", TOP_P="0.9")[0].models
    assert warm["abbr"] == "tiny-one_t0.6_p0.9"
    assert warm["generation_kwargs"] == {"do_sample": True, "temperature": 0.6, "top_p": 0.9}


def test_a_variant_as_an_option_is_part_of_the_name(read: Read) -> None:
    published_task = "ada_leval_bestanswer_1k"
    config, _ = read("eval_ada_leval.py", TASKS=published_task, VARIANT="front")
    assert names(config) == [f"{published_task}_front"]
    assert [dataset["lct_task"] for dataset in config.datasets] == names(config)
    with pytest.raises(
        InputError, match="ada_leval_tsort_2k has no lct_variant=front; there are: recast, ppl"
    ):
        read("eval_ada_leval.py", TASKS="ada_leval_tsort_2k", VARIANT="front")


def test_official_means_all_published_lengths(read: Read) -> None:
    published = task_groups("ada_leval")["ada_leval_gen"]
    assert names(read("eval_ada_leval.py", TASKS="official")[0]) == published


def test_unknown_tasks_are_named(read: Read) -> None:
    for path in ("eval_ada_leval.py", "eval_all.py", "datasets/ada_leval/ada_leval_gen.py"):
        with pytest.raises(
            InputError, match=r"LCT_TASKS: unknown task ada_leval_tsort_3k; did you mean.*lct tasks"
        ):
            read(path, TASKS="ada_leval_tsort_2k,ada_leval_tsort_3k")


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
    monkeypatch.setenv("LCT_TASKS", given)
    found = {path.stem: len(datasets_of(path)) for path in DATASET_FILES}
    assert {name: n for name, n in found.items() if n} == expected


@pytest.mark.hosts
def test_tasks_of_another_file_are_not_silently_left_out(tmp_path: Path) -> None:
    words = [
        "opencompass",
        "--datasets",
        "ada_leval_gen",
        "--models",
        "lct_model",
        "--config-dir",
        str(CONFIGS),
    ]
    code, output = host_ended(words, tmp_path, {"LCT_TASKS": "ada_leval_tsort_2k_ppl"})
    assert code == 1
    assert "NOT RUN: LCT_TASKS names ada_leval_tsort_2k_ppl" in output
    assert "it is in ada_leval_ppl: opencompass --datasets ada_leval_ppl" in output


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(CONFIGS.rglob("*.py"))
        if path.stem != "__init__" and path.parent.name != "inspect"
    ],
    ids=lambda path: path.stem,
)
def test_every_file_reads_has_tasks_and_hides_the_environment(
    path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    if path.stem == "lct_endpoint":
        monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    config, text = read(path)
    assert "sk-secret" not in text and "environ" not in text
    assert not path.stem.startswith("eval_") or config.datasets


def test_the_host_takes_our_summarizer_when_none_is_named() -> None:
    import opencompass
    from opencompass.utils.run import match_cfg_file

    theirs = Path(opencompass.__file__).parent / "configs" / "summarizers"
    ((_, path),) = match_cfg_file([str(CONFIGS / "summarizers"), str(theirs)], ["example"])
    assert Path(path).parent == CONFIGS / "summarizers"


def test_the_whole_suite_runs_everything_official_or_any_choice(read: Read) -> None:
    official = [
        task for name in catalogue.benchmark_names() for task in task_groups(name).get(f"{name}_gen", ())
    ]
    config, _ = read("eval_all.py")
    assert names(config) == official and config.models[0]["type"].endswith("DemoModel")
    first = ["ada_leval_tsort_2k_ppl", "ada_leval_tsort_2k"]
    found = names(read("eval_all.py", TASKS=f"official {','.join(first)}")[0])
    assert found[:2] == first and sorted(found) == sorted([*official, first[0]])
    tasks = ["ethic_recall_law", "elitr_bench_conv_dev_wer40", "ada_leval_bestanswer_any_synthetic"]
    config, text = read("eval_all.py", TASKS=",".join(tasks), RUNS="3")
    assert names(config) == tasks and len(text.splitlines()) < 250
    assert {(dataset["n"], dataset["k"]) for dataset in config.datasets} == {(3, 3)}


@pytest.mark.parametrize(
    ("variables", "kind", "name"),
    [
        ({"MODEL": "a/m"}, "HuggingFacewithChatTemplate", "m"),
        ({"MODEL": "a/m", "MODEL_TYPE": "base"}, "HuggingFaceBaseModel", "m"),
        (
            {"MODEL": "a/m", "MODEL_TYPE": "vllm", "TEMPERATURE": "0.5"},
            "VLLMwithChatTemplate",
            "m-vllm_t0.5_p1",
        ),
        ({"API_BASE": "http://h/v1", "API_MODEL": "a/m"}, "OpenAISDK", "a_m"),
    ],
)
def test_one_file_for_every_kind_of_model(
    variables: dict[str, str], kind: str, name: str, read: Read
) -> None:
    [model] = read("eval_all.py", **variables)[0].models
    assert (model["type"].rsplit(".")[-1], model["abbr"]) == (kind, name)


def test_another_attention_is_part_of_the_name(read: Read) -> None:
    variables = {"MODEL": "a/m", "ATTENTION": "infllm,n_local=1024", "WINDOW": "12345"}
    [model] = read("models/lct_model.py", **variables)[0].models
    assert model["type"].endswith("task.AttentionModel") and model["max_seq_len"] == 12345
    assert dict(model["attention"]) == {"name": "infllm", "n_local": "1024"}
    assert model["abbr"] == "m-infllm_n_local1024"


def test_a_model_may_be_in_a_subfolder(read: Read, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "latest").symlink_to(tmp_path / "a" / "m")
    assert read("models/lct_model.py", MODEL=str(tmp_path / "all"))[0].models[0]["abbr"] == "all"


def test_requests_side_by_side(read: Read) -> None:
    """The host's threads go by the processors, and it begins one query a second, by default."""
    variables = {"API_BASE": "http://h/v1", "BATCH_SIZE": "48", "QUERIES_PER_SECOND": "20"}
    [model] = read("eval_all.py", **variables)[0].models
    assert (model["batch_size"], model["max_workers"], model["query_per_second"]) == (48, 48, 20)


SLURM = {"SLURM_PARTITION": "gpu", "SLURM_ARGS": "--time=12:00:00 -c 8", "MODEL": "a/m", "GPUS": "2"}


@pytest.mark.parametrize("sequential", ["", "1"])
def test_slurm(sequential: str, read: Read) -> None:
    from opencompass.registry import RUNNERS

    more = {"SLURM_QOS": "night", "SLURM_SEQUENTIAL": sequential, "WORKERS": "4"}
    config, _ = read("eval_ethic.py", **SLURM, **more)
    for stage in ("infer", "eval"):
        runner = RUNNERS.build(dict(config[stage]["runner"]))
        assert type(runner).__name__ == ("SlurmSequentialRunner" if sequential else "SlurmRunner")
        assert (runner.partition, runner.qos, runner.max_num_workers) == ("gpu", "night", 4)
    assert config.infer["partitioner"]["num_worker"] == 4


def test_a_job_is_sent_to_slurm(tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    from mmengine.config import Config
    from opencompass.registry import RUNNERS

    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\necho "$@" >> "$SRUN_LOG"\n')
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SRUN_LOG", str(tmp_path / "log"))
    monkeypatch.chdir(tmp_path)
    config, _ = read("eval_all.py", **SLURM, TASKS="ada_leval_bestanswer_2k_synthetic")
    job = {"models": config.models, "datasets": [[config.datasets[0]]], "infer": config.infer}
    runner = RUNNERS.build({**config.infer["runner"], "debug": True, "retry": 0})
    runner.launch([Config({**job, "work_dir": str(tmp_path / "work")})])
    words = (tmp_path / "log").read_text()
    assert words.startswith("-p gpu --gres=gpu:2 --time=12:00:00 -c 8 -N1 -u -J")
    assert "openicl_infer.py" in words and "quotatype" not in words


@pytest.mark.parametrize("path", LM_EVAL_FILES, ids=lambda path: path.stem)
def test_lm_eval_takes_every_file(path: Path) -> None:
    pytest.importorskip("lm_eval")
    import lm_eval.models  # noqa: F401 - fills the registry
    from lm_eval._cli.harness import HarnessCLI
    from lm_eval.api.registry import model_registry
    from lm_eval.config.evaluate_config import EvaluatorConfig

    words = f"run --config {path} --tasks lct_official --log_samples --output_path results".split()
    config = EvaluatorConfig.from_cli(HarnessCLI()._parser.parse_args(words))
    assert config.apply_chat_template is True and config.log_samples and config.tasks
    # Known to the host, also where its package (vLLM) is not installed.
    assert config.model in model_registry
    assert isinstance(config.model_args, dict) and {"pretrained", "model"} & set(config.model_args)
    assert not [name for name in config.model_args if "key" in name or "token" in name]
