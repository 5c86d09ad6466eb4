"""Servers that bend the protocol: all hosts and judges read the same of an answer, and no failure of a server is a silent zero."""

import json
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from judge_server import Answer, JudgeServer, judge_server
from lm_eval_runs import evaluate_served
from needs import needs
from opencompass_steps import replies
from tiny_model import make_tiny_model

from long_context_tasks.benchmarks.ada_leval.reading import extract_bestanswer_strict
from long_context_tasks.benchmarks.downloads import fetch_file
from long_context_tasks.hosts import server as server_module
from long_context_tasks.hosts.opencompass.configs import served_model
from long_context_tasks.hosts.server import find_server
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict
from long_context_tasks.results import find_runs
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.thinking import Visible, without_thinking

pytestmark = pytest.mark.slow
TASK = "ada_leval_bestanswer_1k"
Ask = Callable[[JudgeServer, Path], str | None]


def body(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]}


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "A1 or A3"}]},
    {"type": "text", "text": "Answer: "},
    {"type": "text", "text": "A2"},
]
NO_INDEX: dict[str, Any] = {"choices": [{"finish_reason": "stop", "message": {"content": "Answer: A2"}}]}
CUT: dict[str, Any] = {
    "choices": [{"index": 0, "finish_reason": "length", "message": {"reasoning": "A1 or"}}]
}
ANSWERED = {
    "content in parts": (body(content=PARTS), "A2", None),
    "no index": (NO_INDEX, "A2", None),
    "null index": ({"choices": [{**NO_INDEX["choices"][0], "index": None}]}, "A2", None),
    "content omitted": (CUT, None, True),
    "content omitted, nothing said": (
        {"choices": [{"index": 0, "finish_reason": "stop", "message": {}}]},
        None,
        False,
    ),
    "parts of thinking only": (body(content=PARTS[:1]), None, True),
}
"""A body, the designation in it, and if there is none whether the answer ended inside its thinking."""

FAILED = {
    "error with a code": (
        {"choices": None, "error": {"message": "The provider is out", "code": 418}},
        "The provider is out.*418",
    ),
    "error in words": ({"error": "The model is gone"}, "The model is gone"),
    "no choices": ({"choices": []}, "without choices"),
    "another body": ({"detail": "Not Found"}, "not an OpenAI-style completion"),
}


def serve(answer: dict[str, Any]) -> Any:
    return judge_server(lambda *_: Answer(raw=json.dumps(answer).encode()))


def by_lm_eval(server: JudgeServer, folder: Path, **options: Any) -> str:
    result = evaluate_served(TASK, server.url, metadata={"lct_n": 1, **options})
    [sample] = result["samples"][TASK]
    return str(sample["filtered_resps"][0])


def by_inspect(server: JudgeServer, folder: Path, **options: Any) -> str | None:
    from inspect_ai import eval as evaluate

    import long_context_tasks.hosts.inspect.registry  # noqa: F401

    [log] = evaluate(
        f"long_context_tasks/{TASK}",
        display="none",
        log_dir=str(folder / "logs"),
        model="openai-api/stub/stub",
        model_base_url=server.url,
        task_args={"lct_n": 1, **options},
        max_retries=0,
    )
    if log.error is not None:
        raise RuntimeError(log.error.message)
    [run] = find_runs(folder / "logs").runs
    [case] = run.cases()
    return case.responses[0].text


def by_opencompass(server: JudgeServer, folder: Path) -> str:
    from opencompass.models import OpenAISDK

    tokenizer = str(make_tiny_model(folder / "tiny"))
    model = OpenAISDK(
        path="stub",
        openai_api_base=server.url,
        key="EMPTY",
        tokenizer_path=tokenizer,
        query_per_second=100,
        retry=1,
    )
    model.openai_client.max_retries = 0
    [reply] = replies(model, [[Message("user", "?")]])
    assert len(server.bodies) == 1
    return reply.text


