"""The exact prompts of a task as rows, for another pipeline.

A row is one request: of a conversation one for each turn, in which ``{{answer_0}}``, ``{{answer_1}}`` ... stand for the model's own
earlier answers, without their thinking. The messages come from the function that both hosts call.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, Options, prompt_hash
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import write_whole
from long_context_tasks.schema.thinking import without_thinking

_GROUP = 16  # rows written to Parquet at a time
_JSON_KEYS = ("num_tokens", "options", "gold")


def load(name: str, options: Options) -> LoadedTask:
    """A task by its name.

    Raises:
        InputError: no such task, an option that does not fit, or data that are not there.
    """
    task = load_task(name, options)
    if not len(task.cases):
        raise InputError(f"{name}: no cases")
    return task


def check_gold(name: str, options: Options) -> None:
    """Check that gold may be written into a file: that of built cases, and of cases from a seed, always may.

    Raises:
        InputError: the benchmark's card does not allow it for its published data.
    """
    if not _allowed(name, options, "gold"):
        raise InputError(
            f"{name}: the data's owners do not allow gold answers to be passed on; leave out --with-gold, `lct runs score` reads them from "
            "the data itself"
        )


def may_be_shown(name: str, options: Options) -> bool:
    """Return whether nothing that the card says forbids to publish the prompts."""
    return _allowed(name, options, "prompts")


def _allowed(name: str, options: Options, what: Literal["prompts", "gold"]) -> bool:
    """Return whether the data are the user's own or made from a seed, or else the card allows it."""
    spec = catalogue.parse_task(name)
    published = spec.source == "published" and options.cases is None
    return not published or bool(catalogue.card(spec.benchmark).redistribute.get(what))


def placeholder(turn: int) -> str:
    """What stands for the model's own answer to a turn.

    >>> placeholder(0)
    '{{answer_0}}'
    """
    return f"{{{{answer_{turn}}}}}"


def fill(messages: Iterable[Mapping[str, str]], answers: Iterable[str | None]) -> list[dict[str, str]]:
    """Messages with the model's own answers in the place of their placeholders, as both hosts send them.

    >>> fill([{"role": "assistant", "content": "{{answer_0}}"}], ["<think>A or B?</think>B"])
    [{'role': 'assistant', 'content': 'B'}]

    Args:
        messages: of a row.
        answers: to the turns before; None: there is none, and its message is left out.
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
    """The rows of a task, one after the other; the text of a case is made when its row is.

    Raises:
        InputError: a conversation whose prompts mark the roles themselves: an earlier answer changes the text around it.
    """
    if task.own_template and _holds_placeholders(task):
        raise InputError(
            f"{task.name}: with prompt style {task.own_template} the text around an answer depends on the answer, so that it "
            "cannot be left open; take the chat style"
        )
    for case in task.cases.cases:
        for turn in range(len(case.turns)):
            yield _row(task, case, turn, gold)


def _holds_placeholders(task: LoadedTask) -> bool:
    """Whether the model's own answers stand in its prompts; a history of gold answers has none."""
    case = next((case for case in task.cases.cases if len(case.turns) > 1), None)
    if case is None or not task.is_conversation:
        return False
    return any(placeholder(0) in message.content for message in task.messages(case, 1, [placeholder(0)]))


def _row(task: LoadedTask, case: Case, turn: int, gold: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if task.candidates is not None:
        sent: dict[str, Any] = {"candidates": list(task.candidates(case, task.cases.documents))}
    else:
        messages = task.messages(case, turn, [placeholder(place) for place in range(turn)])
        sent = {
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            # With another's answer in it, the hash of an open prompt would be that of a prompt that is never sent.
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
    open_texts = {placeholder(place) for place in range(turn)}
    return any(message.role == "assistant" and message.content in open_texts for message in messages)


def write_export(task: LoadedTask, out: Path, *, gold: bool = False) -> int:
    """Write the rows, as Parquet where the name ends in ``.parquet``, else as JSON Lines; whole or not at all, one case at a time.

    Returns:
        How many rows there are.

    Raises:
        InputError: see :func:`export_rows`; or the file cannot be written.
    """
    rows = export_rows(task, gold=gold)
    if out.suffix == ".parquet":
        _write_parquet(out, rows)
    else:
        write_whole(out, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return sum(len(case.turns) for case in task.cases.cases)


def _write_parquet(out: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Objects whose keys hang on the task (tokens, options, gold) are JSON text, so that all tasks have the same columns."""
    require("report", f"{out}: give a name that ends in .jsonl; Parquet", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    part = out.with_name(f".{out.name}.part")
    writer = None
    try:
        while group := list(itertools.islice(rows, _GROUP)):
            flat = [
                {key: json.dumps(value) if key in _JSON_KEYS else value for key, value in row.items()}
                for row in group
            ]
            schema = _schema(pyarrow, flat[0])
            writer = writer or pyarrow.parquet.ParquetWriter(part, schema)
            writer.write_table(pyarrow.Table.from_pylist(flat, schema=schema))
        if writer is not None:
            writer.close()
            part.replace(out)
    except (OSError, pyarrow.ArrowException, UnicodeEncodeError) as error:
        raise InputError(f"{out}: cannot be written ({error}); choose another place") from error
    finally:
        if writer is not None:
            writer.close()
        part.unlink(missing_ok=True)


def _schema(pyarrow: Any, row: Mapping[str, Any]) -> Any:
    text = pyarrow.large_string()
    message = pyarrow.struct([("role", pyarrow.string()), ("content", text)])
    kinds = {
        "turn": pyarrow.int32(),
        "turns": pyarrow.int32(),
        "max_gen_toks": pyarrow.int32(),
        "temperature": pyarrow.float64(),
        "messages": pyarrow.list_(message),
        "candidates": pyarrow.list_(text),
        "stop": pyarrow.list_(pyarrow.string()),
    }
    return pyarrow.schema([(name, kinds.get(name, text)) for name in row])
