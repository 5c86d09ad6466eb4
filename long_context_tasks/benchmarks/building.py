"""The base class of case builders, with the engines, reports and lengths that all of them use."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TextIO

from typing_extensions import TypeVar

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.engines import Engine, InProcess
from long_context_tasks.schema import (
    Case,
    CaseWriter,
    InputError,
    Options,
    format_length,
    parse_length,
    resolve_options,
)
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.schema.case_folder import Shard
from long_context_tasks.schema.validated import described_fields
from long_context_tasks.tokens.build_settings import BuildSettings, SourceOption, flag_of, settings_of

_DELAY = 1.0  # seconds before a bar appears
T = TypeVar("T")
R = TypeVar("R")
Settings = TypeVar("Settings", bound=BuildSettings, default=Any)


@dataclass(frozen=True)
class MadeCases:
    """Cases that are made together, with the texts they refer to, by key."""

    cases: tuple[Case, ...]
    documents: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Work:
    """How a builder works: where, on which part of the cases, and whether it reports progress."""

    engine: Engine = field(default_factory=InProcess)  # runs the functions that make cases
    # The part of the cases that is made; None for all. Only sharded builders get one.
    shard: Shard | None = None
    progress: bool = False  # show progress bars on a terminal

    def over(self, items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterable[T]:
        """Yield the same items with a progress bar on stderr, which appears after a second."""
        if not self.progress:
            return items
        from tqdm import tqdm

        return tqdm(items, desc=what, unit=f" {unit}s", total=total, delay=_DELAY, disable=None, leave=False)

    def writer(self, folder: Path, options: Mapping[str, Any]) -> CaseWriter:
        return CaseWriter(folder, options, self.shard)

    def _part(self, items: Sequence[T]) -> Sequence[T]:
        return items if self.shard is None else self.shard.part(items)

    def cases(
        self, writer: CaseWriter, make: Callable[[T], MadeCases], items: Sequence[T], what: str
    ) -> Iterator[Case]:
        """Yield the cases of each item in order, and write their texts; ``what`` is the title of the progress bar."""
        # Parts let the shards of a build be merged in the order of an unsharded one.
        writer.begin_part()
        part = self._part(items)
        for made in self.over(self.engine.mapped(make, part), what, "case", len(part)):
            writer.add_documents(made.documents)
            yield from made.cases

    def cases_by_length(
        self,
        writer: CaseWriter,
        make: Callable[[tuple[int, Sequence[int]]], Mapping[int, MadeCases]],
        numbers: Mapping[int, int],
        what: str,
    ) -> Mapping[int, Iterator[Case]]:
        """Make cases whose texts begin like those of the shorter lengths.

        All lengths of a number are made together.

        Args:
            writer: writer of the texts.
            make: takes a number, from 0, and lengths; returns the cases of each length.
            numbers: number of cases or documents of each length.
            what: title of the progress bar.
        """
        parts = {length: self._part(range(number)) for length, number in numbers.items()}
        every = sorted({number for part in parts.values() for number in part})
        wanted = [(number, [length for length, part in parts.items() if number in part]) for number in every]
        # The writer takes one length after the other, so finished cases wait in files.
        files = {length: writer.spool() for length in numbers}
        for lengths in self.over(self.engine.mapped(make, wanted), what, "case", len(wanted)):
            for length, made in lengths.items():
                writer.add_documents(made.documents)
                files[length].writelines(case.to_json() + "\n" for case in made.cases)

        def written(lines: TextIO) -> Iterator[Case]:
            writer.begin_part()
            with lines:
                lines.seek(0)
                yield from map(Case.from_json, lines)

        return {length: written(lines) for length, lines in files.items()}


@dataclass(frozen=True)
class TaskReport:
    """Outcome of a build for one task."""

    task: str
    tokens: Sequence[int]  # number of tokens of each prompt, in the tokenizer of the bounds
    clusters: int  # number of books or questions
    random_guess: float  # accuracy of guessing, 0 to 1
    # Reasons why places or questions gave no case, with counts.
    dropped: Mapping[str, int] = field(default_factory=Counter)
    notes: Sequence[str] = ()  # sentences for the user
    # Mean difficulty of the cases, by name with unit.
    figures: Mapping[str, float] = field(default_factory=dict)
    # Facts about each book or document, with the same keys for all; only in one report of a build.
    sources: Sequence[Mapping[str, Any]] = ()
    # Encoding of each text file; only in one report of a build.
    encodings: Mapping[str, str] = field(default_factory=dict)


class Builder(ABC, Generic[Settings]):
    """Base class of a builder, which writes cases of one task at any length."""

    settings: type[Settings]  # class of its settings, whose fields are options of ``lct build``
    source: SourceOption | None = (
        None  # option that names the raw data; None if the cases are written from a seed
    )
    lengths: tuple[
        str, ...
    ] = ()  # replace ``...`` in ``--length 2k,...,16k``; if empty, those of the task's card do
    # Whether every case depends only on the settings and its number and is made by Work.cases, so that shards can be
    # made separately.
    sharded: bool = False

    def __init__(self, name: str, task: str) -> None:
        self.name = name  # an argument of ``lct build``, and the name of the case folder
        self.task = task  # the task of the card that the cases belong to

    @abstractmethod
    def write(
        self, source: Path | None, settings: Settings, folder: Path, work: Work
    ) -> Sequence[TaskReport]:
        """Write the cases into a case folder, all or nothing; return a report for each length.

        The names of the files in the folder begin with the builder's name.
        """

    def file_of(self, length: str) -> str:
        """Return the name of the file of a length: ``riddles_find_2k_synthetic`` for the builder ``riddles_find_synthetic``."""
        # The length comes before the edition, as in task names. The name of the benchmark may contain the task's.
        family = f"{catalogue.benchmark_of(self.name).name}_{self.task}"
        return f"{family}_{length}{self.name.removeprefix(family)}"

    def files(self, settings: BuildSettings) -> Mapping[int, str]:
        """Return the name of the file of each length."""
        return {length: self.file_of(format_length(length)) for length in settings.lengths}

    def existing(self, source: Path | None) -> Path:
        """Return the path of the raw data, which this builder needs."""
        assert self.source is not None
        if source is None:
            raise InputError(f"{self.name} is built from your own data: add --{self.source.name} PATH")
        if not source.exists():
            raise InputError(f"{source}: no such file or folder; correct --{self.source.name}")
        return source


def write_task(
    writer: CaseWriter,
    task: str,
    cases: Iterable[Case],
    settings: BuildSettings,
    guess: Callable[[Case], float],
    dropped: Mapping[str, int],
    figures: Callable[[Case], Mapping[str, float]] = lambda case: {},
) -> TaskReport:
    """Write the first cases of a task, as many as the settings ask for, and report them.

    ``guess`` returns the chance of guessing a case, ``figures`` its difficulty; the report has the means of both.
    """
    tokens: list[int] = []
    sums: Counter[str] = Counter()
    clusters: set[str] = set()
    guesses: list[float] = []

    def noted() -> Iterator[Case]:
        for case in cases:
            tokens.append(case.num_tokens[settings.measure.name])
            clusters.add(case.cluster)
            guesses.append(guess(case))
            sums.update(figures(case))
            yield case
            # Stops here, so that the next case is not made in vain.
            if len(tokens) == settings.n:
                return

    writer.add_cases(task, noted())
    means = {name: total / len(tokens) for name, total in sums.items()}
    if means:
        writer.tasks[task]["figures"] = means
    return TaskReport(
        task, tokens, len(clusters), sum(guesses) / max(1, len(guesses)), dropped, figures=means
    )


def bound_of(card: TaskCard, length: int) -> int:
    """Return the maximum number of prompt tokens at a length: the paper's figure if it has one."""
    return int(card.bounds.get(format_length(length), length))


