"""Judging against a real local server that misbehaves, and the store behind it."""

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from judge_server import Answer, Behave, free_port, item_of, judge_server

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Reply, Rubric, Verdict, summarize
from long_context_tasks.schema import InputError, Message

RUBRIC = Rubric("ten", 1, 10, last_boxed(1, 10))
SECRET = "sk-verysecret0123456789"


def requests(n: int) -> list[JudgeRequest]:
    return [JudgeRequest(str(i), (Message("user", f"Judge item-{i}."),)) for i in range(n)]


def judged(
    folder: Path, behave: Behave, n: int = 3, **fields: Any
) -> tuple[list[tuple[Verdict, ...]], list[dict[str, Any]]]:
    with judge_server(behave) as server:
        config = JudgeConfig(
            **{"model": "m", "base_url": server.url, "retry_wait": 0.01, "retries": 2, "concurrency": 4}
            | fields
        )
        verdicts = judge_all(requests(n), config, RUBRIC, Store(folder / "s.jsonl"), progress=False)
        return verdicts, server.bodies


def test_verdicts_come_in_order_and_once(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], _: int) -> Answer:
        i = int(item_of(body)[5:])
        return Answer(rf"\boxed{{{i % 10 + 1}}}", delay=0.002 * (7 * i % 5))

    verdicts, bodies = judged(tmp_path, behave, n=30, seeds=(1, 2))
    assert [[v.score for v in row] for row in verdicts] == [[i % 10 + 1] * 2 for i in range(30)]
    assert [v.seed for v in verdicts[0]] == [1, 2]
    assert len(bodies) == 60
    again, bodies = judged(tmp_path, behave, n=30, seeds=(1, 2))
    assert not bodies
    assert [[v.row() for v in row] for row in again] == [[v.row() for v in row] for row in verdicts]


def test_the_settings_are_sent(tmp_path: Path) -> None:
    _, [body] = judged(
        tmp_path, lambda *_: Answer(), n=1, temperature=0.6, top_p=0.9, max_tokens=7, extra_body={"top_k": 5}
    )
    message = {"role": "user", "content": "Judge item-0."}
    settings = {"temperature": 0.6, "top_p": 0.9, "max_tokens": 7, "seed": 2023, "top_k": 5}
    assert body == {"model": "m", "messages": [message], **settings}
    template = {"api": "completions", "prompt_template": "[INST] {prompt} [/INST]"}
    _, [body] = judged(tmp_path, lambda *_: Answer(), n=1, seeds=(None,), **template)
    assert body["prompt"] == "[INST] Judge item-0. [/INST]"
    assert "seed" not in body and "messages" not in body


def test_calls_in_flight_are_limited(tmp_path: Path) -> None:
    with judge_server(lambda _, n: Answer(delay=0.02, together=5 if n < 5 else 0)) as server:
        config = JudgeConfig(model="m", base_url=server.url, concurrency=5)
        judge_all(requests(40), config, RUBRIC, Store(tmp_path / "s"), progress=False)
        assert server.most_in_flight == 5


@pytest.mark.parametrize(
    "bad",
    [
        Answer(status=429),
        Answer(status=500),
        Answer(status=503),
        Answer(drop=True),
        Answer(raw=b"<html>", status=200),
        Answer(raw=b'{"choices": []}'),
    ],
)
def test_passing_failures_are_tried_again(tmp_path: Path, bad: Answer) -> None:
    verdicts, bodies = judged(tmp_path, lambda _, n: bad if n < 2 else Answer(), n=1)
    assert verdicts[0][0].score == 7
    assert len(bodies) == 3


@pytest.mark.slow
def test_a_call_without_an_answer_is_tried_again(tmp_path: Path) -> None:
    verdicts, bodies = judged(tmp_path, lambda _, n: Answer(delay=0 if n else 600), n=1, timeout=5)
    assert verdicts[0][0].score == 7
    assert len(bodies) == 2


def test_retry_after_is_honoured(tmp_path: Path) -> None:
    from stamina.instrumentation import set_on_retry_hooks

    waits: list[float] = []
    slow = Answer(status=429, headers={"Retry-After": "0.25"})
    set_on_retry_hooks([lambda retry: waits.append(retry.wait_for)])
    try:
        verdicts, _ = judged(tmp_path, lambda _, n: slow if n == 0 else Answer(), n=1)
    finally:
        set_on_retry_hooks(None)
    assert verdicts[0][0].score == 7
    assert waits == [0.25]


@pytest.mark.parametrize("status", [400, 500])
def test_a_call_that_fails_for_good_costs_that_verdict_only(tmp_path: Path, status: int) -> None:
    def behave(body: dict[str, Any], _: int) -> Answer:
        return Answer(status=status) if item_of(body) == "item-1" else Answer()

    verdicts, _ = judged(tmp_path, behave, n=6)
    assert [row[0].score for row in verdicts] == [7, None, 7, 7, 7, 7]
    assert verdicts[1][0].reason == "endpoint_failed"
    assert f"status {status}" in str(verdicts[1][0].error)
    # Not stored: the next run asks again.
    again, bodies = judged(tmp_path, lambda *_: Answer(), n=6)
    assert [item_of(body) for body in bodies] == ["item-1"]
    assert again[1][0].score == 7


