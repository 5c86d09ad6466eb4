"""Case, response and, for summaries, the judge's verdicts to scores. Pure: no file and no network.

Every task has its official metrics, which follow the official code, and repaired ones, which read a response as the instruction
means it. The official code knows no thinking: its rules are applied to the response as it came, except that a judge never sees
thinking. A mean over cases is the plain mean; ``official.means`` has those of the paper.
"""

from long_context_tasks.benchmarks.ethic.scoring import official, repaired
from long_context_tasks.benchmarks.ethic.scoring.low_coverage import (
    FOCUSED_METRICS,
    QA_METRICS,
    score_focused_summary,
    score_qa,
)
from long_context_tasks.benchmarks.ethic.scoring.official import F1, lcs_length
from long_context_tasks.benchmarks.ethic.scoring.repaired import answer_of, is_refusal
from long_context_tasks.benchmarks.ethic.scoring.summaries import METRICS as SUMMARY_METRICS
from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import REFUSED, UNPARSED, WRONG_LENGTH

F1_METRICS = (
    *("strict_f1", "official_f1", "strict_precision", "strict_recall"),
    *("official_precision", "official_recall"),
)
ORDER_METRICS = ("strict_lcs", "official_lcs", "length_adjusted_lcs")
METRICS = {
    "recall": F1_METRICS,
    "attribute": F1_METRICS,
    "organize": ORDER_METRICS,
    "summarize": SUMMARY_METRICS,
    "single_qa": QA_METRICS,
    "multi_qa": QA_METRICS,
    "focused_summary": FOCUSED_METRICS,
}
"""Task to its metrics, headline first; second the official one, where the paper has one."""


def score_recall(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a recalling case; see ``official.recalling`` and ``repaired.recall_f1``.

    Args:
        case: its gold is a list of labels, its label ``domain`` says how they are written.
        response: None counts as empty.
        status: a failure of ours: no metric has a value then.
    """
    if status is not None:
        return dict.fromkeys(F1_METRICS, Score(None, status))
    [turn] = case.turns
    domain = str(case.labels["domain"])
    answer = answer_of(response)
    items = [] if answer.failure else repaired.recalled_items(answer.text, domain)
    strict = repaired.recall_f1(items, repaired.recall_labels(turn.gold, domain))
    failure = answer.failure or _failure(answer.text, strict.f1, parsed=bool(items))
    return _f1_scores(strict, official.recalling(response or "", turn.gold), failure)


def score_attribute(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score an attributing case; see ``official.attributing`` and ``repaired.attributed_ids``.

    The arguments are those of :func:`score_recall`; the gold is a list of entries with an id each, or "none".
    """
    if status is not None:
        return dict.fromkeys(F1_METRICS, Score(None, status))
    [turn] = case.turns
    answer = answer_of(response)
    ids = None if answer.failure else repaired.attributed_ids(answer.text)
    strict = official.NOTHING
    if ids is not None:
        strict = repaired.attribution_f1(ids, repaired.attribution_labels(turn.gold))
    failure = answer.failure or _failure(answer.text, strict.f1, parsed=ids is not None)
    return _f1_scores(strict, official.attributing(response or "", turn.gold), failure)


def _failure(answer: str, value: float, *, parsed: bool) -> str | None:
    if value == 0 and is_refusal(answer):
        return REFUSED
    return None if parsed else UNPARSED


def _f1_scores(strict: F1, as_published: F1, failure: str | None) -> CaseScores:
    return {
        "strict_f1": Score(strict.f1, failure),
        "official_f1": Score(as_published.f1),
        "strict_precision": Score(strict.precision, failure),
        "strict_recall": Score(strict.recall, failure),
        "official_precision": Score(as_published.precision),
        "official_recall": Score(as_published.recall),
    }


def score_organize(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score an organizing case.

    ``strict_lcs`` is 0 for an order that does not name as many options as there are; ``length_adjusted_lcs`` divides by the
    longer of the two lists, so that options left out or named twice cost what they are worth.

    The arguments are those of :func:`score_recall`; the gold is the list of option numbers in the right order.
    """
    if status is not None:
        return dict.fromkeys(ORDER_METRICS, Score(None, status))
    [turn] = case.turns
    gold = list(turn.gold)
    answer = answer_of(response)
    order = [] if answer.failure else repaired.listed_order(answer.text)
    common = lcs_length(order, gold)
    failure = answer.failure
    if failure is None and len(order) != len(gold):
        failure = _failure(answer.text, common, parsed=bool(order)) or WRONG_LENGTH
    as_published = Score(0.0, REFUSED) if response == official.REFUSAL else None
    return {
        "strict_lcs": Score(0.0 if failure else common / len(gold), failure),
        "official_lcs": as_published or Score(official.organizing(response or "", gold)),
        "length_adjusted_lcs": Score(common / max(len(order), len(gold)), failure),
    }


SCORES = {
    "recall": score_recall,
    "attribute": score_attribute,
    "organize": score_organize,
    "single_qa": score_qa,
    "multi_qa": score_qa,
    "focused_summary": score_focused_summary,
}
"""Task to its function; summaries are judged, see ``summaries.score_turn``."""
