"""Links from a score to the cases of its runs, each named by what tells it from the others: host, judge, day, seed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from long_context_tasks.report.site import words


@dataclass(frozen=True)
class RunFacts:
    """What tells a run from others of the same score; texts, empty where nobody says.

    Attributes:
        task, host, judge, made, seed: as in the tidy schema.
    """

    task: str
    host: str
    judge: str
    made: str
    seed: str

    @property
    def told(self) -> str:
        """All but the task in one line, for the title of a link."""
        parts = (self.host, self.judge and f"judge {self.judge}", words.day(self.made), self._seed)
        return ", ".join(part for part in parts if part)

    @property
    def parts(self) -> tuple[str, ...]:
        """What may stand in a link, in the order in which it is asked for."""
        judge = self.judge and f"judge {self.judge}"
        return self.task, self.host, judge, words.day(self.made), self._seed, _time(self.made)

    @property
    def _seed(self) -> str:
        return self.seed and f"seed {self.seed}"


@dataclass(frozen=True)
class RunLink:
    """A link to the cases of a run.

    Attributes:
        label: what it shows; empty where it is the only one.
        told: the run in one line.
        chunk: with the list of its cases.
    """

    label: str
    told: str
    chunk: str


def facts_of(runs: pl.DataFrame) -> dict[str, RunFacts]:
    """Run to its facts; see :data:`long_context_tasks.report.schema.RUNS`."""
    columns = ("task", "host", "judge", "made", "seed")
    return {
        str(run): RunFacts(*("" if one is None else str(one) for one in facts))
        for run, *facts in runs.select("run", *columns).iter_rows()
    }


def run_links(runs: Sequence[str], facts: Mapping[str, RunFacts], lists: Mapping[str, str]) -> list[RunLink]:
    """Links of the runs that have a list of cases.

    Args:
        runs: of one score.
        facts: see :func:`facts_of`; a run without any has a number.
        lists: run to the chunk with the list of its cases.
    """
    shown = [run for run in runs if run in lists]
    known = [facts.get(run, RunFacts("", "", "", "", "")) for run in shown]
    return [
        RunLink(label, one.told, lists[run])
        for run, one, label in zip(shown, known, labels_of(known), strict=True)
    ]


def labels_of(facts: Sequence[RunFacts]) -> list[str]:
    """As much of each as tells them apart, and a number where nothing does; empty for a single one.

    >>> first = RunFacts("t", "lm_eval", "", "2026-01-31T10-00-00", "1")
    >>> labels_of([first, RunFacts("t", "opencompass", "", "20260131_100000", "1")])
    ['lm_eval', 'opencompass']
    >>> labels_of([first, RunFacts("t", "lm_eval", "", "2026-01-31T11-00-00", "2")]), labels_of([first, first])
    (['seed 1', 'seed 2'], ['1', '2'])
    """
    labels = [""] * len(facts)
    for texts in zip(*(one.parts for one in facts), strict=True):
        longer = [" ".join(filter(None, pair)) for pair in zip(labels, texts, strict=True)]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    counted: dict[str, int] = {}
    numbered = []
    for label in labels:
        counted[label] = counted.get(label, 0) + 1
        same = labels.count(label) > 1
        numbered.append(" ".join(filter(None, (label, str(counted[label]) if same else ""))))
    return numbered


def _time(made: str) -> str:
    """Time of the day in a moment as a host wrote it; empty where it has none.

    >>> _time("20260131_100230"), _time("2026-01-31")
    ('10:02:30', '')
    """
    digits = re.sub(r"\D", "", made)
    return f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}" if len(digits) >= 14 else ""
