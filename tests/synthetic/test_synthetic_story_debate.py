"""Synthetic stories and debates: always the same, clean prose, names that an independent reader confirms."""

import itertools
import json
import re
import time
import tracemalloc
from collections import defaultdict
from pathlib import Path

import pytest
from kinds import GENRES, KINDS, WRITE
from story_debate_checks import heuristics, names_in, places
from synthetic_text_checks import f1, labels_of, text_of

from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.documents import read_debates
from long_context_tasks.synthetic import debate, story
from long_context_tasks.synthetic.wording import words

pytestmark = pytest.mark.slow

STREAM = {"story": story.stream_story, "debate": debate.stream_debate}


@GENRES
def test_a_million_tokens_in_little_time_and_memory(genre: str) -> None:
    start = time.perf_counter()
    size = 0
    for paragraph in STREAM[genre](3):
        size += len(paragraph.text) + 2
        if size > 4_100_000:
            break
    assert time.perf_counter() - start < 20
    stream = STREAM[genre](3)
    tracemalloc.start()
    held = []
    for number in (1200, 1200):
        for _ in itertools.islice(stream, number):
            pass
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[1] < held[0] + 100_000


@GENRES
def test_prose_is_clean(genre: str) -> None:
    text = text_of(WRITE[genre](5, 60_000))
    assert not re.search(r"[\[\]{}<>|]|  |a\(n\)| [,.;?!]|\.\.|,,|[.?!]”\.", text)
    assert not re.search(r"\b[Aa] (?!use\b|union\b|one\b|ewe\b)[aeiou]|\b[Aa]n [bcdfgjklmnpqrstvwxz]", text)
    assert not re.search(r"(?<=[a-z]{3}[.!?] )[a-z]", text)
    doubled = set(re.findall(r"\b(\w+) \1\b", text))
    assert doubled <= {"had", "that"}
    assert text.count('"') % 2 == 0
    assert text.count("“") == text.count("”")


@pytest.mark.parametrize(
    "sentence",
    [
        "With the boxwood flute among the baggage, they were careful how they packed.",
        "At the next count of the baggage, the tinny music box was not there.",
    ],
)
def test_a_long_sentence_without_a_rare_name_gets_a_place(sentence: str) -> None:
    placed = f"At Otterwold, {sentence[0].lower()}{sentence[1:]}"
    assert story.take_apart(sentence, "at Otterwold") == placed
    assert story.take_apart(placed, "at Otterwold") == placed


def test_a_debate_has_the_shape_of_other_debates(tmp_path: Path) -> None:
    document = debate.write_debate(2, 6000)
    speeches = tuple(paragraph.text for paragraph in document.paragraphs)
    (tmp_path / "one.txt").write_text(text_of(document), encoding="utf-8")
    assert [one.speeches for one in read_debates(tmp_path)] == [speeches]
    labelled = [re.match(r"(?:The |[A-Z]\w+ ){1,3}[^:.]*: ", speech) for speech in speeches]
    # What nobody says, the result of a division, has no speaker.
    assert all(
        found or speech.startswith(("Question put", "The Committee"))
        for found, speech in zip(labelled, speeches, strict=True)
    )


def test_a_story_has_the_shape_of_other_books(tmp_path: Path) -> None:
    paragraphs = [paragraph.text for paragraph in story.write_story(2, 6000).paragraphs]
    (tmp_path / "books.jsonl").write_text(
        json.dumps({"id": "s", "title": "S", "paragraphs": paragraphs}), encoding="utf-8"
    )
    assert [list(book.paragraphs) for book in read_books(tmp_path)] == [paragraphs]


@pytest.mark.parametrize("kind", ["story", "debate", "opinions"])
def test_labels_stand_in_their_paragraph_in_order(kind: str) -> None:
    for paragraph in KINDS[kind].write(11, 20_000).paragraphs:
        places = [
            re.search(rf"(?<!\w)(?<!\d,){label}(?!\w|,\d)", paragraph.text) for label in paragraph.labels
        ]
        assert all(places)
        starts = [place.start() for place in places if place]
        assert starts == sorted(set(starts))
        form = r"\d+" if kind == "opinions" else "[A-Z][a-z]+"
        assert all(re.fullmatch(form, label) for label in paragraph.labels)


@GENRES
def test_a_reader_who_knows_no_gold_finds_the_same_names(genre: str) -> None:
    wrong = []
    for seed in range(3000, 3100):
        document = WRITE[genre](seed, 2000)
        found = set().union(*(names_in(paragraph.text, genre) for paragraph in document.paragraphs))
        if found != labels_of(document):
            wrong.append((seed, found ^ labels_of(document)))
    print(genre, wrong)
    # "Miles" at the beginning of a sentence is also a word: the reader cannot tell.
    assert len([one for _, one in wrong if one - {"Miles", "Quill", "Piers"}]) == 0


@GENRES
def test_things_have_titles_too_and_are_no_names(genre: str) -> None:
    text = text_of(WRITE[genre](12, 30_000))
    labels = labels_of(WRITE[genre](12, 30_000))
    file = "story_names.txt" if genre == "story" else "debate_names.txt"
    titles = "|".join(words(file, "titles_things"))
    after = set(re.findall(rf"\b(?:{titles}) ([A-Z][a-z]+)", text))
    assert len(after - labels) > 20
    # What only things are called is that of a town, never of a person.
    assert after - labels <= places()


def test_the_reader_is_no_rubber_stamp() -> None:
    document = story.write_story(3000, 2000)
    assert names_in(f"{text_of(document)} Then came Captain Holmburn.", "story") - labels_of(document) == {
        "Holmburn"
    }


def test_no_name_of_a_person_is_that_of_a_place_or_a_thing() -> None:
    parts = {
        file: {word for name in ("women", "men") for word in words(file, name)}
        for file in ("names.txt", "debate_names.txt")
    }
    surnames = {
        first + last
        for file in parts
        for first in words(file, "surname_first")
        for last in words(file, "surname_last")
    }
    assert not (surnames | parts["names.txt"] | parts["debate_names.txt"]) & places()
    for file in ("story_names.txt", "debate_names.txt"):
        for name in ("ship_first", "ship_last", "river_last", "hall_last"):
            things = set(words(file, name))
            assert not things & (parts[file.replace("story_", "")] | surnames), name


@GENRES
@pytest.mark.parametrize("length", [2000, 8000, 32_000])
def test_capital_letters_are_not_enough(genre: str, length: int) -> None:
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    scores: dict[str, list[float]] = defaultdict(list)
    for seed in range(400, {2000: 430, 8000: 408, 32_000: 402}[length]):
        document = WRITE[genre](seed, length)
        for name, found in heuristics(text_of(document), text_features.ENGLISH_STOP_WORDS).items():
            scores[name].append(f1(found, labels_of(document)))
    means = {name: sum(score) / len(score) for name, score in scores.items()}
    print(genre, length, means)
    # The best of them is in docs/synthetic_writers.md; means of few documents lie up to 3 points above it.
    assert all(mean < 50 for mean in means.values()), means
