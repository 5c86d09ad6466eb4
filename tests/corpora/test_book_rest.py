"""Dates, heads of pages, pictures and tales outside the chapters of old books."""

import re
from pathlib import Path
from textwrap import fill

import pytest
from case_folders import build
from written_book import paragraphs

from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
from long_context_tasks.benchmarks.ada_leval.builders import TSortSettings
from long_context_tasks.corpora.books import Book, clean, read_books
from long_context_tasks.schema import CaseSet

START = "*** START OF THE PROJECT GUTENBERG EBOOK THE ROAD ***"

DATES = {
    "polish": "{} października.",
    "french": "Le {} mai.",
    "english": "Ferry House, {} October",
    "english, first": "October {}th.--Rain all day, and no boat.",
    "french, year": "{} juin 1904",
    "danish": "{}. marts",
    "german": "Den {}. September.",
    "italian": "#Marzo {}, 18--#",
    "russian": "Москва, {} мая 1880 г.",
    "swedish": "Måndagen den {} februari.",
    "english, weekday": "Wednesday.",
    "french, in guillemets": "« Le {} mai. »",
    "english, in open quotation marks": "“Ferry House, {} October.",
    "french, with a note": '"Le {} août 1904 (à la franque).',
}


@pytest.mark.parametrize("language", DATES)
def test_no_case_shows_dates_in_two_parts(tmp_path: Path, language: str) -> None:
    """Letters within a novel, with others of its paragraphs before and after them."""
    novel = paragraphs(300, 1)
    dates = [DATES[language].format(day) for day in range(3, 28, 3)]
    for place, date in enumerate(dates):
        novel.insert(100 + 7 * place, date)
    source = tmp_path / "road.txt"
    source.write_text("CHAPTER I\n\n\n" + "\n\n".join(novel), encoding="utf-8")
    [book] = read_books(source)
    assert [leak.text for leak in find_leaks(book)] in (
        [date.strip("#") for date in dates],
        [],
    )  # dates that count are headings
    out = tmp_path / "ada_leval_tsort"
    build("ada_leval_tsort", source, TSortSettings((1000,), stride=1), out)
    made = CaseSet.read(out, "ada_leval_tsort_1k")
    assert len(made) > 20
    for case in made.cases:
        spans = (case.inputs["before"], *case.inputs["segments"], case.inputs["after"])
        parts = [made.documents[case.document][a:b] for a, b in spans]
        assert sum(any(date.strip("#") in part for date in dates) for part in parts) <= 1


def test_a_day_within_a_sentence_is_not_a_date(tmp_path: Path) -> None:
    novel = [
        f"On the {day}th of May they came to the wall, and {text}"
        for day, text in enumerate(paragraphs(20, 1), 4)
    ]
    novel += ["“On the 3rd of May,” he said.", "“It was the 3rd of May!”", "“He came on May 3.”"]
    (tmp_path / "road.txt").write_text("CHAPTER I\n\n\n" + "\n\n".join(novel), encoding="utf-8")
    [book] = read_books(tmp_path / "road.txt")
    assert [leak for leak in find_leaks(book) if leak.told] == []


def told(texts: list[str]) -> str:
    return "\n\n".join(texts)


def spoken(texts: list[str]) -> list[str]:
    """Return paragraphs every third of which somebody says."""
    return [text if place % 3 else f"“{text}”" for place, text in enumerate(unspoken(texts))]


def unspoken(texts: list[str]) -> list[str]:
    return [text.replace('"', "") for text in texts]


@pytest.mark.parametrize("preface", ["Företal.", "Förord", "Introduzione", "Vorrede."])
@pytest.mark.parametrize("gap", [2, 3, 4])
def test_a_preface_ends_above_stories_listed_at_the_end(preface: str, gap: int) -> None:
    titles = ["Vid den gamla färjan.", "Lotsens son.", "Ett litet minne."]
    stories = [paragraphs(60, seed) for seed in range(3)]
    apart = "\n" * (gap + 1)
    parts = [f"{preface}\n\n\n{told(paragraphs(4, 50))}\n\n_A. N. Author_"]
    parts += [f"{title}\n\n\n{told(story)}" for title, story in zip(titles, stories, strict=True)]
    listed = "\n".join(f"  {title}  {page}" for page, title in enumerate(titles, 5))
    story = clean(f"THE ROAD{apart}{apart.join(parts)}{apart}INNEHÅLL\n\n{listed}\n")
    assert list(story.paragraphs) == [text for texts in stories for text in texts]
    assert list(story.headings) == titles


