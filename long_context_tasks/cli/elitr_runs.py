"""Stored runs of ELITR-Bench with the scores that judges gave them, for ``lct report elitr`` and ``elitr-search``."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.archives import NAME
from long_context_tasks.benchmarks.elitr_bench.breakdown import ScoredTurn, mean_over_runs, scored_turns
from long_context_tasks.benchmarks.elitr_bench.search import SearchCell, cell_of, decoding_of
from long_context_tasks.runs import StoredRun, find_runs
from long_context_tasks.runs.evaluations import (
    NO_JUDGE,
    Evaluation,
    evaluations,
    turn_scores,
    unjudged_evaluation,
)
from long_context_tasks.runs.settings import DEFAULTS, generation_arguments, telling_options
from long_context_tasks.runs.tasks import load_task
from long_context_tasks.schema import InputError, LoadedTask

__all__ = ["NO_JUDGE", "Evaluation", "evaluations", "unjudged_evaluation"]


@dataclass(frozen=True)
class Setting:
    """What runs must share to count as seeds of one another.

    Attributes:
        host, model, task, judge: as in the run.
        how: options and arguments of generation that are not the default ones, in words; empty when there are none.
    """

    host: str
    model: str
    task: str
    judge: str
    how: str

    def row(self) -> list[str]:
        """Cells of a table."""
        return [self.host, self.model, self.task, self.judge, self.how]


def elitr_runs(paths: Sequence[Path]) -> tuple[list[StoredRun], list[str]]:
    """The runs of ELITR-Bench under some folders, and what is wrong with others.

    Raises:
        InputError: no such folder, or no run in any of them.
    """
    runs: dict[tuple[Path, str], StoredRun] = {}
    problems = []
    for path in paths:
        found = find_runs(path)
        runs |= {(run.folder, run.label): run for run in found.runs if run.task.startswith(f"{NAME}_")}
        problems += [problem.message for problem in found.problems]
    if not runs:
        shown = ", ".join(map(str, paths))
        raise InputError(
            f"{shown}: no runs of {NAME}{': ' + problems[0] if problems else ''}; give the folder that lm-eval's --output_path "
            "(with --log_samples) or OpenCompass's -w names"
        )
    return list(runs.values()), problems


def setting_of_run(evaluation: Evaluation) -> Setting:
    """What the run shares with others of the same setting."""
    run = evaluation.run
    options, settings = telling_options(run), generation_arguments(run)
    words = [f"{key.removeprefix('lct_')}={value}" for key, value in sorted(options.items())]
    words += [f"{key}={value}" for key, value in sorted(settings.items())]
    return Setting(run.host, run.model, run.task, evaluation.judge, " ".join(words))


def turns_of(evaluation: Evaluation, task: LoadedTask, metric: str) -> list[list[ScoredTurn]]:
    """The scores of an evaluation with their labels, one list for each repeat of the cases.

    Raises:
        InputError: damaged files, or scores of cases that the task does not have.
    """
    repeats: dict[int, list[tuple[str, int, float | None]]] = {}
    for repeat, case, turn, value in _values(evaluation, metric):
        repeats.setdefault(repeat, []).append((case, turn, value))
    try:
        return [scored_turns(task.by_id, values) for _, values in sorted(repeats.items())]
    except (KeyError, IndexError) as error:
        raise InputError(
            f"{evaluation.run}: has scores of cases or turns that the task does not have ({error}); it was made with other data, "
            "give their folder (--data-dir)"
        ) from error


def _values(evaluation: Evaluation, metric: str) -> Iterator[tuple[int, str, int, float | None]]:
    for turn in turn_scores(evaluation):
        yield turn.repeat, turn.case, turn.turn, turn.scores.get(metric)


@dataclass(frozen=True)
class Measured:
    """All runs of a setting.

    Attributes:
        setting: which.
        runs: the scores of each run.
        made: when each was made.
        seeds: which seeds the host was given, where it tells.
        by_judge_seed: mean with each seed of the judge; of a single run that was judged with several.
    """

    setting: Setting
    runs: tuple[tuple[ScoredTurn, ...], ...]
    made: tuple[str, ...]
    seeds: tuple[str, ...]
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    @property
    def turns(self) -> list[ScoredTurn]:
        """One score for each question, the mean over the runs."""
        return mean_over_runs(self.runs)


def measure(
    runs: Iterable[StoredRun], data_dir: Path | None, metric: str
) -> tuple[list[Measured], list[StoredRun]]:
    """Scores of all judged runs that have the metric, those of one setting together, and the runs that nobody has judged.

    Raises:
        InputError: damaged files, or data that are not there.
    """
    tasks: dict[str, LoadedTask] = {}
    found: dict[Setting, list[tuple[str, str, list[ScoredTurn]]]] = {}
    by_seed: dict[Setting, Mapping[str, float]] = {}
    unjudged = []
    runs = list(runs)
    for run, judged in zip(runs, evaluations(runs), strict=True):
        if not judged:
            unjudged.append(run)
            continue
        key = run.task_key
        task = tasks.setdefault(key, tasks.get(key) or load_task(run, data_dir))
        seed = run.provenance.get("random_seed")
        for one in judged:
            if not any(name.split(" (")[0] == metric for name in one.numbers):
                continue  # of another kind of judge
            by_seed[setting_of_run(one)] = {
                name: row[metric] for name, row in one.by_seed.items() if metric in row
            }
            for turns in turns_of(one, task, metric):
                found.setdefault(setting_of_run(one), []).append(
                    (run.made, "" if seed is None else str(seed), turns)
                )
    measured = [
        Measured(
            setting,
            tuple(tuple(turns) for *_, turns in parts),
            tuple(made for made, *_ in parts),
            tuple(seed for _, seed, _ in parts),
            by_seed[setting] if len(parts) == 1 else {},
        )
        for setting, parts in found.items()
    ]
    return sorted(measured, key=_place), unjudged


def _place(one: Measured) -> tuple[str, str, list[tuple[int, str]]]:
    """Where a setting stands: by host and model, then by the task, with _wer20 in front of _wer100."""
    words = re.findall(r"\d+|\D+", one.setting.task)
    return one.setting.host, one.setting.model, [(int(word) if word.isdigit() else 0, word) for word in words]


@dataclass(frozen=True)
class Tried:
    """A cell of the configuration search with its result.

    Attributes:
        evaluation: the run and its scores.
        model: without the cell in its name.
        decoding, style, markers, penalty: of the cell.
    """

    evaluation: Evaluation
    model: str
    decoding: str
    style: str
    markers: bool
    penalty: float


def tried(evaluation: Evaluation) -> Tried | None:
    """The cell that a run belongs to; None when nothing tells its decoding.

    lm-eval writes the arguments of generation down; of OpenCompass the search names the model so.
    """
    run = evaluation.run
    style = str(run.options.get("lct_prompt_style") or DEFAULTS["lct_prompt_style"])
    markers = str(run.options.get("lct_question_markers")).lower() == "true"
    cell: SearchCell | None = cell_of(run.model)
    if cell is not None:
        model = run.model.removesuffix(f"_{cell.name}")
        return Tried(evaluation, model, cell.decoding, style, markers, cell.penalty)
    if "gen_kwargs" not in run.provenance:
        return None
    decoding, penalty = decoding_of(generation_arguments(run))
    return Tried(evaluation, run.model, decoding, style, markers, penalty)


def newest(cells: Iterable[Tried]) -> list[Tried]:
    """Of several runs of one cell with one judge, the last one made."""
    found: dict[tuple[Any, ...], Tried] = {}
    for cell in cells:
        run = cell.evaluation.run
        who = (run.host, cell.model, run.task, cell.evaluation.judge)
        key = (*who, cell.decoding, cell.style, cell.markers, cell.penalty)
        if key not in found or found[key].evaluation.run.made <= run.made:
            found[key] = cell
    return list(found.values())
