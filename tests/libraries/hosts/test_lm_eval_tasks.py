"""lm-eval's task class in the real evaluator: what is sent, what is left out, what every result carries."""

import gzip
import json
import math
import os
import pickle
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import requests
from stub_server import stub_server
from tiny_model import make_tiny_model

pytest.importorskip("lm_eval")

import lm_eval
from lm_eval.tasks import TaskManager

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ada_leval.data import load_task
from long_context_tasks.hosts import lm_eval as adapter
from long_context_tasks.hosts import lm_eval_window as window_module
from long_context_tasks.hosts.generate import lm_eval_files
from long_context_tasks.hosts.lm_eval_documents import RecentDocuments
from long_context_tasks.hosts.lm_eval_paths import task_folders
from long_context_tasks.hosts.lm_eval_refusals import REFUSED
from long_context_tasks.hosts.lm_eval_window import find_window
from long_context_tasks.hosts.results import result_keys
from long_context_tasks.schema import CaseWriter, Documents, InputError, Options, Score

TASK = "ada_leval_bestanswer_1k"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six BestAnswer cases, the last two ten times as long, in the published form."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "data"))
    # Nothing is downloaded; the host's dummy model would try to.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    rows = [
        {
            "question_id": str(i),
            "question": f"\nWhat is {i}?\n",
            "all_answers": [
                f"\nIt is {j}. " + "More words. " * (10 if i < 4 else 400) + "\n" for j in range(3)
            ],
            "answer": "A2",
            "tags": ["x"],
        }
        for i in range(6)
    ]
    folder = tmp_path / "data" / "ada_leval"
    folder.mkdir(parents=True)
    with gzip.open(folder / "stackselect_1k.json.gz", "wt") as file:
        json.dump(rows, file)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("model"), max_position_embeddings=1500)


