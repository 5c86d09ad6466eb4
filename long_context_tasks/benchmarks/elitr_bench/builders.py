"""The builders of cases, which `lct build --help` reads; the code that builds is imported when it is needed."""

from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.building import Builder, TaskReport, Work
from long_context_tasks.benchmarks.elitr_bench.settings import MeetingSettings
from long_context_tasks.tokens.build_settings import BuildSettings


class MeetingBuilder(Builder):
    settings = MeetingSettings
    lengths = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")
    sharded = True

    def write(
        self, source: Path | None, settings: BuildSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.elitr_bench.synthetic import build

        assert isinstance(settings, MeetingSettings)
        return build(self.name, source, settings, folder, work)


BUILDERS: Sequence[Builder] = (
    MeetingBuilder("elitr_bench_qa_synthetic", "qa_synthetic"),
    MeetingBuilder("elitr_bench_conv_synthetic", "conv_synthetic"),
    MeetingBuilder("elitr_bench_qa_nano", "qa_nano"),
)
