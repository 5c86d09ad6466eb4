"""A local OpenAI-compatible server that answers by the hash of what it is asked, and remembers what it was asked."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from judge_server import Answer, Others, completions, judge_server

Reply = Callable[[list[dict[str, str]]], str]


@dataclass
class Stub:
    url: str  # ends in /v1
    requests: list[list[dict[str, str]]] = field(default_factory=list)  # messages, in order of arrival
    refused: int = 0  # requests refused for their length
    asked: list[tuple[str, str]] = field(default_factory=list)  # other paths, with the key that was sent


def messages_hash(messages: list[dict[str, str]]) -> str:
    """One hash of all roles and contents; lm-eval 0.5 also sends the contents' type."""
    known = [{key: value for key, value in message.items() if key != "type"} for message in messages]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def answer_by_hash(messages: list[dict[str, str]]) -> str:
    """A response of one of many shapes (right, wrong, ugly, empty), chosen by the hash of the messages."""
    digest = int(messages_hash(messages), 16)
    asked = messages[-1]["content"]
    if found := re.search(r"Operation:\n.*?node (\w+).*\n\n", asked):
        return _nodes(asked, found[1], digest)
    if found := re.match(r"Prepend (\w+) to the", asked):
        return _repeated(messages, found[1], digest)
    if found := re.search(r"(The favourite thing of \w+ is the )(\w+)\.", asked):
        return (f"{found[2]}.", f"{found[1]}{found[2]}.", "umbrella", "The church.")[digest % 4]
    shapes = [
        "A{a}",
        "Answer: A{a}",
        "Answer: [2, 1, 4, 3]",
        "[{a}, 1]",
        "",
        "The best one is A{a}, not A1.",
        "<think>A9 or A2?</think>Answer: A{a}",
        "<think>I wonder",
        "Answer: [4, 1, 3, 2]",
        "3124",
        "I do not know.",
        "{a}",
    ]
    return shapes[digest % len(shapes)].format(a=digest // 100 % 4 + 1)


def _nodes(asked: str, node: str, digest: int) -> str:
    """Children or parents of a node in a list of edges, some left out and some wrong, in one of a few forms."""
    edges = [line.split(" -> ") for line in asked.splitlines() if " -> " in line]
    side = 0 if "Perform a BFS from node " + node in asked else 1
    right = [edge[1 - side] for edge in edges if edge[side] == node and edge[1 - side] != node]
    nodes = ", ".join([*right[digest // 16 % 2 :], *["ffffffffff"] * (digest // 32 % 2)])
    forms = (
        "Final Answer: [{}]",
        "Final Answer: [{}]\nThese are the nodes.",
        "<think>One moment.</think>Final Answer: [{}]",
        "Final Answer: [{}, 0123456789, abcdefabcd]",
        "{}",
    )
    return forms[digest % 5].format(nodes)


def _repeated(messages: list[dict[str, str]], prefix: str, digest: int) -> str:
    """One of the earlier answers, whole or in part, with or without the word that is asked for."""
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    text = answers[digest // 10 % len(answers)]
    forms = (prefix + text, f"\n{prefix}{text}", prefix + text[: digest // 100 % (len(text) or 1)], text)
    return forms[digest % 4]


def judge_by_hash(messages: list[dict[str, str]]) -> str:
    """A judge's reply, chosen by the hash of the messages: a score, two of them, or none."""
    digest = int(messages_hash(messages), 16)
    score = digest // 100 % 10 + 1
    return (
        f"Good enough. \\boxed{{{score}}}",
        f"It says \\boxed{{10}}. Score: \\boxed{{{score}}}",
        f"Fine.\n\nScore: \\boxed{{{score}}}",
        "I would rather not say.",
    )[digest % 4]


def json_answer(row: Any) -> Answer:
    return Answer(raw=json.dumps(row).encode())


def like_vllm(window: int, model: str = "stub") -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The paths of vLLM (and SGLang) that state the window and count tokens; here a token is a word, after a first token."""
    rows = [{"id": "other", "max_model_len": 7}, {"id": model, "max_model_len": window}]
    return {
        "/v1/models": lambda _: json_answer({"object": "list", "data": rows}),
        "/tokenize": lambda body: json_answer({"tokens": list(range(1 + len(body["prompt"].split())))}),
    }


def like_llama_cpp(window: int) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The paths of llama.cpp; the model's own window, 131,072, is not that of the server."""
    model = {"id": "a.gguf", "meta": {"n_ctx_train": 131_072}}
    return {
        "/v1/models": lambda _: json_answer({"data": [model]}),
        "/props": lambda _: json_answer({"default_generation_settings": {"n_ctx": window}}),
        "/tokenize": lambda body: json_answer({"tokens": body["content"].split()}),
    }


@contextmanager
def stub_server(
    answer: Reply = answer_by_hash, refuse_over: int | None = None, others: Others | None = None
) -> Iterator[Stub]:
    """Serve until the block ends; prompts of more than ``refuse_over`` characters are refused, as vLLM refuses long ones."""
    stub = Stub("")

    def behave(body: dict[str, Any], _: int) -> Answer:
        chat = "messages" in body
        prompt = body.get("prompt")
        prompts = prompt if isinstance(prompt, list) else [prompt]
        batches = [body["messages"]] if chat else [[{"role": "user", "content": text}] for text in prompts]
        if (
            refuse_over is not None
            and max(sum(len(m["content"]) for m in batch) for batch in batches) > refuse_over
        ):
            stub.refused += 1
            text = "This model's maximum context length is 1000 tokens. Please reduce the length of the messages."
            error = {"object": "error", "message": text, "type": "BadRequestError", "code": 400}
            return Answer(status=400, raw=json.dumps(error).encode())
        stub.requests.extend(batches)
        return Answer(raw=completions([answer(batch) for batch in batches], chat))

    with judge_server(behave, others=others) as server:
        stub.url, stub.asked = server.url, server.asked
        yield stub
