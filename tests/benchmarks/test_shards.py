"""Builds in several processes and in shards have the bytes of a build in one piece; shards that do not belong together are refused."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pieces
import pytest
from case_folders import contents
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_carriers import write_carriers
from typer.testing import CliRunner

import long_context_tasks
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.shards import merge_shards
from long_context_tasks.cli import app
from long_context_tasks.engines import Engine, engine_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import CaseWriter, Shard

pytestmark = pytest.mark.slow

BUILDERS = catalogue.builders()
FROM_A_SEED = [name for name in BUILDERS if name.endswith(("_synthetic", "_recast"))]
SHARDED = [name for name in FROM_A_SEED if BUILDERS[name].sharded]
TASK = "ethic_recall_synthetic"


@pytest.fixture(scope="module")
def carriers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_carriers(tmp_path_factory.mktemp("data") / "carriers", 300)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with engine_of(3) as running:
        yield running


def build(name: str, folder: Path, work: Work, carriers: Path | None, **chosen: Any) -> dict[str, object]:
    builder = BUILDERS[name]
    given = builder.settings(**{"lengths": (1000, 2000), "seed": 3, "n": 5, **chosen})
    source = carriers if builder.source is not None else None
    builder.write(source, given, folder, work)
    return contents(folder)


@pytest.mark.parametrize("name", FROM_A_SEED)
def test_every_builder_gives_the_same_bytes(
    name: str, carriers: Path, engine: Engine, tmp_path: Path
) -> None:
    chosen: dict[str, Any] = {"lengths": (2000,)} if name.startswith("ada") else {}
    if name.startswith("ethic"):
        chosen = {"n": 3, **({"domain": "medicine"} if "recall" in name else {})}
    whole = build(name, tmp_path / "whole", Work(), carriers, **chosen)
    assert build(name, tmp_path / "jobs", Work(engine), carriers, **chosen) == whole
    # More shards than cases leave some empty.
    for of in () if name not in SHARDED else (2, 7) if name == TASK else (3,):
        merged = tmp_path / f"{of}" / name
        for number in range(of, 0, -1):
            shard = Shard(number, of)
            # Shards of an odd number are made by processes, the others here.
            work = Work(engine, shard) if number % 2 else Work(shard=shard)
            build(name, shard.folder(merged), work, carriers, **chosen)
        merge_shards(merged)
        assert contents(merged) == whole


def test_books_are_read_in_processes(carriers: Path, engine: Engine, tmp_path: Path) -> None:
    chosen = {"n": None, "lengths": (2000, 4000)}
    whole = build("ada_leval_tsort", tmp_path / "whole", Work(), carriers / "novels", **chosen)
    assert build("ada_leval_tsort", tmp_path / "jobs", Work(engine), carriers / "novels", **chosen) == whole
    assert len(whole["documents.sqlite"]) == 2  # type: ignore[arg-type]


def test_all_builders_from_a_seed_are_sharded() -> None:
    assert {name for name in FROM_A_SEED if BUILDERS[name].source is None} <= set(SHARDED)


_PARTS = st.lists(st.lists(st.integers(0, 3), max_size=6).map(tuple), min_size=1, max_size=3)


@given(sizes=_PARTS, of=st.integers(1, 8))
@settings(deadline=None, max_examples=40)
def test_any_cases_come_together_in_order(
    sizes: list[tuple[int, ...]], of: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("toys") / "toy"

    def write(place: Path, shard: Shard | None) -> None:
        work = Work(shard=shard)
        with work.writer(place, {"seed": 1}) as writer:
            for task in ("toy_a", "toy_b"):
                cases = (
                    case
                    for part, own in enumerate(sizes)
                    for case in work.cases(
                        writer, partial(pieces.cases_of, own, part), range(len(own)), "toys"
                    )
                )
                writer.add_cases(task, cases)

    write(folder, None)
    whole = contents(folder)
    shutil.rmtree(folder)
    for number in range(1, of + 1):
        write(Shard(number, of).folder(folder), Shard(number, of))
    assert sum(merge_shards(folder).values()) == 2 * sum(map(sum, sizes))
    assert contents(folder) == whole


@pytest.fixture(scope="module")
def three_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shards of a build, and other shards to put in their place."""
    root = tmp_path_factory.mktemp("shards")
    for number in (1, 2, 3):
        shard = Shard(number, 3)
        build(TASK, shard.folder(root / TASK), Work(shard=shard), None, n=3)
    build(TASK, root / "seed", Work(shard=Shard(2, 3)), None, n=3, seed=4)
    build(TASK, root / "whole", Work(), None, n=3)
    return root


def put(name: str) -> Callable[[Path], None]:
    """Put another folder in the place of the second shard."""

    def change(root: Path) -> None:
        place = Shard(2, 3).folder(root / TASK)
        shutil.rmtree(place)
        shutil.copytree(root / name, place)

    return change


