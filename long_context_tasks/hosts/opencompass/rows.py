"""The predictions of one task on disk: written case by case, resumed, finished in one step.

OpenCompass keeps finished cases in ``tmp_X.jsonl`` and takes an existing ``X.json`` for done. Its own writer loses all cases if a kill cuts
the last line of the first file, and takes a half-written second file for whole. This one has neither fault, and keeps the names, so that
OpenCompass' ``-r`` works as usual.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import loads

Row = dict[str, Any]
CASE = "case"
GIVEN = "lct_given"  # key of every row: the task's version and the options as they were given; see given_of
# Key of every row: the same for the loaded task, because built cases fix their seed and tokenizer.
RESOLVED = "lct_resolved"


def given_of(version: int, options: Options) -> dict[str, Any]:
    """Return the version and options of a run, by which ``-r`` recognises its predictions, before the task changes any option.

    The judge is left out: answers do not depend on it, and results name theirs.
    """
    resolved = {key: value for key, value in options.resolved().items() if key != "lct_judge"}
    return {"version": version, **resolved}


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the difference between two runs' versions and options, in words; empty without one.

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
    """Prediction rows of one task, or of one part if OpenCompass splits it."""

    def __init__(
        self,
        folder: str,
        name: str,
        given: Mapping[str, Any] | None = None,
        resolved: Mapping[str, Any] | None = None,
        writes: bool = True,  # False in all processes but the first if several share one model
    ) -> None:
        self.path = Path(folder) / name  # the finished file: place in the test set to row
        self._log = Path(folder) / f"tmp_{Path(name).stem}.jsonl"
        self._given = dict(given or {})
        self._resolved = dict(resolved or self._given)
        self._writes = writes
        self.rows: list[Row] = []

    def restore(self, cases: Sequence[str]) -> int:
        """Take over the rows of an earlier, killed run, without a line that was cut, and return their number."""
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
            # Rows are appended after the last whole line.
            os.truncate(self._log, whole)
        return len(self.rows)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        added = [{**row, GIVEN: self._given, RESOLVED: self._resolved} for row in rows]
        self.rows += added
        if self._writes and rows:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row) + "\n" for row in added]
            with self._log.open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)

    def finish(self) -> None:
        """Put the finished file in place, then remove the log."""
        if not self._writes:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Written next to its place and renamed: OpenCompass takes an existing file for complete.
        part = self.path.with_name(f".{self.path.name}.part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            json.dump(
                {str(number): row for number, row in enumerate(self.rows)}, file, indent=1, ensure_ascii=False
            )
        part.replace(self.path)
        self._log.unlink(missing_ok=True)


def _parse(line: bytes) -> Row | None:
    """Return the row in a line of the log; None if the line was cut."""
    try:
        row = loads(line)
    except ValueError:
        return None
    if not line.endswith(b"\n") or not isinstance(row, dict) or not {CASE, GIVEN, RESOLVED} <= row.keys():
        return None
    return row
