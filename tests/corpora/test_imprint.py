"""Captions, publishers' lists and printers' notes are removed; sums of money and songs in a story are kept."""

from pathlib import Path

import pytest
import yaml

from long_context_tasks.corpora.books import clean, read_books

STORY = [
    f"On day {n} the ferry was late again, and Anna {did} by the wall until the lamps of the far bank were lit and the dog lay down."
    for n, did in zip(
        range(1, 61), ("waited", "sang", "counted boats", "read her letter", "slept") * 12, strict=True
    )
]
ADDED = yaml.safe_load((Path(__file__).parent / "golden" / "imprint.yaml").read_text(encoding="utf-8"))


def _paragraphs(tmp_path: Path, blocks: list[str]) -> list[str]:
    path = tmp_path / "book.txt"
    path.write_text("CHAPTER I\n\n\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
    [book] = read_books(path)
    return list(book.paragraphs)


@pytest.mark.parametrize("language", ADDED["lists"])
def test_a_list_of_books_at_the_end_is_removed(tmp_path: Path, language: str) -> None:
    heading, *titles = ADDED["lists"][language]
    assert _paragraphs(tmp_path, [*STORY, f"\n\n{heading}", *titles]) == STORY


def test_a_list_without_a_heading_of_its_own(tmp_path: Path) -> None:
    titles = [f"THE {name}. By A. Roe. Crown 8vo. 6s." for name in ("BRIDGE", "FORD", "MILL")]
    assert _paragraphs(tmp_path, [*STORY, *titles]) == STORY


@pytest.mark.parametrize("note", ADDED["notes"])
def test_a_note_of_the_printer_is_removed(tmp_path: Path, note: str) -> None:
    assert _paragraphs(tmp_path, [*STORY, f"\n\n{note}"]) == STORY


@pytest.mark.parametrize("note", ADDED["transcribed"])
def test_a_transcribers_note_is_removed_with_its_list(tmp_path: Path, note: str) -> None:
    corrections = [f"Page {n}: {STORY[n].replace('ferry', 'forry')}" for n in range(5)]
    told = STORY * 3
    assert _paragraphs(tmp_path, [*told, f"\n\n{note}", *corrections]) == told


def test_a_transcribers_note_above_a_story_without_headings() -> None:
    front = ["*** START OF THE PROJECT GUTENBERG EBOOK ***", ADDED["transcribed"][-1], "ANNA ROE"]
    assert clean("\n\n\n".join([*front, "\n\n".join(STORY)])).paragraphs == tuple(STORY)


def test_opinions_of_the_press_below_a_table_of_contents_at_the_end(tmp_path: Path) -> None:
    told = STORY * 8
    below = ["\nEINDE.", "\n\nINHOUD.", "I. De boot   7", "\n\n\nDE PERS OVER:", *STORY[:58]]
    assert _paragraphs(tmp_path, [*told, *below]) == told


@pytest.mark.parametrize("heading", ["INDICE DEL PRIMO VOLUME.", "ÍNDICE DO PRIMEIRO VOLUME"])
def test_a_table_of_contents_of_one_volume_is_removed(tmp_path: Path, heading: str) -> None:
    entries = [f"{n}. Nel quale si racconta come Anna aspettasse la barca   » {7 * n}" for n in range(1, 6)]
    assert _paragraphs(tmp_path, [*STORY, f"\n\n{heading}", *entries]) == STORY


@pytest.mark.parametrize("end", ADDED["ends"])
def test_the_end_of_a_story_stays(tmp_path: Path, end: list[str]) -> None:
    assert _paragraphs(tmp_path, [*STORY, *end])[-2:] == end[-2:]


def test_captions_without_brackets_go_and_what_is_called_or_sung_stays(tmp_path: Path) -> None:
    blocks = [
        *STORY[:30],
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
    assert book.dropped["captions"] == sum(len(blocks[place].split()) for place in (30, *range(42, 46)))
    assert list(book.paragraphs) == [*STORY[:40], '"Anna Roe!"', *STORY[40:]]


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


@pytest.mark.parametrize("aside", ADDED["asides"])
def test_captions_and_notes_in_brackets_in_other_languages(tmp_path: Path, aside: str) -> None:
    assert _paragraphs(tmp_path, [*STORY[:30], aside, *STORY[30:]]) == STORY
