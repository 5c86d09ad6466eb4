"""The published responses with their scores by people and machines, as rated answers: for ``lct orca study``."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from long_context_tasks.benchmarks.elitr_bench.archives import NAME, Archives
from long_context_tasks.schema import InputError, Options

FILE = "qa_test2_st_all-eval"
"""The one published file with scores by people."""
RATERS = ("gold", "silver")
_SCALES = {"prometheus": (2.0, 10.0)}
"""Prometheus' 1 to 5 are doubled in the file."""
_SCALE = (1.0, 10.0)


def rated_answers(options: Options, raters: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the published responses as rows of rated answers.

    Args:
        options: whose data folder is read.
        raters: people whose scores are the ratings: ``gold`` (an expert), ``silver`` (the mean of ten crowd workers); all without any.

    Raises:
        InputError: an unknown rater, the file is missing, or a score is no number.
    """
    if unknown := [name for name in raters if name not in RATERS]:
        raise InputError(f"--raters {', '.join(unknown)}: raters of {NAME} are {', '.join(RATERS)}")
    for response in Archives.of(options).responses(FILE):
        question = f"{response.meeting}/{response.question.id}"
        name = f"{NAME}/{question}/{response.model}"
        scores = {rater: response.scores.get(f"{rater}-human") for rater in raters or RATERS}
        yield {
            "id": name,
            "question": response.question.text,
            "reference": response.question.answer,
            "candidate": response.text,
            "rationale": None,
            "ratings": [_number(score, f"{name}: {rater}") for rater, score in scores.items()],
            "scale": list(map(int, _SCALE)),
            "source": f"{NAME}/{response.question.type}",
            "question_id": question,
            "candidate_model": response.model,
        }


class MachineScores(NamedTuple):
    """Scores of a machine judge in the order of :func:`rated_answers`; None where there is none."""

    judge: str
    scores: tuple[float | None, ...]
    scale: tuple[float, float]


def machine_scores(options: Options) -> list[MachineScores]:
    """Return the published scores of each machine judge.

    Raises:
        InputError: the file is missing, or a score is no number.
    """
    found = Archives.of(options).responses(FILE)
    names = dict.fromkeys(name for each in found for name in each.scores)
    return [
        MachineScores(
            name,
            tuple(
                None if (score := each.scores.get(name)) is None else _number(score, f"{FILE}: {name}")
                for each in found
            ),
            _SCALES.get(name, _SCALE),
        )
        for name in names
        if name not in {f"{rater}-human" for rater in RATERS}
    ]


def _number(score: str | None, place: str) -> float:
    try:
        return float(score)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: the score is missing or no number; fetch the data again") from error
