"""What is recorded of an engine's rotary settings: read from configs of both generations of transformers, and from real models."""

import logging
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tiny_model import make_rope_checkpoint

from long_context_tasks.attention.models import use_attention
from long_context_tasks.hosts.rope import describe_rope, own_base, rope_settings

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"rope_theta": 5e5, "rope_scaling": None}, {"": ("default", 5e5)}),
        # transformers 4 takes the base of the config, whatever the scaling names.
        ({"rope_theta": 1e6, "rope_scaling": {**YARN, "rope_theta": 1e4}}, {"": ("yarn", 1e6)}),
        ({"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 2.0}}, {"": ("linear", 1e6)}),
        ({"rope_parameters": {**YARN, "rope_theta": 1e6}, "rope_theta": 1e4}, {"": ("yarn", 1e6)}),
        ({"rope_parameters": YARN}, {"": ("yarn", 1e4)}),
        (
            {"rope_parameters": {"full": {"rope_type": "default", "rope_theta": 1e6}, "sliding": {"rope_theta": 1e4}}},
            {"full": ("default", 1e6), "sliding": ("default", 1e4)},
        ),
        ({"position_embedding_type": "absolute"}, {}),
    ],
)  # fmt: skip
def test_settings_of_a_config(config: dict[str, Any], wanted: dict[str, tuple[str, float]]) -> None:
    found = rope_settings(SimpleNamespace(**config))
    assert {kind: (one["rope_type"], one["rope_theta"]) for kind, one in found.items()} == wanted


@pytest.fixture(scope="module", params=["Llama", "Qwen2"])
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return make_rope_checkpoint(tmp_path_factory.mktemp(request.param), request.param)


def test_a_loaded_model_shows_type_factor_length_and_base(
    checkpoint: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(checkpoint, rope_scaling=YARN)
    assert describe_rope(SimpleNamespace(model=model)) == "yarn, factor 4, original length 32768, base 1e+06"
    assert describe_rope(SimpleNamespace(model="another engine")) == describe_rope(None) == ""
    assert not caplog.records
    assert (own_base(str(checkpoint), 7.0), own_base("no/checkpoint", 7.0)) == (1e6, 7.0)


def test_a_lost_base_is_warned_of(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = SimpleNamespace(rope_parameters=YARN)
    engine = SimpleNamespace(model_config=SimpleNamespace(hf_text_config=config, model=str(checkpoint)))
    with caplog.at_level(logging.WARNING):
        said = describe_rope(SimpleNamespace(model=SimpleNamespace(llm_engine=engine)))
    assert said == "yarn, factor 4, original length 32768, base 10000"
    assert "uses the RoPE base 10000, the checkpoint has 1e+06" in caplog.text


# Files of configs/models/rope give a model the type, factor, original length and base that they name.
ROPE = Path(__file__).resolve().parents[2] / "configs" / "models" / "rope"
BASE, FACTOR = 1e6, 4.0  # the base of the checkpoint, not that of the file
OFFICIAL_YARN = {
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
    "rope_theta": 1e6,
}
# File to type, factor, original length, and window of the model's config.
WANTED = {
    "linear": ("linear", FACTOR, None, 16384),
    "dynamic": ("dynamic", FACTOR, None, 32768),
    "yarn": ("yarn", FACTOR, 32768, 131072),
}


def model_args(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROPE / f"{name}.yaml").read_text(encoding="utf-8"))["model_args"])


@pytest.mark.parametrize("name", WANTED)
def test_a_built_model_has_the_settings_of_the_file(name: str, checkpoint: Path) -> None:
    from transformers import AutoModelForCausalLM

    kind, factor, original, window = WANTED[name]
    given = {
        key: model_args(name)[key]
        for key in ("rope_scaling", "max_position_embeddings")
        if key in model_args(name)
    }
    # Transformers 5 takes the base from here, 4 from the checkpoint.
    given["rope_scaling"]["rope_theta"] = BASE
    model = AutoModelForCausalLM.from_pretrained(checkpoint, **given)
    found = rope_settings(model.config)[""]
    assert (found["rope_type"], found["factor"], found.get("original_max_position_embeddings")) == (
        kind,
        factor,
        original,
    )
    assert (found["rope_theta"], model.config.max_position_embeddings) == (BASE, window)
    assert model.model.rotary_emb.rope_type == kind
    slowest = BASE ** -(7 / 8)  # of a head of size 16
    assert model.model.rotary_emb.inv_freq[-1] == pytest.approx(
        slowest / (1 if kind == "dynamic" else factor), rel=1e-3
    )


def test_yarn_is_that_of_the_official_script() -> None:
    assert model_args("yarn")["rope_scaling"] == OFFICIAL_YARN
    served = model_args("yarn_vllm")
    assert served["hf_overrides"] == {"rope_parameters": OFFICIAL_YARN, "max_position_embeddings": 131072}
    for name in ("Qwen2.5-7B-Instruct", "Qwen2.5-72B-Instruct"):
        preset = yaml.safe_load((ROPE.parent / "ethic" / f"{name}.yaml").read_text(encoding="utf-8"))
        assert preset["model_args"]["hf_overrides"] == served["hf_overrides"]


def test_ntk_aware_rope_is_rope_with_a_larger_base(checkpoint: Path) -> None:
    """In transformers by the frequencies, in vLLM by the base: both give base * factor ** (d / (d - 2))."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    assert use_attention(model, "ntk", {"factor": model_args("ntk")["factor"]}) == "ntk_factor4"
    base = BASE * FACTOR ** (16 / 14)
    assert model.model.rotary_emb.inv_freq.tolist() == pytest.approx([base ** (-i / 8) for i in range(8)])
    served = model_args("ntk_vllm")["hf_overrides"]["rope_parameters"]
    assert served["rope_theta"] == pytest.approx(1e4 * math.pow(4, 128 / 126))
