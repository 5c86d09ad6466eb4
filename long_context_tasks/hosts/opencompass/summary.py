"""The end of a run of OpenCompass: a table by length, and an exit status that shows failures.

The host only logs a failed task and exits 0; its table shows ``-``. Here every expected result that is missing is named
with its log file, cells that do not rest on all cases are marked, and the command ends with status 1 when one is missing,
when ``-r`` has found a result of other options, or when LCT_TASKS names a task that was not run.
"""

import csv
import io
import math
import re
import shlex
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mmengine.config import ConfigDict
from opencompass.summarizers import DefaultSummarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.opencompass.configs import not_run
from long_context_tasks.hosts.opencompass.rows import GIVEN, difference, given_of
from long_context_tasks.judges import load_judge
from long_context_tasks.schema import InputError, format_length, parse_length
from long_context_tasks.schema.response import JUDGE_FAILED, NOT_JUDGED, UNSCORED

_NAME = re.compile(r"(?P<family>.+?)_(?P<length>\d+[km]?|any)(?:_(?P<variant>.+))?", re.ASCII)
_GUESS = "random guess"
_MISSING = "missing"
_OTHER_OPTIONS = "other options"
# Of tasks that are not ours, as in the host.
_HEADLINES = ("score", "accuracy")


@dataclass(frozen=True)
class Place:
    """Where a task stands in the table."""

    row: str
    length: str

    @property
    def tokens(self) -> float:
        """Length in tokens, for sorting; endless when the name has none."""
        try:
            return parse_length(self.length)
        except InputError:
            return math.inf


def place_of(task: str, length: str | None = None) -> Place:
    """Row and column of a task by its name, and by the length that it was given as an option.

    >>> place_of("toy_sort_2k_synthetic")
    Place(row='toy_sort (synthetic)', length='2k')
    >>> place_of("toy_recall_synthetic", "8k")
    Place(row='toy_recall_synthetic', length='8k')
    """
    match = _NAME.fullmatch(task)
    if match is None:
        return Place(task, length or "-")
    variant = f" ({match['variant']})" if match["variant"] else ""
    return Place(
        match["family"] + variant, str(length) if match["length"] == "any" and length else match["length"]
    )


def number(result: Mapping[str, Any], key: str) -> float:
    """Return a number of a result, also under its name after several runs; nan when absent."""
    for name, value in result.items():
        if name == key or re.fullmatch(rf"{re.escape(key)} \(\d+ runs average\)", name):
            return float(value)
    return math.nan


def single(result: Mapping[str, Any], key: str) -> Any:
    """Return what a result says beside its numbers, which the host lists per run; None when absent."""
    value = result.get(key)
    return value[0] if isinstance(value, list) and value else value


def headline_of(result: Mapping[str, Any]) -> str:
    """Name of the metric that stands for a result."""
    headline = single(result, "headline")
    return (
        str(headline)
        if headline
        else next((name for name in _HEADLINES if name in result), next(iter(result)))
    )


def cell(result: Mapping[str, Any] | None, stale: bool = False) -> str:
    """A result in short: the headline metric with its interval, and n of N where some cases could not be scored.

    Args:
        result: None when it is missing.
        stale: it was made with other options than those of this run; its numbers are not shown.
    """
    if result is None:
        return _MISSING
    if stale:
        return _OTHER_OPTIONS
    headline = headline_of(result)
    digits = 2 if headline in (single(result, "points") or ()) else 1
    text = "-" if math.isnan(value := number(result, headline)) else f"{value:.{digits}f}"
    low, high = number(result, f"{headline}_low"), number(result, f"{headline}_high")
    if not math.isnan(low) and not math.isnan(high):
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    scored, total = number(result, "n_scored"), number(result, "n")
    return text if scored == total or math.isnan(total) else f"{text} * {scored:.0f}/{total:.0f}"


