"""A judge on plain transformers: its draws depend on seed, attempt and prompt, not on the batch."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")

from tiny_model import make_tiny_model
from transformers import AutoTokenizer

from long_context_tasks.judges import Generate, GenerateSettings, JudgeConfig, local_vllm
from long_context_tasks.judges.local import check_local_judge, load_hf_judge, load_local_judge
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


def test_vllm_is_asked_as_transformers_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM itself needs a GPU: a module of its form stands in, over the tiny model's own tokenizer."""
    folder = make_tiny_model(tmp_path / "model", 512)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    asked: list[tuple[list[int], SimpleNamespace]] = []

    class LLM:
        def __init__(self, model: str, trust_remote_code: bool) -> None:
            assert model == str(folder) and not trust_remote_code

        def get_tokenizer(self) -> object:
            return tokenizer

        def generate(
            self, prompts: list[dict[str, list[int]]], plans: list[SimpleNamespace], use_tqdm: bool
        ) -> object:
            asked.extend((one["prompt_token_ids"], plan) for one, plan in zip(prompts, plans, strict=True))
            return [
                SimpleNamespace(outputs=[SimpleNamespace(text=f"Score {n}")]) for n in range(len(prompts))
            ]

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=LLM, SamplingParams=SimpleNamespace))
    local_vllm._loaded.cache_clear()
    config = JudgeConfig(model=str(folder), kind="local", engine="vllm")
    assert load_local_judge(config)(PROMPTS, SETTINGS) == ["Score 0", "Score 1", "Score 2"]
    template = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Judge this."}], add_generation_prompt=True
    )
    assert asked[0][0] == list(template["input_ids"] if hasattr(template, "keys") else template)
    plan = asked[0][1]
    assert (plan.temperature, plan.top_p, plan.max_tokens) == (0.8, 0.9, 12)
    assert len({plan.seed for _, plan in asked}) == 3
    local_vllm._loaded.cache_clear()


def test_what_is_missing_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        check_local_judge(JudgeConfig(model=str(tmp_path / "none"), kind="local"))
    if find_spec("vllm") is None:
        with pytest.raises(InputError, match="vLLM is not installed"):
            check_local_judge(JudgeConfig(model="m", kind="local", engine="vllm"))
