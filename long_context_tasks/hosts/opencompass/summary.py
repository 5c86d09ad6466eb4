"""The end of a run of OpenCompass: a table by length, and an exit status that shows failures.

The host only logs a failed task and exits 0; its table shows ``-``. Here every expected result that is missing is named
with its log file, cells that do not rest on all cases are marked, and the command ends with status 1 when one is missing,
when ``-r`` has found a result of other options, or when LCT_TASKS names a task that was not run.
"""

import csv
import math
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from long_context_tasks.hosts.stored import single
from long_context_tasks.judges import load_judge
from long_context_tasks.schema import InputError, format_length, parse_length
from long_context_tasks.schema.response import JUDGE_FAILED, NOT_JUDGED, UNSCORED

_NAME = re.compile(r"(?=.*\Z)(?P<family>.+?)_(?P<length>\d+[km]?|any)(?:_(?P<variant>.+))?", re.ASCII)
_AVERAGE = re.compile(r" \(\d+ runs average\)$", re.ASCII)
_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception|Refusal)\b.*)$", re.MULTILINE)
_GUESS = "random guess"
_MISSING = "missing"
_OTHER_OPTIONS = "other options"
# Of tasks that are not ours, as in the host.
_HEADLINES = ("score", "accuracy")

Result = Mapping[str, Any]
"""Numbers and facts by name; see :func:`plain`."""


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


@dataclass(frozen=True)
class Entry:
    """A result that a run should have.

    Attributes:
        model: as the host names it.
        dataset: likewise.
        place: in the table.
        result: None when it is missing.
        task: its name.
        change: how its options or judge differ from those of now, in words; such a result is not shown.
    """

    model: str
    dataset: str
    place: Place
    result: Result | None
    task: str = ""
    change: str = ""


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


def plain(result: Mapping[str, Any]) -> Result:
    """A result as it was written; the host renames numbers after several runs, and makes lists of what is no number."""
    return {_AVERAGE.sub("", name): single(value) for name, value in result.items()}


def _number(result: Result, key: str) -> float:
    return float(result.get(key, math.nan))


def _headline_of(result: Result) -> str:
    if headline := result.get("headline"):
        return str(headline)
    return next((name for name in _HEADLINES if name in result), next(iter(result)))


def cell(entry: Entry) -> str:
    """A result in short: the headline metric with its interval, and n of N where some cases could not be scored."""
    result = entry.result
    if result is None:
        return _MISSING
    if entry.change:
        return _OTHER_OPTIONS
    headline = _headline_of(result)
    digits = 2 if headline in (result.get("points") or ()) else 1
    text = "-" if math.isnan(value := _number(result, headline)) else f"{value:.{digits}f}"
    low, high = _number(result, f"{headline}_low"), _number(result, f"{headline}_high")
    if not math.isnan(low) and not math.isnan(high):
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    scored, total = _number(result, "n_scored"), _number(result, "n")
    return text if scored == total or math.isnan(total) else f"{text} * {scored:.0f}/{total:.0f}"


def table(entries: Sequence[Entry]) -> list[list[str]]:
    """Rows of the table, the heading first."""
    lengths = sorted({entry.place for entry in entries}, key=lambda place: place.tokens)
    columns = list(dict.fromkeys(place.length for place in lengths))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for entry in entries:
        row, length = entry.place.row, entry.place.length
        cells.setdefault((row, entry.model), {})[length] = cell(entry)
        guess = math.nan if entry.change else _number(entry.result or {}, "random_guess")
        if not math.isnan(guess):
            cells.setdefault((row, _GUESS), {})[length] = f"{guess:.1f}"
    tasks = list(dict.fromkeys(row for row, _ in cells))
    order = sorted(cells, key=lambda key: (tasks.index(key[0]), key[1] == _GUESS))
    rows = [
        [task, model, *(cells[task, model].get(length, "") for length in columns)] for task, model in order
    ]
    return [["task", "model", *columns], *rows]


def with_group_means(entries: Sequence[Entry]) -> list[Entry]:
    """Results with lm-eval's group means over the splits of pooled tasks, which weigh by cases; the host has none.

    A mean stands behind the last split where the run has every split once; one missing or stale split makes it so, too.
    """
    groups: dict[str, list[str]] = {}
    for spec in catalogue.task_specs():
        if spec.card.pooled and len(spec.card.splits) > 1 and not spec.length:
            name = "_".join(part for part in (spec.family, spec.variant) if part)
            groups.setdefault(name, []).append(spec.name)
    with_means = []
    for entry in entries:
        with_means.append(entry)
        for group, members in groups.items():
            own = [other for other in entries if other.model == entry.model and other.task in members]
            if own and own[-1] is entry and sorted(other.task for other in own) == sorted(members):
                change = next((other.change for other in own if other.change), "")
                place = Place(group, entry.place.length)
                with_means.append(Entry(entry.model, group, place, _mean_of(own), change=change))
    return with_means


def _mean_of(entries: Sequence[Entry]) -> Result | None:
    """The headline of several results, weighed by their cases; None when one is missing."""
    results = [entry.result for entry in entries if entry.result is not None]
    if len(results) < len(entries):
        return None
    headline = _headline_of(results[0])
    total = math.fsum(_number(result, "n") for result in results)
    weighed = math.fsum(_number(result, headline) * _number(result, "n") for result in results)
    return {
        headline: weighed / total if total else math.nan,
        "n": total,
        "n_scored": math.fsum(_number(result, "n_scored") for result in results),
        "headline": headline,
        "points": results[0].get("points"),
    }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    ]
    lines[1] = lines[1].replace(" ", "-")
    return f"| {lines[0]} |\n|-{lines[1]}-|\n" + "".join(f"| {line} |\n" for line in lines[2:])


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
        found = []
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            if errors := _ERROR.findall(text):
                found.append((dataset not in path.stem and dataset not in text, path, str(errors[-1])))
        if found:
            _, path, error = min(found, key=lambda log: log[0])
            return path, error
        if paths:
            return paths[0], ""
    return None, ""


