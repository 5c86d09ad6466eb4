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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.case_pages import ShownCase, ShownTasks, shower
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.checks import reason
from long_context_tasks.results.evaluations import Evaluation, ScoredCase, scored_cases
from long_context_tasks.results.reuse import Reuse
from long_context_tasks.schema.card import LabelCard
from long_context_tasks.schema.files import json_value
from long_context_tasks.site import words

# Characters that could end a script or, in old browsers, a line of it.
_UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
# A lone surrogate, which UTF-8 cannot encode.
_HALF = re.compile("[\ud800-\udfff]")


def script_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script, whatever texts it contains.

    Object keys must be our own names, never external texts, because keys such as ``__proto__`` are special.

    >>> script_json(["</script>", float("nan")])
    '["\\u003c/script\\u003e",null]'
    """
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # a mapping that is not a dictionary, half a character, or a long number
        text = json.dumps(json_value(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
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

    def remove_others(self, names: Set[str]) -> None:
        """Remove all chunks except those with the given names."""
        for name in self._known - names:
            (self._folder / f"{name}.js").unlink()
        self._known &= names

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
    text = memoryview(content)[len(start) : -len(end)]
    whole = content.startswith(start) and content.endswith(end)
    return whole and hashlib.sha256(text).hexdigest()[:16] == path.stem


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
    chunks: tuple[str, ...]  # names


def write_cases(
    cases: Iterable[ShownCase | CaseList],
    by_run: Mapping[str, Cell],
    names: PageNames,
    store: ChunkStore,
    labels: Mapping[str, Mapping[str, LabelCard]],
) -> tuple[dict[str, str], int]:
    """Store all cases, run by run.

    Return the chunk with each run's list, and the number of cases.
    """
    runs: dict[str, list[CaseList]] = {}
    for run, of_run in groupby(cases, key=attrgetter("run")):
        if (cell := by_run.get(run)) is None:
            continue
        writer = _ListWriter(store, labels.get(cell.benchmark, {}))
        for case in of_run:
            if isinstance(case, CaseList):
                runs.setdefault(run, []).append(case)
            else:
                writer.add(case, cell.metric)
        if made := writer.done(run):
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


class SitePages:
    """Lists of the cases of runs for a new site, made while the runs are read, or taken from the earlier site.

    Args:
        folder: the folder of the new site, before it is moved into place.
        earlier: the folder of the earlier site, which need not exist.
        tasks: loads the runs' tasks.
        warn: prints a line for the user.
        private: show everything, even against the card.
    """

    def __init__(
        self,
        folder: Path,
        earlier: Path,
        tasks: ShownTasks,
        reuse: Reuse,
        warn: Callable[[str], None],
        *,
        private: bool = False,
    ) -> None:
        self._store, self._earlier = ChunkStore(folder / CHUNKS), earlier / CHUNKS
        self._tasks, self.reuse, self._warn, self._private = tasks, reuse, warn, private
        self._keys: dict[str, bytes] = {}  # by which the new lists of runs may be kept
        self._unchanged: dict[str, bool] = {}  # of chunks of the earlier site
        self.lists: dict[str, CaseList] = {}

    def find(self, key: str, evaluation: Evaluation, content: str) -> bool:
        run = evaluation.run
        if not content:
            return False
        parts = (content, self._private, self._tasks.state(run))
        # Loading a task takes long.
        if not self._tasks.tried and self._take(key, self.reuse.key("cases", *parts, True)):
            return True
        self._keys[key] = self.reuse.key("cases", *parts, self._tasks.load(run) is not None)
        return self._take(key, self._keys[key])

    def read(self, key: str, evaluation: Evaluation, cases: Iterable[ScoredCase]) -> Iterator[ScoredCase]:
        show = shower(key, evaluation, self._tasks.load(evaluation.run), private=self._private)
        labels = catalogue.card(catalogue.parse_task(evaluation.run.task).benchmark).labels
        writer, headline, whole = _ListWriter(self._store, labels), evaluation.headline, True
        for stored, turns in cases:
            yield stored, turns
            try:
                shown = show(stored, turns) if whole else None
            except Exception as error:  # a plug-in cannot make the prompt
                shown, whole = None, False
                self._keys.pop(key, None)
                self._warn(f"single cases of {evaluation.run} end here: {reason(error)}")
            if shown:
                metrics = turns[0].scores
                writer.add(shown, headline if headline in metrics else next(iter(metrics), ""))
        if made := writer.done(key):
            self.lists[key] = made

    def read_all(self, key: str, evaluation: Evaluation) -> None:
        try:
            for _ in self.read(key, evaluation, scored_cases(evaluation)):
                pass
        except Exception as error:  # scores can be intact while the responses that they belong to are damaged
            self._warn(f"{evaluation.run} has no single cases: {reason(error)}")

    def keep(self, key: str) -> None:
        if key in self._keys and key in self.lists:
            self.reuse.keep(CaseList, self._keys[key], self.lists[key])

    def of(self, runs: Iterable[str]) -> list[CaseList]:
        """Return the lists of some runs, and remove the chunks of others, whose scores turned out to be unusable."""
        usable = set(runs)
        lists = [made for run, made in self.lists.items() if run in usable]
        self._store.remove_others({name for made in lists for name in made.chunks})
        return lists

    def _take(self, run: str, key: bytes) -> bool:
        found: CaseList | None = self.reuse.find(CaseList, key)
        paths = {name: self._earlier / f"{name}.js" for name in found.chunks} if found else {}
        self._unchanged |= {
            name: is_chunk(path) for name, path in paths.items() if name not in self._unchanged
        }
        if found is None or not all(map(self._unchanged.__getitem__, paths)):
            return False
        self._store.take(paths.values())
        self.lists[run] = found
        return True


class _ListWriter:
    """Packs the cases of a run."""

    def __init__(self, store: ChunkStore, labels: Mapping[str, LabelCard]) -> None:
        self._store, self._labels = store, labels
        self._rows: list[list[Any]] = []
        self._chunks: dict[str, None] = {}
        # Texts of the cases in the current pack, which are those of the last rows, and their size.
        self._waiting: list[str] = []
        self._size = 0

    def add(self, case: ShownCase, metric: str | None) -> None:
        """Add a case; ``metric`` is the one whose scores the list shows."""
        scores = [turn.scores.get(metric or "") for turn in case.turns]
        reason = next((turn.reason for turn in case.turns if turn.reason), None)
        labels = [[words.label_title(name, self._labels), text] for name, text in case.labels.items()]
        self._rows.append([case.case, scores, reason and words.reason_words(reason), labels])
        text = script_json(_case(case, self._store, self._chunks))
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= PACK:
            self._flush()

    def done(self, run: str) -> CaseList | None:
        """Return the list; None without cases."""
        if self._waiting:
            self._flush()
        rows = script_json(self._rows)[1:-1]
        return CaseList(run, len(self._rows), rows, tuple(self._chunks)) if self._rows else None

    def _flush(self) -> None:
        name = self._store.put_text(f"[{','.join(self._waiting)}]")
        self._chunks[name] = None
        for place, row in enumerate(self._rows[-len(self._waiting) :]):
            row.extend((name, place))
        self._waiting, self._size = [], 0


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
