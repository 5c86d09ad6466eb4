"""A Ray cluster of two nodes on this machine: bytes as in one process; a killed worker costs what it had in hand, and no more."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pieces
import pytest
from case_folders import contents
from judge_server import judge_server
from run_commands import lct
from scored_again import scored, write_runs
from stored_runs import judge_by_seed, judge_file

from long_context_tasks import engines
from long_context_tasks.engines import engine_of
from long_context_tasks.schema import InputError

pytestmark = pytest.mark.engines

BUILD = ("build", "ethic_recall_synthetic", "--length", "2k", "--n", "6", "--seed", "3")


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    cluster_utils = pytest.importorskip(
        "ray.cluster_utils", reason="Ray is not installed (pip install '.[ray]')"
    )
    with pytest.MonkeyPatch.context() as patch:
        # Workers find the package and the functions of the tests as this process does.
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        )
        patch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "220")
        memory = 80 * 2**20
        two = cluster_utils.Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "object_store_memory": memory, "include_dashboard": False},
        )
        two.add_node(num_cpus=1, object_store_memory=memory)
        patch.setenv("RAY_ADDRESS", two.address)
        yield two
        two.shutdown()


def test_a_build_has_the_same_bytes(tmp_path: Path) -> None:
    assert lct(*BUILD, "--out", tmp_path / "here").code == 0
    done = lct(*BUILD, "--out", tmp_path / "there", "--engine", "ray")
    assert done.code == 0, done.err
    folders = [tmp_path / place / "ethic_recall_synthetic" for place in ("here", "there")]
    assert contents(folders[0]) == contents(folders[1])


def test_shards_of_a_cluster_and_of_this_machine_come_together(tmp_path: Path) -> None:
    for number, engine in enumerate((("--engine", "ray"), ()), start=1):
        assert lct(*BUILD, "--out", tmp_path / "parts", "--shard", f"{number}/2", *engine).code == 0
    assert lct("build", "merge", "--out", tmp_path / "parts").code == 0
    assert lct(*BUILD, "--out", tmp_path / "whole").code == 0
    folders = [tmp_path / place / "ethic_recall_synthetic" for place in ("parts", "whole")]
    assert contents(folders[0]) == contents(folders[1])


def test_both_nodes_work_and_a_killed_worker_costs_its_piece_only(tmp_path: Path) -> None:
    with engine_of(name="ray") as engine:
        assert list(engine.mapped(partial(pieces.die_once, tmp_path), range(40))) == list(range(40))
    workers = {number: (tmp_path / f"{number}").read_text().split() for number in range(40)}
    assert {number: len(tries) for number, tries in workers.items() if len(tries) > 1} == {3: 2}
    assert len({worker for tries in workers.values() for worker in tries}) >= 2


def test_a_node_that_goes_takes_nothing_with_it(cluster: Any, tmp_path: Path) -> None:
    third = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    with engine_of(name="ray") as engine:
        results = engine.mapped(pieces.squared, range(60))
        first = [next(results) for _ in range(5)]
        cluster.remove_node(third, allow_graceful=False)
        assert first + list(results) == [number * number for number in range(60)]


def test_a_worker_that_always_dies_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_TRIES_AGAIN", 1)
    with (
        pytest.raises(InputError, match="lost the worker of one piece 2 times"),
        engine_of(name="ray") as engine,
    ):
        list(engine.mapped(partial(pieces.die, 2), range(5)))


def test_bad_input_in_a_worker_is_the_same_error(tmp_path: Path) -> None:
    said = r"^piece 4: cannot be made; use another$"
    with pytest.raises(InputError, match=said), engine_of(name="ray") as engine:
        list(engine.mapped(partial(pieces.refuse, 4), range(100)))
    code, _, said = lct(
        "build",
        "ethic_organize_recast",
        "--length",
        "1k",
        "--carriers",
        tmp_path,
        "--out",
        tmp_path / "x",
        "--engine",
        "ray",
    )
    assert code == 2 and "is missing" in said and not (tmp_path / "x").exists()


def test_another_version_on_a_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("long_context_tasks.__version__", "99.0")
    with pytest.raises(InputError, match="this one 99"), engine_of(name="ray") as engine:
        list(engine.mapped(pieces.squared, range(3)))


def test_workers_have_the_settings_but_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("LCT_OTHER_PASSWORD", "open sesame")
    with engine_of(name="ray") as engine:
        assert set(engine.mapped(pieces.cache_dir, range(3))) == {"elsewhere"}
    assert "LCT_OTHER_PASSWORD" not in engines._settings()


def test_judging_and_rescoring_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = write_runs(tmp_path / "runs")
    here = scored(runs, tmp_path / "a", judge=None)
    assert scored(runs, tmp_path / "b", "--engine", "ray", judge=None) == here
    with judge_server(judge_by_seed) as server:
        file = judge_file(tmp_path / "judge.yaml", server.url, seeds=[1, 2])
        judged = scored(runs, tmp_path / "c", judge=file)
        monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
        assert scored(runs, tmp_path / "d", "--engine", "ray", judge=file) == judged


def test_no_cluster_at_an_address_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS")
    with pytest.raises(InputError, match="no cluster answers"), engine_of(name="ray://127.0.0.1:9"):
        pass
