"""Work in processes: results in order, one error, nothing left behind whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pieces
import pytest

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.engines import engine_of
from long_context_tasks.schema import CaseWriter, InputError

pytestmark = pytest.mark.slow


def wait_for(found: Callable[[], bool]) -> None:
    """Many processes share the machine's processors with other tests."""
    end = time.monotonic() + 300
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_results_come_in_order_and_items_are_taken_a_few_ahead() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(30):
            taken.append(number)
            yield number

    with engine_of(2) as engine:
        results = engine.mapped(pieces.squared, numbers())
        assert next(results) == 0 and len(taken) <= 6
        assert list(results) == [number * number for number in range(1, 30)]


def test_workers_have_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("a", "b"):
        monkeypatch.setenv("LCT_CACHE_DIR", place)
        with engine_of(2) as engine:
            assert set(engine.mapped(pieces.cache_dir, range(3))) == {place}


def test_bad_input_in_a_worker_is_the_same_error() -> None:
    with pytest.raises(InputError, match=r"^piece 4: cannot be made; use another$"), engine_of(2) as engine:
        list(engine.mapped(partial(pieces.refuse, 4), range(100)))


def test_a_killed_worker_is_one_error_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fewer --jobs"), engine_of(2) as engine:
        work = Work(engine)
        with CaseWriter(tmp_path / "new" / "toy", {}) as writer:
            cases = work.cases(writer, partial(pieces.cases_or_death, 3), range(10), "toys")
            writer.add_cases("toy", cases)
    assert list(tmp_path.iterdir()) == []


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import pieces, sys; from functools import partial; from pathlib import Path; from long_context_tasks.engines import engine_of\n"
        "with engine_of(2) as engine: list(engine.mapped(partial(pieces.sleep, Path(sys.argv[1])), range(4)))"
    )
    here = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": here}
    )
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert all(map(alive, workers))
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(map(alive, workers)))


def test_an_interrupted_build_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    # A shell that starts the tests in the background has them, and all they start, ignore this signal.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; from long_context_tasks.cli import app; app()", "build"]
    command += ["ethic_recall_synthetic", "--length", "128k", "--out", str(tmp_path / "cases"), "--jobs", "2"]
    build = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    # Both workers are at work when several documents are written; before, one that starts may have its own last words.
    wait_for(lambda: any(path.stat().st_size > 2_000_000 for path in tmp_path.rglob("*.sqlite")))
    os.killpg(build.pid, signal.SIGINT)
    _, said = build.communicate(timeout=300)
    assert (build.returncode, said.strip().splitlines()[-1]) == (130, "interrupted"), said
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("jobs", "name", "said"),
    [
        (0, "", "give 1 or more"),
        (2, "ray", "give one of them"),
        (1, "dask", "there is only ray"),
        (1, "rayon", "there is only ray"),
    ],
)
def test_engines_that_there_are_not(jobs: int, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        engine_of(jobs, name)
