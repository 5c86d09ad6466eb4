"""A system message where a chat template has none: in front of the user's message, in both hosts."""

import json
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from tiny_model import make_tiny_model

from long_context_tasks.hosts.window import Window
from long_context_tasks.schema import Message

pytestmark = needs("lm_eval", "opencompass")

MESSAGES = [Message("system", "Answer in one word."), Message("user", "Who?")]
_EACH = "{% for m in messages %}"
TEMPLATES = {
    "takes": _EACH + "<{{ m['role'] }}>{{ m['content'] }}{% endfor %}",
    "drops": _EACH
    + "{% if m['role'] != 'system' %}<{{ m['role'] }}>{{ m['content'] }}{% endif %}{% endfor %}",
    "refuses": "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + _EACH
    + "<{{ m['role'] }}>{{ m['content'] }}{% endfor %}",
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_no_host_loses_a_system_message(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lm_eval.models.huggingface import HFLM
    from opencompass.models import HuggingFacewithChatTemplate

    from long_context_tasks.hosts.lm_eval.task import context_of
    from long_context_tasks.hosts.opencompass.send import Sender

    folder = make_tiny_model(tmp_path / "tiny", 256)
    settings = folder / "tokenizer_config.json"
    row = json.loads(settings.read_text()) | {"chat_template": TEMPLATES[kind]}
    settings.write_text(json.dumps(row))
    for file in folder.glob("chat_template*"):
        file.unlink()
    expected = (
        "<system>Answer in one word.<user>Who?" if kind == "takes" else "<user>Answer in one word.\n\nWho?"
    )

    model = HFLM(pretrained=str(folder), device="cpu", dtype="float32")
    assert context_of(MESSAGES, None, model.apply_chat_template) == expected

    asked: list[Any] = []
    other = HuggingFacewithChatTemplate(path=str(folder), model_kwargs={"device_map": "cpu"}, max_seq_len=256)

    def generate(inputs: list[Any], max_out_len: int, **_: Any) -> list[str]:
        chats = [[{"role": m["role"].lower(), "content": m["prompt"]} for m in one] for one in inputs]
        chats = [
            [{**m, "role": "user" if m["role"] == "human" else m["role"]} for m in chat] for chat in chats
        ]
        asked.extend(other.tokenizer.apply_chat_template(chat, tokenize=False) for chat in chats)
        return ["x"] * len(inputs)

    monkeypatch.setattr(other, "generate", generate)
    assert [answer.text for answer in Sender(other, Window(), 8, {}).answers([MESSAGES])] == ["x"]
    assert asked == [expected]


def test_a_request_keeps_its_text_to_the_character() -> None:
    from long_context_tasks.hosts.lm_eval.task import CaseInstance

    for text in ("plain", "a “quote” and \ud800 half a pair"):
        request = CaseInstance("generate_until", {}, (text, {"until": []}), 0)
        assert request.args == request.arguments == (text, {"until": []})
        request.arguments = (text + "!", {})
        assert request.args == (text + "!", {})
