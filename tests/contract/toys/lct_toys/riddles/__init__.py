"""Riddles: the smallest benchmark, a card and one file."""

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import LoadedTask, Options
from long_context_tasks.schema.card import Card


class Riddles(Benchmark):
    """See the module."""

    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        """Load a task."""
        from lct_toys.riddles.data import load_task

        return load_task(name, options)


BENCHMARK = Riddles()
