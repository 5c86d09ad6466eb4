"""Rated answers, splits and scores that follow known rules."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from json_lines import write_rows


def rated_answers(questions: int = 40, seed: int = 0, raters: int = 3) -> list[dict[str, Any]]:
    """Two answers to each question, rated by three people around a value of their own."""
    rng = random.Random(f"rated answers {seed}")
    rows = []
    for number in range(questions):
        for model in ("owl", "fox"):
            middle = rng.uniform(1, 5)
            ratings = [min(5, max(1, round(middle + rng.gauss(0, 0.6)))) for _ in range(raters)]
            rows.append(
                {
                    "id": f"q{number}/{model}",
                    "question": f"Question {number}?",
                    "reference": f"Reference {number}",
                    "candidate": f"item-{number} {model}",
                    "ratings": ratings,
                    "question_id": f"q{number}",
                    "candidate_model": model,
                    "source": "set/kind",
                }
            )
    return rows


def mean_of(row: Mapping[str, Any]) -> float:
    """People's mean rating on 0 to 1."""
    return (sum(row["ratings"]) / len(row["ratings"]) - 1) / 4


def scores_of(
    rows: Iterable[Mapping[str, Any]], noise: Mapping[str, float], seed: int = 0
) -> list[dict[str, Any]]:
    """Scores from 1 to 5 of judges that see people's mean through noise."""
    rng = random.Random(f"scores {seed}")
    return [
        {
            "id": row["id"],
            "cluster": row["question_id"],
            **{
                name: min(5, max(1, round(1 + 4 * mean_of(row) + rng.gauss(0, sd))))
                for name, sd in noise.items()
            },
        }
        for row in rows
    ]


def write_splits(folder: Path, rows: list[dict[str, Any]], n: int = 3) -> Path:
    """Parts 8:1:1 by questions, cut by place; the test parts of two splits share no question."""
    for number in range(n):
        place = folder / f"split_{number}"
        place.mkdir(parents=True)
        parts: dict[str, list[dict[str, Any]]] = {"train": [], "dev": [], "test": []}
        for row in rows:
            at = (int(row["question_id"][1:]) + number) % 5
            parts["test" if at == 0 else "dev" if at == 1 else "train"].append(row)
        for name, part in parts.items():
            write_rows(place / f"{name}.jsonl", part)
    return folder
