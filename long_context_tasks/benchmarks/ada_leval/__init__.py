"""Ada-LEval: sort the segments of a book, find the accepted answer among many (Wang et al., NAACL 2024)."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.options import Options

_BUILD = f"{__name__}.build"
_TSORT = f"{__name__}.settings:TSortSettings"
_BESTANSWER = f"{__name__}.settings:BestAnswerSettings"
_CONSTRAINTS = f"{__name__}.settings:ConstraintSettings"


@dataclass(frozen=True)
class AdaLevalOptions(Options):
    """See :class:`~long_context_tasks.schema.Options`.

    Attributes:
        cut_keep: front or rear: what a ``_cut*`` variant keeps.
    """

    cut_keep: Literal["front", "rear"] = "front"


BENCHMARK = Benchmark(
    card=Card.load(__file__),
    load=f"{__name__}.data:load_task",
    check_data=f"{__name__}.data:check_data",
    options=AdaLevalOptions,
    split=f"{__name__}.prompts:split_case",
    builders={
        "ada_leval_tsort": Builder("tsort", _TSORT, f"{_BUILD}:build", source=f"{__name__}.settings:BOOKS"),
        "ada_leval_bestanswer": Builder(
            "bestanswer", _BESTANSWER, f"{_BUILD}:build", source=f"{__name__}.settings:POSTS"
        ),
        "ada_leval_tsort_recast": Builder(
            "tsort",
            _TSORT,
            f"{_BUILD}:build",
            source="long_context_tasks.recast.carriers:CARRIERS",
        ),
        "ada_leval_bestanswer_synthetic": Builder(
            "bestanswer", _CONSTRAINTS, f"{_BUILD}:build", sharded=True
        ),
    },
    labels=f"{__name__}.data:labels_of",
)