@pytest.mark.parametrize("spoken_in", [True, False])
def test_front_and_back_matter_in_which_people_talk_is_story(spoken_in: bool) -> None:
    frame, other = paragraphs(130, 1), paragraphs(120, 3)
    said = spoken if spoken_in else unspoken
    frame, other = said(frame), said(other)
    novel = paragraphs(900, 2)
    chapters = "\n\n\n\n".join(
        f"CHAPTER {'I' * (place + 1)}\n\n\n{told(novel[300 * place : 300 * place + 300])}"
        for place in range(3)
    )
    text = (
        f"THE ROAD\n\n\n\nINTRODUCTION\n\n\n{told(frame)}\n\n\n\n{chapters}\n\n\n\nTHE END\n\n\n\n"
        f"APPENDIX\n\n\n{told(other)}\n"
    )
    story = clean(text)
    assert list(story.paragraphs) == (frame + novel + other if spoken_in else novel)
    assert any("are kept" in doubt for doubt in story.warnings) == spoken_in


def test_heads_of_pages_that_stay_are_leaks() -> None:
    """The numbers rise too little for their heads to be found, but tell an order."""
    novel = paragraphs(90, 4)
    heads = ["THE L0NG R0AD 41", "<HE LONG ROAÐ 3", "THE LOMG ROAD 77"]
    for place, head in zip((10, 40, 70), heads, strict=True):
        novel.insert(place, head)
    book = Book("road", "Road", tuple(novel), (0,))
    assert [leak.text for leak in find_leaks(book)] == heads


@pytest.mark.parametrize(
    "caption", ["[Bild]", "[Dekoration]", "[Ilustracja]", "[Vignette]", "[Kuva]", "[A small ship.]"]
)
def test_short_lines_in_brackets_that_come_again_are_pictures(caption: str) -> None:
    novel = paragraphs(40, 4)
    text = told([f"{line}\n\n{caption}" if place % 8 == 0 else line for place, line in enumerate(novel)])
    assert list(clean(f"CHAPTER I\n\n\n{text}").paragraphs) == novel


def test_a_line_in_brackets_that_comes_once_is_kept() -> None:
    novel = [*paragraphs(20, 4), "[Gone away.]", *paragraphs(20, 5)]
    assert list(clean("CHAPTER I\n\n\n" + told(novel)).paragraphs) == novel


def test_marks_of_spaced_type_go() -> None:
    novel = paragraphs(20, 4)
    story = clean("#Capitolo I.#\n\n\n" + told([*novel[:10], "#She read the letter.#", *novel[10:]]))
    assert list(story.paragraphs) == [*novel[:10], "She read the letter.", *novel[10:]]
    assert story.dropped["headings"] == 2


@pytest.mark.parametrize("first", ["{}\n", "THE ROAD {}\n"])
def test_paragraphs_end_at_short_lines_where_no_line_is_blank(first: str) -> None:
    """The first number may share its line with the title of the book."""
    novel = paragraphs(48, 4)
    numbers = [first.format("I."), *(f"{number}.\n" for number in ("II", "III", "IV", "V", "VI"))]
    text = "".join(
        f"{number}{''.join(f'{fill(line, 70)}{chr(10)}' for line in novel[8 * i : 8 * i + 8])}"
        for i, number in enumerate(numbers)
    )
    story = clean(text)
    # A paragraph whose last line fills the page goes on in the next one.
    assert sum(line in novel for line in story.paragraphs) > 0.7 * len(novel)
    assert not any(re.search(r"\b(?:II|III|IV|V|VI)\.", line) for line in story.paragraphs)


def test_lines_in_capitals_below_a_full_line_are_headings() -> None:
    """The last line of each chapter fills the page."""
    told = [
        [*paragraphs(8, place), "She sat at the long table by the window, and read of the ferry again."]
        for place in range(6)
    ]
    lines = [
        f"CHAPTER {['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE', 'SIX'][place]}\n{fill(text, 70)}"
        if not i
        else fill(text, 70)
        for place, chapter in enumerate(told)
        for i, text in enumerate(chapter)
    ]
    story = clean("\n".join(lines))
    assert len(story.chapters) == 6
    assert not any("CHAPTER" in text for text in story.paragraphs)


