"""`lct report` with a benchmark of another package whose own code fails, or which is not installed."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from needs import needs
from plugins import installed
from run_commands import lct

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.own.score import score_own
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import CaseScores, LoadedTask, Options, Score
from long_context_tasks.schema.report import HeatMap, ScoredRun, Section, Table
from long_context_tasks.schema.response import Response
from long_context_tasks.site.contents import heat_maps, judge_sentences

pytestmark = needs("polars")
TOYS = Path(__file__).parents[1] / "contract" / "toys"
KEYS, OURS = "registers_keys_1k", "ada_leval_bestanswer_1k_synthetic"


def fail(*_: Any) -> Any:
    return 1 / 0


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    with installed(TOYS):
        yield type(catalogue.benchmark("registers"))


def answered(name: str, folder: Path, **options: Any) -> Path:
    """Write a run of a task whose answers are right."""
    task = catalogue.load_task(name, {"lct_n": 4, **options})
    right = {case.id: [Response(json.dumps(turn.gold)) for turn in case.turns] for case in task.cases.cases}
    score_own(task, right, "owl", folder)
    return folder


@pytest.mark.parametrize(
    ("method", "part"),
    [
        ("labels", "added labels"),
        ("rating", "checks of scores against verdicts"),
        ("sections", "sections of its own report"),
        ("heat_maps", "heat maps"),
    ],
)
def test_the_site_is_made_without_the_part_that_fails(
    toys: type, method: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    answered(KEYS, tmp_path / "runs")
    monkeypatch.setattr(toys, method, fail)
    done = lct("report", tmp_path / "runs", "--out", tmp_path / "site")
    named = f"registers: {part} are left out: ZeroDivisionError: division by zero"
    assert done.code == 1 and f"problem: {named}" in done.err, done
    page = (tmp_path / "site" / "index.html").read_text()
    assert named in page and (tmp_path / "site" / "task" / f"{KEYS}.html").is_file()


def test_the_line_of_the_plug_in_that_fails_is_named(
    toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    from lct_toys.registers import data  # type: ignore[import-not-found]

    answered(KEYS, tmp_path / "runs")
    monkeypatch.setattr(data, "Section", fail)
    done = lct("report", tmp_path / "runs", "--out", tmp_path / "site", "--json")
    [problem] = json.loads(done.out)["result"]["problems"]
    assert re.search(r"sections .* division by zero \(registers/data.py, line \d+\)$", problem), problem
    assert done.code == 1 and problem in done.err
    assert "1 problem, named above; exit code 1" in done.err


def test_pages_of_cases_end_where_a_prompt_fails(
    toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    from lct_toys.registers import data  # type: ignore[import-not-found]

    answered(KEYS, tmp_path / "runs")
    monkeypatch.setattr(data, "render", fail)
    done = lct("report", tmp_path / "runs", "--out", tmp_path / "site")
    assert done.code == 0 and re.search(f"single cases of {KEYS} .* ZeroDivisionError", done.err), done


def test_other_tables_are_printed_when_one_benchmark_s_fail(
    toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(KEYS, tmp_path / "runs")
    command = ("report", tmp_path / "runs", "--section", "registers", "--json")
    monkeypatch.setattr(toys, "sections", lambda *_: [])
    assert lct(*command).code == 0
    wide = lambda *_: [Table("t", "title", ("model", "score"), (("owl",),))]  # noqa: E731
    monkeypatch.setattr(toys, "sections", wide)
    assert "table t: rows need a cell for each of the columns" in lct(*command).err
    monkeypatch.setattr(toys, "sections", fail)
    done = lct(*command)
    named = "registers: tables of --section are left out: ZeroDivisionError: division by zero"
    assert done.code == 1 and f"problem: {named}" in done.err
    assert json.loads(done.out)["result"]["problems"] == [named]


def test_a_heat_map_has_all_lengths_of_a_model(
    toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")

    def heat_map(title: str, runs: list[ScoredRun]) -> HeatMap:
        means = [[sum(turn.value or 0 for turn in run.turns()) / 4] for run in runs]
        return HeatMap(
            title, "caption", "place", "length", ["all"], [run.task for run in runs], means, [], 0, 1
        )

    other = "registers_keys_4k"
    answered(other, answered(KEYS, tmp_path / "runs"))
    monkeypatch.setattr(toys, "heat_maps", lambda _, runs: [heat_map("", runs)])
    collected = collect_with_files([tmp_path / "runs"])
    [found] = heat_maps(collected, cells_of(collected.collection), None, {})[0]
    assert list(found.tasks) == list(found.map.y) == [KEYS, other]
    assert (found.map.title, found.map.values) == ("keys · first 4 cases", [[1.0], [1.0]])
    monkeypatch.setattr(toys, "heat_maps", lambda *_: [42])
    failures: dict[str, Exception] = {}
    heat_maps(collected, cells_of(collected.collection), None, failures)
    assert str(failures["registers: heat maps"]) == "heat_maps: must be HeatMap, not int"


def test_a_heat_map_of_a_section_is_drawn_and_other_things_are_refused(
    toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    heat = HeatMap("drawn in a section", "caption", "x", "y", ["a"], ["b"], [[1.0]], [], 0, 1)
    answered(KEYS, tmp_path / "runs")
    command = ("report", tmp_path / "runs", "--out", tmp_path / "site")
    monkeypatch.setattr(toys, "sections", lambda *_: [Section("s", "S", figures=(heat,))])
    assert lct(*command).code == 0
    assert "drawn in a section" in (tmp_path / "site" / "benchmark" / "registers.html").read_text()
    monkeypatch.setattr(toys, "sections", lambda *_: [Section("s", "S", figures=(42,))])  # type: ignore[arg-type]
    assert "figures of section s: must be HeatMap or Lines, not int" in lct(*command).err
    monkeypatch.setattr(toys, "sections", lambda *_: [heat])
    assert "sections: must be Section, not HeatMap" in lct(*command).err


def test_a_judge_s_sentence_that_fails_is_named(toys: type, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = pl.DataFrame({"judge": ["j"], "judge_settings": ["{}"], "benchmark": ["registers"]})
    monkeypatch.setattr(toys, "judge_agreement", fail)
    failures: dict[str, Exception] = {}
    assert judge_sentences(Collection(runs, pl.DataFrame()), None, failures) == {}
    assert list(failures) == ["registers: sentences on its judges"]


def test_a_task_s_headline_is_the_card_s(toys: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of its metrics."""
    from lct_toys.registers import data

    made, card = data.load_task, catalogue.card("registers")
    described = card.model_copy(update={"metrics": {"exact": "", "other": ""}})
    monkeypatch.setattr(catalogue, "card", lambda name: described)

    def load_task(name: str, options: Options) -> LoadedTask:
        task = made(name, options)

        def score(*given: Any) -> CaseScores:
            return {"other": Score(0.0), **task.score(*given)}

        return replace(task, metrics=("other", "exact"), intervals=("other",), score=score)

    monkeypatch.setattr(data, "load_task", load_task)
    task = catalogue.load_task(KEYS, {"lct_n": 4})
    assert task.metrics == ("exact", "other") and task.intervals == ("exact", "other")
    board = json.loads(lct("report", answered(KEYS, tmp_path), "--json").out)
    [row] = board["tables"][0]["rows"]
    assert (row["metric"], row["value"]) == ("exact", 1.0)


def test_a_bundle_with_a_run_of_a_package_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    bundle = tmp_path / "owl.lct.zip"
    with installed(TOYS):
        answered(OURS, answered(KEYS, tmp_path / "runs"))
        assert lct("report", "pack", tmp_path / "runs", "--out", bundle).code == 0
        assert lct("report", "check", bundle).code == 0
    done, checked = lct("report", bundle, "--json"), lct("report", "check", bundle)
    named = f"{bundle}: manifest.json, run 2 is left out: '{KEYS}' needs the package lct-toys 1.0"
    assert done.code == 1 and f"problem: {named}" in done.err
    assert [row["task"] for row in json.loads(done.out)["tables"][0]["rows"]] == [OURS]
    assert checked.code == 1 and named in checked.err
