"""A thousand items judged beside the time that the endpoint itself needs for them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from judge_server import ServerProcess

pytestmark = pytest.mark.speed

SCRIPT = Path(__file__).parents[1] / "judges" / "judge_client_process.py"
ITEMS, IN_FLIGHT = 1000, 32


def test_a_thousand_items(tmp_path: Path, compared: Callable[[str, float, str, float], None]) -> None:
    server = ServerProcess(tmp_path, delay=0.2)
    server.start()
    try:
        store = tmp_path / "store.jsonl"
        command = [sys.executable, SCRIPT, server.url, store, ITEMS, IN_FLIGHT, "--check"]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        server.kill()
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["scores"] == [7.0] * ITEMS
    assert len(server.received()) == ITEMS
    compared(f"judge {ITEMS} items", told["seconds"], "the endpoint alone", ITEMS * server.delay / IN_FLIGHT)
