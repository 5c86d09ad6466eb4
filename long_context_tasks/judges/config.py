"""Which judge, where it answers and with which settings: a small YAML file, or environment variables.

The file's keys are the fields of :class:`JudgeConfig`; ``LCT_JUDGE_MODEL``, ``LCT_JUDGE_BASE_URL`` and so on give what the
file leaves out, or everything. A key never stands here, only the name of the environment variable that holds it. Messages
about a bad file repeat no value, since the value may be a key that went to the wrong place.
"""

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from long_context_tasks.schema import InputError
from long_context_tasks.schema.secrets import holds_secret, is_secret_name

KINDS = ("openai", "local", "orca")
APIS = ("chat", "completions")
ENGINES = ("hf", "vllm")
RESERVED = (
    *("model", "messages", "prompt", "temperature", "top_p", "max_tokens", "seed", "n", "stream"),
    *("logprobs", "top_logprobs"),
)
PROMPT_FIELD = "{prompt}"
_PREFIX = "LCT_JUDGE_"


@dataclass(frozen=True)
class JudgeConfig:
    """A judge model and its settings.

    Attributes:
        model: the model's name at the endpoint, or the folder or hub id of a local model.
        name: what the judge is called in results; by default the last part of ``model``.
        kind: ``openai`` (any OpenAI-compatible endpoint, hosted or a vLLM server), ``local`` (loaded by the host) or ``orca`` (a trained judge,
            loaded by the host, which reads question, reference and response once; ``model`` is the folder of its checkpoint).
        base_url: address of the endpoint, usually ending in ``/v1``; only for ``openai``.
        api_key_env: NAME of the environment variable that holds the key; None for a server without keys.
        api: ``chat`` (the server applies the model's chat template) or ``completions`` (the prompt as it is).
        engine: ``hf`` or ``vllm``; only for ``local``.
        prompt_template: text with ``{prompt}`` around a single user message, sent without a chat template.
        revision: tells two models of one name apart; free text, part of the store's key. :func:`load_judge` tells it of an ORCA checkpoint.
        temperature, top_p: of sampling; None leaves them to the endpoint.
        max_tokens: tokens of a reply; None leaves them to the endpoint.
        seeds: every item is judged once with each; a None is sent as no seed.
        extra_body: more fields of the request, such as ``chat_template_kwargs``.
        logprobs: ask for the log-probabilities of so many tokens at the first place of a reply, for rubrics that weigh scores
            by their probability; None: not asked for. Only for ``openai``; most endpoints give 20 at most.
        rubric: name of a rubric of the benchmark; None takes the benchmark's own choice.
        concurrency: calls in flight.
        timeout: seconds for one call.
        retries: further tries of a call after 429, 5xx, time-outs and broken connections.
        retry_wait: seconds before the first further try; doubled each time, at most 30.
        asks: how often an item is asked at most until a reply has a score in it.
        batch_size: prompts generated together; only for ``local``.
        base_model: folder or hub id of the model below an adapter, where the adapter's own name for it leads nowhere; only for ``orca``.
        prompt_price, completion_price: per million tokens, in one currency.
    """

    model: str
    name: str = ""
    kind: str = "openai"
    base_url: str | None = None
    api_key_env: str | None = None
    api: str = "chat"
    engine: str = "hf"
    prompt_template: str | None = None
    revision: str | None = None
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    max_tokens: int | None = 1024
    seeds: tuple[int | None, ...] = (2023,)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    logprobs: int | None = None
    rubric: str | None = None
    concurrency: int = 32
    timeout: float = 120.0
    retries: int = 8
    retry_wait: float = 0.5
    asks: int = 3
    batch_size: int = 8
    base_model: str | None = None
    prompt_price: float | None = None
    completion_price: float | None = None

    def __post_init__(self) -> None:
        """Check the fields, alone and together; give the judge a name.

        Raises:
            InputError: a value that does not fit, or fields that do not go together.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name != "name" or value:
                object.__setattr__(self, item.name, _parsed(item.name, value, f"judge: {item.name}"))
        if not self.name:
            last = re.sub(r"[^A-Za-z0-9._-]+", "_", self.model.rstrip("/").rsplit("/", 1)[-1])
            object.__setattr__(self, "name", last or "judge")
        if self.kind == "openai" and not self.base_url:
            raise InputError(f"judge {self.name}: base_url is missing (for example http://127.0.0.1:8000/v1)")
        if self.in_process and self.base_url:
            raise InputError(f"judge {self.name}: a judge of kind {self.kind} has no base_url; leave it out")
        if self.in_process and self.extra_body:
            raise InputError(
                f"judge {self.name}: a judge of kind {self.kind} has no extra_body; leave it out"
            )
        if self.kind == "orca":
            self._check_orca()
        elif self.base_model is not None:
            raise InputError(f"judge {self.name}: base_model belongs to a judge of kind orca; leave it out")
        if self.prompt_template is not None and self.kind == "openai" and self.api == "chat":
            raise InputError(
                f"judge {self.name}: prompt_template needs `api: completions`; a chat endpoint has its template"
            )

    def _check_orca(self) -> None:
        """It answers neither by chance nor in words: what belongs to that is refused."""
        for name in ("prompt_template", "logprobs", "rubric"):
            if getattr(self, name) is not None:
                raise InputError(f"judge {self.name}: a judge of kind orca has no {name}; leave it out")
        object.__setattr__(self, "seeds", (None,))
        object.__setattr__(self, "temperature", 0.0)

    @property
    def in_process(self) -> bool:
        """The model is loaded here, not asked at an endpoint."""
        return self.kind != "openai"

    def description(self) -> dict[str, Any]:
        """What results say of the judge: all that can change a verdict, neither address nor key."""
        if self.kind == "orca":
            return {"name": self.name, "kind": self.kind, "model": self.model, "revision": self.revision}
        names = (
            "name kind model revision api prompt_template temperature top_p max_tokens seeds extra_body asks"
        )
        row = {name: getattr(self, name) for name in names.split()}
        if self.kind == "local":
            row |= {"api": None, "engine": self.engine}
        if self.logprobs is not None:
            row["logprobs"] = self.logprobs
        return {
            **row,
            "seeds": list(self.seeds),
            "extra_body": dict(self.extra_body),
        }

    def with_seeds(self, *seeds: int | None) -> "JudgeConfig":
        """The same judge with other seeds."""
        return replace(self, seeds=seeds)


class _Bad(ValueError):
    """What a value has to be."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Bad("must be text")
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", value):
        raise _Bad("must be letters, digits, dots, dashes and underscores, at most 64")
    return value


