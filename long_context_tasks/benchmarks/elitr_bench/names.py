"""Names of the tasks: ``elitr_bench_<qa|conv>_<dev|test|synthetic>[_multiturn][_goldhistory][_czech][_werNN]``."""

import difflib
import itertools
import re
from dataclasses import dataclass

from long_context_tasks.schema import InputError

SPLITS = ("dev", "test")
SYNTHETIC = "synthetic"
"""Stands in a name where a split would: meetings written from a seed, with English questions."""
WERS = (20, 40, 60, 80, 100)
"""Target word error rates in percent (section 3 of the paper)."""

_NAME = re.compile(
    r"elitr_bench_(?:(?P<qa>qa)|conv)_(?P<split>dev|test|synthetic)"
    r"(?P<multiturn>(?(qa)_multiturn|(?!)))?(?P<gold>_goldhistory)?(?P<czech>_czech)?(?:_wer(?P<wer>20|40|60|80|100))?"
)


@dataclass(frozen=True)
class TaskName:
    """What a task name says.

    Attributes:
        conv: ELITR-Bench-Conv, whose questions follow from one another, instead of -QA, whose questions stand alone.
        split: dev, or test (``test2`` in the files), or synthetic.
        multi_turn: all questions of a meeting in one conversation; always so in Conv.
        gold_history: the gold answers stand in the history instead of the model's own.
        czech: questions and answers in Czech; the transcripts stay English.
        wer: target word error rate of the transcripts in percent; None: as they are.
    """

    conv: bool
    split: str
    multi_turn: bool
    gold_history: bool = False
    czech: bool = False
    wer: int | None = None

    @property
    def name(self) -> str:
        """The full task name."""
        parts = [
            "elitr_bench",
            "conv" if self.conv else "qa",
            self.split,
            "multiturn" if self.multi_turn and not self.conv else "",
            "goldhistory" if self.gold_history else "",
            "czech" if self.czech else "",
            f"wer{self.wer}" if self.wer else "",
        ]
        return "_".join(part for part in parts if part)

    @property
    def language(self) -> str:
        """Of questions and answers."""
        return "czech" if self.czech else "english"


def task_names() -> list[TaskName]:
    """All tasks on the published meetings, QA before Conv, dev before test."""
    forms = [
        (False, False, False),
        (False, True, False),
        (False, True, True),
        (True, True, False),
        (True, True, True),
    ]
    return [
        TaskName(conv, split, multi_turn, gold, czech, wer)
        for (conv, multi_turn, gold), split, czech, wer in itertools.product(
            forms, SPLITS, (False, True), (None, *WERS)
        )
    ]


def synthetic_task_names() -> list[TaskName]:
    """The tasks on meetings written from a seed, QA before Conv."""
    forms = [(False, False), (True, False), (True, True)]
    return [
        TaskName(conv, SYNTHETIC, multi_turn=conv, gold_history=gold, wer=wer)
        for (conv, gold), wer in itertools.product(forms, (None, *WERS))
    ]


def parse_name(name: str) -> TaskName:
    """What a task name says.

    >>> parse_name("elitr_bench_qa_test_multiturn_czech_wer40").name
    'elitr_bench_qa_test_multiturn_czech_wer40'

    Raises:
        InputError: no such task; the nearest names are given.
    """
    match = _NAME.fullmatch(name)
    gold_alone = match is not None and match["qa"] and match["gold"] and not match["multiturn"]
    no_such = match is not None and match["split"] == SYNTHETIC and (match["multiturn"] or match["czech"])
    if match is None or gold_alone or no_such:
        every = [task.name for task in (*task_names(), *synthetic_task_names())]
        near = difflib.get_close_matches(name, every, n=3)
        raise InputError(f"unknown task {name}; did you mean: {', '.join(near) or 'elitr_bench_qa_test'}?")
    return TaskName(
        conv=match["qa"] is None,
        split=match["split"],
        multi_turn=match["qa"] is None or match["multiturn"] is not None,
        gold_history=match["gold"] is not None,
        czech=match["czech"] is not None,
        wer=int(match["wer"]) if match["wer"] else None,
    )
