"""Documents of real prose with other names: paragraphs of a carrier from a place that the seed chooses, then of the next one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.ethic.synthetic.maker import Genre
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.carriers import DEBATES, NOVELS, carriers_of
from long_context_tasks.recast.renaming import Names, names_of, rename
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import LabelledText, Paragraph

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


@dataclass(frozen=True)
class Unit:
    """A carrier: a novel or a debate."""

    id: str
    texts: tuple[str, ...]

    @cached_property
    def names(self) -> Names:
        """What it names."""
        return names_of(self.texts)


@cache
def _units(file: Path, domain: str) -> tuple[Unit, ...]:
    if domain == "books":
        return tuple(Unit(book.id, book.paragraphs) for book in read_books(file) if book.form == "novel")
    return tuple(Unit(debate.id, debate.speeches) for debate in read_debates(file))


def taken(folder: Path, domain: str, seed: int, tokens: int) -> Sequence[tuple[Unit, Sequence[str]]]:
    """Return the carriers of a document of about so many tokens, in order, each with its paragraphs that are shown.

    Raises:
        InputError: all carriers together are too short.
    """
    dice = Random(f"{seed} carriers")
    found: list[tuple[Unit, Sequence[str]]] = []
    size = 0.0
    for unit, paragraphs in _turns(folder, domain, dice):
        own: list[str] = []
        for paragraph in paragraphs:
            if size >= tokens:
                break
            own.append(paragraph)
            size += len(paragraph) / _CHARACTERS_PER_TOKEN
        if own:
            found.append((unit, own))
        if size >= tokens:
            return found
    raise InputError(
        f"{folder}: all files together have {round(size):,} tokens of use for a document of {tokens:,}; add files, or use a "
        "shorter length"
    )


def _write(folder: Path, domain: str, seed: int, tokens: int) -> LabelledText:
    """Return a document of about so many tokens."""
    parts = taken(folder, domain, seed, tokens)
    texts = (text for unit, own in parts for text in rename(own, unit.names, seed, unit.id))
    return LabelledText(" + ".join(dict.fromkeys(unit.id for unit, _ in parts)), tuple(map(Paragraph, texts)))


def _turns(folder: Path, domain: str, dice: Random) -> Iterator[tuple[Unit, Sequence[str]]]:
    """Yield all carriers and their paragraphs; start the first one at a random place and end with what stands before it."""
    before: tuple[Unit, Sequence[str]] | None = None
    for unit in _drawn(folder, domain, dice):
        paragraphs = unit.texts
        if before is None:
            place = dice.randrange(max(1, len(paragraphs) * 4 // 5))
            before, paragraphs = (unit, paragraphs[:place]), paragraphs[place:]
        yield unit, paragraphs
    if before:
        yield before


def _drawn(folder: Path, domain: str, dice: Random) -> Iterator[Unit]:
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

        def begin(seed: int, folder: Path = folder, domain: str = domain) -> Callable[[int], LabelledText]:
            return partial(_write, folder, domain, int(stable_seed(seed, "organize")[:12], 16))

        genres[domain] = Genre(begin, _FILLERS[domain])
    return genres
