"""Stored verdicts read again: by the same rule the same, by another rule what it makes of the stored replies."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_cells import stored

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Reply, Rubric
from long_context_tasks.results.evaluations import needs_no_judge
from long_context_tasks.results.rescore import read_again
from long_context_tasks.schema import Message

RUBRIC = Rubric("ten", 1, 10, last_boxed(1, 10))
REPLY = st.sampled_from(["", "no score", r"\boxed{7}", r"\boxed{99}", r"It says \boxed{3}. Score: \boxed{4}"])


@given(replies=st.lists(REPLY, min_size=1, max_size=2))
def test_a_row_read_again_by_the_same_rule_is_the_same_row(
    tmp_path_factory: pytest.TempPathFactory, replies: list[str]
) -> None:
    """What a judge's run makes of replies, row by row; two replies are all there in a row."""
    config = JudgeConfig(model="m", kind="local", asks=2, temperature=1.0)
    left = iter([*replies, *[replies[-1]] * 3])
    store = Store(tmp_path_factory.mktemp("store") / "s.jsonl")
    [[verdict]] = judge_all(
        [JudgeRequest("x", (Message("user", "?"),))],
        config,
        RUBRIC,
        store,
        lambda prompts, _: [Reply(next(left), 3, 4) for _ in prompts],
        progress=False,
    )
    assert read_again(verdict.row(), RUBRIC, weighed=False).row() == verdict.row()


def test_other_rules_on_stored_replies() -> None:
    row: Mapping[str, Any] = {
        "score": 9.0,
        "reason": None,
        "feedback": r"\boxed{9}",
        "first_reply": "Score: 3",
        "attempts": 3,
        "seed": 1,
        "key": "k",
        "error": None,
        "prompt_tokens": 3,
        "completion_tokens": 4,
    }
    assert read_again(row, RUBRIC, weighed=False).score == 9.0
    first = Rubric("first", 1, 10, lambda reply: float(reply[-1]) if reply[-1:].isdigit() else None)
    earlier = read_again(row, first, weighed=False)
    assert (earlier.score, earlier.feedback, earlier.attempts) == (3.0, "Score: 3", 1)
    none = Rubric("none", 1, 10, lambda reply: None)
    assert read_again(row, none, weighed=False).reason == "unparsable"
    gone = {
        "feedback": None,
        "first_reply": None,
        "attempts": 0,
        "reason": "endpoint_failed",
        "error": "gone",
    }
    failed = read_again({**row, **gone}, none, weighed=False)
    assert (failed.score, failed.reason, failed.replies) == (None, "endpoint_failed", ())
    for damage in ({"feedback": 3}, {"attempts": "x"}, {"top_logprobs": 5}):
        with pytest.raises((TypeError, ValueError)):
            read_again({**row, **damage}, RUBRIC, weighed=False)


@pytest.mark.parametrize(
    ("task", "headline", "numbers", "final"),
    [
        ("ethic_recall_books", "strict_f1", {"n_empty": 4}, True),
        ("elitr_bench_qa_synthetic", "answer_found", {"n_empty": 4}, True),
        ("elitr_bench_qa_dev", "judge_score", {"n_empty": 4}, False),
        ("elitr_bench_qa_dev", "judge_score", {"n_empty": 1, "n_not_judged": 3}, False),
        ("ethic_recall_books", "strict_f1", {"n_scored": 0, "n_does_not_fit": 4}, True),
        ("elitr_bench_qa_dev", "judge_score", {"n_scored": 0, "n_does_not_fit": 4}, True),
    ],
)
def test_empty_answers_wait_for_a_judge_only_where_it_makes_the_headline(
    task: str, headline: str, numbers: dict[str, float], final: bool
) -> None:
    points = ("judge_score",) if "judge" in headline else ()
    counts = {"n": 4, "n_scored": 4, **numbers}
    run = stored(task=task, numbers=counts, headline=headline, points=points)
    assert needs_no_judge(run) is final
