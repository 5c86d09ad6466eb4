"""Which documents give a context of which length, drafts of their cases, and how these are written into a case folder."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, Generic, TypeVar

from long_context_tasks.benchmarks.building import (
    TaskReport,
    Work,
)
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.schema import Case, CaseWriter, Turn, format_length
from long_context_tasks.schema.case_folder import stable_seed, text_key
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.chunks import Chunk, Text, chunks_of, pieces_of

TOO_SHORT = "the document is too short"
"""Below ``min_document``."""
UNFILLED = "the document is shorter than the length"
LOOSE = "whole paragraphs or chunks leave too much of the length empty"
"""The document is long enough, but its next paragraph or chunk does not fit any more."""
NOT_CHOSEN = "not among the first n"
_SLOT = re.compile(
    r"<(passages|num_sections|beginnings|section|options|background|target_case|title|question|context|query)>"
)

W = TypeVar("W")
"""What a case is drafted from."""


@dataclass(frozen=True)
class Offer(Generic[W]):
    """What a source offers.

    Attributes:
        tokens: of it, as far as they were counted.
        at: returns the context of a length, or why there is none; called at once.
        key: the sources with the least keys are chosen; of equal keys the first ones.
    """

    id: str
    tokens: int
    at: Callable[[int], W | str]
    key: str = ""


@dataclass(frozen=True)
class Plan(Generic[W]):
    """What can be built of one domain.

    Attributes:
        dropped: length to reasons why sources gave no case.
        order: ids of the sources that were read.
        longest: tokens of the longest source, as far as it was counted.
    """

    windows: tuple[W, ...]
    dropped: Mapping[int, "Counter[str]"]
    order: tuple[str, ...]
    longest: int


def plan_cases(offers: Iterable[Offer[W]], settings: EthicSettings) -> Plan[W]:
    """Plan contexts of every length; with ``n``, that many sources are chosen for each before anything is annotated."""
    found: dict[int, list[tuple[str, W]]] = {length: [] for length in settings.lengths}
    dropped: dict[int, Counter[str]] = {length: Counter() for length in settings.lengths}
    order: list[str] = []
    longest = 0
    for offer in offers:
        order.append(offer.id)
        longest = max(longest, offer.tokens)
        for length in settings.lengths:
            context = TOO_SHORT if offer.tokens < settings.min_document else offer.at(length)
            if isinstance(context, str):
                dropped[length][context] += 1
            else:
                found[length].append((offer.key, context))
    windows: list[W] = []
    for length, own in found.items():
        chosen = sorted(range(len(own)), key=lambda place: own[place][0])[: settings.n]
        if len(chosen) < len(own):
            dropped[length][NOT_CHOSEN] += len(own) - len(chosen)
        windows += [own[place][1] for place in sorted(chosen)]
    return Plan(tuple(windows), dropped, tuple(order), longest)


def choice_key(settings: EthicSettings, domain: str, source: str) -> str:
    """Return a random key of a source, the same one at every length."""
    return stable_seed(settings.seed, "choose", domain, source)


def shuffled(n: int, *seed: object) -> list[int]:
    """Return the numbers below n in an order that depends on the seed only."""
    order = list(range(n))
    random.Random(stable_seed(*seed)).shuffle(order)
    return order


@dataclass(frozen=True)
class Window:
    """The context of one case: the first chunks of a document."""

    source: Source
    length: int
    chunks: tuple[Chunk, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the context."""
        return sum(chunk.tokens for chunk in self.chunks)


def plan_windows(
    sources: Iterable[Source], settings: EthicSettings, progress: Work, *, fill: bool = True
) -> Plan[Window]:
    """Plan windows of every length over the sources of one domain; for ``fill`` see :func:`window`."""
    needed = max(settings.budget(settings.lengths[-1]), settings.min_document)

    def offer(source: Source) -> Offer[Window]:
        chunks = take_turns(
            [first_chunks(own, settings.chunk_tokens, needed, settings.measure) for own in source.documents]
        )
        tokens = sum(chunk.tokens for chunk in chunks)

        def at(length: int) -> Window | str:
            budget = settings.budget(length)
            least = settings.min_fill * budget
            if tokens < least:
                return UNFILLED
            taken = sorted(window(chunks, budget, fill=fill), key=lambda chunk: chunk.pieces[0].part)
            found = Window(source, length, tuple(taken))
            # Without fill the caller checks how much of the length is used.
            return LOOSE if not found.chunks or (fill and found.tokens < least) else found

        return Offer(source.id, tokens, at, choice_key(settings, source.domain, source.id))

    reading = progress.over(sources, "reading and encoding documents", "document")
    return plan_cases(map(offer, reading), settings)


def first_chunks(texts: Iterable[Text], cap: int, needed: int, tokenizer: Tokenizer) -> list[Chunk]:
    """Return the first chunks of texts until they have ``needed`` tokens; the rest is not encoded."""
    chunks: list[Chunk] = []
    size = 0
    for chunk in chunks_of(pieces_of(texts, cap, tokenizer), cap):
        if size >= needed:
            break
        chunks.append(chunk)
        size += chunk.tokens
    return chunks


