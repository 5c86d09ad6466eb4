"""inspect_ai's own evaluator on our tasks, where all goes well and where it does not, and what is read from its logs."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from judge_server import Answer, Others, completions, judge_server
from lm_eval_runs import TASK
from meetings import TALK, name_judge
from needs import needs
from stub_server import judge_by_hash, like_llama_cpp, like_vllm, stub_server

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.stored import StoredCase, StoredRun
from long_context_tasks.results import FoundRuns, find_runs
from long_context_tasks.results.bundle.format import read_bundle
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.new_scores import RunTasks, prepare
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED

pytestmark = [needs("inspect_ai"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "EMPTY")


def run(name: str, logs: Path, url: str, task: dict[str, Any] | None = None, **arguments: Any) -> FoundRuns:
    from inspect_ai import eval as evaluate

    import long_context_tasks.hosts.inspect.registry  # noqa: F401

    model = {"model": "openai-api/stub/stub", "model_base_url": url, "task_args": task or {}, **arguments}
    evaluate(f"long_context_tasks/{name}", display="none", log_dir=str(logs), **model)
    return find_runs(logs)


def only(found: FoundRuns) -> tuple[StoredRun, list[StoredCase]]:
    [stored] = found.runs
    assert not found.problems
    return stored, list(stored.cases())


@pytest.mark.usefixtures("published")
def test_what_the_server_refuses_for_its_length_costs_that_case_only(tmp_path: Path) -> None:
    with stub_server(lambda messages: "A2", refuse_over=3000) as server:
        stored, cases = only(run(TASK, tmp_path / "logs", server.url))
    assert server.refused == 2 and len(server.requests) == 4
    assert [case.id for case in cases if case.responses[0].status == DOES_NOT_FIT] == ["4_A2", "5_A2"]
    assert [case.tokens for case in cases].count((100, 10)) == 4  # as the server counts them
    numbers = stored.numbers
    assert (numbers["n"], numbers["n_scored"], numbers["n_does_not_fit"]) == (6, 4, 2)
    assert numbers["strict_accuracy"] == 1 and numbers["n_truncated"] != numbers["n_truncated"]


@pytest.mark.usefixtures("published")
def test_what_does_not_fit_is_not_sent_and_nothing_is_cut(tmp_path: Path) -> None:
    task = {"lct_window": 1000, "lct_answer_budget": 20}
    with stub_server(lambda messages: "A2") as server:
        stored, cases = only(run(TASK, tmp_path / "logs", server.url, task, seed=7))
    assert len(server.requests) == 4 and server.refused == 0
    assert [case.id for case in cases if case.responses[0].status == DOES_NOT_FIT] == ["4_A2", "5_A2"]
    assert stored.numbers["n_truncated"] == 0 and stored.options["lct_window"] == 1000
    assert stored.provenance["gen_kwargs"] == {"seed": 7, "temperature": 0.0}


@pytest.mark.parametrize(
    ("others", "task", "window", "sent"),
    [
        # 298 words and a first token, 16 around them, 64 of the answer.
        (like_vllm(379), {}, "379 (server)", 4),
        (like_llama_cpp(377), {}, "377 (server)", 0),
        (like_vllm(9), {"lct_window": 379}, "379 (lct_window)", 4),
        ({**like_vllm(9), "/tokenize": lambda _: Answer(status=404)}, {}, "unchecked", 6),
    ],
)
@pytest.mark.usefixtures("published")
def test_a_server_states_its_window_and_counts(
    tmp_path: Path, others: Others, task: dict[str, int], window: str, sent: int
) -> None:
    with stub_server(lambda messages: "A2", others=others) as server:
        stored, _ = only(run(TASK, tmp_path / "logs", server.url, task))
    assert len(server.requests) == sent and stored.provenance["window"] == window
    assert (stored.numbers["n_scored"], stored.numbers["n_does_not_fit"]) == (sent, 6 - sent)
    # Once for the log's header, once for all cases.
    assert [path for path, _ in server.asked].count("/v1/models") == 2
    assert {key for _, key in server.asked} == {"Bearer EMPTY"}


@pytest.mark.usefixtures("published")
def test_prompt_tokens_include_those_of_a_cache(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], _: int) -> Answer:
        reply = json.loads(completions(["A2"], True))
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 60}
        return Answer(raw=json.dumps(reply).encode())

    with judge_server(behave) as server:
        _, [case] = only(run(TASK, tmp_path / "logs", server.url, {"lct_n": 1}))
    assert case.tokens == (100, 10)


@pytest.mark.usefixtures("published")
def test_a_model_in_this_process_is_held_against_its_own_window(tiny: Path) -> None:
    from inspect_ai.model import ChatMessageUser, get_model

    from long_context_tasks.hosts.inspect.task import find_window, rendered

    model = get_model("hf/local", model_path=str(tiny), device="cpu", memoize=False)
    task = load_task(TASK, {})
    window = find_window(task.options, model)
    assert window.describe() == "1500 (host)"
    texts = [
        rendered(model, [ChatMessageUser(content=task.messages(case)[0].content)])
        for case in task.cases.cases
    ]
    assert all(text.startswith("<|im_start|>") for text in texts)
    assert [window.fits(text, 8) for text in texts] == [True] * 4 + [False] * 2


@pytest.mark.usefixtures("meetings")
def test_a_conversation_is_judged_and_its_turns_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        stub_server(lambda messages: f"Answer {len(messages)}") as server,
        stub_server(judge_by_hash) as judge,
    ):
        name_judge(monkeypatch, judge.url)
        stored, cases = only(run(TALK, tmp_path / "logs", server.url))
    assert sorted(len(messages) for messages in server.requests) == [1, 1, 3]
    long = next(messages for messages in server.requests if len(messages) == 3)
    assert long[1] == {"role": "assistant", "content": "Answer 1"}
    assert stored.numbers["n"] == 3 and stored.judge["model"] == "stub"  # turns, not meetings
    assert sorted(len(case.verdicts) for case in cases) == [1, 2]
    assert all(len(case.scores["judge_score"]) == len(case.responses) for case in cases)
    pack(collect_with_files([tmp_path / "logs"]), tmp_path / "b.zip")
    [packed] = read_bundle(tmp_path / "b.zip", [])
    assert (packed.row["host"], packed.row["model"], packed.scores["turn"].n_unique()) == (
        "inspect",
        "stub",
        2,
    )
    assert packed.label and stored.label not in str(packed.row)


def test_a_judge_that_the_task_can_do_without_is_asked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    with stub_server(lambda messages: "A2") as server:
        task = {"lct_n": 1, "lct_length": "1k"}
        stored, _ = only(run("elitr_bench_qa_synthetic", tmp_path / "logs", server.url, task))
    assert stored.numbers["n_scored"] == 1 and prepare([stored], RunTasks()) == ([stored], [])


@pytest.mark.usefixtures("meetings")
def test_cases_that_wait_are_judged_together_and_a_failed_judge_costs_no_answer() -> None:
    from long_context_tasks.judges.task_judge import BatchedJudge
    from long_context_tasks.schema.response import Response

    batches: list[list[str]] = []

    class Judge:
        def verdicts(self, task: Any, responses: dict[str, Any], *, progress: bool) -> Any:
            if not batches:
                gate.result(timeout=300)
            batches.append(sorted(responses))
            if "bad" in responses:
                raise OSError("gone")
            return {case: [(case,)] for case in responses}, ""

    with ThreadPoolExecutor() as threads:
        gate: Any = threads.submit(lambda: None)
        batched = BatchedJudge(Judge(), type("Task", (), {"name": "task"}))  # type: ignore[arg-type]
        first = batched.verdicts("first", [Response("x")])
        waiting = [threads.submit(batched.verdicts, str(n), [Response("x")]) for n in range(8)]
        found = [one.result() for one in waiting]
    assert first == [("first",)] and found == [[(str(n),)] for n in range(8)]
    assert sorted(case for batch in batches for case in batch) == sorted(["first", *map(str, range(8))])
    assert batched.verdicts("bad", [Response("x")]) == ()


@pytest.mark.usefixtures("published")
def test_an_interrupted_run_is_named_until_it_is_finished(tmp_path: Path) -> None:
    from inspect_ai import eval_retry

    broken = True

    def behave(body: dict[str, Any], number: int) -> Answer:
        if broken and number > 2:
            return Answer(status=500, raw=b"{}")
        return Answer(raw=completions(["A2"], True))

    logs = tmp_path / "logs"
    with judge_server(behave) as server:
        found = run(TASK, logs, server.url, max_retries=0, max_connections=1)
        [problem] = found.problems
        assert not found.runs and "finish it with inspect eval-retry" in problem
        broken = False
        eval_retry(problem.partition(": ")[0], display="none", log_dir=str(logs))
    stored, cases = only(find_runs(logs))
    assert stored.numbers["n_scored"] == len(cases) == 6


@pytest.mark.usefixtures("published")
def test_a_case_that_fails_is_counted_when_the_user_lets_the_run_go_on(tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        if "What is 0?" in body["messages"][-1]["content"]:
            return Answer(status=500, raw=b"{}")
        return Answer(raw=completions(["A2"], True))

    with judge_server(behave) as server:
        go_on = {"max_retries": 0, "fail_on_error": False}
        stored, cases = only(run(TASK, tmp_path / "one", server.url, **go_on))
        assert stored.numbers["n"] == 5 and not next(case for case in cases if case.id == "0_A2").scores
        stored, cases = only(run(TASK, tmp_path / "two", server.url, **go_on, score_on_error=True))
    assert stored.numbers["n"] == 6 and stored.numbers["n_endpoint_failed"] == 1
    assert next(case for case in cases if case.id == "0_A2").responses[0].status == ENDPOINT_FAILED


@pytest.mark.usefixtures("published")
def test_standard_errors_are_those_over_clusters(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    from long_context_tasks.stats.means import standard_error

    with stub_server(lambda messages: "A2" if "What is 1?" in messages[-1]["content"] else "A1") as server:
        stored, cases = only(run(TASK, tmp_path / "logs", server.url))
    results = read_eval_log(str(stored.files[0])).results
    assert results is not None
    written = results.scores[0].metrics["strict_accuracy_stderr"].value
    values = [case.scores["strict_accuracy"][0] for case in cases]
    assert written == pytest.approx(standard_error(values, [case.cluster for case in cases]))
    assert "strict_accuracy_stderr" not in stored.numbers


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ({"content": "<think>\nA9?\n</think>\n\nA2"}, "<think>A9?</think>A2"),
        ({"content": "<think>I wonder"}, "<think>I wonder"),
        ({"content": "A9?</think>A2"}, "A9?</think>A2"),
        ({"content": "<think>A9</think>"}, "<think>A9</think>"),
        ({"content": "A2", "reasoning_content": "A9?"}, "A2"),
        ({"content": "", "reasoning_content": "I wonder"}, "<think>I wonder"),
    ],
)
@pytest.mark.usefixtures("published")
def test_thinking_reaches_the_scoring(tmp_path: Path, answer: dict[str, str], response: str) -> None:
    def behave(body: dict[str, Any], _: int) -> Answer:
        reply = json.loads(completions([""], True))
        reply["choices"][0]["message"].update(answer)
        return Answer(raw=json.dumps(reply).encode())

    with judge_server(behave) as server:
        _, [case] = only(run(TASK, tmp_path / "logs", server.url, {"lct_n": 1}))
    assert case.responses[0].text == response


@pytest.mark.usefixtures("published")
def test_logs_as_json_damaged_ones_and_those_of_other_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluate

    logs = tmp_path / "logs"
    with stub_server(lambda messages: "A2") as server:
        stored, _ = only(run(TASK, logs, server.url, log_format="json"))
        evaluate(
            Task(), model="openai-api/stub/stub", model_base_url=server.url, display="none", log_dir=str(logs)
        )
    (logs / "broken.eval").write_bytes(b"PK no archive")
    found = find_runs(logs)
    assert [one.files for one in found.runs] == [stored.files]
    assert stored.files[0].suffix == ".json" and stored.numbers["n"] == 6
    [problem] = found.problems
    assert problem.startswith(f"{logs / 'broken.eval'}: not a log of inspect_ai, or damaged")
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    assert "pip install 'long_context_tasks[inspect]'" in find_runs(logs).problems[0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (TASK, {"n": 5}, "options begin with lct_, like -T lct_n=50"),
        (TASK, {"lct_lenght": "2k"}, "did you mean lct_length"),
        ("ada_leval_tsort_2k_ppl", {}, "computes no likelihoods"),
        ("ada_leval_bestanswer_9k", {}, "9k"),
        (TASK, {"lct_variant": "wer40"}, "has no lct_variant=wer40; there are: .*front"),
    ],
)
@pytest.mark.usefixtures("published")
def test_a_bad_option_is_one_line(name: str, options: dict[str, Any], message: str) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from long_context_tasks.hosts.inspect.task import case_task

    with pytest.raises(PrerequisiteError, match=message):
        case_task(name, **options)


@pytest.mark.usefixtures("published")
def test_a_variant_as_an_option_is_the_task_of_its_full_name() -> None:
    from long_context_tasks.hosts.inspect.task import METADATA, case_task

    by_option, by_name = case_task(TASK, lct_variant="front"), case_task(f"{TASK}_front")
    facts = by_option.metadata[METADATA]
    assert facts["task"] == f"{TASK}_front" and facts == by_name.metadata[METADATA]
