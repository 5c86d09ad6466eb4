"""Low-coverage counterparts ask the same question at every length."""

from pathlib import Path

import pytest
from ethic_oracle import oracle, user_messages, write_documents

from long_context_tasks.benchmarks.ethic.build import build
from long_context_tasks.benchmarks.ethic.build.contexts import evidence
from long_context_tasks.benchmarks.ethic.build.drafts import ContextWindow
from long_context_tasks.benchmarks.ethic.build.sources import EthicSource
from long_context_tasks.benchmarks.ethic.prompts import context_of
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.schema import CaseSet
from long_context_tasks.tokens.chunks import Chunk, Piece


def test_a_question_and_its_answer_are_those_of_all_lengths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    documents = write_documents(tmp_path / "documents", paragraphs=200)
    with oracle(tmp_path) as (server, annotator):
        settings = EthicSettings(
            lengths=(4000, 8000, 16000), min_document=1000, domain="books", annotator=annotator
        )
        build("ethic_recall_counterparts", documents, settings, tmp_path / "out")
        # One call for each book and kind, and the check of the annotator.
        assert len(server.bodies) == 2 * 2 + 1
    for kind in ("single_qa", "focused_summary"):
        cases = CaseSet.read(tmp_path / "out", f"ethic_{kind}_books")
        shown = user_messages(cases)
        books: dict[str, set[tuple[str, str]]] = {}
        for case in cases.cases:
            [turn] = case.turns
            books.setdefault(case.cluster, set()).add((str(turn.question), turn.gold[0]))
            # The answer is a word of the evidence.
            assert turn.gold[0] in str(context_of(shown[case.id]))
        assert len(cases.cases) == 6 and [len(found) for found in books.values()] == [1, 1]


def contexts(*shown: str) -> list[ContextWindow]:
    """Contexts of one source, each given as chunks of documents: ``a1 a2|b1`` has two chunks."""
    return [
        ContextWindow(
            EthicSource("x", "X", "law", ()),
            1000 * length,
            tuple(
                Chunk(tuple(Piece(name, 9, ord(name[0])) for name in chunk.split()))
                for chunk in text.split("|")
            ),
        )
        for length, text in enumerate(shown, start=1)
    ]


@pytest.mark.parametrize("kind", ["single_qa", "multi_qa", "focused_summary"])
@pytest.mark.parametrize("seed", range(5))
def test_every_context_shows_the_evidence(kind: str, seed: int) -> None:
    windows = contexts("a1 a2|a3|b1 b2", "a1 a2|b1 b2 b3|c1", "a1|b1 b2 b3|c1 c2|d1")
    least, chunks = evidence(windows, kind, seed)
    names = [piece.text for chunk in chunks for piece in chunk.pieces]
    # Of the first context, all others show no more than these.
    assert least == 1000 and names and set(names) <= {"a1", "b1", "b2"}
    if kind == "multi_qa":
        assert [name[0] for name in names] == ["a", "b"]


def test_contexts_with_a_single_document_are_left_out() -> None:
    assert evidence(contexts("a1", "a1 a2|b1", "a1|b1|c1"), "multi_qa", 0)[0] == 2000
    assert evidence(contexts("a1", "a1 a2"), "multi_qa", 0) == (1000, [])
