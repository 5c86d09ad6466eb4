"""Find benchmarks, their tasks, options and builders by name, and load tasks.

A task's name is ``<benchmark>_<task>[_<split>][_<length>][_<variant>...]``; ``any`` in place of the length takes any length or a
folder of built cases.
"""

import difflib
import fnmatch
import importlib
import importlib.metadata
import importlib.resources
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import (
    Case,
    CaseScores,
    InputError,
    LoadedTask,
    Options,
    Score,
    format_length,
    options,
    parse_length,
)
from long_context_tasks.schema.card import Card, HumanBaseline, Scoring, Source, TaskCard, Variant
from long_context_tasks.schema.case_folder import check_texts
from long_context_tasks.schema.files import one_line
from long_context_tasks.schema.options import data_dir

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder

logger = logging.getLogger(__name__)

ENTRY_POINTS = "long_context_tasks.benchmarks"
"""Group of entry points in which another package names its :class:`Benchmark`."""
PACKAGE = "long_context_tasks.benchmarks"
ANY = "any"
# Similarity cutoff for suggestions; at 0.6 anything that ends in "bench" is similar.
_NEAR = 0.75


@dataclass(frozen=True)
class TaskSpec:
    benchmark: str  # e.g. ada_leval
    task: str  # e.g. tsort
    length: str = ""  # e.g. 8k, any, or empty if the task's texts determine it
    variant: str = ""  # e.g. front, multiturn_czech_wer40, or empty
    split: str = ""  # e.g. dev, or empty
    card: TaskCard = field(kw_only=True, compare=False, repr=False)
    variants: tuple[Variant, ...] = field(kw_only=True, compare=False, repr=False)  # those that variant names

    @property
    def family(self) -> str:
        """Benchmark and task, such as ``ada_leval_tsort``: the name of builders and case folders."""
        return f"{self.benchmark}_{self.task}"

    @property
    def group(self) -> str:
        """The name without split and length: ``ada_leval_bestanswer_synthetic``."""
        return "_".join(part for part in (self.family, self.variant) if part)

    @property
    def name(self) -> str:
        return "_".join(part for part in (self.family, self.split, self.length, self.variant) if part)

    @property
    def tokens(self) -> int | None:
        """The length in tokens; None for ``any`` and for names without a length."""
        return None if self.length in ("", ANY) else parse_length(self.length)

    @property
    def listed(self) -> bool:
        """Whether lm-eval lists this name. Other variants run under the base name with ``lct_variant``."""
        names = {variant.names for variant in self.variants}
        return "none" not in names and ("any" not in names or self.length in ("", ANY))

    @property
    def has_group(self) -> bool:
        """Whether tasks that differ from it in length or split only form a group with it."""
        return self.length != ANY and self.group != self.name and self.listed

    @property
    def headline(self) -> str:
        return self.card.headline

    @property
    def human(self) -> HumanBaseline | None:
        return None if self.variant else self.card.human

    @property
    def source(self) -> Source:
        return next((v.source for v in self.variants if v.source), self.card.source)

    @property
    def scoring(self) -> Scoring:
        return next((v.scoring for v in self.variants if v.scoring), self.card.scoring)

    @property
    def answer_budget(self) -> int:
        return next((v.answer_budget for v in self.variants if v.answer_budget), self.card.answer_budget)

    @property
    def judged(self) -> bool:
        return self.card.judged

    @property
    def conversation(self) -> bool:
        changed = (v.conversation for v in self.variants if v.conversation is not None)
        return next(changed, self.card.conversation)


class ReadOnlyBenchmark(Benchmark):
    """A benchmark whose results only reports read; it is neither listed nor run. Its card names tasks by globs."""

    def __init__(self, card: Card) -> None:
        self.card = card

    def load_task(self, name: str, options: Options) -> LoadedTask:
        raise InputError(f"{name} is a task of another package, which only reports read")

    def parse_task(self, name: str) -> TaskSpec:
        """Return the task of a name that begins with the benchmark's."""
        # niah_single_1 ends in a number that is not a length. Names of files contain the task, which may be a stranger's.
        match = re.fullmatch(
            r"([\w.+-]{1,100}?)(?:_([0-9]{3,}|[0-9]+[km]))?", name.removeprefix(f"{self.name}_")
        )
        if match is None:
            raise InputError("the name has other characters than letters, digits, -, + and .")
        task, length = match[1], match[2] or ""
        for pattern, card in self.card.tasks.items():
            if fnmatch.fnmatchcase(task, pattern):
                return TaskSpec(self.name, task, length, card=card, variants=())
        raise InputError(f"unknown task {task} of {self.name}; its card has {', '.join(self.card.tasks)}")


