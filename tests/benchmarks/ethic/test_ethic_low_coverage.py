"""Scores of the low-coverage counterparts: token F1, whether the answer occurs, ROUGE-L, and what is no answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ethic.scoring import (
    FOCUSED_METRICS,
    QA_METRICS,
    answer_tokens,
    occurs,
    rouge_l,
    score_focused_summary,
    score_qa,
    token_f1,
)
from long_context_tasks.schema import Case, Turn

WORDS = st.lists(st.sampled_from(["red", "blue", "green", "one", "two"]), max_size=12)


def case(gold: str) -> Case:
    return Case("1", "t", {}, (Turn([gold]),), "c", labels={"domain": "books"})


@pytest.mark.parametrize(
    ("response", "f1", "found"),
    [
        ("The mill.", 1.0, 1.0),
        ("<think>A barn?</think>the Mill", 1.0, 1.0),
        ("It stands at the old mill, by the road.", 2 / 8, 1.0),
        ("mills", 0.0, 0.0),
        ("a windmill", 0.0, 0.0),
    ],
)
def test_a_short_answer(response: str, f1: float, found: float) -> None:
    scores = score_qa(case("the mill"), response)
    assert tuple(scores) == QA_METRICS
    assert scores["answer_f1"].value == pytest.approx(f1)
    assert scores["answer_found"].value == found


def test_an_answer_of_several_words_must_stand_in_one_place() -> None:
    assert score_qa(case("New York"), "York is new.")["answer_found"].value == 0
    assert score_qa(case("New York"), "York is new.")["answer_f1"].value == pytest.approx(0.8)
    assert score_qa(case("Ünï’s 1,234"), "It is “ÜNÏ's 1234”.")["answer_found"].value == 1


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (None, "empty"),
        ("  ", "empty"),
        ("<think>The mill", "answer_cut"),
        ("I'm sorry, I can't say.", "refused"),
    ],
)
def test_no_answer_is_the_lowest_score_with_its_reason(response: str | None, reason: str) -> None:
    for score in (score_qa, score_focused_summary):
        scores = score(case("the barn"), response)
        assert {(one.value, one.reason) for one in scores.values()} == {(0.0, reason)}


def test_what_looks_like_a_refusal_but_holds_the_answer_is_none() -> None:
    assert score_qa(case("sorry"), "Sorry")["answer_f1"].value == 1


def test_a_failure_of_ours_has_no_value() -> None:
    for score, metrics in ((score_qa, QA_METRICS), (score_focused_summary, FOCUSED_METRICS)):
        scores = score(case("x"), None, "does_not_fit")
        assert {name: (one.value, one.reason) for name, one in scores.items()} == dict.fromkeys(
            metrics, (None, "does_not_fit")
        )


def test_answers_of_articles_and_marks_only() -> None:
    assert score_qa(case("The"), "the.")["answer_found"].value == 1
    assert score_qa(case("The"), "a barn")["answer_f1"].value == 0
    assert score_qa(case("mill"), "?!")["answer_f1"].value == 0


def test_a_summary_on_a_query() -> None:
    scores = score_focused_summary(case("The mill burnt down in May."), "In May the mill burnt.")
    # "the mill burnt" of 6 and 5 words.
    assert scores["rouge_l_precision"].value == pytest.approx(3 / 5)
    assert scores["rouge_l_recall"].value == pytest.approx(3 / 6)
    assert scores["rouge_l_f1"].value == pytest.approx(6 / 11)


@settings(deadline=None)  # the first call loads the library
@given(WORDS, WORDS)
def test_rouge_is_that_of_the_usual_library(first: list[str], second: list[str]) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    summary, right = (" ".join(words).capitalize() + "." for words in (first, second))
    theirs = scorer.RougeScorer(["rougeL"]).score(right, summary)["rougeL"]
    ours = rouge_l(summary, right)
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(
        (theirs.precision, theirs.recall, theirs.fmeasure)
    )


@given(WORDS, WORDS)
def test_token_f1_is_symmetric_and_one_for_equal_bags_only(first: list[str], second: list[str]) -> None:
    value = token_f1(first, second)
    assert 0 <= value <= 1 and value == pytest.approx(token_f1(second, first))
    assert (value == 1) == (sorted(first) == sorted(second))


@given(WORDS, WORDS, WORDS)
def test_what_was_put_in_occurs(before: list[str], right: list[str], after: list[str]) -> None:
    assert occurs(right, [*before, *right, *after]) == bool(right)


@given(st.text())
def test_tokens_stay_when_read_again(text: str) -> None:
    # Left-over format characters may join anew; what matters is that no text stops the reading.
    tokens = answer_tokens(text)
    assert all(token and not token.isspace() for token in tokens)