def test_lines_further_right_go_on_in_their_paragraph() -> None:
    novel = [text if place % 3 else "It rained." for place, text in enumerate(paragraphs(60, 2))]
    text = "\n".join(fill(text, 80, initial_indent=" " * 12, subsequent_indent=" " * 15) for text in novel)
    story = clean(text)
    assert (list(story.paragraphs), story.form) == (novel, "novel")


def test_short_speeches_with_dashes_are_paragraphs() -> None:
    novel = [
        text if place % 5 == 0 else f"— Nobody came, {place}."
        for place, text in enumerate(paragraphs(100, 2))
    ]
    kept = clean("\n".join(fill(text, 70) for text in novel)).paragraphs
    assert sum(text in novel for text in kept) > 0.7 * len(novel)


def test_short_paragraphs_below_the_ends_of_scenes_are_kept() -> None:
    novel = paragraphs(90, 1)
    for place in range(80, 0, -20):
        novel[place] = f"\n{novel[place]}"
    for place in (70, 50, 30, 10):
        novel.insert(place, "\nNobody there.")
    kept = clean(told(novel)).paragraphs
    assert list(kept) == [text.strip() for text in novel]


@pytest.mark.parametrize(("narrated", "form"), [(5, "novel"), (0, "play")])
def test_a_novel_with_talk_printed_as_in_a_play_is_a_novel(narrated: int, form: str) -> None:
    """Ten conversations of eight speeches, with the story or nothing between them."""
    texts = iter(paragraphs(200, 1))
    told_then = []
    for _ in range(10):
        told_then += [next(texts) for _ in range(narrated)]
        told_then += [f"{('JUHO', 'MARTTA')[turn % 2]}. {next(texts)[:90]}." for turn in range(8)]
    assert clean("CHAPTER I\n\n\n" + told(told_then)).form == form


@pytest.mark.parametrize("titled", [12, 6])
def test_short_lines_below_most_numbers_are_titles(titled: int) -> None:
    lines = [
        f"Noch ein Wunder in {'abcdefghijklmno'[place]}!" if place < titled else "»Halt!« rief er."
        for place in range(15)
    ]
    chapters = [[line, *paragraphs(6, seed)] for seed, line in enumerate(lines)]
    heads = [f"Kapitel {place}\n\n" + told(chapter) for place, chapter in enumerate(chapters, 1)]
    kept = clean("\n\n".join(heads)).paragraphs
    assert kept.count("»Halt!« rief er.") == 15 - titled
    assert sum(text.startswith("Noch ein") for text in kept) == (titled if titled < 10 else 0)


def test_titles_above_short_first_paragraphs_go() -> None:
    chapters = [[*(["She saw it."] if seed % 2 else []), *paragraphs(6, seed)] for seed in range(8)]
    heads = [
        f"Kapitel {place}\n\nI was a wonder in {'abcdefgh'[place - 1]}!\n\n{told(chapter)}"
        for place, chapter in enumerate(chapters, 1)
    ]
    assert list(clean("\n\n".join(heads)).paragraphs) == [text for chapter in chapters for text in chapter]


def test_a_first_sentence_is_kept_if_titles_stand_beside_the_numbers() -> None:
    titles = [
        "Voyage",
        "Letter",
        "Mill",
        "Harbour",
        "Sisters",
        "Storm",
        "Quarrel",
        "Night",
        "Bread",
        "Return",
        "Wedding",
        "Key",
    ]
    opening = {"Snow fell.": 13, "She would not go.": 14, "They had found him.": 15}
    heads = [
        f"Chapter {place}. The {title}\n\n{told(paragraphs(6, place))}"
        for place, title in enumerate(titles, 1)
    ]
    heads += [f"Chapter {place}.\n\n{told([line, *paragraphs(6, place)])}" for line, place in opening.items()]
    kept = clean("\n\n".join(heads)).paragraphs
    assert [text for text in kept if text in opening] == list(opening)


