r"""Strip thinking from responses, using the markers that each model family puts around it.

Thinking is part of a response's text if the server does not separate it. :data:`FORMS` lists the known
markers. Other markers can be set with ``lct_thinking`` for a model (possibly in a preset) and with the field
``thinking`` in a judge file; :func:`in_known_marks` replaces them with standard ones when responses arrive.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from long_context_tasks.schema.response import ANSWER_CUT, EMPTY
from long_context_tasks.schema.wrappers import unwrapped

OPEN, CLOSE = "<think>", "</think>"
"""The markers that hosts put around thinking separated by a server."""


class Form(NamedTuple):
    """A pair of thinking markers."""

    models: str  # models that write them
    # Regular expressions; letters match in either case unless enclosed in ``(?-i:...)``.
    opens: str
    closes: str
    alone: bool = (
        True  # whether the closing marker counts without an opening one, which the chat template may contain
    )


_TAG = r"(?:antml:|seed:)?(?:think(?:ing)?|thoughts?|reasoning|scratchpad|analysis)\s*"
_CHANNEL = r"(?:<\|start\|>)?(?:assistant)?\s?<\|channel\|>\s?"
FORMS = (
    Form(
        "DeepSeek, Qwen, GLM, Kimi, Phi, Granite, EXAONE, Claude and most others, in tags",
        rf"(?:<|&lt;){_TAG}(?:>|&gt;)",
        rf"(?:<|&lt;)/{_TAG}(?:>|&gt;)",
    ),
    Form("Magistral", r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])"),
    Form(
        "gpt-oss, harmony channels",
        rf"{_CHANNEL}(?:analysis|commentary)[^<>|]{{0,80}}(?:<\|message\|>)?",
        rf"(?:<\|end\|>)?{_CHANNEL}final\s?(?:<\|message\|>)?",
    ),
    Form(
        "gpt-oss, decoded without special tokens",
        # The marker is glued to the next word: "analysisThe user asks", "analysiswe need".
        r"(?-i:\A\s*(?:analysis|commentary)(?=[^\s:.,;!?*'’)-])|assistant(?:analysis|commentary))",
        r"(?-i:assistantfinal|\A\s*final(?=[A-Z0-9\[\\{*<\"]))",
    ),
    Form("Gemma 4", r"<\|channel>\s*thought", r"<channel\|>"),
    Form("Gemma 3", r"<unused94>(?:thought)?", r"<unused95>"),
    Form("Command", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    Form("Kimi-VL", r"◁think▷", r"◁/think▷"),
    Form("OpenThinker, Sky-T1", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    Form("Qwen as s1", r"<\|im_start\|>\s*think\b|\A\s*think\n", r"<\|im_start\|>\s*answer\n?"),
    Form(
        "Granite 3.2",
        r"\A\s*Here(?: is|['’]s) my thought process:?",
        r"\n[ \t*#]{0,9}Here(?: is|['’]s) my response:?",
        alone=False,
    ),
)


_LIST_LINE = r"\n{1,3}[^\w\n]{0,9}(?:(?=\d)|[^\n\d]{0,40}:[* ]*(?=none|[\[\d]))[^\n]{1,2000}"
_ANNOUNCED = re.compile(
    r"\n[ \t*_#]{0,9}(?:[^\W\d]{1,9},? ){0,3}(?:final|answer)\b[^\n:.\d]{0,20}[:.][ *_]{0,9}"
    rf"(?:[^\n]{{1,2000}}|(?:{_LIST_LINE})+)\s{{0,99}}\Z",
    re.IGNORECASE,
)
"""Last lines such as "Answer: A3" or "Final list:" above a list, at which some models forget to close their thinking."""
_OF_ANSWER = r"(?:a|and|none|(?:final )?answer|order|(?:core|related|supplementary|supporting)|ids?|part|option|segments?)"
_ONLY_ANSWER = re.compile(rf"(?:{_OF_ANSWER}(?![^\W\d_])|[\W\d_])+", re.IGNORECASE)
"""A text without other words than those of an answer in the format that a prompt asks for."""
_INCOMPLETE = re.compile(r"[,;:>→(\[-][*_\s]*\Z|\A\W*\d+\W*\Z")
"""A list that goes on, or a number that may begin an item of a list."""
_MAY_BEGIN = r"(?=[<&\[◁\n]|\A|(?-i:assistant))"
"""Beginnings of all markers; testing them first makes the search ten times as fast."""


@dataclass(frozen=True)
class Visible:
    text: str  # the answer
    unclosed: bool  # whether the response ended inside its thinking

    @property
    def failure(self) -> str | None:
        """``empty`` without text, ``answer_cut`` if the response ended in its thinking, otherwise None."""
        if self.text.strip():
            return None
        return ANSWER_CUT if self.unclosed else EMPTY


def without_thinking(response: str | None) -> Visible:
    """Remove thinking in any of :data:`FORMS`; a response without markers is unchanged byte for byte.

    The answer is the text after the last closing marker, or before the thinking if nothing follows.
    Everything before a closing marker without an opening one is thinking. If thinking is never closed and
    there is no other text, an answer that its last lines announce ("Answer: A3") counts, and so does a last
    paragraph that holds nothing but a complete answer.

    >>> without_thinking("A1? No, A2.</think>Answer: A2")
    Visible(text='Answer: A2', unclosed=False)
    >>> without_thinking("[THINK]A1 or A2 or")
    Visible(text='', unclosed=True)
    """
    # One pass with a flag: thinking may contain the opening marker again, and the chat template may have sent
    # it.
    pattern, closing, alone = _compiled(FORMS)
    pieces: list[str] = []
    begin, thinking = 0, False
    response = response or ""
    for mark in pattern.finditer(response):
        if mark.lastgroup in closing:
            if not thinking and mark.lastgroup not in alone:
                continue
            pieces = pieces if thinking else []
            begin, thinking = mark.end(), False
        elif not thinking:
            pieces.append(response[begin : mark.start()])
            thinking = True
    if not thinking:
        pieces.append(response[begin:])
    # Some models answer first and think afterwards.
    text = next((piece for piece in reversed(pieces) if piece.strip()), pieces[-1])
    if thinking and not text.strip() and (stated := _stated_last(response[begin:])):
        return Visible(stated, unclosed=False)
    return Visible(text, thinking)


def _stated_last(thought: str) -> str:
    """Return the answer at the end of thinking that is never closed, or an empty text."""
    if announced := _ANNOUNCED.search(thought):
        return announced[0].lstrip("\n")
    paragraphs = re.split(r"\n[ \t]*\n", thought.rstrip())
    answer = unwrapped(paragraphs[-1])
    complete = re.search(r"\d", answer) and all(answer.count(a) == answer.count(b) for a, b in ("[]", "()"))
    bare = _ONLY_ANSWER.fullmatch(answer) and not _INCOMPLETE.search(answer)
    return paragraphs[-1] if len(paragraphs) > 1 and complete and bare else ""


def marks_of(text: str) -> tuple[str, str]:
    """Split a text into two markers at the blank between them.

    >>> marks_of("<plan> </plan>")
    ('<plan>', '</plan>')
    """
    marks = text.split()
    if len(marks) != 2 or marks[0] == marks[1]:
        raise ValueError(
            "must be an opening and a closing mark with a blank between them, such as '<plan> </plan>'"
        )
    return marks[0], marks[1]


def in_known_marks(response: str, marks: str | None) -> str:
    """Replace a model's own markers with ``<think>`` and ``</think>``, see :func:`marks_of`.

    >>> in_known_marks("<plan>A1?</plan>A3", "<plan> </plan>"), in_known_marks("A3", None)
    ('<think>A1?</think>A3', 'A3')
    """
    if marks is None:
        return response
    opens, closes = marks_of(marks)
    return response.replace(opens, OPEN).replace(closes, CLOSE)


@lru_cache
def _compiled(forms: tuple[Form, ...]) -> tuple[re.Pattern[str], frozenset[str], frozenset[str]]:
    """Return one pattern for all markers, and the group names of closing markers and of those valid alone."""
    marks = (f"(?P<o{number}>{form.opens})|(?P<c{number}>{form.closes})" for number, form in enumerate(forms))
    closing = frozenset(f"c{number}" for number in range(len(forms)))
    alone = frozenset(f"c{number}" for number, form in enumerate(forms) if form.alone)
    return re.compile(rf"{_MAY_BEGIN}(?:{'|'.join(marks)})", re.IGNORECASE), closing, alone