HOSTS = [
    pytest.param(by_lm_eval, marks=needs("lm_eval"), id="lm-eval"),
    pytest.param(by_opencompass, marks=needs("opencompass"), id="OpenCompass"),
    pytest.param(by_inspect, marks=needs("inspect_ai"), id="inspect_ai"),
]


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("ask", HOSTS)
@pytest.mark.parametrize("name", ANSWERED)
def test_a_host_reads_an_odd_answer(
    name: str, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_API_KEY", "EMPTY")
    answer, designation, unclosed = ANSWERED[name]
    with serve(answer) as server:
        read = without_thinking(ask(server, tmp_path) or "")
    assert extract_bestanswer_strict(read.text, 9).answer == designation
    if designation is None:
        assert read == Visible("", bool(unclosed))


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("ask", HOSTS[:2])
def test_a_host_says_that_a_server_has_not_answered_yet(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "_SILENT_SECONDS", 0.2)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    # lm-eval's one request with max_tokens=1 comes before the run.
    with judge_server(lambda asked, _: Answer(delay=2 if asked["max_tokens"] > 1 else 0)) as server:
        ask(server, tmp_path)
    first, second, *_ = [line for line in caplog.messages if "first answer" in line]
    assert re.fullmatch(
        rf"waiting for the first answer of \S+ at {server.url}\S* for 0 s \(the time-out is .* s per attempt\)",
        first,
    )
    assert second == first


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("ask", HOSTS)
@pytest.mark.parametrize("name", FAILED)
def test_a_host_names_a_failure(name: str, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "EMPTY")
    with serve(FAILED[name][0]) as server, pytest.raises(Exception, match=FAILED[name][1]):
        ask(server, tmp_path)


RUBRIC = Rubric("answer", 0, 1, lambda reply: float("A2" in reply) if reply.strip() else None)


def judge(url: str, folder: Path, rubric: Rubric = RUBRIC, **settings: Any) -> Verdict:
    config = JudgeConfig(model="m", base_url=url, **{"retries": 0, "retry_wait": 0.01, **settings})
    request = JudgeRequest("1", (Message("user", "?"),))
    [[verdict]] = judge_all([request], config, rubric, Store(folder / "s.jsonl"), progress=False)
    return verdict


@pytest.mark.parametrize("name", ANSWERED)
def test_a_judge_reads_an_odd_answer(name: str, tmp_path: Path) -> None:
    answer, designation, _ = ANSWERED[name]
    with serve(answer) as server:
        verdict = judge(server.url, tmp_path)
        check_judge(JudgeConfig(model="m", base_url=server.url))
    if designation:
        assert (verdict.score, verdict.reason) == (1, None)
    else:
        assert (verdict.score, verdict.reason, verdict.attempts) == (None, "unparsable", 2)
        assert "not asked again" in str(verdict.error)


@pytest.mark.parametrize("name", FAILED)
def test_a_judge_names_a_failure(name: str, tmp_path: Path) -> None:
    with serve(FAILED[name][0]) as server:
        verdict = judge(server.url, tmp_path)
    assert (verdict.score, verdict.reason) == (None, "endpoint_failed")
    assert re.search(FAILED[name][1], str(verdict.error))


@pytest.mark.parametrize("status", [520, 521, 522, 523, 524, 200])
def test_a_passing_failure_before_the_server_is_tried_again(status: int, tmp_path: Path) -> None:
    """Status 200 with an error of code 429 in the body waits as 429 does."""
    limited = json.dumps({"choices": None, "error": {"message": "slow down", "code": 429}}).encode()
    good = json.dumps(body(content="A2")).encode()

    def behave(_: dict[str, Any], number: int) -> Answer:
        return (
            Answer(raw=good) if number else Answer(status=status, raw=limited, headers={"Retry-After": "0.1"})
        )

    with judge_server(behave) as server:
        assert judge(server.url, tmp_path, retries=2).score == 1
        assert len(server.bodies) == 2


def test_a_thinking_judge_passes_the_probe(tmp_path: Path) -> None:
    """Servers omit the content, send no choice, or refuse so small a limit."""
    for answer in (CUT, {"choices": []}):
        with serve(answer) as server:
            check_judge(JudgeConfig(model="m", base_url=server.url, retry_wait=0.01))

    def behave(asked: dict[str, Any], _: int) -> Answer:
        small = asked["max_tokens"] < 1024
        return Answer(status=400, error="max_tokens is too small") if small else Answer()

    with judge_server(behave) as server:
        check_judge(JudgeConfig(model="m", base_url=server.url, max_tokens=2048))
        with pytest.raises(InputError, match="max_tokens is too small"):
            check_judge(JudgeConfig(model="m", base_url=server.url, max_tokens=512))


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.usefixtures("no_proxy")
def test_a_proxy_is_used_and_named_without_its_password(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(body(content="A2")) as proxy:
        address = proxy.url.removesuffix("/v1")
        monkeypatch.setenv(variable, address.replace("://", "://anne:secret@"))
        config = JudgeConfig(model="m", base_url="http://judge.invalid/v1", retries=0)
        assert judge(config.base_url, tmp_path).score == 1
        assert proxy.paths == ["http://judge.invalid/v1/chat/completions"]
    with pytest.raises(InputError, match=f"through the proxy {address}") as caught:
        check_judge(config)
    assert "secret" not in str(caught.value)
    monkeypatch.setenv(variable, "socks5://anne:secret@127.0.0.1:9")
    with pytest.raises(InputError, match=r"socks5://127.0.0.1:9 .* does not use HTTP"):
        check_judge(config)


LOGIN = "anne:p%40ss-w0rd"
FORMS = ("p%40ss-w0rd", "p@ss-w0rd", b64encode(b"anne:p@ss-w0rd").decode())


class Echo(BaseHTTPRequestHandler):
    """A proxy that answers the first call and refuses the login from then on, and repeats what it was sent."""

    def do_POST(self) -> None:
        self.server.asked.append(self.requestline)  # type: ignore[attr-defined]
        first = len(self.server.asked) == 1 and self.command == "POST"  # type: ignore[attr-defined]
        refused = json.dumps({"error": f"{FORMS} {self.headers}"})
        said = (json.dumps(body(content=r"\boxed{7}")) if first else refused).encode()
        self.send_response(200 if first else self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(said)

    do_CONNECT = do_GET = do_POST

    def log_message(self, *_: object) -> None: ...


@contextmanager
def echo(status: int) -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.asked, server.status = [], status  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def quoted(folder: Path, *texts: object) -> list[str]:
    """Where a password stands: files of a folder, and texts."""
    files = {str(path): path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()}
    places = files | {f"text {number}": str(text) for number, text in enumerate(texts)}
    return [place for place, text in places.items() if any(form in text for form in FORMS)]


@pytest.mark.parametrize("status", [407, 400, 502])
@pytest.mark.usefixtures("no_proxy")
def test_a_proxy_that_refuses_the_login_and_repeats_it(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is in no stored judgement, no message and no log."""
    with echo(status) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{LOGIN}@127.0.0.1:{proxy.server_port}")
        requests = [JudgeRequest(str(n), (Message("user", f"Judge {n}."),)) for n in range(4)]
        config = JudgeConfig(model="m", base_url="http://judge.invalid/v1", retries=0, concurrency=1)
        rubric = Rubric("ten", 1, 10, last_boxed(1, 10))
        verdicts = judge_all(requests, config, rubric, Store(tmp_path / "store.jsonl"), progress=False)
        scores = [verdict.score for (verdict,) in verdicts]
        errors = [verdict.error for (verdict,) in verdicts[1:]]
        with pytest.raises(InputError) as caught:
            check_judge(config)
    assert scores == [7, None, None, None] and all(
        f"status {status} through the proxy" in str(error) for error in errors
    )
    assert not quoted(
        tmp_path, caught.value, caplog.text, *verdicts, *(verdict.row() for (verdict,) in verdicts)
    )
    assert status != 407 or "a proxy that refuses the login" in str(caught.value)


@pytest.mark.usefixtures("no_proxy")
def test_a_proxy_that_refuses_a_tunnel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with echo(407) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{LOGIN}@127.0.0.1:{proxy.server_port}")
        with pytest.raises(InputError, match="through the proxy http://127") as judge_error:
            check_judge(JudgeConfig(model="m", base_url="https://judge.invalid/v1", retries=0))
        with pytest.raises(InputError, match="407") as download_error:
            fetch_file(["https://data.invalid/x"], tmp_path / "x", attempts=1)
        assert {line.split()[0] for line in proxy.asked} == {"CONNECT"}
    assert not quoted(tmp_path, judge_error.value, download_error.value, caplog.text)


@pytest.mark.parametrize(
    "address",
    [
        "http://anne:p%40ss-w0rd/x@127.0.0.1:9",
        "http://anne:p%40ss-w0rd#@127.0.0.1:9",
        "http://anne:p%40ss-w0rd?@127.0.0.1:9",
        "http://anne:p%40ss-w0rd@127.0.0.1:port",
        "http://anne:p%40ss-w0rd@127.0.0.1:99999",
        "http://anne:p%40ss-w0rd@[127.0.0.1",
        "anne:p%40ss-w0rd",
        "http://anne:p%40ss-w0rd@",
    ],
)
@pytest.mark.usefixtures("no_proxy")
def test_a_proxy_that_is_no_address(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    monkeypatch.setenv("HTTP_PROXY", address)
    with pytest.raises(InputError, match="the proxy from the environment is not an address") as first:
        check_judge(JudgeConfig(model="m", base_url="http://judge.invalid/v1", retries=0))
    with pytest.raises(InputError, match="the proxy from the environment is not an address") as second:
        fetch_file(["http://data.invalid/x"], tmp_path / "x", attempts=1)
    assert find_server("http://server.invalid/v1", "m") is None
    monkeypatch.setenv("LCT_API_BASE", "http://server.invalid/v1")
    with pytest.raises(InputError, match="the proxy from the environment is not an address") as third:
        served_model()
    assert not quoted(tmp_path, first.value, second.value, third.value, caplog.text)


OWN_MARKS = body(content="<plan>A1 or A3</plan>Answer: A2")


@needs("lm_eval")
@needs("inspect_ai")
@pytest.mark.usefixtures("published")
def test_a_preset_names_marks_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "EMPTY")
    with serve(OWN_MARKS) as server:
        for text in (
            by_lm_eval(server, tmp_path, lct_thinking="<plan> </plan>"),
            by_inspect(server, tmp_path, lct_thinking="<plan> </plan>"),
        ):
            assert without_thinking(str(text)) == Visible("Answer: A2", False)


def test_a_judge_file_names_marks_of_its_own(tmp_path: Path) -> None:
    rubric = Rubric("marks", 0, 1, lambda reply: float(without_thinking(reply).text == "Answer: A2"))
    for number, (marks, score) in enumerate([("<plan>  </plan>", 1), (None, 0)]):
        with serve(OWN_MARKS) as server:
            verdict = judge(server.url, tmp_path / str(number), rubric, thinking=marks)
        assert verdict.score == score
    with pytest.raises(ValueError, match="an opening and a closing mark"):
        JudgeConfig(model="m", base_url="http://127.0.0.1:9/v1", thinking="<plan>")
