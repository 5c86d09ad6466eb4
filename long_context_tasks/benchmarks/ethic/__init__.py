"""ETHIC: four tasks that need nearly all of a long context (Lee et al., NAACL 2025)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder
    from long_context_tasks.coverage.items import Parts
    from long_context_tasks.schema import Case, Documents, LoadedTask
    from long_context_tasks.schema.report import HeatMap, ScoredRun, Section


class Ethic(Benchmark[EthicOptions]):
    card = Card.load(__file__)
    options = EthicOptions
    splits_context = True

    def load_task(self, name: str, options: EthicOptions) -> "LoadedTask":
        from long_context_tasks.benchmarks.ethic.data import load_task

        return load_task(name, options)

    def has_data(self, name: str, options: EthicOptions) -> bool:
        from long_context_tasks.benchmarks.ethic.data import has_data

        return has_data(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.ethic.builders import BUILDERS

        return BUILDERS

    def split(self, case: "Case", turn: int, documents: "Documents") -> "Parts":
        from long_context_tasks.benchmarks.ethic.prompts import split_case

        return split_case(case, turn, documents)

    def sections(self, runs: "Sequence[ScoredRun]", bins: int | None = None) -> "list[Section]":
        from long_context_tasks.benchmarks.ethic import report

        return report.sections(runs, bins or report.BINS)

    def heat_maps(self, runs: "Sequence[ScoredRun]") -> "list[HeatMap]":
        from long_context_tasks.benchmarks.ethic.report import heat_maps

        return heat_maps(runs)


BENCHMARK = Ethic()
