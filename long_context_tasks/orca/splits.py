"""Splits with unseen questions or unseen answering models (paper, section 5.3), and their folders."""

import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from long_context_tasks.orca.data import OrcaItem, read_items
from long_context_tasks.schema import InputError

T = TypeVar("T")
SplitPart = Literal["train", "dev", "test"]
SHARES: dict[SplitPart, int] = {"train": 8, "dev": 1, "test": 1}
PARTS = tuple(SHARES)


@dataclass(frozen=True)
class Split(Generic[T]):
    """A train/dev/test split, holding item indices or the rated answers themselves."""

    name: str  # seed 0, the held-out models, or the name of a folder
    train: tuple[T, ...]
    dev: tuple[T, ...]
    test: tuple[T, ...]


SplitItems = Split[OrcaItem]


def normalised_question(text: str) -> str:
    """Normalise case and white space in a question."""
    return " ".join(text.casefold().split())


def question_numbers(items: Sequence[OrcaItem]) -> list[int]:
    """Number the items' questions from 0, in order of first occurrence.

    Items share a question if their ``question_id`` (within a ``domain`` and ``category``) or their wording
    matches, or if a third item links them. Thus a question with two ids, or from two data sets, cannot be in
    two sets.
    """
    first: dict[Hashable, int] = {}
    parent = list(range(len(items)))

    # Union-find: items with a common key share a root, the earliest of them.
    def root(index: int) -> int:
        while parent[index] != index:
            # Path halving keeps later lookups short.
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, item in enumerate(items):
        keys: list[Hashable] = []
        if item.question is not None:
            keys.append(normalised_question(item.question))
        if item.question_id is not None:
            keys.append((item.domain, item.category, item.question_id))
        for key in keys:
            a, b = sorted((root(index), root(first.setdefault(key, index))))
            parent[b] = a
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(index), len(numbers)) for index in range(len(items))]


def unseen_questions(items: Sequence[OrcaItem], seed: int) -> Split[int]:
    """Split by questions in the ratio 8:1:1.

    Stratification has two levels: questions are taken domain by domain and category by category, in a seeded
    order, and each is assigned to the set furthest below its share. Each domain thus has the overall ratio,
    and each category as far as its size allows. A question has the domain and category of its first item.

    Raises:
        InputError: fewer than three questions.
    """
    numbers = question_numbers(items)
    n_questions = max(numbers, default=-1) + 1
    if n_questions < len(SHARES):
        raise InputError(
            f"{len(items)} items on {n_questions} questions; training, development and test part need at least one each"
        )
    strata: dict[tuple[str, str], list[int]] = defaultdict(list)
    seen: set[int] = set()
    for item, number in zip(items, numbers, strict=True):
        if number not in seen:
            seen.add(number)
            strata[item.domain, item.category].append(number)
    domains: dict[str, list[list[int]]] = defaultdict(list)
    # Sorted, so that row order does not affect the split.
    for domain, category in sorted(strata):
        domains[domain].append(strata[domain, category])
    rng = random.Random(f"unseen questions {seed}")
    order: list[int] = []
    groups = list(domains.values())
    rng.shuffle(groups)
    for categories in groups:
        rng.shuffle(categories)
        for questions in categories:
            rng.shuffle(questions)
            order += questions
    part_of = _dealt(order, SHARES)
    return _split(f"seed {seed}", [part_of[number] for number in numbers])


def _dealt(questions: Sequence[int], shares: Mapping[SplitPart, int]) -> dict[int, SplitPart]:
    """Assign each question to the set furthest below its share so far.

    Ties go to the smaller set, so that none stays empty.
    """
    total = sum(shares.values())
    given: dict[SplitPart, int] = dict.fromkeys(shares, 0)
    part_of: dict[int, SplitPart] = {}
    for count, question in enumerate(questions, start=1):
        left = len(questions) - count
        # The last questions go to sets that are still empty.
        empty = [part for part in shares if not given[part]]
        part = max(
            empty if len(empty) > left else list(shares),
            # Products instead of fractions, because rounding would break ties.
            key=lambda part: (count * shares[part] - given[part] * total, -shares[part]),
        )
        given[part] += 1
        part_of[question] = part
    return part_of


