"""Store cases as chunks that pages load on demand: a list per run, packs of cases, and single prompts.

Chunks are scripts, because pages opened from a folder cannot fetch data but can add a script. Links to the
chunks are made here, too.
"""

import hashlib
import json
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.files import json_value
from long_context_tasks.site import words

# Characters that could end a script or, in old browsers, a line of it.
_UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
# A lone surrogate, which UTF-8 cannot encode.
_HALF = re.compile("[\ud800-\udfff]")


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def script_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script, whatever texts it contains.

    Object keys must be our own names, never external texts, because keys such as ``__proto__`` are special.

    >>> script_json(["</script>", float("nan")])
    '["\\u003c/script\\u003e",null]'
    """
    try:
        text = _COMPACT.encode(value)
    except (TypeError, ValueError):  # a mapping that is not a dictionary, or a number that is not finite
        text = _COMPACT.encode(json_value(value))
    # One replacement at a time: a regular expression takes seconds for millions of such characters.
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return text if text.isascii() else _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ChunkStore:
    """Writes each chunk once, named by 16 hex digits of the SHA-256 of its content or of a given text."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known: set[str] = set()

    @staticmethod
    def name_of(text: str) -> str:
        """Return the name of a chunk, which other chunks may refer to before it is stored."""
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def put(self, value: Any, name: str = "") -> str:
        """Store a JSON value and return its chunk's name, by default the hash of the content."""
        return self.put_text(script_json(value), name)

    def put_text(self, text: str, name: str = "") -> str:
        """Store a value as :func:`script_json` returns it."""
        name = name or self.name_of(text)
        if name not in self._known:
            # The folder is not a site yet, so that its files need not be whole at any time.
            (self._folder / f"{name}.js").write_bytes(f'LCT.take("{name}",{text});\n'.encode())
            self._known.add(name)
        return name

    def take(self, paths: Iterable[Path]) -> None:
        """Take unchanged chunks of an earlier site, see :func:`is_chunk`."""
        for path in paths:
            if path.stem not in self._known:
                try:
                    os.link(path, self._folder / path.name)
                except OSError:  # a file system without links
                    shutil.copyfile(path, self._folder / path.name)
                self._known.add(path.stem)


def is_chunk(path: Path) -> bool:
    """Return whether a file is a chunk with the content that its name states."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    start, end = f'LCT.take("{path.stem}",'.encode(), b");\n"
    text = content[len(start) : -len(end)]
    return content == start + text + end and hashlib.sha256(text).hexdigest()[:16] == path.stem


@dataclass(frozen=True)
class RunFacts:
    """Attributes that distinguish runs with the same score, as in the tidy schema; empty if unknown."""

    task: str = ""
    host: str = ""
    judge: str = ""
    made: str = ""
    seed: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """Texts that a link may show, the most useful first."""
        seed = self.seed and f"seed {self.seed}"
        judge = words.judged_by(self.judge)
        return self.task, self.host, judge, words.day(self.made), seed, words.time_of_day(self.made)


def facts_of(runs: pl.DataFrame) -> dict[str, RunFacts]:
    columns = ("task", "host", "judge", "made", "seed")
    return {
        str(run): RunFacts(*("" if fact is None else str(fact) for fact in facts))
        for run, *facts in runs.select("run", *columns).iter_rows()
    }


def labels_of(facts: Sequence[RunFacts]) -> list[str]:
    """Return the shortest labels that distinguish runs, numbered if nothing else does; empty for one run.

    >>> first = RunFacts("t", "lm_eval", "", "2026-01-31T10-00-00", "1")
    >>> labels_of([first, RunFacts("t", "opencompass", "", "20260131_100000", "1")])
    ['lm_eval', 'opencompass']
    >>> labels_of([first, RunFacts("t", "lm_eval", "", "2026-01-31T11-00-00", "2")]), labels_of([first, first])
    (['seed 1', 'seed 2'], ['1', '2'])
    """
    labels = [""] * len(facts)
    for texts in zip(*(run.parts for run in facts), strict=True):
        longer = [" ".join(filter(None, pair)) for pair in zip(labels, texts, strict=True)]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    seen: Counter[str] = Counter()
    numbered = []
    for label in labels:
        seen[label] += 1
        number = str(seen[label]) if labels.count(label) > 1 else ""
        numbered.append(" ".join(filter(None, (label, number))))
    return numbered


@dataclass(frozen=True)
class PageNames:
    models: Mapping[str, str]  # model to slug
    tasks: Mapping[str, str]  # task to slug
    runs: Mapping[str, RunFacts] = field(default_factory=dict)
    case_lists: Mapping[str, str] = field(default_factory=dict)  # run to the chunk with its list of cases

    def page(self, about: str, cell: Cell) -> str:
        slug = self.models[cell.model] if about == "model" else self.tasks[cell.task]
        return f"{about}/{slug}.html"

    def run_links(self, runs: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return label, title and chunk of each link to runs' cases; a single link has an empty label."""
        listed = [run for run in runs if run in self.case_lists]
        known = [self.runs.get(run, RunFacts()) for run in listed]
        return [
            (label, ", ".join(filter(None, facts.parts[1:5])), self.case_lists[run])
            for run, facts, label in zip(listed, known, labels_of(known), strict=True)
        ]


