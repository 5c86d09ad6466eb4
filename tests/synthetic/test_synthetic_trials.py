"""Synthetic medical abstracts: gold that a reader of the text confirms, and that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import text_of
from synthetic_text_checks import (
    CASES,
)
from trials_reader import in_digits, included

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.attribute_medicine import build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.synthetic.numbers import Numbers, in_words
from long_context_tasks.synthetic.trials import TrialWriter, summary_of, write_abstracts, write_review


@given(st.integers(0, 10**9), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=15, deadline=None)
def test_a_review_keeps_its_background(seed: int, one: int, two: int) -> None:
    short, long = sorted((one, two))
    review, longer = write_review(seed, short), write_review(seed, long)
    assert longer.background == review.background
    assert 0 < len(review.included) < len(review.studies)
    assert len({study.id for study in longer.studies}) == len(longer.studies)


def test_prose_is_clean() -> None:
    text = text_of(write_abstracts(2, 60_000)) + "".join(write_review(s, 1).background for s in range(100))
    assert not re.search(r"[\[\]{}|\n]{3}|  | [,.;:]|,,|a\(n\)|\.\.|\b[Aa] [aeiou]|[;,]\.", text)
    assert not re.search(r"[\[\]{}|]", text)
    assert not re.search(r"(?<=[a-z]\. )[a-z]", text)


def test_a_reader_finds_the_included_studies() -> None:
    disagreements = sum(
        included(review) != review.included for review in (write_review(seed, 2000) for seed in range(CASES))
    )
    print(f"included studies: {disagreements} disagreements in {CASES} reviews")
    assert disagreements == 0


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
