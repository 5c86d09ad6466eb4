"""Ada-LEval: sort the segments of a book, find the accepted answer among many (Wang et al., NAACL 2024)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from long_context_tasks.benchmarks.ada_leval.options import AdaLevalOptions
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder
    from long_context_tasks.coverage.items import Parts
    from long_context_tasks.schema import Case, Documents, LoadedTask


class AdaLeval(Benchmark[AdaLevalOptions]):
    card = Card.load(__file__)
    options = AdaLevalOptions

    def load_task(self, name: str, options: AdaLevalOptions) -> "LoadedTask":
        from long_context_tasks.benchmarks.ada_leval.data import load_task

        return load_task(name, options)

    def has_data(self, name: str, options: AdaLevalOptions) -> bool:
        from long_context_tasks.benchmarks.ada_leval.data import has_data

        return has_data(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.ada_leval.builders import BUILDERS

        return tuple(BUILDERS.values())

    def labels(self, case: str, labels: Mapping[str, Any]) -> Mapping[str, str]:
        from long_context_tasks.benchmarks.ada_leval.data import labels_of

        return labels_of(case, labels)

    def split(self, case: "Case", turn: int, documents: "Documents") -> "Parts":
        from long_context_tasks.benchmarks.ada_leval.prompts import messages
        from long_context_tasks.coverage.items import split_by_documents

        return split_by_documents(case, turn, documents, messages)


BENCHMARK = AdaLeval()
