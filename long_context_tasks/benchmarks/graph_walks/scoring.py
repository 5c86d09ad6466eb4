"""Score the set of nodes that a response lists (data set card, "Extraction and Grading")."""

import re

from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import ANSWER_CUT, UNPARSED
from long_context_tasks.schema.thinking import without_thinking

METRICS = ("strict_f1", "official_f1", "exact")
_OFFICIAL = re.compile(r"Final Answer: ?\[(.*)\]")
# Models write "**Final Answer:** [a, b]", or break a long list into lines.
_STRICT = re.compile(r"Final Answer[\s:*_`]{0,9}\[([^\[\]]*)\]", re.IGNORECASE)


def official_nodes(response: str) -> set[str] | None:
    """Return the nodes in the very last line of a response; None if it has another form."""
    listed = _OFFICIAL.search(response.rsplit("\n", maxsplit=1)[-1])
    return {node.strip() for node in listed[1].split(",") if node.strip()} if listed else None


def strict_nodes(response: str) -> set[str] | None:
    """Return the nodes of the last list of the required form, on any line; None without such a list.

    >>> sorted(strict_nodes("**Final Answer:** [`0A1`, '0b2']\\n\\nThat is all.") or ())
    ['0a1', '0b2']
    """
    lists = _STRICT.findall(response)
    if not lists:
        return None
    nodes = (node.strip(" \t\r\n'\"`*").lower() for node in lists[-1].split(","))
    return {node for node in nodes if node}


def f1(nodes: set[str] | None, gold: set[str]) -> Score:
    """Return the F1 of two sets of nodes in the order of the card's operations, so that all digits agree."""
    if nodes is None:
        return Score(0.0, UNPARSED)
    overlap = len(nodes & gold)
    if not overlap:
        return Score(float(not nodes and not gold))
    recall, precision = overlap / len(gold), overlap / len(nodes)
    return Score(2 * (recall * precision) / (recall + precision))


def score_case(case: Case, response: str | None, status: str | None) -> CaseScores:
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    gold = set(case.turns[0].gold)
    visible = without_thinking(response)
    nodes = strict_nodes(visible.text)
    strict = Score(0.0, ANSWER_CUT) if visible.unclosed else f1(nodes, gold)
    exact = Score(float(strict.value == 1), strict.reason)
    return {"strict_f1": strict, "official_f1": f1(official_nodes(visible.text), gold), "exact": exact}
