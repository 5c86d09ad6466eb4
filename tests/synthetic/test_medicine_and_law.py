"""Synthetic abstracts and opinions: labels that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

import pytest
from kinds import CASES, KINDS, labels_of, text_of
from trials_reader import in_digits

from long_context_tasks.synthetic.document import Document
from long_context_tasks.synthetic.opinions import TARGET_MARK, begin_opinion_group
from long_context_tasks.synthetic.trials import begin_review

pytestmark = pytest.mark.slow

Heuristics = Mapping[str, Callable[[str], set[str]]]
"""Ways to answer without reading: a text to the labels that are claimed."""
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


def f1(found: set[str], right: set[str]) -> float:
    """F1 of two sets, in per cent."""
    both = len(found & right)
    return 200 * both / (len(found) + len(right)) if found or right else 100.0


def shortcut_scores(heuristics: Heuristics, documents: Iterable[Document]) -> dict[str, float]:
    """Mean F1 of each heuristic."""
    scores: dict[str, list[float]] = {name: [] for name in heuristics}
    for document in documents:
        text, gold = text_of(document), labels_of(document)
        for name, heuristic in heuristics.items():
            scores[name].append(f1(heuristic(text), gold))
    return {name: round(sum(values) / len(values), 1) for name, values in scores.items()}


def ranked_by_similarity(question: str, texts: Sequence[str], right: set[int]) -> float:
    """F1 of texts ranked by how alike their words are to a question's, as many taken as are right."""
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    matrix = text_features.TfidfVectorizer(sublinear_tf=True).fit_transform([question, *texts])
    alike = (matrix[1:] @ matrix[0].T).toarray()[:, 0]
    best = sorted(range(len(texts)), key=lambda place: -alike[place])[: len(right)]
    return f1(set(map(str, best)), set(map(str, right)))


HEURISTICS = {"abstracts": MEDICINE, "opinions": LAW}
MOST = {"abstracts": (60, 60), "opinions": (70, 52)}
"""Mean F1 that no guess reaches at 2k, and those that know no forms."""


@pytest.mark.parametrize("name", HEURISTICS)
def test_no_number_is_both(name: str) -> None:
    """What counts people or stands in a citation is nothing else in the whole text."""
    for seed in range(5):
        document = KINDS[name].write(seed, 20_000)
        gold = labels_of(document)
        for paragraph in document.paragraphs:
            text = paragraph.text.rpartition(" Title:")[2]
            found = set(integers(text, "law" if name == "opinions" else "medicine")) & gold
            # Of counts of people some are in words.
            assert found <= set(paragraph.labels)
            assert name == "abstracts" or found == set(paragraph.labels)


@pytest.mark.parametrize("name", HEURISTICS)
def test_labels_by_shortcut(name: str) -> None:
    """Labels grow with the text, and so do the numbers beside them: a pattern that knows no forms stays below half."""
    lengths = {2_000: CASES, 128_000: 1, 1_000_000: 1}
    if CASES > 40:
        lengths |= {8_000: 12, 32_000: 4, 128_000: 2}
    for length, texts in lengths.items():
        start = time.process_time()
        documents = [KINDS[name].write(seed, length) for seed in range(texts)]
        took = time.process_time() - start
        means = shortcut_scores(HEURISTICS[name], documents)
        labels = [len(labels_of(one)) for one in documents]
        print(f"{name} {length // 1000}k", means, f"{labels} labels, {took:.1f} s")
        plain = [mean for guess, mean in means.items() if name == "abstracts" or guess not in KEYED]
        assert max(plain) < (MOST[name][1] if length == 2_000 else 54)
        assert length > 2_000 or (max(means.values()) < MOST[name][0])
        assert length > 2_000 or name == "opinions" or means["all numbers"] < 55
        assert took < 20 or texts > 1
        assert length < 128_000 or name == "abstracts" or min(labels) > (900 if length < 1_000_000 else 3000)


def _review(seed: int) -> tuple[str, list[str], list[bool]]:
    review = begin_review(seed)(6000)
    texts = [f"{one.title} {one.abstract}" for one in review.studies]
    return review.background, texts, [one.included for one in review.studies]


def _group(seed: int) -> tuple[str, list[str], list[bool]]:
    group = begin_opinion_group(seed)(6000)
    texts = [page.text.replace("TARGET ", "") for page in group.pages]
    return f"{group.title} {group.summary}", texts, [TARGET_MARK in page.text for page in group.pages]


@pytest.mark.parametrize("write", [_review, _group])
def test_attribution_by_similarity(write) -> None:
    """Texts ranked by how alike their words are to what is asked, as many taken as are right."""
    found, chance = [], []
    for seed in range(2 * CASES):
        question, texts, right = write(seed)
        found.append(ranked_by_similarity(question, texts, {at for at, one in enumerate(right) if one}))
        chance.append(100 * fmean(right))
    print(write.__name__, round(fmean(found), 1), "chance", round(fmean(chance), 1))
    assert fmean(found) < fmean(chance) + 2 + 40 / CASES**0.5
