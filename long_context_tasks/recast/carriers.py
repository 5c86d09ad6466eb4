"""Carriers: the real texts that recast cases are made from. Where they lie, where they come from, and a text of them recast.

A folder of carriers holds a folder for each kind, with files that the readers in :mod:`long_context_tasks.corpora` know::

    carriers/novels/*.txt  debates/*.xml

Entities of a text are found once and kept in the cache.
"""

import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from long_context_tasks.recast.entities import find_entities
from long_context_tasks.recast.mention import Mention
from long_context_tasks.recast.substitution import Recast, Span, substitute
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.schema.files import loads, make_folder, read_yaml, write_whole
from long_context_tasks.schema.options import cache_dir, data_dir
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.tokens.build_settings import SourceOption

_LOG = logging.getLogger(__name__)
_ROOM = "make room there, or point LCT_CACHE_DIR at another folder"
NAME = "carriers"
"""Of the folder below LCT_DATA_DIR, and in `lct data fetch`."""
CARRIERS = SourceOption(
    NAME,
    "Folder of real texts that recast cases are made from, with novels/, debates/ and so on. Default: carriers in LCT_DATA_DIR",
    "Recast tasks",
)
NOVELS, DEBATES = "novels", "debates"
_RULES = 10
"""Version of the rules by which entities are found; what is kept of another version is found anew."""
_JOINT = "\n\n"


@dataclass(frozen=True)
class CarrierFile:
    """A file that can be fetched.

    Attributes:
        kind: folder that it is put into.
        name: there.
        url: where it comes from.
        sha256: of the plain file, where a copy could be checked.
    """

    kind: str
    name: str
    url: str
    sha256: str | None


class _File(Checked):
    url: str
    sha256: str | None = None


class _Set(Checked):
    kind: str
    licence: str
    files: Mapping[str, _File]


@cache
def carrier_files() -> tuple[CarrierFile, ...]:
    """Return the files of ``carriers.yaml``."""
    path = Path(__file__).with_name("carriers.yaml")
    rows = read_yaml(path, "list of carriers", remedy="install the package again")
    if not isinstance(rows, list):
        raise InputError(f"{path}: holds no list of carriers; install the package again")
    sets = [validated(_Set, row, str(path)) for row in rows]
    return tuple(
        CarrierFile(carrier_set.kind, name, file.url, file.sha256)
        for carrier_set in sets
        for name, file in carrier_set.files.items()
    )


def carriers_of(options: Options, kind: str, task: str) -> Path:
    """Return the folder of a kind of carriers: in ``lct_carriers``, else in ``LCT_DATA_DIR/carriers``.

    Raises:
        InputError: there is none, with the remedies.
    """
    root = options.carriers or data_dir(options, NAME)
    if not (root / kind).is_dir():
        raise InputError(
            f"{task}: {root / kind} is missing. Remedies: (1) `lct data fetch {NAME}` downloads public texts; (2) lct_carriers "
            f"(--carriers, LCT_CARRIERS) names a folder with your own texts in {kind}/; (3) run a task that needs no data: "
            "`lct tasks lct_synthetic`"
        )
    return root / kind


def recast_texts(texts: Sequence[str], seed: int, name: str) -> list[Recast]:
    """Recast texts that belong together, such as the paragraphs of a book: what is named in several has one replacement.

    Args:
        texts: without blank lines.
        seed: of the new entities.
        name: of the carrier; equal seeds give carriers of other names other entities.

    Returns:
        The new texts, each with its spans.
    """
    return recast_passages(passages_of(texts), seed, name)


@dataclass(frozen=True)
class Passage:
    """A part of a carrier with its own mentions, whose places count from its beginning."""

    text: str
    mentions: tuple[Mention, ...]


def passages_of(texts: Sequence[str]) -> list[Passage]:
    """Return texts that belong together with what each of them mentions."""
    whole = _JOINT.join(texts)
    return [
        Passage(
            text,
            tuple(mention._replace(start=mention.start - start, end=mention.end - start) for mention in own),
        )
        for text, start, own in _cut(whole, entities_of(whole))
    ]


def recast_passages(passages: Sequence[Passage], seed: int, name: str) -> list[Recast]:
    """Recast some passages of a carrier; see :func:`recast_texts`."""
    starts = accumulate((len(passage.text) + len(_JOINT) for passage in passages), initial=0)
    mentions = [
        mention._replace(start=start + mention.start, end=start + mention.end)
        for start, passage in zip(starts, passages, strict=False)
        for mention in passage.mentions
    ]
    whole = _JOINT.join(passage.text for passage in passages)
    recast = substitute(whole, mentions, int(stable_seed(seed, name)[:12], 16))
    return [
        Recast(text, tuple(span._replace(start=span.start - start, end=span.end - start) for span in own))
        for text, start, own in _cut(recast.text, recast.spans)
    ]


_Placed = TypeVar("_Placed", Mention, Span)


def _cut(whole: str, placed: Sequence[_Placed]) -> Iterator[tuple[str, int, list[_Placed]]]:
    """Yield each text of a whole, where it begins, and what is placed in it."""
    start, left = 0, iter(placed)
    passage = next(left, None)
    for text in whole.split(_JOINT):
        own: list[_Placed] = []
        while passage is not None and passage.start < start + len(text):
            own.append(passage)
            passage = next(left, None)
        yield text, start, own
        start += len(text) + len(_JOINT)


def entities_of(text: str) -> tuple[Mention, ...]:
    """Return the entities of a text; kept in the cache, as finding those of a long book takes seconds."""
    key = hashlib.sha256(f"{_RULES} {text}".encode("utf-8", "surrogatepass")).hexdigest()
    path = cache_dir() / "recast" / f"{key[:32]}.json.gz"
    try:
        return tuple(Mention(*row) for row in loads(gzip.decompress(path.read_bytes())))
    except (OSError, EOFError, zlib.error, ValueError, TypeError, LookupError, AttributeError):
        found = find_entities(text)
    try:
        make_folder(path.parent, remedy=_ROOM)
        write_whole(path, gzip.compress(json.dumps(found).encode(), mtime=0), remedy=_ROOM)
    except InputError as error:
        _LOG.warning("%s; entities are found anew in every run", error)
    return found
