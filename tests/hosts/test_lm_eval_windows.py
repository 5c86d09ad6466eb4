"""lm-eval: what fits the window, what a server refuses, what the host would cut; in the real evaluator."""

import json
import math
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from judge_server import Answer, Others, completions, judge_server
from lm_eval_runs import TASK, evaluate, evaluate_served, metrics_of
from needs import needs
from stub_server import like_llama_cpp, like_vllm, stub_server

from long_context_tasks.hosts.window import REFUSED
from long_context_tasks.schema import InputError, Options

pytestmark = [needs("lm_eval"), pytest.mark.slow]


@pytest.mark.parametrize(
    ("metadata", "more", "window", "counts"),
    [
        ({}, {}, "1500 (host)", (2, 4, 0)),
        ({"lct_window": 100}, {"apply_chat_template": True}, "100 (lct_window)", (6, 0, 0)),
        # The host would cut what does not fit its own window.
        ({"lct_window": 100_000}, {}, "1500 (host)", (2, 4, 0)),
    ],
)
def test_a_local_model_has_the_window_of_its_config_or_the_option(
    published: Path, tiny: Path, metadata: Any, more: Any, window: str, counts: tuple[int, int, int]
) -> None:
    arguments = {"model": "hf", "model_args": f"pretrained={tiny}", "device": "cpu", **more}
    result = evaluate(metadata=metadata, **arguments)
    assert result["configs"][TASK]["metadata"]["window"] == window
    metrics = metrics_of(result)
    assert (metrics["n_does_not_fit"], metrics["n_scored"], metrics["n_truncated"]) == counts
    assert metrics["coverage"] == counts[1] / 6
    assert math.isnan(metrics["strict_accuracy"]) == (counts[1] == 0)


def test_a_window_that_nothing_fits_with_a_model_that_wants_a_prompt(published: Path) -> None:
    from lm_eval.models.dummy import DummyLM

    class Wants(DummyLM):
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            asked.extend((request.args[0], request.args[1]["max_gen_toks"]) for request in requests)
            return ["A2"] * len(requests) if requests else pytest.fail("an empty list")

    asked: list[tuple[str, int]] = []
    result = evaluate(model=Wants(), metadata={"lct_window": 100})
    assert asked == [(".", 1)] and metrics_of(result)["n_does_not_fit"] == 6
    assert [sample["resps"] for sample in result["samples"][TASK]] == [[[REFUSED]]] * 6


def test_a_loaded_model_can_be_an_argument(published: Path, tiny: Path) -> None:
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(tiny)
    given = {"pretrained": model, "tokenizer": transformers.AutoTokenizer.from_pretrained(tiny)}
    result = evaluate(model="hf", model_args=given, device="cpu", metadata={"lct_answer_budget": 1})
    assert metrics_of(result)["n"] == 6


def test_an_unknown_window_is_said_so(published: Path) -> None:
    result = evaluate(model="dummy")
    assert result["configs"][TASK]["metadata"]["window"] == "unchecked"
    assert math.isnan(metrics_of(result)["n_truncated"]) and metrics_of(result)["n_scored"] == 6


_CHAT = ("local-chat-completions", "chat/completions", {"apply_chat_template": True})
_TEXT = ("local-completions", "completions", {})
_AS_TEXT = "tokenized_requests=False,tokenizer_backend=None"
_KINDS = [
    (*_CHAT, "num_concurrent=1"),
    (*_CHAT, "num_concurrent=4"),
    (*_TEXT, f"num_concurrent=1,{_AS_TEXT}"),
    (*_TEXT, f"num_concurrent=4,batch_size=3,{_AS_TEXT}"),
]


@pytest.mark.parametrize(("model", "path", "arguments", "more"), _KINDS)
def test_a_refusal_for_length_costs_its_case(
    published: Path, model: str, path: str, arguments: dict[str, Any], more: str
) -> None:
    with stub_server(lambda messages: "A2", refuse_over=9000) as server:
        url = f"{server.url}/{path}"
        result = evaluate(
            model=model, model_args=f"model=stub,base_url={url},max_retries=2,{more}", **arguments
        )
        assert len(server.requests) == 4
    metrics = metrics_of(result)
    assert (metrics["n_does_not_fit"], metrics["n_scored"], metrics["strict_accuracy"]) == (2, 4, 1.0)
    assert result["configs"][TASK]["metadata"]["window"] == "unchecked"
    assert [s["doc"]["case"] for s in result["samples"][TASK] if s["resps"][0][0] == REFUSED] == [
        "4_A2",
        "5_A2",
    ]


