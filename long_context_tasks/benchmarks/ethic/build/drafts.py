"""Choose the documents for each context length, draft the cases, and write them to a case folder."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan
from typing import Any, Generic, TypeVar

from long_context_tasks.benchmarks.building import TaskReport, Work
from long_context_tasks.benchmarks.ethic.build.sources import EthicSource
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.schema import Case, CaseWriter, Turn, format_length
from long_context_tasks.schema.case_folder import stable_seed, text_key
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.chunks import Chunk, Text, chunks_of, pieces_of

# Reasons why a document yields no case, tallied in reports.
TOO_SHORT = "the document is too short"
UNFILLED = "the document is shorter than the length"
LOOSE = "whole paragraphs or chunks leave too much of the length empty"
NOT_CHOSEN = "not among the first n"
_SLOT = re.compile(r"<(\w+)>")


class NoCase(Exception):
    """Raised when a document yields no case of a given length; the message is the reason."""


C = TypeVar("C")  # a planned context from which a case is drafted


@dataclass(frozen=True)
class ContextCandidate(Generic[C]):
    """A document, review or group of opinions that may yield a context of each length."""

    id: str
    tokens: int  # may be counted only up to the longest length
    key: str  # the smallest keys are chosen, ties in document order
    context: Callable[[int], C]  # takes a length; raises NoCase


@dataclass(frozen=True)
class ContextPlan(Generic[C]):
    """The contexts that can be built from one domain's documents."""

    contexts: tuple[C, ...]  # by length, then in document order
    dropped: Mapping[int, Counter[str]]  # by length: reasons why documents yield no context
    order: tuple[str, ...]  # ids of all documents
    longest: int  # number of tokens in the longest document, as far as counted


def plan_contexts(candidates: Iterable[ContextCandidate[C]], settings: EthicSettings) -> ContextPlan[C]:
    """Plan contexts of every length; ``settings.n`` limits them before the annotator is paid for any."""
    planned: dict[int, list[tuple[str, C]]] = {length: [] for length in settings.lengths}
    dropped: dict[int, Counter[str]] = {length: Counter() for length in settings.lengths}
    order: list[str] = []
    longest = 0
    for candidate in candidates:
        order.append(candidate.id)
        longest = max(longest, candidate.tokens)
        for length in settings.lengths:
            try:
                # Checked at every length, so that all lengths choose from the same documents.
                if candidate.tokens < settings.min_document:
                    raise NoCase(TOO_SHORT)
                planned[length].append((candidate.key, candidate.context(length)))
            except NoCase as reason:
                dropped[length][str(reason)] += 1
    contexts: list[C] = []
    for length, keyed in planned.items():
        # A stable sort, so that ties stay in document order.
        chosen = sorted(range(len(keyed)), key=lambda index: keyed[index][0])[: settings.n]
        if len(chosen) < len(keyed):
            dropped[length][NOT_CHOSEN] += len(keyed) - len(chosen)
        contexts += [keyed[index][1] for index in sorted(chosen)]
    return ContextPlan(tuple(contexts), dropped, tuple(order), longest)


def choice_key(settings: EthicSettings, domain: str, source: str) -> str:
    """Return a document's random key, equal at every length so that all lengths choose the same documents."""
    return stable_seed(settings.seed, "choose", domain, source)


def shuffled(n: int, *seed: object) -> list[int]:
    """Return the numbers below n in an order that depends only on the seed."""
    order = list(range(n))
    random.Random(stable_seed(*seed)).shuffle(order)
    return order


@dataclass(frozen=True)
class ContextWindow:
    """The context of one case: the first chunks of a document."""

    source: EthicSource
    length: int
    chunks: tuple[Chunk, ...]


def plan_windows(
    sources: Iterable[EthicSource], settings: EthicSettings, progress: Work, *, fill: bool = True
) -> ContextPlan[ContextWindow]:
    """Plan windows of every length over one domain's documents; for ``fill`` see :func:`first_fitting`."""
    needed = max(settings.budget(settings.lengths[-1]), settings.min_document)

    def candidates() -> Iterator[ContextCandidate[ContextWindow]]:
        for source in progress.over(sources, "reading and encoding documents", "document"):
            documents = [
                first_chunks(texts, settings.chunk_tokens, needed, settings.measure)
                for texts in source.documents
            ]
            chunks = take_turns(documents)
            tokens = sum(chunk.tokens for chunk in chunks)
            key = choice_key(settings, source.domain, source.id)
            yield ContextCandidate(source.id, tokens, key, partial(_window, source, chunks, settings, fill))

    return plan_contexts(candidates(), settings)


