"""Scores of a response: its answer by the official code's rules, quirks included, and by the repaired ones.

``official_accuracy`` is the official code's rule; ``strict_accuracy`` the repaired one (see :mod:`.reading`) and the headline; the
others are the error analysis of the paper's section 4.3. The official code does not handle thinking: its rule is applied to the
response without ``<think>...</think>``, which changes nothing if there are no such tags.
"""

import itertools
import json
import math
import operator
import re
from collections.abc import Callable, Sequence

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

_DESIGNATIONS = re.compile(r"A([1-9][0-9]*)")
_DIGIT_RUNS = re.compile(r"[0-9]+")
_JSON_SPACE = " \t\n\r"
_JSON_START = frozenset('{["-0123456789tfnNI')
# What json.loads runs on; asked directly, a failure costs no error message with line and column.
_SCAN: Callable[[str, int], tuple[object, int]] = vars(json.JSONDecoder())["scan_once"]
_NOT_1234 = bytes(set(range(256)) - set(b"1234"))
_ORDERS = frozenset(bytes(order) for order in itertools.permutations(b"1234"))
_DIGIT_VALUES = bytes.maketrans(b"1234", bytes([1, 2, 3, 4]))


def extract_bestanswer_official(prediction: str, num_choice: int) -> str:
    """Return the highest designation found anywhere; else the highest bare number; else ``???``.

    The official code looks for "A1".."An", then for "1".."n", as plain substrings; the highest one present wins.

    >>> [extract_bestanswer_official(text, 5) for text in ("A2 is better than A5", "A12", "in 2024", "none")]
    ['A5', 'A1', 'A4', '???']
    """
    size = len(str(num_choice))
    best = max(
        (_highest_prefix(run, num_choice, size) for run in _DESIGNATIONS.findall(prediction)), default=0
    )
    if not best:
        for run in _DIGIT_RUNS.findall(prediction):
            for start, digit in enumerate(run):
                if digit != "0":
                    best = max(best, _highest_prefix(run[start : start + size], num_choice, size))
    return f"A{best}" if best else _NO_DESIGNATION


def _highest_prefix(digits: str, limit: int, size: int) -> int:
    """Return the highest number up to ``limit`` that ``digits`` begins with: as a substring it is there too; 0 if none."""
    number = int(digits[:size])
    return number if number <= limit else int(digits[: size - 1] or 0)


def extract_tsort_official(prediction: str) -> object:
    """Return what the official code takes as the order: any JSON value, else the one order whose digits the text holds in turn.

    >>> extract_tsort_official("Answer: [2, 1, 3, 4]"), extract_tsort_official("2 > 4 > 1 > 3"), extract_tsort_official("?")
    ([2, 1, 3, 4], [2, 4, 1, 3], [0, 0, 0, 0])
    """
    text = prediction.split("Answer:", 2)[1].strip() if "Answer:" in prediction else prediction
    found, value = _parse_json(text)
    if found:
        return value
    digits = text.encode("ascii", "ignore").translate(None, _NOT_1234)
    return _only_order_within(digits) or [0, 0, 0, 0]


def _parse_json(text: str) -> tuple[bool, object]:
    """``json.loads`` without the price of its error message: whether it parses, and the value."""
    start = len(text) - len(text.lstrip(_JSON_SPACE))
    if start == len(text) or text[start] not in _JSON_START:
        return False, None
    try:
        value, end = _SCAN(text, start)
    except (StopIteration, ValueError, RecursionError):
        return False, None
    if end != len(text) and text[end:].strip(_JSON_SPACE):
        return False, None
    return True, value


def _only_order_within(digits: bytes) -> list[int] | None:
    """Return the only permutation of 1234 that is a subsequence of ``digits``; None when there is none or more than one.

    When all four occur, they fit in the order of their first occurrences. Another order fits as well as soon as one of them
    occurs again behind the next (take that occurrence and swap the two). So exactly one fits when ``digits`` is four blocks,
    each of one digit repeated.
    """
    if digits in _ORDERS:  # the ordinary response, and the dearest when it is walked through
        return list(digits.translate(_DIGIT_VALUES))
    order = []
    while digits:
        order.append(digits[0] - ord("0"))
        digits = digits.lstrip(digits[:1])
        if len(order) > 4:
            return None
    return order if len(order) == 4 == len(set(order)) else None


def order_is_correct_official(answer: Sequence[int], extracted: object) -> bool:
    """Compare officially, as far as the shorter of the two goes.

    Raises:
        TypeError: the extracted value is a number, a bool or null; the official run ends there.
    """
    return all(map(operator.eq, answer, extracted))  # type: ignore[call-overload]


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a response.

    Args:
        case: a TSort or BestAnswer case.
        response: the raw text, thinking included; None when the model gave nothing.
        status: a failure of ours (``does_not_fit``, ``endpoint_failed``): no metric gets a value.

    Returns:
        Every metric of :data:`METRICS`.
    """
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    text = response or ""
    stripped = without_thinking(text)
    # Other marks of thinking stay for the official rule, so that its numbers stay.
    official_text = text.rpartition(CLOSE)[2].partition(OPEN)[0]
    score = _score_bestanswer if isinstance(case.turns[0].gold, str) else _score_tsort
    scores = score(case, official_text, stripped.text)
    return {**scores, "strict_accuracy": Score(0.0, ANSWER_CUT)} if stripped.unclosed else scores


def _score_bestanswer(case: Case, text: str, answer: str) -> CaseScores:
    gold, n = case.turns[0].gold, len(case.inputs["answers"])
    extracted = extract_bestanswer_official(text, n)
    found = extracted != _NO_DESIGNATION
    return _scores(
        strict=extract_bestanswer_strict(answer, n),
        gold=gold,
        official=Score(float(extracted == gold), None if found else UNPARSED),
        # The official rule falls back on bare numbers; a valid answer (footnote 4) names a designation.
        valid=found and extracted in text,
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
        # Not True for 1, nor 1.0.
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

    Among equals the first in the order of ``itertools.permutations`` wins. A log-likelihood that is no finite number, or one of
    no tokens, is a failure of ours.

    Args:
        case: a TSort case.
        log_likelihoods: of the whole text in each order, in nats, in the order of ``itertools.permutations``.
        num_tokens: scored tokens of each text; perplexity = exp(-log-likelihood / tokens). None: all equal.
        status: a failure of ours.

    Raises:
        ValueError: not one number per order.
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
