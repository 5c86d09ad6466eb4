"""Drafts of cases: what stands in a prompt, how many tokens it has, and how it is written into a case folder."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, Generic, Protocol, TypeVar

from long_context_tasks.benchmarks.building import TaskReport
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.schema import Case, CaseWriter, Turn, format_length
from long_context_tasks.schema.case_folder import text_key
from long_context_tasks.tokens import CL100K, Tokenizer

TOO_SHORT = "the document is too short"
"""Below ``min_document``."""
UNFILLED = "the document is shorter than the length"
_SLOT = re.compile(r"<(passages|num_sections|options|background|target_case|title|question|context|query)>")


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
        """Count the tokens of system and user message, with a blank line between them, as ``data.py`` does."""
        # With cl100k texts of the context were counted before, and counts are remembered.
        parts = self.strings if tokenizer.name == CL100K else (self.user,)
        return sum(tokenizer.count_many((f"{template('build_system')}\n\n", *parts)))

    def case(self, task: str, domain: str, settings: EthicSettings, writer: CaseWriter) -> Case:
        """Return the case, in the form that ``prompts.messages`` renders; its texts go into the case folder.

        The system message is ours, and a label says so.
        """
        texts = {text_key(text): text for text in (template("build_system"), self.user)}
        writer.add_documents(texts.items())
        system, user = texts
        items = [f"{self.items}items"] if self.items else []
        return Case(
            id="_".join([self.id, format_length(self.length), *items]),
            task=task,
            inputs={"system": system, "user": user},
            turns=(Turn(gold=self.gold, question=self.slots.get("question"), labels=self.turn_labels),),
            cluster=f"{domain}_{self.id}",
            num_tokens={tokenizer.name: self.tokens_in(tokenizer) for tokenizer in settings.counted_in},
            document=user,
            labels={
                **self.labels,
                "domain": domain,
                "length": self.length,
                "answer_items": len(self.gold),
                "system_message": "ours",
            },
        )


class HasLength(Protocol):
    """What a case is drafted from."""

    @property
    def length(self) -> int:
        """Most tokens of the prompt."""


W = TypeVar("W", bound=HasLength)


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
    order: tuple[str, ...] = ()
    longest: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Built:
    """The cases of one task and domain, before they are written."""

    task: str
    domain: str
    drafts: Sequence[Draft]
    plan: Plan[Any]

    @classmethod
    def of(cls, task: str, domain: str, plan: Plan[W], made: Iterable[tuple[W, Draft | str]]) -> "Built":
        """Keep the drafts; where a reason stands in place of one, it is counted."""
        drafts = []
        for window, draft in made:
            if isinstance(draft, str):
                plan.dropped[window.length][draft] += 1
            else:
                drafts.append(draft)
        return cls(task, domain, drafts, plan)


def write(built: Built, settings: EthicSettings, writer: CaseWriter) -> list[TaskReport]:
    """Write the cases of a task and domain, and report each length that has some.

    Drafts over their length are left out; a note names the lengths without a case. Cases of one source stand side by side: their
    contexts begin alike, so a prefix cache works.
    """
    plan = built.plan
    name = task_name(built.task, built.domain)
    kept: list[Draft] = []
    sizes: dict[int, list[int]] = {}
    place = {source: number for number, source in enumerate(plan.order)}
    for draft in sorted(built.drafts, key=lambda draft: (place[draft.id], draft.length)):
        tokens = draft.tokens_in(settings.measure)
        if tokens > draft.length:
            plan.dropped[draft.length]["the prompt is over the length"] += 1
        else:
            kept.append(draft)
            sizes.setdefault(draft.length, []).append(tokens)
    if kept:
        writer.add_cases(name, (draft.case(name, built.domain, settings, writer) for draft in kept))
    reports: list[TaskReport] = []
    for length in settings.lengths:
        if length in sizes:
            clusters = len({draft.id for draft in kept if draft.length == length})
            # Notes are reported once.
            notes = () if reports else tuple(plan.notes)
            title = f"{name} {format_length(length)}"
            reports.append(TaskReport(title, sizes[length], clusters, nan, plan.dropped[length], notes))
    if missing := [length for length in settings.lengths if length not in sizes]:
        reasons = sum((plan.dropped[length] for length in missing), Counter())
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common()) or "no documents"
        if reasons[TOO_SHORT] or reasons[UNFILLED]:
            # Documents are counted as far as the greatest length needs.
            why += f"; the longest of {len(plan.order)} documents has {plan.longest:,} tokens or more"
        note = f"{name}: no case of {', '.join(map(format_length, missing))} ({why})"
        last = reports.pop() if reports else TaskReport(name, (), 0, nan, {})
        reports.append(replace(last, notes=(*last.notes, note)))
    return reports
