"""Builder settings and sources. `lct build --help` reads them, so nothing heavy is imported here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from long_context_tasks.benchmarks.building import MIN_FILL
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.schema.validated import Number, Whole
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer
from long_context_tasks.tokens.build_settings import ALL_TASKS, BuildSettings, SourceOption, option

# Tokens of a prompt outside the context: about 200 for the system message and instruction, the rest for a
# question or background. All tasks reserve the same number, so that they are built from the same contexts.
RESERVE = 500
PANEL = "ETHIC (documents)"  # heading of these options in `lct build --help`
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
    """Settings for building cases from documents.

    A length is the maximum number of tokens in a prompt; ``n`` applies to each domain.
    """

    SHORTEST: ClassVar[int] = 1_000
    INSTRUCTION: ClassVar[str] = str(RESERVE)

    domain: Domain = None
    annotator: Annotated[
        Path | None,
        option(
            "Model that labels and summarizes chunks: a YAML file as for judges. Its answers are cached, so that the same command asks "
            "only for missing ones.",
            PANEL,
        ),
    ] = None
    chunk_tokens: Annotated[
        Whole, option("Maximum number of tokens of a chunk. Default: 1024", PANEL, ge=32)
    ] = 1024
    min_document: Annotated[
        Whole, option("Leave out documents with fewer tokens. Default: 10000", PANEL, ge=0)
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
        """Tokenizers in which prompts are counted: cl100k, and the user's tokenizer if one is set."""
        other = self.other_tokenizer
        return (get_tokenizer(CL100K), *([other] if other is not None else []))

    def budget(self, length: int) -> int:
        """Return the maximum number of tokens in a context.

        It is reduced if the tokenizer needs many tokens for the longest instruction.
        """
        longest = self.measure.count(template("build_system")) + self.measure.count(
            template("build_attribute_law")
        )
        return max(0, length - max(RESERVE, 2 * longest))


@dataclass(frozen=True)
class SyntheticSettings(BuildSettings):
    """Settings for synthetic cases.

    A length is the maximum number of tokens in a prompt; ``n`` applies to each domain.
    """

    SHORTEST: ClassVar[int] = 1_000

    domain: Domain = None
