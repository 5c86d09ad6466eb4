"""Stored runs of ELITR-Bench with the scores that judges gave them, for ``lct report elitr`` and ``elitr-search``."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.archives import NAME
from long_context_tasks.benchmarks.elitr_bench.breakdown import ScoredTurn, mean_over_runs, scored_turns
from long_context_tasks.benchmarks.elitr_bench.search import SearchCell, cell_of, decoding_of, parse_settings
from long_context_tasks.runs import StoredRun, find_runs
from long_context_tasks.runs.judged import judge_label
from long_context_tasks.runs.stored import JUDGED_FOLDER
from long_context_tasks.runs.tasks import load_task
from long_context_tasks.schema import InputError, LoadedTask

NO_JUDGE = "(none)"
# These tell where and how a run was made, not what was asked.
_OF_THE_PLACE = ("lct_data_dir", "lct_judge", "lct_seed", "lct_window", "lct_tokenizer")
_DEFAULTS = {
    "lct_cut_keep": "front",
    "lct_length_policy": "same_information",
    "lct_prompt_style": "chat",
    "lct_question_markers": False,
    "lct_noise_mode": "exact",
}


@dataclass(frozen=True)
class Evaluation:
    """A run with what one judge said of it.

    Attributes:
        run: as the host left it.
        judge: its name.
        numbers: means, intervals and counts.
        rows: the judge's own rows beside the run; None: the scores are in the host's files.
        by_seed: numbers of each seed of the judge, where ``lct judge run`` was given several.
    """

    run: StoredRun
    judge: str
    numbers: Mapping[str, float]
    rows: Path | None = None
    by_seed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


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


def evaluations(runs: Iterable[StoredRun]) -> list[list[Evaluation]]:
    """What judges said of each run: the one that the host had, then those of ``lct judge run``.

    Where one name stands for several settings (other seeds, say), in any of the runs, its digits tell them apart in all.

    Raises:
        InputError: a damaged file of ``lct judge run``.
    """
    found = [_evaluations(run) for run in runs]
    labels = {one.judge for judged in found for one in judged}
    names = Counter(label.rpartition("-")[0] for label in labels)

    def shown(label: str) -> str:
        name = label.rpartition("-")[0]
        return label if names[name] > 1 else name

    return [[replace(one, judge=shown(one.judge)) for one in judged] for judged in found]


def _evaluations(run: StoredRun) -> list[Evaluation]:
    place = run.folder / JUDGED_FOLDER
    later, told = [], []
    # The label of a run may hold a folder.
    for path in sorted(place.glob(f"*/{run.label}.json")):
        row = _read_judged(path)
        told.append({key: value for key, value in row["judge"].items() if key != "rubric"})
        by_seed = {seed: _numbers(numbers) for seed, numbers in (row.get("by_seed") or {}).items()}
        judge = path.relative_to(place).parts[0]
        later.append(Evaluation(run, judge, _numbers(row["numbers"]), path.with_suffix(".jsonl"), by_seed))
    own = {key: value for key, value in run.judge.items() if key != "rubric"}
    if own and own not in told:
        label = judge_label(str(own.get("name", "judge")), run.judge)
        return [Evaluation(run, label, run.numbers), *later]
    return later


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    return {key: math.nan if value is None else float(value) for key, value in row.items()}


def _read_judged(path: Path) -> dict[str, Any]:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(row["judge"], dict) or not isinstance(row["numbers"], dict):
            raise ValueError("no judge or no numbers in it")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); make it again with `lct judge run`") from error
    return dict(row)


def setting_of_run(evaluation: Evaluation) -> Setting:
    """What the run shares with others of the same setting."""
    run = evaluation.run
    options = {
        key: value
        for key, value in run.options.items()
        if key not in _OF_THE_PLACE and value != _DEFAULTS.get(key)
    }
    settings = parse_settings(run.provenance.get("gen_kwargs"))
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
    if evaluation.rows is None:
        for case in evaluation.run.cases():
            for turn, value in enumerate(case.scores.get(metric, (None,) * len(case.responses))):
                yield case.repeat, case.id, turn, value
        return
    place = 0
    try:
        with evaluation.rows.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                place = number
                row = json.loads(line)
                value = row["scores"].get(metric)
                yield (
                    int(row["repeat"]),
                    str(row["case"]),
                    int(row["turn"]),
                    None if value is None else float(value),
                )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{evaluation.rows}, line {place}: cannot be read ({error}); make it again with `lct judge run`"
        ) from error


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
        key = repr((run.task, sorted(run.options.items())))
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
    style = str(run.options.get("lct_prompt_style") or _DEFAULTS["lct_prompt_style"])
    markers = str(run.options.get("lct_question_markers")).lower() == "true"
    cell: SearchCell | None = cell_of(run.model)
    if cell is not None:
        model = run.model.removesuffix(f"_{cell.name}")
        return Tried(evaluation, model, cell.decoding, style, markers, cell.penalty)
    if "gen_kwargs" not in run.provenance:
        return None
    decoding, penalty = decoding_of(parse_settings(run.provenance["gen_kwargs"]))
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


def unjudged_evaluation(run: StoredRun) -> Evaluation:
    """A run that nobody has judged, with what the host counted."""
    return Evaluation(run, NO_JUDGE, run.numbers)
