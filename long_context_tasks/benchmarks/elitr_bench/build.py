"""What can be built for ELITR-Bench: cases on synthetic meetings; its own meetings are the published ones."""

from collections.abc import Mapping

from long_context_tasks.benchmarks.building import Family
from long_context_tasks.benchmarks.elitr_bench.synthetic import LENGTHS, MeetingSettings, build

__all__ = ["FAMILIES", "LENGTHS", "build"]

FAMILIES: Mapping[str, Family] = {
    "elitr_bench_qa_synthetic": Family("qa_synthetic", MeetingSettings),
    "elitr_bench_conv_synthetic": Family("conv_synthetic", MeetingSettings),
}