@pytest.mark.parametrize(("model", "path", "arguments", "more"), [_KINDS[0], _KINDS[2]])
@pytest.mark.parametrize(
    ("others", "metadata", "window", "sent"),
    [
        # 298 words and a first token, 16 around them, 64 of the answer.
        (like_vllm(379), {}, "379 (server)", 4),
        (like_vllm(378), {}, "378 (server)", 0),
        (like_llama_cpp(378), {}, "378 (server)", 4),
        (like_vllm(9), {"lct_window": 379}, "379 (lct_window)", 4),
        ({**like_vllm(9), "/tokenize": lambda _: Answer(status=404)}, {}, "unchecked", 6),
    ],
)
def test_a_server_states_its_window_and_counts(
    published: Path,
    model: str,
    path: str,
    arguments: dict[str, Any],
    more: str,
    others: Others,
    metadata: dict[str, int],
    window: str,
    sent: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with stub_server(lambda messages: "A2", others=others) as server:
        given = f"model=stub,base_url={server.url}/{path},{more}"
        result = evaluate(model=model, model_args=given, metadata=metadata, **arguments)
        prompts = [messages for messages in server.requests if messages[0]["content"] != "."]
    metrics = metrics_of(result)
    assert result["configs"][TASK]["metadata"]["window"] == window
    assert (len(prompts), metrics["n_does_not_fit"], metrics["n_scored"]) == (sent, 6 - sent, sent)
    assert math.isnan(metrics["n_truncated"]) is (window == "unchecked")
    lacking = "reports a window of 9 tokens but counts no tokens: set lct_tokenizer"
    assert (lacking in caplog.text) is (window == "unchecked")
    paths = [name for name, _ in server.asked]
    # Asked for the window, and for the model's name before the run.
    assert paths.count("/v1/models") == 2 and paths.count("/tokenize") == (7 if window != "unchecked" else 1)


@pytest.mark.parametrize("concurrent", [1, 4])
def test_a_refusal_is_not_kept_for_the_next_run(published: Path, tmp_path: Path, concurrent: int) -> None:
    def run(**limits: Any) -> tuple[dict[str, float], int]:
        with stub_server(lambda messages: "A2", **limits) as server:
            arguments = f"model=stub,base_url={server.url}/chat/completions,num_concurrent={concurrent}"
            # The address is not in the key of the host's cache: the second run finds the first one's answers.
            result = evaluate(
                model="local-chat-completions",
                model_args=arguments,
                apply_chat_template=True,
                use_cache=str(tmp_path / "store"),
            )
            return metrics_of(result), len(server.requests)

    metrics, _ = run(refuse_over=9000)
    assert metrics["n_does_not_fit"] == 2
    metrics, asked = run()
    assert (metrics["n_does_not_fit"], metrics["strict_accuracy"], asked) == (0, 1.0, 2)


def test_a_refusal_of_a_prompt_sent_as_tokens(published: Path, tiny: Path) -> None:
    with stub_server(lambda messages: "A2", refuse_over=1400) as server:
        arguments = (
            f"model=stub,base_url={server.url}/completions,tokenizer={tiny},max_length=4000,num_concurrent=1"
        )
        result = evaluate(model="local-completions", model_args=arguments)
    metrics = metrics_of(result)
    assert result["configs"][TASK]["metadata"]["window"] == "4000 (host)"
    assert (metrics["n_does_not_fit"], metrics["n_scored"]) == (2, 4)


def test_another_tasks_prompts_are_not_touched(published: Path) -> None:
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalChatCompletion

    from long_context_tasks.hosts.lm_eval.patches import apply_patches
    from long_context_tasks.hosts.lm_eval.task import CaseInstance

    apply_patches()

    def request(text: str, make: Any = CaseInstance) -> Any:
        prompt = model.apply_chat_template([{"role": "user", "content": text}])
        arguments = (prompt, {"max_gen_toks": 4})
        return make(request_type="generate_until", doc={}, arguments=arguments, idx=0, metadata=("x", 0, 1))

    other = partial(Instance, task_name="x", doc_id=0)

    with stub_server(lambda messages: messages[0]["content"][:2], refuse_over=100) as server:
        model = LocalChatCompletion(base_url=f"{server.url}/chat/completions", model="stub", max_retries=1)
        ours, theirs = request("aa" * 90), request("bb", other)
        assert model.generate_until([ours, theirs, request("cc")]) == [REFUSED, "bb", "cc"]
        assert model.generate_until([theirs]) == ["bb"]
        with pytest.raises(requests.HTTPError):
            model.generate_until([ours, request("dd" * 90, other)])


def test_a_failure_in_other_words_is_quoted(published: Path) -> None:
    """By the class that sends one request at a time."""
    with (
        judge_server(lambda *_: Answer(status=503, raw=b"no\n worker left")) as server,
        pytest.raises(InputError, match=r"fails \(503: no worker left\)"),
    ):
        evaluate_served(TASK, server.url)


def test_other_failures_of_a_server_still_end_the_run(published: Path) -> None:
    def broken(messages: list[dict[str, str]]) -> str:
        raise ConnectionResetError

    with stub_server(broken) as server, pytest.raises(InputError, match="gave no answer"):
        arguments = f"model=stub,base_url={server.url}/chat/completions,max_retries=1,num_concurrent=2"
        evaluate(model="local-chat-completions", model_args=arguments, apply_chat_template=True)


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({}, True),
        ({"max_length": 8192}, False),
        ({"tokenized_requests": "False"}, False),
        ({"tokenizer_backend": "None"}, False),
    ],
)
def test_the_hosts_silent_cut_to_2047_is_refused(more: dict[str, Any], refused: bool) -> None:
    from long_context_tasks.hosts.lm_eval.window import find_window

    arguments = {"base_url": "http://127.0.0.1:9/v1/completions", "model": "stub", **more}
    with pytest.raises(InputError, match="2,047") if refused else nullcontext():
        find_window(Options(), arguments, None)


