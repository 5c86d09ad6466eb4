"""Reasoning models behind an endpoint and in this process: an unfinished thinking can be told from an answer."""

from types import SimpleNamespace
from typing import Any

import pytest
from needs import needs
from opencompass_steps import replies

from long_context_tasks.schema import Message

pytestmark = needs("opencompass")


def answer_of(monkeypatch: pytest.MonkeyPatch, finish_reason: str, **message: Any) -> str:
    """What the host's own client makes of one message of a server."""
    from opencompass.models import OpenAISDK

    monkeypatch.setattr(OpenAISDK, "_init_tokenizer", lambda self: None)
    model = OpenAISDK(
        path="x", key="EMPTY", openai_api_base="http://127.0.0.1:9/v1", retry=1, query_per_second=100
    )
    model.get_token_len = len
    message = {"content": None, **message}
    choice = SimpleNamespace(message=SimpleNamespace(**message), finish_reason=finish_reason)
    completions = SimpleNamespace(create=lambda **_: SimpleNamespace(choices=[choice]))
    model.openai_client = SimpleNamespace(chat=SimpleNamespace(completions=completions))
    (answer,) = replies(model, [[Message("user", "?")]])
    return answer.text


@pytest.mark.parametrize(
    ("finish_reason", "message", "expected"),
    [
        ("stop", {"content": "A2", "reasoning_content": "A1? no"}, "A1? no</think>A2"),
        ("stop", {"content": "A2", "reasoning": "A1? no"}, "A1? no</think>A2"),
        ("length", {"reasoning_content": "A1 or"}, "<think>A1 or"),
        ("length", {"reasoning": "A1 or"}, "<think>A1 or"),
        ("length", {"content": ""}, ""),
        ("stop", {"content": " A2\n"}, " A2\n"),
    ],
)
def test_an_unfinished_thinking_is_marked(
    monkeypatch: pytest.MonkeyPatch, finish_reason: str, message: dict[str, str], expected: str
) -> None:
    assert answer_of(monkeypatch, finish_reason, **message) == expected


@pytest.mark.parametrize(("end", "expected"), [("<think>\n", "<think>A1 or"), ("<assistant>", "A1 or")])
def test_templates_that_open_the_thinking(end: str, expected: str) -> None:
    from opencompass.models import HuggingFacewithChatTemplate

    class Local(HuggingFacewithChatTemplate):  # type: ignore[misc]
        def __init__(self, end: str) -> None:
            self.max_seq_len = None
            self.tokenizer = SimpleNamespace(
                chat_template="x", apply_chat_template=lambda *_, **__: f"<user>x{end}"
            )

        def parse_template(self, prompt: Any, mode: str) -> Any:
            return prompt

        def get_token_len(self, prompt: Any) -> int:
            return 1

        def generate_from_template(self, templates: Any, max_out_len: int) -> list[str]:
            return ["A1 or"] * len(templates)

    (answer,) = replies(Local(end), [[Message("user", "?")]])
    assert answer.text == expected


def test_models_without_template() -> None:
    from long_context_tasks.hosts.opencompass.send import prompt_opens_thinking

    assert not prompt_opens_thinking(SimpleNamespace(tokenizer=SimpleNamespace(chat_template=None)))
