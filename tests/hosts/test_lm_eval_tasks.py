"""lm-eval's task class in the real evaluator: what is sent, what every result carries, what a response is worth."""

import fcntl
import gzip
import itertools
import json
import math
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
from generated_files import delete_others, generated_files
from judge_server import Answer, Others, free_port, judge_server
from lazy_modules import Lazy
from lm_eval_runs import TASK, evaluate, evaluate_served, metrics_of, served_by
from needs import needs
from plugins import installed, package_on_page
from preloaded import host_ended
from stored_runs import run_lm_eval
from stub_server import json_answer, stub_server
from written_book import sorting_cases

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.lm_eval.patches import apply_patches
from long_context_tasks.hosts.lm_eval.results import lm_eval_runs
from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups, task_folder
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.hosts.window import REFUSED
from long_context_tasks.judges.task_judge import score_turns
from long_context_tasks.results import find_runs
from long_context_tasks.schema import InputError, Options, Score
from long_context_tasks.stats.means import result_keys, standard_error

pytestmark = [needs("lm_eval"), pytest.mark.slow]


def test_generating_again_changes_nothing() -> None:
    files = generated_files()
    assert {path: path.read_text(encoding="utf-8") for path in files} == files


def test_generating_deletes_what_no_card_makes_any_more(tmp_path: Path) -> None:
    old, foreign, kept = tmp_path / "old.py", tmp_path / "foreign.py", tmp_path / "kept.py"
    old.write_text("# Made by `make generate` from the card; edit the card instead.\nx = 1\n")
    foreign.write_text("x = 'of somebody else'\n")
    kept.write_text("# Made by `make generate` from the card; edit the card instead.\nx = 2\n")
    assert delete_others({kept: kept.read_text()}) == [old]
    assert foreign.exists() and kept.exists() and not old.exists()


def test_lm_eval_knows_every_task_and_group() -> None:
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_defaults=False, include_path=str(task_folder()))
    assert {spec.name for spec in catalogue.task_specs() if spec.listed} == set(manager.all_subtasks)
    assert {"ada_leval", "ada_leval_tsort", "elitr_bench_qa_multiturn", "lct_synthetic"} <= set(
        manager.all_groups
    )
    # Few enough for a list that people read.
    assert len(manager.all_tasks) <= 40 * len(catalogue.own_benchmark_names())


def test_a_variant_that_is_an_option_is_the_task_of_its_full_name(published: Path, tmp_path: Path) -> None:
    """What lm-eval does not list is run by the plain name and ``lct_variant``; results are those of the full name."""
    result = evaluate(model="dummy", metadata={"lct_variant": "front"})
    full = f"{TASK}_front"
    config = result["configs"][TASK]["metadata"]
    assert config["task"] == full and "lct_variant" not in config
    loaded = load_task(full, Options(data_dir=published.parent))
    sent = [sample["arguments"][0][0] for sample in result["samples"][TASK]]
    assert sent == [loaded.messages(case)[0].content for case in loaded.cases.cases]
    plain = load_task(TASK, Options(data_dir=published.parent))
    assert sent != [plain.messages(case)[0].content for case in plain.cases.cases]
    result.pop("samples")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results_2026-01-01T00-00-00.000000.json").write_text(json.dumps(result, default=str))
    [run] = lm_eval_runs(tmp_path / "out", [path.name for path in (tmp_path / "out").iterdir()])
    assert isinstance(run, StoredRun) and run.task == full
    assert run.numbers["n"] == 6 and "lct_variant" not in run.options
    with pytest.raises(InputError, match=r"has no lct_variant=wer40; there are: .*front"):
        evaluate(model="dummy", metadata={"lct_variant": "wer40"})


def test_a_real_model_end_to_end(published: Path, tiny: Path) -> None:
    arguments = {"model": "hf", "model_args": f"pretrained={tiny}", "device": "cpu"}
    result = evaluate(apply_chat_template=True, **arguments)
    metrics = metrics_of(result)
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
    assert samples["4_A2"]["resps"] == [[REFUSED]] and math.isnan(samples["4_A2"]["strict_accuracy"])
    assert samples["0_A2"]["resps"][0] and "<|im_start|>user" in samples["0_A2"]["arguments"][0][0]


