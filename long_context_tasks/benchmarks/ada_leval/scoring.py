"""Case and response to scores. Pure: no I/O, no host, no model.

``official_accuracy`` is the official code's rule; ``strict_accuracy`` the repaired one and the headline; the others are the
error analysis of the paper's section 4.3. The official code knows no thinking: its rule is applied to the response
without it, which changes nothing where there are no thinking tags.
"""

import itertools
import math
from collections.abc import Sequence

from long_context_tasks.benchmarks.ada_leval.extraction import (
    NO_DESIGNATION,
    Strict,
    extract_bestanswer_official,
    extract_bestanswer_strict,
    extract_tsort_official,
    extract_tsort_strict,
    order_is_correct_official,
)
from long_context_tasks.benchmarks.ada_leval.prompts import example_order
from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.thinking import without_thinking

METRICS = (
    "strict_accuracy",
    "official_accuracy",
    "followed_accuracy",
    "instruction_following",
    "copy_instruction",
    "copy_expectation",
    "random_guess",
)
EXAMPLE_DESIGNATION = "A4"
CRASH = "official_crash"
BROKEN_FORMAT = "broken_format"
INVALID = "invalid"


def _scores(
    strict: Strict,
    gold: object,
    official: Score,
    valid: bool,
    copied: bool,
    expected_copy: bool,
    guess: float,
) -> CaseScores:
    headline = Score(float(strict.answer == gold), strict.reason)
    return {
        "strict_accuracy": headline,
        "official_accuracy": official,
        "followed_accuracy": Score(official.value) if valid else Score(None, BROKEN_FORMAT),
        "instruction_following": Score(float(valid)),
        "copy_instruction": Score(float(copied)) if valid else Score(None, BROKEN_FORMAT),
        "copy_expectation": Score(float(expected_copy)),
        "random_guess": Score(guess),
    }


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Scores of a response.

    Args:
        case: a TSort or BestAnswer case.
        response: the raw text, thinking included; None when the model gave nothing.
        status: a failure of ours (``does_not_fit``, ``endpoint_failed``): no metric gets a value.

    Returns:
        Every metric of :data:`METRICS`.
    """
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    stripped = without_thinking(response or "")
    gold = case.turns[0].gold
    score = _score_bestanswer if isinstance(gold, str) else _score_tsort
    scores = dict(score(case, stripped.text))
    if stripped.unclosed:
        scores["strict_accuracy"] = Score(0.0, "answer_cut")
    return scores


def _score_bestanswer(case: Case, text: str) -> CaseScores:
    gold = case.turns[0].gold
    n = len(case.inputs["answers"])
    extracted = extract_bestanswer_official(text, n)
    # The official rule falls back on bare numbers; a valid answer (footnote 4) names a designation.
    valid = extracted != NO_DESIGNATION and extracted in text
    return _scores(
        strict=extract_bestanswer_strict(text, n),
        gold=gold,
        official=Score(float(extracted == gold), None if extracted != NO_DESIGNATION else "unparsed"),
        valid=valid,
        copied=extracted == EXAMPLE_DESIGNATION,
        expected_copy=gold == EXAMPLE_DESIGNATION,
        guess=1 / n,
    )


def _score_tsort(case: Case, text: str) -> CaseScores:
    gold = list(case.turns[0].gold)
    n = len(gold)
    extracted = extract_tsort_official(text)
    try:
        official = Score(float(order_is_correct_official(gold, extracted)))
    except TypeError:
        official = Score(0.0, CRASH)
    example = example_order(n)
    return _scores(
        strict=extract_tsort_strict(text, n),
        gold=gold,
        official=official,
        valid=is_permutation(extracted, n),
        copied=extracted == example,
        expected_copy=gold == example,
        guess=1 / math.factorial(n),
    )


def is_permutation(value: object, n: int) -> bool:
    """True for a list that holds each of 1..n once.

    >>> is_permutation([2, 1], 2), is_permutation([1, 1], 2), is_permutation(["1", 2], 2), is_permutation([True, 2], 2)
    (True, False, False, False)
    """
    return (
        isinstance(value, list)
        and all(isinstance(part, int) and not isinstance(part, bool) for part in value)
        and sorted(value) == list(range(1, n + 1))
    )


def score_perplexity(
    case: Case,
    log_likelihoods: Sequence[float] | None,
    num_tokens: Sequence[int] | None,
    status: str | None = None,
) -> CaseScores:
    """TSort by perplexity (section 4.5.1): the arrangement with the lowest perplexity is the answer.

    Among equals the first in the order of ``itertools.permutations`` wins. A log-likelihood that is no finite number, or one of
    no tokens, is a failure of ours.

    Args:
        case: a built TSort case.
        log_likelihoods: of the whole text in each order, in nats, in the order of ``itertools.permutations``.
        num_tokens: scored tokens of each text; perplexity = exp(-log-likelihood / tokens). None: all equal.
        status: a failure of ours.

    Raises:
        ValueError: not one number per order.
    """
    metrics = ("strict_accuracy", "random_guess")
    if status is not None or log_likelihoods is None:
        return dict.fromkeys(metrics, Score(None, status or "endpoint_failed"))
    gold = list(case.turns[0].gold)
    orders = list(itertools.permutations(range(1, len(gold) + 1)))
    if len(log_likelihoods) != len(orders):
        raise ValueError(f"case {case.id}: {len(log_likelihoods)} log-likelihoods for {len(orders)} orders")
    counts = num_tokens if num_tokens is not None else [1] * len(orders)
    losses = [
        -value / count if count > 0 else math.nan
        for value, count in zip(log_likelihoods, counts, strict=True)
    ]
    if not all(math.isfinite(loss) for loss in losses):
        return dict.fromkeys(metrics, Score(None, "endpoint_failed"))
    best = orders[min(range(len(losses)), key=losses.__getitem__)]
    return {
        "strict_accuracy": Score(float(list(best) == gold)),
        "random_guess": Score(1 / len(orders)),
    }


def official_percent(correct: Sequence[bool | float]) -> float:
    """Accuracy as the official code prints it, before rounding: 100 x the mean."""
    return 100 * sum(correct) / len(correct)
