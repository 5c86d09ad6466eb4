"""A server that refuses a prompt for its length must cost that case, not the run.

lm-eval retries every HTTP error and then dies with all its answers. Here the two calls of its API models are wrapped, once:
a refusal for length of one of our prompts becomes an answer that our scoring reads as "does not fit". Everything else, other
tasks' prompts included, goes its way.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from long_context_tasks.hosts.window import is_length_refusal

REFUSED = "[long_context_tasks: the server refused this prompt for its length]"


# Hashes of the prompts of our tasks in this process. The host hands nothing but the prompt down to its API models.
_ours: set[bytes] = set()


def _key(prompt: Any) -> bytes:
    text = prompt if isinstance(prompt, str) else str(getattr(prompt, "prompt", prompt))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def register_prompt(prompt: Any) -> None:
    """Remember a prompt (text, or the host's JSON of messages) as one of ours."""
    _ours.add(_key(prompt))


def _all_ours(messages: Sequence[Any]) -> bool:
    """Whether every prompt is ours. Prompts sent as tokens are not known; those the host has cut to fit before."""
    return all(_key(message) in _ours for message in messages)


class _WatchedSession:
    """Passes requests on to an aiohttp session and keeps the body of a response that is an error."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.status = 0
        self.body = ""

    def post(self, *args: Any, **kwargs: Any) -> "_WatchedPost":
        return _WatchedPost(self, self._session.post(*args, **kwargs))


class _WatchedPost:
    def __init__(self, watch: _WatchedSession, request: Any) -> None:
        self._watch = watch
        self._request = request

    async def __aenter__(self) -> Any:
        response = await self._request.__aenter__()
        if not response.ok:
            self._watch.status, self._watch.body = response.status, await response.text()
        return response

    async def __aexit__(self, *error: object) -> Any:
        return await self._request.__aexit__(*error)


def convert_length_refusals() -> None:
    """Wrap the host's API models, if they are installed; a second call does nothing."""
    try:
        from lm_eval.models.api_models import TemplateAPI
    except ImportError:
        return
    if not hasattr(TemplateAPI.model_call, "__wrapped__"):
        TemplateAPI.model_call = _wrap(TemplateAPI.model_call)
        TemplateAPI.amodel_call = _wrap_async(TemplateAPI.amodel_call)


def _answers(n: int) -> dict[str, Any]:
    """What a server of either kind would send to answer with the refusal."""
    return {"choices": [{"index": i, "text": REFUSED, "message": {"content": REFUSED}} for i in range(n)]}


def _wrap(call: Any) -> Any:
    import requests

    @functools.wraps(call)
    def model_call(self: Any, messages: Sequence[Any], *, generate: bool = True, **kwargs: Any) -> Any:
        try:
            return call(self, messages, generate=generate, **kwargs)
        except requests.HTTPError as error:
            response = error.response
            refused = response is not None and is_length_refusal(response.status_code, response.text)
            if not (generate and refused and _all_ours(messages)):
                raise
            if len(messages) == 1:
                return _answers(1)
            # One prompt of a batch is too long: ask for each by itself.
            replies = [model_call(self, [message], generate=generate, **kwargs) for message in messages]
            return {"choices": [{**reply["choices"][0], "index": i} for i, reply in enumerate(replies)]}

    return model_call


def _wrap_async(call: Any) -> Any:
    import aiohttp

    @functools.wraps(call)
    async def amodel_call(
        self: Any,
        session: Any,
        sem: Any,
        messages: Sequence[Any],
        *,
        generate: bool = True,
        cache_keys: list[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        watch = _WatchedSession(session)
        try:
            return await call(self, watch, sem, messages, generate=generate, cache_keys=cache_keys, **kwargs)
        except aiohttp.ClientResponseError:
            if not (generate and is_length_refusal(watch.status, watch.body) and _all_ours(messages)):
                raise
            if len(messages) == 1:
                return [REFUSED]
            answers = []
            for place, message in enumerate(messages):
                keys = cache_keys[place : place + 1] if cache_keys else None
                answers += await amodel_call(
                    self, session, sem, [message], generate=generate, cache_keys=keys, **kwargs
                )
            return answers

    return amodel_call
