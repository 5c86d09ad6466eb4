"""The thinking of reasoning models, so far as OpenCompass loses it.

Its OpenAI client joins what a server separates: thinking, ``</think>``, answer. But a thinking that ends without an
answer comes back bare, as if it were the answer, and an answer budget spent on hidden or unknown fields ends the whole
task. A local model whose chat template opens the thinking in the prompt gives back no opening tag either. Here an
unfinished thinking always begins with ``<think>``, so that the benchmarks can tell it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from long_context_tasks.hosts.thinking import thinking_of
from long_context_tasks.schema.thinking import OPEN


def mark_unfinished(response: Any) -> Any:
    """A chat completion in which thinking without an answer is marked, and an empty answer is no failure.

    Args:
        response: of the openai client. The thinking stands in ``reasoning_content``, in newer servers in ``reasoning``.
    """
    for choice in response.choices or []:
        message = choice.message
        if message is None:
            continue
        thinking = thinking_of(message)
        if thinking:
            message.reasoning_content = thinking if message.content else OPEN + thinking
        elif not message.content and choice.finish_reason == "length":
            # The host takes this for a failed request; it is an empty answer.
            choice.finish_reason = "stop"
    return response


@contextlib.contextmanager
def unfinished_marked(model: Any) -> Iterator[None]:
    """Apply :func:`mark_unfinished` to what the host's OpenAI client receives; other models are left alone."""
    try:
        completions = model.openai_client.chat.completions
    except AttributeError:
        yield
        return
    original = completions.create
    completions.create = lambda **arguments: mark_unfinished(original(**arguments))
    try:
        yield
    finally:
        completions.create = original


def prompt_opens_thinking(model: Any) -> bool:
    """Whether the model's chat template ends the prompt inside the thinking."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    if getattr(model, "is_api", False) or not getattr(tokenizer, "chat_template", None):
        return False
    options = getattr(model, "chat_template_kwargs", None) or {}
    messages = [{"role": "user", "content": "x"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **options)
    return str(text).rstrip().endswith(OPEN)
