"""Folders of splits, as ``lct orca data --split`` writes them: ``split_0/train.jsonl``, ``dev.jsonl``, ``test.jsonl`` and so on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.judges.orca.data import OrcaItem, read_items
from long_context_tasks.schema import InputError

PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class SplitItems:
    """The rated answers of a split.

    Attributes:
        name: of its folder.
        train, dev, test: its parts.
    """

    name: str
    train: tuple[OrcaItem, ...]
    dev: tuple[OrcaItem, ...]
    test: tuple[OrcaItem, ...]

    @property
    def number(self) -> str:
        """What follows the last underscore of the name."""
        return self.name.rpartition("_")[2]


def read_splits(folder: Path) -> list[SplitItems]:
    """All splits of a folder, by number.

    Raises:
        InputError: there is none; a part is missing or cannot be read; an answer has no id of its own or no rating, stands in two parts of a
            split, or is another one in another split.
    """
    places = [path for path in folder.glob("split_*") if path.is_dir()]
    if not places:
        raise InputError(
            f"{folder}: holds no split_0, split_1 ...; name a folder that `lct orca data --split` wrote"
        )
    places.sort(key=lambda path: (not path.name[6:].isdigit(), path.name[6:].zfill(9)))
    known: dict[str, OrcaItem] = {}
    return [
        SplitItems(place.name, *(parts[name] for name in PARTS))
        for place in places
        for parts in [_parts(place, known)]
    ]


def _parts(place: Path, known: dict[str, OrcaItem]) -> Mapping[str, tuple[OrcaItem, ...]]:
    """The parts of one split; ``known`` has the answers of those before."""
    parts: dict[str, tuple[OrcaItem, ...]] = {}
    part_of: dict[str, str] = {}
    for part in PARTS:
        path = place / f"{part}.jsonl"
        items = read_items(path, need_ratings=True)
        for item in items:
            if item.row.get("id") is None:
                raise InputError(f"{path}, {item.id}: no id; scores are joined to answers by it")
            if item.id in part_of:
                raise InputError(
                    f"{path}: {item.id} stands in {part_of[item.id]} and {part} of {place.name}; make the splits again"
                )
            part_of[item.id] = part
            if _content(known.setdefault(item.id, item)) != _content(item):
                raise InputError(
                    f"{path}: {item.id} is another answer, or has other ratings, in an earlier split; make the splits again"
                )
        parts[part] = tuple(items)
    return parts


def _content(item: OrcaItem) -> tuple[object, ...]:
    return item.question, item.reference, item.candidate, item.ratings


def all_items(splits: Sequence[SplitItems]) -> dict[str, OrcaItem]:
    """Every answer once, by id."""
    return {
        item.id: item for split in splits for part in (split.train, split.dev, split.test) for item in part
    }
