"""What a build makes of an annotator that thinks aloud, refuses, repeats itself, fails, or is cut; and what it refuses itself."""

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ethic_oracle import (
    TARGET,
    TARGET_STRING,
    annotating,
    answer,
    build,
    context_of,
    names_in,
    opinions,
    oracle,
    study,
    user_messages,
)
from json_lines import write_rows
from judge_server import Answer

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, load_annotator
from long_context_tasks.benchmarks.ethic.prompts import split_sections
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.schema import CaseSet, InputError

pytestmark = pytest.mark.slow

REFUSAL = "I'm sorry, but I can't help with that."
# Answers that are of no use are asked for once.
ONCE = {"name": "stand-in", "asks": 1}


@contextmanager
def annotator_that(folder: Path, says: Callable[[str], str], **settings: Any) -> Iterator[Annotator]:
    with annotating(folder, says, **{**ONCE, **settings}) as (_, path):
        yield load_annotator(path, "ethic_recall")


@pytest.mark.parametrize("opened", ["<think>", ""])
def test_thinking_is_left_out_of_answers(tmp_path: Path, opened: str) -> None:
    thinking = f"{opened}Alice, Bobby?\nQuestion: X?\nAnswer: Y\n</think>\n"
    answers = {
        "character name": "Anna, Boris",
        "Write one question": "Question: Who?\nAnswer: Anna",
        "at most five sentences": "Anna went home.",
    }

    def says(prompt: str) -> str:
        return thinking + next((text for part, text in answers.items() if part in prompt), "yes")

    with annotator_that(tmp_path, says) as annotator:
        assert annotator.labels("books", ["Anna and Boris."]) == [["Anna", "Boris"]]
        assert annotator.pairs("build_single_qa", ["a"]) == [("Who?", "Anna")]
        assert annotator.summaries(["a"]) == ["Anna went home."]
        assert annotator.notes() == []


@pytest.mark.parametrize(
    "text", ["<think>Anna, Boris and then", REFUSAL, f"<think>So.</think>{REFUSAL}", " \n"]
)
def test_unfinished_thinking_and_refusals_are_not_usable(tmp_path: Path, text: str) -> None:
    with annotator_that(tmp_path, lambda _: text) as annotator:
        assert annotator.labels("books", ["a"]) == annotator.summaries(["a"]) == [None]
        assert annotator.texts(["a"]) == annotator.pairs("build_single_qa", ["a"]) == [None]
        assert annotator.unusable == 4
        assert annotator.notes() == ["annotator stand-in: 4 of 4 answers could not be used"]


def test_sentences_instead_of_labels_are_asked_for_again(tmp_path: Path) -> None:
    replies = iter(["yes", "The characters are Anna and Boris.", "Anna, Boris"])
    with annotator_that(tmp_path, lambda _: next(replies), asks=2, temperature=0.5) as annotator:
        assert annotator.labels("books", ["Anna and Boris."]) == [["Anna", "Boris"]]


def test_names_that_are_not_in_the_passage_are_left_out(tmp_path: Path) -> None:
    with annotator_that(tmp_path, lambda _: "Anna, Boris, Ann") as annotator:
        assert annotator.labels("books", ["“Anna’s,” said ANN."]) == [["Anna", "Ann"]]
        assert annotator.labels("debates", ["Nobody."]) == [None]
        assert annotator.notes() == [
            "annotator stand-in: 4 names that do not occur in their chunk were left out"
        ]
    with annotator_that(tmp_path, lambda _: "None") as annotator:
        assert annotator.labels("books", ["Nobody."]) == [[]]


@pytest.mark.parametrize(
    ("family", "said", "why"),
    [
        ("ethic_organize", REFUSAL, r"2 x a chunk has no summary.*; annotator .* answers could not be used"),
        ("ethic_organize", "It is about a house.", "2 x two chunks have the same summary"),
        ("ethic_recall", REFUSAL, "2 x a chunk has no labels"),
    ],
)
def test_refused_and_equal_answers_give_no_case(
    documents: Path, tmp_path: Path, family: str, said: str, why: str
) -> None:
    with annotating(tmp_path, lambda _: said, **ONCE) as (_, annotator), pytest.raises(InputError, match=why):
        build(family, documents, tmp_path / "x", annotator=annotator, domain="books")