def test_the_table_has_the_main_numbers_and_every_reader_takes_the_log(
    published: Path, tmp_path: Path
) -> None:
    import lm_eval.utils

    apply_patches()  # the start-up hook does it where the package is installed
    replies = itertools.cycle(["A2", "no idea"])
    with stub_server(lambda messages: next(replies)) as server:
        folder = run_lm_eval(tmp_path / "out", [TASK], served_by(server.url))
    [results] = [json.loads(path.read_text()) for path in folder.glob("results_*.json")]
    numbers = results["results"][TASK]
    [path] = folder.glob("samples_*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    values, clusters = [row["strict_accuracy"] for row in rows], [row["doc"]["cluster"] for row in rows]
    assert set(values) == {0, 1}
    assert numbers["strict_accuracy_stderr,none"] == pytest.approx(standard_error(values, clusters))
    whole = json.dumps(results)
    table, by_length = lm_eval.utils.make_table(results).split("By length")
    rows_shown = [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if line][2:]
    assert [(row[5], row[6]) for row in rows_shown] == [
        ("coverage", ""),
        ("n", ""),
        ("n_unparsed", ""),
        ("official_accuracy", "↑"),
        ("strict_accuracy", "↑"),
    ]
    error = numbers["strict_accuracy_stderr,none"]
    assert [float(row[9]) for row in rows_shown if row[9]] == pytest.approx([error, error], abs=1e-4)
    assert [float(row[7]) for row in rows_shown[:3]] == [1, 6, 3]
    assert "| ada_leval_bestanswer | stub         | 50.0 [" in by_length and "| 1k" in by_length
    for name in ("strict_accuracy", "official_accuracy", "random_guess"):
        assert by_length.count(f"{name}: {catalogue.card('ada_leval').metrics[name]}") == 1
    assert "copy_instruction" not in by_length
    assert json.dumps(results) == whole
    assert [row["strict_accuracy_low"]["value"] for row in rows] == values
    import pyarrow.json

    assert pyarrow.json.read_json(path).num_rows == len(rows)
    loaded = Lazy("datasets").load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded["strict_accuracy"][:] == values


def test_what_a_result_says_of_itself(published: Path) -> None:
    """``--limit`` is not the number of cases of the run's options."""
    result = evaluate(model="dummy", metadata={"lct_n": 4, "lct_answer_budget": 9}, limit=2)
    told = result["configs"][TASK]
    assert metrics_of(result)["n"] == 2 and "n" not in told
    expected = {
        "benchmark": "ada_leval",
        "n_cases_available": 6,
        "lct_n": 4,
        "lct_answer_budget": 9,
        "lct_seed": 0,
    }
    assert expected.items() <= told["metadata"].items()
    assert told["generation_kwargs"] == {"until": [], "do_sample": False, "max_gen_toks": 9}


def test_secrets_among_arguments_are_in_no_result(published: Path) -> None:
    given = {"api_key": "pw-1", "url": "http://anne:pw-2@host/v1", "note": "token=pw-3", "dtype": "auto"}
    arguments = {"base_url": "http://host/v1?key=pw-4", "header": {"Authorization": "Bearer pw-5"}}
    settings = {"api_token": "pw-6", "temperature": 0.5}
    result = evaluate(model="dummy", model_args=arguments, gen_kwargs=settings, metadata=given, limit=1)
    told, config = result["configs"][TASK], result["config"]
    assert told["metadata"]["dtype"] == "auto" and told["generation_kwargs"]["temperature"] == 0.5
    assert config["model_args"] == {"base_url": "http://host/v1", "header": "(not shown)"}
    [sample] = result["samples"][TASK]
    assert sample["arguments"][0][1]["temperature"] == 0.5
    assert "pw-" not in str(result)
    # Only the command is over after its results.
    assert arguments["base_url"].endswith("pw-4") and settings["api_token"] == "pw-6"


def test_prompts_without_the_models_chat_template_are_named_once(
    published: Path, tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from long_context_tasks.hosts.lm_eval import task as adapter

    adapter._warn_of_plain_prompts.cache_clear()
    arguments = {"model": "dummy", "limit": 1, "metadata": {"pretrained": str(tiny)}}
    for _ in range(2):
        result = evaluate(**arguments)
        assert result["configs"][TASK]["metadata"]["plain_prompts"] is True
    assert "plain_prompts" not in evaluate(model="dummy", limit=1)["configs"][TASK]["metadata"]
    [line] = [record.getMessage() for record in caplog.records if "chat template" in record.msg]
    assert line.startswith(f"{tiny} has a chat template") and "add --apply_chat_template" in line


def test_answers_without_metrics(published: Path) -> None:
    result = evaluate(model="dummy", predict_only=True)
    assert [sample["resps"] for sample in result["samples"][TASK]] == [[["lol"]]] * 6


def test_the_hosts_store_of_prompts_is_left_alone(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lm_eval.api.task import ConfigurableTask

    for name in ("load_from_cache", "save_to_cache"):
        monkeypatch.setattr(
            f"{ConfigurableTask.__module__}.{name}",
            lambda cache=False, **_: pytest.fail("stored prompts were used") if cache else None,
        )
    assert metrics_of(evaluate(model="dummy", cache_requests=True))["n"] == 6


def test_an_empty_answer_is_a_text_for_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    task = "parcels_shelf_2k_synthetic"
    # The functions on the page take a text unless there is a status.
    folder = package_on_page("adding_a_benchmark.md", "parcels", tmp_path / "package")
    with installed(folder), stub_server(lambda messages: "") as server:
        result = metrics_of(evaluate_served(task, server.url, metadata={"lct_n": 2}), task)
    assert (result["exact"], result["n_unparsed"]) == (0.0, 2)


def test_no_content_is_an_empty_answer(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from long_context_tasks.hosts.lm_eval import task as adapter

    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "the server said A2")
    task = adapter.CaseTask.__new__(adapter.CaseTask)
    task.loaded = load_task(TASK, Options(data_dir=published.parent))
    case = task.loaded.cases.cases[0]
    for text, expected in (("the server said A2", Score(0.0, "empty")), ("A2", Score(1.0))):
        [scores] = score_turns(task.loaded, case, [task._response(text)])
        assert scores["strict_accuracy"] == expected


def test_a_group_is_the_plain_mean_of_its_lengths(published: Path, tmp_path: Path) -> None:
    text = gzip.decompress((published / "stackselect_1k.json.gz").read_bytes())
    for number, name in enumerate(catalogue.card("ada_leval").tasks["bestanswer"].files.values()):
        rows = json.loads(text)[: 2 + number % 3]
        (published / name).write_text(json.dumps([{**row, "answer": "A1"} for row in rows]))
    (published / "stackselect_1k.json.gz").unlink()
    with stub_server(lambda messages: "A1" if "What is 0?" in messages[0]["content"] else "A2") as server:
        folder = run_lm_eval(tmp_path / "out", ["ada_leval_bestanswer"], served_by(server.url))
    [path] = folder.glob("results_*.json")
    result = json.loads(path.read_text())
    group = "ada_leval_bestanswer"
    single = [result["results"][task]["strict_accuracy,none"] for task in result["group_subtasks"][group]]
    assert len(set(single)) == 3
    for metric in ("strict_accuracy", "official_accuracy"):
        assert result["groups"][group][f"{metric},none"] == pytest.approx(sum(single) / len(single))
    # lm-eval 0.5 puts the name of the group before that of the task.
    runs = {run.task: run for run in find_runs(folder).runs}
    assert set(lm_eval_groups()[group]) == set(runs)
    assert [runs[name].numbers["strict_accuracy"] for name in lm_eval_groups()[group]] == single
    assert all(len(list(run.cases())) == run.numbers["n"] for run in runs.values())


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "name", [f"{TASK}_synthetic", "elitr_bench_conv_synthetic", "ethic_recall_medicine_synthetic"]
)
def test_a_tasks_methods_need_no_more_than_the_host_promises(name: str) -> None:
    """lm-eval's tests of tasks call them so, and want white space on one side at most between prompt and answer."""
    from lm_eval.tasks import TaskManager

    options = {"lct_n": 2} if "1k" in name else {"lct_n": 2, "lct_length": "1k"}
    manager = TaskManager(include_defaults=False, include_path=str(task_folder()), metadata=options)
    [task] = manager.load([name])["tasks"].values()
    prompts = [task.doc_to_text(doc) for doc in task.test_docs()]
    for doc, prompt in zip(task.test_docs(), prompts, strict=True):
        request = task.construct_requests(doc=doc, ctx=prompt)
        assert (request.args, request.task_name, request.repeats) == (
            (prompt, task.config.generation_kwargs),
            name,
            1,
        )
        assert not (prompt[-1].isspace() and task.config.target_delimiter[:1].isspace())
    task.build_all_requests(rank=0, limit=1, world_size=1)
    assert task.instances
    assert name != f"{TASK}_synthetic" or all(prompt[-1].isspace() for prompt in prompts)


def test_an_unknown_option_stops_the_run(published: Path) -> None:
    with pytest.raises(InputError, match="lct_windw"):
        evaluate(model="dummy", metadata={"lct_windw": 4096})


@pytest.mark.hosts
def test_the_command_and_its_last_line_when_data_are_missing(published: Path, tiny: Path) -> None:
    def run(task: str) -> tuple[int, str]:
        words = (
            f"lm_eval --model hf --model_args pretrained={tiny} --device cpu --apply_chat_template".split()
        )
        return host_ended([*words, "--tasks", task], published, {"COLUMNS": "300"})

    code, output = run(TASK)
    assert code == 0, output[-2000:]
    assert "2 of 6 cases do not fit the window of the model (1500 (host))" in output
    assert "4_A2, 5_A2; to keep them, take a shorter length" in output
    shown = re.findall(r"\|none +\| +0\|(\w+)", output)
    assert {"strict_accuracy", "official_accuracy", "n", "coverage"} < set(shown) and "By length" in output
    assert "n_does_not_fit" in shown and "n_judge_failed" not in shown
    assert "has a chat template" not in output
    code, output = run("ada_leval_tsort_2k")
    assert code != 0
    last = output.strip().splitlines()[-1]
    assert "textsort_2k.json" in last and "lct data fetch ada_leval" in last
    assert last.startswith("InputError: ") and "Traceback" not in output


@pytest.mark.hosts
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("hf --model_args pretrained=./gone", "InputError: pretrained ./gone: no such folder; "),
        (
            "hf --model_args pretrained=models/smol",
            "InputError: pretrained models/smol: no such folder here, and ",
        ),
        ("hf --model_args pretrained={empty}", "InputError: pretrained {empty}: the folder holds no model"),
        (
            "local-chat-completions --model_args model=m,base_url=http://127.0.0.1:{port}/v1/chat/completions",
            "InputError: http://127.0.0.1:{port} cannot be reached (",
        ),
    ],
)
def test_a_model_that_is_not_there_ends_the_command_in_one_line(
    published: Path, tmp_path: Path, model: str, said: str
) -> None:
    port, empty = free_port(), tmp_path / "empty"
    empty.mkdir()
    places = {"port": port, "empty": empty}
    words = f"lm_eval --model {model} --apply_chat_template --tasks {TASK}".format(**places).split()
    away = {"HF_ENDPOINT": f"http://127.0.0.1:{port}"}
    code, output = host_ended(words, published, {"COLUMNS": "300", **away})
    assert code != 0 and "Traceback" not in output, output[-2000:]
    assert output.strip().splitlines()[-1].startswith(said.format(**places))


