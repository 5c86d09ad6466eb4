"""Calls to an OpenAI-compatible endpoint with retries, and errors that contain no secrets.

This uses aiohttp instead of the openai package. The openai client uses 1.3 ms of CPU per call (this one: 0.2
ms), so fewer calls are in flight than configured. It also waits at most 60 s on ``Retry-After`` and cannot
send a lone surrogate, which a response may contain.
"""

import asyncio
import json
import logging
import math
import os
import re
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import stamina

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import Kind
from long_context_tasks.judges.verdict import Reply, TopLogprobs
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.completion import NoCompletion, mended, thinking_of
from long_context_tasks.schema.files import loads, one_line, visible
from long_context_tasks.schema.progress import step
from long_context_tasks.schema.secrets import HIDDEN, login_forms, without_known

_LOG = logging.getLogger(__name__)
_MOST_TOKENS = 10**9  # of a call; a larger number is none
_LONGEST_NAME = 200  # characters kept of the name of a served model
# stamina's line per attempt omits the reason in most log formats; this module logs failures with their
# reason.
logging.getLogger("stamina").setLevel(logging.ERROR)

_T = TypeVar("_T")
# 520 to 524 come from a proxy whose server is down or slow.
_TRY_AGAIN = frozenset((408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529))
_WAIT_MAX = 30.0
_CONNECT_SECONDS = 20.0
_RETRY_AFTER_MAX = 300.0
_SHOWN = 200
# Bytes; twenty log-probabilities for each of 16,000 tokens need a third of this.
_LONGEST_BODY = 64 << 20
_SHORTEST_KEY = 12
# Replaces minus infinity, which JSON lacks but some endpoints send. OpenAI uses -9999 for a probability of 0.
_NO_CHANCE = -9999.0
# Rounded probabilities may sum to slightly above 1; a larger value is not a log-probability.
_ROUNDING = 0.01
_QUICK_SECONDS = 1.0
PROBE_TOKENS = 16
PROBE_RETRIES = 2


# Identity equality keeps the exception hashable, which tracebacks need.
@dataclass(eq=False)
class EndpointError(Exception):
    """A call without a usable reply; the message contains no secrets."""

    text: str
    # HTTP status, or the error code in the body of a 200 response; None without a response
    status: int | None = None
    again: bool = False  # whether a retry can succeed
    wait: float | None = None  # seconds before the next attempt, if the endpoint set them
    no_choices: bool = False  # whether the response is a completion without choices
    late: bool = False  # whether the endpoint took the call and did not answer in time

    def __str__(self) -> str:
        return self.text


