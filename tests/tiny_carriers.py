"""Carriers that tests write themselves: novels and debates in which everything that is named is known."""

import json
from pathlib import Path
from random import Random

from written_book import DID, WHAT, WHEN

PEOPLE = (
    "Anna Harker",
    "Thomas Bell",
    "Lucy Martin",
    "Henry Cole",
    "Alice Brent",
    "Arthur Dunn",
    "Emma Finch",
    "Robert Gale",
)
PLACES = ("Brighton", "Norwich", "Dover", "Exeter", "Durham", "Lincolnshire")


def _sentence(dice: Random) -> str:
    first, last = dice.choice(PEOPLE).split()
    who = dice.choice(
        (
            first,
            f"{'Mrs.' if first in ('Anna', 'Lucy', 'Alice', 'Emma') else 'Mr.'} {last}",
            f"{first} {last}",
        )
    )
    if dice.random() < 0.3:
        return f"They came from {dice.choice(PLACES)}, said {who}, {dice.choice(WHEN)} and with {dice.choice(WHAT)} in mind."
    if dice.random() < 0.5:
        return f"Then the girl {dice.choice(DID)} {dice.choice(WHAT)}, {dice.choice(WHEN)}, and {dice.choice(WHEN)}."
    return f"It was {who} who {dice.choice(DID)} {dice.choice(WHAT)} {dice.choice(WHEN)}."


def paragraphs(number: int, seed: int) -> list[str]:
    """Return so many paragraphs of some sentences."""
    dice = Random(seed)
    return [" ".join(_sentence(dice) for _ in range(dice.randint(2, 4))) for _ in range(number)]


def write_carriers(folder: Path, number: int = 600) -> Path:
    """Write novels and debates of so many paragraphs (of some 50 tokens) into a folder."""
    for kind in ("novels", "debates"):
        (folder / kind).mkdir(parents=True)
    novels = [{"id": f"walk{seed}", "paragraphs": paragraphs(number, seed)} for seed in range(2)]
    (folder / "novels" / "walks.jsonl").write_text("\n".join(map(json.dumps, novels)), encoding="utf-8")
    speakers = [
        f"Mr. {person}" for person in PEOPLE if person.split()[0] in ("Thomas", "Henry", "Arthur", "Robert")
    ]
    turns = [
        {"speaker": speakers[place % len(speakers)], "text": text}
        for place, text in enumerate(paragraphs(number, 7))
    ]
    debate = {"id": "sitting", "title": "A sitting", "turns": turns}
    (folder / "debates" / "sitting.jsonl").write_text(json.dumps(debate), encoding="utf-8")
    return folder
