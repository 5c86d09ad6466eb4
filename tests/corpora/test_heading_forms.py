"""Headings in twelve languages: twelve of each form between short chapters are recognised, and no word of the story is lost."""

from itertools import product
from textwrap import fill

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_book import paragraphs

from long_context_tasks.corpora.books import clean
from long_context_tasks.corpora.headings import languages, read

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
WORDS = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
    "pt": "um dois três quatro cinco seis sete oito nove dez onze doze",
    "nl": "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "sv": "ett två tre fyra fem sex sju åtta nio tio elva tolv",
    "da": "et to tre fire fem seks syv otte ni ti elleve tolv",
    "pl": "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    "fi": "yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen yksitoista kaksitoista",
}
ORDINALS = {
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    "de": "erstes zweites drittes viertes fünftes sechstes siebentes achtes neuntes zehntes elftes zwölftes",
    "fr": "premier deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième",
    "es": "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo",
    "it": "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo",
    "pt": "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo undécimo duodécimo",
    "nl": "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde",
    "sv": "första andra tredje fjärde femte sjätte sjunde åttonde nionde tionde elfte tolfte",
    "da": "første andet tredje fjerde femte sjette syvende ottende niende tiende ellevte tolvte",
    "pl": "pierwszy drugi trzeci czwarty piąty szósty siódmy ósmy dziewiąty dziesiąty jedenasty dwunasty",
    "ru": "первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая одиннадцатая двенадцатая",
    "fi": "ensimmäinen toinen kolmas neljäs viides kuudes seitsemäs kahdeksas yhdeksäs kymmenes yhdestoista kahdestoista",
}
# Language, keyword, whether the ordinal comes after it or before it.
KEYWORDS = [
    ("en", "chapter", "before"), ("en", "book", "before"), ("en", "part", "before"),
    ("de", "Kapitel", "before"), ("de", "Capitel", "before"), ("de", "Buch", "before"),
    ("fr", "chapitre", "after"), ("fr", "livre", "after"), ("fr", "chapitre", "before"),
    ("es", "capítulo", "after"), ("es", "libro", "after"), ("es", "tomo", "after"),
    ("it", "capitolo", "after"), ("it", "libro", "before"),
    ("pt", "capítulo", "after"), ("pt", "livro", "after"),
    ("nl", "hoofdstuk", "before"), ("nl", "deel", "before"),
    ("sv", "kapitlet", "before"), ("sv", "boken", "before"),
    ("da", "kapitel", "before"), ("da", "bog", "before"),
    ("pl", "rozdział", "after"),
    ("ru", "глава", "after"), ("ru", "часть", "after"), ("ru", "глава", "before"), ("ru", "книга", "after"),
    ("fi", "luku", "before"), ("fi", "osa", "before"),
]  # fmt: skip
SHAPES = [
    "{Keyword} {roman}", "{Keyword} {roman}.", "{KEYWORD} {roman}", "{Keyword} {arabic}.", "{Keyword} {arabic}", "{KEYWORD} {WORD}",
    "{Keyword} {word}", "{roman}. {Keyword}", "{arabic}. {Keyword}", "{Ordinal_keyword}", "{ORDINAL_KEYWORD}", "{ORDINAL_KEYWORD}.",
    "{Keyword} {roman}. {title}", "{Keyword} {roman}.--{title}", "{KEYWORD} {roman} — {title}", "{Keyword} {arabic}: {title}",
    "{Ordinal_keyword}. {title}", "{ORDINAL_KEYWORD}: {title}", "{arabic}. {Keyword}. {title}", "{Keyword} {roman}\n{title}",
    "{Ordinal_keyword}\n{title}", "{KEYWORD} {roman}. {long}", "_{Keyword} {roman}_", "{Keyword} {roman}\n\n{title}",
    "{Ordinal_keyword}\n\n{TITLE}", "    {KEYWORD} {roman}.\n\n    _{title}_",
]  # fmt: skip
BARE = [
    "{roman}", "{roman}.", "{arabic}", "{arabic}.", "- {roman} -", "[{arabic}]", "§ {arabic}", "({roman})", "{roman}.--", "{Word}", "{WORD}.",
    "{roman}. {title}", "{arabic}. {title}", "{roman}.--{title}", "{roman}.—{title}.", "{roman} — {title}", "{roman} {title}", "{arabic}) {title}",
    "{roman}. {title}.", "{arabic}. {title}.", "No. {roman}. {title}.", "Nr. {arabic}", "N.º {arabic}", "{roman}\n\n{title}", "{roman}.\n{title}.",
    "{arabic}\n\n{TITLE}", "{WORD}: {title}", "{roman}\n\n{title}.", "{roman}. {long}",
]  # fmt: skip
UNKNOWN = [
    "Luku {arabic}",
    "{arabic}. fejezet",
    "Kapitola {roman}",
    "La {ordinal} noche",
    "Der {ordinal} Abend",
    "The Story of Day {roman}",
]
TITLES = {
    "en": "A wet day at the ferry", "de": "Wie der alte Müller nach Hause kam", "fr": "Où l'on retrouve le vieux moulin",
    "es": "De lo que sucedió al barquero en el camino", "it": "Nel quale si parla del vecchio mulino", "pt": "Em que o barqueiro volta para casa",
    "nl": "Waarin de oude molenaar thuis komt", "sv": "Hvarför färjkarlen kom så sent", "da": "Om den gamle møller og hans søn",
    "pl": "O starym młynarzu i jego synu", "ru": "О том, как старый мельник вернулся домой",
    "fi": "Kuinka vanha mylläri palasi kotiin",
}  # fmt: skip


