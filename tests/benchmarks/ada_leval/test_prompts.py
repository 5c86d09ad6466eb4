"""What is sent, to the byte."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import read_rows
from other_tokenizers import count

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.schema import Case, Message, Turn

GOLDEN = Path(__file__).parent / "golden" / "prompts.jsonl"

_TEXT = st.text()


def _rows() -> list[dict[str, Any]]:
    return read_rows(GOLDEN)


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["name"])
def test_golden(row: dict[str, Any]) -> None:
    render = {"bestanswer": prompts.render_bestanswer, "tsort": prompts.render_tsort}[row["task"]]
    assert render(**row["inputs"]) == row["prompt"]


@given(_TEXT.filter(bool), st.lists(_TEXT, min_size=1, max_size=5))
def test_the_probe_differs_by_the_question_alone(question: str, answers: list[str]) -> None:
    block = f"The question is given below.\n{question}\n\n"
    whole, start = prompts.render_bestanswer(question, answers), len(prompts.template("bestanswer"))
    assert whole[start:].startswith(block)
    assert prompts.render_bestanswer(None, answers) == whole[:start] + whole[start + len(block) :]


@pytest.mark.parametrize("n", range(1, 12))
def test_the_tsort_instruction_follows_the_number_of_segments(n: int) -> None:
    text = prompts.tsort_instruction(n)
    example = prompts.example_order(n)
    assert sorted(example) == list(range(1, n + 1))
    assert text.count(f"{n} pieces of text") == 2
    assert re.findall(r"Part (\d+): XXX", text) == [str(part) for part in range(1, n + 1)]
    assert text.count(str(example)) == 2 and " -> ".join(f"Part {part}" for part in example) + "." in text
    assert "{" not in text


def test_texts_go_in_as_they_are() -> None:
    ugly = " {question} %s \\n <|endoftext|> A1: {0}\t"
    assert f"A1:\n\n{ugly}\n\n" in prompts.render_bestanswer(ugly, [ugly])
    assert f"Part 1: {ugly}\n\n" in prompts.render_tsort(ugly, [ugly], ugly)


def test_arrangements_are_the_plain_text_in_every_order() -> None:
    texts = prompts.render_arrangements("b", ["1", "2", "3", "4"], "a")
    assert texts == ["\n\n".join(["b", *order, "a"]) for order in itertools.permutations("1234")]
    assert texts[0] == "b\n\n1\n\n2\n\n3\n\n4\n\na" and len(set(texts)) == 24
    assert prompts.render_arrangements("", ["1", "2"], "") == ["1\n\n2", "2\n\n1"]


_BOOK = "Zero.\n\nOne.\n\nTwo.\n\nThree."
_SPANS = {"before": [0, 5], "segments": [[13, 17], [7, 11]], "after": [19, 25]}
_DOCUMENTS: Any = {"q": "Q?", "x": "ex", "y": "why", "book": _BOOK}


def _case(gold: Any, inputs: dict[str, Any]) -> Case:
    return Case("c", "t", inputs, (Turn(gold),), "c", document="book")


@pytest.mark.parametrize(
    ("case", "content"),
    [
        (
            _case("A1", {"question": "q", "answers": ["y", "x"]}),
            prompts.render_bestanswer("Q?", ["why", "ex"]),
        ),
        (
            _case("A1", {"question": None, "answers": ["y", "x"]}),
            prompts.render_bestanswer(None, ["why", "ex"]),
        ),
        (_case([1, 2, 3, 4], {"prompt": "q"}), "Q?"),
        (_case([2, 1], _SPANS), prompts.render_tsort("Zero.", ["Two.", "One."], "Three.")),
    ],
    ids=["bestanswer", "nodoc", "published tsort", "tsort"],
)
def test_a_case_is_one_user_message(case: Case, content: str) -> None:
    assert prompts.messages(case, _DOCUMENTS) == [Message("user", content)]


def test_the_right_order_of_a_case_is_the_book() -> None:
    orders = list(itertools.permutations(range(1, 3)))
    assert prompts.arrangements(_case([2, 1], _SPANS), _DOCUMENTS)[orders.index((2, 1))] == _BOOK


@pytest.mark.parametrize("keep", ["front", "rear"])
@pytest.mark.parametrize("tokens", [300, 333, 400, 1000])
def test_a_cut_prompt_keeps_its_frame_and_one_side(keep: str, tokens: int) -> None:
    answers = [f"Answer number {place} says \U0001f600 something else entirely." for place in range(1, 16)]
    whole = prompts.render_bestanswer("Q?", answers)
    cut = prompts.render_cut("Q?", answers, tokens, keep)
    body = whole.index("A1:\n\n")
    assert cut.startswith(whole[:body]) and cut.endswith("designation of the MOST helpful answer.\n")
    if count(whole) <= tokens:
        assert cut == whole
    else:
        assert tokens - 8 <= count(cut) <= tokens
        kept = cut[body : cut.index("\nNow the answers are over", body)]
        everything = whole[body : whole.index("\nNow the answers are over", body)]
        assert everything.startswith(kept) if keep == "front" else everything.endswith(kept)
