"""Numbers that stay in a book stop the build, in forms that no rule about headings has: paragraphs given as such are not cleaned."""

import pytest
from case_folders import build
from written_book import paragraphs, write_books

from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
from long_context_tasks.benchmarks.ada_leval.build.marks import find_marks
from long_context_tasks.benchmarks.ada_leval.builders import TSortSettings
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import CaseSet, InputError

ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
ORDINALS = {
    "de": "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte",
    "fr": "première deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième",
    "ru": "первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая одиннадцатая двенадцатая",
}
LINES = [
    "CHAPTER {roman}",
    "{roman}. A wet day at the ferry.",
    "{arabic}. A wet day at the ferry.",
    "No. {roman}. The wet day.",
    "{roman}.--The wet day.",
    "_The Story of Day {roman}_",
    "Luku {arabic}",
    "On the way, {arabic}",
    "({arabic})",
    "Der {de} Tag",
    "La {fr} nuit.",
    "Ночь {ru}",
]


@pytest.mark.parametrize("line", LINES)
def test_a_series_of_lines_stops_the_build(tmp_path, line):
    novel = paragraphs(240, 3)
    for i in reversed(range(12)):
        ordinals = {language: words.split()[i] for language, words in ORDINALS.items()}
        novel.insert(20 * i, line.format(roman=ROMAN[i], arabic=i + 1, **ordinals))
    assert_refused(tmp_path, novel)


@pytest.mark.parametrize(
    "page",
    [
        "{number} {text}",
        "{text} {number}",
        "{first} {number} {rest}",
        "CHAPTER {number}. {text}",
    ],
)
def test_page_numbers_within_paragraphs_stop_the_build(tmp_path, page):
    novel = paragraphs(240, 3)
    for number, place in enumerate(range(2, 240, 10), 5):
        first, _, rest = novel[place].partition(" ")
        novel[place] = page.format(number=number, text=novel[place], first=first, rest=rest)
    assert_refused(tmp_path, novel)


MARKS = [
    "1{arabic}S",
    "[fol. {arabic}r]",
    "CHAPTER {misread}",
    "Kapitola {czech}",
    "«{roman}»",
    "{letter}. {text}",
    "{text} CHAPTER {roman}",
    "{first}. {roman}. {rest}",
    "{first}|{page}| {rest}",
    "{first}{page} {rest}",
]


@pytest.mark.parametrize("form", MARKS)
def test_no_two_parts_show_marks_of_unknown_forms(tmp_path, form):
    novel = paragraphs(300, 3)
    czech = [
        "první",
        "druhá",
        "třetí",
        "čtvrtá",
        "pátá",
        "šestá",
        "sedmá",
        "osmá",
        "devátá",
        "desátá",
        "jedenáctá",
        "dvanáctá",
    ]
    for i in range(12):
        place = 25 * i
        first, _, rest = novel[place].partition(" ")
        spelled = {"roman": ROMAN[i], "misread": ROMAN[i].replace("II", "H") + "n.", "czech": czech[i]}
        pages = {"arabic": i + 1, "page": 9 * i + 12, "letter": "ABCDEFGHIJKL"[i]}
        told = form.format(**spelled, **pages, text=novel[place], first=first, rest=rest)
        novel[place : place + 1] = [told] if "{text}" in form or "{rest}" in form else [told, novel[place]]
    out = tmp_path / "ada_leval_tsort"
    build("ada_leval_tsort", write_books(tmp_path, {"b": novel}), TSortSettings((2000,), stride=1), out)
    cases = CaseSet.read(out, "ada_leval_tsort_2k")
    marked = {text for text in novel if text not in paragraphs(300, 3)}
    for case in cases.cases:
        text, inputs = cases.documents[case.document], case.inputs
        parts = [text[a:b].split("\n\n") for a, b in (inputs["before"], *inputs["segments"], inputs["after"])]
        assert sum(not marked.isdisjoint(part) for part in parts) < 2


@pytest.mark.parametrize("page", ["Seite {}, ", "S. {},4 "])
def test_no_two_parts_show_the_pages_of_notes(tmp_path, page):
    novel = paragraphs(300, 3)
    for place in range(100, 160, 6):
        novel[place] = f"{page.format(2 * place)}the {novel[place]}"
    out = tmp_path / "ada_leval_tsort"
    build("ada_leval_tsort", write_books(tmp_path, {"b": novel}), TSortSettings((2000,), stride=1), out)
    cases = CaseSet.read(out, "ada_leval_tsort_2k")
    for case in cases.cases:
        text, inputs = cases.documents[case.document], case.inputs
        parts = [text[a:b] for a, b in (inputs["before"], *inputs["segments"], inputs["after"])]
        assert sum(any(novel[place] in part for place in range(100, 160, 6)) for part in parts) < 2


