"""Case builders, as listed by `lct build --help`; the building code itself is imported on demand."""

from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.building import Builder, TaskReport, Work
from long_context_tasks.benchmarks.elitr_bench.options import MeetingSettings


class MeetingBuilder(Builder[MeetingSettings]):
    settings = MeetingSettings
    lengths = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")
    sharded = True

    def write(
        self, source: Path | None, settings: MeetingSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.elitr_bench.synthetic import build

        return build(self.name, settings, folder, work)


BUILDERS: Sequence[Builder] = (
    MeetingBuilder("elitr_bench_qa_synthetic", "qa_synthetic"),
    MeetingBuilder("elitr_bench_conv_synthetic", "conv_synthetic"),
    MeetingBuilder("elitr_bench_qa_nano", "qa_nano"),
)
