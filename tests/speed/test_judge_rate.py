"""Items judged beside a plain asynchronous client that sends the same calls to the same server."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from judge_server import ServerProcess

pytestmark = pytest.mark.speed

OURS = Path(__file__).parents[1] / "judges" / "judge_client_process.py"
PLAIN = Path(__file__).with_name("plain_client_process.py")
ROUNDS, TURNS = 16, 3


def run(script: Path, *arguments: object) -> str:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("in_flight", [8, 64, 256])
def test_calls_in_flight(
    in_flight: int, tmp_path: Path, compared: Callable[[str, float, str, float], None]
) -> None:
    server = ServerProcess(tmp_path, delay=0.2)
    items, ours, plain = ROUNDS * in_flight, [], []
    server.start()
    try:
        for turn in range(TURNS):
            plain.append(float(run(PLAIN, server.url, items, in_flight)))
            told = json.loads(run(OURS, server.url, tmp_path / f"{turn}.jsonl", items, in_flight, "--check"))
            assert told["scores"] == [7.0] * items
            ours.append(told["seconds"])
    finally:
        server.kill()
    compared(f"judge {items} items, {in_flight} at a time", min(ours), "a plain client", min(plain))
