"""What stands around a story and between its pages goes, the story stays, and every word of a file is accounted for."""

import json
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import pytest
from case_folders import build
from hypothesis import given, settings
from hypothesis import strategies as st
from written_book import paragraphs

from long_context_tasks.benchmarks.ada_leval.builders import TSortSettings
from long_context_tasks.corpora.books import REASONS, clean

START, END = (f"*** {word} OF THE PROJECT GUTENBERG EBOOK THE ROAD ***" for word in ("START", "END"))


def in_pages(novel: list[str], number: str, *, above: bool, blank: bool, every: int = 3) -> str:
    """Cut every third paragraph in two by a page number on a line of its own, directly above or below the text or in a block."""
    told = []
    for place, text in enumerate(novel):
        words = text.split()
        half = len(words) // 2
        # What goes on begins with a small letter, so that it can be told from a paragraph.
        half = next(
            (i for i in range(half, len(words)) if words[i][0].islower() and words[i - 1].isalpha()), 0
        )
        if place % every or not half:
            told.append(fill(text, 70))
            continue
        line = number.format(5 + place // every)
        first, second = fill(" ".join(words[:half]), 70), fill(" ".join(words[half:]), 70)
        gap = "\n\n" if blank else "\n"
        told.append(f"{first}\n\n{line}{gap}{second}" if above else f"{first}{gap}{line}\n\n{second}")
    return "\n\n".join(told)


@pytest.mark.parametrize("number", ["{}", "[{}]", "- {} -", "Page {}", "          {}", "({})"])
@pytest.mark.parametrize(("above", "blank"), [(True, False), (False, False), (True, True)])
def test_page_numbers_go_and_the_sentence_is_joined(number: str, above: bool, blank: bool) -> None:
    novel = paragraphs(60, 4)
    story = clean(f"{START}\n\nCHAPTER I\n\n{in_pages(novel, number, above=above, blank=blank)}\n\n{END}\n")
    assert list(story.paragraphs) == novel
    assert story.dropped["page numbers"] >= 15


@pytest.mark.parametrize("number", ["1S", "6?", "13G"])
@pytest.mark.parametrize("end", ["", ";"])
def test_a_misread_page_number_goes_and_the_sentence_is_joined(number: str, end: str) -> None:
    novel = paragraphs(60, 4)
    first, second = novel[30].split(" the ", 1)
    novel[30] = f"{first}{end} the {second}"
    cut = [*novel[:30], f"{first}{end}", number, f"the {second}", *novel[31:]]
    assert list(clean("CHAPTER I\n\n\n" + "\n\n".join(cut)).paragraphs) == novel


@pytest.mark.parametrize("mark", ["{}", ",{}", "({})"])
def test_numbers_that_count_after_words_are_marks_of_notes(mark: str) -> None:
    novel = paragraphs(60, 4)
    told = [
        text if place % 5 else text.replace(" ", mark.format(place // 5 + 1) + " ", 1)
        for place, text in enumerate(novel)
    ]
    kept = clean("CHAPTER I\n\n\n" + "\n\n".join(told)).paragraphs
    assert [text.replace(",", "") for text in kept] == [text.replace(",", "") for text in novel]


def test_numbers_of_chapters_on_the_line_above_the_text_are_headings() -> None:
    chapters = [paragraphs(12, seed) for seed in range(8)]
    for form in ("{0}\n{1}", "{2}\n{1}", "{2}.\n{1}"):
        text = "\n\n\n\n".join(
            form.format(place, "\n\n".join(fill(line, 70) for line in chapter), numeral)
            for place, (chapter, numeral) in enumerate(
                zip(chapters, ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"], strict=True), 1
            )
        )
        story = clean(f"{START}\n\n\n\n{text}\n\n{END}\n")
        assert list(story.paragraphs) == [line for chapter in chapters for line in chapter], form
        assert len(story.chapters) == 8


@pytest.mark.parametrize("at_the_end", [False, True])
def test_notes_with_round_brackets_go_with_their_marks(at_the_end: bool) -> None:
    novel = paragraphs(60, 3)
    told, notes = [], []
    for place, text in enumerate(novel):
        number = place // 6 + 1
        told.append(f"{text[:-1]} ({number})." if place % 6 == 0 else text)
        if place % 6 == 0:
            (notes if at_the_end else told).append(f"({number}) {paragraphs(1, place)[0]}")
    end = "NOTES\n\n" + "\n\n".join(notes) if at_the_end else ""
    story = clean(f"{START}\n\nCHAPTER I\n\n" + "\n\n".join(told) + f"\n\n\n\n{end}\n\n{END}\n")
    assert list(story.paragraphs) == novel


def test_a_list_with_round_brackets_is_kept() -> None:
    novel = paragraphs(60, 3)
    novel[20:20] = [f"({number}) Bread, and a candle for the clerk." for number in range(1, 6)]
    assert list(clean(f"{START}\n\nCHAPTER I\n\n" + "\n\n".join(novel)).paragraphs) == novel


FRONTS = {
    "contents": "CONTENTS\n\n    The First Tale\n    The Second Tale\n\n\n\nThe First Tale\n\n\n",
    "contents, French": "TABLE DES MATIÈRES\n\n    Le premier conte.  3\n    Le second conte.  90\n\n\n\nLE PREMIER CONTE\n\n\n",
    "dedication": "DEDICATION\n\nTo my friend.\n\n\n\n",
    "dedication, German": "WIDMUNG\n\nMeinem Freunde.\n\n\n\n",
    "preface": "PREFACE\n\nThis is a true tale, and I saw all of it.\n\n\n\nTHE TALE\n\n\n",
    "preface, Spanish": "PREFACIO\n\nEsta es una historia verdadera, y yo la vi.\n\n\n\nLA HISTORIA\n\n\n",
    "preface, two": "PREFACE\n\nThis is a true tale.\n\n\n\nINTRODUCTION\n\nIt was written down late.\n\n\n\nThe Long Tale\n\n\n",
    "nothing": "The First Tale\n\n\n",
}


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("headed", [0, 2])
def test_a_first_story_without_a_known_heading_is_kept(front: str, headed: int) -> None:
    novel, *others = paragraphs(120, 1), *(paragraphs(40, seed) for seed in range(2, 2 + headed))
    chapters = "".join(
        f"\n\n\n\nCHAPTER {'I' * number}\n\n\n" + "\n\n".join(texts) for number, texts in enumerate(others, 1)
    )
    text = (
        f"{START}\n\nTHE TALES\n\nBy A. N. Author\n\n\n\n{FRONTS[front]}"
        + "\n\n".join(novel)
        + f"{chapters}\n\n\n{END}\n"
    )
    story = clean(text)
    assert list(story.paragraphs) == [*novel, *(line for texts in others for line in texts)]


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(FRONTS)),
    st.sampled_from(
        ["", "THE END", "FIN", "NOTES\n\n[1] See the Journal.", "Ende", "INDEX\n\nRoad, 4\nWall, 7"]
    ),
    st.lists(st.integers(0, 50), min_size=1, max_size=4),
    st.sampled_from(["{}", "[{}]"]),
    st.booleans(),
)
def test_every_word_is_kept_or_counted(
    front: str, end: str, seeds: list[int], number: str, marked: bool
) -> None:
    told = "\n\n\n\n".join(
        f"Chapter {place}.  The Wall\n\n{in_pages(paragraphs(30, seed), number, above=True, blank=False)}"
        for place, seed in enumerate(seeds, 1)
    )
    text = f"The Road\n\n{FRONTS[front]}{told}\n\n[Illustration: a wall]\n\n\n{end}\n\n"
    text = f"Title: The Road\n{START}\n\n{text}\n{END}\nThis is the licence.\n" if marked else text
    story = clean(text)
    assert tuple(story.dropped) == REASONS and min(story.dropped.values()) >= 0
    assert len(text.split()) == sum(story.dropped.values()) + sum(
        len(line.split()) for line in story.paragraphs
    )


def test_the_report_counts_removed_words_by_reason(tmp_path: Path) -> None:
    novel = paragraphs(120, 1)
    text = (
        f"Title: The Road\n\n{START}\n\n\n{FRONTS['dedication']}CHAPTER I\n\n"
        + "\n\n".join(novel)
        + f"\n\n{END}\nThe licence.\n"
    )
    (tmp_path / "road.txt").write_text(text, encoding="utf-8")
    out = tmp_path / "ada_leval_tsort"
    (report,) = build("ada_leval_tsort", tmp_path / "road.txt", TSortSettings((1000,), stride=3), out)
    [row] = report.sources
    assert row["words kept"] == sum(len(line.split()) for line in novel)
    assert (row["licence"], row["front matter"], row["headings"]) == (3 + 10 + 10 + 2, 4, 2)
    assert json.loads((out / "manifest.json").read_text())["sources"] == [row]


def test_a_long_part_of_unknown_kind_is_kept(tmp_path: Path) -> None:
    """A second tale below the end of the first one, in a file too long for it to be taken as more of the story."""
    novel, other = paragraphs(400, 1), paragraphs(50, 2)
    text = "".join(
        f"CHAPTER {number}\n\n" + "\n\n".join(novel[a:b]) + "\n\n\n\n"
        for number, (a, b) in enumerate(pairwise(range(0, 401, 100)), 1)
    )
    source = tmp_path / "road.txt"
    source.write_text(f"{text}THE END\n\n\n\n" + "\n\n".join(other), encoding="utf-8")
    (report,) = build(
        "ada_leval_tsort", source, TSortSettings((1000,), stride=3), tmp_path / "ada_leval_tsort"
    )
    assert report.sources[0]["back matter"] == 2
    assert report.sources[0]["words kept"] == sum(len(line.split()) for line in novel + other)
    assert "words above or below the story are kept" in report.sources[0]["doubts"]


PARTS = [
    "CONTENTS\n\n  Chapter I. The Road ..... 3\n  Chapter II. The Wall ..... 40",
    "DEDICATION\n\nTo my friend Anne.",
    "TO\n\nMY FATHER",
    "PREFACE\n\n{}",
    "PRÉFACE\n\n{}\n\n{}\n\nA. N.\n\nParis, 1871.",
    "VORWORT.\n\n{}\n\n{}",
    "ILLUSTRATIONS\n\nThe ferry ..... 12\n\nThe wall ..... 20",
    "INTRODUCTION\n\n{}\n\n{}\n\n{}",
    "First published in 1871\n\nReprinted 1872, 1873",
    "INHALT\n\nDas Erste    3\n\nDas Zweite    9",
    "_All rights reserved_",
    "“The road is long.”\n\n--OLD SONG",
]
FIRST_TITLES = [
    None,
    "The First Tale",
    "LE PREMIER CONTE",
    "THE LONG ROAD",
    "Der alte Müller",
    "CHAPTER I",
    "El barquero y su hijo",
    "* * * * *",
]
LATER_TITLES = [
    "CHAPTER {}",
    "Kapitel {}",
    "THE TALE OF THE {}",
    "Story number {}",
    "{}. The wall.",
    "The Tale of {}",
    "Chapitre {}",
]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(PARTS), max_size=3, unique=True),
    st.sampled_from(FIRST_TITLES),
    st.sampled_from(LATER_TITLES),
    st.integers(45, 60),  # fewer words may be a preface
    st.lists(st.integers(8, 60), max_size=6),
    st.integers(1, 4),
    st.booleans(),
)
def test_no_story_is_lost_below_any_front_matter(
    parts: list[str], title: str | None, later: str, first: int, sizes: list[int], gap: int, marked: bool
) -> None:
    stories = [paragraphs(size, seed) for seed, size in enumerate([first, *sizes])]
    front = "".join(part.replace("{}", paragraphs(1, 90 + i)[0]) + "\n\n\n\n" for i, part in enumerate(parts))
    titles = [title, *(later.format(number) for number in range(2, 9))]
    told = (
        (f"{head}\n\n\n" if head else "") + "\n\n".join(fill(text, 70) for text in story)
        for head, story in zip(titles, stories, strict=False)
    )
    above = "\n" * (gap + 1)
    text = f"THE LONG ROAD\n\nby A. N. Author\n\n\n\n{front}{above.join(told)}\n"
    kept = set(clean(f"{START}\n\n\n{text}" if marked else text).paragraphs)
    words = [len(line.split()) for story in stories for line in story]
    lost = sum(len(line.split()) for story in stories for line in story if line not in kept)
    assert lost <= 0.001 * sum(words)


