"""Which cases belong together, for runs whose files do not say so."""

from collections.abc import Callable, Mapping
from pathlib import Path

from long_context_tasks.runs.stored import StoredRun
from long_context_tasks.runs.tasks import load_task
from long_context_tasks.schema import InputError

_SHOWN = 3


class ClusterFinder:
    """Asks the task of a run, where its data are here; tasks are loaded when they are needed, and once.

    lm-eval's logs name the cluster of each case, OpenCompass' results too, unless an earlier state of this package wrote them.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        """Begin; see :func:`long_context_tasks.runs.tasks.load_task`."""
        self._data_dir = data_dir
        self._known: dict[str, Mapping[str, str] | None] = {}
        self._without: dict[str, None] = {}

    def of(self, run: StoredRun) -> Callable[[str], str]:
        """Case to cluster; a case that nobody knows is a cluster of its own."""

        def cluster(case: str) -> str:
            known = self._task(run)
            if known is None or case not in known:
                self._without[str(run)] = None
                return case
            return known[case]

        return cluster

    def _task(self, run: StoredRun) -> Mapping[str, str] | None:
        key = run.task_key
        if key not in self._known:
            try:
                task = load_task(run, self._data_dir)
                self._known[key] = {case.id: case.cluster for case in task.cases.cases}
            except InputError:
                self._known[key] = None
        return self._known[key]

    def problems(self) -> list[str]:
        """One line on all runs whose clusters nobody knows."""
        if not self._without:
            return []
        shown = "; ".join(list(self._without)[:_SHOWN]) + ("; ..." if len(self._without) > _SHOWN else "")
        return [
            f"{len(self._without)} runs do not say which cases belong together (one meeting, one book), and their data are not here: their "
            "cases count as independent, so that intervals may be too narrow. Give the folder of the data (--data-dir), or evaluate "
            f"again (OpenCompass: -m eval -r): {shown}"
        ]
