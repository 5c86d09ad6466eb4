"""Settings of ETHIC's builders, and what all of them share: seeds, counting, prompts, cases."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from long_context_tasks.benchmarks.building import min_fill_option
from long_context_tasks.benchmarks.ethic.build.sources import DOMAINS
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.schema import Case, CaseWriter, Turn, format_length
from long_context_tasks.schema.case_folder import text_key
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

LENGTHS = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")
"""What ``...`` stands for in a list of lengths; the paper's own cases have the lengths of their documents."""
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
_SLOT = re.compile(r"<(passages|num_sections|options|background|target_case|title|question|context|query)>")


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
    """Settings of all builders of ETHIC; a length is the most tokens of a prompt, ``n`` counts for each domain.

    Attributes:
        domain: the only one to build; None for all that are there.
        annotator: file of the model that labels, in the form of a judge file.
        chunk_tokens: most tokens of a chunk (section 3.3).
        section_tokens: tokens of a section to be summarized, about; None: those of a chunk, or an eighth of the length if that is more.
        items: numbers of options (organize) or sections (summarize), a case of each; empty: as many as the text gives.
        min_document: documents of fewer tokens are left out (section 3.1).
        min_fill: least share of a length that a context, with the options in organizing, must fill.
        check_labels: a file of chunks labelled by hand, to measure the annotator with (Table B).
    """

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
        counters: the tokenizer of the lengths first; then those in which prompts are counted as well.
    """

    counters: tuple[Tokenizer, ...] = ()

    @property
    def measure(self) -> Tokenizer:
        """The tokenizer of the lengths."""
        return self.counters[0]

    @property
    def counted_in(self) -> tuple[Tokenizer, ...]:
        """The tokenizers in which prompts are counted."""
        return tuple({one.name: one for one in self.counters}.values())

    def fresh(self) -> "FittedSettings":
        """The same without what was counted, so that memory does not grow with the number of cases."""
        forgetful = (one.fresh() for one in self.counters)
        return replace(self, counters=tuple(forgetful))


@dataclass(frozen=True)
class SyntheticSettings(BuildSettings):
    """Settings of synthetic cases; a length is the most tokens of a prompt, ``n`` counts for each domain.

    Attributes:
        domain: the only one to build; None for all that the task has.
    """

    SHORTEST: ClassVar[int] = 1_000

    domain: str | None = domain_option()

    def fitted(self) -> FittedSettings:
        """The settings of the builders, with the tokenizers that count."""
        other = self.other_tokenizer
        counters = (self.measure, get_tokenizer(CL100K), *([other] if other is not None else []))
        return FittedSettings(lengths=self.lengths, seed=self.seed, n=self.n, counters=counters)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of the slots of a prompt; a slot inside a value stays as it is.

    >>> fill("<passages> <options>", {"passages": "<options>", "options": "[1]"})
    '<options> [1]'
    """
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), text)


def task_name(task: str, domain: str) -> str:
    """``ethic_recall_books``: the file of a case folder; it holds the cases of all lengths."""
    return f"ethic_{task}_{domain}"


@dataclass(frozen=True)
class Draft:
    """A case before it is written.

    Attributes:
        id: of its source; the length is added.
        length: most tokens of its prompt.
        context: what stands in the slot ``passages``, in strings that can be counted one by one.
        prompt: name of the user message's template.
        gold: see ``scoring.py``.
        slots: what stands in the template's other slots.
        labels: for breakdowns; domain and length are added.
        turn_labels: of the only turn.
        rewrite: words of the template to be replaced.
        items: of the answer, where cases with several numbers of them are made.
    """

    id: str
    length: int
    context: tuple[str, ...]
    prompt: str
    gold: Any
    slots: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    turn_labels: Mapping[str, Any] = field(default_factory=dict)
    rewrite: Mapping[str, str] = field(default_factory=dict)
    items: int | None = None

    @property
    def strings(self) -> tuple[str, ...]:
        """The user message in strings that count apart: each but the last ends in a line end."""
        text = template(self.prompt)
        for old, new in self.rewrite.items():
            text = text.replace(old, new)
        before, after = text.split("<passages>")
        last = self.context[-1].rstrip("\n")
        return (
            fill(before, self.slots),
            *self.context[:-1],
            last + "\n\n",
            fill(after, self.slots).lstrip("\n"),
        )

    @property
    def user(self) -> str:
        """The user message."""
        return "".join(self.strings)

    def tokens_in(self, tokenizer: Tokenizer) -> int:
        """Tokens of system and user message, with a blank line between them, as ``data.py`` counts."""
        # With cl100k texts of the context were counted before, and counts are remembered.
        parts = self.strings if tokenizer.name == CL100K else (self.user,)
        return sum(tokenizer.count_many((f"{template('build_system')}\n\n", *parts)))


class CaseMaker:
    """Makes the cases of one task and domain from drafts, in the form that ``prompts.messages`` renders.

    The system message and the user message are documents of the case folder; ``inputs`` names them.
    """

    def __init__(self, settings: EthicSettings, writer: CaseWriter, task: str, domain: str) -> None:
        """Prepare; the system message of built cases is ours, and labels say so."""
        self.settings, self.writer = settings, writer
        self.name, self.domain = task_name(task, domain), domain
        self.system = template("build_system")

    def tokens(self, draft: Draft) -> int:
        """Tokens of a prompt in the tokenizer of the lengths."""
        return draft.tokens_in(self.settings.measure)

    def case(self, draft: Draft) -> Case:
        """The case of a draft; its texts go into the folder."""
        system, user = text_key(self.system), text_key(draft.user)
        self.writer.add_documents([(system, self.system), (user, draft.user)])
        return Case(
            id="_".join(
                [draft.id, format_length(draft.length), *([f"{draft.items}items"] if draft.items else [])]
            ),
            task=self.name,
            inputs={"system": system, "user": user},
            turns=(Turn(gold=draft.gold, question=draft.slots.get("question"), labels=draft.turn_labels),),
            cluster=f"{self.domain}_{draft.id}",
            num_tokens={one.name: draft.tokens_in(one) for one in self.settings.counted_in},
            document=user,
            labels={
                **draft.labels,
                "domain": self.domain,
                "length": draft.length,
                "answer_items": len(draft.gold),
                "system_message": "ours",
            },
        )

    def write(self, drafts: Sequence[Draft], order: Sequence[str]) -> dict[int, list[int]]:
        """Write the cases, those of one source side by side: its contexts begin alike, so a prefix cache works.

        Args:
            drafts: of all lengths.
            order: ids of the sources.

        Returns:
            Length to the tokens of its prompts.
        """
        place = {source: number for number, source in enumerate(order)}
        ordered = sorted(drafts, key=lambda draft: (place[draft.id], draft.length))
        if ordered:
            self.writer.add_cases(self.name, (self.case(draft) for draft in ordered))
        sizes: dict[int, list[int]] = {}
        for draft in ordered:
            sizes.setdefault(draft.length, []).append(self.tokens(draft))
        return sizes
