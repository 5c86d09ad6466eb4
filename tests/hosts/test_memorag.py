"""MemoRAG: a memory of all tokens is the model's own reading, passages come by clues, and responses are scored as any others."""

import copy
import json
from pathlib import Path

import pytest
from lazy_modules import torch

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.own.export import load
from long_context_tasks.hosts.own.memorag import MemoRAGSettings, Reader, clues, passages, write_responses
from long_context_tasks.hosts.own.score import read_responses, score_own
from long_context_tasks.schema import InputError

pytestmark = pytest.mark.slow
TASK = "ethic_recall_medicine_synthetic"


def test_a_memory_of_all_tokens_is_the_models_own_reading(tiny: Path) -> None:
    reader = Reader(str(tiny))
    ids = list(range(5, 65))
    whole = reader.answer(ids, 5)
    generated = reader.model.generate(torch.tensor([ids]), max_new_tokens=5, do_sample=False)[0, 60:]
    assert whole == reader.tokenizer.decode(generated, skip_special_tokens=True)
    memory = reader.remember(ids[:40], 1)
    assert reader.answer(ids[40:], 5, copy.deepcopy(memory), begin=40) == whole
    assert reader.remember(ids[:40], 4).get_seq_length() == 10


def test_passages_come_by_clues_in_the_order_of_the_text() -> None:
    pytest.importorskip("bm25s")
    text = "\n\n".join(f"Paragraph {n} is about {thing}s and nothing else at all." for n, thing in enumerate(
        ["river", "violin", "lighthouse", "glacier", "orchard", "beacon"]
    ))  # fmt: skip
    settings = MemoRAGSettings(chunk_tokens=20, hits=1)
    found = passages(text, ["Who grows orchards?", "the violins of the town"], settings)
    assert [passage.split()[1] for passage in found] == ["1", "4"]
    assert passages(text, ["- - - -", "zzz", "the of and is"], settings) == []
    assert passages("- -\n\n. .", ["- -"], MemoRAGSettings(chunk_tokens=3, hits=1)) == ["- -"]
    assert len(passages(text, ["orchards"], MemoRAGSettings(hits=3))) == 1  # one chunk: nothing to choose


def test_responses_are_scored_as_those_of_any_pipeline(tiny: Path, tmp_path: Path, data: Path) -> None:
    pytest.importorskip("bm25s")
    task = load(TASK, resolve_options({"lct_length": "1k", "lct_n": 2, "lct_answer_budget": 4}))
    settings = MemoRAGSettings(chunk_tokens=100, hits=1, clue_tokens=8)
    reader = Reader(str(tiny))
    write_responses(task, reader, settings, tmp_path / "responses.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "responses.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [case.id for case in task.cases.cases]
    assert all(isinstance(row["response"], str) and row["passages"] >= 1 for row in rows)
    run = score_own(
        task, read_responses(tmp_path / "responses.jsonl", task), "tiny (memorag)", tmp_path / "out"
    )
    assert run.numbers["n"] == 2
    assert clues(reader, "word " * 2000, "What?", settings) is None  # beyond the window


def test_prompts_that_mark_the_roles_themselves_are_refused(tiny: Path, tmp_path: Path, data: Path) -> None:
    task = load(TASK, resolve_options({"lct_length": "1k", "lct_n": 1, "lct_prompt_style": "phi"}))
    with pytest.raises(InputError, match="single questions in chat style"):
        write_responses(task, Reader(str(tiny)), MemoRAGSettings(), tmp_path / "responses.jsonl")
    assert not (tmp_path / "responses.jsonl").exists()
