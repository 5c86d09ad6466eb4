"""Thinking is taken out of a response in every form that models write, and nothing else is."""

import pytest
from hang_guard import hang_guard
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema.thinking import Visible, without_thinking

PLAIN = st.text(st.characters(exclude_characters="<&[◁"), max_size=30)  # no mark begins
FORMS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<Think>\n": "\n</Think>",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>commentary to=user<|message|>": "<|channel|>final<|message|>",
    "analysis": "assistantfinal",
    "<|channel>thought\n": "<channel|>",
    "<unused94>thought\n": "<unused95>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|im_start|>think\n": "<|im_start|>answer\n",
    "Here is my thought process: ": "\n\nHere is my response:",
}


@given(thought=PLAIN, answer=PLAIN)
def test_only_the_answer_is_left(thought: str, answer: str) -> None:
    assert without_thinking(answer) == Visible(answer, False)
    # The chat template holds the opening tag.
    assert without_thinking(f"{thought}</think>{answer}") == Visible(answer, False)
    assert without_thinking(f"<think>{thought}</think>{thought}</think>{answer}") == Visible(answer, False)
    assert without_thinking(f"A1{answer}<think>{thought}") == Visible(f"A1{answer}", True)


@pytest.mark.parametrize("opens", FORMS)
def test_every_form_is_taken_out(opens: str) -> None:
    closes = FORMS[opens]
    assert without_thinking(f"{opens}Is it A2?{closes}A3") == Visible("A3", False)
    assert without_thinking(f"{opens}Is it A2 or") == Visible("", True)
    if not opens.startswith("Here"):  # "Here is my response:" also begins an answer without thinking
        assert without_thinking(f"Is it A2?{closes}A3") == Visible("A3", False)


@pytest.mark.parametrize(
    ("response", "text", "unclosed"),
    [
        ("A1", "A1", False),
        ("x</think>A1", "A1", False),
        ("<think>x", "", True),
        ("A1<think>x", "A1", True),
        ("<think>A1 or A2?\n\nAnswer: A2</s>", "Answer: A2</s>", False),
        ("[THINK]A1?\n**Final answer:** [2, 1]\n", "**Final answer:** [2, 1]\n", False),
        ("<think>Answer: A2", "", True),
        (
            "<think>So.\nOkay, final:\n- Core IDs: [12]\n\n- Others: none",
            "Okay, final:\n- Core IDs: [12]\n\n- Others: none",
            False,
        ),
        ("<think>So.\nFinal answer:\n12; 40</s>\n", "Final answer:\n12; 40</s>\n", False),
        ("<think>So.\nFinal list:\n\n12; 40", "Final list:\n\n12; 40", False),
        # A list that nothing announces is an answer if it is a paragraph, and complete.
        ("<think>12 of 40.\n\n12; 40", "12; 40", False),
        ("[THINK]A1?\n\n**A3**</s>\n", "**A3**</s>", False),
        (
            "<think>So.\n\n- Core IDs: [12]\n- Supplementary IDs: none",
            "- Core IDs: [12]\n- Supplementary IDs: none",
            False,
        ),
        ("<think>12 of 40.\n12; 40", "", True),
        ("<think>12 of 40.\n\n12; 40;", "", True),
        ("<think>12 of 40.\n\n[12], [40", "", True),
        ("<think>12 of 40.\n\n2.", "", True),
        ("<think>Answer:\n12; 40\nOr is 40 a year", "", True),
        ("<think>[12]", "", True),
        ("<think>So.\n\nPerhaps 12; 40", "", True),
        ("<think>\nAnswer: A2\nNo, A1", "", True),
        ("<think>\nThe answer", "", True),
        ("<think>x</think>A1<think>y</think>A2", "A2", False),
        ("<think>x</think>A1<think>y", "A1", True),
        ("A1<think>x</think>\n", "A1", False),
        ("<think>x <reasoning>y</reasoning> z</think>A1", "A1", False),
        ("analysisOne.assistantanalysisTwo.assistantcommentaryThree.assistantfinalA1", "A1", False),
        ("analysiswe need to", "", True),
        ("finalA1", "A1", False),
        ("</think>", "", False),
        # Plain words.
        ("I think> so", "I think> so", False),
        ("analysis of A3: good", "analysis of A3: good", False),
        ("finally A3", "finally A3", False),
        ("Here is my response: A3", "Here is my response: A3", False),
        ("He thought [thinking of home] a lot", "He thought [thinking of home] a lot", False),
    ],
)
def test_marks_in_odd_places(response: str, text: str, unclosed: bool) -> None:
    assert without_thinking(response) == Visible(text, unclosed)


@pytest.mark.parametrize(
    "unit", ["<", "<think>", "</think>", "<|channel|>analysis", "analysis", "\n", "[", "Here is my "]
)
def test_a_model_that_repeats_itself_is_read_to_the_end(unit: str) -> None:
    with hang_guard():
        without_thinking(unit * (1_000_000 // len(unit)))
