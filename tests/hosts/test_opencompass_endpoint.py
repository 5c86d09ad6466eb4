"""The host's OpenAI client against a local server: refusals for length, other failures, prompts to the byte."""

from pathlib import Path
from typing import Any

import pytest
from needs import needs
from opencompass_steps import replies
from stub_server import Stub, stub_server
from tiny_model import make_tiny_model

from long_context_tasks.schema import Message

pytestmark = needs("opencompass")

TEMPLATE = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
}
PROMPTS = [[Message("user", f"{i} " + "word " * n)] for i, n in enumerate((10, 30_000, 20))]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def client(stub: Stub, tokenizer: Path, kind: str = "OpenAISDK") -> Any:
    from opencompass import models

    return getattr(models, kind)(
        path="stub",
        openai_api_base=stub.url if kind == "OpenAISDK" else f"{stub.url}/chat/completions",
        key="EMPTY",
        tokenizer_path=str(tokenizer),
        meta_template=TEMPLATE,
        query_per_second=100,
        temperature=0,
    )


@pytest.mark.parametrize("kind", ["OpenAISDK", "OpenAI"])
def test_a_length_refusal_costs_one_case(kind: str, tokenizer: Path) -> None:
    """30,000 words also exceed the default limit of the host's class, 16,384, which nobody set."""
    with stub_server(lambda messages: messages[-1]["content"][:1], refuse_over=1000) as stub:
        model = client(stub, tokenizer, kind)
        answers = replies(model, PROMPTS)
    assert stub.refused >= 1, "the host's own limit was not lifted"
    assert [(answer.text, answer.status) for answer in answers] == [
        ("0", None),
        ("", "does_not_fit"),
        ("2", None),
    ]
    assert model.max_seq_len == 16384


def test_prompts_arrive_to_the_byte(tokenizer: Path) -> None:
    text = "  a\r\n\tb \u00e9\u4e2d {case} \U0001f600\n "
    with stub_server(lambda _: "x") as stub:
        model = client(stub, tokenizer)
        replies(model, [[Message("user", text)]])
        assert stub.requests == [[{"content": text, "role": "user"}]]


def test_known_windows_are_checked_before_sending(tokenizer: Path) -> None:
    with stub_server(lambda _: "x") as stub:
        model = client(stub, tokenizer)
        answers = replies(model, PROMPTS, configured=100)
        assert [answer.status for answer in answers] == [None, "does_not_fit", None]
        assert len(stub.requests) == 2


def test_a_dead_endpoint_is_no_refusal(tokenizer: Path) -> None:
    with stub_server(lambda _: "x") as stub:
        model = client(stub, tokenizer)
    with pytest.raises(RuntimeError):
        replies(model, PROMPTS[:1])