@pytest.mark.parametrize(
    "heading", ["List of changes\n\n\n", "Notes\n\n\nA few words about the text.\n\n", ""]
)
@pytest.mark.parametrize("page", ["Seite {}, ", "S. {}, 4 ", "{} "])
def test_notes_in_the_order_of_pages_are_not_story(heading: str, page: str) -> None:
    novel = paragraphs(90, 4)
    notes = [f"{page.format(7 + 9 * place)}{text}" for place, text in enumerate(paragraphs(14, 5))]
    story = clean(f"CHAPTER I\n\n\n{told(novel)}\n\n\n\n\n{heading}{told(notes)}\n")
    assert list(story.paragraphs) == novel
    assert story.dropped["back matter"] >= sum(len(note.split()) for note in notes)


def test_a_glossary_is_not_story() -> None:
    novel = paragraphs(90, 4)
    words = [f"{letter}{vowel}bel: a word" for letter in "ABCDFGHKLMNPRSTVZ" for vowel in "aou"]
    story = clean(f"CHAPTER I\n\n\n{told(novel)}\n\n\n\nWORDS\n\n\n{told(words)}\n")
    assert list(story.paragraphs) == novel


@pytest.mark.parametrize("notes", ["NOTAS", "Efterskrift"])
def test_numbered_sections_of_an_appendix_belong_to_it(notes: str) -> None:
    novel, others = paragraphs(900, 4), unspoken(paragraphs(130, 5))
    appendix = f"{notes}\n\n\n\n\nI\n\n(Page 23)\n\n{told(others[:60])}\n\n\n\nII\n\n{told(others[60:])}"
    chapters = "\n\n\n\n".join(
        f"{number}\n\n\n{told(novel[place : place + 300])}"
        for number, place in (("I", 0), ("II", 300), ("III", 600))
    )
    story = clean(f"{chapters}\n\n\n\n\nFIM\n\n\n\n\n{appendix}\n")
    assert list(story.paragraphs) == novel


def test_notes_at_the_beginning_of_a_page_are_back_matter() -> None:
    novel = paragraphs(90, 4)
    text = f"CHAPTER I\n\n\n{told(novel)}\n\n181\n\nNoter\n\n{told(paragraphs(8, 5))}\n"
    assert list(clean(text).paragraphs) == novel


@pytest.mark.parametrize(
    "front",
    [
        "{text}\n\n\n\n\nTHE ROAD\n\n\n\nI\n\n\n",
        "TO A. B.\n\n_L. V. L._\n\n{text}\n\n\n\n\nTHE ROAD\n\n\n\nI\n\n\n",
        "FOURTH CENTENARY OF THE ROAD\n\n\n\nA TALK\n\n\n{text}\n\n\n\nPREFACE\n\nA word.\n\n\n\n\nI\n\n\n",
    ],
)
def test_what_precedes_the_half_title_or_a_preface_is_front_matter(front: str) -> None:
    talk, novel = unspoken(paragraphs(60, 5)), unspoken(paragraphs(900, 4))
    chapters = f"{told(novel[:450])}\n\n\n\n\nII\n\n\n{told(novel[450:])}"
    text = f"Title: The Road\n\n{START}\n\n\n\nTHE ROAD\n\n\n\n{front.format(text=told(talk))}{chapters}\n"
    assert list(clean(text).paragraphs) == novel


def test_a_mark_of_a_note_follows_a_word() -> None:
    text = told([*paragraphs(8, 4), "They said (>:* — and no more.", "* The ferry came.", *paragraphs(8, 5)])
    assert "* The ferry came." in clean(f"CHAPTER I\n\n\n{text}").paragraphs


def test_underscores_between_words_are_spaces() -> None:
    novel = [*paragraphs(8, 4), "It was a lone_boar and a black_dog.", "_The_ un_known_ man came."]
    story = clean("CHAPTER I\n\n\n" + told(novel))
    assert story.paragraphs[-2:] == ("It was a lone boar and a black dog.", "The unknown man came.")


def test_notes_that_begin_with_superscripts_are_read() -> None:
    notes = [f"{mark} The old mill: see above." for mark in "¹²³"]
    assert clean(told([*paragraphs(90, 4), *notes])).paragraphs
