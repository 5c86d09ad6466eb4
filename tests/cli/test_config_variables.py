"""Environment variables in the config files of OpenCompass: values that are not numbers, and tasks that a file lacks, are named."""

from pathlib import Path
from typing import Any

import pytest
from needs import needs

from long_context_tasks.hosts.opencompass.configs import number, whole
from long_context_tasks.schema import InputError

pytestmark = needs("opencompass")

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
EVALS = [path.name for path in sorted(CONFIGS.glob("eval_*.py"))]
MODELS = [f"models/{name}.py" for name in ("lct_model", "lct_vllm", "lct_endpoint")]


@pytest.fixture(autouse=True)
def _checkout() -> None:
    if not CONFIGS.is_dir():
        pytest.skip("an installed package is not a checkout")


def config(name: str) -> Any:
    from mmengine.config import Config

    return Config.fromfile(str(CONFIGS / name), format_python_code=False)


NUMBERS = {
    "eval_synthetic.py": "LCT_N LCT_RUNS LCT_EVAL_GPUS LCT_WORKERS LCT_TEMPERATURE",
    **dict.fromkeys((f"eval_{name}.py" for name in ("ada_leval", "elitr_bench", "ethic", "nano")), "LCT_N"),
    "eval_all.py": "LCT_WORKERS",
    "models/lct_model.py": "LCT_GPUS LCT_BATCH_SIZE LCT_TOP_P",
    "models/lct_endpoint.py": "LCT_BATCH_SIZE LCT_QUERIES_PER_SECOND",
    "models/lct_vllm.py": "LCT_GPUS LCT_BATCH_SIZE",
}


@pytest.mark.parametrize(
    ("file", "variable"), [(file, name) for file, names in NUMBERS.items() for name in names.split()]
)
def test_a_value_that_is_not_a_number_is_named(
    file: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "x")
    if "endpoint" in file:
        monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    with pytest.raises(InputError, match=f"^{variable}=x: give a (whole )?number of .* or leave it out"):
        config(file)
    monkeypatch.setenv(variable, "1")
    assert config(file).to_dict()


def test_numbers_in_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(variable: str, text: str, of: Any, *more: Any) -> Any:
        monkeypatch.setenv(variable, text)
        return of(variable, *more)

    assert [read("LCT_N", text, whole, 5) for text in ("", "7", " 8 ")] == [5, 7, 8]
    assert read("LCT_N", "0", whole, 5, 0) == 0
    for text in ("0", "-1", "1.5", "1e3"):
        with pytest.raises(InputError, match="whole number of 1 or more"):
            read("LCT_N", text, whole, 5)
    assert [read("LCT_TOP_P", text, number, 1, 1) for text in ("0.6", "1")] == [0.6, 1.0]
    for text in ("1.1", "-0.1", "nan", "inf"):
        with pytest.raises(InputError, match=r"LCT_TOP_P=.*number of 0 to 1"):
            read("LCT_TOP_P", text, number, 1, 1)


def test_noisy_synthetic_tasks_run_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in lm-eval; without names only the plain tasks run."""
    plain = [dataset["abbr"] for dataset in config("eval_synthetic.py").datasets]
    assert "elitr_bench_qa_synthetic" in plain and not any("_wer" in name for name in plain)
    names = "elitr_bench_qa_synthetic_wer20,elitr_bench_conv_synthetic_goldhistory_wer40,ethic_recall_medicine_synthetic"
    monkeypatch.setenv("LCT_TASKS", names)
    monkeypatch.setenv("LCT_N", "2")
    found = config("eval_synthetic.py").datasets
    assert [(one["lct_task"], one["lct_n"], one["lct_length"]) for one in found] == [
        (name, 2, "1k") for name in names.split(",")
    ]


@pytest.mark.parametrize(
    "name", ["ada_leval_tsort_any", "elitr_bench_qa_dev_wer20", "ada_leval_bestanswer_2k_synthetic"]
)
def test_other_tasks_are_refused_with_those_of_the_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_TASKS", name)
    with pytest.raises(
        ValueError, match=f"not tasks of this config file: {name}; it has .*elitr_bench_qa_synthetic"
    ):
        config("eval_synthetic.py")


@pytest.mark.parametrize("file", [*EVALS, *MODELS])
def test_a_server_replaces_the_model_of_every_config(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("API_BASE", "http://h/v1"), ("API_MODEL", "m"), ("TOKENIZER", "cl100k")):
        monkeypatch.setenv(f"LCT_{name}", value)
    for kind in ("", "vllm"):
        monkeypatch.setenv("LCT_MODEL_TYPE", kind)
        [model] = config(file).models
        assert (model["path"], model["openai_api_base"]) == ("m", "http://h/v1"), kind


@pytest.mark.parametrize(
    ("file", "variables", "message"),
    [
        ("models/lct_endpoint.py", {}, "no server is named; set LCT_API_BASE"),
        (
            "models/lct_endpoint.py",
            {"LCT_API_BASE": "http://anne:pw@h/v1"},
            "LCT_API_BASE: the address holds a user name",
        ),
        ("models/lct_model.py", {"LCT_MODEL": "./gone"}, "LCT_MODEL ./gone: no such folder"),
        ("models/lct_endpoint.py", {"LCT_API_BASE": "http://h/v1?key=pw"}, "LCT_API_BASE: the address holds"),
        # It would run the demo model, or a local one, under the name of the served model.
        ("eval_synthetic.py", {"LCT_API_MODEL": "owl", "LCT_MODEL_TYPE": ""}, "LCT_API_MODEL=owl: no server"),
        (
            "eval_synthetic.py",
            {"LCT_API_MODEL": "owl", "LCT_MODEL_TYPE": "vllm"},
            "LCT_API_MODEL=owl: no server",
        ),
    ],
)
def test_a_model_that_is_not_there_is_refused(
    file: str, variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message):
        config(file)
