"""The context window of a run in lm-eval: ``lct_window``, else the host's, else unknown."""

from collections.abc import Callable, Mapping
from typing import Any

from long_context_tasks.hosts.window import Window
from long_context_tasks.schema import InputError, Options
from long_context_tasks.tokens import CL100K, get_tokenizer

# Where HFLM looks for the window in a model's config, in its order.
_CONFIG_FIELDS = ("n_positions", "max_position_embeddings", "n_ctx")
_NO_LIMIT = 1_000_000_000
_PER_MESSAGE = 16


def find_window(options: Options, arguments: Mapping[str, Any], model: Any | None) -> Window:
    """The window, and how to count a prompt in it.

    Args:
        options: of the run.
        arguments: the host's metadata, which holds the model arguments.
        model: the host's model where it can be reached (only with a chat template), else None.

    Raises:
        InputError: the host would cut prompts to a default of its own without a word.
    """
    _refuse_silent_default(arguments)
    served = "base_url" in arguments
    local = None if served else model
    count = _counter(options, arguments, local)
    if options.window is not None:
        return Window(options.window, count or _padded(get_tokenizer(CL100K).count), "lct_window")
    tokens = _host_window(arguments, local)
    return Window(tokens, count, "host") if tokens is not None and count is not None else Window(count=count)


def _refuse_silent_default(arguments: Mapping[str, Any]) -> None:
    """lm-eval's ``local-completions`` cuts prompts to 2,047 tokens from the left when nobody gives it a length."""
    url = str(arguments.get("base_url", ""))
    text_endpoint = url.rstrip("/").endswith("/completions") and not url.rstrip("/").endswith(
        "/chat/completions"
    )
    as_tokens = str(arguments.get("tokenized_requests", "true")).lower() != "false"
    without = str(arguments.get("tokenizer_backend", "huggingface")).lower() == "none"
    if text_endpoint and as_tokens and not without and "max_length" not in arguments:
        raise InputError(
            "lm-eval cuts the prompts of local-completions to 2,047 tokens when it is not told the window: add "
            "max_length=WINDOW or tokenized_requests=False to --model_args"
        )


def _host_window(arguments: Mapping[str, Any], model: Any | None) -> int | None:
    if model is not None and hasattr(model, "max_length"):
        return int(model.max_length)
    for name in ("max_length", "max_model_len"):
        if arguments.get(name) is not None:
            return int(arguments[name])
    name = arguments.get("pretrained")
    if name is None:
        return None
    try:
        from transformers import AutoConfig, AutoTokenizer

        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
        for field in _CONFIG_FIELDS:
            if hasattr(config, field):
                return int(getattr(config, field))
        limit = int(AutoTokenizer.from_pretrained(name, trust_remote_code=False).model_max_length)
        return limit if limit < _NO_LIMIT else None
    except (ImportError, OSError, ValueError):
        return None


def _counter(
    options: Options, arguments: Mapping[str, Any], model: Any | None
) -> Callable[[str], int] | None:
    if model is not None and hasattr(model, "tok_encode"):
        return lambda text: len(model.tok_encode(text))
    name = options.tokenizer or arguments.get("tokenizer") or arguments.get("pretrained")
    if name is None:
        return None
    try:
        return _padded(get_tokenizer(str(name)).count)
    except InputError:
        if options.tokenizer is not None:
            raise
        return None


def _padded(count: Callable[[str], int]) -> Callable[[str], int]:
    """Room for what the host or the server puts around a prompt: a first token, the template of a message."""
    return lambda text: count(text) + _PER_MESSAGE
