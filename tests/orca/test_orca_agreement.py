"""What a checkpoint carries of its agreement with people: a judge that reads, one that does not, one that predicts a constant."""

import random

import pytest

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.controls import HeldOutAgreement


def _items(n: int, seed: int) -> list[OrcaItem]:
    """Answers of two models, of which one is better, longer answers being a little better too."""
    rng = random.Random(seed)
    items = []
    for number in range(n):
        model = ("owl", "fox")[number % 2]
        length = rng.randint(1, 60)
        rating = min(max(2 + 1.5 * (model == "owl") + length / 60 + rng.gauss(0, 0.7), 1), 5)
        question = f"Question {seed}-{number // 4}?"
        items.append(
            OrcaItem(f"{seed}-{number}", question, "r", "x" * length, ratings=(rating,), model=model)
        )
    return items


TRAIN, HELD_OUT = _items(200, 0), _items(120, 1)
TRUTH = [item.rating_mean or 0.0 for item in HELD_OUT]


def test_a_judge_that_reads_is_believed() -> None:
    rng = random.Random(2)
    found = HeldOutAgreement.measure(TRAIN, HELD_OUT, [mean + rng.gauss(0, 0.05) for mean in TRUTH])
    assert (found.answers, found.questions, found.shortcut) == (120, 30, "identity + lengths")
    assert (found.rho or 0) > 0.9 > (found.shortcut_rho or 0) > 0.4
    assert found.doubt is None


@pytest.mark.parametrize("kind", ["noise", "shortcut", "constant"])
def test_a_judge_that_does_not_read_is_doubted(kind: str) -> None:
    rng = random.Random(3)
    means = {
        "noise": [rng.random() for _ in HELD_OUT],
        "shortcut": [float(item.model == "owl") + len(item.candidate or "") / 100 for item in HELD_OUT],
        "constant": [0.8] * len(HELD_OUT),
    }[kind]
    found = HeldOutAgreement.measure(TRAIN, HELD_OUT, means)
    assert found.doubt is not None and "'identity + lengths', which reads no answer" in found.doubt
    assert (found.rho is None) == (kind == "constant")


def test_without_a_shortcut_a_judge_is_held_against_chance() -> None:
    """All answers have the same length and no named model, so no shortcut has a correlation."""
    alike = [OrcaItem(item.id, item.question, "r", "x", ratings=item.ratings) for item in HELD_OUT]
    rng = random.Random(4)
    nearly = [mean + rng.gauss(0, 0.05) for mean in TRUTH]
    good, poor = (HeldOutAgreement.measure(alike, alike, means) for means in (nearly, nearly[::-1]))
    assert good.shortcut is poor.shortcut is None
    assert good.doubt is None and "is not shown to exceed 0;" in str(poor.doubt)
