"""ReRoPE and InfLLM as models of both hosts, named apart from the model's own attention."""

from pathlib import Path
from typing import Any

import pytest
from lm_eval_runs import TASK, evaluate

pytestmark = pytest.mark.slow


def test_lm_eval_runs_a_model_with_another_attention(published: Path, tiny: Path) -> None:
    pytest.importorskip("lm_eval")
    arguments = f"pretrained={tiny},attention=rerope,window=64,device=cpu"
    result = evaluate(model="lct_hf", model_args=arguments, limit=2, apply_chat_template=True)
    assert result["config"]["lct_method"] == "rerope_window64"
    assert "rerope_window64" in result["configs"][TASK]["metadata"]["rope"]
    assert [len(sample["resps"]) for sample in result["samples"][TASK]] == [1, 1]


def test_opencompass_runs_a_model_with_another_attention(tiny: Path) -> None:
    pytest.importorskip("opencompass")
    from long_context_tasks.hosts.opencompass.send import applies_chat_template, model_facts
    from long_context_tasks.hosts.opencompass.task import AttentionBaseModel, AttentionModel

    cpu = {"path": str(tiny), "model_kwargs": {"device_map": "cpu"}}
    models: list[Any] = [
        kind(attention={"name": "rerope", "window": 64}, **cpu)
        for kind in (AttentionModel, AttentionBaseModel)
    ]
    assert [applies_chat_template(model) for model in models] == [True, False]
    assert all(model_facts(model)["lct_rope"].endswith("; rerope_window64") for model in models)
    long = "word " * 200
    [text] = models[0].generate([[{"role": "HUMAN", "prompt": long}]], max_out_len=4)
    assert isinstance(text, str)
