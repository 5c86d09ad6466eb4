"""Prompts, transcripts and parsers against the outputs of the official code, case by case, for all files in the folder."""

import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from vector_rows import failing_rows

from long_context_tasks.benchmarks.catalogue import task_specs
from long_context_tasks.benchmarks.elitr_bench import prompts, scoring
from long_context_tasks.benchmarks.elitr_bench.archives import Archives, prepare_transcripts
from long_context_tasks.benchmarks.elitr_bench.data import load_task
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.benchmarks.elitr_bench.paper import Scores
from long_context_tasks.schema import Message, file_sha256
from long_context_tasks.tokens import CL100K, get_tokenizer

pytestmark = pytest.mark.vectors
SPLITS = {"dev": "dev", "test2": "test"}


@pytest.fixture(scope="module")
def archives(shared: Path) -> Archives:
    folder = shared / "data" / "elitr_bench"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return Archives(folder)


@pytest.fixture(scope="module")
def transcripts(archives: Archives) -> dict[str, str]:
    return {**archives.transcripts("dev"), **archives.transcripts("test")}


def _plain(messages: list[Message]) -> list[dict[str, str]]:
    return [message.chat() for message in messages]


def _same_hash(sent: Any, row: dict[str, Any]) -> bool:
    text = sent
    if not isinstance(sent, str):
        text = json.dumps(sent, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return len(text) == row["chars"] and hashlib.sha256(text.encode()).hexdigest() == row["sha256"]


def _context(
    row: dict[str, Any], transcript: str, questions: list[str], answers: list[str]
) -> list[dict[str, str]] | str:
    style = row["conv_format"] or {"gpt": prompts.GPT}.get(row["script"], prompts.CHAT)
    markers = bool(row["q_marker"])
    messages = prompts.conversation(
        transcript, questions, answers, style=style, language=row["lang"], markers=markers
    )
    if row["script"] == "llama2":
        [message] = messages
        return message.content
    return _plain(messages)


def test_messages(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        contexts = []
        for turn, question in enumerate(row["questions"]):
            first = 0 if row["mode"] == "mt" else turn
            questions = [*row["questions"][first:turn], question]
            contexts.append(_context(row, row["transcript"], questions, row["model_outputs"][first:turn]))
        return contexts == row["contexts"] and row["error"] is None

    assert not failing_rows(shared, "elitr_bench", "messages.jsonl", holds)


@pytest.mark.slow
def test_prompts_of_the_real_questions(shared: Path, archives: Archives, transcripts: dict[str, str]) -> None:
    read = cache(archives.questions)

    def holds(row: dict[str, Any]) -> bool:
        setting, split = row["dataset"].split("_")
        meetings = read(SPLITS[split], setting == "conv", row["lang"] == "czech")
        questions = next(meeting.questions for meeting in meetings if meeting.id == row["meeting"])
        last = [question.id for question in questions].index(row["question_id"])
        first = 0 if row["mode"] == "mt" else last
        asked = [question.text for question in questions[first : last + 1]]
        return _same_hash(_context(row, transcripts[row["meeting"]], asked, ["OK."] * (last - first)), row)

    assert not failing_rows(shared, "elitr_bench", "real_prompt_hashes.jsonl", holds)


def test_judge_prompts(shared: Path, archives: Archives) -> None:
    published = {
        (one.meeting, one.question.id, one.model): (one.question.text, one.text, one.question.answer)
        for one in archives.responses("qa_test2_st_gpt-4-eval")
    }

    def holds(row: dict[str, Any]) -> bool:
        if "question" in row:
            texts = (row["question"], row["response"], row["reference"])
        else:
            texts = published[row["meeting"], row["question_id"], row["model"]]
        prompt = prompts.judge_prompt(*texts, judge=row["judge"], language=row["lang"])
        sent: Any = _plain(prompts.judge_conversation(prompt))
        if row["judge"] == "prometheus":
            sent = prompts.conversation_prompt([prompt], [], "llama-2")
        return _same_hash(sent, row) and sent == row.get("input", sent)

    assert not failing_rows(shared, "elitr_bench", "judge_prompts.jsonl", holds)


@pytest.mark.parametrize(("judge", "none"), [("gpt", "-1"), ("prometheus", "-2")])
def test_scores_of_judge_replies(shared: Path, judge: str, none: str) -> None:
    def holds(row: dict[str, Any]) -> bool:
        if not isinstance(row["judge_output"], str):
            return True  # a reply is text
        value = scoring.official_score(row["judge_output"], judge)
        # The official code keeps the digits of GPT's score as they are written; their number counts.
        return (value if value is not None else int(none)) == int(row["score"])

    assert not failing_rows(shared, "elitr_bench", f"judge_{judge}_scores.jsonl", holds)


def stored_officially(decoded: str, script: str, context: str) -> str:
    """Return the response that an official script stores; ``context`` is the prompt string, for llama2 and prometheus."""
    if script == "gpt":
        return decoded
    # The official call was meant to remove an end token; it removes any of the characters < / s > from the end.
    if script in ("llama3.1", "phi3"):
        return decoded.rstrip("</s>")
    text = decoded.split(context)[1] if context else decoded
    return (text if script == "prometheus" else text.rstrip("</s>")).strip()


def test_stored_responses(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        given = {
            stored_officially(row["decoded"], script, row["context"] or "")
            for script in row["script"].split("/")
        }
        return given == {row["response"]} and row["error"] is None

    assert not failing_rows(shared, "elitr_bench", "response_postprocess.jsonl", holds)


def test_transcripts(shared: Path, transcripts: dict[str, str]) -> None:
    tokenizer = get_tokenizer(CL100K)

    def holds(row: dict[str, Any]) -> bool:
        text = transcripts[row["meeting"]]
        data = text.encode()
        given = (len(data), text.count("\n"), len(text.split()), hashlib.sha256(data).hexdigest())
        same = given == (row["bytes"], row["lines"], row["words"], row["sha256"])
        return same and tokenizer.count(text) == row["cl100k_tokens"]

    assert not failing_rows(shared, "elitr_bench", "transcripts.jsonl", holds)


def test_preparation(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        prepared = prepare_transcripts((name, text.encode()) for name, text in row["tree"].items())
        return {f"{meeting}.txt": data.decode() for meeting, data in prepared.items()} == row["data"]

    assert not failing_rows(shared, "elitr_bench", "extract_transcripts.jsonl", holds)


def test_the_card_has_the_checksums(archives: Archives) -> None:
    folder = files("long_context_tasks.benchmarks.elitr_bench")
    (card,) = (one for one in folder.iterdir() if one.name in ("card.yaml", "card.draft.yaml"))
    stated = yaml.safe_load(card.read_text(encoding="utf-8"))["data"]
    assert set(stated["sha256"]) == set(stated["other_urls"])
    assert {name: file_sha256(archives.folder / name) for name in stated["sha256"]} == stated["sha256"]


@pytest.mark.slow
def test_every_task_without_noise_has_its_cases(
    shared: Path, archives: Archives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    tokenizer = get_tokenizer(CL100K)
    counts = {split: Scores(archives).counts(split) for split in SPLITS.values()}
    tasks = [spec for spec in task_specs() if spec.benchmark == "elitr_bench" and spec.source == "published"]
    for task in tasks:
        if "wer" in task.variant:
            continue
        cases = load_task(task.name, ElitrBenchOptions(data_dir=archives.folder.parent)).cases
        expected = counts[task.split]
        assert len(cases) == expected["meetings" if task.conversation else "questions"]
        turns = [turn for case in cases.cases for turn in case.turns]
        assert len(turns) == expected["questions"]
        assert sum(turn.labels["qa_conv_differs"] for turn in turns) == expected["QA/Conv differing"]
        assert [case.cluster for case in cases.cases] == sorted(case.cluster for case in cases.cases)
        if not task.conversation:
            for case in cases.cases[::20]:
                (message,) = prompts.messages(case, cases.documents)
                assert case.num_tokens[CL100K] == tokenizer.count(message.content)
        [request] = scoring.judge_requests(cases.cases[0], ["OK."])
        assert request.messages[0].role == "system"
