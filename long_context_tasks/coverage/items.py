"""Context and query of the cases of any benchmark, for information coverage.

Cases come from folders of built cases, from a task or a group by name (its published data), or from a foreign JSON Lines file with
the columns ``id``, ``task``, ``domain``, ``context``, ``question`` and ``answer``, of which ``context`` and ``question`` are needed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ethic.build.settings import text_key
from long_context_tasks.benchmarks.ethic.sections import context_of
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.corpora.plain_files import field_of, kind_of, read_rows
from long_context_tasks.schema import Case, CaseSet, InputError, Message, Options
from long_context_tasks.schema.case_folder import read_manifest

COLUMNS = "id, task, domain, context, question, answer (context and question are needed)"
_QUERY_INPUTS = frozenset(
    ("question", "query", "instruction", "options", "system", "language", "style", "history")
)
_GAP = "[...]"
_AFTER = re.compile(r"^\s*Now, respond to the instruction\.?\s*")


@dataclass(frozen=True)
class Item:
    """A case as coverage sees it.

    Attributes:
        id, task, domain: for the result.
        context: what is split into chunks.
        query: what has to be answered, without the context.
        cluster: the unit of intervals, mostly the document.
    """

    id: str
    task: str
    domain: str
    context: str
    query: str
    cluster: str


class ItemSource(Protocol):
    """The cases of one task and domain, read one at a time."""

    @property
    def task(self) -> str:
        """Name of the task."""

    @property
    def domain(self) -> str:
        """Name of the domain; empty where there is none."""

    def __len__(self) -> int:
        """Number of cases."""

    def read(self, place: int) -> Item:
        """The case at a place."""


@dataclass(frozen=True)
class Rows:
    """Cases that are in memory already."""

    task: str
    domain: str
    items: tuple[Item, ...]

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.items)

    def read(self, place: int) -> Item:
        """The case at a place."""
        return self.items[place]


@dataclass(frozen=True)
class BuiltCases:
    """Cases of this package, one for each turn; their long texts are read when they are asked for."""

    task: str
    domain: str
    cases: CaseSet
    turns: tuple[tuple[Case, int], ...]

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.turns)

    def read(self, place: int) -> Item:
        """The case at a place.

        Raises:
            InputError: its context cannot be told from its query.
        """
        case, turn = self.turns[place]
        context, query = parts_of(case, turn, self.cases)
        name = case.id if len(case.turns) == 1 else f"{case.id}_{turn}"
        if not context.strip() or not query.strip():
            raise InputError(
                f"{self.task}, case {name}: its context cannot be told from its question; write the cases as JSON Lines with the "
                f"columns {COLUMNS}"
            )
        return Item(name, self.task, self.domain, context, query, case.cluster)


def item_sources(what: str, options: Options, tasks: Sequence[str] = ()) -> list[ItemSource]:
    """The cases that a user names, by task and domain, in their order.

    Args:
        what: a case folder, a folder of case folders (or of such folders; a task that several hold is then named with its
            folder), a JSON Lines file, or the name of a task with published data or of a group of them.
        options: for a task by name: ``lct_data_dir`` and the like.
        tasks: only these; all without.

    Raises:
        InputError: nothing of this is there, or damaged.
    """
    path = Path(what).expanduser()
    found: list[ItemSource]
    if path.is_dir():
        found = _in_folders(path, tasks)
    elif path.is_file():
        found = [source for source in read_foreign(path) if not tasks or source.task in tasks]
    elif names := _published(what):
        found = [
            source
            for name in names
            if not tasks or name in tasks
            for source in _by_domain(name, _load(name, options))
        ]
    else:
        raise InputError(
            f"{what}: neither a folder of cases, nor a .jsonl file, nor a task or a group of tasks (see `lct tasks`); correct the name"
        )
    if not found:
        raise InputError(f"{what}: holds no cases{' of ' + ', '.join(tasks) if tasks else ''}")
    return found


def _in_folders(path: Path, tasks: Sequence[str]) -> list[ItemSource]:
    """The cases of a case folder, or of those one or two levels below."""
    folders = [path] if (path / "manifest.json").is_file() else _case_folders(path)
    if not folders:
        read_manifest(path)
    found = [
        (folder, source)
        for folder in folders
        for task in sorted(read_manifest(folder)["tasks"])
        if not tasks or task in tasks
        for source in _by_domain(task, CaseSet.read(folder, task))
    ]
    holders = Counter((source.task, source.domain) for _, source in found)
    return [
        source
        if holders[source.task, source.domain] == 1
        else replace(source, task=f"{folder.relative_to(path)}/{source.task}")
        for folder, source in found
    ]


def _case_folders(path: Path) -> list[Path]:
    # Hidden ones belong to builds that were stopped.
    found = (one.parent for depth in ("*", "*/*") for one in path.glob(f"{depth}/manifest.json"))
    return sorted(
        one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts)
    )


def _published(name: str) -> list[str]:
    """The tasks that a name stands for: itself, or the members of the group that hosts know by it; none for another name."""
    specs = catalogue.task_specs()
    if name in {spec.name for spec in specs}:
        return [name]
    groups = {
        spec.name: (f"{spec.family}_{spec.variant}",) if spec.variant else (spec.family, spec.benchmark)
        for spec in specs
        if spec.length != catalogue.ANY and spec.source != "built"
    }
    return [member for member, own in groups.items() if name in own]


def _load(name: str, options: Options) -> CaseSet:
    return load_task(name, options).cases


def _by_domain(task: str, cases: CaseSet) -> list[BuiltCases]:
    groups: dict[str, list[tuple[Case, int]]] = {}
    for case in cases.cases:
        own = groups.setdefault(str(case.labels.get("domain", "")), [])
        own += [(case, turn) for turn in range(len(case.turns))]
    return [BuiltCases(task, domain, cases, tuple(turns)) for domain, turns in groups.items()]


def read_foreign(path: Path) -> list[ItemSource]:
    """Cases of a JSON Lines file, plain or gzipped.

    Raises:
        InputError: a row without a context or a question, with file and line.
    """
    if kind_of(path) != "jsonl":
        raise InputError(f"{path}: must be a .jsonl or .jsonl.gz file with the columns {COLUMNS}")
    groups: dict[tuple[str, str], list[Item]] = {}
    seen: set[tuple[str, str, str]] = set()
    for number, (place, row) in enumerate(read_rows(path, "a case"), start=1):
        for name in ("context", "question"):
            if not isinstance(row.get(name), str) or not row[name].strip():
                raise InputError(f"{place}: no {name!r}, which must be a text; the columns are {COLUMNS}")
        own_id = field_of(row, ("id",), place, needed=False) or str(number)
        task = field_of(row, ("task",), place, needed=False) or path.name.split(".")[0]
        domain = field_of(row, ("domain",), place, needed=False)
        if (task, domain, own_id) in seen:
            raise InputError(
                f"{place}: the id {own_id!r} occurs twice; give each case of a task an id of its own"
            )
        seen.add((task, domain, own_id))
        # Questions on one context are not independent.
        item = Item(own_id, task, domain, row["context"], row["question"], text_key(row["context"]))
        groups.setdefault((task, domain), []).append(item)
    return [Rows(task, domain, tuple(items)) for (task, domain), items in groups.items()]


def parts_of(case: Case, turn: int, cases: CaseSet) -> tuple[str, str]:
    """Context and query of a turn of a case of this package; either may be empty when they cannot be told apart.

    In ETHIC's prompts the context stands between "### Context:" and "Now, respond to the instruction". For other benchmarks the
    context is what the case takes from its document table, but for the question; the query is the turn's question, else the prompt
    with the context taken out.
    """
    documents = cases.documents
    user = _last_user(case, cases)
    if (context := context_of(user)) is not None:
        return context, _AFTER.sub("", user.split(context, 1)[1]).strip()
    texts = _context_texts(case, documents)
    context = "\n\n".join(texts)
    question = case.turns[turn].question
    if question:
        return context, question
    for text in sorted(texts, key=len, reverse=True):
        # The last place: what stands before the texts may hold a short one by chance.
        before, found, after = user.rpartition(text)
        user = f"{before}{_GAP}{after}" if found else user
    return context, user.strip()


def _last_user(case: Case, cases: CaseSet) -> str:
    benchmark = next((name for name in catalogue.benchmark_names() if case.task.startswith(f"{name}_")), None)
    if benchmark is None:
        raise InputError(f"case {case.id}: no benchmark has a task {case.task}")
    messages: Sequence[Message] = catalogue.core(benchmark, "prompts").messages(case, cases.documents)
    return next((message.content for message in reversed(messages) if message.role == "user"), "")


def _context_texts(case: Case, documents: Any) -> list[str]:
    """The texts that a case's inputs name: keys of documents, or character spans of the case's own document."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, Mapping):
            for one in value.values():
                walk(one)
        elif isinstance(value, list | tuple):
            if len(value) == 2 and all(type(one) is int for one in value) and case.document is not None:
                found.append(documents[case.document][value[0] : value[1]])
                return
            for one in value:
                walk(one)
        elif isinstance(value, str):
            try:
                found.append(documents[value])
            except InputError:
                return

    for name, value in case.inputs.items():
        if name not in _QUERY_INPUTS:
            walk(value)
    return list(dict.fromkeys(text for text in found if text.strip()))
