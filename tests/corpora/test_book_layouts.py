"""The story of a book is kept, and its apparatus removed, in a hundred layouts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from book_layouts import LAYOUTS, ROMAN, UNITS, Layout, set_book
from written_book import paragraphs

from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
from long_context_tasks.corpora.books import Book, clean, read_books

CHAPTERS = 15


@pytest.fixture(scope="module")
def chapters() -> list[list[str]]:
    return [paragraphs(30, seed) for seed in range(CHAPTERS)]


def read_back(folder: Path, layout: Layout, chapters: Sequence[Sequence[str]]) -> Book:
    path = folder / "book.txt"
    path.write_bytes(set_book(layout, chapters).encode(layout.encoding))
    [book] = read_books(path)
    return book


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_keeps_exactly_the_story(tmp_path: Path, layout: Layout, chapters: list[list[str]]) -> None:
    book = read_back(tmp_path, layout, chapters)
    assert book.paragraphs == tuple(text for chapter in chapters for text in chapter)
    assert list(book.chapters) == [sum(map(len, chapters[:place])) for place in range(CHAPTERS)]
    assert book.form == "novel"
    assert find_leaks(book) == []


@pytest.mark.slow
def test_real_stories_in_other_layouts(tmp_path: Path, real_books: list[Book]) -> None:
    """Every real novel is set in a sixteenth of the layouts: at most one word in a thousand is lost, and no heading stays."""
    worst: dict[str, float] = {}
    for number, book in enumerate(real_books):
        ends = [*book.chapters[1:], len(book.paragraphs)]
        chapters = [book.paragraphs[a:b] for a, b in zip(book.chapters, ends, strict=True)][:CHAPTERS]
        story = Counter(text for chapter in chapters for text in chapter)
        words = sum(len(text.split()) for text in story.elements())
        for layout in LAYOUTS[number % 16 :: 16]:
            back = Counter(read_back(tmp_path, replace(layout, encoding="utf-8"), chapters).paragraphs)
            # A line that ends behind a dash is joined without the space that one paragraph had there.
            joined = {text.replace(" ", "") for text in back}
            lost = sum(
                len(text.split()) for text in (story - back).elements() if text.replace(" ", "") not in joined
            )
            known = {text.replace(" ", "") for text in story}
            assert [text for text in back if text.replace(" ", "") not in known] == [], (book.id, layout.name)
            worst[f"{book.id}: {layout.name}"] = lost / words
    assert max(worst.values()) <= 0.001, max(worst, key=lambda name: worst[name])


@pytest.mark.slow
def test_real_novels_show_no_headings_and_no_series(real_books: list[Book]) -> None:
    found = {book.id: find_leaks(book) for book in real_books}
    assert [name for name, leaks in found.items() if any(leak.counted for leak in leaks)] == []
    seen = {
        book.id: [leak for leak in found[book.id] if not leak.told]
        for book in real_books
        if book.form == "novel"
    }
    # The narrator of Moby-Dick sorts whales into books and chapters, in two of its chapters.
    assert {book for book, leaks in seen.items() if leaks} == {"melville_moby_dick_2701"}
    assert len({leak.paragraph // 100 for leak in seen["melville_moby_dick_2701"]}) <= 3


@pytest.mark.parametrize(
    ("line", "leaks"),
    [
        ("CHAPTER XII", True),
        ("Chapter 3. The Mail", True),
        ("II. The Mail", True),
        ("  iv.", False),  # paragraphs have no indentation, and lower-case numerals count items
        ("VII", True),
        ("12", True),
        ("BOOK THE SECOND--THE GOLDEN THREAD", True),
        ("ADVENTURE II. A SCANDAL", True),
        ("CHAP. V.", True),
        ("Chapter 5: a strange guest", True),
        ("Chapter Sixty-Two. The End", True),
        ("CHAPTER CXXXV", True),
        ("THE SECOND BOOK", True),
        ("FIRST EPILOGUE: 1813", True),
        ("BOOK ONE: 1805", True),
        ("IV THE MAIL", True),
        ("IX. WHAT DID HE SAY?", True),
        ("XXI. A strange guest", True),
        ("Twenty-three", True),
        ("No. II.", True),
        ("Kapitel 3", True),
        ("March 3", False),
        ("Two.", False),
        ("I!", False),
        ("-Descanse V. Md., mi señor.", False),
        ("Second Officer Pell", False),
        ("Chapter 2/10", True),
        ("(End of volume one.)", True),
        ("END OF BOOK II", True),
        ("The end of the night came.", False),
        ("(ii)", True),
        ("The Golden Thread", True),  # the title of a heading that was removed
        ("Chapter two was found, and she glanced at it.", False),
        ("I. was what he called himself, and nobody asked him why he did so.", False),
        ("“I?”", False),
        ("12 men came down the road.", False),
        ("Part of the wall fell down.", False),
        ("Глава вторая", True),
        ("ROZDZIAŁ PIĄTY. Młyn", True),
        ("Глава вторая была найдена, и она прочла её.", False),
        ("Chapitre deux était perdu.", False),
    ],
)
def test_leaks_and_lookalikes(line: str, leaks: bool) -> None:
    book = Book("b", "B", ("It rained.", line), (0,), headings=("THE GOLDEN THREAD.",))
    assert any(not leak.told for leak in find_leaks(book)) == leaks


@pytest.mark.parametrize(
    "lines",
    [
        ["I giudici tacquero.", "Il maestro rise.", "I due amanti uscirono.", "Il fuoco era spento."],
        ["Uma dama,", "Duas damas,", "Um criado velho,", "Dois filhos,"],
    ],
)
def test_articles_and_counted_things_are_not_a_series(lines: list[str]) -> None:
    text = [line for each in lines for line in (each, *["It rained all day."] * 60)]
    assert find_leaks(Book("b", "B", tuple(text), (0,))) == []


def test_heads_of_scanned_pages_are_leaks() -> None:
    heads = [f"{page} THE LONG ROAD" if page % 2 else f"The Mail {page}" for page in range(4, 12)]
    others = ["He paid 12", "Number 7", "It was 1805, and it rained."]
    text = [line for head in heads for line in ("It rained all day.", head)]
    leaks = find_leaks(Book("b", "B", (*others[::2], *text), (0,)))
    assert [leak.text for leak in leaks] == heads


@pytest.mark.parametrize(
    ("numbers", "warning"),
    [
        ("I II III", None),
        ("I II IV", "chapter 4 follows chapter 2"),
        ("II III", "the first chapter has number 2"),
        ("I", "only one heading is found"),
        ("", "no heading is found"),
    ],
)
def test_gaps_in_the_numbers_are_warned_of(
    numbers: str, warning: str | None, chapters: list[list[str]]
) -> None:
    text = "\n\n".join(
        f"CHAPTER {number}\n\n{chapters[0][0]}\n\n{chapters[0][1]}" for number in numbers.split()
    )
    warnings = clean(text or chapters[0][0]).warnings
    assert warnings == ((warning,) if warning else ())


def in_gutenberg(text: str) -> str:
    mark = "*** {} OF THE PROJECT GUTENBERG EBOOK ***"
    return f"Title: The Road\n\n{mark.format('START')}\n\n\nTHE ROAD\n\nby A. N. Author\n\n\n\n{text}\n\n{mark.format('END')}\n"


def numbered(chapters: Sequence[Sequence[str]], below: str = "") -> str:
    return "\n\n\n\n".join(
        f"CHAPTER {number}\n\n\n{below}" + "\n\n".join(texts) for number, texts in enumerate(chapters, 1)
    )


def test_a_prologue_without_a_heading_is_kept(chapters: list[list[str]]) -> None:
    prologue, *others = chapters
    story = clean(in_gutenberg("\n\n".join(prologue) + f"\n\n\n\n{numbered(others)}"))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)


def test_the_first_words_below_a_list_are_not_on_it(chapters: list[list[str]]) -> None:
    listed = "CONTENTS\n\n" + "\n".join(f"CHAPTER {number}" for number in range(1, 16)) + "\n\n\n\n"
    story = clean(in_gutenberg(listed + numbered(chapters, "Call me Anne.\n\n")))
    assert [story.paragraphs[place] for place in story.chapters] == ["Call me Anne."] * 15


def test_a_newspaper_in_the_story(chapters: list[list[str]]) -> None:
    page = "ADVERTISEMENTS\n\nMISS PELL will speak in the hall.\n\nTHE END"
    text = numbered(chapters).replace(chapters[3][2], f"{chapters[3][2]}\n\n{page}")
    story = clean(in_gutenberg(text))
    paragraphs = [text for chapter in chapters for text in chapter]
    place = paragraphs.index(chapters[3][2]) + 1
    paragraphs[place:place] = ["ADVERTISEMENTS", "MISS PELL will speak in the hall."]
    assert story.paragraphs == tuple(paragraphs)


def test_lines_set_as_headings_are(chapters: list[list[str]]) -> None:
    between = "BETWEEN THE SCENES.\n\n\nTHE STORY GOES ON BY POST.\n\n\n"
    text = numbered(chapters[:6]) + f"\n\n\n\n{between}" + numbered(chapters[6:]).partition("\n\n\n")[2]
    story = clean(in_gutenberg(text))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)
    assert len(story.chapters) == CHAPTERS


@pytest.mark.parametrize("number", ["{roman}. ", "CHAPTER {roman}.--", "Chapter {word}: "])
def test_numbers_run_into_the_first_paragraph(number: str, chapters: list[list[str]]) -> None:
    told = [
        [f"{number.format(roman=ROMAN[i], word=UNITS[i])}{first}", *rest]
        for i, (first, *rest) in enumerate(chapters, 1)
    ]
    story = clean(in_gutenberg("\n\n\n\n".join("\n\n".join(chapter) for chapter in told)))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)
    assert len(story.chapters) == CHAPTERS


def test_a_first_section_without_a_number(chapters: list[list[str]]) -> None:
    text = numbered([[*chapter[:2], "II", *chapter[2:4], "III", *chapter[4:]] for chapter in chapters])
    story = clean(in_gutenberg(text))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)
    assert len(story.chapters) == 3 * CHAPTERS


def test_notes_below_their_chapter(chapters: list[list[str]]) -> None:
    noted = [
        [f"{first}[{number}]", *others, f"FOOTNOTES:\n\n[{number}] See the Journal."]
        for number, (first, *others) in enumerate(chapters, 1)
    ]
    story = clean(in_gutenberg(numbered(noted)))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)
    assert len(story.chapters) == CHAPTERS


@pytest.mark.parametrize("title", ["NOTES", "HISTORICAL NOTES."])
def test_numbered_notes_below_the_story(title: str, chapters: list[list[str]]) -> None:
    notes = "\n\n\n".join(
        f"{number}.\n\nSEATTLE THE CHIEF.\n\nHe was born in 1786." for number in ("I", "II")
    )
    story = clean(in_gutenberg(f"{numbered(chapters)}\n\n\n{title}\n\n\n{notes}\n"))
    assert story.paragraphs == tuple(text for chapter in chapters for text in chapter)


def test_a_preface_of_the_author_by_name(chapters: list[list[str]]) -> None:
    preface = f"ADVERTISEMENT BY THE AUTHORESS, TO THE LONG ROAD\n\n{chapters[0][0]}\n\n\n\n"
    assert clean(in_gutenberg(preface + numbered(chapters[1:]))).paragraphs[0] == chapters[1][0]


def test_titles_of_tales_within_chapters(chapters: list[list[str]]) -> None:
    """What stands in capitals farther from the text goes; signs and what a sentence runs through stay."""
    tales = [list(chapter) for chapter in chapters]
    tales[2][3:3] = ["\nTHE FERRYMAN'S TALE"]
    tales[4][3:3] = ["and the sign said", "\nHOUSE TO LET", "and nothing else."]
    tales[5][3:3] = ["THE FERRYMAN IS OUT"]
    tales[6][3:3] = ["\n“MISS PELL, SPINSTER”"]
    kept = [text.strip() for chapter in tales for text in chapter if "TALE" not in text]
    assert list(clean(in_gutenberg(numbered(tales))).paragraphs) == kept


def test_a_short_paragraph_below_an_argument_is_kept(chapters: list[list[str]]) -> None:
    below = "In which nothing is found.\n\n\n"
    story = clean(in_gutenberg(numbered([["It rained.\n", *chapter] for chapter in chapters], below)))
    assert [story.paragraphs[place] for place in story.chapters] == ["It rained."] * 15


LETTER = "LETTER {n}\n\n\n{place}, {day} May\n\nMy dear Anne,\n\n{text}\n\nYours,\n\nE. H.\n\n\n\n"
JOURNAL = "_{day} May._--{text}\n\n"
DATED = "MAY {day}.\n\n{text}\n\n"
LONG_LETTER = "Bath, {day} May.\n\nMy dear Anne,\n\n{long}\n\nYours ever,\n\nE. H.\n\n\n\n"
LONG_LETTER_UNDATED = "MY DEAR FRIEND,\n\n{long}\n\nYour affectionate brother,\n\nE. HARROW.\n\n\n\n"
ADDRESSED = "{n}\n\n\nLADY PELL TO MRS. HARROW\n\n\n{text}\n\n\n\n"
PLAY_IN_VERSE = "  Ann. The road is long,\n    And longer still the road that stays.\n  Edw. It is not far,\n    And all the nights are like the days.\n"
STANZA = "The road is long that leads away,\nAnd longer still the road that stays;\nA lamp is burning all the day,\nAnd all the nights are like the days.\n\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (LETTER, "letters"),
        (JOURNAL, "letters"),
        (DATED, "letters"),
        (ADDRESSED, "letters"),
        (LONG_LETTER, "letters"),
        (LONG_LETTER_UNDATED, "letters"),
        (PLAY_IN_VERSE, "play"),
        (STANZA, "verse"),
        ("{text}\n\n", "novel"),
    ],
)
def test_forms(text: str, form: str, chapters: list[list[str]]) -> None:
    prose = chapters[0][0]
    long = "\n\n".join(text for chapter in chapters[:3] for text in chapter)  # more than 4,000 words
    parts = (
        text.format(n=number, place="Bath", day=number, text=prose, long=long) for number in range(1, 25)
    )
    assert clean("".join(parts)).form == form


def test_a_novel_with_letters_and_songs_is_a_novel(chapters: list[list[str]]) -> None:
    text = "\n\n".join(
        f"CHAPTER {number + 1}\n\n" + "\n\n".join(chapter) for number, chapter in enumerate(chapters)
    )
    for place in (2, 5, 9):
        text = text.replace(chapters[place][3], f"My dear Anne,\n\n{chapters[place][3]}\n\n{STANZA}")
    assert clean(text).form == "novel"
