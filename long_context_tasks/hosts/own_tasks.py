"""Read-only cards of tasks that hosts bring themselves, such as RULER; reports read their results by them.

Prompts and scores are the host's: a card says only where a host's files hold the score, the length and the cluster of a case.
``own_tasks.yaml`` has our cards, and ``--cards`` of ``lct report`` adds a user's.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import DAMAGE, Found, OtherTask, StoredCase, StoredRun, number_of, short
from long_context_tasks.schema import InputError, format_length
from long_context_tasks.schema.card import Card, Source, TaskCard
from long_context_tasks.schema.case_folder import text_key
from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.response import NOT_SCORED, Response

HOSTS_OWN = "Host's own task: prompts and scores are the host's."
_REMEDY = "write a list of cards as docs/reading_the_site.md has it"
_About = Annotated[str, AfterValidator(lambda text: f"{HOSTS_OWN} {text}")]


class OwnTaskCard(TaskCard):
    """Tasks of a host with the same kind of score; ``headline`` is our name for the metric."""

    source: Source = "published"
    about: _About = HOSTS_OWN
    # The host's key for the mean; its group ``length`` is a length in the key. lm-eval names a sample's score
    # like the mean.
    mean: re.Pattern[str]
    value: str = ""  # OpenCompass: field of the details with the score, or a rule about the gold answers
    scale: float = Field(default=1, gt=0)  # the host's number for a full score, such as 100 for percent


class OwnCard(Card):
    """A card of a host's tasks. ``labels`` are names of fields of the sample, and of groups of ``names``."""

    host: Literal["lm_eval", "opencompass", "inspect"]
    about: _About = HOSTS_OWN
    # The host's names for the tasks; its groups ``task`` and ``length`` are parts of ours.
    names: re.Pattern[str]
    tasks: Mapping[str, OwnTaskCard] = Field(min_length=1)  # by globs on the group ``task``
    length_setting: str = ""  # setting of the host's task that contains the length
    length_field: str = ""  # field of the sample with the length, in a host's run of several lengths
    kilo: Literal[1000, 1024] = 1000  # tokens in 1k
    cluster: str = ""  # field of the sample that related cases share

    def tokens(self, text: Any) -> int | None:
        """Return a length such as 4k in tokens; None if the host has none (``0k``)."""
        match = re.fullmatch(r"(\d{1,9})([km]?)", str(text or 0).lower(), re.ASCII)
        if match is None:
            raise ValueError(f"{str(text)[:40]!r} is not a length")
        return int(match[1]) * self.kilo ** ("", "k", "m").index(match[2]) or None


# A sample's id, repeat, score as the host states it, response and fields.
Sample = tuple[str, int, Any, str | None, Mapping[str, Any]]


@dataclass(frozen=True)
class OwnTask:
    """A host's task of one length, if it has lengths."""

    name: str  # ours
    owner: OwnCard
    card: OwnTaskCard
    groups: Mapping[str, str]  # parts of the host's name
    length: int | None  # tokens
    mean_key: str  # the host's key of the mean
    mean: float  # the host's mean on our scale

    def cases(self, run: StoredRun, samples: Callable[..., Iterator[Sample]]) -> Iterator[StoredCase]:
        """Yield the cases of this length; ``samples`` reads those of all lengths, given the run and the task."""
        owner = self.owner
        try:
            for case, repeat, value, text, fields in samples(run, self):
                if owner.length_field and owner.tokens(fields[owner.length_field]) != self.length:
                    continue
                known = {**fields, **self.groups}
                number = number_of(value) / self.card.scale
                shared = owner.cluster and str(known[owner.cluster])  # may be a whole document
                yield StoredCase(
                    id=case,
                    repeat=repeat,
                    responses=(Response(text),),
                    scores={self.card.headline: (number,)},
                    reasons=(NOT_SCORED if math.isnan(number) else None,),
                    cluster=text_key(shared) if shared else None,
                    labels={name: known[name] for name in owner.labels if name in known},
                )
        except InputError:
            raise
        except Exception as error:  # readers of a damaged archive raise almost anything
            raise InputError(
                f"{run.result_file}: damaged, or not a result as the card has it ({short(error)}); run again, or evaluate with the host's -m eval -r"
            ) from error


def _by_length(
    owner: OwnCard, match: re.Match[str], means: Mapping[str, Any], settings: Mapping[str, Any]
) -> Iterator[OwnTask]:
    groups = {key: value for key, value in match.groupdict().items() if value is not None}
    task = groups.get("task", match[0])
    name = f"{owner.name}_{task}"
    card = catalogue.READ_ONLY[owner.name].parse_task(name).card
    assert isinstance(card, OwnTaskCard)
    common = groups.get("length") or settings.get(owner.length_setting)
    known = {
        key: (of_key.groupdict().get("length") or common, number_of(value) / card.scale)
        for key, value in means.items()
        # lm-eval's RULER writes -1 for a length without cases.
        if (of_key := card.mean.fullmatch(key)) and isinstance(value, int | float) and value != -1
    }
    # Without a mean, reading the cases reports the reason.
    for key, (text, mean) in (known or {"": (common, math.nan)}).items():
        length = owner.tokens(text)
        of_length = f"{name}_{format_length(length)}" if length else name
        yield OwnTask(of_length, owner, card, groups, length, key, mean)


def own_runs(
    name: str,
    means: Mapping[str, Any],
    settings: Mapping[str, Any],
    samples: Callable[..., Iterator[Sample]],
    **of_host: Any,
) -> list[Found]:
    """Return a host's result as a run for each length with a mean in ``means`` (its numbers by key), or as another task without a card.

    If the task does not match its card, return a message, so that the file's others are still read.
    """
    host, label, provenance = of_host["host"], of_host.pop("label"), of_host.pop("provenance")
    # The last card is the user's.
    for owner in [each.card for each in reversed(catalogue.READ_ONLY.values())]:
        if not (isinstance(owner, OwnCard) and owner.host == host and (match := owner.names.fullmatch(name))):
            continue
        try:
            tasks = list(_by_length(owner, match, means, settings))
        except DAMAGE as error:
            place = f"{of_host['result_file']}: {name[:80]!r}"
            return [f"{place} is not as the card {owner.name} has it ({short(error)})"]
        # The samples of all lengths and filters are in one file.
        n = (provenance.get("n_cases_available") or 0) // len(tasks) or None
        provenance = {**provenance, "n_samples": None, "n_cases_available": n}
        return [
            StoredRun(
                task=task.name,
                version=owner.version,
                label=f"{label}_{task.length or ''}",
                provenance=provenance,
                read=partial(task.cases, samples=samples),
                numbers={task.card.headline: task.mean},
                headline=task.card.headline,
                points=tuple(owner.points),
                hosts_own=True,
                **of_host,
            )
            for task in tasks
        ]
    return [OtherTask(host, name)]


def add_cards(path: Path) -> None:
    """Add the cards of a YAML file, which is a list; a card replaces an earlier one with the same name."""
    rows = read_yaml(path, "cards", remedy=_REMEDY)
    if not isinstance(rows, list):
        raise InputError(f"{path}: must be a list; {_REMEDY}")
    for number, row in enumerate(rows, start=1):
        card = OwnCard.checked(row, f"{path}, card {number}")
        catalogue.READ_ONLY[card.name] = catalogue.ReadOnlyBenchmark(card)


add_cards(Path(__file__).with_name("own_tasks.yaml"))
