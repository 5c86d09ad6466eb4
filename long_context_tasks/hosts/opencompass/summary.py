"""Finish an OpenCompass run with a table by length and an exit status that reveals failures.

OpenCompass only logs a failed task and exits 0; its table shows ``-``. Here every missing result is reported
with its log file, and cells that are not based on all cases are marked. The command exits with status 1 if a
result is missing, if ``-r`` found a result with other options, or if LCT_TASKS names a task that was not run.
"""

import csv
import io
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from mmengine.config import ConfigDict
from opencompass.summarizers import DefaultSummarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.lengths import (
    LengthEntry,
    Result,
    TablePlace,
    markdown,
    notes,
    place_of,
    printed,
    table,
    total,
)
from long_context_tasks.hosts.messages import as_variables
from long_context_tasks.hosts.opencompass.configs import not_run
from long_context_tasks.hosts.opencompass.console import last_error
from long_context_tasks.hosts.opencompass.rows import GIVEN, difference, given_of
from long_context_tasks.hosts.stored import single
from long_context_tasks.judges.kinds import load_judge
from long_context_tasks.schema import format_length, parse_length
from long_context_tasks.schema.files import make_folder, write_whole
from long_context_tasks.schema.response import JUDGE_FAILED, NOT_JUDGED

_AVERAGE = re.compile(r" \(\d+ runs average\)$", re.ASCII)


def plain(result: Mapping[str, Any]) -> Result:
    """Return a result as written; OpenCompass renames numbers and lists values after several runs."""
    return {_AVERAGE.sub("", name): single(value) for name, value in result.items()}


def find_log(work_dir: Path, model: str, dataset: str) -> tuple[Path | None, str]:
    """Return a failed task's log (None if it has none) and its last error (may be empty).

    An OpenCompass task covers several datasets and names its log after the first, so the logs are searched.
    """
    # If there are predictions, the evaluation failed, otherwise the inference.
    has_predictions = any((work_dir / "predictions" / model).glob(f"{dataset}*.json"))
    for stage in ("eval", "infer") if has_predictions else ("infer", "eval"):
        folder = work_dir / "logs" / stage / model
        paths = sorted(folder.glob("*.out"), key=lambda path: (not path.stem.startswith(dataset), path.stem))
        errors = []
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            if error := last_error(text):
                errors.append((dataset not in path.stem and dataset not in text, path, error))
        if errors:
            _, path, error = min(errors, key=lambda log: log[0])
            return path, error
        if paths:
            return paths[0], ""
    return None, ""


def _change(result: Result | None, config: Mapping[str, Any]) -> str:
    """Describe how a result's options or judge differ from those of a run now; empty if they do not."""
    if result is None or "lct_task" not in result or "lct_task" not in config:
        return ""
    task = str(config["lct_task"])
    options = {key: value for key, value in config.items() if key.startswith("lct_") and key != "lct_task"}
    version = catalogue.card(catalogue.parse_task(task).benchmark).version
    change = difference(result[GIVEN], given_of(version, catalogue.task_options(task, options)))
    return change or _other_judge(result, config)


def _other_judge(result: Result, config: Mapping[str, Any]) -> str:
    """Describe how a result's judge differs from the current one; empty if it does not."""
    if result["judged"] != "yes":
        return ""
    then = dict(result["judge"])
    judge = load_judge(resolve_options({"lct_judge": config.get("lct_judge")}).judge)
    now = {} if judge is None else judge.description()
    if judge is not None and judge.rubric:
        now = {**now, "rubric": judge.rubric}
    change = ""
    if then and now:
        # Without a rubric in the judge file, the benchmark chooses it.
        change = difference(then, {"rubric": then.get("rubric"), **now})
    elif then or now:
        change = f"judged by {then.get('name', 'no judge')}, the judge is now {now.get('name', 'no judge')}"
    return f"{change}: `lct judge run` judges its answers again" if change else ""


def _place(config: Mapping[str, Any], result: Result | None) -> TablePlace:
    """Return a result's position in the table.

    A length given as an option is in the config, or in the result if it was set elsewhere.
    """
    length = config.get("lct_length")
    options = (result or {}).get("options")
    if isinstance(options, dict):
        given = options.get("lct_length")
        # A task that ignores the length omits it from its results.
        length = (length or given) if given else None
    name = config.get("lct_task") or dataset_abbr_from_cfg(config)
    return place_of(name, format_length(parse_length(length)) if length else None)


