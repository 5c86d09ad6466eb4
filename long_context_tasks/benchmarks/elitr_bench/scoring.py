"""Scores from responses and a judge's verdicts: what a judge is asked, and how its replies are read.

Scores lie on the scale of the paper, 1 to 10 (0 to 10 in Czech, where 0 says that the response is not in Czech); those of
Prometheus, 1 to 5, are doubled. The turn is the unit of scoring; a mean is the plain mean over all questions of a split.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.elitr_bench import answers as answer_found
from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.judges import (
    JudgeRequest,
    Rubric,
    Verdict,
    last_boxed,
    last_result,
    mean_score,
    official_boxed,
    official_result,
)
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
SYNTHETIC_METRICS = (answer_found.METRIC, *METRICS)
"""Of synthetic cases, whose answers have a score without a judge too."""
_END = "</s>"


def stored_officially(decoded: str, script: str, context: str = "") -> str:
    r"""Return the response that an official script stores.

    ``rstrip("</s>")`` was meant to remove an end token; it removes any of the characters < / s > from the end.

    Args:
        decoded: the tokenizer's text: prompt and response for llama2 and prometheus, else the response alone.
        script: gpt, llama3.1, phi3, llama2 or prometheus.
        context: the prompt string, for llama2 and prometheus; what lies between its first and second occurrence counts;
            everything without one.

    >>> stored_officially("yes</s>", "phi3"), stored_officially("[INST] Q? [/INST] slides</s>", "llama2", "[INST] Q? [/INST]")
    ('ye', 'slide')

    Raises:
        IndexError: the prompt is not in the text, as in the official code.
    """
    if script == "gpt":
        return decoded
    if script in ("llama3.1", "phi3"):
        return decoded.rstrip(_END)
    text = decoded.split(context)[1] if context else decoded
    return (text if script == "prometheus" else text.rstrip(_END)).strip()


def as_stored(response: str, style: str) -> str:
    """Return what the official script of a prompt style stores of a response: the loss of the last letter included.

    >>> as_stored(" two slides ", "chat"), as_stored(" two slides", "vicuna_v1.1"), as_stored("yes", "gpt")
    (' two slides ', 'two slide', 'yes')
    """
    return stored_officially(response, {"gpt": "gpt", "chat": "phi3"}.get(style, "llama2"))


@dataclass(frozen=True)
class _Kind:
    """A judge prompt of the paper: its scale, and how its replies are read."""

    high: int
    factor: int
    parser: Callable[[float, float], Callable[[str], float | None]]
    official: Callable[[str], str]


_KINDS: Mapping[str, _Kind] = {
    "gpt": _Kind(10, 1, last_boxed, official_boxed),
    "prometheus": _Kind(5, 2, last_result, official_result),
}


def _kind(name: str) -> _Kind:
    if name not in _KINDS:
        raise InputError(
            f"rubric {name!r}: ELITR-Bench has {' and '.join(_KINDS)}; correct it in the judge file"
        )
    return _KINDS[name]


def rubric(name: str = "gpt", language: str = "english") -> Rubric:
    """Return the rubric that goes with a judge prompt: its scale, and the parser that takes a reply's last score.

    >>> rubric().score(r"It quotes \\\\boxed{10}. Score: \\\\boxed{3}"), rubric("prometheus", "czech").low
    (3.0, 0)

    Args:
        name: gpt: 10 points, ``\\boxed{}``; prometheus: 5 points, ``[RESULT]``.
        language: english or czech, whose rubrics have a score 0.

    Raises:
        InputError: no such rubric.
    """
    kind = _kind(name)
    low = 0 if language == "czech" else 1
    label = name if language == "english" else f"{name}_{language}"
    return Rubric(f"elitr_bench_{label}", low, kind.high, kind.parser(low, kind.high))


def official_score(reply: str, name: str = "gpt") -> float | None:
    """Return the first score of a reply by the official rule, on the 10-point scale, whatever its size; None without one.

    >>> official_score(r"\\\\boxed{95} and \\\\boxed{7}"), official_score("[RESULT] 4.5", "prometheus")
    (95.0, 8.0)
    """
    stored = _kind(name).official(reply)
    # More digits than a float holds are no score.
    return float(stored) if not stored.startswith("-") and len(stored) < 300 else None


def judge_request(
    case: Case, turn: int, response: str, name: str = "gpt", *, official: bool = False
) -> JudgeRequest:
    """Return the request that asks a judge about a response.

    Thinking is left out. An empty response is asked about too: the official metric wants its score. With ``official`` the judge sees
    what the official script of the case's prompt style would have stored, its lost last letters included.
    """
    text = without_thinking(response).text
    if official:
        text = as_stored(text, case.inputs["style"])
    question_id = case.turns[turn].labels["question_id"]
    return JudgeRequest(
        id=f"{case.cluster}_{question_id}",
        messages=tuple(prompts.judge_messages(case, turn, text, name)),
        meta={"case": case.id, "turn": turn},
    )


def judge_requests(
    case: Case, responses: Sequence[str | None], name: str = "gpt", *, official: bool = False
) -> list[JudgeRequest]:
    """Return requests for all turns that have a response (None: there is none through a failure of ours).

    Raises:
        InputError: no such rubric.
    """
    _kind(name)
    return [
        judge_request(case, turn, response, name, official=official)
        for turn, response in enumerate(responses)
        if response is not None
    ]


def score_turn(
    case: Case,
    turn: int,
    response: str | None,
    verdicts: Sequence[Verdict] = (),
    name: str = "gpt",
    status: str | None = None,
) -> CaseScores:
    """Score one turn.

    Args:
        case: see :mod:`.data`.
        turn: which of its turns.
        response: of the model; None without a status counts as empty.
        verdicts: of the judge, one for each of its seeds, whose mean counts; none before judging.
        name: of the rubric.
        status: a failure of ours in generation (``does_not_fit``, ``endpoint_failed``): no metric gets a value.

    Returns:
        Every metric of :data:`METRICS`, and that of :mod:`.answers` where the possible answers are known. In ``judge_score`` an
        empty response has the lowest score that the judge can give, whatever it said, once it was asked;
        ``official_judge_score`` takes the first reply to each seed by the official rule.
    """
    known = answer_found.INPUT in case.inputs
    if status is not None:
        return dict.fromkeys(SYNTHETIC_METRICS if known else METRICS, Score(None, status))
    case.turns[turn]  # a turn that the case does not have is a mistake of the caller
    kind = _kind(name)
    answer = without_thinking(response or "")
    empty = (ANSWER_CUT if answer.unclosed else EMPTY) if not answer.text.strip() else None
    given = [None if verdict.score is None else verdict.score * kind.factor for verdict in verdicts]
    firsts = [official_score(verdict.replies[0], name) if verdict.replies else None for verdict in verdicts]
    strict = _mean(given, verdicts)
    if empty is not None and verdicts:
        strict = Score(float(rubric(name, case.inputs["language"]).low * kind.factor), empty)
    scores = {
        "judge_score": strict,
        "official_judge_score": _mean(firsts, verdicts),
        "answered": Score(float(empty is None), empty),
    }
    if known:
        found = answer_found.is_found(answer.text, case.inputs[answer_found.INPUT][turn])
        scores[answer_found.METRIC] = Score(float(found), empty)
    return scores


def rating(
    scores: Mapping[str, float | None], verdicts: Sequence[float | None], name: str | None = None
) -> dict[str, float | None]:
    """Return the `judge_score` that the scores of verdicts make; nothing for an empty response, whatever they say."""
    factor = _kind(name or "gpt").factor
    mean = mean_score([None if score is None else score * factor for score in verdicts])
    return {"judge_score": mean} if scores.get("answered") else {}


def _mean(scores: Sequence[float | None], verdicts: Sequence[Verdict]) -> Score:
    """Return the mean over the seeds that gave a score; without any, the reason."""
    if not verdicts:
        return Score(None, NOT_JUDGED)
    mean = mean_score(scores)
    if mean is not None:
        return Score(mean)
    failed = any(verdict.reason == ENDPOINT_FAILED and not verdict.replies for verdict in verdicts)
    return Score(None, JUDGE_FAILED if failed else JUDGE_UNPARSABLE)


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a case with one turn before it is judged.

    Raises:
        ValueError: the case is a conversation, whose turns are scored one by one.
    """
    if len(case.turns) != 1:
        raise ValueError(f"case {case.id} has {len(case.turns)} turns; score each with score_turn")
    return score_turn(case, 0, response, status=status)
