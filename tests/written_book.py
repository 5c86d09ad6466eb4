"""A book that tests write themselves, and TSort cases from it: sentences of a walk, in paragraphs as long as those of novels."""

import json
from pathlib import Path
from random import Random

from case_folders import build

from long_context_tasks.benchmarks.ada_leval.builders import TSortSettings

WHO = (
    "Anna",
    "the ferryman",
    "her brother",
    "old Thomas",
    "the miller's wife",
    "a boy from the farm",
    "the clerk",
)
DID = (
    "crossed",
    "remembered",
    "looked back at",
    "asked the way to",
    "left",
    "had once painted",
    "never trusted",
    "passed",
)
WHAT = (
    "the low bridge",
    "the orchard wall",
    "the empty station",
    "the inn at the ford",
    "a field of rye",
    "the church clock",
)
WHEN = (
    "before the rain came",
    "while the dog ran ahead",
    "without a word",
    "and nobody answered",
    "as the light went",
)
SAID = (
    "We shall be late",
    "It was not always so quiet here",
    "Keep to the left",
    "I have seen worse roads",
    "Wait for me",
)


def paragraphs(number: int, seed: int = 0) -> list[str]:
    """Return so many paragraphs of 30 to 100 tokens; no sentence names a number or looks like a heading."""
    random = Random(seed)

    def sentence() -> str:
        if random.random() < 0.2:
            return f'"{random.choice(SAID)}," said {random.choice(WHO)}, {random.choice(WHEN)}.'
        text = f"{random.choice(WHO)} {random.choice(DID)} {random.choice(WHAT)} {random.choice(WHEN)}."
        return text[0].upper() + text[1:]

    return [" ".join(sentence() for _ in range(random.randint(2, 5))) for _ in range(number)]


def write_books(folder: Path, books: dict[str, list[str]]) -> Path:
    """Write books, id to paragraphs, into ``books.jsonl``."""
    path = folder / "books.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": name, "paragraphs": text}) for name, text in books.items()),
        encoding="utf-8",
    )
    return path


def sorting_cases(folder: Path, length: int = 1000, n: int = 2, seed: int = 0) -> Path:
    """Build TSort cases from two written books; return the folder for ``lct_cases``, of generating and perplexity tasks alike."""
    folder.mkdir(parents=True, exist_ok=True)
    books = write_books(
        folder, {f"walk{place}": paragraphs(60 + n * length // 50, place) for place in range(2)}
    )
    settings = TSortSettings((length,), n=n, seed=seed, stride=5)
    build("ada_leval_tsort", books, settings, folder / "ada_leval_tsort")
    return folder
