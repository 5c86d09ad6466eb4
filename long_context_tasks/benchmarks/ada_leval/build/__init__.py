"""Cases of any length from raw data: novels for TSort, forum posts for BestAnswer, or a forum that is written from a seed.

The rules are in :mod:`.tsort` and :mod:`.bestanswer`; here is the way in for the command line and the hosts.
"""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from long_context_tasks.benchmarks.ada_leval.build.bestanswer import build_bestanswer
from long_context_tasks.benchmarks.ada_leval.build.constraints import build_constraints
from long_context_tasks.benchmarks.ada_leval.build.posts import DumpPosts
from long_context_tasks.benchmarks.ada_leval.build.tsort import build_tsort
from long_context_tasks.benchmarks.ada_leval.settings import (
    BOOKS,
    POSTS,
    BestAnswerSettings,
    ConstraintSettings,
    TSortSettings,
)
from long_context_tasks.benchmarks.building import TaskReport, Work
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.books import Book, read_books
from long_context_tasks.corpora.plain_files import encodings_of
from long_context_tasks.corpora.stack_exchange import posts_encoding
from long_context_tasks.recast.carriers import NOVELS, carriers_of
from long_context_tasks.recast.renaming import names_of, rename
from long_context_tasks.schema import InputError, Options
from long_context_tasks.tokens.build_settings import BuildSettings

SYNTHETIC_CASES = 200
"""Cases of a synthetic task when no number is asked for, as in the paper's subset for API models."""


def build(
    family: str,
    source: Path | None,
    settings: BuildSettings,
    folder: Path,
    work: Work | None = None,
) -> list[TaskReport]:
    """Build the cases of a family into a case folder, all or nothing.

    Raises:
        InputError: the source cannot be used, or a length gets no case.
    """
    work = work or Work()
    # "ada_leval_tsort_recast"
    task = family.split("_")[2]
    part = card("ada_leval").tasks[task]
    plain = f"ada_leval_{task}"
    name = f"{plain}_*{family.removeprefix(plain)}"
    option = (BOOKS if task == "tsort" else POSTS).name
    recast = family.endswith("_recast")
    if isinstance(settings, ConstraintSettings):
        source = None
        settings = replace(settings, n=settings.n or SYNTHETIC_CASES)
    elif recast:
        # The paper's caps and strides do not count where cases fill their length.
        source = carriers_of(Options(carriers=source), NOVELS, family)
        settings = replace(settings, n=settings.n or SYNTHETIC_CASES)
    elif source is None:
        raise InputError(f"{family} is built from your own data: add --{option} PATH")
    elif not source.exists():
        raise InputError(f"{source}: no such file or folder; correct --{option}")
    options = {
        **asdict(settings),
        "source": source and str(source),
        "card_version": card("ada_leval").version,
    }
    with work.writer(folder, options) as writer:
        if isinstance(settings, TSortSettings):
            assert source is not None
            change = None
            if recast:
                change = partial(recast_book, seed=settings.seed)
                settings = replace(settings, fill=True, per_book=settings.n)
            first, *others = build_tsort(
                *(read_books(source), part, settings, writer, work),
                name=name,
                source=str(source),
                change=change,
            )
            return [replace(first, encodings=encodings_of(source)), *others]
        if isinstance(settings, ConstraintSettings):
            return build_constraints(settings, writer, work, name=name)
        assert isinstance(settings, BestAnswerSettings) and source is not None
        first, *others = build_bestanswer(DumpPosts(source), part, settings, writer, work, name=name)
        return [replace(first, encodings={source.name: posts_encoding(source)}), *others]


def recast_book(book: Book, seed: int) -> Book:
    """Return a book with other names; its id stays, its title does not."""
    texts = rename([*book.paragraphs, *book.headings], names_of(book.paragraphs), seed, book.id)
    paragraphs, headings = texts[: len(book.paragraphs)], texts[len(book.paragraphs) :]
    return replace(book, title="", paragraphs=tuple(paragraphs), headings=tuple(headings))
