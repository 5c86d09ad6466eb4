"""Cases written from a seed: lengths kept, the same bytes, memory that does not grow; and fact recall, which scores summaries of them."""

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.prompts import context_of, find_markers, sections_of, template
from long_context_tasks.benchmarks.ethic.scoring import fact_recall, summaries
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import SectionFacts, plain_words, states
from long_context_tasks.benchmarks.ethic.synthetic import (
    WRITINGS,
    SyntheticSettings,
    build,
    make_cases,
)
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute
from long_context_tasks.benchmarks.ethic.synthetic.fit import Forms, as_written, fit, shortened, whole_word
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Made, Maker
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.coverage.measure import CHUNK_TOKENS, split_context
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import Case, CaseSet, InputError, Options, Turn
from long_context_tasks.synthetic.document import Fact, Paragraph
from long_context_tasks.tokens import get_tokenizer
from long_context_tasks.tokens.build_settings import settings_of

pytestmark = pytest.mark.slow


def count(text: str) -> int:
    return get_tokenizer("cl100k").count(text)


def made_case(task: str, length: int, number: int, seed: int = 3) -> Made:
    chosen = SyntheticSettings((length,), seed=seed).fitted().fresh()
    [[made]] = make_cases([task], "medicine", length, chosen, number)
    return made


def test_documents_that_make_no_case_never_run_out() -> None:
    chosen = SyntheticSettings((1000,), seed=1).fitted()
    failed = [attribute(Maker("medicine", 1000, chosen.fresh(), number)) is None for number in range(40)]
    share = sum(failed) / len(failed)
    assert share**WRITINGS * 1000 < 1e-2, share  # a thousand cases


def test_longer_tokens_than_those_of_cl100k_are_supplied(tmp_path: Path) -> None:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?:\S+\s+){1,4}"), "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    chosen = SyntheticSettings((4000,), tokenizer=str(tmp_path), length_policy="same_tokens").fitted()
    [[case]] = make_cases(["attribute"], "medicine", 4000, chosen.fresh(), 0)
    user = case.draft.user
    assert 0.98 * 4000 <= get_tokenizer(str(tmp_path)).count(f"{template('build_system')}\n\n{user}") <= 4000


def coverage(made: Made, task: str, forms: Forms | None) -> float:
    """Return the share of the chunks of a case's context that the answer needs."""
    context = context_of(made.draft.user) or ""
    facts = [fact for section in made.facts for fact in section.facts]
    paragraphs = [(" ".join(one.text.split()), one) for one in made.paragraphs]

    def needed(chunk: str) -> bool:
        inside = [
            one
            for text, one in paragraphs
            if text in chunk
            or chunk in text
            or chunk.endswith(text[:40])
            or text[:80] in chunk
            or text[-80:] in chunk
        ]
        if task not in ("recall", "attribute"):
            return any(fact in facts and states(chunk, fact) for one in inside for fact in one.facts)
        # In attributing the labels are ids of studies.
        return any(
            label in chunk if task == "attribute" else whole_word((forms or as_written)(label), chunk)
            for one in inside
            for label in one.labels
        )

    found = [
        needed(" ".join(chunk.split()))
        for chunk in split_context(context, get_tokenizer("cl100k"), CHUNK_TOKENS)
    ]
    return sum(found) / len(found)


@pytest.mark.parametrize("task", ["recall", "summarize", "attribute"])
def test_the_answer_needs_most_of_the_context(task: str) -> None:
    shares = {
        (length, number): coverage(made_case(task, length, number), task, GENRES["medicine"].forms)
        for length, cases in ((1000, 5), (8000, 2))
        for number in range(cases)
    }
    # 50 cases of each: docs/synthetic.md
    assert sum(shares.values()) / len(shares) >= (0.75 if task == "attribute" else 0.8), shares


@pytest.mark.parametrize("task", ["recall", "attribute", "sections"])
def test_lengths_made_together_are_those_made_alone(task: str, tmp_path: Path) -> None:
    family = "ethic_sections" if task == "sections" else f"ethic_{task}_synthetic"

    def lines(lengths: tuple[int, ...]) -> list[tuple[str, str]]:
        folder = tmp_path / f"{family}_{len(lengths)}_{lengths[0]}"
        build(family, None, SyntheticSettings(lengths, n=3), folder)
        [name] = [path.stem for path in folder.glob("*.jsonl")]
        cases = CaseSet.read(folder, name)
        keys = [[user] if isinstance(user := case.inputs["user"], str) else user for case in cases.cases]
        texts = ["".join(cases.documents[key] for key in own) for own in keys]
        return list(zip((case.to_json() for case in cases.cases), texts, strict=True))

    assert lines((4000, 1500, 2000)) == [*lines((4000,)), *lines((1500,)), *lines((2000,))]


