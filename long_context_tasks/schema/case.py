"""Cases, their turns, messages to a model, and scores.

A case contains everything that scoring and breakdowns need. Cases refer to long texts by keys in a document
table (see :mod:`long_context_tasks.schema.case_folder`), so that each text is stored once.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from long_context_tasks.schema.files import loads

CL100K = "cl100k"
"""The tokenizer in which every case's length is measured; see :mod:`long_context_tasks.tokens`."""


SplitMessages = Literal["plain", "cache_control", "prompt_cache_breakpoint"]
"""How messages are sent in two parts: without a mark, or with Anthropic's or OpenAI's after the first one."""
_MARKS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "cache_control": {"cache_control": {"type": "ephemeral"}},
    "prompt_cache_breakpoint": {"prompt_cache_breakpoint": {"mode": "explicit"}},
}


@dataclass(frozen=True)
class Message:
    """One chat message: ``role`` is system, user or assistant.

    ``shared`` is the number of leading characters that other prompts share, such as a text before its
    question; 0 if the message is sent whole.
    """

    role: str
    content: str
    shared: int = field(default=0, compare=False, repr=False)

    def texts(self) -> list[str]:
        """Return the content, or its shared part and the rest (left out if empty).

        >>> Message("user", "A text. A question?", 8).texts()
        ['A text. ', 'A question?']
        """
        parts = [self.content[: self.shared], self.content[self.shared :]]
        return [part for part in parts if part] if self.shared else [self.content]

    def chat(self, split: SplitMessages | None = None) -> dict[str, Any]:
        """Return the message as the protocols of OpenAI and Anthropic have it, in parts if it is split."""
        if split is None or not self.shared:
            return {"role": self.role, "content": self.content}
        first, *rest = ({"type": "text", "text": text} for text in self.texts())
        return {"role": self.role, "content": [{**first, **_MARKS[split]}, *rest]}


def prompt_hash(messages: Sequence[Message]) -> str:
    """Return the SHA-256 of the JSON list of [role, content] pairs."""
    return hashlib.sha256(json.dumps([[m.role, m.content] for m in messages]).encode("ascii")).hexdigest()


# Any text works, because only its presence in the rendered prompt matters.
_PROBE = "A system message."


def folded(messages: Sequence[Message]) -> list[Message]:
    """Fold the system message into the first other message, separated by a blank line.

    >>> folded([Message("system", "S"), Message("user", "U")])
    [Message(role='user', content='S\\n\\nU')]
    """
    system = [message for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    # Nothing to fold, or no other message to fold it into.
    if not system or not others:
        return list(messages)
    before = "".join(f"{message.content}\n\n" for message in system)
    first = others[0]
    shared = len(before) + first.shared if first.shared else system[0].shared
    return [replace(first, content=before + first.content, shared=shared), *others[1:]]


def takes_system(apply: Callable[[list[dict[str, str]]], Any]) -> bool:
    """Return whether a chat template, as applied by ``apply``, renders a system message."""
    try:
        text = apply([{"role": "system", "content": _PROBE}, {"role": "user", "content": "A question."}])
    except Exception:
        # Mostly jinja's TemplateError, but templates may raise anything.
        return False
    return _PROBE in str(text)


@dataclass(frozen=True)
class Turn:
    """One question of a case: the unit of scoring.

    Attributes:
        gold: the correct answer in the benchmark's own format (a list of part numbers, "A3", ...).
        question: text of the question, if the benchmark stores it separately from the prompt.
        labels: question type, answer position and so on, for breakdowns.
    """

    gold: Any
    question: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One test case.

    Attributes:
        id: unique within a task, and stable across builds with equal options.
        task: name of the task it was made for, e.g. ``toy_sort_8k``.
        inputs: named fields that the benchmark's ``prompts.py`` renders; document keys, character spans.
        turns: one or more questions.
        cluster: source shared by cases (book, question, meeting), over which intervals are computed.
        num_tokens: number of tokens in the whole prompt without a chat template, by tokenizer name.
        document: key of the text that the case is about, if there is only one.
        labels: length, domain, word error rate and so on, for breakdowns.
    """

    id: str
    task: str
    inputs: Mapping[str, Any]
    turns: tuple[Turn, ...]
    cluster: str
    num_tokens: Mapping[str, int] = field(default_factory=dict)
    document: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)

    def only(self, turn: int) -> "Case":
        """Return the case with only one of its turns, as scoring rules expect it."""
        return self if len(self.turns) == 1 else replace(self, turns=(self.turns[turn],))

    def to_json(self) -> str:
        # Not dataclasses.asdict, which copies every key in a case with thousands of answers.
        row = {**vars(self), "turns": [vars(turn) for turn in self.turns]}
        return json.dumps(row, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> "Case":
        """Read a line written by :meth:`to_json`.

        Raises:
            ValueError: not JSON. KeyError, TypeError: not a case.
        """
        row = loads(line)
        row["turns"] = tuple(Turn(**turn) for turn in row["turns"])
        case = cls(**row)
        # Dataclasses do not check types, and a wrong one would fail only much later, in scoring.
        texts = (case.id, case.task, case.cluster, case.document or "")
        mappings = (case.inputs, case.num_tokens, case.labels, *(turn.labels for turn in case.turns))
        if not all(isinstance(text, str) for text in texts) or not all(
            isinstance(mapping, dict) for mapping in mappings
        ):
            raise TypeError("a field holds a value of a wrong type")
        if not case.turns:
            raise ValueError("no turns")
        return case


@dataclass(frozen=True)
class Score:
    """A score from 0 to 1, or the reason why there is none.

    Attributes:
        value: the lowest value for a model failure; None for a failure on our side, excluded from means.
        reason: why the value is None or the lowest.
        std: standard deviation of human scores around the value, if the judge estimates it; otherwise 0.
    """

    value: float | None
    reason: str | None = None
    std: float = 0.0


CaseScores = Mapping[str, Score]
"""Metric name to score, for one turn of one case."""
