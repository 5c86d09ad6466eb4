"""lm-eval's task class in the real evaluator: what is sent, what is left out, what every result carries."""

import gzip
import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from stub_server import stub_server
from tiny_model import make_tiny_model

lm_eval = pytest.importorskip("lm_eval")

from lm_eval.tasks import TaskManager

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ada_leval.data import load_task
from long_context_tasks.hosts import lm_eval as adapter
from long_context_tasks.hosts.generate import lm_eval_files
from long_context_tasks.hosts.lm_eval_paths import task_folders
from long_context_tasks.hosts.lm_eval_refusals import REFUSED
from long_context_tasks.hosts.lm_eval_window import find_window
from long_context_tasks.hosts.results import result_keys
from long_context_tasks.schema import InputError, Options, Score

TASK = "ada_leval_bestanswer_1k"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six BestAnswer cases, the last two ten times as long, in the published form."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
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


def _evaluate(task: str = TASK, metadata: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    # The command line puts the model arguments into the metadata.
    given = dict(item.split("=", 1) for item in arguments.get("model_args", "").split(",") if item)
    metadata = {**given, **(metadata or {})}
    manager = TaskManager(
        include_defaults=False, include_path=[str(f) for f in task_folders()], metadata=metadata
    )
    result: dict[str, Any] = lm_eval.simple_evaluate(
        tasks=[task], task_manager=manager, log_samples=True, bootstrap_iters=0, **arguments
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
        assert find_window(Options(), arguments, None).tokens == more.get("max_length", None) or not refused


def test_no_content_is_an_empty_answer(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "the server said A2")
    task = adapter.CaseTask.__new__(adapter.CaseTask)
    task.loaded = load_task(TASK, Options(data_dir=published.parent))
    case = task.loaded.cases.cases[0]
    assert task._scores(case, "the server said A2")["strict_accuracy"] == Score(0.0, "empty")
    assert task._scores(case, "A2")["strict_accuracy"] == Score(1.0)


def test_an_unknown_option_stops_the_run(published: Path) -> None:
    with pytest.raises(InputError, match="lct_windw"):
        _evaluate(model="dummy", metadata={"lct_windw": 4096})


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
