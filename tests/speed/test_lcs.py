"""The length of the common subsequence against a plain reference, in one run on the same sequences."""

import random
from collections.abc import Callable

import pytest
from rapidfuzz.distance import LCSseq
from timing import best_in_turns

pytestmark = pytest.mark.speed

SIZE = 200
PAIRS = 20


def naive_lcs(prediction: list[str], answer: list[str]) -> int:
    """A table of lengths, as the official rule is described; on the machine of its notes the official code took 12 ms of processor
    time for two lists of 200.
    """
    table = [[0] * (len(answer) + 1) for _ in range(len(prediction) + 1)]
    for i in range(1, len(prediction) + 1):
        for j in range(1, len(answer) + 1):
            if prediction[i - 1] == answer[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def test_lcs_of_200(compared: Callable[[str, float, str, float], None]) -> None:
    rng = random.Random(0)
    answers = [[str(n) for n in rng.sample(range(1, SIZE + 1), SIZE)] for _ in range(PAIRS)]
    pairs = [(rng.sample(answer, SIZE), answer) for answer in answers[: PAIRS // 2]]
    # Nearly right orders, as models give them.
    for answer in answers[PAIRS // 2 :]:
        order = list(answer)
        for _ in range(10):
            order.insert(rng.randrange(SIZE), order.pop(rng.randrange(SIZE)))
        pairs.append((order, answer))
    both = [lambda run=run: [run(*pair) for pair in pairs] for run in (naive_lcs, LCSseq.similarity)]
    assert both[0]() == both[1]()
    slow, fast = best_in_turns(*both, times=3)
    compared(f"LCS of {SIZE}, {PAIRS} pairs", fast, "a table of lengths", slow)
