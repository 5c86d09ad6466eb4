"""Documents of real prose with new names: the paragraphs of a carrier from a random one on, then those of the next carrier."""

from collections.abc import Iterator, Mapping, Sequence
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
# Of English prose in cl100k; a document that turns out too short is written again, longer.
_CHARACTERS_PER_TOKEN = 4.6


@dataclass(frozen=True)
class CarrierText:
    """A novel or a debate whose names are replaced."""

    id: str
    texts: tuple[str, ...]

    @cached_property
    def names(self) -> Names:
        return names_of(self.texts)


@cache
def _carrier_texts(file: Path, domain: str) -> tuple[CarrierText, ...]:
    if domain == "books":
        return tuple(
            CarrierText(book.id, book.paragraphs) for book in read_books(file) if book.form == "novel"
        )
    return tuple(CarrierText(debate.id, debate.speeches) for debate in read_debates(file))


def taken(folder: Path, domain: str, seed: int, tokens: int) -> Sequence[tuple[CarrierText, Sequence[str]]]:
    """Return the carriers of a document of about ``tokens`` tokens, in order, each with the paragraphs that are shown."""
    dice = Random(f"{seed} carriers")
    found: list[tuple[CarrierText, Sequence[str]]] = []
    size = 0.0
    for carrier, paragraphs in _from_random_place(folder, domain, dice):
        own: list[str] = []
        for paragraph in paragraphs:
            if size >= tokens:
                break
            own.append(paragraph)
            size += len(paragraph) / _CHARACTERS_PER_TOKEN
        if own:
            found.append((carrier, own))
        if size >= tokens:
            return found
    raise InputError(
        f"{folder}: all files together have {round(size):,} tokens of use for a document of {tokens:,}; add files, or use a "
        "shorter length"
    )


@dataclass(frozen=True)
class CarrierWriter:
    """Writes the document of a seed from the carriers in a folder."""

    folder: Path
    domain: str
    seed: int

    def __call__(self, tokens: int) -> LabelledText:
        seed = int(stable_seed(self.seed, "organize")[:12], 16)
        parts = taken(self.folder, self.domain, seed, tokens)
        texts = (text for carrier, own in parts for text in rename(own, carrier.names, seed, carrier.id))
        title = " + ".join(dict.fromkeys(carrier.id for carrier, _ in parts))
        return LabelledText(title, tuple(map(Paragraph, texts)))


def _from_random_place(
    folder: Path, domain: str, dice: Random
) -> Iterator[tuple[CarrierText, Sequence[str]]]:
    """Yield all carriers with their paragraphs; start the first one at a random paragraph and append the skipped part at the end."""
    skipped: tuple[CarrierText, Sequence[str]] | None = None
    for carrier in _drawn(folder, domain, dice):
        paragraphs = carrier.texts
        if skipped is None:
            # Not in the last fifth, so that the document is not mostly the second carrier.
            place = dice.randrange(max(1, len(paragraphs) * 4 // 5))
            skipped, paragraphs = (carrier, paragraphs[:place]), paragraphs[place:]
        yield carrier, paragraphs
    if skipped:
        yield skipped


def _drawn(folder: Path, domain: str, dice: Random) -> Iterator[CarrierText]:
    """Yield all carriers of a folder, files and carriers within a file in random order."""
    files = data_files(folder, "txt", "jsonl", "xml")
    dice.shuffle(files)
    for file in files:
        carriers = list(_carrier_texts(file, domain))
        dice.shuffle(carriers)
        yield from carriers


def recast_genres(options: Options, domains: Sequence[str]) -> Mapping[str, Genre]:
    genres = {}
    for domain in domains:
        folder = carriers_of(options, CARRIER_KINDS[domain], f"ethic_organize_{domain}_recast")
        genres[domain] = Genre(partial(CarrierWriter, folder, domain), _FILLERS[domain])
    return genres
