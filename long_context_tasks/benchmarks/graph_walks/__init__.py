"""GraphWalks: follow the edges of a directed graph that fills the context (OpenAI, 2025)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import Case, LoadedTask, Options
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder


class GraphWalks(Benchmark):
    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        from long_context_tasks.benchmarks.graph_walks.data import load_task

        return load_task(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.graph_walks.seeded import BUILDERS

        return list(BUILDERS.values())

    def example_answers(self, case: Case, turn: int) -> Sequence[str]:
        nodes = ", ".join(case.turns[turn].gold)
        return (f"The nodes are below.\nFinal Answer: [{nodes}]", "Final Answer: [ffffffffff]", nodes, "[]")


BENCHMARK = GraphWalks()
