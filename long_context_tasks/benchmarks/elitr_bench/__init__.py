"""ELITR-Bench: questions about meeting transcripts, one by one or as a conversation (Thonet et al., COLING 2025)."""

from long_context_tasks.benchmarks.elitr_bench.task import ElitrBenchOptions
from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema.card import Card

_SETTINGS, _WRITE = f"{__name__}.synthetic:MeetingSettings", f"{__name__}.synthetic:build"
_LENGTHS = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")

BENCHMARK = Benchmark(
    card=Card.load(__file__),
    load=f"{__name__}.data:load_task",
    check_data=f"{__name__}.data:check_data",
    options=ElitrBenchOptions,
    variables=("LCT_ELITR_PASSWORD",),
    sections=f"{__name__}.report:sections",
    paper_tables=f"{__name__}.paper:sections",
    judge_agreement=f"{__name__}.paper:judge_agreement",
    rating=f"{__name__}.scoring:rating",
    ratings=f"{__name__}.paper",
    split=f"{__name__}.prompts:split_case",
    builders={
        "elitr_bench_qa_synthetic": Builder(
            "qa_synthetic", _SETTINGS, _WRITE, lengths=_LENGTHS, sharded=True
        ),
        "elitr_bench_conv_synthetic": Builder(
            "conv_synthetic", _SETTINGS, _WRITE, lengths=_LENGTHS, sharded=True
        ),
        "elitr_bench_qa_nano": Builder("qa_nano", _SETTINGS, _WRITE, lengths=_LENGTHS, sharded=True),
    },
)
