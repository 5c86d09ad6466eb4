"""Names of the tasks: ``elitr_bench_<qa|conv>_<dev|test|synthetic>[_multiturn][_goldhistory][_czech][_werNN]``; the card lists them."""

from dataclasses import dataclass

from long_context_tasks.benchmarks.catalogue import TaskSpec, parse_task

SYNTHETIC = "synthetic"
"""In a name in place of a split: meetings written from a seed, with English questions."""


@dataclass(frozen=True)
class TaskName:
    """What a task name says.

    Attributes:
        conv: ELITR-Bench-Conv, whose questions follow from one another, instead of -QA, whose questions stand alone.
        split: dev, or test (``test2`` in the files), or synthetic.
        multi_turn: all questions of a meeting in one conversation; always so in Conv.
        gold_history: the gold answers replace the model's own in the history.
        czech: questions and answers in Czech; the transcripts stay English.
        wer: target word error rate of the transcripts in percent; None: as they are.
    """

    conv: bool
    split: str
    multi_turn: bool
    gold_history: bool = False
    czech: bool = False
    wer: int | None = None

    @classmethod
    def of(cls, spec: TaskSpec) -> "TaskName":
        """Read the name of a task."""
        kind, _, synthetic = spec.task.partition("_")
        words = spec.variant.split("_")
        return cls(
            conv=kind == "conv",
            split=synthetic or spec.split,
            multi_turn=kind == "conv" or "multiturn" in words,
            gold_history="goldhistory" in words,
            czech="czech" in words,
            wer=next((int(word.removeprefix("wer")) for word in words if word.startswith("wer")), None),
        )

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


def parse_name(name: str) -> TaskName:
    """Return what a task name says.

    >>> parse_name("elitr_bench_qa_test_multiturn_czech_wer40").wer
    40

    Raises:
        InputError: no such task; the nearest names are given.
    """
    return TaskName.of(parse_task(name))
