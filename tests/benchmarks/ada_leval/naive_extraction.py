"""The official rules written plainly from their description: a second opinion on their results."""

import itertools
import json


def naive_bestanswer(prediction: str, num_choice: int) -> str:
    """Look for every designation and then for every number as a substring; the highest present wins."""
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
    """Read JSON, else the only one of the 24 permutations that is a subsequence of the text."""
    text = prediction
    if "Answer:" in text:
        text = text.split("Answer:")[1].strip()
    try:
        return json.loads(text)
    except ValueError:
        orders = ["".join(order) for order in itertools.permutations("1234")]
        fitting = [order for order in orders if _is_subsequence(order, text)]
        return [int(digit) for digit in fitting[0]] if len(fitting) == 1 else [0, 0, 0, 0]
