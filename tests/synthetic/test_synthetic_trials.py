"""Synthetic medical abstracts: gold that a reader of the text confirms, and that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import gzip
import json
import random
import re
import time
from collections.abc import Callable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import text_of
from synthetic_text_checks import (
    CASES,
    labels_of,
    print_coverage,
    ranked_by_similarity,
    real_texts,
    shortcut_scores,
    variety,
)
from trials_reader import counts, in_digits, included

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.attribute_medicine import build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.labels import parse_labels
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.corpora.medical_abstracts import Review
from long_context_tasks.synthetic.numbers import Numbers, in_words
from long_context_tasks.synthetic.trials import summary_of, write_abstracts, write_review
from long_context_tasks.synthetic.trials.text import TrialWriter


@given(st.integers(0, 10**9), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=15, deadline=None)
def test_a_review_keeps_its_background(seed: int, one: int, two: int) -> None:
    short, long = sorted((one, two))
    review, longer = write_review(seed, short), write_review(seed, long)
    assert longer.background == review.background
    assert 0 < len(review.included) < len(review.studies)
    assert len({study.id for study in longer.studies}) == len(longer.studies)


def test_a_million_tokens() -> None:
    start = time.perf_counter()
    small = write_abstracts(3, 100_000)
    middle = time.perf_counter()
    large = write_abstracts(3, 1_000_000)
    end = time.perf_counter()
    print(f"1m tokens in {end - middle:.1f} s")
    assert end - middle < 20 * (middle - start) + 0.5
    assert end - middle < 20
    assert len(large.paragraphs) > 9 * len(small.paragraphs)
    means = shortcut_scores(HEURISTICS, [large])
    print("1m", means, len(labels_of(large)), "labels")
    assert all(mean < 54 for mean in means.values())


def test_prose_is_clean() -> None:
    text = text_of(write_abstracts(2, 60_000)) + "".join(write_review(s, 1).background for s in range(100))
    assert not re.search(r"[\[\]{}|\n]{3}|  | [,.;:]|,,|a\(n\)|\.\.|\b[Aa] [aeiou]|[;,]\.", text)
    assert not re.search(r"[\[\]{}|]", text)
    assert not re.search(r"(?<=[a-z]\. )[a-z]", text)


def test_a_reader_finds_the_counts() -> None:
    disagreements = 0
    for seed in range(CASES):
        for paragraph in write_abstracts(seed, 2000).paragraphs:
            assert len(set(paragraph.labels)) == len(paragraph.labels)
            disagreements += counts(paragraph.text) != set(paragraph.labels)
    print(f"counts: {disagreements} disagreements in {CASES} documents")
    assert disagreements == 0


def test_a_reader_finds_the_included_studies() -> None:
    disagreements = sum(
        included(review) != review.included for review in (write_review(seed, 2000) for seed in range(CASES))
    )
    print(f"included studies: {disagreements} disagreements in {CASES} reviews")
    assert disagreements == 0


def test_labels_are_what_the_task_takes() -> None:
    labels = sorted(labels_of(write_abstracts(4, 4000)))
    assert parse_labels("; ".join(labels), "medicine") == labels


def test_no_number_is_both() -> None:
    """What counts people counts nothing else in the whole text."""
    for seed in range(5):
        document = write_abstracts(seed, 20_000)
        gold = labels_of(document)
        for paragraph in document.paragraphs:
            others = HEURISTICS["all numbers"](paragraph.text.split("Title:")[1])
            assert others & gold <= set(paragraph.labels)


def test_facts_are_in_the_text() -> None:
    number = 0
    for seed in range(20):
        for paragraph in write_abstracts(seed, 3000).paragraphs:
            assert paragraph.facts
            for fact in paragraph.facts:
                number += 1
                assert all(any(word in paragraph.text for word in group) for group in fact.words), fact
    assert number > 100
    summary = summary_of(write_abstracts(0, 3000).paragraphs)
    assert 1 <= summary.count(". ") + 1 <= 6


# --- heuristics ------------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d+(?!\d|[.,]\d|%)")


def integers(text: str) -> list[str]:
    return [one.replace(",", "") for one in _INTEGER.findall(text)]


def before_patients(text: str) -> set[str]:
    nouns = "patients|participants|people|persons|subjects|women|men|children|adults|volunteers|individuals"
    return set(re.findall(rf"(\d+) (?:\w+ )?(?:{nouns})\b", in_digits(text)))


HEURISTICS: dict[str, Callable[[str], set[str]]] = {
    "all numbers": lambda text: set(integers(text)),
    "all numbers, also in words": lambda text: set(integers(in_digits(text))),
    "last number of each abstract": lambda text: {integers(one)[-1] for one in text.split("\n\n")},
    "largest number of each abstract": lambda text: {
        max(integers(one.split("Title:")[1]), key=int) for one in text.split("\n\n")
    },
    "numbers before people": before_patients,
}


def test_counts_by_shortcut() -> None:
    means = shortcut_scores(HEURISTICS, (write_abstracts(seed, 2000) for seed in range(CASES)))
    print("2k", means)
    assert means["all numbers"] < 55
    assert all(mean < 60 for mean in means.values())


def test_counts_by_shortcut_in_long_texts() -> None:
    lengths = ((8_000, 12), (32_000, 4), (128_000, 2)) if CASES > 40 else ((128_000, 1),)
    for length, texts in lengths:
        documents = [write_abstracts(seed, length) for seed in range(texts)]
        means = shortcut_scores(HEURISTICS, documents)
        print(f"{length // 1000}k", means, [len(labels_of(one)) for one in documents], "labels")
        assert all(mean < 54 for mean in means.values())


def test_recall_and_summarize_need_most_of_the_text() -> None:
    assert min(print_coverage("medicine").values()) > 80


def test_attribution_by_similarity() -> None:
    """Studies ranked by how alike their words are to the background's, as many taken as are right."""
    reviews = (write_review(seed, 6000) for seed in range(2 * CASES))
    mean = ranked_by_similarity(
        (
            review.background,
            [f"{one.title} {one.abstract}" for one in review.studies],
            {place for place, one in enumerate(review.studies) if one.included},
        )
        for review in reviews
    )
    print({name: round(value, 1) for name, value in mean.items()})
    assert mean["tf-idf"] < mean["chance"] + 2 + 40 / CASES**0.5


