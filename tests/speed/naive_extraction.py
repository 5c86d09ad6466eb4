"""The official rules written plainly from their description: the yardstick for speed, and a second opinion on results.

The official evaluation goes through a pandas table row by row; on the machine where its rates were taken it did 20,000 BestAnswer
predictions a second with 5 candidates and 3,100 with 100, 30,000 TSort predictions by JSON and 12,000 by permutations.
"""

import itertools
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas


def naive_bestanswer(prediction: str, num_choice: int) -> str:
    """Every designation and every number is looked for as a substring; the highest present wins."""
    designations = [f"A{j}" for j in range(1, num_choice + 1)]
    present = [name for name in designations if name in prediction]
    if present:
        return max(present, key=lambda name: int(name[1:]))
    numbers = [str(j) for j in range(1, num_choice + 1)]
    present = [number for number in numbers if number in prediction]
    if present:
        return "A" + max(present, key=int)
    return "???"


def _is_subsequence(digits: str, text: str) -> bool:
    place = 0
    for character in text:
        if place < len(digits) and character == digits[place]:
            place += 1
    return place == len(digits)


def naive_tsort(prediction: str) -> object:
    """JSON, else the only one of the 24 permutations that is a subsequence of the text."""
    text = prediction
    if "Answer:" in text:
        text = text.split("Answer:")[1].strip()
    try:
        return json.loads(text)
    except ValueError:
        orders = ["".join(order) for order in itertools.permutations("1234")]
        fitting = [order for order in orders if _is_subsequence(order, text)]
        return [int(digit) for digit in fitting[0]] if len(fitting) == 1 else [0, 0, 0, 0]


def naive_bestanswer_evaluation(table: "pandas.DataFrame") -> float:
    """Accuracy in percent over a table with prediction, num_choice and answer, row by row."""
    hits = []
    for place in range(len(table)):
        row = table.iloc[place]
        hits.append(naive_bestanswer(row["prediction"], row["num_choice"]) == row["answer"])
    return 100 * sum(hits) / len(hits)


def naive_tsort_evaluation(table: "pandas.DataFrame") -> float:
    """Accuracy in percent over a table with prediction and answer, row by row."""
    hits = []
    for place in range(len(table)):
        row = table.iloc[place]
        hits.append(all(x == y for x, y in zip(row["answer"], naive_tsort(row["prediction"]), strict=False)))
    return 100 * sum(hits) / len(hits)
