"""Which documents give a context of which length: the first chunks of every document that is long enough."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.drafts import TOO_SHORT, UNFILLED, Plan, W
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.chunks import Chunk, chunks_of, pieces_of

LOOSE = "whole paragraphs or chunks leave too much of the length empty"
"""The document is long enough, but its next paragraph or chunk does not fit any more."""
NOT_CHOSEN = "not among the first n"


@dataclass(frozen=True)
class Offer(Generic[W]):
    """What a source offers.

    Attributes:
        tokens: of it, as far as they were counted.
        at: returns the context of a length, or why there is none; called at once.
        key: the sources with the least keys are chosen; of equal keys the first ones.
    """

    id: str
    tokens: int
    at: Callable[[int], W | str]
    key: str = ""


def plan_cases(offers: Iterable[Offer[W]], settings: EthicSettings) -> Plan[W]:
    """Plan contexts of every length; with ``n``, that many sources are chosen for each before anything is annotated."""
    found: dict[int, list[tuple[str, W]]] = {length: [] for length in settings.lengths}
    dropped: dict[int, Counter[str]] = {length: Counter() for length in settings.lengths}
    order: list[str] = []
    longest = 0
    for offer in offers:
        order.append(offer.id)
        longest = max(longest, offer.tokens)
        for length in settings.lengths:
            one = TOO_SHORT if offer.tokens < settings.min_document else offer.at(length)
            if isinstance(one, str):
                dropped[length][one] += 1
            else:
                found[length].append((offer.key, one))
    windows: list[W] = []
    for length, own in found.items():
        chosen = sorted(range(len(own)), key=lambda place: own[place][0])[: settings.n]
        if len(chosen) < len(own):
            dropped[length][NOT_CHOSEN] += len(own) - len(chosen)
        windows += [own[place][1] for place in sorted(chosen)]
    return Plan(tuple(windows), dropped, tuple(order), longest)


def choice_key(settings: EthicSettings, domain: str, source: str) -> str:
    """Return a random key of a source, the same one at every length."""
    return stable_seed(settings.seed, "choose", domain, source)


@dataclass(frozen=True)
class Window:
    """The context of one case."""

    source: Source
    length: int
    chunks: tuple[Chunk, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the context."""
        return sum(chunk.tokens for chunk in self.chunks)


def plan_windows(
    sources: Iterable[Source], settings: EthicSettings, progress: Progress, *, fill: bool = True
) -> Plan[Window]:
    """Plan windows of every length over the sources of one domain; for ``fill`` see :func:`window`."""
    needed = max(settings.budget(settings.lengths[-1]), settings.min_document)

    def offer(source: Source) -> Offer[Window]:
        chunks = first_chunks(source, settings.chunk_tokens, needed, settings.measure)
        tokens = sum(chunk.tokens for chunk in chunks)

        def at(length: int) -> Window | str:
            budget = settings.budget(length)
            least = settings.min_fill * budget
            if tokens < least:
                return UNFILLED
            one = Window(source, length, tuple(window(chunks, budget, fill=fill)))
            # Without fill the caller checks how much of the length is used.
            return LOOSE if not one.chunks or (fill and one.tokens < least) else one

        return Offer(source.id, tokens, at, choice_key(settings, source.domain, source.id))

    reading = progress.over(sources, "reading and encoding documents", "document")
    return plan_cases(map(offer, reading), settings)


def first_chunks(source: Source, cap: int, needed: int, tokenizer: Tokenizer) -> list[Chunk]:
    """Return chunks of a source from its beginning until they have ``needed`` tokens; the rest is not encoded."""
    chunks: list[Chunk] = []
    size = 0
    for chunk in chunks_of(pieces_of(source.texts, cap, tokenizer), cap):
        if size >= needed:
            break
        chunks.append(chunk)
        size += chunk.tokens
    return chunks


def window(chunks: Sequence[Chunk], budget: int, *, fill: bool = True) -> list[Chunk]:
    """Return the first chunks that fit a budget of tokens.

    Windows of one source are nested, so that a chunk is annotated once for all lengths. With ``fill`` the first pieces of the next
    chunk follow as far as they fit, as a shorter chunk.
    """
    taken: list[Chunk] = []
    left = budget
    for chunk in chunks:
        if chunk.tokens <= left:
            taken.append(chunk)
            left -= chunk.tokens
            continue
        pieces = []
        for piece in chunk.pieces:
            if piece.tokens > left:
                break
            pieces.append(piece)
            left -= piece.tokens
        if fill and pieces:
            taken.append(Chunk(tuple(pieces)))
        break
    return taken


def shuffled(n: int, *seed: object) -> list[int]:
    """Return the numbers below n in an order that depends on the seed only."""
    order = list(range(n))
    random.Random(stable_seed(*seed)).shuffle(order)
    return order
