"""What shortcuts predict."""

import random
from dataclasses import replace

import pytest

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.controls import predict_across_questions, predict_by_shortcuts
from long_context_tasks.stats.raters import correlate


def _answer(model: str, length: int, share: float = 0, question: int = 0) -> OrcaItem:
    """An answer of a model with a length in characters and a mean rating on 0 to 1."""
    return OrcaItem("", f"{question}?", "r" * 5, "x" * length, ratings=(1 + 4 * share,), model=model)


TRAIN = [_answer("owl", 10, share) for share in (1.0, 0.8, 0.6)]
TRAIN += [_answer("fox", 200, share) for share in (0.4, 0.2, 0.0)]


def test_identity_is_the_mean_of_the_model_and_of_all_for_an_unknown_one() -> None:
    test = [_answer("fox", 10), _answer("owl", 200), _answer("elk", 1)]
    assert predict_by_shortcuts(TRAIN, test)["identity only"] == pytest.approx([0.2, 0.8, 0.5])


def test_lengths_ignore_the_model() -> None:
    found = predict_by_shortcuts(TRAIN, [_answer("fox", 10), _answer("owl", 200), _answer("elk", 10)])
    short, long, other = found["lengths only"]
    # Three equal answers with the penalty 1 take three quarters of the way from the mean; the others are too far to count much.
    assert short == other and (short, long) == pytest.approx((0.5 + 0.3 * 0.75, 0.5 - 0.3 * 0.75), abs=0.02)
    both = predict_by_shortcuts(TRAIN, [_answer("owl", 10), _answer("fox", 200)])["identity + lengths"]
    assert both == pytest.approx([0.8, 0.2])


def test_predictions_across_questions_are_learned_from_others() -> None:
    """If ratings do not depend on lengths, lengths predict nothing: no rating reveals itself."""
    rng = random.Random(1)
    answers = [
        _answer(["owl", "fox"][n % 2], rng.randint(1, 300), (rng.random() + n % 2) / 2, n // 2)
        for n in range(400)
    ]
    ratings = [answer.rating_mean or 0 for answer in answers]
    found = predict_across_questions(answers)
    assert abs(correlate(found["lengths only"], ratings, "spearman")) < 0.15
    assert correlate(found["identity only"], ratings, "spearman") > 0.8
    unnamed = [replace(answer, model=None) for answer in answers]
    assert list(predict_across_questions(unnamed)) == ["lengths only"]


def test_many_answers_are_thinned() -> None:
    answers = [_answer("owl", n % 50, n % 50 / 50) for n in range(5_000)]
    low, high = predict_by_shortcuts(answers, [_answer("owl", 2), _answer("owl", 45)])["lengths only"]
    assert low < 0.2 and high > 0.8
