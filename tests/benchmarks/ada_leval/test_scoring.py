"""Ugly responses to scores: committed golden cases, laws, and who is to blame."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hang_guard import hang_guard
from hypothesis import given
from hypothesis import strategies as st
from json_lines import read_rows

from long_context_tasks.benchmarks.ada_leval import scoring
from long_context_tasks.benchmarks.ada_leval.scoring import (
    extract_bestanswer_official,
    extract_tsort_official,
)
from long_context_tasks.schema import Case, Score, Turn
from long_context_tasks.schema.thinking import without_thinking

GOLDEN = Path(__file__).parent / "golden"
_PIECES = ["Answer:", "12", *'A12340 [],a-.\n{"٣']
_PREDICTION = st.text(max_size=30) | st.lists(st.sampled_from(_PIECES)).map("".join)


def _bestanswer(gold: str, n: int) -> Case:
    return Case("c", "t", {"question": "q", "answers": ["k"] * n}, (Turn(gold),), "c")


def _tsort(gold: list[int]) -> Case:
    return Case("c", "t", {}, (Turn(gold),), "c")


def _rows(name: str) -> list[dict[str, Any]]:
    return read_rows(GOLDEN / name)


def _check(row: dict[str, Any], case: Case) -> None:
    scores = scoring.score_case(case, row["response"])
    for metric in ("strict_accuracy", "official_accuracy", "instruction_following", "copy_instruction"):
        assert [scores[metric].value, scores[metric].reason] == row[metric], metric


@pytest.mark.parametrize(
    "row", _rows("bestanswer_responses.jsonl"), ids=lambda row: repr(row["response"][:30])
)
def test_golden_bestanswer(row: dict[str, Any]) -> None:
    _check(row, _bestanswer(row["gold"], row["num_choice"]))
    stripped = without_thinking(row["response"]).text
    assert extract_bestanswer_official(stripped, row["num_choice"]) == row["official_extracted"]


@pytest.mark.parametrize("row", _rows("tsort_responses.jsonl"), ids=lambda row: repr(row["response"][:30]))
def test_golden_tsort(row: dict[str, Any]) -> None:
    _check(row, _tsort(row["gold"]))
    assert repr(extract_tsort_official(without_thinking(row["response"]).text)) == row["official_extracted"]


def _is_subsequence(digits: str, text: str) -> bool:
    place = 0
    for character in text:
        if place < len(digits) and character == digits[place]:
            place += 1
    return place == len(digits)


def naive_tsort(prediction: str) -> object:
    """Read JSON, else the only one of the 24 permutations that is a subsequence of the text."""
    text = prediction
    if "Answer:" in text:
        text = text.split("Answer:")[1].strip()
    try:
        return json.loads(text)
    except ValueError:
        orders = ["".join(order) for order in itertools.permutations("1234")]
        fitting = [order for order in orders if _is_subsequence(order, text)]
        return [int(digit) for digit in fitting[0]] if len(fitting) == 1 else [0, 0, 0, 0]


@given(_PREDICTION)
def test_official_tsort_equals_the_plain_rule(prediction: str) -> None:
    assert repr(extract_tsort_official(prediction)) == repr(naive_tsort(prediction))


def test_official_tsort_equals_the_plain_rule_on_all_short_digit_strings() -> None:
    for size in range(7):
        for digits in itertools.product("1234", repeat=size):
            prediction = "-".join(("", *digits, ""))
            assert extract_tsort_official(prediction) == naive_tsort(prediction), prediction


@pytest.mark.parametrize("gold", list(itertools.permutations([1, 2, 3, 4])))
def test_an_order_is_right_only_when_it_is_the_gold(gold: tuple[int, ...]) -> None:
    right = [
        order
        for order in itertools.permutations([1, 2, 3, 4])
        if scoring.score_case(_tsort(list(gold)), f"Answer: {list(order)}")["strict_accuracy"].value == 1
    ]
    assert right == [gold]


@given(st.integers(2, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n), st.integers(1, n))))
def test_a_designation_is_right_only_when_it_is_the_gold(size: tuple[int, int, int]) -> None:
    n, gold, given_answer = size
    for shape in ("A{}", "Answer: A{}", "**A{}**", "A{}.", "A{}: because"):
        scores = scoring.score_case(_bestanswer(f"A{gold}", n), shape.format(given_answer))
        assert scores["strict_accuracy"].value == float(gold == given_answer)
        assert scores["official_accuracy"].value == float(gold == given_answer)


@given(_PREDICTION)
def test_no_response_breaks_scoring(prediction: str) -> None:
    for case in (_tsort([4, 1, 3, 2]), _bestanswer("A2", 7)):
        scores = scoring.score_case(case, prediction)
        assert set(scores) == set(scoring.METRICS)
        for name, score in scores.items():
            assert score.value is None or 0 <= score.value <= 1
            assert (score.value is None) == (score.reason == scoring.BROKEN_FORMAT), name


@pytest.mark.parametrize("response", [None, ""])
def test_no_answer_is_the_models_failure(response: str | None) -> None:
    assert scoring.score_case(_bestanswer("A1", 3), response)["strict_accuracy"] == Score(0.0, "empty")


def test_our_failures_have_no_value() -> None:
    scores = scoring.score_case(_bestanswer("A1", 3), None, "does_not_fit")
    assert set(scores.values()) == {Score(None, "does_not_fit")}


def test_the_lowest_perplexity_wins() -> None:
    orders = list(itertools.permutations([1, 2, 3, 4]))
    for best, order in enumerate(orders):
        likelihoods = [-100.0 - abs(place - best) for place in range(24)]
        for gold in (order, orders[best - 1]):
            score = scoring.score_perplexity(_tsort(list(gold)), likelihoods, [50] * 24)["strict_accuracy"]
            assert score.value == float(gold == order)


def test_perplexity_is_per_token() -> None:
    likelihoods, counts = [-100.0] * 24, [50] * 24
    likelihoods[3], counts[3] = -101.0, 52
    gold = list(list(itertools.permutations([1, 2, 3, 4]))[3])
    assert scoring.score_perplexity(_tsort(gold), likelihoods, counts)["strict_accuracy"].value == 1


def test_among_equal_perplexities_the_first_order_wins() -> None:
    for order in itertools.permutations([1, 2, 3, 4]):
        score = scoring.score_perplexity(_tsort(list(order)), [-7.0] * 24, [5] * 24)["strict_accuracy"]
        assert score == Score(float(order == (1, 2, 3, 4)))


def test_perplexity_without_numbers_is_no_zero() -> None:
    case = _tsort([1, 2, 3, 4])
    assert scoring.score_perplexity(case, None, None, "does_not_fit")["strict_accuracy"] == Score(
        None, "does_not_fit"
    )
    for bad in (math.nan, math.inf, -math.inf):
        likelihoods = [-1.0] * 23 + [bad]
        assert set(scoring.score_perplexity(case, likelihoods, None).values()) == {
            Score(None, "endpoint_failed")
        }
    assert scoring.score_perplexity(case, [-1.0] * 24, [0] * 24)["strict_accuracy"].value is None
    with pytest.raises(ValueError, match="23 log-likelihoods for 24 orders"):
        scoring.score_perplexity(case, [0.0] * 23, None)


@pytest.mark.parametrize(
    "unit", ["1", " ", "[1 ", "A1 ", "A1, ", "Answer: ", "[", "answer", "- ", "[4, 1, 3, 2] "]
)
def test_a_model_that_repeats_itself_is_read_to_the_end(unit: str) -> None:
    response = f"[1{unit * (250_000 // len(unit))}a"
    with hang_guard(4):
        for case in (_tsort([4, 1, 3, 2]), _bestanswer("A2", 100)):
            scoring.score_case(case, response)


def _replies(name: str) -> list[tuple[str, Any]]:
    return [tuple(row) for row in yaml.safe_load((GOLDEN / name).read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("reply", "right"), _replies("bestanswer_replies.yaml"))
def test_a_designation_is_read_from_replies_of_every_style(reply: str, right: str | None) -> None:
    for gold in ("A1", "A2", "A3", "A4", "A5"):
        score = scoring.score_case(_bestanswer(gold, 5), reply)["strict_accuracy"]
        assert score.value == float(gold == right)
        assert (score.reason is None) == (right is not None)


@pytest.mark.parametrize(("reply", "right"), _replies("tsort_replies.yaml"))
def test_an_order_is_read_from_replies_of_every_style(reply: str, right: list[int] | None) -> None:
    for gold in itertools.permutations([1, 2, 3, 4]):
        score = scoring.score_case(_tsort(list(gold)), reply)["strict_accuracy"]
        assert score.value == float(list(gold) == right)
        assert (score.reason is None) == (right is not None)


@pytest.mark.parametrize("opens", ["<thinking>", "[THINK]", "<reasoning>"])
def test_the_official_rule_sees_what_it_always_saw(opens: str) -> None:
    response = f"{opens}A2 or A5{opens.replace('<', '</').replace('[', '[/')}A3"
    assert scoring.score_case(_bestanswer("A5", 5), response)["official_accuracy"].value == 1
    assert scoring.score_case(_bestanswer("A3", 5), response)["strict_accuracy"].value == 1
