"""Documents whose labels are known by construction, and an annotator and evaluator that knows them: a local server."""

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from json_lines import write_rows
from judge_server import Answer, JudgeServer, judge_server
from typer.testing import CliRunner

from long_context_tasks.benchmarks.building import TaskReport
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.prompts import messages
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.cli import app
from long_context_tasks.schema import CaseSet

_FIRST = "Anna Boris Clara David Elena Felix Greta Hugo Irina Jonas Karin Lukas Marta Nils Olga Petra Quirin Rosa Stefan Tilda"
_LAST = "Abbot Brandt Cerny Dvorak Engel Fuchs Gruber Hansen Ibsen Jansen Keller Lindt Moser Novak Olsen Pohl Ritter Sauer"
FIRST, LAST = _FIRST.split(), _LAST.split()
PLAIN = (
    "the lamp stood near the window and nobody had lit it since the rain began",
    "it was late and the road to the mill lay empty under a low sky",
    "there was bread on the table and a letter that had not been opened",
    "the boat came in slowly with its sail half down and its flag wet through",
    "they spoke of harvest and of taxes and then of nothing for a long while",
)
MANY = 400


def person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def paragraph(rng: random.Random, sentences: int = 8) -> str:
    """Plain sentences, some with a name; names are the only words with a capital inside a sentence."""
    # No two begin alike.
    found = [f"It was day {rng.randrange(10**6)} of the rain."]
    for _ in range(sentences):
        text = rng.choice(PLAIN)
        if rng.random() < 0.3:
            text += f", and Mr. {person(rng)} saw it"
        found.append(text[0].upper() + text[1:] + ".")
    return " ".join(found)


def names_in(text: str) -> set[str]:
    words = set(re.findall(r"\w+", text))
    return words & {*FIRST, *LAST}


def people_in(text: str) -> set[str]:
    return set(re.findall(r"enrolled (\d+) patients", text))


def citation_numbers_in(text: str) -> set[str]:
    return {number for pair in re.findall(r"(\d+) F\.3d (\d+)", text) for number in pair}


GOLD = {"books": names_in, "debates": names_in, "medicine": people_in, "law": citation_numbers_in}


def write_documents(folder: Path, seed: int = 1, paragraphs: int = MANY) -> Path:
    """A folder with documents of all four domains, in the forms that the docs describe."""
    rng = random.Random(seed)
    (folder / "books").mkdir(parents=True)
    for number in range(2):
        text = "\n\n".join(paragraph(rng) for _ in range(paragraphs))
        (folder / "books" / f"novel_{number}.txt").write_text(text)
    (folder / "debates").mkdir()
    rows = []
    for number in range(2):
        turns = [{"speaker": "The Chair", "text": paragraph(rng)} for _ in range(paragraphs)]
        rows.append({"debate_id": f"sitting_{number}", "title": f"Sitting {number}", "turns": turns})
    write_rows(folder / "debates" / "debates.jsonl", rows)
    (folder / "medicine").mkdir()
    write_rows(folder / "medicine" / "reviews.jsonl", reviews(rng))
    (folder / "law").mkdir()
    write_rows(folder / "law" / "opinions.jsonl", opinions(rng))
    return folder


def study(rng: random.Random, number: int, included: bool = True) -> dict[str, Any]:
    text = (
        f"{paragraph(rng, 6)} We enrolled {rng.randint(20, 9999)} patients in {rng.randint(2, 19)} clinics."
    )
    return {"id": str(number), "title": f"Trial {number}", "abstract": text, "included": included}


def reviews(rng: random.Random) -> list[dict[str, Any]]:
    """Four reviews: the first shares 30 studies with the second and 10 with the third; the fourth shares none."""
    shared = [study(rng, 10_000 + number) for number in range(40)]
    own = [[study(rng, 1_000 * (place + 1) + number) for number in range(90)] for place in range(4)]
    studies = [shared + own[0], shared[:30] + own[1], shared[30:] + own[2], own[3]]
    return [
        {
            "review_id": f"review_{place}",
            "title": f"Review {place}",
            "background": f"It is not known whether treatment {place} helps.",
            "studies": found,
        }
        for place, found in enumerate(studies)
    ]


TARGET = "Gruber v. Pohl"
TARGET_STRING = "512 F.3d 77"