CHUNKS = "data"
"""Folder of the chunks in a site."""
PACK = 64_000
"""Approximate number of characters in a pack of cases: small enough to load at once, but few files."""


@dataclass(frozen=True)
class CaseList:
    """The cases of a run, whose texts are stored in chunks."""

    run: str
    n: int  # number of cases
    rows: str  # JSON of each, with commas between them: case, scores, reason, labels, chunk and place in it
    chunks: tuple[Path, ...]


class KeptLists:
    """Lists of cases as earlier reports made them, as long as the site in ``folder`` has their chunks unchanged."""

    def __init__(
        self, collection: Collection, cells: Sequence[Cell], titles: Mapping[str, str], folder: Path
    ) -> None:
        self._collection, self._titles, self._folder = collection, titles, folder / CHUNKS
        self._unchanged: dict[Path, bool] = {}
        self._metrics = {run: cell.metric for cell in cells for run in cell.runs}
        self._keys: dict[str, bytes | None] = {}

    def find(self, run: str, *data: Any) -> CaseList | None:
        """Return the list of a run whose cases are shown with some state of the task's data, and remember that state."""
        parts = (self._metrics.get(run), self._titles, *data)
        self._keys[run] = self._collection.key(CaseList, [run], *parts)
        found: CaseList | None = self._collection.reuse.find(CaseList, self._keys[run])
        if found is None:
            return None
        chunks = tuple(self._folder / path.name for path in found.chunks)
        self._unchanged |= {path: is_chunk(path) for path in chunks if path not in self._unchanged}
        return replace(found, chunks=chunks) if all(map(self._unchanged.__getitem__, chunks)) else None

    def forget(self, run: str) -> None:
        """Do not keep the list of a run whose cases could not all be read."""
        self._keys.pop(run, None)

    def keep(self, cases: CaseList) -> None:
        self._collection.reuse.keep(CaseList, self._keys.get(cases.run), cases)


