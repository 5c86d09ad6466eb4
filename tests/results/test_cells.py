"""Cells of runs: repeats, coverage, reasons, versions, and ranking."""

import math
import statistics
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import CONVERSATION, METRICS, Run, Turn, simple, write_lm_eval, write_opencompass

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.cells import Cell, cells_of, turn_values
from long_context_tasks.results.collect import collect
from long_context_tasks.schema import Score
from long_context_tasks.stats.intervals import cluster_share
from long_context_tasks.stats.means import mean_of_scores

MADE = "2026-01-0{}T10-00-00.000000"


def one(folder: Path) -> Cell:
    [cell] = cells_of(collect([folder]))
    return cell


def test_a_plain_run(tmp_path: Path) -> None:
    clusters = {f"c{place}": f"q{place // 2}" for place in range(8)}
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, None]
    write_lm_eval(tmp_path, Run(simple(values), clusters=clusters))
    cell = one(tmp_path)
    expected = mean_of_scores(
        [Score(value, None if value is not None else "does_not_fit") for value in values],
        list(clusters.values()),
    )
    assert cell.mean == expected and cell.mean.reasons == {"does_not_fit": 1}
    assert (cell.model, cell.task, cell.metric, cell.points) == (
        "owl",
        "ada_leval_bestanswer_1k",
        METRICS[0],
        False,
    )
    assert list(cell.official) == [METRICS[1]]
    official = mean_of_scores([Score(value) for value in values], list(clusters.values()))
    assert cell.official[METRICS[1]] == official  # reasons are the headline's
    assert (cell.n_runs, cell.run_sd, cell.hosts, cell.truncated) == (1, None, ("lm_eval",), 0)
    assert (cell.n_cases, cell.n_available) == (8, 8)
    assert not cell.ranked and cell.why_unranked == "1 of 8 without a score"


@pytest.mark.parametrize(("other", "known"), [(2 / 3, False), (1.0, True)])
def test_one_case_of_a_graded_score_has_no_interval(tmp_path: Path, other: float, known: bool) -> None:
    """Scores of another model tell whether 0 is a miss."""
    write_lm_eval(tmp_path, Run(simple([0.0]), model="owl"))
    write_lm_eval(tmp_path, Run(simple([other]), model="crow"))
    means = {cell.model: cell.mean for cell in cells_of(collect([tmp_path]))}
    assert [math.isfinite(mean.high) for mean in means.values()] == [known, known]


def test_points_and_turns(tmp_path: Path) -> None:
    """A conversation counts its turns; points that are all 1 of 10 are not hits, and their interval is on the scale from 0 to 10."""
    talk = {
        name: [Turn({"judge_score": 1.0, "answered": 1.0}), Turn({"judge_score": 1.0, "answered": 0.0})]
        for name in ("m1", "m2", "m3")
    }
    write_opencompass(
        tmp_path,
        Run(talk, task=CONVERSATION, judge={"name": "j"}, made="20260101_100000", points=("judge_score",)),
    )
    cell = one(tmp_path)
    assert cell.points and cell.judge == "j" and cell.points_metrics == {"judge_score"}
    assert (cell.mean.n, cell.mean.value, cell.n_cases) == (6, 1.0, 3)
    ends = cluster_share([1.0] * 6, "aabbcc", scale=(0, 10))
    assert (cell.mean.low, cell.mean.high) == (ends.low, ends.high) and 0 < ends.low < 1 < ends.high < 6
    assert cell.official["answered"].value == 0.5 and cell.official["answered"].high <= 1


def test_the_spread_of_people_widens_the_interval(tmp_path: Path) -> None:
    told = '{"mean": 0.5, "std": 0.3, "low": 0.1, "high": 0.9, "dropped_tokens": 0}'
    for name, feedback in (("certain", "none"), ("spread", told)):
        verdict = {"score": 0.5, "feedback": feedback}
        talk = {f"m{place}": [Turn({"orca_mean": place / 10}, verdicts=(verdict,))] for place in range(10)}
        judge = {"name": "orca", "kind": "orca"}
        write_lm_eval(tmp_path, Run(talk, task=CONVERSATION, model=name, judge=judge))
    certain, spread = cells_of(collect([tmp_path]))
    assert spread.mean.high > certain.mean.high and spread.mean.low < certain.mean.low


