"""Rating answers: a field per judge and condition, nothing paid for twice, a reply without a score is none."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_server import Answer, JudgeServer, judge_server

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.store import Store
from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.controls import with_other_references
from long_context_tasks.orca.data import item_of_row
from long_context_tasks.orca.study.rating import (
    CONDITIONS,
    CONTROLS,
    RatingColumn,
    chosen_conditions,
    cluster_of,
    exact_match,
    rate_answers,
    rated_rows,
    rouge_l,
)
from long_context_tasks.schema import InputError


def items(n: int = 3, **more: Any) -> list[OrcaItem]:
    return [
        item_of_row(
            {"id": f"a{k}", "question": f"Q{k}?", "reference": f"R{k}", "candidate": f"item-{k}", **more}
        )
        for k in range(n)
    ]


def by_rule(body: dict[str, Any], _: int) -> Answer:
    """More to see, a higher score; with another seed one less."""
    text = body["messages"][-1]["content"]
    shown = 1 + ("**Question:**" in text) + ("**Supplementary Information:** why" in text) + ("said" in text)
    return Answer(f"Explanation: 5 of 5.\n\nScore: {max(1, shown - (body['seed'] == 2))}")


def asked(server: JudgeServer) -> list[dict[str, Any]]:
    """Requests to rate, without the trial call before."""
    return [body for body in server.bodies if "andidate" in body["messages"][0]["content"]]


def test_seeds_and_replies_without_a_score(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        if "item-1" in body["messages"][0]["content"]:
            return Answer("Score: 7")
        if "item-2" in body["messages"][0]["content"] and body["seed"] != 1:  # of no attempt
            return Answer("no idea")
        return by_rule(body, number)

    with judge_server(behave) as server:
        config = JudgeConfig(model="m", name="tiny", base_url=server.url, seeds=(1, 2), asks=2)
        columns, summary = rate_answers(
            items(), config, ["without_context"], "paper", Store(tmp_path / "s.jsonl")
        )
    [column] = columns
    assert column.scores == (1.5, None, 2)
    assert column.by_seed == ((2, 1), (None, None), (2, None))
    assert summary.reasons == {"unparsable": 3}
    assert [row["tiny:without_context"] for row in rated_rows([("a", "q")] * 3, [column])] == [1.5, None, 2]
    assert rated_rows([("a", "q")] * 3, [column])[2]["by_seed"] == {"tiny:without_context": [2, None]}


def test_names_clusters_and_what_clashes() -> None:
    first, second = items(2)
    assert cluster_of(replace(first, question_id="m/1")) == "m/1"
    assert cluster_of(first) == cluster_of(replace(first, question=" q0? ")) != cluster_of(second)
    assert "Q0" not in cluster_of(first)
    column = RatingColumn("tiny", (1,), (1, 5))
    with pytest.raises(InputError, match="two columns are called tiny"):
        rated_rows([("a", "q")], [column, column])
    with pytest.raises(InputError, match="two columns are called cluster"):
        rated_rows([("a", "q")], [replace(column, name="cluster")])


# ROUGE-L and exact match as raters.


WORDS = st.lists(st.sampled_from(["a", "be", "cat", "dogs", "7"]), min_size=1, max_size=8)


@given(WORDS, WORDS, WORDS)
@settings(deadline=None)  # the first call loads rouge-score
def test_rouge_l_is_the_best_over_references(
    first: list[str], second: list[str], candidate: list[str]
) -> None:
    pytest.importorskip("rouge_score", reason="rouge-score (extra agreement) is not installed")
    one, other, said = " ".join(first), " ".join(second), " ".join(candidate)
    assert rouge_l(f"{one} / {other}", said) == max(rouge_l(one, said) or 0, rouge_l(other, said) or 0)
    assert rouge_l(one, one) == 1


def test_rouge_l_of_a_text_that_it_cannot_read_is_missing() -> None:
    pytest.importorskip("rouge_score", reason="rouge-score (extra agreement) is not installed")
    assert rouge_l("会議", "会議") is None
    assert rouge_l("会議 / meeting", "a meeting") == pytest.approx(2 / 3)
    assert rouge_l("meeting", "") == 0


def test_exact_match() -> None:
    assert exact_match(" The  Cat's; hat. ", "cats hat") == 1
    assert exact_match("the cat / A dog", "Dog!") == 1
    assert exact_match("cat", "it is the cat") == 0
    assert exact_match("theory", "ory") == 0
    assert exact_match("a/b", "b") == 0 and exact_match(" / ", "/") == 1


def test_controls_show_the_reference_of_another_question_or_none(tmp_path: Path) -> None:
    """`all` does not ask for them, and no context gives the reference away."""
    assert chosen_conditions(["all", "no_reference"]) == [*CONDITIONS, "no_reference"]
    answers = items(rationale="why")
    with judge_server(by_rule) as server:
        config = JudgeConfig(model="m", name="tiny", base_url=server.url, seeds=(1,), concurrency=1)
        store = Store(tmp_path / "s.jsonl")
        columns, _ = rate_answers(answers, config, CONTROLS, "paper", store)
        texts = [body["messages"][-1]["content"] for body in asked(server)]
    assert [one.name for one in columns] == ["tiny:mismatched_reference", "tiny:no_reference"]
    shown = [re.findall(r"\*\*Expected Answer:\*\* (.*)\n", text) for text in texts]
    assert sorted(map(str, shown)) == sorted(["['R1']", "['R2']", "['R0']", *["['(not given)']"] * 3])
    assert not [text for text in texts if "why" in text]


def test_another_reference_is_that_of_the_next_question_with_another_one() -> None:
    rows = [("Q0?", "yes"), ("Q0?", "yes"), ("Q1?", "yes"), ("Q2?", "no")]
    answers = [OrcaItem(str(n), question, reference, "x") for n, (question, reference) in enumerate(rows)]
    assert [item.reference for item in with_other_references(answers)] == ["no", "no", "no", "yes"]
    with pytest.raises(InputError, match="all answers have the same reference"):
        with_other_references(answers[:3])
