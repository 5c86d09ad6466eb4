"""Label quality: chunks are drawn, people label them in POTATO, and the labels go to the build that compares them."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from annotation_study import answer_potato
from json_lines import read_rows, write_rows
from typer.testing import CliRunner

from long_context_tasks.annotation import open_study
from long_context_tasks.annotation.study import Annotation
from long_context_tasks.benchmarks.ethic.build.annotator import (
    LabelledChunk,
    label_quality,
    read_labelled_chunks,
)
from long_context_tasks.cli import app


def lct(*words: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def paragraph(number: int) -> str:
    return f"Paragraph {number} tells of Anne and of Jane. " + "The rain goes on and on. " * 40


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of four of the chunks of two domains; contexts of two lengths begin alike."""
    cases = [
        {"id": f"{domain}{many}", "task": "recall", "domain": domain, "length": many * 1000}
        | {"context": "\n\n".join(map(paragraph, range(many))), "question": "List every name."}
        for domain in ("books", "debates")
        for many in (4, 8)
    ]
    file = write_rows(tmp_path / "cases.jsonl", cases)
    drawn = tmp_path / "chunks.jsonl"
    done = lct("annotate", "draw", file, "--n", 4, "--chunk-tokens", 300, "--out", drawn)
    assert done.exit_code == 0 and "recall books: 4 chunks" in done.output, done.output
    path = tmp_path / "labels.json"
    done = lct("annotate", "prepare", path, "--questions", drawn, "--scale", "labels")
    assert done.exit_code == 0, done.output
    return path


def test_chunks_are_drawn_by_a_seed_and_each_once(study: Path, tmp_path: Path) -> None:
    drawn = read_rows(tmp_path / "chunks.jsonl")
    assert [row["domain"] for row in drawn] == ["books"] * 4 + ["debates"] * 4
    assert {row["question"] for row in drawn} == {"List every name."}
    known = {paragraph(number).strip() for number in range(8)}
    books = [row["reference"] for row in drawn if row["domain"] == "books"]
    assert len(set(books)) == 4 and set(books) <= known
    for seed, same in ((0, True), (1, False)):
        words = ("--n", 4, "--chunk-tokens", 300, "--seed", seed, "--out", tmp_path / "again.jsonl")
        lct("annotate", "draw", tmp_path / "cases.jsonl", *words)
        assert (read_rows(tmp_path / "again.jsonl") == drawn) is same
    # Eight chunks there are, though twelve stand in the contexts.
    lct("annotate", "draw", tmp_path / "cases.jsonl", "--chunk-tokens", 300, "--out", tmp_path / "all.jsonl")
    assert len(read_rows(tmp_path / "all.jsonl")) == 2 * 8


def test_labels_written_in_potato_go_to_the_build(study: Path, tmp_path: Path) -> None:
    potato, out = tmp_path / "potato", tmp_path / "hand.jsonl"
    done = lct("annotate", "export", study, "--format", "potato", "--out", potato)
    assert done.exit_code == 0 and "8 items" in done.output, done.output
    items = read_rows(potato / "data" / "items.jsonl")
    for item, drawn in zip(items, read_rows(tmp_path / "chunks.jsonl"), strict=True):
        assert (item["question"], item["reference"]) == ("List every name.", drawn["reference"])
    [labels, _] = yaml.safe_load((potato / "config.yaml").read_text())["annotation_schemes"]
    assert labels["annotation_type"] == "text" and "Write each label on a line" in labels["description"]
    first, second, third = list(open_study(study).answers)[:3]
    said = [
        Annotation(first, "ana", comment="Anne\nJane"),
        Annotation(second, "ana", comment="None"),
        Annotation(third, "ana", codes="U"),
        Annotation(first, "ben", codes="A", comment="Anne; Jane"),
    ]
    answer_potato(potato, said)
    done = lct("annotate", "import", study, potato)
    assert done.exit_code == 0 and "4 new or changed annotations of 4 read" in done.output, done.output
    assert lct("annotate", "export", study, "--format", "labels", "--out", out).exit_code == 0
    assert [(row["annotator"], row["labels"]) for row in read_rows(out)] == [
        ("ana", ["Anne", "Jane"]),
        ("ben", ["Anne", "Jane"]),
        ("ana", ["None"]),
    ]
    read = read_labelled_chunks(out)
    assert [chunk.labels for chunk in read] == [["Anne", "Jane"], ["Anne", "Jane"], []]
    assert {chunk.domain for chunk in read} == {"books"} and read[0].passage == read[1].passage
    assert lct("annotate", "stats", study).exit_code == 0


def test_several_people_on_a_chunk_are_one_cluster() -> None:
    class Finds:
        def labels(self, _: str, passages: list[str]) -> list[list[str]]:
            return [["Anne"] for _ in passages]

    def width(passages: str, right: str) -> float:
        chunks = [
            LabelledChunk(domain="books", passage=passage, labels=["Anne" if mark == "1" else "Jane"])
            for passage, mark in zip(passages, right, strict=True)
        ]
        [row] = label_quality(chunks, cast(Any, Finds()))
        assert row["f1"] == 0.5 and row["n"] == 8
        return float(row["interval"]["high"] - row["interval"]["low"])

    assert width("aabbccdd", "11001100") > width("abcdefgh", "11001100")


def test_a_scale_either_rates_or_writes(tmp_path: Path) -> None:
    file, questions = tmp_path / "own.yaml", tmp_path / "q.jsonl"
    questions.write_text('{"id": "1", "question": "q", "reference": "r"}\n')
    codes = "codes: {Q: {label: q}, A: {label: a}, R: {label: r}, U: {label: u}, E: {label: e}}\n"
    for text, said in (
        ("scale: []\n", "must hold 2 to 11"),
        ("writes: Labels\nscale: [{values: [1, 2]}]\n", "must be []"),
    ):
        file.write_text(codes + text)
        done = lct("annotate", "prepare", tmp_path / "s.json", "--questions", questions, "--scale", file)
        assert done.exit_code == 2 and said in done.output