def second(root: Path, name: str) -> Path:
    return Shard(2, 3).folder(root / TASK) / name


def edit_manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        path = second(root, "manifest.json")
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return edit


def change_byte(root: Path) -> None:
    path = second(root, "ethic_recall_medicine_synthetic.jsonl")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def change_document(root: Path) -> None:
    with closing(sqlite3.connect(second(root, "documents.sqlite"))) as table, table:
        table.execute("UPDATE documents SET text = text || '.'")


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (
        lambda root: shutil.rmtree(Shard(2, 3).folder(root / TASK)),
        "1 of 3 shards are missing.*2/3",
    ),
    "twice": (
        lambda root: put(Shard(1, 3).folder(root / TASK).name)(root),
        "holds shard 1/3; remove it or rename it",
    ),
    "renamed": (
        lambda root: Shard(2, 3).folder(root / TASK).rename(root / f"{TASK}.shard-2-of-4"),
        "rename it to .*shard-2-of-3",
    ),
    "changed byte": (change_byte, "jsonl: was changed after it was built"),
    "changed document": (change_document, "sqlite: was changed after it was built"),
    "lost file": (lambda root: second(root, "ethic_recall_medicine_synthetic.jsonl").unlink(), "is missing"),
    "other seed": (put("seed"), "a different seed than in .*4, not 3"),
    "no shard": (put("whole"), "holds no shard"),
    "no folder of cases": (lambda root: second(root, "manifest.json").unlink(), "not a folder of cases"),
    "other version of the package": (
        edit_manifest(lambda manifest: manifest.update(long_context_tasks="0.0.1")),
        f"a different long_context_tasks than in .*0.0.1, not {long_context_tasks.__version__}",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_shards_that_do_not_belong_together_are_refused(
    name: str, three_shards: Path, tmp_path: Path
) -> None:
    root = tmp_path / "cases"
    shutil.copytree(three_shards, root)
    attack, said = ATTACKS[name]
    attack(root)
    with pytest.raises(InputError, match=said):
        merge_shards(root / TASK)
    assert not (root / TASK).exists()
    assert not [path for path in root.iterdir() if path.name.startswith(".")]


def test_cases_of_two_shards_with_one_id_are_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        shard = Shard(number, 2)
        work = Work(shard=shard)
        with work.writer(shard.folder(tmp_path / "toy"), {}) as writer:
            cases = work.cases(writer, lambda _: pieces.cases_of((1,), 0, 0), range(2), "toys")
            writer.add_cases("toy_1k", cases)
    with pytest.raises(InputError, match=r"toy/toy_1k.jsonl: a second case has the id '0_0_0'; make each id"):
        merge_shards(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["build", *arguments])
    return result.exit_code, " ".join(result.output.split())


def test_the_command_builds_shards_and_merges_them(tmp_path: Path) -> None:
    common = (TASK, "--length", "1k", "--n", "3", "--domain", "medicine")
    assert run(*common, "--out", str(tmp_path / "whole"))[0] == 0
    for number in ("1/4", "2/4", "3/4"):
        assert run(*common, "--out", str(tmp_path / "parts"), "--shard", number)[0] == 0
    code, said = run("merge", "--out", str(tmp_path / "parts"))
    assert code == 2 and "build them with --shard 4/4" in said
    assert run(*common, "--out", str(tmp_path / "parts"), "--shard", "4/4")[0] == 0
    assert run("merge", "--out", str(tmp_path / "parts"))[0] == 0
    assert contents(tmp_path / "parts" / TASK) == contents(tmp_path / "whole" / TASK)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["merge", "--length", "1k"], "takes only --out"),
        (["merge", "--out", "nowhere"], "there are no shards"),
        ([TASK, "--length", "1k", "--shard", "4/3"], "from 1/7 to 7/7"),
        ([TASK, "--length", "1k", "--jobs", "0"], "give 1 or more"),
        (
            ["ada_leval_tsort", "--length", "2k", "--books", ".", "--shard", "1/2"],
            "leave out --shard, and give --jobs",
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = run(*arguments)
    assert code == 2 and said in output, output
    assert not list(tmp_path.iterdir())


def test_cases_outside_a_part_are_refused(tmp_path: Path) -> None:
    """Merging takes the cases of the parts, so the others would be lost without a word."""
    lines = [("a", '{"id": "a"}\n'), ("b", '{"id": "b"}\n')]
    with (
        pytest.raises(InputError, match=r"toy_1k: 2 of 2 cases are in no part.*begin_part"),
        CaseWriter(tmp_path / "shard", {}, Shard(1, 2)) as writer,
    ):
        writer.add_lines("toy_1k", lines)
    assert not list(tmp_path.iterdir())
