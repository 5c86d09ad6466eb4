"""Case builders, as listed by `lct build --help`; the building code itself is imported on demand."""

from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.building import Builder, TaskReport, Work
from long_context_tasks.benchmarks.ethic.settings import DOCUMENTS, EthicSettings, SyntheticSettings
from long_context_tasks.recast.carriers import CARRIERS

# Lengths that ``...`` expands to; the paper's own cases are as long as their documents.
_LENGTHS = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")


class DocumentsBuilder(Builder[EthicSettings]):
    settings = EthicSettings
    source = DOCUMENTS
    lengths = _LENGTHS

    def write(
        self, source: Path | None, settings: EthicSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ethic.build import build

        return build(self.name, self.existing(source), settings, folder, work)


class SyntheticBuilder(Builder[SyntheticSettings]):
    settings = SyntheticSettings
    lengths = _LENGTHS
    sharded = True

    def write(
        self, source: Path | None, settings: SyntheticSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ethic.synthetic import build

        return build(self.name, source, settings, folder, work)


class RecastBuilder(SyntheticBuilder):
    """Cases on public texts with the names replaced."""

    source = CARRIERS


BUILDERS: Sequence[Builder] = (
    *(DocumentsBuilder(f"ethic_{task}", task) for task in ("recall", "summarize", "organize", "attribute")),
    DocumentsBuilder("ethic_recall_counterparts", "recall"),
    SyntheticBuilder("ethic_recall_synthetic", "recall"),
    SyntheticBuilder("ethic_attribute_synthetic", "attribute"),
    SyntheticBuilder("ethic_sections", "sections"),
    RecastBuilder("ethic_organize_recast", "organize"),
)