def _change(result: Result | None, config: Mapping[str, Any]) -> str:
    """How a result of ours differs in its options, or its judge, from what a run of its dataset would have now, in words."""
    if result is None or "lct_task" not in result or "lct_task" not in config:
        return ""
    task = str(config["lct_task"])
    options = {key: value for key, value in config.items() if key.startswith("lct_") and key != "lct_task"}
    version = catalogue.card(catalogue.parse_task(task).benchmark).version
    change = difference(result.get(GIVEN), given_of(version, catalogue.task_options(task, options)))
    return change or _other_judge(result, config)


def _other_judge(result: Result, config: Mapping[str, Any]) -> str:
    """How the judge of a result differs from that of now, in words; empty when it does not."""
    if result.get("judged") != "yes":
        return ""
    then = dict(result.get("judge") or {})
    judge = load_judge(resolve_options({"lct_judge": config.get("lct_judge")}).judge)
    now = {} if judge is None else judge.description()
    if judge is not None and judge.rubric:
        now = {**now, "rubric": judge.rubric}
    change = ""
    if then and now:
        # Where the judge file names no rubric, the benchmark's own choice stands.
        change = difference(then, {"rubric": then.get("rubric"), **now})
    elif then or now:
        change = f"judged by {then.get('name', 'no judge')}, the judge is now {now.get('name', 'no judge')}"
    return f"{change}: `lct judge run` judges its answers again" if change else ""


def _place(config: Mapping[str, Any], result: Result | None) -> Place:
    """Where a length is an option, it stands in the task's config, or in the options of its result when it came from outside."""
    length = config.get("lct_length")
    options = (result or {}).get("options")
    if isinstance(options, dict):
        given = options.get("lct_length")
        # A task that has no use for a length leaves it out of its results.
        length = (length or given) if given else None
    name = config.get("lct_task") or dataset_abbr_from_cfg(config)
    return place_of(name, format_length(parse_length(length)) if length else None)


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
        self._stale: list[Entry] = []

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
        entries = list(self._entries(raw))
        self._stale = [entry for entry in entries if entry.change]
        super().summarize(output_path=output_path, time_str=time_str)
        rows = table(with_group_means(entries))
        folder = Path(self.work_dir) / "summary"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"lengths_{time_str}.md").write_text(markdown(rows), encoding="utf-8")
        with (folder / f"lengths_{time_str}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        failures = [
            *(self._failure(entry) for entry in entries if entry.result is None),
            *(
                f"OTHER OPTIONS: the result of {entry.dataset} on {entry.model} is from an earlier run ({entry.change}); run "
                "again without -r, or give the options of that run"
                for entry in self._stale
            ),
            *(f"NOT RUN: {sentence}" for sentence in not_run(entry.task for entry in entries)),
        ]
        fresh = [entry.result for entry in entries if entry.result is not None and not entry.change]
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

    def _entries(self, raw: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[Entry]:
        """Every result that this run should have."""
        combinations = self.cfg.get("model_dataset_combinations") or [
            {"models": self.model_cfgs, "datasets": self.dataset_cfgs}
        ]
        for combination in combinations:
            for model in combination["models"]:
                name = model.get("summarizer_abbr") or model_abbr_from_cfg(model)
                for config in combination["datasets"]:
                    dataset = dataset_abbr_from_cfg(config)
                    found = raw.get(name, {}).get(dataset)
                    result = None if found is None else plain(found)
                    task, change = str(config.get("lct_task")), _change(result, config)
                    yield Entry(name, dataset, _place(config, result), result, task, change)

    def _pick_up_results(self) -> Any:
        """As the host does, but results of other options stay out of its table."""
        raw, parsed, *more = super()._pick_up_results()
        for entry in self._stale:
            parsed.get(entry.model, {}).pop(entry.dataset, None)
        return raw, parsed, *more

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

    def _notes(self, results: Sequence[Result]) -> list[str]:
        def total(key: str) -> float:
            return sum(count for result in results if (count := _number(result, key)) > 0)

        notes = []
        if any(_number(result, "n_scored") < _number(result, "n") for result in results):
            counts = {reason: total(f"n_{reason}") for reason in UNSCORED}
            why = ", ".join(f"{count:.0f} {reason}" for reason, count in counts.items() if count)
            notes.append(
                f"* scored/all cases; without a score: {why or 'no reason given'}. Compare models on cases that both could take."
            )
            if counts[NOT_JUDGED] or counts[JUDGE_FAILED]:
                folder = shlex.quote(str(Path(self.work_dir).resolve()))
                notes.append(f"The responses are kept: lct judge run {folder} --judge judge.yaml")
        if cut := total("n_truncated"):
            notes.append(f"{cut:.0f} prompts were cut by the host before the model saw them (n_truncated).")
        if any("unchecked" in str(result.get("window")) for result in results):
            notes.append(
                "window: unchecked (set lct_window, or max_seq_len of the model, to have lengths checked first)."
            )
        return notes

    def _failure(self, entry: Entry) -> str:
        path, error = find_log(Path(self.work_dir), entry.model, entry.dataset)
        where = f"see {path.resolve()}" if path else f"no log in {Path(self.work_dir).resolve() / 'logs'}"
        return f"FAILED: {entry.dataset} on {entry.model}: {error + '; ' if error else ''}{where}"
