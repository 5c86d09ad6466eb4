"""`lct report compare`: the statistics are those of stats.compare on the shared turns, and no verdict says more than they do."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from collected_runs import CONVERSATION, TASK, Run, Turn, simple, write_lm_eval, write_opencompass
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.compare import (
    COLUMNS,
    TEXT_COLUMNS,
    Comparisons,
    as_row,
    choose_models,
    compare_models,
    heading,
    notes,
    read_margins,
    shown_table,
    text_in,
    verdict_of,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.grid import Grid
from long_context_tasks.stats.comparison import (
    adjust,
    compare_paired,
    smallest_difference,
    spread_of,
)

OTHER, THIRD = "ada_leval_bestanswer_2k", "ada_leval_tsort_2k"
OWL = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, None, 1.0, 1.0]
CROW = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, None, None, 0.0, 0.0]


def add(
    folder: Path, model: str, values: list[float | None], task: str = "ada_leval_bestanswer_1k", **more: Any
) -> None:
    write_lm_eval(folder / f"{task}_{len(list(folder.glob('*')))}", Run(simple(values), task, model, **more))


def compared(folder: Path, *models: str) -> Comparisons:
    collection = collect([folder])
    return compare_models(
        collection, cells_of(collection), models or choose_models(collection.runs["model"], ())
    )


def test_the_figures_are_those_of_the_shared_turns(tmp_path: Path) -> None:
    clusters = {f"c{place}": f"q{place // 2 if place < 4 else place}" for place in range(12)}
    for model, values in (("owl", OWL), ("crow", CROW)):
        add(tmp_path, model, values, clusters=clusters)
    found = compared(tmp_path, "owl", "crow")
    [row] = found.tasks
    [same] = adjust(
        [compare_paired(("owl", OWL), ("crow", CROW), [clusters[f"c{place}"] for place in range(12)])]
    )
    assert row.comparison == same
    assert (row.comparison.n, row.comparison.clusters, row.n_cases) == (10, 8, 10)
    assert (row.comparison.only_first, row.comparison.only_second, row.comparison.neither) == (1, 0, 1)
    assert row.why_only_first == {"does_not_fit": 1} and row.why_only_second == {}
    assert (row.wins, row.ties, row.losses) == (8, 2, 0)
    kept = [place for place in range(12) if OWL[place] is not None and CROW[place] is not None]
    differences = [OWL[place] - CROW[place] for place in kept]  # type: ignore[operator]
    own = [clusters[f"c{place}"] for place in kept]
    assert row.detectable == smallest_difference(10, 8, spread_of(differences, own))
    assert row.verdict == "owl better" and row.comparison.p_holm < 0.05
    assert found.benchmarks == () and found.not_compared == ()


def test_few_clusters_and_nothing_shown(tmp_path: Path) -> None:
    together = {f"c{place}": f"m{place % 3}" for place in range(12)}
    add(tmp_path, "owl", [1.0] * 12, clusters=together)
    add(tmp_path, "crow", [0.0] * 12, clusters=together)
    add(tmp_path, "owl", [1.0, 0.0] * 6, OTHER)
    add(tmp_path, "crow", [0.0, 1.0] * 6, OTHER)
    rows = compared(tmp_path, "owl", "crow").tasks
    assert [row.verdict for row in rows] == ["cannot tell: 3 clusters, a test needs 6", "no difference shown"]
    assert math.isnan(rows[0].comparison.p) and rows[1].comparison.family == 1
    assert rows[0].detectable is None  # nothing differs between the differences


@pytest.mark.parametrize("width", [80, 100, 160])
def test_names_stay_whole_and_only_shown_figures_are_explained(tmp_path: Path, width: int) -> None:
    model = "smollm2-135m-instruct"
    add(tmp_path, "owl", [1.0, 0.0] * 2)
    add(tmp_path, model, [1.0, 1.0] * 2)
    found = compared(tmp_path, "owl", model)
    columns, shown = shown_table(heading("owl"), heading(model), found.tasks)
    head, body = Grid(columns, shown, [name in TEXT_COLUMNS for name in columns]).laid_out("", width)
    lines = "\n".join([*(line for _, part in head for line in part), *body]).split("\n")
    assert max(map(len, lines)) <= width
    if body:
        upper, lower = (line for line in lines if "smollm2" in line or "instruct" in line)
        assert upper.index("135m-") + len("135m-") == lower.index("instruct") + len("instruct")
    else:
        assert f"{model} 100.0" in "\n".join(lines)
    told = " ".join(notes(found))
    assert not {"p", "Holm", "detects"} & {*columns, *told.split()}


def test_many_tests_make_a_claim_harder(tmp_path: Path) -> None:
    names = [f"ada_leval_tsort_{length}" for length in ("2k", "4k", "8k", "16k", "32k")]
    for task in names:
        add(tmp_path, "owl", [1.0] * 8, task)
        add(tmp_path, "crow", [0.0] * 6 + [1.0] * 2 if task == names[0] else [1.0] * 7 + [0.0], task)
    found = compared(tmp_path, "owl", "crow")
    [first] = [row for row in found.tasks if row.tasks == (names[0],)]
    assert first.comparison.p < 0.05 < first.comparison.p_holm
    assert first.verdict == "no difference shown (among 5 tests)"


def test_a_verdict_needs_the_interval_to_agree() -> None:
    """Fifteen small clusters differ and a large one does not: only the interval accounts for the sizes."""
    clusters = [*range(12), *["large"] * 40]
    first = ("a", [1.0] * 12 + [1.0, 0.0] * 20)
    [found] = adjust([compare_paired(first, ("b", [0.0] * 12 + [0.5] * 40), clusters)])
    assert found.p_holm < 0.05 and found.interval.low < 0 < found.interval.high
    assert verdict_of(found) == "no difference shown (the interval includes 0)" and found.better is None


def alike(folder: Path) -> Path:
    """Rates that differ in 2 of 400 cases, one each way, and points that differ by 0.1 of 10."""
    for model, place in (("owl", 0), ("crow", 1)):
        add(folder, model, [float(case % 2) if case > 1 else float(case == place) for case in range(400)])
        cases = {
            f"m{case}": [Turn({"judge_score": 5.0 + case % 3 + 0.1 * place * (case % 2)})]
            for case in range(30)
        }
        told: dict[str, Any] = {"judge": {"name": "j"}, "points": ("judge_score",)}
        write_opencompass(folder / model, Run(cases, CONVERSATION, model, made="20260101_100000", **told))
    return folder


def test_models_are_the_same_within_a_margin(tmp_path: Path) -> None:
    alike(tmp_path)
    rates, points = lct_rows(tmp_path, "--same-within", "2%", "--same-within", "0.2")
    assert (rates["margin"], points["margin"]) == (0.02, 0.2)
    assert rates["verdict"] == "the same within the margin" and rates["p_same_holm"] < 0.05
    assert points["verdict"].endswith("the same within the margin")
    plain = lct_rows(tmp_path)
    assert [row["verdict"] for row in plain] == [
        "no difference shown",
        points["verdict"].partition(", but")[0],
    ]
    assert {row["p_same"] for row in plain} == {None}
    narrow, _ = lct_rows(tmp_path, "--same-within", "0.5%")
    assert narrow["verdict"] == "no difference shown" and narrow["p_same"] > 0.05
    shown = lct(tmp_path, "--same-within", "2%")
    assert "same (Holm)" in shown.stdout and "The margin is 2 %" in " ".join(shown.output.split())


def lct_rows(*words: object) -> list[dict[str, Any]]:
    rows = json.loads(lct(*words, "--json").stdout)["tasks"]
    return sorted(rows, key=lambda row: row["points"])


def test_margins_are_one_of_a_kind_and_of_a_kind_that_is_there(tmp_path: Path) -> None:
    for texts in (["2"] * 2, ["0%"], ["100%"], ["-1"], ["two"], ["2%x"], ["nan"], ["inf"]):
        with pytest.raises(InputError, match="--same-within"):
            read_margins(texts)
    for model in ("owl", "crow"):
        add(tmp_path, model, OWL)
    done = lct(tmp_path, "--same-within", "2")
    assert (
        done.exit_code == 2
        and "the tasks that the models share are scored in rates; give a margin such as 2%" in done.stderr
    )


def test_a_mean_over_tasks_gives_tasks_the_same_weight(tmp_path: Path) -> None:
    # Ten cases of one task that owl wins, two of another that crow wins; questions of one name are one cluster.
    add(tmp_path, "owl", [1.0] * 10, OTHER)
    add(tmp_path, "crow", [0.0] * 10, OTHER)
    add(tmp_path, "owl", [0.0] * 2, THIRD)
    add(tmp_path, "crow", [1.0] * 2, THIRD)
    found = compared(tmp_path, "owl", "crow")
    [row] = found.benchmarks
    assert row.tasks == (OTHER, THIRD) and row.cell.benchmark == "ada_leval"
    assert (row.comparison.mean_first, row.comparison.mean_second) == (pytest.approx(0.5), pytest.approx(0.5))
    assert row.comparison.difference == pytest.approx(0, abs=1e-12)
    assert (row.comparison.n, row.comparison.clusters, row.comparison.family) == (12, 10, 1)
    assert row.verdict == "no difference shown"


def test_only_what_is_alike_is_compared(tmp_path: Path) -> None:
    add(tmp_path, "owl", [1.0] * 8)
    add(tmp_path, "crow", [0.0] * 8)
    add(tmp_path, "owl", [1.0] * 8, OTHER, options={"lct_prompt_style": "plain"})
    add(tmp_path, "crow", [1.0] * 8, OTHER)
    add(tmp_path, "owl", [1.0] * 8, THIRD)
    add(tmp_path, "crow", [1.0] * 8, THIRD, version=0)
    found = compared(tmp_path, "owl", "crow")
    assert [row.tasks for row in found.tasks] == [("ada_leval_bestanswer_1k",)]
    told = "\n".join(found.not_compared)
    assert len(found.not_compared) == 4
    assert "crow has settings none and not" in told and "crow has version 0 and not 1" in told


def test_judges_and_points(tmp_path: Path) -> None:
    for model, score in (("owl", 8.0), ("crow", 5.0)):
        cases = {
            f"m{place}": [Turn({"judge_score": score + place % 2, "answered": 1.0})] * 2 for place in range(7)
        }
        told: dict[str, Any] = {"judge": {"name": "j"}, "points": ("judge_score",), "made": "20260101_100000"}
        write_opencompass(tmp_path / model, Run(cases, CONVERSATION, model, **told))
    [row] = compared(tmp_path, "owl", "crow").tasks
    assert row.cell.points and row.cell.judge == "j" and row.comparison.difference == pytest.approx(3)
    assert (row.comparison.n, row.n_cases) == (14, 7)
    columns, [shown] = shown_table("owl", "crow", [row])
    assert shown[0] == f"{CONVERSATION} (judge j)" and "+3.00" in shown[5]
    assert len(shown) == len(columns) and "same (Holm)" not in columns


def test_three_models_are_one_family(tmp_path: Path) -> None:
    for model, value in (("owl", 1.0), ("crow", 0.0), ("wren", 0.5)):
        add(tmp_path, model, [value] * 8)
    found = compared(tmp_path, "wren", "owl", "crow")
    pairs = [(row.comparison.first, row.comparison.second) for row in found.tasks]
    assert pairs == [("wren", "owl"), ("wren", "crow"), ("owl", "crow")]
    assert {row.comparison.family for row in found.tasks} == {3}
    assert [row.verdict for row in found.tasks] == ["owl better", "wren better", "owl better"]


def test_which_models(tmp_path: Path) -> None:
    assert choose_models(["b", "a", "b"], ()) == ("a", "b")
    assert choose_models(["b", "a", "c"], ("c", "a")) == ("c", "a")
    for known, asked, message in (
        (
            ["owl-7b", "crow"],
            ["owl-7B", "crow"],
            r"no runs of a model 'owl-7B'; did you mean 'owl-7b'\? There are: crow, owl-7b",
        ),
        (["owl"], [], "runs of one model, 'owl'; name folders with runs of two"),
        (["a", "b", "c"], [], "runs of 3 models; name two or more with --model: a, b, c"),
        (["a", "b"], ["a"], "name a second --model. There are: b"),
        (["a", "b"], ["a", "a"], "given twice"),
    ):
        with pytest.raises(InputError, match=message):
            choose_models(known, asked)


@pytest.mark.parametrize(
    ("differing", "remedy"),
    [
        ({"options": {"lct_n": 20}}, "Remedy: run one model again with the settings of the other"),
        ({"version": 0}, "Remedy: score the older runs again with `lct runs rescore`"),
        ({"task": OTHER}, "Remedy: run one task with both models"),
    ],
)
def test_runs_that_cannot_be_compared_name_the_remedy(
    tmp_path: Path, differing: dict[str, Any], remedy: str
) -> None:
    for model, own in (("owl", {}), ("crow", differing)):
        write_lm_eval(tmp_path / model, Run(simple([1.0] * 8), **{"task": TASK, "model": model, **own}))
    with pytest.raises(InputError, match=f"share no task.*{remedy}$"):
        compared(tmp_path, "owl", "crow")


def test_nothing_to_compare(tmp_path: Path) -> None:
    add(tmp_path, "owl", [1.0] * 8)
    add(tmp_path, "crow", [1.0] * 8, OTHER)
    with pytest.raises(
        InputError,
        match=r"owl, crow share no task with the same version.*ada_leval_bestanswer_1k, version 1: only owl",
    ):
        compared(tmp_path, "owl", "crow")
    other = {
        f"other{place}": [Turn({"strict_accuracy": 1.0, "official_accuracy": 1.0})] for place in range(8)
    }
    write_lm_eval(tmp_path / "x", Run(other, OTHER, "owl"))
    with pytest.raises(
        InputError, match="share ada_leval_bestanswer_2k, but no turn for which two of them have a score"
    ):
        compared(tmp_path, "owl", "crow")


HOSTILE = "=1+1|<b>\x1b[31m"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    for task in ("ada_leval_bestanswer_1k", OTHER):
        write_lm_eval(folder / "a" / task, Run(simple(OWL), task, "owl"))
        write_lm_eval(folder / "b" / task, Run(simple(CROW), task, HOSTILE))
    return folder


def lct(*words: object) -> Any:
    return CliRunner().invoke(app, ["report", "compare", *map(str, words)])


def test_the_files(results: Path, tmp_path: Path) -> None:
    found = compared(results, "owl", HOSTILE)
    rows = list(csv.DictReader(io.StringIO(text_in(".csv", found))))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 3
    assert [row["level"] for row in rows] == ["task", "task", "benchmark"] and rows[0]["second"].startswith(
        "'="
    )
    assert float(rows[0]["difference"]) == pytest.approx(0.8) and json.loads(rows[0]["why_only_first"]) == {
        "does_not_fit": 1
    }
    told = json.loads(text_in(".json", found))
    assert told["tasks"][0] == as_row(found.tasks[0]) and told["models"] == ["owl", HOSTILE]
    markdown = text_in(".md", found)
    assert "<b>" not in markdown and "\x1b" not in markdown
    widths = {line.replace("\\|", "").count("|") for line in markdown.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_the_command(results: Path, tmp_path: Path) -> None:
    done = lct(results / "a", results / "b")
    assert done.exit_code == 0, done.output
    assert "mean of 2 tasks" in done.stdout and "80.0" in done.stdout and "\x1b[31m" not in done.stdout
    for name in ("c.csv", "c.json", "c.md"):
        assert lct(results, "--model", "owl", "--model", HOSTILE, "--out", tmp_path / name).exit_code == 0
        assert (tmp_path / name).stat().st_size > 300
    assert json.loads(lct(results, "-m", "owl", "-m", HOSTILE, "--json").stdout) == json.loads(
        (tmp_path / "c.json").read_text()
    )
    one = json.loads(lct(results, "--json", "--tasks", "*_1k").stdout)
    assert [row["tasks"] for row in one["tasks"]] == [["ada_leval_bestanswer_1k"]] and one["benchmarks"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "x.html"), "one of .csv, .json, .md"),
        (("--model", "owll", "--model", "crow"), "no runs of a model 'owll'; did you mean 'owl'?"),
        (("--tasks", "imagined"), "--tasks imagined: no run of such a task; there are: ada_leval"),
        (("owl",), "owl: no such folder or bundle. Name models with --model"),
    ],
)
def test_errors_are_one_line(results: Path, words: tuple[str, ...], message: str) -> None:
    done = lct(results, *words)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert not list(results.parent.glob("x.*"))