def heading(shape: str, language: str, keyword: str, place: str, number: int) -> str:
    ordinal, word = ORDINALS[language].split()[number], WORDS[language].split()[number]
    counted = f"{keyword} {ordinal}" if place == "after" else f"{ordinal} {keyword}"
    title = f"{TITLES[language]} {'und so weiter ' * (number % 3)}".strip()
    return shape.format(
        roman=ROMAN[number], arabic=number + 1, word=word, Word=word.capitalize(), WORD=word.upper(), keyword=keyword,
        Keyword=keyword[:1].upper() + keyword[1:], KEYWORD=keyword.upper(), ordinal=ordinal, Ordinal_keyword=counted[:1].upper() + counted[1:],
        ORDINAL_KEYWORD=counted.upper(), title=title, TITLE=title.upper(), long=f"{title},\n{title.lower()} {title.lower()}",
    )  # fmt: skip


def check(headings: list[str], gap: int, below: int, seed: int) -> None:
    """Set headings between chapters of three paragraphs, and read the book back."""
    chapters = [paragraphs(3, seed + place) for place in range(len(headings))]
    told = ["\n\n".join(fill(text, 70) for text in chapter) for chapter in chapters]
    below_it, above = "\n" * (below + 1), "\n" * (gap + 1)
    parts = (f"{head}{below_it}{text}{above}" for head, text in zip(headings, told, strict=True))
    story = clean(f"*** START OF THE PROJECT GUTENBERG EBOOK A ROAD ***\n\n\n\n{''.join(parts)}")
    assert list(story.paragraphs) == [text for chapter in chapters for text in chapter], headings[:3]
    assert len(story.chapters) == len(headings)
    assert story.form == "novel"


@pytest.mark.parametrize(("language", "keyword", "place"), KEYWORDS)
def test_headings_with_a_keyword(language: str, keyword: str, place: str) -> None:
    for number, shape in enumerate(SHAPES):
        check([heading(shape, language, keyword, place, i) for i in range(12)], 3, 1 + number % 2, number)


@pytest.mark.parametrize("shape", BARE)
def test_headings_without_a_keyword(shape: str) -> None:
    for number, language in enumerate(TITLES):
        check(
            [heading(shape, language, "", "after", i) for i in range(12)],
            2 + number % 2,
            1 + number % 2,
            number,
        )


