"""Ask a model's server for its context window, and let it count tokens.

vLLM and SGLang give ``max_model_len`` in ``/v1/models``, llama.cpp gives ``n_ctx`` in ``/props``, and all three
count tokens in ``/tokenize``. If a server has neither, or fails, the run continues as if nothing had been asked.
"""

import logging
import os
import socket
import sys
from dataclasses import dataclass
from functools import cache
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from long_context_tasks.hosts.window import Counter
from long_context_tasks.judges.client import proxy_of, read_body, wait_for
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.secrets import excerpt, without_known, without_secrets

logger = logging.getLogger(__name__)

_SECONDS = 5.0  # for everything but long texts: a server that is up answers at once
_COUNT_SECONDS = 60.0  # a server needs some seconds for a million tokens
_SILENT_SECONDS = 30.0  # a server that is up answers most prompts sooner
_REMEDY = "prompts are checked only with lct_window and lct_tokenizer"


class NoWindow(InputError):
    """A server does not state its window, as many do."""


@dataclass
class Server:
    """A server that states its window."""

    root: str  # its address without /v1
    model: str
    key: str  # sent to this server only
    window: int  # in tokens
    field: str  # name of the text in requests to /tokenize
    counts: bool = False  # whether it counts tokens; False from its first failure on

    @property
    def counter(self) -> Counter | None:
        return self._count if self.counts else None

    def report_missing_tokenizer(self) -> None:
        """Log, once for a server, that its window cannot be used because nothing counts tokens."""
        _report_missing_tokenizer(without_secrets(self.root), self.window)

    def _count(self, text: str) -> int | None:
        # After a failure the server decides what fits: each further attempt could wait as long.
        if self.counts:
            try:
                return len(self.tokens(text))
            except InputError as error:
                self.counts = False
                logger.warning("%s; %s", error, _REMEDY)
        return None

    def tokens(self, text: str, seconds: float | None = None) -> list[int]:
        """Return the tokens of a text; raise InputError if the server does not."""
        path = f"{self.root}/tokenize"
        said = _said(path, self.key, seconds or _COUNT_SECONDS, {"model": self.model, self.field: text})
        tokens = _inside(said, "tokens")
        # More tokens than bytes are possible, if a normalizer lengthens a text or a first token is added.
        most = 8 + 2 * len(text.encode("utf-8", "replace"))
        if not isinstance(tokens, list) or len(tokens) > most or (text and not tokens):
            raise InputError(f"{without_secrets(path)} returns no tokens")
        return tokens


@cache
def _report_missing_tokenizer(address: str, window: int) -> None:
    logger.warning(
        "the server %s reports a window of %s tokens but counts no tokens: set lct_tokenizer (LCT_TOKENIZER), so that "
        "lengths are checked first",
        address,
        f"{window:,}",
    )


def find_server(url: str, model: str, key: str | None = None) -> Server | None:
    """Return the server like :func:`ask_server`, for hosts; None if it states no window, with a warning if it fails."""
    try:
        return ask_server(url, model, key)
    except NoWindow:
        return None
    except InputError as error:
        logger.warning("%s; %s", error, _REMEDY)
        return None


