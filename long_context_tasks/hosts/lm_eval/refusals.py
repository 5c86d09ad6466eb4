"""What lm-eval's API models lose of a server's answers: refusals for length, and thinking without an answer.

A server that refuses a prompt for its length must cost that case, not the run.

lm-eval retries every HTTP error and then dies with all its answers. Here its API models are wrapped, once: while they answer
requests of our tasks, a refusal for length becomes an answer that our scoring reads as "does not fit"; it is not asked
again in this run and not kept in ``--use_cache``. Every other failure, and every other task, goes the host's way.

The host reads the content of an answer only. Where a server separates the thinking and the answer budget ends in it, the content
is empty, like that of a model that said nothing; here the thinking is handed on, marked as unfinished.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import CachingLM, hash_args

from long_context_tasks.hosts.lm_eval.results import REFUSED
from long_context_tasks.hosts.window import is_length_refusal
from long_context_tasks.schema import InputError
from long_context_tasks.schema.completion import NoCompletion, mended, thinking_of
from long_context_tasks.schema.thinking import OPEN

_API_MODELS = "lm_eval.models.api_models"
_CONVERTS = "_lct_converts_refusals"


@dataclass
class CaseInstance(Instance):  # type: ignore[misc]
    """A request of one of our tasks; its class distinguishes it from other tasks' requests.

    The host keeps all requests until its end. A text with a single typographic quote takes Python two bytes a character, so texts
    are kept as UTF-8 and decoded when they are read.

    Attributes:
        unchecked: the window was unknown when it was built.
        context: gives the context of the case, for models that read it apart from the question; None for a prompt without one.
    """

    unchecked: bool = False
    context: Callable[[], str] | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Text, or a chat in the host's form, and settings."""
        first, *others = self._kept
        return (first.decode("utf-8", "surrogatepass") if isinstance(first, bytes) else first, *others)

    @arguments.setter
    def arguments(self, value: tuple[Any, ...]) -> None:
        first, *others = value
        kept = first.encode("utf-8", "surrogatepass") if type(first) is str else first
        self._kept = (kept, *others)


def is_api_model(model: object) -> bool:
    """Whether a model of the host asks a server; its ``max_length`` then says nothing unless the user gave it."""
    module = sys.modules.get(_API_MODELS)
    return module is not None and isinstance(model, module.TemplateAPI)


def takes_run_seed(model: object | None, arguments: Mapping[str, Any]) -> bool:
    """Return whether requests go to a server that takes a seed, and the user gives none in the model arguments."""
    if "seed" in arguments:
        return False
    if model is None:
        return "base_url" in arguments
    return is_api_model(model) and "seed" in inspect.signature(model._create_payload).parameters  # type: ignore[attr-defined]


def convert_length_refusals() -> None:
    """Wrap the host's API models and its cache, if any is in use; a second call does nothing.

    To be called when the requests are built: the host has made its model by then, so its module is loaded if it is needed.
    """
    module = sys.modules.get(_API_MODELS)
    if module is None or hasattr(module.TemplateAPI.generate_until, "__wrapped__"):
        return
    api = module.TemplateAPI
    api.generate_until = _only_ours(api.generate_until)
    api.model_call = _converting(api.model_call)
    api.amodel_call = _converting_async(api.amodel_call)
    CachingLM.__getattr__ = _forgetting(CachingLM.__getattr__)


