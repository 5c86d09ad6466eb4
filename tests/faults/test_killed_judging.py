"""Judging that is killed at any moment: the same command gives the same files, and only calls in flight are made twice."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from judge_server import Answer, JudgeServer, judge_server
from kills import ALL, LCT, Command, killed_and_finished, moments
from needs import needs
from run_commands import CONVERSATION, QA, own_responses, published_data, runs
from stored_runs import judge_by_seed, judge_file

pytestmark = [pytest.mark.faults, pytest.mark.slow, needs("polars")]

IN_FLIGHT = 4
TASKS = (QA, CONVERSATION)


@dataclass(frozen=True)
class Judging:
    """Stored responses, and the judge who rates them."""

    responses: Path
    server: JudgeServer
    judge: Path
    data: Path

    def command(self, folder: Path) -> Command:
        """Judge a copy of the responses in a new folder; calls are counted from here."""
        shutil.copytree(self.responses, folder / "results")
        self.server.bodies.clear()
        words = (*LCT, "judge", "run", folder / "results", "--judge", self.judge, "--data-dir", self.data)
        variables = {"LCT_CACHE_DIR": str(folder / "cache")}
        return Command(words, folder, variables, begun=lambda: bool(self.server.bodies))

    def calls(self) -> Counter[str]:
        """How often each was made; the check of the judge, at each start, is left out."""
        texts = [json.dumps([body["messages"], body["seed"]]) for body in self.server.bodies]
        return Counter(text for text in texts if "Answer with the word yes" not in text)


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judging]:
    folder = tmp_path_factory.mktemp("judging")

    def slowly(body: dict[str, Any], number: int) -> Answer:
        return replace(judge_by_seed(body, number), delay=0.02)

    with judge_server(slowly) as server:
        file = judge_file(
            folder / "judge.yaml", server.url, concurrency=IN_FLIGHT, seeds=[*range(24)], asks=2
        )
        for data in published_data(folder / "published", elitr_bench=0):
            for task in TASKS:
                responses = own_responses(task, data, folder)
                words = ("score", task, responses, "--model", "m", "--data-dir", data)
                assert runs(*words, "--out", folder / "results").code == 0
            yield Judging(folder / "results", server, file, data)


def judged(command: Command) -> dict[str, Any]:
    """What was written; the time and the price of the last run are its own."""
    found: dict[str, Any] = {}
    for path in sorted((command.folder / "results").rglob("*")):
        # A file that was being written when its process was killed is hidden, and nobody reads it.
        if not path.is_file() or path.suffix == ".part":
            continue
        found[str(path.relative_to(command.folder))] = path.read_bytes()
        if path.suffix == ".json" and "judged" in path.parts:
            row = json.loads(path.read_text())
            assert row.pop("judged") and row.pop("usage")
            found[str(path.relative_to(command.folder))] = row
    return found


@dataclass(frozen=True)
class Undisturbed:
    """What a run without a fault takes, writes and asks."""

    seconds: float
    files: dict[str, Any]
    calls: Counter[str]


@pytest.fixture(scope="module")
def whole(judging: Judging, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    command = judging.command(tmp_path_factory.mktemp("whole"))
    found = Undisturbed(command.finish(), judged(command), judging.calls())
    assert len(found.calls) > 100 and set(found.calls.values()) == {1}
    assert sum("judged" in name for name in found.files) == 2 * len(TASKS)
    return found


def test_killed_judging_goes_on(judging: Judging, whole: Undisturbed, tmp_path: Path) -> None:
    for number, moment in moments("judging"):
        again = killed_and_finished(judging.command, tmp_path / str(number), moment * whole.seconds)
        assert judged(again) == whole.files
        assert judging.calls().keys() == whole.calls.keys()
        assert (judging.calls() - whole.calls).total() <= IN_FLIGHT


@pytest.mark.skipif(
    not ALL, reason="`make faults` tries it; `make test` has two smaller clients of one store"
)
def test_two_processes_judge_the_same_at_once(judging: Judging, whole: Undisturbed, tmp_path: Path) -> None:
    """They share a store: what one has is not asked by the other, and both write the same files."""
    both = judging.command(tmp_path / "both")
    processes = [both.start(), both.start()]
    assert [process.wait(300) for process in processes] == [0, 0], both.output()
    assert judged(both) == whole.files
    assert judging.calls() == whole.calls
