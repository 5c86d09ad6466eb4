"""Official learning, calibration, drawing and measuring against the outputs of the official code, case by case."""

import json
from collections import Counter
from pathlib import Path

import pytest
from vector_rows import vector_rows

from long_context_tasks.noise import official_error_rate, official_rules
from long_context_tasks.noise.official import RuleTable, calibrate, inject_official

pytestmark = pytest.mark.vectors


def test_get_rules_to_the_byte(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "asr", "get_rules.jsonl"):
        n += 1
        rules = official_rules(map(tuple, row["pairs"]), characters=row["char_alignment"])
        given = [json.dumps({word: forms}) for word, forms in rules]
        failed += [] if given == [json.dumps(line) for line in row["rules"]] else [number]
    assert n and not failed


def test_load_rules_and_rewriting(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "asr", "load_rules.jsonl"):
        n += 1
        counts = {
            word: forms for rule in row["rules"] for word, forms in rule.items() if len(word.split()) == 1
        }
        words = [word for line in row["data"] for word in line]
        limits = (row["max_iter"], row["stop_threshold"])
        table = RuleTable(counts)
        result = calibrate(table, Counter(words), row["goal_wer"], limits=limits)
        given = {word: result.rule(word, table) for word in dict.fromkeys([*counts, *words])}
        expected = row["probabilities"]
        order = [(word, list(forms)) for word, forms in given.items()]
        same = (
            order == [(word, list(forms)) for word, forms in expected.items()]
            and all(abs(given[w][f] - p) < 1e-12 for w, forms in expected.items() for f, p in forms.items())
            and len(result.expected_wer) == len(row["iter_expected_wer"])
            and all(
                abs(a - b) < 1e-12 for a, b in zip(result.expected_wer, row["iter_expected_wer"], strict=True)
            )
            and abs(result.expected_wer[-1] - row["final_expected_wer"]) < 1e-12
        )
        text = "\n".join(map(" ".join, row["data"]))
        drawn = inject_official(text, table, row["goal_wer"], row["np_random_seed"], limits)
        failed += [] if same and drawn.split("\n") == row["rewritten"] else [number]
    assert n and not failed


def test_wer(shared: Path) -> None:
    failed, n = [], 0
    for number, row in vector_rows(shared, "asr", "wer.jsonl"):
        n += 1
        percent = official_error_rate(row["references"], row["hypotheses"], characters=row["cer"])
        failed += [] if abs(percent - row["percent"]) < 1e-12 else [number]
    assert n and not failed
