"""Score questions on one section of a context: a list by the F1 of recalling, a summary by the key facts that it states."""

from long_context_tasks.benchmarks.ethic.scoring import score_recall
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT, recall
from long_context_tasks.benchmarks.ethic.scoring.repaired import answer_of
from long_context_tasks.schema import Case, CaseScores, Score

SECTION_SCORE = "section_score"
METRICS = (SECTION_SCORE,)


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a case, 0 to 1.

    Args:
        case: one with the facts of its section asks for a summary, any other for a list.
        response: None counts as empty.
        status: a failure of ours: no score then.
    """
    if status is not None or INPUT not in case.inputs:
        return {SECTION_SCORE: score_recall(case, response, status)["strict_f1"]}
    answer = answer_of(response)
    [row] = case.inputs[INPUT]
    value = 0.0 if answer.failure else recall(row, answer.text)
    return {SECTION_SCORE: Score(value, answer.why(None) if value == 0 else None)}