def take_turns(documents: Sequence[Sequence[Chunk]]) -> list[Chunk]:
    """Return the chunks of documents in the order in which a context takes them: two of each, then the next two of each."""
    turns = sorted(
        (place // 2, number, place) for number, own in enumerate(documents) for place in range(len(own))
    )
    return [documents[number][place] for _, number, place in turns]


def window(chunks: Sequence[Chunk], budget: int, *, fill: bool = True) -> list[Chunk]:
    """Return the first chunks that fit a budget of tokens.

    Windows of one source are nested, so that a chunk is annotated once for all lengths. With ``fill`` the first pieces of the next
    chunk follow as far as they fit, as a shorter chunk.
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
        break
    return taken


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of the slots of a prompt; a slot inside a value stays as it is.

    >>> fill("<passages> <options>", {"passages": "<options>", "options": "[1]"})
    '<options> [1]'
    """
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), text)


def task_name(task: str, domain: str) -> str:
    """Return the name of a task, and of its file with the cases of all lengths: ``ethic_recall_books``."""
    return f"ethic_{task}_{domain}"


@dataclass(frozen=True)
class Draft:
    """A case before it is written.

    Attributes:
        id: of its source; the length is added.
        length: most tokens of its prompt.
        context: fills the slot ``passages``, in strings that can be counted one by one.
        prompt: name of the user message's template.
        slots: fill the template's other slots.
        labels: for breakdowns; domain and length are added.
        rewrite: words of the template to be replaced.
        items: of the answer, where cases with several numbers of them are made.
        part: names a question of several on one context, which then lies apart in the document table, once for all of them.
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
    part: str = ""

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
        """Count the tokens of system and user message, with a blank line between them, as ``data.py`` does."""
        # The two messages are counted apart in every tokenizer.
        return tokenizer.count(f"{template('build_system')}\n\n") + tokenizer.count_parts(self.strings)

    def case(
        self, task: str, domain: str, settings: EthicSettings
    ) -> tuple[Case, tuple[tuple[str, str], ...]]:
        """Return the case, in the form that ``prompts.messages`` renders, and its texts by key.

        The system message is ours, and a label says so.
        """
        texts = [template("build_system"), self.user]
        if self.part:
            texts[1:] = ["".join(self.strings[:-1]), self.strings[-1]]
        keys = [text_key(text) for text in texts]
        items = [f"{self.items}items"] if self.items else []
        items += [self.part] if self.part else []
        case = Case(
            id="_".join([self.id, format_length(self.length), *items]),
            task=task,
            inputs={"system": keys[0], "user": keys[1:] if self.part else keys[1]},
            turns=(Turn(gold=self.gold, question=self.slots.get("question"), labels=self.turn_labels),),
            cluster=f"{domain}_{self.id}",
            num_tokens={tokenizer.name: self.tokens_in(tokenizer) for tokenizer in settings.counted_in},
            document=keys[1],
            labels={
                **self.labels,
                "domain": domain,
                "length": self.length,
                "answer_items": len(self.gold),
                "system_message": "ours",
            },
        )
        return case, tuple(zip(keys, texts, strict=True))


@dataclass(frozen=True)
class Built:
    """The cases of one task and domain, before they are written.

    Attributes:
        made: length and draft of each context, or in place of the draft why there is none.
        notes: for the user.
    """

    task: str
    domain: str
    plan: Plan[Any]
    made: Sequence[tuple[int, Draft | str]]
    notes: tuple[str, ...] = ()


def write(built: Built, settings: EthicSettings, writer: CaseWriter) -> list[TaskReport]:
    """Write the cases of a task and domain, and report each length that has some.

    Drafts over their length are left out; a note names the lengths without a case. Cases of one source stand side by side: their
    contexts begin alike, so a prefix cache works.
    """
    plan, name = built.plan, task_name(built.task, built.domain)
    dropped = {length: Counter(reasons) for length, reasons in plan.dropped.items()}
    kept: list[Draft] = []
    sizes: dict[int, list[int]] = {}
    place = {source: number for number, source in enumerate(plan.order)}
    drafts = []
    for length, draft in built.made:
        if isinstance(draft, str):
            dropped[length][draft] += 1
        else:
            drafts.append(draft)
    for draft in sorted(drafts, key=lambda draft: (place[draft.id], draft.length)):
        tokens = draft.tokens_in(settings.measure)
        if tokens > draft.length:
            dropped[draft.length]["the prompt is over the length"] += 1
        else:
            kept.append(draft)
            sizes.setdefault(draft.length, []).append(tokens)

    def cases() -> Iterator[Case]:
        for draft in kept:
            case, texts = draft.case(name, built.domain, settings)
            writer.add_documents(texts)
            yield case

    if kept:
        writer.add_cases(name, cases())
    reports: list[TaskReport] = []
    for length in settings.lengths:
        if length in sizes:
            own = [draft for draft in kept if draft.length == length]
            figures = {"documents": sum(draft.labels["num_documents"] for draft in own) / len(own)}
            writer.tasks[name].setdefault("figures", {})[format_length(length)] = figures
            clusters = len({draft.id for draft in own})
            # Notes are reported once.
            notes = () if reports else built.notes
            title = f"{name} {format_length(length)}"
            reports.append(TaskReport(title, sizes[length], clusters, nan, dropped[length], notes, figures))
    if missing := [length for length in settings.lengths if length not in sizes]:
        reasons = sum((dropped[length] for length in missing), Counter())
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common()) or "no documents"
        if reasons[TOO_SHORT] or reasons[UNFILLED]:
            # Documents are counted as far as the greatest length needs.
            why += f"; the longest of {len(plan.order)} documents has {plan.longest:,} tokens or more"
        note = f"{name}: no case of {', '.join(map(format_length, missing))} ({why})"
        last = reports.pop() if reports else TaskReport(name, (), 0, nan, {})
        reports.append(replace(last, notes=(*last.notes, note)))
    return reports
