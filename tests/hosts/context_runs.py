"""What models that read a context once answer, and what they read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lm_eval_runs import evaluate


def responses(model: Any, task: str, **more: Any) -> list[str]:
    metadata = {"lct_n": 4, "lct_answer_budget": 8, "pretrained": str(model.model.name_or_path)}
    if "1k" not in task:
        metadata["lct_length"] = "1k"
    found = evaluate(task, metadata, model=model, predict_only=True, apply_chat_template=True, **more)
    return [sample["resps"][0][0] for sample in found["samples"][task]]


@contextmanager
def reads(model: Any) -> Iterator[list[int]]:
    lengths: list[int] = []
    read = type(model).read

    def noted(ids: Any) -> Any:
        lengths.append(len(ids))
        return read(model, ids)

    model.read = noted
    try:
        yield lengths
    finally:
        del model.read
