"""Determine a run's context window in lm-eval: ``lct_window``, lm-eval's own, the server's, or unknown.

lm-eval truncates prompts from the left to the window that it assumes. With a chat template its model is
accessible; otherwise the window is derived from the model arguments, as in lm-eval. If lm-eval would fall
back on a default (2,047 or 2,048), the run is rejected, because its results could not show which part of a
prompt the model has processed.
"""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from long_context_tasks.hosts.lm_eval.patches import is_api_model
from long_context_tasks.hosts.messages import checked_model
from long_context_tasks.hosts.window import IN_CL100K, PER_MESSAGE, Counter, Window, encode
from long_context_tasks.schema import InputError, Options
from long_context_tasks.tokens import CL100K, check_hub_model, get_tokenizer

_NO_LIMIT = 10**9
_UNSET = int(1e30)  # window of a transformers tokenizer that does not know it
# Raised if a model is not in Hugging Face format or not available; lm-eval reports it when it loads the
# model.
_NOT_LOADED = (ImportError, KeyError, OSError, TypeError, ValueError)


def find_window(options: Options, arguments: Mapping[str, Any], model: Any | None) -> Window:
    """Return the context window with a function that counts a prompt's tokens.

    ``model`` is None if it is not accessible, because the run has no chat template.
    """
    if _sends_tokens(arguments) and "max_length" not in arguments:
        raise InputError(
            "lm-eval cuts the prompts of local-completions to 2,047 tokens when it gets no window: add "
            "max_length=WINDOW or tokenized_requests=False to --model_args"
        )
    served = "base_url" in arguments or (model is not None and is_api_model(model))
    # A server's class also has a max_length, which is meaningful only if the user set it.
    local = None if served else model
    count, exact = _counter(options, arguments, local, served)
    tokens, source = _host_window(arguments, local, served), "host"
    if "base_url" in arguments and (count is None or (tokens is None and options.window is None)):
        from long_context_tasks.hosts.server import find_server

        model_name = str(arguments.get("model") or arguments.get("pretrained") or "")
        if (server := find_server(str(arguments["base_url"]), model_name)) is not None:
            count = count or server.counter
            if count is None and options.window is None:
                server.report_missing_tokenizer()
            tokens, source = (server.window, "server") if tokens is None else (tokens, source)
    # lm-eval truncates to its own window, whatever the option.
    if options.window is not None and (tokens is None or source == "server" or options.window <= tokens):
        tokens, source = options.window, "lct_window"
        if count is None:
            count, source = get_tokenizer(CL100K).count, IN_CL100K
    # An inexact count does not include the server's template.
    return Window(tokens, count, source, 0 if exact else PER_MESSAGE)


def check_hub(arguments: Mapping[str, Any]) -> None:
    """Check whether the hub answers, if lm-eval is about to search it for a model or a served model's tokenizer."""
    name, option, required = arguments.get("pretrained"), "pretrained", True
    if "base_url" in arguments:
        model = arguments.get("model") or name
        name, option = arguments.get("tokenizer") or (_sends_tokens(arguments) and model), "tokenizer"
        # Without a backend, chats need no tokenizer, and text may be encoded by the server.
        required = _sends_tokens(arguments) and (
            "tokenizer" in arguments or arguments.get("tokenizer_backend") == "huggingface"
        )
    elif isinstance(name, str):  # programs give loaded models too
        checked_model(option, name)
    if "download_dir" not in arguments and isinstance(name, str):  # of vLLM, for copies elsewhere
        check_hub_model(name, option, required=required)


def takes_run_seed(model: Any | None, arguments: Mapping[str, Any]) -> bool:
    """Return whether requests go to a server that accepts a seed, and the model arguments give none."""
    if "seed" in arguments:
        return False
    if model is None:
        return "base_url" in arguments
    create = getattr(model, "_create_payload", None)
    return create is not None and is_api_model(model) and "seed" in inspect.signature(create).parameters


