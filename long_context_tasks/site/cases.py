"""Store cases as chunks that pages load on demand: a list per run, packs of cases, and single prompts.

Chunks are scripts, because pages opened from a folder cannot fetch data but can add a script. Links to the
chunks are made here, too.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell
from long_context_tasks.schema.files import json_value, write_whole
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
    text = json.dumps(json_value(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # One replacement at a time: a regular expression takes seconds for millions of such characters.
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
        text = script_json(value)
        name = name or self.name_of(text)
        if name not in self._known:
            write_whole(self._folder / f"{name}.js", f'LCT.take("{name}",{text});\n')
            self._known.add(name)
        return name


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


PACK = 64_000
"""Approximate number of characters in a pack of cases: small enough to load at once, but few files."""


@dataclass
class _CaseList:
    rows: list[list[Any]] = field(default_factory=list)
    waiting: list[list[Any]] = field(default_factory=list)  # cases in the current pack
    size: int = 0  # approximate number of characters in the pack

    def flush(self, store: ChunkStore) -> None:
        if self.waiting:
            name = store.put(self.waiting)
            for place, row in enumerate(self.rows[-len(self.waiting) :]):
                row += [name, place]
            self.waiting, self.size = [], 0


def write_cases(
    cases: Iterable[ShownCase],
    by_run: Mapping[str, Cell],
    names: PageNames,
    store: ChunkStore,
    titles: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], int]:
    """Store all cases, keeping one case and one pack per run in memory.

    Return the chunk with each run's list, and the number of cases.
    """
    runs: dict[str, _CaseList] = {}
    for case in cases:
        cell = by_run.get(case.run)
        if cell is None:
            continue
        run = runs.setdefault(case.run, _CaseList())
        scores = [turn.scores.get(cell.metric) for turn in case.turns]
        reason = next((turn.reason for turn in case.turns if turn.reason), None)
        labels = [[words.label_title(name, titles or {}), text] for name, text in case.labels.items()]
        run.rows.append([case.case, scores, reason and words.reason_words(reason), labels])
        shown = _case(case, store)
        run.waiting.append(shown)
        run.size += len(json.dumps(shown, ensure_ascii=False))
        if run.size >= PACK:
            run.flush(store)
    lists: dict[str, str] = {}
    # The lists refer to these chunks before their contents are known.
    beside = {by_run[name].task: store.name_of(f"cases of {by_run[name].task}") for name in runs}
    for name, run in runs.items():
        run.flush(store)
        cell, facts = by_run[name], names.runs.get(name, RunFacts())
        shown_facts = {
            "Host": facts.host,
            "Judge": facts.judge,
            "Made": words.day(facts.made),
            "Seed": facts.seed,
            "Settings": words.settings(cell.settings),
        }
        lists[name] = store.put(
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
                "cases": run.rows,
            }
        )
    for task, name in beside.items():
        store.put(_beside([run for run in lists if by_run[run].task == task], by_run, names, lists), name)
    return lists, sum(len(run.rows) for run in runs.values())


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


def _case(case: ShownCase, store: ChunkStore) -> list[Any]:
    """Return a case for a pack: why parts are withheld, prompt (chunk, length, message count), turns."""
    prompt = None
    if case.prompt is not None:
        # A prompt chunk is named after its hash, so that models with the same prompt share it.
        name = store.put(list(case.prompt))
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
