"""What scores of Ada-LEval are split by beside the labels that cases have."""

import re
from collections.abc import Mapping
from typing import Any

_ACCEPTED = re.compile(r"_A([1-9][0-9]{0,5})$")
_PARTS = 5


def labels_of(case: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Where among the answers of BestAnswer the accepted one stands, in fifths; nothing for TSort and moved answers.

    >>> labels_of("4711_A2", {"num_answers": 4})
    {'accepted_answer_at': '20–40 %'}
    >>> labels_of("4711_A2", {"num_answers": 4, "position": "rear"})
    {}

    Args:
        case: id, which ends with the designation of the accepted answer.
        labels: of the case; ``position`` says that the answer was moved.
    """
    match, number = _ACCEPTED.search(case), labels.get("num_answers")
    if match is None or not isinstance(number, int) or "position" in labels or not int(match[1]) <= number:
        return {}
    part = int((int(match[1]) - 0.5) / number * _PARTS)
    return {"accepted_answer_at": f"{100 * part // _PARTS}–{100 * (part + 1) // _PARTS} %"}
