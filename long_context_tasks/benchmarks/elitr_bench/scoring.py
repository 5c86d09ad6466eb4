"""Score responses from a judge's verdicts: build the judge requests and parse the replies.

Scores are on the paper's scale, 1 to 10 (0 to 10 in Czech, where 0 means that the response is not in Czech);
Prometheus scores, 1 to 5, are doubled. Every turn is scored; a mean is the unweighted mean over all questions
in a split.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.elitr_bench import answers, prompts
from long_context_tasks.judges.parsers import last_boxed, last_result, official_boxed, official_result
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict, mean_score
from long_context_tasks.schema import Case, CaseScores, InputError, Score
from long_context_tasks.schema.response import (
    ANSWER_CUT,
    EMPTY,
    ENDPOINT_FAILED,
    JUDGE_FAILED,
    JUDGE_UNPARSABLE,
    NOT_JUDGED,
)
from long_context_tasks.schema.thinking import without_thinking

METRICS = ("judge_score", "official_judge_score", "answered")
INTERVALS = ("judge_score", "official_judge_score")
# Metrics of synthetic cases, whose answers are also scored without a judge.
SYNTHETIC_METRICS = (answers.METRIC, *METRICS)


@dataclass(frozen=True)
class JudgePrompt:
    """A judge prompt from the paper: its scale, and the parsers of its replies."""

    high: int  # highest score; the lowest is 1, or 0 in Czech
    factor: int  # converts scores to the paper's scale
    # Takes the bounds of the scale and returns the parser for the last score in a reply.
    parser: Callable[[float, float], Callable[[str], float | None]]
    official: Callable[[str], str]  # the official parser, which returns text


_JUDGE_PROMPTS: Mapping[str, JudgePrompt] = {
    "gpt": JudgePrompt(10, 1, last_boxed, official_boxed),
    "prometheus": JudgePrompt(5, 2, last_result, official_result),
}


def _judge_prompt(name: str) -> JudgePrompt:
    if name not in _JUDGE_PROMPTS:
        raise InputError(
            f"rubric {name!r}: ELITR-Bench has {' and '.join(_JUDGE_PROMPTS)}; correct it in the judge file"
        )
    return _JUDGE_PROMPTS[name]


def rubric(name: str = "gpt", language: str = "english") -> Rubric:
    r"""Return a judge prompt's rubric: its scale, and the parser for the last score in a reply.

    ``gpt`` scores out of 10 in ``\boxed{}``, ``prometheus`` out of 5 after ``[RESULT]``.

    >>> rubric().score(r"It quotes \boxed{10}. Score: \boxed{3}"), rubric("prometheus", "czech").low
    (3.0, 0)
    """
    kind = _judge_prompt(name)
    # The Czech rubrics score a response in another language 0.
    low = 0 if language == "czech" else 1
    label = name if language == "english" else f"{name}_{language}"
    return Rubric(f"elitr_bench_{label}", low, kind.high, kind.parser(low, kind.high))


def official_score(reply: str, name: str = "gpt") -> float | None:
    r"""Parse a reply's first score by the official rule, on the 10-point scale but not limited to it.

    >>> official_score(r"\boxed{95} and \boxed{7}"), official_score("[RESULT] 4.5", "prometheus")
    (95.0, 8.0)
    """
    stored = _judge_prompt(name).official(reply)
    # The official parsers return -1 or -2 for a missing score. A number with more digits than a float can
    # hold is not a score.
    return float(stored) if not stored.startswith("-") and len(stored) < 300 else None


def judge_requests(case: Case, responses: Sequence[str | None], name: str = "gpt") -> list[JudgeRequest]:
    """Return the requests for all turns with a response; it is None after a failure on our side."""
    _judge_prompt(name)
    requests = []
    for turn, response in enumerate(responses):
        # Empty responses are included, because the official metric counts their scores.
        if response is not None:
            asked = case.turns[turn]
            texts = str(asked.question), without_thinking(response).text, str(asked.gold)
            prompt = prompts.judge_prompt(*texts, name, case.inputs["language"])
            messages = tuple(prompts.judge_conversation(prompt, name, case.inputs["language"]))
            key = f"{case.cluster}_{asked.labels['question_id']}"
            requests.append(JudgeRequest(key, messages, {"case": case.id, "turn": turn}))
    return requests


def score_turn(
    case: Case,
    turn: int,
    response: str | None,
    verdicts: Sequence[Verdict] = (),
    name: str = "gpt",
    status: str | None = None,
) -> CaseScores:
    """Score one turn from the verdicts, one per judge seed; the list is empty before judging.

    Once judged, an empty response gets the scale's lowest ``judge_score``, whatever the judge replied. After
    a failure on our side (``status``) no metric has a value.
    """
    known = answers.INPUT in case.inputs
    if status is not None:
        return dict.fromkeys(SYNTHETIC_METRICS if known else METRICS, Score(None, status))
    case.turns[turn]  # raises IndexError for a turn that the case lacks
    kind = _judge_prompt(name)
    answer = without_thinking(response or "")
    empty = (ANSWER_CUT if answer.unclosed else EMPTY) if not answer.text.strip() else None
    points = [None if verdict.score is None else verdict.score * kind.factor for verdict in verdicts]
    # The official code never retries; later replies come from our retries.
    firsts = [official_score(verdict.replies[0], name) if verdict.replies else None for verdict in verdicts]
    strict = _mean(points, verdicts)
    # A judge may rate an empty response above the lowest score; the official score keeps that.
    if empty is not None and verdicts:
        strict = Score(float(rubric(name, case.inputs["language"]).low * kind.factor), empty)
    scores = {
        "judge_score": strict,
        "official_judge_score": _mean(firsts, verdicts),
        "answered": Score(float(empty is None), empty),
    }
    if known:
        found = answers.is_found(answer.text, case.inputs[answers.INPUT][turn])
        scores[answers.METRIC] = Score(float(found), empty)
    return scores


def rating(
    scores: Mapping[str, float | None], verdicts: Sequence[float | None], name: str | None = None
) -> dict[str, float | None]:
    """Return the ``judge_score`` from verdicts' scores; nothing for an empty response."""
    factor = _judge_prompt(name or "gpt").factor
    mean = mean_score([None if score is None else score * factor for score in verdicts])
    return {"judge_score": mean} if scores.get("answered") else {}


def _mean(scores: Sequence[float | None], verdicts: Sequence[Verdict]) -> Score:
    """Return the mean over the seeds with a score, or the reason why there is none."""
    if not verdicts:
        return Score(None, NOT_JUDGED)
    mean = mean_score(scores)
    if mean is not None:
        return Score(mean)
    failed = any(verdict.reason == ENDPOINT_FAILED and not verdict.replies for verdict in verdicts)
    return Score(None, JUDGE_FAILED if failed else JUDGE_UNPARSABLE)


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    if len(case.turns) != 1:
        raise ValueError(f"case {case.id} has {len(case.turns)} turns; score each with score_turn")
    return score_turn(case, 0, response, status=status)
