"""Send messages through an OpenCompass model; a context-length rejection affects only one case.

OpenCompass silently truncates prompts that exceed the model's ``max_seq_len`` from the left. Its API classes
reject such prompts instead, even at their default of 16,384, which no config sets. Here the window is checked
before anything is sent, and cases that do not fit are recorded.
"""

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from types import SimpleNamespace
from typing import Any

import torch
from opencompass.models import (
    VLLM,
    ClaudeSDK,
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
    OpenAI,
    OpenAISDK,
    TurboMindModelwithChatTemplate,
    VLLMwithChatTemplate,
)
from opencompass.models.base_api import APITemplateParser
from opencompass.utils.logging import get_logger
from opencompass.utils.prompt import PromptList

from long_context_tasks.hosts.messages import NO_PARTS, hide_secrets_in_logs
from long_context_tasks.hosts.opencompass.needs import check_local_models
from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.sdk import mend_answers
from long_context_tasks.hosts.server import announce_silence, find_server
from long_context_tasks.hosts.window import IN_CL100K, OF_CL100K, REFUSED, Counter, Window, is_length_refusal
from long_context_tasks.schema import InputError, LoadedTask, Message, Options
from long_context_tasks.schema.case import SplitMessages, folded, takes_system
from long_context_tasks.schema.completion import THINKING_FIELDS, thinking_of
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, writable
from long_context_tasks.schema.secrets import remember_secrets, without_known, without_secrets
from long_context_tasks.schema.thinking import OPEN
from long_context_tasks.tokens import get_tokenizer

# Classes that take max_seq_len from the model's own config by default, and count tokens with the chat
# template. All others have a fixed default, which matters only to classes that truncate prompts to it.
_CONFIG_CLASSES = (HuggingFacewithChatTemplate, VLLMwithChatTemplate, TurboMindModelwithChatTemplate)
_ROLES = {"system": "SYSTEM", "user": "HUMAN", "assistant": "BOT"}
_NO_LIMIT = 10**9
# Roles are passed through unchanged. OpenCompass' default for chat models turns a system role into an empty
# user message and joins it to the user's, so that every prompt would end in one more newline than the
# benchmark's.
_PLAIN_ROLES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
# Chat-template tokens around a message, if the template is unknown.
_AROUND_MESSAGE = 8
_ASKED = "_lct_asked"  # attribute of a model at an endpoint: its server has been asked
_STATUS = re.compile(r"(?:error code|status code)\D{0,3}(\d{3})", re.IGNORECASE)


@dataclass(frozen=True)
class Exchange:
    messages: Sequence[Message]  # as sent, or as they would have been sent
    text: str  # the response; empty if nothing was sent
    status: str | None  # None, or does_not_fit
    # Number of prompt tokens in the model's template; None if the model cannot count.
    n_prompt_tokens: int | None

    @property
    def response(self) -> Response:
        return Response(self.text if self.status is None else None, self.status)


