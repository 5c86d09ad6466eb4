"""Official learning, calibration and drawing, compared with the outputs of the official code case by case."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from vector_rows import failing_rows

from long_context_tasks.noise import official, official_rules
from long_context_tasks.noise.official import Calibrated, RuleTable, calibrate, inject_official

pytestmark = pytest.mark.vectors


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-12, rel=0)


def test_get_rules_to_the_byte(shared: Path) -> None:
    def holds(row: dict[str, Any]) -> bool:
        rules = official_rules(map(tuple, row["pairs"]), characters=row["char_alignment"])
        given = [json.dumps({word: forms}) for word, forms in rules]
        return given == [json.dumps(line) for line in row["rules"]]

    assert not failing_rows(shared, "asr", "get_rules.jsonl", holds)


def forms_of(word: str, table: RuleTable, calibrated: Calibrated) -> dict[str, float]:
    """The probability of each form of a word; the order counts, as a draw goes through the forms."""
    if word not in calibrated.index:
        return {word: 1.0}
    start, end = calibrated.starts[calibrated.index[word] :][:2].tolist()
    forms = [table.forms[cell] for cell in calibrated.cells[start:end].tolist()]
    return dict(zip(forms, calibrated.probabilities[start:end].tolist(), strict=True))


def test_load_rules_and_rewriting(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(row: dict[str, Any]) -> bool:
        monkeypatch.setattr(official, "_MOST_CORRECTIONS", row["max_iter"])
        monkeypatch.setattr(official, "_PRECISION", row["stop_threshold"])
        counts = {
            word: forms for rule in row["rules"] for word, forms in rule.items() if len(word.split()) == 1
        }
        words = [word for line in row["data"] for word in line]
        table = RuleTable(counts)
        # The official code scales the rules of all words; those that do not occur weigh nothing.
        result = calibrate(table, dict.fromkeys(counts, 0) | Counter(words), row["goal_wer"])
        given = {word: forms_of(word, table, result) for word in dict.fromkeys([*counts, *words])}
        expected = row["probabilities"]
        order = [(word, list(forms)) for word, forms in given.items()]
        drawn = inject_official(
            "\n".join(map(" ".join, row["data"])), table, row["goal_wer"], row["np_random_seed"]
        )
        return (
            order == [(word, list(forms)) for word, forms in expected.items()]
            and all(given[word] == near(forms) for word, forms in expected.items())
            and list(result.expected_wer) == near(row["iter_expected_wer"])
            and result.expected_wer[-1] == near(row["final_expected_wer"])
            and drawn.split("\n") == row["rewritten"]
        )

    assert not failing_rows(shared, "asr", "load_rules.jsonl", holds)
