"""Synthetic abstracts and court opinions: gold that a reader of the text confirms, in the shape that the builders take.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import text_of, text_of_group
from synthetic_opinions_reader import CITATIONS, FEATURES, citing, described
from synthetic_text_checks import CASES, labels_of
from trials_reader import in_digits, included

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build import attribute as citations
from long_context_tasks.benchmarks.ethic.build.attribute import build_attribute_law, build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import MOST_CITING, cited_cases
from long_context_tasks.benchmarks.ethic.synthetic.fit import shorter_forms
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES
from long_context_tasks.synthetic.numbers import Numbers, in_words
from long_context_tasks.synthetic.opinions import (
    MARK,
    TARGET_MARK,
    begins_opinion,
    write_opinion_group,
    write_opinions,
)
from long_context_tasks.synthetic.trials import TrialWriter, write_abstracts, write_review
from long_context_tasks.synthetic.wording import clause, variants, words


@given(st.integers(0, 10**9), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=15, deadline=None)
def test_a_review_keeps_its_background(seed: int, one: int, two: int) -> None:
    short, long = sorted((one, two))
    review, longer = write_review(seed, short), write_review(seed, long)
    assert longer.background == review.background
    assert 0 < len(review.included) < len(review.studies)
    assert len({study.id for study in longer.studies}) == len(longer.studies)


def test_prose_of_abstracts_is_clean() -> None:
    text = text_of(write_abstracts(2, 60_000)) + "".join(write_review(s, 1).background for s in range(100))
    assert not re.search(r"[\[\]{}|\n]{3}|  | [,.;:]|,,|a\(n\)|\.\.|\b[Aa] [aeiou]|[;,]\.", text)
    assert not re.search(r"[\[\]{}|]", text)
    assert not re.search(r"(?<=[a-z]\. )[a-z]", text)
    assert not re.search(
        r"came about|drawn up up|either \w+ and|, (?:grew|rose|went up) |\bmost (?:money|means)\b", text
    )
    assert not re.search(r"summed|left the \w+ to|this court|middle value|was taken late|nothing of it", text)


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
                said = paragraph.text[: fact.end]
                assert said[-1] in ".)" and len(said) > paragraph.text.index(" Abstract: "), fact
                assert all(any(word in said for word in group) for group in fact.words), fact
    assert number > 100


def test_a_number_is_a_fact_where_it_counts_what_the_fact_says() -> None:
    """22 of the drug group are not 22 who stayed until the end."""
    stayed = re.compile(
        r"complet|finish|remain|could be|reached|stayed|analysis|data set|available|used|relied"
    )
    for seed in range(40):
        for paragraph in write_abstracts(seed, 3000).paragraphs:
            for fact in paragraph.facts:
                if fact.statement.endswith("until the end."):
                    assert stayed.search(paragraph.text[: fact.end].rsplit(". ", 1)[-1]), paragraph.text


def test_an_abstract_that_is_cut_keeps_the_facts_that_it_still_says() -> None:
    for seed in range(20):
        for paragraph in write_abstracts(seed, 2000).paragraphs:
            for shorter in shorter_forms(paragraph):
                assert {fact for fact in paragraph.facts if fact.end <= len(shorter.text)} == set(
                    shorter.facts
                )


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
    [(_, draft)] = built.made
    shown = set(re.findall(r"ID: (\d{8})", "".join(draft.context)))
    assert set(draft.gold) == shown & review.included
    assert draft.slots["background"] == review.background
    assert 0 < len(draft.gold) < len(shown)


@given(st.integers(0, 10**9), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=15, deadline=None)
def test_a_group_keeps_its_target(seed: int, one: int, two: int) -> None:
    short, long = sorted((one, two))
    group, longer = write_opinion_group(seed, short), write_opinion_group(seed, long)
    assert longer.target == group.target
    assert {segment.cites for segment in group.segments} == {True, False}


def test_prose_of_opinions_is_clean() -> None:
    texts = [text_of(write_opinions(2, 40_000)), text_of_group(write_opinion_group(2, 40_000))]
    texts += [write_opinion_group(seed, 1).target.summary for seed in range(100)]
    for text in texts:
        assert not re.search(
            r"[{}|\x00]|  | [.,;:](?! )|,,|a\(n\)|\.\.|\b[Aa] [aeiou](?!ne\b)|[;,]\.|;;|[a-z]{5}\. [a-z]",
            text,
        )
        assert text.count('"') % 2 == 0


@pytest.mark.slow
def test_a_reader_finds_the_citing_segments() -> None:
    disagreements = unread = 0
    for seed in range(CASES):
        group = write_opinion_group(seed, 2000)
        disagreements += citing(group) != [segment.cites for segment in group.segments]
        unread += sum(case is None for segment in group.segments for case in described(segment.text))
    print(f"segments: {disagreements} disagreements in {CASES} groups; {unread} marks not read")
    assert disagreements == 0
    assert unread == 0


def test_wordings_of_one_value_share_no_telling_word() -> None:
    """Every wording is known to the reader under its own value, so that values can be distinguished."""
    for name, kinds in zip(("who", "event", "plea", "held"), FEATURES, strict=True):
        for value, pattern in kinds.items():
            for line in words("opinions_cases.txt", f"{name}.{value}"):
                # Those of who sued whom are pairs, the others have choices.
                for side in line.split(" | ") if name == "who" else variants(clause(line)):
                    assert re.search(pattern, side, re.IGNORECASE), side
                    others = [one for one, other in kinds.items() if re.search(other, side, re.IGNORECASE)]
                    assert others == [value], side


def test_no_form_of_citation_has_most_of_the_numbers() -> None:
    document = write_opinions(1, 100_000)
    text, gold = text_of(document), labels_of(document)
    for pattern in CITATIONS:
        found = {number for match in re.finditer(pattern, text) for number in match.groups() if number}
        assert 0 < len(found & gold) < 0.4 * len(gold), pattern
    assert not [one for one in gold if int(one) < 29 or 1890 <= int(one) <= 2030]
    assert max(map(int, gold)) > 80_000


def test_opinions_are_told_apart() -> None:
    for seed in range(12):
        paragraphs = write_opinions(seed, 12_000).paragraphs
        captions = [any("came on appeal" in fact.statement for fact in one.facts) for one in paragraphs]
        assert [begins_opinion(one.text) for one in paragraphs] == captions
        parts = GENRES["law"].parts(paragraphs)
        assert parts[0] == 0 and parts[-1] == sum(captions) - 1 > 0
        # Also where the end of the last paragraph is cut off.
        [first, *_] = paragraphs
        for end in (match.end() for match in re.finditer(r"(?<!v)\.(?= [A-Z])", first.text)):
            assert begins_opinion(first.text[:end]), first.text[:end]
        assert not begins_opinion(
            "On appeal, we defer unless they are plainly wrong, In re Redley, No. 4096."
        )


def test_group_is_in_the_readers_shape() -> None:
    assert (MARK, TARGET_MARK) == (citations.MARK, citations.TARGET_MARK)
    group = write_opinion_group(9, 30_000)
    [found] = cited_cases(group.all_opinions)
    assert found.target.id == group.target.id
    assert len(found.citing) == min(MOST_CITING, sum(bool(one.cites) for one in group.opinions))
    pages = [page for one in group.opinions for page in one.pages]
    assert [TARGET_MARK in page for page in pages] == [segment.cites for segment in group.segments]
    assert all(TARGET_MARK not in segment.text and MARK in segment.text for segment in group.segments)
    assert group.target.text.startswith(f"Title: {group.target.title}\nSummary: ")


def test_masks_stay_as_they_are() -> None:
    """The benchmark's own masking finds nothing more to mask: the marks are all there is."""
    pytest.importorskip("eyecite")
    for opinion in write_opinion_group(2, 3000).opinions:
        for page in opinion.pages:
            assert citations.mask(page, [], opinion.citation_strings.get("2-target", ()))[0] == page


