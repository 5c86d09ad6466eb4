"""Reports reuse what earlier ones computed, and never from files that have changed."""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

pytest.importorskip("polars")
pytest.importorskip("plotly")

from collected_runs import MADE, METRICS, TASK, TIME, Run, Turn, write_lm_eval, write_opencompass
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import long_context_tasks
from long_context_tasks.cli import app
from long_context_tasks.hosts.stored import AS_IN_THE_RUN
from long_context_tasks.results import find_runs, reuse
from long_context_tasks.results.case_pages import data_state
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.evaluations import Evaluation
from long_context_tasks.results.lengths import _Outcomes
from long_context_tasks.results.reuse import Reuse
from long_context_tasks.schema.files import MOST_BYTES
from long_context_tasks.site import build
from long_context_tasks.site.build import _Page
from long_context_tasks.site.cases import CaseList
from long_context_tasks.site.pages import model_context
from long_context_tasks.site.tables import _Groups

CASES = 60
TEXT = 'The answer is A2, as it "names" the reason, naïvely.\n' * 40


@pytest.fixture(autouse=True)
def _state_of_the_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The files of these tests are new; their states count as those of old ones do.
    monkeypatch.setattr(reuse, "_SETTLED", -60.0)
    yield
    reuse._code.cache_clear()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of two hosts whose files are longer than what a run's key is made from."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    for model in ("owl", "crow", "jay"):
        cases = {
            f"c{n}": [Turn(dict.fromkeys(METRICS, float((n * 4 + len(model)) % 3 == 0)), text=TEXT)]
            for n in range(CASES)
        }
        run = Run(
            cases, model=model, task_labels={f"c{n}": ({"position": str(n % 3)}, []) for n in range(CASES)}
        )
        if model == "jay":
            write_opencompass(tmp_path / "runs", Run(cases, model=model, made=TIME))
        else:
            write_lm_eval(tmp_path / "runs", run)
            # With a second length, there is an effective length.
            longer = replace(run, task=TASK.replace("1k", "2k"), made=MADE.replace("T10", "T11"))
            write_lm_eval(tmp_path / "runs", longer)
    return tmp_path / "runs"


def report(runs: Path, out: Path) -> dict[str, bytes]:
    """Make a site; return its files."""
    done = CliRunner().invoke(app, ["report", str(runs), "--out", str(out)])
    assert done.exit_code == 0, done.output
    files = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert f"{len(files)} files, " in done.output
    return files


