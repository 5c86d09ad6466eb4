"""Official learning, calibration, drawing and measuring against the outputs of the official code, case by case."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from vector_rows import failing_rows

from long_context_tasks.noise import official_error_rate, official_rules
from long_context_tasks.noise.official import RuleTable, calibrate, inject_official

pytestmark = pytest.mark.vectors


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-12, rel=0)


def test_get_rules_to_the_byte(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        rules = official_rules(map(tuple, row["pairs"]), characters=row["char_alignment"])
        given = [json.dumps({word: forms}) for word, forms in rules]
        return given == [json.dumps(line) for line in row["rules"]]

    assert not failing_rows(shared, "asr", "get_rules.jsonl", holds)


def test_load_rules_and_rewriting(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        counts = {
            word: forms for rule in row["rules"] for word, forms in rule.items() if len(word.split()) == 1
        }
        words = [word for line in row["data"] for word in line]
        limits = (row["max_iter"], row["stop_threshold"])
        table = RuleTable(counts)
        result = calibrate(table, Counter(words), row["goal_wer"], limits=limits)
        given = {word: result.rule(word, table) for word in dict.fromkeys([*counts, *words])}
        expected = row["probabilities"]
        # The order counts, as a draw goes through the forms.
        order = [(word, list(forms)) for word, forms in given.items()]
        text = "\n".join(map(" ".join, row["data"]))
        drawn = inject_official(text, table, row["goal_wer"], row["np_random_seed"], limits)
        return (
            order == [(word, list(forms)) for word, forms in expected.items()]
            and all(given[word] == near(forms) for word, forms in expected.items())
            and list(result.expected_wer) == near(row["iter_expected_wer"])
            and result.expected_wer[-1] == near(row["final_expected_wer"])
            and drawn.split("\n") == row["rewritten"]
        )

    assert not failing_rows(shared, "asr", "load_rules.jsonl", holds)


def test_wer(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        percent = official_error_rate(row["references"], row["hypotheses"], characters=row["cer"])
        return bool(percent == near(row["percent"]))

    assert not failing_rows(shared, "asr", "wer.jsonl", holds)
