"""A local endpoint that is faulty in one of many ways, down to the bytes on the wire."""

import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from judge_server import completions

Fault = Callable[[socket.socket, str], None]
"""Answers a call on its connection; also gets the value of the call's ``Authorization``."""

GOOD = completions([r"Good. \boxed{7}"], True)
SECRET = "sk-verysecret0123456789"


def http(status: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """An answer of HTTP as it is sent."""
    rows = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *headers]
    if not any(row.startswith(("Content-Length", "Transfer-Encoding")) for row in headers):
        rows.append(f"Content-Length: {len(body)}")
    return "\r\n".join(rows).encode() + b"\r\n\r\n" + body


def says(status: str, body: bytes, *headers: str, kind: str = "application/json") -> Fault:
    """The fault that always gives the same answer."""
    answer = http(status, body, *headers, kind=kind)
    return lambda connection, _: connection.sendall(answer)


def reply(**changes: object) -> bytes:
    """A good body with some members changed."""
    return json.dumps({**json.loads(GOOD), **changes}).encode()


def _reset(connection: socket.socket, _: str) -> None:
    connection.sendall(http("200 OK", GOOD)[:-40])
    # Close with a reset, not with an end.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _drip(connection: socket.socket, _: str) -> None:
    for byte in http("200 OK", GOOD):
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


def _hang(connection: socket.socket, _: str) -> None:
    time.sleep(30)
    connection.sendall(http("200 OK", GOOD))


def _huge(connection: socket.socket, _: str) -> None:
    connection.sendall(
        http("200 OK", b'{"choices": [{"message": {"content": "', f"Content-Length: {1 << 31}")
    )
    for _ in range(1 << 11):
        connection.sendall(b"x" * (1 << 20))


def _bomb(connection: socket.socket, _: str) -> None:
    # Members of gzip one after the other: 4 GB in 4 MB.
    packed = gzip.compress(b" " * (1 << 26)) * 64
    connection.sendall(http("200 OK", packed, "Content-Encoding: gzip"))


def _key_in_body(status: str) -> Fault:
    def answer(connection: socket.socket, key: str) -> None:
        connection.sendall(http(status, json.dumps({"error": {"message": f"no such key: {key}"}}).encode()))

    return answer


def _key_in_reply(connection: socket.socket, key: str) -> None:
    connection.sendall(http("200 OK", completions([rf"You said {key}. \boxed{{7}}"], True)))


def _deep(connection: socket.socket, _: str) -> None:
    connection.sendall(http("200 OK", b'{"choices": ' + b"[" * 100_000))


PASSING: dict[str, Fault] = {
    "connection reset in the body": _reset,
    "hangs up": lambda connection, _: None,
    "429 without Retry-After": says("429 Too Many Requests", b"{}"),
    "429 with Retry-After": says("429 Too Many Requests", b"{}", "Retry-After: 0.1"),
    "429 with an odd Retry-After": says("429 Too Many Requests", b"{}", "Retry-After: soon"),
    "500": says("500 Internal Server Error", b'{"error": "oops"}'),
    "503": says("503 Service Unavailable", b"try later", kind="text/plain"),
    "HTML with 200": says("200 OK", b"<html><h1>Login</h1></html>", kind="text/html"),
    "truncated JSON": says("200 OK", GOOD[:-30]),
    "nothing with 200": says("200 OK", b""),
    "no choices": says("200 OK", reply(choices=[])),
    "choices are null": says("200 OK", reply(choices=None)),
    "an error with 200": says("200 OK", b'{"error": {"message": "out of memory"}}'),
    "a list": says("200 OK", b"[1, 2]"),
    "a number as content": says("200 OK", GOOD.replace(rb'"Good. \\boxed{7}"', b"7")),
    "nested without end": _deep,
    "UTF-16": says("200 OK", GOOD.decode().encode("utf-16"), kind="application/json; charset=utf-8"),
    "slow drip": _drip,
    "hanging": _hang,
    "huge body": _huge,
    "packed bomb": _bomb,
    "no HTTP": lambda connection, _: connection.sendall(b"\x16\x03\x01 hello\r\n\r\n"),
    "too long by its length": says("200 OK", GOOD, f"Content-Length: {len(GOOD) + 50}"),
    "no number as length": says("200 OK", GOOD, "Content-Length: many"),
    "packed badly": says("200 OK", GOOD, "Content-Encoding: gzip"),
}
"""Faults that may pass: worth another try."""

LASTING: dict[str, tuple[Fault, str]] = {
    "redirect": (says("302 Found", b"", "Location: http://127.0.0.1:9/v1"), "status 302"),
    "401 with the key in the body": (_key_in_body("401 Unauthorized"), "status 401"),
    "403": (_key_in_body("403 Forbidden"), "status 403"),
    "404": (says("404 Not Found", b'{"detail": "Not Found"}'), "status 404"),
    "400 with the key in the body": (_key_in_body("400 Bad Request"), r"status 400: .*\(not shown\)"),
    "400 with commands of a terminal": (
        says("400 Bad Request", json.dumps({"error": {"message": "\x1b[2Jno\u202e\n::error::"}}).encode()),
        r"^status 400: \\x1b\[2Jno\\u202e ::error::$",
    ),
    "429 of an empty account": (
        says("429 Quota", b'{"error": {"code": "insufficient_quota"}}'),
        "status 429",
    ),
}
"""Faults that stay, and what an error says of them."""

HARMLESS: dict[str, Fault] = {
    "wrong content type": says("200 OK", GOOD, kind="image/png"),
    "unknown charset": says("200 OK", GOOD, kind="application/json; charset=klingon"),
    "bytes that are no UTF-8": says("200 OK", GOOD.replace(b"Good", b"G\xff\xe9d")),
    "usage is nonsense": says("200 OK", reply(usage={"prompt_tokens": -1, "completion_tokens": "1e9"})),
    "usage is endless": says(
        "200 OK", reply(usage={"prompt_tokens": int("9" * 300), "completion_tokens": 1})
    ),
    "no usage": says("200 OK", reply(usage=None)),
    "the key in the reply": _key_in_reply,
}
"""Oddities that still hold the reply."""

SILENT: dict[str, Fault] = {
    "null content": says("200 OK", completions([None], True)),
    "empty content": says("200 OK", completions([""], True)),
    "no score in it": says("200 OK", completions(["I would rather not say."], True)),
    "a score off the scale": says("200 OK", completions([r"\boxed{77}"], True)),
}
"""Replies without a verdict."""


@dataclass
class FaultyEndpoint:
    """A running endpoint: its base, ending in /v1, and the number of calls so far."""

    url: str
    calls: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def faulty_endpoint(fault: Fault, times: int | None = None) -> Iterator[FaultyEndpoint]:
    """Serve until the block ends; after so many calls (None: never) all is fine."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    endpoint = FaultyEndpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            try:
                length, key = 0, ""
                while (line := file.readline().strip()) != b"":
                    name, _, value = line.decode("latin-1").partition(":")
                    if name.lower() == "content-length":
                        length = int(value)
                    if name.lower() == "authorization":
                        key = value.strip().removeprefix("Bearer ")
                file.read(length)
                with endpoint.lock:
                    endpoint.calls += 1
                    good = times is not None and endpoint.calls > times
                if good:
                    connection.sendall(http("200 OK", GOOD))
                else:
                    fault(connection, key)
            except OSError:  # the client is gone
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield endpoint
    finally:
        # close() alone does not wake a thread that waits in accept().
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
