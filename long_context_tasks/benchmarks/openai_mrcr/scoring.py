"""Compare a response with the answer that it should repeat (data set card, "Implementation details")."""

from difflib import SequenceMatcher

from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import ANSWER_CUT, UNPARSED
from long_context_tasks.schema.thinking import without_thinking

METRICS = ("strict_ratio", "official_ratio")


def ratio(response: str, answer: str, prefix: str) -> float:
    """Return the ratio of matching characters, 0 to 1, of two texts without the prefix; 0 if the response lacks it.

    The ratio depends on the order of the texts, and characters that are frequent in the answer do not count as matches of their own
    (both as in the official code, which leaves difflib's settings at their defaults). The time grows with the product of the lengths.
    """
    if not response.startswith(prefix):
        return 0.0
    return SequenceMatcher(None, response.removeprefix(prefix), answer.removeprefix(prefix)).ratio()


def score_case(case: Case, response: str | None, status: str | None) -> CaseScores:
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    gold = case.turns[0].gold
    visible = without_thinking(response)
    official = ratio(visible.text, gold["answer"], gold["prefix"])
    # White space around an answer is not part of it. The second comparison takes as long as the first, so it is made only if needed.
    stripped = visible.text.strip()
    strict = official if stripped == visible.text else ratio(stripped, gold["answer"], gold["prefix"])
    reason = None if stripped.startswith(gold["prefix"]) else UNPARSED
    strict_score = Score(0.0, ANSWER_CUT) if visible.unclosed else Score(strict, reason)
    return {"strict_ratio": strict_score, "official_ratio": Score(official)}
