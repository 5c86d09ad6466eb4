"""Needle: find one plain sentence in plain text, the easiest task."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import Case, LoadedTask, Options
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder


class Needle(Benchmark):
    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        from long_context_tasks.benchmarks.needle.data import load_task

        return load_task(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.needle.data import BUILDER

        return [BUILDER]

    def example_answers(self, case: Case, turn: int) -> Sequence[str]:
        gold = case.turns[turn].gold
        return (
            gold,
            f"The favourite thing is the {gold}.",
            f"Not the umbrella but the {gold}.",
            "I do not know.",
        )


BENCHMARK = Needle()
