"""What a judge is asked, and the key under which its answer is stored."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from long_context_tasks.judges.config import PROMPT_FIELD, JudgeConfig
from long_context_tasks.schema import InputError, Message

_KEY_FORMAT = 1


@dataclass(frozen=True)
class JudgeRequest:
    """One item to judge.

    Attributes:
        id: names the item in messages and results.
        messages: the filled judge prompt; the response under judgement is in it.
        meta: anything the caller wants back beside the verdict; no part of the key.
    """

    id: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """One call: an item, with one seed, for the first, second ... time.

    Attributes:
        messages: of the item.
        seed: sent with the call.
        attempt: 0 for the first call; more when a reply had no score in it.
    """

    messages: tuple[Message, ...]
    seed: int | None
    attempt: int


def raw_prompt(messages: Sequence[Message], template: str | None) -> str:
    """Return the prompt of a judge that is sent text instead of chat messages.

    >>> raw_prompt([Message("user", "Judge this.")], "[INST] {prompt} [/INST]")
    '[INST] Judge this. [/INST]'

    Raises:
        InputError: more than one message, which only a chat template can join.
    """
    if len(messages) != 1:
        raise InputError(
            f"a judge prompt of {len(messages)} messages cannot be sent as plain text: use `api: chat`, or a rubric whose "
            "prompt is one message (prometheus)"
        )
    # Not str.format: the prompt itself may hold braces.
    before, after = (template or PROMPT_FIELD).split(PROMPT_FIELD)
    return before + messages[0].content + after


def ask_key(ask: Ask, config: JudgeConfig) -> str:
    """SHA-256 of everything that determines the reply.

    That is: kind (with engine or API), model, revision, prompt template, messages, temperature, top_p, max_tokens, further
    request fields, log-probabilities asked for, seed and attempt. Not the key, not the limits of time and number, and not the address: a server that
    comes back on another node or port is the same judge. ``revision`` distinguishes two models of one name.
    """
    row = {
        "format": _KEY_FORMAT,
        "kind": config.kind,
        "transport": config.transport,
        "model": config.model,
        "revision": config.revision,
        "prompt_template": config.prompt_template,
        "messages": [[message.role, message.content] for message in ask.messages],
        "temperature": None if config.temperature is None else float(config.temperature),
        "top_p": None if config.top_p is None else float(config.top_p),
        "max_tokens": config.max_tokens,
        "extra_body": dict(config.extra_body),
        "seed": ask.seed,
        "attempt": ask.attempt,
    }
    if config.logprobs is not None:
        # Absent otherwise, so that the keys of calls without it stay what they were.
        row["logprobs"] = config.logprobs
    # ASCII, so that a lone surrogate in a model's response has bytes too.
    text = json.dumps(row, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