def _split(name: str, parts: Sequence[SplitPart]) -> Split[int]:
    return Split(name, *(tuple(index for index, each in enumerate(parts) if each == part) for part in PARTS))


def model_splits(items: Sequence[OrcaItem], *, held_out: int = 2, seed: int = 0) -> list[Split[int]]:
    """Split by answering models, up to five times.

    Each test set has only answers of models absent from training and development, and no model is held out
    twice. The other models' answers are divided 8:1 into training and development sets by question. As in the
    paper, training may include a test question with another model's answer.

    Raises:
        InputError: an item has no model, or there are too few models.
    """
    for item in items:
        if item.model is None:
            raise InputError(f'item {item.id}: no "candidate_model", which a split by models needs')
    models = sorted({str(item.model) for item in items})
    if len(models) <= held_out:
        raise InputError(f"{len(models)} models are too few to hold {held_out} out; hold fewer models out")
    wanted = min(5, len(models) // held_out)
    rng = random.Random(f"unseen models {seed}")
    rng.shuffle(models)
    numbers = question_numbers(items)
    found = []
    for start in range(0, wanted * held_out, held_out):
        out = set(models[start : start + held_out])
        rest = sorted({number for number, item in zip(numbers, items, strict=True) if item.model not in out})
        if len(rest) < 2:
            raise InputError(
                f"without {', '.join(sorted(out))} there are answers to {len(rest)} questions; training and development part need one each"
            )
        rng.shuffle(rest)
        part_of = _dealt(rest, {"train": SHARES["train"], "dev": SHARES["dev"]})
        parts: list[SplitPart] = [
            "test" if item.model in out else part_of[number]
            for number, item in zip(numbers, items, strict=True)
        ]
        found.append(_split(" + ".join(sorted(out)), parts))
    return found


# Folders of splits, as written by ``lct orca data --split``: ``split_0/train.jsonl``, ``dev.jsonl``,
# ``test.jsonl`` etc.


def read_splits(folder: Path) -> list[SplitItems]:
    """Read all splits in a folder, ordered by number.

    A file of rated answers becomes one split with all answers in its test set.
    """
    if folder.is_file():
        return [SplitItems("all answers", (), (), _read_part(folder))]
    folders = [path for path in folder.glob("split_*") if path.is_dir()]
    if not folders:
        raise InputError(
            f"{folder}: holds no split_0, split_1 ...; name a folder that `lct orca data --split` wrote, or a file of rated answers"
        )
    # split_10 sorts after split_9.
    folders.sort(key=lambda path: (not path.name[6:].isdigit(), path.name[6:].zfill(9)))
    known: dict[str, tuple[object, ...]] = {}
    splits = []
    for part_folder in folders:
        parts: list[tuple[OrcaItem, ...]] = []
        part_of: dict[str, str] = {}
        for part in PARTS:
            path = part_folder / f"{part}.jsonl"
            parts.append(_read_part(path))
            for item in parts[-1]:
                if part_of.setdefault(item.id, part) != part:
                    raise InputError(
                        f"{path}: {item.id} is in {part_of[item.id]} and {part} of {part_folder.name}; make the splits again"
                    )
                # Raters have one estimate per id, so an id must identify the same answer in all splits.
                content = item.question, item.reference, item.candidate, item.ratings
                if known.setdefault(item.id, content) != content:
                    raise InputError(
                        f"{path}: {item.id} is a different answer or has different ratings in an earlier split; make the splits again"
                    )
        splits.append(SplitItems(part_folder.name, *parts))
    return splits


def _read_part(path: Path) -> tuple[OrcaItem, ...]:
    items = tuple(read_items(path, need_ratings=True))
    if unnamed := next((item for item in items if item.row.get("id") is None), None):
        raise InputError(f"{path}, {unnamed.id}: no id; scores are joined to answers by it")
    return items


def all_items(splits: Sequence[SplitItems]) -> dict[str, OrcaItem]:
    return {
        item.id: item for split in splits for part in (split.train, split.dev, split.test) for item in part
    }
