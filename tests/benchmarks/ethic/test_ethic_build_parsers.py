"""What annotators and evaluators write is read without a crash, whatever it is; and nothing but citations is masked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ethic.annotator import first_sentences, parse_pair, parse_spans
from long_context_tasks.benchmarks.ethic.build_settings import fill
from long_context_tasks.benchmarks.ethic.citations import MARK, TARGET_MARK, find_quotes, mask
from long_context_tasks.benchmarks.ethic.coverage import evaluator_prompt, read_score
from long_context_tasks.benchmarks.ethic.labels import gold_labels, label_f1, merge_labels, parse_labels
from long_context_tasks.benchmarks.ethic.repaired import recall_f1, recall_labels, recalled_items

NAMES = st.lists(st.from_regex(r"[A-Z][a-zé]{1,9}", fullmatch=True), max_size=8)
NUMBERS = st.lists(st.integers(0, 99_999).map(str), max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["books", "debates", "medicine", "law"]))
def test_any_answer_is_read(answer: str, domain: str) -> None:
    labels = parse_labels(answer, domain)
    assert len({label.lower() for label in labels}) == len(labels)
    assert all(label == label.strip() and label and "," not in label and ";" not in label for label in labels)
    assert merge_labels([labels, labels]) == labels
    assert label_f1(labels, labels).f1 == 1
    assert read_score(answer) in (None, 0.0, 1.0)
    assert all("\n" not in span for span in parse_spans(answer))
    assert parse_pair(answer) is None or all(parse_pair(answer) or ())
    assert first_sentences(answer, 5) == first_sentences(first_sentences(answer, 5), 5)


@settings(max_examples=100, deadline=None)
@given(NAMES, NUMBERS)
def test_lists_of_the_asked_form_come_back(names: list[str], numbers: list[str]) -> None:
    """And the labels that they become are read as right answers by the scorer."""
    for domain, items, separator in (
        ("books", names, ", "),
        ("medicine", numbers, "; "),
        ("law", numbers, "; "),
    ):
        wanted = (
            merge_labels([items])
            if domain != "books"
            else [n for n in merge_labels([items]) if n not in ("Mr", "Mrs")]
        )
        found = parse_labels(separator.join(items) or "None", domain)
        if domain == "books":
            assert set(found) <= set(wanted) and set(wanted) - set(found) <= TITLES
        else:
            assert found == wanted
        gold = gold_labels(found)
        assert recall_f1(recalled_items(separator.join(gold), domain), recall_labels(gold, domain)).f1 == 1


TITLES = {
    "Ms",
    "Miss",
    "Dr",
    "Sir",
    "Lady",
    "Lord",
    "Captain",
    "Madam",
    "Madame",
    "Speaker",
    "Hon",
    "Rev",
    "Prof",
}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["The court held so.", "Doe v. Roe, 17 F.3d 462 (1st Cir. 1994)", "18 U.S.C. § 922", "x [y]"]
        )
    )
)
def test_masking_keeps_what_is_no_citation(parts: list[str]) -> None:
    text = " and ".join(parts)
    masked, n = mask(text, [], ["17 F.3d 462"])
    assert n == masked.count(TARGET_MARK) == text.count("17 F.3d 462")
    assert masked.replace(TARGET_MARK, "Doe v. Roe, 17 F.3d 462 (1st Cir. 1994)") == text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_any_quote_and_text_can_be_masked(text: str, quotes: list[str]) -> None:
    masked, n = mask(text, quotes)
    assert n <= len(find_quotes(text, quotes)) and (n or MARK in masked or masked == text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=100), st.text(max_size=100))
def test_what_is_filled_in_is_not_searched_for_slots(passage: str, query: str) -> None:
    prompt = evaluator_prompt(passage + "<query>", query + "<context>")
    assert passage + "<query>" in prompt and query + "<context>" in prompt
    assert fill("<options>", {"options": passage}) == passage


@pytest.mark.parametrize(
    ("text", "quotes", "masked"),
    [
        ("As Gifford held, no.", ["Gifford"], "As [TARGET CITATION] held, no."),
        ("See Roe v. Wade, 410 U.S. 113 (1973).", [], "See [CITATION]."),
        # A span that the annotator copied in part makes the whole citation the target's.
        ("See Roe v. Wade, 410 U.S. 113 (1973).", ["Roe v. Wade"], "See [TARGET CITATION]."),
        ("(quoting Roe v. Wade, 410 U.S. 113, 116 (1973))", [], "(quoting [CITATION])"),
        ("See 42 U.S.C. § 1983.", [], "See 42 U.S.C. § 1983."),
        (
            "Doe v. Roe, F.3d , (1st Cir. 1994) [No. 93-1]",
            ["Doe v. Roe, F.3d ,"],
            "[TARGET CITATION] (1st Cir. 1994) [No. 93-1]",
        ),
    ],
)
def test_masking(text: str, quotes: list[str], masked: str) -> None:
    assert mask(text, quotes)[0] == masked
