"""`lct runs` as a user types it, and responses of a pipeline of one's own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from stub_server import answer_by_hash
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.hosts.own.export import fill

ADA, QA, CONVERSATION = "ada_leval_bestanswer_1k", "elitr_bench_qa_dev", "elitr_bench_conv_dev"


class Said(NamedTuple):
    """What a command printed."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> dict[str, Any]:
        return dict(json.loads(self.out))


def lct(*words: object) -> Said:
    """Run a command in this process."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def runs(*words: object) -> Said:
    return lct("runs", *words)


def published_data(folder: Path, *, offline: bool = True, **cases: int) -> Iterator[Path]:
    """What a fixture yields: files as they are published, of each benchmark that many cases; the cache lies beside them meanwhile."""
    from both_hosts import write_published_files

    for benchmark, number in (cases or {"elitr_bench": 0, "ada_leval": 6}).items():
        write_published_files(benchmark, folder, number)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(folder / "cache"))
        if offline:
            patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield folder


def write_selections(folder: Path, question: str, answer: Callable[[int, int], str]) -> None:
    """Six cases of :data:`ADA` with chosen texts: ``question`` with the number of the case, and the answers by case and place."""
    rows = [
        {
            "question_id": str(case),
            "question": question.format(case),
            "all_answers": [answer(case, place) for place in range(3)],
            "answer": "A2",
            "tags": ["x"],
        }
        for case in range(6)
    ]
    (folder / "ada_leval").mkdir()
    (folder / "ada_leval" / "stackselect_1k.json").write_text(json.dumps(rows))


def answer_by_question(messages: list[dict[str, str]]) -> str:
    """Right, empty, or two answers, by the number that is asked about."""
    text = messages[-1]["content"]
    return "A2" if "What is 0?" in text else "" if "What is 1?" in text else "A1 or A3"


def served_model(url: str, name: str = "stub") -> str:
    """Arguments of lm-eval for the model of a stub server."""
    return f"model={name},base_url={url}/chat/completions,num_concurrent=4,tokenizer_backend=None"


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