def table(
    results: Mapping[tuple[str, str], tuple[Place, Mapping[str, Any] | None]],
    stale: Container[tuple[str, str]] = (),
) -> list[list[str]]:
    """Rows of the table, the heading first.

    Args:
        results: (model, dataset) to its place and its result (None when it is missing).
        stale: those whose result was made with other options.
    """
    lengths = sorted({place for place, _ in results.values()}, key=lambda place: place.tokens)
    columns = list(dict.fromkeys(place.length for place in lengths))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for (model, dataset), (place, result) in results.items():
        old = (model, dataset) in stale
        cells.setdefault((place.row, model), {})[place.length] = cell(result, old)
        guess = math.nan if result is None or old else number(result, "random_guess")
        if not math.isnan(guess):
            cells.setdefault((place.row, _GUESS), {})[place.length] = f"{guess:.1f}"
    tasks = list(dict.fromkeys(row for row, _ in cells))
    order = sorted(cells, key=lambda key: (tasks.index(key[0]), key[1] == _GUESS))
    rows = [
        [task, model, *(cells[task, model].get(length, "") for length in columns)] for task, model in order
    ]
    return [["task", "model", *columns], *rows]


def with_group_means(
    results: Mapping[tuple[str, str], tuple[Place, Mapping[str, Any] | None]],
    tasks: Mapping[str, str],
    stale: Container[tuple[str, str]] = (),
) -> tuple[dict[tuple[str, str], tuple[Place, Mapping[str, Any] | None]], set[tuple[str, str]]]:
    """Results with lm-eval's group means over the splits of pooled tasks, which weigh by cases; the host has none.

    A mean stands behind the last split where the run has every split once; one missing or stale split makes it so, too.

    Args:
        results: see :func:`table`.
        tasks: dataset to task name.
        stale: see :func:`table`.

    Returns:
        The results with the means, and those means that are stale.
    """
    splits: dict[str, list[str]] = {}
    for spec in catalogue.task_specs():
        if spec.card.pooled and len(spec.card.splits) > 1 and not spec.length:
            name = "_".join(part for part in (spec.family, spec.variant) if part)
            splits.setdefault(name, []).append(spec.name)
    with_means, stale_means = {}, set()
    for key, found in results.items():
        model, with_means[key] = key[0], found
        for group, members in splits.items():
            own = [one for one in results if one[0] == model and tasks.get(one[1]) in members]
            if own[-1:] != [key] or sorted(tasks[one[1]] for one in own) != sorted(members):
                continue
            with_means[model, group] = (
                Place(group, found[0].length),
                _mean_of([results[one][1] for one in own]),
            )
            if any(one in stale for one in own):
                stale_means.add((model, group))
    return with_means, stale_means


