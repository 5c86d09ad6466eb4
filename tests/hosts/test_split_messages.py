"""Texts and questions in two parts of a message: the same text, for every task, and what a server receives from each host."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judge_server import Answer, JudgeServer, completions, judge_server
from lm_eval_runs import evaluate, served_by
from meetings import QA, TALK, name_judge
from needs import needs
from opencompass_steps import infer
from tiny_model import make_tiny_model

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.results import find_runs
from long_context_tasks.schema import InputError, LoadedTask, Message, prompt_hash

pytestmark = pytest.mark.slow
CONTROL = {"cache_control": {"type": "ephemeral"}}
BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}


@contextmanager
def server() -> Iterator[JudgeServer]:
    """An endpoint of OpenAI's and of Anthropic's protocol, by the version in the header."""

    def behave(body: dict[str, Any], number: int) -> Answer:
        if "anthropic-version" not in running.headers[number]:
            return Answer(raw=completions([f"Answer {number}"], True))
        if running.paths[number].partition("?")[0].endswith("/count_tokens"):  # inspect_ai counts thinking
            return Answer(raw=b'{"input_tokens": 1}')
        thought = {"type": "thinking", "thinking": "hm", "signature": ""}
        row = {
            "id": "x",
            "type": "message",
            "role": "assistant",
            "model": "stub",
            "content": [thought, {"type": "text", "text": f"Answer {number}"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return Answer(raw=json.dumps(row).encode())

    with judge_server(behave) as running:
        yield running


def joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def check(bodies: list[dict[str, Any]], mark: dict[str, Any]) -> None:
    """The joined texts are the official prompts, and the two questions on the first meeting have marks after it."""
    task = load(QA)
    expected = [
        [(message.role, message.content) for message in task.messages(case)] for case in task.cases.cases
    ]
    sent = [[(row["role"], joined(row["content"])) for row in body["messages"]] for body in bodies]
    assert sorted(sent) == sorted(expected)
    parts = [
        # inspect_ai sends fields of Anthropic's protocol as null.
        [{key: value for key, value in part.items() if value is not None} for part in row["content"]]
        for body in bodies
        for row in body["messages"]
        if isinstance(row["content"], list)
    ]
    split = [content for content in parts if len(content) == 2]
    assert len(split) >= 2 and len({content[0]["text"] for content in split}) == 1
    for first, second in split:
        assert first == {"type": "text", "text": first["text"], **mark} and set(second) == {"type", "text"}
        assert first["text"].endswith("\n\n") and len(first["text"]) > len(second["text"])
    assert all(set(content[0]) == {"type", "text"} for content in parts if len(content) == 1)


def load(name: str, **options: Any) -> LoadedTask:
    return load_task(name, options)


SEEDED = {"lct_n": "4", "lct_length": "2k"}
# Whether tasks ask several questions about a text, the question last.
TASKS = {
    QA: True,
    TALK: True,
    "elitr_bench_qa_synthetic": True,
    "ethic_sections_medicine": True,
    "graph_walks_bfs_128k": True,
    "graph_walks_bfs_any_synthetic": False,
    "ethic_recall_medicine_synthetic": False,
    "ethic_attribute_medicine_synthetic": False,
    "ada_leval_bestanswer_1k": False,
    "ada_leval_bestanswer_any_synthetic": False,
    "openai_mrcr_2needle_4k_synthetic": False,
}
# Styles that mark the roles themselves are one text.
STYLES = {
    "elitr": {"gpt": True, "raw": False, "llama-2": False},
    "ethic": {"folded": True, "gemini": True, "phi": False},
}


@pytest.fixture
def graphs(data: Path) -> None:
    """Two questions about one graph, in the published form."""
    folder = data / "graph_walks"
    folder.mkdir()
    asked = [f"The graph:\na -> b\nb -> c\n\nOperation:\nFrom node {node}.\n" for node in "ab"]
    rows = [{"prompt": prompt, "answer_nodes": ["b"], "problem_type": "bfs"} for prompt in asked]
    pq.write_table(pa.Table.from_pylist(rows), folder / "graphwalks_128k_and_shorter.parquet")


@pytest.mark.usefixtures("meetings", "published", "graphs")
@pytest.mark.parametrize("name", TASKS)
def test_the_parts_of_every_kind_of_task_are_its_prompt(name: str) -> None:
    for style, takes_parts in {"": True, **STYLES.get(name.partition("_")[0], {})}.items():
        options = {"lct_prompt_style": style} if style else {}
        options |= SEEDED if "synthetic" in name or "sections" in name else {}
        plain, split = load(name, **options), load(name, **options, lct_split_messages="cache_control")
        shared: list[str] = []
        for case in plain.cases.cases:
            whole, parts = plain.messages(case), split.messages(case)
            assert prompt_hash(whole) == prompt_hash(parts) and not any(message.shared for message in whole)
            assert [joined(m.chat("cache_control")["content"]) for m in parts] == [m.content for m in whole]
            shared += [message.texts()[0] for message in parts if message.shared]
        assert bool(shared) == (takes_parts and TASKS[name]), style
        assert name == TALK or not shared or len(set(shared)) < len(shared)


@needs("lm_eval")
@pytest.mark.usefixtures("meetings")
@pytest.mark.parametrize(
    ("model", "mark", "field"),
    [
        ("local-chat-completions", "prompt_cache_breakpoint", BREAKPOINT),
        ("local-chat-completions", "plain", {}),
        ("anthropic-chat", "cache_control", CONTROL),
    ],
)
def test_lm_eval(model: str, mark: str, field: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "EMPTY")
    with server() as running:
        arguments = served_by(running.url)
        for metadata in ({"lct_split_messages": mark}, {}):
            result = evaluate(QA, metadata, model=model, model_args=arguments, apply_chat_template=True)
    half = len(running.bodies) // 2
    check(running.bodies[:half], field)
    if model == "anthropic-chat":
        assert all(body["stop_sequences"] == [] for body in running.bodies)
        assert all(len(row["content"]) == 1 for body in running.bodies[half:] for row in body["messages"])
    else:
        assert all(
            isinstance(row["content"], str) for body in running.bodies[half:] for row in body["messages"]
        )
    responses = [sample["resps"][0][0] for sample in result["samples"][QA]]
    assert responses == [f"Answer {half + number}" for number in range(half)]


@needs("opencompass")
@pytest.mark.usefixtures("meetings")
@pytest.mark.parametrize("kind", ["OpenAISDK", "ClaudeSDK"])
def test_opencompass(kind: str, tmp_path: Path) -> None:
    import opencompass.models

    tokenizer = str(make_tiny_model(tmp_path / "tiny"))
    mark, field = "prompt_cache_breakpoint", BREAKPOINT
    template = {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN"},
            {"role": "BOT", "api_role": "BOT", "generate": True},
        ]
    }
    with server() as running:
        chosen: dict[str, Any] = {
            "path": "stub",
            "key": "EMPTY",
            "query_per_second": 100,
            "meta_template": template,
        }
        if kind == "OpenAISDK":
            chosen |= {"openai_api_base": running.url, "tokenizer_path": tokenizer, "temperature": 0}
        else:
            anthropic = pytest.importorskip("anthropic")
            create = anthropic.Anthropic(api_key="EMPTY").messages.create
            if "temperature" not in signature(create).parameters:
                pytest.skip("this version of anthropic takes no temperature, which OpenCompass sends")
            mark, field = "cache_control", CONTROL
            chosen |= {"base_url": running.url.removesuffix("/v1")}
        model = getattr(opencompass.models, kind)(**chosen)
        infer(QA, model, tmp_path / "split", lct_split_messages=mark)
        half = len(running.bodies)
        infer(QA, model, tmp_path / "whole")
    check(running.bodies[:half], field)
    assert all(isinstance(row["content"], str) for body in running.bodies[half:] for row in body["messages"])


@needs("inspect_ai")
@pytest.mark.usefixtures("meetings")
@pytest.mark.parametrize(
    ("model", "arguments", "field"),
    [
        # Without marks: inspect_ai sends OpenAI's to its own address only.
        ("openai-api/stub/stub", {}, {}),
        ("openai/gpt-6.2-sol", {"responses_api": False}, {}),
        ("anthropic/claude-opus-5", {}, CONTROL),
    ],
)
def test_inspect(
    model: str,
    arguments: dict[str, Any],
    field: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from inspect_ai import eval as evaluate_inspect

    import long_context_tasks.hosts.inspect.registry  # noqa: F401

    for name in ("STUB", "OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "EMPTY")
    anthropic = model.startswith("anthropic")
    if anthropic:
        pytest.importorskip("anthropic")
    with server() as running:
        url = running.url.removesuffix("/v1") if anthropic else running.url
        half = []
        for mark in ("cache_control", None):
            [log] = evaluate_inspect(
                f"long_context_tasks/{QA}",
                model=model,
                model_base_url=url,
                model_args=arguments,
                task_args={"lct_split_messages": mark} if mark else {},
                max_connections=1,
                display="none",
                log_dir=str(tmp_path / str(mark)),
            )
            assert log.status == "success", log.error
            half.append(len(running.bodies))
    calls = zip(running.paths, running.bodies[: half[0]], strict=False)
    check([body for path, body in calls if "count_tokens" not in path], field)
    [run] = find_runs(tmp_path / "cache_control").runs
    assert run.options["lct_split_messages"] == "cache_control"


@pytest.mark.usefixtures("meetings")
def test_settings_tell_a_run_in_parts_from_others(tmp_path: Path) -> None:
    """A server may join parts with a newline, so such a run is a cell of its own."""
    from long_context_tasks.benchmarks.catalogue import parse_task
    from long_context_tasks.results.settings import changed_options

    plain, split = load(QA), load(QA, lct_split_messages="plain")
    assert "lct_split_messages" not in plain.description()
    assert changed_options(parse_task(QA), split.description())["lct_split_messages"] == "plain"


@needs("lm_eval")
@pytest.mark.usefixtures("meetings")
def test_a_model_in_this_process_gets_no_parts(tmp_path: Path) -> None:
    tiny = make_tiny_model(tmp_path / "tiny")
    for more in ({"apply_chat_template": True}, {}):
        with pytest.raises(InputError, match="lct_split_messages is for chat models at an endpoint"):
            evaluate(
                QA,
                {"lct_split_messages": "plain"},
                model="hf",
                model_args=f"pretrained={tiny}",
                device="cpu",
                **more,
            )


@needs("lm_eval")
@pytest.mark.usefixtures("meetings")
def test_judges_get_the_text_before_the_question_as_the_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = []
    for mark in ("cache_control", ""):
        with server() as running, judge_server() as judge:
            name_judge(monkeypatch, judge.url, **({"SPLIT_MESSAGES": mark} if mark else {}))
            evaluate(
                TALK,
                model="local-chat-completions",
                model_args=served_by(running.url),
                apply_chat_template=True,
            )
            monkeypatch.delenv("LCT_JUDGE_SPLIT_MESSAGES", raising=False)
        bodies.append(judge.bodies[1:])  # the first is the check of the judge
    split, whole = (
        sorted([[row["role"], joined(row["content"])] for row in b["messages"]] for b in each)
        for each in bodies
    )
    assert len(bodies[0]) == len(bodies[1]) == 3, "a reply in parts must not stand for one without"
    assert split == whole
    for body in bodies[0]:
        system, (first, second) = body["messages"][0]["content"], body["messages"][1]["content"]
        assert isinstance(system, str) and first["cache_control"] == {"type": "ephemeral"}
        assert first["text"].endswith("### Question:\n") and second["text"].count("### Score rubric:") == 1
    assert all(isinstance(row["content"], str) for body in bodies[1] for row in body["messages"])


def test_folding_moves_the_mark() -> None:
    from long_context_tasks.schema.case import folded

    sent = folded([Message("system", "S"), Message("user", "text. asked?", 6)])
    assert sent[0].texts() == ["S\n\ntext. ", "asked?"]
    [one] = folded([Message("system", "S. text.", 8), Message("user", "asked?")])
    assert one.texts() == ["S. text.", "\n\nasked?"]
