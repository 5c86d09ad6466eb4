"""Steps of OpenCompass on our classes, as its own tasks take them, and a stand-in for its API classes."""

import json
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from long_context_tasks.schema import Message, Options

REFUSAL = "Error code: 400 - {'message': \"This model's maximum context length is 10 tokens.\"}"


class ApiModel:
    """Answers a chat with the number of its messages, and refuses or fails on demand as OpenCompass' API classes do."""

    is_api = True
    mode = "none"

    def __init__(
        self, words: int = 1, refuse_over: int = 10**9, fail_at: int = 10**9, max_seq_len: int = 5
    ) -> None:
        from opencompass.models.base_api import APITemplateParser

        self.template_parser = APITemplateParser(None)
        self.words, self.refuse_over, self.fail_at = words, refuse_over, fail_at
        self.max_seq_len = max_seq_len
        self.batches: list[list[Any]] = []  # the messages of every chat that was answered
        self.asked: list[Any] = []

    def parse_template(self, prompt: Any, mode: str) -> Any:
        return self.template_parser.parse_template(prompt, mode)

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())

    def reply(self, prompt: Any, chat: list[Any]) -> str:
        return f"Answer {len(chat)} <b>" + " word" * self.words

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
        chats = [
            [{"prompt": prompt}]
            if isinstance(prompt, str)
            else [item for item in prompt if isinstance(item, dict) and item.get("prompt")]
            for prompt in inputs
        ]
        for prompt, chat in zip(inputs, chats, strict=True):
            if len(self.asked) >= self.fail_at:
                raise RuntimeError("connection refused")
            self.asked.append(prompt)
            tokens = sum(self.get_token_len(item["prompt"]) for item in chat)
            assert not self.is_api or tokens <= self.max_seq_len, "the host's own limit was not lifted"
            if tokens > self.refuse_over:
                raise RuntimeError(REFUSAL)
        self.batches.append(chats)
        return [self.reply(prompt, chat) for prompt, chat in zip(inputs, chats, strict=True)]

    def generate_from_template(self, templates: list[Any], max_out_len: int, **_: Any) -> list[str]:
        return self.generate(templates, max_out_len)


def infer(
    task: str, model: Any, out: Path, *, batch_size: int = 2, max_seq_len: int | None = None, **options: Any
) -> tuple[Any, list[dict[str, Any]]]:
    """Run a task as the host's inferring process does; return the dataset and the rows of predictions."""
    from opencompass.openicl.icl_retriever import ZeroRetriever

    from long_context_tasks.hosts.opencompass.likelihood import CasePPLInferencer
    from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseGenInferencer

    reader = {"input_columns": ["case"], "output_column": "reference"}
    dataset = CaseDataset(reader_cfg=reader, abbr=task, lct_task=task, **options)
    where = {"output_json_filepath": str(out), "output_json_filename": "rows.json"}
    if "ppl" in task:
        inferencer = CasePPLInferencer(model=model, **where)
    else:
        inferencer = CaseGenInferencer(
            model=model, max_out_len=1, batch_size=batch_size, max_seq_len=max_seq_len, **where
        )
    inferencer.inference(ZeroRetriever(dataset), prompt_template=None)
    rows = json.loads((out / "rows.json").read_text())
    return dataset, [rows[str(place)] for place in range(len(rows))]


def evaluate(dataset: Any, rows: list[dict[str, Any]], repeats: int = 1) -> dict[str, Any]:
    from long_context_tasks.hosts.opencompass.likelihood import CasePPLEvaluator
    from long_context_tasks.hosts.opencompass.task import CaseEvaluator

    evaluator = CasePPLEvaluator() if "log_likelihoods" in rows[0] else CaseEvaluator()
    columns = {key: [row.get(key) for row in rows] for key in rows[0]}
    columns |= {"predictions": columns["prediction"], "test_set": dataset.test}
    named = {key: columns[key] for key in signature(evaluator.score).parameters}
    result: dict[str, Any] = evaluator.evaluate(1, repeats, dataset.test, **named)
    return result


def replies(
    model: Any, batch: Sequence[Sequence[Message]], budget: int = 8, configured: int | None = None
) -> list[Any]:
    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    return list(Sender(model, find_window(model, Options(), configured), budget, {}).answers(batch))