_HELD = """
import signal, sys
import lm_eval
from lm_eval.api.model import LM
from tqdm import tqdm

class Held(LM):
    def generate_until(self, requests, disable_tqdm=False):
        signal.alarm(60)
        with tqdm(total=len(requests), desc="theirs"):
            sys.stdin.readline()
        return ["" for _ in requests]

    loglikelihood = loglikelihood_rolling = generate_until

lm_eval.simple_evaluate(Held(), tasks=["needle_plain_500"], limit=1)
"""


@pytest.mark.hosts
def test_the_clock_of_a_models_bar_goes_on(tmp_path: Path) -> None:
    """The model answers when the terminal has shown two of its seconds, and dies if it shows none."""
    console, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _HELD], cwd=tmp_path, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    while len(set(re.findall(rb"theirs:   0%\|[^\r]*\| 0/1 \[(\d\d:\d\d)<", shown))) < 2:
        shown += os.read(console, 65536)
    process.communicate(b"\n")
    os.close(console)
    assert process.returncode == 0


MODELS = {"/v1/models": lambda _: json_answer({"data": [{"id": "tiny"}, {"id": "small"}]})}
REFUSING = {path: lambda _: Answer(status=401) for path in ("/v1/models", "/v1/chat/completions")}


@pytest.mark.hosts
@pytest.mark.parametrize(
    ("others", "model", "path", "said"),
    [
        (REFUSING, "tiny", "/v1/chat/completions", "fails (401): put its key into OPENAI_API_KEY"),
        (
            {
                **MODELS,
                "/v1/chat/completions": lambda _: Answer(
                    status=403, raw=b'{"error": {"message": "no access"}}'
                ),
            },
            "tiny",
            "/v1/chat/completions",
            "fails (403: no access): put its key into OPENAI_API_KEY",
        ),
        (
            {**MODELS, "/v1/chat/completions": lambda _: Answer(status=404)},
            "nope",
            "/v1/chat/completions",
            "fails (404): it has no model 'nope'; name one of its models: tiny, small",
        ),
        (
            {**MODELS, "/v1": lambda _: Answer(status=404)},
            "tiny",
            "/v1",
            "fails (404): correct base_url to {root}/v1/chat/completions",
        ),
        (
            {**MODELS, "/models": lambda _: Answer(status=404), "/": lambda _: Answer(status=405)},
            "tiny",
            "/",
            "fails (405): correct base_url to {root}/v1/chat/completions",
        ),
    ],
    ids=["key", "key with an open list", "model", "no endpoint", "no v1"],
)
def test_a_server_that_refuses_ends_the_command_in_one_line(
    published: Path, others: Others, model: str, path: str, said: str
) -> None:
    with stub_server(others=others) as stub:
        root = stub.url.removesuffix("/v1")
        words = (
            f"lm_eval --model local-chat-completions --apply_chat_template --tasks {TASK} "
            f"--model_args model={model},base_url={root}{path}"
        ).split()
        code, output = host_ended(words, published, {"COLUMNS": "300"})
    assert code != 0 and "Traceback" not in output and "retrying" not in output, output[-2000:]
    address = f"{root}{path}".rstrip("/")
    assert output.strip().splitlines()[-1] == f"InputError: the server {address} {said.format(root=root)}"
    assert not stub.requests


