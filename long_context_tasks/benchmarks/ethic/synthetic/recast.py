"""Documents of real prose with other names and numbers: passages of a carrier from a place that the seed chooses, then of the next one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.ethic.synthetic.maker import Genre
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.documents import read_debates
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.carriers import (
    DEBATES,
    NOVELS,
    Passage,
    carriers_of,
    passages_of,
    recast_passages,
)
from long_context_tasks.recast.substitution import Recast
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import Document, Paragraph

CARRIER_KINDS = {"books": NOVELS, "debates": DEBATES}
_FILLERS = {
    "books": (
        "Nothing more was said.",
        "It was already late.",
        "The fire had burned low by then.",
        "Outside, the wind went on as it had before.",
        "For a while there was only the sound of the rain upon the roof and in the yard.",
    ),
    "debates": (
        "I shall be brief.",
        "I say no more.",
        "That is all I wish to say on it.",
        "I am grateful to the House for its patience.",
        "The House will forgive me if I do not go into every detail of it now.",
    ),
}
_CHARACTERS_PER_TOKEN = 4.6
_KNOWN = 256
"""Carriers whose mentions are kept in memory."""


@dataclass(frozen=True)
class _Unit:
    """A carrier: a novel or a debate."""

    id: str
    texts: tuple[str, ...]


@cache
def _units(file: Path, domain: str) -> tuple[_Unit, ...]:
    if domain == "books":
        return tuple(_Unit(book.id, book.paragraphs) for book in read_books(file) if book.form == "novel")
    return tuple(_Unit(debate.id, debate.speeches) for debate in read_debates(file))


@lru_cache(maxsize=_KNOWN)
def _passages(unit: _Unit) -> tuple[Passage, ...]:
    return tuple(passages_of(unit.texts))


def recast_parts(folder: Path, domain: str, seed: int, tokens: int) -> tuple[Sequence[str], Sequence[Recast]]:
    """Return the carriers of a document of about so many tokens, and its passages with their new names and numbers.

    Raises:
        InputError: all carriers together are too short.
    """
    dice = Random(f"{seed} carriers")
    recast: list[Recast] = []
    size = 0.0
    names: list[str] = []
    for unit, passages in _turns(folder, domain, dice):
        taken = []
        for passage in passages:
            if size >= tokens:
                break
            taken.append(passage)
            size += len(passage.text) / _CHARACTERS_PER_TOKEN
        if taken:
            names += [unit.id] if unit.id not in names else []
            recast += recast_passages(taken, seed, unit.id)
        if size >= tokens:
            break
    else:
        raise InputError(
            f"{folder}: all files together have {round(size):,} tokens of use for a document of {tokens:,}; add files, or use a "
            "shorter length"
        )
    return names, recast


def _write(folder: Path, domain: str, seed: int, tokens: int) -> Document:
    names, recast = recast_parts(folder, domain, seed, tokens)
    return Document(" + ".join(names), tuple(Paragraph(passage.text) for passage in recast))


def _turns(folder: Path, domain: str, dice: Random) -> Iterator[tuple[_Unit, Sequence[Passage]]]:
    """Yield all carriers and their passages; start the first one at a random place and end with what stands before it."""
    before: tuple[_Unit, Sequence[Passage]] | None = None
    for unit in _drawn(folder, domain, dice):
        passages = _passages(unit)
        if before is None:
            place = dice.randrange(max(1, len(passages) * 4 // 5))
            before, passages = (unit, passages[:place]), passages[place:]
        yield unit, passages
    if before:
        yield before


def _drawn(folder: Path, domain: str, dice: Random) -> Iterator[_Unit]:
    """Yield all carriers of a folder in random order, each file in turns."""
    files = data_files(folder, "txt", "jsonl", "xml")
    dice.shuffle(files)
    for file in files:
        units = list(_units(file, domain))
        dice.shuffle(units)
        yield from units


def recast_genres(options: Options, domains: Sequence[str]) -> Mapping[str, Genre]:
    """Return how documents of the domains are made from carriers.

    Raises:
        InputError: a kind of carriers is missing.
    """
    genres = {}
    for domain in domains:
        folder = carriers_of(options, CARRIER_KINDS[domain], f"ethic_organize_{domain}_recast")

        def begin(seed: int, folder: Path = folder, domain: str = domain) -> Callable[[int], Document]:
            return partial(_write, folder, domain, int(stable_seed(seed, "organize")[:12], 16))

        genres[domain] = Genre(begin, _FILLERS[domain])
    return genres
