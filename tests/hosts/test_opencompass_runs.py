"""The real `opencompass` command: official cases, a failing task that is seen, a killed run that goes on."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from preloaded import host_ended, preloaded_host
from stub_server import json_answer, stub_server
from tiny_model import make_tiny_model
from toy_benchmark import PACKAGE, write_cases

pytestmark = [needs("opencompass"), pytest.mark.hosts]

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = """
models = [dict(
    type='opencompass.models.OpenAISDK', abbr=name, path='stub', openai_api_base=base, key='EMPTY',
    tokenizer_path={tokenizer!r}, query_per_second=100, retry=1, batch_size=1, temperature=0,
    meta_template=dict(round=[
        dict(role='HUMAN', api_role='HUMAN'), dict(role='BOT', api_role='BOT', generate=True)]),
) for name, base in {models!r}]
datasets = [dict(
    abbr='toy_1k', type='long_context_tasks.hosts.opencompass.task.CaseDataset', lct_task='toy_1k', lct_cases={cases!r},
    reader_cfg=dict(input_columns=['case'], output_column='reference'),
    infer_cfg=dict(
        prompt_template=dict(type='opencompass.openicl.icl_prompt_template.PromptTemplate', template='{{case}}'),
        retriever=dict(type='opencompass.openicl.icl_retriever.ZeroRetriever'),
        inferencer=dict(type='long_context_tasks.hosts.opencompass.task.CaseGenInferencer')),
    eval_cfg=dict(evaluator=dict(type='long_context_tasks.hosts.opencompass.task.CaseEvaluator')),
)]
summarizer = dict(type='long_context_tasks.hosts.opencompass.summary.CaseSummarizer')
work_dir = 'out'
"""
STAGES = """
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
infer, eval = _configs.stages()
eval['partitioner']['n'] = 1000  # one process: each takes ten seconds to start
del _configs
"""


PATHS = os.pathsep.join(map(str, (REPOSITORY, Path(__file__).parent, PACKAGE, REPOSITORY / "tests")))


def run(folder: Path, *arguments: str | Path, **variables: str) -> tuple[int, str]:
    return host_ended(["opencompass", *map(str, arguments)], folder, {"PYTHONPATH": PATHS, **variables})


def only(folder: Path, pattern: str) -> Any:
    (path,) = folder.glob(pattern)
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=1250)


@pytest.fixture
def toy(tmp_path: Path, tiny: Path) -> Callable[..., Path]:
    def make(models: list[tuple[str, str]], n: int = 4) -> Path:
        cases = write_cases(tmp_path / "cases", [f"text {i}" for i in range(n)])
        config = tmp_path / "eval_toy.py"
        config.write_text(CONFIG.format(tokenizer=str(tiny), models=models, cases=str(cases)))
        return config

    return make


def test_official_cases_with_the_config_file(shared: Path, tmp_path: Path, tiny: Path) -> None:
    options = {
        "LCT_MODEL": str(tiny),
        "LCT_DATA_DIR": str(shared / "data"),
        "LCT_TASKS": "ada_leval_bestanswer_1k",
        "LCT_N": "8",
        "LCT_CACHE_DIR": str(tmp_path / "cache"),
        "LCT_GPUS": "0",
    }
    code, output = run(tmp_path, REPOSITORY / "configs" / "eval_ada_leval.py", "--debug", **options)
    assert code == 0, output
    result = only(tmp_path, "outputs/ada_leval/*/results/tiny/ada_leval_bestanswer_1k.json")
    rows = only(tmp_path, "outputs/ada_leval/*/predictions/tiny/ada_leval_bestanswer_1k.json")
    assert len(rows) == len(result["details"]) == result["n"] == 8
    left_out = [row for row in rows.values() if row["n_prompt_tokens"] + 64 > 1250]
    assert 0 < len(left_out) < 8
    assert {row["lct_status"] for row in left_out} == {"does_not_fit"}
    assert result["n_does_not_fit"] == len(left_out) and result["n_truncated"] == 0
    assert result["window"] == ["1250 (host)"] and result["options"][0]["lct_n"] == 8
    assert f"* {8 - len(left_out)}/8" in output and "random guess" in output
    assert not any("prompt" in key for key in result["details"][0] if key != "n_prompt_tokens")


def test_a_terminal_shows_the_cases_that_are_done_and_the_task_that_failed(
    tmp_path: Path, toy: Callable[..., Path]
) -> None:
    """Not in debug mode, where the host logs the failure and exits 0.

    The server answers the second case only after the terminal has shown that the first one is done.
    """
    seen = threading.Event()

    def held_until_seen(_: Any) -> str:
        if len(stub.requests) > 1:
            seen.wait(60)
        time.sleep(1)  # a bar that was drawn less than .1 s ago is not drawn again
        return "yes"

    console, terminal = os.openpty()
    models = {"/v1/models": lambda _: json_answer({"data": [{"id": "stub", "max_model_len": -5}]})}
    with stub_server(held_until_seen, others=models) as stub:
        config = toy([("up", stub.url), ("down", "http://127.0.0.1:9/v1")], 2)
        config.write_text(config.read_text() + STAGES)
        process = preloaded_host("opencompass").start(
            ["opencompass", str(config)], tmp_path, {"PYTHONPATH": PATHS}, Path(os.ttyname(terminal))
        )
        shown = _read(console)  # so the run has opened the terminal
        os.close(terminal)
        while chunk := _read(console):
            shown += chunk
            if re.search(rb"toy_1k: [^\n]*1/2", shown):
                seen.set()
    os.close(console)
    output = shown.decode()
    assert process.wait() == 1, output
    assert seen.is_set()
    assert (
        "FAILED: toy_1k on down: InputError: the server http://127.0.0.1:9/v1 fails (Connection error.): start"
        in output
    )
    assert "logs/infer/down/toy_1k.out" in output
    assert "states a window of '-5'; prompts are checked only with LCT_WINDOW and LCT_TOKENIZER" in output
    assert only(tmp_path, "out/*/results/up/toy_1k.json")["strict_accuracy"] == 100
    (table,) = tmp_path.glob("out/*/summary/lengths_*.md")
    assert "missing" in table.read_text() and "100.0" in table.read_text()


def _read(console: int) -> bytes:
    try:
        return os.read(console, 65536)
    except OSError:  # Linux's sign that the last process has closed the terminal
        return b""


def test_a_killed_run_goes_on(tmp_path: Path, toy: Callable[..., Path]) -> None:
    killed = threading.Event()

    def held_after_five(_: Any) -> str:
        if len(stub.requests) >= 5:
            killed.wait(300)
        return "yes"

    with stub_server(held_after_five) as stub:
        config = toy([("stub", stub.url)], 12)
        words = ["opencompass", str(config), "--debug"]
        process = preloaded_host("opencompass").start(
            words, tmp_path, {"PYTHONPATH": PATHS}, tmp_path / "log"
        )
        deadline = time.monotonic() + 300
        while len(stub.requests) < 5 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed.set()
        assert 5 <= len(stub.requests) < 12
        code, output = run(tmp_path, config, "--debug", "-r")
    assert code == 0, output
    assert len(stub.requests) <= 12 + 1
    rows = only(tmp_path, "out/*/predictions/stub/toy_1k.json")
    assert [row["case"] for row in rows.values()] == [f"c{i}" for i in range(12)]
    assert {row["lct_window"] for row in rows.values()} == {"unchecked"}
    assert only(tmp_path, "out/*/results/stub/toy_1k.json")["strict_accuracy"] == 100