def write_cases(
    cases: Iterable[ShownCase | CaseList],
    by_run: Mapping[str, Cell],
    names: PageNames,
    store: ChunkStore,
    titles: Mapping[str, str] | None = None,
    kept: KeptLists | None = None,
) -> tuple[dict[str, str], int]:
    """Store all cases, run by run.

    Return the chunk with each run's list, and the number of cases.
    """
    runs: dict[str, list[CaseList]] = {}
    for run, of_run in groupby(cases, key=attrgetter("run")):
        if (cell := by_run.get(run)) is None:
            continue
        items = iter(of_run)
        first = next(items)
        if isinstance(first, CaseList):
            made = first
            store.take(made.chunks)
        else:
            others = (case for case in items if isinstance(case, ShownCase))
            made = _case_list(chain([first], others), cell, store, titles or {})
            if kept:
                kept.keep(made)
        runs.setdefault(run, []).append(made)
    lists: dict[str, str] = {}
    # The lists refer to these chunks before their contents are known.
    beside = {by_run[name].task: store.name_of(f"cases of {by_run[name].task}") for name in runs}
    for name, parts in runs.items():
        cell, facts = by_run[name], names.runs.get(name, RunFacts())
        shown_facts = {
            "Host": facts.host,
            "Judge": facts.judge,
            "Made": words.day(facts.made),
            "Seed": facts.seed,
            "Settings": words.settings(cell.settings),
        }
        about = script_json(
            {
                "run": name,
                "model": cell.model,
                "task": cell.task,
                "modelPage": names.page("model", cell),
                "taskPage": names.page("task", cell),
                "metric": cell.metric,
                "points": int(cell.points),
                "facts": [[fact, text] for fact, text in shown_facts.items() if text],
                "beside": beside[cell.task],
            }
        )
        rows = ",".join(part.rows for part in parts)
        lists[name] = store.put_text(f'{about[:-1]},"cases":[{rows}]}}')
    for task, name in beside.items():
        store.put(_beside([run for run in lists if by_run[run].task == task], by_run, names, lists), name)
    return lists, sum(part.n for parts in runs.values() for part in parts)


def _case_list(
    cases: Iterator[ShownCase], cell: Cell, store: ChunkStore, titles: Mapping[str, str]
) -> CaseList:
    rows: list[str] = []
    chunks: dict[str, None] = {}
    waiting: list[tuple[str, str]] = []  # row and text of the cases in the current pack
    size, run = 0, ""

    def flush() -> None:
        name = store.put_text(f"[{','.join(text for _, text in waiting)}]")
        chunks[name] = None
        rows.extend(f'{row[:-1]},"{name}",{place}]' for place, (row, _) in enumerate(waiting))
        waiting.clear()

    for case in cases:
        run = case.run
        scores = [turn.scores.get(cell.metric) for turn in case.turns]
        reason = next((turn.reason for turn in case.turns if turn.reason), None)
        labels = [[words.label_title(name, titles), text] for name, text in case.labels.items()]
        row = script_json([case.case, scores, reason and words.reason_words(reason), labels])
        text = script_json(_case(case, store, chunks))
        waiting.append((row, text))
        size += len(text)
        if size >= PACK:
            flush()
            size = 0
    if waiting:
        flush()
    return CaseList(run, len(rows), ",".join(rows), tuple(Path(f"{name}.js") for name in chunks))


def _beside(
    runs: Sequence[str], by_run: Mapping[str, Cell], names: PageNames, lists: Mapping[str, str]
) -> list[list[str]]:
    """Return a task's case lists, best model first: model, label among the model's runs, and chunk."""

    def place(run: str) -> tuple[float, str]:
        value = by_run[run].mean.value
        return -value if math.isfinite(value) else math.inf, by_run[run].model

    by_model: dict[str, list[str]] = {}
    for run in sorted(runs, key=place):
        by_model.setdefault(by_run[run].model, []).append(run)
    return [
        [model, f"run {label}" if label.isdecimal() else label, lists[run]]
        for model, runs_of_model in by_model.items()
        for run, label in zip(
            runs_of_model, labels_of([names.runs.get(run, RunFacts()) for run in runs_of_model]), strict=True
        )
    ]


def _case(case: ShownCase, store: ChunkStore, chunks: dict[str, None]) -> list[Any]:
    """Return a case for a pack: why parts are withheld, prompt (chunk, length, message count), turns.

    The chunk of the prompt is added to ``chunks``.
    """
    prompt = None
    if case.prompt is not None:
        # A prompt chunk is named after its hash, so that models with the same prompt share it.
        name = store.put(list(case.prompt))
        chunks[name] = None
        prompt = [name, sum(len(content) for _, content in case.prompt), len(case.prompt)]
    turns = [
        [
            turn.question,
            turn.gold,
            turn.response,
            list(turn.scores.items()),
            turn.reason and words.reason_words(turn.reason),
            list(turn.feedback),
        ]
        for turn in case.turns
    ]
    return [case.withheld, prompt, turns]
