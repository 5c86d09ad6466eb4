"""Score a response by the official code's rules, quirks included, and by repaired ones.

``official_accuracy`` follows the official code; ``strict_accuracy``, the headline metric, follows the
repaired rule (see :mod:`.reading`); the others are the error analysis of the paper's section 4.3. The
official code does not handle thinking, so its rule is applied to the response without ``<think>...</think>``;
other responses are unchanged.
"""

import itertools
import json
import math
import operator
from collections.abc import Sequence

from long_context_tasks.benchmarks.ada_leval.prompts import example_order
from long_context_tasks.benchmarks.ada_leval.reading import (
    Strict,
    extract_bestanswer_strict,
    extract_tsort_strict,
)
from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import ANSWER_CUT, ENDPOINT_FAILED, UNPARSED
from long_context_tasks.schema.thinking import CLOSE, OPEN, without_thinking

METRICS = (
    "strict_accuracy",
    "official_accuracy",
    "followed_accuracy",
    "instruction_following",
    "copy_instruction",
    "copy_expectation",
    "random_guess",
)
CRASH = "official_crash"
BROKEN_FORMAT = "broken_format"
_NO_DESIGNATION = "???"
_EXAMPLE_DESIGNATION = "A4"


def extract_bestanswer_official(prediction: str, num_choice: int) -> str:
    """Return the highest designation found anywhere, otherwise the highest bare number, or ``???``.

    The official code searches for "A1".."An", then for "1".."n", as plain substrings; the highest match wins.

    >>> [extract_bestanswer_official(text, 5) for text in ("A2 is better than A5", "A12", "in 2024", "none")]
    ['A5', 'A1', 'A4', '???']
    """
    for form in ("A{}", "{}"):
        for number in range(num_choice, 0, -1):
            if form.format(number) in prediction:
                return f"A{number}"
    return _NO_DESIGNATION


def extract_tsort_official(prediction: str) -> object:
    """Return the order that the official code parses: any JSON value, or the only order whose digits match.

    >>> extract_tsort_official("Answer: [2, 1, 3, 4]"), extract_tsort_official("2 > 4 > 1 > 3"), extract_tsort_official("?")
    ([2, 1, 3, 4], [2, 4, 1, 3], [0, 0, 0, 0])
    """
    text = prediction.split("Answer:", 2)[1].strip() if "Answer:" in prediction else prediction
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    # The official code tries all orders of four. Two of them match if a digit recurs after another one (take
    # that occurrence and swap the two), so exactly one matches if the digits form four blocks, each of one
    # repeated digit.
    blocks = [int(digit) for digit, _ in itertools.groupby(char for char in text if char in "1234")]
    return blocks if sorted(blocks) == [1, 2, 3, 4] else [0, 0, 0, 0]


def order_is_correct_official(answer: Sequence[int], extracted: object) -> bool:
    """Compare two orders by the official rule, up to the length of the shorter one.

    A number, a bool or null raises the TypeError that crashes the official run.
    """
    return all(map(operator.eq, answer, extracted))  # type: ignore[call-overload]


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a raw response, thinking included, on all :data:`METRICS`; None if the model returned nothing.

    No metric has a value after a failure on our side, named by ``status`` (``does_not_fit``,
    ``endpoint_failed``).
    """
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    text = response or ""
    stripped = without_thinking(text)
    # The official rule is applied to other thinking markers unchanged, as in its published numbers.
    official_text = text.rpartition(CLOSE)[2].partition(OPEN)[0]
    # A BestAnswer gold is a string, a TSort gold a list.
    score = _score_bestanswer if isinstance(case.turns[0].gold, str) else _score_tsort
    scores = score(case, official_text, stripped.text)
    return {**scores, "strict_accuracy": Score(0.0, ANSWER_CUT)} if stripped.unclosed else scores


def _score_bestanswer(case: Case, text: str, answer: str) -> CaseScores:
    gold, n = case.turns[0].gold, len(case.inputs["answers"])
    extracted = extract_bestanswer_official(text, n)
    named = extracted != _NO_DESIGNATION
    return _scores(
        strict=extract_bestanswer_strict(answer, n),
        gold=gold,
        official=Score(float(extracted == gold), None if named else UNPARSED),
        # The official rule falls back on bare numbers; a valid answer (footnote 4) names a designation.
        valid=named and extracted in text,
        answer=extracted,
        example=_EXAMPLE_DESIGNATION,
        guess=1 / n,
    )


def _score_tsort(case: Case, text: str, answer: str) -> CaseScores:
    gold = list(case.turns[0].gold)
    n = len(gold)
    extracted = extract_tsort_official(text)
    try:
        official = Score(float(order_is_correct_official(gold, extracted)))
    except TypeError:
        official = Score(0.0, CRASH)
    return _scores(
        strict=extract_tsort_strict(answer, n),
        gold=gold,
        official=official,
        # Rejects True and 1.0, which equal 1.
        valid=isinstance(extracted, list)
        and all(type(part) is int for part in extracted)
        and sorted(extracted) == list(range(1, n + 1)),
        answer=extracted,
        example=example_order(n),
        guess=1 / math.factorial(n),
    )


def _scores(
    strict: Strict, gold: object, official: Score, valid: bool, answer: object, example: object, guess: float
) -> CaseScores:
    # The paper computes these only over responses in the correct format.
    broken = None if valid else Score(None, BROKEN_FORMAT)
    return {
        "strict_accuracy": Score(float(strict.answer == gold), strict.reason),
        "official_accuracy": official,
        "followed_accuracy": broken or Score(official.value),
        "instruction_following": Score(float(valid)),
        "copy_instruction": broken or Score(float(answer == example)),
        "copy_expectation": Score(float(gold == example)),
        "random_guess": Score(guess),
    }


def score_perplexity(
    case: Case,
    log_likelihoods: Sequence[float] | None,
    num_tokens: Sequence[int] | None,
    status: str | None = None,
) -> CaseScores:
    """Score TSort by perplexity (section 4.5.1): the arrangement with the lowest perplexity is the answer.

    Ties are broken by the order of ``itertools.permutations``. A log-likelihood that is not finite, or that
    of an empty text, is a failure on our side.

    Args:
        case: a TSort case.
        log_likelihoods: each order's log-likelihood of the whole text, in nats, in the order of
            ``itertools.permutations``.
        num_tokens: number of scored tokens in each text; perplexity = exp(-log-likelihood / tokens). If None,
            all are equal.
        status: a failure on our side.
    """
    metrics = ("strict_accuracy", "random_guess")
    if status is not None or log_likelihoods is None:
        return dict.fromkeys(metrics, Score(None, status or ENDPOINT_FAILED))
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
        return dict.fromkeys(metrics, Score(None, ENDPOINT_FAILED))
    best = orders[min(range(len(losses)), key=losses.__getitem__)]
    return {
        "strict_accuracy": Score(float(list(best) == gold)),
        "random_guess": Score(1 / len(orders)),
    }
