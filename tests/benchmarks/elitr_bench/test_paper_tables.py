"""The paper's tables from the published archives, row by row of the recorded recipes; and that bad scores are seen."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.benchmarks.elitr_bench.archives import Archives, PublishedQuestion, PublishedResponse
from long_context_tasks.benchmarks.elitr_bench.paper import (
    PaperFigure,
    Scores,
    paper_tables,
    published,
    score,
)
from long_context_tasks.benchmarks.elitr_bench.report import middle_test
from long_context_tasks.schema import InputError
from long_context_tasks.stats.means import round_half_up, round_twice

MODELS_WITHOUT_RUNS = {"GPT-4o", "LLaMA-3.1-8B", "Phi-3-small"}
Tables = dict[str, list[PaperFigure]]
SEEDS = ("published only", "three seeds")


def at(cells: list[PaperFigure], row: str, column: str) -> PaperFigure:
    [found] = [cell for cell in cells if (cell.row, cell.column) == (row, column)]
    return found


@pytest.fixture(scope="module")
def scores(shared: Path) -> Scores:
    folder = shared / "data" / "elitr_bench"
    if not (folder / "generated-responses.zip").is_file():
        pytest.skip(f"no archives in {folder}")
    return Scores(Archives(folder))


@pytest.fixture(scope="module")
def tables(scores: Scores) -> Tables:
    return paper_tables(scores)


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, Any]:
    path = shared / "vectors" / "elitr_tables.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.mark.vectors
@pytest.mark.parametrize("split", ["dev", "test"])
def test_table_1(split: str, scores: Scores, tables: Tables, expected: dict[str, Any]) -> None:
    row = expected["table1"][split]
    qa, conv = (
        {meeting.id: meeting.questions for meeting in scores.questions(split, kind)} for kind in (False, True)
    )
    assert {meeting: len(questions) for meeting, questions in qa.items()} == row["questions_per_meeting"]
    pairs = [(one, other) for meeting in qa for one, other in zip(qa[meeting], conv[meeting], strict=True)]
    assert Counter(f"{one.type}/{one.position}" for one, _ in pairs) == row["cross"]
    assert sum(one.answer != other.answer for one, other in pairs) == row["qa_conv_differing_answers"]
    counted = {
        "meetings": row["meetings"],
        "questions": row["questions"],
        "QA/Conv differing": row["qa_conv_differing"],
    }
    assert scores.counts(split) == {**counted, **row["by_type"], **row["by_position"]}
    printed = row["published"]
    figures = {"meetings": printed["meetings"], "questions": printed["questions"], **printed["by_type"]}
    figures |= {"QA/Conv differing": printed["qa_conv_differing"], **(printed["by_position"] or {})}
    for column, figure in figures.items():
        cell = at(tables["table1"], split, column)
        assert (cell.published, cell.recomputed, cell.match) == (str(figure), str(figure), "yes")


@pytest.mark.vectors
@pytest.mark.parametrize(
    ("table", "place", "column", "n", "match", "rounded_twice"),
    [
        ("table2", ("table2_dev",), "setting", 25, ("yes", ""), 3),
        ("table2", ("table2_test_not_reproducible", "rows"), "setting", 25, SEEDS, None),
        ("table4", ("table4",), "evaluator", 12, ("yes", ""), 1),
    ],
)
def test_means(
    tables: Tables,
    expected: dict[str, Any],
    table: str,
    place: tuple[str, ...],
    column: str,
    n: int,
    match: tuple[str, str],
    rounded_twice: int | None,
) -> None:
    rows: Any = expected
    for key in place:
        rows = rows[key]
    cells = [at(tables[table], row["model"], row[column]) for row in rows]
    assert len(cells) == n and {(cell.match, cell.reason) for cell in cells} == {match}
    for cell, row in zip(cells, rows, strict=True):
        assert (cell.published, cell.n) == (row["published"], row["n"])
        assert cell.value is not None and float(cell.value) == pytest.approx(row["recomputed"], abs=1e-9)
        assert str(round_half_up(cell.value)) == cell.plain == row["single_round"]
        assert str(round_twice(cell.value)) == row["double_round"]
        assert (cell.plain == cell.published) == row["matches_single"]
    if rounded_twice is not None:
        assert all(cell.recomputed == cell.published for cell in cells)
        assert sum(cell.plain != cell.published for cell in cells) == rounded_twice


@pytest.mark.vectors
def test_table_3_single_seed(tables: Tables, expected: dict[str, Any]) -> None:
    n = 0
    for row in expected["table3_single_seed"]["rows"]:
        for figure in row["cells"]:
            cell = at(tables["table3"], row["model"], figure["value"])
            assert cell.value == Fraction(figure["score_sum"], figure["n"])
            assert float(cell.value) == pytest.approx(figure["single_seed_mean"])
            assert (cell.n, cell.published) == (figure["n"], figure["published_three_seed"])
            assert (cell.match, cell.reason) == SEEDS
            n += 1
    assert n == 40


@pytest.mark.vectors
def test_figure_2a(tables: Tables, expected: dict[str, Any]) -> None:
    rows = expected["fig2a_recomputed"]
    assert len(tables["fig2a"]) == 2 * len(rows)
    for row in rows:
        for rater, mean in (("gpt-4", row["gpt4_mean"]), ("silver-human", row["silver_mean"])):
            cell = at(tables["fig2a"], f"gold {row['gold_score']}", rater)
            assert (cell.n, cell.match) == (row["n"], "not printed")
            assert cell.value is not None and cell.value == pytest.approx(mean)
            assert cell.interval is not None and cell.interval.low <= cell.value <= cell.interval.high


@pytest.mark.vectors
def test_figure_2b(tables: Tables, expected: dict[str, Any]) -> None:
    rows = expected["fig2b"]
    for row in rows:
        cell = at(tables["fig2b"], row["a"], row["b"])
        assert cell.value == pytest.approx(row["pearson"], abs=1e-12)
        assert (cell.n, cell.recomputed, cell.match) == (row["n"], row["rounded"], "yes")
        assert cell.published == row["published"].removeprefix("text: between ").replace(" and ", " to ")
        assert cell.interval is not None and cell.interval.low < row["pearson"] < cell.interval.high
    assert len(rows) == len(tables["fig2b"]) == 6


@pytest.mark.vectors
def test_table_9_one_run(tables: Tables, expected: dict[str, Any]) -> None:
    rows = expected["table9_not_reproducible"]["rows"]
    for row in rows:
        cell = at(tables["table9"], row["model"], row["setting"])
        assert cell.published == f"{row['published_mean']} ± {row['published_std']}"
        assert float(cell.value or 0) == pytest.approx(row["archive_single_seed_mean"])
        deviation = (float(cell.value or 0) - float(row["published_mean"])) / float(row["published_std"])
        assert deviation == pytest.approx(row["deviation_in_std"], abs=0.006)
        assert cell.note.startswith("can be") == row["within_possible"]
        assert (cell.match, cell.reason) == SEEDS
    assert len(rows) == 25


@pytest.mark.vectors
def test_table_10(scores: Scores, tables: Tables, expected: dict[str, Any]) -> None:
    for row in expected["table10"]:
        responses = scores.of("st_qa_test", row["model"])
        test = middle_test((each.question.position, float(score(each))) for each in responses)
        cell = at(tables["table10"], row["model"], "p")
        assert test is not None
        assert (test.n_first, test.n_second) == (row["n_middle"], row["n_other"])
        found = (test.t, test.df, test.p, test.mean_first, test.mean_second)
        names = ("t", "df", "p_value", "mean_middle", "mean_other")
        assert found == pytest.approx([row[name] for name in names], rel=1e-9)
        assert (cell.published, cell.recomputed, cell.match) == (row["published"], row["rounded"], "yes")
    with_runs = [cell for cell in tables["table10"] if cell.row not in MODELS_WITHOUT_RUNS]
    assert [cell.match for cell in with_runs] == ["yes"] * 9


@pytest.mark.vectors
def test_every_figure_that_can_be_recomputed_is(tables: Tables) -> None:
    matches = {key: [cell.match for cell in table] for key, table in tables.items()}
    assert {key: found.count("yes") for key, found in matches.items() if "yes" in found} == {
        "table1": 18,
        "table2": 25,
        "table4": 12,
        "fig2b": 6,
        "table7": 6,
        "table8": 7,
        "table10": 9,
    }
    assert not any("no" in found for found in matches.values())
    for table in tables.values():
        for cell in table:
            assert cell.reason or cell.value is not None


@pytest.mark.vectors
def test_figure_3_is_about_the_differing_questions(scores: Scores, tables: Tables) -> None:
    assert (len(scores.differing("dev")), len(scores.differing("test"))) == (16, 17)
    figure = tables["fig3"]
    assert {cell.n for cell in figure} == {33}
    loss = at(figure, "GPT-4", "mt_conv - mt_qa").value
    qa, conv = at(figure, "GPT-4", "mt_qa").value, at(figure, "GPT-4", "mt_conv").value
    assert isinstance(qa, Fraction) and isinstance(conv, Fraction) and loss == conv - qa
    assert {cell.row for cell in figure}.isdisjoint(MODELS_WITHOUT_RUNS)
    assert [cell.column for cell in figure if cell.row == "GPT-3.5"] == ["st_qa"]


def test_published_figures_are_complete() -> None:
    figures = published()
    sizes = {
        key: len(figures[key]["rows"]) for key in ("table2", "table3", "table4", "table7", "table8", "table9")
    }
    assert sizes == {"table2": 12, "table3": 12, "table4": 3, "table7": 6, "table8": 2, "table9": 12}
    for key in sizes:
        width = len(figures[key]["columns"])
        assert all(len(row) == width for row in figures[key]["rows"].values())
    for key in ("table7", "table8"):  # what a model kept is its dev figure
        table = figures[key]
        for model, row in table["retained"].items():
            kept = table["rows"][row][table["columns"].index(model)]
            assert kept == figures["table2"]["rows"][model][0]


def test_a_figure_that_does_not_come_out_says_no() -> None:
    cell = PaperFigure("m", "c", "8.53", Fraction(1202, 141), twice=True)
    assert (cell.recomputed, cell.plain, cell.match) == ("8.53", "8.52", "yes")
    assert replace(cell, twice=False).match == "no"
    assert replace(cell, published="8.5 to 8.6").match == "yes"
    assert replace(cell, published="8.6 to 8.7").match == "no"
    assert replace(cell, published=None).match == "not printed"
    assert replace(cell, reason="three seeds").match == "published only"


@pytest.mark.parametrize("stored", ["", "nine", "nan"])
def test_a_score_that_is_not_a_number_is_named(stored: str) -> None:
    question = PublishedQuestion("3", "who", "B", "q", "a")
    response = PublishedResponse("meeting_en_dev_001", question, "GPT-4", "r", {"gpt-4": stored})
    with pytest.raises(InputError, match=r"meeting_en_dev_001, question 3, GPT-4: score of gpt-4"):
        score(response)
    with pytest.raises(InputError, match=r"score of prometheus is None"):
        score(response, "prometheus")