def opinions(rng: random.Random, n: int = 4) -> list[dict[str, Any]]:
    """A target and cases that cite it on some of their pages, among many other citations."""

    def page(target: bool) -> str:
        sentences = []
        for _ in range(10):
            other = f"{rng.choice(LAST)} v. {rng.choice(FIRST)}, {rng.randint(100, 400)} F.3d {rng.randint(100, 999)} (1st Cir. 2004)"
            sentences.append(paragraph(rng, 2) + (f" See {other}." if rng.random() < 0.3 else ""))
        if target:
            sentences.insert(4, f"The rule is settled. See {TARGET}, {TARGET_STRING}, 80 (1st Cir. 2008).")
        return " ".join(sentences)

    citing = [
        {
            "opinion_id": str(number),
            "title": f"Case {number}",
            "text": "\f".join(page(place % 5 == number) for place in range(14)),
            "opinions_cited": ["900"],
        }
        for number in range(n)
    ]
    target = {"opinion_id": "900", "title": TARGET, "text": "\f".join(page(False) for _ in range(4))}
    return [target, *citing]


def context_of(prompt: str) -> str:
    return prompt.split("### Context:\n", 1)[1].split("\n\nNow, respond to the instruction.", 1)[0]


def answer(prompt: str) -> str:
    """What a perfect annotator says, in the ways that models write."""
    if "Score Rubrics:" in prompt:
        passage = prompt.split("specified in the query.)\n\n", 1)[1].split("\n\nQuery:", 1)[0]
        query = prompt.split("DO NOT answer it yourself.)\n\n", 1)[1].split("\n\nScore Rubrics:", 1)[0]
        needed = query.split()[-1].rstrip("?") in passage
        return f"Query Understanding : it asks\n\nAssessment : so\n\nFinal Score : {int(needed)}"
    context = context_of(prompt) if "### Context:" in prompt else ""
    if "character name" in prompt:
        return ", ".join(re.findall(r"Mr\. (\w+ \w+)", context)) or "None"
    if "real name" in prompt:
        return "Answer: " + (", ".join(sorted(names_in(context))) or "None") + "."
    if "count of people" in prompt:
        return "; ".join(sorted(people_in(context))) or "None"
    if "names of legal citations" in prompt:
        return "; ".join(re.findall(r"\d+ F\.3d \d+", context)) or "None"
    if "Copy each span" in prompt:
        title = re.search(r"Title: (.+)", prompt)
        assert title is not None
        return "\n".join(re.findall(re.escape(title[1]) + r", \d+ F\.3d \d+", context)) or "None"
    if "Write one question" in prompt or "Write one query" in prompt:
        return f"Question: What stands at {context.split()[3]}?\nAnswer: {context.split()[0]}"
    if "summarize" in prompt.lower():
        # Six sentences, one more than asked for.
        return f"It says: {' '.join(context.replace('.', '').split()[:12])}. " + " ".join(
            f"Sentence {n} is plain." for n in range(2, 7)
        )
    return "yes"


@contextmanager
def annotating(
    folder: Path, says: Callable[[str], str | Answer], delay: float = 0.0, **settings: Any
) -> Iterator[tuple[JudgeServer, Path]]:
    """A server that answers prompts, and the file that names it."""

    def behave(body: dict[str, Any], _: int) -> Answer:
        said = says(body["messages"][-1]["content"])
        return said if isinstance(said, Answer) else Answer(said, delay=delay)

    with judge_server(behave) as server:
        path = folder / "annotator.yaml"
        rows = {"model": "oracle", "base_url": server.url, **settings}
        path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in rows.items()))
        yield server, path


def oracle(
    folder: Path, delay: float = 0.0, **settings: Any
) -> AbstractContextManager[tuple[JudgeServer, Path]]:
    """A server that answers perfectly, and the file that names it."""
    return annotating(folder, answer, delay, **{"retry_wait": 0.01, "retries": 1, **settings})


def build(family: str, source: Path, out: Path, **settings: Any) -> list[TaskReport]:
    """Build a family with default settings, at 4k by default."""
    return ethic_build.build(family, source, EthicSettings(**{"lengths": (4000,), **settings}), out)


def user_messages(cases: CaseSet) -> dict[str, str]:
    """Id of a case to its user message."""
    return {case.id: messages(case, cases.documents)[-1].content for case in cases.cases}


def lct(*words: object, code: int = 0) -> str:
    """Run a command that has to end with a status, and return what it prints."""
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == code, result.output
    return result.output