def test_recall_and_summarize_share_the_prompt_up_to_the_instruction() -> None:
    for number in range(3):
        recall, summarize = (made_case(task, 3000, number).draft.user for task in ("recall", "summarize"))
        context = context_of(recall)
        assert context and context == context_of(summarize) and not find_markers(context, "medicine")
        before, behind = recall.split("### Instruction:\n")
        assert (
            summarize.startswith(before) and context in before and not summarize.startswith(before + behind)
        )


def test_a_longer_context_begins_with_a_shorter_one() -> None:
    short, long = (made_case("recall", length, 0).draft.user for length in (2000, 4000))
    *whole, _ = (context_of(short) or "").split("\n\n")
    # But for the last paragraph, which is cut to the length.
    assert len(whole) > 2 and (context_of(long) or "").startswith("\n\n".join(whole))


def test_sections_are_named_by_words_that_occur_once() -> None:
    task = load_task("ethic_summarize_medicine_synthetic", Options(length=3000, n=3))
    for case in task.cases.cases:
        user = task.messages(case)[-1].content
        context, asked = str(context_of(user)), user.split("### Instruction:")[1]
        sections = sections_of(case, task.cases.documents)
        assert list(sections) == case.turns[0].gold
        assert "".join("".join(sections.values()).split()) == "".join(context.split())
        for marker, words in zip(sections, case.inputs["beginnings"], strict=True):
            assert context.count(words) == 1 and f'{marker} "{words}"\n' in asked
            assert sections[marker].startswith(words) and len(words.split()) <= 12
        damaged = replace(case, inputs={**case.inputs, "beginnings": ["no such words"]})
        with pytest.raises(InputError, match="damaged"):
            sections_of(damaged, task.cases.documents)


def test_every_file_and_length_is_reported(tmp_path: Path) -> None:
    reports = build("ethic_attribute_synthetic", None, SyntheticSettings((1000, 2000), n=2), tmp_path, Work())
    assert [report.task for report in reports] == [
        f"ethic_attribute_medicine_synthetic {length}" for length in ("1k", "2k")
    ]
    assert all(len(report.tokens) == report.clusters == 2 for report in reports)


def test_what_cannot_be_built_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too short"):
        load_task("ethic_recall_medicine_synthetic", Options(length=900))
    with pytest.raises(InputError, match="no cases of books, only of medicine"):
        chosen = SyntheticSettings((1000,), domain="books")
        build("ethic_recall_synthetic", None, chosen, tmp_path / "x")
    with pytest.raises(InputError, match="--domain must be 'books', 'debates', 'medicine' or 'law'"):
        settings_of(SyntheticSettings, {"lengths": (1000,), "domain": "poems"}, "here")


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    peaks = []
    remembered = len(get_tokenizer("cl100k")._counts)
    for n in (4, 24):
        tracemalloc.start()
        chosen = SyntheticSettings((2000,), n=n)
        build("ethic_recall_synthetic", None, chosen, tmp_path / str(n))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], peaks
    # A tokenizer remembers counts for as long as it lives: the shared one must not count every paragraph.
    assert len(get_tokenizer("cl100k")._counts) == remembered


WORDS = st.sampled_from(
    ["Anne", "went", "over", "Kitty's", "long", "bridge", "while", "somebody", "laughed", "aloud"]
)
SENTENCES = st.lists(st.lists(WORDS, min_size=3, max_size=9), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=6), st.integers(5, 150))
def test_fitted_paragraphs_are_the_first_ones_and_fit(written: list[list[list[str]]], room: int) -> None:
    texts = [" ".join(f"Then {' '.join(words)} again." for words in one) for one in written]
    names = ("Anne", "Kitty")
    paragraphs = [
        Paragraph(text, tuple(name for name in names if whole_word((name,), text))) for text in texts
    ]
    fitted = fit(paragraphs, room, 3, count, fillers=("So it was.", "It was late by then."))
    assert sum(count(f"{one.text}\n\n") for one in fitted) <= room
    for one, whole in zip(fitted[:-1], paragraphs, strict=False):
        assert one is whole
    if fitted:
        last, whole = fitted[-1], paragraphs[len(fitted) - 1]
        stem = re.sub(r"(?: (?:So it was|It was late by then)\.)+$", "", last.text)
        assert whole.text.startswith(stem) and stem.endswith(".")
        assert last.labels == tuple(name for name in names if whole_word((name,), stem))


