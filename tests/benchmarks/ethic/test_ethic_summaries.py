"""Judged summaries: what is asked, weighed ratings, sections left out, samples, a judge that fails, both on a real server."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_server import Answer, judge_server

from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.scoring import SUMMARY_METRICS, SUMMARY_POINTS, official
from long_context_tasks.benchmarks.ethic.scoring.summaries import (
    judge_message,
    judge_requests,
    judgement,
    rubric,
    score_turn,
    section_scores,
    stated_rating,
    stored_verdicts,
)
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Verdict
from long_context_tasks.schema import Case, InputError, Turn

MARKERS = ["<Section 1>", "<Section 2>", "<Section 3>"]
SECTIONS = "\n\n".join(f"{marker}\nText of {marker[9]}." for marker in MARKERS)
USER = f"### Context:\n{SECTIONS}\n\nNow, respond to the instruction"
CASE = Case("7", "t", {"user": "u"}, (Turn(MARKERS),), "books_7", labels={"domain": "books"})
DOCUMENTS = {"u": USER}
TWO = "<Section 3>\nThree.\n<Section 1>\nOne."


def verdict(score: float | None, top: Any = None, reason: str | None = None) -> Verdict:
    reason = reason or (None if score is not None else "unparsable")
    return Verdict(score, reason, None, (), None, "key", top_logprobs=top)


def weighed(**chances: float) -> Verdict:
    """A verdict by probabilities such as ``_4=0.5``."""
    top = tuple((name[1:], math.log(chance)) for name, chance in chances.items())
    return verdict(official.normalized(top), top)


def points(scores: Any) -> list[float | None]:
    return [scores[name].value for name in SUMMARY_METRICS]


def test_requests_to_the_judge() -> None:
    requests = judge_requests(CASE, [TWO], documents=DOCUMENTS)
    assert [request.id for request in requests] == [
        f"books_7_{marker}_{criterion}"
        for criterion in ("con", "faith", "rel")
        for marker in (MARKERS[0], MARKERS[2])
    ]
    # The official scorer reads its prompts in text mode, so that no line end reaches the judge as a carriage return.
    assert not any("\r" in message.content for request in requests for message in request.messages)
    [message] = requests[0].messages
    assert message.role == "system"
    assert message.content == template("geval_con").replace("{{Document}}", "Text of 1.").replace(
        "{{Summary}}", "One."
    )
    assert requests[5].meta == {"case": "7", "turn": 0, "section": "<Section 3>", "criterion": "rel"}
    [user, *_] = judge_requests(CASE, [TWO], "longeval_user", documents=DOCUMENTS)
    assert user.messages[0].role == "user" and "Text of 1." in user.messages[0].content
    assert "{{" not in "".join(one.messages[0].content for one in [*requests, user])
    assert judge_requests(CASE, [None], documents=DOCUMENTS) == []
    with pytest.raises(InputError, match="rubric 'gpt': ETHIC has geval, longeval"):
        judge_requests(CASE, [TWO], "gpt", documents=DOCUMENTS)
    with pytest.raises(InputError, match="<Section 1> is not in its context"):
        judge_requests(CASE, [TWO], documents={"u": "something else"})


@pytest.mark.parametrize("family", ["geval", "longeval"])
def test_templates_are_on_the_scale_of_the_paper(family: str) -> None:
    texts = [judge_message(family, criterion, "DOC", "SUM").content for criterion in official.CRITERIA]
    assert len(set(texts)) == 3
    for text in texts:
        assert text.count("DOC") == text.count("SUM") == 1
        assert "1-5" in text and "1-7" not in text


def test_sections_left_out_have_the_lowest_score_and_leave_the_official_mean() -> None:
    verdicts = [weighed(_4=0.5, _5=0.25, x=0.25), weighed(_2=0.5)] * 3
    scores = score_turn(CASE, 0, TWO, verdicts)
    strong, weak = (4 * 0.5 + 5 * 0.25) / 0.75, 2.0
    assert scores["summary_score"].value == pytest.approx((strong + 1 + weak) / 3)
    assert scores["consistency"].value == scores["relevance"].value == pytest.approx((strong + 1 + weak) / 3)
    assert scores["official_summary_score"].value == pytest.approx((3.25 + 1.0) / 2)
    assert scores["sections_covered"].value == pytest.approx(2 / 3)
    assert scores["judged_share"].value == 1


def test_the_score_of_every_section_is_kept_with_its_position() -> None:
    sections = section_scores(
        CASE, TWO, [verdict(5.0), verdict(2.0), verdict(4.0), verdict(2.0), verdict(3.0), verdict(2.0)]
    )
    assert [(s.marker, s.index, s.written, s.mean) for s in sections] == [
        ("<Section 1>", 0, True, 4.0),
        ("<Section 2>", 1, False, 1.0),
        ("<Section 3>", 2, True, 2.0),
    ]
    assert [section.position for section in sections] == [1 / 6, 0.5, 5 / 6]
    assert [sections[0].score(name) for name in official.CRITERIA] == [5, 4, 3]
    with pytest.raises(InputError, match="5 verdicts on 6 judgements"):
        section_scores(CASE, TWO, [verdict(5.0)] * 5)
    with pytest.raises(InputError, match="6 verdicts on 0 judgements"):
        section_scores(CASE, "nothing", [verdict(5.0)] * 6)


def test_a_blank_summary_is_judged_officially_and_has_the_lowest_score() -> None:
    blank = "<Section 1>\n\n<Section 2>"
    assert len(judge_requests(CASE, [blank], documents=DOCUMENTS)) == 6
    scores = score_turn(CASE, 0, blank, [verdict(5.0)] * 6)
    assert scores["summary_score"].value == 1 and scores["official_summary_score"].value == 5
    assert scores["sections_covered"].value == 0


@pytest.mark.parametrize(
    ("response", "reason"),
    [("", "empty"), (None, "empty"), ("A summary.", "unparsed"), ("I'm sorry, I can't.", "refused"), ("<think>", "answer_cut"),
     ("<Segment 1> of law", "unparsed"), ("<Section 4> unknown", "unparsed")],
)  # fmt: skip
def test_a_response_without_sections_has_the_lowest_score_with_a_reason(
    response: str | None, reason: str
) -> None:
    assert judge_requests(CASE, [response or ""], documents=DOCUMENTS) == []
    scores = score_turn(CASE, 0, response)
    assert {(scores[name].value, scores[name].reason) for name in SUMMARY_POINTS} == {(1.0, reason)}
    assert scores["judged_share"].value is None


def test_failures_of_ours_have_no_score() -> None:
    assert {s.reason for s in score_turn(CASE, 0, "x", status="does_not_fit").values()} == {"does_not_fit"}
    waiting = score_turn(CASE, 0, TWO)
    assert {waiting[name].reason for name in SUMMARY_POINTS} == {"not_judged"}
    failed = score_turn(CASE, 0, TWO, [verdict(3.0)] * 5 + [verdict(None, reason="endpoint_failed")])
    assert {(failed[name].value, failed[name].reason) for name in SUMMARY_POINTS} == {(None, "judge_failed")}
    # A reply without a rating leaves the mean, and the share tells of it.
    partly = score_turn(CASE, 0, TWO, [verdict(3.0)] * 5 + [verdict(None)])
    assert partly["relevance"].value == 2 and partly["judged_share"].value == pytest.approx(5 / 6)
    assert partly["official_summary_score"].value == 3
    none = score_turn(CASE, 0, TWO, [verdict(None)] * 6)
    assert none["official_summary_score"].reason == "judge_unparsable" and none["judged_share"].value == 0


def test_samples_replace_probabilities() -> None:
    one = judgement([verdict(4.0), verdict(5.0), verdict(None), verdict(3.0)])
    assert (one.score, one.official) == (4.0, 3.0)
    lost = judgement([verdict(None, reason="endpoint_failed"), verdict(2.0)])
    assert (lost.score, lost.official, lost.failed) == (2.0, 2.0, False)
    scores = score_turn(CASE, 0, TWO, [verdict(4.0), verdict(2.0)] * 6)
    assert scores["official_summary_score"].value == 3


def test_no_probability_on_any_rating_is_officially_worth_nothing() -> None:
    lost = verdict(None, (("The", -0.1), ("6", -2.0)))
    assert judgement([lost]).official == 0 and judgement([lost]).score is None


TOKENS = st.sampled_from([*"0123456789", " 4", "+3", "٤", "The", ""])


@given(st.lists(st.tuples(TOKENS, st.none() | st.floats(-30, 0)), max_size=10))
def test_weighed_ratings_stay_in_the_scale(top: list[tuple[str, float | None]]) -> None:
    value, normalized = official.weighted(top), official.normalized(top)
    assert value >= 0
    assert normalized is None or 1 <= normalized <= 5
    assert (normalized is None) == (value == 0)


@given(st.text())
def test_any_reply_has_a_rating_in_the_scale_or_none(reply: str) -> None:
    value = stated_rating(reply)
    assert value is None or 1 <= value <= 5


def chat(text: str, top: dict[str, float]) -> Answer:
    rows = [{"token": token, "logprob": value} for token, value in top.items()]
    content = [{"token": text, "logprob": -0.1, "top_logprobs": rows}, {"token": ".", "top_logprobs": []}]
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
    return Answer(raw=json.dumps({"choices": [{**choice, "logprobs": {"content": content}}]}).encode())


def test_a_judge_with_logprobs_from_end_to_end(tmp_path: Path) -> None:
    requests = judge_requests(CASE, [TWO], documents=DOCUMENTS)
    with judge_server(lambda *_: chat("4", {"4": math.log(0.6), "2": math.log(0.2), "x": -3.0})) as server:
        config = JudgeConfig(model="m", base_url=server.url, logprobs=10, max_tokens=5, seeds=(None,))
        first = judge_all(requests, config, rubric(), Store(tmp_path / "s"), progress=False)
        assert server.bodies[0]["logprobs"] is True and server.bodies[0]["top_logprobs"] == 10
        n = len(server.bodies)
        again = judge_all(requests, config, rubric(), Store(tmp_path / "s"), progress=False)
        assert n == 6 and len(server.bodies) == n
    for verdicts in (first, again):
        scores = score_turn(CASE, 0, TWO, [one for row in verdicts for one in row])
        assert scores["summary_score"].value == pytest.approx((2 * 3.5 + 1) / 3)
        assert scores["official_summary_score"].value == pytest.approx(2.8)
    assert first[0][0].row()["top_logprobs"][0] == ["4", math.log(0.6)]


def test_stored_verdicts_keep_tokens_of_unknown_probability() -> None:
    """An endpoint may return a token without a probability."""
    first = verdict(4.0, (("4", -0.1), ("5", None)))
    [again] = stored_verdicts([json.loads(json.dumps(first.row()))])
    assert again.top_logprobs == first.top_logprobs
