"""Carriers that tests write themselves: novels, debates, abstracts, opinions, meetings, and posts in which everything that is named is known."""

import json
import xml.etree.ElementTree as ET
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
_DAY = "2015-01-01T00:00:00.000"


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
    """Write every kind of carriers into a folder; novels and debates have so many paragraphs (of some 50 tokens)."""
    for kind in ("novels", "debates", "abstracts", "opinions", "meetings", "forums"):
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
    dice = Random(3)
    rows = ["record_id,title,abstract,label_included"]
    for place in range(120):
        given, all_ = sorted((dice.randint(30, 400), dice.randint(401, 900)))
        abstract = (
            f"We enrolled {all_} patients in Canada. The drug was given to {given} women for {dice.randint(4, 30)} weeks, and the dose "
            f"was {dice.randint(5, 90)} mg. It was well tolerated by most of them. The hazard fell by {dice.randint(10, 60)}%."
        )
        rows.append(f'{place},Trial of drug {"abcdefgh"[place % 8]},"{abstract}",{place % 2}')
    (folder / "abstracts" / "trials.csv").write_text("\n".join(rows), encoding="utf-8")
    opinions = []
    for place in range(30):
        lines = [
            f"The court in Harker v. Bell, {dice.randint(100, 900)} F.3d {dice.randint(10, 990)} (1st Cir. 2004), read the statute so. "
            f"We follow it. The hearing lasted {dice.randint(20, 90)} minutes and the parties said nothing new about it."
            if line % 2
            else f"Under {dice.randint(10, 45)} U.S.C. § {dice.randint(100, 2900)} the claim of the plaintiff fails for want of proof. "
            "The plaintiff lived beside the road for some time. Later the road was moved. That was a loss to nearly all of them."
            for line in range(12)
        ]
        opinions.append({"id": place, "title": "Harker v. Bell", "text": "\f".join(lines)})
    (folder / "opinions" / "opinions.jsonl").write_text(
        "\n".join(map(json.dumps, opinions)), encoding="utf-8"
    )
    talk = [
        {"speaker": f"Speaker {place % 8}", "content": text}
        for place, text in enumerate(paragraphs(number, 5))
    ]
    (folder / "meetings" / "talk.jsonl").write_text(
        json.dumps({"meeting_transcripts": talk}), encoding="utf-8"
    )
    rows = []
    for place in range(40):
        question, *answers = paragraphs(6, 100 + place)
        asked = {
            "Id": 10 * place + 1,
            "PostTypeId": 1,
            "Title": "A walk",
            "Tags": "<walks>",
            "Body": f"<p>{question}</p>",
        }
        rows.append(asked | {"AcceptedAnswerId": 10 * place + 2})
        for number_of, text in enumerate(answers, start=2):
            rows.append(
                {
                    "Id": 10 * place + number_of,
                    "PostTypeId": 2,
                    "ParentId": 10 * place + 1,
                    "Body": f"<p>{text}</p>",
                }
            )
    posts = ET.Element("posts")
    for row in rows:
        ET.SubElement(
            posts,
            "row",
            {**{name: str(value) for name, value in row.items()}, "Score": "1", "CreationDate": _DAY},
        )
    ET.ElementTree(posts).write(folder / "forums" / "walks.Posts.xml", encoding="utf-8", xml_declaration=True)
    return folder
