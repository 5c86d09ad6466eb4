"""Store a task's predictions on disk: written case by case, resumable, finished atomically.

OpenCompass keeps finished cases in ``tmp_X.jsonl`` and treats an existing ``X.json`` as complete. Its own
writer loses all cases if a kill truncates the last line of the first file, and accepts a half-written second
file as complete. This one avoids both faults and keeps the file names, so that OpenCompass' ``-r`` works as
usual.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import disk_errors, loads, write_whole

Row = dict[str, Any]
CASE = "case"
GIVEN = "lct_given"  # row key: the task's version and the options as given; see given_of
# Row key: the same for the loaded task, because built cases fix their seed and tokenizer.
RESOLVED = "lct_resolved"


def given_of(version: int, options: Options) -> dict[str, Any]:
    """Return a run's version and options, by which ``-r`` recognizes its predictions.

    The options are those given, before the task changes any. The judge is excluded: answers do not depend on
    it, and results record theirs.
    """
    resolved = {key: value for key, value in options.resolved().items() if key != "lct_judge"}
    return {"version": version, **resolved}


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the difference between two runs' versions and options; empty if they are equal.

    >>> difference({"version": 1, "lct_n": 5}, {"version": 1, "lct_n": 9, "lct_seed": 1})
    'lct_n was 5, is 9; lct_seed was not given, is 1'
    """
    missing = "not given"
    return "; ".join(
        f"{name} was {then.get(name, missing)}, is {now.get(name, missing)}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    )


class RowStore:
    """Prediction rows for one task, or for one part if OpenCompass splits it."""

    def __init__(
        self,
        folder: str,
        name: str,
        given: Mapping[str, Any] | None = None,
        resolved: Mapping[str, Any] | None = None,
        writes: bool = True,  # False in all processes but the first if several share one model
    ) -> None:
        self.path = Path(folder) / name  # the finished file: index in the test set to row
        self._log = Path(folder) / f"tmp_{Path(name).stem}.jsonl"
        self._given = dict(given or {})
        self._resolved = dict(resolved or self._given)
        self._writes = writes
        self.rows: list[Row] = []

    def restore(self, cases: Sequence[str]) -> int:
        """Restore the rows of an earlier, killed run, except a truncated line, and return their number."""
        if not self._log.is_file():
            return 0
        whole = 0
        with self._log.open("rb") as file:
            for line in file:
                row = _parse(line)
                if row is None:
                    break
                whole += len(line)
                self.rows.append(row)
        changes = {change for row in self.rows if (change := difference(row[GIVEN], self._given))}
        if not changes and [row[CASE] for row in self.rows] != list(cases[: len(self.rows)]):
            changes = {"other cases"}
        if changes:
            raise InputError(
                f"{self._log}: begun with other options ({', '.join(sorted(changes))}); give the same LCT_ options as "
                "before, or start a new run without -r"
            )
        if self._writes:
            # Rows are appended after the last complete line.
            os.truncate(self._log, whole)
        return len(self.rows)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        added = [{**row, GIVEN: self._given, RESOLVED: self._resolved} for row in rows]
        self.rows += added
        if self._writes and rows:
            lines = [json.dumps(row) + "\n" for row in added]
            with disk_errors(self._log, "make room and give the same command again with -r"):
                self._log.parent.mkdir(parents=True, exist_ok=True)
                with self._log.open("a", encoding="utf-8", newline="\n") as file:
                    file.writelines(lines)

    def finish(self) -> None:
        """Write the finished file, then remove the log."""
        if not self._writes:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = {str(number): row for number, row in enumerate(self.rows)}
        # Atomically, because OpenCompass treats an existing file as complete.
        write_whole(
            self.path, json.dumps(rows, indent=1, ensure_ascii=False), remedy="choose another folder with -w"
        )
        self._log.unlink(missing_ok=True)


def _parse(line: bytes) -> Row | None:
    """Return the row in a log line, or None if the line was truncated."""
    try:
        row = loads(line)
    except ValueError:
        return None
    if not line.endswith(b"\n") or not isinstance(row, dict) or not {CASE, GIVEN, RESOLVED} <= row.keys():
        return None
    return row
