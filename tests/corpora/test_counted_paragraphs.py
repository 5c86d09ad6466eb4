"""Numbers glued to paragraphs, regular titles and other marks that no list of headings knows."""

from textwrap import fill

import pytest
from written_book import paragraphs

from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
from long_context_tasks.corpora.books import Book, clean

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
# First words of paragraphs that look like numbers and are none.
WORDS = [
    "I Pintor tacquero e la notte scese.",
    "V. S. veio tarde e ninguem o viu.",
    "Il Gatto rise e se ne andò.",
]


def chapters(count: int, each: int = 6) -> list[list[str]]:
    written = [paragraphs(2 * each, place) for place in range(count)]
    written = [[f"{a} {b}" for a, b in zip(told[::2], told[1::2], strict=True)] for told in written]
    # The first paragraphs of some chapters are as short as titles.
    return [[f"The miller rose at {place}."] * (place % 3 == 1) + told for place, told in enumerate(written)]


def joined(told: list[list[str]]) -> list[str]:
    return [text for chapter in told for text in chapter]


@pytest.mark.parametrize("apart", ["\n", "\n\n", "\n\n\n"])
@pytest.mark.parametrize(
    "form",
    [
        "{0} {2}", "{1} {2}", "{0}. {2}", "{0}.{2}", "{1}) {2}", "({1}) {2}", "[{0}] {2}", "{0} — {2}", "Chapter {1} {2}",
        "{0}\n{2}", "— {0} —\n{2}", "* {0} *\n{2}", "· {0} ·\n\n{2}", "| {0} |\n\n{2}", "{0}/\n\n{2}",
    ],
)  # fmt: skip
def test_numbers_glued_to_the_first_paragraph(form: str, apart: str) -> None:
    told = chapters(12)
    told[3].insert(4, WORDS[0])
    told[7].insert(2, WORDS[1])
    told[9].insert(5, WORDS[2])
    text = apart.join(
        apart.join([form.format(ROMAN[place], place + 1, chapter[0]), *chapter[1:]])
        for place, chapter in enumerate(told)
    )
    story = clean(text)
    assert list(story.paragraphs) == joined(told)
    assert len(story.chapters) == 12


@pytest.mark.parametrize("form", ["{} {}", "{}\n{}", "{}\n{}\nHe had seen nobody, and the road was long."])
def test_numerals_at_the_end_of_or_within_a_paragraph(form: str) -> None:
    told = chapters(10)
    text, expected = [], []
    for place, chapter in enumerate(told):
        numeral = ROMAN[place + 1]
        text += [*chapter[:-1], form.format(fill(chapter[-1], 70), numeral)]
        expected += [*chapter, *form.format("", "").strip().split("\n")]
    assert list(clean("\n\n".join(text)).paragraphs) == [line for line in expected if line]


@pytest.mark.parametrize("few", [2, 1])
@pytest.mark.parametrize("quoted", ["He said: „{}“", "»{}«", "“{}”"])
def test_numerals_behind_the_end_of_speech(quoted: str, few: int) -> None:
    """The numeral of each chapter, or of every other one, shares the last line of the chapter above."""
    told = [[*chapter[:-1], quoted.format("She was late.")] for chapter in chapters(10)]
    lines = [
        line
        for place, chapter in enumerate(told)
        for line in (*chapter[:-1], *_with_numeral(chapter[-1], ROMAN[place + 1], apart=place % few > 0))
    ]
    assert list(clean("\n\n".join(lines)).paragraphs) == joined(told)


def test_initials_behind_others_belong_to_the_story() -> None:
    told = chapters(10)
    told[2][3] += " It was signed by Roe, F. R. C. P. IV."
    text = joined([[f"{ROMAN[place]}."] * (place != 3) + chapter for place, chapter in enumerate(told)])
    assert list(clean("\n\n".join(text)).paragraphs) == joined(told)


def _with_numeral(text: str, numeral: str, *, apart: bool) -> list[str]:
    return [text, f"{numeral}."] if apart else [f"{text} {numeral}."]


@pytest.mark.parametrize("title", ["The {} of the mill", "The {} of the mill.", "The {}!", "_The {}_"])
def test_short_lines_below_large_gaps_are_titles(title: str) -> None:
    told = [paragraphs(8, place) for place in range(10)]
    names = ["monk", "remise", "wig", "pulse", "gloves", "passport", "captive", "starling", "sword", "rose"]
    tales = ["\n\n".join([title.format(name), *tale]) for name, tale in zip(names, told, strict=True)]
    story = clean("*** START OF THE PROJECT GUTENBERG EBOOK A ROAD ***\n\n\n\n\n" + "\n\n\n\n\n".join(tales))
    assert list(story.paragraphs) == joined(told)


def test_short_paragraphs_below_breaks_are_story() -> None:
    told = [[*paragraphs(6, place), "It rained."][:: -1 if place % 3 == 0 else 1] for place in range(12)]
    assert list(clean("\n\n\n\n\n".join(map("\n\n".join, told))).paragraphs) == joined(told)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize(
    "form", ["{0} {2}", "{0} {2}.", "{0}. {2}.", "{1} {2}.", "{0} -- « {2} »", "{0} - {2}"]
)
def test_numbers_of_titles_that_are_sentences(form: str, first: int) -> None:
    told = [paragraphs(6, place) for place in range(12)]
    titles = [f"Pinocchio ha fame e cerca {'un uovo ' * (place % 4 + 1)}nel mulino" for place in range(12)]
    lines = []
    for place, (title, chapter) in enumerate(zip(titles, told, strict=True)):
        number = form.format(ROMAN[place], place + 1, title) if place >= first else f"{ROMAN[place]}."
        lines += [number, *chapter]
    kept = [text for text in clean("\n".join(lines)).paragraphs if text.rstrip(".") not in titles]
    assert kept == joined(told)


