"""Score the responses from a user's pipeline into a stored run (``lct runs score``), and read such runs."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

from long_context_tasks.hosts.stored import (
    DAMAGE,
    OWN,
    Found,
    StoredCase,
    StoredRun,
    facts_of,
    run_with,
    short,
)
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.schema.files import (
    content_of,
    json_rows,
    json_value,
    lines,
    loads,
    make_folder,
    write_json,
    write_whole,
)
from long_context_tasks.schema.response import (
    DOES_NOT_FIT,
    ENDPOINT_FAILED,
    Response,
    from_stored_form,
    stored_form,
)
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.schema.validated import validated
from long_context_tasks.stats.means import task_numbers

FORMAT = 1
_NAME = re.compile(r"own_(?P<task>.+)_(?P<time>\d{8}T\d{12})\.json", re.ASCII)
_KIND = "own run"


def own_runs(folder: Path, files: Sequence[str]) -> list[Found]:
    runs: list[Found] = []
    for path in (folder / name for name in files if _NAME.fullmatch(name)):
        try:
            row = loads(content_of(path))
            if row["kind"] != _KIND:
                raise ValueError(f"not of the kind {_KIND!r}")
            if path.with_suffix(".jsonl").name not in files:
                raise ValueError("the file with its rows is missing")
            runs.append(_run(path, row))
        except (OSError, *DAMAGE) as error:
            runs.append(f"{path}: damaged ({short(error)}); make it again with `lct runs score`")
    return runs


def _run(path: Path, row: Mapping[str, Any]) -> StoredRun:
    return run_with(
        row,
        "pipeline",
        provenance={},
        host=OWN,
        model=str(row["model"]),
        folder=path.parent,
        label=path.stem,
        made=str(row["made"]),
        files=(path.with_suffix(".jsonl"),),
        read=_read,
        result_file=path,
        numbers=row["numbers"],
    )


def _read(run: StoredRun) -> Iterator[StoredCase]:
    [path] = run.files
    seen: Counter[str] = Counter()
    number = 0
    try:
        with path.open("rb") as file:
            for line in lines(file):
                number += 1
                row = loads(line)
                case = str(row["case"])
                yield StoredCase(
                    id=case,
                    responses=tuple(from_stored_form(row["response"], row["status"])),
                    scores=row["scores"],
                    reasons=tuple(row["reasons"]),
                    repeat=seen[case],
                    cluster=row["cluster"],
                    labels=row["labels"],
                    turn_labels=tuple(row["turn_labels"]),
                )
                seen[case] += 1
    except (OSError, *DAMAGE) as error:
        raise InputError(
            f"{path}, line {number}: damaged ({short(error)}); make it again with `lct runs score`"
        ) from error


STATES = (DOES_NOT_FIT, ENDPOINT_FAILED)  # reasons for a missing response that are not model failures


class ResponseRow(BaseModel):
    """A response from a user's pipeline; other keys in its row are the user's own."""

    model_config = ConfigDict(coerce_numbers_to_str=True, hide_input_in_errors=True)

    id: str  # the case's id
    response: Annotated[str | None, Field(strict=True)]  # the model's text; null needs a status
    turn: Annotated[int, Field(strict=True, ge=0)] = 0  # in dialogues
    status: Literal["does_not_fit", "endpoint_failed"] | None = None  # one of STATES

    @model_validator(mode="after")
    def _states_why(self) -> Self:
        if self.response is None and self.status is None:
            raise ValueError(
                f"the response is null; write why as status ({' or '.join(STATES)}), or an empty text if the model said nothing"
            )
        return self


def read_responses(path: Path, task: LoadedTask) -> dict[str, list[Response]]:
    """Read the responses to a task's cases, in task order; cases without a row are omitted."""
    expected = '{"id": CASE, "response": TEXT} in each row, with "turn" (from 0) in conversations'
    responses: dict[str, dict[int, Response]] = {}
    for place, content in json_rows(path, expected):
        row = validated(ResponseRow, content, place, remedy=f"expected {expected}")
        case = task.by_id.get(row.id)
        if case is None:
            raise InputError(
                f"{place}: {task.name} has no case {row.id[:80]}; give the options and data that the prompts were exported with"
            )
        turns = responses.setdefault(case.id, {})
        if row.turn >= len(case.turns):
            raise InputError(f"{place}: case {case.id} has {len(case.turns)} turns, and no turn {row.turn}")
        if row.turn in turns:
            raise InputError(
                f"{place}: a second response to case {case.id}, turn {row.turn}; keep one of them"
            )
        text = None if row.response is None or row.status else task.received(row.response)
        turns[row.turn] = Response(text, row.status)
    if not responses:
        raise InputError(f"{path}: holds no responses; expected {expected}")
    ordered = {}
    for case in task.cases.cases:
        if turns := responses.get(case.id, {}):
            missing = [turn for turn in range(len(case.turns)) if turn not in turns]
            if missing:
                raise InputError(
                    f"{path}: case {case.id} has no response to turn {missing[0]}; add it, or leave out the case"
                )
            ordered[case.id] = [turns[turn] for turn in range(len(case.turns))]
    return ordered


