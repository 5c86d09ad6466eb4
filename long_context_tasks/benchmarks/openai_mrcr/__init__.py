"""OpenAI MRCR: repeat one of several answers to the same request in a long conversation (OpenAI, 2025)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import Case, LoadedTask, Options
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder


class OpenAIMrcr(Benchmark):
    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        from long_context_tasks.benchmarks.openai_mrcr.data import load_task

        return load_task(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.openai_mrcr.seeded import BUILDERS

        return list(BUILDERS.values())

    def example_answers(self, case: Case, turn: int) -> Sequence[str]:
        gold = case.turns[turn].gold
        return (gold["answer"], gold["answer"].removeprefix(gold["prefix"]), "I cannot do that.")


BENCHMARK = OpenAIMrcr()
