"""OpenCompass: conversations and judged tasks through the classes that the configs name, where all goes well and where not."""

import json
import logging
import math
import os
from pathlib import Path
from typing import Any

import pytest
from invented_meetings import write_archives
from needs import needs
from opencompass_steps import evaluate
from stub_server import judge_by_hash, stub_server

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.window import Window
from long_context_tasks.schema import InputError

pytestmark = needs("opencompass")

QA, TALK = "elitr_bench_qa_dev", "elitr_bench_qa_dev_multiturn"


class ChatModel:
    """Answers a chat with the number of its messages; refuses long ones, or breaks down, in the manner of the host's API classes."""

    is_api = True
    mode = "none"
    max_seq_len = 5

    def __init__(self, words: int = 1, refuse_over: int = 10**9, breaks_at: int = 10**9) -> None:
        from opencompass.models.base_api import APITemplateParser

        self.template_parser = APITemplateParser(None)
        self.logger = logging.getLogger("toy")
        self.words, self.refuse_over, self.breaks_at = words, refuse_over, breaks_at
        self.batches: list[list[Any]] = []

    def parse_template(self, prompt: Any, mode: str) -> Any:
        return self.template_parser.parse_template(prompt, mode)

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
        if len(self.batches) == self.breaks_at:
            raise RuntimeError("connection refused")
        chats = [
            [item for item in prompt if isinstance(item, dict) and item.get("prompt")] for prompt in inputs
        ]
        for chat in chats:
            if sum(self.get_token_len(item["prompt"]) for item in chat) > self.refuse_over:
                self.logger.error("Error code: 400 - {'message': \"maximum context length is 10 tokens.\"}")
                raise RuntimeError("Calling OpenAI API failed after retrying for 2 times.")
        self.batches.append(chats)
        return [f"Answer {len(chat)} <b>" + " word" * self.words for chat in chats]

    def generate_from_template(self, templates: list[Any], max_out_len: int, **_: Any) -> list[str]:
        return self.generate(templates, max_out_len)


@pytest.fixture(autouse=True)
def _meetings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two meetings: two questions about the first, one about the second."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    write_archives(tmp_path / "data")


