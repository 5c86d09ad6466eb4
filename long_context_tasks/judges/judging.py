"""What a benchmark tells of a task whose responses a judge scores; hosts and ``lct judge run`` do the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from long_context_tasks.judges.request import JudgeRequest
from long_context_tasks.judges.verdict import Rubric, Verdict
from long_context_tasks.schema import Case, CaseScores


@dataclass(frozen=True)
class Judging:
    """A benchmark's functions for a judged task. Rubrics go by name; a judge file may choose one.

    Attributes:
        rubric: name to rubric, in the language of the task.
        requests: case, responses (one per turn, None where there is none through a failure of ours) and rubric name to what
            the judge is asked: any number of requests for each response that is there; ``meta["turn"]`` says to which one a
            request belongs.
        score_turn: case, turn, response, verdicts (on the turn's requests in order, one per seed of the judge for each; none
            when nobody has judged), rubric name and status (None, or a failure of ours in generation) to every metric of the
            turn.
        default: name of the rubric where the judge file names none.
        metrics: those that need verdicts: without a judge they have no value, not even for a failure of the model.
    """

    rubric: Callable[[str], Rubric]
    requests: Callable[[Case, Sequence[str | None], str], list[JudgeRequest]]
    score_turn: Callable[[Case, int, str | None, Sequence[Verdict], str, str | None], CaseScores]
    default: str
    metrics: tuple[str, ...]
