"""Readers of books: what is removed, what is kept, and whether real novels come out whole."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.corpora.books import Book, clean, read_books
from long_context_tasks.schema import InputError

GOLDEN = Path(__file__).parent / "golden"
LOOKALIKES = json.loads((GOLDEN / "headings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_gutenberg_text_becomes_its_story(line_end: str) -> None:
    story = clean((GOLDEN / "lamp.txt").read_text(encoding="utf-8").replace("\n", line_end))
    assert story.title == "The Lamp or, A Light"
    assert list(story.paragraphs) == (GOLDEN / "lamp_story.txt").read_text(encoding="utf-8").splitlines()
    assert story.chapters == (0, 3, 5)


SENTENCE = "The road went on for a long time and nobody said a word about the letter that was lost."


def test_words_that_a_line_end_cut() -> None:
    text = f"{SENTENCE}\n\nIt took a WATCH OUT OF ITS WAISTCOAT-\nPOCKET in the draw-\ning-room, and said-\nWell.\n"
    assert (
        clean(text).paragraphs[1]
        == "It took a WATCH OUT OF ITS WAISTCOAT-POCKET in the draw-ing-room, and said- Well."
    )


@pytest.mark.parametrize("heading", LOOKALIKES["headings"])
def test_headings_are_removed(heading: str) -> None:
    text = f"CHAPTER I\n\n{SENTENCE}\n\n\n{heading}\n\n\nIt was raining, and the old dog was asleep by the fire again.\n"
    story = clean(text)
    assert story.paragraphs == (SENTENCE, "It was raining, and the old dog was asleep by the fire again.")
    assert story.chapters == (0, 1)


@pytest.mark.parametrize("paragraph", LOOKALIKES["story"])
def test_story_that_looks_like_a_heading_stays(paragraph: str) -> None:
    before = "“Well,” said she"
    text = f"CHAPTER I\n\n{SENTENCE}\n\nCHAPTER II\n\n{SENTENCE}\n\n{before}, \n\n{paragraph}\n\n{SENTENCE}\n"
    kept = clean(text).paragraphs
    if paragraph != "I":  # a lone numeral is a heading when it begins a count
        assert " ".join(paragraph.replace("_", "").split()) in kept
    assert kept[-1] == SENTENCE


@pytest.mark.parametrize(
    "line",
    [
        "(End of volume one.)",
        "[End of Chapter 3]",
        "Page 12",
        "p. 12",
        "[p12]",
        'Illustration: "He went to the window"',
        "<<Illustration: The window>>",
        "[imagen: Estrella.]",
        "[Kuva: Ikkuna.]",
        "[TN: the original has 'teh'.]",
        "[Note 2: A long boat.]",
        "[Blank Page]",
        "(*) A long boat.",
        '"HE WENT TO THE WINDOW." (_Page 12._)',
        "HE WENT TO THE WINDOW   [_See page 12_",
    ],
)
def test_additions_of_editors_and_transcribers_are_removed(line: str) -> None:
    first, second = "He took the boat (*) to the other bank.[A]", "[A]t last it was [T] who spoke."
    text = f"CHAPTER I\n\n{first}\n\n{line}\n\n{second}\n\nCHAPTER II\n\n{SENTENCE}\n\nTHE END\n\x1a"
    assert clean(text).paragraphs == ("He took the boat to the other bank.", second, SENTENCE)


def test_a_motto_goes_with_an_author_in_a_block_of_its_own() -> None:
    verse = "     O ye who tread the Narrow Way\n     By Tophet-flare to Judgment Day,"
    for author in ("_Buddha at Kamakura_.", "           Buddha at Kamakura."):
        motto = f"{verse}\n\n     {author}"
        text = "\n\n".join(f"CHAPTER {i}\n\n{motto}\n\n{SENTENCE}" for i in (1, 2))
        assert clean(text).paragraphs == (SENTENCE, SENTENCE)
    assert clean(f"CHAPTER I\n\n{verse}\n\n     He said.\n\n{SENTENCE}").paragraphs[1:] == (
        "He said.",
        SENTENCE,
    )


def test_a_note_set_far_from_the_text_belongs_to_any_part_of_it() -> None:
    story = "\n\n".join(
        [f"CHAPTER I\n\nIt must be improper* that she dreams.\n\n{SENTENCE}", *[SENTENCE] * 9]
    )
    assert clean(f"{story}\n\n\n\n*Vide a letter in the Rambler.\n").paragraphs[-1] == SENTENCE
    assert clean(f"{story}\n\n*Vide a letter in the Rambler.\n").paragraphs[-1] != SENTENCE


def test_first_words_of_a_chapter_are_not_its_title() -> None:
    for first in ("“TOM!”", "Call me Ishmael.", "It rained.", "“Stop!”", "No."):
        text = f"CHAPTER I\n\n{first}\n\n{SENTENCE}\n\nCHAPTER II\n\n{first}\n\n{SENTENCE}\n"
        assert clean(text).paragraphs == (first, SENTENCE, first, SENTENCE)


def test_titles_with_a_full_stop_need_a_habit() -> None:
    titles = ("The Long Road.", "Two Letters.", "A Visit to Town.", "The Return.")
    text = "\n\n".join(f"CHAPTER {i}\n\n{title}\n\n{SENTENCE}" for i, title in enumerate(titles, 1))
    assert clean(text).paragraphs == (SENTENCE,) * 4


def test_numerals_with_titles_are_headings_only_in_order() -> None:
    text = "".join(
        f"\n\n\n{n}. The Turn of the {w}\n\n{SENTENCE}\n"
        for n, w in zip(("I", "II", "III"), "ABC", strict=True)
    )
    assert clean(text).paragraphs == (SENTENCE,) * 3
    assert clean(text).chapters == (0, 1, 2)


def test_story_before_the_first_heading_is_kept() -> None:
    text = f"{SENTENCE}\n\n{SENTENCE}\n\nPART TWO\n\n{SENTENCE}\n"
    assert clean(text).paragraphs == (SENTENCE,) * 3
    marked = f"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nThe House\n\nby Y\n\n{text}\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\n"
    assert clean(marked).paragraphs == (SENTENCE,) * 3


def test_text_without_headings_is_one_chapter() -> None:
    story = clean(f"{SENTENCE}\n{SENTENCE}\n\n{SENTENCE}")
    assert story.paragraphs == (f"{SENTENCE} {SENTENCE}", SENTENCE)
    assert story.chapters == (0,)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_cleaned(text: str) -> None:
    story = clean(text)
    assert (story.chapters[:1] == (0,)) == bool(story.paragraphs)
    assert all(paragraph and "\n" not in paragraph for paragraph in story.paragraphs)


def _story(name: str) -> str:
    return f"CHAPTER I\n\nThe {name} was in the house, and nobody knew how it had come there.\n\nCHAPTER II\n\nAll was well.\n"


def test_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(
        "\ufeffCHAPTER I\n\nThe café was shut, and nobody came to open it.".encode()
    )
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("The café was open again on Sunday.".encode("latin-1")))
    (tmp_path / "README.md").write_text("about")
    a, b = read_books(tmp_path)
    assert a == Book(
        "a", "a", ("The café was open again on Sunday.",), (0,), warnings=("no heading is found",)
    )
    assert b.paragraphs == ("The café was shut, and nobody came to open it.",)


def test_folder_of_texts_and_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It rained on Sunday.")
    rows = [{"id": name, "paragraphs": [f"It was {name} again."]} for name in ("two", "one")]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "c.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"id": "c", "text": "It ended."}).encode())
    )
    (tmp_path / "readme.jsonl").write_text("about")
    assert [book.id for book in read_books(tmp_path)] == ["a", "two", "one", "c"]
    (tmp_path / "d.jsonl").write_text('{"id": "a", "text": "It rained again."}')
    with pytest.raises(InputError, match=r"d\.jsonl, line 1: the id 'a' is also that of .*a\.txt"):
        list(read_books(tmp_path))


def test_folder_of_chapter_files(tmp_path: Path) -> None:
    for book in ("two", "one"):
        (tmp_path / book).mkdir()
        for n in (10, 2, 1):
            (tmp_path / book / f"{n}.txt").write_text(
                f"Chapter {n}\n\nThis is what happened on day {n} of the {book}.\n"
            )
    books = list(read_books(tmp_path))
    assert [book.id for book in books] == ["one", "two"]
    assert [p.split()[6] for p in books[0].paragraphs] == ["1", "2", "10"]
    assert books[0].chapters == (0, 1, 2)


@pytest.mark.parametrize("packed", [False, True])
def test_json_lines(tmp_path: Path, packed: bool) -> None:
    lines = [
        {"id": 7, "title": "Seven", "text": _story("lamp")},
        {"id": "p", "paragraphs": ["First one.", "  Second\none. "]},
        {"id": "c", "chapters": ["Chapter 1\n\nIt began in May.", ["It went on.", "It ended."]]},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    path = tmp_path / ("books.jsonl.gz" if packed else "books.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    seven, p, c = read_books(path)
    assert (seven.id, seven.title, seven.chapters) == ("7", "Seven", (0, 1))
    assert p == Book("p", "p", ("First one.", "Second one."), (0,))
    assert c == Book("c", "c", ("It began in May.", "It went on.", "It ended."), (0, 1))


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("x.txt", b"CHAPTER I\n\nCHAPTER II\n", "no story"),
        ("x.txt", b"", "no story"),
        ("x.txt", bytes(range(256)) * 4, "binary"),
        ("x.txt.gz", gzip.compress(_story("a").encode(), mtime=0)[:-9], "cut off"),
        (
            "x.jsonl",
            b'{"id": "a", "text": "It rained."}\n{"id": "a", "text": "It rained."}',
            "line 2.*also that of",
        ),
        ("x.jsonl", b'{"id": "a", "text": "It rained."}\n{"id"', "line 2: not JSON"),
        ("x.jsonl", b'{"text": "It rained."}', "line 1: id is missing"),
        ("x.jsonl", b'{"id": "a", "body": "It rained."}', 'line 1.*"paragraphs"'),
        ("x.txt", b"<h2>I</h2><p>It rained.</p><p>It snowed.</p>", "is HTML"),
    ],
)
def test_bad_input_is_one_clear_error(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=says) as caught:
        list(read_books(path))
    assert str(path) in str(caught.value)


def test_nothing_to_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=re.escape(str(path))):
            list(read_books(path))


# What a reader of these novels counts: letters, prologue, epilogue and the numbered parts of narratives included.
CHAPTERS = {
    "bronte_jane_eyre_1260": 38,
    "christie_mysterious_affair_at_styles_863": 13,
    "collins_the_moonstone_155": 60,
    "dickens_great_expectations_1400": 59,
    "doyle_hound_of_the_baskervilles_2852": 15,
    "eliot_middlemarch_145": 88,
    "forster_a_room_with_a_view_2641": 20,
    "london_the_call_of_the_wild_215": 7,
    "melville_moby_dick_2701": 136,
    "shelley_frankenstein_84": 28,
    "stoker_dracula_345": 28,
    "thackeray_vanity_fair_599": 67,
    "twain_tom_sawyer_74": 36,
    "wells_the_war_of_the_worlds_36": 27,
    "wharton_the_age_of_innocence_541": 34,
    "wilde_dorian_gray_174": 20,
    "dickens_a_tale_of_two_cities_98": 45,
    "hawthorne_the_scarlet_letter_33": 25,
    "wells_the_time_machine_35": 17,
    "dostoyevsky_the_brothers_karamazov_28054": 96,
    # Two stanzas of a song are numbered as chapters are.
    "dickens_the_pickwick_papers_580": 59,
    "collins_the_woman_in_white_583": 62,
    # Three sections in the first adventure.
    "doyle_adventures_of_sherlock_holmes_1661": 15,
}
# The whales in chapter 32 of Moby-Dick are sorted into "books" and "chapters" by its narrator: story, not headings.
LEFTOVER = re.compile(r"^\W*(?:chapter|volume|book|part) (?:[IVXLC]+|\d+)\b(?! \(\w|\. \(\w)", re.IGNORECASE)


@pytest.fixture(scope="session")
def novels(real_books: list[Book]) -> list[Book]:
    known = [book for book in real_books if book.id in CHAPTERS]
    assert len(known) == len(CHAPTERS)
    return known


@pytest.mark.slow
def test_real_novels_have_their_chapters(novels: list[Book]) -> None:
    for book in novels:
        assert len(book.chapters) == CHAPTERS[book.id], book.id
        assert len(book.chapters) > 1
        assert book.chapters[0] == 0
        assert list(book.chapters) == sorted(set(book.chapters))
        assert book.chapters[-1] < len(book.paragraphs)


@pytest.mark.slow
def test_real_novels_have_no_apparatus_left(novels: list[Book]) -> None:
    for book in novels:
        left = [
            p for p in book.paragraphs if LEFTOVER.match(p) or re.search(r"Gutenberg|\.jpg|Transcribe[rd]", p)
        ]
        assert left == [], book.id
        assert not [p for p in book.paragraphs if re.fullmatch(r"[IVXLC]+\.?|\d+|[* ]+", p)], book.id
        text = "\n".join(book.paragraphs)
        assert "\x00" not in text
        assert not re.search(r"\w\*|(?<!_)_(?!_)|\[\d+\]|[ \t]{2}", text), book.id


@pytest.mark.slow
def test_real_novels_are_whole(novels: list[Book], shared: Path) -> None:
    rows = re.findall(
        r"^\| (\S+)\.txt\.gz \|.*?\| (\d+) \| \d+ \|$", (shared / "data/books/README.md").read_text(), re.M
    )
    words = {name: int(count) for name, count in rows}
    for book in novels:
        share = sum(len(p.split()) for p in book.paragraphs) / words[book.id]
        # Moby-Dick: four thousand words of extracts before chapter 1 and two thousand of footnotes.
        assert 0.955 < share <= 1, (book.id, share)
