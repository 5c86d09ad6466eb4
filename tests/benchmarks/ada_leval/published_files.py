"""Small files in the published form, and tasks loaded from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options


def record(number: int, answers: int = 3) -> dict[str, Any]:
    return {
        "question_id": str(1000 + number),
        "question": f"\nHow do I water plant {number}? {{braces}} – ünïcode\n",
        "all_answers": [f"\nAnswer {j} to {number}: pour slowly.\n" for j in range(1, answers + 1)],
        "answer": f"A{number % answers + 1}",
        "tags": ["garden"],
    }


def tsort_record(number: int) -> dict[str, Any]:
    gold = [[4, 1, 3, 2], "[1, 2, 3, 4]"][number % 2]
    return {
        "book_id": f"book{number % 2}",
        "para_offset": [number, 7],
        "answer": gold,
        "prompt": f"Sort these {number}.",
    }


def load(name: str, published: Path, **options: Any) -> Any:
    given: Mapping[str, Any] = {f"lct_{key}": value for key, value in options.items()}
    return load_task(name, resolve_options({"lct_data_dir": str(published.parent), **given}, {}))
