"""Judge configuration: the fields of a judge file, its prompt, and the storage key of a reply."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator
from typing_extensions import Self

from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.case import SplitMessages
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.secrets import holds_secret
from long_context_tasks.schema.thinking import marks_of
from long_context_tasks.schema.validated import Checked, Number, Whole, validated

RESERVED = (
    *("model", "messages", "prompt", "temperature", "top_p", "max_tokens", "seed", "n", "stream"),
    *("logprobs", "top_logprobs"),
)
PROMPT_FIELD = "{prompt}"
_KEY_FORMAT = 1


def _must_be(fits: Callable[[str], object], words: str) -> AfterValidator:
    def check(value: str) -> str:
        if not fits(value):
            raise ValueError(f"must be {words}")
        return value

    return AfterValidator(check)


def _has_prompt_field(template: str) -> bool:
    return template.count(PROMPT_FIELD) == 1


_Word = Annotated[
    str,
    _must_be(
        re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch,
        "letters, digits, dots, dashes and underscores, at most 64",
    ),
]
_Text = Annotated[str, _must_be(str.strip, "text")]
_Variable = Annotated[
    str,
    _must_be(
        re.compile(r"[A-Z_][A-Z0-9_]{0,63}").fullmatch,
        "the NAME of an environment variable (capital letters, digits, _), never the key itself",
    ),
]
_Template = Annotated[str, _must_be(_has_prompt_field, f"text with {PROMPT_FIELD} in it once")]
_Share = Annotated[Number, Field(gt=0, le=1)]
_Count = Annotated[Whole, Field(ge=1, le=10_000)]
_Price = Annotated[Number, Field(ge=0, le=1e9)]
_Seed = Annotated[Whole, Field(ge=0, lt=2**63)]


# Seeds for retries must not collide with the seeds in judge files, which are usually close together.
_SEEDS_APART = 1_000_003


class Draw(NamedTuple):
    """One of the possible replies that a model may sample at a temperature."""

    seed: int | None  # seed in the judge file
    # Number of earlier draws with the same settings; a reply without a score triggers another draw.
    attempt: int = 0

    @property
    def sent_seed(self) -> int | None:
        """Seed to send; it changes with each attempt, because a server repeats its reply for the same seed."""
        return self.seed if self.seed is None else (self.seed + self.attempt * _SEEDS_APART) % 2**63


class JudgeConfig(Checked):
    """A judge model and its settings, including the API key's environment variable but not the key.

    ``docs/judge_files.md`` has a table of the fields.
    """

    model: _Text  # model name at the endpoint, or folder or hub id of a local model
    name: _Word  # name used in results; by default the last part of model
    # An OpenAI-compatible endpoint, a model in this process, or another of judges.kinds.
    kind: Literal["openai", "local"] = "openai"
    base_url: str | None = None
    api_key_env: _Variable | None = None
    api: Literal["chat", "completions"] = "chat"  # completions: the prompt is sent without a chat template
    engine: Literal["hf", "vllm"] = "hf"  # only for local
    prompt_template: _Template | None = None  # wraps a single user message
    revision: _Text | None = None  # distinguishes two models with the same name; part of the storage key
    # temperature, top_p, max_tokens: None for the endpoint's defaults
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = 0.0
    top_p: _Share | None = 1.0
    max_tokens: Annotated[Whole, Field(ge=1, le=10**9)] | None = 1024
    seeds: tuple[_Seed | None, ...] = (2023,)  # each item is judged once per seed; None sends no seed
    extra_body: dict[str, Any] = Field(default_factory=dict)  # additional fields of the request
    # Sends the text that prompts share and the rest as two parts of a message, for caches of chat endpoints.
    split_messages: SplitMessages | None = None
    # Number of first-token candidates whose log-probabilities are requested; most endpoints return at most
    # 20.
    logprobs: Annotated[Whole, Field(ge=1, le=100)] | None = None
    rubric: _Word | None = None  # None for the benchmark's default
    concurrency: _Count = 32  # number of calls in flight
    timeout: Annotated[Number, Field(gt=0, le=86_400)] = 120.0  # seconds per call
    # Number of retries after 429, 5xx, timeouts and broken connections.
    retries: Annotated[Whole, Field(ge=0, le=1_000)] = 8
    # Seconds before the first retry; doubled each time, up to 30.
    retry_wait: Annotated[Number, Field(gt=0, le=600)] = 0.5
    # Maximum number of replies per item and seed until one has a score.
    asks: Annotated[Whole, Field(ge=1, le=100)] = 3
    # Marks around the judge's thinking, such as <plan> </plan>, if not among the known ones.
    thinking: Annotated[str, AfterValidator(lambda text: " ".join(marks_of(text)))] | None = None
    batch_size: _Count = 8  # number of prompts generated together; only for local
    # prompt_price, completion_price: per million tokens, both in the same currency
    prompt_price: _Price | None = None
    completion_price: _Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _name(cls, row: Any) -> Any:
        if isinstance(row, dict) and not row.get("name") and isinstance(row.get("model"), str):
            last = re.sub(r"[^A-Za-z0-9._-]+", "_", row["model"].rstrip("/").rsplit("/", 1)[-1])
            return {**row, "name": last[:64] or "judge"}
        return row

    @field_validator("*", mode="before")
    @classmethod
    def _nothing(cls, value: Any, field: ValidationInfo) -> Any:
        # An environment variable cannot express null in any other way. A model may be named "none" or "null".
        named = field.field_name in ("model", "name")
        return None if value in ("none", "null") and not named else value

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value.strip())
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise ValueError("must be an address such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "must not have a user, password or query: name the key's environment variable in api_key_env"
            )
        return value.strip().rstrip("/")

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",")]
        listed = value if isinstance(value, list | tuple) else [value]
        seeds = [None if seed in ("none", "null") else seed for seed in listed]
        if not seeds or len({str(seed) for seed in seeds}) != len(seeds):
            raise ValueError("must be one or more different whole numbers")
        return seeds

    @field_validator("extra_body", mode="before")
    @classmethod
    def _body(cls, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = loads(value)
            except ValueError:
                value = None
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ValueError("must be a mapping of fields of the request")
        if taken := sorted(set(value) & set(RESERVED)):
            raise ValueError(
                f"must not set {', '.join(taken)}: these are other fields of the judge file, or fixed"
            )
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("must be plain JSON values") from None
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        for name in type(self).model_fields:
            if holds_secret(getattr(self, name)):
                raise ValueError(
                    f"{name} must not contain a key or token; name the key's environment variable in api_key_env"
                )
        for name in self._foreign():
            if getattr(self, name) not in (None, {}):
                raise ValueError(f"a judge of kind {self.kind} does not have {name}; remove it")
        if self.kind == "openai" and not self.base_url:
            raise ValueError("base_url is missing (for example http://127.0.0.1:8000/v1)")
        if self.split_messages is not None and self.api != "chat":
            raise ValueError("split_messages needs `api: chat`; a text has no parts")
        if self.prompt_template is not None and self.kind == "openai" and self.api == "chat":
            raise ValueError(
                "prompt_template needs `api: completions`; a chat endpoint applies its own template"
            )
        return self

    def _foreign(self) -> tuple[str, ...]:
        return ("base_url", "extra_body", "split_messages") if self.in_process else ()

    @property
    def in_process(self) -> bool:
        """Whether the model runs in this process instead of at an endpoint."""
        return self.kind != "openai"

    @property
    def transport(self) -> str | None:
        """Engine or API, which may affect replies."""
        return self.engine if self.in_process else self.api

    def description(self) -> dict[str, Any]:
        """Return the settings that can change a verdict, for results; without URL and key."""
        names = (
            *("name", "kind", "model", "revision", "api", "prompt_template", "temperature", "top_p"),
            *("max_tokens", "seeds", "extra_body", "asks"),
        )
        row = {**{name: getattr(self, name) for name in names}, "seeds": list(self.seeds)}
        if self.in_process:
            row |= {"api": None, "engine": self.engine}
        more = {name: getattr(self, name) for name in ("logprobs", "thinking", "split_messages")}
        return row | {name: value for name, value in more.items() if value is not None}

    def plain_prompt(self, messages: Sequence[Message]) -> str:
        """Return the prompt for a judge that takes text instead of chat messages.

        >>> judge = JudgeConfig(model="m", kind="local", prompt_template="[INST] {prompt} [/INST]")
        >>> judge.plain_prompt([Message("user", "Judge this.")])
        '[INST] Judge this. [/INST]'

        Raises:
            InputError: there is more than one message; only a chat template can join them.
        """
        if len(messages) != 1:
            raise InputError(
                f"a judge prompt of {len(messages)} messages cannot be sent as plain text: use `api: chat`, or a rubric whose "
                "prompt is one message (prometheus)"
            )
        # Not str.format, because the prompt may contain braces.
        before, after = (self.prompt_template or PROMPT_FIELD).split(PROMPT_FIELD)
        return before + messages[0].content + after

    def key(self, messages: Sequence[Message], draw: Draw) -> str:
        """Return the SHA-256 of everything that determines the reply to a list of messages.

        The API key, time limits, concurrency and URL are not included: a server that restarts on another node
        or port is the same judge. ``revision`` distinguishes two models with the same name.
        """
        row = {
            "format": _KEY_FORMAT,
            "kind": self.kind,
            "transport": self.transport,
            "model": self.model,
            "revision": self.revision,
            "prompt_template": self.prompt_template,
            "messages": [[message.role, message.content] for message in messages],
            "temperature": None if self.temperature is None else float(self.temperature),
            "top_p": None if self.top_p is None else float(self.top_p),
            "max_tokens": self.max_tokens,
            "extra_body": self.extra_body,
            "seed": draw.seed,
            "attempt": draw.attempt,
            "logprobs": self.logprobs,
        }
        if self.split_messages is not None:
            row["split_messages"] = self.split_messages
        # ASCII escapes, because a lone surrogate in a response cannot be encoded as UTF-8.
        text = json.dumps(row, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def changed(self, **values: Any) -> Self:
        """Return a copy with some settings changed and validated again."""
        return validated(type(self), {**dict(self), **values}, f"judge {self.name}")
