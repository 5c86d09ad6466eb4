"""A disk that is full, from the first byte or later, and one that cannot be written: one clear line, and nothing half done is left."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from annotation_study import make_study
from collected_runs import Run, simple, write_lm_eval
from judge_server import judge_server
from kills import ALL
from needs import needs
from run_commands import ADA, QA, Said, lct, own_responses, published_data, runs
from stored_runs import judge_by_seed, judge_file
from written_book import paragraphs

from long_context_tasks.annotation.study import Annotation

pytestmark = [pytest.mark.faults, pytest.mark.slow, needs("polars")]

ROOMS = (0, 8 << 10, 24 << 10, 60 << 10) if ALL else (0,)
"""Bytes that a disk of 1 MB has left."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An empty disk of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "lct-test", place], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the commands read: a book, published files, responses, runs, a study, pairs of words, a judge."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "books").mkdir()
    (folder / "books" / "0.txt").write_text("\n\n".join(paragraphs(400)), encoding="utf-8")
    pairs = [{"ref": f"she saw the {n} boats", "hyp": f"she saw a {n} boats"} for n in range(30)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "said.txt").write_text("She saw the boats and the harbour, and went home. " * 400)
    rows = [
        {"id": f"q{n}", "question": f"What is {n}?", "reference": "a", "candidate": "b", "ratings": [1, 4]}
        for n in range(60)
    ]
    (folder / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for model in ("owl", "crow"):
        write_lm_eval(folder / "runs", Run(simple([1.0, 0.0] * 30), model=model))
    said = [Annotation("q1/small", name, 3) for name in ("ana", "ben", "cleo")]
    make_study(folder / "study.json", said=said)
    for data in published_data(folder / "published"):
        for task in (ADA, QA):
            own_responses(task, data, folder)
        assert judgeable(folder, folder / "judged").code == 0
        with judge_server(judge_by_seed) as server:
            judge_file(folder / "judge.yaml", server.url, seeds=[*range(40)], asks=1)
            yield folder


def judgeable(sources: Path, out: Path) -> Said:
    words = ("score", QA, sources / f"{QA}_responses.jsonl", "--model", "m", "--out", out)
    return runs(*words, "--data-dir", sources / "published")


Command = Callable[[Path, Path], list[object]]
COMMANDS: dict[str, Command] = {
    "build books": lambda s, d: [
        *("build", "ada_leval_tsort", "--books", s / "books", "--length", "2k"),
        *("--out", d / "cases"),
    ],
    "build from a seed": lambda s, d: [
        *("build", "ethic_recall_synthetic", "--length", "2k", "--n", 2, "--out", d / "cases")
    ],
    "export prompts": lambda s, d: [
        *("runs", "export", ADA, "--data-dir", s / "published", "--out", d / "prompts.jsonl")
    ],
    "export prompts as Parquet": lambda s, d: [
        *("runs", "export", ADA, "--data-dir", s / "published", "--out", d / "prompts.parquet")
    ],
    "score responses": lambda s, d: [
        *("runs", "score", ADA, s / f"{ADA}_responses.jsonl", "--model", "m", "--out", d / "results"),
        *("--data-dir", s / "published"),
    ],
    "judge": lambda s, d: [
        *("judge", "run", d / "judged", "--judge", s / "judge.yaml", "--data-dir", s / "published")
    ],
    "report": lambda s, d: ["report", s / "runs", "--out", d / "site"],
    "pack": lambda s, d: ["report", "pack", s / "runs", "--out", d / "bundles"],
    "compare models": lambda s, d: ["report", "compare", s / "runs", "--out", d / "comparison.json"],
    "learn noise": lambda s, d: ["noise", "learn", s / "pairs.jsonl", "--out", d / "rules.jsonl"],
    "inject noise": lambda s, d: ["noise", "inject", s / "said.txt", "--wer", 0.3, "--out", d / "noisy.txt"],
    "export ratings": lambda s, d: ["annotate", "export", s / "study.json", "--out", d / "ratings.jsonl"],
    "export for POTATO": lambda s, d: [
        *("annotate", "export", s / "study.json", "--format", "potato", "--out", d / "potato")
    ],
    "training data": lambda s, d: ["orca", "data", s / "rated.jsonl", "--out", d / "rated.jsonl"],
    "split training data": lambda s, d: [
        *("orca", "data", s / "rated.jsonl", "--split", "questions", "--out", d / "parts")
    ],
    "new benchmark": lambda s, d: ["new", "riddles", "--out", d],
}


def files(folder: Path) -> set[str]:
    """Files that a user or a later command takes for finished ones."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if not any(part.startswith(".") for part in path.parts)}


def assert_clear(done: Said, disk: Path) -> None:
    """Bad input, in one line that names a place on the disk."""
    assert done.code in (1, 2), done.err
    lines = [line for line in done.err.splitlines() if line.startswith(("error: ", "skipped: "))]
    assert lines and all(str(disk) in line or "see above" in line for line in lines), done.err
    assert "Traceback" not in done.err + done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(name: str, sources: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(disk / "cache"))
    failed = 0
    for room in ROOMS:
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if name == "judge":
            shutil.copytree(sources / "judged", disk / "judged")
        used = shutil.disk_usage(disk)
        with (disk / "filler").open("wb", buffering=0) as filler:
            filler.write(b"x" * max(0, used.free - room))
        before = files(disk)
        done = lct(*COMMANDS[name](sources, disk))
        if done.code != 0:
            failed += 1
            assert_clear(done, disk)
            left = {path for path in files(disk) - before if not path.startswith("cache/")}
            assert not left
    assert failed


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_cannot_be_written(
    name: str, sources: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(disk / "cache"))
    if name == "judge":
        shutil.copytree(sources / "judged", disk / "judged")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = lct(*COMMANDS[name](sources, disk))
    assert_clear(done, disk)
