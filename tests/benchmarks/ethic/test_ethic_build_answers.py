"""What a build makes of an annotator that thinks aloud, refuses, repeats itself or copies the wrong words."""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ethic_oracle import TARGET, answer, context_of, opinions, study, write_documents, write_rows
from judge_server import Answer, JudgeServer, judge_server

from long_context_tasks.benchmarks.building import Progress, TaskReport
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, load_annotator
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.schema import CaseSet, InputError

REFUSAL = "I'm sorry, but I can't help with that."


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


@contextmanager
def annotating(folder: Path, says: Callable[[str], str]) -> Iterator[tuple[JudgeServer, Path]]:
    """A server that answers prompts, and the file that names it; answers that are of no use are asked for once."""

    def behave(body: dict[str, Any], _: int) -> Answer:
        return Answer(says(body["messages"][-1]["content"]))

    with judge_server(behave) as server:
        path = folder / "annotator.yaml"
        path.write_text(f"name: stand-in\nmodel: m\nbase_url: {server.url}\nasks: 1\n")
        yield server, path


@contextmanager
def annotator_that(folder: Path, says: Callable[[str], str]) -> Iterator[Annotator]:
    with annotating(folder, says) as (_, path):
        yield load_annotator(path, "ethic_recall")


def build(family: str, documents: Path, out: Path, **settings: Any) -> list[TaskReport]:
    return ethic_build.build(family, documents, EthicSettings(**{"lengths": (4000,), **settings}), out)


@pytest.mark.parametrize("opened", ["<think>", ""])
def test_thinking_is_no_part_of_an_answer(tmp_path: Path, opened: str) -> None:
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
def test_unfinished_thinking_and_refusals_are_no_content(tmp_path: Path, text: str) -> None:
    with annotator_that(tmp_path, lambda _: text) as annotator:
        assert annotator.labels("books", ["a"]) == annotator.summaries(["a"]) == [None]
        assert annotator.texts(["a"]) == annotator.pairs("build_single_qa", ["a"]) == [None]
        assert annotator.unusable == 4
        assert annotator.notes() == ["annotator stand-in: 4 of 4 answers could not be used"]


def test_sentences_instead_of_labels_are_asked_for_again(tmp_path: Path) -> None:
    replies = iter(["yes", "The characters are Anna and Boris.", "Anna, Boris"])
    with judge_server(lambda *_: Answer(next(replies))) as server:
        path = tmp_path / "a.yaml"
        path.write_text(f"model: m\nbase_url: {server.url}\nasks: 2\ntemperature: 0.5\n")
        assert load_annotator(path, "ethic_recall").labels("books", ["Anna and Boris."]) == [
            ["Anna", "Boris"]
        ]


def test_names_that_the_passage_does_not_have_are_no_labels(tmp_path: Path) -> None:
    with annotator_that(tmp_path, lambda _: "Anna, Boris, Ann") as annotator:
        assert annotator.labels("books", ["“Anna’s,” said ANN."]) == [["Anna", "Ann"]]
        assert annotator.labels("debates", ["Nobody."]) == [None]
        assert annotator.notes() == [
            "annotator stand-in: 4 names that do not occur in their chunk were left out"
        ]
    with annotator_that(tmp_path, lambda _: "None") as annotator:
        assert annotator.labels("books", ["Nobody."]) == [[]]


def test_a_refused_summary_gives_no_case(documents: Path, tmp_path: Path) -> None:
    with (
        annotating(tmp_path, lambda _: REFUSAL) as (_, annotator),
        pytest.raises(
            InputError, match=r"2 x a chunk has no summary.*; annotator .* answers could not be used"
        ),
    ):
        build("ethic_organize", documents, tmp_path / "x", annotator=annotator, domain="books")


def test_equal_summaries_give_no_case(documents: Path, tmp_path: Path) -> None:
    with (
        annotating(tmp_path, lambda _: "It is about a house.") as (_, annotator),
        pytest.raises(InputError, match="2 x two chunks have the same summary"),
    ):
        build("ethic_organize", documents, tmp_path / "x", annotator=annotator, domain="books")


