"""A site of hostile names, texts and numbers: nothing breaks, escapes or leaves the folder."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from collected_runs import Run, Turn, simple, write_lm_eval, write_opencompass
from made_up_site import (
    HOSTILE_NAME,
    collection_of,
    family_length,
    made_up_cell,
    published_score,
    rate,
    run_name,
)
from site_files import checked_pages
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.tables import terminal_rows, write_tables
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.report import HeatMap
from long_context_tasks.site import CellMap, SiteOptions, build_site
from long_context_tasks.site.words import slug
from long_context_tasks.stats.means import Mean

NAMES = (
    "</script><script>alert(1)</script>", HOSTILE_NAME, "../../../etc/passwd", "a/../../b", "..", "", "\x00", "a\nb",
    "x" * 5000, "CON", "con.", "__proto__", "constructor", "{{ 7*7 }}", "${1}", "javascript:alert(1)", "\x1b[31mred",
)  # fmt: skip
NOTHING = Mean(math.nan, math.nan, math.nan, 0, 0, {})


def checked(
    place: Path,
    cells: list[Cell],
    cases: list[ShownCase] | None = None,
    options: SiteOptions | None = None,
    collection: Collection | None = None,
) -> dict[str, str]:
    """The text of each page of the site and its tables, after all that must hold for any site."""
    folder = place / "site"
    collection = collection or collection_of(cells, cases or ())
    build_site(folder, collection, cells, cases or (), options)
    write_tables(folder, collection, cells)
    terminal_rows(cells)
    assert [path.name for path in place.iterdir()] == ["site"]
    return {name: page.text for name, page in checked_pages(folder).items()}


def test_names_of_models_cases_and_labels(tmp_path: Path) -> None:
    cells = [made_up_cell(name, "ethic_recall_law", rate(0.5, 10), (run_name(name),)) for name in NAMES]
    cases = [
        ShownCase(cell.runs[0], name, ((name, name),), {name: name}, (ShownTurn(name, name, name, {name: 1.0}, name, (name,)),), name)
        for cell, name in zip(cells, NAMES, strict=True)
    ]  # fmt: skip
    pages = checked(tmp_path, cells, cases)
    assert len([page for page in pages if page.startswith("model/")]) == len(NAMES)
    assert HOSTILE_NAME in pages[f"model/{slug(HOSTILE_NAME)}.html"]


def test_everything_else_that_has_a_name(tmp_path: Path) -> None:
    cells = [
        made_up_cell(
            "m", name, rate(0.5, 10), (run_name(name),), name, benchmark=name, family=name, variant=name, judge=name,
            settings=name, hosts=(name,), made=name, official={name: rate(0.5, 3)}, ranked=False, why_unranked=name,
        )
        for name in NAMES
    ]  # fmt: skip
    sentences = {name: name for name in NAMES}
    options = SiteOptions(
        title=HOSTILE_NAME, made=HOSTILE_NAME, about=sentences, judges=sentences,
        metrics=dict.fromkeys(NAMES, sentences),
        benchmarks=sentences, benchmark_about=sentences, published=[published_score(n, n, n, "10", n) for n in NAMES],
        lengths=[family_length("m", name, {1: "holds"}, name) for name in NAMES],
    )  # fmt: skip
    pages = checked(tmp_path, cells, options=options)
    assert len([page for page in pages if page.startswith("task/")]) == len(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -5.0, 1e308, 1e-320])
def test_numbers_that_are_none_or_out_of_range(tmp_path: Path, value: float, points: bool) -> None:
    cells = [
        made_up_cell(
            f"m{which}", f"ethic_recall_{length}k", Mean(*(value if which in (each, 3) else 0.5 for each in range(3)), 10, 10, {}),
            (run_name(which, length),), family="ethic_recall", length=1000 * length, points=points, run_sd=value,
            official={"answered": Mean(value, value, value, 3, 3, {})},
        )
        for which in range(4)
        for length in (1, 2)
    ]  # fmt: skip
    task = "ethic_recall_1k"
    finite = {task: value} if abs(value) < 1e300 else {}
    options = SiteOptions(
        chance={task: value},
        measured_wer={task: value} if not math.isfinite(value) else finite,
        heat_maps=[
            CellMap("m0", [task], HeatMap("t", "c", "x", "y", ["a"], ["b"], [[value]], (), 0.0, value))
        ],
        published=[
            published_score("p", task, "accuracy", str(value), "s", "points" if points else "percent", n=3)
        ],
        lengths=[family_length("m0", "ethic_recall", {16000: "open"}, "d")],
    )
    turn = ShownTurn(None, None, "x", {"accuracy": value})
    pages = checked(
        tmp_path, cells, [ShownCase(cell.runs[0], "1", None, {}, (turn,)) for cell in cells], options
    )
    if not math.isfinite(value):
        assert "–" in pages["model/m3.html"]


def test_nothing_one_case_and_a_metric_without_values(tmp_path: Path) -> None:
    one = made_up_cell("m", "ethic_recall_law", Mean(1.0, math.nan, math.nan, 1, 1, {}), ("r",))
    for place, (mean, cases) in enumerate(
        (
            (NOTHING, []),
            (replace(NOTHING, total=7, reasons={"does_not_fit": 7}), []),
            (one.mean, [ShownCase("r", "1", None, {}, (ShownTurn(None, None, None, {"accuracy": 1.0}),))]),
            (one.mean, [ShownCase("r", "1", None, {}, ())]),
        )
    ):
        (tmp_path / str(place)).mkdir()
        cell = replace(one, mean=mean, official={"official": replace(NOTHING, total=mean.total)})
        assert "ethic_recall_law" in checked(tmp_path / str(place), [cell], cases)["model/m.html"]


def test_a_response_of_five_megabytes(tmp_path: Path) -> None:
    text = "x<" * 2_500_000
    cell = made_up_cell("m", "ethic_recall_law", rate(1.0, 1), ("r",))
    case = ShownCase("r", "1", None, {}, (ShownTurn(None, None, text, {"accuracy": 1.0}),))
    checked(tmp_path, [cell], [case])
    [pack] = [path for path in (tmp_path / "site" / "data").iterdir() if path.stat().st_size > 5_000_000]
    assert pack.read_text().count("\\u003c") == 2_500_000


@pytest.mark.parametrize("text", ['{"lct_n": "many"}', '{"x": 1e999}', '{"a": {"b": "</script>"}}'])
def test_json_of_somebody_else(tmp_path: Path, text: str) -> None:
    cell = made_up_cell("m", "ethic_recall_law", rate(0.5, 2), ("r",), settings=text)
    turn = ShownTurn(None, None, "", {"accuracy": 1.0})
    cases = [ShownCase("r", str(number), None, {}, (turn,)) for number in range(8)]
    collection = collection_of([cell], cases)
    columns = ("provenance", "options", "settings", "judge_settings")
    labels = pl.lit(text, dtype=collection.scores.schema["labels"]).alias("labels")
    collection = replace(
        collection,
        runs=collection.runs.with_columns(pl.lit(text).alias(name) for name in columns),
        scores=collection.scores.with_columns(labels),
    )
    checked(tmp_path, [cell], cases, collection=collection)


def test_a_name_cannot_take_another_s_page() -> None:
    for name in ("Qwen/Qwen3-0.6B", "..", "", "A"):
        assert len({slug(name), slug(slug(name)), slug(slug(slug(name)))}) == 3


def scored(*values: float | None) -> dict[str, list[Turn]]:
    return {
        f"c{n}": [Turn({"strict_accuracy": one, "official_accuracy": one})] for n, one in enumerate(values)
    }


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_lm_eval, write_opencompass])
@pytest.mark.parametrize(
    ("cases", "options"),
    [
        (scored(None, None, None), {}),
        (scored(1.0), {}),
        (scored(None), {}),
        (simple([1.0, 0.0]), {"lct_n": "abc"}),
        (simple([1.0, 0.0]), {"lct_n": [1]}),
        (simple([1.0, 0.0]), {"lct_n": math.inf}),
        (simple([1.0, 0.0]), {"lct_n": {"a": {"b": "</script>"}}}),
    ],
)
def test_one_odd_run_does_not_end_the_report(tmp_path: Path, write: Any, cases: Any, options: Any) -> None:
    for number, length in enumerate((1, 2)):
        task = f"ada_leval_bestanswer_{length}k"
        write(tmp_path / "in" / str(number), Run(cases, task, HOSTILE_NAME, options=options))
    write_lm_eval(tmp_path / "in" / "good", Run(simple([1.0, 0.0]), model="owl"))
    done = CliRunner().invoke(app, ["report", str(tmp_path / "in"), "--out", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert "3 runs of 2 models on 2 tasks, 0 problems" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "site"]
    assert len(list((tmp_path / "site" / "model").iterdir())) == 2


@pytest.mark.parametrize("write", [write_lm_eval, write_opencompass])
@pytest.mark.parametrize("cases", [scored(1.0, -5.0, 0.0, 7.0), scored(math.nan, math.nan)])
def test_an_impossible_run_is_left_out_and_named(tmp_path: Path, write: Any, cases: Any) -> None:
    write(tmp_path / "in" / "odd", Run(cases, model=HOSTILE_NAME))
    write_lm_eval(tmp_path / "in" / "good", Run(simple([1.0, 0.0]), model="owl"))
    done = CliRunner().invoke(app, ["report", str(tmp_path / "in"), "--out", str(tmp_path / "site")])
    assert done.exit_code == 1, done.output
    assert "1 run of 1 model on 1 task, 1 problem" in done.stderr
    assert len(list((tmp_path / "site" / "model").iterdir())) == 1


@pytest.mark.parametrize("write", [write_lm_eval, write_opencompass])
def test_half_characters_and_endless_lengths(tmp_path: Path, write: Any) -> None:
    cases = {"c0xyz": scored(1.0)["c0"], "d": scored(0.0)["c0"]}
    write(
        tmp_path / "in",
        Run(cases, "ada_leval_bestanswer_any_synthetic", "ow0xyz", options={"lct_length": 2**70}),
    )
    for path in (tmp_path / "in").rglob("*.json*"):
        path.write_text(path.read_text().replace("0xyz", r"\ud83d"))
    done = CliRunner().invoke(app, ["report", str(tmp_path / "in"), "--out", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert "1 run of 1 model on 1 task, 0 problems" in done.stderr
