"""How much of a text is written elsewhere already: n-grams, without names and numbers, that other texts of the same kind have.

Real texts of a kind come in pieces as long as the texts of a task, to compare their overlap with.
"""

import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.corpora.documents import read_debates, read_opinions, read_reviews
from long_context_tasks.corpora.gutenberg import clean
from long_context_tasks.corpora.meetings import read_meetings
from long_context_tasks.corpora.plain_files import data_files, read_text
from long_context_tasks.corpora.stack_exchange import html_to_text, read_posts

N = 5
OTHERS = 50
"""Texts with which a text is compared."""
_COMPARED = 20
_WORD = re.compile(r"[^\W_]+")
_NAME = zlib.crc32(b"A")
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5], np.uint64)  # fmt: skip


def masked_overlap(texts: Sequence[str], known: NDArray[np.uint64] | None = None) -> float:
    """Return the share of a text's masked n-grams that up to 50 of the other texts have; mean over up to 20 texts.

    Words with a capital count as one name, however many follow one another, and numbers as the same word. N-grams that are ``known``
    (see :func:`masked_grams`; sorted) do not count as shared. NaN for less than two texts.

    >>> masked_overlap(["In 1851 Anne saw the old pump.", "In 12 Kit Brown saw the old pump.", "In vain all look for 7 pears."]) == 2 / 3
    True
    """
    texts = texts[: OTHERS + 1]
    if len(texts) < 2:
        return float("nan")
    grams = [masked_grams([text]) for text in texts]
    each, texts_with = np.unique(np.concatenate([np.unique(own) for own in grams]), return_counts=True)
    several = each[texts_with > 1]
    shares = []
    for own in grams[:_COMPARED]:
        shared = np.isin(own, several)
        if known is not None and len(known):
            shared &= known[np.searchsorted(known, own).clip(max=len(known) - 1)] != own
        shares.append(float(shared.mean()) if len(own) else 0.0)
    return fmean(shares)


def masked_grams(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return hashes of the masked n-grams of texts, in order."""
    found = [np.empty(0, np.uint64)]
    for text in texts:
        ids = np.fromiter(map(_number, _WORD.findall(text)), np.uint64)
        names = ids == _NAME
        # Names that follow one another are one.
        ids = np.delete(ids, np.flatnonzero(names[1:] & names[:-1]) + 1)
        if len(ids) >= N:
            found.append(np.lib.stride_tricks.sliding_window_view(ids, N) @ _FACTORS)
    return np.concatenate(found)


@lru_cache(maxsize=500_000)
def _number(word: str) -> int:
    if word[0].isdigit():
        return zlib.crc32(b"0")
    return zlib.crc32(word.encode()) if word.islower() else _NAME


def _novels(folder: Path) -> Iterator[str]:
    return ("\n\n".join(clean(read_text(file)).paragraphs) for file in data_files(folder, "txt"))


def _abstracts(folder: Path) -> Iterator[str]:
    return (f"{study.title} {study.abstract}" for review in read_reviews(folder) for study in review.studies)


def _meetings(folder: Path) -> Iterator[str]:
    return ("\n".join(text for _, text in meeting.turns) for meeting in read_meetings(folder))


def _forums(folder: Path) -> Iterator[str]:
    return (
        html_to_text(post.get("Body", "")) for file in data_files(folder, "xml") for post in read_posts(file)
    )


_READERS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "novels": _novels,
    "debates": lambda folder: ("\n\n".join(debate.speeches) for debate in read_debates(folder)),
    "abstracts": _abstracts,
    "opinions": lambda folder: ("\n\n".join(opinion.pages) for opinion in read_opinions(folder)),
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
