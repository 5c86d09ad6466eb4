"""Variables of the environment in the config files of OpenCompass: what is no number, and tasks that a file does not hold, are named."""

from pathlib import Path
from typing import Any

import pytest
from needs import needs

from long_context_tasks.hosts.opencompass.configs import number, whole
from long_context_tasks.schema import InputError

pytestmark = needs("opencompass")

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


@pytest.fixture(autouse=True)
def _checkout() -> None:
    if not CONFIGS.is_dir():
        pytest.skip("an installed package is no checkout")


def config(name: str) -> Any:
    from mmengine.config import Config

    return Config.fromfile(str(CONFIGS / name), format_python_code=False)


@pytest.mark.parametrize(
    ("file", "variable"),
    [
        *(
            ("eval_synthetic.py", name)
            for name in ("LCT_N", "LCT_RUNS", "LCT_EVAL_GPUS", "LCT_WORKERS", "LCT_TEMPERATURE")
        ),
        *((f"eval_{name}.py", "LCT_N") for name in ("ada_leval", "elitr_bench", "ethic", "nano")),
        ("eval_all.py", "LCT_WORKERS"),
        *(("models/lct_model.py", name) for name in ("LCT_GPUS", "LCT_BATCH_SIZE", "LCT_TOP_P")),
        *(("models/lct_endpoint.py", name) for name in ("LCT_BATCH_SIZE", "LCT_QUERIES_PER_SECOND")),
        *(("models/lct_vllm.py", name) for name in ("LCT_GPUS", "LCT_BATCH_SIZE")),
    ],
)
def test_what_is_no_number_is_named(file: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
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

    for text, value in {"": 5, "7": 7, " 8 ": 8}.items():
        assert read("LCT_N", text, whole, 5) == value
    assert read("LCT_N", "0", whole, 5, 0) == 0
    for text in ("0", "-1", "1.5", "1e3"):
        with pytest.raises(InputError, match="whole number of 1 or more"):
            read("LCT_N", text, whole, 5)
    for text, value in {"0.6": 0.6, "1": 1.0}.items():
        assert read("LCT_TOP_P", text, number, 1, 1) == value
    for text in ("1.1", "-0.1", "nan", "inf"):
        with pytest.raises(InputError, match=r"LCT_TOP_P=.*number of 0 to 1"):
            read("LCT_TOP_P", text, number, 1, 1)


def test_noisy_synthetic_tasks_run_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in lm-eval; out of the box there are the plain ones alone."""
    plain = [dataset["abbr"] for dataset in config("eval_synthetic.py").datasets]
    assert "elitr_bench_qa_synthetic" in plain and not any("_wer" in name for name in plain)
    names = [
        "elitr_bench_qa_synthetic_wer20",
        "elitr_bench_conv_synthetic_goldhistory_wer40",
        "ethic_recall_medicine_synthetic",
    ]
    monkeypatch.setenv("LCT_TASKS", ",".join(names))
    monkeypatch.setenv("LCT_N", "2")
    found = config("eval_synthetic.py").datasets
    assert [(one["lct_task"], one["lct_n"], one["lct_length"]) for one in found] == [
        (name, 2, "1k") for name in names
    ]


@pytest.mark.parametrize(
    "name", ["ada_leval_tsort_any", "elitr_bench_qa_dev_wer20", "ada_leval_bestanswer_2k_synthetic"]
)
def test_other_tasks_are_refused_with_what_there_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_TASKS", name)
    with pytest.raises(
        ValueError, match=f"not tasks of this config file: {name}; it has .*elitr_bench_qa_synthetic"
    ):
        config("eval_synthetic.py")


@pytest.mark.parametrize(
    "file",
    [
        *sorted(path.name for path in CONFIGS.glob("eval_*.py")),
        *(f"models/{name}.py" for name in ("lct_model", "lct_vllm", "lct_endpoint")),
    ],
)
def test_a_server_stands_in_for_the_model_of_every_config(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    monkeypatch.setenv("LCT_API_MODEL", "m")
    monkeypatch.setenv("LCT_TOKENIZER", "t")
    for kind in ("", "vllm"):
        monkeypatch.setenv("LCT_MODEL_TYPE", kind)
        [model] = config(file).models
        assert (model["path"], model["openai_api_base"]) == ("m", "http://h/v1"), kind
    monkeypatch.setenv("LCT_MODEL_TYPE", "")
    preset = next(
        path for path in sorted((CONFIGS / "models").glob("*/*.yaml")) if "model: hf" in path.read_text()
    )
    monkeypatch.setenv("LCT_PRESET", str(preset))
    with pytest.raises(InputError, match="LCT_API_BASE names a server; leave out one"):
        config(file)


def test_the_config_of_a_server_names_no_server_of_its_own() -> None:
    with pytest.raises(InputError, match="no server is named; set LCT_API_BASE"):
        config("models/lct_endpoint.py")


@pytest.mark.parametrize("kind", ["", "vllm"])
def test_a_served_model_without_a_server_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would run the demo model, or a local one, under no name of the caller's."""
    monkeypatch.setenv("LCT_API_MODEL", "owl")
    monkeypatch.setenv("LCT_MODEL_TYPE", kind)
    with pytest.raises(InputError, match="LCT_API_MODEL=owl: no server is named; set LCT_API_BASE"):
        config("eval_synthetic.py")
