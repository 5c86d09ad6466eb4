"""lm-eval: conversations and judged tasks in the real evaluator, where all goes well and where it does not."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from both_hosts import write_published_files
from lm_eval_runs import evaluate, metrics_of, name_in, served_by
from lm_eval_runs import evaluate_served as run
from meetings import QA, TALK, name_judge
from needs import needs
from stub_server import judge_by_hash, stub_server

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.lm_eval.patches import apply_patches
from long_context_tasks.hosts.window import PER_MESSAGE
from long_context_tasks.schema import InputError

pytestmark = [needs("lm_eval"), pytest.mark.slow, pytest.mark.usefixtures("meetings")]


def records(result: dict[str, Any], task: str) -> dict[str, dict[str, Any]]:
    return {
        row["doc"]["case"]: json.loads(row["filtered_resps"][0])
        for row in result["samples"][name_in(result, task)]
    }


def test_without_a_judge_nothing_has_a_score_and_answers_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    import lm_eval.utils

    apply_patches()  # the start-up hook does it where the package is installed
    with stub_server(lambda messages: "On Monday.") as server:
        result = run("elitr_bench_qa", server.url)
    metrics = metrics_of(result, QA)
    assert math.isnan(metrics["judge_score"]) and math.isnan(metrics["official_judge_score"])
    assert (metrics["n"], metrics["n_not_judged"], metrics["n_scored"], metrics["answered"]) == (3, 3, 0, 1)
    assert {row["response"] for row in records(result, QA).values()} == {"On Monday."}
    assert "lct judge run" in caplog.text
    for column in ("results", "groups"):
        table = lm_eval.utils.make_table(result, column)
        rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
        assert ["elitr_bench_qa", "judge_score", "-"] in [
            [row[1], row[5], row[7]] for row in rows if len(row) > 9
        ]
        assert "nan" not in table.lower() and "official" not in table
    assert [row[5] for row in rows if len(row) > 9][2:] == ["judge_score"]


def test_no_failure_of_the_model_has_points_without_a_judge(tmp_path: Path) -> None:
    for case, task in (("elitr_bench", QA), ("ethic", "ethic_summarize_books")):
        if case == "ethic":
            write_published_files("ethic", tmp_path / "data", 2)
        with stub_server(lambda messages: "") as server:
            metrics = metrics_of(run(task, server.url), task)
        assert metrics["n"] == metrics["n_not_judged"] > 0 and metrics["n_scored"] == 0
        headline = "judge_score" if case == "elitr_bench" else "summary_score"
        assert math.isnan(metrics[headline])


def test_the_history_is_the_models_own_and_all_conversations_advance_together() -> None:
    with stub_server(lambda messages: f"Answer {len(messages)} <b>") as server:
        result = run(TALK, server.url)
    lengths = [len(messages) for messages in server.requests]
    assert lengths == [1, 1, 3]
    # lm-eval 0.5 also sends the type of the content.
    assert {"role": "assistant", "content": "Answer 1 <b>"}.items() <= server.requests[2][1].items()
    told = records(result, TALK)["meeting_en_dev_001"]
    assert json.loads(told["response"]) == ["Answer 1 <b>", "Answer 3 <b>"]
    assert metrics_of(result, TALK)["n"] == 3  # turns, not meetings


def test_a_conversation_that_outgrows_the_server_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(messages: list[dict[str, str]]) -> str:
        return "word " * 2000

    with stub_server(answer, refuse_over=9000) as server, stub_server(judge_by_hash) as judge:
        name_judge(monkeypatch, judge.url)
        result = run(TALK, server.url)
        assert server.refused == 1
    told = records(result, TALK)["meeting_en_dev_001"]
    assert told["status"] == [None, "does_not_fit"] and json.loads(told["response"])[1] is None
    assert [len(turn) for turn in told["verdicts"]] == [1, 0]
    metrics = metrics_of(result, TALK)
    assert (metrics["n"], metrics["n_does_not_fit"]) == (3, 1)
    # What the judge was asked: nothing about the turn that has no answer.
    assert len([r for r in judge.requests if "word word" in r[-1]["content"]]) == 2


def test_a_conversation_too_long_for_the_window_is_not_begun() -> None:
    with stub_server() as server:
        result = run(TALK, server.url, metadata={"lct_window": 20, "lct_tokenizer": "cl100k"})
    metrics = metrics_of(result, TALK)
    assert (metrics["n"], metrics["n_does_not_fit"], metrics["n_scored"]) == (3, 3, 0)
    # The host wants one request at least.
    assert [messages[-1]["content"] for messages in server.requests] == ["."]


def test_a_conversation_is_counted_exactly_where_the_room_for_its_answers_decides() -> None:
    """One token a byte would leave room for one answer, not for two."""
    task = load_task(TALK, {})
    case = max(task.cases.cases, key=lambda case: len(case.turns))
    size = len("\n".join(message.content for message in task.whole_conversation(case)).encode())
    window = size + PER_MESSAGE + task.answer_budget * 3 // 2
    with stub_server() as server:
        result = run(TALK, server.url, metadata={"lct_window": window, "lct_tokenizer": "cl100k"})
    assert metrics_of(result, TALK)["n_does_not_fit"] == 0


def test_a_conversation_wants_a_chat_template() -> None:
    with pytest.raises(InputError, match="--apply_chat_template"):
        evaluate(TALK, model="dummy")


def test_prompts_that_mark_the_roles_themselves_get_no_chat_template() -> None:
    """Through a model that takes text; the flag leads to the model, and its template is not applied."""
    from lm_eval.models.dummy import DummyLM

    class Text(DummyLM):
        tokenizer_name = "text"

        def chat_template(self, chat_template: bool | str = False) -> str:
            return "a template"

        def apply_chat_template(self, history: list[dict[str, str]], **_: Any) -> str:
            return "TEMPLATE" + json.dumps(history)

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            asked.extend(request.args[0] for request in requests)
            return [f"Answer {len(asked)}"] * len(requests)

    asked: list[str] = []
    style = {"lct_prompt_style": "llama-2"}
    evaluate(TALK, model=Text(), apply_chat_template=True, metadata=style)
    assert len(asked) == 3 and all(text.startswith("[INST] ") for text in asked)
    assert "[/INST] Answer 2 </s><s>[INST] When does the bakery open? [/INST]" in asked[2]
    with stub_server() as server, pytest.raises(InputError, match="llama-2"):
        run(TALK, server.url, metadata=style)
    assert server.requests == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"BASE_URL": "http://127.0.0.1:9"}, "judge"),
        # The paper's prompt for GPT-4 is two messages.
        ({"API": "completions"}, "2 messages"),
        ({"KIND": "local", "MODEL": "/none", "BASE_URL": "", "RETRIES": ""}, "cannot be loaded"),
    ],
    ids=["gone", "takes one text", "cannot be loaded"],
)
def test_an_unfit_judge_stops_the_run_before_the_model_is_asked(
    settings: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server() as server, stub_server(judge_by_hash) as judge:
        name_judge(monkeypatch, judge.url, **settings)
        for name in (name for name, value in settings.items() if not value):
            monkeypatch.delenv(f"LCT_JUDGE_{name}")
        with pytest.raises(InputError, match=message):
            run(QA, server.url)
        assert server.requests == []
        # Answers alone need no judge.
        run(QA, server.url, predict_only=True)
    assert len(server.requests) == 3


@pytest.mark.parametrize("full_disk", [False, True])
def test_a_judge_that_fails_later_loses_no_answer(
    full_disk: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def judge_once(messages: list[dict[str, str]]) -> str:
        if "Monday" in messages[-1]["content"] and not full_disk:
            raise RuntimeError("the judge is gone")  # the server closes the connection
        return judge_by_hash(messages)

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with stub_server(lambda messages: "On Monday.") as server, stub_server(judge_once) as judge:
        name_judge(monkeypatch, judge.url)
        if full_disk:
            monkeypatch.setattr("long_context_tasks.judges.store.os.write", full)
        result = run(QA, server.url)
    metrics = metrics_of(result, QA)
    assert (metrics["n"], metrics["n_scored"], metrics["answered"]) == (3, 0, 1)
    assert metrics["n_not_judged" if full_disk else "n_judge_failed"] == 3
    assert math.isnan(metrics["judge_score"]) and "lct judge run" in caplog.text
    why = "judging failed" if full_disk else "3 responses are without a verdict"
    assert why in caplog.text
    assert {row["response"] for row in records(result, QA).values()} == {"On Monday."}


def test_points_have_an_interval_on_their_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_server() as server, stub_server(lambda messages: "Score: \\boxed{1}") as judge:
        name_judge(monkeypatch, judge.url)
        result = run(QA, server.url)
    metrics = metrics_of(result, QA)
    assert metrics["judge_score"] == 1 and math.isnan(metrics["official_judge_score_low"])
    assert 0 < metrics["judge_score_low"] < 1 < metrics["judge_score_high"] < 10
    assert result["configs"][QA]["metadata"]["judge"]["rubric"] == "gpt"


def test_a_second_run_with_the_hosts_cache_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server() as server, stub_server(judge_by_hash) as judge:
        name_judge(monkeypatch, judge.url)
        first = run(TALK, server.url, use_cache=str(tmp_path / "responses"))
        asked, judged = len(server.requests), len(judge.requests)
        second = run(TALK, server.url, use_cache=str(tmp_path / "responses"))
    assert (asked, len(server.requests)) == (3, 3)
    assert len(judge.requests) <= judged + 1  # the tiny call of the check
    assert records(first, TALK) == records(second, TALK)
    assert metrics_of(first, TALK) == pytest.approx(metrics_of(second, TALK), nan_ok=True)


def test_half_a_surrogate_pair_costs_no_answers(tmp_path: Path) -> None:
    """The host would write it at the very end, and fail with all answers in hand."""
    from stored_runs import run_lm_eval

    with stub_server(lambda messages: "On \ud83d Monday.") as server:
        folder = run_lm_eval(tmp_path / "out", [QA, TALK], served_by(server.url))
    for path in folder.glob("samples_*.jsonl"):
        texts = [json.loads(row["filtered_resps"][0])["response"] for row in map(json.loads, path.open())]
        assert texts and all("On ? Monday." in text for text in texts)
