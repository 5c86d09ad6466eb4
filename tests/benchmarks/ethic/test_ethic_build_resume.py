"""A build and a measurement that are killed with SIGKILL: what was answered is not asked again, and the result is the same."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ethic_oracle import oracle, write_documents
from judge_server import JudgeServer

LCT = [sys.executable, "-c", "from long_context_tasks.cli import app; app()"]


def stored(cache: Path) -> int:
    """Whole lines in the store of replies."""
    return sum(path.read_bytes().count(b"\n") for path in cache.glob("judges/*.jsonl"))


def prompts(server: JudgeServer, start: int = 0) -> list[str]:
    """What was asked, but for the check of the model."""
    texts = [body["messages"][-1]["content"] for body in server.bodies[start:]]
    return [text for text in texts if "Answer with the word yes" not in text]


def run_and_kill(command: list[str], environ: dict[str, str], cache: Path, at: int) -> None:
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while stored(cache) < at and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("kills", [(20, 45)])
def test_a_killed_build_pays_nothing_twice(tmp_path: Path, kills: tuple[int, ...]) -> None:
    documents = write_documents(tmp_path / "documents")
    cache = tmp_path / "cache"
    environ = {**os.environ, "LCT_CACHE_DIR": str(cache)}
    with oracle(tmp_path, delay=0.05, concurrency=4) as (server, annotator):
        command = [*LCT, "build", "ethic_organize", "--documents", str(documents), "--length", "4k,16k"]
        command += ["--annotator", str(annotator), "--out"]
        for at in kills:
            run_and_kill([*command, str(tmp_path / "cases")], environ, cache, at)
            assert not (tmp_path / "cases").exists()
        before, paid = len(server.bodies), stored(cache)
        subprocess.run([*command, str(tmp_path / "cases")], env=environ, check=True, capture_output=True)
        all_prompts, last = prompts(server), prompts(server, before)
        different = set(all_prompts)
        # The last run asked for exactly what was not stored; only calls in flight at a kill were ever made twice.
        assert paid >= kills[-1] and len(last) == len(set(last)) == len(different) - paid
        assert len(all_prompts) - len(different) <= 4 * len(kills)
        whole_cache = {**environ, "LCT_CACHE_DIR": str(tmp_path / "other_cache")}
        subprocess.run([*command, str(tmp_path / "whole")], env=whole_cache, check=True, capture_output=True)
    for name in ("ethic_organize_books.jsonl", "ethic_organize_debates.jsonl"):
        one, other = (tmp_path / folder / "ethic_organize" / name for folder in ("cases", "whole"))
        assert one.read_bytes() == other.read_bytes()


def test_a_killed_measurement_pays_nothing_twice(tmp_path: Path) -> None:
    rows = [
        {
            "id": n,
            "context": "\n\n".join(f"Word {n} {place} " * 150 for place in range(12)),
            "question": f"Where is {n}?",
        }
        for n in range(8)
    ]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cache = tmp_path / "cache"
    environ = {**os.environ, "LCT_CACHE_DIR": str(cache)}
    with oracle(tmp_path, delay=0.05, concurrency=4) as (server, judge):
        command = [
            *LCT,
            "coverage",
            str(cases),
            "--judge",
            str(judge),
            "--out",
            str(tmp_path / "coverage.json"),
        ]
        run_and_kill(command, environ, cache, 30)
        assert not (tmp_path / "coverage.json").exists()
        before, paid = len(server.bodies), stored(cache)
        subprocess.run(command, env=environ, check=True, capture_output=True)
        last = prompts(server, before)
        assert len(last) == len(set(prompts(server))) - paid
    [group] = json.loads((tmp_path / "coverage.json").read_text())["groups"]
    assert group["cases"] == 8 and group["chunks_judged"] == group["chunks"] == paid + len(last)
