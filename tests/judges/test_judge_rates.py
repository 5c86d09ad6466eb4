"""Neither a killed server nor a killed client loses or repeats answers."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from judge_server import ServerProcess

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("judge_client_process.py")
KILLS = 10
ITEMS = 600
ANSWERS = 10  # from one kill to the next: far fewer than a tenth of the items, as a busy machine kills late


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path, delay=0.05)
    try:
        yield process
    finally:
        process.kill()


def start_client(server: ServerProcess, store: Path, n: int, in_flight: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), server.url, str(store), str(n), str(in_flight)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def result(client: subprocess.Popen[str]) -> dict[str, object]:
    out, _ = client.communicate(timeout=600)
    assert client.returncode == 0
    return json.loads(out.splitlines()[-1])  # type: ignore[no-any-return]


def wait_for_answers(server: ServerProcess, n: int) -> None:
    deadline = time.monotonic() + 300
    while len(server.answered()) < n:
        assert time.monotonic() < deadline, f"{len(server.answered())} answers, waited for {n}"
        time.sleep(0.005)


def test_client_killed_and_resumed_ten_times(server: ServerProcess, tmp_path: Path) -> None:
    server.start()
    store, n, in_flight = tmp_path / "store.jsonl", ITEMS, 8
    for _ in range(KILLS):
        before = len(server.answered())
        client = start_client(server, store, n, in_flight)
        wait_for_answers(server, before + ANSWERS)
        client.kill()
        client.wait()
    assert len(server.answered()) < n, "the kills came too late to show anything"
    done = result(start_client(server, store, n, in_flight))
    assert done["scores"] == [7.0] * n
    times = Counter(server.received())
    assert len(times) == n
    assert sum(times.values()) - n <= KILLS * in_flight
    assert max(times.values()) <= 1 + KILLS
    assert sum(times.values()) > n, "no kill met a call in flight"


def test_server_killed_and_restarted_ten_times(server: ServerProcess, tmp_path: Path) -> None:
    server.start()
    store, n, in_flight = tmp_path / "store.jsonl", ITEMS, 8
    client = start_client(server, store, n, in_flight)
    for _ in range(KILLS):
        wait_for_answers(server, len(server.answered()) + ANSWERS)
        server.kill()
        server.start()
    assert client.poll() is None, "the client was done before the last kill"
    done = result(client)
    assert done["scores"] == [7.0] * n
    times = Counter(server.received())
    assert len(times) == n
    assert n < sum(times.values()) <= n + KILLS * in_flight
    assert len(store.read_text().splitlines()) == n


@pytest.mark.faults
def test_two_clients_of_one_store_share_the_calls(server: ServerProcess, tmp_path: Path) -> None:
    server.start()
    store, n = tmp_path / "store.jsonl", 200
    clients = [start_client(server, store, n, 4) for _ in range(2)]
    assert [result(client)["scores"] for client in clients] == [[7.0] * n] * 2
    assert Counter(server.received()) == dict.fromkeys((f"item-{i}" for i in range(n)), 1)
    assert len(store.read_text().splitlines()) == n
