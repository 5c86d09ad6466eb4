"""What is recorded of an engine's rotary settings: read from configs of both generations of transformers, and from real models."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_model import make_rope_checkpoint

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
    """An engine whose override of all rotary parameters left out the base."""
    config = SimpleNamespace(rope_parameters=YARN)
    engine = SimpleNamespace(model_config=SimpleNamespace(hf_text_config=config, model=str(checkpoint)))
    with caplog.at_level(logging.WARNING):
        said = describe_rope(SimpleNamespace(model=SimpleNamespace(llm_engine=engine)))
    assert said == "yarn, factor 4, original length 32768, base 10000"
    assert "uses the RoPE base 10000, the checkpoint has 1e+06" in caplog.text