def has_chat_template(arguments: Mapping[str, Any]) -> bool:
    """Return whether lm-eval loads a tokenizer that has a chat template."""
    if not arguments.get("tokenizer" if "base_url" in arguments else "pretrained"):
        return False
    try:
        return bool(_tokenizer(arguments).chat_template)
    except (AttributeError, *_NOT_LOADED):
        return False


def _sends_tokens(arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments are for ``local-completions``, which encodes prompts itself by default."""
    url = str(arguments.get("base_url", "")).rstrip("/")
    text_endpoint = url.endswith("/completions") and not url.endswith("/chat/completions")
    as_tokens = str(arguments.get("tokenized_requests", "true")).lower() != "false"
    without = str(arguments.get("tokenizer_backend", "huggingface")).lower() == "none"
    return text_endpoint and as_tokens and not without


def _host_window(arguments: Mapping[str, Any], model: Any | None, served: bool) -> int | None:
    """Return the window that lm-eval assumes, or None if it is unknown."""
    for name in ("max_length", "max_model_len", "context_length"):
        if arguments.get(name) is not None:
            return int(arguments[name])
    if served or not (arguments.get("pretrained") or model is not None):
        return None
    try:
        config = getattr(getattr(model, "model", None), "config", None) or _from_pretrained(
            "AutoConfig", arguments["pretrained"], arguments
        )
        tokenizer = getattr(model, "tokenizer", None) or _tokenizer(arguments)
        tokens = _max_length(config, tokenizer)
    except _NOT_LOADED:
        try:  # a model without a Hugging Face config
            return int(model.max_length)  # type: ignore[union-attr]
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return None
    if not tokens:
        raise InputError(
            f"lm-eval finds no window in the config of {arguments.get('pretrained')} and would cut prompts to 2,048 "
            "tokens: add max_length=WINDOW to --model_args"
        )
    return tokens if tokens < _NO_LIMIT else None


def _max_length(config: Any, tokenizer: Any) -> int:
    """Return the window that lm-eval finds for a Hugging Face model; 0 where it would take a default."""
    try:
        from lm_eval.models.utils import resolve_max_length
    except ImportError:  # in lm-eval 0.5, only a loaded model has it
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        tokens = next((getattr(config, name) for name in names if hasattr(config, name)), None)
        tokens = tokenizer.model_max_length if tokens is None else tokens
        return 0 if tokens == _UNSET else int(tokens)
    return int(resolve_max_length(config, tokenizer, default=0))


def _counter(
    options: Options, arguments: Mapping[str, Any], model: Any | None, served: bool
) -> tuple[Counter | None, bool]:
    """Return a counting function, and whether the count is exact for a rendered prompt."""
    if model is not None and hasattr(model, "tok_encode"):
        return lambda text: len(model.tok_encode(text)), True
    if not served and arguments.get("pretrained"):
        try:
            tokenizer = _tokenizer(arguments)
            return lambda text: len(encode(tokenizer, text)), True
        except _NOT_LOADED:
            pass
    name = options.tokenizer or arguments.get("tokenizer")
    # local-completions loads the tokenizer named after its model, so that one exists.
    if name is None and _sends_tokens(arguments):
        name = arguments.get("model") or arguments.get("pretrained")
    if name is None:
        return None, False
    try:
        return get_tokenizer(str(name)).count, False
    except InputError:
        if options.tokenizer is not None:
            raise
        return None, False


@lru_cache(maxsize=4)
def _loaded(kind: str, name: str, more: tuple[tuple[str, Any], ...]) -> Any:
    import transformers

    return getattr(transformers, kind).from_pretrained(name, **dict(more))


def _from_pretrained(kind: str, name: Any, arguments: Mapping[str, Any]) -> Any:
    given = ("revision", "trust_remote_code", "gguf_file", "subfolder")
    more = tuple((key, arguments[key]) for key in given if arguments.get(key) is not None)
    return _loaded(kind, str(name), more)


def _tokenizer(arguments: Mapping[str, Any]) -> Any:
    return _from_pretrained("AutoTokenizer", arguments.get("tokenizer") or arguments["pretrained"], arguments)
