"""What models, judges, annotators and evaluators write is read as the golden file says, and without a crash whatever it is."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_lines import write_rows

from long_context_tasks.benchmarks.ethic.build.annotator import (
    first_sentences,
    gold_labels,
    label_f1,
    merge_labels,
    parse_labels,
    parse_pair,
    parse_spans,
    read_labelled_chunks,
)
from long_context_tasks.benchmarks.ethic.build.attribute_law import may_refer
from long_context_tasks.benchmarks.ethic.build.citations import (
    MARK,
    MARKS,
    TARGET_MARK,
    Cites,
    find_citations,
    find_quotes,
    mask,
)
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.scoring import score_qa
from long_context_tasks.benchmarks.ethic.scoring.repaired import (
    attributed_ids,
    is_refusal,
    listed_order,
    recall_f1,
    recall_labels,
    recalled_items,
)
from long_context_tasks.benchmarks.ethic.scoring.summaries import stated_rating
from long_context_tasks.corpora.opinions import Opinion
from long_context_tasks.coverage.measure import read_score
from long_context_tasks.schema import Case, InputError, Turn

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("golden").joinpath("readings.jsonl").read_text("utf-8").splitlines()
]
MARKERS = ["<Section 1>", "<Section 2>"]


def case(gold: list[str], **inputs: Any) -> Case:
    return Case("1", "t", inputs, (Turn(gold),), "1", labels={"domain": "books"})


def short_answer(gold: str, response: str) -> list[float | None]:
    return [score.value for score in score_qa(case([gold]), response).values()]


def masked_of(text: str, quotes: list[str], strings: Sequence[str] = ()) -> tuple[str, int]:
    return mask(text, [*find_citations(text, strings), *find_quotes(text, quotes)])


READERS: dict[str, Callable[..., Any]] = {
    "labels": parse_labels,
    "recalled": lambda answer: recalled_items(answer, "books"),
    "attributed": attributed_ids,
    "ordered": lambda answer: listed_order(answer, 3)[0],
    "masked": lambda text, quotes: masked_of(text, quotes)[0],
    "may refer": lambda span: may_refer(span, Opinion("1", "The United States v. Gifford", ())),
    "refusal": is_refusal,
    "stated rating": stated_rating,
    "final score": read_score,
    "short answer": short_answer,
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['rule']}-{row['given'][-1]!r:.30}" for row in ROWS])
def test_golden_readings(row: dict[str, Any]) -> None:
    assert READERS[row["rule"]](*row["given"]) == row["expected"]


NAMES = st.lists(st.from_regex(r"[A-Z][a-zé]{1,9}", fullmatch=True), max_size=8)
NUMBERS = st.lists(st.integers(0, 99_999).map(str), max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["books", "debates", "medicine", "law"]))
def test_any_answer_is_read(answer: str, domain: str) -> None:
    labels = parse_labels(answer, domain) or []
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
    names = [name for name in names if name not in ("None", "Mr", "Mrs")]
    for domain, items, separator in (
        ("books", names, ", "),
        ("medicine", numbers, "; "),
        ("law", numbers, "; "),
    ):
        wanted = merge_labels([items])
        found = parse_labels(separator.join(items) or "None", domain) or []
        if domain == "books":
            assert set(found) <= set(wanted) and set(wanted) - set(found) <= TITLES
        else:
            assert found == wanted
        gold = gold_labels(found)
        assert recall_f1(recalled_items(separator.join(gold), domain), recall_labels(gold, domain)).f1 == 1


TITLES = {
    *("Ms", "Miss", "Dr", "Sir", "Lady", "Lord", "Captain"),
    *("Madam", "Madame", "Speaker", "Hon", "Rev", "Prof", "Mme", "Mlle", "Aunt", "Uncle", "The", "An", "Of"),
}


SENTENCES = ("The court held so.", "Doe v. Roe, 17 F.3d 462 (1st Cir. 1994)", "18 U.S.C. § 922", "x [y]")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES)))
def test_masking_changes_citations_only(parts: list[str]) -> None:
    text = " and ".join(parts)
    masked, n = masked_of(text, [], ["17 F.3d 462"])
    assert n == masked.count(TARGET_MARK) == text.count("17 F.3d 462")
    assert masked.replace(TARGET_MARK, "Doe v. Roe, 17 F.3d 462 (1st Cir. 1994)") == text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_any_quote_and_text_can_be_masked(text: str, quotes: list[str]) -> None:
    masked, n = masked_of(text, quotes)
    assert n <= len(find_quotes(text, quotes)) and (n or MARK in masked or masked == text)


def test_hand_made_labels_are_read_as_the_annotators(tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    rows = [
        ("medicine", ["1,204", 36]),
        ("books", ["Mr. Darcy", "O\u2019Neil's"]),
        ("law", ["922(g)"]),
        ("law", []),
    ]
    made = [{"domain": domain, "passage": "x", "labels": labels} for domain, labels in rows]
    write_rows(path, made)
    read = [list(chunk.labels) for chunk in read_labelled_chunks(path)]
    assert read == [["1204", "36"], ["Darcy", "O\u2019Neil"], ["922g"], []]
    for (domain, labels), own in zip(rows, read, strict=True):
        assert (parse_labels("; ".join(map(str, labels)) or "None", domain) or []) == own
    path.write_text(json.dumps({"domain": "medicine", "passage": "x", "labels": ["twelve of them"]}))
    with pytest.raises(InputError, match=r"hand.jsonl, line 1: 'twelve of them' is not a label"):
        read_labelled_chunks(path)


def test_instructions_are_those_of_the_paper(shared: Path) -> None:
    [paper] = (shared / "papers").glob("001_*.txt")
    text = paper.read_text()
    start, end = text.index("B Details on Annotation"), text.index("C Performance per Domain")
    appendix = " ".join(text[start:end].split())
    for name in (
        *(f"recall_{domain}" for domain in ("books", "debates", "medicine", "law")),
        *("summarize", "organize", "attribute_medicine", "attribute_law"),
    ):
        assert " ".join(template(f"build_{name}").replace("### ", "").split()) in appendix, name


GIFFORD = "Gifford v. Harrow Mills LLC"
FULL = "Gifford v. Harrow Mills, LLC, 482 F.3d 600 (1st Cir. 2007). "
T, C, U, N = TARGET_MARK, MARK, MARKS[Cites.UNSURE], MARKS[Cites.NAMESAKE]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("See Doe v. Roe, 17 F.3d 462, 467 (1st Cir.1994) (citing it).", f"See {C} (citing it)."),
        ("In Doe v. Roe, 17 F.3d 462, 463-64 & nn.16-17 (1st Cir. 1994), no.", f"In {C}, no."),
        ("Doe v. Roe, 399 F.3d 724, 735- 36 (1st Cir. 2005). Then 12 left.", f"{C}. Then 12 left."),
        ("Under 18 U.S.C. § 5032, no. Id. § 5031.", "Under 18 U.S.C. § 5032, no. Id. § 5031."),
        ("So said (following Roe v. City of Rye, supra). No.", f"So said (following {C}). No."),
        ("It was by Congress. In re Gault, supra, at 4.", f"It was by Congress. {C}."),
        ("See, e.g., Sch. Union No. 37 v. United Nat'l Ins. Co., 617 F.3d 5 (2010).", f"See, e.g., {C}."),
        ("See Doe v. Roe, 2007 WL 998, at *3-*4. 2007 WL 998, at *5. So.", f"See {C}. {C}. So."),
        ("It would. See de la Torre v. Roe, 15 F.3d 12 (1st Cir. 1994).", f"It would. See {C}."),
        ("In Doe v. Roe, 2003 VT 8, ¶¶ 4, 6 & n.3, 176 Vt. 15, 833 A.2d 1280, no.", f"In {C}, no."),
        ("Case: Doe v. Roe\n7 F.3d 2 (2010) Jane DOE v. ROE.", f"Case: Doe v. Roe\n{C} Jane DOE v. ROE."),
    ],
)
def test_a_mark_covers_names_pages_notes_and_court_but_no_statute(text: str, masked: str) -> None:
    assert masked_of(text, [])[0] == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("482 F.3d at 616. Gifford, 482 F. 3d, at 600.", f"{T}. {T}."),
        ("Gifford, supra, at 602. In Gifford at 601, no.", f"{T}. In {T}, no."),
        ("483 F.3d at 616. 482 F.2d at 616.", f"{C}. {C}."),
        # Another case of the volume, or of the name.
        (
            "Pell v. Roe, 482 F.3d 700. Pell, 482 F.3d at 710. So, too, 482 F.3d at 9.",
            f"{C}. {C}. So, too, {U}.",
        ),
        ("Roe v. Gifford, 9 F.3d 1 (1990). Gifford, supra, at 2.", f"{C}. {U}."),
        # "Id.", which may follow a rule that eyecite does not know.
        (
            "482 F.3d at 616. So says U.S.S.G. 2L1.2. Id. at 2. No. Id.",
            f"{T}. So says U.S.S.G. 2L1.2. {U}. No. {U}",
        ),
        ("Pell v. Roe, 9 F.3d 7. Id. at 8. 18 U.S.C. § 922. Id.", f"{C}. {C}. 18 U.S.C. § 922. Id."),
        # Other reporters of the target.
        ("Gifford, 482 F.3d 600, 5 Me. 8. 5 Me. at 9. 6 Me. at 9.", f"{T}. {T}. {C}."),
        # Before it was printed, or the decision below.
        ("Gifford v. Harrow Mills, 2010 WL 27, at *6. 2010 WL 27, at *7. Id.", f"{N}. {N}. {N}"),
    ],
)
def test_a_later_citation_is_the_targets_if_eyecite_says_so(text: str, masked: str) -> None:
    assert mask(FULL + text, find_citations(FULL + text, ["482 F.3d 600"], GIFFORD))[0] == f"{T}. {masked}"


@pytest.mark.parametrize(
    ("quote", "masked"),
    [
        ("Gifford v. Harrow Mills", f"{T}; {N}; {C}; {U}."),
        ("2010 WL 27", f"{T}; {N}; {C}; {U}."),
        ("17 F.3d 462", f"{T}; {N}; {MARKS[Cites.DISPUTED]}; {U}."),
        ("Gifford, supra", f"{T}; {N}; {C}; {T}."),
    ],
)
def test_the_annotator_decides_only_what_eyecite_cannot_attribute(quote: str, masked: str) -> None:
    text = f"{FULL[:-2]}; Gifford v. Harrow Mills, 2010 WL 27; Doe v. Roe, 17 F.3d 462; Gifford, supra."
    spans = [*find_citations(text, ["482 F.3d 600"], GIFFORD), *find_quotes(text, [quote])]
    assert mask(text, spans)[0] == masked


def test_without_a_citation_string_the_annotator_attributes_citations() -> None:
    text = FULL + "482 F.3d at 616. Id. at 617. Pell v. Roe, 9 F.3d 700."
    spans = find_citations(text, (), GIFFORD)
    assert mask(text, spans)[0] == f"{U}. {U}. {U}. {C}."
    spans += find_quotes(text, ["Gifford v. Harrow Mills, LLC, 482 F.3d 600"])
    assert mask(text, spans)[0] == f"{T}. {U}. {U}. {C}."
