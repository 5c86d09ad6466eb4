"""Read-only cards of tasks that hosts bring themselves, such as RULER; reports read their results by them.

Prompts and scores are the host's: a card says only where a host's files hold the score, the length and the cluster of a case.
``own_tasks.yaml`` has our cards, and ``--cards`` of ``lct report`` adds a user's.
"""

import fnmatch
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import (
    DAMAGE,
    Found,
    OtherTask,
    StoredCase,
    StoredRun,
    number_of,
    short,
    value_of,
)
from long_context_tasks.schema import InputError, LoadedTask, Options, format_length
from long_context_tasks.schema.card import Card, Source, TaskCard
from long_context_tasks.schema.files import packaged_yaml
from long_context_tasks.schema.response import NOT_SCORED, Response

HOSTS_OWN = "Host's own task: prompts and scores are the host's."
CARDS_REMEDY = "write a list of cards as docs/reading_the_site.md has it"
_UNITS = {"": 0, "k": 1, "m": 2}


class OwnTaskCard(TaskCard):
    """Tasks of a host with the same kind of score; ``headline`` is our name for the metric."""

    source: Source = "published"
    value: str  # field of the sample with the score; {length} in it is replaced
    mean: re.Pattern[str]  # the host's key for the mean; its group ``length`` is a length in the key
    scale: float = Field(default=1, gt=0)  # the host's number for a full score, such as 100 for percent


class OwnCard(Card):
    """A card of a host's tasks. ``labels`` are names of fields of the sample, and of groups of ``names``."""

    host: Literal["lm_eval", "opencompass", "inspect"]
    names: re.Pattern[
        str
    ]  # the host's names for the tasks; its groups ``task`` and ``length`` are parts of ours
    tasks: Mapping[str, OwnTaskCard] = Field(min_length=1)  # by globs on the group ``task``
    length_setting: str = ""  # setting of the host's task that contains the length
    length_field: str = ""  # field of the sample with the length, in a host's run of several lengths
    kilo: Literal[1000, 1024] = 1000  # tokens in 1k
    cluster: str = ""  # field of the sample that related cases share


class OwnTasks(catalogue.ReadOnlyBenchmark):
    card: OwnCard

    def __init__(self, card: OwnCard) -> None:
        self.card = card

    def load_task(self, name: str, options: Options) -> LoadedTask:
        raise InputError(f"{name}: {HOSTS_OWN} It runs only there")

    def parse_task(self, name: str) -> catalogue.TaskSpec:
        task, length = name.removeprefix(f"{self.name}_"), ""
        # niah_single_1 ends in a number that is not a length.
        if match := re.fullmatch(r"(.+)_(\d{3,}|\d+[km])", task, re.ASCII):
            task, length = match.groups()
        return catalogue.TaskSpec(self.name, task, length, card=self.task_card(task), variants=())

    def task_card(self, task: str) -> OwnTaskCard:
        for pattern, card in self.card.tasks.items():
            if fnmatch.fnmatchcase(task, pattern):
                return card
        raise InputError(f"unknown task {task} of {self.name}; its card has {', '.join(self.card.tasks)}")