def test_a_shortened_paragraph_keeps_what_still_stands_in_it() -> None:
    fact, other = Fact("a", (("bridge",), ("fell", "fallen"))), Fact("b", (("mill",),))
    text = "The bridge had fallen by noon. Capt. Smith said it was the mill (all of it. Really) there. So he went."
    one = Paragraph(text, ("Smith",), (fact, other))
    assert shortened(one, text.index(" Capt.")) == Paragraph("The bridge had fallen by noon.", (), (fact,))
    assert shortened(one, text.index(" Smith")) is None  # an abbreviation
    assert shortened(one, text.index(" Really)")) is None  # an open parenthesis
    counts = Paragraph("There were 24 women here. Later 24 per cent of 1,204 went.", ("24", "1204"))
    forms = lambda label: (label, f"{int(label):,}")  # noqa: E731
    # Which of the two 24 is a count of people is unclear.
    assert shortened(counts, counts.text.index(" Later"), forms) is None


WHEEL = Fact("Anne mended a wheel.", (("Anne", "Finch"), ("mended", "repaired"), ("wheel",)))
COUNT = Fact("1,204 men came.", (("1,204", "1204"),), 0.5)
MILL = Fact("The mill burned.", (("mill",), ("burned", "fire")))


def case_of(*sections: tuple[Fact, ...], words: int = 100) -> Case:
    rows = [SectionFacts.of(facts, "word " * words).row() for facts in sections]
    markers = [f"<Section {n}>" for n in range(1, len(sections) + 1)]
    return Case("c", "t", {"facts": rows}, (Turn(markers),), "c", labels={"domain": "books"})


def value(case: Case, response: str | None) -> Any:
    return fact_recall.score_case(case, response)["fact_recall"]


def test_shares_are_weighed_and_sections_left_out_have_nothing() -> None:
    case = case_of((WHEEL, COUNT), (MILL,))
    for response, share in (
        ("<Section 1> Anne mended a wheel. <Section 2> The mill burned.", (1 / 1.5 + 1) / 2),
        ("<Section 1> Anne mended a wheel; 1,204 men came.", 0.5),
        # What stands under another marker says nothing of its own section.
        ("<Section 1> Anne mended a wheel; 1,204 men came. The mill burned.", 0.5),
        ("<Section 1> The mill burned. <Section 2> Anne mended a wheel.", 0),
    ):
        assert value(case, response).value == pytest.approx(share)
    assert value(case_of((), (MILL,)), "<Section 2> The mill burned.").value == 1


@pytest.mark.parametrize(
    ("response", "reason"),
    [(None, "empty"), ("", "empty"), ("I'm sorry, I can't.", "refused"), ("Anne mended it.", "unparsed")],
)
def test_failures_of_the_model_have_the_lowest_score(response: str | None, reason: str) -> None:
    score = value(case_of((WHEEL,), (MILL,)), response)
    assert (score.value, score.reason) == (0, reason)


MARKERS = ["<Section 1>", "<Section 2>"]


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
@example(f"Section {'9' * 5000}: X")
def test_any_answer_is_read(answer: str) -> None:
    assert set(fact_recall.written_summaries(answer, MARKERS)) <= set(MARKERS)


def test_a_copy_of_the_section_counts_up_to_a_third_of_its_words() -> None:
    case = case_of((WHEEL, MILL), words=400)
    filler = "and so it went on " * 20
    assert value(case, f"<Section 1> Anne mended the wheel. {filler} The mill burned.").value == 1
    assert value(case, f"<Section 1> Anne mended the wheel. {filler * 2} The mill burned.").value == 0.5
    assert SectionFacts.of((MILL,), "word " * 5000).most_words == fact_recall.PAGE
    # The words of a long section are not all looked for; what begins with a mark may be no word.
    for size in (800, 832, 833, 1_665, 1_700):
        expected = min(fact_recall.PAGE, round(0.3 * 2 * size))
        assert SectionFacts.of((MILL,), "one — (two) " * size).most_words == expected
    assert len(plain_words(filler)) == 100


@pytest.fixture
def task() -> Any:
    return load_task("ethic_summarize_medicine_synthetic", Options(length=2000, n=1))


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