class CaseSummarizer(DefaultSummarizer):  # type: ignore[misc]
    """Prints OpenCompass' table with the main metrics, then ours by length.

    The process exits with status 1 if results are missing or outdated.
    """

    def __init__(
        self,
        config: ConfigDict,
        dataset_abbrs: list[Any] | None = None,
        summary_groups: Sequence[Any] = (),
        prompt_db: Any = None,
    ) -> None:
        super().__init__(config, dataset_abbrs, list(summary_groups), prompt_db)
        self.dataset_abbrs: list[Any] | None = dataset_abbrs
        self._stale: list[LengthEntry] = []

    def summarize(self, output_path: str | None = None, time_str: str | None = None) -> None:
        time_str = time_str or datetime.now().strftime("%Y%m%d_%H%M%S")
        raw = self._pick_up_results()[0]
        if self.dataset_abbrs is None and not self.summary_groups:
            self.dataset_abbrs = list(self._main_rows(raw))
        entries = list(self._entries(raw))
        self._stale = [entry for entry in entries if entry.change]
        super().summarize(output_path=output_path, time_str=time_str)
        rows = table(entries)
        folder = Path(self.work_dir) / "summary"
        remedy = "choose another folder with -w"
        make_folder(folder, remedy=remedy)
        write_whole(folder / f"lengths_{time_str}.md", markdown(rows), remedy=remedy)
        spreadsheet = io.StringIO()
        csv.writer(spreadsheet, lineterminator="\n").writerows(rows)
        write_whole(folder / f"lengths_{time_str}.csv", spreadsheet.getvalue(), remedy=remedy)
        failures = [
            *(self._failure(entry) for entry in entries if entry.result is None),
            *(
                f"OTHER OPTIONS: the result of {entry.dataset} on {entry.model} is from an earlier run "
                f"({as_variables(entry.change)}); run "
                "again without -r, or give the options of that run"
                for entry in self._stale
            ),
            *(f"NOT RUN: {sentence}" for sentence in not_run(entry.task for entry in entries)),
        ]
        fresh = [entry.result for entry in entries if entry.result is not None and not entry.change]
        lines = [
            "",
            printed(rows, {str(result.get("lct_task")): result for result in fresh}),
            *self._notes(fresh),
            *failures,
        ]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        if failures:
            raise SystemExit(1)

    def _entries(self, raw: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[LengthEntry]:
        combinations = self.cfg.get("model_dataset_combinations") or [
            {"models": self.model_cfgs, "datasets": self.dataset_cfgs}
        ]
        for combination in combinations:
            for model in combination["models"]:
                name = model.get("summarizer_abbr") or model_abbr_from_cfg(model)
                for config in combination["datasets"]:
                    dataset = dataset_abbr_from_cfg(config)
                    numbers = raw.get(name, {}).get(dataset)
                    result = None if numbers is None else plain(numbers)
                    task, change = str(config.get("lct_task")), _change(result, config)
                    yield LengthEntry(name, dataset, _place(config, result), result, task, change)

    def _pick_up_results(self) -> Any:
        """Collect the results as OpenCompass does, but keep those with other options out of its table."""
        raw, parsed, *more = super()._pick_up_results()
        for entry in self._stale:
            parsed.get(entry.model, {}).pop(entry.dataset, None)
        return raw, parsed, *more

    def _main_rows(
        self, raw: Mapping[str, Mapping[str, Mapping[str, Any]]]
    ) -> Iterator[tuple[str, str | None]]:
        """Yield the rows of OpenCompass' table: for our tasks, scores only, no interval bounds or counts."""
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
        lines = notes(results)
        if total(results, f"n_{NOT_JUDGED}") or total(results, f"n_{JUDGE_FAILED}"):
            folder = shlex.quote(str(Path(self.work_dir).resolve()))
            lines.append(f"The responses are kept: lct judge run {folder} --judge judge.yaml")
        if any("unchecked" in str(result.get("window")) for result in results):
            lines.append(
                "window: unchecked (to have lengths checked first, set LCT_WINDOW, or max_seq_len of the model; if the server "
                "reports its window, LCT_TOKENIZER is enough)."
            )
        return lines

    def _failure(self, entry: LengthEntry) -> str:
        path, error = find_log(Path(self.work_dir), entry.model, entry.dataset)
        where = f"see {path.resolve()}" if path else f"no log in {Path(self.work_dir).resolve() / 'logs'}"
        return (
            f"FAILED: {entry.dataset} on {entry.model}: {as_variables(error) + '; ' if error else ''}{where}"
        )
