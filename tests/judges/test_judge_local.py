"""A judge on plain transformers: its draws depend on seed, attempt and prompt, not on the batch."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tiny_model import make_tiny_model

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.local import check_local_judge, load_local_judge
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
        return load_local_judge(config, device="cpu")(prompts, draw)

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
    [reply] = load_local_judge(config, device="cpu")(PROMPTS[:1], FIRST)
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


def test_what_is_missing_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        check_local_judge(JudgeConfig(model=str(tmp_path / "none"), kind="local"))