class EndpointClient:
    """A connection pool for one judge; use it with ``async with``."""

    def __init__(self, config: JudgeConfig, who: str = "", *, late_again: bool = True) -> None:
        """Read the key from the environment variable named in the judge file; open no connection."""
        self.config = config
        self._who = who or f"judge {config.name}"  # in messages
        self._late_again = late_again  # whether a call without an answer in time is repeated
        self._key = ""
        self._others: set[str] = set()  # models that answered in place of the one asked for
        if (variable := config.api_key_env) is not None:
            self._key = os.environ.get(variable, "").strip()
            place = f"{self._who}: environment variable {variable}"
            if not self._key:
                raise InputError(f"{place} is not set; export it with the key of {config.base_url}")
            if not self._key.isascii() or not self._key.isprintable() or " " in self._key:
                raise InputError(
                    f"{place} is not a key (it has blanks or non-ASCII characters); copy the key again"
                )
        self._url = f"{config.base_url}{'/chat/completions' if config.api == 'chat' else '/completions'}"
        self._retry = stamina.AsyncRetryingCaller(
            attempts=config.retries + 1,
            timeout=None,
            wait_initial=config.retry_wait,
            wait_max=_WAIT_MAX,
            wait_jitter=min(1.0, config.retry_wait),
        ).on(self._backoff)
        # aiohttp looks up the proxy in a thread on every call and ignores ALL_PROXY.
        self._proxy = proxy_of(self._url)

    async def __aenter__(self) -> "EndpointClient":
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        seconds = self.config.timeout
        self._http = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=self.config.concurrency),
            timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, _CONNECT_SECONDS)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def complete(self, messages: Sequence[Message], draw: Draw, max_tokens: int | None = None) -> Reply:
        """Return the reply to a call; raise EndpointError once the configured attempts are used up."""
        config = self.config if max_tokens is None else self.config.changed(max_tokens=max_tokens)
        body = request_body(messages, draw, config)
        try:
            return await self._once(body)
        except EndpointError as error:
            # Only failed calls go through stamina, which takes half as long as the rest of a call.
            return await self._retry(self._after, [error], body)

    async def _after(self, failed: list[EndpointError], body: bytes) -> Reply:
        if failed:
            raise failed.pop()
        return await self._once(body)

    def _backoff(self, error: Exception) -> bool | float:
        """Return whether to retry, or the seconds to wait first (a float, for stamina)."""
        if not isinstance(error, EndpointError) or not error.again or (error.late and not self._late_again):
            return False
        return True if error.wait is None else max(error.wait, self.config.retry_wait)

    async def _once(self, body: bytes) -> Reply:
        status, wait, text = await self._answer("POST", self._url, body)
        if status == 200:
            try:
                return self._with_model(self._without_key(_read(text)))
            except NoCompletion as error:
                code = error.code or status
                again = error.code is None or (code in _TRY_AGAIN and "insufficient_quota" not in text)
                said = f"{self._clean(str(error))}{self._through}"
                raise EndpointError(said, code, again=again, wait=wait, no_choices=error.no_choices) from None
        raise self._refusal(status, wait, text)

    async def _answer(self, method: str, url: str, body: bytes | None) -> tuple[int, float | None, str]:
        """Return status, ``Retry-After`` in seconds and text of one answer; raise EndpointError without an answer."""
        try:
            # Following a redirect would send the key to another server.
            async with self._http.request(
                method, url, data=body, proxy=self._proxy, allow_redirects=False
            ) as response:
                status, headers = response.status, response.headers
                text = (await read_body(response)).decode("utf-8", "replace")
        except (asyncio.TimeoutError, TimeoutError) as error:
            late = not isinstance(error, aiohttp.ServerTimeoutError)  # of hosts that take no connection
            seconds = self.config.timeout if late else min(self.config.timeout, _CONNECT_SECONDS)
            said = f"no answer within {seconds:g} s{self._through} ({type(error).__name__})"
            raise EndpointError(said, again=True, late=late) from None
        # An invalid host name raises UnicodeError.
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            said = f"no connection{self._through} ({self._clean(str(error)) or type(error).__name__})"
            raise EndpointError(
                said, again=not isinstance(error, aiohttp.InvalidURL | UnicodeError)
            ) from None
        return status, _retry_after(headers["Retry-After"]) if "Retry-After" in headers else None, text

    def _refusal(self, status: int, wait: float | None, text: str) -> EndpointError:
        # An account without credit also gets a 429, and waiting does not help.
        again = status in _TRY_AGAIN and "insufficient_quota" not in text
        # The error message for a wrong key or login may contain part of it.
        said = "" if status in (401, 403, 407) else self._clean(_message(text))
        shown = f"status {status}{self._through}" + (f": {said}" if said else "")
        return EndpointError(shown, status, again=again, wait=wait)

    def _with_model(self, reply: Reply) -> Reply:
        """Warn once if the endpoint asked another model than the judge file names, and keep that model's name."""
        if not reply.served or _same_model(self.config.model, reply.served):
            return replace(reply, served="")
        if reply.served not in self._others:
            self._others.add(reply.served)
            _LOG.warning(
                "%s: asked for %s, but %s answered; check the server's aliases",
                self._who,
                self.config.model,
                one_line(reply.served),
            )
        return reply

    @property
    def _through(self) -> str:
        return f" through the proxy {shown_proxy(self._proxy)}" if self._proxy else ""

    def _clean(self, text: str) -> str:
        if self._key:
            text = text.replace(self._key, HIDDEN)
        if self._proxy:
            text = text.replace(self._proxy, shown_proxy(self._proxy))
            for secret in login_forms(self._proxy):
                text = text.replace(secret, HIDDEN)
        return visible(" ".join(without_known(text).split())[:_SHOWN])

    def _without_key(self, reply: Reply) -> Reply:
        """Hide the key, and other known secrets, that the reply repeats, because replies are stored."""
        # A reply may well contain a placeholder such as EMPTY, but not as it is sent.
        key = self._key if len(self._key) >= _SHORTEST_KEY else f"Bearer {self._key}"

        def hidden(text: str) -> str:
            return without_known(text.replace(key, HIDDEN) if self._key else text)

        text, thinking, served = map(hidden, (reply.text, reply.thinking, reply.served))
        reason = reply.finish_reason and hidden(reply.finish_reason)
        return replace(reply, text=text, thinking=thinking, finish_reason=reason, served=served)

    async def models(self) -> list[str]:
        """Return the names of the endpoint's models, without those that are no names; raise EndpointError without a list."""
        status, wait, text = await self._answer("GET", f"{self.config.base_url}/models", None)
        if status != 200:
            raise self._refusal(status, wait, text)
        try:
            names = [str(row["id"]) for row in loads(text)["data"]]
        except (KeyError, TypeError, ValueError):
            raise EndpointError("status 200 with a body that is not a list of models", status) from None
        return [name for name in names if name.isprintable() and len(name) <= _LONGEST_NAME]

    async def said(self, address: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON in reply to a body posted to a path of the endpoint, in one attempt; None on any failure."""
        try:
            status, _, text = await self._answer("POST", address, json.dumps(body).encode("ascii"))
            return loads(text) if status == 200 else None
        except (EndpointError, ValueError):
            return None


def request_body(messages: Sequence[Message], draw: Draw, config: JudgeConfig) -> bytes:
    body: dict[str, Any] = {"model": config.model}
    if config.api == "chat":
        body["messages"] = [message.chat(config.split_messages) for message in messages]
    else:
        body["prompt"] = config.plain_prompt(messages)
    settings = {name: getattr(config, name) for name in ("temperature", "top_p", "max_tokens")}
    settings["seed"] = draw.sent_seed
    body |= {name: value for name, value in settings.items() if value is not None}
    if config.logprobs is not None:
        chat = {"logprobs": True, "top_logprobs": config.logprobs}
        body |= chat if config.api == "chat" else {"logprobs": config.logprobs}
    # ASCII escapes, because a lone surrogate in a response cannot be encoded as UTF-8.
    return json.dumps(body | config.extra_body, ensure_ascii=True).encode("ascii")


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return the decompressed body of a response, at most :data:`_LONGEST_BODY`."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _LONGEST_BODY:
            raise EndpointError(f"an answer of over {_LONGEST_BODY >> 20} MiB", response.status, again=True)
    return bytes(body)


def _retry_after(text: str) -> float | None:
    """Return the seconds in a ``Retry-After`` header (number or date), at most five minutes."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return None
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        seconds = (zoned - datetime.now(timezone.utc)).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _RETRY_AFTER_MAX)