def _evaluate(
    task: str | list[str] = TASK, metadata: dict[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    # The command line puts the model arguments into the metadata.
    given = dict(item.split("=", 1) for item in arguments.get("model_args", "").split(",") if item)
    metadata = {**given, **(metadata or {})}
    manager = TaskManager(
        include_defaults=False, include_path=[str(f) for f in task_folders()], metadata=metadata
    )
    result: dict[str, Any] = lm_eval.simple_evaluate(
        tasks=[task] if isinstance(task, str) else task,
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
        **arguments,
    )
    return result


def _metrics(result: dict[str, Any], task: str = TASK) -> dict[str, float]:
    return {
        key.removesuffix(",none"): value
        for key, value in result["results"][task].items()
        if key.endswith(",none")
    }


def test_generating_again_changes_nothing() -> None:
    files = lm_eval_files()
    assert {path: path.read_text(encoding="utf-8") for path in files} == files
    [folder] = {path.parent for path in files}
    assert sorted(folder.iterdir()) == sorted(files)


def test_lm_eval_knows_every_task_and_group() -> None:
    manager = TaskManager(include_defaults=False, include_path=[str(f) for f in task_folders()])
    assert {spec.name for spec in catalogue.task_specs()} == set(manager.all_subtasks)
    assert {"ada_leval", "ada_leval_tsort", "ada_leval_bestanswer_front", "lct_synthetic"} <= set(
        manager.all_groups
    )


def test_a_real_model_end_to_end(published: Path, tiny: Path) -> None:
    arguments = {"model": "hf", "model_args": f"pretrained={tiny}", "device": "cpu"}
    result = _evaluate(apply_chat_template=True, **arguments)
    metrics = _metrics(result)
    card = catalogue.card("ada_leval")
    keys = result_keys(tuple(card.metrics), ("strict_accuracy", "official_accuracy"))
    assert set(keys) == {key for key in metrics if not key.endswith("_stderr")}
    assert (metrics["n"], metrics["n_scored"], metrics["n_does_not_fit"], metrics["n_truncated"]) == (
        6,
        4,
        2,
        0,
    )
    assert metrics["coverage"] == pytest.approx(4 / 6)
    assert metrics["random_guess"] == pytest.approx(1 / 3)
    told = result["configs"][TASK]["metadata"]
    assert (
        told["window"] == "1500 (host)"
        and told["headline"] == "strict_accuracy"
        and told["version"] == card.version
    )
    samples = {sample["doc"]["case"]: sample for sample in result["samples"][TASK]}
    assert [name for name, sample in samples.items() if sample["n_does_not_fit"]] == ["4_A2", "5_A2"]
    assert samples["4_A2"]["resps"] == [[]] and math.isnan(samples["4_A2"]["strict_accuracy"])
    assert samples["0_A2"]["resps"][0] and "<|im_start|>user" in samples["0_A2"]["arguments"][0][0]


def test_the_window_is_found_without_a_chat_template(published: Path, tiny: Path) -> None:
    arguments = {"model": "hf", "model_args": f"pretrained={tiny}", "device": "cpu"}
    result = _evaluate(**arguments)
    assert result["configs"][TASK]["metadata"]["window"] == "1500 (host)"
    assert _metrics(result)["n_does_not_fit"] == 2


def test_a_window_that_nothing_fits(published: Path, tiny: Path) -> None:
    arguments = {
        "model": "hf",
        "model_args": f"pretrained={tiny}",
        "device": "cpu",
        "apply_chat_template": True,
    }
    metrics = _metrics(_evaluate(metadata={"lct_window": 100}, **arguments))
    assert (metrics["n_does_not_fit"], metrics["n_scored"], metrics["coverage"]) == (6, 0, 0)
    assert math.isnan(metrics["strict_accuracy"])


def test_a_window_that_nothing_fits_with_a_model_that_wants_a_prompt(published: Path) -> None:
    from lm_eval.models.dummy import DummyLM

    class Wants(DummyLM):
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            asked.extend(request.args[0] for request in requests)
            return ["A2"] * len(requests) if requests else pytest.fail("an empty list")

    asked: list[str] = []
    result = _evaluate(model=Wants(), metadata={"lct_window": 100})
    assert asked == ["."] and _metrics(result)["n_does_not_fit"] == 6
    assert [sample["resps"] for sample in result["samples"][TASK]] == [[[]]] * 6


def test_prompts_that_the_host_cuts_are_counted(published: Path, tiny: Path) -> None:
    arguments = {"model": "hf", "model_args": f"pretrained={tiny}", "device": "cpu"}
    result = _evaluate(metadata={"lct_window": 100_000}, **arguments)
    assert result["configs"][TASK]["metadata"]["window"] == "100000 (lct_window)"
    metrics = _metrics(result)
    assert (metrics["n_does_not_fit"], metrics["n_scored"], metrics["n_truncated"]) == (0, 6, 2)


def test_what_a_result_says_of_itself(published: Path) -> None:
    told = _evaluate(model="dummy", metadata={"lct_n": 4, "lct_answer_budget": 9})["configs"][TASK]
    expected = {"benchmark": "ada_leval", "n": 4, "lct_n": 4, "lct_answer_budget": 9, "lct_seed": 0}
    assert expected.items() <= told["metadata"].items()
    assert told["generation_kwargs"] == {"until": [], "do_sample": False, "max_gen_toks": 9}


def test_answers_without_metrics(published: Path) -> None:
    result = _evaluate(model="dummy", predict_only=True)
    assert [sample["resps"] for sample in result["samples"][TASK]] == [[["lol"]]] * 6


def test_the_hosts_store_of_prompts_is_left_alone(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("lm_eval.api.task.load_from_cache", "lm_eval.api.task.save_to_cache"):
        monkeypatch.setattr(
            module, lambda cache=False, **_: pytest.fail("stored prompts were used") if cache else None
        )
    assert _metrics(_evaluate(model="dummy", cache_requests=True))["n"] == 6


def test_an_unknown_window_is_said_so(published: Path) -> None:
    result = _evaluate(model="dummy")
    assert result["configs"][TASK]["metadata"]["window"] == "unchecked"
    assert math.isnan(_metrics(result)["n_truncated"]) and _metrics(result)["n_scored"] == 6


_KINDS = [
    ("local-chat-completions", "chat/completions", {"apply_chat_template": True}, "num_concurrent=1"),
    ("local-chat-completions", "chat/completions", {"apply_chat_template": True}, "num_concurrent=4"),
    (
        "local-completions",
        "completions",
        {},
        "num_concurrent=1,tokenized_requests=False,tokenizer_backend=None",
    ),
    (
        "local-completions",
        "completions",
        {},
        "num_concurrent=4,batch_size=3,tokenized_requests=False,tokenizer_backend=None",
    ),
]


@pytest.mark.parametrize(("model", "path", "arguments", "more"), _KINDS)
def test_a_refusal_for_length_costs_its_case(
    published: Path, model: str, path: str, arguments: dict[str, Any], more: str
) -> None:
    with stub_server(lambda messages: "A2", refuse_over=9000) as server:
        url = f"{server.url}/{path}"
        result = _evaluate(
            model=model, model_args=f"model=stub,base_url={url},max_retries=2,{more}", **arguments
        )
        assert len(server.requests) == 4
    metrics = _metrics(result)
    assert (metrics["n_does_not_fit"], metrics["n_scored"], metrics["strict_accuracy"]) == (2, 4, 1.0)
    assert result["configs"][TASK]["metadata"]["window"] == "unchecked"
    assert [s["doc"]["case"] for s in result["samples"][TASK] if s["resps"][0][0] == REFUSED] == [
        "4_A2",
        "5_A2",
    ]


@pytest.mark.parametrize("concurrent", [1, 4])
def test_a_refusal_is_not_kept_for_the_next_run(published: Path, tmp_path: Path, concurrent: int) -> None:
    def run(**limits: Any) -> tuple[dict[str, float], int]:
        with stub_server(lambda messages: "A2", **limits) as server:
            arguments = f"model=stub,base_url={server.url}/chat/completions,num_concurrent={concurrent}"
            # The address is not in the key of the host's cache: the second run finds the first one's answers.
            result = _evaluate(
                model="local-chat-completions",
                model_args=arguments,
                apply_chat_template=True,
                use_cache=str(tmp_path / "store"),
            )
            return _metrics(result), len(server.requests)

    metrics, _ = run(refuse_over=9000)
    assert metrics["n_does_not_fit"] == 2
    metrics, asked = run()
    assert (metrics["n_does_not_fit"], metrics["strict_accuracy"], asked) == (0, 1.0, 2)


def test_a_refusal_of_a_prompt_sent_as_tokens(published: Path, tiny: Path) -> None:
    def too_long(messages: list[dict[str, Any]]) -> str:
        return "A2"

    with stub_server(too_long, refuse_over=1400) as server:
        arguments = (
            f"model=stub,base_url={server.url}/completions,tokenizer={tiny},max_length=4000,num_concurrent=1"
        )
        result = _evaluate(model="local-completions", model_args=arguments)
    metrics = _metrics(result)
    assert result["configs"][TASK]["metadata"]["window"] == "4000 (host)"
    assert (metrics["n_does_not_fit"], metrics["n_scored"]) == (2, 4)


def test_another_tasks_prompts_are_not_touched(published: Path) -> None:
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalChatCompletion

    from long_context_tasks.hosts.lm_eval_refusals import CaseInstance, convert_length_refusals

    convert_length_refusals()

    def request(kind: type[Instance], text: str) -> Instance:
        prompt = model.apply_chat_template([{"role": "user", "content": text}])
        return kind("generate_until", {}, (prompt, {"max_gen_toks": 4}), 0, metadata=("x", 0, 1))

    with stub_server(lambda messages: messages[0]["content"][:2], refuse_over=100) as server:
        model = LocalChatCompletion(base_url=f"{server.url}/chat/completions", model="stub", max_retries=1)
        ours, theirs = request(CaseInstance, "aa" * 90), request(Instance, "bb")
        assert model.generate_until([ours, theirs, request(CaseInstance, "cc")]) == [REFUSED, "bb", "cc"]
        assert model.generate_until([theirs]) == ["bb"]
        with pytest.raises(requests.HTTPError):
            model.generate_until([ours, request(Instance, "dd" * 90)])


def test_other_failures_of_a_server_still_end_the_run(published: Path) -> None:
    import aiohttp

    def broken(messages: list[dict[str, str]]) -> str:
        raise ConnectionResetError

    with stub_server(broken) as server, pytest.raises(aiohttp.ClientError):
        url = f"{server.url}/chat/completions"
        _evaluate(
            model="local-chat-completions",
            model_args=f"model=stub,base_url={url},max_retries=1,num_concurrent=2",
            apply_chat_template=True,
        )


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
    arguments = {"base_url": "http://127.0.0.1:9/v1/completions", "model": "stub", **more}
    with pytest.raises(InputError, match="2,047") if refused else nullcontext():
        find_window(Options(), arguments, None)


def test_a_servers_class_has_no_window_of_its_own() -> None:
    from lm_eval.models.openai_completions import OpenAIChatCompletion

    model = OpenAIChatCompletion(model="stub")
    assert not find_window(Options(), {"model": "stub"}, model).window.checked
    counted = find_window(Options(window=50), {"model": "stub"}, model).window
    assert counted.describe() == "50 (lct_window, counted in cl100k)"
    assert counted.fits("short", 10) and not counted.fits("word " * 60, 10)


def test_a_model_without_a_window_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, MambaConfig

    MambaConfig(num_hidden_layers=1).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.model_max_length = int(1e30)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="max_length=WINDOW"):
        find_window(Options(), {"pretrained": str(tmp_path)}, None)
    assert find_window(Options(), {"pretrained": str(tmp_path), "max_length": 900}, None).window.tokens == 900


def test_a_prompt_that_obviously_fits_is_not_encoded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    monkeypatch.setattr(window_module, "_count_like_host", lambda _, text: encoded.append(text) or 500)
    window = find_window(Options(), {"pretrained": str(tiny)}, None, 100).window
    assert window.fits("x" * 1400, 100) and not encoded
    assert window.fits("x" * 1401, 100) and len(encoded) == 1


def test_no_content_is_an_empty_answer(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "the server said A2")
    task = adapter.CaseTask.__new__(adapter.CaseTask)
    task.loaded = load_task(TASK, Options(data_dir=published.parent))
    case = task.loaded.cases.cases[0]
    task._unfit = {}
    assert task._scores(case, "the server said A2")["strict_accuracy"] == Score(0.0, "empty")
    assert task._scores(case, "A2")["strict_accuracy"] == Score(1.0)


def test_a_group_is_the_plain_mean_of_its_lengths(published: Path) -> None:
    text = gzip.decompress((published / "stackselect_1k.json.gz").read_bytes())
    for number, name in enumerate(catalogue.card("ada_leval").tasks["bestanswer"].files.values()):
        rows = json.loads(text)[: 2 + number % 3]
        (published / name).write_text(json.dumps([{**row, "answer": "A1"} for row in rows]))
    (published / "stackselect_1k.json.gz").unlink()
    with stub_server(lambda messages: "A1" if "What is 0?" in messages[0]["content"] else "A2") as server:
        result = _evaluate(
            ["ada_leval_bestanswer", "ada_leval_bestanswer_front"],
            model="local-chat-completions",
            model_args=f"model=stub,base_url={server.url}/chat/completions,num_concurrent=8",
            apply_chat_template=True,
        )
    for group in ("ada_leval_bestanswer", "ada_leval_bestanswer_front"):
        single = [result["results"][task]["strict_accuracy,none"] for task in result["group_subtasks"][group]]
        assert len(set(single)) == 3
        for metric in ("strict_accuracy", "official_accuracy"):
            assert result["groups"][group][f"{metric},none"] == pytest.approx(sum(single) / len(single))


def test_an_unknown_option_stops_the_run(published: Path) -> None:
    with pytest.raises(InputError, match="lct_windw"):
        _evaluate(model="dummy", metadata={"lct_windw": 4096})


@pytest.mark.hosts
def test_the_command_and_its_last_line_when_data_are_missing(published: Path, tiny: Path) -> None:
    def run(task: str) -> subprocess.CompletedProcess[str]:
        options = [
            "--model",
            "hf",
            "--model_args",
            f"pretrained={tiny}",
            "--device",
            "cpu",
            "--apply_chat_template",
        ]
        return subprocess.run(
            [Path(sys.executable).with_name("lm_eval"), *options, "--tasks", task],
            env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )

    good = run(TASK)
    assert good.returncode == 0, good.stderr[-2000:]
    assert "2 of 6 cases do not fit the window of the model (1500 (host))" in good.stderr
    assert "4_A2, 5_A2" in good.stderr and "strict_accuracy_low" in good.stdout
    bad = run("ada_leval_tsort_2k")
    assert bad.returncode != 0
    last = bad.stderr.strip().splitlines()[-1]
    assert "textsort_2k.json" in last and "lct data fetch ada_leval" in last


def test_short_texts_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("long_context_tasks.hosts.lm_eval_documents.KEPT", 25)
    texts = {"a": "a" * 10, "b": "b" * 10, "c": "c" * 10, "long": "d" * 26}
    with CaseWriter(tmp_path / "cases", {}) as writer:
        writer.add_documents(texts.items())
    documents = RecentDocuments(Documents(tmp_path / "cases" / "documents.sqlite"))
    for key in ("a", "b", "a", "c", "long", "a", "b"):
        assert documents[key] == texts[key]
        assert sum(map(len, documents._recent.values())) == documents._size <= 25
    assert list(documents._recent) == ["a", "b"]
    assert pickle.loads(pickle.dumps(documents))["c"] == texts["c"]


def test_perplexity_is_that_of_the_whole_text(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    task = "ada_leval_tsort_any_ppl_synthetic"
    result = _evaluate(
        task,
        model="hf",
        model_args=f"pretrained={tiny}",
        device="cpu",
        metadata={"lct_length": "1k", "lct_n": 1},
    )
    metrics = _metrics(result, task)
    assert metrics["n_scored"] == 1 and metrics["random_guess"] == pytest.approx(1 / 24)
    [sample] = result["samples"][task]
    texts = [argument[0] for argument in sample["arguments"]]
    assert len(set(texts)) == 24 and len({"".join(sorted(text)) for text in texts}) == 1
    model = AutoModelForCausalLM.from_pretrained(tiny)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    for text, response in list(zip(texts, sample["resps"], strict=True))[::8]:
        ids = torch.tensor([[first, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.no_grad():
            logits = model(ids).logits.log_softmax(-1)
        expected = logits[0, :-1].gather(-1, ids[0, 1:, None]).sum().item()
        assert response[0] == pytest.approx(expected, rel=1e-4)
