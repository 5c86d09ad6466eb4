"""ETHIC: four tasks that need nearly all of a long context (Lee et al., NAACL 2025)."""

from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema.card import Card

_SETTINGS, _WRITE = f"{__name__}.build.settings:EthicSettings", f"{__name__}.build:build"
_SYNTHETIC = f"{__name__}.build.settings:SyntheticSettings"
_DOCUMENTS = f"{__name__}.build.settings:DOCUMENTS"
_LENGTHS = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")
_TASKS = ("recall", "summarize", "organize", "attribute")

BENCHMARK = Benchmark(
    card=Card.load(__file__),
    load=f"{__name__}.data:load_task",
    options=EthicOptions,
    sections=f"{__name__}.report:sections",
    heat_maps=f"{__name__}.report:heat_maps",
    split=f"{__name__}.prompts:split_case",
    builders={
        **{
            f"ethic_{task}": Builder(task, _SETTINGS, _WRITE, source=_DOCUMENTS, lengths=_LENGTHS)
            for task in _TASKS
        },
        "ethic_recall_counterparts": Builder(
            "recall", _SETTINGS, _WRITE, source=_DOCUMENTS, lengths=_LENGTHS
        ),
        **{f"ethic_{task}_synthetic": Builder(task, _SYNTHETIC, _WRITE, lengths=_LENGTHS) for task in _TASKS},
    },
)