def ask_server(url: str, model: str, key: str | None = None) -> Server:
    """Return the server at an address of its API or of an endpoint.

    Every call asks anew: since the last one, another server may have started at the address. ``key`` is that
    of the environment by default, which hosts send to the same address.

    Raises:
        NoWindow: the server answers, but does not state its window.
        InputError: the server does not answer, or states an impossible window.
    """
    key = os.environ.get("OPENAI_API_KEY", "") if key is None else key
    api = _api_of(url)
    root = api.removesuffix("/v1")
    status, text = _answer(f"{api}/models", _with_key(key), _SECONDS)
    window, field = _window_in_models(_json(status, text), model), "prompt"
    if not window:
        props = _said(f"{root}/props", key, _SECONDS)
        window, field = _inside(props, "default_generation_settings", "n_ctx"), "content"
    if not window:
        fault = " states no window"
        if status in (401, 403):
            fault = (
                f"/models {'refuses the' if key else 'requires a'} key in OPENAI_API_KEY (status {status})"
            )
        elif status != 200 and (reason := _reason_in(text)):
            fault = f"/models fails (status {status}: {reason})"
        raise NoWindow(f"{without_secrets(api)}{fault}")
    if type(window) is not int or window < 0:
        raise InputError(f"{without_secrets(root)} states a window of {excerpt(str(window), 40)!r}")
    server = Server(root, model, key, window, field)
    try:
        server.counts = bool(server.tokens("one two", _SECONDS))
    except InputError as error:
        logger.info("%s", error)  # older servers have no such path
    return server


def check_listening(url: str) -> None:
    """Refuse an address at which nothing listens: each request to it would fail, with pages of tracebacks."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_of(url):
        return
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), _SECONDS).close()
    except (ConnectionRefusedError, socket.gaierror) as error:
        address = without_secrets(f"{parts.scheme}://{parts.netloc}")
        reason = error.strerror or "no such host"
        raise InputError(
            f"{address} cannot be reached ({reason}); start the server, or correct base_url"
        ) from error
    except (OSError, ValueError):
        return  # whether it answers later is the host's question


def check_served(url: str, model: str, headers: dict[str, str], *, chat: bool) -> None:
    """Refuse a key, a model's name or an address that the server itself refuses; each request would fail alike.

    The list of models does not decide: some servers take names that they do not list, and some want a key only for
    the list, or for everything else. A request of one token decides, and whatever else the server does is left to
    the host.
    """
    if proxy_of(url) or "?" in url or url.endswith("/messages"):  # of Azure and Anthropic
        return
    url, api = url.rstrip("/"), _api_of(url)
    asked = {"messages": [{"role": "user", "content": "."}]} if chat else {"prompt": "."}
    try:
        status, text = _answer(f"{api}/models", headers, _SECONDS)
        if status == 404:
            api = f"{url.removesuffix(urlsplit(url).path)}/v1"
            status, text = _answer(f"{api}/models", headers, _SECONDS)
        names = _names_in(text) if status == 200 else []
        right = f"{api}/chat/completions" if chat else f"{api}/completions"
        if status not in (401, 403) and not names:
            return
        status, said = _answer(url, headers, _SECONDS, {"model": model, "max_tokens": 1, **asked})
    except InputError:  # the host's own request shows the failure
        return
    if status in (401, 403):
        remedy = "put its key into OPENAI_API_KEY"
    elif status in (404, 405) and names and url != right:
        remedy = f"correct base_url to {without_secrets(right)}"
    elif status == 404 and names and model not in names:
        remedy = f"it has no model {model!r}; name one of its models: {', '.join(names[:8])}"
    else:
        return
    reason = _reason_in(said)
    raise InputError(
        f"the server {without_secrets(url)} fails ({status}{reason and f': {reason}'}): {remedy}"
    )


def announce_silence(url: str, model: str, timeout: object, answered: Event) -> None:
    """Show a line after 30 s, and each time that the wait has doubled, until ``answered`` is set.

    Args:
        timeout: the host's time-out of one request; shown if it is a number of seconds.
        answered: set by the host at the first answer, or when it gives up.
    """
    address = without_secrets(url)
    known = isinstance(timeout, int | float) and 0 < timeout < 1e9
    limit = f" (the time-out is {timeout:,.0f} s per attempt)" if known else ""

    def tell() -> None:
        from tqdm import tqdm

        waited = wait = _SILENT_SECONDS
        while not answered.wait(wait):
            line = without_known(
                f"waiting for the first answer of {model} at {address} for {waited:.0f} s{limit}"
            )
            # Not logged there: the line would follow a bar, and a handler may wait for the lock of the bars.
            if sys.stderr.isatty():
                tqdm.write(line, file=sys.stderr)
            else:
                logger.warning("%s", line)
            wait, waited = waited, 2 * waited

    Thread(target=tell, daemon=True).start()


def lasting_failure(url: str, status: int, body: str) -> InputError:
    """Return an error with the status and the words of a server that fails however often it is asked."""
    said = _reason_in(body.encode("utf-8", "replace")) or excerpt(body)
    remedy = "correct --gen_kwargs or --model_args" if status < 500 else "see its log"
    if status in (401, 403):
        remedy = "put the right key into OPENAI_API_KEY or ANTHROPIC_API_KEY"
    elif status == 408:
        remedy = "see its log"
    elif status == 429:
        remedy = "lower num_concurrent"
    return InputError(
        f"the server {without_secrets(url)} fails ({status}{said and f': {said}'}): {remedy}, then run "
        "again; with --use_cache, a run keeps its answers"
    )


def lost_answer(url: str, error: Exception) -> InputError:
    """Return an error for a server that no longer answers."""
    return InputError(
        f"the server {without_secrets(url)} gave no answer ({excerpt(str(error)) or type(error).__name__}): see its log, or raise timeout in "
        "--model_args, then run again; with --use_cache, a run keeps its answers"
    )


def _api_of(url: str) -> str:
    """Return the address of the API that an endpoint belongs to."""
    api = url.rstrip("/")
    return api.removesuffix("/completions").removesuffix("/chat") if api.endswith("/completions") else api


def _reason_in(text: bytes) -> str:
    """Return the reason of a refusal in the form of OpenAI's API; empty if there is none."""
    try:
        reason = _inside(loads(text), "error", "message")
    except ValueError:
        return ""
    return excerpt(reason) if isinstance(reason, str) else ""


