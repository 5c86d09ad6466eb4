"""The settings in which the papers ran their models, as files that both hosts read."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.elitr_bench.paper import published
from long_context_tasks.benchmarks.elitr_bench.prompts import CONVERSATIONS
from long_context_tasks.hosts.opencompass.configs import dataset, preset
from long_context_tasks.schema import InputError

MODELS = Path(__file__).resolve().parents[2] / "configs" / "models"
FILES = sorted(MODELS.glob("*/*.yaml"))
ELITR = {path.stem: yaml.safe_load(path.read_text()) for path in FILES if path.parent.name == "elitr_bench"}
ADA, ETHIC = ({path.stem for path in FILES if path.parent.name == name} for name in ("ada_leval", "ethic"))


def test_every_model_of_the_papers_has_a_preset() -> None:
    assert set(ELITR) == set(published()["table2"]["rows"])
    # The position embeddings of Table 9 have files in rope/; StreamingLLM is a press, MemoRAG a pipeline (docs/attention.md).
    for benchmark, of_papers in (("ada_leval", ADA), ("ethic", ETHIC)):
        folder = MODELS.parents[1] / "long_context_tasks" / "benchmarks" / benchmark
        figures = yaml.safe_load((folder / "published.yaml").read_text())
        others = ("Random Guess", "Expectation", "StreamingLLM", "MemoRAG")
        named = {name for table in figures["tables"] for name in table.get("rows", {})}
        assert {
            name.replace(" ", "-") for name in named if "," not in name and name not in others
        } == of_papers


@pytest.mark.parametrize(
    "model", [name for name, content in ELITR.items() if "do_sample" in content["gen_kwargs"]]
)
def test_the_configuration_is_the_one_that_the_paper_kept(model: str) -> None:
    gen, options = ELITR[model]["gen_kwargs"], ELITR[model]["metadata"]
    step_1, step_2 = published()["table7"]["retained"], published()["table8"]["retained"]
    if model not in step_2:  # no search was made
        assert (gen, options) == ({"do_sample": False}, {"lct_prompt_style": "chat"})
        return
    style = options["lct_prompt_style"]
    assert style in CONVERSATIONS
    row = (
        "nucleus" if gen["do_sample"] else "greedy",
        "no template" if style == "raw" else "template",
        "markers" if options["lct_question_markers"] else "no markers",
    )
    # Vicuna-13B's step 1 ended with the same row as its step 2 begins.
    assert ", ".join(row) == step_1.get(model, "nucleus, template, markers")
    assert ("penalty" if "repetition_penalty" in gen else "no penalty") == step_2[model]
    if gen["do_sample"]:
        assert (gen["temperature"], gen["top_p"]) == (0.6, 0.9)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_lm_eval_reads_every_preset(path: Path) -> None:
    evaluate_config = pytest.importorskip("lm_eval.config.evaluate_config")
    content = yaml.safe_load(path.read_text())
    read = evaluate_config.EvaluatorConfig.from_config(path)
    assert (read.model, read.model_args, read.gen_kwargs) == (
        content["model"],
        content["model_args"],
        content["gen_kwargs"],
    )
    catalogue.resolve_options(content.get("metadata", {}))


def loaded(monkeypatch: pytest.MonkeyPatch, path: Path, **variables: str) -> dict[str, Any]:
    pytest.importorskip("opencompass")
    for name, value in {"LCT_PRESET": str(path), **variables}.items():
        monkeypatch.setenv(name, value)
    [model] = loaded_file("lct_model")
    return dict(model)


def loaded_file(name: str) -> Any:
    from mmengine.config import Config

    return Config.fromfile(MODELS / f"{name}.py").models


@pytest.mark.slow
def test_opencompass_takes_a_preset_of_a_local_model(monkeypatch: pytest.MonkeyPatch) -> None:
    path = MODELS / "elitr_bench" / "Vicuna-13B-v1.5.yaml"
    model = loaded(monkeypatch, path, LCT_MODEL="/models/vicuna")
    assert (model["abbr"], model["path"], model["max_seq_len"]) == (
        "Vicuna-13B-v1.5",
        "/models/vicuna",
        32768,
    )
    assert "HuggingFaceBaseModel" in str(model["type"])
    assert dict(model["generation_kwargs"]) == ELITR["Vicuna-13B-v1.5"]["gen_kwargs"]
    assert dict(model["model_kwargs"]["rope_scaling"]) == {"rope_type": "linear", "factor": 8.0}
    assert model["model_kwargs"]["torch_dtype"] == "torch.float16"
    monkeypatch.setenv("LCT_QUESTION_MARKERS", "false")
    task = dataset("elitr_bench_qa_dev")
    assert task["lct_prompt_style"] == "vicuna_v1.1" and task["lct_question_markers"] is False
    chat = loaded(monkeypatch, MODELS / "elitr_bench" / "Phi-3-small.yaml", LCT_MODEL="")
    assert "HuggingFacewithChatTemplate" in str(chat["type"]) and chat["model_kwargs"]["trust_remote_code"]


@pytest.mark.slow
def test_opencompass_takes_a_preset_with_another_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded(monkeypatch, MODELS / "rope" / "leaky_rerope.yaml", LCT_MODEL="/models/vicuna")
    assert dict(model["attention"]) == {"name": "leaky_rerope", "window": 512, "factor": 16}
    assert model["type"].endswith("task.AttentionModel") and model["abbr"] == "leaky_rerope"
    assert not {"attention", "window", "factor"} & model["model_kwargs"].keys()
    monkeypatch.delenv("LCT_PRESET")
    monkeypatch.setenv("LCT_ATTENTION", "infllm,n_local=1024")
    monkeypatch.setenv("LCT_WINDOW", "12345")
    [model] = map(dict, loaded_file("lct_model"))
    assert model["max_seq_len"] == 12345
    assert (dict(model["attention"]), model["abbr"]) == (
        {"name": "infllm", "n_local": "1024"},
        "vicuna-infllm_n_local1024",
    )


@pytest.mark.slow
def test_opencompass_takes_a_preset_through_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opencompass")
    monkeypatch.setenv("LCT_PRESET", str(MODELS / "ethic" / "Qwen2.5-7B-Instruct.yaml"))
    [model] = map(dict, loaded_file("lct_vllm"))
    assert (model["abbr"], model["path"], model["max_seq_len"]) == (
        "Qwen2.5-7B-Instruct",
        "Qwen/Qwen2.5-7B-Instruct",
        131072,
    )
    assert model["model_kwargs"]["max_model_len"] == 131072 and model["model_kwargs"]["enable_prefix_caching"]
    assert dict(model["generation_kwargs"]) == {"temperature": 0, "top_p": 1.0}


@pytest.mark.slow
def test_opencompass_takes_a_preset_of_a_served_model(monkeypatch: pytest.MonkeyPatch) -> None:
    path = MODELS / "elitr_bench" / "GPT-4.yaml"
    with pytest.raises(InputError, match="set LCT_API_BASE"):
        loaded(monkeypatch, path)
    model = loaded(monkeypatch, path, LCT_API_BASE="http://h/v1")
    assert (model["path"], model["temperature"]) == ("gpt-4-1106-preview", 0.6)
    assert dict(model["openai_extra_kwargs"]) == {"top_p": 0.9, "seed": 2023}


def test_a_preset_that_cannot_be_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("tasks: []\n")
    for path, message in (
        (tmp_path / "none.yaml", "there is no such file"),
        (tmp_path / "empty.yaml", "names no model"),
        (
            MODELS / "ada_leval" / "Claude-2.yaml",
            "only models of the kinds hf and lct_hf and vllm and openai",
        ),
    ):
        monkeypatch.setenv("LCT_PRESET", str(path))
        with pytest.raises(InputError, match=message):
            preset()
