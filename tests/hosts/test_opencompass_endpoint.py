"""The host's OpenAI client against a local server: refusals for length, other failures, prompts to the byte."""

from pathlib import Path
from typing import Any

import pytest
from needs import needs
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


def client(kind: type[Any], stub: Stub, tokenizer: Path) -> Any:
    from opencompass.models import OpenAISDK

    url = stub.url if kind is OpenAISDK else f"{stub.url}/chat/completions"
    return kind(
        path="stub",
        openai_api_base=url,
        key="EMPTY",
        tokenizer_path=str(tokenizer),
        meta_template=TEMPLATE,
        query_per_second=100,
        temperature=0,
    )


@pytest.mark.parametrize("kind", ["OpenAISDK", "OpenAI"])
def test_a_length_refusal_costs_one_case(kind: str, tokenizer: Path) -> None:
    """30,000 words also exceed the default limit of the host's class, 16,384, which nobody set."""
    from opencompass import models

    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    with stub_server(lambda messages: messages[-1]["content"][:1], refuse_over=1000) as stub:
        model = client(getattr(models, kind), stub, tokenizer)
        answers = list(Sender(model, find_window(model, None, None), 8, {}).answers(PROMPTS))
    assert stub.refused >= 1, "the host's own limit was not lifted"
    assert [(answer.text, answer.status) for answer in answers] == [
        ("0", None),
        ("", "does_not_fit"),
        ("2", None),
    ]
    assert model.max_seq_len == 16384


def test_prompts_arrive_to_the_byte(tokenizer: Path) -> None:
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    text = "  a\r\n\tb \u00e9\u4e2d {case} \U0001f600\n "
    with stub_server(lambda _: "x") as stub:
        model = client(OpenAISDK, stub, tokenizer)
        list(Sender(model, find_window(model, None, None), 8, {}).answers([[Message("user", text)]]))
        assert stub.requests == [[{"content": text, "role": "user"}]]


def test_known_windows_are_checked_before_sending(tokenizer: Path) -> None:
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    with stub_server(lambda _: "x") as stub:
        model = client(OpenAISDK, stub, tokenizer)
        answers = list(Sender(model, find_window(model, None, 100), 8, {}).answers(PROMPTS))
        assert [answer.status for answer in answers] == [None, "does_not_fit", None]
        assert len(stub.requests) == 2


def test_a_dead_endpoint_is_no_refusal(tokenizer: Path) -> None:
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    with stub_server(lambda _: "x") as stub:
        model = client(OpenAISDK, stub, tokenizer)
    with pytest.raises(RuntimeError):
        list(Sender(model, find_window(model, None, None), 8, {}).answers(PROMPTS[:1]))
