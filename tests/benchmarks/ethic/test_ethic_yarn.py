"""The model configs with YaRN give what the official script has: factor 4 over an original window of 32,768 tokens."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_model import make_tiny_model

pytestmark = pytest.mark.slow

MODELS = Path(__file__).resolve().parents[3] / "configs" / "models"
SCALING = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}


def opencompass_model(name: str) -> dict[str, Any]:
    pytest.importorskip("opencompass")
    from mmengine.config import Config

    [model] = Config.fromfile(MODELS / f"{name}.py", lazy_import=False).models
    return dict(model)


def lm_eval_file(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((MODELS / f"{name}.yaml").read_text(encoding="utf-8")))


def test_the_same_settings_in_every_file() -> None:
    ours = lm_eval_file("ethic_yarn_lm_eval")["model_args"]
    assert ours["rope_scaling"] == SCALING
    assert ours["max_length"] == ours["max_position_embeddings"] == 4 * 32768
    served = lm_eval_file("ethic_yarn_lm_eval_vllm")["model_args"]
    assert served["hf_overrides"] == {"rope_parameters": SCALING, "max_position_embeddings": 4 * 32768}
    assert served["max_model_len"] == 4 * 32768
    theirs = opencompass_model("ethic_yarn")
    assert dict(theirs["model_kwargs"]["rope_scaling"]) == SCALING
    assert theirs["max_seq_len"] == theirs["model_kwargs"]["max_position_embeddings"] == 4 * 32768
    vllm = opencompass_model("ethic_yarn_vllm")
    assert dict(vllm["model_kwargs"]["hf_overrides"]["rope_parameters"]) == SCALING
    assert vllm["max_seq_len"] == vllm["model_kwargs"]["max_model_len"] == 4 * 32768


def test_a_loaded_model_has_the_longer_window(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM

    tiny = str(make_tiny_model(tmp_path / "tiny", max_position_embeddings=32768))
    arguments = {**lm_eval_file("ethic_yarn_lm_eval")["model_args"], "pretrained": tiny}
    model = HFLM(device="cpu", **arguments)
    plain = HFLM(device="cpu", pretrained=tiny)
    assert (model.max_length, plain.max_length) == (131072, 32768)
    scaled, own = (one.model.model.rotary_emb for one in (model, plain))
    assert scaled.rope_type == "yarn"
    assert scaled.attention_scaling == pytest.approx(0.1 * math.log(4) + 1)
    # Low frequencies are stretched, by the factor at most; the highest stays.
    stretched = own.inv_freq / scaled.inv_freq
    assert stretched[0] == 1 and 2 < stretched[-1] <= 4
