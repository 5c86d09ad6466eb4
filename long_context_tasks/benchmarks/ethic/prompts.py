"""Render prompts byte for byte in one of the official layouts, and split them into parts.

The official script sends messages, except to three model families, for which it hard-codes the whole prompt.
Those layouts are *styles* here, selected by ``lct_prompt_style``:

* ``chat``: a system message and a user message, for the model's own chat template. The default.
* ``folded``: one user message that begins with the system message, for chat templates without a system role.
* ``gemini``: the same text, under the name of the family for which the official code uses it.
* ``llama-3.1``, ``phi``: one string with the role tokens from the model's training. The host must not apply a
  chat template to it.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from long_context_tasks.schema import Case, Documents, InputError, Message
from long_context_tasks.schema.files import packaged_text

if TYPE_CHECKING:
    from long_context_tasks.coverage.items import Parts

CHAT, FOLDED = "chat", "folded"
PLAIN: Mapping[str, str] = {
    FOLDED: "{system_msg}\n\n{user_msg}",
    "gemini": "{system_msg}\n\n{user_msg}",
    "llama-3.1": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n{system_msg}<|eot_id|>\n"
    "<|start_header_id|>user<|end_header_id|>\n\n{user_msg}<|eot_id|>\n<|start_header_id|>assistant<|end_header_id|>",
    "phi": "<|system|>\n{system_msg}<|end|>\n<|user|>\n{user_msg}<|end|>\n<|assistant|>",
}
STYLES = (CHAT, *PLAIN)
OWN_TEMPLATE = ("llama-3.1", "phi")  # styles whose text contains the role tokens
_AFTER_CONTEXT = re.compile(r"^\s*Now, respond to the instruction\.?\s*")
_MARKERS = {"law": re.compile(r"<Segment \d+>")}
_MARKER = re.compile(r"<Section \d+>")


def template(name: str) -> str:
    return packaged_text(__package__, "prompts", f"{name}.txt")


def layout(system: str, user: str, style: str = CHAT, shared: int = 0) -> list[Message]:
    """Lay out a prompt; ``shared`` is the number of leading characters of ``user`` that other prompts share."""
    if style not in STYLES:
        raise InputError(
            f"prompt style {style!r} is not one of {', '.join(STYLES)}; correct lct_prompt_style"
        )
    # Some chat templates reject an empty system message or render it.
    if style == CHAT:
        messages = [Message("system", system), Message("user", user, shared)]
        return messages if system else messages[1:]
    # Not str.format, because the texts may contain braces.
    before, after = PLAIN[style].split("{user_msg}")
    before = before.replace("{system_msg}", system)
    shared = len(before) + shared if shared and style not in OWN_TEMPLATE else 0
    return [Message("user", before + user + after, shared)]


def messages(case: Case, documents: Documents | Mapping[str, str]) -> list[Message]:
    inputs = case.inputs
    system = documents[inputs["system"]] if inputs["system"] else ""
    # Only the cases of several questions on a text store the text separately.
    shared = 0 if isinstance(inputs["user"], str) else len(documents[inputs["user"][0]])
    return layout(system, user_text(case, documents), inputs.get("style", CHAT), shared)


def user_text(case: Case, documents: Documents | Mapping[str, str]) -> str:
    """Return the user message, which may be stored in two parts: the context and the question about it."""
    keys = case.inputs["user"]
    return documents[keys] if isinstance(keys, str) else "".join(documents[key] for key in keys)


def context_of(user_message: str) -> str | None:
    """Return the context in a user message, or None if the message does not have the data set's layout."""
    _, _, after = user_message.partition("### Context:\n")
    end = after.find("\n\nNow, respond to the instruction", 1)
    return after[:end] if end > 0 else None


def find_markers(text: str, domain: str) -> list[str]:
    """Return the section markers in a text, in order; in the law domain, sections are called segments."""
    return _MARKERS.get(domain, _MARKER).findall(text)


def split_sections(text: str, domain: str) -> dict[str, str]:
    """Map each marker to the stripped text after it, splitting as the official code does.

    Text before the first marker is dropped. A repeated marker keeps its first position and its last text.

    >>> split_sections("Here: <Section 1> One. <Section 2>\\n", "books")
    {'<Section 1>': 'One.', '<Section 2>': ''}
    """
    pattern = _MARKERS.get(domain, _MARKER)
    texts = [piece.strip() for piece in pattern.split(text)[1:]]
    return dict(zip(find_markers(text, domain), texts, strict=True))


def sections_of(case: Case, documents: Documents | Mapping[str, str]) -> dict[str, str]:
    """Return the sections of a Summarizing case's context, keyed by marker."""
    return split_sections(context_of(user_text(case, documents)) or "", str(case.labels["domain"]))


def split_case(case: Case, turn: int, documents: Documents) -> "Parts":
    """Split the user message into context and question, to measure information coverage."""
    # Imported here because only information coverage needs it.
    from long_context_tasks.coverage.items import Parts, split_by_documents

    user = messages(case, documents)[-1].content
    context = context_of(user)
    if context is None:
        return split_by_documents(case, turn, documents, messages)
    return Parts(context, _AFTER_CONTEXT.sub("", user.split(context, 1)[1]).strip())