def test_seeds_are_averaged_case_by_case(tmp_path: Path) -> None:
    runs = ([1.0, 0.0, None, 0.0], [1.0, 1.0, None, 0.0], [1.0, None, 0.5, 0.0])
    for place, values in enumerate(runs):
        write_lm_eval(
            tmp_path,
            Run(simple(values), made=MADE.format(place + 1), seed=place, options={"lct_seed": place}),
        )
    collection = collect([tmp_path])
    [cell] = cells_of(collection)
    assert turn_values(collection, cell)["value"].to_list() == [1.0, 0.5, 0.5, 0.0]
    # One repeat of three had no score for c1, two of three none for c2.
    assert turn_values(collection, cell)["reason"].to_list() == [None, None, "does_not_fit", None]
    assert cell.mean.value == 0.5 and (cell.mean.n, cell.mean.total) == (4, 4)
    means = [1 / 3, 2 / 3, 0.5]
    assert cell.n_runs == 3 and cell.run_sd == pytest.approx(statistics.stdev(means))
    assert cell.made == MADE.format(3) and len(cell.runs) == 3 and cell.runs[-1] == collection.runs["run"][2]


def test_repeats_inside_a_run_and_of_both_hosts(tmp_path: Path) -> None:
    write_opencompass(tmp_path, Run(simple([1.0, 0.0]), made="20260102_100000"), [simple([0.0, 0.0])])
    write_lm_eval(tmp_path, Run(simple([1.0, 1.0]), made=MADE.format(1)))
    cell = one(tmp_path)
    assert (
        cell.mean.value == pytest.approx(0.5)
        and cell.n_runs == 3
        and cell.hosts == ("lm_eval", "opencompass")
    )
    assert cell.made == "20260102_100000"
    # The newest, though the hosts write times differently.
    write_lm_eval(tmp_path, Run(simple([1.0, 1.0]), made=MADE.format(3)))
    assert one(tmp_path).made == MADE.format(3)


OLD = "version {} of the task, the newest is {}"
WHOLE, PART = simple([1.0, 0.0]), simple([1.0])


@pytest.mark.parametrize(
    ("runs", "versions", "why"),
    [
        # OpenCompass does not say how many cases there are; the others do.
        (
            {
                "whole": Run(WHOLE, available=2),
                "limit": Run(PART, available=2),
                "part": Run(PART, made="20260101_100000"),
                "full": Run(WHOLE, made="20260101_100000"),
            },
            {},
            {"limit": "1 of 2 cases", "part": "1 of 2 cases"},
        ),
        # Other tasks and subsets may have more cases.
        (
            {
                "a": Run(WHOLE),
                "b": Run(PART, "ada_leval_bestanswer_2k", made="20260101_100000"),
                "c": Run(PART, made="20260101_100000", options={"lct_subset": 50}),
            },
            {},
            {},
        ),
        (
            {"first": Run(WHOLE, options={"lct_n": 2}), "all": Run(WHOLE, options={"lct_n": 1000})},
            {},
            {"first": "only the first cases (lct_n)"},
        ),
        ({"first": Run(PART, options={"lct_n": 1}, available=2)}, {}, {"first": "1 of 2 cases"}),
        ({"old": Run(PART, version=0), "new": Run(PART, version=1)}, {}, {"old": OLD.format(0, 1)}),
        (
            {"old": Run(PART, version=0), "new": Run(PART, version=1)},
            {"ada_leval": 3},
            {"old": OLD.format(0, 3), "new": OLD.format(1, 3)},
        ),
    ],
)
def test_what_is_not_ranked_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: dict[str, Run],
    versions: dict[str, int],
    why: dict[str, str],
) -> None:
    for model, run in runs.items():
        write = write_opencompass if "_" in run.made else write_lm_eval
        write(tmp_path, replace(run, model=model))
    collection = collect([tmp_path])
    for name, version in versions.items():
        card = catalogue.card(name).model_copy(update={"version": version})
        monkeypatch.setattr(catalogue, "card", lambda _, card=card: card)
    cells = cells_of(collection)
    assert {cell.model: cell.why_unranked for cell in cells} == {model: why.get(model, "") for model in runs}
    assert all(cell.ranked == (not cell.why_unranked) for cell in cells)


def test_the_state_of_a_cell_does_not_depend_on_the_order_of_sets(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, Run(simple([0.0, 1.0])))
    cell = one(tmp_path)
    orders = (map(frozenset, (pair, pair[::-1])) for pair in combinations(map(str, range(20)), 2))
    first, second = next(sets for sets in map(list, orders) if len({*map(repr, sets)}) == 2)
    states = {replace(cell, points_metrics=points).state for points in (first, second)}
    assert len(states) == 1 and cell.state not in states


def test_nothing(tmp_path: Path) -> None:
    assert cells_of(collect([tmp_path])) == []
    write_lm_eval(tmp_path, Run(simple([None, None])))
    cell = one(tmp_path)
    assert math.isnan(cell.mean.value) and cell.mean.n == 0 and not cell.ranked and cell.run_sd is None
