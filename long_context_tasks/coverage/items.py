"""Split cases into context and query.

Cases come from folders of built cases, from loaded tasks, or from JSON Lines files with the columns ``id``,
``task``, ``domain``, ``length``, ``context``, ``question`` and ``answer``; ``context`` and ``question`` are
required.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.response import writable
from long_context_tasks.schema.validated import Checked, validated

GAP = "[...]"
"""Placeholder for the context in a query."""
_SPLITS = ("test", "validation", "dev", "train")
COLUMNS = "id, task, domain, length, context, question, answer (context and question are needed)"
_QUERY_INPUTS = frozenset(
    ("question", "query", "instruction", "options", "system", "language", "style", "history")
)


class Parts(NamedTuple):
    """Context and query of a case; one of them is empty if they cannot be separated."""

    context: str
    query: str


Split = Callable[[Case, int, Documents], Parts | None]
"""Splits a turn of a case; None if its benchmark cannot do that."""


@dataclass(frozen=True)
class Item:
    id: str
    context: str  # text to split into chunks
    query: str  # question or instruction without the context
    cluster: str  # unit of the confidence intervals, usually the document


@dataclass(frozen=True)
class ItemSource:
    """The cases of one task, domain and length, read one at a time to save memory."""

    task: str
    domain: str  # domain of the cases; empty if they have none
    stored: Sequence[Any]  # one object per case, from which it is read
    # (task name for messages, object) -> case
    item: Callable[[str, Any], Item] = field(repr=False)
    # Target length of the cases, such as 8k; empty if they keep the length of their texts.
    length: str = ""

    def __len__(self) -> int:
        return len(self.stored)

    def read(self, place: int) -> Item:
        return self.item(self.task, self.stored[place])


def split_cases(task: str, cases: CaseSet, split: Split, length: str = "") -> list[ItemSource]:
    """Return a task's cases, one per turn, by domain and length; ``length`` is for cases without their own."""

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

    # Texts are split lazily, because only a sample is read.
    groups: dict[tuple[str, str], list[tuple[Case, int]]] = {}
    for case in cases.cases:
        own = groups.setdefault(
            (str(case.labels.get("domain", "")), length_name(case.labels.get("length", length))), []
        )
        own += [(case, turn) for turn in range(len(case.turns))]
    return [ItemSource(task, domain, turns, item, size) for (domain, size), turns in groups.items()]


def length_name(length: Any) -> str:
    """Return the shortest name of a length; empty for an empty value."""
    return format_length(parse_length(length)) if str(length or "").strip() else ""


def folder_cases(path: Path, split_of: Callable[[str], Split], tasks: Sequence[str] = ()) -> list[ItemSource]:
    """Return the cases of case folders at most two levels below a path, by task, domain and length.

    All tasks are included unless some are named. Without any case folder, the JSON Lines files below are
    read. A task found in several folders or files is named with its path.
    """
    folders = [path] if (path / "manifest.json").is_file() else _case_folders(path)
    # Other benchmarks' folders have no manifest.
    files = sorted(file for end in ("jsonl", "jsonl.gz") for file in path.rglob(f"*.{end}"))
    if not folders and files:
        return _named_apart([(file, source) for file in files for source in file_cases(file, tasks)], path)
    if not folders:
        read_manifest(path)  # raises the error that explains the contents of a case folder
    found = [
        (folder, source)
        for folder in folders
        for task in sorted(read_manifest(folder)["tasks"])
        if not tasks or task in tasks
        for source in split_cases(task, CaseSet.read(folder, task), split_of(task))
    ]
    return _named_apart(found, path)


def _named_apart(found: Sequence[tuple[Path, ItemSource]], root: Path) -> list[ItemSource]:
    """Add the path to the name of each task found in several places at the same domain and length."""
    holders = Counter((source.task, source.domain, source.length) for _, source in found)
    return [
        replace(source, task=f"{place.relative_to(root)}/{source.task}")
        if holders[source.task, source.domain, source.length] > 1
        else source
        for place, source in found
    ]


def _case_folders(path: Path) -> list[Path]:
    # Hidden folders belong to interrupted builds.
    found = (manifest.parent for depth in ("*", "*/*") for manifest in path.glob(f"{depth}/manifest.json"))
    return sorted(
        folder for folder in found if not any(part.startswith(".") for part in folder.relative_to(path).parts)
    )


def _said(value: Any) -> str:
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
    """Return the cases of a JSON Lines file, plain or gzipped, by task, domain and length.

    All tasks are included unless some are named.
    """
    if not path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        raise InputError(f"{path}: must be a .jsonl or .jsonl.gz file with the columns {COLUMNS}")
    stem = path.name.split(".")[0]
    # qmsum/test.jsonl belongs to qmsum.
    own_task = path.absolute().parent.name if stem in _SPLITS else stem
    groups: dict[tuple[str, str, str], dict[str, Item]] = {}
    for number, (place, values) in enumerate(json_rows(path, "a case as one JSON object a line"), start=1):
        row = validated(_Row, values, place, remedy=f"the columns are {COLUMNS}")
        own = groups.setdefault((row.task or own_task, row.domain, row.length), {})
        case_id = row.id or str(number)
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
    case: Case,
    turn: int,
    documents: Documents,
    render: Callable[[Case, Documents], Sequence[Message]],
) -> Parts:
    """Split a case into its texts from the document table, without the question, and its query.

    The query is the turn's question or, without one, the last user message from ``render`` with the texts
    removed.
    """
    texts = list(dict.fromkeys(text for text in _context_texts(case, documents) if text.strip()))
    context = "\n\n".join(texts)
    if question := case.turns[turn].question:
        return Parts(context, question)
    sent = render(case, documents)
    user = next((message.content for message in reversed(sent) if message.role == "user"), "")
    for text in sorted(texts, key=len, reverse=True):
        # The last occurrence: a short text may also occur in the instruction by chance.
        before, found, after = user.rpartition(text)
        user = f"{before}{GAP}{after}" if found else user
    return Parts(context, user.strip())


def _context_texts(case: Case, documents: Documents) -> Iterator[str]:
    """Yield the texts referenced by a case's inputs: document keys, or character spans of its own document."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            value = list(value.values())
        if isinstance(value, list | tuple):
            # A pair of integers is a span; a list of keys has texts.
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
