"""The fit of an effective length, and the length to run next."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from adaptive_simulation import FIXED, TRUTHS, results

from long_context_tasks.stats import Crossing, LengthScores, fit_crossing, fixed_bar, fraction_bar

RELATIVE = fraction_bar(0.85)
LADDER = [round(1000 * 2 ** (number / 4)) for number in range(29)]


def hits(share: float, n: int = 200, size: int = 1) -> LengthScores:
    """Hits and misses; in clusters all of a cluster are alike."""
    clusters = [number // size for number in range(n)]
    groups = -(-n // size)
    return LengthScores([float(one < share * groups) for one in clusters], clusters)


def fit(shares: dict[int, float], n: int = 200, lengths: Sequence[int] = LADDER) -> Crossing:
    return fit_crossing({length: hits(share, n) for length, share in shares.items()}, RELATIVE, lengths)


def test_the_crossing_is_where_the_curve_meets_the_bar() -> None:
    """A logistic curve of 0.9 that falls around 16k, half an octave wide: 85 % of it are left 0.87 octaves before."""
    falls = {
        length: 0.9 / (1 + 2 ** ((math.log2(length / 16000)) / 0.35)) for length in (1000, 8000, 16000, 32000)
    }
    found = fit(falls, n=400)
    truth = 16000 * 2 ** (-0.35 * math.log2(0.85 / 0.15))
    assert found.interval.low < truth < found.interval.high and found.octaves < 0.5 and found.found
    assert abs(math.log2(found.middle / truth)) < 0.1
    assert found.base == pytest.approx(0.9, abs=0.02) and found.floor < 0.1
    assert 0.2 < found.scale < 0.5 and found.dispersion == 1
    for length, share in falls.items():
        mean, interval = found.curve[found.lengths.index(length)]
        assert mean == pytest.approx(share, abs=0.03) and interval.low < share < interval.high


def test_the_chance_to_be_above_falls_from_one_to_what_never_falls() -> None:
    found = fit({1000: 0.9, 8000: 0.85, 32000: 0.1})
    chances = [found.above(length) for length in (1000, 8000, 12000, 16000, 32000, 512_000)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.99 and chances[-1] == pytest.approx(found.kept, abs=1e-6)
    assert found.above(found.middle) == pytest.approx(0.5, abs=0.01)
    assert found.above(found.interval.low) == pytest.approx(0.99, abs=0.002)
    assert sum(found.density.values()) + found.lost + found.kept == pytest.approx(1)


@pytest.mark.parametrize(
    ("shares", "beyond", "before"),
    [({1000: 0.9, 128_000: 0.9, 64_000: 0.9}, True, False), ({1000: 0.02, 8000: 0.01}, False, True)],
)
def test_a_crossing_outside_the_lengths(shares: dict[int, float], beyond: bool, before: bool) -> None:
    found = fit(shares, n=400)
    assert (found.beyond, found.before) == (beyond, before) and found.octaves == math.inf and found.found


def test_a_fixed_bar_above_the_shortest_length_ends_at_once() -> None:
    found = fit_crossing({1000: hits(0.4, 100)}, fixed_bar(dict.fromkeys(LADDER, 0.7), "70 %"), LADDER)
    assert found.before and found.found and found.interval.high == 0
    assert not fit_crossing({1000: hits(0.4, 4)}, fixed_bar({1000: 0.7}, "70 %"), LADDER).before


def test_scores_count_above_chance() -> None:
    """What falls to chance falls below any bar above chance; without chance the same floor may be above the bar."""
    shares = {1000: 0.3, 8000: 0.29, 32000: 0.26, 128_000: 0.25}
    scores = {length: hits(share, 2000) for length, share in shares.items()}
    above = fit_crossing(scores, fraction_bar(0.85, dict.fromkeys(shares, 0.25)), LADDER)
    assert above.kept < 0.01 and above.interval.high < 128_000
    assert fit_crossing(scores, RELATIVE, LADDER).kept > 0.1
    guessing = fit_crossing({1000: hits(0.25, 2000)}, fraction_bar(0.85, {1000: 0.25}), LADDER)
    assert guessing.lost > 0.9


def test_graded_scores_are_worth_more_and_clusters_less_than_hits() -> None:
    shares = {1000: 0.9, 8000: 0.8, 16000: 0.5}
    plain = fit(shares)
    graded = fit_crossing(
        {
            length: LengthScores(list(np.clip(np.linspace(share - 0.1, share + 0.1, 200), 0, 1)), range(200))
            for length, share in shares.items()
        },
        RELATIVE,
        LADDER,
    )
    clustered = fit_crossing(
        {length: hits(share, 200, 8) for length, share in shares.items()}, RELATIVE, LADDER
    )
    assert graded.dispersion < 0.2 < plain.dispersion == 1 < 4 < clustered.dispersion
    assert graded.octaves < plain.octaves < clustered.octaves


def test_the_next_length_lies_where_it_is_not_known_and_is_cheap() -> None:
    assert fit({}).next_length() == 1000
    found = fit({1000: 0.95, 8000: 0.95, 32000: 0.0})
    assert 8000 < found.next_length() < 32000
    assert found.next_length([1000, 128_000]) == 1000
    bits = dict(zip(found.lengths, found.information, strict=True))
    assert bits[16000 if 16000 in bits else 16001] > 10 * bits[1000] and min(bits.values()) >= 0


def test_more_cases_make_it_shorter_and_order_does_not_matter() -> None:
    shares = {1000: 0.9, 8000: 0.8, 16000: 0.4}
    widths = [fit(shares, n).octaves for n in (50, 200, 800)]
    assert widths == sorted(widths, reverse=True)
    assert fit(dict(reversed(shares.items()))) == fit(shares)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="no lengths"):
        fit_crossing({}, RELATIVE)
    with pytest.raises(ValueError, match="at 2000 tokens"):
        fit_crossing({1000: hits(0.5), 2000: LengthScores([7.0], [0])}, RELATIVE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic, lapse 5 %", "cliff"])
def test_searches_hold_the_truth_and_are_cheap(name: str) -> None:
    """A sample of tests/stats/adaptive_simulation.py."""
    found = list(results(name, 8))
    assert sum(one.holds for one in found) >= 7
    assert sum(one.tokens for one in found) / len(found) < 1 / 4
    assert FIXED == 51_000_000 and name in TRUTHS
