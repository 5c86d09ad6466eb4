"""A local OpenAI-compatible judge on plain asyncio, in a thread or a process of its own, with all the ways to misbehave."""

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Answer:
    """What the server does with one call: wait for so many calls in flight and so many seconds, then send a status with headers and a body;
    ``drop`` hangs up instead.
    """

    text: str | None = r"Good. \boxed{7}"
    status: int = 200
    delay: float = 0.0
    together: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drop: bool = False
    error: str = "server said no"


Behave = Callable[[dict[str, Any], int], Answer]
"""Body and number of the call (from 0, over all calls) to what to do."""
Others = Mapping[str, Callable[[dict[str, Any]], Answer]]
"""Other paths to what to do with the body, which is empty in a GET."""


@dataclass
class JudgeServer:
    """A running server with the calls that it received, in the order of their arrival."""

    url: str  # ends in /v1
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_in_flight: int = 0  # calls that were answered at the same time
    asked: list[tuple[str, str]] = field(default_factory=list)  # other paths, with the key that was sent


def completions(texts: Sequence[str | None], chat: bool) -> bytes:
    """The body of a response with a choice for each text."""
    choices = [
        {"index": place, "finish_reason": "stop"}
        | ({"message": {"role": "assistant", "content": text}} if chat else {"text": text})
        for place, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    row = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": choices,
        "usage": usage,
    }
    return json.dumps(row).encode()


class _Handler:
    def __init__(self, behave: Behave, server: JudgeServer, models: list[str], others: Others) -> None:
        self.behave, self.server, self.models, self.others = behave, server, models, others
        self.in_flight = 0

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").strip().split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
                }
                data = await reader.readexactly(int(headers.get("content-length", 0)))
                method, path, _ = first.split(" ")
                if path in self.others:
                    self.server.asked.append((path, headers.get("authorization", "")))
                    other = self.others[path](json.loads(data or b"{}"))
                    await asyncio.sleep(other.delay)
                    self.send(writer, other.status, other.headers, other.raw or b"")
                    continue
                if method == "GET":
                    rows = [{"id": name} for name in self.models]
                    self.send(writer, 200, {}, json.dumps({"data": rows}).encode())
                    continue
                number = len(self.server.bodies)
                self.server.bodies.append(json.loads(data))
                self.server.headers.append(headers)
                self.server.paths.append(path)
                answer = self.behave(self.server.bodies[-1], number)
                self.in_flight += 1
                self.server.most_in_flight = max(self.server.most_in_flight, self.in_flight)
                while self.in_flight < answer.together:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(answer.delay)
                self.in_flight -= 1
                if answer.drop:
                    break
                body = answer.raw
                if body is None and answer.status == 200:
                    body = completions([answer.text], "chat" in path)
                if body is None:
                    body = json.dumps({"error": {"message": answer.error}}).encode()
                self.send(writer, answer.status, answer.headers, body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @staticmethod
    def send(writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: bytes) -> None:
        rows = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in rows.items())
        writer.write(head.encode() + b"\r\n" + body)


@contextmanager
def judge_server(
    behave: Behave = lambda *_: Answer(), models: list[str] | None = None, others: Others | None = None
) -> Iterator[JudgeServer]:
    """Serve from a thread until the block ends."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = JudgeServer(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    loop = asyncio.new_event_loop()
    handler = _Handler(behave, server, models or [], others or {})

    async def serve() -> None:
        running = await asyncio.start_server(handler.connection, sock=listening)
        started.set()
        await stop.wait()
        running.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    stop, started = asyncio.Event(), threading.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    started.wait(300)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


def item_of(body: dict[str, Any]) -> str:
    """The ``item-17`` that a test's prompt names."""
    text = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    match = re.search(r"item-\d+", text)
    return match[0] if match else "probe"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class ServerProcess:
    """The server in a process of its own, to be killed; what it received and what it answered stands in files."""

    def __init__(self, folder: Path, delay: float) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.log = folder / "server.log"
        self.delay = delay
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.port), str(self.delay), str(self.log)]
        self.process = subprocess.Popen(command)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=60).close()
                return
            except OSError:
                time.sleep(0.02)
        raise TimeoutError("the judge server did not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def received(self) -> list[str]:
        return self._lines("got")

    def answered(self) -> list[str]:
        return self._lines("sent")

    def _lines(self, kind: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split()[1] for line in lines if line.startswith(kind) and "item" in line]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("delay", type=float)
    parser.add_argument("log")
    args = parser.parse_args()
    log = os.open(args.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    body = completions([r"Good. \boxed{7}"], True)
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: *(\d+)", request)
                data = await reader.readexactly(int(length[1]) if length else 0)
                item = item_of(json.loads(data)) if data else "-"
                os.write(log, f"got {item}\n".encode())
                await asyncio.sleep(args.delay)
                writer.write(head + body)
                os.write(log, f"sent {item}\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(
            connection, "127.0.0.1", args.port, backlog=256, reuse_address=True
        )
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