@pytest.mark.hosts
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            f"--apply_chat_template --tasks {TASK}",
            "the server {url} fails (500: out of memory): see its log, then run again; with --use_cache, a run keeps its answers",
        ),
        (f"--tasks {TASK}", f"{TASK}: this --model sends only chats; add --apply_chat_template"),
        (
            f'--apply_chat_template --tasks {TASK}_synthetic --metadata {{"lct_length":"2k"}}',  # lm-eval 0.5 takes JSON only
            f"{TASK}_synthetic has a fixed length; leave out lct_length, or name ada_leval_bestanswer_any_synthetic",
        ),
    ],
    ids=["500", "no chat", "fixed length"],
)
def test_a_run_that_cannot_succeed_ends_in_one_line(published: Path, more: str, said: str) -> None:
    with judge_server(lambda *_: Answer(status=500, error="out of memory")) as server:
        url = f"{server.url}/chat/completions"
        settings = f"model=stub,base_url={url},num_concurrent=2,max_retries=2"
        words = f"lm_eval --model local-chat-completions --model_args {settings} {more}".split()
        code, output = host_ended(words, published, {"COLUMNS": "300"})
    assert code != 0 and "Traceback" not in output, output[-2000:]
    assert output.strip().splitlines()[-1] == f"InputError: {said.format(url=url)}"