def _window(
    source: EthicSource, chunks: Sequence[Chunk], settings: EthicSettings, fill: bool, length: int
) -> ContextWindow:
    budget = settings.budget(length)
    least = settings.min_fill * budget
    if sum(chunk.tokens for chunk in chunks) < least:
        raise NoCase(UNFILLED)
    # Chunks were taken in turns; the context shows each document in one piece.
    taken = sorted(first_fitting(chunks, budget, fill=fill), key=lambda chunk: chunk.pieces[0].part)
    # Without fill, the caller checks how much of the length is used.
    if not taken or (fill and sum(chunk.tokens for chunk in taken) < least):
        raise NoCase(LOOSE)
    return ContextWindow(source, length, tuple(taken))


def first_chunks(texts: Iterable[Text], cap: int, needed: int, tokenizer: Tokenizer) -> list[Chunk]:
    """Return the first chunks until they reach ``needed`` tokens; the rest is not encoded."""
    chunks: list[Chunk] = []
    size = 0
    for chunk in chunks_of(pieces_of(texts, cap, tokenizer), cap):
        if size >= needed:
            break
        chunks.append(chunk)
        size += chunk.tokens
    return chunks


def take_turns(documents: Sequence[Sequence[Chunk]]) -> list[Chunk]:
    """Order the chunks for a context: two from each document, then the next two from each."""
    turns = sorted(
        (place // 2, number, place) for number, own in enumerate(documents) for place in range(len(own))
    )
    return [documents[number][place] for _, number, place in turns]


def first_fitting(chunks: Sequence[Chunk], budget: int, *, fill: bool = True) -> list[Chunk]:
    """Return the first chunks that fit a budget.

    With ``fill``, the first pieces of the next chunk are added as a shorter chunk.
    """
    taken: list[Chunk] = []
    left = budget
    for chunk in chunks:
        if chunk.tokens <= left:
            taken.append(chunk)
            left -= chunk.tokens
            continue
        pieces = []
        for piece in chunk.pieces:
            if piece.tokens > left:
                break
            pieces.append(piece)
            left -= piece.tokens
        if fill and pieces:
            taken.append(Chunk(tuple(pieces)))
        # A later, smaller chunk might fit, but then a document's windows would not be nested, and a chunk
        # would be annotated more than once.
        break
    return taken


def fill_slots(text: str, values: Mapping[str, str]) -> str:
    """Replace a prompt's slots with values; slots inside values are left as they are."""
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), text)


def task_name(task: str, domain: str) -> str:
    """Return the name of a task, such as ``ethic_recall_books``, which also names its case file."""
    return f"ethic_{task}_{domain}"


@dataclass(frozen=True)
class CaseDraft:
    """A case before it is written."""

    id: str  # the document's id; the case's id adds the length
    length: int  # maximum number of tokens in the prompt
    context: tuple[str, ...]  # fills the slot "passages", in strings that can be tokenized separately
    prompt: str  # the template's name
    gold: Any
    slots: Mapping[str, str] = field(default_factory=dict)  # values of the template's other slots
    # Labels for breakdowns; domain and length are added.
    labels: Mapping[str, Any] = field(default_factory=dict)
    turn_labels: Mapping[str, Any] = field(default_factory=dict)
    rewrite: Mapping[str, str] = field(default_factory=dict)  # phrases in the template to their replacements
    # Name of the question if several share the context, which is then stored once in the document table.
    part: str = ""

    @property
    def strings(self) -> tuple[str, ...]:
        """The user message as strings whose token counts add up: all but the last end in a line break."""
        text = template(self.prompt)
        for old, new in self.rewrite.items():
            text = text.replace(old, new)
        before, after = text.split("<passages>")
        last = self.context[-1].rstrip("\n")
        return (
            fill_slots(before, self.slots),
            *self.context[:-1],
            last + "\n\n",
            fill_slots(after, self.slots).lstrip("\n"),
        )

    @property
    def user(self) -> str:
        return "".join(self.strings)

    def tokens_in(self, tokenizer: Tokenizer) -> int:
        """Count the tokens of system and user message, joined by a blank line, as ``data.py`` does."""
        # No token spans the blank line in any tokenizer, so the messages can be counted separately.
        return tokenizer.count(f"{template('build_system')}\n\n") + tokenizer.count_parts(self.strings)

    def case(
        self, task: str, domain: str, tokenizers: Iterable[Tokenizer]
    ) -> tuple[Case, tuple[tuple[str, str], ...]]:
        """Return the case, as rendered by ``prompts.messages``, and its texts by key."""
        texts = [template("build_system"), self.user]
        if self.part:
            texts[1:] = ["".join(self.strings[:-1]), self.strings[-1]]
        # Keys depend on the content, so a context shared by several cases is stored once.
        keys = [text_key(text) for text in texts]
        case = Case(
            id="_".join([self.id, format_length(self.length), *([self.part] if self.part else [])]),
            task=task,
            inputs={"system": keys[0], "user": keys[1:] if self.part else keys[1]},
            turns=(Turn(gold=self.gold, question=self.slots.get("question"), labels=self.turn_labels),),
            cluster=f"{domain}_{self.id}",
            num_tokens={tokenizer.name: self.tokens_in(tokenizer) for tokenizer in tokenizers},
            document=keys[1],
            labels={
                **self.labels,
                "domain": domain,
                "length": self.length,
                "answer_items": len(self.gold),
                # The published system messages are not documented, so built cases use our own.
                "system_message": "ours",
            },
        )
        return case, tuple(zip(keys, texts, strict=True))


