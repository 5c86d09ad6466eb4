"""Cases of Riddles from LCT_DATA_DIR/riddles/riddles.json, prompt and scoring."""

from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.benchmarks.published_files import PublishedRow, checked_rows, find_file
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    CaseWriter,
    Documents,
    LoadedTask,
    Message,
    Options,
    Score,
    Turn,
    file_sha256,
)
from long_context_tasks.schema.case_folder import cached_folder


class Row(PublishedRow):
    """A row of the published file."""

    id: str
    riddle: str
    answer: str


def load_task(name: str, options: Options) -> LoadedTask:
    """Return the task."""
    path = find_file("riddles.json", options, "riddles")
    folder = cached_folder("riddles", {"sha256": file_sha256(path)}, lambda folder: convert(path, folder))
    cases = CaseSet.read(folder, name)
    return LoadedTask(
        name=name,
        version=1,
        options=options,
        cases=cases.selected(cases.cases[: options.n]),
        metrics=("found",),
        intervals=("found",),
        answer_budget=options.answer_budget or 32,
        render=render,
        score=score,
        render_turn=render_turn if parse_task(name).conversation else None,
    )


def convert(path: Path, folder: Path) -> None:
    """Write the rows of the published file as cases."""
    rows = [row for _, row in checked_rows(path, Row, "riddles")]
    with CaseWriter(folder, {}) as writer:
        writer.add_documents((row.id, row.riddle) for row in rows)
        writer.add_cases(
            "riddles_short",
            [Case(row.id, "riddles_short", {"riddle": row.id}, (Turn(row.answer),), row.id) for row in rows],
        )
        # The second turn has an answer of its own, which tells it from the first.
        writer.add_cases(
            "riddles_talk",
            [
                Case(row.id, "riddles_talk", {"riddle": row.id}, (Turn(row.answer), Turn("riddle")), row.id)
                for row in rows
            ],
        )


def render(case: Case, documents: Documents) -> list[Message]:
    """Return the prompt."""
    return [Message("user", f"{documents[case.inputs['riddle']]} What is it?")]


def render_turn(case: Case, documents: Documents, turn: int, answers: Sequence[str | None]) -> list[Message]:
    """Return the messages up to a turn."""
    messages = render(case, documents)
    if turn:
        messages += [Message("assistant", answers[0] or ""), Message("user", "And again, riddle or joke?")]
    return messages


def score(case: Case, response: str | None, status: str | None) -> CaseScores:
    """Score a response."""
    if response is None:
        return {"found": Score(None, status)}
    return {"found": Score(float(str(case.turns[0].gold) in response))}