class Sender:
    def __init__(
        self,
        model: Any,
        window: Window,
        answer_budget: int,
        options: dict[str, Any],
        received: Callable[[str], str] = writable,
        split: SplitMessages | None = None,
    ) -> None:
        if type(model) is OpenAI:
            raise InputError(
                "the class OpenAI sends a prompt that the server refuses again without end; take OpenAISDK, "
                "with the address of the server without /chat/completions"
            )
        if split and _endpoint_of(model) is None:
            raise InputError(NO_PARTS)
        client = getattr(model, "openai_client", getattr(model, "anthropic", None))
        remember_secrets({"api_key": getattr(client, "api_key", None)})
        hide_secrets_in_logs(get_logger())  # a server may repeat the key in an error
        self._split = split
        self._parts: dict[str, Any] = {}  # contents sent in parts, by their whole text
        self.model = model
        self.window = window
        self._count = window.count or partial(count_tokens, model)
        self.answer_budget = answer_budget
        self._received = received
        template = _meta_template(model)
        rounds = template.get("round", []) if isinstance(template, dict) else []
        adds_newline = any(
            item.get("role") == "SYSTEM" and item.get("api_role") == "HUMAN" for item in rounds
        )
        self._parser = APITemplateParser(_PLAIN_ROLES) if adds_newline else None
        self._opens_thinking = applies_chat_template(model) and prompt_opens_thinking(model)
        self._folds = not _takes_system(model)
        # Local models accept stopping criteria, API models do not.
        known = inspect.signature(model.generate).parameters
        self._options = {key: value for key, value in options.items() if key in known}

    def answers(self, batch: Sequence[Sequence[Message]]) -> Iterator[Exchange]:
        """Yield one exchange per list of messages, in order; completed ones precede any error."""
        self._parts.clear()
        prompts = [self._prompt(messages) for messages in batch]
        counts = [self._count(self._parsed(prompt)) for prompt in prompts]
        texts = self._send([prompt for prompt, n in zip(prompts, counts, strict=True) if self._fits(n)])
        for messages, n in zip(batch, counts, strict=True):
            text = next(texts) if self._fits(n) else None
            yield Exchange(messages, text or "", DOES_NOT_FIT if text is None else None, n)

    def fits(self, messages: Sequence[Message], answers: int) -> tuple[bool, int | None]:
        """Return whether a prompt leaves room for a number of answers, and its token count if known."""
        n = self._count(self._parsed(self._prompt(messages)))
        return self._fits(n, answers), n

    def _prompt(self, messages: Sequence[Message]) -> PromptList:
        sent = folded(messages) if self._folds else messages
        self._parts |= {m.content: m.chat(self._split)["content"] for m in sent if m.shared}
        return host_prompt(sent)

    def _parsed(self, prompt: PromptList) -> Any:
        return (self._parser or self.model).parse_template(prompt, mode="gen")

    def _fits(self, n_tokens: int | None, answers: int = 1) -> bool:
        if self.window.tokens is None or n_tokens is None:
            return True
        return n_tokens + answers * self.answer_budget <= self.window.tokens

    def _send(self, prompts: Sequence[PromptList]) -> Iterator[str | None]:
        """Yield the responses in order; None if the server rejected the length."""
        if not prompts:
            return
        try:
            responses = self._generate(prompts)
        except Exception as error:
            if not is_refusal(str(error)):
                raise
            if len(prompts) == 1:
                yield None
                return
            # One prompt's error hides the other responses, so each is sent separately.
            for prompt in prompts:
                yield from self._send([prompt])
        else:
            yield from responses

    def _generate(self, prompts: Sequence[PromptList]) -> list[str | None]:
        options = {"max_out_len": self.answer_budget, **self._options}
        with _own_limit_lifted(self.model), _completions_mended(self.model, self._parts), torch.no_grad():
            if self._parser is not None:
                responses = self.model.generate([self._parsed(prompt) for prompt in prompts], **options)
            else:
                responses = self.model.generate_from_template(list(prompts), **options)
        texts = [
            response["prediction"] if isinstance(response, dict) else str(response) for response in responses
        ]
        opening = OPEN if self._opens_thinking else ""
        return [None if text == REFUSED else self._received(opening + text) for text in texts]


@contextlib.contextmanager
def _own_limit_lifted(model: Any) -> Iterator[None]:
    """Enforce only the window, not an API class's fixed limit, which rejects prompts or shortens answers."""
    if not _is_api(model) or _cuts(model):
        yield
        return
    limit = getattr(model, "max_seq_len", None)
    model.max_seq_len = _NO_LIMIT
    try:
        yield
    finally:
        model.max_seq_len = limit


