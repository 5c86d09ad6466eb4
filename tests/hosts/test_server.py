"""Servers that state their window and count tokens, those that do not, and those that fail at it."""

import json
import sys
import time
from threading import Event

import pytest
from judge_server import Answer, Others, free_port, judge_server
from stub_server import json_answer, like_llama_cpp, like_vllm, stub_server

from long_context_tasks.hosts import server as server_module
from long_context_tasks.hosts.server import (
    announce_silence,
    ask_server,
    check_served,
    find_server,
    lasting_failure,
)
from long_context_tasks.schema import InputError

KEY = "sk-0123456789abcdef"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_SECONDS", 1.0)
    monkeypatch.setattr(server_module, "_COUNT_SECONDS", 1.0)


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Our lines; the stub server logs its own end while it still waits."""
    return [record.getMessage() for record in caplog.records if record.name == server_module.__name__]


@pytest.mark.parametrize(("others", "words"), [(like_vllm(900), 4), (like_llama_cpp(900), 3)])
@pytest.mark.parametrize("path", ["", "/", "/chat/completions", "/completions/"])
def test_the_window_and_counts_of_a_server(others: Others, words: int, path: str) -> None:
    with stub_server(others=others) as stub:
        found = find_server(stub.url + path, "stub", KEY)
        assert found is not None and found.window == 900
        assert found.counter is not None and found.counter("one \ud800 three") == words
    assert {key for _, key in stub.asked} == {f"Bearer {KEY}"} and not stub.requests
    assert [name for name, _ in stub.asked].count("/v1/models") == 1


def test_a_server_that_restarts_with_another_window() -> None:
    windows: list[int | None] = [900, None, 1800]
    others = {
        "/v1/models": lambda _: json_answer({"data": [{"id": "stub", "max_model_len": windows.pop(0)}]})
    }
    with stub_server(others=others) as stub:
        found = [find_server(stub.url, "stub") for _ in range(3)]
    assert [server and server.window for server in found] == [900, None, 1800]


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"/v1/models": lambda _: json_answer({"data": [{"id": "stub", "max_model_len": None}]})},
        {"/v1/models": lambda _: Answer(raw=b"<html>", headers={"Content-Type": "text/html"})},
        {"/v1/models": lambda _: Answer(status=401, raw=b"{}"), "/props": lambda _: Answer(status=404)},
        {"/v1/models": lambda _: json_answer({"data": 3})},
        {"/v1/models": lambda _: json_answer(["stub"]), "/props": lambda _: json_answer({"n_ctx": 8})},
    ],
)
def test_servers_that_state_no_window_are_left_alone(
    others: Others, caplog: pytest.LogCaptureFixture
) -> None:
    with stub_server(others=others) as stub:
        assert find_server(stub.url, "stub") is None
    assert not warnings_in(caplog)


def test_a_server_that_does_not_count_states_its_window_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    models = {"/v1/models": like_vllm(900)["/v1/models"]}
    for tokenize in (Answer(status=404), json_answer({"tokens": 3}), json_answer({"tokens": [1] * 99})):
        with stub_server(others={**models, "/tokenize": lambda _, said=tokenize: said}) as stub:
            found = find_server(stub.url, "stub")
            assert found is not None and (found.window, found.counter) == (900, None)
    assert not warnings_in(caplog)


FAILING: list[Others] = [
    {"/v1/models": lambda _: Answer(delay=30)},
    {"/v1/models": lambda _: json_answer({"data": [{"id": "stub", "max_model_len": -5}]})},
    {"/v1/models": lambda _: json_answer({"data": [{"id": "stub", "max_model_len": "8k"}]})},
    {"/v1/models": lambda _: Answer(raw=b"{", headers={"Content-Length": "9"})},
]


@pytest.mark.parametrize("others", FAILING)
def test_a_server_that_hangs_or_lies_costs_one_line(others: Others, caplog: pytest.LogCaptureFixture) -> None:
    with stub_server(others=others) as stub:
        assert find_server(stub.url, "stub") is None
    [line] = warnings_in(caplog)
    assert "\n" not in line and stub.url.removesuffix("/v1") in line and "lct_window" in line


def test_no_server_is_one_line_without_the_login(caplog: pytest.LogCaptureFixture) -> None:
    assert find_server(f"http://me:pw@127.0.0.1:{free_port()}/v1", "stub") is None
    [line] = warnings_in(caplog)
    assert "me:pw" not in line


def test_a_server_that_stops_counting_is_not_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([json_answer({"tokens": [1, 2]}), json_answer({"tokens": [1] * 5}), Answer(delay=30)])
    others = {**like_vllm(900), "/tokenize": lambda _: next(answers)}
    with stub_server(others=others) as stub:
        found = find_server(stub.url, "stub")
        assert found is not None and (count := found.counter) is not None
        assert [count("some text") for _ in range(3)] == [5, None, None]
    assert [path for path, _ in stub.asked].count("/tokenize") == 3
    [line] = warnings_in(caplog)
    assert "/tokenize: no answer" in line


def test_no_key_reaches_another_host() -> None:
    with judge_server(others=like_vllm(900)) as elsewhere:
        root = elsewhere.url.removesuffix("/v1").replace("127.0.0.1", "localhost")

        def moved(path: str) -> Answer:
            return Answer(status=307, headers={"Location": root + path}, raw=json.dumps({}).encode())

        for first in ({}, {"/v1/models": like_vllm(900)["/v1/models"]}):
            others = {path: lambda _, path=path: moved(path) for path in like_vllm(900)} | first
            with stub_server(others=others) as stub:
                found = find_server(stub.url, "stub", KEY)
                assert found is None or found.counter is None
    assert not elsewhere.asked


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize(
    ("others", "path", "requests"),
    [
        (like_vllm(900), "/chat/completions", 1),
        ({"/v1/models": lambda _: Answer(status=401)}, "/chat/completions", 1),
        ({"/v1/models": lambda _: json_answer({"data": [{"id": "other"}]})}, "/chat/completions", 1),
        ({"/v1/models": lambda _: Answer(raw=b"<html>")}, "/chat/completions", 0),
        ({**like_vllm(900), "/v1/odd/models": lambda _: Answer(status=404)}, "/odd", 1),
        ({"/v1/models": lambda _: Answer(delay=30)}, "/chat/completions", 0),
        (
            {"/v1/models": lambda _: Answer(status=401), "/v1/odd": lambda _: Answer(status=404)},
            "/odd",
            0,
        ),
    ],
)
def test_a_server_that_answers_is_not_refused(others: Others, path: str, requests: int, chat: bool) -> None:
    path = path if chat else path.removeprefix("/chat")
    with stub_server(others=others) as stub:
        check_served(stub.url + path, "stub", {"Authorization": f"Bearer {KEY}"}, chat=chat)
    assert len(stub.requests) == requests
    assert {key for _, key in stub.asked} <= {f"Bearer {KEY}"}


def test_a_key_that_crosses_the_end_of_an_excerpt_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "KKKKKKKKKK1234567890KKKKKKKKKK"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for text in (f"{'x' * 180} {key}", f"{'x' * 170} Bearer {key}"):
        refusal = json.dumps({"error": {"message": text}})
        said = [str(lasting_failure("http://x/v1", 500, body)) for body in (text, refusal)]
        others = {"/v1/models": lambda _, body=refusal: Answer(status=500, raw=body.encode())}
        with stub_server(others=others) as stub, pytest.raises(InputError) as failed:
            ask_server(stub.url, "stub")
        for shown in (*said, str(failed.value)):
            assert "(not s" in shown and "KKKK" not in shown


@pytest.mark.parametrize("timeout", ["60", (1, 2), float("nan"), float("inf"), object()])
def test_a_timeout_that_is_no_number_of_seconds_is_not_shown(
    timeout: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "_SILENT_SECONDS", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    answered = Event()
    announce_silence("http://x/v1", "m", timeout, answered)
    for _ in range(1000):
        if warnings_in(caplog):
            break
        time.sleep(0.01)
    answered.set()
    assert warnings_in(caplog)[0] == "waiting for the first answer of m at http://x/v1 for 0 s"


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "correct --gen_kwargs"),
        (401, "put the right key into OPENAI_API_KEY or ANTHROPIC_API_KEY"),
        (408, "see its log"),
        (429, "lower num_concurrent"),
        (500, "see its log"),
    ],
)
def test_a_refusal_gets_the_remedy_of_its_status(status: int, remedy: str) -> None:
    assert f"): {remedy}" in str(lasting_failure("http://x/v1", status, "no"))