def _only_ours(generate: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Ask for our requests apart from other tasks', and convert refusals only meanwhile."""

    @functools.wraps(generate)
    def generate_until(self: Any, requests: Sequence[Any], *args: Any, **kwargs: Any) -> list[str]:
        ours = [request for request in requests if isinstance(request, CaseInstance)]
        theirs = [request for request in requests if not isinstance(request, CaseInstance)]
        answers: list[str] = []
        if ours:
            _refuse_silent_cut(self, ours)
            setattr(self, _CONVERTS, True)
            self.parse_generations = _marking(self.parse_generations)
            try:
                answers = generate(self, ours, *args, **kwargs)
            finally:
                del self.parse_generations  # the class's own again
                setattr(self, _CONVERTS, False)
        mine, others = iter(answers), iter(generate(self, theirs, *args, **kwargs) if theirs else [])
        return [next(mine if isinstance(request, CaseInstance) else others) for request in requests]

    return generate_until


def _marking(parse: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Hand on the thinking of answers without content, marked as unfinished, before the host reads the content."""

    @functools.wraps(parse)
    def parse_generations(outputs: Any, **kwargs: Any) -> list[str]:
        checked = [_checked(output) for output in (outputs if isinstance(outputs, list) else [outputs])]
        for choice in (choice for output in checked for choice in output["choices"]):
            message = choice.get("message") or {}
            if not message.get("content") and (thinking := thinking_of(message)):
                message["content"] = OPEN + thinking
        return parse(outputs=checked, **kwargs)

    return parse_generations


def _checked(output: Any) -> dict[str, Any]:
    """Return an answer as the protocol has it; what the host would take for an empty response must not be the model's zero.

    Raises:
        NoCompletion: the host tries again, and ends the run with it after its last try.
    """
    try:
        return mended(output)
    except NoCompletion as error:
        hint = "look at the server's log, and at base_url, which names its address for completions"
        raise NoCompletion(f"{error}; {hint}", error.code) from None


def _refuse_silent_cut(model: Any, requests: Sequence[CaseInstance]) -> None:
    """The host cuts prompts that it sends as tokens to a length of its own, from the left and in silence."""
    if not model.tokenized_requests:
        return
    for request in requests:
        prompt, settings = request.args
        room = model.max_length - settings["max_gen_toks"]
        if not request.unchecked or len(prompt.encode("utf-8", "surrogatepass")) <= room:
            continue
        if len(model.tok_encode(prompt)) > room:
            raise InputError(
                f"lm-eval would cut prompts of {request.task_name} to {room} tokens without a word: add "
                "max_length=WINDOW or tokenized_requests=False to --model_args"
            )


def _converting(call: Any) -> Any:
    import requests

    @functools.wraps(call)
    def model_call(self: Any, messages: Sequence[Any], *, generate: bool = True, **kwargs: Any) -> Any:
        try:
            outputs = call(self, messages, generate=generate, **kwargs)
            if generate and getattr(self, _CONVERTS, False):
                outputs = _checked(outputs)  # within the host's tries
            return outputs
        except requests.HTTPError as error:
            response = error.response
            refused = response is not None and is_length_refusal(response.status_code, response.text)
            if not (refused and getattr(self, _CONVERTS, False)):
                raise
            if len(messages) == 1:
                return _reply([REFUSED])
            # One prompt of a batch is too long: ask for each by itself.
            texts: list[Any] = []
            for message in messages:
                outputs = model_call(self, [message], generate=generate, **kwargs)
                texts += self.parse_generations(outputs=outputs)
            return _reply(texts)

    return model_call


def _reply(texts: Sequence[str | None]) -> dict[str, Any]:
    """Return what a server of either kind, chat or text, would send."""
    choices = [{"index": i, "text": text, "message": {"content": text}} for i, text in enumerate(texts)]
    return {"choices": choices}


def _converting_async(call: Any) -> Any:
    import aiohttp

    @functools.wraps(call)
    async def amodel_call(
        self: Any,
        session: Any,
        sem: Any,
        messages: Sequence[Any],
        *,
        cache_keys: list[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        watch = _WatchedSession(session)
        try:
            return await call(self, watch, sem, messages, cache_keys=cache_keys, **kwargs)
        except aiohttp.ClientResponseError:
            if not (is_length_refusal(watch.status, watch.body) and getattr(self, _CONVERTS, False)):
                raise
            if len(messages) == 1:
                return [REFUSED]
            answers = []
            for place, message in enumerate(messages):
                keys = cache_keys[place : place + 1] if cache_keys else None
                answers += await amodel_call(self, session, sem, [message], cache_keys=keys, **kwargs)
            return answers

    return amodel_call


class _WatchedSession:
    """Passes requests on to an aiohttp session, keeps the body of a response that is an error, and the key out of the error."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.status = 0
        self.body = ""

    @contextlib.asynccontextmanager
    async def post(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with self._session.post(*args, **kwargs) as response:
            if not response.ok:
                self.status, self.body = response.status, await response.text()
            yield _WithoutKey(response)


class _WithoutKey:
    """A response of aiohttp whose error does not repeat the request's headers: the host logs the error, key and all."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    def raise_for_status(self) -> None:
        """Raise for status 400 and above, as the response would."""
        with _error_without_headers():
            self._response.raise_for_status()

    async def json(self, **kwargs: Any) -> Any:
        """Return the body, or raise for another type of content, as the response would."""
        with _error_without_headers():
            return await self._response.json(**kwargs)


@contextlib.contextmanager
def _error_without_headers() -> Iterator[None]:
    """Raise the errors of aiohttp without the headers of the request."""
    import aiohttp
    from multidict import CIMultiDict, CIMultiDictProxy

    try:
        yield
    except aiohttp.ClientResponseError as error:
        asked = error.request_info._replace(headers=CIMultiDictProxy(CIMultiDict()))
        raise type(error)(
            asked, (), status=error.status, message=error.message, headers=error.headers
        ) from None


def _forgetting(get: Any) -> Any:
    """Keep refusals out of the host's cache: the next run may have a server with a larger window."""

    @functools.wraps(get)
    def __getattr__(self: Any, name: str) -> Any:
        method = get(self, name)
        if name != "generate_until":
            return method

        def generate_until(requests: Sequence[Any]) -> Any:
            # Before: a run that was killed leaves what its model wrote while it ran.
            _forget(self.dbdict, requests)
            answers = method(requests)
            refused = zip(requests, answers, strict=True)
            _forget(self.dbdict, [request for request, answer in refused if answer == REFUSED])
            return answers

        return generate_until

    return __getattr__


def _forget(store: Any, requests: Sequence[Any]) -> None:
    for request in requests:
        if isinstance(request, CaseInstance):
            key = hash_args("generate_until", request.args)
            if store.get(key) == REFUSED:
                del store[key]
