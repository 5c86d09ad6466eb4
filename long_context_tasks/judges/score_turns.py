"""Responses and what a judge said of them to scores, turn by turn: for both hosts, and for stored runs that are scored again."""

from collections.abc import Sequence

from long_context_tasks.judges.judging import Judging
from long_context_tasks.judges.verdict import Verdict
from long_context_tasks.schema import Case, CaseScores, LoadedTask, Score
from long_context_tasks.schema.response import Response

NOT_JUDGED = "not_judged"


def score_turns(
    task: LoadedTask,
    case: Case,
    responses: Sequence[Response],
    verdicts: Sequence[Sequence[Verdict]] = (),
    rubric: str | None = None,
) -> list[CaseScores]:
    """Every metric of every turn of a case.

    Args:
        task: of the case.
        case: with as many turns as there are responses.
        responses: one per turn.
        verdicts: of the judge on each turn.
        rubric: name of the rubric that was used; None: nobody has judged, and no turn has points, not even the lowest.
    """
    if task.judging is None:
        [response] = responses
        return [task.score(case, response.text, response.status)]
    judging: Judging = task.judging
    given = verdicts or [()] * len(responses)
    name = rubric or judging.default
    scores = [
        judging.score_turn(case, turn, response.text, given[turn], name, response.status)
        for turn, response in enumerate(responses)
    ]
    if rubric is not None:
        return scores
    # Were the model's failures scored alone, the mean of an unjudged run would be theirs.
    return [
        {
            metric: Score(None, NOT_JUDGED)
            if metric in judging.metrics and score.value is not None
            else score
            for metric, score in turn.items()
        }
        for turn in scores
    ]
