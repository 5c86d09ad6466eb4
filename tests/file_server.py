"""A local web server for files, whose manners a test sets: it breaks off, ignores ranges, redirects, lies."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Server:
    """The behaviour of the server, and the requests that it received."""

    content: bytes = b""  # of every path that files does not name; a path with "missing" in it gets nothing
    files: dict[str, bytes] = field(default_factory=dict)  # path to content
    breaks: list[int] = field(default_factory=list)  # bytes after which the next connections die
    ranges: bool = True  # whether it heeds them
    statuses: list[int] = field(default_factory=list)  # answers to the next requests, instead of data
    etag: str = '"one"'
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # paths and ranges
    lines: list[str] = field(default_factory=list)  # first lines of all requests, also of other methods
    url: str = ""


@contextmanager
def file_server(content: bytes = b"") -> Iterator[Server]:
    """Run one while the block lasts."""
    state = Server(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            if state.statuses and (status := state.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            if self.path in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if "missing" in self.path:
                self.send_error(404)
                return
            content = state.files.get(self.path, state.content)
            match = re.match(r"bytes=(\d+)-", wanted or "")
            start = int(match[1]) if match and state.ranges else 0
            if self.headers.get("If-Range", state.etag) != state.etag:
                start = 0
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", state.etag)
            self.end_headers()
            if state.breaks:
                body = body[: state.breaks.pop(0)]
                self.close_connection = True
            self.wfile.write(body)

        def log_request(self, *_: object) -> None:
            state.lines.append(self.requestline)

        def log_message(self, *_: object) -> None:
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{web.server_port}"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        web.shutdown()
        web.server_close()