@dataclass(frozen=True)
class OwnTask:
    """A host's task of one length, if it has lengths."""

    owner: OwnTasks
    name: str
    card: OwnTaskCard
    groups: Mapping[str, str]  # further parts of the host's name
    length: int | None = None  # tokens
    mean_key: str = ""  # the host's key of the mean
    mean: float = math.nan  # the host's mean on our scale

    @property
    def run_name(self) -> str:
        length = format_length(self.length) if self.length else ""
        return "_".join(part for part in (self.owner.name, self.name, length) if part)

    def stored_run(self, **of_host: Any) -> StoredRun:
        return StoredRun(
            task=self.run_name,
            version=self.owner.card.version,
            headline=self.card.headline,
            points=tuple(self.owner.card.points),
            hosts_own=True,
            **{"options": {}, **of_host},
        )

    @property
    def value_key(self) -> str:
        return self.card.value.replace("{length}", str(self.length))

    def has(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a sample is of this length."""
        name = self.owner.card.length_field
        return not name or self.tokens(fields[name]) == self.length

    def case(
        self, case: str, value: Any, response: Response, fields: Mapping[str, Any], **of_host: Any
    ) -> StoredCase:
        """Build a case from the host's score and the fields of its sample."""
        card, known = self.owner.card, {**fields, **self.groups}
        number = value_of(value)
        return StoredCase(
            id=case,
            responses=(response,),
            scores={self.card.headline: (None if number is None else number / self.card.scale,)},
            reasons=(NOT_SCORED if number is None else None,),
            cluster=str(known[card.cluster]) if card.cluster else None,
            labels={name: known[name] for name in card.labels if name in known},
            **of_host,
        )

    def tokens(self, text: Any) -> int | None:
        """Return a length such as 4k in tokens; None if the host has none (``0k``)."""
        match = re.fullmatch(r"(\d{1,9})([km]?)", str(text or 0).lower(), re.ASCII)
        if match is None:
            raise ValueError(f"{str(text)[:40]!r} is not a length")
        return int(match[1]) * self.owner.card.kilo ** _UNITS[match[2]] or None


def own_tasks(
    host: str, name: str, means: Mapping[str, Any], settings: Mapping[str, Any], file: Path
) -> list[OwnTask] | str:
    """Return a host's task once for each length with a mean in ``means`` (the host's results by key); empty without a card.

    If a task does not match its card, return a message that begins with the file, so that the file's other tasks are still read.
    """
    # The last card is the user's.
    cards = [owner for owner in reversed(catalogue.READ_ONLY.values()) if isinstance(owner, OwnTasks)]
    for owner in cards:
        if owner.card.host == host and (match := owner.card.names.fullmatch(name)):
            try:
                return list(_by_length(owner, match, means, settings))
            except DAMAGE as error:
                return f"{file}: {name[:80]!r} is not as the card {owner.name} has it ({short(error)})"
    return []


def _by_length(
    owner: OwnTasks, match: re.Match[str], means: Mapping[str, Any], settings: Mapping[str, Any]
) -> Iterator[OwnTask]:
    groups = {key: value for key, value in match.groupdict().items() if value is not None}
    task = groups.pop("task", match[0])
    # It becomes a part of names of files, and a run may come from a stranger.
    if not re.fullmatch(r"[\w.+-]{1,100}", task):
        raise ValueError("the name has other characters than letters, digits, -, + and .")
    found = OwnTask(owner, task, owner.task_card(task), groups)
    common = groups.get("length") or settings.get(owner.card.length_setting)
    known = {
        key: (of_key.groupdict().get("length") or common, number_of(value) / found.card.scale)
        for key, value in means.items()
        # lm-eval's RULER writes -1 for a length without cases.
        if (of_key := found.card.mean.fullmatch(key)) and isinstance(value, int | float) and value != -1
    }
    # Without a mean, reading the cases reports the reason.
    for key, (length, mean) in (known or {"": (common, math.nan)}).items():
        yield replace(found, length=found.tokens(length), mean_key=key, mean=mean)


def own_runs(
    name: str,
    means: Mapping[str, Any],
    settings: Mapping[str, Any],
    n_cases: int,
    read: Callable[..., Iterator[StoredCase]],  # given the run and ``task``
    **of_host: Any,
) -> list[Found]:
    """Return the runs of a host's result, one per length, with the fields ``of_host``; ``n_cases`` is the total over lengths.

    Without a card, return the task as another one.
    """
    found = own_tasks(of_host["host"], name, means, settings, of_host["result_file"])
    if isinstance(found, str):
        return [found]
    if not found:
        return [OtherTask(of_host["host"], name)]
    label, provenance = of_host.pop("label"), of_host.pop("provenance")
    return [
        task.stored_run(
            label=f"{label}_{task.length or ''}",
            provenance={**provenance, "n_cases_available": n_cases // len(found) or None},
            read=partial(read, task=task),
            numbers={task.card.headline: task.mean},
            **of_host,
        )
        for task in found
    ]


def add_cards(rows: Any, place: str) -> None:
    """Add the cards of a YAML file, which is a list; a card replaces an earlier one with the same name."""
    if not isinstance(rows, list):
        raise InputError(f"{place}: must be a list; {CARDS_REMEDY}")
    for number, row in enumerate(rows, start=1):
        card = OwnCard.checked(row, f"{place}, card {number}")
        tasks = {
            name: task.model_copy(update={"about": f"{HOSTS_OWN} {task.about}".strip()})
            for name, task in card.tasks.items()
        }
        about = f"{HOSTS_OWN} {card.about}".strip()
        catalogue.READ_ONLY[card.name] = OwnTasks(card.model_copy(update={"about": about, "tasks": tasks}))


add_cards(packaged_yaml("long_context_tasks.hosts", "own_tasks.yaml"), "own_tasks.yaml")
