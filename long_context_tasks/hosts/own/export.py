"""Write a task's exact prompts as JSON Lines, for the user's own pipeline.

A row is one request. A dialogue has a row per turn, in which ``{{answer_0}}``, ``{{answer_1}}`` ... are
placeholders for the model's own earlier answers, with thinking stripped. All hosts send the same messages.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, Options, prompt_hash
from long_context_tasks.schema.files import write_whole
from long_context_tasks.schema.thinking import without_thinking


def load(name: str, options: Options) -> LoadedTask:
    """Load a task and check that it has cases."""
    task = load_task(name, options)
    if not len(task.cases):
        raise InputError(f"{name}: no cases")
    return task


def check_gold(name: str, options: Options) -> None:
    """Check that gold answers may be written to a file."""
    if not _allowed(name, options, "gold"):
        raise InputError(
            f"{name}: the data's owners do not allow gold answers to be passed on; leave out --with-gold, `lct runs score` reads them from "
            "the data itself"
        )


def may_be_shown(name: str, options: Options) -> bool:
    return _allowed(name, options, "prompts")


def _allowed(name: str, options: Options, part: Literal["prompts", "gold"]) -> bool:
    spec = catalogue.parse_task(name)
    # Cases that are user-built or generated from a seed belong to the user.
    published = spec.source == "published" and options.cases is None
    return not published or bool(catalogue.card(spec.benchmark).redistribute.get(part))


def placeholder(turn: int) -> str:
    """Return the placeholder for the model's own answer to a turn: ``{{answer_0}}``."""
    return f"{{{{answer_{turn}}}}}"


def fill(messages: Iterable[Mapping[str, str]], answers: Iterable[str | None]) -> list[dict[str, str]]:
    """Replace the placeholders in messages with the model's own answers, as sent by all hosts.

    >>> fill([{"role": "assistant", "content": "{{answer_0}}"}], ["<think>A or B?</think>B"])
    [{'role': 'assistant', 'content': 'B'}]
    """
    given = {placeholder(turn): answer for turn, answer in enumerate(answers)}
    filled = []
    for message in messages:
        role, text = message["role"], message["content"]
        if role == "assistant" and text in given:
            answer = given[text]
            if answer is None:
                continue
            text = without_thinking(answer).text
        filled.append({"role": role, "content": text})
    return filled


def export_rows(task: LoadedTask, *, gold: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a task's rows; a case's text is rendered with its row."""
    # Such templates omit tags around an empty answer, for example.
    if task.own_template and _holds_placeholders(task):
        raise InputError(
            f"{task.name}: with prompt style {task.own_template} the text around an answer depends on the answer, so that it "
            "cannot be left open; take the chat style"
        )
    for case in task.cases.cases:
        for turn in range(len(case.turns)):
            yield _row(task, case, turn, gold)


def _holds_placeholders(task: LoadedTask) -> bool:
    """Return whether prompts contain the model's own answers; a gold history does not count."""
    case = next((case for case in task.cases.cases if len(case.turns) > 1), None)
    if case is None or not task.is_conversation:
        return False
    return any(placeholder(0) in message.content for message in task.messages(case, 1, [placeholder(0)]))


def _row(task: LoadedTask, case: Case, turn: int, gold: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if task.candidates is not None:
        sent: dict[str, Any] = {"candidates": list(task.candidates(case, task.cases.documents))}
    else:
        messages = task.messages(case, turn, [placeholder(earlier) for earlier in range(turn)])
        sent = {
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            # A prompt with a placeholder is never sent, so its hash would match nothing.
            "prompt_sha256": None if _is_open(messages, turn) else prompt_hash(messages),
        }
        settings = {"max_gen_toks": task.answer_budget, "temperature": 0.0, "stop": []}
    return {
        "id": case.id,
        "turn": turn,
        "turns": len(case.turns),
        **sent,
        "num_tokens": dict(case.num_tokens),
        **settings,
        **({"gold": case.turns[turn].gold} if gold else {}),
        "task": task.name,
        "options": task.description(),
    }


def _is_open(messages: Iterable[Message], turn: int) -> bool:
    open_texts = {placeholder(earlier) for earlier in range(turn)}
    return any(message.role == "assistant" and message.content in open_texts for message in messages)


def write_export(task: LoadedTask, out: Path, *, gold: bool = False) -> int:
    """Write the rows as JSON Lines, all or nothing, and return their number."""
    write_whole(out, (json.dumps(row, ensure_ascii=False) + "\n" for row in export_rows(task, gold=gold)))
    return sum(len(case.turns) for case in task.cases.cases)