def pairs(seeds: range) -> Iterator[tuple[str, str, bool]]:
    for seed in seeds:
        review = write_review(seed, 1500)
        yield from (
            (review.background, f"{one.title} {one.abstract}", one.included) for one in review.studies
        )


def test_attribution_by_a_classifier() -> None:
    """TF-IDF and boosting on pairs of background and study, trained on other seeds."""
    from synthetic_pairs_classifier import pair_auc

    auc, train, test = pair_auc(
        pairs(range(10_000, 10_000 + 10 * CASES)), pairs(range(90_000, 90_000 + 5 * CASES))
    )
    print(f"AUC {auc:.3f} ({train} pairs to train on, {test} to test with)")
    assert abs(auc - 0.5) < 0.03 + 1.8 / test**0.5


# --- variety ---------------------------------------------------------------------------------------------------------


def test_variety_beside_real_abstracts() -> None:
    file = real_texts("medical_abstracts", "pubmedqa_ori_pqal.json.gz")
    rows = json.loads(gzip.decompress(file.read_bytes()))
    real = "\n\n".join(" ".join((*row["CONTEXTS"], row["LONG_ANSWER"])) for row in rows.values())[:400_000]
    own = text_of(write_abstracts(1, 110_000))[:400_000]
    print("real: 4-grams {:.3f}, gzip {:.3f}".format(*variety(real)))
    print("synthetic: 4-grams {:.3f}, gzip {:.3f}".format(*variety(own)))
    assert variety(own)[0] > 0.45
    assert variety(own)[1] > 0.2


def test_numbers() -> None:
    assert in_words(999) == "nine hundred and ninety-nine"
    assert in_digits("Forty-two of one hundred and eight, and five more") == "42 of 108, and 5 more"
    numbers = Numbers(7, random.Random(1).random)
    asked = [numbers.is_asked(number) for number in range(10_000)]
    assert 0.35 < sum(asked) / len(asked) < 0.41
    for part in (True, False):
        assert all(numbers.is_asked(numbers.draw(2, 60, asked=part)) is part for _ in range(200))
    assert numbers.within(3, 2, asked=True) is None


def test_a_study_left_out_misses_one_or_two_points() -> None:
    writer = TrialWriter(1)
    topic = writer.topic()
    wanted = writer.criteria(topic)
    names = ("disease", "drug", "who", "way", "versus")
    for _ in range(200):
        kept = writer.chance(0.5)
        own, earlier = writer.features(topic, wanted, included=kept)
        missed = [name for name in names if getattr(own, name) != getattr(wanted, name)]
        assert len(missed) in ((0,) if kept else (1, 2))
        # What the study lacks, the earlier one that it mentions has: the words are the same.
        assert [name for name in names if getattr(earlier, name) == getattr(wanted, name)] == missed


def test_review_is_in_the_readers_shape() -> None:
    review = write_review(8, 1500)
    assert isinstance(review, Review)
    assert not review.pubmed
    assert all(re.fullmatch(r"\d{8}", one.id) for one in review.studies)


def test_the_builder_of_the_benchmark_takes_a_review() -> None:
    review = write_review(8, 12_000)
    built = build_attribute_medicine([review], EthicSettings(lengths=(4000,)), None, Progress())
    [draft] = built.drafts
    shown = set(re.findall(r"ID: (\d{8})", "".join(draft.context)))
    assert set(draft.gold) == shown & review.included
    assert draft.slots["background"] == review.background
    assert 0 < len(draft.gold) < len(shown)
