"""Evaluations of stored runs: the scores of the host, of later judges (``lct judge run``), and of ``lct runs rescore``.

Scores of ``lct runs rescore`` replace the scores that they were made from, as long as those have not changed since.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import (
    JUDGED_FOLDER,
    RESCORED_FOLDER,
    StoredCase,
    StoredRun,
    labels_of,
    number_of,
    value_of,
    word_of,
)
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import (
    content_of,
    json_value,
    loads,
    make_folder,
    write_json,
    write_whole,
)

NO_JUDGE = "(none)"
BEFORE = "before"
"""Key in a file of ``lct runs rescore`` with the scores that it was made from."""
_NO_JUDGE_FOLDER = "no_judge"  # cannot clash with a judge's folder, because those end in digits
# Turns and repeats are stored as 16-bit integers.
_MOST = 2**15
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)


def judged_path(run: StoredRun, name: str, description: Mapping[str, Any]) -> Path:
    return run.folder / JUDGED_FOLDER / judge_label(name, description) / f"{run.label}.json"


def rescored_path(run: StoredRun, label: str) -> Path:
    """Return the path of the numbers written by ``lct runs rescore``; ``label`` names the judge whose verdicts are reused."""
    # The label may come from somebody else's file, and must not lead out of the folder.
    folder = _NO_JUDGE_FOLDER if label == NO_JUDGE else re.sub(r"[^\w.-]", "_", label)
    return run.folder / RESCORED_FOLDER / folder / f"{run.label}.json"


def judge_label(name: str, description: Mapping[str, Any]) -> str:
    """Return the name of a judge followed by eight digits of a hash of its settings."""
    # Sorted and ASCII, so that the digits do not depend on the order or encoding of a file.
    text = json.dumps(description, sort_keys=True, ensure_ascii=True)
    return f"{name}-{hashlib.sha256(text.encode('ascii')).hexdigest()[:8]}"


def write_judged(path: Path, numbers: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows, then numbers, each file atomically."""
    remedy = "copy the run to a folder of your own; the judge's replies are kept"
    make_folder(path.parent, remedy=remedy)
    # Rows come first: a file of numbers means that the rows are complete.
    lines = (json.dumps(json_value(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_whole(path.with_suffix(".jsonl"), lines, remedy=remedy)
    write_json(path, {"format": 1, **numbers}, remedy=remedy)


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run by one judge, or those that need no judge."""

    run: StoredRun  # the run as the host left it
    judge: str  # label of the judge, or NO_JUDGE
    numbers: Mapping[str, float]  # means, intervals and counts
    rows: Path | None = None  # file with the judge's own rows; None if the scores are in the host's files
    # Numbers of each seed of the judge, if lct judge run was given several.
    by_seed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Everything that can change the judge's verdicts; empty without a judge.
    description: Mapping[str, Any] = field(default_factory=dict)
    # Further fields in the file of lct judge run or lct runs rescore: version, headline, points, package ...;
    # empty for the host's own scores.
    stated: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> int:
        version: int = self.stated.get("version", self.run.version)
        return version

    @property
    def headline(self) -> str | None:
        headline: str | None = self.stated.get("headline") or self.run.headline
        return headline

    @property
    def rescored(self) -> bool:
        return BEFORE in self.stated

    @property
    def command(self) -> str:
        """The command that writes the rows."""
        return "lct runs rescore" if self.rescored else "lct judge run"

    def state(self) -> dict[str, Any]:
        """Return values that change whenever the run is evaluated or judged again, fit for JSON."""
        return dict(
            json_value(
                {"version": self.version, "judged": self.stated.get("judged"), "numbers": dict(self.numbers)}
            )
        )


@dataclass(slots=True)  # millions are made, and checking that none changes takes half of the time
class TurnScores:
    # case, turn, repeat: which turn; turns and repeats are counted from 0
    case: str
    turn: int
    repeat: int
    scores: Mapping[str, float | None]  # value of each metric; None if not scored
    reason: str | None = None  # why the headline is missing or lowest
    # For each metric, standard deviation of people's scores around its value, if that is not 0.
    stds: Mapping[str, float] = field(default_factory=dict)
    cluster: str | None = None  # cluster of the case; None if the files do not record it
    verdicts: tuple[Mapping[str, Any], ...] = ()  # the judge's verdicts as rows

    @property
    def place(self) -> tuple[str, int, int]:
        return self.case, self.turn, self.repeat


ScoredCase = tuple[StoredCase, list[TurnScores]]
"""A case with the scores of its turns."""


def short_names(labels: Iterable[str]) -> dict[str, str]:
    """Map labels of judges (name and digits) to names; names shared by several settings keep their digits.

    >>> short_names(["a-11111111", "b-22222222", "b-33333333", NO_JUDGE])
    {'a-11111111': 'a', 'b-22222222': 'b-22222222', 'b-33333333': 'b-33333333', '(none)': '(none)'}
    """
    labels = list(dict.fromkeys(labels))
    names = Counter(label.rpartition("-")[0] for label in labels)
    shown = {label: label.rpartition("-")[0] or label for label in labels}
    return {label: label if names[label.rpartition("-")[0]] > 1 else name for label, name in shown.items()}


def judged_evaluations(run: StoredRun) -> tuple[list[Evaluation], list[str]]:
    """Return the newest scores of each judge of a run, and messages about files that cannot be read."""
    found, damaged = original_evaluations(run)
    evaluations = []
    # The unjudged evaluation is looked at only to report a damaged file of its rescoring.
    for evaluation in (*found, Evaluation(run, NO_JUDGE, run.numbers)):
        newer = None
        try:
            newer = _rescored(evaluation)
        except InputError as error:
            damaged.append(str(error))
        if evaluation.judge != NO_JUDGE:
            evaluations.append(newer or evaluation)
    return evaluations, damaged


def original_evaluations(run: StoredRun) -> tuple[list[Evaluation], list[str]]:
    """Return the judges' scores without those of ``lct runs rescore``, and messages about files that cannot be read."""
    place = run.folder / JUDGED_FOLDER
    later, damaged = [], []
    # The label of a run may contain a folder.
    for path in sorted(place.glob(f"*/{run.label}.json")):
        try:
            for file in (path, path.with_suffix(".jsonl")):
                if file.exists() and not file.is_file():
                    raise InputError(
                        f"{file}: not a regular file; remove it, or make it again with `lct judge run`"
                    )
            later.append(_read_judged(run, path, path.relative_to(place).parts[0], "lct judge run"))
        except InputError as error:
            damaged.append(str(error))
    # A later judge with the same settings replaces the host's.
    if run.judge and run.judge not in [evaluation.description for evaluation in later]:
        label = judge_label(str(run.judge.get("name", "judge")), run.judge)
        later.insert(0, Evaluation(run, label, run.numbers, description=run.judge))
    return later, damaged


def unjudged_evaluation(run: StoredRun, *, original: bool = False) -> Evaluation:
    """Return the scores that need no judge; if ``original``, the host's, even if ``lct runs rescore`` made newer ones."""
    evaluation = Evaluation(run, NO_JUDGE, run.numbers)
    if original:
        return evaluation
    try:
        return _rescored(evaluation) or evaluation
    except InputError:
        return evaluation  # judged_evaluations reports the damaged file


def _rescored(evaluation: Evaluation) -> Evaluation | None:
    path = rescored_path(evaluation.run, evaluation.judge)
    if not path.is_file():
        return None
    newer = _read_judged(evaluation.run, path, evaluation.judge, "lct runs rescore")
    same_judge = newer.description == evaluation.description
    return newer if same_judge and newer.stated.get(BEFORE) == evaluation.state() else None


def needs_no_judge(run: StoredRun) -> bool:
    """Return whether the numbers of a run show that no answer waits for a judge."""
    waiting = run.numbers.get("n_not_judged", 0)
    # Without a judge, the cases of a judged task count as not judged. If its points are the headline, only empty answers have a score.
    if catalogue.parse_task(run.task).judged and run.headline in (run.points or ()):
        waiting += run.numbers.get("n_empty", 0)
    return bool(not run.judge and run.numbers.get("n", 0) and not waiting)


def scores_of_case(case: StoredCase, judge: Mapping[str, Any]) -> Iterator[TurnScores]:
    for turn in range(len(case.responses)):
        verdicts = case.verdicts[turn] if case.verdicts else ()
        scores = {name: values[turn] for name, values in case.scores.items()}
        yield TurnScores(
            case=case.id,
            turn=turn,
            repeat=case.repeat,
            scores=scores,
            reason=case.reasons[turn] if case.reasons else None,
            stds=_stds(scores, verdicts, judge),
            cluster=case.cluster,
            verdicts=verdicts,
        )


def scored_cases(evaluation: Evaluation, cases: Iterable[StoredCase] | None = None) -> Iterator[ScoredCase]:
    """Yield the cases of a run with the scores of their turns, in the order of the files.

    A case that the host has not scored has no metrics, and neither has a turn that is missing in a later judge's rows.
    """
    cases = evaluation.run.cases() if cases is None else cases
    if evaluation.rows is None:
        yield from ((case, list(scores_of_case(case, evaluation.description))) for case in cases)
        return
    rows = {turn.place: turn for turn in _judged_rows(evaluation)}
    for case in cases:
        places = [(case.id, turn, case.repeat) for turn in range(len(case.responses))]
        yield case, [rows.pop(place, TurnScores(*place, {})) for place in places]
    if rows:
        raise InputError(
            f"{evaluation.rows}: has scores of case {next(iter(rows))[0][:80]!r}, which is not in the run; make it again with "
            f"`{evaluation.command}`"
        )


def _judged_rows(evaluation: Evaluation) -> Iterator[TurnScores]:
    path = evaluation.rows
    assert path is not None  # the caller has checked
    # The number outlives the loop, so that an error can name its line.
    number, headline = 0, evaluation.headline
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007
                row = loads(line)
                scores = {name: value_of(value) for name, value in row["scores"].items()}
                verdicts = tuple(map(labels_of, row["verdicts"]))
                yield TurnScores(
                    case=str(row["case"]),
                    turn=_count(row["turn"]),
                    repeat=_count(row["repeat"]),
                    scores=scores,
                    reason=_text_or_none(row["reasons"].get(headline or next(iter(scores), ""))),
                    stds=_stds(scores, verdicts, evaluation.description),
                    cluster=_text_or_none(row["cluster"]),
                    verdicts=verdicts,
                )
    except _UNREADABLE as error:
        raise InputError(
            f"{path}, line {number}: cannot be read ({error}); make it again with `{evaluation.command}`"
        ) from error


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(f"{value!r} is not a number of a turn")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _stds(
    scores: Mapping[str, float | None], verdicts: Sequence[Mapping[str, Any]], judge: Mapping[str, Any]
) -> Mapping[str, float]:
    """Return a trained judge's predicted standard deviations if a turn has a single verdict; answers it did not see have none."""
    if len(verdicts) != 1 or (stored := stored_kind(judge)) is None:
        return {}
    stds = stored.stds(str(verdicts[0].get("feedback")))
    return {metric: std for metric, std in stds.items() if scores.get(metric) is not None}


def _read_judged(run: StoredRun, path: Path, label: str, command: str) -> Evaluation:
    try:
        row = loads(content_of(path))
        if not isinstance(row["judge"], dict):
            raise ValueError("no judge in it")
        word_of(row["headline"])
        row["points"] = [str(name) for name in row["points"]]
        return Evaluation(
            run=run,
            judge=label,
            numbers={name: number_of(value) for name, value in row["numbers"].items()},
            rows=path.with_suffix(".jsonl"),
            by_seed={
                seed: {name: number_of(value) for name, value in numbers.items()}
                for seed, numbers in row["by_seed"].items()
            },
            description=row["judge"],
            stated={key: value for key, value in row.items() if key not in ("numbers", "by_seed", "judge")},
        )
    except _UNREADABLE as error:
        raise InputError(f"{path}: cannot be read ({error}); make it again with `{command}`") from error
