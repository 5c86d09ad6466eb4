"""Labels of cases and turns (question type, where the answer lies, measured word error rate), for scores split by them."""

import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.runs.stored import StoredRun
from long_context_tasks.runs.tasks import load_task
from long_context_tasks.schema import InputError

_LONGEST = 64
_Known = dict[str, tuple[str | None, ...]]


class LabelFinder:
    """Reads the labels of a task's cases from the first run that has them, where its files tell, else from the task itself.

    Both hosts' files tell labels, unless an earlier state of this package wrote them. The rows of ``lct judge run`` do not: the
    labels of the run that was judged count.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        """Begin; see :func:`long_context_tasks.runs.tasks.load_task`."""
        self._data_dir = data_dir
        self._known: dict[str, _Known] = {}

    def of(self, run: StoredRun) -> Callable[[str, int], str | None]:
        """Case and turn to their labels as JSON; None where there are none or nobody knows."""
        known = self._known.setdefault(run.task_key, {})
        asked = False

        def labels(case: str, turn: int) -> str | None:
            nonlocal asked
            if case not in known and not asked:
                asked = True
                self._read(run, known)
            told = known.get(case, ())
            return told[turn] if turn < len(told) else None

        return labels

    def _read(self, run: StoredRun, known: _Known) -> None:
        benchmark = catalogue.parse_task(run.task).benchmark
        silent: list[str] = []
        try:
            for stored in run.cases():
                if stored.id in known:
                    continue
                turns = stored.turn_labels or ({},) * len(stored.responses)
                known[stored.id] = label_texts(benchmark, stored.id, stored.labels, turns)
                if not stored.labels and not any(stored.turn_labels):
                    silent.append(stored.id)
        except InputError:
            return  # reading its scores tells why
        if not silent:
            return
        try:
            task = load_task(run, self._data_dir)
        except InputError:
            return
        for name in silent:
            if (case := task.by_id.get(name)) is not None:
                known[name] = label_texts(benchmark, name, case.labels, [turn.labels for turn in case.turns])


def label_texts(
    benchmark: str, case: str, labels: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]
) -> tuple[str | None, ...]:
    """The labels of each turn with those of its case, as JSON: words, numbers, yes and no; lists and long texts are left out.

    >>> label_texts("ethic", "b1", {"domain": "books", "evidence": ["a text"]}, [{}])
    ('{"domain": "books"}',)
    """
    common = {**labels, **_derived(benchmark)(case, labels)}
    texts = []
    for own in turns:
        kept = {name: value for name, value in {**common, **own}.items() if _short(value)}
        texts.append(json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None)
    return tuple(texts)


def _short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, int | float) and math.isfinite(value)


@lru_cache
def _derived(benchmark: str) -> Callable[[str, Mapping[str, Any]], Mapping[str, Any]]:
    """What a benchmark's own ``labels_of`` makes of a case's id and labels; nothing where it has none."""
    name = f"{catalogue.PACKAGE}.{benchmark}.breakdown"
    if importlib.util.find_spec(name) is None:
        return _nothing
    found: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] = getattr(
        catalogue.core(benchmark, "breakdown"), "labels_of", _nothing
    )
    return found


def _nothing(case: str, labels: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}
