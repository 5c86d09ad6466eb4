"""Captions, publishers' lists and printers' notes are no part of a story; sums of money and songs in it are."""

from pathlib import Path

import pytest

from long_context_tasks.corpora.books import read_books

STORY = [
    f"On day {n} the ferry was late again, and Anna {did} by the wall until the lamps of the far bank were lit and the dog lay down."
    for n, did in zip(
        range(1, 61), ("waited", "sang", "counted boats", "read her letter", "slept") * 12, strict=True
    )
]
LISTS = {
    "english": [
        "BY THE SAME AUTHOR",
        "THE LOW BRIDGE. Crown 8vo, cloth, 6s.",
        "“A charming story of the river, and one that every reader of this author's first book will want to have.”--_Evening News._",
        "THE FORD. Third Edition. 3s. 6d. net.",
        "LONDON: ROE AND DOE, 7 MILL STREET",
    ],
    "american": [
        "BOOKS BY ANNA ROE",
        "The Low Bridge. Illustrated by B. Doe. 12mo. $1.50",
        "The Ford. $1.25 net",
        "A tale of two brothers who keep an inn at the ford and lose it to the river in one night of rain.",
    ],
    "french": [
        "DU MÊME AUTEUR",
        "Le Pont bas, roman (4e édition) 1 vol. in-18 3 fr. 50",
        "Le Gué, nouvelles 3 fr. 50",
    ],
    "german": [
        "Von demselben Verfasser:",
        "Die niedere Brücke. Roman. 3. Auflage. Geh. M. 3.50",
        "Die Furt. Geb. M. 4.--",
    ],
    "spanish": [
        "OBRAS DEL MISMO AUTOR",
        "El puente bajo (novela). 3 pesetas.",
        "El vado (cuentos). 2 pesetas.",
    ],
    "italian": ["DELLO STESSO AUTORE", "Il ponte basso. 2.a edizione L. 3", "Il guado, novelle L. 2"],
    "portuguese": ["DO MESMO AUTOR", "A ponte baixa, romance 500 réis", "O vau 300 réis"],
    "dutch": [
        "VAN DENZELFDEN SCHRIJVER:",
        "De lage brug. 2e druk. Ing. f 2.90, geb. f 3.50",
        "Het veer. f 1.50",
    ],
    "swedish": ["AV SAMMA FÖRFATTARE:", "Den låga bron. 2:a upplagan. Häft. Kr. 3:50", "Vadet. Kr. 2:75"],
    "danish": ["AF SAMME FORFATTER:", "Den lave Bro. 2. Oplag. Kr. 3,50", "Vadestedet. Kr. 2,75"],
    "polish": ["TEGOŻ AUTORA:", "Niski most, powieść. 2 ruble.", "Bród, nowele. 1 rubel."],
    "russian": ["ТОГО ЖЕ АВТОРА:", "Низкий мост, роман. Ц. 1 р. 50 к.", "Брод. Ц. 75 к."],
}
NOTES = [
    "PRINTED BY ROE AND DOE, 7 MILL STREET, LONDON",
    "_Printed in Great Britain by Roe & Doe, Ltd., Bristol_",
    "Bristol: Roe & Doe, Printers",
    "Paris.--Imprimerie A. Roe, rue du Pont, 7.",
    "Imp. A. Roe, Lagny",
    "Achevé d'imprimer le 3 mai 1909 par A. Roe, à Lagny.",
    "Druck von A. Roe in Leipzig.",
    "Roßberg'sche Buchdruckerei, Leipzig",
    "Imprenta de A. Roe, calle del Puente, 7",
    "Acabóse de imprimir este libro en Madrid, en la imprenta de A. Roe, el día 3 de mayo de 1909.",
    "Milano -- Tip. A. Roe, via del Ponte, 7",
    "Finito di stampare il 3 maggio 1909 nello stabilimento A. Roe.",
    "Porto: Typographia de A. Roe, 1909",
    "Gedrukt bij A. Roe te Leiden.",
    "Boekdrukkerij A. Roe, Leiden",
    "Stockholm, A. Roes Boktryckeri, 1909.",
    "Trykt hos A. Roe, København",
    "W drukarni A. Roego w Krakowie.",
    "Типография А. Роэ, Москва, Мостовая, 7.",
]


