"""Repair server answers before the openai package parses them, for OpenCompass and inspect_ai.

The package accepts anything that a server sends: content in parts stays a list, an error with status 200
becomes a completion without choices, and hosts turn both into an empty response. Here an answer's body is
converted to the protocol's format, and a body without a completion becomes an HTTP error, so that the
package's own retries and messages apply.
"""

import json
import logging
from typing import Any

from long_context_tasks.schema.completion import NoCompletion, mended
from long_context_tasks.schema.files import loads

_LOG = logging.getLogger(__name__)
_NOT_AGAIN = 424  # used for a failure without a status; the package does not retry after it

# Fields that some servers omit and hosts need.
_PROMISED = {"id": "", "object": "chat.completion", "created": 0, "model": ""}


def mend_answers(client: Any) -> None:
    """Repair all further answers to an openai client; leave any other client as it is, with a warning."""
    try:
        hooks = client._client.event_hooks
        added = _mend_async if hasattr(client._client, "aclose") else _mend
        if added not in hooks["response"]:
            client._client.event_hooks = {**hooks, "response": [*hooks["response"], added]}
    except (AttributeError, KeyError, TypeError):
        _LOG.warning(
            "answers of %s are not checked: it is not a client of the package openai that we know",
            type(client).__name__,
        )


def _mend(response: Any) -> None:
    if _is_completion(response):
        response.read()
        _rewrite(response)


async def _mend_async(response: Any) -> None:
    if _is_completion(response):
        await response.aread()
        _rewrite(response)


def _is_completion(response: Any) -> bool:
    # Reading a stream here would block until it ends.
    streamed = "event-stream" in response.headers.get("content-type", "")
    return response.status_code == 200 and not streamed and response.url.path.endswith("/completions")


def _rewrite(response: Any) -> None:
    body: dict[str, Any]
    try:
        try:
            body = mended(loads(response.content))
        except ValueError:
            raise NoCompletion("status 200 with a body that is not an OpenAI-style completion") from None
    except NoCompletion as error:
        response.status_code = error.code or _NOT_AGAIN
        body = {"error": {"message": str(error), "code": error.code}}
    body |= {name: value for name, value in _PROMISED.items() if body.get(name) is None}
    # ASCII, because a server may send a lone surrogate.
    response._content = json.dumps(body, ensure_ascii=True).encode("ascii")
    response.headers["content-type"] = "application/json"
