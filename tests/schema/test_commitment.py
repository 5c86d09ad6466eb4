"""What a response takes back does not count, and words that only look like it stay."""

import pytest

from long_context_tasks.schema.commitment import takes_back, without_retractions
from long_context_tasks.schema.wrappers import unwrapped


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("~~A1~~ A3", " A3"),
        ("<strike>A1</strike> <del>A2</del>A3", " A3"),
        ("A3\n\n### Instruction:\nSort them.\n\n### Answer:\nA1", "A3\n"),
        ("A3\nHuman: And now?", "A3"),
        ("A3assistant\n\nA5", "A3"),
        ("[1], [2]user\nAgain", "[1], [2]"),
        ("12; 45\n\nID: 7\nTitle: Another\nAbstract: Sixty took part.", "12; 45\n"),
        # Nothing precedes it, or it is a word of the answer.
        ("### Instruction:\nList them.\n### Answer:\nA3", "### Instruction:\nList them.\n### Answer:\nA3"),
        ("Anne, the assistant\nKitty", "Anne, the assistant\nKitty"),
        ("ID: 7\nTitle: T\nLabel: Core\n\nID: 8\nTitle: U\nLabel: Core", "ID: 7\nTitle: T\nLabel: Core\n\nID: 8\nTitle: U\nLabel: Core"),
        ("a ~ b ~~ c", "a ~ b ~~ c"),
    ],
)  # fmt: skip
def test_what_is_taken_back_or_made_up_is_left_out(text: str, left: str) -> None:
    assert without_retractions(text) == left
    assert unwrapped(text) == left


@pytest.mark.parametrize(
    ("between", "corrected"),
    [
        ("Wait, that is wrong.", True),
        ("Correction:", True),
        ("On second thought,", True),
        ("or", False),
        ("Answer:", False),
    ],
)
def test_words_between_two_answers_take_the_first_back(between: str, corrected: bool) -> None:
    assert takes_back(between) == corrected
