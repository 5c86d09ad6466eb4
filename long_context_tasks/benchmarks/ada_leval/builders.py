"""Case builders with settings and sources, read by `lct build --help`; imports stay light."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from long_context_tasks.benchmarks.building import (
    MIN_FILL,
    Builder,
    TaskReport,
    Work,
    parse_lengths,
)
from long_context_tasks.recast.carriers import CARRIERS, NOVELS, carriers_of
from long_context_tasks.schema import Options
from long_context_tasks.schema.validated import Number, Whole
from long_context_tasks.tokens.build_settings import (
    ALL_TASKS,
    BuildSettings,
    Listed,
    SourceOption,
    option,
)

_BOOKS_PANEL = "TSort (books)"
BOOKS = SourceOption(
    "books",
    "Folder of .txt[.gz] books (Project Gutenberg files as they come, or plain) and .jsonl[.gz] files, or of folders with one "
    "file a chapter; or one such file.",
    _BOOKS_PANEL,
)


def _hint_cap(side: str) -> Any:
    return option(
        f"Most tokens of the text {side} the segments. Default: Table 11 (200 to 500). Not for recast cases, which fill their "
        "length.",
        _BOOKS_PANEL,
        ge=1,
    )


@dataclass(frozen=True)
class TSortSettings(BuildSettings):
    """Settings for the TSort builder; None uses the paper's value."""

    segments: Annotated[
        Whole, option("Number of segments to put in order. Default: 4", _BOOKS_PANEL, ge=2, le=26)
    ] = 4
    segment_cap: Annotated[
        Whole | None,
        option(
            "Most tokens of a segment. Default: (length - before - after - 200) / segments, the paper's Table 11.",
            _BOOKS_PANEL,
            ge=1,
        ),
    ] = None
    before_cap: Annotated[Whole | None, _hint_cap("before")] = None
    after_cap: Annotated[Whole | None, _hint_cap("after")] = None
    stride: Annotated[
        Whole | None,
        option(
            "Paragraphs between the beginnings of two cases. Default: Table 11 (64; 128 at 32k and above).",
            _BOOKS_PANEL,
            ge=1,
        ),
    ] = None
    # Forms of books used; the paper excludes epistolary works and poetry (section 3.2).
    forms: Annotated[
        Listed[Literal["novel", "letters", "play", "verse"]],
        option(
            "Which books are taken, with commas: novel (any prose), letters, play, verse. Default: novel; the paper leaves out "
            "epistolary works and poetry.",
            _BOOKS_PANEL,
        ),
    ] = ("novel",)
    # Not an option: only recast cases fill their length by choosing the text before and after.
    fill: bool = False


@dataclass(frozen=True)
class ConstraintSettings(BuildSettings):
    # At shorter lengths, a question with two answers may not fit.
    SHORTEST = 1_000


_POSTS_PANEL = "BestAnswer (forum posts)"
POSTS = SourceOption(
    "posts", "Posts.xml of a Stack Exchange dump: plain or .gz; or posts as .jsonl.", _POSTS_PANEL
)


def _tags(value: Any) -> Any:
    # `--tags 23` is a number of tags, `--tags java,python` names them.
    if not isinstance(value, str) or value.isdecimal():
        return value
    return tuple(tag.strip() for tag in value.split(",") if tag.strip())