@pytest.mark.parametrize(("words", "built"), [(10, False), (300, True)])
def test_organizing_fills_its_length(tmp_path: Path, words: int, built: bool) -> None:
    """Three chunks fit, the last one short: with long options they are enough for the length, with short ones not."""
    sizes = [900, 900, 720, 1000, 1000, 1000, 1000]
    paragraphs = [f"Part {place}. " + "one two " * (size // 2) for place, size in enumerate(sizes)]
    write_rows(tmp_path / "b.jsonl", [{"id": "b", "paragraphs": paragraphs}])

    def says(prompt: str) -> str:
        number = re.search(r"Part (\d)", prompt)
        return f"Part {number[1]} " + "so " * words if number else "yes"

    with annotating(tmp_path, says) as (_, annotator):
        settings = {"annotator": annotator, "min_document": 0, "domain": "books"}
        if built:
            [report] = build("ethic_organize", tmp_path / "b.jsonl", tmp_path / "x", **settings)
            assert len(report.tokens) == 1
        else:
            with pytest.raises(InputError, match="1 x whole paragraphs or chunks leave too much"):
                build("ethic_organize", tmp_path / "b.jsonl", tmp_path / "x", **settings)


def law_documents(folder: Path) -> Path:
    folder.mkdir()
    write_rows(folder / "opinions.jsonl", opinions(random.Random(2)))
    return folder


def test_refused_spans_are_counted(tmp_path: Path) -> None:
    def says(prompt: str) -> str:
        return REFUSAL if "Copy each span" in prompt else answer(prompt)

    with (
        annotating(tmp_path, says) as (_, annotator),
        pytest.raises(InputError, match="1 x a page or the target was not annotated"),
    ):
        build("ethic_attribute", law_documents(tmp_path / "law"), tmp_path / "x", annotator=annotator)


def test_spans_of_other_things_are_ignored_and_counted(tmp_path: Path) -> None:
    def says(prompt: str) -> str:
        return "the\nThe rule\n" + answer(prompt) if "Copy each span" in prompt else answer(prompt)

    with annotating(tmp_path, says) as (_, annotator):
        [report] = build(
            "ethic_attribute", law_documents(tmp_path / "law"), tmp_path / "x", annotator=annotator
        )
    [note] = [note for note in report.notes if "ignored" in note]
    spans = re.search(r"(\d+) spans name neither the target nor a citation", note)
    assert spans is not None and int(spans[1]) > 4 and int(spans[1]) % 2 == 0
    cases = CaseSet.read(tmp_path / "x", "ethic_attribute_law")
    for case in cases.cases:
        context = context_of(prompts.messages(case, cases.documents)[-1].content)
        assert "The rule is settled. See [CITATION]." in context and TARGET not in context
        assert len(case.turns[0].gold) < case.labels["num_segments"]


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
    with annotating(tmp_path, says) as (server, annotator):
        for lengths in ((4000,), (6000,), (4000, 6000)):
            settings = {"lengths": lengths, "n": 3, "annotator": annotator, "min_document": 5000}
            [*reports] = build("ethic_attribute", tmp_path / "reviews.jsonl", tmp_path / "x", **settings)
            assert all(report.dropped["not among the first n"] == 5 for report in reports)
            cases = CaseSet.read(tmp_path / "x", "ethic_attribute_medicine").cases
            chosen += [
                {case.cluster for case in cases if case.labels["length"] == length} for length in lengths
            ]
        asked = [body["messages"][-1]["content"] for body in server.bodies]
    # The same three at every length, and no other background written.
    assert len(chosen[0]) == 3 and all(one == chosen[0] for one in chosen)
    lacking = [name for name in chosen[0] if int(name[-1]) % 4]
    assert lacking and sum("background paragraph" in prompt for prompt in asked) == len(lacking)


def test_a_review_whose_abstracts_are_all_too_long_gives_no_case(tmp_path: Path) -> None:
    studies = [
        {"id": str(n), "title": "", "abstract": "It is so. " * 600, "included": n % 2 == 0} for n in range(9)
    ]
    row = {"review_id": "r", "title": "R", "background": "It is known.", "studies": studies}
    write_rows(tmp_path / "reviews.jsonl", [row])
    with pytest.raises(InputError, match="1 x the document is shorter than the length"):
        build("ethic_attribute", tmp_path / "reviews.jsonl", tmp_path / "x", min_document=0, min_fill=0.0)


def test_counterparts_read_their_documents_once(documents: Path, tmp_path: Path) -> None:
    read: list[str] = []

    class Watching(Progress):
        def over(self, items: Any, what: str, unit: str, total: int | None = None) -> Any:
            read.append(what)
            return items

    def says(prompt: str) -> str:
        return REFUSAL if "Write one query" in prompt else answer(prompt)

    with annotating(tmp_path, says) as (_, annotator):
        settings = EthicSettings(lengths=(4000,), annotator=annotator, domain="medicine", n=2)
        questions, queries = ethic_build.build(
            "ethic_recall_counterparts", documents, settings, tmp_path / "x", Watching()
        )
    assert read == ["reading and encoding documents"]
    # And each kind counts for itself.
    assert len(questions.tokens) == 2 and questions.dropped == {"not among the first n": 2}
    assert not queries.tokens and "2 x no question was written" in queries.notes[0]
