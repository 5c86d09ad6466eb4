"""Evaluation (extraction and comparison) against the plain reference, in one run on the same responses."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from lazy_modules import Lazy
from naive_extraction import (
    naive_bestanswer,
    naive_bestanswer_evaluation,
    naive_tsort,
    naive_tsort_evaluation,
)
from timing import best_in_turns

from long_context_tasks.benchmarks.ada_leval.scoring import (
    extract_bestanswer_official,
    extract_tsort_official,
    order_is_correct_official,
)

pytestmark = pytest.mark.speed
pandas = Lazy("pandas")

_FILLER = "the segments follow one another as the story is told and nothing else can be said of them "
_ROWS = 1000
_MORE = random.Random(0)


def _padded(text: str, size: int) -> str:
    return (text + " " + _FILLER * (size // len(_FILLER) + 1))[:size] if size else text


def _numbered(order: list[int]) -> str:
    """A response full of digits, hardly two alike: a list that is numbered and then explained."""
    shown = "".join(f"{place}. Part {part}\n" for place, part in enumerate(order, start=1))
    return shown + " ".join(f"Part {_MORE.randint(1, 4)} follows." for _ in range(_MORE.randint(1, 9)))


Compared = Callable[[str, float, str, float], None]


@pytest.mark.parametrize(("n", "size"), [(100, 0), (100, 900), (5, 0), (5, 900)])
def test_bestanswer(n: int, size: int, compared: Compared) -> None:
    rng = random.Random(n + size)
    rows = [
        {
            "prediction": _padded(f"Answer: A{rng.randint(1, n)}", size),
            "num_choice": n,
            "answer": f"A{rng.randint(1, n)}",
        }
        for _ in range(_ROWS)
    ]
    assert all(
        extract_bestanswer_official(row["prediction"], n) == naive_bestanswer(row["prediction"], n)
        for row in rows
    )
    table = pandas.DataFrame(rows)

    def ours() -> float:
        hits = (extract_bestanswer_official(r["prediction"], r["num_choice"]) == r["answer"] for r in rows)
        return 100 * sum(hits) / _ROWS

    _compare(
        f"BestAnswer, {n} candidates, {size or 'few'} characters",
        ours,
        lambda: naive_bestanswer_evaluation(table),
        compared,
    )


@pytest.mark.parametrize(
    ("name", "shape", "size"),
    [
        ("permutations, short", lambda o: " > ".join(map(str, o)), 0),
        ("permutations, 900 characters", lambda o: "The order is " + " then ".join(map(str, o)), 900),
        ("permutations, many digits", _numbered, 0),
        ("JSON", lambda o: f"Answer: {o}", 0),
    ],
)
def test_tsort(name: str, shape: Callable[[list[int]], str], size: int, compared: Compared) -> None:
    rng = random.Random(size)
    rows: list[dict[str, Any]] = [
        {"prediction": _padded(shape(rng.sample(range(1, 5), 4)), size), "answer": rng.sample(range(1, 5), 4)}
        for _ in range(_ROWS)
    ]
    assert all(extract_tsort_official(row["prediction"]) == naive_tsort(row["prediction"]) for row in rows)
    table = pandas.DataFrame(rows)

    def ours() -> float:
        hits = (order_is_correct_official(r["answer"], extract_tsort_official(r["prediction"])) for r in rows)
        return 100 * sum(hits) / _ROWS

    _compare(f"TSort, {name}", ours, lambda: naive_tsort_evaluation(table), compared)


def _compare(name: str, ours: Callable[[], float], naive: Callable[[], float], compared: Compared) -> None:
    assert ours() == naive()
    fast, slow = best_in_turns(ours, naive, times=3)
    compared(f"score {_ROWS} responses: {name}", fast, "the rules written plainly", slow)