def test_lone_numerals_are_headings_though_some_are_missing() -> None:
    told = [paragraphs(6, place) for place in range(12)]
    numbers = [ROMAN[place] if place not in (3, 4, 5) else "" for place in range(12)]
    text = "\n".join(
        "\n".join([number, *chapter] if number else chapter)
        for number, chapter in zip(numbers, told, strict=True)
    )
    assert list(clean(text).paragraphs) == joined(told)


@pytest.mark.parametrize("apart", ["\n", "\n\n"])
@pytest.mark.parametrize(
    "title", ["THE {}. CALAIS.", "THE {}.", "THE {}", "WHERE IS THE {}?", "THE {}\n\nA TALE OF THE FORD"]
)
def test_titles_in_capitals_that_occur_regularly(title: str, apart: str) -> None:
    told = [paragraphs(8, place) for place in range(10)]
    names = ["MONK", "REMISE", "WIG", "PULSE", "GLOVES", "PASSPORT", "CAPTIVE", "STARLING", "SWORD", "ROSE"]
    text = apart.join(
        apart.join([title.format(name), *chapter]) for name, chapter in zip(names, told, strict=True)
    )
    story = clean(f"*** START OF THE PROJECT GUTENBERG EBOOK A ROAD ***\n\n{text}")
    assert list(story.paragraphs) == joined(told)


def test_names_in_capitals_that_recur_belong_to_the_story() -> None:
    told = [["PIERRE", text] if place % 3 else [text] for place, text in enumerate(paragraphs(60, 1))]
    assert list(clean("\n\n".join(joined(told))).paragraphs) == joined(told)


def test_free_verse_without_stops_is_verse() -> None:
    lines = [
        "les jours perdus",
        "dans les matins qui lèchent le silence de nos mères",
        "d'un lieu",
        "sculpté à même l'hiver",
        "une larme",
    ]
    assert clean("\n\n".join(["\n".join(lines * 3)] * 40)).form == "verse"


def test_the_licence_of_copyrighted_texts_is_no_story() -> None:
    told = paragraphs(30, 2)
    licence = (
        "***START** SMALL PRINT! for COPYRIGHT PROTECTED ETEXTS ***\n\nThis etext is distributed by Some Body through the Project.\n\n"
        "*SMALL PRINT! Ver.12.12.00 FOR COPYRIGHT PROTECTED ETEXTS*END*\n\n\n\n"
    )
    assert list(clean(licence + "\n\n".join(told)).paragraphs) == told


def test_a_word_alone_and_marks_within_sentences_are_story() -> None:
    told = paragraphs(20, 3)
    broken = ["whatever be the true nature of the", "I", "who call and of the road around me, it was late."]
    assert list(clean("\n".join([*told, *broken, *told])).paragraphs) == [*told, " ".join(broken), *told]
    garçon = [
        "He asked the boy for two brandies",
        "(1) , well mixed, and for the paper.",
        "(1) º A fort on the hill ;",
    ]
    notes = [line for place in range(8) for line in (f"A strange word (1) came {place}.", "(1) A drink.")]
    text = "\n".join([*told, *notes, *garçon, *notes, *told])
    kept = " ".join(clean(text).paragraphs)
    assert "well mixed, and for the paper." in kept and "A fort on the hill" in kept and "A drink" not in kept


@pytest.mark.parametrize("form", ["{0} {2}", "{0}. {2}", "{1} {2}", "({1}) {2}", "— {0} — {2}", "{3}. {2}"])
def test_a_series_at_the_beginning_of_paragraphs_is_a_leak(form: str) -> None:
    told = chapters(10)
    words = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"]
    for place, chapter in enumerate(told):
        chapter[-1] = form.format(ROMAN[place], place + 1, chapter[-1], words[place])
    text = [*joined(told), *WORDS * 8]
    leaks = find_leaks(Book("b", "B", tuple(text), (0,)))
    assert [leak.paragraph for leak in leaks if leak.counted] == [
        place for place, line in enumerate(text) if line in {chapter[-1] for chapter in told}
    ]


def test_lists_of_books_below_a_table_of_contents_at_the_end_are_no_story() -> None:
    told = [paragraphs(20, place) for place in range(6)]
    titles = [
        f"{ROMAN[place]}. The {name}."
        for place, name in enumerate(["Mill", "Ford", "Road", "Bridge", "Inn", "Gate"])
    ]
    tales = ["\n\n".join([title, *tale]) for title, tale in zip(titles, told, strict=True)]
    books = "\n\n".join(
        f"Tales of the ford, {text.lower()} A large volume with pictures." for text in paragraphs(60, 9)
    )
    text = "\n\n\n\n".join([*tales, "TABLE\n\n" + "\n".join(titles), books[: len("".join(tales)) // 8]])
    story = clean("*** START OF THE PROJECT GUTENBERG EBOOK A ROAD ***\n\n" + text)
    assert list(story.paragraphs) == joined(told)


def test_lines_that_recur_as_names_of_speakers_are_no_titles() -> None:
    text = [
        "The Ferry",
        *paragraphs(9, 5),
        "PEDRO",
        "He spoke.",
        "PEDRO",
        "He spoke again.",
        "PEDRO",
        "He left.",
    ]
    leaks = find_leaks(Book("b", "B", tuple(text), (0,), headings=("Pedro", "The Ferry")))
    assert [leak.text for leak in leaks] == ["The Ferry"]
