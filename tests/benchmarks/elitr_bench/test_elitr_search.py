"""The configuration search: its cells, its two scripts, and the real hosts on a tiny model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_meetings import write_archives
from typer.testing import CliRunner

from long_context_tasks.benchmarks.elitr_bench import prompts, search
from long_context_tasks.benchmarks.elitr_bench.search import SearchCell, cell_of, search_cells, search_tasks
from long_context_tasks.cli import app
from long_context_tasks.schema import InputError
from long_context_tasks.schema.environment import misspelt_variables

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
CELL = "greedy_raw_markers_rp1.0"


def test_all_cells_of_the_paper_are_there() -> None:
    cells = search_cells()
    assert len({cell.name for cell in cells}) == len(cells) == 16
    first = search_cells(only="chat_rp1.0,raw_markers_rp1.0")
    # Table 7: two decodings with template and markers, template alone, markers alone.
    assert [(cell.decoding, cell.templated, cell.markers) for cell in first] == [
        *(("greedy", True, False), ("greedy", True, True), ("greedy", False, True)),
        *(("nucleus", True, False), ("nucleus", True, True), ("nucleus", False, True)),
    ]
    assert first[3].generation == {
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.9,
        "repetition_penalty": 1.0,
    }


def test_styles_of_other_models() -> None:
    assert len(search_cells("gpt,vicuna_v1.1")) == 12  # gpt has no markers
    assert [cell.templated for cell in search_cells("gpt,vicuna_v1.1", "greedy_plain_rp1.1")] == [True, False]


@given(
    st.sampled_from(list(search.DECODINGS)),
    st.sampled_from(prompts.STYLES),
    st.booleans(),
    st.sampled_from(search.PENALTIES),
    st.sampled_from(["", "my_model_", "a-greedy_"]),
)
def test_a_name_tells_its_cell(decoding: str, style: str, markers: bool, penalty: float, before: str) -> None:
    cell = SearchCell(decoding, style, markers, penalty)
    assert cell_of(before + cell.name) == cell
    assert cell_of(cell.name + "x") is None
    assert search.decoding_of(cell.generation) == (decoding, penalty)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: search_cells("poem"), "prompt style 'poem' is none of chat"),
        (
            lambda: search_cells(only="greedy_loud"),
            "no cell has all parts of greedy_loud; there are: greedy_chat_plain",
        ),
        (lambda: search_tasks("elitr_bench_qa_deV"), "unknown task elitr_bench_qa_deV"),
        (
            lambda: search_tasks("elitr_bench_conv_dev"),
            "elitr_bench_conv_dev: the search is for single-turn tasks",
        ),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_its_variables_are_not_taken_for_misspelt_ones() -> None:
    assert misspelt_variables({"LCT_SEARCH_CELLS": "x", "LCT_SEARCH_STYLES": "x"}) == {}


def test_the_config_has_a_model_for_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opencompass")
    from mmengine.config import Config

    monkeypatch.setenv("LCT_MODEL", "/models/tiny-one/")
    monkeypatch.setenv("LCT_TASKS", "elitr_bench_qa_dev elitr_bench_qa_test_wer40")
    read = Config.fromfile(str(CONFIGS / "search_elitr_bench.py"), format_python_code=False)
    read.dump(str(tmp_path / "dumped.py"))
    config = Config.fromfile(str(tmp_path / "dumped.py"), format_python_code=False)
    assert [model["abbr"] for model in config.models] == [f"tiny-one_{cell.name}" for cell in search_cells()]
    for combination, cell in zip(config.model_dataset_combinations, search_cells(), strict=True):
        [model] = combination["models"]
        assert model["generation_kwargs"] == cell.generation
        assert model["type"].endswith(
            "HuggingFacewithChatTemplate" if cell.templated else "HuggingFaceBaseModel"
        )
        assert [data["lct_task"] for data in combination["datasets"]] == [
            "elitr_bench_qa_dev",
            "elitr_bench_qa_test_wer40",
        ]
        for data in combination["datasets"]:
            assert {key: data[key] for key in cell.options} == cell.options


def _script(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Its python is the first in the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(CONFIGS / "search_elitr_bench.sh"), *words]
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_script_refuses_bad_input_at_once(tmp_path: Path) -> None:
    for variables, words in (
        ({"LCT_TASKS": "elitr_bench_conv_dev"}, "single-turn"),
        ({"LCT_SEARCH_CELLS": "fast"}, "LCT_SEARCH_CELLS=fast"),
        ({"LCT_N": "0"}, "LCT_N must be a whole number above 0"),
    ):
        done = _script("--out", str(tmp_path), LCT_MODEL="none", **variables)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    done = _script("--out", str(tmp_path), "--gen_kwargs", "temperature=1")
    assert done.returncode == 2 and "--gen_kwargs: set by the search" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.hosts
def test_both_hosts_on_a_tiny_model(tmp_path: Path) -> None:
    """One cell in each host; a second call of either runs nothing again; one table for both."""
    pytest.importorskip("opencompass")
    pytest.importorskip("lm_eval")
    from tiny_model import make_tiny_model

    write_archives(tmp_path / "data")
    variables = {
        "LCT_MODEL": str(make_tiny_model(tmp_path / "tiny")),
        "LCT_DATA_DIR": str(tmp_path / "data"),
        "LCT_CACHE_DIR": str(tmp_path / "cache"),
        "LCT_ANSWER_BUDGET": "4",
        "LCT_SEARCH_CELLS": CELL,
    }
    first = _script("--out", str(tmp_path / "lm"), **variables)
    assert first.returncode == 0, first.stdout + first.stderr
    assert f"{CELL}: lm_eval" in first.stdout and "1 of 1 cells are done" in first.stdout
    again = _script("--out", str(tmp_path / "lm"), **variables)
    assert again.returncode == 0 and f"{CELL}: done already" in again.stdout
    assert len(list((tmp_path / "lm").rglob("results_*.json"))) == 1

    command = [str(Path(sys.executable).with_name("opencompass")), str(CONFIGS / "search_elitr_bench.py")]
    for more in ([], ["-r"]):
        done = subprocess.run(
            [*command, "-w", str(tmp_path / "oc"), *more],
            env={**os.environ, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    [predictions] = (tmp_path / "oc").rglob("predictions/*/*.json")
    assert "Partitioned into 0 tasks" in done.stdout + done.stderr
    [samples] = (tmp_path / "lm").rglob("samples_*.jsonl")
    ours = [json.loads(json.loads(line)["filtered_resps"][0])["response"] for line in samples.open()]
    theirs = [row["prediction"] for row in json.loads(predictions.read_text()).values()]
    assert ours == theirs  # greedy, the same text to the letter

    result = CliRunner().invoke(app, ["report", "elitr-search", str(tmp_path / "lm"), str(tmp_path / "oc")])
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if "elitr_bench_qa_dev" in line]
    assert [row[0] for row in rows] == ["lm_eval", "opencompass"]
    for row in rows:
        assert row[2:8] == ["elitr_bench_qa_dev", "greedy", "raw", "yes", "1.0", "(none)"]