@pytest.mark.parametrize(
    "line",
    [
        "{} Mill",  # a title
        "_{} Mill_",
        "{} came to page 7 of it.",
        "{}, dnia trzynastego",  # a date
        "Notes to the third chapter, by {}.",
        'A yoke lay there, said {} to the men of the village by the river, and they did not look at it at all, because it was late!"3',
        "* * * Notes to chapter 2--A yoke is laid upon oxen, says {}, and upon men who carry two pails of water from the river to a house.",
        "Sid. 44, rad 13: {} etc. so the manuscript, and the third edition has other words in this place, which are shown at the margin.",
        "The first snow 10, Thursday {} came, and all the children of the village ran out to see it at the ford before the bells rang.",
    ],
)
def test_passages_with_lines_that_may_be_titles_or_numbers_are_skipped(tmp_path, line):
    novel = paragraphs(300, 3)
    lines = [line.format(f"A{chr(97 + place)}e") for place in range(10)]
    for place, text in reversed([*enumerate(lines)]):
        novel.insert(30 * place + 3, text)
    out = tmp_path / "ada_leval_tsort"
    [report] = build(
        "ada_leval_tsort", write_books(tmp_path, {"b": novel}), TSortSettings((2000,), stride=1), out
    )
    cases = CaseSet.read(out, "ada_leval_tsort_2k")
    spans = [(each.inputs["before"], *each.inputs["segments"], each.inputs["after"]) for each in cases.cases]
    told = [[cases.documents["b"][a:b] for a, b in parts] for parts in spans]
    shown = [sum(any(text in part for text in lines) for part in parts) for parts in told]
    assert shown and max(shown) < 2
    assert any("titles or numbers" in reason for reason in report.dropped)


def test_entries_in_the_order_of_the_alphabet_are_marks():
    novel = paragraphs(60, 3)
    words = [
        "acorn",
        "bonnet",
        "cider",
        "dowel",
        "ember",
        "ferry",
        "gable",
        "hamlet",
        "ingle",
        "joist",
        "kettle",
        "lintel",
    ]
    novel[20:20] = [
        f"{word}, a thing that people in the valley have had for longer than anyone can say" for word in words
    ]
    marks = {leak.paragraph for leak in find_marks(Book("b", "B", tuple(novel), (0,)))}
    assert set(range(20, 32)) <= marks


def assert_refused(folder, novel):
    source = write_books(folder, {"b": novel})
    with pytest.raises(
        InputError, match=r"b: .* cases of ada_leval_tsort_4k show .* paragraph .*remove these lines"
    ):
        build("ada_leval_tsort", source, TSortSettings((4000,), stride=3), folder / "ada_leval_tsort")


@pytest.mark.parametrize(
    "numbers",
    [
        [3, 1, 7, 2, 12, 5, 4, 1, 9, 3, 8, 6],  # in no order
        [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
        [1805, 1812, 1805, 1820, 1806, 1830],
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "{} men came.",
        "It was the year {} when the long road was mended by the people of the ford.",
        "We have room for {}.",
        'Said I: "But the ferry leaves at {}, and nobody waits."',
    ],
)
def test_other_numbers_do_not(numbers, line):
    novel = paragraphs(240, 3)
    for i, number in reversed([*enumerate(numbers)]):
        novel.insert(18 * i + 5, line.format(number))
    assert not [leak for leak in find_leaks(Book("b", "B", tuple(novel), (0,))) if not leak.told]


def test_a_list_in_one_place_is_part_of_the_story(tmp_path):
    novel = paragraphs(240, 3)
    novel[100:100] = [f"{number}. Bread and a candle." for number in range(1, 10)]
    leaks = find_leaks(Book("b", "B", tuple(novel), (0,)))
    assert (
        [leak.paragraph for leak in leaks if leak.told]
        == [leak.paragraph for leak in leaks]
        == [*range(100, 109)]
    )
    settings = TSortSettings((4000,), stride=3)
    build("ada_leval_tsort", write_books(tmp_path, {"b": novel}), settings, tmp_path / "ada_leval_tsort")
    cases = CaseSet.read(tmp_path / "ada_leval_tsort", "ada_leval_tsort_4k")
    listed = [f"{number}. Bread" for number in range(1, 10)]
    for case in cases.cases:
        text = cases.documents[case.document]
        assert sum(any(line in text[a:b] for line in listed) for a, b in case.inputs["segments"]) < 2


def test_a_long_row_of_superscripts_is_read():
    assert find_marks(Book("a", "a", ("¹" * 5000,), (0,))) == []
