"""Responses to scores: official and repaired, what is counted with a reason, and laws that hold for any text."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hang_guard import hang_guard
from hypothesis import given, settings
from hypothesis import strategies as st
from json_lines import read_rows

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.ethic import scoring
from long_context_tasks.benchmarks.ethic.prompts import split_sections
from long_context_tasks.benchmarks.ethic.scoring import repaired
from long_context_tasks.benchmarks.ethic.scoring.summaries import summaries
from long_context_tasks.schema import Case, Turn

GOLDEN = Path(__file__).with_name("golden") / "responses.jsonl"
ROWS = read_rows(GOLDEN)
TEXTS = st.text(alphabet=st.sampled_from("Aa1 2٣.,;:\n-[]()<>None*Core IDs:Segment")) | st.text()


def case(gold: list[str], domain: str = "books") -> Case:
    return Case("1", "t", {}, (Turn(gold),), "1", labels={"domain": domain})


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['task']}-{row['response'][:30]!r}" for row in ROWS])
def test_golden_responses(row: dict[str, Any]) -> None:
    scores = scoring.SCORES[row["task"]](case(row["gold"], row["domain"]), row["response"])
    strict, as_published = (scores[name] for name in scoring.METRICS[row["task"]][:2])
    assert strict.value == pytest.approx(row["strict"], abs=1e-12)
    assert strict.reason == row["reason"]
    assert as_published.value == pytest.approx(row["official"], abs=1e-12)


def replies(name: str) -> Any:
    return yaml.safe_load(GOLDEN.with_name(f"{name}_replies.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("domain", "reply", "right"), [(name, *row) for name, rows in replies("recall").items() for row in rows]
)
def test_a_list_is_read_from_replies_of_every_style(domain: str, reply: str, right: list[str]) -> None:
    gold = right if right else ["Anne"]
    score = scoring.score_recall(case(gold, domain), reply)["strict_f1"]
    assert score.value == float(bool(right))
    assert (score.reason is None) == bool(right)
    assert scoring.score_recall(case([*gold, "Zoe"], domain), reply)["strict_f1"].value != 1


@pytest.mark.parametrize(("reply", "right"), replies("organize"))
def test_an_order_is_read_from_replies_of_every_style(reply: str, right: str | None) -> None:
    for gold in ("3142", "1234", "4321"):
        score = scoring.score_organize(case(list(gold)), reply)["strict_lcs"]
        assert (score.value == 1) == (gold == right)
        assert (score.reason is None) == (right is not None)


@pytest.mark.parametrize(("reply", "right"), replies("attribute"))
def test_ids_are_read_from_replies_of_every_style(reply: str, right: list[str] | None) -> None:
    gold = right if right is None or right else ["none"]
    score = scoring.score_attribute(case(gold or ["12"], "medicine"), reply)["strict_f1"]
    assert score.value == float(right is not None)
    assert (score.reason is None) == (right is not None)
    assert scoring.score_attribute(case(["99"], "medicine"), reply)["strict_f1"].value == 0


def test_two_orders_are_ambiguous() -> None:
    score = scoring.score_organize(case(["1", "2"]), "[1], [2] or [2], [1]")["strict_lcs"]
    assert (score.value, score.reason) == (0, "ambiguous")


def test_the_card_names_headline_and_official_metric_first() -> None:
    assert {*scoring.SCORES, "summarize"} == set(scoring.METRICS)
    assert set(scoring.METRICS) == set(card("ethic").tasks)
    for task, metrics in scoring.METRICS.items():
        of_card = card("ethic").tasks[task]
        # Where the paper has no metric, the headline stands for both.
        first = dict.fromkeys((of_card.headline, of_card.official))
        assert metrics[: len(first)] == tuple(first)
        assert len(first) == (1 if of_card.source == "built" else 2)
        assert set(metrics) <= set(card("ethic").metrics)


@pytest.mark.parametrize("task", scoring.SCORES)
def test_a_failure_of_ours_has_no_value(task: str) -> None:
    scores = scoring.SCORES[task](case(["1"]), None, "does_not_fit")
    assert list(scores) == list(scoring.METRICS[task])
    assert {(one.value, one.reason) for one in scores.values()} == {(None, "does_not_fit")}
    nothing = scoring.SCORES[task](case(["1"]), None)
    assert nothing[scoring.METRICS[task][0]].reason == "empty"


@given(TEXTS, st.lists(st.text(min_size=1), max_size=4), st.sampled_from(["books", "medicine"]))
def test_any_response_to_any_gold_has_scores(response: str, gold: list[str], domain: str) -> None:
    for task in ("recall", "attribute"):
        for score in scoring.SCORES[task](case(gold, domain), response).values():
            assert score.value is not None and 0 <= score.value <= 1


@given(TEXTS, st.permutations(["1", "2", "3", "4"]))
def test_any_response_to_an_order_has_scores(response: str, gold: list[str]) -> None:
    scores = scoring.score_organize(case(gold), response)
    assert all(score.value is not None and 0 <= score.value <= 1 for score in scores.values())
    assert scores["strict_lcs"].value <= scores["length_adjusted_lcs"].value


NAMES = st.lists(st.sampled_from(["Anne", "Jane", "O'Neil", "Queequeg", "Łukasz"]), min_size=1, unique=True)


@given(st.lists(st.integers(1, 6), max_size=11), st.permutations(list(range(1, 7))))
def test_only_a_right_order_of_the_right_length_is_wholly_right(order: list[int], gold: list[int]) -> None:
    response = ", ".join(f"[{number}]" for number in order)
    scores = scoring.score_organize(case([str(number) for number in gold]), response)
    assert (scores["strict_lcs"].value == 1) == (order == gold)
    assert (scores["length_adjusted_lcs"].value == 1) == (order == gold)


@given(
    st.lists(st.text(alphabet="ab <>12\n"), max_size=4),
    st.text(alphabet="x \n"),
    st.sampled_from(["books", "law"]),
)
def test_sections_come_back_as_they_were_joined(texts: list[str], before: str, domain: str) -> None:
    name = "Segment" if domain == "law" else "Section"
    markers = [f"<{name} {n}>" for n in range(1, len(texts) + 1)]
    joined = before + "".join(f"{marker}{text}" for marker, text in zip(markers, texts, strict=True))
    assert split_sections(joined, domain) == dict(zip(markers, map(str.strip, texts), strict=True))


# Thinking is no part of a summary, and its marks are not text.
@given(st.text().filter(lambda text: "think" not in text.lower()), st.sampled_from(["books", "law"]))
def test_summaries_are_of_the_context_s_sections_in_its_order(response: str, domain: str) -> None:
    markers = ["<Section 2>", "<Section 1>"]
    assert list(summaries(case(markers), f"<Section 1>{response}<Section 2>")) == markers
    assert set(summaries(case(markers, domain), response)) <= set(markers)


UNITS = (*" \n\t#1[(`", "- ", "1 ", "```\n", "and ", "Core IDs ", "Core IDs: ", "Answer ")


@pytest.mark.parametrize("unit", UNITS)
def test_a_degenerate_response_is_read_to_the_end(unit: str) -> None:
    for before, after in (("", ""), ("Anne", "x"), ("Core IDs: [1]", "x"), ("[1], [2]", "x")):
        text = before + unit * (75_000 // len(unit)) + after
        with hang_guard(4):
            repaired.recalled_items(text, "medicine")
            repaired.attributed_ids(text)
            repaired.listed_order(text, 4)


def test_a_marker_given_twice_keeps_its_last_text() -> None:
    text = "<Section 1> a <Section 2> b <Section 1> c <Section 9> d"
    assert split_sections(text, "books") == {"<Section 1>": "c", "<Section 2>": "b", "<Section 9>": "d"}
    assert summaries(case(["<Section 1>", "<Section 3>"]), text) == {"<Section 1>": "c"}


def test_one_section_needs_no_marker() -> None:
    assert summaries(case(["<Section 1>"]), " All of it. ") == {"<Section 1>": "All of it."}
    assert summaries(case(["<Section 1>", "<Section 2>"]), "All of it.") == {}


def test_an_apology_before_a_right_answer_is_not_a_refusal() -> None:
    scores = scoring.score_recall(case(["Anne"]), "Sorry for the delay, Anne")
    assert scores["strict_f1"].value == pytest.approx(2 / 3) and scores["strict_f1"].reason is None


WORDS = st.lists(st.sampled_from(["red", "blue", "green", "one", "two"]), max_size=12)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (None, "empty"),
        ("  ", "empty"),
        ("<think>The mill", "answer_cut"),
        ("I'm sorry, I can't say.", "refused"),
    ],
)
@pytest.mark.parametrize("task", ["single_qa", "focused_summary"])
def test_no_answer_is_the_lowest_score_with_its_reason(task: str, response: str | None, reason: str) -> None:
    scores = scoring.SCORES[task](case(["the barn"]), response)
    assert {(score.value, score.reason) for score in scores.values()} == {(0.0, reason)}


def test_a_summary_on_a_query() -> None:
    scores = scoring.score_focused_summary(case(["The mill burnt down in May."]), "In May the mill burnt.")
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
    ours = scoring.rouge_l(summary, right)
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(
        (theirs.precision, theirs.recall, theirs.fmeasure)
    )


@given(WORDS, WORDS)
def test_token_f1_is_symmetric_and_one_for_equal_bags_only(first: list[str], second: list[str]) -> None:
    value = scoring.token_f1(first, second)
    assert 0 <= value <= 1 and value == pytest.approx(scoring.token_f1(second, first))
    assert (value == 1) == (sorted(first) == sorted(second))