def _message(body: str) -> str:
    try:
        row = loads(body)
        error = row.get("error", row)
        return str(error.get("message", "")) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        return body


def _read(body: str) -> Reply:
    """Return the completion from a 200 response.

    Raises:
        NoCompletion: the body is not a completion (e.g. a proxy's or failing server's error page), or
            contains an error.
    """
    try:
        row = loads(body)
    except ValueError:
        raise NoCompletion("status 200 with a body that is not an OpenAI-style completion") from None
    row = mended(row)
    choice = row["choices"][0]
    message = choice.get("message")
    text = choice.get("text") if message is None else message["content"]
    usage = row.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion = (_count(counts.get(f"{part}_tokens")) for part in ("prompt", "completion"))
    reason = choice.get("finish_reason")
    return Reply(
        text or "",
        prompt,
        completion,
        None if reason is None else str(reason),
        _top_logprobs(choice.get("logprobs")),
        "" if text or message is None else thinking_of(message),
        str(row.get("model") or "")[:_LONGEST_NAME],
    )


def _same_model(asked: str, served: str) -> bool:
    """Return whether a name is that of the model asked for, its last part, or one of its dated versions.

    >>> [_same_model("org/gpt-4o", name) for name in ("gpt-4o", "GPT-4o-2024-08-06", "gpt-4o-mini")]
    [True, True, False]
    """
    names = [name.rstrip("/").rpartition("/")[2].lower() for name in (asked, served)]
    return re.fullmatch(re.escape(names[0]) + r"([-@:][\d-]+)?", names[1], re.ASCII) is not None


def proxy_of(url: str) -> str | None:
    """Return the proxy for a URL that is asked by HTTP, or None."""
    proxy = checked_proxy(url)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise InputError(
            f"the proxy {shown_proxy(proxy)} from the environment does not use HTTP; set an http:// proxy in HTTPS_PROXY or ALL_PROXY, "
            f"or exclude {urlsplit(url).hostname} with NO_PROXY"
        )
    return proxy


