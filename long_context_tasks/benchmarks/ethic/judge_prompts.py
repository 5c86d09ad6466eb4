"""What a judge is asked about the summary of a section, and how its reply is read.

The official template files were never published; see ``prompts/README.md`` for what stands for them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from long_context_tasks.benchmarks.ethic import official
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.judges import Rubric, last_boxed
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.thinking import without_thinking

LOW, HIGH = 1, 5
DEFAULT = "geval"


@dataclass(frozen=True)
class _Family:
    """Templates for the three criteria, with the names that stand for section and summary in them."""

    files: str
    document: str
    summary: str
    role: str = "system"


_FAMILIES: Mapping[str, _Family] = {
    # As the official code sends them: one system message, G-Eval's names.
    "geval": _Family("geval", "{{Document}}", "{{Summary}}"),
    "longeval": _Family("longeval", "{{article}}", "{{summary}}"),
    # For models whose chat template wants a user message.
    "geval_user": _Family("geval", "{{Document}}", "{{Summary}}", "user"),
    "longeval_user": _Family("longeval", "{{article}}", "{{summary}}", "user"),
}


def family(name: str) -> _Family:
    """The templates that go by a rubric's name.

    Raises:
        InputError: there are none.
    """
    if name not in _FAMILIES:
        raise InputError(
            f"rubric {name!r}: ETHIC has {', '.join(_FAMILIES)}; correct `rubric` in the judge file"
        )
    return _FAMILIES[name]


def fill(
    text: str, document: str, summary: str, marks: tuple[str, str] = ("{{Document}}", "{{Summary}}")
) -> str:
    """A template with a section and its summary in it; as in the official code the section first, then the summary.

    >>> fill("{{Document}} / {{Summary}}", "D", "S")
    'D / S'
    """
    return text.replace(marks[0], document).replace(marks[1], summary)


def judge_message(name: str, criterion: str, section: str, summary: str) -> Message:
    """The one message that a judge is sent.

    Args:
        name: of the rubric.
        criterion: con, faith or rel.
        section: of the context.
        summary: of the model.

    Raises:
        InputError: no such rubric.
    """
    one = family(name)
    text = template(f"{one.files}_{criterion}")
    return Message(one.role, fill(text, section, summary, (one.document, one.summary)))


def rubric(name: str = DEFAULT) -> Rubric:
    """1 to 5; weighed by the log-probabilities of the first token where the judge gives them, else read from the text.

    Raises:
        InputError: no such rubric.
    """
    family(name)
    return Rubric(f"ethic_{name}", LOW, HIGH, stated_rating, official.normalized)


_STATED = re.compile(
    r"\W*(?:(?:consistency|faithfulness|relevance|overall|final|score|rating)\b\W*(?:is\b\W*)?)*"
    r"([1-5](?:\.\d{1,3})?)(?:[\s*_`]*(?:/|out of)\s*5(?:\.0)?)?[\s*_`.)\]]*",
    re.IGNORECASE | re.ASCII,
)
_BOXED = last_boxed(LOW, HIGH)


def stated_rating(reply: str) -> float | None:
    """The rating from 1 to 5 in a reply that is asked for "scores ONLY": its first or last line is one, or a closing box.

    >>> stated_rating("- Consistency: 4"), stated_rating("**3**/5"), stated_rating("4\\nIt is faithful."), stated_rating("12")
    (4.0, 3.0, 4.0, None)

    Returns:
        None without a rating, and where first and last line state different ones.
    """
    text = without_thinking(reply).text
    lines = [line for line in text.splitlines() if line.strip()]
    ends = [_STATED.fullmatch(line) for line in lines[:1] + lines[-1:]]
    stated = {float(match[1]) for match in ends if match}
    if len(stated) == 1:
        value = stated.pop()
        return value if value <= HIGH else None
    return None if stated else _BOXED(reply)
