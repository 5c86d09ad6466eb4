"""Plays and verse are distinguished from novels in any layout and script."""

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from long_context_tasks.corpora.books import Book, read_books

CASTS = [
    ("KÖNIG", "GRÄFIN", "ERSTER WÄCHTER"),
    ("ÉLOÏSE", "LE DÛ", "M. D'AUBRÉE"),
    ("НИКИТА", "ПЕРВЫЙ ГОСТЬ", "ЁЛКИН"),
    ("ŁUCJA", "ŻONA", "2. GÓRAL"),
    ("KARI", "HALLA", "BJÖRN"),
    ("MRS. ROE", "1ST LORD", "DR. VANCE"),
]
SAID = (
    "I crossed on day {n}, and nobody at the ferry asked me who I was.",
    "Then you were lucky! On day {n} they turned my brother away, and he had to walk round by the mill in the rain.",
    "Lucky, yes.",
)


def _filled(text: str) -> str:
    return textwrap.fill(text, 72)


LAYOUTS: dict[str, Callable[[str, str], str]] = {
    "in the line": lambda name, text: _filled(f"{name}. {text}"),
    "colon": lambda name, text: _filled(f"{name.title()}: {text}"),
    "dash": lambda name, text: _filled(f"{name}.—{text}"),
    "italics": lambda name, text: _filled(f"_{name.title()}._ {text}"),
    "middle dots, direction": lambda name, text: _filled(f"·{name.title()}· (softly) {text}"),
    "bold": lambda name, text: _filled(f"={name}= {text}"),
    "direction": lambda name, text: _filled(f"{name} (_softly_). {text}"),
    "own line": lambda name, text: f"{name}\n{_filled(text)}",
    "own line, small": lambda name, text: f"{name.title()}\n{_filled(text)}",
    "own line, italics, direction": lambda name, text: f"_{name.title()}_ [rises].\n{_filled(text)}",
    "own block": lambda name, text: f"{name}\n\n{_filled(text)}",
    "own block in italics": lambda name, text: f"_{name.title()}_\n\n{_filled(text)}",
    "column": lambda name, text: f"{name}\t{text}",
    "capitals": lambda name, text: _filled(f"{name} {text}"),
    "brackets": lambda name, text: _filled(f"({name.title()}.) {text}"),
    "hyphen": lambda name, text: _filled(f"{name} - {text}"),
}


def _read(tmp_path: Path, text: str) -> Book:
    path = tmp_path / "work.txt"
    path.write_text(text, encoding="utf-8")
    [book] = read_books(path)
    return book


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cast", CASTS, ids=lambda cast: cast[0])
def test_a_play_is_one_in_any_script_and_layout(tmp_path: Path, cast: Sequence[str], layout: str) -> None:
    speeches = [LAYOUTS[layout](cast[n % 3], SAID[n % 3].format(n=n)) for n in range(60)]
    speeches[7:7] = ["(_The ferryman enters and lights a lamp. Nobody looks at him._)"] * 2
    assert _read(tmp_path, "ACT I\n\n" + "\n\n".join(speeches)).form == "play"


SPEECHES = [f"{CASTS[4][n % 3]}. {SAID[n % 3].format(n=n)}" for n in range(60)]
MORE = ["And the mill stood, and the rain went on, and none of the boats came back that day. " * 2] * 3
DIRECTIONS = [
    "(The ferryman walks to the lamp, trims it, and looks for a long while at the dark river. Rain.)"
] * 4
VOCABULARY = [f"färja {n}, ferry; the ferry of day {n}" for n in range(150)]


@pytest.mark.parametrize(
    "texts",
    [
        [text for n, speech in enumerate(SPEECHES) for text in (speech, *(() if n % 3 else MORE))],
        [text for speech in SPEECHES for text in (speech, *DIRECTIONS)],
        [*SPEECHES, *VOCABULARY],
    ],
    ids=["speeches of several paragraphs", "long directions", "a vocabulary for schools"],
)
def test_a_play_with_much_text_below_its_speeches_is_one(tmp_path: Path, texts: Sequence[str]) -> None:
    assert _read(tmp_path, "ACT I\n\n" + "\n\n".join(map(_filled, texts))).form == "play"


