"""A builder by its name, with settings that a user gives: what `lct build` and `lct.build` have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import TaskReport, Work, parse_lengths
from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema import InputError, Options, resolve_options
from long_context_tasks.tokens.build_settings import BuildSettings, build_options


@dataclass(frozen=True)
class ReadyBuild:
    """A build whose settings are checked.

    Attributes:
        name: of the builder and of its case folder.
        benchmark, builder: what builds.
        settings: of the builder.
        source: folder or file of the raw data; None where the cases are written from a seed.
    """

    name: str
    benchmark: Benchmark
    builder: Builder
    settings: BuildSettings
    source: Path | None

    def write(self, folder: Path, work: Work | None = None) -> Sequence[TaskReport]:
        """Build the cases into a folder, all or nothing.

        Raises:
            InputError: what the builder raises.
        """
        write = self.benchmark.writer_of(self.builder)
        return write(self.name, self.source, self.settings, folder, work or Work())


def ready_build(name: str, length: str, given: Mapping[str, Any]) -> ReadyBuild:
    """Return a build from what a user gives: settings by the names of `lct build`, the common ones also from the environment.

    Args:
        name: of a builder.
        length: lengths with commas, see :func:`~long_context_tasks.benchmarks.building.parse_lengths`.
        given: settings and the source; text is read as the command reads it.

    Raises:
        InputError: no such builder, an option of another builder, or a value that does not fit.
    """
    benchmark, builder = _builder(name)
    kind, source = benchmark.settings_of(builder), benchmark.source_of(builder)
    own = {option: value for option, value in given.items() if source is None or option != source.name}
    lengths = parse_lengths(length, builder.lengths or benchmark.card.tasks[builder.task].lengths)
    texts = given.get(source.name) if source else None
    settings = _settings(name, kind, own, lengths)
    return ReadyBuild(name, benchmark, builder, settings, None if texts is None else Path(texts))


def _builder(name: str) -> tuple[Benchmark, Builder]:
    builders = catalogue.builders()
    if name in builders:
        return builders[name]
    needs = [
        f"{each} (needs --{source.name})" if (source := benchmark.source_of(builder)) else each
        for each, (benchmark, builder) in builders.items()
    ]
    raise InputError(f"nothing builds {name!r}; there are: {', '.join(needs)}")


def _settings(
    name: str, kind: type[BuildSettings], given: Mapping[str, Any], lengths: tuple[int, ...]
) -> BuildSettings:
    options = {option.name: option for option in build_options(kind)}
    for option in given:
        if option not in options:
            raise InputError(f"{name} takes no --{option.replace('_', '-')}; see `lct build --help`")
    common = [option.name for option in build_options(BuildSettings)]
    run: Options = resolve_options({f"lct_{option}": given.get(option) for option in common})
    values = {option: getattr(run, option) for option in common if option in run.given}
    values |= {
        option: options[option].value_of(value) for option, value in given.items() if option not in common
    }
    return kind(lengths=lengths, **values)