def _same_as(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return () if value == "none" else parse_lengths(value, ("1k", "2k", "4k", "6k", "8k", "12k", "16k"))


@dataclass(frozen=True)
class BestAnswerSettings(BuildSettings):
    bounds: Annotated[
        Literal["paper", "round"] | None,
        option(
            "paper: at most 1,128, 2,154, 4,215 ... tokens as in the paper's Table 1; round: 1,000, 2,000, 4,000 ... Default: paper",
            _POSTS_PANEL,
        ),
    ] = None
    tags: Annotated[
        Annotated[Whole, Field(ge=1)] | Annotated[tuple[str, ...], Field(min_length=1)],
        BeforeValidator(_tags),
        option(
            "Questions of which tags: a number takes the most frequent ones, else names with commas. Default: 23",
            _POSTS_PANEL,
        ),
    ] = 23
    questions_per_tag: Annotated[
        Whole,
        option(
            "How many questions of each tag, those with the highest scores. Default: 2500", _POSTS_PANEL, ge=1
        ),
    ] = 2500
    shared_tags: Annotated[
        Number,
        option(
            "Other questions are similar if their common tags make up at least this part of the tags (see --shared-of); at 32k and "
            "above, one common tag is enough. Default: 0.4",
            _POSTS_PANEL,
            gt=0,
            le=1,
        ),
    ] = 0.4
    # The denominator of the share: the smaller of the two tag sets, or their union; the paper does not
    # specify it.
    shared_of: Annotated[
        Literal["smaller", "union"],
        option(
            "Whether the share of common tags is that of the smaller of the two tag sets, or of their union. Default: smaller",
            _POSTS_PANEL,
        ),
    ] = "smaller"
    # Minimum number of other answers to the question itself.
    min_own: Annotated[
        Whole,
        option(
            "Least number of answers to the question that are older than the accepted one; with none, words that the accepted one has "
            "in common with the question give it away. Default: 1",
            _POSTS_PANEL,
            ge=0,
        ),
    ] = 1
    min_fill: Annotated[Number, option(MIN_FILL, ALL_TASKS, gt=0, le=1)] = 0.8
    # Lengths that may not be built now but that questions must also fit, so that separate builds use the same
    # questions.
    same_as: Annotated[
        tuple[int, ...] | None,
        BeforeValidator(_same_as),
        option(
            "Lengths for which the same questions are used, even if you do not build them now, as in 1k,...,16k. Default: all published "
            "lengths up to 16k; 'none': only those that are built",
            _POSTS_PANEL,
        ),
    ] = None


SYNTHETIC_CASES = 200
"""Number of synthetic and recast cases by default, as in the paper's subset for API models."""


class TSortBuilder(Builder[TSortSettings]):
    """TSort from the user's books."""

    settings = TSortSettings
    source = BOOKS

    def write(
        self, source: Path | None, settings: TSortSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ada_leval.build.tsort import build_tsort

        return build_tsort(self.files(settings), self.existing(source), settings, folder, work)


class RecastTSortBuilder(Builder[TSortSettings]):
    """TSort from public novels with replaced names; cases fill their length, whatever the paper's caps."""

    settings = TSortSettings
    source = CARRIERS

    def write(
        self, source: Path | None, settings: TSortSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ada_leval.build.tsort import build_tsort

        novels = carriers_of(Options(carriers=source), NOVELS, self.name)
        # Novels would otherwise yield thousands of cases.
        settings = replace(settings, n=settings.n or SYNTHETIC_CASES)
        return build_tsort(self.files(settings), novels, settings, folder, work, recast=True)


class BestAnswerBuilder(Builder[BestAnswerSettings]):
    """BestAnswer from a forum's posts."""

    settings = BestAnswerSettings
    source = POSTS

    def write(
        self, source: Path | None, settings: BestAnswerSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ada_leval.build.bestanswer import build_bestanswer

        return build_bestanswer(self.files(settings), self.existing(source), settings, folder, work)


class ConstraintBuilder(Builder[ConstraintSettings]):
    """BestAnswer from a seed: only the accepted answer meets all requirements."""

    settings = ConstraintSettings
    sharded = True

    def write(
        self, source: Path | None, settings: ConstraintSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        from long_context_tasks.benchmarks.ada_leval.build.constraints import build_constraints

        settings = replace(settings, n=settings.n or SYNTHETIC_CASES)
        return build_constraints(self.files(settings), settings, folder, work)


BUILDERS: Mapping[str, Builder] = {
    builder.name: builder
    for builder in (
        TSortBuilder("ada_leval_tsort", "tsort"),
        BestAnswerBuilder("ada_leval_bestanswer", "bestanswer"),
        RecastTSortBuilder("ada_leval_tsort_recast", "tsort"),
        ConstraintBuilder("ada_leval_bestanswer_synthetic", "bestanswer"),
    )
}
