"""Judge means corrected by people's ratings: coverage with known truth, and what the published ratings give."""

import random
from pathlib import Path

import numpy as np
import pytest
from corrected_simulation import coverage, drawn, truth

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.elitr_bench.paper import machine_scores, rated_answers
from long_context_tasks.stats.means import corrected_mean

TRUTH = truth()


@pytest.mark.parametrize(("clusters", "size", "share"), [(8, 16, 0.25), (30, 10, 0.2), (100, 4, 0.5)])
def test_the_interval_covers_people_s_mean(clusters: int, size: int, share: float) -> None:
    rng = np.random.default_rng(clusters)
    found = []
    for _ in range(300):
        people, judge, where = drawn(rng, clusters, size, 0.8)
        rated = [float(one) if rng.random() < share else None for one in people]
        found.append(corrected_mean(judge.tolist(), rated, where.tolist()))
    covered = sum(one.interval.low <= TRUTH <= one.interval.high for one in found) / len(found)
    assert 0.91 <= covered <= 0.985
    assert abs(sum(one.raw for one in found) / len(found) - TRUTH) > 0.7, "the raw mean is off"
    assert abs(sum(one.corrected for one in found) / len(found) - TRUTH) < 0.05
    width = sum(one.interval.high - one.interval.low for one in found)
    assert width < 0.95 * sum(one.rated_interval.high - one.rated_interval.low for one in found)


@pytest.mark.parametrize("correlations", [(0.1, 0.0), (0.3, 0.3)])
@pytest.mark.parametrize("rated", [5, 6])
def test_the_interval_covers_if_few_whole_clusters_are_rated(
    rated: int, correlations: tuple[float, float]
) -> None:
    held, _, _ = coverage(rated, 30, 0.8, correlations, 300)
    # The standard error of 93 % is 1.5 %.
    assert held >= 0.93 - 0.02


def test_a_judge_who_says_nothing_changes_nothing() -> None:
    people = [float(1 + number % 10) for number in range(60)]
    rated = [one if number % 2 else None for number, one in enumerate(people)]
    found = corrected_mean([5.0] * 60, rated, [number // 6 for number in range(60)])
    assert found.weight == 0
    assert found.corrected == pytest.approx(found.rated_only)


def test_with_all_answers_rated_it_is_people_s_mean() -> None:
    rng = random.Random(3)
    people = [float(rng.randint(1, 10)) for _ in range(80)]
    judge = [one + rng.gauss(1, 1) for one in people]
    found = corrected_mean(judge, people, [number // 8 for number in range(80)])
    assert found.corrected == pytest.approx(sum(people) / 80)


def test_too_few_ratings_are_refused() -> None:
    judge, clusters = [5.0] * 40, [number // 4 for number in range(40)]
    with pytest.raises(ValueError, match="9 rated answers in 3 clusters"):
        corrected_mean(judge, [4.0] * 9 + [None] * 31, clusters)
    with pytest.raises(ValueError, match="4 of 40 ratings are not 10: a correction needs 5"):
        corrected_mean(judge, [10.0] * 36 + [4.0] * 4, clusters)
    people = [float(1 + number % 10) for number in range(40)]
    with pytest.raises(
        ValueError, match="4 of 40 differences of judge and person are not 1: a correction needs 5"
    ):
        corrected_mean([one + 1 + 3 * (one == 7) for one in people], people, clusters)
    with pytest.raises(ValueError, match="different lengths"):
        corrected_mean(judge, [4.0] * 39, clusters)


@pytest.mark.vectors
def test_the_published_ratings_correct_gpt_4(shared: Path) -> None:
    """A quarter of the expert's ratings, drawn 100 times; the judge is GPT-4, which rates LongAlpaca a point too high."""
    options = resolve_options({"lct_data_dir": str(shared / "data")})
    rows = list(rated_answers(options, ["gold"]))
    scores = next(each for name, each, _ in machine_scores(options) if name == "gpt-4")
    places = [place for place, row in enumerate(rows) if row["candidate_model"] == "LongAlpaca-7B"]
    people = [rows[place]["ratings"][0] for place in places]
    judge = [float(scores[place] or 0) for place in places]
    meetings = [rows[place]["question_id"].split("/")[0] for place in places]
    truth = sum(people) / len(people)
    assert sum(judge) / len(judge) - truth == pytest.approx(1.02, abs=0.005)
    rng = random.Random(1)
    found = []
    for _ in range(100):
        chosen = set(rng.sample(range(len(people)), len(people) // 4))
        rated = [one if place in chosen else None for place, one in enumerate(people)]
        found.append(corrected_mean(judge, rated, meetings))
    assert sum(one.interval.low <= truth <= one.interval.high for one in found) >= 93
    widths = [
        sum(interval.high - interval.low for interval in intervals)
        for intervals in ([one.interval for one in found], [one.rated_interval for one in found])
    ]
    assert widths[0] < 0.8 * widths[1]
    assert all(one.bias_interval.high > 0 for one in found)
