"""A judge on plain transformers: its draws depend on seed, attempt and prompt, not on the batch."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")

from tiny_model import make_tiny_model

from long_context_tasks.judges import Generate, GenerateSettings, JudgeConfig
from long_context_tasks.judges.local import load_hf_judge
from long_context_tasks.schema import InputError, Message

PROMPTS = [
    (Message("user", text),) for text in ("Judge this.", "Judge that, which is a little longer.", "And this?")
]
SETTINGS = GenerateSettings(0.8, 0.9, 12, 2023, 0, None, 3)


@pytest.fixture(scope="module")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Generate:
    folder = make_tiny_model(tmp_path_factory.mktemp("judge") / "model", 512)
    return load_hf_judge(JudgeConfig(model=str(folder), kind="local"), device="cpu")


def test_draws_do_not_depend_on_the_batch(generate: Generate) -> None:
    together = generate(PROMPTS, SETTINGS)
    assert together == generate(PROMPTS, replace(SETTINGS, batch_size=1))
    assert together[1:] == generate(PROMPTS[1:], SETTINGS)
    assert len(set(together)) == 3


def test_seed_attempt_and_settings_choose_the_draw(generate: Generate) -> None:
    first = generate(PROMPTS, SETTINGS)
    assert generate(PROMPTS, replace(SETTINGS, seed=2024)) != first
    assert generate(PROMPTS, replace(SETTINGS, attempt=1)) != first
    greedy = generate(PROMPTS, replace(SETTINGS, temperature=0.0))
    assert greedy == generate(PROMPTS, replace(SETTINGS, temperature=0.0, seed=1))
    # A nucleus of one token is the greedy choice at any temperature.
    assert greedy == generate(PROMPTS, replace(SETTINGS, top_p=1e-9))
    assert generate(PROMPTS, replace(SETTINGS, prompt_template="[INST] {prompt} [/INST]")) != first


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        load_hf_judge(JudgeConfig(model=str(tmp_path / "none"), kind="local"))