@pytest.mark.parametrize(("words", "built"), [(10, False), (300, True)])
def test_organizing_fills_its_length(tmp_path: Path, words: int, built: bool) -> None:
    """Three chunks fit, the last one short: with long options they are enough for the length, with short ones not."""
    sizes = [900, 900, 720, 1000, 1000, 1000, 1000]
    paragraphs = [f"Part {place}. " + "one two " * (size // 2) for place, size in enumerate(sizes)]
    write_rows(tmp_path / "b.jsonl", [{"id": "b", "paragraphs": paragraphs}])

    def says(prompt: str) -> str:
        number = re.search(r"Part (\d)", prompt)
        return f"Part {number[1]} " + "so " * words if number else "yes"

    with annotating(tmp_path, says, **ONCE) as (_, annotator):
        own = {"annotator": annotator, "min_document": 0, "domain": "books"}
        if built:
            [report] = build("ethic_organize", tmp_path / "b.jsonl", tmp_path / "x", **own)
            assert len(report.tokens) == 1
        else:
            with pytest.raises(InputError, match="1 x whole paragraphs or chunks leave too much"):
                build("ethic_organize", tmp_path / "b.jsonl", tmp_path / "x", **own)


@pytest.fixture
def law(tmp_path: Path) -> Path:
    (tmp_path / "law").mkdir()
    write_rows(tmp_path / "law" / "opinions.jsonl", opinions(random.Random(2)))
    return tmp_path / "law"


def test_refused_spans_are_counted(law: Path, tmp_path: Path) -> None:
    def says(prompt: str) -> str:
        return REFUSAL if "Copy each span" in prompt else answer(prompt)

    with (
        annotating(tmp_path, says, **ONCE) as (_, annotator),
        pytest.raises(InputError, match="1 x a page or the target was not annotated"),
    ):
        build("ethic_attribute", law, tmp_path / "x", annotator=annotator)


def test_spans_of_other_things_are_ignored_and_counted(law: Path, tmp_path: Path) -> None:
    def says(prompt: str) -> str:
        return "the\nThe rule\n" + answer(prompt) if "Copy each span" in prompt else answer(prompt)

    with annotating(tmp_path, says, **ONCE) as (_, annotator):
        [report] = build("ethic_attribute", law, tmp_path / "x", annotator=annotator)
    [note] = [note for note in report.notes if "neither" in note]
    spans = re.search(r"(\d+) spans name neither the target nor a citation", note)
    assert spans is not None and int(spans[1]) > 4
    cases = CaseSet.read(tmp_path / "x", "ethic_attribute_law")
    for case, user in zip(cases.cases, user_messages(cases).values(), strict=True):
        context = context_of(user)
        assert "The rule is settled. See [CITATION]." in context and TARGET not in context
        assert len(case.turns[0].gold) < case.labels["num_segments"]


def test_spans_that_are_not_verbatim_and_names_that_still_stand_are_counted(tmp_path: Path) -> None:
    rows = opinions(random.Random(2))
    for number, row in enumerate(rows[1:]):
        # Behind the page that cites the target; twice, and nothing that a finder of citations knows.
        pages = row["text"].split("\f")
        unprinted = "F.3d , No. 93-1645, slip op. at 20-23 (1st Cir. Feb. , 1994) [No. 93-1645, slip op.]"
        pages[number + 1] += f" See {TARGET.upper()}, {unprinted}. So it was in {TARGET} (we think)."
        row["text"] = "\f".join(pages)
    # The rest of the same case names it on every page.
    rows.append({**rows[1], "opinion_id": "77", "title": f"{TARGET} (II)"})
    write_rows(tmp_path / "opinions.jsonl", rows)

    def says(prompt: str) -> str:
        if "Copy each span" not in prompt:
            return answer(prompt)
        context = context_of(prompt)
        spans = re.findall(re.escape(TARGET) + r", \d+ F\.3d \d+", context)
        return "\n".join([f"{TARGET}, 1 U.S. 1", *spans])

    with annotating(tmp_path, says, **ONCE) as (server, annotator):
        own = {"annotator": annotator, "lengths": (16000,)}
        [report] = build("ethic_attribute", tmp_path / "opinions.jsonl", tmp_path / "x", **own)
        asked = sum("Copy each span" in body["messages"][-1]["content"] for body in server.bodies)
    assert report.notes == (
        f"annotator stand-in: {asked} spans do not stand on their page word for word, and were ignored",
        "annotator stand-in: 5 pages still showed the target's name, which was masked as a citation of it",
    )
    cases = CaseSet.read(tmp_path / "x", "ethic_attribute_law")
    [case] = cases.cases
    [user] = user_messages(cases).values()
    segments = split_sections(context_of(user), "law")
    again = "See [CITATION]. So it was in [CITATION] (we"
    last = [marker for marker, text in segments.items() if again in " ".join(text.split())]
    assert len(last) == 4 == case.labels["num_documents"] and set(last) <= set(case.turns[0].gold)
    assert TARGET.lower() not in context_of(user).lower() and "(II)" not in user


OTHER = "Kent v. Sea, 9 U.S. 1"
DOUBTS = [
    (
        "Kent v. Sea, 512 F.3d 70 (1990). That is so. 512 F.3d at 78",
        "None",
        "may be the target's or another case's",
    ),
    (f"{TARGET}, 9 U.S. 1 (1990). 512 F.3d at 78", "None", "a decision with the target's name has another"),
    (OTHER, OTHER, "the annotator copied a citation of another case"),
]


@pytest.mark.parametrize(("cited", "copied", "why"), [("512 F.3d at 78. Id. at 79", "None", ""), *DOUBTS])
def test_a_segment_is_right_if_one_citation_is_surely_the_targets(
    tmp_path: Path, cited: str, copied: str, why: str
) -> None:
    """If all its citations are another case's or doubtful, the case is left out and counted."""
    rows = opinions(random.Random(2))
    for number, row in enumerate(rows[1:]):
        pages = row["text"].split("\f")
        pages[number + 2] += f" It is late. {cited}. We say so."
        row |= {"text": "\f".join(pages), "citation_strings": [["900", TARGET_STRING]]}
    write_rows(tmp_path / "opinions.jsonl", rows)

    def says(prompt: str) -> str:
        return copied if "Copy each span" in prompt else answer(prompt)

    with annotating(tmp_path, says, **ONCE) as (_, annotator):
        own = {"annotator": annotator, "lengths": (16000,)}
        if why:
            with pytest.raises(InputError, match=f"1 x .*{why}"):
                build("ethic_attribute", tmp_path / "opinions.jsonl", tmp_path / "x", **own)
            return
        build("ethic_attribute", tmp_path / "opinions.jsonl", tmp_path / "x", **own)
    cases = CaseSet.read(tmp_path / "x", "ethic_attribute_law")
    [user] = user_messages(cases).values()
    segments = split_sections(context_of(user), "law")
    marked = ("The rule is settled. See [CITATION].", "It is late. [CITATION]. [CITATION]. We say so.")
    right = [
        marker for marker, text in segments.items() if any(one in " ".join(text.split()) for one in marked)
    ]
    assert cases.cases[0].turns[0].gold == right and sum(marked[1] in text for text in segments.values()) > 2


def test_medicine_pays_for_what_is_chosen_only(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        {
            "review_id": f"review_{place}",
            "title": f"Review {place}",
            "background": "" if place % 4 else "It is known.",
            "studies": [study(rng, 1000 * place + n, included=n % 3 == 0) for n in range(60)],
        }
        for place in range(8)
    ]
    write_rows(tmp_path / "reviews.jsonl", rows)

    def says(prompt: str) -> str:
        return "<think>Hm.</think>Little is known." if "background paragraph" in prompt else "yes"

    chosen = []
    with annotating(tmp_path, says, **ONCE) as (server, annotator):
        for lengths in ((4000,), (6000,), (4000, 6000)):
            own = {"lengths": lengths, "n": 3, "annotator": annotator, "min_document": 5000}
            reports = build("ethic_attribute", tmp_path / "reviews.jsonl", tmp_path / "x", **own)
            assert all(report.dropped["not among the first n"] == 5 for report in reports)
            cases = CaseSet.read(tmp_path / "x", "ethic_attribute_medicine").cases
            chosen += [{c.cluster for c in cases if c.labels["length"] == length} for length in lengths]
        asked = [body["messages"][-1]["content"] for body in server.bodies]
    # The same three at every length, and no other background written.
    assert len(chosen[0]) == 3 and all(clusters == chosen[0] for clusters in chosen)
    lacking = [name for name in chosen[0] if int(name[-1]) % 4]
    assert lacking and sum("background paragraph" in prompt for prompt in asked) == len(lacking)


@pytest.mark.parametrize(
    ("sentences", "included", "background", "why"),
    [
        (600, 2, "It is known.", "the document is shorter than the length"),
        (20, 1, "It is known.", "no other review to compare with"),
        (20, 2, "", "the target has no background"),
    ],
)
def test_a_single_review_without_a_case(
    tmp_path: Path, sentences: int, included: int, background: str, why: str
) -> None:
    """Its abstracts are too long, all of them are included, or no annotator writes its background."""
    studies = [
        {"id": str(n), "title": "", "abstract": "It is so. " * sentences, "included": n % included == 0}
        for n in range(9)
    ]
    row = {"review_id": "r", "title": "R", "background": background, "studies": studies}
    write_rows(tmp_path / "reviews.jsonl", [row])
    with pytest.raises(InputError, match=f"1 x {why}"):
        build("ethic_attribute", tmp_path / "reviews.jsonl", tmp_path / "x", min_document=0, min_fill=0.0)


def test_what_cannot_be_built_is_refused(documents: Path, tmp_path: Path) -> None:
    out, empty, hand = tmp_path / "x", tmp_path / "empty", tmp_path / "hand.jsonl"
    empty.mkdir()
    write_rows(hand, [{"domain": "books", "passage": "x"}])
    for said, family, source, own in (
        ("needs a model that annotates: add --annotator", "ethic_recall", documents, {}),
        ("correct --documents", "ethic_recall", documents / "nothing", {}),
        ("has no cases of books, only of medicine, law", "ethic_attribute", documents / "books", {}),
        ("too short: the instruction takes", "ethic_recall", documents, {"lengths": (500,)}),
        ("holds no documents of a known form", "ethic_recall", empty, {}),
        ("hand.jsonl, line 1: labels is missing", "ethic_recall", documents, {"check_labels": hand}),
    ):
        with pytest.raises(InputError, match=said):
            build(family, source, out, **own)
    with pytest.raises(InputError, match="add --documents"):
        catalogue.builder("ethic_recall").write(None, EthicSettings(lengths=(4000,)), out, Work())
    (tmp_path / "tale.txt").write_text("It was late. Mr. Anna Brandt slept.\n\nThe end of it.")
    short = r"1 x the document is too short; the longest of 1 documents has 1?\d tokens or more"
    with oracle(tmp_path) as (server, annotator):
        with pytest.raises(InputError, match=short):
            build("ethic_recall", tmp_path / "tale.txt", out, annotator=annotator)
        assert len(server.bodies) == 1
    assert not out.exists()


def test_an_annotator_that_fails_loses_nothing(documents: Path, tmp_path: Path) -> None:
    calls = iter(range(10**6))
    broken = {"now": True}

    def says(prompt: str) -> str | Answer:
        if broken["now"] and next(calls) > 4:
            return Answer(status=500)
        return ", ".join(names_in(context_of(prompt))) if "### Context" in prompt else "yes"

    with annotating(tmp_path, says, retries=0, concurrency=1) as (server, annotator):
        with pytest.raises(InputError, match=r"calls were not answered .* run the same command again"):
            build("ethic_recall", documents, tmp_path / "x", annotator=annotator, domain="books")
        assert not (tmp_path / "x").exists()
        asked = [body["messages"][-1]["content"] for body in server.bodies[1:5]]
        broken["now"] = False
        before = len(server.bodies)
        build("ethic_recall", documents, tmp_path / "x", annotator=annotator, domain="books")
        assert not set(asked) & {body["messages"][-1]["content"] for body in server.bodies[before:]}


def test_empty_and_cut_answers_are_counted(documents: Path, tmp_path: Path) -> None:
    first_novel = (documents / "books" / "novel_0.txt").read_text()

    def says(prompt: str) -> str | Answer:
        if "word yes" in prompt:
            return "yes"
        context = context_of(prompt)
        if context in first_novel:
            return ""
        message = {"role": "assistant", "content": ", ".join([*names_in(context), "Bo"])}
        choice = {"index": 0, "finish_reason": "length", "message": message}
        return Answer(raw=json.dumps({"choices": [choice]}).encode())

    with annotating(tmp_path, says) as (_, annotator):
        [report] = build("ethic_recall", documents, tmp_path / "x", annotator=annotator, domain="books")
    assert len(report.tokens) == 1 and report.dropped["a chunk has no labels"] == 1
    assert any("answers ended at max_tokens" in note for note in report.notes)
    assert any("answers could not be used" in note for note in report.notes)
