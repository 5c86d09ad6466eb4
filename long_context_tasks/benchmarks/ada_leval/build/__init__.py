"""Cases of any length from raw data: novels for TSort, forum posts for BestAnswer, or what is written from a seed.

The rules are in :mod:`.tsort` and :mod:`.bestanswer`; here is the way in for the command line and the hosts.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.ada_leval import BENCHMARK
from long_context_tasks.benchmarks.ada_leval.build.bestanswer import build_bestanswer
from long_context_tasks.benchmarks.ada_leval.build.posts import DumpPosts
from long_context_tasks.benchmarks.ada_leval.build.synthetic import ForumPosts, NovelPlan
from long_context_tasks.benchmarks.ada_leval.build.tsort import build_tsort
from long_context_tasks.benchmarks.ada_leval.settings import BOOKS, POSTS, BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.building import Progress, TaskReport
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import read_books
from long_context_tasks.schema import CaseWriter, InputError, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens.build_settings import BuildSettings

NAME = "ada_leval"
SYNTHETIC_CASES = 200
"""Cases of a synthetic task when no number is asked for, as in the paper's subset for API models."""
_ALL_TAGS = 10_000
_Writer = Callable[..., list[TaskReport]]


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
    part = card(NAME).tasks[BENCHMARK.builders[family].task]
    plain = family.removesuffix("_synthetic")
    synthetic = family != plain
    if synthetic and settings.n is None:
        settings = replace(settings, n=SYNTHETIC_CASES)
    given = None if synthetic else _given(source, family)
    options = {**asdict(settings), "source": given and str(given), "card_version": card(NAME).version}

    def task_name(length: int) -> str:
        return f"{plain}_{format_length(length)}{family[len(plain) :]}"

    with CaseWriter(folder, options) as writer:
        shared: dict[str, Any] = {"writer": writer, "task_name": task_name, "progress": progress}
        if isinstance(settings, TSortSettings):
            make: _Writer = partial(build_tsort, card=part, **shared)
            if given is None:
                return _build_tsort_synthetic(part, settings, make)
            return make(read_books(given), settings=settings, source=str(given))
        assert isinstance(settings, BestAnswerSettings)
        make = partial(build_bestanswer, card=part, **shared)
        if given is None:
            return _build_bestanswer_synthetic(part, settings, make)
        return make(source=DumpPosts(given), settings=settings)


def _given(source: Path | None, family: str) -> Path:
    option = f"--{(BOOKS if 'tsort' in family else POSTS).name}"
    if source is None:
        raise InputError(
            f"{family} is built from your own data: add {option} PATH, or build {family}_synthetic"
        )
    if not source.exists():
        raise InputError(f"{source}: no such file or folder; correct {option}")
    return source


def _build_tsort_synthetic(part: TaskCard, settings: TSortSettings, make: _Writer) -> list[TaskReport]:
    """Each length has novels of its own, so that its cases are the same whatever lengths are built beside it."""
    if settings.before_cap is not None or settings.after_cap is not None:
        raise InputError(
            "ada_leval_tsort_synthetic: the text before and after the segments fills the length; leave out --before-cap and "
            "--after-cap"
        )
    reports = []
    for length in settings.lengths:
        corpus = NovelPlan.of(part, settings, length)
        alone = replace(settings, lengths=(length,), fill=True, per_book=corpus.per_novel)
        reports += make(corpus.novels(), settings=alone, source=f"synthetic novels of seed {settings.seed}")
    return reports


def _build_bestanswer_synthetic(
    part: TaskCard, settings: BestAnswerSettings, make: _Writer
) -> list[TaskReport]:
    """The forum grows with the length, but the questions are those of its first threads, at every length."""
    reports = []
    same = ForumPosts.comparable(sorted(map(parse_length, part.lengths)), settings.measure)
    for length in settings.lengths:
        forum = ForumPosts.of(settings.seed, settings.n or SYNTHETIC_CASES, length)
        # All threads count, not only those of frequent tags; and what is asked for beside this length changes nothing.
        alone = replace(settings, lengths=(length,), same_as=same, bounds=settings.bounds or "round")
        if settings.tags == BestAnswerSettings.tags:
            alone = replace(alone, tags=_ALL_TAGS, questions_per_tag=forum.threads)
        reports += make(forum, settings=alone, first_questions=forum.asked, fill=True)
    return reports