@pytest.mark.parametrize(
    ("cast", "scene"),
    [
        ("PERSONNAGES.", "SCÈNE"),
        ("DRAMATIS PERSONÆ", "SCENE"),
        ("Действующие лица", "ЯВЛЕНИЕ"),
        ("", "CHAPTER"),
    ],
)
def test_acts_and_a_list_of_persons_are_a_play(tmp_path: Path, cast: str, scene: str) -> None:
    dice = Random(7)
    scenes = [f"{scene} {place}\n\n" + "\n\n".join(_prose(9, dice)) for place in range(1, 6)]
    form = _read(tmp_path, "\n\n\n".join([cast, "ALDO, a poet.\nJANE, a queen.", *scenes])).form
    assert form == ("play" if cast else "novel")


def test_headings_below_a_play_do_not_hide_that_it_is_one(tmp_path: Path) -> None:
    dice = Random(7)
    scenes = [
        f"{number} TOONEEL\n\n\n" + "\n\n".join(_prose(9, dice)) for number in ("EERSTE", "TWEEDE", "DERDE")
    ]
    others = [
        f"{kind}\n\n\n" + "\n\n".join(_prose(9, dice)) for kind in ("PROLOOG", "EPILOOG", "SLOT", "BESLUIT")
    ]
    text = "\n\n\n".join(["PERSONEN", "DE MAN\nDE VROUW", *scenes, *others])
    assert _read(tmp_path, text).form == "play"


def test_paragraphs_in_json_lines_have_a_form_too(tmp_path: Path) -> None:
    speeches = [f"{CASTS[0][n % 3]}. {SAID[n % 3].format(n=n)}" for n in range(60)]
    dice = Random(7)
    rows = {
        "play": speeches,
        "novel": _prose(60, dice),
        "verse": [_poem(dice, capitals=True) for _ in range(40)],
    }
    path = tmp_path / "works.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": form, "paragraphs": texts}) for form, texts in rows.items()),
        encoding="utf-8",
    )
    assert {book.id: book.form for book in read_books(path)} == {form: form for form in rows}


def test_a_play_without_blank_lines_between_speeches(tmp_path: Path) -> None:
    speeches = [f"{'KARI' if n % 2 else 'HALLA':>40}\n{_filled(SAID[n % 3].format(n=n))}" for n in range(60)]
    assert _read(tmp_path, "ACT I\n\n" + "\n".join(speeches)).form == "play"


WORDS = tuple(
    re.findall(
        r"\w+",
        "the bell above the river wakes again and all the boats go out along the tide while children on the wall count gulls and "
        "bread is carried warm through narrow streets until the rain comes over from the hills",
    )
)


def _lines(dice: Random, shortest: int, longest: int) -> list[str]:
    line: list[str] = []
    lines = []
    for word in WORDS:
        line.append(word)
        if len(" ".join(line)) > dice.randint(shortest, longest):
            lines.append(" ".join(line) + dice.choice((",", ";", "", ".")))
            line = []
    return [*lines, " ".join(line or ["and rests"])]


def _poem(dice: Random, capitals: bool) -> str:
    lines = _lines(dice, 24, 34)
    return "\n".join(line.capitalize() if capitals or not n else line for n, line in enumerate(lines))


@pytest.mark.parametrize("capitals", [True, False])
@pytest.mark.parametrize("numbered", [True, False])
def test_verse_is_verse(tmp_path: Path, capitals: bool, numbered: bool) -> None:
    dice = Random(1)
    stanzas = [_poem(dice, capitals) for _ in range(60)]
    for n in range(0, 60, 6) if numbered else ():
        stanzas[n] = f"{n // 6 + 1}\n\n{stanzas[n]}"
    assert _read(tmp_path, "\n\n".join(stanzas)).form == "verse"


def _note(n: int, dice: Random) -> str:
    return _filled(f"{n}. _the bell._ " + " ".join(dice.sample(WORDS, len(WORDS))).capitalize() + ".")


def test_verse_with_more_notes_than_verse_is_verse(tmp_path: Path) -> None:
    dice = Random(2)
    parts = [_poem(dice, capitals=True) if n % 3 == 0 else _note(n, dice) for n in range(90)]
    assert _read(tmp_path, "\n\n".join(parts)).form == "verse"


def test_verse_with_introductions_in_prose_is_verse(tmp_path: Path) -> None:
    dice = Random(3)
    parts = [_poem(dice, capitals=True) if n % 2 else _prose(1, dice)[0] for n in range(90)]
    assert _read(tmp_path, "\n\n".join(map(_filled_prose, parts))).form == "verse"


