"""Cases of a run that do not come from published files: written from a seed into the cache, or read from a built case folder."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from long_context_tasks.benchmarks.catalogue import TaskSpec, benchmark, card, parse_task
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    Documents,
    InputError,
    LoadedTask,
    Message,
    Options,
    file_sha256,
    format_length,
    parse_length,
)
from long_context_tasks.schema.case_folder import cached_folder, read_manifest
from long_context_tasks.schema.validated import validated
from long_context_tasks.tokens import CL100K, count_cases, same_tokenizer, tokenizer_identity
from long_context_tasks.tokens.build_settings import BuildSettings

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.seeded import SeededBuilder

Settings = TypeVar("Settings", bound=BuildSettings)
RunOptions = TypeVar("RunOptions", bound=Options)

DEFAULT_LENGTH = 8_000
"""Tokens of seeded cases if no length is given."""


def with_length(options: RunOptions) -> RunOptions:
    """Return the options, adding the length of seeded cases in the form recorded in results."""
    return replace(options, length=options.length or DEFAULT_LENGTH)


def run_settings(name: str, kind: type[Settings], options: Options, cases: int, **own: Any) -> Settings:
    """Return a builder's settings for a run of the task ``name``, whose cases are written from a seed.

    ``cases`` is their number without ``lct_n`` and ``lct_subset``; ``own`` are additional fields of the settings.
    """
    values = {
        "lengths": (options.length or DEFAULT_LENGTH,),
        "seed": options.seed,
        "n": options.n or options.subset or cases,
        # Another tokenizer only counts; with this one in the key, the same cases would be written again.
        "tokenizer": options.tokenizer if options.length_policy == "same_tokens" else None,
        "length_policy": options.length_policy,
        **own,
    }
    places = {"lengths": "lct_length"} | {name: f"lct_{name}" for name in values if name != "lengths"}
    return validated(kind, values, name, places=places)


def refusal(options: Options, length: int, cases: int) -> str:
    """Return why cases that are not in the cache are not written; empty if they may be."""
    tokens, most = length * cases, options.most_written
    if most is None or tokens <= most:
        return ""
    return f"its {tokens:,} tokens of synthetic cases are not in the cache, and at most {most:,} are written here"


def cached_cases(
    task: str,
    settings: BuildSettings,
    options: Options,
    version: int,
    write: Callable[[Path], object],
    source: Path | None = None,
) -> CaseSet:
    """Return the cases of a task that ``write`` makes, written once into the user's cache.

    ``settings`` and the card's ``version`` determine the cases, and so do the texts in ``source``, if they are made from any.
    """
    # A change of the card's version changes the key, so that corrected cases replace cached ones.
    made_from = {
        **asdict(settings),
        "tokenizer": tokenizer_identity(settings.tokenizer) if settings.tokenizer else None,
        "card": version,
        **({"carriers": _digest(source)} if source else {}),
    }
    refused = refusal(options, settings.lengths[0], settings.n or 0)
    return CaseSet.read(cached_folder(task, made_from, write, refused), task)


def _digest(folder: Path) -> str:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    # Contents, not times: copies of the same texts give the same cases.
    named = [(file.relative_to(folder).as_posix(), file_sha256(file)) for file in files]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


@dataclass(frozen=True)
class BuiltFile:
    folder: Path  # the case folder
    task: str
    length: int  # length of the cases in tokens

    def read(self) -> CaseSet:
        return CaseSet.read(self.folder, self.task)

    def resolve(self, options: RunOptions) -> RunOptions:
        """Return the options with the length, length policy, tokenizer and seed that the cases were built with."""
        # Results must record how the cases were built, even if the run gives no such option.
        recorded = read_manifest(self.folder)["options"]
        return replace(options.as_built(recorded, self.folder, same_tokenizer), length=self.length)


def family_folder(root: Path, family: str) -> Path:
    """Return the case folder of a builder: the folder of that name in ``root``, if there is one, or ``root`` itself."""
    return root / family if (root / family).is_dir() else root


def built_file(root: Path, family: str, name: str, length: int | None) -> BuiltFile:
    """Return the file of built cases that a run reads.

    Args:
        root: ``lct_cases``: a case folder, or the folder of case folders that `lct build` made.
        family: name of the builder and of its case folder.
        name: name of the files, with ``*`` in place of the length: ``ada_leval_tsort_*_synthetic``.
        length: length in tokens; None for the only one in the folder.
    """
    folder = family_folder(root, family)
    if length is not None:
        return BuiltFile(folder, name.replace("*", format_length(length)), length)
    # Tasks of other builders may be in the same folder.
    form = re.compile(re.escape(name).replace(r"\*", "([^_]+)"))
    matches = [match for task in sorted(read_manifest(folder)["tasks"]) if (match := form.fullmatch(task))]
    if len(matches) != 1:
        cases = ", ".join(match[0] for match in matches) or f"no cases of {family}"
        raise InputError(f"{folder}: holds {cases}; choose one with lct_length")
    return BuiltFile(folder, matches[0][0], parse_length(matches[0][1]))


def load_published_or_seeded(
    name: str,
    options: Options,
    render: Callable[[Case, Documents], list[Message]],
    score: Callable[[Case, str | None, str | None], CaseScores],
    metrics: tuple[str, ...],
    published: Callable[[TaskSpec, Options], CaseSet] | None = None,
) -> LoadedTask:
    """Load a task whose cases are published, written from a seed, or built (``lct_cases``), and count its prompts.

    Args:
        name: name of the task.
        options: options of the run.
        render: returns the messages of a case.
        score: scores a response.
        metrics: names of the metrics; all get intervals.
        published: returns the published cases of a task, if it has any.
    """
    spec = parse_task(name)
    options = replace(options, length=spec.tokens or options.length)
    version, n_all = card(spec.benchmark).version, None
    if options.cases is not None:
        builder = _builder(spec)
        built = built_file(options.cases, builder.name, builder.file_of("*"), options.length)
        options, found = built.resolve(options), built.read()
    elif spec.source == "seed":
        from long_context_tasks.benchmarks.building import Work

        builder = _builder(spec)
        options, n_all = with_length(options), builder.n_cases
        # The benchmark's own options that its builder has, too.
        own = {each.name for each in fields(builder.settings)} & set(options.names()) - set(Options.names())
        values = {name: value for name in own if (value := getattr(options, name)) is not None}
        settings = run_settings(name, builder.settings, options, n_all, **values)
        [file] = builder.files(settings).values()
        found = cached_cases(
            file,
            settings,
            options,
            version,
            lambda folder: builder.write(None, settings, folder, Work(progress=True)),
        )
    elif published is None:
        raise InputError(f"{name}: its cases are {spec.source}, not seeded; give a function that reads them")
    else:
        found = published(spec, options)
    cases = list(found.cases[: options.n or options.subset])
    for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
        cases = count_cases(cases, tokenizer, partial(_countable, render, found.documents), name)
    return LoadedTask(
        name=name,
        version=version,
        options=options,
        cases=found.selected(cases),
        metrics=metrics,
        intervals=metrics,
        answer_budget=options.answer_budget or spec.answer_budget,
        render=render,
        score=score,
        n_all=n_all or len(found.cases),
    )


def _countable(
    render: Callable[[Case, Documents], list[Message]], documents: Documents, case: Case
) -> tuple[str, Callable[[], str]]:
    text = "\n\n".join(message.content for message in render(case, documents))
    return text, lambda: text


def _builder(spec: TaskSpec) -> "SeededBuilder":
    from long_context_tasks.benchmarks.seeded import SeededBuilder

    builders = benchmark(spec.benchmark).builders()
    found = [each for each in builders if each.task == spec.task and isinstance(each, SeededBuilder)]
    # One builder makes the cases of all variants; several are named after theirs.
    for each in found if len(found) == 1 else [each for each in found if each.name == spec.group]:
        return each
    lacks = (
        f"none of its SeededBuilders is named {spec.group}" if found else "builders() has no SeededBuilder"
    )
    raise InputError(f"{spec.name}: {lacks} of task {spec.task!r}; correct a builder's name or task")
