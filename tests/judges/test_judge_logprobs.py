"""Judges that are asked for log-probabilities: what is sent, read, stored and weighed, and judges that give none."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from judge_server import Answer, judge_server

from long_context_tasks.judges.client import _read, request_body
from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Reply, Rubric, TopLogprobs
from long_context_tasks.schema import InputError, Message

ASK = (Message("user", "Rate it."),), Draw(1)


def first(top: TopLogprobs) -> float | None:
    """The likeliest token as a score."""
    return float(top[0][0]) if top[0][0].isdigit() else None


RUBRIC = Rubric("ten", 1, 10, lambda reply: float(reply) if reply.isdigit() else None, first)


def body(text: str, logprobs: Any, chat: bool = True) -> bytes:
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    choice |= {"message": {"content": text}} if chat else {"text": text}
    return json.dumps({"choices": [choice]}).encode()


def content(*top: tuple[str, Any]) -> dict[str, Any]:
    return {"content": [{"token": "7", "top_logprobs": [{"token": t, "logprob": v} for t, v in top]}]}


@pytest.mark.parametrize(
    ("logprobs", "read"),
    [
        (content(("7", -0.1), ("8", -2.5)), (("7", -0.1), ("8", -2.5))),
        (content(("7", None), ("8", -math.inf), ("9", "x")), (("7", None), ("8", -9999.0), ("9", None))),
        ({"top_logprobs": [{"7": -0.1, " 8": -2}], "tokens": ["7"]}, (("7", -0.1), (" 8", -2.0))),
        # No log-probability at all: above 0, without an end, or no number.
        (content(("7", 1000), ("8", math.inf), ("9", math.nan)), (("7", None), ("8", None), ("9", None))),
        (content(("7", 10**290), ("8", -(10**290)), ("9", 1e-6)), (("7", None), ("8", -9999.0), ("9", 1e-6))),
        (None, None),
        ({}, None),
        ({"content": []}, None),
        ({"content": None}, None),
        ({"content": [{"token": "7"}]}, None),
        ({"content": ["7"]}, None),
        ({"top_logprobs": [None]}, None),
        ("yes", None),
        ([1], None),
    ],
)
def test_what_endpoints_tell_is_read_and_never_breaks_a_reply(logprobs: Any, read: Any) -> None:
    reply = _read(body("7", logprobs).decode())
    assert (reply.text, reply.top_logprobs) == ("7", read)


def test_they_are_asked_for_in_the_form_of_either_api() -> None:
    plain = JudgeConfig(model="m", base_url="http://x/v1")
    chat = JudgeConfig(model="m", base_url="http://x/v1", logprobs=10)
    text = JudgeConfig(model="m", base_url="http://x/v1", logprobs=5, api="completions")
    assert not {"logprobs", "top_logprobs"} & set(json.loads(request_body(*ASK, plain)))
    sent = json.loads(request_body(*ASK, chat))
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 10)
    assert json.loads(request_body(*ASK, text))["logprobs"] == 5
    assert len({config.key(*ASK) for config in (plain, chat, text)}) == 3
    assert "logprobs" not in plain.description() and chat.description()["logprobs"] == 10


def test_the_store_keeps_them_and_reads_lines_that_have_none(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    old = {"key": "old", "reply": "7", "prompt_tokens": 1, "completion_tokens": 1, "finish_reason": "stop"}
    path.write_text(json.dumps(old) + "\n")
    weighed = Reply("7", 1, 1, "stop", (("7", -0.1), ("ü", None)))
    Store(path).append([("new", weighed), ("bare", Reply("8"))])
    again = Store(path)
    assert again.damaged == []
    assert again.get("new") == weighed
    assert again.get("old") == Reply("7", 1, 1, "stop") and again.get("bare") == Reply("8")
    assert "top_logprobs" not in path.read_text().splitlines()[-1]


@pytest.mark.parametrize(
    ("logprobs", "first", "score", "asked"), [(None, 0, 7, 1), (3, 0, 9, 1), (3, 1, 9, 2)]
)
def test_scores_are_weighed_where_they_were_asked_for(
    tmp_path: Path, logprobs: int | None, first: int, score: float, asked: int
) -> None:
    """A reply without log-probabilities has no score then, and is asked for again."""

    def behave(_: dict[str, Any], number: int) -> Answer:
        return Answer(raw=body("7", content(("9", -0.1)) if number >= first else None))

    with judge_server(behave) as server:
        config = JudgeConfig(model="m", base_url=server.url, logprobs=logprobs, asks=2)
        request = JudgeRequest("1", (Message("user", "?"),))
        [[verdict]] = judge_all([request], config, RUBRIC, Store(tmp_path / "s"), progress=False)
    assert (verdict.score, verdict.attempts) == (score, asked)
    # A rubric that does not weigh reads the text all the same.
    assert Rubric("t", 1, 10, RUBRIC.parse).score_reply(Reply("7"), weighed=True) == 7


def test_a_judge_without_them_is_told_before_costly_work() -> None:
    with judge_server(lambda *_: Answer("yes")) as server:
        check_judge(JudgeConfig(model="m", base_url=server.url))
        with pytest.raises(InputError, match="no log-probabilities; remove logprobs"):
            check_judge(JudgeConfig(model="m", base_url=server.url, logprobs=10))
    with pytest.raises(ValueError, match="must not set logprobs"):
        JudgeConfig(model="m", base_url="http://x/v1", extra_body={"logprobs": True})
