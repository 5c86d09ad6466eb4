"""Numbers that stay in a book stop the build, in forms that no rule about headings has: paragraphs given as such are not cleaned."""

import pytest
from case_folders import build
from written_book import paragraphs, write_books

from long_context_tasks.benchmarks.ada_leval.build.leaks import find_leaks
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
def test_other_numbers_do_not(tmp_path, numbers, line):
    novel = paragraphs(240, 3)
    for i, number in reversed([*enumerate(numbers)]):
        novel.insert(18 * i + 5, line.format(number))
    source = write_books(tmp_path, {"b": novel})
    build("ada_leval_tsort", source, TSortSettings((4000,), stride=3), tmp_path / "ada_leval_tsort")


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
