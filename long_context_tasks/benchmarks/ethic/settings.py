"""Settings and sources of the builders, which `lct build --help` reads, so that nothing heavy is imported here."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from long_context_tasks.benchmarks.building import MIN_FILL
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.schema.validated import Number, Whole
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer
from long_context_tasks.tokens.build_settings import (
    ALL_TASKS,
    BuildSettings,
    Listed,
    SourceOption,
    option,
)

RESERVE = 500
"""Tokens of a prompt that are no context: system message and instruction have some 200, a question or background the rest.

The same for all tasks, so that they are built from the same contexts."""
PANEL = "ETHIC (documents)"
"""Title of the options in the help of `lct build`."""
DOCUMENTS = SourceOption(
    "documents",
    "Folder of documents of one domain: novels as for --books; debates as .jsonl or .txt; systematic reviews with abstracts as "
    ".csv, .jsonl or MS^2 .json; court opinions as .jsonl or .txt. Or a folder with the folders books, debates, medicine, law.",
    PANEL,
)


Domain = Annotated[
    Literal["books", "debates", "medicine", "law"] | None,
    option(
        "books, debates, medicine or law. Default: read from the documents' form; plain texts are books.",
        PANEL,
    ),
]


@dataclass(frozen=True)
class EthicSettings(BuildSettings):
    """Settings of all builders of ETHIC; a length is the most tokens of a prompt, ``n`` counts for each domain."""

    SHORTEST: ClassVar[int] = 1_000
    INSTRUCTION: ClassVar[str] = str(RESERVE)

    domain: Domain = None
    annotator: Annotated[
        Path | None,
        option(
            "Model that labels and summarizes chunks: a YAML file as for judges. Its answers are kept in the cache; the same command "
            "asks only for what is missing.",
            PANEL,
        ),
    ] = None
    chunk_tokens: Annotated[Whole, option("Most tokens of a chunk. Default: 1024", PANEL, ge=32)] = 1024
    section_tokens: Annotated[
        Whole | None,
        option(
            "Tokens of a section to be summarized, about. Default: 1024, or an eighth of the length if that is more.",
            PANEL,
            ge=32,
        ),
    ] = None
    items: Annotated[
        Listed[Annotated[Whole, Field(ge=2)]],
        AfterValidator(lambda numbers: tuple(sorted(set(numbers)))),
        option(
            "Numbers of options (ethic_organize) or sections (ethic_summarize), with commas: 2,4,8 makes a case of each from the same "
            "context, so that the answer's length varies and the input's does not. Default: as many as the text gives",
            PANEL,
        ),
    ] = ()
    min_document: Annotated[
        Whole, option("Leave out documents of fewer tokens. Default: 10000", PANEL, ge=0)
    ] = 10_000
    min_fill: Annotated[Number, option(MIN_FILL, ALL_TASKS, ge=0, le=1)] = 0.8
    check_labels: Annotated[
        Path | None,
        option(
            'Chunks labelled by hand, .jsonl with "domain", "passage", "labels": reports the F1 of the annotator\'s labels.',
            PANEL,
        ),
    ] = None

    @property
    def counted_in(self) -> tuple[Tokenizer, ...]:
        """The tokenizers in which prompts are counted: cl100k, and the other one when there is one."""
        other = self.other_tokenizer
        return (get_tokenizer(CL100K), *([other] if other is not None else []))

    def budget(self, length: int) -> int:
        """Most tokens of the context of a length; a tokenizer that needs more for the longest instruction leaves less."""
        longest = self.measure.count(template("build_system")) + self.measure.count(
            template("build_attribute_law")
        )
        return max(0, length - max(RESERVE, 2 * longest))


@dataclass(frozen=True)
class FittedSettings(EthicSettings):
    """Settings of the builders for contexts that are fitted already; counts are remembered for one case only.

    Attributes:
        counters: the tokenizer of the lengths first; then those in which prompts are counted as well; each once.
    """

    counters: tuple[Tokenizer, ...] = ()

    @property
    def measure(self) -> Tokenizer:
        """The tokenizer of the lengths."""
        return self.counters[0]

    @property
    def counted_in(self) -> tuple[Tokenizer, ...]:
        """The tokenizers in which prompts are counted."""
        return self.counters

    def fresh(self) -> "FittedSettings":
        """The same without what was counted, so that memory does not grow with the number of cases."""
        forgetful = (counter.fresh() for counter in self.counters)
        return replace(self, counters=tuple(forgetful))


@dataclass(frozen=True)
class SyntheticSettings(BuildSettings):
    """Settings of synthetic cases; a length is the most tokens of a prompt, ``n`` counts for each domain."""

    SHORTEST: ClassVar[int] = 1_000

    domain: Domain = None

    def fitted(self) -> FittedSettings:
        """The settings of the builders, with the tokenizers that count."""
        other = self.other_tokenizer
        counters = (self.measure, get_tokenizer(CL100K), *([other] if other is not None else []))
        each_once = tuple({counter.name: counter for counter in counters}.values())
        return FittedSettings(lengths=self.lengths, seed=self.seed, n=self.n, counters=each_once)
