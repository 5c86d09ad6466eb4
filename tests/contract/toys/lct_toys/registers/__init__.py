"""Registers: find the line of one box among thousands; cases are written from a seed."""

from collections.abc import Sequence

from long_context_tasks.benchmarks.building import Builder
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import LoadedTask, Options
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.report import ScoredRun, Section


class Registers(Benchmark):
    """See the module."""

    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        """Load a task."""
        from lct_toys.registers.data import load_task

        return load_task(name, options)

    def builders(self) -> Sequence[Builder]:
        """Return the only builder."""
        from lct_toys.registers.data import KeysBuilder

        return (KeysBuilder("registers_keys", "keys"),)

    def sections(self, runs: Sequence[ScoredRun], bins: int | None = None) -> list[Section]:
        """Return scores by place."""
        from lct_toys.registers.data import sections

        return sections(runs)


BENCHMARK = Registers()
