"""Seeds of cases pooled into more cases: each seed counts once, books that seeds share stay clusters, and repeats stay repeats."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from collected_runs import Run, simple, write_lm_eval
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.results.cells import Cell, cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.settings import pooled_seeds
from long_context_tasks.stats.intervals import cluster_share

SYNTHETIC, BUILT, PUBLISHED = "ada_leval_bestanswer_2k_synthetic", "ada_leval_tsort_8k", "ada_leval_tsort_2k"
RECAST = "ada_leval_tsort_2k_recast"
VALUES = ([1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0])
BOOKS = {f"c{place}": f"book{place // 2}" for place in range(8)}


def write(
    folder: Path, place: int, values: list[float], task: str = SYNTHETIC, model: str = "owl", **options: Any
) -> None:
    made = f"2026-01-0{place + 1}T10-00-00.000000"
    write_lm_eval(
        folder / str(place),
        Run(simple(values), task, model, made=made, clusters=BOOKS, options=options, seed=place),
    )


def pooled(folder: Path) -> list[Cell]:
    return cells_of(pooled_seeds(collect([folder])))


def test_seeds_of_texts_count_as_more_cases_and_more_texts(tmp_path: Path) -> None:
    write(tmp_path, 0, VALUES[0])
    write(tmp_path, 1, VALUES[1], lct_seed=1)
    assert [cell.mean.n for cell in cells_of(collect([tmp_path]))] == [4, 4]
    [cell] = pooled(tmp_path)
    both = [*VALUES[0], *VALUES[1]]
    ends = cluster_share(both, [0, 0, 1, 1, 2, 2, 3, 3])
    assert (cell.mean.n, cell.n_cases, cell.n_available, cell.mean.value) == (8, 8, 8, 0.5)
    assert (cell.mean.low, cell.mean.high) == (ends.low, ends.high)
    assert json.loads(cell.settings) == {"lct_seed": "pooled"} and cell.ranked
    assert cell.n_runs == 2 and cell.run_sd is None


@pytest.mark.parametrize("task", [BUILT, RECAST])
def test_a_book_that_two_seeds_draw_from_is_one_cluster(tmp_path: Path, task: str) -> None:
    for seed in (0, 1):
        options = {"lct_cases": f"/x/built_{seed}"} if task == BUILT else {}
        write(tmp_path, seed, VALUES[seed], task, lct_seed=seed, **options)
    [cell] = pooled(tmp_path)
    ends = cluster_share([*VALUES[0], *VALUES[1]], [0, 0, 1, 1, 0, 0, 1, 1])
    assert (cell.mean.n, cell.mean.low, cell.mean.high) == (8, ends.low, ends.high)


def test_repeats_of_a_seed_are_averaged_and_a_model_that_lacks_a_seed_is_not_ranked(tmp_path: Path) -> None:
    write(tmp_path, 0, VALUES[0])
    write(tmp_path, 1, VALUES[1], lct_seed=1)
    write(tmp_path, 2, VALUES[0], lct_seed=1)
    write(tmp_path, 3, VALUES[1], model="crow")
    crow, owl = pooled(tmp_path)
    assert (owl.mean.n, owl.mean.value, owl.n_runs) == (8, (0.75 + 0.5) / 2, 3) and owl.ranked
    assert (crow.mean.n, crow.why_unranked) == (4, "4 of 8 cases")


@pytest.mark.parametrize(
    ("task", "options"),
    [
        (PUBLISHED, ({"lct_seed": 0}, {"lct_seed": 1})),  # repeats: the seed makes no cases
        (SYNTHETIC, ({"lct_seed": 1}, {"lct_seed": 1})),
        (SYNTHETIC, ({}, {"lct_seed": 1, "lct_n": 4})),
        (BUILT, ({"lct_cases": "/x/novels_1k", "lct_seed": 1}, {"lct_cases": "/x/novels_2k", "lct_seed": 2})),
    ],
)
def test_what_is_not_pooled(tmp_path: Path, task: str, options: tuple[dict[str, Any], ...]) -> None:
    for place, own in enumerate(options):
        write(tmp_path, place, VALUES[place], task, **own)
    collection = collect([tmp_path])
    assert pooled_seeds(collection) is collection


def test_the_commands(tmp_path: Path) -> None:
    for model, more in (("owl", 0), ("crow", 1)):
        for seed in (0, 1):
            write(tmp_path / model, seed, VALUES[(seed + more) % 2] * 2, model=model, lct_seed=seed)
    one = CliRunner().invoke(app, ["report", "compare", str(tmp_path), "--pool-seeds", "--json"])
    [row] = json.loads(one.stdout)["tasks"]
    assert (row["n_turns"], row["clusters"], row["settings"]) == (16, 8, {"lct_seed": "pooled"})
    site = CliRunner().invoke(
        app, ["report", str(tmp_path), "--pool-seeds", "--out", str(tmp_path / "site"), "--json"]
    )
    assert site.exit_code == 0, site.output
    assert "16" in CliRunner().invoke(app, ["report", str(tmp_path), "--pool-seeds"]).stdout
