"""Synthetic abstracts and opinions: labels that a reader of the text confirms, and that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import gzip
import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from kinds import KINDS
from synthetic_opinions_reader import citation_numbers
from synthetic_text_checks import (
    CASES,
    Heuristics,
    labels_of,
    print_coverage,
    ranked_by_similarity,
    real_texts,
    shortcut_scores,
    variety,
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
"""Patterns made from many texts of the kind: they find more, see docs/synthetic_medicine_and_law.md."""


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
    start = time.perf_counter()
    small = domain.write(3, 100_000)
    middle = time.perf_counter()
    large = domain.write(3, 1_000_000)
    end = time.perf_counter()
    print(f"1m tokens in {end - middle:.1f} s")
    assert end - middle < 20 * (middle - start) + 0.5
    assert end - middle < 20
    assert len(large.paragraphs) > 9 * len(small.paragraphs)
    means = shortcut_scores(domain.heuristics, [large])
    print("1m", means, len(labels_of(large)), "labels")
    assert all(mean < 54 for mean in unkeyed(means, domain))
    assert len(labels_of(large)) > domain.million
    if name == "law":
        start = time.perf_counter()
        write_opinion_group(3, 1_000_000)
        assert time.perf_counter() - start < 20


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


def pair_auc(
    train: Iterable[tuple[str, str, bool]], test: Iterable[tuple[str, str, bool]]
) -> tuple[float, int, int]:
    """Area under the curve of boosted trees on TF-IDF of both texts, of what they share, and their similarity.

    Returns:
        The area, and the numbers of pairs to train on and to test with.
    """
    import numpy as np

    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    decomposition = pytest.importorskip("sklearn.decomposition")
    ensemble = pytest.importorskip("sklearn.ensemble")
    metrics = pytest.importorskip("sklearn.metrics")
    one, two, right = (list(column) for column in zip(*train, strict=True))
    one_test, two_test, right_test = (list(column) for column in zip(*test, strict=True))
    words = text_features.TfidfVectorizer(sublinear_tf=True, min_df=3, max_features=8_000)
    words.fit(one + two)
    parts = decomposition.TruncatedSVD(24, n_iter=2, random_state=0).fit(words.transform(two))

    def features(first: list[str], second: list[str]):
        left, other = words.transform(first), words.transform(second)
        shared = left.multiply(other)
        sizes = [shared.sum(axis=1), (shared > 0).sum(axis=1)]
        return np.hstack(
            [np.asarray(size).reshape(-1, 1) for size in sizes]
            + [parts.transform(left), parts.transform(other), parts.transform(left) * parts.transform(other)]
        )

    model = ensemble.HistGradientBoostingClassifier(max_iter=60, random_state=0)
    # Threads that wait for one another cost more than they bring on so few rows.
    with pytest.importorskip("threadpoolctl").threadpool_limits(1):
        model.fit(features(one, two), right)
        found = model.predict_proba(features(one_test, two_test))[:, 1]
    return float(metrics.roc_auc_score(right_test, found)), len(right), len(right_test)


def test_attribution_by_a_classifier(domain: Domain) -> None:
    """TF-IDF and boosting on pairs of question and text, trained on other seeds."""

    def pairs(seeds: Sequence[int]) -> Iterator[tuple[str, str, bool]]:
        for seed in seeds:
            question, texts, right = domain.groups(seed, 1500)
            yield from ((question, text, one) for text, one in zip(texts, right, strict=True))

    auc, train, test = pair_auc(
        pairs(range(10_000, 10_000 + 10 * CASES)), pairs(range(90_000, 90_000 + 5 * CASES))
    )
    print(f"AUC {auc:.3f} ({train} pairs to train on, {test} to test with)")
    assert abs(auc - 0.5) < 0.03 + 1.8 / test**0.5


def _real_abstracts() -> str:
    rows = json.loads(
        gzip.decompress(real_texts("medical_abstracts", "pubmedqa_ori_pqal.json.gz").read_bytes())
    )
    return "\n\n".join(" ".join((*row["CONTEXTS"], row["LONG_ANSWER"])) for row in rows.values())


def _real_opinions() -> str:
    real = ""
    file = real_texts("court_opinions", "courtlistener_appellate_opinions.jsonl.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            real += " ".join(json.loads(line)["text"].split()) + "\n\n"
            if len(real) > 400_000:
                break
    return real


@pytest.mark.parametrize(
    ("kinds", "real", "least"),
    [
        (("abstracts",), _real_abstracts, (0.45, 0.2)),
        (("opinions", "opinion group"), _real_opinions, (0.4, 0.18)),
    ],
    ids=["medicine", "law"],
)
def test_variety_beside_real_texts(
    kinds: tuple[str, ...], real: Callable[[], str], least: tuple[float, float]
) -> None:
    print("real: 4-grams {:.3f}, gzip {:.3f}".format(*variety(real()[:400_000])))
    own = [variety(KINDS[kind].shown(KINDS[kind].write(1, 120_000))[:400_000]) for kind in kinds]
    print("synthetic: 4-grams, gzip", own)
    assert own[0][0] > least[0]
    assert own[0][1] > least[1]
