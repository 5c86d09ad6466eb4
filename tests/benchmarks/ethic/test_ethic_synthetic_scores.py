"""Fact recall: which facts a summary states, what is left out, and what stands beside it with and without a judge."""

from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.benchmarks.ethic import fact_recall, summaries
from long_context_tasks.benchmarks.ethic.data import load_task
from long_context_tasks.benchmarks.ethic.fact_recall import SectionFacts, plain_words, states
from long_context_tasks.corpora.synthetic.document import Fact
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import Case, Options, Turn

WHEEL = Fact("Anne mended a wheel.", (("Anne", "Finch"), ("mended", "repaired"), ("wheel",)))
COUNT = Fact("1,204 men came.", (("1,204", "1204"),), 0.5)
MILL = Fact("The mill burned.", (("mill",), ("burned", "fire")))


@pytest.mark.parametrize(
    ("text", "fact", "expected"),
    [
        ("Finch’s cart: its wheel was REPAIRED.", WHEEL, True),
        ("Anne repaired the wheelbarrow.", WHEEL, False),
        ("Anne saw a wheel.", WHEEL, False),
        ("1204 men", COUNT, True),
        ("1,204, it is said", COUNT, True),
        ("11,204 men", COUNT, False),
        ("The wind-mill was on fire", MILL, False),
        ("the mill's fire", MILL, True),
        ("", MILL, False),
    ],
)
def test_stated(text: str, fact: Fact, expected: bool) -> None:
    assert states(text, fact) is expected


def case_of(*sections: tuple[Fact, ...], words: int = 100) -> Case:
    rows = [SectionFacts.of(facts, "word " * words).row() for facts in sections]
    markers = [f"<Section {n}>" for n in range(1, len(sections) + 1)]
    return Case(
        "c",
        "ethic_summarize_books_synthetic",
        {"facts": rows},
        (Turn(markers),),
        "c",
        labels={"domain": "books"},
    )


def value(case: Case, response: str | None) -> Any:
    return fact_recall.score_case(case, response)["fact_recall"]


def test_shares_are_weighed_and_sections_left_out_have_nothing() -> None:
    case = case_of((WHEEL, COUNT), (MILL,))
    assert value(
        case, "<Section 1> Anne mended a wheel. <Section 2> The mill burned."
    ).value == pytest.approx((1 / 1.5 + 1) / 2)
    assert value(case, "<Section 1> Anne mended a wheel; 1,204 men came.").value == 0.5
    # What stands under another marker is not told of a section that is left out.
    assert value(case, "<Section 1> Anne mended a wheel; 1,204 men came. The mill burned.").value == 0.5
    # A fact under another marker is not told there.
    assert value(case, "<Section 1> The mill burned. <Section 2> Anne mended a wheel.").value == 0
    assert value(case_of((), (MILL,)), "<Section 2> The mill burned.").value == 1


@pytest.mark.parametrize(
    ("response", "reason"),
    [(None, "empty"), ("", "empty"), ("I'm sorry, I can't.", "refused"), ("Anne mended it.", "unparsed")],
)
def test_failures_of_the_model_have_the_lowest_score(response: str | None, reason: str) -> None:
    score = value(case_of((WHEEL,), (MILL,)), response)
    assert (score.value, score.reason) == (0, reason)


def test_a_copy_of_the_section_counts_up_to_half_of_its_words() -> None:
    case = case_of((WHEEL, MILL), words=400)
    filler = "and so it went on " * 30
    assert value(case, f"<Section 1> Anne mended the wheel. {filler} The mill burned.").value == 1
    assert value(case, f"<Section 1> Anne mended the wheel. {filler * 2} The mill burned.").value == 0.5
    assert SectionFacts.of((MILL,), "word " * 5000).most_words == fact_recall.PAGE
    assert len(plain_words(filler)) == 150


def test_rows_come_back_equal() -> None:
    facts = SectionFacts.of((WHEEL, COUNT), "some words")
    assert SectionFacts.of_row(facts.row()) == facts


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    return load_task("ethic_summarize_books_synthetic", Options(length=2000, n=1))


def perfect(case: Case) -> str:
    sections = zip(case.turns[0].gold, case.inputs["facts"], strict=True)
    return "\n".join(f"{marker} {' '.join(fact[0] for fact in row['facts'])}" for marker, row in sections)


def test_the_statements_of_the_writer_score_one_without_a_judge(task: Any) -> None:
    assert task.metrics[0] == "fact_recall" and task.metrics[1:] == summaries.METRICS
    assert "fact_recall" not in task.points and "fact_recall" not in task.judging.metrics
    [case] = task.cases.cases
    scores = task.score(case, perfect(case), None)
    assert scores["fact_recall"].value == pytest.approx(1)
    assert (scores["summary_score"].value, scores["summary_score"].reason) == (None, "not_judged")
    assert scores["sections_covered"].value == 1
    assert task.score(case, None, "does_not_fit")["fact_recall"].value is None


def test_a_judge_adds_its_metrics_and_changes_nothing_else(task: Any) -> None:
    [case] = task.cases.cases
    response = perfect(case)
    requests = task.judging.requests(case, [response], "geval")
    verdicts = [Verdict(4.0, None, "4", (), 0, str(n)) for n in range(len(requests))]
    scores = task.judging.score_turn(case, 0, response, verdicts, "geval", None)
    assert scores["summary_score"].value == 4
    assert scores["fact_recall"] == task.score(case, response, None)["fact_recall"]


def test_published_summaries_have_no_fact_recall() -> None:
    from long_context_tasks.benchmarks.ethic import scoring

    assert "fact_recall" not in scoring.METRICS["summarize"]