READ_ONLY: dict[str, ReadOnlyBenchmark] = {}  # by name


# Cards and entry points are read once per process; installing a package needs a new one anyway.
@lru_cache
def _found() -> tuple[Mapping[str, Benchmark], Mapping[str, str]]:
    """Return the usable benchmarks by name, and the errors of the others."""
    benchmarks: dict[str, Benchmark] = {}
    broken: dict[str, str] = {}
    for name, path in _paths():
        try:
            if name in benchmarks:
                raise InputError("there is another benchmark of this name")
            loaded = _load(name, path)
            _check_options(loaded, benchmarks.values())
            benchmarks[name] = loaded
        except (Exception, SystemExit) as error:  # a broken benchmark must not stop the others
            said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            broken[name] = one_line(said)
            logger.warning("benchmark %s is left out: %s", name, broken[name])
    return benchmarks, broken


def _paths() -> Iterator[tuple[str, str]]:
    """Yield names and dotted paths: the folders here that have a card, then the entry points of other packages."""
    root = importlib.resources.files(PACKAGE)
    # Our benchmarks come first, so that a plug-in cannot replace one of them.
    folders = sorted(entry.name for entry in root.iterdir() if (entry / "card.yaml").is_file())
    yield from ((name, f"{PACKAGE}.{name}:BENCHMARK") for name in folders)
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    yield from ((point.name, point.value) for point in sorted(points, key=lambda point: point.name))


def _load(name: str, path: str) -> Benchmark:
    module, _, attribute = path.partition(":")
    try:
        loaded: object = getattr(importlib.import_module(module), attribute)
    except InputError:  # a ValueError with a remedy of its own, such as that of a card
        raise
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"cannot import {path!r} ({error}); expected package.module:OBJECT") from error
    # A class instead of its instance is the likeliest mistake of a plug-in.
    if not isinstance(loaded, Benchmark) or not isinstance(getattr(loaded, "card", None), Card):
        kind = loaded.__name__ if isinstance(loaded, type) else f"a {type(loaded).__name__}"
        raise InputError(
            f"{path} is {kind}; expected an instance of a subclass of {Benchmark.__module__}.Benchmark with a card"
        )
    if loaded.name != name:
        raise InputError(
            f"its card is named {loaded.name!r}; entry point, folder and card need the same name"
        )
    return loaded


def _check_options(new: Benchmark, others: Iterable[Benchmark]) -> None:
    """Refuse an option with the name of another one, whose type and default would govern both."""
    own, package = {item.name: item for item in fields(new.options)}, _package(new)
    taken = [("a common option", Options)]
    # Benchmarks of one package may share an option on purpose.
    taken += [
        (f"one of benchmark {other.name} in package {_package(other)}", other.options)
        for other in others
        if _package(other) != package
    ]
    for whose, kind in taken:
        # Subclasses share the field of an inherited option.
        if twice := [item.name for item in fields(kind) if own.get(item.name, item) is not item]:
            raise InputError(
                f"its option {twice[0]!r} ({new.options.__module__}.{new.options.__qualname__}) is also {whose}; "
                f"rename it in package {package}"
            )
    # An annotation that cannot be resolved would stop every command.
    options.resolve_options({}, {}, new.options)


def _package(benchmark: Benchmark) -> str:
    return type(benchmark).__module__.partition(".")[0]


def benchmark_names() -> tuple[str, ...]:
    """Return the names of all usable benchmarks: ours in alphabetical order, then those of other packages."""
    return tuple(_found()[0])


def own_benchmark_names() -> tuple[str, ...]:
    return tuple(
        name for name in benchmark_names() if type(benchmark(name)).__module__.startswith(f"{PACKAGE}.")
    )


def broken_benchmarks() -> Mapping[str, str]:
    return _found()[1]