def _names_in(text: bytes) -> list[str]:
    try:
        rows = _inside(loads(text), "data")
    except ValueError:
        return []
    names = [_inside(row, "id") for row in rows] if isinstance(rows, list) else []
    return [name for name in names if isinstance(name, str)]


def _window_in_models(said: Any, model: str) -> Any:
    rows = _inside(said, "data")
    rows = rows if isinstance(rows, list) else []
    # llama.cpp and proxies answer to any name, so a single model needs no match.
    named = [row for row in rows if _inside(row, "id") == model] or (rows if len(rows) == 1 else [])
    return _inside(named[0], "max_model_len") if named else None


def _inside(row: Any, *names: str) -> Any:
    for name in names:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def _said(address: str, key: str, seconds: float, body: dict[str, str] | None = None) -> Any:
    """Return the JSON at an address, or None if there is none."""
    return _json(*_answer(address, _with_key(key), seconds, body))


def _with_key(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _json(status: int, text: bytes) -> Any:
    try:
        return loads(text) if status == 200 else None
    except ValueError:  # other servers answer unknown paths with a page
        return None


def _answer(
    address: str, headers: dict[str, str], seconds: float, body: dict[str, Any] | None = None
) -> tuple[int, bytes]:
    """Return the status and the text at an address. Without a body the request is a GET."""
    # A limit for the whole answer, because a server may also trickle.
    limit = aiohttp.ClientTimeout(total=seconds)

    async def ask() -> tuple[int, bytes]:
        method, proxy = "GET" if body is None else "POST", proxy_of(address)
        async with aiohttp.ClientSession(headers=headers, timeout=limit) as http:
            # A redirect could lead the key to another host.
            request = http.request(method, address, json=body, proxy=proxy, allow_redirects=False)
            async with request as response:
                return response.status, await read_body(response)

    try:
        return wait_for(ask())
    except Exception as error:  # whatever a server does, the run goes on without its help
        reason = excerpt(str(error)) or type(error).__name__
        raise InputError(f"{without_secrets(address)}: no answer ({reason})") from error
