"""A row of the data set to a case, with all that can be wrong with it told by file and row."""

import ast
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks.ethic.files import CONFIGURATIONS, Row
from long_context_tasks.benchmarks.ethic.official import DOMAINS, order_of
from long_context_tasks.benchmarks.ethic.sections import context_of, split_sections
from long_context_tasks.schema import Case, InputError, Turn

_ALL_DOMAINS = DOMAINS["recall"]


@dataclass(frozen=True)
class Read:
    """A case and the texts that it refers to, by key."""

    case: Case
    texts: dict[str, str]


def case_of(row: Row, task: str) -> Read | None:
    """The case of a row.

    Args:
        row: with all columns.
        task: recall, summarize, organize or attribute.

    Returns:
        None for a domain that the task does not have, which the official code ignores.

    Raises:
        InputError: an unknown domain, or a value of the wrong kind.
    """
    values = row.values
    domain = str(values["Domain"]).strip().lower()
    if domain not in _ALL_DOMAINS:
        raise InputError(
            f"{row.place}: unknown domain {values['Domain']!r}; ETHIC has {', '.join(_ALL_DOMAINS)} (column Domain)"
        )
    if domain not in DOMAINS[task]:
        return None
    own_id = _id(row)
    system = "" if values["System_msg"] is None else _text(row, "System_msg")
    user = _text(row, "User_msg")
    if not user.strip():
        raise InputError(f"{row.place}: User_msg is empty; fetch the data again")
    gold = _gold(row, task, domain, user)
    user_key = f"{task}_{domain}_{own_id}"
    texts = {user_key: user}
    system_key = ""
    if system:
        # The same for many cases.
        system_key = f"system_{hashlib.sha256(system.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        texts[system_key] = system
    case = Case(
        id=own_id,
        task=f"ethic_{task}_{domain}",
        inputs={"system": system_key, "user": user_key},
        turns=(Turn(gold=gold),),
        cluster=f"{domain}_{own_id}",
        document=user_key,
        labels={"domain": domain, "answer_items": len(gold)},
    )
    return Read(case, texts)


def _id(row: Row) -> str:
    value = row.values["ID"]
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise InputError(f"{row.place}: ID must be a text or a whole number, not {_shown(value)}")
    return str(value)


def _text(row: Row, column: str) -> str:
    value = row.values[column]
    if not isinstance(value, str):
        raise InputError(f"{row.place}: {column} must be a text, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(value).__name__})"


def _gold(row: Row, task: str, domain: str, user: str) -> list[str]:
    if task == "summarize":
        # There are no reference summaries; what there is to summarize is the right answer's form.
        context = context_of(user)
        markers = list(split_sections(context, domain)) if context is not None else []
        if not markers:
            what = "<Segment n>" if domain == "law" else "<Section n>"
            raise InputError(
                f"{row.place}: User_msg has no sections marked {what} between '### Context:' and 'Now, respond to the "
                "instruction'; fetch the data again"
            )
        return markers
    answer = row.values["Answer"]
    if task == "organize":
        numbers = _numbers(answer)
        if not numbers:
            raise InputError(
                f"{row.place}: Answer of {CONFIGURATIONS[task]} must be a text with the options' numbers in order, not "
                f"{_shown(answer)}"
            )
        return numbers
    labels = _labels(answer)
    if labels is None:
        raise InputError(
            f"{row.place}: Answer of {CONFIGURATIONS[task]} must be a list of texts, not {_shown(answer)}"
        )
    return labels


def _numbers(answer: Any) -> list[str]:
    if isinstance(answer, str):
        return order_of(answer)
    if isinstance(answer, list) and all(_is_label(item) for item in answer):
        return [number for item in answer for number in order_of(str(item))]
    return []


def _labels(answer: Any) -> list[str] | None:
    """A list of texts, also when it was written into a text as JSON or as Python does; None for anything else."""
    if isinstance(answer, str) and answer.lstrip().startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                answer = read(answer)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    if not isinstance(answer, list) or not all(_is_label(item) for item in answer):
        return None
    return [str(item) for item in answer]


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