def _filled_prose(part: str) -> str:
    return part if "\n" in part else _filled(part)


def _prose(paragraphs: int, dice: Random) -> list[str]:
    """Paragraphs as novels have them: long ones, dialogue, and many that are a word or two."""
    found = []
    for n in range(paragraphs):
        sentences = [
            " ".join(dice.sample(WORDS, dice.randint(4, 12))).capitalize() + "."
            for _ in range(dice.randint(1, 6))
        ]
        long = " ".join(sentences)
        said = dice.choice(
            (
                "“Yes,” said Kari.",
                "Yes. He went.",
                "—¿Y tú, Kari? ¡Anda!",
                "—Нет, — сказал Кари.",
                "„So?“ fragte sie.",
                "Kari.",
            )
        )
        found.append(said if n % 3 == 2 else long)
    return found


def _ragged(text: str) -> str:
    dice, lines, line = Random(text), [], ""
    for word in text.split():
        if len(line) > dice.randint(50, 68):
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


SET: dict[str, Callable[[Sequence[str]], str]] = {
    "blank lines": lambda texts: "\n\n".join(map(_filled, texts)),
    "narrow": lambda texts: "\n\n".join(textwrap.fill(text, 44) for text in texts),
    "broken by hand": lambda texts: "\n\n".join(map(_ragged, texts)),
    "a line each": "\n".join,
    "a line each, with tabs": lambda texts: "\n".join(f"\t{text}" for text in texts),
    "a line each, blank lines": "\n\n".join,
    "tabs": lambda texts: "\n".join(f"\t{_filled(text)}" for text in texts),
    "indented": lambda texts: "\n".join(textwrap.fill(text, 72, initial_indent="   ") for text in texts),
}


@pytest.mark.parametrize("layout", SET)
def test_prose_is_a_novel_with_all_its_paragraphs_however_it_is_set(tmp_path: Path, layout: str) -> None:
    texts = _prose(240, Random(4))
    book = _read(tmp_path, SET[layout](texts))
    assert book.form == "novel"
    assert list(book.paragraphs) == texts


def test_prose_with_poems_telegrams_and_a_scene_is_a_novel(tmp_path: Path) -> None:
    dice = Random(5)
    texts = [_filled(text) for text in _prose(300, dice)]
    for place in range(0, 300, 30):
        texts[place] = _poem(dice, capitals=True)
    texts[100:130] = [f"{name}: {SAID[2]}" for name in ("Kari", "Halla") * 15]
    texts += ["Bell at six. No wind. Rain."] * 40
    assert _read(tmp_path, "\n\n".join(texts)).form == "novel"


@pytest.mark.parametrize("letters", ["我們今天在河邊等船", "कखगघचछजझ ", "ابتثجحخد "])
@pytest.mark.parametrize("stops", [True, False])
def test_prose_in_a_script_without_capitals_is_a_novel(tmp_path: Path, letters: str, stops: bool) -> None:
    dice = Random(8)
    texts = ["".join(dice.choices(letters, k=dice.randint(80, 300))).strip() + "。" for _ in range(90)]
    texts = [text[: None if stops else -1] for text in texts] + [
        letters[:4]
    ] * 5  # a short line is not a speaker
    lines = ["\n".join(textwrap.wrap(text, 36)) for text in texts]
    path = tmp_path / "book.jsonl"
    path.write_text(json.dumps({"id": 1, "paragraphs": lines}), encoding="utf-8")
    [book] = read_books(path)
    assert book.form == "novel"


def test_prose_without_paragraphs_or_capitals_is_a_novel(tmp_path: Path) -> None:
    words = " ".join(text.lower().rstrip(".") for text in _prose(200, Random(6)))
    assert _read(tmp_path, _filled(words)).form == "novel"


def test_words_in_italics_on_lines_of_their_own_are_no_speakers(tmp_path: Path) -> None:
    walked = "and so he walked on through the rain along the dark road to the inn where the"
    told = [f"Nobody at the ferry asked on day {n} who he was, {walked}" for n in range(60)]
    below = (
        "had been waiting there since the morning, with a lantern and a coat for each of them. "
        + 3 * walked
        + "."
    )
    book = _read(tmp_path, "\n".join(f"{above} \nGato\n{below}" for above in told))
    assert (book.form, book.paragraphs[0]) == ("novel", f"{told[0]} Gato {below}")
    assert len(book.paragraphs) == 60
