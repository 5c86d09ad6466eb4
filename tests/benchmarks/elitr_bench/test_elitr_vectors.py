"""Prompts, transcripts and parsers against the outputs of the official code, case by case, whatever stands in the folder."""

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from vector_rows import vector_rows

from long_context_tasks.benchmarks.catalogue import task_specs
from long_context_tasks.benchmarks.elitr_bench import prompts, scoring
from long_context_tasks.benchmarks.elitr_bench.archives import Archives, Meeting, prepare_transcripts
from long_context_tasks.benchmarks.elitr_bench.data import load_task
from long_context_tasks.benchmarks.elitr_bench.paper import Scores
from long_context_tasks.benchmarks.elitr_bench.scoring import stored_officially
from long_context_tasks.benchmarks.elitr_bench.task import ElitrBenchOptions
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


def _style(row: dict[str, Any]) -> str:
    return row["conv_format"] or {"gpt": prompts.GPT}.get(row["script"], prompts.CHAT)


def _plain(messages: list[Message]) -> list[dict[str, str]]:
    return [vars(message) for message in messages]


def _text(sent: Any) -> str:
    if isinstance(sent, str):
        return sent
    return json.dumps(sent, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _same_hash(sent: Any, row: dict[str, Any]) -> bool:
    text = _text(sent)
    return len(text) == row["chars"] and hashlib.sha256(text.encode()).hexdigest() == row["sha256"]


def _context(
    row: dict[str, Any], transcript: str, questions: list[str], answers: list[str]
) -> list[dict[str, str]] | str:
    messages = prompts.conversation(
        transcript,
        questions,
        answers,
        style=_style(row),
        language=row["lang"],
        markers=bool(row["q_marker"]),
    )
    if row["script"] == "llama2":
        assert len(messages) == 1
        return messages[0].content
    return _plain(messages)


def test_messages(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "elitr_bench", "messages.jsonl"):
        n += 1
        contexts = []
        for turn, question in enumerate(row["questions"]):
            first = 0 if row["mode"] == "mt" else turn
            questions = [*row["questions"][first:turn], question]
            contexts.append(_context(row, row["transcript"], questions, row["model_outputs"][first:turn]))
        failed += [] if contexts == row["contexts"] and row["error"] is None else [number]
    assert n and not failed


def test_prompts_of_the_real_questions(shared: Path, archives: Archives, transcripts: dict[str, str]) -> None:
    read: dict[tuple[str, str], dict[str, Meeting]] = {}
    failed, n = [], 0
    for number, row in vector_rows(shared, "elitr_bench", "real_prompt_hashes.jsonl"):
        n += 1
        setting, split = row["dataset"].split("_")
        key = (row["dataset"], row["lang"])
        if key not in read:
            meetings = archives.questions(SPLITS[split], setting == "conv", row["lang"] == "czech")
            read[key] = {meeting.id: meeting for meeting in meetings}
        questions = read[key][row["meeting"]].questions
        last = [question.id for question in questions].index(row["question_id"])
        first = 0 if row["mode"] == "mt" else last
        asked = [question.text for question in questions[first : last + 1]]
        sent = _context(row, transcripts[row["meeting"]], asked, ["OK."] * (last - first))
        failed += [] if _same_hash(sent, row) else [number]
    assert n and not failed


def test_judge_prompts(shared: Path, archives: Archives) -> None:
    published = {
        (one.meeting, one.question.id, one.model): (one.question.text, one.text, one.question.answer)
        for one in archives.responses("qa_test2_st_gpt-4-eval")
    }
    failed, n = [], 0
    for number, row in vector_rows(shared, "elitr_bench", "judge_prompts.jsonl"):
        n += 1
        if "question" in row:
            texts = (row["question"], row["response"], row["reference"])
        else:
            texts = published[row["meeting"], row["question_id"], row["model"]]
        prompt = prompts.judge_prompt(*texts, judge=row["judge"], language=row["lang"])
        if row["judge"] == "prometheus":
            sent: Any = prompts.conversation_prompt([prompt], [], "llama-2")
        else:
            sent = _plain(prompts.judge_conversation(prompt))
        failed += [] if _same_hash(sent, row) and sent == row.get("input", sent) else [number]
    assert n and not failed


@pytest.mark.parametrize(("judge", "none"), [("gpt", "-1"), ("prometheus", "-2")])
def test_scores_of_judge_replies(shared: Path, judge: str, none: str) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "elitr_bench", f"judge_{judge}_scores.jsonl"):
        if not isinstance(row["judge_output"], str):
            continue  # a reply is text
        n += 1
        value = scoring.official_score(row["judge_output"], judge)
        # The official code keeps the digits of GPT's score as they are written; their number counts.
        failed += [] if (value if value is not None else int(none)) == int(row["score"]) else [number]
    assert n and not failed


def test_stored_responses(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "elitr_bench", "response_postprocess.jsonl"):
        for script in row["script"].split("/"):
            n += 1
            given = stored_officially(row["decoded"], script, row["context"] or "")
            failed += [] if given == row["response"] and row["error"] is None else [number]
    assert n and not failed


def test_transcripts(shared: Path, transcripts: dict[str, str]) -> None:
    tokenizer = get_tokenizer(CL100K)
    failed, n = [], 0
    for _, row in vector_rows(shared, "elitr_bench", "transcripts.jsonl"):
        n += 1
        text = transcripts[row["meeting"]]
        data = text.encode()
        given = (len(data), text.count("\n"), len(text.split()), hashlib.sha256(data).hexdigest())
        same = given == (row["bytes"], row["lines"], row["words"], row["sha256"])
        if not same or tokenizer.count(text) != row["cl100k_tokens"]:
            failed.append(row["meeting"])
    assert n and not failed


def test_preparation(shared: Path) -> None:
    n = 0
    for _, row in vector_rows(shared, "elitr_bench", "extract_transcripts.jsonl"):
        n += 1
        prepared = prepare_transcripts((name, text.encode()) for name, text in row["tree"].items())
        assert {f"{meeting}.txt": data.decode() for meeting, data in prepared.items()} == row["data"]
    assert n


def test_the_card_has_the_checksums(archives: Archives) -> None:
    folder = files("long_context_tasks.benchmarks.elitr_bench")
    (card,) = (one for one in folder.iterdir() if one.name in ("card.yaml", "card.draft.yaml"))
    stated = yaml.safe_load(card.read_text(encoding="utf-8"))["data"]
    assert set(stated["sha256"]) == set(stated["other_urls"])
    assert {name: file_sha256(archives.folder / name) for name in stated["sha256"]} == stated["sha256"]


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
        request = scoring.judge_request(cases.cases[0], 0, "OK.")
        assert request.messages[0].role == "system"
