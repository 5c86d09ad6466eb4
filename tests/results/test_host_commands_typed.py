"""The commands that fill the cells still to be run, typed into a shell and run against a server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from run_commands import published_data
from stored_cells import OTHER, TASK
from stub_server import stub_server

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.hosts.opencompass.results import find_setups
from long_context_tasks.results import find_runs
from long_context_tasks.results.plan.commands_for import Command, Model, Place, commands
from long_context_tasks.results.plan.missing import (
    ABSENT,
    DONE,
    GO_ON,
    PARTIAL,
    RUN,
    Cell,
    Wanted,
    find_cells,
    wanted,
)

REPOSITORY = Path(__file__).resolve().parents[2]
PLACE = Place(Path("results"), Path("outputs/all"), REPOSITORY / "configs" / "eval_all.py")


@pytest.fixture(scope="module")
def tokenizer() -> str:
    """A folder; made, if it must be, before the cache is another."""
    return str(demo_model_path())


@pytest.fixture(scope="module")
def data(tokenizer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"), ada_leval=3)


def typed(command: Command, folder: Path, data: Path) -> str:
    """Type a command into a shell."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {
        **os.environ,
        "PATH": path,
        "LCT_DATA_DIR": str(data),
        "OPENAI_API_KEY": "EMPTY",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command.text], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def asked_for(data: Path, *names: str) -> list[Wanted]:
    options = resolve_options({"lct_data_dir": data}, {})
    return [wanted(name, load_task(name, options)) for name in names]


@pytest.mark.hosts
def test_the_commands_of_lm_eval_fill_the_cells(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    tasks = asked_for(data, TASK, OTHER)
    with stub_server() as stub:
        model = Model("stub", stub.url)
        place = replace(PLACE, host="lm_eval", options={"n": "2"})
        [command] = commands(find_cells(tasks[:1], ["stub"], []), [model], place)
        typed(command, tmp_path, data)
        cells = find_cells(tasks, ["stub"], [find_runs(tmp_path / "results")])
        assert [(cell.state, cell.remedy) for cell in cells] == [(PARTIAL, RUN), (ABSENT, RUN)]
        assert cells[0].why == "2 of 3 responses asked for"
        assert len(stub.requests) == 2
        [command] = commands(cells, [model], replace(PLACE, host="lm_eval"))
        typed(command, tmp_path, data)
        # The two answers that were there are not asked for again.
        assert len(stub.requests) == 2 + 1 + 3
        cells = find_cells(tasks, ["stub"], [find_runs(tmp_path / "results")])
        assert [cell.state for cell in cells] == [DONE, DONE]
        assert not commands(cells, [model], place)


@pytest.mark.hosts
def test_the_commands_of_opencompass_fill_the_cells(data: Path, tokenizer: str, tmp_path: Path) -> None:
    """A new run, then one that was cut and goes on."""
    pytest.importorskip("opencompass")
    tasks = asked_for(data, TASK)
    work = tmp_path / "outputs" / "all"
    with stub_server() as stub:
        model = Model("stub", stub.url)
        place = replace(PLACE, host="opencompass", work=work)
        [command] = commands(find_cells(tasks, ["stub"], []), [model], place)
        with_tokenizer = replace(command, variables={**command.variables, "LCT_TOKENIZER": tokenizer})
        typed(with_tokenizer, tmp_path, data)
        [cell] = find_cells(tasks, ["stub"], [find_runs(work)], list(find_setups(work)))
        assert cell.state == DONE
        asked = len(stub.requests)
        _cut(cell)
        [cell] = find_cells(tasks, ["stub"], [find_runs(work)], list(find_setups(work)))
        assert (cell.state, cell.remedy) == (PARTIAL, GO_ON)
        [command] = commands([cell], [model], place)
        assert command.variables["LCT_TOKENIZER"] == tokenizer
        typed(command, tmp_path, data)
        assert len(stub.requests) == asked + 2
        [cell] = find_cells(tasks, ["stub"], [find_runs(work)], list(find_setups(work)))
        assert cell.state == DONE


def _cut(cell: Cell) -> None:
    """Leave what a killed run leaves: the first answer, and no result."""
    assert cell.run is not None and cell.run.result_file is not None
    [path] = cell.run.files
    rows = json.loads(path.read_text(encoding="utf-8"))
    path.with_name(f"tmp_{path.stem}.jsonl").write_text(json.dumps(rows["0"]) + "\n", encoding="utf-8")
    path.unlink()
    cell.run.result_file.unlink()