@dataclass
class DomainCases:
    """The drafts for one task and domain, before they are written."""

    task: str
    domain: str
    plan: ContextPlan[Any]
    drafts: list[CaseDraft] = field(default_factory=list)
    # By length: reasons why a planned context or document yields no case.
    dropped: dict[int, Counter[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A copy, because several kinds of cases may share one plan.
        self.dropped = {length: Counter(reasons) for length, reasons in self.plan.dropped.items()}

    @contextmanager
    def counting(self, length: int) -> Iterator[None]:
        """Count the reason of a :class:`NoCase` raised while a case of this length is drafted."""
        try:
            yield
        except NoCase as reason:
            self.dropped[length][str(reason)] += 1


def write(built: DomainCases, settings: EthicSettings, writer: CaseWriter) -> list[TaskReport]:
    """Write a task's cases in one domain and report each length; omit drafts over their length."""
    plan, dropped, name = built.plan, built.dropped, task_name(built.task, built.domain)
    kept: list[CaseDraft] = []
    sizes: dict[int, list[int]] = {}
    order = {source: number for number, source in enumerate(plan.order)}
    # Contexts from one document begin alike, so adjacent cases share a prefix cache.
    for draft in sorted(built.drafts, key=lambda draft: (order[draft.id], draft.length)):
        tokens = draft.tokens_in(settings.measure)
        # The reserved tokens may not suffice for a long question or background.
        if tokens > draft.length:
            dropped[draft.length]["the prompt is over the length"] += 1
        else:
            kept.append(draft)
            sizes.setdefault(draft.length, []).append(tokens)

    def cases() -> Iterator[Case]:
        for draft in kept:
            case, texts = draft.case(name, built.domain, settings.counted_in)
            writer.add_documents(texts)
            yield case

    if kept:
        writer.add_cases(name, cases())
    reports: list[TaskReport] = []
    for length in settings.lengths:
        if length in sizes:
            drafts = [draft for draft in kept if draft.length == length]
            figures = {"documents": sum(draft.labels["num_documents"] for draft in drafts) / len(drafts)}
            writer.tasks[name].setdefault("figures", {})[format_length(length)] = figures
            clusters = len({draft.id for draft in drafts})
            # The notes apply to all lengths; the first report carries them.
            notes = () if reports else built.notes
            title = f"{name} {format_length(length)}"
            reports.append(TaskReport(title, sizes[length], clusters, nan, dropped[length], notes, figures))
    if missing := [length for length in settings.lengths if length not in sizes]:
        note = f"{name}: no case of {', '.join(map(format_length, missing))} ({_why(built, missing)})"
        last = reports.pop() if reports else TaskReport(name, (), 0, nan, {})
        reports.append(replace(last, notes=(*last.notes, note)))
    return reports


def _why(built: DomainCases, missing: Sequence[int]) -> str:
    reasons = sum((built.dropped[length] for length in missing), Counter())
    why = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common()) or "no documents"
    if reasons[TOO_SHORT] or reasons[UNFILLED]:
        # Counting stops at the greatest length, hence "or more".
        plan = built.plan
        why += f"; the longest of {len(plan.order)} documents has {plan.longest:,} tokens or more"
    return why
