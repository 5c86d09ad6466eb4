"""Runs as both hosts leave them, written without them: with the scores that a test wants."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_context_tasks.hosts.opencompass.rows import RowStore
from long_context_tasks.results import find_runs
from long_context_tasks.results.evaluations import judged_path, write_judged
from long_context_tasks.results.tidy import RUNS, SCORES, Collection
from long_context_tasks.schema import LoadedTask
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, REASONS, Response, stored_form
from long_context_tasks.stats.means import result_keys

TASK = "ada_leval_bestanswer_1k"
TIME = "20260101_100000"
CONVERSATION = "elitr_bench_conv_dev"
METRICS = ("strict_accuracy", "official_accuracy")
JUDGED_METRICS = ("judge_score", "official_judge_score", "answered")
MADE = "2026-01-01T10-00-00.000000"


@dataclass(frozen=True)
class Turn:
    """What a test wants of a turn: value of every metric, the headline's reason, the response and the judge's rows."""

    scores: Mapping[str, float | None]
    reason: str | None = None
    text: str = "A1"
    verdicts: tuple[Mapping[str, Any], ...] = ()


Cases = Mapping[str, Sequence[Turn]]


@dataclass(frozen=True)
class Run:
    """A run to write."""

    cases: Cases
    task: str = TASK
    model: str = "owl"
    made: str = MADE
    version: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    available: int | None = None
    gen_kwargs: Any = None
    seed: Any = 0
    model_args: Any = "pretrained=owl"
    points: Sequence[str] = ()
    task_labels: Mapping[str, tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]] = field(
        default_factory=dict
    )
    talk: bool | None = None
    judged: bool = False

    def __post_init__(self) -> None:
        if self.talk is None:
            object.__setattr__(self, "talk", "_conv_" in self.task or "_multiturn" in self.task)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Headline first."""
        return tuple(next(iter(self.cases.values()))[0].scores)

    def cluster(self, case: str) -> str:
        """As given, else the case's own."""
        return self.clusters.get(case, case)

    def labels(self, case: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
        """Return the labels of a case and its turns: given ones, or its length and word error rate."""
        noise = self.task.partition("_wer")[2]
        return self.task_labels.get(case) or ({"length": 1000, **({"wer": int(noise)} if noise else {})}, [])


def run_of(task: LoadedTask, cases: Cases, **more: Any) -> Run:
    """Return a run of a loaded task with the labels and clusters of its cases."""
    return Run(
        cases,
        task.name,
        version=task.version,
        options=task.description(),
        clusters={case.id: case.cluster for case in task.cases.cases},
        points=sorted(task.points),
        task_labels={
            case.id: (case.labels, [turn.labels for turn in case.turns]) for case in task.cases.cases
        },
        talk=task.is_conversation,
        judged=task.judging is not None,
        **more,
    )


def simple(values: Sequence[float | None], reason: str = "does_not_fit") -> Cases:
    """Cases ``c0``, ``c1`` ... of a plain task; None has a reason."""
    return {
        f"c{place}": [Turn(dict.fromkeys(METRICS, value), reason if value is None else None)]
        for place, value in enumerate(values)
    }


def write_lm_eval(root: Path, run: Run) -> Path:
    """Results and samples as lm-eval 0.4.13 writes them, into ``root/<model>``; gives the folder."""
    folder = root / run.model.replace("/", "__").replace("\n", " ")
    folder.mkdir(parents=True, exist_ok=True)
    keys = result_keys(run.metrics, run.metrics[:1])
    with (folder / f"samples_{run.task}_{run.made}.jsonl").open("w", encoding="utf-8") as file:
        for place, (case, turns) in enumerate(run.cases.items()):
            file.write(json.dumps(_sample(run, place, case, turns, keys), ensure_ascii=False) + "\n")
    turns = [turn for one in run.cases.values() for turn in one]
    metadata = {"version": run.version, **run.options, "benchmark": "b", "task": run.task}
    metadata |= {
        "headline": run.metrics[0],
        "points": list(run.points or [name for name in run.metrics if name.endswith("judge_score")]),
    } | {
        "n_cases_available": run.available or len(run.cases),
        "window": "8192 (host)",
    }
    content = {
        "model_name": run.model,
        "lm_eval_version": "0.4.13",
        "git_hash": "abc1234",
        "results": {run.task: {f"{key},none": value for key, value in _numbers(run, turns).items()}},
        "configs": {
            run.task: {
                "output_type": "generate_until",
                "metadata": {**metadata, **({"judge": dict(run.judge)} if run.judge else {})},
            }
        },
        "config": {
            "model": "hf",
            "model_args": run.model_args,
            "gen_kwargs": run.gen_kwargs,
            "random_seed": run.seed,
        },
        "n-samples": {run.task: {"effective": len(run.cases)}},
    }
    (folder / f"results_{run.made}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _numbers(run: Run, turns: Sequence[Turn]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for metric in run.metrics:
        values = [value for turn in turns if (value := turn.scores[metric]) is not None]
        numbers[metric] = math.fsum(values) / len(values) if values else math.nan
    scored = sum(turn.scores[run.metrics[0]] is not None for turn in turns)
    counts = {f"n_{reason}": sum(turn.reason == reason for turn in turns) for reason in REASONS}
    return {**numbers, "n": len(turns), "n_scored": scored, "n_truncated": 0, **counts}


def _sample(run: Run, place: int, case: str, turns: Sequence[Turn], keys: Sequence[str]) -> dict[str, Any]:
    rows = [_metrics(run, case, turn, keys) for turn in turns]
    failed = (DOES_NOT_FIT, ENDPOINT_FAILED)
    responses = [Response(turn.text, turn.reason if turn.reason in failed else None) for turn in turns]
    response: str = turns[0].text
    if run.talk or run.judge or run.judged:
        text, status = stored_form(responses, conversation=run.talk)
        record = {"response": text, "status": status, "prompt_sha256": []}
        response = json.dumps({**record, "verdicts": [list(turn.verdicts) for turn in turns]})
    return {
        "doc_id": place,
        "doc": {
            "case": case,
            "cluster": run.cluster(case),
            "labels": json.dumps(dict(run.labels(case)[0])),
            "turn_labels": json.dumps(list(map(dict, run.labels(case)[1]))),
        },
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": 'What? ", "resps": [["no"]]', "arg_1": {}}},
        "resps": [[response]],
        "filtered_resps": [response],
        "filter": "none",
        "metrics": list(keys),
        "doc_hash": "",
        "prompt_hash": "",
        "target_hash": "",
        **{key: [row[key] for row in rows] if run.talk else rows[0][key] for key in keys},
    }


def _metrics(run: Run, case: str, turn: Turn, keys: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(keys, 0)
    row |= {name: math.nan if value is None else value for name, value in turn.scores.items()}
    headline = run.metrics[0]
    row[f"{headline}_low"] = row[f"{headline}_high"] = row[headline]
    row |= {"n": 1, "n_scored": int(turn.scores[headline] is not None), "n_truncated": math.nan}
    return row | ({f"n_{turn.reason}": 1} if turn.reason else {})


def write_opencompass(root: Path, run: Run, repeats: Sequence[Cases] = ()) -> Path:
    """Predictions and results as OpenCompass 0.5.4 leaves them, into ``root/<made>``; gives that folder.

    Args:
        root: what ``-w`` names.
        run: the run; ``made`` is a time stamp of the host.
        repeats: the same cases, answered again.
    """
    given = {"version": run.version, **run.options}
    folder = root / run.made
    store = RowStore(str(folder / "predictions" / run.model), f"{run.task}.json", given=given)
    details: dict[str, dict[str, list[Any]]] = {}
    for cases in (run.cases, *repeats):
        for case, turns in cases.items():
            text, status = stored_form([Response(turn.text) for turn in turns], conversation=run.talk)
            store.add([{"case": case, "prediction": text, "lct_status": status, "lct_window": "unchecked"}])
            detail = details.setdefault(case, {})
            for key, value in _detail(run, case, turns).items():
                detail.setdefault(key, []).append(value)
    store.finish()
    turns = [turn for one in run.cases.values() for turn in one]
    numbers = _numbers(run, turns)
    points = list(run.points or [name for name in run.metrics if name.endswith("judge_score")])
    rates = {key for key in run.metrics if key not in points}
    result = {key: 100 * value if key in rates else value for key, value in numbers.items()}
    told = {
        "lct_task": run.task,
        "headline": run.metrics[0],
        "points": points,
        "judge": dict(run.judge),
        "options": given,
    }
    result |= {key: [value] for key, value in told.items()}  # type: ignore[misc]
    path = folder / "results" / run.model / f"{run.task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**result, "details": list(details.values())}, indent=4), encoding="utf-8")
    return folder


def _detail(run: Run, case: str, turns: Sequence[Turn]) -> dict[str, Any]:
    rows = [{**turn.scores, "reason": turn.reason or ""} for turn in turns]
    values = {key: [row[key] for row in rows] if run.talk else rows[0][key] for key in rows[0]}
    return {
        "case": case,
        "cluster": run.cluster(case),
        **values,
        "labels": dict(run.labels(case)[0]),
        "turn_labels": list(map(dict, run.labels(case)[1])),
        "verdicts": [[dict(one) for one in turn.verdicts] for turn in turns],
    }


def rows(
    collection: Collection,
) -> dict[tuple[str, int, int, str], tuple[float | None, float, str | None, str]]:
    """Case, turn, repeat and metric to value, std, reason and cluster."""
    assert dict(collection.scores.schema) == SCORES and dict(collection.runs.schema) == RUNS
    found = {
        (row["case"], row["turn"], row["repeat"], row["metric"]): (
            row["value"],
            row["std"],
            row["reason"],
            row["cluster"],
        )
        for row in collection.scores.iter_rows(named=True)
    }
    assert len(found) == len(collection.scores)
    return found


def judged_later(folder: Path, name: str, *, seed: int = 1, version: int = 1, feedback: str = "fine") -> None:
    """Write the rows of a later judge next to the runs under a folder: ten points for every turn."""
    for run in find_runs(folder).runs:
        description = {"name": name, "seeds": [seed]}
        told = [
            {
                **{"case": case.id, "turn": turn, "repeat": case.repeat, "cluster": "m", "status": None},
                "scores": {"judge_score": 10.0, "answered": 1.0},
                "reasons": {"answered": "empty"} if turn else {"judge_score": "refused"},
                "verdicts": [{"score": 10, "feedback": feedback}],
            }
            for case in run.cases()
            for turn in range(len(case.responses))
        ]
        counts = {"n": len(told), "n_scored": len(told)}
        numbers = {"judge": description, "numbers": counts, "headline": "judge_score"}
        more = {"version": version, "points": ["judge_score"], "package": "9.9", "by_seed": {}}
        write_judged(judged_path(run, name, description), {**numbers, **more}, told)


UNJUDGED: Cases = {
    "m1": [
        Turn({"judge_score": None, "answered": 1.0}, "not_judged"),
        Turn({"judge_score": None, "answered": 1.0}, "not_judged"),
    ]
}
