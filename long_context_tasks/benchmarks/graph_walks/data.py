"""Load the cases of a task and render them; read the published files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.graph_walks.scoring import METRICS, score_case
from long_context_tasks.benchmarks.published_files import (
    PublishedRow,
    checked_rows,
    find_file,
    published_length,
)
from long_context_tasks.benchmarks.run_cases import load_published_or_seeded
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    Documents,
    LoadedTask,
    Message,
    Options,
    Turn,
    file_sha256,
)
from long_context_tasks.schema.case_folder import cached_folder, text_key

NAME = "graph_walks"
_OPERATION = "\nOperation:\n"  # separates the graph from the question


class _Row(PublishedRow):
    prompt: str
    problem_type: Annotated[Literal["bfs", "parents"], BeforeValidator(str.lower)]
    answer_nodes: list[str] = Field(validation_alias=AliasChoices("answer_nodes", "answer"))


def load_task(name: str, options: Options) -> LoadedTask:
    return load_published_or_seeded(name, options, render, score_case, METRICS, _published)


def render(case: Case, documents: Documents) -> list[Message]:
    graph = documents[case.inputs["graph"]]
    return [Message("user", graph + str(case.turns[0].question), len(graph))]


def _published(spec: TaskSpec, options: Options) -> CaseSet:
    file = spec.card.files[published_length(spec, options, spec.card.files)]
    path = find_file(file, options, NAME, spec.name)
    made_from = {"file": file, "sha256": file_sha256(path), "card": card(NAME).version}
    folder = cached_folder(f"{NAME}_{path.stem}", made_from, lambda folder: convert(path, folder))
    return CaseSet.read(folder, spec.family)


def convert(path: Path, folder: Path) -> None:
    """Convert a published file to a case folder with one file for each task."""
    rows = [row for _, row in checked_rows(path, _Row, NAME)]
    with CaseWriter(folder, {"source": {"file": path.name}}) as writer:
        for task in card(NAME).tasks:
            writer.add_cases(f"{NAME}_{task}", _cases(task, rows, writer))


def _cases(task: str, rows: list[_Row], writer: CaseWriter) -> Iterator[Case]:
    for number, row in enumerate(rows, start=1):
        if row.problem_type == task:
            graph, mark, operation = row.prompt.rpartition(_OPERATION)
            key = text_key(graph)
            writer.add_documents([(key, graph)])
            turn = Turn(row.answer_nodes, mark + operation, {"nodes_to_find": len(row.answer_nodes)})
            # Questions about one graph are not independent, so they form a cluster.
            yield Case(f"{task}_{number}", f"{NAME}_{task}", {"graph": key}, (turn,), key, document=key)
