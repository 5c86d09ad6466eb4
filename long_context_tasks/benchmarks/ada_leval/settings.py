"""Settings and sources of the builders; the help of `lct build` shows them, so that nothing heavy is imported here."""

from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks.building import min_fill_option, parse_lengths
from long_context_tasks.tokens.build_settings import (
    BuildSettings,
    SourceOption,
    at_least,
    between,
    one_of,
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
        None,
        f"Most tokens of the text {side} the segments. Default: Table 11 (200 to 500). Not for synthetic cases, which fill their "
        "length.",
        _BOOKS_PANEL,
        check=at_least(1),
    )


_FORMS = ("novel", "letters", "play", "verse")


def _forms(text: str, flag: str) -> tuple[str, ...]:
    del flag
    return tuple(form.strip() for form in text.split(",") if form.strip())


def _known_forms(value: tuple[str, ...]) -> str | None:
    return None if value and set(value) <= set(_FORMS) else f"some of {', '.join(_FORMS)}"


@dataclass(frozen=True)
class TSortSettings(BuildSettings):
    """Settings of the TSort builder; None takes the paper's.

    Attributes:
        forms: which kinds of books are taken; the paper leaves out epistolary works and poetry (section 3.2).
        fill: choose the text before and after so that the prompt fills its length (synthetic novels).
        per_book: most cases of each length from one book; None for all.
    """

    segments: int = option(
        4, "Number of segments to put in order. Default: 4", _BOOKS_PANEL, check=between(2, 26)
    )
    segment_cap: int | None = option(
        None,
        "Most tokens of a segment. Default: (length - before - after - 200) / segments, the paper's Table 11.",
        _BOOKS_PANEL,
        check=at_least(1),
    )
    before_cap: int | None = _hint_cap("before")
    after_cap: int | None = _hint_cap("after")
    stride: int | None = option(
        None,
        "Paragraphs between the beginnings of two cases. Default: Table 11 (64; from 32k on 128).",
        _BOOKS_PANEL,
        check=at_least(1),
    )
    forms: tuple[str, ...] = option(
        ("novel",),
        "Which books are taken, with commas: novel (any prose), letters, play, verse. Default: novel; the paper leaves out "
        "epistolary works and poetry.",
        _BOOKS_PANEL,
        check=_known_forms,
        read=_forms,
    )
    fill: bool = False
    per_book: int | None = None


@dataclass(frozen=True)
class ConstraintSettings(BuildSettings):
    """Settings of BestAnswer cases by requirements."""

    SHORTEST = 1_000


_POSTS_PANEL = "BestAnswer (forum posts)"
POSTS = SourceOption(
    "posts", "Posts.xml of a Stack Exchange dump: plain, .gz or .7z; or posts as .jsonl.", _POSTS_PANEL
)


def _share(value: float) -> str | None:
    return None if 0 < value <= 1 else "above 0 and at most 1"


def _some_tags(value: int | tuple[str, ...]) -> str | None:
    some = value >= 1 if isinstance(value, int) else value
    return None if some else "a number above 0 or names with commas between them"


def _tags(text: str, flag: str) -> int | tuple[str, ...]:
    del flag
    return int(text) if text.isdecimal() else tuple(tag.strip() for tag in text.split(",") if tag.strip())


def _same_as(text: str, flag: str) -> tuple[int, ...]:
    del flag
    return () if text == "none" else parse_lengths(text, ("1k", "2k", "4k", "6k", "8k", "12k", "16k"))


@dataclass(frozen=True)
class BestAnswerSettings(BuildSettings):
    """Settings of the BestAnswer builder.

    Attributes:
        shared_of: which set of tags the share is of: the ``smaller`` of the two, or their ``union``; the paper says neither.
        min_own: fewest other answers to the question itself.
        same_as: lengths that are not built but at which the questions must do as well, so that builds of single lengths
            take the same questions.
    """

    bounds: str | None = option(
        None,
        "paper: at most 1,128, 2,154, 4,215 ... tokens as in the paper's Table 1; round: 1,000, 2,000, 4,000 ... Default: paper",
        _POSTS_PANEL,
        check=one_of(("paper", "round")),
    )
    tags: int | tuple[str, ...] = option(
        23,
        "Questions of which tags: a number takes the most frequent ones, else names with commas. Default: 23",
        _POSTS_PANEL,
        check=_some_tags,
        read=_tags,
    )
    questions_per_tag: int = option(
        2500,
        "How many questions of each tag, those with the highest scores. Default: 2500",
        _POSTS_PANEL,
        check=at_least(1),
    )
    shared_tags: float = option(
        0.4,
        "Other questions are similar from this share of common tags on (shared tags / smaller tag set); from 32k on one common "
        "tag is enough. Default: 0.4",
        _POSTS_PANEL,
        check=_share,
    )
    shared_of: str = option(
        "smaller",
        "The share of common tags is one of the smaller of the two tag sets, or of their union. Default: smaller",
        _POSTS_PANEL,
        check=one_of(("smaller", "union")),
    )
    min_own: int = option(
        1,
        "Fewest older answers to the question itself; with none, words that question and answer share give the accepted one "
        "away. Default: 1",
        _POSTS_PANEL,
        check=at_least(0),
    )
    min_fill: float = min_fill_option(_share)
    same_as: tuple[int, ...] | None = option(
        None,
        "Lengths at which the same questions must do, though they may not be built now, as in 1k,...,16k. Default: all published "
        "lengths up to 16k; 'none': only those that are built",
        _POSTS_PANEL,
        read=_same_as,
    )
