"""Official rules against the outputs of the official code, case by case, whatever stands in the folder."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from vector_rows import vector_rows

from long_context_tasks.benchmarks.ada_leval import prompts, scoring
from long_context_tasks.benchmarks.ada_leval.scoring import (
    extract_bestanswer_official,
    extract_tsort_official,
)
from long_context_tasks.schema import Case, Turn

pytestmark = pytest.mark.vectors


def _case(answer: Any, num_choice: int | None = None) -> Case:
    gold = json.loads(answer) if isinstance(answer, str) and num_choice is None else answer
    inputs = {} if num_choice is None else {"question": "q", "answers": ["k"] * num_choice}
    return Case("c", "t", inputs, (Turn(gold),), "c")


def _tagged(row: dict[str, Any]) -> bool:
    """The official code knows no thinking; only extraction is the same for a response that holds some."""
    return "think>" in row["prediction"]


def _same(given: object, expected: object) -> bool:
    if isinstance(expected, dict) and set(expected) == {"__float__"}:
        return repr(given) == repr(float(expected["__float__"]))
    return type(given) is type(expected) and given == expected


def test_bestanswer_prompts(shared: Path) -> None:
    with gzip.open(shared / "data" / "ada_leval" / "stackselect_1k.json.gz") as file:
        records = {f"{row['question_id']}_{row['answer']}": row for row in json.load(file)}
    failed, n = [], 0
    for number, row in vector_rows(shared, "ada_leval", "stackselect_prompts.jsonl"):
        record = row if "all_answers" in row else records[f"{row['question_id']}_{row['answer']}"]
        prompt = prompts.render_bestanswer(record["question"], record["all_answers"])
        same = (
            hashlib.sha256(prompt.encode()).hexdigest() == row["prompt_sha256"]
            and len(prompt) == row["prompt_chars"]
        )
        failed += [] if same and prompt == row.get("prompt", prompt) else [number]
        n += 1
    assert n and not failed


def test_bestanswer_extraction(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "ada_leval", "stackselect_eval.jsonl"):
        n += 1
        if not isinstance(row["prediction"], str):
            continue  # no host hands us anything but text; a missing response is tested in test_scoring.py
        extracted = extract_bestanswer_official(row["prediction"], row["num_choice"])
        case = _case(row["answer"], row["num_choice"])
        score = scoring.score_case(case, row["prediction"])["official_accuracy"].value
        same = extracted == row["extracted"] and row["error"] is None
        if not same or (not _tagged(row) and score != float(row["correct"])):
            failed.append(number)
    assert n and not failed


def test_tsort_extraction(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "ada_leval", "textsort_eval.jsonl"):
        n += 1
        if not isinstance(row["prediction"], str):
            continue  # as above
        extracted = extract_tsort_official(row["prediction"])
        score = scoring.score_case(_case(row["answer"]), row["prediction"])["official_accuracy"]
        crashed = row["error"] == "TypeError"
        right = score.value == float(bool(row["correct"])) and (score.reason == scoring.CRASH) == crashed
        if not _same(extracted, row["extracted"]) or not (right or _tagged(row)):
            failed.append(number)
    assert n and not failed


def test_dataset_accuracy(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "ada_leval", "dataset_accuracy.jsonl"):
        n += 1
        cases = [(_case(item["answer"], item.get("num_choice")), item["prediction"]) for item in row["rows"]]
        values = [
            scoring.score_case(case, prediction)["official_accuracy"].value for case, prediction in cases
        ]
        correct = [value for value in values if value is not None]
        accuracy = 100 * sum(correct) / len(correct)
        if (len(values), sum(correct)) != (row["n"], row["n_correct"]) or abs(
            accuracy - row["accuracy"]
        ) > 1e-12:
            failed.append(number)
    assert n and not failed