def _paragraphs(tmp_path: Path, blocks: list[str]) -> list[str]:
    path = tmp_path / "book.txt"
    path.write_text("CHAPTER I\n\n\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
    [book] = read_books(path)
    return list(book.paragraphs)


@pytest.mark.parametrize("language", LISTS)
def test_a_list_of_books_at_the_end_is_no_story(tmp_path: Path, language: str) -> None:
    heading, *titles = LISTS[language]
    assert _paragraphs(tmp_path, [*STORY, f"\n\n{heading}", *titles]) == STORY


def test_a_list_without_a_heading_of_its_own(tmp_path: Path) -> None:
    titles = [f"THE {name}. By A. Roe. Crown 8vo. 6s." for name in ("BRIDGE", "FORD", "MILL")]
    assert _paragraphs(tmp_path, [*STORY, *titles]) == STORY


@pytest.mark.parametrize("note", NOTES)
def test_a_note_of_the_printer_is_no_story(tmp_path: Path, note: str) -> None:
    assert _paragraphs(tmp_path, [*STORY, f"\n\n{note}"]) == STORY


ENDS = [
    [
        "“He paid £500,” said Anna. “It cost me 3s. 6d.”",
        "“Six dollars, or was it $7?”",
        "They laughed, and the ferry came at last.",
    ],
    [
        "She had printed by then a book of songs for him in London.",
        "“Printed in 1909,” he read aloud, and shut it.",
    ],
    [
        "The works of the old mill stood still.",
        "Druckerei? He had never heard the word before, and asked her.",
    ],
    [
        "He wore brown cloth, as the others did.",
        "“It is in its 5th edition,” he said, “and still wrong.”",
        "Her last dress was of cloth, too.",
    ],
    [
        "At noon they stood in 12° north and saw land.",
        "An 8 and a 12 were painted on the bow.",
        "In-laws met them, 18 of them.",
    ],
    ["BY THE LAKE", "There they sat down and did not speak until the sun had gone, and then walked home."],
    ["“A new list of books, by the same author!” she cried, and read it to him.", "Then they slept."],
]


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_story_stays(tmp_path: Path, end: list[str]) -> None:
    assert _paragraphs(tmp_path, [*STORY, *end])[-2:] == end[-2:]


def test_captions_without_brackets_go_and_what_is_called_or_sung_stays(tmp_path: Path) -> None:
    said = 'Anna stood up in the boat. "I will never go back to the mill again!" she cried, and took the oar.'
    blocks = [
        *STORY[:10],
        said,
        *STORY[10:20],
        '"I WILL NEVER GO BACK TO THE MILL AGAIN!" SHE CRIED',
        *STORY[20:30],
        "The lamps of the far bank",
        *STORY[30:40],
        '"Anna Roe!"',
        "Plate IV. The ferry in winter",
        "Facing page 45",
        "Le bac s'en allait toujours. (Voir page 45.)",
        "_Die Fähre war schon fort._ (Seite 45.)",
        *STORY[40:],
    ]
    listing = [
        "ILLUSTRATIONS",
        "    The lamps of the far bank       17\n    Anna Roe                        45",
    ]
    path = tmp_path / "book.txt"
    path.write_text("\n\n\n".join([*listing, "CHAPTER I", "\n\n".join(blocks)]), encoding="utf-8")
    [book] = read_books(path)
    assert book.dropped["captions"] == sum(len(blocks[place].split()) for place in (21, 32, *range(44, 48)))
    assert list(book.paragraphs) == [*STORY[:10], said, *STORY[10:40], '"Anna Roe!"', *STORY[40:]]


def test_a_paragraph_that_a_caption_cuts_is_whole_again(tmp_path: Path) -> None:
    first, second = STORY[5].split(" and Anna ")
    listing = [
        "ILLUSTRATIONS",
        "    The lamps of the far bank       17\n    The dog                        45",
    ]
    blocks = [*STORY[:5], f"{first} and Anna", "The lamps of the far bank", second, *STORY[6:]]
    path = tmp_path / "book.txt"
    path.write_text("\n\n\n".join([*listing, "CHAPTER I", "\n\n".join(blocks)]), encoding="utf-8")
    [book] = read_books(path)
    assert list(book.paragraphs) == STORY


@pytest.mark.parametrize(
    "aside",
    [
        "[Illustration: La barque]",
        "[Ilustración: La barca]",
        "[Illustrazione: La barca]",
        "[Ilustração]",
        "[Abbildung: Die Fähre]",
        "[Illustratie: De boot]",
        "[Ilustracja: Łódź]",
        "[Иллюстрация: Лодка]",
        "[Fußnote 1: Die Fähre steht noch heute dort.]",
        "[Nota 1: La barca está allí todavía.]",
        "[Note 1: Le bac y est encore.]",
        "[Voetnoot 1: De boot ligt er nog.]",
        "[Fotnot 1: Båten ligger där ännu.]",
        "[Przypis 1: Łódź stoi tam do dziś.]",
        "[Сноска 1: Лодка стоит там и теперь.]",
    ],
)
def test_captions_and_notes_in_brackets_in_other_languages(tmp_path: Path, aside: str) -> None:
    assert _paragraphs(tmp_path, [*STORY[:30], aside, *STORY[30:]]) == STORY
