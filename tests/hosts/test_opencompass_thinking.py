"""Reasoning models behind an endpoint and in this process: an unfinished thinking can be told from an answer."""

from types import SimpleNamespace
from typing import Any

import pytest
from needs import needs

from long_context_tasks.hosts.window import Window
from long_context_tasks.schema import Message

pytestmark = needs("opencompass")


def answer_of(monkeypatch: pytest.MonkeyPatch, finish_reason: str = "stop", **message: Any) -> str:
    """What the host's own client makes of one message of a server."""
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import Sender

    monkeypatch.setattr(OpenAISDK, "_init_tokenizer", lambda self: None)
    model = OpenAISDK(
        path="x", key="EMPTY", openai_api_base="http://127.0.0.1:9/v1", retry=1, query_per_second=100
    )
    model.get_token_len = len
    message = {"content": None, **message}
    choice = SimpleNamespace(message=SimpleNamespace(**message), finish_reason=finish_reason)
    completions = SimpleNamespace(create=lambda **_: SimpleNamespace(choices=[choice]))
    model.openai_client = SimpleNamespace(chat=SimpleNamespace(completions=completions))
    (answer,) = Sender(model, Window(), 8, {}).answers([[Message("user", "?")]])
    return answer.text


def test_thinking_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reasoning_content", "reasoning"):
        assert answer_of(monkeypatch, content="A2", **{name: "A1? no"}) == "A1? no</think>A2"


def test_thinking_without_an_answer_is_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reasoning_content", "reasoning"):
        assert answer_of(monkeypatch, "length", **{name: "A1 or"}) == "<think>A1 or"


def test_a_spent_budget_without_a_word_is_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_of(monkeypatch, "length", content="") == ""


def test_plain_answers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_of(monkeypatch, content=" A2\n") == " A2\n"


@pytest.mark.parametrize(("end", "expected"), [("<think>\n", "<think>A1 or"), ("<assistant>", "A1 or")])
def test_templates_that_open_the_thinking(end: str, expected: str) -> None:
    from opencompass.models import HuggingFacewithChatTemplate

    from long_context_tasks.hosts.opencompass.send import Sender

    class Local(HuggingFacewithChatTemplate):  # type: ignore[misc]
        def __init__(self, end: str) -> None:
            self.tokenizer = SimpleNamespace(
                chat_template="x", apply_chat_template=lambda *_, **__: f"<user>x{end}"
            )

        def parse_template(self, prompt: Any, mode: str) -> Any:
            return prompt

        def get_token_len(self, prompt: Any) -> int:
            return 1

        def generate_from_template(self, templates: Any, max_out_len: int) -> list[str]:
            return ["A1 or"] * len(templates)

    (answer,) = Sender(Local(end), Window(), 8, {}).answers([[Message("user", "?")]])
    assert answer.text == expected


def test_models_without_template() -> None:
    from long_context_tasks.hosts.opencompass.send import prompt_opens_thinking

    assert not prompt_opens_thinking(SimpleNamespace(tokenizer=SimpleNamespace(chat_template=None)))