def checked_proxy(url: str) -> str | None:
    """Return the proxy for a URL (``HTTPS_PROXY`` or ``HTTP_PROXY``, then ``ALL_PROXY``), or None.

    Raises:
        InputError: it is not an address. Libraries quote such a one, with its password, in their errors.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or not parts.hostname or proxy_bypass(parts.hostname):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        at = urlsplit(proxy)
        complete = at.hostname and at.port != 0 and at.path in ("", "/") and not at.query and not at.fragment
    except ValueError:  # the port is not a number
        complete = False
    if not complete:
        raise InputError(
            "the proxy from the environment is not an address such as http://USER:PASSWORD@HOST:PORT; correct HTTPS_PROXY, HTTP_PROXY or "
            "ALL_PROXY, and write special characters of its password as in a URL (# as %23)"
        )
    return proxy


def shown_proxy(proxy: str) -> str:
    """Return a proxy's address without user name and password.

    >>> shown_proxy("http://anne:secret@proxy.example:3128")
    'http://proxy.example:3128'
    """
    scheme, _, rest = proxy.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _top_logprobs(given: Any) -> TopLogprobs | None:
    """Return the top first-token log-probabilities of a reply from either API; None if it has none."""
    try:
        if given.get("content"):
            rows = [(row["token"], row.get("logprob")) for row in given["content"][0]["top_logprobs"]]
        else:
            rows = list(given["top_logprobs"][0].items())
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    return tuple((str(token), _logprob(value)) for token, value in rows) or None


def _logprob(value: object) -> float | None:
    """Return a natural log-probability; None for other types, nan, or a value clearly above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= _ROUNDING:
        return None
    return float(max(value, _NO_CHANCE))


def _count(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


async def probe(config: JudgeConfig, who: str) -> None:
    """Make a small call to find out whether an endpoint answers as configured.

    Args:
        who: names the endpoint in errors, for example ``judge gpt-4o``.

    Raises:
        InputError: it does not; the message says why and what to change.
    """
    tokens = None if config.max_tokens is None else min(config.max_tokens, PROBE_TOKENS)
    small = config.changed(max_tokens=tokens, retries=min(config.retries, PROBE_RETRIES))
    # A server that takes calls and never answers would be waited for several times.
    async with EndpointClient(small, who, late_again=False) as client:
        try:
            reply = await _first_reply(client, config)
        except EndpointError as error:
            models = []
            if error.status in (400, 404):
                with suppress(EndpointError):
                    models = await client.models()
            raise InputError(diagnosis(config, error, models, who)) from None
    if config.logprobs is not None and reply.text and reply.top_logprobs is None:
        raise InputError(
            f"{who} at {config.base_url} returns no log-probabilities; remove logprobs and use several samples "
            "(seeds: [1, 2, 3], with a temperature above 0), or use a server that returns them"
        )


async def _first_reply(client: EndpointClient, config: JudgeConfig) -> Reply:
    """Return the reply to a tiny call with a small token limit.

    A judge that thinks beyond the limit passes, even if its server then omits the choices. If a server
    rejects the limit, the call is repeated with the judge's own limit.
    """
    question, draw = [Message("user", "Answer with the word yes.")], Draw(config.seeds[0])
    limited = client.config.max_tokens is not None and client.config.max_tokens != config.max_tokens
    try:
        return await client.complete(question, draw)
    except EndpointError as error:
        if limited and error.no_choices:
            return Reply("")
        if not limited or error.status not in (400, 422):
            raise
    return await client.complete(question, draw, config.max_tokens)


def diagnosis(config: JudgeConfig, error: EndpointError, models: list[str], who: str) -> str:
    """Return what is wrong with an endpoint and what to change; ``models`` are those that it lists."""
    variable, status = config.api_key_env, error.status
    if status in (401, 403) and variable:
        said = f"refuses the key in environment variable {variable} ({error}); export the right key"
    elif status == 407:
        said = f"is behind a proxy that refuses the login ({error}); correct it in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
    elif status in (401, 403):
        said = f"requires a key ({error}); give a YAML file with model, base_url and api_key_env, the variable that holds it"
    elif status == 404 or (models and config.model not in models):
        offers = f"it offers {', '.join(models[:8])}" if models else "base_url usually ends in /v1"
        said = (
            f"has no model {config.model!r} or no such address ({error}); correct model or base_url: {offers}"
        )
    elif status == 200:
        said = f"returns {error}; correct base_url (it usually ends in /v1)"
    elif status == 429:
        said = f"is over its limit ({error}); wait, lower concurrency, or look at the account's quota"
    elif error.late:
        said = f"does not answer ({error}); look at the server, or raise timeout in a YAML file with model and base_url"
    elif status is not None and status < 500:
        said = f"refuses the call ({error}); correct the settings in the judge file"
    elif status is not None:
        said = f"answers with an error ({error}); look at the server's log, or correct base_url"
    else:
        said = f"cannot be reached ({error}); start the server, or correct base_url"
    return f"{who} at {config.base_url} {said}"


def wait_for(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to completion, even inside a running event loop (a notebook, a host)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="judge") as thread:
        return thread.submit(asyncio.run, work).result()


def _check(config: JudgeConfig) -> None:
    # A judge that is up answers at once; of another the user must see what is waited for.
    asking = f"asking the judge {config.name} at {config.base_url}"
    with step(asking, limit=config.timeout, after=_QUICK_SECONDS):
        wait_for(probe(config, f"judge {config.name}"))


KIND = Kind(check=_check)
