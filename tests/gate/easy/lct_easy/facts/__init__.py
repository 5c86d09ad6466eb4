"""Facts: two questions on a text about the likings of persons."""

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.coverage.items import Parts
from long_context_tasks.schema import Case, Documents, LoadedTask, Options
from long_context_tasks.schema.card import Card


class Facts(Benchmark):
    """See the module."""

    card = Card.load(__file__)

    def load_task(self, name: str, options: Options) -> LoadedTask:
        """Load a task."""
        from lct_easy.facts.data import load_task

        return load_task(name, options)

    def split(self, case: Case, turn: int, documents: Documents) -> Parts:
        """Return text and question."""
        return Parts(case.inputs["text"], case.inputs["question"])


BENCHMARK = Facts()
