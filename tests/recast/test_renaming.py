"""Renaming a text: names are found by their capitals, and each becomes one new word in every form."""

import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.recast.renaming import Names, names_of, rename

STORY = """“You are late, Mr. Hunter,” said Lizzy. Her sister, Jane Hunter, laughed. Lizzy's hat lay on the floor, and the Hunters went out.

It was an October day in Meryton when an angry Ulster lord and a Dr. Walters came from England with an English lord. MERYTON had not
changed. Jane asked for Walters' voice and Hunter’s. “Hope is all I have,” he said; and there was hope in his voice. “I'll stay in 1871.”"""
_WORD = re.compile(r"[^\W\d_]+")


def _renamed(text: str, seed: int = 1, carrier: str = "story") -> str:
    [new] = rename([text], names_of([text]), seed, carrier)
    return new


def _pairs(text: str, new: str) -> list[tuple[str, str]]:
    """Each word with what stands in its place; everything between words has to be the same."""
    assert _WORD.split(text) == _WORD.split(new)
    return list(zip(_WORD.findall(text), _WORD.findall(new), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_every_form_of_a_name_follows_one_new_word(seed: int) -> None:
    new = _renamed(STORY, seed)
    of = dict(_pairs(STORY, new))
    names = {"Hunter", "Hunters", "Lizzy", "Jane", "Meryton", "MERYTON", "Ulster", "Walters", "England"}
    assert {word for word, now in of.items() if word != now} == names
    assert of["Hunters"] == f"{of['Hunter']}s" and of["MERYTON"] == of["Meryton"].upper()
    assert not of["Hunter"].endswith("s") and of["Walters"].endswith("s")
    assert f"{of['Walters']}' voice and {of['Hunter']}’s" in new
    assert of["Ulster"][0] in "AEIOU" and of["England"][0] in "AEIOU"


def test_words_that_are_not_names_stay() -> None:
    said = """Don't go, the King of Kent said in May. Sir, I saw Kent and Don Quixote. Will you come, Mr. Speaker? The French and the
Hindus met at the House on Monday, 3 March 1904, in chapter VII, and in Chapter XII of it, at the Committee of 42 members."""
    assert {word for word, now in _pairs(said, _renamed(said)) if word != now} == {"Kent", "Don", "Quixote"}


def test_a_word_often_in_lower_case_is_a_name_after_titles() -> None:
    said = "Mr. Pocket met Mrs. Pocket, and I Rope. He had a rope in his pocket. The tall Stone saw a stone, a stone, a stone."
    assert {word for word, now in _pairs(said, _renamed(said)) if word != now} == {"Pocket"}
    said = "He knew Mr. Rivers, Ms. T J Louw and Mr. J. B. O'Neill of the Rivers. A river is a river."
    assert {word for word, now in _pairs(said, _renamed(said)) if word != now} == {"Rivers", "Louw", "Neill"}


def test_words_that_stay_elsewhere_are_names_after_titles_and_first_names() -> None:
    said = """In May Ms. Elizabeth May, Mr. Green and Mrs. Anne-Marie Day met the Green Party on a fine day. They may come, and
they may not. The hon. Member, Hon. Mark Eyking and Mr. Justice Cole came in the green season of May. A mark, a mark and a mark may be left,
Mr. Speaker."""
    assert {word for word, now in _pairs(said, _renamed(said)) if word != now} == {
        *("Elizabeth", "May", "Green", "Anne", "Marie", "Day", "Mark", "Eyking", "Cole"),
    }
    new = _renamed(said)
    assert new.startswith("In May Ms. ") and " season of May." in new and "the Green Party" in new
    assert "The hon. Member" in new and "Mr. Justice" in new and "Mr. Speaker" in new


def test_initials_stay_right() -> None:
    said = "“Come at once,” wrote Miss Rachel Verinder, and signed it R.V. So the old Quincy, Ivy Zane and Ada Xu came."
    for seed in range(5):
        pairs = [(word, now) for word, now in _pairs(said, _renamed(said, seed)) if word != now]
        assert {word for word, _ in pairs} >= {"Rachel", "Verinder", "Quincy", "Ada"}
        assert all(word[0] == now[0] for word, now in pairs if word[0] not in "XZ")


def test_a_name_in_ss_is_not_a_plural() -> None:
    said = "So he met Jes, and Jess, and the Jesses of Bas and Bass."
    of = dict(_pairs(said, _renamed(said)))
    assert of["Jess"] != f"{of['Jes']}s" and not any(now.endswith("sss") for now in of.values())


def test_acronyms_stay_acronyms_with_their_article() -> None:
    said = "She asked an NGO and a UN body of the ZANU, and NGOs said that an NGO may not."
    for seed in range(5):
        of = dict(_pairs(said, _renamed(said, seed)))
        assert of["NGOs"] == f"{of['NGO']}s" and len(of["NGO"]) == 3 and len(of["ZANU"]) == 4
        assert of["NGO"].isupper() and of["NGO"][0] in "AEFHILMNORSX" and of["UN"][0] not in "AEFHILMNORSX"


def test_names_come_from_the_seed_and_the_carrier() -> None:
    assert _renamed(STORY, 5) == _renamed(STORY, 5)
    assert len({_renamed(STORY, 5), _renamed(STORY, 6), _renamed(STORY, 5, "other")}) == 3
    names, parts = names_of([STORY]), STORY.split("\n\n")
    assert "\n\n".join(rename(parts, names, 1, "story")) == _renamed(STORY)
    assert rename(parts[1:], names, 1, "story") == rename(parts, names, 1, "story")[1:]


@given(st.lists(st.text("AEIOSTaeiost", min_size=2, max_size=5), max_size=200, unique_by=str.casefold))
def test_no_two_names_become_one_and_none_is_a_word_of_the_text(words: list[str]) -> None:
    forms = frozenset(map(str.casefold, words))
    acronyms = frozenset(islice(sorted(forms), 40))
    names = Names(names=forms, acronyms=acronyms, people=frozenset(), words=forms | {"oakfield"})
    new = rename([word.capitalize() for word in sorted(forms)], names, 3, "c")
    assert len({word.casefold() for word in new}) == len(forms)
    assert not {word.casefold() for word in new} & names.words


MAIN = {
    "collins_the_moonstone_155": "Rachel Verinder Franklin Blake Godfrey Ablewhite Rosanna Spearman Betteredge Cuff Bruff Jennings Candy",
    "dickens_great_expectations_1400": "Pip Joe Estella Havisham Jaggers Wemmick Herbert Pocket Magwitch Biddy Pumblechook Orlick Wopsle",
    "twain_tom_sawyer_74": "Tom Sawyer Huck Finn Becky Thatcher Polly Sid Joe Harper Potter Muff Petersburg Douglas Injun Missouri",
}


@pytest.mark.slow
def test_real_novels(real_books: list[Book]) -> None:
    """Only words with a capital change, one to one; the main names are gone."""
    checked = 0
    for book in real_books:
        if book.id not in MAIN:
            continue
        checked += 1
        new = rename(book.paragraphs, names_of(book.paragraphs), 7, book.id)
        pairs = {pair for texts in zip(book.paragraphs, new, strict=True) for pair in _pairs(*texts)}
        changed = {(old.casefold(), now.casefold()) for old, now in pairs if old != now}
        assert all(old[0].isupper() for old, now in pairs if old != now)
        assert len({old for old, _ in changed}) == len({now for _, now in changed}) == len(changed) > 80
        words = {word for _, word in pairs}
        assert not words & set(MAIN[book.id].split())
        assert {"Mr", "Mrs", "Sunday", "God", "English", "The", "Old"} <= words
    assert checked == len(MAIN)


@pytest.mark.slow
def test_real_debates(shared: Path) -> None:
    """Who speaks has another name, and what the House is made of has the same."""
    speaker = re.compile(r"(?:Mr|Mrs|Ms|Hon)\.? [^:(]*?([A-Z][\w’'-]+)(?: \([^)]*\))?:")
    for debate in islice(read_debates(shared / "data" / "debates" / "debates_turns.jsonl.gz"), 6):
        new = rename(debate.speeches, names_of(debate.speeches), 7, debate.id)
        both = zip(map(speaker.match, debate.speeches), map(speaker.match, new), strict=True)
        found = {(old[1], now[1]) for old, now in both if old and now}
        left = {old for old, now in found if old == now}
        assert len(found) > 10 and len(left) <= 0.03 * len(found), left
        kept = {"Speaker", "Canadian", "Minister", "House"} & set(_WORD.findall(" ".join(debate.speeches)))
        assert kept and kept <= set(_WORD.findall(" ".join(new)))
