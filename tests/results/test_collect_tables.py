"""The files next to the site, and the command that writes them."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("polars")

import polars as pl
from collected_runs import CONVERSATION, METRICS, Run, Turn, simple, write_lm_eval, write_opencompass
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.tables import (
    FILES,
    LEADERBOARD,
    LENGTHS,
    csv_lines,
    csv_text,
    escape_markdown,
    leaderboard,
    terminal_rows,
    write_tables,
)
from long_context_tasks.results.tidy import RUNS, SCORES
from long_context_tasks.schema import InputError, format_length

HOSTILE = "=1+1|<script>alert(1)</script>\n| a | [x](http://evil.example) `b` \x1b[31m"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_lm_eval(folder, Run(simple([1.0, 0.0, 1.0]), model="owl"))
    write_lm_eval(folder / "crow", Run(simple([1.0, None, 1.0]), model=HOSTILE))
    talk = {
        "m1": [Turn({"judge_score": 7.5, "answered": 1.0})],
        "m2": [Turn({"judge_score": 4.5, "answered": 1.0})],
    }
    told = {"judge": {"name": "j"}, "points": ("judge_score",), "made": "20260101_100000"}
    judged = Run(talk, CONVERSATION, "crow", **told)  # type: ignore[arg-type]
    write_opencompass(folder / "oc", judged)
    return folder


def test_parquet_has_every_score_with_its_run(results: Path, tmp_path: Path) -> None:
    collection = collect([results])
    write_tables(tmp_path / "out", collection, cells_of(collection))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    found = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert len(found) == len(collection.scores) == 3 * 2 + 3 * 2 + 2 * 2
    assert found["value"].to_list() == collection.scores["value"].to_list()
    owl = found.filter((pl.col("model") == "owl") & (pl.col("metric") == METRICS[0]))
    assert owl.select("host", "task", "version", "judge", "length").unique().rows() == [
        ("lm_eval", "ada_leval_bestanswer_1k", 1, None, 1000)
    ]
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert set(runs["run"]) == set(found["run"].cast(pl.String())) and HOSTILE in set(runs["model"])


def test_csv_says_what_belongs_to_a_number(results: Path) -> None:
    collection = collect([results])
    rows = list(csv.DictReader(io.StringIO(csv_text(leaderboard(collection, cells_of(collection))))))
    assert list(rows[0]) == list(LEADERBOARD) and len(rows) == 3
    by_model = {row["model"]: row for row in rows}
    owl = by_model["owl"]
    assert (
        float(owl["value"]) == pytest.approx(2 / 3) and 0 < float(owl["low"]) < 2 / 3 < float(owl["high"]) < 1
    )
    assert (owl["n"], owl["n_scored"], owl["coverage"], owl["ranked"]) == ("3", "3", "1.0", "yes")
    assert (owl["hosts"], owl["host_versions"], owl["commits"]) == ("lm_eval", "0.4.13", "abc1234")
    assert owl["made"].startswith("2026-01-01") and owl["version"] == "1" and METRICS[1] in owl["official"]
    other = by_model["'" + HOSTILE]  # no formula for a sheet
    assert (other["ranked"], other["reasons"], other["n_scored"]) == ("no", "1 does_not_fit", "2")
    judged = next(row for row in rows if row["judge"] == "j")
    assert judged["points"] == "yes" and float(judged["value"]) == 6.0


@given(st.text(max_size=30))
def test_any_text_stays_a_field_and_no_formula(text: str) -> None:
    rows = list(csv.reader(io.StringIO(csv_lines([(text, "1"), ("a\rb", "2")]), newline="")))
    kept = re.sub("\r\n?", "\n", text)
    assert rows == [[rows[0][0], "1"], ["a\nb", "2"]] and rows[0][0] in (kept, f"'{kept}")
    assert not rows[0][0].startswith(("=", "@"))


@given(st.text(max_size=30))
def test_escaped_text_has_no_markup(text: str) -> None:
    escaped = escape_markdown(text)
    assert len(escaped.splitlines()) <= 1
    bare = escaped.replace("\\\\", "")
    for mark in "|<>`*_[]":
        assert mark not in bare.replace(f"\\{mark}", "")


def test_rows_of_the_terminal(results: Path) -> None:
    rows = terminal_rows(cells_of(collect([results])))
    assert [row[1][:4] for row in rows] == ["owl", "=1+1", "crow"]
    assert rows[0][4:7] == ["66.7 %", rows[0][5], "3"] and rows[1][6] == "2/3" and "not ranked" in rows[1][9]
    assert rows[2][4] == "6.00" and not any("\x1b" in cell or "\n" in cell for row in rows for cell in row)


def test_the_terminal_tells_lengths_that_names_do_not(tmp_path: Path) -> None:
    for length in ("32k", "4k"):
        task = "ada_leval_bestanswer_any_synthetic"
        write_lm_eval(tmp_path / length, Run(simple([1.0]), task, options={"lct_length": length}))
    write_lm_eval(tmp_path / "named", Run(simple([1.0]), "ada_leval_bestanswer_4k"))
    rows = terminal_rows(cells_of(collect([tmp_path])))
    assert [row[0].removeprefix("ada_leval_bestanswer_") for row in rows] == [
        "4k",
        "any_synthetic 4k",
        "any_synthetic 32k",
    ]


def test_the_terminal_tells_settings_of_rows_that_are_else_alike(tmp_path: Path) -> None:
    task = "ada_leval_bestanswer_any_synthetic"
    for folder, options in (("chat", {}), ("raw", {"lct_prompt_style": "raw"})):
        write_lm_eval(tmp_path / folder, Run(simple([1.0]), task, options={"lct_length": "4k", **options}))
    notes = [row[9] for row in terminal_rows(cells_of(collect([tmp_path])))]
    assert notes == ["prompt_style=raw", "default settings"]
    assert [row[9] for row in terminal_rows(cells_of(collect([tmp_path / "raw"])))] == [""]


def test_a_place_that_is_a_file(results: Path) -> None:
    with pytest.raises(InputError, match="--out"):
        write_tables(next(results.rglob("*.json")), collect([results]), [])


def test_the_default_command(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = CliRunner().invoke
    done = run(app, ["report", str(results)])
    assert done.exit_code == 0 and "66.7 %" in done.stdout and "3 runs of 3 models" in done.stderr
    monkeypatch.chdir(results.parent)
    for arguments in (["results"], ["./results"], ["site", "results"], ["--no-case-pages", "results"]):
        assert run(app, ["report", *arguments]).exit_code == 0
    helped = run(app, ["report", "--help"])
    assert "RESULTS... --out DIR" in helped.stdout and "paper" in helped.stdout and "site" in helped.stdout
    slip = run(app, ["report", "elitrr"])
    assert slip.exit_code == 2 and "elitrr" in slip.output
    missing = run(app, ["report", "./missing"])
    assert missing.exit_code == 2 and missing.stderr.startswith("error: missing: does not exist")
    assert "missing/runs: does not exist" in run(app, ["report", "missing/runs"]).stderr
    assert run(app, ["report", "paper", "--help"]).exit_code == 0


def test_problems_are_told(results: Path) -> None:
    [path] = [path for path in results.rglob("samples_*") if "owl" in path.parts]
    path.write_bytes(path.read_bytes()[:-30])
    done = CliRunner().invoke(app, ["report", str(results)])
    assert done.exit_code == 1 and f"problem: {path}" in done.stderr and "1 problem\n" in done.stderr
    alone = CliRunner().invoke(app, ["report", str(path.parent)])
    # The folder is the right one.
    assert alone.exit_code == 2 and alone.stderr.endswith("no run that can be used, see above\n")
    assert "--output_path" not in alone.stderr
    (results / "empty").mkdir()
    empty = CliRunner().invoke(app, ["report", str(results / "empty")])
    assert empty.exit_code == 2 and "empty: no runs of our tasks in it; give the folder" in empty.stderr


def test_lengths_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    lengths = (500, 1000, 2000, 4000, 16000)
    names = [f"ada_leval_bestanswer_{format_length(length)}" for length in lengths[1:]]
    any_length = "ada_leval_bestanswer_any_synthetic"
    for model in ("owl", "wren"):
        for name in names:
            write_lm_eval(tmp_path / "results" / name, Run(simple([1.0, 0.0] * 3), name, model))
        for length in lengths:
            run = Run(simple([1.0, 0.0] * 3), any_length, model, options={"lct_length": length})
            write_lm_eval(tmp_path / "results" / str(length), run)
    expected = [*names, *(f"{any_length} {format_length(length)}" for length in lengths)]
    site, results = tmp_path / "site", str(tmp_path / "results")
    shown = CliRunner().invoke(app, ["report", results, "--out", str(site)], env={"COLUMNS": "200"})
    compared = CliRunner().invoke(app, ["report", "compare", results], env={"COLUMNS": "200"})

    def listed(text: str) -> list[str]:
        return list(dict.fromkeys(re.findall(r"ada_leval_[a-z]+_[0-9a-z_]+(?: [0-9]+k?\b)?", text)))

    table = "\n".join(line[:50] for line in shown.stdout.splitlines() if line.startswith("  ada"))
    assert listed(table) == listed(compared.stdout) == expected
    with (site / "leaderboard.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row["task"], int(row["length"])) for row in csv.DictReader(file)]
    assert rows[::2] == [*zip(names, lengths[1:], strict=True), *((any_length, length) for length in lengths)]
    [first, *_] = json.loads((site / "lengths.json").read_text())["rows"]
    assert list(json.loads(first["outcomes"])) == [str(length) for length in lengths[1:]]
    for page in ("index", "submit", "model/owl"):
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert listed(" ".join(re.findall(r">(ada_leval[^<]*)<", text))) == [*names, any_length], page


def test_the_docs_name_every_column() -> None:
    path = Path(__file__).parents[2] / "docs" / "results_schema.md"
    if not path.is_file():
        pytest.skip("an installed package has no docs")
    text = path.read_text(encoding="utf-8")
    named = ("benchmark", "task", "model", "metric", "points")  # of the CSV, as in the other tables
    missing = [
        name
        for name in (*RUNS, *SCORES, *FILES, *LEADERBOARD, *LENGTHS)
        if f"`{name}`" not in text and name not in named
    ]
    assert not missing
