"""OpenAI-compatible server of the demo model, with optional faults."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from judge_server import Answer, judge_server
from tiny_model import demo_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


@contextmanager
def small_server(press: Any = None, temperature: float = 0.0, **config: Any) -> Iterator[Any]:
    """Serve until the block ends.

    Args:
        press: of kvpress; drops a part of the cache after the whole prompt, question and all, as a server does that knows no parts.
        temperature: of sampling, whatever is asked.
        config: values in place of those of the checkpoint, such as ``rope_theta``.
    """
    path = demo_model()
    tokenizer = AutoTokenizer.from_pretrained(path)
    settings = AutoConfig.from_pretrained(path)
    for name, value in config.items():
        setattr(settings, name, value)
    model = AutoModelForCausalLM.from_pretrained(path, config=settings, dtype=torch.float32).eval()

    def behave(body: dict[str, Any], _: int) -> Answer:
        with torch.no_grad():
            row = chat(body) if "messages" in body else likelihoods(body)
        return Answer(raw=json.dumps(row).encode())

    def chat(body: dict[str, Any]) -> dict[str, Any]:
        ids = tokenizer.apply_chat_template(body["messages"], add_generation_prompt=True, return_tensors="pt")
        sampling: dict[str, Any] = {"do_sample": temperature > 0}
        if temperature:
            sampling |= {"temperature": temperature, "top_k": 0}
        with press(model) if press is not None else nullcontext():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=body["max_tokens"],
                pad_token_id=tokenizer.eos_token_id, **sampling,
            )[0, ids.shape[1] :]  # fmt: skip
        text = tokenizer.decode(out, skip_special_tokens=True)
        ended = bool(len(out)) and int(out[-1]) == tokenizer.eos_token_id
        return {
            "choices": [{"message": {"content": text}, "finish_reason": "stop" if ended else "length"}],
            "usage": {"prompt_tokens": ids.shape[1], "completion_tokens": len(out)},
            "prompt_token_ids": ids[0].tolist(),
        }

    def likelihoods(body: dict[str, Any]) -> dict[str, Any]:
        ids = tokenizer(body["prompt"], return_tensors="pt").input_ids
        likely = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        values = [None, *likely.tolist(), -1.0]
        return {"choices": [{"text": "", "logprobs": {"token_logprobs": values}}]}

    with judge_server(behave, models=["small"]) as server:
        yield server
