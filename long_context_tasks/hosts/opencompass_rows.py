"""The predictions of one task on disk: written case by case, resumed, finished in one step.

OpenCompass keeps finished cases in ``tmp_X.jsonl`` and takes an existing ``X.json`` for done. Its own writer loses all
cases when a kill cuts the last line of the first file, and takes a half-written second file for whole. This one keeps
the names, so that the host's ``-r`` works as ever, and has neither fault.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError

Row = dict[str, Any]
CASE = "case"


class RowStore:
    """Prediction rows of one task (or of one part, when the host splits it).

    Attributes:
        path: the finished file, ``X.json``: place in the test set to row.
        rows: the rows so far, in order.
    """

    def __init__(self, folder: str, name: str, writes: bool = True) -> None:
        """Prepare; nothing is read or written yet.

        Args:
            folder: the host's folder for the predictions of a model.
            name: name of the finished file.
            writes: False in all processes but the first, when several share one model.
        """
        self.path = Path(folder) / name
        self._log = Path(folder) / f"tmp_{Path(name).stem}.jsonl"
        self._writes = writes
        self.rows: list[Row] = []

    def restore(self, cases: Sequence[str]) -> int:
        """Take over what an earlier, killed run has finished; a line that was cut is dropped.

        Args:
            cases: ids of all cases, in the order in which they run.

        Returns:
            How many cases are done.

        Raises:
            InputError: the rows belong to other cases, so the options have changed since.
        """
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
        if [row[CASE] for row in self.rows] != list(cases[: len(self.rows)]):
            raise InputError(
                f"{self._log}: begun with other cases or options; use the same LCT_ options and the same task as "
                "before, or start a new run without -r"
            )
        if self._writes:
            os.truncate(self._log, whole)
        return len(self.rows)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append finished rows, on disk too."""
        self.rows += [dict(row) for row in rows]
        if self._writes and rows:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row) + "\n" for row in rows]
            with self._log.open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)

    def finish(self) -> None:
        """Put the finished file in place, then remove the log."""
        if not self._writes:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            json.dump(
                {str(place): row for place, row in enumerate(self.rows)}, file, indent=1, ensure_ascii=False
            )
        part.replace(self.path)
        self._log.unlink(missing_ok=True)


def _parse(line: bytes) -> Row | None:
    """A row from a line of the log; None when the line was cut."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not line.endswith(b"\n") or not isinstance(row, dict) or CASE not in row:
        return None
    return row