def least_tokens(length: int) -> int:
    """Return the minimum token count at which a prompt fills a length: 98 % of it."""
    return -(-98 * length // 100)


MIN_FILL = (
    "Least share of the bound that a case must fill; questions with too few similar answers, or documents that are too short, are left "
    "out. Default: 0.8"
)
"""Help of the option ``--min-fill``, which several builders have."""


def parse_lengths(text: str, published: Sequence[str]) -> tuple[int, ...]:
    """Parse lengths as users write them; ``...`` is replaced by the published lengths between its neighbours.

    >>> parse_lengths("2k,...,16k,100k", ["1k", "2k", "4k", "8k", "16k", "32k"])
    (2000, 4000, 8000, 16000, 100000)
    """
    # Word processors turn three dots into an ellipsis.
    words = [word.strip() for word in text.replace("…", "...").split(",") if word.strip()]
    lengths = {parse_length(word, option="--length") for word in words if word != "..."}
    for place, word in enumerate(words):
        if word == "...":
            if place in (0, len(words) - 1) or "..." in (words[place - 1], words[place + 1]):
                raise InputError(f"--length {text}: '...' goes between two lengths, as in 2k,...,128k")
            low, high = parse_length(words[place - 1]), parse_length(words[place + 1])
            between = {length for length in map(parse_length, published) if low < length < high}
            if not between:
                raise InputError(
                    f"--length {text}: '...' stands for the task's lengths, and none is between its neighbours"
                )
            lengths |= between
    return tuple(sorted(lengths))


@dataclass(frozen=True)
class ReadyBuild:
    """A build whose settings are checked."""

    builder: Builder  # builder of the cases
    settings: BuildSettings  # settings of the builder
    source: Path | None  # folder or file of the raw data; None if the cases are written from a seed

    def write(self, folder: Path, work: Work) -> Sequence[TaskReport]:
        return self.builder.write(self.source, self.settings, folder, work)


def ready_build(name: str, length: str, options: Mapping[str, Any]) -> ReadyBuild:
    """Check a user's settings of a build; common settings that are missing come from the environment.

    ``options`` has settings and source by their names in `lct build`; text is read as the command reads it.
    """
    builder = catalogue.builder(name)
    # The source is not a setting: cases do not depend on its path.
    path = None if builder.source is None else options.get(builder.source.name)
    settings_given = {
        key: value for key, value in options.items() if not (builder.source and key == builder.source.name)
    }
    if unknown := [key for key in settings_given if key not in described_fields(builder.settings)]:
        raise InputError(f"{name} takes no {flag_of(unknown[0])}; see `lct build --help`")
    # Some tasks have the lengths of their documents, so their builders name lengths themselves.
    published = builder.lengths or catalogue.benchmark_of(name).card.tasks[builder.task].lengths
    # Common settings are also options of a run, so LCT_SEED and the like count here too.
    common = described_fields(BuildSettings)
    run: Options = resolve_options({f"lct_{key}": options.get(key) for key in common})
    values = {key: getattr(run, key) for key in common if key in run.given}
    values |= {key: value for key, value in settings_given.items() if key not in common}
    settings = settings_of(builder.settings, {"lengths": parse_lengths(length, published), **values}, name)
    return ReadyBuild(builder, settings, None if path is None else Path(path))