def with_variant(name: str, options: Options) -> tuple[str, Options]:
    """Move ``lct_variant`` from the options into the name; variants already in the name are kept."""
    if options.variant is None:
        return name, options
    spec = parse_task(name)
    wanted = {*spec.variant.split("_"), *options.variant.split("_")} - {""}
    alike = [other for other in task_specs() if replace(other, variant=spec.variant) == spec]
    for other in alike:
        if set(other.variant.split("_")) - {""} == wanted:
            return other.name, replace(options, variant=None, given=options.given - {"variant"})
    variants = ", ".join(other.variant for other in alike if other.variant) or "none"
    raise InputError(f"{name} has no lct_variant={options.variant}; there are: {variants}")


def benchmark(name: str) -> Benchmark:
    benchmarks, broken = _found()
    if name in benchmarks:
        return benchmarks[name]
    if name in READ_ONLY:
        return READ_ONLY[name]
    if name in broken:
        raise InputError(f"benchmark {name} cannot be used: {broken[name]}")
    raise InputError(f"no benchmark {name!r}; there are: {', '.join(benchmarks)}")


def card(name: str) -> Card:
    return benchmark(name).card


def demo() -> Card:
    """Return the card of the benchmark that `lct demo` shows."""
    return next(card(name) for name in benchmark_names() if card(name).demo)


def benchmark_of(name: str) -> Benchmark:
    """Return the benchmark of a task, builder or case folder, whose name begins with the benchmark's."""
    # The longest name wins: another package may add `ethic_law` next to `ethic`.
    if owners := [owner for owner in benchmark_names() if name.startswith(f"{owner}_")]:
        return benchmark(max(owners, key=len))
    raise InputError(f"{name}: no benchmark has this name; see `lct tasks`")


def package_of(name: str) -> str:
    """Return the distribution that brings a benchmark and its version, such as ``lct-toys 1.0``; empty for ours."""
    if name in own_benchmark_names():
        return ""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS, name=name)
    return next((f"{point.dist.name} {point.dist.version}" for point in points if point.dist), "")


def builders() -> "dict[str, Builder]":
    """Return the builders of all benchmarks by name; those of a plug-in that fails are left out with a warning."""
    by_name: dict[str, Builder] = {}
    # One plug-in after the other, so that each failure has a name.
    for name in benchmark_names():
        try:
            by_name |= {builder.name: builder for builder in benchmark(name).builders()}
        except Exception as error:  # must not keep the user from building cases of other benchmarks
            logger.warning("builders of benchmark %s are left out: %s: %s", name, type(error).__name__, error)
    return by_name


def builder(name: str) -> "Builder":
    """Return a builder without importing those of other benchmarks."""
    for owner in benchmark_names():
        if name.startswith(f"{owner}_"):
            for each in benchmark(owner).builders():
                if each.name == name:
                    return each
    known = [
        f"{each.name} (needs --{each.source.name})" if each.source else each.name
        for each in builders().values()
    ]
    wrong = f"no builder {name!r}" if name else "name what to build: `lct build BUILDER`"
    raise InputError(f"{wrong}; builders: {', '.join(known)}")


