"""What a log holds of a case's scores, written and read; and the means of a task."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, metric
from inspect_ai.scorer import Score as HostScore

from long_context_tasks.hosts.window import UNCHECKED
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import CaseScores, LoadedTask, Score
from long_context_tasks.schema.response import Response, stored_form
from long_context_tasks.stats.means import mean_of_scores, task_numbers


def answers_record(
    task: LoadedTask, responses: Sequence[Response], hashes: Sequence[str] = (), window: str = UNCHECKED
) -> dict[str, Any]:
    """The answers to a case, and hashes of what was sent for them."""
    text, status = stored_form(responses, conversation=task.is_conversation)
    return {"response": text, "status": status, "prompt_sha256": list(hashes), "window": window}


def host_score(
    task: LoadedTask,
    answers: dict[str, Any],
    turns: Sequence[CaseScores],
    verdicts: Sequence[Sequence[Verdict]],
) -> HostScore:
    """A score whose value is for the host's pages, the mean over turns, and whose metadata hold everything."""
    rows = [
        {
            "scores": {name: turn[name].value for name in task.metrics},
            "reason": turn[task.metrics[0]].reason,
            "stds": {name: turn[name].std for name in task.metrics if turn[name].std},
        }
        for turn in turns
    ]
    judged = [[verdict.row() for verdict in turn] for turn in verdicts]
    means = {
        name: mean_of_scores([turn[name] for turn in turns], range(len(turns))).value for name in task.metrics
    }
    return HostScore(
        value={name: None if math.isnan(mean) else mean for name, mean in means.items()},
        answer=answers["response"],
        metadata={**answers, "verdicts": judged, "turns": rows},
    )


def turns_of(samples: Iterable[SampleScore]) -> tuple[list[CaseScores], list[str]]:
    """The scores of each turn of samples, headline first, and its cluster; reasons are those of the headline metric."""
    turns: list[CaseScores] = []
    clusters: list[str] = []
    for sample in samples:
        for row in (sample.score.metadata or {})["turns"]:
            scores, stds = row["scores"], row["stds"]
            turns.append({name: Score(scores[name], row["reason"], stds.get(name, 0.0)) for name in scores})
            clusters.append(str((sample.sample_metadata or {})["cluster"]))
    return turns, clusters


@metric(scores="unreduced")
def numbers(metrics: list[str], intervals: list[str], points: list[str]) -> Metric:
    """Means over turns, headline first, intervals and standard errors over clusters, and counts; without what is unknown or counts 0."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        turns, clusters = turns_of(scores)
        checked = all((sample.score.metadata or {})["window"] != UNCHECKED for sample in scores)
        found = task_numbers(turns, clusters, metrics, intervals, 0 if checked else math.nan, set(points))
        for name in intervals:
            found[f"{name}_stderr"] = mean_of_scores([turn[name] for turn in turns], clusters).se
        return {
            key: value
            for key, value in found.items()
            if not math.isnan(value) and (value or key == "n_truncated" or not key.startswith("n_"))
        }

    return compute