def test_an_endpoint_that_is_gone_is_given_up(tmp_path: Path) -> None:
    verdicts, bodies = judged(tmp_path, lambda *_: Answer(status=503), n=100)
    assert {row[0].reason for row in verdicts} == {"endpoint_failed"}
    assert len(bodies) < 40


def test_replies_without_a_score_are_asked_again_and_never_zero(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], n: int) -> Answer:
        return Answer("No." if item_of(body) == "item-0" else ("Score: 8" if n < 2 else r"\boxed{8}"))

    verdicts, bodies = judged(tmp_path, behave, n=2, concurrency=1, asks=4)
    lost, found = verdicts[0][0], verdicts[1][0]
    assert (lost.score, lost.reason, lost.attempts) == (None, "unparsable", 4)
    assert (found.score, found.attempts, found.replies[0]) == (8, 1, r"\boxed{8}")
    seeds = [body.pop("seed") for body in bodies[:4]]
    assert seeds[0] == 2023 and len(set(seeds)) == 4, "a server answers the same seed in the same way"
    assert len({json.dumps(body) for body in bodies[:4]}) == 1, "asked again at other settings"
    again, bodies = judged(tmp_path, behave, n=2, concurrency=1, asks=4)
    assert not bodies
    assert again[0][0].reason == "unparsable"


def test_an_item_with_two_equal_empty_replies_is_not_asked_a_third_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    verdicts, bodies = judged(tmp_path, lambda *_: Answer(None), n=2, asks=9)
    assert len(bodies) == 4
    assert {(row[0].score, row[0].reason, row[0].attempts) for row in verdicts} == {(None, "unparsable", 2)}
    assert "not asked again" in str(verdicts[0][0].error)
    assert "2 items got two identical empty replies" in caplog.text
    _, bodies = judged(tmp_path, lambda *_: Answer(), n=2, asks=9)
    assert not bodies


def test_usage_and_cost_are_counted(tmp_path: Path) -> None:
    prices = {"prompt_price": 30.0, "completion_price": 60.0}
    with judge_server() as server:
        config = JudgeConfig(model="m", base_url=server.url, **prices)  # type: ignore[arg-type]
        store = Store(tmp_path / "s")
        # Two items with one prompt share a call.
        twice = [*requests(2), *requests(2)]
        summary = summarize(judge_all(twice, config, RUBRIC, store, progress=False), config)
        assert (summary.total, summary.judged, summary.spent.replies) == (4, 4, 2)
        assert (summary.spent.prompt_tokens, summary.spent.completion_tokens) == (200, 20)
        assert summary.cost_spent == pytest.approx(200 * 30e-6 + 20 * 60e-6)
        summary = summarize(judge_all(twice, config, RUBRIC, store, progress=False), config)
        assert (summary.spent.replies, summary.usage.replies, summary.cost_spent) == (0, 2, 0)


def test_it_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> Any:
        return judged(tmp_path, lambda *_: Answer(), n=2)[0]

    assert [row[0].score for row in asyncio.run(notebook())] == [7, 7]


