"""Few texts with many questions are about as exact as 200 texts with a question each, as docs/nano.md says."""

import pytest
from nano_simulation import DESIGNS, ratios

# The correlation of real answers about a meeting, and the most that a tenth of the tokens allows.
LIMITS = {"meetings": 0.02, "sections": 0.05}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_are_no_wider_up_to_a_correlation(name: str) -> None:
    assert max(ratios(*DESIGNS[name], LIMITS[name])) <= 1.01
    # Where answers about a text agree more, they say less.
    assert min(ratios(*DESIGNS[name], 0.2)) > 1.25
