"""From messages to a host's answers: what fits is sent, what does not is named, a refusal is not the end.

OpenCompass cuts a prompt that exceeds the model's ``max_seq_len`` from the left, without a word; its API classes refuse
it instead, also at their default of 16,384, which no config sets. Here the window is checked before anything is sent, and a
server that refuses one prompt for its length costs that case only.
"""

import contextlib
import inspect
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from opencompass.models import (
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
    TurboMindModelwithChatTemplate,
    VLLMwithChatTemplate,
)
from opencompass.models.base_api import APITemplateParser
from opencompass.utils.prompt import PromptList

from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.sdk import mend_answers
from long_context_tasks.hosts.window import Window, is_length_refusal
from long_context_tasks.schema import InputError, LoadedTask, Message
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.schema.completion import THINKING_FIELDS, thinking_of
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, writable
from long_context_tasks.schema.thinking import OPEN

# Host classes that take their max_seq_len from the model's own config when the user gives none, and count tokens with
# the chat template. All other classes have a fixed default there, which says nothing about the model.
_CONFIG_CLASSES = (HuggingFacewithChatTemplate, VLLMwithChatTemplate, TurboMindModelwithChatTemplate)
_ROLES = {"system": "SYSTEM", "user": "HUMAN", "assistant": "BOT"}
_NO_LIMIT = 10**9
# The roles as they are. The host's own default for chat models holds a system role that it turns into an empty user message
# and joins to the user's: every prompt would end in one more newline than the benchmark's.
_PLAIN_ROLES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
# Tokens that a chat template puts around a message, where the template is not known.
_AROUND_MESSAGE = 8
_STATUS = re.compile(r"(?:error code|status code)\D{0,3}(\d{3})", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """What came of one prompt.

    Attributes:
        messages: as sent, or as they would have been.
        text: the response as it came; empty when nothing was sent.
        status: None, or ``does_not_fit``.
        n_prompt_tokens: tokens of the prompt in the model's template; None when the model cannot count.
        truncated: the host cut the prompt.
    """

    messages: Sequence[Message]
    text: str
    status: str | None
    n_prompt_tokens: int | None
    truncated: bool = False

    @property
    def response(self) -> Response:
        """What both hosts score."""
        return Response(self.text if self.status is None else None, self.status)


class LengthRefusal(Exception):
    """A server said that a prompt is longer than its window."""


class _RefusalWatch(logging.Handler):
    """Ends the host's retries when a server refuses a prompt for its length.

    The host's API classes catch the server's error, log it, try again (one of them without end) and raise an error that
    no longer says why. The log message is the one place where the reason can be seen, in the thread of the request.

    Attributes:
        last: the last other error.
    """

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Raise for a refusal; remember any other error."""
        if record.levelno >= logging.ERROR:
            if is_refusal(text := str(record.msg)):
                raise LengthRefusal(text)
            self.last = text[:500]


def is_refusal(text: str) -> bool:
    """Is an error message a refusal for length? Without a status code in it, it comes from a model in this process."""
    status = _STATUS.search(text)
    return is_length_refusal(int(status[1]) if status else 400, text)


def host_prompt(messages: Sequence[Message]) -> PromptList:
    """Messages in the host's form, as its own prompt template would give them."""
    prompt = PromptList()
    for section, more in (("begin", {"fallback_role": "HUMAN"}), ("round", {})):
        part = [message for message in messages if (message.role == "system") == (section == "begin")]
        if part:
            items = [{"role": _ROLES[message.role], "prompt": message.content, **more} for message in part]
            prompt += [{"section": section, "pos": "begin"}, *items, {"section": section, "pos": "end"}]
    return prompt


def _meta_template(model: Any) -> Any:
    return getattr(getattr(model, "template_parser", None), "meta_template", None)


def _is_api(model: Any) -> bool:
    return bool(getattr(model, "is_api", False))


def applies_chat_template(model: Any) -> bool:
    """Whether a local model of the host puts its chat template around prompts."""
    return isinstance(model, _CONFIG_CLASSES) and not isinstance(model, HuggingFaceBaseModel)


def prompt_opens_thinking(model: Any) -> bool:
    """Whether the model's chat template ends the prompt inside the thinking."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    if _is_api(model) or not getattr(tokenizer, "chat_template", None):
        return False
    options = getattr(model, "chat_template_kwargs", None) or {}
    messages = [{"role": "user", "content": "x"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **options)
    return str(text).rstrip().endswith(OPEN)


def check_roles(model: Any, task: LoadedTask) -> None:
    """Whether prompts go out as the task means them: roles for a conversation, no template around a text that has its own.

    Raises:
        InputError: they would not.
    """
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


def count_tokens(model: Any, prompt: Any) -> int | None:
    """Tokens of a prompt that the model's parser has made, chat template included; None when it cannot count.

    An API model's tokenizer may be a stand-in, and its template unknown: then an allowance for every message is added.
    """
    if isinstance(model, _CONFIG_CLASSES):
        return int(model.get_token_len(prompt))
    texts = (
        [prompt] if isinstance(prompt, str) else [item.get("prompt", item.get("content")) for item in prompt]
    )
    try:
        tokens = sum(int(model.get_token_len(text)) for text in texts)
    except (AttributeError, NotImplementedError, TypeError, RuntimeError):
        return None
    return tokens + _AROUND_MESSAGE * len(texts) if _is_api(model) else tokens


def find_window(model: Any, option: int | None, configured: int | None) -> Window:
    """The window of a run: ``lct_window``, else ``max_seq_len`` as the user set it, else the model's config, else unknown.

    Args:
        model: the host's model object.
        option: ``lct_window``.
        configured: ``max_seq_len`` in the model's config file; None when the user gave none.
    """

    def count(prompt: Any) -> int:
        return count_tokens(model, prompt) or 0

    if count_tokens(model, "x") is None:
        return Window()
    if option is not None:
        return Window(option, count, "lct_window")
    tokens = configured
    if tokens is None and isinstance(model, _CONFIG_CLASSES):
        tokens = model.max_seq_len
    return Window() if tokens is None else Window(int(tokens), count, "host")


def model_facts(model: Any) -> dict[str, str]:
    """What a row of predictions says of a model and the host's config file does not: type of numbers and RoPE settings, where known."""
    inner = getattr(model, "model", None)
    of_vllm = getattr(getattr(inner, "llm_engine", None), "model_config", None)
    dtype = getattr(inner, "dtype", None) or getattr(of_vllm, "dtype", None)
    facts = {"lct_dtype": str(dtype)} if isinstance(dtype, torch.dtype) else {}
    return facts | ({"lct_rope": rope} if (rope := describe_rope(model)) else {})


def _was_cut(model: Any, n_tokens: int | None, answer_budget: int) -> bool:
    """Whether the host cuts a prompt of this many tokens before the model sees it."""
    limit = getattr(model, "max_seq_len", None)
    if n_tokens is None or limit is None:
        return False
    mode = getattr(model, "mode", "none")
    if _is_api(model):
        return mode != "none" and n_tokens > limit - 100 - answer_budget
    return bool(n_tokens > (limit - answer_budget if mode == "mid" else limit))


def _mark_unfinished(response: Any) -> Any:
    """A chat completion in which thinking without an answer is marked, and an empty answer is no failure."""
    for choice in response.choices or []:
        message = choice.message
        if message is None:
            continue
        thinking = thinking_of({name: getattr(message, name, None) for name in THINKING_FIELDS})
        if thinking:
            message.reasoning_content = thinking if message.content else OPEN + thinking
        elif not message.content and choice.finish_reason != "content_filter":
            # The host takes this for a failed request; it is an empty answer.
            choice.finish_reason = "stop"
    return response


@contextlib.contextmanager
def _while_asking(model: Any) -> Iterator[None]:
    """Let the host lose nothing: thinking is marked, a refusal ends its retries, the window decides and not an API class's limit."""
    with contextlib.ExitStack() as undo:
        if _is_api(model) and getattr(model, "mode", "none") == "none":
            # There the class refuses a prompt itself or shortens the answer.
            undo.callback(setattr, model, "max_seq_len", getattr(model, "max_seq_len", None))
            model.max_seq_len = _NO_LIMIT
        client = getattr(model, "openai_client", None)
        if completions := getattr(getattr(client, "chat", None), "completions", None):
            mend_answers(client)
            original = completions.create
            undo.callback(setattr, completions, "create", original)
            completions.create = lambda **arguments: _mark_unfinished(original(**arguments))
        watch = _RefusalWatch()
        if logger := getattr(model, "logger", None):
            undo.callback(logger.removeHandler, watch)
            logger.addHandler(watch)
        try:
            yield
        except RuntimeError as error:
            if not watch.last:
                raise
            raise RuntimeError(f"{error} The last error: {watch.last}") from error


def _takes_system(model: Any) -> bool:
    """Whether a system message reaches the model as one: through a server, or a chat template that knows the role."""
    if applies_chat_template(model):
        tokenizer = model.tokenizer
        return takes_system(
            lambda chat: tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        )
    # Without any template the host joins messages with one newline, lm-eval with a blank line.
    return _is_api(model) or bool(_meta_template(model))


class Sender:
    """Sends prompts through a model of the host."""

    def __init__(
        self,
        model: Any,
        window: Window,
        answer_budget: int,
        options: dict[str, Any],
        received: Callable[[str], str] = writable,
    ) -> None:
        """Remember how to send, and how the texts of the model become responses."""
        self._received = received
        self.model = model
        self.window = window
        self.answer_budget = answer_budget
        template = _meta_template(model)
        rounds = template.get("round", []) if isinstance(template, dict) else []
        adds_newline = any(
            item.get("role") == "SYSTEM" and item.get("api_role") == "HUMAN" for item in rounds
        )
        self._parser = APITemplateParser(_PLAIN_ROLES) if adds_newline else None
        self._opens_thinking = applies_chat_template(model) and prompt_opens_thinking(model)
        self._folds = not _takes_system(model)
        known = inspect.signature(model.generate).parameters
        self._options = {key: value for key, value in options.items() if key in known}

    def answers(self, batch: Sequence[Sequence[Message]]) -> Iterator[Reply]:
        """A reply to each list of messages, in order. Replies that are there are given out before an error is raised.

        Raises:
            Exception: whatever the host raises when a model or an endpoint fails for another reason than length.
        """
        prompts = [self._prompt(messages) for messages in batch]
        counts = [count_tokens(self.model, self._parsed(prompt)) for prompt in prompts]
        texts = self._send([prompt for prompt, n in zip(prompts, counts, strict=True) if self._fits(n)])
        for messages, n in zip(batch, counts, strict=True):
            text = next(texts) if self._fits(n) else None
            cut = text is not None and _was_cut(self.model, n, self.answer_budget)
            yield Reply(messages, text or "", DOES_NOT_FIT if text is None else None, n, cut)

    def fits(self, messages: Sequence[Message], answers: int) -> tuple[bool, int | None]:
        """Whether a prompt leaves room for so many answers, and its tokens (None when the model cannot count)."""
        n = count_tokens(self.model, self._parsed(self._prompt(messages)))
        return self._fits(n, answers), n

    def _prompt(self, messages: Sequence[Message]) -> PromptList:
        return host_prompt(folded(messages) if self._folds else messages)

    def _parsed(self, prompt: PromptList) -> Any:
        return (self._parser or self.model).parse_template(prompt, mode="gen")

    def _fits(self, n_tokens: int | None, answers: int = 1) -> bool:
        if self.window.tokens is None or n_tokens is None:
            return True
        return n_tokens + answers * self.answer_budget <= self.window.tokens

    def _send(self, prompts: Sequence[PromptList]) -> Iterator[str | None]:
        """Responses in order; None where the server refused the length."""
        if not prompts:
            return
        try:
            responses = self._generate(prompts)
        except Exception as error:
            if not (isinstance(error, LengthRefusal) or is_refusal(str(error))):
                raise
            if len(prompts) == 1:
                yield None
                return
            # One prompt's failure hides the others' responses: ask again one by one.
            for prompt in prompts:
                yield from self._send([prompt])
        else:
            yield from responses

    def _generate(self, prompts: Sequence[PromptList]) -> list[str]:
        options = {"max_out_len": self.answer_budget, **self._options}
        with _while_asking(self.model), torch.no_grad():
            if self._parser is not None:
                responses = self.model.generate([self._parsed(prompt) for prompt in prompts], **options)
            else:
                responses = self.model.generate_from_template(list(prompts), **options)
        texts = [
            response["prediction"] if isinstance(response, dict) else str(response) for response in responses
        ]
        return [self._received(OPEN + text if self._opens_thinking else text) for text in texts]