def fresh(runs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Make a site elsewhere, with an empty cache."""
    with monkeypatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(out) + "-cache")
        return report(runs, out)


def places(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (folder / "data").iterdir()}


def kept(tmp_path: Path) -> int:
    with sqlite3.connect(tmp_path / "cache" / "reports.sqlite") as table:
        return int(table.execute("SELECT count(*) FROM kept").fetchone()[0])


def swap_two_scores(samples: Path) -> None:
    """Swap the scores of two cases in the middle of a file; its mean, size, both ends and time stay the same."""
    before, lines = samples.stat(), samples.read_bytes().splitlines(keepends=True)
    score = re.compile(rb'"(\w+_accuracy\w*)": (0|1)\.0')
    values = [score.search(line)[2] for line in lines]  # type: ignore[index]
    place = next(n for n in range(CASES // 2 - 2, CASES) if values[n] != values[n + 1])
    for n in (place, place + 1):
        lines[n] = score.sub(lambda found: found[0][:-3] + b"%d.0" % (found[2] == b"0"), lines[n])
    samples.write_bytes(b"".join(lines))
    os.utime(samples, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert samples.stat().st_size == before.st_size


def test_the_second_site_is_the_first_and_takes_over_its_cases(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report(runs, tmp_path / "site")
    before, values = places(tmp_path / "site"), kept(tmp_path)
    assert report(runs, tmp_path / "site") == first == fresh(runs, tmp_path / "other", monkeypatch)
    assert kept(tmp_path) == values  # nothing was computed
    packs = [name for name in before if TEXT.encode()[:30] in first[f"data/{name}"].replace(b'\\"', b'"')]
    after = places(tmp_path / "site")
    assert len(packs) > 3 and all(after[name] == before[name] for name in packs)


def test_pages_are_made_again_only_if_what_they_show_has_changed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, made = report(runs, tmp_path / "site"), list[str]()

    def context(model: str, *inputs: Any) -> dict[str, Any]:
        made.append(model)
        return model_context(model, *inputs)

    monkeypatch.setattr(build, "model_context", context)
    assert report(runs, tmp_path / "site") == first and not made
    swap_two_scores(find_runs(runs / "owl").runs[0].files[0])
    report(runs, tmp_path / "site")
    assert made == ["owl"]


def test_a_changed_score_is_shown(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = report(runs, tmp_path / "site")
    swap_two_scores(find_runs(runs / "owl").runs[0].files[0])
    second = report(runs, tmp_path / "site")
    assert second != first and second == fresh(runs, tmp_path / "other", monkeypatch)
    assert second["leaderboard.csv"] == first["leaderboard.csv"]  # the same mean
    assert second["results.parquet"] != first["results.parquet"]


def test_a_new_run_is_added(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.move(runs / "owl", tmp_path / "owl")
    report(runs, tmp_path / "site")
    shutil.move(tmp_path / "owl", runs / "owl")
    assert report(runs, tmp_path / "site") == fresh(runs, tmp_path / "other", monkeypatch)


def test_another_version_of_the_package_computes_everything(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(runs, tmp_path / "site")
    values = kept(tmp_path)
    monkeypatch.setattr(long_context_tasks, "__version__", "9.9.9")
    reuse._code.cache_clear()
    report(runs, tmp_path / "site")
    assert kept(tmp_path) == 2 * values


@pytest.mark.parametrize("damage", ["file", "values", "numbers"])
def test_a_damaged_cache_is_ignored(
    damage: str, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report(runs, tmp_path / "site")
    path = tmp_path / "cache" / "reports.sqlite"
    if damage == "file":
        path.write_bytes(b"no database, but a text" * 1000)
    else:
        with sqlite3.connect(path) as table:
            value = "7" if damage == "numbers" else "substr(value, 1, length(value) - 1) || 'x'"
            table.execute(f"UPDATE kept SET value = {value}")
    assert report(runs, tmp_path / "site") == first
    assert report(runs, tmp_path / "site") == first


def test_a_page_that_somebody_changed_is_written_again(runs: Path, tmp_path: Path) -> None:
    first = report(runs, tmp_path / "site")
    for path in (tmp_path / "site" / "data").iterdir():
        path.write_bytes(path.read_bytes().replace(b"answer", b"ansWer"))
    assert report(runs, tmp_path / "site") == first


def test_a_run_whose_scores_are_unusable_leaves_no_cases(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "crow", tmp_path / "alone" / "crow")
    clean = report(tmp_path / "alone", tmp_path / "clean")
    shutil.rmtree(runs / TIME)
    for run in find_runs(runs / "owl").runs:
        # The last case has a score that the stated mean does not include.
        [samples] = run.files
        lines = samples.read_bytes().splitlines(keepends=True)
        lines[-1] = re.sub(rb'("\w+_accuracy\w*": )([01])\.0', rb"\g<1>0.5", lines[-1])
        samples.write_bytes(b"".join(lines))
    done = CliRunner().invoke(app, ["report", str(runs), "--out", str(tmp_path / "site")])
    assert done.exit_code == 1 and "but the cases give" in done.output
    assert {f"data/{name}" for name in places(tmp_path / "site")} == {
        name for name in clean if name.startswith("data/")
    }


class Rewriting:
    """Pages that change a file of a run while it is read."""

    def find(self, key: str, evaluation: Evaluation, content: str) -> bool:
        return False

    def read(self, key: str, evaluation: Evaluation, cases: Iterable[Any]) -> Iterator[Any]:
        yield from cases
        if evaluation.run.model == "owl":
            swap_two_scores(evaluation.run.files[0])

    def read_all(self, key: str, evaluation: Evaluation) -> None:
        raise AssertionError("no bundle was given")

    def keep(self, key: str) -> None:
        pass


def test_nothing_is_kept_of_a_file_that_changes_while_it_is_read(runs: Path, tmp_path: Path) -> None:
    store = Reuse(tmp_path / "kept.sqlite")
    collected = collect_with_files([runs], reuse=store, pages=Rewriting())
    models = {collected.evaluations[key].run.model for key in collected.collection.contents}
    assert len(collected.evaluations) == 5 and models == {"crow", "jay"}


def test_a_file_too_large_to_keep_is_not_hashed(runs: Path, tmp_path: Path) -> None:
    """It is read, up to the first line that is too long."""
    [samples, *_] = sorted(runs.rglob("samples_*"))
    with samples.open("ab") as file:
        file.truncate(MOST_BYTES + 1)
    before = bytes_read()
    done = CliRunner().invoke(app, ["report", str(runs), "--out", str(tmp_path / "site")])
    assert bytes_read() - before < MOST_BYTES / 4
    assert done.exit_code == 1 and f"line {CASES + 1} is longer than" in done.output


def bytes_read() -> int:
    counts = Path("/proc/self/io").read_text().split()
    return int(counts[counts.index("rchar:") + 1])


@pytest.mark.parametrize("settled", [True, False])
def test_only_a_file_that_has_settled_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: bool
) -> None:
    monkeypatch.setattr(reuse, "_SETTLED", -60.0 if settled else 60.0)
    read: list[Path] = []

    def whole(paths: Sequence[Path]) -> str:
        read.extend(paths)
        return reuse.whole(paths)

    file, store = tmp_path / "samples.jsonl", Reuse(tmp_path / "kept.sqlite")
    file.write_bytes(b"1")
    first = store.digest([file], whole)
    assert store.digest([file], whole) == first and len(read) == (1 if settled else 2)
    before = file.stat()
    file.write_bytes(b"2")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.digest([file], whole) != first


def test_the_state_of_the_data_changes_with_a_file(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "data"))
    run = find_runs(runs).runs[0]
    assert run.task == TASK
    states = [data_state(run, AS_IN_THE_RUN)]
    for text in ("a", "ab"):
        path = tmp_path / "data" / "ada_leval" / "file.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        states.append(data_state(run, AS_IN_THE_RUN))
    assert states[0] != states[1] != states[2]


def test_the_values_used_last_stay_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_MOST_BYTES", 2_500)
    keys = [Reuse().key("test", n) for n in range(3)]
    for hour, (used, made) in enumerate([((), keys[:1]), ((), keys[1:2]), (keys[:1], ()), ((), keys[2:])]):
        monkeypatch.setattr("time.time", lambda hour=hour: 3_600.0 * hour)
        store = Reuse(tmp_path / "kept.sqlite")
        assert all(map(store.get, used))
        for key in made:
            store.put(key, b"x" * 1_000)
        store.save()
    assert [store.get(key) is not None for key in keys] == [True, False, True]


def drawn(data: st.DataObject, kind: Any) -> Any:
    """Draw a value of a type, nan and infinities among its numbers, with dictionaries and lists as reports have them."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{each.name: drawn(data, types[each.name]) for each in fields(kind)})
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple and ... not in parts:
        return tuple(drawn(data, part) for part in parts)
    if origin in (list, Sequence):
        return [drawn(data, parts[0]) for _ in range(data.draw(st.integers(0, 2)))]
    if origin is Mapping:
        return {drawn(data, parts[0]): drawn(data, parts[1]) for _ in range(data.draw(st.integers(0, 2)))}
    if origin is frozenset:  # of one element, because the order of several may change
        return frozenset([drawn(data, parts[0])])
    return data.draw(st.from_type(kind))


@pytest.mark.parametrize("kind", [Cell, CaseList, _Outcomes, _Groups, _Page], ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_every_kept_value_comes_back_equal(
    kind: Any, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    value, store = drawn(data, kind), Reuse(tmp_path_factory.getbasetemp() / "kept.sqlite")
    key = store.key("test", 1)
    store.keep(kind, key, value)
    # As text, because nan does not equal itself.
    assert repr(store.find(kind, key)) == repr(value)


def test_a_kept_value_that_cannot_be_read_is_computed_again(tmp_path: Path) -> None:
    store = Reuse(tmp_path / "kept.sqlite")
    store.put(key := store.key("test", 1), b'[[0.1, {"at_least": "far"}]]')
    assert store.find(_Outcomes, key) is None


def test_two_processes_may_use_it(tmp_path: Path) -> None:
    first, second = (Reuse(tmp_path / "kept.sqlite") for _ in range(2))
    key = first.key("test", 1)
    first.put(key, b"a")
    second.put(key, b"a")
    first.save()
    second.save()
    assert first.get(key) == second.get(key) == b"a"
    assert Reuse().get(key) is None  # without a file nothing is kept
