"""Fact recall: which facts a summary states, what is left out, and what stands beside it with and without a judge."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ethic import prompts as sections
from long_context_tasks.benchmarks.ethic.scoring import fact_recall, summaries
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import SectionFacts, plain_words, states
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import Case, Options, Turn
from long_context_tasks.synthetic.document import Fact

WHEEL = Fact("Anne mended a wheel.", (("Anne", "Finch"), ("mended", "repaired"), ("wheel",)))
COUNT = Fact("1,204 men came.", (("1,204", "1204"),), 0.5)
_NAMES = re.compile(r"\b[A-Z][\w'-]*|\d[\d,]*\d|\d")
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


A, B = "Anne mended a wheel.", "The mill burned."
MARKERS = ["<Section 1>", "<Section 2>"]


@pytest.mark.parametrize(
    "answer",
    [
        f"<Section 1>\n{A}\n\n<Section 2>\n{B}",
        f"**<Section 1>**\n\n{A}\n\n**<Section 2>**\n\n{B}",
        f"<Section 1>{A}</Section 1>\n<Section 2>{B}</Section 2>",
        f"<think><Section 1> No.</think><Section 1> {A} <Section 2> {B}",
        f"Here are the summaries:\n\n<Section 1>: {A}\n<Section 2>: {B}",
        f"```\n<Section 1>\n{A}\n<Section 2>\n{B}\n```",
        f"<Section 1> - {A}\n<Section 2> - {B}\n\nIn short, <Section 1> and <Section 2> tell of damage.",
        f"I will do <Section 1>, then <Section 2>.\n<Section 1> {A}\n<Section 2> {B}",
        f"<Section 2> {B} <Section 1> {A}",
        f"## Section 1\n{A}\n## Section 2\n{B}",
        f"**Section 1:** {A}\n\n**Section 2:** {B}",
        f"1. Section 1: {A}\n2. Section 2: {B}",
        f"Section 01\n{A}\nSECTION 02\n{B}",
        f"&lt;Section 1&gt; {A}\n&lt;Section 2&gt; {B}",
        f"\\<Section 1\\> {A}\n\\<Section 2\\> {B}",
        f"[Section 1] {A}\n[Section 2] {B}",
        f"<section 1>\n{A}\n<section 2>\n{B}",
        f"Summary of Section 1: {A}\nSummary of Section 2: {B}",
    ],
)
def test_summaries_are_found_however_they_are_headed(answer: str) -> None:
    assert value(case_of((WHEEL,), (MILL,)), answer).value == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("A B C", {}),
        ("", {}),
        ("I'm sorry, I cannot summarize Section 1.", {}),
        ("<Section 1> <Section 2>", {"<Section 1>": "", "<Section 2>": ""}),
        ("<Section 1> A <Section 9> X <Section 2> B", {"<Section 1>": "A", "<Section 2>": "B"}),
        # Where a section has its marker, headings are text.
        ("<Section 1> A\nSection 2: B", {"<Section 1>": "A\nSection 2: B"}),
        ("## Section 7\nX\n## Section 2\nB", {"<Section 2>": "B"}),
        (f"Section {'9' * 5000}: X", {}),
    ],
)
def test_what_stands_under_no_marker_is_left_out(answer: str, expected: dict[str, str]) -> None:
    assert fact_recall.written_summaries(answer, MARKERS) == expected


def test_headings_in_law_and_a_single_section() -> None:
    segments = ["<Segment 1>", "<Segment 2>"]
    for answer in (
        "<Section 1> A\n<Section 2> B",
        "<Segment 1> A\n<Segment 2> B",
        "Segment 1: A\nSegment 2: B",
    ):
        assert fact_recall.written_summaries(answer, segments) == dict(zip(segments, "AB", strict=True))
    assert fact_recall.written_summaries(" A ", MARKERS[:1]) == {"<Section 1>": "A"}


@given(st.text(alphabet="<>Section 12\n*#:Ab.", max_size=80))
def test_any_answer_is_read(answer: str) -> None:
    assert set(fact_recall.written_summaries(answer, MARKERS)) <= set(MARKERS)


@pytest.mark.parametrize("hyphen", ["\u2010", "\u2011"])
def test_typographic_hyphens_are_hyphens(hyphen: str) -> None:
    assert states(f"a salt{hyphen}poor diet", Fact("x", (("salt-poor",),)))


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


DOMAINS = pytest.mark.parametrize("domain", ["books", "debates", "medicine", "law"])


@DOMAINS
def test_every_statement_states_its_fact(
    domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    made = load_task(f"ethic_summarize_{domain}_synthetic", Options(length=8000, n=3, seed=11))
    facts = [fact for case in made.cases.cases for row in case.inputs["facts"] for fact in row["facts"]]
    unstated = [words for statement, words, _ in facts if not states(statement, Fact("", words))]
    assert len(facts) > 50 and not unstated


@pytest.mark.parametrize("domain", ["books", "debates", "law"])
def test_no_list_of_names_and_no_summary_of_another_section_passes(
    domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    made = load_task(f"ethic_summarize_{domain}_synthetic", Options(length=8000, n=5, seed=11))
    lists: list[float] = []
    others: list[float] = []
    for case in made.cases.cases:
        context = sections.context_of(made.messages(case)[-1].content)
        assert context is not None
        texts = sections.split_sections(context, domain)
        assert list(texts) == case.turns[0].gold
        named = {marker: " ".join(_NAMES.findall(text)) for marker, text in texts.items()}
        told = [" ".join(fact[0] for fact in row["facts"]) for row in case.inputs["facts"]]
        before = dict(zip(texts, [told[-1], *told], strict=False))
        for answer, values in ((named, lists), (before, others)):
            written = "\n".join(f"{marker} {text}" for marker, text in answer.items())
            values.append(value(case, written).value)
    print(f"{domain}: names and figures", lists, "summary of the section before", others)
    assert sum(lists) / len(lists) < 0.3
    assert sum(others) / len(others) < 0.15


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