@contextlib.contextmanager
def _completions_mended(model: Any, parts: Mapping[str, Any]) -> Iterator[None]:
    """Make ``OpenAISDK`` and ``ClaudeSDK`` send contents in parts, and keep everything that the server sends.

    A context-length rejection becomes a completion, because the classes would retry and then end the task.
    Thinking without an answer is marked. If every try fails, the error names the address, the last error, which
    the class only logs, and a remedy. Other models are unchanged.
    """
    if (endpoint := _endpoint_of(model)) is None:
        yield
        return
    if isinstance(model, OpenAISDK):
        mend_answers(model.openai_client)
    original = endpoint.create
    last_error: Exception | None = None
    answered = Event()

    def in_parts(row: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {**row, **({name: parts[row[name]]} if row.get(name) in parts else {})}

    def create(messages: Sequence[Mapping[str, Any]], **more: Any) -> Any:
        nonlocal last_error
        try:
            # OpenCompass drops marks, so contents are replaced here. Anthropic's protocol has a field for
            # the system message.
            rows = [in_parts(row, "content") for row in messages]
            response = original(messages=rows, **in_parts(more, "system"))
            answered.set()
            return _mark_unfinished(response)
        except Exception as error:
            if hasattr(error, "status_code"):
                answered.set()
            if not is_length_refusal(getattr(error, "status_code", 0), str(error)):
                last_error = error
                raise
            message = SimpleNamespace(content=REFUSED)
            block = SimpleNamespace(type="text", text=REFUSED)
            choice = SimpleNamespace(message=message, finish_reason="stop")
            return SimpleNamespace(choices=[choice], content=[block])

    endpoint.create = create
    try:
        if not vars(model).get(_ASKED):  # once for a model, which runs many tasks
            setattr(model, _ASKED, True)
            announce_silence(
                _address_of(endpoint), str(model.path), getattr(model, "timeout", None), answered
            )
        yield
    except RuntimeError as error:
        if last_error is None:
            raise
        raise _unanswered(endpoint, last_error) from error
    finally:
        answered.set()
        endpoint.create = original


def _unanswered(endpoint: Any, error: Exception) -> InputError:
    """Return an error with the endpoint's address, its last error and a remedy."""
    address = _address_of(endpoint)
    maker = type(endpoint).__module__.partition(".")[0].upper()  # OPENAI or ANTHROPIC
    key = f"put its key into {maker}_API_KEY (or key in the config)"
    remedy = {
        "APIConnectionError": "start it, or correct its address (LCT_API_BASE, or in the config)",
        401: key,
        403: key,
        404: "name one of its models (LCT_API_MODEL, or path in the config), or correct its address (LCT_API_BASE)",
    }.get(getattr(error, "status_code", type(error).__name__), "see its log, then go on with -r")
    # The page of a proxy has many lines, of which the console shows the first.
    said = " ".join(without_known(str(error)).split())[:500]
    return InputError(f"the server {address} fails ({said}): {remedy}")


def _address_of(endpoint: Any) -> str:
    url = getattr(getattr(endpoint, "_client", None), "base_url", "the server")
    return str(without_secrets(str(url).rstrip("/")))


def _endpoint_of(model: Any) -> Any | None:
    """Return the object whose ``create`` sends messages; None if the class has none that we know."""
    if isinstance(model, OpenAISDK):
        return model.openai_client.chat.completions
    return model.anthropic.messages if isinstance(model, ClaudeSDK) else None


def _mark_unfinished(response: Any) -> Any:
    """Mark thinking without an answer; accept empty answers, which OpenCompass treats as failures."""
    for choice in getattr(response, "choices", None) or []:
        message = choice.message
        if message is None:
            continue
        thinking = thinking_of({name: getattr(message, name, None) for name in THINKING_FIELDS})
        if thinking:
            message.reasoning_content = thinking if message.content else OPEN + thinking
        elif not message.content and choice.finish_reason != "content_filter":
            choice.finish_reason = "stop"
    return response


def is_refusal(text: str) -> bool:
    """Return whether an error message is a context-length rejection.

    No status code means that it came from an in-process model.
    """
    status = _STATUS.search(text)
    return is_length_refusal(int(status[1]) if status else 400, text)


def host_prompt(messages: Sequence[Message]) -> PromptList:
    """Convert messages to OpenCompass' format, as its own prompt template would."""
    prompt = PromptList()
    for section, more in (("begin", {"fallback_role": "HUMAN"}), ("round", {})):
        part = [message for message in messages if (message.role == "system") == (section == "begin")]
        if part:
            items = [{"role": _ROLES[message.role], "prompt": message.content, **more} for message in part]
            prompt += [{"section": section, "pos": "begin"}, *items, {"section": section, "pos": "end"}]
    return prompt


def find_window(model: Any, options: Options, configured: int | None) -> Window:
    """Return a run's window: ``lct_window``, ``max_seq_len`` from the user or the model's config, or the server's.

    It is capped at the length to which OpenCompass truncates prompts.
    """
    tokens, source = (configured, "host") if options.window is None else (options.window, "lct_window")
    named = options.tokenizer if _is_api(model) else None
    counter: Counter | None = get_tokenizer(named).count if named else None
    # By default an API class counts with a tokenizer that it finds by the model's name.
    path = getattr(model, "tokenizer_path", None)
    guessed = counter is None and path in (None, getattr(model, "path", None), OF_CL100K)
    if (client := getattr(model, "openai_client", None)) is not None and (tokens is None or guessed):
        server = find_server(str(client.base_url), str(model.path), client.api_key or "")
        if server is not None and (server.counts or not guessed):
            counter = server.counter if guessed else counter
            tokens, source = (server.window, "server") if tokens is None else (tokens, source)
        elif server is not None and tokens is None:
            server.report_missing_tokenizer()
    if counter is None and path == OF_CL100K and source == "lct_window":
        source = IN_CL100K
    count = partial(count_tokens, model, count=counter)
    if count("x") is None:
        return Window()
    known = isinstance(model, _CONFIG_CLASSES) or _cuts(model)
    limit = getattr(model, "max_seq_len", None) if known else None
    if limit is not None and _is_api(model):
        limit -= 100  # reserved by the class
    if limit is not None and (tokens is None or limit < tokens):
        tokens, source = limit, "host"
    return Window(None, count) if tokens is None else Window(int(tokens), count, source)


def count_tokens(model: Any, prompt: Any, count: Counter | None = None) -> int | None:
    """Return the token count of a prompt produced by the model's template parser; None if it cannot count.

    An API model may use a different tokenizer and an unknown template, so an allowance is added for every
    message. ``count`` replaces the model's own count of a text.
    """
    if isinstance(model, _CONFIG_CLASSES):
        return int(model.get_token_len(prompt))
    texts = (
        [prompt] if isinstance(prompt, str) else [item.get("prompt", item.get("content")) for item in prompt]
    )
    length: Any = count or getattr(model, "get_token_len", None)
    try:
        tokens = sum(int(length(text)) for text in texts)
    except (AttributeError, NotImplementedError, TypeError, RuntimeError):
        return None
    return tokens + _AROUND_MESSAGE * len(texts) if _is_api(model) else tokens


def _cuts(model: Any) -> bool:
    """Return whether OpenCompass truncates prompts to ``max_seq_len``.

    API classes and ``VLLM`` do so only if their ``mode`` is set.
    """
    return getattr(model, "mode", "none") != "none" or not (_is_api(model) or isinstance(model, VLLM))


def model_facts(model: Any) -> dict[str, str]:
    """Return model properties that no config file records: its dtype and RoPE settings, if known."""
    inner = getattr(model, "model", None)
    of_vllm = getattr(getattr(inner, "llm_engine", None), "model_config", None)
    dtype = getattr(inner, "dtype", None) or getattr(of_vllm, "dtype", None)
    facts = {"lct_dtype": str(dtype)} if isinstance(dtype, torch.dtype) else {}
    return facts | ({"lct_rope": rope} if (rope := describe_rope(model)) else {})


def check_model(model: Any, task: LoadedTask) -> None:
    """Check that a model can run, that a dialogue gets its roles, and text with role tokens gets no chat template."""
    if isinstance(model, HuggingFacewithChatTemplate):
        check_local_models()
    takes_roles = _is_api(model) or applies_chat_template(model) or bool(_meta_template(model))
    if task.own_template and takes_roles:
        raise InputError(
            f"{task.name}: prompt style {task.own_template} is a text that marks the roles itself, and this model puts a "
            "chat template around it; take LCT_MODEL_TYPE=base (HuggingFaceBaseModel), or another lct_prompt_style"
        )
    if task.is_conversation and not task.own_template and not takes_roles:
        raise InputError(
            f"{task.name}: a conversation needs the roles of a chat template, and this model has none; take a class with a "
            "chat template, or an lct_prompt_style that marks the roles itself"
        )


def applies_chat_template(model: Any) -> bool:
    """Return whether a local model applies its chat template to prompts."""
    return isinstance(model, _CONFIG_CLASSES) and not isinstance(model, HuggingFaceBaseModel)


def prompt_opens_thinking(model: Any) -> bool:
    """Return whether the model's chat template ends the prompt inside the thinking block."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    if _is_api(model) or not getattr(tokenizer, "chat_template", None):
        return False
    options = getattr(model, "chat_template_kwargs", None) or {}
    messages = [{"role": "user", "content": "x"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **options)
    return str(text).rstrip().endswith(OPEN)


def _takes_system(model: Any) -> bool:
    """Return whether the model receives a system message as such, via a server or a chat template."""
    if applies_chat_template(model):
        tokenizer = model.tokenizer
        return takes_system(
            lambda chat: tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        )
    # Without any template, OpenCompass joins messages with one newline, lm-eval with a blank line.
    return _is_api(model) or bool(_meta_template(model))


def _meta_template(model: Any) -> Any:
    return getattr(getattr(model, "template_parser", None), "meta_template", None)


def _is_api(model: Any) -> bool:
    return bool(getattr(model, "is_api", False))
