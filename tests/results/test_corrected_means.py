"""`lct report --ratings`: corrected and raw means of judges, from runs and a file of people's ratings."""

import json
import random
from pathlib import Path

import pytest
from collected_runs import Run, Turn, write_lm_eval
from run_commands import lct

TASK = "elitr_bench_qa_test"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two models, 48 answers in eight meetings; the judge rates a point higher than people."""
    for model in ("owl", "wren"):
        cases = {
            f"c{place}": [
                Turn({"judge_score": float(2 + place % 8), "official_judge_score": None, "answered": 1.0})
            ]
            for place in range(48)
        }
        clusters = {f"c{place}": f"m{place // 6}" for place in range(48)}
        judge = {"name": "j", "model": "j"}
        points = ["judge_score", "official_judge_score"]
        write_lm_eval(
            tmp_path / "results",
            Run(cases, TASK, model, clusters=clusters, judge=judge, points=points, judged=True),
        )
    return tmp_path / "results"


def ratings(path: Path, model: str, number: int) -> Path:
    rng = random.Random(1)
    about = {"model": model, "task": TASK}
    rows = [
        {**about, "case": f"c{place}", "rating": 1 + place % 8 + rng.choice((-0.5, 0, 0.5))}
        for place in rng.sample(range(48), number)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_corrected_mean_stands_beside_the_raw_one(results: Path, tmp_path: Path) -> None:
    file = ratings(tmp_path / "people.jsonl", "owl", 24)
    said = lct("report", results, "--ratings", file, "--json")
    assert said.code == 0, said
    table = next(one for one in said.rows["tables"] if "corrected" in one["title"])
    by_model = {row["model"]: row for row in table["rows"]}
    owl, wren = by_model["owl"], by_model["wren"]
    assert (owl["n"], owl["rated"], owl["raw"]) == (48, 24, 5.5)
    assert owl["corrected"] == pytest.approx(4.5, abs=0.15)
    assert owl["bias"] > 0.8
    assert not wren["corrected"]
    assert "none of its answers is rated" in wren["why not"]


def test_too_few_ratings_are_said(results: Path, tmp_path: Path) -> None:
    file = ratings(tmp_path / "people.jsonl", "owl", 5)
    said = lct("report", results, "--ratings", file)
    assert said.code == 0, said
    assert "5 rated answers" in " ".join(said.out.split())


def test_a_row_of_another_form_is_named(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text('{"model": "owl", "task": "t", "case": "c", "rating": "good"}\n')
    said = lct("report", results, "--ratings", file)
    assert said.code == 2
    assert "people.jsonl, row 1" in said.err