@pytest.mark.hosts
@pytest.mark.parametrize("concurrent", [1, 2])
def test_a_server_that_stops_answering_ends_a_run_in_one_line(published: Path, concurrent: int) -> None:
    # lm-eval's one request with max_tokens=1 comes before the run.
    with judge_server(lambda asked, _: Answer(delay=30 if asked["max_tokens"] > 1 else 0)) as server:
        url = f"{server.url}/chat/completions"
        settings = f"model=stub,base_url={url},num_concurrent={concurrent},max_retries=1,timeout=1"
        words = f"lm_eval --model local-chat-completions --model_args {settings} --apply_chat_template --tasks {TASK}".split()
        code, output = host_ended(words, published, {"COLUMNS": "300"})
    assert code != 0 and "Traceback" not in output, output[-2000:]
    assert output.strip().splitlines()[-1].startswith(f"InputError: the server {url} gave no answer (")


def test_perplexity_is_that_of_the_whole_text(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    task = "ada_leval_tsort_any_ppl"
    result = evaluate(
        task,
        model="hf",
        model_args=f"pretrained={tiny}",
        device="cpu",
        metadata={"lct_length": "1k", "lct_cases": str(sorting_cases(tmp_path / "cases", n=1))},
    )
    metrics = metrics_of(result, task)
    assert metrics["n_scored"] == 1 and metrics["random_guess"] == pytest.approx(1 / 24)
    [sample] = result["samples"][task]
    texts = [argument[-1] for argument in sample["arguments"]]
    assert len(set(texts)) == 24 and len({"".join(sorted(text)) for text in texts}) == 1
    model = AutoModelForCausalLM.from_pretrained(tiny)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    for text, response in list(zip(texts, sample["resps"], strict=True))[::8]:
        ids = torch.tensor([[first, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.no_grad():
            logits = model(ids).logits.log_softmax(-1)
        expected = logits[0, :-1].gather(-1, ids[0, 1:, None]).sum().item()
        assert np.ravel(response[0])[0] == pytest.approx(expected, rel=1e-4)