@pytest.mark.parametrize("keyword", ["CHAPTER ", ""])
@pytest.mark.parametrize("page", ["[{}]  ", "[Pg {}] ", "{{{}}} "])
def test_a_page_number_on_the_line_of_a_heading_goes_with_it(page: str, keyword: str) -> None:
    chapters = [paragraphs(8, seed) for seed in range(4)]
    numbers = enumerate(("I", "II", "III", "IV"), start=1)
    heads = [f"{page.format(20 * place)}{keyword}{number}." for place, number in numbers]
    texts = ["\n\n".join([head, *told]) for head, told in zip(heads, chapters, strict=True)]
    story = clean("\n\n".join(texts))
    assert list(story.paragraphs) == [text for told in chapters for text in told]
    assert len(story.chapters) == 4


@pytest.mark.parametrize("table", ["none", "first", "last"])
def test_contents_above_every_chapter_are_those_of_its_argument(table: str) -> None:
    """A table of contents of the whole book stays one."""
    told = [paragraphs(4, seed) for seed in range(12)]
    parts = [
        "\n\n".join([f"LIVRE {number}.", "SOMMAIRE.", *texts]) for number, texts in enumerate(told, start=1)
    ]
    titles = [f"Du moulin {chr(64 + number)} de la vallée   {10 * number}" for number in range(1, 13)]
    if table != "none":
        parts.insert(0 if table == "first" else 12, "TABLE DES MATIÈRES\n\n" + "\n".join(titles))
    story = clean("\n\n\n\n".join(parts))
    assert list(story.paragraphs) == [text for texts in told for text in texts]
    assert table != "none" or story.dropped["back matter"] == 0


@pytest.mark.parametrize("running", [False, True])
def test_contents_of_five_volumes_are_no_story(running: bool) -> None:
    entries = [f"{number}. The Mill of Valley {chr(64 + number)}   {10 * number}" for number in range(1, 9)]
    if running:  # the head of every page of one table
        pages = ["CONTENTS\n\n" + "\n".join(entries)] * 5
        text = (
            "\n\n".join(pages)
            + "\n\n\n\n"
            + "\n\n".join(["CHAPTER I", *paragraphs(60, 1), "CHAPTER II", *paragraphs(60, 2)])
        )
        told = [*paragraphs(60, 1), *paragraphs(60, 2)]
    else:
        volumes = [
            "\n\n".join(
                [f"VOLUME {place}", "CONTENTS", "\n".join(entries), "\n\nCHAPTER 1", *paragraphs(60, place)]
            )
            for place in range(1, 6)
        ]
        text, told = (
            "\n\n\n\n".join(volumes),
            [line for place in range(1, 6) for line in paragraphs(60, place)],
        )
    assert list(clean(text).paragraphs) == told
