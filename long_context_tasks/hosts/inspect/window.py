"""The context window of a run in inspect_ai: ``lct_window``, else that of a model in this process, else unknown."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from inspect_ai.model import ChatMessage, Model

from long_context_tasks.hosts.window import PER_MESSAGE, Window, at_most, is_length_refusal
from long_context_tasks.schema import Message, Options
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.tokens import CL100K, get_tokenizer

_SIZES = ("max_position_embeddings", "n_positions", "max_seq_len")
"""Names of the window in the configs of transformers."""


def find_window(options: Options, model: Model, answer_budget: int) -> Window:
    """Return the window, and how to count a prompt in it that leaves room for `answer_budget` tokens.

    A model behind an address tells neither, and the host's own count of tokens is an estimate: without ``lct_window`` its server
    decides.

    Raises:
        InputError: a tokenizer that cannot be loaded.
    """
    tokenizer = _own_tokenizer(model)
    tokens, source = options.window, "lct_window"
    if tokens is None and tokenizer is not None:
        config: Any = model.api.model.config.get_text_config()  # type: ignore[attr-defined]
        sizes = (getattr(config, name, None) for name in _SIZES)
        tokens, source = next(filter(None, sizes), None), "host"
    if tokens is None:
        return Window()
    if tokenizer is not None:
        return Window(tokens, lambda text: len(tokenizer(text)["input_ids"]), source)
    count = get_tokenizer(options.tokenizer or CL100K).count
    source += "" if options.tokenizer else ", counted in cl100k"
    return Window(tokens, at_most(count, PER_MESSAGE, tokens - answer_budget), source)


def rendered(model: Model, messages: Sequence[ChatMessage]) -> str:
    """The text that a model in this process reads; for others the contents."""
    if _own_tokenizer(model) is not None:
        return str(model.api.hf_chat(list(messages), []))  # type: ignore[attr-defined]
    return "\n".join(message.text for message in messages)


def in_roles_of(model: Model, messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, without a system message where the model's chat template takes none."""
    tokenizer = _own_tokenizer(model)
    if tokenizer is None or tokenizer.chat_template is None:
        return messages
    apply = partial(tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True)
    return messages if takes_system(apply) else folded(messages)


def _own_tokenizer(model: Model) -> Any | None:
    """The tokenizer of a model that the host has loaded through transformers."""
    return getattr(model.api, "tokenizer", None) if hasattr(model.api, "hf_chat") else None


def says_too_long(error: Exception) -> bool:
    """Whether a provider's exception is a server's refusal of a prompt for its length."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return isinstance(status, int) and is_length_refusal(status, str(error))
