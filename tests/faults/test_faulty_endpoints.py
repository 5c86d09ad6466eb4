"""A judge whose endpoint is faulty: another try or a clear reason, never a score, a raw exception or the key in a file."""

import logging
import re
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from faulty_endpoint import HARMLESS, LASTING, PASSING, SECRET, SILENT, Fault, faulty_endpoint
from judge_server import free_port
from kills import ALL

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict
from long_context_tasks.schema import InputError, Message

pytestmark = pytest.mark.faults

# Those that take seconds each are tried in all ways by `make faults` only.
ENDLESS = ("slow drip", "hanging")
SLOW = (*ENDLESS, "huge body", "packed bomb")
QUICK = [name for name in PASSING if ALL or name not in SLOW]
RUBRIC = Rubric("ten", 1, 10, last_boxed(1, 10))


@dataclass
class Judged:
    """The verdict on an item, and the calls that it took."""

    verdict: Verdict
    calls: int


class Judge(Protocol):
    def __call__(self, fault: Fault, times: int | None = None, timeout: float = 60) -> Judged: ...


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Judge:
    """Judge an item with an endpoint; afterwards no file and no log holds the key, and no memory was wasted."""
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    caplog.set_level(logging.DEBUG)

    def judge(fault: Fault, times: int | None = None, timeout: float = 60) -> Judged:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with faulty_endpoint(fault, times) as endpoint:
            verdict = judge_at(endpoint.url, tmp_path, timeout)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20
        shown = repr(verdict) + str(verdict.row()) + caplog.text
        assert SECRET not in shown + "".join(file.read_text() for file in tmp_path.iterdir())
        return Judged(verdict, endpoint.calls)

    return judge


def judge_at(url: str, folder: Path, timeout: float = 60) -> Verdict:
    config = JudgeConfig(
        model="m", base_url=url, api_key_env="JUDGE_KEY", retries=2, retry_wait=0.01, timeout=timeout, asks=2
    )
    request = JudgeRequest("1", (Message("user", "Judge this."),))
    [[verdict]] = judge_all([request], config, RUBRIC, Store(folder / "store.jsonl"), progress=False)
    return verdict


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_that_passes_is_tried_again(judged: Judge, name: str) -> None:
    found = judged(PASSING[name], 1, timeout=5 if name in ENDLESS else 60)
    assert (found.verdict.score, found.calls) == (7, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(dict.fromkeys([*QUICK, *ENDLESS])))
def test_a_fault_that_does_not_pass_gives_no_score(judged: Judge, name: str) -> None:
    found = judged(PASSING[name], timeout=2 if name in ENDLESS else 60)
    assert (found.verdict.score, found.verdict.reason, found.calls) == (None, "endpoint_failed", 3)
    assert found.verdict.error and "Traceback" not in found.verdict.error
    assert found.verdict.error.startswith("no answer within 2 s") or name not in ENDLESS


@pytest.mark.parametrize("name", ["huge body", *(["packed bomb"] if ALL else [])])
def test_a_body_without_end_is_not_read_to_its_end(judged: Judge, name: str) -> None:
    found = judged(PASSING[name])
    assert found.verdict.error == "an answer of over 64 MiB"


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_stays_is_not_tried_again(judged: Judge, name: str) -> None:
    fault, said = LASTING[name]
    found = judged(fault)
    assert (found.verdict.score, found.verdict.reason, found.calls) == (None, "endpoint_failed", 1)
    assert re.search(said, str(found.verdict.error))


@pytest.mark.parametrize("name", HARMLESS)
def test_an_oddity_does_not_hide_the_reply(judged: Judge, name: str) -> None:
    found = judged(HARMLESS[name])
    assert (found.verdict.score, found.calls) == (7, 1)


@pytest.mark.parametrize("name", SILENT)
def test_a_reply_without_verdict_is_no_zero(judged: Judge, name: str) -> None:
    found = judged(SILENT[name])
    assert (found.verdict.score, found.verdict.reason, found.calls) == (None, "unparsable", 2)


# A completion without choices may be due to the probe's own limit of tokens.
@pytest.mark.parametrize("name", [name for name in (*QUICK, *LASTING) if name != "no choices"])
def test_the_check_of_a_judge_says_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    fault = PASSING.get(name) or LASTING[name][0]
    with faulty_endpoint(fault) as endpoint:
        config = JudgeConfig(
            model="m",
            base_url=endpoint.url,
            api_key_env="JUDGE_KEY",
            retry_wait=0.01,
            timeout=2 if name in ENDLESS else 60,
        )
        with pytest.raises(InputError, match=re.escape(f"judge m at {endpoint.url} ")) as caught:
            check_judge(config)
    assert SECRET not in str(caught.value)


def test_a_refused_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    verdict = judge_at(f"http://127.0.0.1:{free_port()}/v1", tmp_path)
    assert (verdict.score, verdict.reason) == (None, "endpoint_failed")
    assert "no connection" in str(verdict.error)