def score_own(
    task: LoadedTask,
    responses: Mapping[str, Sequence[Response]],
    model: str,
    folder: Path,
    pipeline: str = "",
) -> StoredRun:
    """Score responses and store them as a run; a judged task gets its scores from ``lct judge run``."""
    if task.by_likelihood:
        raise InputError(
            f"{task.name}: is scored by log-likelihoods, and these are responses; take the task without _ppl"
        )
    if without_secrets(model) != model:
        raise InputError(
            "the model's name holds a key, or an address with a login or a query; give another name"
        )
    # Imported here because reports also read our own runs and need no judge code.
    from long_context_tasks.judges.task_judge import score_turns

    scores = {case: score_turns(task, task.by_id[case], turns, (), None) for case, turns in responses.items()}
    flat = [turn for turns in scores.values() for turn in turns]
    clusters = [task.by_id[case].cluster for case, turns in scores.items() for _ in turns]
    # Model names may contain slashes.
    path, made = _claimed(folder / re.sub(r"[^\w.-]", "_", model), task.name)
    about = {
        "format": FORMAT,
        "kind": _KIND,
        "model": model,
        "made": made,
        "pipeline": without_secrets(pipeline) or None,
        **facts_of(task),
        "numbers": task_numbers(flat, clusters, task.metrics, task.intervals, math.nan, task.points),
    }
    rows = (_row(task, case, responses[case], turns) for case, turns in scores.items())
    lines = (json.dumps(json_value(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_whole(path.with_suffix(".jsonl"), lines)
    write_json(path, about)
    return _run(path, about)


def _claimed(folder: Path, task: str) -> tuple[Path, str]:
    """Create the empty file of a new run's rows, which no other process has, and return the path of its numbers and its time."""
    make_folder(folder, remedy="choose another --out")
    while True:
        made = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")
        path = folder / f"own_{task}_{made}.json"
        try:
            path.with_suffix(".jsonl").touch(exist_ok=False)
        except FileExistsError:
            continue  # another process began a run in this microsecond
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({error.strerror or error}); choose another --out"
            ) from error
        return path, made


def _row(
    task: LoadedTask, name: str, responses: Sequence[Response], turns: Sequence[CaseScores]
) -> dict[str, Any]:
    case = task.by_id[name]
    text, status = stored_form(responses, conversation=task.is_conversation)
    return {
        "case": name,
        "cluster": case.cluster,
        "response": text,
        "status": status,
        "scores": {metric: [turn[metric].value for turn in turns] for metric in task.metrics},
        "reasons": [turn[task.metrics[0]].reason for turn in turns],
        "labels": dict(case.labels),
        "turn_labels": [dict(turn.labels) for turn in case.turns],
    }
