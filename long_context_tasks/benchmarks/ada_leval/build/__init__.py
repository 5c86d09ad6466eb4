"""Cases of any length from raw data: novels for TSort, forum posts for BestAnswer, or what is written from a seed.

The rules are in :mod:`.tsort` and :mod:`.bestanswer`; here is the way in for the command line and the hosts.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from long_context_tasks.benchmarks.ada_leval import BENCHMARK
from long_context_tasks.benchmarks.ada_leval.build.bestanswer import build_bestanswer
from long_context_tasks.benchmarks.ada_leval.build.constraints import build_constraints, synthetic
from long_context_tasks.benchmarks.ada_leval.build.posts import DumpPosts
from long_context_tasks.benchmarks.ada_leval.build.tsort import NovelPlan, build_tsort
from long_context_tasks.benchmarks.ada_leval.settings import (
    BestAnswerSettings,
    ConstraintSettings,
    TSortSettings,
)
from long_context_tasks.benchmarks.building import Progress, TaskReport
from long_context_tasks.corpora.books import read_books
from long_context_tasks.schema import CaseWriter, InputError
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens.build_settings import BuildSettings

SYNTHETIC_CASES = 200
"""Cases of a synthetic task when no number is asked for, as in the paper's subset for API models."""


def build(
    family: str,
    source: Path | None,
    settings: BuildSettings,
    folder: Path,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Build the cases of a family into a case folder, all or nothing.

    Raises:
        InputError: the source cannot be used, or a length gets no case.
    """
    progress = progress or Progress()
    builder = BENCHMARK.builders[family]
    part = BENCHMARK.card.tasks[builder.task]
    plain = f"{BENCHMARK.name}_{builder.task}"
    name = f"{plain}_*{family.removeprefix(plain)}"
    option = BENCHMARK.source_of(builder)
    if option is None:
        source = None
        settings = replace(settings, n=settings.n or SYNTHETIC_CASES)
    elif source is None:
        raise InputError(
            f"{family} is built from your own data: add --{option.name} PATH, or build {family}_synthetic"
        )
    elif not source.exists():
        raise InputError(f"{source}: no such file or folder; correct --{option.name}")
    options = {
        **asdict(settings),
        "source": source and str(source),
        "card_version": BENCHMARK.card.version,
    }
    with CaseWriter(folder, options) as writer:
        if isinstance(settings, TSortSettings):
            if source is not None:
                books, said = read_books(source), str(source)
                return build_tsort(books, part, settings, writer, progress, name=name, source=said)
            reports = []
            said = f"synthetic novels of seed {settings.seed}"
            for alone, plan in _novels(part, settings):
                reports += build_tsort(plan.novels(), part, alone, writer, progress, name=name, source=said)
            return reports
        if isinstance(settings, ConstraintSettings):
            return build_constraints(synthetic, settings, writer, progress, name=name)
        assert isinstance(settings, BestAnswerSettings) and source is not None
        return build_bestanswer(DumpPosts(source), part, settings, writer, progress, name=name)


def _novels(part: TaskCard, settings: TSortSettings) -> Iterator[tuple[TSortSettings, NovelPlan]]:
    """Each length has novels of its own, so that its cases are the same whatever lengths are built beside it."""
    if settings.before_cap is not None or settings.after_cap is not None:
        raise InputError(
            "ada_leval_tsort_synthetic: the text before and after the segments fills the length; leave out --before-cap and "
            "--after-cap"
        )
    for length in settings.lengths:
        plan = NovelPlan.of(part, settings, length)
        yield replace(settings, lengths=(length,), fill=True, per_book=plan.per_novel), plan
