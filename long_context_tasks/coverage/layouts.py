"""Read rows of other benchmarks' files as they are published: L-Eval, LongBench, InfiniteBench, ZeroSCROLLS, RULER, Loong.

The keys of a row tell its layout; each reader returns cases in the columns of :func:`~long_context_tasks.coverage.items.file_cases`.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import read_json
from long_context_tasks.schema.validated import validated

GAP = "[...]"
"""Stands in a query where the context was."""
_SPLITS = ("test", "validation", "dev", "train")
_PROMPTS = "dataset2prompt.json"
_RULER_QUERY = re.compile(r"\s(?=Question: |What (?:is|are all) the special magic )")
_LOONG_LENGTHS = ("50k", "100k", "200k", "250k")
"""Upper ends of its four sets."""

Row = Mapping[str, Any]
Columns = list[dict[str, Any]]


def task_of(file: Path) -> str:
    """Return the task that a file is named after, else its folder: ``qmsum/test.jsonl`` is qmsum."""
    stem = file.name.split(".")[0]
    return file.absolute().parent.name if stem in _SPLITS else stem


def columns_of(row: Any, file: Path) -> Columns:
    """Return the cases of a row in columns; a row of no known layout stands for itself.

    Raises:
        InputError: an instruction or a document lies in a file that is not there.
        LookupError, TypeError, ValueError: a field of the layout is missing or of another kind.
    """
    if isinstance(row, Mapping):
        for keys, read in _LAYOUTS.items():
            if row.keys() >= set(keys.split()):
                return read(row, file)
    return [row]


def _own(row: Row, _: Path) -> Columns:
    return [dict(row)]


def _l_eval(row: Row, _: Path) -> Columns:
    return [{"context": row["input"], "question": asked} for asked in row["instructions"]]


def _zero_scrolls(row: Row, _: Path) -> Columns:
    text, start, end = row["input"], row["document_start_index"], row["document_end_index"]
    # Instruction and query stand on both sides of the document.
    asked = _around(text[:start], text[end:])
    return [{"id": row["id"], "context": text[start:end], "question": asked}]


def _ruler(row: Row, file: Path) -> Columns:
    text = row["input"]
    if not (asked := list(_RULER_QUERY.finditer(text))):
        raise ValueError("input holds no question as in RULER")
    before, query = text[: asked[-1].start()], text[asked[-1].end() :]
    # The first line is the instruction; frequent words have it in the line of the text.
    instruction, _, context = before.partition("\n")
    # Lengths are powers of two; the row's own counts its tokens, and those of the answer.
    folders = [int(part) for part in file.absolute().parts[:-1] if part.isascii() and part.isdecimal()]
    nominal = [*folders[-1:], 1 << (int(row["length"]) - 1).bit_length()][0]
    length = row.get("max_length") or nominal
    asked_of = _around(instruction, query) if context.strip() else query
    return [{"length": length, "context": context.strip() or before, "question": asked_of}]


def _context_and_input(row: Row, file: Path) -> Columns:
    """LongBench and InfiniteBench. LongBench keeps its instructions apart, by name of the data set."""
    task = row.get("dataset") or task_of(file)
    asked = row["input"] or ""
    for letter, option in zip("ABCDEFGH", row.get("options") or (), strict=False):
        asked += f"\n{letter}. {option}"
    prompts = _prompts(file.absolute().parent)
    # LongBench-E has files of other names and the same instructions.
    if prompt := prompts.get(task) or prompts.get(task.removesuffix("_e")):
        asked = prompt.replace("{context}", GAP).replace("{input}", asked)
    if not asked.strip():
        raise InputError(
            f"{file}: a row of {task} has no question; put {_PROMPTS} with its instruction beside this file (LongBench's code "
            f'has one; else write {{"{task}": "... {{context}} ... {{input}} ..."}})'
        )
    key = row.get("_id", row.get("id"))
    return [{"id": key, "task": task, "context": row["context"], "question": asked}]


@cache
def _prompts(folder: Path) -> dict[str, str]:
    for place in (folder, folder.parent, folder.parent / "config"):
        if (place / _PROMPTS).is_file():
            found = read_json(place / _PROMPTS, "{TASK: instruction}, as LongBench's code has it")
            return validated(dict[str, str], found, str(place / _PROMPTS))
    return {}


def _loong(row: Row, file: Path) -> Columns:
    prompt = row["prompt_template"].replace("{docs}", GAP)
    prompt = prompt.replace("{question}", row["question"]).replace("{instruction}", row["instruction"])
    documents = [_loong_document(row, name, file.absolute().parent / "doc") for name in row["doc"]]
    length = _LOONG_LENGTHS[int(row["set"]) - 1]
    context = "\n\n".join(documents)
    return [
        {"id": row["id"], "domain": row["type"], "length": length, "context": context, "question": prompt}
    ]


def _loong_document(row: Row, name: str, folder: Path) -> str:
    kind, level = row["type"], int(row["level"])
    place = folder / kind
    try:
        if kind == "legal":
            opinion = _legal(place / "legal.json")[name]
            # Where results are to be matched with opinions, opinions are shown without theirs.
            matched = level == 4 and "若干份判决结果" in row["instruction"]
            return str(opinion["content"] if matched else opinion["content"] + opinion["result"])
        if kind == "financial":
            year = "" if level == 4 else "2024-"
            files = sorted(one for one in place.iterdir() if f"{year}{name}" in one.name)
            place = files[0] if files else place / name
            return f"《{place.stem.split('-')[-1]}》\n{place.read_text(encoding='utf-8')}"
        return Path(place / name).read_text(encoding="utf-8")
    except (OSError, KeyError) as error:
        raise InputError(
            f"{folder}: document {name} of {kind} cannot be read ({error}); put the folder doc of Loong beside the file"
        ) from None


@cache
def _legal(file: Path) -> dict[str, dict[str, str]]:
    found = read_json(file, "the opinions of Loong")
    return validated(dict[str, dict[str, str]], found, str(file))


def _around(before: str, after: str) -> str:
    return f"{before.strip()}\n\n{GAP}\n\n{after.strip()}"


_LAYOUTS: dict[str, Callable[[Row, Path], Columns]] = {
    "prompt_template doc": _loong,
    "context question": _own,
    "instructions input": _l_eval,
    "input document_start_index document_end_index": _zero_scrolls,
    "input outputs length": _ruler,
    "context input": _context_and_input,
}
