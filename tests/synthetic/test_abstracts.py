"""Synthetic abstracts and reviews: prose, numbers, and the distinction between included and other studies."""

import random
import re
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import labels_of, text_of
from trials_reader import comparisons, conclusion, counts, in_digits

from long_context_tasks.benchmarks.ethic.synthetic.maker import shorter_forms
from long_context_tasks.synthetic.numbers import DividedNumbers, in_words
from long_context_tasks.synthetic.trials import Abstracts, Review, TrialWriter


def test_prose_of_abstracts_is_clean() -> None:
    text = text_of(Abstracts(2)(60_000)) + "".join(Review(s).background for s in range(100))
    assert not re.search(
        r"[\[\]{}|]|\n{3}|  | [,.;:]|,,|a\(n\)|\.\.|\b[Aa] [aeiou]|[;,]\.|(?<=[a-z]\. )[a-z]", text
    )
    assert not re.search(
        r"drawn up up|either \w+ and|, (?:grew|rose|went up) |\bmost (?:money|means)\b|this court", text
    )


def test_the_first_report_of_an_abstract_ends_with_its_sentence() -> None:
    """An abstract that is cut before reports on nothing."""
    cuts = []
    for paragraph in (one for seed in range(10) for one in Abstracts(seed)(3000).paragraphs):
        said = paragraph.text[: paragraph.reported]
        assert said[-1] in ".)" and len(said) > paragraph.text.index(" Abstract: ")
        for shorter in shorter_forms(paragraph):
            cuts.append(len(shorter.text) < paragraph.reported)
            assert shorter.reported == (0 if cuts[-1] else paragraph.reported)
    assert any(cuts) and not all(cuts)


@given(st.integers(0, 10**9))
@settings(max_examples=15, deadline=None)
def test_there_is_always_something_to_tell_apart(seed: int) -> None:
    studies = list(islice(Review(seed).studies, 12))
    for place in range(9):
        assert {study.included for study in studies[place : place + 4]} == {True, False}
    ids = [study.id for study in studies]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"\d{8}", one) for one in ids)


def test_numbers() -> None:
    assert in_words(999) == "nine hundred and ninety-nine"
    said = [in_words(number, link=" ", dash=" ") for number in (0, 13, 40, 1050)]
    assert said == ["zero", "thirteen", "forty", "one thousand fifty"]
    assert in_digits("Forty-two of one hundred and eight, and five more") == "42 of 108, and 5 more"
    numbers = DividedNumbers(7, random.Random(1).random)
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


def test_results_of_a_study_agree() -> None:
    """Estimates lie in their intervals, a difference is that of its means, and p values and intervals agree."""
    ratios = differences = 0
    estimate = r"(-?\d+\.\d+), (?:(\d+)% )?confidence interval (-?\d+\.\d+) to (-?\d+\.\d+)"
    for seed in range(40):
        text = text_of(Abstracts(seed)(8000))
        for one, _, low, high in re.findall(rf"hazard ratio {estimate}", text):
            ratios += 1
            assert 0 < float(low) <= float(one) <= float(high)
        means = rf"was (\d+\.\d) points with the drug \w+ (\d+\.\d) without it \(\w+ {estimate}; p ([=<]) (0\.\d+)\)"
        for first, second, one, level, low, high, sign, p in re.findall(means, text):
            differences += 1
            assert abs(float(first) - float(second) - float(one)) < 0.06
            assert float(low) <= float(one) <= float(high)
            alpha = 1 - int(level or 95) / 100
            if sign == "=" and abs(float(p) - alpha) > 0.012:
                assert (float(p) < alpha) == (float(low) > 0 or float(high) < 0), (one, low, high, p)
    assert ratios > 60 and differences > 60


@pytest.mark.parametrize("seeds", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_conclusion_follows_from_every_comparison(seeds: int) -> None:
    ends = Counter()
    for paragraph in (one for seed in range(seeds) for one in Abstracts(seed)(4000).paragraphs):
        end = conclusion(paragraph.text)
        assert {*comparisons(paragraph.text)} <= {end}, paragraph.text
        ends[end] += bool(comparisons(paragraph.text))
    assert ends.keys() == {"better", "same", "worse"} and min(ends.values()) >= seeds
    unfounded = "Relapse was noted in 9 treated and 30 control patients (hazard ratio 0.30, 95% confidence interval 0.14 to 0.61)."
    assert (
        comparisons(unfounded) == ["better"]
        and conclusion(f"{unfounded} The drug proved inferior to the other.") == "worse"
    )


@pytest.mark.parametrize("seeds", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_labels_are_what_a_reader_counts(seeds: int) -> None:
    for paragraph in (one for seed in range(seeds) for one in Abstracts(seed)(6000).paragraphs):
        assert counts(paragraph.text.rpartition(" Title:")[2]) == {*paragraph.labels}, paragraph.text


_INTEGER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d+(?!\d|[.,]\d|%)")


@pytest.mark.slow
def test_no_number_is_both() -> None:
    """What counts people is nothing else in the whole text."""
    for seed in range(5):
        document = Abstracts(seed)(20_000)
        gold = labels_of(document)
        for paragraph in document.paragraphs:
            text = paragraph.text.rpartition(" Title:")[2]
            found = {one.replace(",", "") for one in _INTEGER.findall(text)} & gold
            # Some counts are in words.
            assert found <= set(paragraph.labels)
