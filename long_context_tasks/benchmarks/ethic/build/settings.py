"""Settings of ETHIC's builders; their fields are options of `lct build`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from long_context_tasks.benchmarks.building import min_fill_option
from long_context_tasks.benchmarks.ethic.build.sources import DOMAINS
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer
from long_context_tasks.tokens.build_settings import (
    BuildSettings,
    SourceOption,
    at_least,
    between,
    each,
    one_of,
    option,
    whole_numbers,
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


def domain_option() -> Any:
    """Make the field ``domain`` of settings."""
    return option(
        None,
        "books, debates, medicine or law. Default: read from the documents' form; plain texts are books.",
        PANEL,
        check=one_of(DOMAINS),
    )


@dataclass(frozen=True)
class EthicSettings(BuildSettings):
    """Settings of all builders of ETHIC; a length is the most tokens of a prompt, ``n`` counts for each domain."""

    SHORTEST: ClassVar[int] = 1_000
    INSTRUCTION: ClassVar[str] = str(RESERVE)

    domain: str | None = domain_option()
    annotator: Path | None = option(
        None,
        "Model that labels and summarizes chunks: a YAML file as for judges. Its answers are kept in the cache; the same command "
        "asks only for what is missing.",
        PANEL,
    )
    chunk_tokens: int = option(1024, "Most tokens of a chunk. Default: 1024", PANEL, check=at_least(32))
    section_tokens: int | None = option(
        None,
        "Tokens of a section to be summarized, about. Default: 1024, or an eighth of the length if that is more.",
        PANEL,
        check=at_least(32),
    )
    items: tuple[int, ...] = option(
        (),
        "Numbers of options (ethic_organize) or sections (ethic_summarize), with commas: 2,4,8 makes a case of each from the same "
        "context, so that the answer's length varies and the input's does not. Default: as many as the text gives",
        PANEL,
        check=each(at_least(2)),
        read=whole_numbers,
    )
    min_document: int = option(
        10_000, "Leave out documents of fewer tokens. Default: 10000", PANEL, check=at_least(0)
    )
    min_fill: float = min_fill_option(between(0, 1))
    check_labels: Path | None = option(
        None,
        'Chunks labelled by hand, .jsonl with "domain", "passage", "labels": reports the F1 of the annotator\'s labels.',
        PANEL,
    )

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
        forgetful = (one.fresh() for one in self.counters)
        return replace(self, counters=tuple(forgetful))


@dataclass(frozen=True)
class SyntheticSettings(BuildSettings):
    """Settings of synthetic cases; a length is the most tokens of a prompt, ``n`` counts for each domain."""

    SHORTEST: ClassVar[int] = 1_000

    domain: str | None = domain_option()

    def fitted(self) -> FittedSettings:
        """The settings of the builders, with the tokenizers that count."""
        other = self.other_tokenizer
        counters = (self.measure, get_tokenizer(CL100K), *([other] if other is not None else []))
        each_once = tuple({one.name: one for one in counters}.values())
        return FittedSettings(lengths=self.lengths, seed=self.seed, n=self.n, counters=each_once)