def test_the_key_is_sent_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    refusal = Answer(status=500, error=f"bad key {SECRET}")
    with judge_server(lambda body, _: refusal if item_of(body) == "item-1" else Answer()) as server:
        config = JudgeConfig(
            model="m", base_url=server.url, api_key_env="MY_KEY", retries=1, retry_wait=0.01, concurrency=1
        )
        verdicts = judge_all(requests(2), config, RUBRIC, Store(tmp_path / "s"), progress=False)
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert verdicts[1][0].error == "status 500: bad key (not shown)"
    shown = repr(config) + repr(verdicts) + json.dumps([v.row() for row in verdicts for v in row])
    assert SECRET not in shown + caplog.text + (tmp_path / "s").read_text()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=401, error=SECRET), "refuses the key in environment variable MY_KEY"),
        (Answer(status=403), "refuses the key"),
        (Answer(status=404), "it offers good, better"),
        (Answer(status=400, error="temperature is not supported"), "temperature is not supported"),
        (Answer(status=429), "over its limit"),
        (Answer(status=503, error="loading"), r"answers with an error \(status 503: loading\); look at"),
        (Answer(raw=b"<html>"), "usually ends in /v1"),
    ],
)
def test_the_probe_says_what_is_wrong(answer: Answer, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    models = ["good", "better"] if answer.status == 404 else []
    with judge_server(lambda *_: answer, models) as server:
        config = JudgeConfig(model="m", base_url=server.url, api_key_env="MY_KEY", retry_wait=0.01)
        with pytest.raises(InputError, match=said) as caught:
            check_judge(config)
    assert SECRET not in str(caught.value)


def test_the_probe_passes_and_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with judge_server() as server:
        check_judge(JudgeConfig(model="m", base_url=server.url))
        assert len(server.bodies) == 1
        assert server.bodies[0]["max_tokens"] == 16
        monkeypatch.delenv("MY_KEY", raising=False)
        with pytest.raises(InputError, match="MY_KEY is not set"):
            check_judge(JudgeConfig(model="m", base_url=server.url, api_key_env="MY_KEY"))
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(InputError, match="start the server"):
        check_judge(JudgeConfig(model="m", base_url=nobody, retry_wait=0.01))


def test_a_judge_that_never_answers_is_said_to_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("long_context_tasks.judges.client._QUICK_SECONDS", 0.01)
    monkeypatch.setattr("long_context_tasks.schema.progress._EVERY", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(InputError, match="does not answer"):
            check_judge(config := JudgeConfig(model="m", base_url=url, timeout=0.5, retries=0))
        lines = capsys.readouterr().err.splitlines()
        judge_all(requests(1), config, RUBRIC, Store(tmp_path / "s"))
    assert lines[0] == f"asking the judge m at {url}, at most 0.5 s per attempt"
    assert re.fullmatch(rf"asking the judge m at {url}: \d s, at most 0.5 s per attempt", lines[1])
    assert capsys.readouterr().err.count("judge m:   0%") > 2  # the bar goes on


def test_the_key_of_a_call_holds_what_determines_the_reply() -> None:
    config = JudgeConfig(model="m", base_url="http://h/v1")
    messages, draw = (Message("user", "x\ud800"),), Draw(1)
    same = {"base_url": "http://g/v1", "concurrency": 3, "api_key_env": "A", "retries": 1, "name": "n"}
    other = {"model": "k", "temperature": 0.1, "top_p": 0.5, "max_tokens": 9, "revision": "2"}
    other |= {"extra_body": {"a": 1}}
    base = config.key(messages, draw)
    assert all(config.changed(**{name: value}).key(messages, draw) == base for name, value in same.items())
    keys = {base, *(config.changed(**{name: value}).key(messages, draw) for name, value in other.items())}
    keys |= {config.key(messages, Draw(2)), config.key(messages, Draw(1, 1))}
    keys |= {config.key((Message("system", "x\ud800"),), draw)}
    assert len(keys) == len(other) + 4


def test_a_local_judge_is_asked_in_batches(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None, int]] = []

    def generate(prompts: Any, draw: Any) -> list[Reply]:
        seen.append((len(prompts), draw.seed, draw.attempt))
        if any("item-4" in prompt[0].content for prompt in prompts):
            raise MemoryError
        return [Reply(r"\boxed{3}" if draw.attempt or "item-0" not in p[0].content else "?") for p in prompts]

    config = JudgeConfig(model="m", kind="local", batch_size=2, temperature=0.5, seeds=(1,))
    store = Store(tmp_path / "s")
    verdicts = judge_all(requests(6), config, RUBRIC, store, generate, progress=False)
    assert [row[0].score for row in verdicts] == [3, 3, 3, 3, None, None]
    assert (verdicts[4][0].reason, verdicts[0][0].attempts) == ("endpoint_failed", 2)
    assert seen == [(2, 1, 0), (2, 1, 0), (2, 1, 0), (1, 1, 1)]


def test_broken_lines_are_skipped_and_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s"
    Store(path).append([("a", Reply("one")), ("b", Reply("two\u2028"))])
    with path.open("a") as file:
        file.write('{"key": "c", "reply": "th')
    store = Store(path)
    assert "1 damaged line(s) (line 3)" in caplog.text
    store.append([("d", Reply("four")), ("a", Reply("other"))])
    fresh = Store(path)
    assert [fresh.get(key) for key in "abcd"] == [Reply("one"), Reply("two\u2028"), None, Reply("four")]
    assert fresh.damaged == [3]
    assert path.stat().st_mode & 0o077 == 0


def test_a_store_sees_what_others_append(tmp_path: Path) -> None:
    one, two = Store(tmp_path / "s"), Store(tmp_path / "s")
    one.append([("a", Reply("x"))])
    assert two.get("a") == Reply("x")


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/s"):
        Store(tmp_path / "file" / "s")


WRITER = """
import sys
from pathlib import Path
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Reply
store = Store(Path(sys.argv[1]))
for i in range(10**6):
    store.append([(f"{sys.argv[2]}-{i}", Reply("x" * 20_000))], sync=False)
    print(i, flush=True)
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_counted(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for turn in range(3):
        command = [sys.executable, "-c", WRITER, str(path)]
        writers = [
            subprocess.Popen([*command, f"{turn}.{n}"], stdout=subprocess.PIPE, env={**os.environ})
            for n in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(0.2)
        for n, writer in enumerate(writers):
            writer.kill()
            rest = writer.communicate()[0].split()
            store = Store(path)
            done = int(rest[-1]) if rest else 0
            assert all(store.get(f"{turn}.{n}-{i}") for i in range(done + 1))
    assert len(Store(path).damaged) <= 6
