"""What is sent, to the byte; and that the parts of a prompt add up to its tokens."""

import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_tokenizers import count

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.schema import Case, Message, Turn

GOLDEN = Path(__file__).parent / "golden" / "prompts.jsonl"

# Pieces that can melt into what stands beside them: newlines and spaces of all kinds, punctuation, contractions, digits, marks.
_CHARACTERS = "\n\r \t\f\v\x1c\x85\xa0\u2028\u200b\u0301.:!?'\"`(){}<>*-_aAzé語0129\U0001f600"
_WORDS = (
    "\r\n",
    "\n\n",
    "  ",
    "'s",
    "'ll",
    "word",
    "A1:",
    "Now",
    " of the story",
    "print(x)\n",
    "```\n",
    "don't go",
)
_PIECE = st.sampled_from([*_CHARACTERS, *_WORDS, "<|endoftext|>"])
_TEXT = st.lists(_PIECE, max_size=40).map("".join)
_PARAGRAPH = _TEXT.map(lambda text: "x" + text + "x").map(lambda text: re.sub(r"\n\s*\n", "\n", text))


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["name"])
def test_golden(row: dict[str, Any]) -> None:
    render = {"bestanswer": prompts.render_bestanswer, "tsort": prompts.render_tsort}[row["task"]]
    assert render(**row["inputs"]) == row["prompt"]


@given(st.none() | _TEXT, st.lists(_TEXT, min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_parts_of_a_bestanswer_prompt_add_up(question: str | None, answers: list[str]) -> None:
    prompt = prompts.render_bestanswer(question, answers)
    parts = prompts.bestanswer_parts(question, answers)
    assert "".join(parts) == prompt
    assert sum(map(count, parts)) == count(prompt)


@given(
    st.lists(_PARAGRAPH, max_size=3),
    st.lists(st.lists(_PARAGRAPH, min_size=1, max_size=3), min_size=1, max_size=6),
    st.lists(_PARAGRAPH, max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_parts_of_a_tsort_prompt_add_up(
    before: list[str], segments: list[list[str]], after: list[str]
) -> None:
    gap = prompts.GAP
    prompt = prompts.render_tsort(
        gap.join(before), [gap.join(segment) for segment in segments], gap.join(after)
    )
    parts = prompts.tsort_parts(before, segments, after)
    assert "".join(parts) == prompt
    assert sum(map(count, parts)) == count(prompt)


@given(_TEXT)
def test_a_text_is_its_lead_and_its_rest(text: str) -> None:
    lead, rest = prompts.split_lead(text)
    assert lead + rest == text and not lead.strip()
    head, tail = prompts.split_tail(text)
    assert head + tail == text


def test_parts_of_the_published_cases_add_up(shared: Path) -> None:
    path = shared / "data" / "ada_leval" / "stackselect_1k.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    failed = []
    with gzip.open(path) as file:
        for place, row in enumerate(json.load(file)):
            parts = prompts.bestanswer_parts(row["question"], row["all_answers"])
            if sum(map(count, parts)) != count("".join(parts)):
                failed.append(place)
    assert not failed


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


@pytest.mark.parametrize(
    ("case", "content"),
    [
        (
            Case("c", "t", {"question": "q", "answers": ["y", "x"]}, (Turn("A1"),), "c"),
            prompts.render_bestanswer("Q?", ["why", "ex"]),
        ),
        (
            Case("c", "t", {"question": None, "answers": ["y", "x"]}, (Turn("A1"),), "c"),
            prompts.render_bestanswer(None, ["why", "ex"]),
        ),
        (Case("c", "t", {"prompt": "q"}, (Turn([1, 2, 3, 4]),), "c"), "Q?"),
        (
            Case(
                "c",
                "t",
                {"before": [0, 5], "segments": [[13, 17], [7, 11]], "after": [19, 25]},
                (Turn([2, 1]),),
                "c",
                document="book",
            ),
            prompts.render_tsort("Zero.", ["Two.", "One."], "Three."),
        ),
    ],
    ids=["bestanswer", "nodoc", "published tsort", "tsort"],
)
def test_a_case_is_one_user_message(case: Case, content: str) -> None:
    documents: Any = {"q": "Q?", "x": "ex", "y": "why", "book": _BOOK}
    assert prompts.messages(case, documents) == [Message("user", content)]


def test_the_right_order_of_a_case_is_the_book() -> None:
    gold = [2, 1]
    inputs = {"before": [0, 5], "segments": [[13, 17], [7, 11]], "after": [19, 25]}
    case = Case("c", "t", inputs, (Turn(gold),), "c", document="book")
    documents: Any = {"book": _BOOK}
    orders = list(itertools.permutations(range(1, 3)))
    assert prompts.arrangements(case, documents)[orders.index(tuple(gold))] == _BOOK


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