def infer(task: str, model: ChatModel, out: Path, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    from opencompass.openicl.icl_retriever import ZeroRetriever

    from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseGenInferencer

    reader = {"input_columns": ["case"], "output_column": "reference"}
    dataset = CaseDataset(reader_cfg=reader, abbr=task, lct_task=task, **options)
    CaseGenInferencer(
        model=model,
        max_out_len=1,
        batch_size=2,
        output_json_filepath=str(out),
        output_json_filename="rows.json",
    ).inference(ZeroRetriever(dataset))
    rows = json.loads((out / "rows.json").read_text())
    return dataset, [rows[str(place)] for place in range(len(rows))]


def name_judge(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    for name, value in {"MODEL": "stub", "BASE_URL": url, "ASKS": "1", "RETRIES": "0"}.items():
        monkeypatch.setenv(f"LCT_JUDGE_{name}", value)


def test_without_a_judge_nothing_has_a_score_and_answers_are_kept(tmp_path: Path) -> None:
    dataset, rows = infer(QA, ChatModel(), tmp_path)
    assert [row["prediction"] for row in rows] == ["Answer 1 <b> word"] * 3
    result = evaluate(dataset, rows)
    assert math.isnan(result["judge_score"]) and math.isnan(result["official_judge_score"])
    assert (result["n"], result["n_not_judged"], result["n_scored"], result["answered"]) == (3, 3, 0, 100)


def test_the_history_is_the_models_own_and_all_conversations_advance_together(tmp_path: Path) -> None:
    model = ChatModel()
    _, rows = infer(TALK, model, tmp_path)
    assert [[len(chat) for chat in batch] for batch in model.batches] == [[1, 1], [3]]
    assert model.batches[1][0][1] == {"role": "BOT", "prompt": "Answer 1 <b> word"}
    assert json.loads(rows[0]["prediction"]) == ["Answer 1 <b> word", "Answer 3 <b> word"]


def test_a_conversation_that_outgrows_the_server_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server(judge_by_hash) as judge:
        name_judge(monkeypatch, judge.url)
        dataset, rows = infer(TALK, ChatModel(words=2000, refuse_over=1500), tmp_path)
        result = evaluate(dataset, rows)
    assert rows[0]["lct_status"] == [None, "does_not_fit"] and json.loads(rows[0]["prediction"])[1] is None
    assert (result["n"], result["n_does_not_fit"]) == (3, 1)
    # Two answers were judged, and the connection was tried before inference.
    assert len([r for r in judge.requests if "word word" in r[-1]["content"]]) == 2


def test_a_conversation_too_long_for_the_window_is_not_begun(tmp_path: Path) -> None:
    model = ChatModel()
    dataset, rows = infer(TALK, model, tmp_path, lct_window=20)
    assert model.batches == []
    result = evaluate(dataset, rows)
    assert (result["n"], result["n_does_not_fit"], result["n_scored"]) == (3, 3, 0)


def test_roles_are_marked_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="llama-2"):
        infer(QA, ChatModel(), tmp_path, lct_prompt_style="llama-2")
    text = ChatModel()
    text.is_api = False
    with pytest.raises(InputError, match="roles of a chat template"):
        infer(TALK, text, tmp_path)
    _, rows = infer(QA, text, tmp_path)
    assert len(rows) == 3


def test_another_judge_is_no_other_prediction_but_another_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from long_context_tasks.hosts.opencompass.summary import _other_judge, plain

    _, rows = infer(QA, ChatModel(), tmp_path)
    with stub_server(lambda messages: "Score: \\boxed{4}") as judge:
        name_judge(monkeypatch, judge.url)
        dataset, _ = infer(QA, ChatModel(), tmp_path / "other")
        result = plain(json.loads(json.dumps(evaluate(dataset, rows))))
        assert result["judge_score"] == 4
        assert _other_judge(result, {}) == ""
        monkeypatch.setenv("LCT_JUDGE_SEEDS", "7")
        assert "seeds was [2023], is [7]" in _other_judge(result, {})
        monkeypatch.setenv("LCT_JUDGE_RUBRIC", "prometheus")
        assert "rubric was gpt, is prometheus" in _other_judge(result, {})
    for name in [name for name in os.environ if name.startswith("LCT_JUDGE")]:
        monkeypatch.delenv(name)
    assert "judged by stub, the judge is now nobody" in _other_judge(result, {})
    unjudged = plain(evaluate(dataset, rows))
    assert _other_judge(unjudged, {}) == ""


def test_a_judge_that_is_not_there_stops_the_run_before_the_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server(judge_by_hash) as gone:
        pass
    name_judge(monkeypatch, gone.url)
    model = ChatModel()
    with pytest.raises(InputError, match="judge"):
        infer(QA, model, tmp_path)
    assert model.batches == []


def test_a_broken_run_keeps_its_finished_conversations(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="connection refused"):
        infer(TALK, ChatModel(breaks_at=1), tmp_path)
    model = ChatModel()
    _, rows = infer(TALK, model, tmp_path)
    _, fresh = infer(TALK, ChatModel(), tmp_path / "fresh")
    assert rows == fresh


def test_scores_of_another_option_are_refused(tmp_path: Path) -> None:
    _, rows = infer(QA, ChatModel(), tmp_path)
    other, _ = infer(QA, ChatModel(), tmp_path / "other", lct_answer_budget=7)
    with pytest.raises(InputError, match="answer_budget"):
        evaluate(other, rows)


def test_a_conversation_twice_in_a_batch(tmp_path: Path) -> None:
    """As with --dataset-num-runs."""
    from long_context_tasks.hosts.opencompass.send import Sender
    from long_context_tasks.hosts.opencompass.task import talks

    task = load_task(TALK, resolve_options({}))
    sender = Sender(ChatModel(), Window(), 8, {})
    asked = talks(task, ["meeting_en_dev_001", "meeting_en_dev_002", "meeting_en_dev_001"], sender)
    assert [[len(one.messages) for one in talk] for talk in asked] == [[1, 3], [1], [1, 3]]


def test_half_a_surrogate_pair_costs_no_answers(tmp_path: Path) -> None:
    class Half(ChatModel):
        def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
            return [text + " \ud83d" for text in super().generate(inputs, max_out_len)]

    for task in (QA, TALK):
        dataset, rows = infer(task, Half(), tmp_path / task)
        assert all("word ?" in row["prediction"] for row in rows)
        assert evaluate(dataset, rows)["n"] == 3
