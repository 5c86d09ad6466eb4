"""A judge on plain transformers: its draws depend on seed, attempt and prompt, not on the batch."""

import json
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_model import make_tiny_model

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.local import _loaded_vllm, check_local_judge, load_hf_judge, load_local_judge
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.schema import InputError, Message

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (find_spec("torch") and find_spec("transformers")),
        reason="torch or transformers is not installed",
    ),
]

PROMPTS = [
    (Message("user", text),) for text in ("Judge this.", "Judge that, which is a little longer.", "And this?")
]
SETTINGS = {"temperature": 0.8, "top_p": 0.9, "max_tokens": 12, "batch_size": 3}
FIRST = Draw(2023, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("judge") / "model", 512)


Generate = Callable[..., list[Reply]]


@pytest.fixture(scope="module")
def generate(folder: Path) -> Generate:
    def replies(prompts: Any = PROMPTS, draw: Draw = FIRST, **settings: Any) -> list[Reply]:
        config = JudgeConfig(**{"model": str(folder), "kind": "local", **SETTINGS, **settings})
        return load_hf_judge(config, device="cpu")(prompts, draw)

    return replies


def test_draws_do_not_depend_on_the_batch(generate: Generate) -> None:
    together = generate()
    assert together == generate(batch_size=1)
    assert together[1:] == generate(PROMPTS[1:])
    assert len({reply.text for reply in together}) == 3


def first_logits(folder: Path, prompt: tuple[Message, ...]) -> tuple[int, Any]:
    """Tokens of a prompt, and what the model itself has for the first place of a reply."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    chat = [{"role": message.role, "content": message.content} for message in prompt]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        return ids.shape[1], AutoModelForCausalLM.from_pretrained(folder).eval()(ids).logits[0, -1]


def test_likely_tokens_are_those_of_the_model(generate: Generate, folder: Path) -> None:
    """Before temperature and sampling, whatever the batch; tokens are counted without padding."""
    from transformers import AutoTokenizer

    replies = generate(logprobs=4)
    assert [reply.text for reply in replies] == [reply.text for reply in generate()]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for prompt, reply in zip(PROMPTS, replies, strict=True):
        read, logits = first_logits(folder, prompt)
        best = logits.log_softmax(-1).topk(4)
        assert reply.top_logprobs is not None
        assert [token for token, _ in reply.top_logprobs] == [tokenizer.decode([i]) for i in best.indices]
        assert [value for _, value in reply.top_logprobs] == pytest.approx(best.values.tolist(), abs=1e-4)
        assert (reply.prompt_tokens, reply.completion_tokens) == (read, 12)
        assert reply.finish_reason == "length"


def test_a_reply_that_ends_is_not_cut(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "model"
    shutil.copytree(folder, own)
    plan = json.loads((own / "generation_config.json").read_text())
    ends = [plan["eos_token_id"], int(first_logits(folder, PROMPTS[0])[1].argmax())]
    (own / "generation_config.json").write_text(json.dumps({**plan, "eos_token_id": ends}))
    config = JudgeConfig(model=str(own), kind="local", max_tokens=12)
    [reply] = load_hf_judge(config, device="cpu")(PROMPTS[:1], FIRST)
    assert (reply.finish_reason, reply.completion_tokens) == ("stop", 1)


def test_seed_attempt_and_settings_choose_the_draw(generate: Generate) -> None:
    first = generate()
    assert generate(draw=Draw(2024, 0)) != first
    assert generate(draw=Draw(2023, 1)) != first
    greedy = generate(temperature=0.0)
    assert greedy == generate(temperature=0.0, draw=Draw(1, 0))
    # A nucleus of one token is the greedy choice at any temperature.
    assert greedy == generate(top_p=1e-9)
    assert generate(prompt_template="[INST] {prompt} [/INST]") != first


def test_vllm_is_asked_as_transformers_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM itself needs a GPU: a module of its form stands in, over the tiny model's own tokenizer."""
    from transformers import AutoTokenizer

    folder = make_tiny_model(tmp_path / "model", 512)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    asked: list[tuple[list[int], SimpleNamespace]] = []
    first = {
        7: SimpleNamespace(logprob=-0.5, decoded_token=" 4"),
        8: SimpleNamespace(logprob=-2.0, decoded_token="5"),
    }
    likely = [first, {9: SimpleNamespace(logprob=0.0, decoded_token=".")}]

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
                SimpleNamespace(
                    prompt_token_ids=one["prompt_token_ids"],
                    outputs=[
                        SimpleNamespace(
                            text=f"Score {n}", token_ids=[5, 6], finish_reason="stop", logprobs=likely
                        )
                    ],
                )
                for n, one in enumerate(prompts)
            ]

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=LLM, SamplingParams=SimpleNamespace))
    _loaded_vllm.cache_clear()
    fields = {"model": str(folder), "kind": "local", "engine": "vllm", "logprobs": 2, **SETTINGS}
    replies = load_local_judge(JudgeConfig(**fields))(PROMPTS, FIRST)
    assert [reply.text for reply in replies] == ["Score 0", "Score 1", "Score 2"]
    assert replies[0] == Reply("Score 0", len(asked[0][0]), 2, "stop", ((" 4", -0.5), ("5", -2.0)))
    template = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Judge this."}], add_generation_prompt=True
    )
    assert asked[0][0] == list(template["input_ids"] if hasattr(template, "keys") else template)
    plan = asked[0][1]
    assert (plan.temperature, plan.top_p, plan.max_tokens, plan.logprobs) == (0.8, 0.9, 12, 2)
    assert len({plan.seed for _, plan in asked}) == 3
    _loaded_vllm.cache_clear()


def test_what_is_missing_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        check_local_judge(JudgeConfig(model=str(tmp_path / "none"), kind="local"))
    if find_spec("vllm") is None:
        with pytest.raises(InputError, match="vLLM is not installed"):
            check_local_judge(JudgeConfig(model="m", kind="local", engine="vllm"))
