"""Read-only cards of tasks that hosts bring themselves, such as RULER; reports read their results by them.

Prompts and scores are the host's: a card says only where a host's files hold the score, the length and the cluster of a case.
``own_tasks.yaml`` has our cards, and ``--cards`` of ``lct report`` adds a user's.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
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


Fields = Mapping[str, Any]
# A sample's id, repeat, score as the host states it, response and fields.
Sample = tuple[str, int, Any, str | None, Fields]
# Reads a run's samples, of all lengths, given the host's key of the mean.
Samples = Callable[[StoredRun, OwnTaskCard, str], Iterator[Sample]]


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

    def runs(
        self, match: re.Match[str], means: Fields, settings: Fields, samples: Samples, of_host: Fields
    ) -> Iterator[StoredRun]:
        """Yield a run for each length of a host's task, whose name matched ``names``."""
        parts = {key: value for key, value in match.groupdict().items() if value is not None}
        name = f"{self.name}_{parts.get('task', match[0])}"
        card = catalogue.READ_ONLY[self.name].parse_task(name).card
        assert isinstance(card, OwnTaskCard)
        common = parts.get("length") or settings.get(self.length_setting)
        lengths = {
            key: (of_key.groupdict().get("length") or common, number_of(value) / card.scale)
            for key, value in means.items()
            # lm-eval's RULER writes -1 for a length without cases.
            if (of_key := card.mean.fullmatch(key)) and isinstance(value, int | float) and value != -1
        } or {"": (common, math.nan)}  # without a mean, reading the cases reports the reason
        # The samples of all lengths and filters are in one file.
        n = (of_host["provenance"].get("n_cases_available") or 0) // len(lengths) or None
        provenance = {**of_host["provenance"], "n_samples": None, "n_cases_available": n}
        options = {key: value for key, value in of_host["options"].items() if value}
        for key, (text, mean) in lengths.items():
            length = self._tokens(text)
            label = f"{of_host['label']}_{length or ''}"
            yield StoredRun(
                task=f"{name}_{format_length(length)}" if length else name,
                version=self.version,
                read=partial(self._cases, card=card, parts=parts, length=length, key=key, samples=samples),
                numbers={card.headline: mean},
                headline=card.headline,
                points=tuple(self.points),
                hosts_own=True,
                **{**of_host, "label": label, "options": options, "provenance": provenance},
            )

    def _tokens(self, text: Any) -> int | None:
        """Return a length such as 4k in tokens; None if the host has none (``0k``)."""
        match = re.fullmatch(r"(\d{1,9})([km]?)", str(text or 0).lower(), re.ASCII)
        if match is None:
            raise ValueError(f"{str(text)[:40]!r} is not a length")
        return int(match[1]) * self.kilo ** ("", "k", "m").index(match[2]) or None

    def _cases(
        self, run: StoredRun, card: OwnTaskCard, parts: Fields, length: int | None, key: str, samples: Samples
    ) -> Iterator[StoredCase]:
        """Yield the cases of one length."""
        try:
            for case, repeat, value, text, fields in samples(run, card, key):
                if self.length_field and self._tokens(fields[self.length_field]) != length:
                    continue
                known = {**fields, **parts}
                number = number_of(value) / card.scale
                shared = self.cluster and str(known[self.cluster])  # may be a whole document
                yield StoredCase(
                    id=case,
                    repeat=repeat,
                    responses=(Response(text),),
                    scores={card.headline: (number,)},
                    reasons=(NOT_SCORED if math.isnan(number) else None,),
                    cluster=text_key(shared) if shared else None,
                    labels={name: known[name] for name in self.labels if name in known},
                )
        except InputError:
            raise
        except Exception as error:  # readers of a damaged archive raise almost anything
            raise InputError(
                f"{run.result_file}: damaged, or not a result as the card has it ({short(error)}); run again, or evaluate with the host's -m eval -r"
            ) from error


def own_runs(name: str, means: Fields, settings: Fields, samples: Samples, **of_host: Any) -> list[Found]:
    """Return a host's result as a run for each length with a mean in ``means`` (its numbers by key), or as another task without a card.

    If the task does not match its card, return a message, so that the file's others are still read.
    """
    # The last card is the user's.
    for owner in [each.card for each in reversed(catalogue.READ_ONLY.values())]:
        if not (isinstance(owner, OwnCard) and owner.host == of_host["host"]):
            continue
        if match := owner.names.fullmatch(name):
            try:
                return list(owner.runs(match, means, settings, samples, of_host))
            except DAMAGE as error:
                place = f"{of_host['result_file']}: {name[:80]!r}"
                return [f"{place} is not as the card {owner.name} has it ({short(error)})"]
    return [OtherTask(of_host["host"], name)]


def add_cards(path: Path) -> None:
    """Add the cards of a YAML file, which is a list; a card replaces an earlier one with the same name."""
    rows = read_yaml(path, "cards", remedy=_REMEDY)
    if not isinstance(rows, list):
        raise InputError(f"{path}: must be a list; {_REMEDY}")
    for number, row in enumerate(rows, start=1):
        card = OwnCard.checked(row, f"{path}, card {number}")
        catalogue.READ_ONLY[card.name] = catalogue.ReadOnlyBenchmark(card)


add_cards(Path(__file__).with_name("own_tasks.yaml"))
