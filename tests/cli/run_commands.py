"""`lct runs` as a user types it, and responses of a pipeline of one's own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stub_server import answer_by_hash
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.hosts.own.export import fill

ADA, QA, CONVERSATION = "ada_leval_bestanswer_1k", "elitr_bench_qa_dev", "elitr_bench_conv_dev"


@dataclass
class Said:
    """What a command printed."""

    code: int
    out: str
    err: str


def runs(*words: str | Path) -> Said:
    done = CliRunner().invoke(app, ["runs", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def published_data(folder: Path) -> Iterator[Path]:
    """What a fixture yields: files as they are published; as long as it lives, the cache lies beside them."""
    from both_hosts import write_published_files

    write_published_files("elitr_bench", folder, 0)
    write_published_files("ada_leval", folder, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(folder / "cache"))
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield folder


def exported(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def own_responses(task: str, data: Path, folder: Path) -> Path:
    """What a pipeline of one's own writes: the same model as the host's, asked in the user's own way."""
    prompts, path = folder / f"{task}_prompts.jsonl", folder / f"{task}_responses.jsonl"
    assert runs("export", task, "--data-dir", data, "--out", prompts).code == 0
    answers: dict[str, list[str]] = {}
    with path.open("w") as file:
        for row in exported(prompts):
            before = answers.setdefault(row["id"], [])
            before.append(answer_by_hash(fill(row["messages"], before)))
            file.write(json.dumps({"id": row["id"], "turn": row["turn"], "response": before[-1]}) + "\n")
    return path
