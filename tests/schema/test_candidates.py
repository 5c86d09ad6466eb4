"""The standing that words give to an answer, and the choice among several."""

import pytest

from long_context_tasks.schema.candidates import Candidate, Found, Standing, choose, weigh
from long_context_tasks.schema.wrappers import unwrapped


def candidates(text: str) -> list[Candidate]:
    """Every X, Y and Z is a candidate."""
    places = (place for place, letter in enumerate(text) if letter in "XYZ")
    return weigh(text, [Found(place, place + 1, text[place], Standing.MENTIONED) for place in places])


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("It is surely X.", "MENTIONED"),
        ("X, because it fits.", "FIRST"),
        ("I read it.\nX\nIt fits.", "ALONE"),
        ("I would pick X.", "CHOSEN"),
        ("Of all, X is the most helpful one.", "CHOSEN"),
        ("The correct order is X.", "FINAL"),
        ("**Final answer**\n\nX fits.", "FINAL"),
        ("Antwort: X", "FINAL"),
        ("答案是X", "FINAL"),
        ("Notes on the answer: X", "ASIDE"),
        ("For example, X.", "ASIDE"),
        ("X? No.", "ASIDE"),
        ("rather than X", "DENIED"),
        ("Then X fails.", "DENIED"),
    ],
)
def test_words_around_an_answer_give_it_a_standing(text: str, standing: str) -> None:
    assert candidates(text)[0].standing.name == standing


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("X is short. Y is long. Answer: Y", "Y"),
        ("Answer: X\n\nWait, that is not right.\n\nAnswer: Y", "Y"),
        ("Answer: X\n\nAnswer: Y", None),
        ("Answer: X or possibly Y", None),
        ("Answer: X\n\nReason: Y fails.", "X"),
        ("X and Y are wrong. Z", "Z"),
        ("X\n\nY\n\nI would pick Y.", "Y"),
        ("Strict reading: X\nBroad reading: Y", None),
        ("not X", None),
        ("Not X but Y", "Y"),
        ("X\n\nI would still not choose Y", "X"),
        ("Answer: X (Not: Y, Z)", "X"),
        ("That settles it for X; Y would only be worth a look", "X"),
        ("X\n\nOr, if the talk comes first, answer: Y", None),
        ("", None),
    ],
)
def test_the_answer_with_the_highest_standing_is_chosen(text: str, chosen: str | None) -> None:
    found = choose(text, candidates(text))
    assert (found.answer if found else None) == chosen


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("~~A1~~ A3", "A3"),
        ("<strike>A1</strike> <del>A2</del>A3", "A3"),
        ("A3\n\n### Instruction:\nSort them.\n\n### Answer:\nA1", "A3"),
        ("Here it is.\nQuestion 1: A4", "Here it is.\nQuestion 1: A4"),
        ("A3\n\n**Follow-up Question 12:** Which is worst?\n\nAnswer: A1", "A3"),
        ("A3\nHuman: And now?", "A3"),
        ("A3assistant\n\nA5", "A3"),
        ("12; 45\n\nID: 7\nTitle: Another\nAbstract: Sixty took part.", "12; 45"),
        # Nothing precedes it, or it is a word of the answer.
        ("### Instruction:\nList them.\n### Answer:\nA3", "### Instruction:\nList them.\n### Answer:\nA3"),
        ("Anne, the assistant\nKitty", "Anne, the assistant\nKitty"),
        ("a ~ b ~~ c", "a ~ b ~~ c"),
    ],
)
def test_struck_out_words_and_made_up_turns_are_left_out(text: str, left: str) -> None:
    assert unwrapped(text).strip() == left
