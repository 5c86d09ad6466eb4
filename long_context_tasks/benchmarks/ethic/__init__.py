"""ETHIC: four tasks that need nearly all of a long context (Lee et al., NAACL 2025)."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.options import Options, Text


@dataclass(frozen=True)
class EthicOptions(Options):
    """See :class:`~long_context_tasks.schema.Options`.

    Attributes:
        prompt_style: how the prompt is laid out.
        prompt_tokens: under_32k or over_32k: only prompts of at most, or above, 32,768 tokens of the model's tokenizer.
    """

    prompt_style: Text | None = None
    prompt_tokens: Literal["under_32k", "over_32k"] | None = None


_SETTINGS, _DOCUMENTS = f"{__name__}.build.settings:EthicSettings", f"{__name__}.build.settings:DOCUMENTS"
_SYNTHETIC = f"{__name__}.build.settings:SyntheticSettings"
_LENGTHS = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")
"""What ``...`` stands for in a list of lengths; the paper's own cases have the lengths of their documents."""
_TASKS = ("recall", "summarize", "organize", "attribute")
_WRITTEN = {
    "ethic_recall_synthetic": "recall",
    "ethic_attribute_synthetic": "attribute",
    "ethic_sections": "sections",
}
_FAMILIES = {**{f"ethic_{task}": task for task in _TASKS}, "ethic_recall_counterparts": "recall"}

BENCHMARK = Benchmark(
    card=Card.load(__file__),
    load=f"{__name__}.data:load_task",
    check_data=f"{__name__}.data:check_data",
    options=EthicOptions,
    sections=f"{__name__}.report:sections",
    heat_maps=f"{__name__}.report:heat_maps",
    split=f"{__name__}.prompts:split_case",
    builders={
        **{
            name: Builder(task, _SETTINGS, f"{__name__}.build:build", source=_DOCUMENTS, lengths=_LENGTHS)
            for name, task in _FAMILIES.items()
        },
        **{
            name: Builder(task, _SYNTHETIC, f"{__name__}.synthetic:build", lengths=_LENGTHS, sharded=True)
            for name, task in _WRITTEN.items()
        },
        "ethic_organize_recast": Builder(
            "organize",
            _SYNTHETIC,
            f"{__name__}.synthetic:build",
            source="long_context_tasks.recast.carriers:CARRIERS",
            lengths=_LENGTHS,
            sharded=True,
        ),
    },
)
