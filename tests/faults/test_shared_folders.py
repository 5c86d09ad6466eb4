"""Several processes that write one case folder, or want one folder of the cache, at the same time."""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kills import ALL

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.own.score import score_own
from long_context_tasks.results import find_runs
from long_context_tasks.schema.case import Case, Turn
from long_context_tasks.schema.case_folder import CaseSet, CaseWriter, cached_folder
from long_context_tasks.schema.response import Response

pytestmark = pytest.mark.faults

PROCESSES, ROUNDS = 4, 200 if ALL else 20


def in_processes(action: Callable[..., None], *arguments: Any) -> None:
    """Do it in several processes at once; each has to end well."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(PROCESSES)

    def child(number: int) -> None:
        barrier.wait()
        action(number, *arguments)

    processes = [context.Process(target=child, args=(number,)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * PROCESSES


def write(folder: Path, text: str, n: int = 5) -> None:
    with CaseWriter(folder, {"text": text}) as writer:
        writer.add_documents([("d", text)])
        writer.add_cases("toy", [Case(f"c{i}", "toy", {"text": "d"}, (Turn("x"),), "d") for i in range(n)])


def test_writers_of_one_case_folder_do_not_meet(tmp_path: Path) -> None:
    def build(number: int, folder: Path) -> None:
        for _ in range(ROUNDS):
            write(folder, f"text of {number}")

    in_processes(build, tmp_path / "toy")
    cases = CaseSet.read(tmp_path / "toy", "toy")
    assert len(cases) == 5 and cases.documents["d"] == cases.manifest["options"]["text"]
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_a_folder_of_the_cache_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))

    def want(_: int, log: Path) -> None:
        def slowly(folder: Path) -> None:
            with log.open("a") as file:
                file.write(f"{folder.name}\n")
            time.sleep(0.02)
            write(folder, "text")

        for round_ in range(ROUNDS // 4):
            folder = cached_folder("toy", {"round": round_}, slowly)
            assert len(CaseSet.read(folder, "toy")) == 5

    in_processes(want, tmp_path / "log")
    written = (tmp_path / "log").read_text().splitlines()
    assert len(written) == len(set(written)) == ROUNDS // 4


def test_runs_scored_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    task = load_task("ada_leval_bestanswer_1k_synthetic", {"lct_n": 2})

    def score(number: int) -> None:
        for _ in range(ROUNDS):
            responses = {case.id: [Response(f"A{number + 1}")] for case in task.cases.cases}
            score_own(task, responses, "model", tmp_path)

    in_processes(score)
    found = find_runs(tmp_path)
    assert len(found.runs) == PROCESSES * ROUNDS and not found.problems
    assert len({run.made for run in found.runs}) == len(found.runs)
    texts = [next(iter(run.cases())).responses[0].text for run in found.runs]
    assert {text: texts.count(text) for text in texts} == {f"A{n + 1}": ROUNDS for n in range(PROCESSES)}
