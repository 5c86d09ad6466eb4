"""Steps of OpenCompass on our classes, as its own tasks take them."""

from typing import Any


def evaluate(dataset: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Score prediction rows as the host's evaluating process does."""
    from long_context_tasks.hosts.opencompass.task import CaseEvaluator

    keys = ("case", "lct_status", "n_prompt_tokens", "truncated", "lct_window", "lct_given")
    columns = {key: [row[key] for row in rows] for key in keys}
    predictions, test = [row["prediction"] for row in rows], dataset.test
    result: dict[str, Any] = CaseEvaluator().evaluate(
        1, 1, test, predictions=predictions, references=test["reference"], test_set=test, **columns
    )
    return result
