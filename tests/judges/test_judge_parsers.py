"""Scores in judges' replies: the official rules against their outputs, the repaired ones against ugly replies."""

import json
from pathlib import Path

import pytest
import yaml
from hang_guard import hang_guard
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.judges.parsers import last_boxed, last_result, official_boxed, official_result

BOX = last_boxed(1, 10)
RESULT = last_result(1, 5)

REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))
NINES = "9" * 5000


@pytest.mark.parametrize(
    ("reply", "official", "score"), [*REPLIES["boxed"], (rf"\boxed{{{NINES}}}", NINES, None)]
)
def test_ugly_boxed_replies(reply: str, official: str, score: float | None) -> None:
    assert official_boxed(reply) == official
    assert BOX(reply) == score


@pytest.mark.parametrize(
    ("reply", "official", "score"), [*REPLIES["result"], (f"[RESULT] {NINES}", "-2", None)]
)
def test_ugly_result_replies(reply: str, official: str, score: float | None) -> None:
    assert official_result(reply) == official
    assert RESULT(reply) == score


def test_text_may_follow_the_score_where_a_benchmark_says_so() -> None:
    parse = last_boxed(1, 10, closing=False)
    assert parse("\\boxed{7}\nThe response is mostly right.") == 7
    assert parse("Score: \\boxed{10}\n### Feedback:\nwrong") is None
    assert last_result(1, 5, closing=False)("[RESULT] 4 because it is right") == 4


def test_decimals_where_the_scale_has_them() -> None:
    parse = last_boxed(0, 10, decimals=True)
    assert [parse(rf"\boxed{{{text}}}") for text in ("8.5", "8,5", "0", "10.5")] == [8.5, 8.5, 0, None]


@pytest.mark.vectors
@pytest.mark.parametrize(
    ("file", "official"),
    [("judge_gpt_scores.jsonl", official_boxed), ("judge_prometheus_scores.jsonl", official_result)],
)
def test_official_scores(shared: Path, file: str, official: object) -> None:
    rows = [json.loads(line) for line in (shared / "vectors" / "elitr_bench" / file).open(encoding="utf-8")]
    assert len(rows) > 200
    for row in rows:
        assert row["error"] is None
        assert official(row["judge_output"]) == row["score"], row  # type: ignore[operator]


@pytest.mark.vectors
def test_repaired_scores_agree_with_plain_official_ones(shared: Path) -> None:
    """Where a reply ends with its only score and that is in the scale, both rules read the same."""
    agreed = 0
    for file, official, parse, factor in (
        ("judge_gpt_scores.jsonl", official_boxed, BOX, 1),
        ("judge_prometheus_scores.jsonl", official_result, RESULT, 2),
    ):
        for line in (shared / "vectors" / "elitr_bench" / file).open(encoding="utf-8"):
            reply = json.loads(line)["judge_output"]
            single = reply.count("boxed") < 2 and reply.count("[RESULT]") < 2
            if single and parse(reply) is not None and int(official(reply)) > 0:
                assert parse(reply) * factor == int(official(reply)), reply
                agreed += 1
    assert agreed > 100


@given(st.text())
def test_any_text_is_read_without_an_error(reply: str) -> None:
    for parse, low, high in ((BOX, 1, 10), (RESULT, 1, 5)):
        score = parse(reply)
        assert score is None or low <= score <= high
    assert isinstance(official_boxed(reply), str)
    assert isinstance(official_result(reply), str)


MARKS = [r"\boxed{", "}", "10", "3", "[RESULT]", "### Feedback:", "Score:", '"', "`", "/10", "<think>", "-"]
PIECES = st.lists(st.sampled_from([*MARKS, " ", "\n", "> "]), max_size=30).map("".join)


@given(PIECES | st.text())
def test_what_the_judge_quotes_does_not_change_its_own_score(quoted: str) -> None:
    head = f"The response reads:\n{quoted}\nI disagree.\n"
    # A reply that begins with thinking which never ends is the one thing that has no verdict; this one begins otherwise.
    assert BOX(head + r"Score: \boxed{4}") == 4
    assert RESULT(head + "[RESULT] 4") == 4


@given(
    PIECES | st.text(),
    st.sampled_from([" That is no answer", "\nIt misses the point", " is wrong", "\n### Feedback:\nNo"]),
)
def test_a_quotation_alone_is_no_score(quoted: str, rest: str) -> None:
    reply = f"The response reads: {quoted}{rest}"
    assert BOX(reply) is None
    assert RESULT(reply) is None


@given(st.integers(1, 10), st.sampled_from(["", ".", "\n", "$", "**", " / 10", " out of 10"]))
def test_every_score_comes_back(score: int, end: str) -> None:
    assert BOX(rf"Feedback. \boxed{{{score}}}{end}") == score


def test_long_replies_are_read_to_the_end() -> None:
    for piece in ("\\boxed{", "\\boxed{ ", "[RESULT] (", " ", "$", "boxed ", "\\", "<|a", "*"):
        text = piece * (1_000_000 // len(piece))
        with hang_guard():
            BOX(text), RESULT(text), last_boxed(1, 10, closing=False)("\\boxed{3}" + text)
