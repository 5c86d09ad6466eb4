"""Cases as chunks that pages load when they need them: a list for each run, packs of cases, and each prompt by itself.

Chunks are scripts: pages opened from a folder cannot fetch data, but they can add a script.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell
from long_context_tasks.schema.files import json_value, write_whole
from long_context_tasks.site import words
from long_context_tasks.site.rows import Names, RunFacts

# Characters that could end a script or, in an old browser, a line of it.
_UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
# Half of a surrogate pair, which UTF-8 has no bytes for.
_HALF = re.compile("[\ud800-\udfff]")


def script_json(value: Any) -> str:
    r"""Return JSON that means the same inside a script, whatever texts are in it.

    Keys of objects must be our own names: texts from outside go into lists (``__proto__`` is a key with a meaning).

    >>> script_json(["</script>", float("nan")])
    '["\\u003c/script\\u003e",null]'
    """
    text = json.dumps(json_value(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Not one expression: a text of millions of such characters would take seconds.
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ChunkStore:
    """Chunks in a folder, each once, under 16 digits of the SHA-256 of its content."""

    def __init__(self, folder: Path) -> None:
        """Make the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known: set[str] = set()

    def put(self, value: Any) -> str:
        """Store a value and return its name.

        Raises:
            InputError: the file cannot be written.
        """
        text = script_json(value)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if name not in self._known:
            write_whole(self._folder / f"{name}.js", f'LCT.take("{name}",{text});\n')
            self._known.add(name)
        return name


PACK = 64_000
"""Approximate characters of cases in a pack: small enough to load at once, large enough to keep files few."""


@dataclass
class _Run:
    """A run's cases so far: rows of the list, and the pack that is being filled."""

    rows: list[list[Any]] = field(default_factory=list)
    waiting: list[list[Any]] = field(default_factory=list)
    size: int = 0


class WrittenCases(NamedTuple):
    """Cases on disk.

    Attributes:
        lists: run to the chunk with the list of its cases.
        n_cases: of all runs.
    """

    lists: Mapping[str, str]
    n_cases: int


def write_cases(
    cases: Iterable[ShownCase],
    by_run: Mapping[str, Cell],
    names: Names,
    store: ChunkStore,
) -> WrittenCases:
    """Store all cases; in memory are one case and a pack for each run.

    Cases of runs that are not in ``by_run`` are left out.
    """
    runs: dict[str, _Run] = {}
    for case in cases:
        cell = by_run.get(case.run)
        if cell is None:
            continue
        run = runs.setdefault(case.run, _Run())
        shown = _case(case, store)
        run.rows.append(_row(case, cell.metric))
        run.waiting.append(shown)
        run.size += len(json.dumps(shown, ensure_ascii=False))
        if run.size >= PACK:
            _flush(run, store)
    lists = {}
    for name, run in runs.items():
        _flush(run, store)
        cell = by_run[name]
        lists[name] = store.put(
            {
                "run": name,
                "model": cell.model,
                "task": cell.task,
                "modelPage": f"model/{names.models[cell.model]}.html",
                "taskPage": f"task/{names.tasks[cell.task]}.html",
                "metric": cell.metric,
                "points": int(cell.points),
                "facts": _facts(names.runs.get(name, RunFacts()), words.settings(cell.settings)),
                "cases": run.rows,
            }
        )
    return WrittenCases(lists, sum(len(run.rows) for run in runs.values()))


def _facts(run: RunFacts, settings: str) -> list[list[str]]:
    """Names and texts that head the page of a run's cases."""
    named = ("Host", run.host), ("Judge", run.judge), ("Made", words.day(run.made)), ("Seed", run.seed)
    return [[name, text] for name, text in (*named, ("Settings", settings)) if text]


def _flush(run: _Run, store: ChunkStore) -> None:
    """Store the waiting cases; their rows then say where they are."""
    if not run.waiting:
        return
    name = store.put(run.waiting)
    for place, row in enumerate(run.rows[-len(run.waiting) :]):
        row += [name, place]
    run.waiting, run.size = [], 0


def _row(case: ShownCase, metric: str) -> list[Any]:
    """Of the list: id, scores of the turns, first reason, labels."""
    reason = next((turn.reason for turn in case.turns if turn.reason), None)
    return [case.case, [turn.scores.get(metric) for turn in case.turns], reason, _pairs(case.labels)]


def _case(case: ShownCase, store: ChunkStore) -> list[Any]:
    """Of a pack: why something is withheld, the prompt's chunk with its length and messages, and the turns."""
    prompt = None
    if case.prompt is not None:
        messages = [[role, content] for role, content in case.prompt]
        prompt = [store.put(messages), sum(len(content) for _, content in case.prompt), len(messages)]
    turns = [
        [turn.question, turn.gold, turn.response, _pairs(turn.scores), turn.reason, list(turn.feedback)]
        for turn in case.turns
    ]
    return [case.withheld, prompt, turns]


def _pairs(mapping: Mapping[str, Any]) -> list[list[Any]]:
    return [[key, value] for key, value in mapping.items()]
