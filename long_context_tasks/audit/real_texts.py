"""Real texts of a kind: in pieces as long as the texts of a task, to compare their overlap with, and the n-grams of all of them."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.audit.overlap import OTHERS, masked_grams
from long_context_tasks.corpora.documents import read_debates, read_opinions, read_reviews
from long_context_tasks.corpora.gutenberg import clean
from long_context_tasks.corpora.meetings import read_meetings
from long_context_tasks.corpora.plain_files import data_files, read_text
from long_context_tasks.corpora.stack_exchange import html_to_text, read_posts


def _novels(folder: Path) -> Iterator[str]:
    return ("\n\n".join(clean(read_text(file)).paragraphs) for file in data_files(folder, "txt"))


def _abstracts(folder: Path) -> Iterator[str]:
    return (f"{study.title} {study.abstract}" for review in read_reviews(folder) for study in review.studies)


def _meetings(folder: Path) -> Iterator[str]:
    return ("\n".join(text for _, text in one.turns) for one in read_meetings(folder))


def _forums(folder: Path) -> Iterator[str]:
    return (
        html_to_text(post.get("Body", "")) for file in data_files(folder, "xml") for post in read_posts(file)
    )


_READERS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "novels": _novels,
    "debates": lambda folder: ("\n\n".join(one.speeches) for one in read_debates(folder)),
    "abstracts": _abstracts,
    "opinions": lambda folder: ("\n\n".join(one.pages) for one in read_opinions(folder)),
    "meetings": _meetings,
    "forums": _forums,
}


def real_texts(folder: Path, kind: str, size: int) -> list[str]:
    """Return up to 51 pieces of ``size`` characters of what lies in the folder of a kind; fewer where there is less.

    Raises:
        InputError: no such folder, or nothing that can be read.
    """

    def blocks() -> Iterator[list[str]]:
        held: list[str] = []
        for text in _texts(folder, kind):
            held.append(text)
            if sum(map(len, held)) >= size:
                whole = "\n\n".join(held)
                yield [whole[at : at + size] for at in range(0, len(whole) - size + 1, size)]
                held = []

    # A piece of each text, then the second of each, and so on.
    turns = itertools.zip_longest(*itertools.islice(blocks(), OTHERS + 1))
    return [piece for turn in turns for piece in turn if piece is not None][: OTHERS + 1]


@lru_cache(maxsize=1)
def _texts(folder: Path, kind: str) -> Sequence[str]:
    return tuple(_READERS[kind](folder / kind))


@lru_cache(maxsize=1)
def real_grams(folder: Path, kind: str) -> NDArray[np.uint64]:
    """Return the masked n-grams of all that lies in the folder of a kind, each once.

    Raises:
        InputError: no such folder, or nothing that can be read.
    """
    return np.unique(masked_grams(_texts(folder, kind)))
