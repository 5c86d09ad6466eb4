"""Trainings and runs of both hosts that are killed at any moment: the same command comes to the same end.

`make test` kills each of them once at a chosen step, in the tests of training and of the hosts.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from both_hosts import configs_for_the_server
from json_lines import write_rows
from kills import ALL, Command, killed_and_finished, moments
from needs import needs
from orca_training import files_of, rated_items, rows_of
from preloaded import HOSTS, preloaded
from run_commands import ADA, published_data, served_model
from stub_server import Stub, answer_by_hash, messages_hash, stub_server
from tiny_model import demo_model, make_tiny_model

pytestmark = [
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.skipif(not ALL, reason="`make faults` tries it: minutes"),
]

MODELS = ("transformers.models.llama.modeling_llama", "peft")
CASES, IN_FLIGHT = 24, 4


def test_a_killed_training_goes_on(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model", max_position_embeddings=256)
    train = write_rows(tmp_path / "train.jsonl", rows_of(rated_items(40)))
    dev = write_rows(tmp_path / "dev.jsonl", rows_of(rated_items(8, 9)))
    words = ["lct", "orca", "train", "--train", train, "--dev", dev, "--model", model, "--device", "cpu"]
    words += ["--epochs", 10, "--batch-size", 10, "--lora-rank", 2, "--head", "beta"]

    def training(folder: Path) -> Command:
        out = folder / "out"
        begun = lambda: any(folder.glob("*out*"))  # noqa: E731
        return Command((*words, "--out", out), folder, {}, begun, ready)

    with preloaded("long_context_tasks.cli.orca", "long_context_tasks.orca.train.loop", *MODELS) as ready:
        whole = training(tmp_path / "whole")
        seconds, expected = whole.finish(), files_of(tmp_path / "whole" / "out")
        for number, moment in moments("training"):
            folder = tmp_path / str(number)
            killed_and_finished(training, folder, moment * seconds)
            assert files_of(folder / "out") == expected
            assert {path.name for path in folder.iterdir()} == {"out", "output.log"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"), ada_leval=CASES)


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    def slowly(messages: list[dict[str, str]]) -> str:
        time.sleep(0.05)
        return answer_by_hash(messages)

    with stub_server(slowly) as stub:
        yield stub


def asked(server: Stub) -> Counter[str]:
    return Counter(map(messages_hash, server.requests))


def assert_goes_on(whole: Command, server: Stub, results: Any, name: str) -> None:
    """Kill copies of a run; afterwards results are the same, and only calls in flight were made twice."""

    def begin(folder: Path) -> Command:
        server.requests.clear()
        words = [str(word).replace(str(whole.folder), str(folder)) for word in whole.words]
        return replace(whole, words=tuple(words), folder=folder, begun=lambda: bool(server.requests))

    whole = begin(whole.folder)
    seconds, expected, calls = whole.finish(), results(whole.folder), asked(server)
    assert len(calls) == CASES and expected
    for number, moment in moments(name):
        again = killed_and_finished(begin, whole.folder.with_name(f"{name}{number}"), moment * seconds)
        assert results(again.folder) == expected
        assert asked(server).keys() == calls.keys()
        assert (asked(server) - calls).total() <= IN_FLIGHT


@needs("lm_eval")
@pytest.mark.hosts
def test_a_killed_run_of_lm_eval_goes_on(data: Path, server: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    model = served_model(server.url)
    words = ["lm_eval", "run", "--model", "local-chat-completions", "--model_args", *model.split(",")]
    words += ["--tasks", ADA, "--apply_chat_template", "--log_samples", "--use_cache", str(folder / "kept")]
    words += ["--output_path", str(folder / "out"), "--metadata", json.dumps({"lct_data_dir": str(data)})]

    def results(folder: Path) -> Any:
        # The host names its files by the time; a run that was killed at its very end has left files of its own.
        samples, numbers = (
            max(folder.glob(f"out/*/{name}")) for name in ("samples_*.jsonl", "results_*.json")
        )
        return samples.read_bytes(), json.loads(numbers.read_text())["results"]

    variables = {"OPENAI_API_KEY": "EMPTY"}
    with preloaded(*HOSTS["lm_eval"]) as ready:
        command = Command(tuple(words), folder, variables, preloaded=ready)
        assert_goes_on(command, server, results, "lm_eval")


@needs("opencompass")
@pytest.mark.hosts
def test_a_killed_run_of_opencompass_goes_on(data: Path, server: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    config = configs_for_the_server(tmp_path, "ada_leval")
    words = ("opencompass", str(config), "-w", str(folder / "oc"), "--debug", "-r")
    variables = {
        "LCT_TASKS": ADA,
        "LCT_API_BASE": server.url,
        "LCT_API_MODEL": "stub",
        "LCT_BATCH_SIZE": str(IN_FLIGHT),
        "LCT_QUERIES_PER_SECOND": "100",
        "LCT_TOKENIZER": str(demo_model()),
        "LCT_DATA_DIR": str(data),
    }

    def results(folder: Path) -> Any:
        [predictions] = folder.glob(f"oc/*/predictions/*/{ADA}*.json")
        [numbers] = folder.glob(f"oc/*/results/*/{ADA}*.json")
        return predictions.read_bytes(), numbers.read_bytes()

    with preloaded(*HOSTS["opencompass"]) as ready:
        command = Command(words, folder, variables, preloaded=ready)
        assert_goes_on(command, server, results, "opencompass")
