"""Take cases apart into context and query.

Cases come from folders of built cases, from loaded tasks, or from JSON Lines files with the columns ``id``, ``task``, ``domain``,
``length``, ``context``, ``question`` and ``answer``, of which ``context`` and ``question`` are needed, or in the layout of another
benchmark (:mod:`~long_context_tasks.coverage.items`). How a case of a benchmark is taken apart
is a :data:`Split`: the benchmark's own, else :func:`split_by_documents`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, StrictStr

from long_context_tasks.schema import (
    Case,
    CaseSet,
    Documents,
    InputError,
    Message,
    format_length,
    parse_length,
)
from long_context_tasks.schema.case_folder import read_manifest, text_key
from long_context_tasks.schema.files import json_rows, read_json
from long_context_tasks.schema.response import writable
from long_context_tasks.schema.validated import Checked, validated

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
            files = sorted(path for path in place.iterdir() if f"{year}{name}" in path.name)
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


COLUMNS = "id, task, domain, length, context, question, answer (context and question are needed)"
_QUERY_INPUTS = frozenset(
    ("question", "query", "instruction", "options", "system", "language", "style", "history")
)


class Parts(NamedTuple):
    """What is split into chunks, and what has to be answered; either is empty where they cannot be separated."""

    context: str
    query: str


Split = Callable[[Case, int, Documents], Parts | None]
"""Takes a turn of a case apart."""


@dataclass(frozen=True)
class Item:
    """A case as coverage sees it.

    Attributes:
        context: is split into chunks.
        query: has to be answered; without the context.
        cluster: the unit of intervals, mostly the document.
    """

    id: str
    context: str
    query: str
    cluster: str


@dataclass(frozen=True)
class ItemSource:
    """The cases of one task, domain and length, read one at a time.

    Attributes:
        domain: empty where there is none.
        length: that the cases were made for, such as ``8k``; empty where texts have the length they have.
        stored: what each case is read from.
        item: reads a case; takes the task's name, for messages, and what is stored.
    """

    task: str
    domain: str
    stored: Sequence[Any]
    item: Callable[[str, Any], Item] = field(repr=False)
    length: str = ""

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.stored)

    def read(self, place: int) -> Item:
        """Return the case at a place.

        Raises:
            InputError: its context cannot be separated from its query.
        """
        return self.item(self.task, self.stored[place])


def split_cases(task: str, cases: CaseSet, split: Split, length: str = "") -> list[ItemSource]:
    """Return the cases of a task, one for each turn, by domain and length; their long texts are read on demand.

    ``length`` is that of cases without a label for it.
    """

    def item(name: str, turn_of_case: tuple[Case, int]) -> Item:
        case, turn = turn_of_case
        parts = split(case, turn, cases.documents)
        if parts is None:
            raise InputError(f"{name}: its benchmark does not split cases into context and query (split)")
        context, query = parts
        item_id = case.id if len(case.turns) == 1 else f"{case.id}_{turn}"
        if not context.strip() or not query.strip():
            raise InputError(
                f"{name}, case {item_id}: its context cannot be separated from its question; write the cases as JSON Lines with the columns "
                f"{COLUMNS}"
            )
        return Item(item_id, context, query, case.cluster)

    groups: dict[tuple[str, str], list[tuple[Case, int]]] = {}
    for case in cases.cases:
        own = groups.setdefault(
            (str(case.labels.get("domain", "")), length_name(case.labels.get("length", length))), []
        )
        own += [(case, turn) for turn in range(len(case.turns))]
    return [ItemSource(task, domain, turns, item, size) for (domain, size), turns in groups.items()]


def length_name(length: Any) -> str:
    """Return the shortest name of a length; empty without one.

    >>> length_name(8000), length_name("8000"), length_name("")
    ('8k', '8k', '')

    Raises:
        InputError: no length.
    """
    return format_length(parse_length(length)) if str(length or "").strip() else ""


def folder_cases(path: Path, split_of: Callable[[str], Split], tasks: Sequence[str] = ()) -> list[ItemSource]:
    """Return the cases of a case folder, or of those one or two levels below, by task, domain and length; all when no tasks are named.

    A folder without any gives the cases of the JSON Lines files below it. A task that several folders or files hold is named with
    its place.

    Raises:
        InputError: no case folder, or a damaged one.
    """
    folders = [path] if (path / "manifest.json").is_file() else _case_folders(path)
    files = sorted(file for end in ("jsonl", "jsonl.gz") for file in path.rglob(f"*.{end}"))
    if not folders and files:
        return _named_apart([(file, source) for file in files for source in file_cases(file, tasks)], path)
    if not folders:
        read_manifest(path)
    found = [
        (folder, source)
        for folder in folders
        for task in sorted(read_manifest(folder)["tasks"])
        if not tasks or task in tasks
        for source in split_cases(task, CaseSet.read(folder, task), split_of(task))
    ]
    return _named_apart(found, path)


def _named_apart(found: Sequence[tuple[Path, ItemSource]], root: Path) -> list[ItemSource]:
    """The sources of several places, each named with its place where several hold the same task, domain and length."""
    holders = Counter((source.task, source.domain, source.length) for _, source in found)
    return [
        replace(source, task=f"{place.relative_to(root)}/{source.task}")
        if holders[source.task, source.domain, source.length] > 1
        else source
        for place, source in found
    ]


def _case_folders(path: Path) -> list[Path]:
    # Hidden folders belong to builds that were stopped.
    found = (manifest.parent for depth in ("*", "*/*") for manifest in path.glob(f"{depth}/manifest.json"))
    return sorted(
        folder for folder in found if not any(part.startswith(".") for part in folder.relative_to(path).parts)
    )


def _said(value: Any) -> str:
    """A text or a number, stripped; empty for anything else."""
    known = isinstance(value, str | int) and not isinstance(value, bool)
    return writable(str(value)).strip() if known else ""


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return writable(text)


_Said = Annotated[str, BeforeValidator(_said)]
_Text = Annotated[StrictStr, AfterValidator(_filled)]


class _Row(Checked):
    model_config = ConfigDict(extra="ignore")

    id: _Said = ""
    task: _Said = ""
    domain: _Said = ""
    length: Annotated[str, BeforeValidator(length_name)] = ""
    context: _Text
    question: _Text


def file_cases(path: Path, tasks: Sequence[str] = ()) -> list[ItemSource]:
    """Return the cases of a JSON Lines file, plain or gzipped, by task, domain and length; all when no tasks are named.

    Raises:
        InputError: a row without a context or a question, with file and row.
    """
    if not path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        raise InputError(f"{path}: must be a .jsonl or .jsonl.gz file with the columns {COLUMNS}")
    groups: dict[tuple[str, str, str], dict[str, Item]] = {}
    for number, (place, values) in enumerate(json_rows(path, "a case as one JSON object a line"), start=1):
        try:
            found = columns_of(values, path)
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{place}: does not have its benchmark's layout ({error!r})") from error
        for part, columns in enumerate(found):
            row = validated(_Row, columns, place, remedy=f"the columns are {COLUMNS}")
            own = groups.setdefault((row.task or task_of(path), row.domain, row.length), {})
            case_id = row.id or (str(number) if len(found) == 1 else f"{number}_{part}")
            if case_id in own:
                raise InputError(
                    f"{place}: the id {case_id!r} occurs twice; give each case of a task a different id"
                )
            # Questions on one context are not independent.
            own[case_id] = Item(case_id, row.context, row.question, text_key(row.context))
    return [
        ItemSource(task, domain, list(own.values()), lambda _, item: item, length)
        for (task, domain, length), own in groups.items()
        if not tasks or task in tasks
    ]


def split_by_documents(
    messages: Callable[[Case, Documents], Sequence[Message]],
) -> Callable[[Case, int, Documents], Parts]:
    """Return the split for benchmarks without one of their own.

    The context is what the case takes from its document table, but for the question. The query is the turn's question, else the
    last user message with the context taken out.
    """

    def split(case: Case, turn: int, documents: Documents) -> Parts:
        texts = list(dict.fromkeys(text for text in _context_texts(case, documents) if text.strip()))
        context = "\n\n".join(texts)
        if question := case.turns[turn].question:
            return Parts(context, question)
        sent = messages(case, documents)
        user = next((message.content for message in reversed(sent) if message.role == "user"), "")
        for text in sorted(texts, key=len, reverse=True):
            # The last place: what stands before the texts may hold a short one by chance.
            before, found, after = user.rpartition(text)
            user = f"{before}{GAP}{after}" if found else user
        return Parts(context, user.strip())

    return split


def _context_texts(case: Case, documents: Documents) -> Iterator[str]:
    """The texts that a case's inputs name: keys of documents, or character spans of the case's own document."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            value = list(value.values())
        if isinstance(value, list | tuple):
            if len(value) == 2 and all(type(part) is int for part in value) and case.document is not None:
                yield documents[case.document][value[0] : value[1]]
                return
            for part in value:
                yield from walk(part)
        elif isinstance(value, str):
            try:
                yield documents[value]
            except InputError:
                return

    for name, value in case.inputs.items():
        if name not in _QUERY_INPUTS:
            yield from walk(value)
