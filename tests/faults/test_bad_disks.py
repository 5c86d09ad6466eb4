"""A disk that is full, from the first byte or later, and one that cannot be written: one clear line, nothing half done, and the same command goes on."""

import json
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from annotation_study import make_study
from collected_runs import Run, simple, write_lm_eval
from file_server import file_server
from json_lines import write_rows
from judge_server import judge_server
from kills import ALL
from needs import needs
from orca_checkpoints import save_tiny_lm, saved_checkpoint
from orca_training import files_of, rated_items, rows_of
from run_commands import ADA, QA, Said, lct, own_responses, published_data, runs
from stored_runs import judge_by_seed, judge_file
from written_book import paragraphs

from long_context_tasks.annotation.study import Annotation
from long_context_tasks.benchmarks.downloads import fetch_file
from long_context_tasks.hosts.opencompass.rows import CASE, RowStore
from long_context_tasks.schema import InputError

pytestmark = [pytest.mark.faults, pytest.mark.slow, needs("polars")]

ROOMS = (0, 8 << 10, 24 << 10, 60 << 10) if ALL else (0,)
"""Bytes that a disk has left."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An empty disk of 16 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "lct-test", place], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def only(room: int, disk: Path) -> Iterator[None]:
    """Fill a disk up to so many bytes for the time of the block."""
    free = shutil.disk_usage(disk).free
    with (disk / "filler").open("wb", buffering=0) as filler:
        filler.write(b"x" * max(0, free - room))
    yield
    (disk / "filler").unlink()


def empty(disk: Path) -> None:
    for path in disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the commands read: a book, published files, responses, runs, a study, pairs of words, a judge."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "books").mkdir()
    (folder / "books" / "0.txt").write_text("\n\n".join(paragraphs(400)), encoding="utf-8")
    pairs = [{"ref": f"she saw the {n} boats", "hyp": f"she saw a {n} boats"} for n in range(30)]
    write_rows(folder / "pairs.jsonl", pairs)
    (folder / "said.txt").write_text("She saw the boats and the harbour, and went home. " * 400)
    rows = [
        {"id": f"q{n}", "question": f"What is {n}?", "reference": "a", "candidate": "b", "ratings": [1, 4]}
        for n in range(60)
    ]
    write_rows(folder / "rated.jsonl", rows)
    for model in ("owl", "crow"):
        write_lm_eval(folder / "runs", Run(simple([1.0, 0.0] * 30), model=model))
    saved_checkpoint(folder / "checkpoint")
    save_tiny_lm(folder / "lm")
    for part, seed in (("train", 0), ("dev", 9)):
        write_rows(folder / f"{part}.jsonl", rows_of(rated_items(8, seed)))
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
    "score with ORCA": lambda s, d: [
        *("orca", "score", s / "rated.jsonl", "--checkpoint", s / "checkpoint", "--out", d / "scored.jsonl")
    ],
    "rate": lambda s, d: [*("orca", "rate", s / "rated.jsonl", "--baselines", "--out", d / "rated.jsonl")],
    "compare stacks": lambda s, d: [
        *("gate", s / "runs" / "owl", s / "runs" / "owl", "--within", 20, "--out", d / "gate")
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
        empty(disk)
        if name == "judge":
            shutil.copytree(sources / "judged", disk / "judged")
        with only(room, disk):
            before = files(disk)
            done = lct(*COMMANDS[name](sources, disk))
            left = files(disk) - before
        if done.code != 0:
            failed += 1
            assert_clear(done, disk)
            assert not [path for path in left if not path.startswith("cache/") and not path.endswith(".part")]
            again = lct(*COMMANDS[name](sources, disk))
            assert again.code == 0, again.err
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


def training(sources: Path, out: Path) -> Said:
    files = "--train", sources / "train.jsonl", "--dev", sources / "dev.jsonl", "--model", sources / "lm"
    size = "--epochs", 2, "--batch-size", 4, "--lora-rank", 2, "--head", "beta", "--device", "cpu"
    return lct("orca", "train", *files, *size, "--out", out)


def test_a_training_on_a_full_disk(sources: Path, disk: Path, tmp_path: Path) -> None:
    """Adapter, head and tokenizer are written by three libraries, whose exceptions for it differ."""
    assert training(sources, tmp_path / "whole").code == 0
    expected = files_of(tmp_path / "whole")
    names = set()
    for room in range(0, 1 << 20, 8 << 10):
        empty(disk)
        with only(room, disk):
            done = training(sources, disk / "out")
        if done.code == 0:
            break
        assert_clear(done, disk)
        assert "make room and give the same command again" in done.err
        names |= {name for name in ("state.safetensors", "best") if f"{name}: cannot be written" in done.err}
        assert not (disk / "out").exists()
        assert training(sources, disk / "out").code == 0
        assert files_of(disk / "out") == expected
    assert names == {"state.safetensors", "best"}


def test_a_training_beyond_the_largest_file(sources: Path, tmp_path: Path) -> None:
    """As on a disk with a quota, and also without the right to mount one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, before[1]))
    try:
        done = training(sources, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert_clear(done, tmp_path)
    assert "state.safetensors: cannot be written (File too large)" in done.err
    assert training(sources, tmp_path / "out").code == 0


def test_a_download_to_a_full_disk_goes_on(disk: Path) -> None:
    content = bytes(range(256)) * 1024
    with file_server(content) as server:
        with (
            only(100 << 10, disk),
            pytest.raises(InputError, match=r"x\.json\.part: cannot be written \(No space"),
        ):
            fetch_file([f"{server.url}/x.json"], disk / "x.json")
        assert files(disk) <= {"x.json.part", "x.json.part.json"}
        fetch_file([f"{server.url}/x.json"], disk / "x.json")
    assert (disk / "x.json").read_bytes() == content and files(disk) == {"x.json"}
    assert server.asked[-1][1] != server.asked[0][1]


def test_responses_of_opencompass_on_a_full_disk(disk: Path) -> None:
    cases = [str(number) for number in range(40)]
    rows = [{CASE: case, "prediction": "x" * 1000} for case in cases]
    store = RowStore(str(disk), "task.json")
    with (
        only(20 << 10, disk),
        pytest.raises(InputError, match=r"tmp_task\.jsonl: cannot be written \(No space"),
    ):
        for row in rows:
            store.add([row])
    again = RowStore(str(disk), "task.json")
    kept = again.restore(cases)
    assert 10 < kept < 20
    again.add(rows[kept:])
    again.finish()
    found = json.loads((disk / "task.json").read_text())
    assert [found[case]["prediction"] for case in cases] == [row["prediction"] for row in rows]
    assert files(disk) == {"task.json"}
