"""The context window of a run in lm-eval: ``lct_window``, else the host's, else unknown.

lm-eval cuts prompts from the left to what it takes for the window. With a chat template its model can be reached and asked;
without one the same is read from the model arguments, in the same way. Where the host would fall back on a number of its own
(2,047 or 2,048), the run is refused: its results could not show what the model has read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from long_context_tasks.hosts.lm_eval.refusals import is_api_model
from long_context_tasks.hosts.window import LIKELIHOOD_RESERVE, PER_MESSAGE, Counter, Window, at_most
from long_context_tasks.schema import InputError, Options
from long_context_tasks.tokens import CL100K, get_tokenizer

_NO_LIMIT = 10**9


@dataclass(frozen=True)
class RunWindow:
    """What prompts are held against.

    Attributes:
        window: the window as both hosts have it; a count is exact only where the prompt could be too long.
        cut_at: tokens of prompt and answer beyond which the host cuts; None when it does not, or unknown.
        count: tokens of a text as the model's tokenizer has it; None when there is none.
    """

    window: Window = field(default_factory=Window)
    cut_at: int | None = None
    count: Counter | None = None

    def is_cut(self, prompt: str, answer_budget: int) -> bool:
        """Whether the host cuts a prompt that is sent: possible only when ``lct_window`` is larger than the host's."""
        if self.cut_at is None or self.count is None or (self.window.tokens or 0) <= self.cut_at:
            return False
        return self.count(prompt) + answer_budget > self.cut_at

    def fits_whole(self, texts: list[str]) -> bool:
        """Whether each text can be scored in one window."""
        count = self.count or self.window.count
        if self.window.tokens is None or count is None:
            return True
        return max(map(count, texts)) + LIKELIHOOD_RESERVE <= self.window.tokens


def find_window(
    options: Options, arguments: Mapping[str, Any], model: Any | None, answer_budget: int = 0
) -> RunWindow:
    """The window, and how to count a prompt in it.

    Args:
        options: of the run.
        arguments: the host's metadata, which holds the model arguments.
        model: the host's model where it can be reached (only with a chat template), else None.
        answer_budget: tokens that the model may generate.

    Raises:
        InputError: the host would cut prompts to a default of its own without a word.
    """
    if _sends_tokens(arguments) and "max_length" not in arguments:
        raise InputError(
            "lm-eval cuts the prompts of local-completions to 2,047 tokens when it gets no window: add "
            "max_length=WINDOW or tokenized_requests=False to --model_args"
        )
    served = "base_url" in arguments or is_api_model(model)
    local = None if served else model
    count, exact = _counter(options, arguments, local, served)
    limit = _host_window(arguments, local, served)
    source, own_count = "host", count
    tokens = limit
    if options.window is not None:
        tokens, source = options.window, "lct_window"
        if count is None:
            count, source = get_tokenizer(CL100K).count, "lct_window, counted in cl100k"
    if tokens is None or count is None:
        return RunWindow(count=count)
    margin = 0 if exact else PER_MESSAGE
    window = Window(tokens, at_most(count, margin, tokens - answer_budget), source)
    return RunWindow(window, limit, own_count)


def has_chat_template(arguments: Mapping[str, Any]) -> bool | None:
    """Whether the tokenizer that the host loads for a model has a chat template; None where it loads none, or cannot."""
    if not arguments.get("tokenizer" if "base_url" in arguments else "pretrained"):
        return None
    try:
        return bool(_tokenizer(arguments).chat_template)
    except (AttributeError, ImportError, KeyError, OSError, TypeError, ValueError):
        return None  # the host will say what is wrong with it


def _sends_tokens(arguments: Mapping[str, Any]) -> bool:
    """Whether these are the arguments of ``local-completions``, which encodes prompts itself by default."""
    url = str(arguments.get("base_url", "")).rstrip("/")
    text_endpoint = url.endswith("/completions") and not url.endswith("/chat/completions")
    as_tokens = str(arguments.get("tokenized_requests", "true")).lower() != "false"
    without = str(arguments.get("tokenizer_backend", "huggingface")).lower() == "none"
    return text_endpoint and as_tokens and not without


def _host_window(arguments: Mapping[str, Any], model: Any | None, served: bool) -> int | None:
    """Return what the host takes for the window; None when unknown."""
    for name in ("max_length", "max_model_len", "context_length"):
        if arguments.get(name) is not None:
            return int(arguments[name])
    if served or not (arguments.get("pretrained") or model is not None):
        return None
    try:
        from lm_eval.models.utils import resolve_max_length

        config = getattr(getattr(model, "model", None), "config", None) or _from_pretrained(
            "AutoConfig", arguments["pretrained"], arguments
        )
        tokenizer = getattr(model, "tokenizer", None) or _tokenizer(arguments)
        tokens = int(resolve_max_length(config, tokenizer, default=0))
    except (ImportError, KeyError, OSError, TypeError, ValueError):
        try:  # a model that is not made from a Hugging Face config
            return int(model.max_length)  # type: ignore[union-attr]
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return None
    if not tokens:
        raise InputError(
            f"lm-eval finds no window in the config of {arguments.get('pretrained')} and would cut prompts to 2,048 "
            "tokens: add max_length=WINDOW to --model_args"
        )
    return tokens if tokens < _NO_LIMIT else None


def _counter(
    options: Options, arguments: Mapping[str, Any], model: Any | None, served: bool
) -> tuple[Counter | None, bool]:
    """How to count, and whether the count is exact for a rendered prompt."""
    if model is not None and hasattr(model, "tok_encode"):
        return lambda text: len(model.tok_encode(text)), True
    if not served and arguments.get("pretrained"):
        try:
            return partial(_count_like_host, _tokenizer(arguments)), True
        except (ImportError, KeyError, OSError, TypeError, ValueError):
            pass  # not a model in Hugging Face's form, or not to be had: the host will say so
    name = options.tokenizer or arguments.get("tokenizer")
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


def _count_like_host(tokenizer: Any, text: str) -> int:
    """Tokens as lm-eval's ``hf`` encodes a prompt: with what the tokenizer adds of itself, but never a second BOS."""
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if first is not None and text.startswith(tokenizer.decode(first)):
        return len(tokenizer.encode(text, add_special_tokens=False))
    return len(tokenizer.encode(text))


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
