"""The annotation page: served on 127.0.0.1 only, to the browser that got the link.

aiohttp, which the judges' client brings anyway, and not ``http.server``: it parses requests, cookies and limits of size as a server
in use has to. The page itself is three fixed files; all texts of a study go to it as JSON and into the document as text nodes,
never as markup, and the Content-Security-Policy allows no script but the page's own file.

Who may ask: requests that name this server in ``Host`` (so no other name can be pointed here) and carry the random token of this run,
in a cookie that the link sets; changes must come from this very page (``Origin``), as JSON.
"""

import hmac
import os
import secrets
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from importlib import resources
from typing import Annotated

from aiohttp import web
from pydantic import Strict

from long_context_tasks.annotation.records import (
    CODES,
    COMMENT_MAX,
    NAME_MAX,
    Annotation,
    Sound,
    name_problem,
)
from long_context_tasks.annotation.study import Study, annotate, now
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.validated import Checked, validated

HOST = "127.0.0.1"
_BODY_MAX = 8 * COMMENT_MAX
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_CORRECTED = "this item was corrected or removed in the meantime; load the page again"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(study: Study, token: str, port: int) -> web.Application:
    """Make the application."""
    page = _Page(study, token, port)
    app = web.Application(middlewares=[page.guard], client_max_size=_BODY_MAX)
    for path in _FILES:
        app.router.add_get(path, page.file)
    app.router.add_get("/api/study", page.study_row)
    app.router.add_get("/api/queue", page.queue)
    app.router.add_get("/api/item", page.item)
    app.router.add_get("/document", page.document)
    app.router.add_post("/api/annotation", page.annotate)
    return app


class _Page:
    def __init__(self, study: Study, token: str, port: int) -> None:
        self._study, self._token = study, token
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._cookie = f"lct_annotate_{port}"  # cookies ignore ports
        folder = resources.files("long_context_tasks.annotation") / "page"
        self._files = {path: (folder / name).read_bytes() for path, (name, _) in _FILES.items()}

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in what may ask, and put the headers on every answer."""
        try:
            response = self._refused(request) or await handler(request)
        except web.HTTPException as error:
            response = _problem(error.status, error.reason)
        except InputError as error:
            response = _problem(400, str(error))
        except sqlite3.Error as error:
            response = _problem(
                503, f"the study cannot be read or written ({error}); see that its file is whole"
            )
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _refused(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Host") not in self._hosts:
            return _problem(403, "open the page at the address that `lct annotate serve` printed")
        given = request.query.get("token", "")
        if request.method == "GET" and request.path == "/" and _equal(given, self._token):
            # The token leaves the address bar and the history.
            answer = web.Response(status=303, headers={"Location": "/"})
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict", path="/")
            return answer
        if not _equal(request.cookies.get(self._cookie, ""), self._token):
            return _problem(403, "open the link that `lct annotate serve` printed; it is new at every start")
        if request.method not in ("GET", "HEAD"):
            if request.headers.get("Origin") != f"http://{request.headers['Host']}":
                return _problem(403, "only this page itself may change annotations")
            if request.content_type != "application/json":
                return _problem(415, "JSON is needed")
        return None

    async def file(self, request: web.Request) -> web.Response:
        """Return a file of the page."""
        return web.Response(
            body=self._files[request.path], content_type=_FILES[request.path][1], charset="utf-8"
        )

    async def study_row(self, _: web.Request) -> web.Response:
        """Return what does not change from item to item."""
        names = sorted({annotation.annotator for annotation in self._study.annotations()})
        row = {
            **self._study.scale.as_row(),
            "annotators": names,
            "name_max": NAME_MAX,
            "comment_max": COMMENT_MAX,
        }
        return web.json_response(row)

    async def queue(self, request: web.Request) -> web.Response:
        """Return the ids of a person's items in order, and which are done."""
        found = self._study.queue(_annotator(request.query))
        return web.json_response(
            {"items": [key for key, _ in found], "done": [key for key, done in found if done]}
        )

    async def item(self, request: web.Request) -> web.Response:
        """Return the texts of an item, without the name of the model, and the person's earlier annotation."""
        key = request.query.get("id", "")
        if (found := self._study.item(key)) is None:
            raise web.HTTPGone(reason=_CORRECTED)
        asked, candidate = found
        person = _annotator(request.query)
        if self._study.taken(key, person):
            raise web.HTTPGone(reason="others have done this item in the meantime")
        before = self._study.annotation(key, person)
        row = {
            "id": key,
            "question": asked.question,
            "reference": asked.reference,
            "rationale": asked.rationale,
            "transcription": asked.transcription,
            "document": asked.document,
            "candidate": candidate.text,
            "annotation": None if before is None else asdict(before),
        }
        return web.json_response(row)

    async def document(self, request: web.Request) -> web.Response:
        """Return a source document, as plain text that the browser runs nothing of."""
        text = self._study.document(request.query.get("id", ""))
        if text is None:
            raise web.HTTPNotFound(reason="no such document")
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}
        return web.Response(text=text, content_type="text/plain", headers=headers)

    async def annotate(self, request: web.Request) -> web.Response:
        """Store one annotation."""
        try:
            row = loads(await request.read())
        except ValueError:
            return _problem(400, "not JSON")
        given = validated(_Posted, row, "annotation")
        codes = "".join(code for code in CODES if code in given.codes)
        if len(codes) != len(given.codes):
            raise InputError("unknown or repeated codes")
        if self._study.item(given.item) is None:
            raise web.HTTPGone(reason=_CORRECTED)
        comment = given.comment.strip()
        annotation = Annotation(given.item, given.annotator, given.rating, codes, comment, now())
        annotate(self._study, [annotation])
        return web.json_response({"saved": annotation.candidate})


class _Posted(Checked):
    item: Sound
    annotator: Sound
    rating: Annotated[int, Strict()] | None
    codes: str
    comment: Sound


def _annotator(query: Mapping[str, str]) -> str:
    name = query.get("annotator", "")
    if problem := name_problem(name):
        raise InputError(problem)
    return name


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _problem(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)


def listen(port: int) -> socket.socket:
    """Open a socket on 127.0.0.1; port 0 takes a free one.

    Raises:
        InputError: the port is taken.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(
            f"--port {port}: cannot be used ({os.strerror(error.errno or 0)}); choose another, or 0 for a free one"
        ) from error


def serve(study: Study, port: int, ready: Callable[[str], None]) -> None:
    """Serve until the process is interrupted.

    Raises:
        InputError: the port is taken.
    """
    sock = listen(port)
    port = int(sock.getsockname()[1])
    token = secrets.token_urlsafe(24)
    app = make_app(study, token, port)

    async def tell(_: web.Application) -> None:
        ready(f"http://{HOST}:{port}/?token={token}")

    app.on_startup.append(tell)
    web.run_app(app, sock=sock, print=None, access_log=None, shutdown_timeout=1)
