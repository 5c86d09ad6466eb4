"""What summaries by hand and what lists and copies state, on 10 sections of seed 4242; the summaries were written without the facts."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from long_context_tasks.benchmarks.ethic.scoring.fact_recall import SectionFacts, recall, sentences
from long_context_tasks.synthetic.document import Fact

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("sections_summarized.jsonl").read_text(encoding="utf-8").splitlines()
]


def long_words(section: str) -> str:
    """Every word that is long or no plain word, once."""
    words = dict.fromkeys(re.findall(r"[\w-]+", section))
    return " ".join(word for word in words if len(word) > 4 or not word.islower())


def copied(section: str) -> str:
    """The first half of the words."""
    words = section.split()
    return " ".join(words[: len(words) // 2])


def lead(section: str) -> str:
    """The first sentence of every paragraph."""
    return " ".join(re.split(r"(?<=[.!?]) ", paragraph)[0] for paragraph in section.split("\n\n"))


def every_word(section: str) -> str:
    return " ".join(dict.fromkeys(re.findall(r"[\w'-]+", section)))


def dotted(section: str) -> str:
    """The long words with a full stop after every dozen."""
    words = long_words(section).split()
    return " ".join(f"{word}." if at % 12 == 11 else word for at, word in enumerate(words))


ATTACKS = {each.__name__: each for each in (long_words, every_word, dotted, copied, lead)}


def scores(write: Callable[[str], str] | None = None) -> list[float]:
    """Fact recall of each section's summary, or of what is made of the section instead."""
    found = []
    for row in ROWS:
        if row["facts"]:
            facts = SectionFacts.of([Fact(*fact) for fact in row["facts"]], row["text"])
            found.append(recall(facts.row(), write(row["text"]) if write else row["summary"]))
    return found


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_summaries_state_more_than_lists_and_copies(name: str) -> None:
    honest, attacked = scores(), scores(ATTACKS[name])
    print(name, f"{fmean(attacked):.2f} honest {fmean(honest):.2f}")
    assert fmean(honest) > 0.7 and fmean(attacked) < 0.35
    assert sum(one > two for one, two in zip(honest, attacked, strict=True)) >= 0.7 * len(honest)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In Ash v. Dun, No. 5, Mr. A. Low lost. It ended.", 2),
        ("one line\nof a sentence that is only full.", 1),
        ("- one point\n- another point\n\nA paragraph", 3),
        (" ".join(["word"] * 100), 3),
        ("", 1),
    ],
)
def test_sentences(text: str, expected: int) -> None:
    assert len(sentences(text) or [[]]) == expected