def _mean_of(results: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The headline of several results, weighed by their cases; None when one is missing."""
    there = [result for result in results if result is not None]
    if len(there) < len(results):
        return None
    headline = headline_of(there[0])
    sizes = [number(result, "n") for result in there]
    total = math.fsum(sizes)
    weighed = math.fsum(number(result, headline) * n for result, n in zip(there, sizes, strict=True))
    return {
        headline: weighed / total if total else math.nan,
        "n": total,
        "n_scored": math.fsum(number(result, "n_scored") for result in there),
        "headline": [headline],
        "points": [list(single(there[0], "points") or ())],
    }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return (
        "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]) + "\n"
    )


def find_log(work_dir: Path, model: str, dataset: str) -> tuple[Path | None, str]:
    """The log of a failed task, and its last error.

    A task of the host takes several datasets and names its log after the first, so the logs are searched.

    Returns:
        The path (None when there is none), and the last line that looks like an exception (may be empty).
    """
    has_predictions = any((work_dir / "predictions" / model).glob(f"{dataset}*.json"))
    for stage in ("eval", "infer") if has_predictions else ("infer", "eval"):
        folder = work_dir / "logs" / stage / model
        paths = sorted(folder.glob("*.out"), key=lambda path: (not path.stem.startswith(dataset), path.stem))
        found: tuple[Path, str] | None = None
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            errors = re.findall(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", text, flags=re.MULTILINE)
            if errors and (dataset in path.stem or dataset in text or found is None):
                found = (path, str(errors[-1]))
                if dataset in path.stem or dataset in text:
                    break
        if found:
            return found
        if paths:
            return paths[0], ""
    return None, ""


def _total(results: Sequence[Mapping[str, Any]], key: str) -> float:
    return sum(count for result in results if (count := number(result, key)) > 0)


def given_now(config: Mapping[str, Any]) -> dict[str, Any]:
    """Version and options that a run of a dataset's config would have now; see :func:`given_of`."""
    task = str(config["lct_task"])
    options = {key: value for key, value in config.items() if key.startswith("lct_") and key != "lct_task"}
    version = catalogue.card(catalogue.parse_task(task).benchmark).version
    return given_of(version, catalogue.task_options(task, options))


def judge_now(config: Mapping[str, Any]) -> dict[str, Any]:
    """The judge that a run of a dataset's config would have now; empty without one."""
    judge = load_judge(resolve_options({"lct_judge": config.get("lct_judge")}).judge)
    return (
        {} if judge is None else {**judge.description(), **({"rubric": judge.rubric} if judge.rubric else {})}
    )


class CaseSummarizer(DefaultSummarizer):  # type: ignore[misc]
    """The host's table with the main metrics, then ours by length; ends the process with 1 when the run is not what was asked for."""

    def __init__(
        self,
        config: ConfigDict,
        dataset_abbrs: list[Any] | None = None,
        summary_groups: Sequence[Any] = (),
        prompt_db: Any = None,
    ) -> None:
        """See the host for the arguments.

        Args:
            config: the whole configuration of the run.
            dataset_abbrs: rows of the host's table; by default the main metrics of every dataset.
            summary_groups: as in the host.
            prompt_db: as in the host.
        """
        super().__init__(config, dataset_abbrs, list(summary_groups), prompt_db)
        self.dataset_abbrs: list[Any] | None = dataset_abbrs
        self._stale: dict[tuple[str, str], str] = {}

    def summarize(self, output_path: str | None = None, time_str: str | None = None) -> None:
        """Write and print both tables.

        Raises:
            SystemExit: with status 1, after everything is written, when a result is missing or of other options, or a task
                in LCT_TASKS was not run.
        """
        time_str = time_str or datetime.now().strftime("%Y%m%d_%H%M%S")
        raw = self._pick_up_results()[0]
        if self.dataset_abbrs is None and not self.summary_groups:
            self.dataset_abbrs = list(self._main_rows(raw))
        results = {
            (model, dataset): (self._place(cfg, result), result)
            for model, dataset, cfg in self._expected()
            for result in [raw.get(model, {}).get(dataset)]
        }
        self._stale = self._changes({key: result for key, (_, result) in results.items()})
        super().summarize(output_path=output_path, time_str=time_str)
        tasks = {dataset: str(cfg.get("lct_task")) for _, dataset, cfg in self._expected()}
        shown, old = with_group_means(results, tasks, self._stale)
        rows = table(shown, {*self._stale, *old})
        folder = Path(self.work_dir) / "summary"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"lengths_{time_str}.md").write_text(markdown(rows), encoding="utf-8")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        (folder / f"lengths_{time_str}.csv").write_text(text.getvalue(), encoding="utf-8")
        missing = [key for key, (_, result) in results.items() if result is None]
        failures = [
            *(self._failure(model, dataset) for model, dataset in missing),
            *(
                f"OTHER OPTIONS: the result of {dataset} on {model} is from an earlier run ({change}); run again without "
                "-r, or give the options of that run"
                for (model, dataset), change in self._stale.items()
            ),
            *(f"NOT RUN: {sentence}" for sentence in not_run(self._tasks())),
        ]
        fresh = [
            result for key, (_, result) in results.items() if result is not None and key not in self._stale
        ]
        lines = [
            "",
            "By length, with 95 % intervals (percent; judged scores in points):",
            "",
            markdown(rows),
            *self._notes(fresh),
            *failures,
        ]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        if failures:
            raise SystemExit(1)

    def _expected(self) -> Iterator[tuple[str, str, Any]]:
        """Model, dataset and the dataset's config of every result that this run should have."""
        combinations = self.cfg.get("model_dataset_combinations") or [
            {"models": self.model_cfgs, "datasets": self.dataset_cfgs}
        ]
        for combination in combinations:
            for model in combination["models"]:
                for dataset in combination["datasets"]:
                    name = model.get("summarizer_abbr") or model_abbr_from_cfg(model)
                    yield name, dataset_abbr_from_cfg(dataset), dataset

    def _tasks(self) -> list[str]:
        return [str(dataset.get("lct_task")) for _, _, dataset in self._expected()]

    def _changes(
        self, results: Mapping[tuple[str, str], Mapping[str, Any] | None]
    ) -> dict[tuple[str, str], str]:
        """(Model, dataset) of every result of ours that was made with other options than those of now, and which."""
        changes = {}
        for model, dataset, config in self._expected():
            result = results[model, dataset]
            if result is not None and "lct_task" in result and "lct_task" in config:
                then, now = single(result, GIVEN), given_now(config)
                if isinstance(then, Mapping) and "version" not in now:
                    now["version"] = then.get("version")
                if change := difference(then, now) or self._other_judge(result, config):
                    changes[model, dataset] = change
        return changes

    @staticmethod
    def _other_judge(result: Mapping[str, Any], config: Mapping[str, Any]) -> str:
        """How the judge of a result differs from that of now, in words; empty when it does not."""
        if single(result, "judged") != "yes":
            return ""
        then, now = dict(single(result, "judge") or {}), judge_now(config)
        if then and now:
            # Where the judge file names no rubric, the benchmark's own choice stands.
            change = difference(then, {"rubric": then.get("rubric"), **now})
        else:
            names = [one.get("name", "nobody") for one in (then, now)]
            change = "" if then == now else f"judged by {names[0]}, the judge is now {names[1]}"
        return f"{change}: `lct judge run` judges its answers again" if change else ""

    def _pick_up_results(self) -> Any:
        """As the host does, but results of other options stay out of its table."""
        raw, parsed, *more = super()._pick_up_results()
        for model, dataset in self._stale:
            parsed.get(model, {}).pop(dataset, None)
        return raw, parsed, *more

    @staticmethod
    def _place(dataset: Any, result: Mapping[str, Any] | None) -> Place:
        """Where a length is an option, it stands in the task's config, or in the options of its result when it came from outside."""
        length = dataset.get("lct_length")
        options = single(result or {}, "options")
        if isinstance(options, dict):
            given = options.get("lct_length")
            # A task that has no use for a length leaves it out of its results.
            length = (length or given) if given else None
        name = dataset.get("lct_task") or dataset_abbr_from_cfg(dataset)
        return place_of(name, format_length(parse_length(length)) if length else None)

    def _main_rows(
        self, raw: Mapping[str, Mapping[str, Mapping[str, Any]]]
    ) -> Iterator[tuple[str, str | None]]:
        """Rows of the host's table: of our tasks the rates only, without the ends of intervals and the counts."""
        for dataset in map(dataset_abbr_from_cfg, self.dataset_cfgs):
            result = next((results[dataset] for results in raw.values() if dataset in results), None)
            if result is None:
                yield dataset, None
                continue
            for key, value in result.items():
                minor = "lct_task" in result and re.search(r"^n(_|\b)|_(low|high)\b", key)
                if isinstance(value, (int, float)) and not minor:
                    yield dataset, key

    def _notes(self, results: Sequence[Mapping[str, Any]]) -> list[str]:
        notes = []
        if any(number(result, "n_scored") < number(result, "n") for result in results):
            counts = {reason: _total(results, f"n_{reason}") for reason in UNSCORED}
            why = ", ".join(f"{count:.0f} {reason}" for reason, count in counts.items() if count)
            notes.append(
                f"* scored/all cases; without a score: {why or 'no reason given'}. Compare models on cases that both could take."
            )
            if counts[NOT_JUDGED] or counts[JUDGE_FAILED]:
                folder = shlex.quote(str(Path(self.work_dir).resolve()))
                notes.append(f"The responses are kept: lct judge run {folder} --judge judge.yaml")
        if cut := _total(results, "n_truncated"):
            notes.append(f"{cut:.0f} prompts were cut by the host before the model saw them (n_truncated).")
        if any("unchecked" in str(result.get("window")) for result in results):
            notes.append(
                "window: unchecked (set lct_window, or max_seq_len of the model, to have lengths checked first)."
            )
        return notes

    def _failure(self, model: str, dataset: str) -> str:
        path, error = find_log(Path(self.work_dir), model, dataset)
        where = f"see {path.resolve()}" if path else f"no log in {Path(self.work_dir).resolve() / 'logs'}"
        return f"FAILED: {dataset} on {model}: {error + '; ' if error else ''}{where}"