@pytest.mark.parametrize(
    ("shape", "language"), zip(UNKNOWN, ["en", "en", "en", "es", "de", "en"], strict=True)
)
def test_keywords_that_are_not_listed(shape: str, language: str) -> None:
    check([heading(shape, language, "", "after", i) for i in range(12)], 2, 1, 5)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Chapter Forty-seven", 47), ("Siebenundvierzigstes Kapitel", 47), ("HUSZONHETEDIK FEJEZET", 27), ("Caput decimum quartum", 14), ("Ötödik fejezet", 5), ("Kahdeskymmenes ensimmäinen luku", 21), ("Kapitel einundsechzig", 61), ("Chapitre cinquante et unième", 51),
        ("Chapitre soixante", 60), ("Capítulo trigésimo octavo", 38), ("Capítulo cincuenta y nueve", 59), ("Capítulo veintidós", 22),
        ("Capitolo ventitreesimo", 23), ("Capitolo trentesimo primo", 31), ("Capitolo quarantotto", 48), ("Capítulo vigésimo sétimo", 27),
        ("Capítulo quarenta e dois", 42), ("Drie-en-dertigste hoofdstuk", 33), ("Vijf en veertigste Hoofdstuk", 45), ("Trettiosjunde kapitlet", 37),
        ("Fyrtiofjärde kapitlet", 44), ("Enogtyvende Kapitel", 21), ("Syv og tredivte Kapitel", 37), ("Rozdział trzydziesty drugi", 32),
        ("ROZDZIAŁ PIĘĆDZIESIĄTY", 50), ("Глава сорок шестая", 46), ("Глава пятьдесят девятая", 59), ("ГЛАВА ДВАДЦАТЬ ПЕРВАЯ", 21),
        ("Capítulo décimo tercero", 13), ("Capítulo decimocuarto", 14), ("CHAPTER CXCIX", 199), ("Chapitre XVIIe", 17), ("1er chapitre", 1),
    ],
)  # fmt: skip
def test_numbers_in_words(line: str, value: int) -> None:
    found = read(line)
    assert found is not None and (found.value, found.keyword, found.end) == (value, "chapter", len(line))


def test_words_mean_one_number_in_each_language_and_all_numbers_are_there() -> None:
    for name, language in languages().items():
        assert set(language.numbers.values()) >= set(range(70)), name
        assert {language.numbers[word] for word in language.ordinals} >= set(range(70)), name


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([*product(KEYWORDS, SHAPES), *((("de", "", "after"), shape) for shape in BARE)]),
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(3, 12),
    st.integers(0, 1000),
)
def test_any_form(
    form: tuple[tuple[str, str, str], str], gap: int, below: int, number: int, seed: int
) -> None:
    (language, keyword, place), shape = form
    check([heading(shape, language, keyword, place, i) for i in range(number)], gap, below, seed)


TOLD = [
    "Era de noche y el barquero esperaba a la orilla del río, donde nadie había pasado desde hacía muchos años, porque el camino era largo "
    "y la gente del pueblo iba por el puente viejo {}.",
    "Волны бились о берег, и старый паромщик долго смотрел на дорогу, по которой уже много лет никто не ходил, потому что все давно "
    "привыкли ездить через новый мост за мельницей {}.",
    "It was a dark night and the ferryman waited at the river, where nobody had come for many years, as the road was long and the people "
    "of the village took the old bridge {}.",
]


@pytest.mark.parametrize("text", TOLD)
@pytest.mark.parametrize(
    "form",
    [
        "{0}. {2}",
        "{0}.—{2}",
        "{1}. {2}",
        "CAPÍTULO {0}.—{2}",
        "Глава {0}. {2}",
        "{0}\n{2}",
        "{1}.\n{2}",
        "— {0} —\n{2}",
    ],
)
def test_numbers_in_or_right_above_the_first_paragraph(text: str, form: str) -> None:
    chapters = [
        [text.format(f"{place}q {'abcdefghijk'[line]}w") for line in range(11)] for place in "lmnopqrstu"
    ]
    story = clean(
        "\n\n\n\n".join(
            form.format(ROMAN[i], i + 1, "\n\n".join(fill(line, 70) for line in chapter))
            for i, chapter in enumerate(chapters)
        )
    )
    assert list(story.paragraphs) == [line for chapter in chapters for line in chapter]
    assert len(story.chapters) == len(chapters)


def test_numerals_without_a_stop_fill_gaps_between_those_on_lines_of_their_own() -> None:
    """Most chapters have "IV." on a line of its own, others "III Anna waited" (a scanner lost the line end)."""
    chapters = [paragraphs(6, seed) for seed in range(10)]
    heads = [f"{ROMAN[i]} " if i in (2, 7) else f"{ROMAN[i]}.\n\n" for i in range(10)]
    told = "\n\n".join(head + "\n\n".join(chapter) for head, chapter in zip(heads, chapters, strict=True))
    assert list(clean(told).paragraphs) == [text for chapter in chapters for text in chapter]