class Reader:
    """An annotator that finds no more citations than are marked."""

    class config:
        name = "reader"

    def __init__(self, summary: str) -> None:
        self.summary = summary

    def texts(self, prompts: list[str]) -> list[str]:
        return ["None" if "Identify every span" in prompt else self.summary for prompt in prompts]


def test_the_builder_of_the_benchmark_takes_a_group() -> None:
    pytest.importorskip("eyecite")
    group = write_opinion_group(5, 14_000)
    built = build_attribute_law(
        group.all_opinions, EthicSettings(lengths=(4000,)), Reader(group.target.summary), Progress()
    )
    [(_, draft)] = built.made
    segments = re.split(r"<Segment \d+>\n", "".join(draft.context))[1:]
    assert len(segments) > 4
    [asked] = described(f"{MARK} {group.target.summary}")
    right = [number for number, text in enumerate(segments, start=1) if asked in described(text)]
    assert draft.gold == [f"<Segment {number}>" for number in right]


def test_results_of_a_study_agree() -> None:
    """Estimates lie in their intervals, a difference is that of its means, and p values and intervals agree."""
    ratios = differences = 0
    estimate = r"(-?\d+\.\d+), (?:(\d+)% )?confidence interval (-?\d+\.\d+) to (-?\d+\.\d+)"
    for seed in range(40):
        text = text_of(write_abstracts(seed, 8000))
        for one, _, low, high in re.findall(rf"hazard ratio {estimate}", text):
            ratios += 1
            assert 0 < float(low) <= float(one) <= float(high)
        means = rf"was (\d+\.\d) points (?:against|versus) (\d+\.\d) \(\w+ {estimate}; p ([=<]) (0\.\d+)\)"
        for first, second, one, level, low, high, sign, p in re.findall(means, text):
            differences += 1
            assert abs(float(first) - float(second) - float(one)) < 0.06
            assert float(low) <= float(one) <= float(high)
            alpha = 1 - int(level or 95) / 100
            if sign == "=" and abs(float(p) - alpha) > 0.012:
                assert (float(p) < alpha) == (float(low) > 0 or float(high) < 0), (one, low, high, p)
    assert ratios > 60 and differences > 60
