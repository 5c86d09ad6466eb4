"""Asking for texts: in order, each once, kept, with what went wrong named."""

import json
from pathlib import Path
from typing import Any

import pytest
from judge_server import Answer, item_of, judge_server
from tiny_model import make_tiny_model

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.run import Asked, Prompt, ask_all
from long_context_tasks.judges.store import Store
from long_context_tasks.schema import Message


def prompt(number: int) -> Prompt:
    return (Message("user", f"Say something of item-{number}."),)


def ask(url: str, path: Path, numbers: list[int], **settings: Any) -> Asked:
    config = JudgeConfig(model="m", base_url=url, retries=0, retry_wait=0.01, **settings)
    return ask_all([prompt(number) for number in numbers], config, Store(path), progress=False)


def test_texts_come_in_order_and_are_kept(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        # Late calls are answered first.
        return Answer(f" {item_of(body)} \n", delay=0.05 - 0.002 * number)

    with judge_server(behave) as server:
        asked = ask(server.url, tmp_path / "s", [3, 1, 2, 3, *range(10, 20)], seeds=(5, 6), logprobs=3)
        texts = [one.text for one in asked.answers]
        assert (
            texts[:4] == [" item-3 \n", " item-1 \n", " item-2 \n", " item-3 \n"] and len(server.bodies) == 13
        )
        assert {body["seed"] for body in server.bodies} == {5} and "logprobs" not in server.bodies[0]
        again = ask(server.url, tmp_path / "s", [2, 3], seeds=(5,))
        assert [one.text for one in again.answers] == [" item-2 \n", " item-3 \n"] and len(
            server.bodies
        ) == 13
        assert asked.summary.spent.replies == 13 and again.summary.spent.replies == 0


def test_another_model_than_asked_is_recorded_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with judge_server(lambda body, _: Answer("yes")) as server:  # it says that "stub" answers
        for model, served in (("org/stub", None), ("m", "stub")):
            config = JudgeConfig(model=model, base_url=server.url)
            place = tmp_path / model.replace("/", "_")
            ask_all([prompt(number) for number in range(3)], config, Store(place), progress=False)
            rows = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
            assert [row.get("served") for row in rows] == [served] * 3
    [warning] = [record.getMessage() for record in caplog.records if "answered" in record.getMessage()]
    assert "asked for m, but stub answered" in warning


def test_what_went_wrong_is_told(tmp_path: Path) -> None:
    cut = {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "half"}}]}
    answers = {
        "item-1": Answer("good"),
        "item-2": Answer("  "),
        "item-3": Answer(status=400, error="too long"),
        "item-4": Answer(raw=json.dumps(cut).encode()),
    }
    with judge_server(lambda body, _: answers[item_of(body)]) as server:
        one, two, three, four = ask(server.url, tmp_path / "s", [1, 2, 3, 4], asks=2, concurrency=1).answers
        assert (one.text, one.reason, one.cut) == ("good", None, False)
        assert (two.text, two.reason) == (None, "unparsable")
        assert (three.text, three.reason) == (None, "endpoint_failed") and "too long" in str(three.error)
        assert (four.text, four.cut) == ("half", True)
        # The one that said nothing was asked twice.
        assert [item_of(body) for body in server.bodies] == ["item-1", "item-2", "item-2", "item-3", "item-4"]


def test_what_is_usable_is_the_callers_word(tmp_path: Path) -> None:
    with judge_server(lambda _, number: Answer("no" if number < 2 else "yes")) as server:
        config = JudgeConfig(model="m", base_url=server.url)
        asked = ask_all(
            [prompt(1)], config, Store(tmp_path / "s"), usable=lambda text: text == "yes", progress=False
        )
        assert asked.answers[0].text == "yes" and len(server.bodies) == 3


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return make_tiny_model(tmp_path_factory.mktemp("asked") / "model", 512)


def test_a_model_in_this_process(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = JudgeConfig(model=str(model), kind="local", max_tokens=4)
    store = Store(tmp_path / "s")
    first = ask_all([prompt(1), prompt(2)], config, store, usable=lambda _: True, progress=False)
    assert all(one.text is not None for one in first.answers) and len(store) == 2

    def never(*_: Any) -> list[str]:
        raise AssertionError("asked again")

    monkeypatch.setattr("long_context_tasks.judges.local._loaded", never)
    assert ask_all([prompt(2), prompt(1)], config, store, usable=lambda _: True, progress=False).answers == (
        first.answers[1],
        first.answers[0],
    )
