"""Synthetic abstracts and opinions: labels that a reader of the text confirms, and that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from synthetic_opinions_reader import citation_numbers
from synthetic_text_checks import (
    CASES,
    Heuristics,
    labels_of,
    print_coverage,
    ranked_by_similarity,
    shortcut_scores,
)
from trials_reader import counts, in_digits

from long_context_tasks.benchmarks.ethic.build.annotator import parse_labels
from long_context_tasks.synthetic import write_abstracts, write_opinion_group, write_opinions, write_review
from long_context_tasks.synthetic.document import Document

pytestmark = pytest.mark.slow

_INTEGERS = {
    "medicine": re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d+(?!\d|[.,]\d|%)"),
    "law": re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)|(?<![\d.])\d+(?!\d)"),
}


def integers(text: str, domain: str = "law") -> list[str]:
    return [one.replace(",", "") for one in _INTEGERS[domain].findall(text)]


def before_patients(text: str) -> set[str]:
    nouns = "patients|participants|people|persons|subjects|women|men|children|adults|volunteers|individuals"
    return set(re.findall(rf"(\d+) (?:\w+ )?(?:{nouns})\b", in_digits(text)))


MEDICINE: Heuristics = {
    "all numbers": lambda text: set(integers(text, "medicine")),
    "all numbers, also in words": lambda text: set(integers(in_digits(text), "medicine")),
    "last number of each abstract": lambda text: {
        integers(one, "medicine")[-1] for one in text.split("\n\n")
    },
    "largest number of each abstract": lambda text: {
        max(integers(one.split("Title:")[1], "medicine"), key=int) for one in text.split("\n\n")
    },
    "numbers before people": before_patients,
}
LAW: Heuristics = {
    "all numbers": lambda text: set(integers(text)),
    "last number of each paragraph": lambda text: {
        found[-1] for one in text.split("\n\n") if (found := integers(one))
    },
    "largest number of each paragraph": lambda text: {
        max(found, key=int) for one in text.split("\n\n") if (found := integers(one))
    },
    r"\d+ \w+ \d+": lambda text: {
        number for match in re.finditer(r"\b(\d+) \w+ (\d+)\b", text) for number in match.groups()
    },
    "volume, reporter with dots, page": lambda text: {
        number
        for match in re.finditer(r"\b(\d+) (?:[A-Z][\w.]*\.? ?)+ ?(\d+)", text)
        for number in match.groups()
    },
    "numbers of three or four digits": lambda text: set(re.findall(r"(?<![\d,])\d{3,4}(?![\d,])", text)),
    "numbers after §, section, No. ...": lambda text: set(
        re.findall(r"(?:[Ss]ections?|§|No\.|Rule|[Aa]rticle|[Cc]hapter) (\d+)", text)
    ),
    "also page, volume, book, folio ...": lambda text: set(
        re.findall(
            r"(?:[Ss]ections?|[Aa]rticles?|[Cc]hapter|§|ss?\.|art\.|sec\.|Rule|No\.|[Pp]ages?|p\.|[Vv]olume|vol\.|folio|[Bb]ook|docket|"
            r"[Cc]ase|[Pp]art) (\d+)",
            text,
        )
    ),
    "sentences with a case or an act": lambda text: {
        number
        for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", text)
        if re.search(r" v\. |In re|Estate of|Act|Code|Ordinance|Rules", sentence)
        for number in integers(sentence)
    },
}
KEYED = (
    "numbers after §, section, No. ...",
    "also page, volume, book, folio ...",
    "sentences with a case or an act",
)
"""Patterns made from many texts of the kind: they find more, see docs/synthetic_writers.md."""


@dataclass(frozen=True)
class Domain:
    """How a domain is written, read, and guessed without reading.

    Attributes:
        write: a seed and a length to a document.
        read: a paragraph to the labels that a careful reader finds.
        heuristics: guesses; those of ``keyed`` know the forms of many texts.
        groups: a seed and a length to what is asked, the texts to attribute, and which of them are right.
        most: mean F1 that no guess reaches at 2k, and those that know no forms.
        million: labels that a text of a million tokens has at least.
    """

    write: Callable[[int, int], Document]
    read: Callable[[str], set[str]]
    heuristics: Heuristics
    keyed: tuple[str, ...]
    groups: Callable[[int, int], tuple[str, list[str], list[bool]]]
    most: tuple[float, float]
    million: int


def _review(seed: int, length: int) -> tuple[str, list[str], list[bool]]:
    review = write_review(seed, length)
    texts = [f"{one.title} {one.abstract}" for one in review.studies]
    return review.background, texts, [one.included for one in review.studies]


def _group(seed: int, length: int) -> tuple[str, list[str], list[bool]]:
    group = write_opinion_group(seed, length)
    return (
        group.target.text,
        [segment.text for segment in group.segments],
        [segment.cites for segment in group.segments],
    )


DOMAINS = {
    "medicine": Domain(write_abstracts, counts, MEDICINE, (), _review, (60, 60), 0),
    "law": Domain(write_opinions, citation_numbers, LAW, KEYED, _group, (70, 52), 3000),
}


@pytest.fixture(params=DOMAINS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def domain(name: str) -> Domain:
    return DOMAINS[name]


def unkeyed(means: dict[str, float], domain: Domain) -> list[float]:
    """Return the scores of the guesses that know no forms."""
    return [mean for name, mean in means.items() if name not in domain.keyed]


def test_a_reader_finds_the_labels(domain: Domain) -> None:
    disagreements = 0
    for seed in range(CASES):
        for paragraph in domain.write(seed, 2000).paragraphs:
            assert len(set(paragraph.labels)) == len(paragraph.labels)
            disagreements += domain.read(paragraph.text) != set(paragraph.labels)
    print(f"{disagreements} disagreements in {CASES} documents")
    assert disagreements == 0


def test_labels_are_what_the_task_takes(name: str, domain: Domain) -> None:
    labels = sorted(labels_of(domain.write(4, 4000)))
    assert parse_labels("; ".join(labels), name) == labels


def test_no_number_is_both(name: str, domain: Domain) -> None:
    """What counts people or stands in a citation is nothing else in the whole text."""
    for seed in range(5):
        document = domain.write(seed, 20_000)
        gold = labels_of(document)
        for paragraph in document.paragraphs:
            found = set(integers(paragraph.text.rpartition(" Title:")[2], name)) & gold
            # Of counts of people some are in words.
            assert found <= set(paragraph.labels)
            assert name == "medicine" or found == set(paragraph.labels)


def test_labels_by_shortcut(name: str, domain: Domain) -> None:
    means = shortcut_scores(domain.heuristics, (domain.write(seed, 2000) for seed in range(CASES)))
    print("2k", means)
    assert all(mean < domain.most[0] for mean in means.values())
    assert all(mean < domain.most[1] for mean in unkeyed(means, domain))
    assert name == "law" or means["all numbers"] < 55


def test_labels_by_shortcut_in_long_texts(name: str, domain: Domain) -> None:
    """Labels grow with the text, and so do the numbers beside them: a pattern that knows some forms stays below half."""
    lengths = ((8_000, 12), (32_000, 4), (128_000, 2)) if CASES > 40 else ((128_000, 1),)
    for length, texts in lengths:
        documents = [domain.write(seed, length) for seed in range(texts)]
        means = shortcut_scores(domain.heuristics, documents)
        print(f"{length // 1000}k", means, [len(labels_of(one)) for one in documents], "labels")
        assert all(mean < 54 for mean in unkeyed(means, domain))
    assert name == "medicine" or all(len(labels_of(one)) > 900 for one in documents)


def test_a_million_tokens(name: str, domain: Domain) -> None:
    start = time.process_time()
    small = domain.write(3, 100_000)
    middle = time.process_time()
    large = domain.write(3, 1_000_000)
    end = time.process_time()
    print(f"1m tokens in {end - middle:.1f} s")
    assert end - middle < 20 * (middle - start) + 0.5
    assert end - middle < 20
    assert len(large.paragraphs) > 9 * len(small.paragraphs)
    means = shortcut_scores(domain.heuristics, [large])
    print("1m", means, len(labels_of(large)), "labels")
    assert all(mean < 54 for mean in unkeyed(means, domain))
    assert len(labels_of(large)) > domain.million
    if name == "law":
        start = time.process_time()
        write_opinion_group(3, 1_000_000)
        assert time.process_time() - start < 20


def test_recall_and_summarize_need_most_of_the_text(name: str) -> None:
    assert min(print_coverage(name).values()) > 80


def test_attribution_by_similarity(domain: Domain) -> None:
    """Texts ranked by how alike their words are to what is asked, as many taken as are right."""
    asked = (domain.groups(seed, 6000) for seed in range(2 * CASES))
    mean = ranked_by_similarity(
        (question, texts, set(itertools.compress(range(len(texts)), right)))
        for question, texts, right in asked
    )
    print({name: round(value, 1) for name, value in mean.items()})
    assert mean["tf-idf"] < mean["chance"] + 2 + 40 / CASES**0.5