def _one_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise _Bad(f"must be one of {', '.join(choices)}")
        return str(value)

    return parse


def _number(low: float, high: float, *, open_low: bool = False) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not (low < number if open_low else low <= number) or number > high:
            raise _Bad(f"must be a number {'above' if open_low else 'from'} {low:g} to {high:g}")
        return number

    return parse


def _whole(low: int, high: int = 10**9) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = str(value)
        if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,19}", text, re.ASCII):
            raise _Bad(f"must be a whole number, at least {low}")
        if not low <= int(text) <= high:
            raise _Bad(f"must be from {low} to {high}")
        return int(text)

    return parse


def _optional(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None or value in ("none", "null") else parse(value)


def _seeds(value: Any) -> tuple[int | None, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    parse = _optional(_whole(0, 2**63 - 1))
    seeds = tuple(parse(item) for item in (value if isinstance(value, list | tuple) else [value]))
    if not seeds or len(set(seeds)) != len(seeds):
        raise _Bad("must be one or more different whole numbers")
    return seeds


def _variable(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", value):
        raise _Bad(
            "must be the NAME of an environment variable (capital letters, digits, _), never the key itself"
        )
    return value


def _address(value: Any) -> str:
    try:
        parts = urlsplit(_text(value).strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise _Bad("must be an address such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _Bad(
            "must have no user, password or query: a key goes into an environment variable (api_key_env)"
        )
    return str(value).strip().rstrip("/")


def _template(value: Any) -> str:
    if not isinstance(value, str) or value.count(PROMPT_FIELD) != 1:
        raise _Bad(f"must be text with {PROMPT_FIELD} in it once")
    return value


def _body(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _Bad("must be a mapping of fields of the request")
    if taken := sorted(set(value) & set(RESERVED)):
        raise _Bad(f"must not set {', '.join(taken)}: they have fields of their own or are ours")
    if holds_secret(value):
        raise _Bad("must hold no key or token; keys come from the environment variable in api_key_env")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise _Bad("must be plain values that JSON can hold") from None
    return value


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "model": _text,
    "name": _word,
    "kind": _one_of(*KINDS),
    "base_url": _optional(_address),
    "api_key_env": _optional(_variable),
    "api": _one_of(*APIS),
    "engine": _one_of(*ENGINES),
    "prompt_template": _optional(_template),
    "revision": _optional(_text),
    "temperature": _optional(_number(0, 2)),
    "top_p": _optional(_number(0, 1, open_low=True)),
    "max_tokens": _optional(_whole(1)),
    "seeds": _seeds,
    "extra_body": _body,
    "logprobs": _optional(_whole(1, 100)),
    "rubric": _optional(_word),
    "concurrency": _whole(1, 10_000),
    "timeout": _number(0, 86_400, open_low=True),
    "retries": _whole(0, 1_000),
    "retry_wait": _number(0, 600, open_low=True),
    "asks": _whole(1, 100),
    "batch_size": _whole(1, 10_000),
    "base_model": _optional(_text),
    "prompt_price": _optional(_number(0, 1e9)),
    "completion_price": _optional(_number(0, 1e9)),
}
FIELDS = tuple(item.name for item in fields(JudgeConfig))


def _unknown(key: object, known: Mapping[str, str], place: str) -> InputError:
    """``known``: name as the user writes it -> field."""
    if is_secret_name(key) or holds_secret(key):
        return InputError(
            f"{place}: holds a key or token. Remove it, put it into an environment variable and name that variable: "
            f"{next(name for name, item in known.items() if item == 'api_key_env')}: OPENAI_API_KEY"
        )
    near = difflib.get_close_matches(str(key), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    return InputError(f"{place}: unknown key {str(key)[:40]!r}{hint} keys are: {', '.join(known)}")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        row = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"judge file {path}: there is no such file; correct lct_judge or LCT_JUDGE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"judge file {path}: cannot be read ({type(error).__name__})") from None
    except yaml.YAMLError as error:
        # The parser's own message would repeat the line, which may hold a key.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"judge file {path}{line}: not YAML; write lines such as `model: NAME`") from None
    if not isinstance(row, dict):
        raise InputError(f"judge file {path}: must be keys and values, such as `model: NAME`")
    known = {name: name for name in FIELDS}
    for key in row:
        if key not in known:
            raise _unknown(key, known, f"judge file {path}")
    return row


def load_judge(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> JudgeConfig | None:
    """The judge that a user named.

    Args:
        path: the file of ``lct_judge``; without it ``LCT_JUDGE`` in the environment names one.
        environ: the environment; ``LCT_JUDGE_<FIELD>`` gives what the file leaves out, or the whole judge without a file.

    Returns:
        The judge, or None when neither a file nor any ``LCT_JUDGE_*`` variable is given.

    Raises:
        InputError: unknown keys, values that do not fit, a key in the file, no checkpoint of kind ``orca``; names file or variable and what
            to do.
    """
    environ = os.environ if environ is None else environ
    path = path or environ.get("LCT_JUDGE") or None
    place = f"judge file {path}" if path else "judge in the environment"
    values: dict[str, Any] = {}
    if path:
        for name, value in _read_file(Path(path).expanduser()).items():
            values[name] = _parsed(name, value, f"{place}: {name}")
    variables = {f"{_PREFIX}{name.upper()}": name for name in FIELDS}
    for key, text in environ.items():
        if not key.startswith(_PREFIX) or not text:
            continue
        if key not in variables:
            raise _unknown(key, variables, "environment")
        if variables[key] not in values:
            values[variables[key]] = _parsed(variables[key], text, f"environment variable {key}")
    if not values and not path:
        return None
    needed = [item.name for item in fields(JudgeConfig) if item.default is item.default_factory is MISSING]
    for name in needed:
        if name not in values:
            raise InputError(f"{place}: {name} is missing; give it there or as {_PREFIX}{name.upper()}")
    config = JudgeConfig(**values)
    if config.kind == "orca" and config.revision is None:
        from long_context_tasks.orca.judge import fingerprint

        return replace(config, revision=fingerprint(Path(config.model), f"{place}: model: "))
    return config


def _parsed(name: str, value: Any, place: str) -> Any:
    try:
        return _PARSERS[name](value)
    except _Bad as error:
        raise InputError(f"{place} {error}") from None
