"""OpenCompass: conversations and judged tasks through the classes that the configs name, where all goes well and where not."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from meetings import QA, TALK, name_judge
from needs import needs
from opencompass_steps import ApiModel, evaluate, infer
from stub_server import judge_by_hash, stub_server

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.hosts.window import Window
from long_context_tasks.schema import InputError

pytestmark = [needs("opencompass"), pytest.mark.usefixtures("meetings")]


@pytest.mark.slow
def test_without_a_judge_nothing_has_a_score_and_answers_are_kept(tmp_path: Path) -> None:
    dataset, rows = infer(QA, ApiModel(), tmp_path)
    assert [row["prediction"] for row in rows] == ["Answer 1 <b> word"] * 3
    result = evaluate(dataset, rows)
    assert math.isnan(result["judge_score"]) and math.isnan(result["official_judge_score"])
    assert (result["n"], result["n_not_judged"], result["n_scored"], result["answered"]) == (3, 3, 0, 100)


@pytest.mark.slow
def test_the_history_is_the_models_own_and_all_conversations_advance_together(tmp_path: Path) -> None:
    model = ApiModel()
    _, rows = infer(TALK, model, tmp_path)
    assert [[len(chat) for chat in batch] for batch in model.batches] == [[1, 1], [3]]
    assert model.batches[1][0][1] == {"role": "BOT", "prompt": "Answer 1 <b> word"}
    assert json.loads(rows[0]["prediction"]) == ["Answer 1 <b> word", "Answer 3 <b> word"]


def test_a_conversation_that_outgrows_the_server_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server(judge_by_hash) as judge:
        name_judge(monkeypatch, judge.url)
        dataset, rows = infer(TALK, ApiModel(words=2000, refuse_over=1500), tmp_path)
        result = evaluate(dataset, rows)
    assert rows[0]["lct_status"] == [None, "does_not_fit"] and json.loads(rows[0]["prediction"])[1] is None
    assert (result["n"], result["n_does_not_fit"]) == (3, 1)
    # Two answers were judged, and the connection was tried before inference.
    assert len([r for r in judge.requests if "word word" in r[-1]["content"]]) == 2


def test_a_conversation_too_long_for_the_window_is_not_begun(tmp_path: Path) -> None:
    model = ApiModel()
    dataset, rows = infer(TALK, model, tmp_path, lct_window=20)
    assert model.batches == []
    result = evaluate(dataset, rows)
    assert (result["n"], result["n_does_not_fit"], result["n_scored"]) == (3, 3, 0)


def test_roles_are_marked_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="llama-2"):
        infer(QA, ApiModel(), tmp_path, lct_prompt_style="llama-2")
    text = ApiModel()
    text.is_api = False
    with pytest.raises(InputError, match="roles of a chat template"):
        infer(TALK, text, tmp_path)
    _, rows = infer(QA, text, tmp_path)
    assert len(rows) == 3


def test_another_judge_is_no_other_prediction_but_another_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from long_context_tasks.hosts.opencompass.summary import _other_judge, plain

    _, rows = infer(QA, ApiModel(), tmp_path)
    with stub_server(lambda messages: "Score: \\boxed{4}") as judge:
        name_judge(monkeypatch, judge.url)
        dataset, _ = infer(QA, ApiModel(), tmp_path / "other")
        result = plain(json.loads(json.dumps(evaluate(dataset, rows))))
        assert result["judge_score"] == 4
        assert _other_judge(result, {}) == ""
        monkeypatch.setenv("LCT_JUDGE_SEEDS", "7")
        assert "seeds was [2023], is [7]" in _other_judge(result, {})
        monkeypatch.setenv("LCT_JUDGE_RUBRIC", "prometheus")
        assert "rubric was gpt, is prometheus" in _other_judge(result, {})
    for name in [name for name in os.environ if name.startswith("LCT_JUDGE")]:
        monkeypatch.delenv(name)
    assert "judged by stub, the judge is now no judge" in _other_judge(result, {})
    unjudged = plain(evaluate(dataset, rows))
    assert _other_judge(unjudged, {}) == ""


def test_a_judge_that_is_not_there_stops_the_run_before_the_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server(judge_by_hash) as gone:
        pass
    name_judge(monkeypatch, gone.url)
    model = ApiModel()
    with pytest.raises(InputError, match="judge"):
        infer(QA, model, tmp_path)
    assert model.batches == []


def test_a_broken_run_keeps_its_finished_conversations(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="connection refused"):
        infer(TALK, ApiModel(fail_at=2), tmp_path)
    model = ApiModel()
    _, rows = infer(TALK, model, tmp_path)
    _, fresh = infer(TALK, ApiModel(), tmp_path / "fresh")
    assert rows == fresh


def test_a_conversation_twice_in_a_batch(tmp_path: Path) -> None:
    from long_context_tasks.hosts.opencompass.send import Sender
    from long_context_tasks.hosts.opencompass.task import ask_cases

    task = load_task(TALK, resolve_options({}))
    sender = Sender(ApiModel(), Window(), 8, {})
    asked = ask_cases(task, ["meeting_en_dev_001", "meeting_en_dev_002", "meeting_en_dev_001"], sender)
    assert [[len(one.messages) for one in talk] for _, talk in asked] == [[1, 3], [1], [1, 3]]


def test_half_a_surrogate_pair_costs_no_answers(tmp_path: Path) -> None:
    class Half(ApiModel):
        def reply(self, prompt: Any, chat: list[Any]) -> str:
            return super().reply(prompt, chat) + " \ud83d"

    for task in (QA, TALK):
        dataset, rows = infer(task, Half(), tmp_path / task)
        assert all("word ?" in row["prediction"] for row in rows)
        assert evaluate(dataset, rows)["n"] == 3