def test_a_servers_class_has_no_window_of_its_own() -> None:
    from lm_eval.models.openai_completions import OpenAIChatCompletion

    from long_context_tasks.hosts.lm_eval.window import find_window

    model = OpenAIChatCompletion(model="stub")
    assert not find_window(Options(), {"model": "stub"}, model).checked
    counted = find_window(Options(window=50), {"model": "stub"}, model)
    assert counted.describe() == "50 (lct_window, counted in cl100k)"
    assert counted.fits("short", 10) and not counted.fits("word " * 60, 10)


def test_a_model_without_a_window_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, MambaConfig

    from long_context_tasks.hosts.lm_eval.window import find_window

    MambaConfig(num_hidden_layers=1).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.model_max_length = int(1e30)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="max_length=WINDOW"):
        find_window(Options(), {"pretrained": str(tmp_path)}, None)
    assert find_window(Options(), {"pretrained": str(tmp_path), "max_length": 900}, None).tokens == 900


def test_a_prompt_that_obviously_fits_is_not_encoded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from long_context_tasks.hosts.lm_eval import window as window_module
    from long_context_tasks.hosts.lm_eval.window import find_window

    encoded: list[str] = []
    monkeypatch.setattr(window_module, "encode", lambda _, text: encoded.append(text) or [0] * 500)
    window = find_window(Options(), {"pretrained": str(tiny)}, None)
    assert window.fits("x" * 1400, 100) and not encoded
    assert window.fits("x" * 1401, 100) and len(encoded) == 1


@pytest.mark.parametrize("concurrent", [1, 4])
def test_thinking_without_an_answer_is_unfinished(published: Path, concurrent: int) -> None:
    """Servers that separate the thinking give back no content when the answer budget ends in it."""
    messages = [
        {"content": None, "reasoning_content": "A1? Or"},
        {"content": "", "reasoning": "A1? Or"},
        {"content": "A2", "reasoning_content": "A1? No"},
        {"content": ""},
    ]

    def think(_: dict[str, Any], place: int) -> Answer:
        choice = {"index": 0, "message": {"role": "assistant", **messages[place]}, "finish_reason": "length"}
        return Answer(raw=json.dumps({"choices": [choice]}).encode())

    with judge_server(think) as server:
        arguments = f"model=stub,base_url={server.url}/chat/completions,num_concurrent={concurrent}"
        result = evaluate(
            model="local-chat-completions", model_args=arguments, apply_chat_template=True, limit=4
        )
    answers = sorted(sample["resps"][0][0] for sample in result["samples"][TASK])
    assert answers == ["", "<think>A1? Or", "<think>A1? Or", "A2"]
    metrics = metrics_of(result)
    assert (metrics["n_answer_cut"], metrics["n_empty"], metrics["strict_accuracy"]) == (2, 1, 0.25)


@pytest.mark.parametrize(("model", "path", "more"), [_CHAT, _TEXT], ids=["with a chat template", "without"])
@pytest.mark.parametrize(
    ("given", "sent", "own"),
    [({}, 1234, None), ({"fewshot_random_seed": 2024}, 2024, None), ({"fewshot_random_seed": 2024}, 7, 7)],
    ids=["default", "the run's", "the model's own"],
)
def test_a_server_is_sent_the_seed_of_the_run(
    published: Path, model: str, path: str, more: Any, given: Any, sent: int, own: int | None
) -> None:
    seeds = set()

    def behave(body: dict[str, Any], _: int) -> Answer:
        seeds.add(body["seed"])
        return Answer(text="A1") if "messages" in body else Answer(raw=completions(["A1"], False))

    with judge_server(behave) as server:
        arguments = f"model=stub,base_url={server.url}/{path},num_concurrent=1" + (
            f",seed={own}" if own else ""
        )
        evaluate(
            model=model,
            model_args=f"{arguments},{_AS_TEXT}" if path == "completions" else arguments,
            **more,
            **given,
        )
    assert seeds == {sent}