def resolve_options(
    given: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Options:
    """Resolve the options of a run of any tasks; each benchmark takes those that it has (``Options.of``)."""
    return options.resolve_options(given, environ, _every_option())


def task_options(
    name: str, given: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Options:
    name, options = with_variant(name, resolve_options(given, environ))
    return benchmark(parse_task(name).benchmark).options.of(options)


@lru_cache
def _every_option() -> type[Options]:
    # A host resolves options before it knows the tasks of a run.
    kinds = dict.fromkeys(benchmark(name).options for name in benchmark_names())
    # Options itself comes last, as the base of the others.
    bases = (*(kind for kind in kinds if kind is not Options), Options)
    return make_dataclass("EveryOption", (), bases=bases, frozen=True)


def option_names() -> frozenset[str]:
    return frozenset(_every_option().names())


@lru_cache
def task_specs() -> tuple[TaskSpec, ...]:
    """Return all tasks in the order of the cards, each of which has its own file in the hosts."""
    specs = []
    for name in benchmark_names():
        for task, task_card in card(name).tasks.items():
            for split, variants in itertools.product(
                task_card.splits or ("",), task_card.combined_variants()
            ):
                # Some variants exist for some splits only.
                if any(split not in variant.splits for variant in variants if variant.splits):
                    continue
                # A combination of variants runs at all lengths of the task.
                lengths = variants[0].lengths if len(variants) == 1 else task_card.lengths
                joined = "_".join(variant.name for variant in variants)
                specs += [
                    TaskSpec(name, task, length, joined, split, card=task_card, variants=variants)
                    for length in ((*lengths, ANY) if task_card.lengths else ("",))
                ]
    return tuple(specs)


@lru_cache
def synthetic_tasks(source: Source = "seed") -> tuple[TaskSpec, ...]:
    """Return the plain tasks on texts written (or recast) from a seed that take any length, in the order of the cards.

    Tasks by likelihood, nano tasks and changed forms of a task, such as noisy ones, are left out.
    """
    return tuple(
        spec
        for spec in task_specs()
        if spec.source == source
        and spec.scoring == "generate"
        and spec.length in ("", ANY)
        and (not spec.variant or spec.card.source != source)
        and not spec.card.nano
    )


def nano_tasks() -> tuple[TaskSpec, ...]:
    return tuple(spec for spec in task_specs() if spec.card.nano)


def has_data(spec: TaskSpec, options: Options) -> bool | None:
    """Return whether the data of a task are on this machine; None if its benchmark offers no check."""
    # Built folders and seeds need no published files.
    if options.cases is not None or spec.source == "seed":
        return True
    if spec.source == "built":
        return False
    owner = benchmark(spec.benchmark)
    try:
        known = owner.has_data(spec.name, owner.options.of(options))
    except InputError:
        return False
    return _has_files(spec, options) if known is None else known


def _has_files(spec: TaskSpec, options: Options) -> bool | None:
    """Return whether the files of a task that its card lists are there: those of its length, or of all its benchmark's tasks."""
    data = card(spec.benchmark).data
    listed = {*data.get("sha256", {}), *data.get("other_urls", {}), *spec.card.files.values()}
    length = spec.length if spec.tokens else format_length(options.length or 1)
    names = [spec.card.files[length]] if length in spec.card.files else sorted(listed)
    folder = data_dir(options, spec.benchmark)
    return (
        all((folder / name).is_file() or (folder / f"{name}.gz").is_file() for name in names)
        if names
        else None
    )


@lru_cache
def _by_name() -> Mapping[str, TaskSpec]:
    return {spec.name: spec for spec in task_specs()}


def parse_task(name: str) -> TaskSpec:
    """Parse a task name.

    >>> parse_task("ada_leval_bestanswer_16k_front")
    TaskSpec(benchmark='ada_leval', task='bestanswer', length='16k', variant='front', split='')
    """
    by_name = _by_name()
    if name not in by_name:
        for owner in READ_ONLY.values():
            if name.startswith(f"{owner.name}_"):
                return owner.parse_task(name)
        for broken, why in broken_benchmarks().items():
            if name.startswith(f"{broken}_"):
                raise InputError(f"unknown task {name}; benchmark {broken} cannot be used: {why}")
        more = "For other lengths use lct_length with a task in *_any"
        if not any(name.startswith(f"{owner}_") for owner in benchmark_names()):
            more = "Tasks of other packages need their package to be installed"
        raise InputError(f"unknown task {name}; {did_you_mean(name, by_name)} {more}")
    return by_name[name]


def fixed_length(spec: TaskSpec, wanted: int | None, option: str = "lct_length") -> str:
    """Return why a task cannot have a length in tokens, with a remedy that names the option; empty if it can."""
    if not wanted or spec.tokens in (None, wanted):
        return ""
    any_length = replace(spec, length=ANY).name
    return f"{spec.name} has a fixed length; leave out {option}, or name {any_length}"


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a sentence that suggests up to three known names, or `lct tasks` if none is similar.

    >>> did_you_mean("qa_dev", ["toy_qa_dev_wer20", "toy_qa_dev", "other"])
    'did you mean: toy_qa_dev, toy_qa_dev_wer20?'
    """
    # A part of a name is a better hint than similar spelling.
    known = list(names)
    near = sorted((name for name in known if word in name), key=len)[:3]
    near = near or difflib.get_close_matches(word, known, n=3, cutoff=_NEAR)
    return f"did you mean: {', '.join(near)}?" if near else "`lct tasks` lists them."


def expand_tasks(words: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Expand names, groups and globs, separated by commas as in lm-eval, to task names, each once and in order.

    The name of a benchmark means all its tasks.
    """
    known = dict.fromkeys([*(spec.name for spec in task_specs()), *groups])
    tasks: dict[str, None] = {}
    for word in (part.strip() for listed in words for part in listed.split(",")):
        # Users mean the whole benchmark, but lm-eval's group of this name has only its published tasks without variants.
        tasks.update({spec.name: None for spec in task_specs() if spec.benchmark == word})
        matched = fnmatch.filter(known, word) if word else []
        if word and not matched:
            raise InputError(
                f"no task, group or glob {word!r}; {did_you_mean(word, known)} For other lengths use --length with a task in *_any"
            )
        for name in matched:
            tasks.update(dict.fromkeys(members_of(name, groups)))
    if not tasks:
        raise InputError(
            "no tasks; name some with --tasks, e.g. --tasks lct_official; `lct tasks` lists them"
        )
    return list(tasks)


def members_of(name: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    if name not in groups:
        return [name]
    return [task for member in groups[name] for task in members_of(member, groups)]


def load_task(name: str, options: Options | Mapping[str, Any] | None = None) -> LoadedTask:
    """Load a task: its cases, prompts and scoring.

    Args:
        name: a name of ``lct tasks``; the name of the loaded task includes the variant of ``lct_variant``.
        options: resolved options, or a host's keys (``lct_length`` ...), which take precedence over the environment.
    """
    if not isinstance(options, Options):
        options = resolve_options(options)
    name, options = with_variant(name, options)
    spec = parse_task(name)
    owner = benchmark(spec.benchmark)
    task = owner.load_task(name, owner.options.of(options))
    function = f"{type(owner).__module__}.{type(owner).__qualname__}.load_task"
    _check(task, spec, function)
    texts = task.cases.documents.path
    # A user may have edited or cut a built folder; cached folders are ours.
    if options.cases is not None and texts.is_relative_to(options.cases):
        check_texts(texts)
    # Hosts take the first metric for the headline, and every headline needs an interval.
    return replace(
        task,
        metrics=tuple(dict.fromkeys((spec.headline, *task.metrics))),
        intervals=task.intervals if spec.headline in task.intervals else (spec.headline, *task.intervals),
        score=_checked(task.score, task, function),
    )


def _check(task: Any, spec: TaskSpec, function: str) -> None:
    place = f"{spec.name} ({function})"
    if not isinstance(task, LoadedTask):
        raise InputError(f"{place}: returned a {type(task).__name__}, expected a LoadedTask")
    if task.name != spec.name:
        raise InputError(f"{place}: the task is named {task.name!r}; write LoadedTask(name=name, ...)")
    known = card(spec.benchmark).metrics
    if unknown := [metric for metric in task.metrics if metric not in known]:
        raise InputError(f"{place}: metrics {unknown} are not in the card, which has {', '.join(known)}")
    # Reports need the headline; tasks by likelihood lack other metrics that the card promises for responses.
    promised = spec.card.main_metrics if spec.scoring == "generate" else (spec.headline,)
    promised += tuple(filter(None, [getattr(task.judging, "headline", "")]))
    if missing := [metric for metric in promised if metric not in task.metrics]:
        raise InputError(
            f"{place}: the card promises {', '.join(missing)}, the task has {list(task.metrics)}"
        )
    if (spec.scoring == "likelihood") != task.by_likelihood:
        raise InputError(
            f"{place}: the card has scoring: {spec.scoring}, but the task was loaded for the other kind"
        )


def _checked(score: Callable[..., CaseScores], task: LoadedTask, function: str) -> Callable[..., CaseScores]:
    """Wrap a scoring function so that its scores are checked; errors name the task, case and function."""

    @wraps(score)
    def checked(case: Case, response: str | None, status: str | None) -> CaseScores:
        scores = score(case, response, status)
        module, name = getattr(score, "__module__", function), getattr(score, "__name__", "score")
        place = f"{task.name}, case {case.id} ({module}.{name})"
        if missing := ", ".join(metric for metric in task.metrics if metric not in scores):
            raise InputError(f"{place}: returned no {missing}; the task promises {', '.join(task.metrics)}")
        for metric in task.metrics:
            if not isinstance(scores[metric], Score):
                raise InputError(f"{place}: {metric} is a {type(scores[metric]).__name__}, expected a Score")
        return scores

    return checked
