"""The search for an effective length: state from stored runs alone, the next step, its end."""

import hashlib
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_model import demo_model

pytest.importorskip("polars")

from collected_runs import Turn, run_of, write_lm_eval, write_opencompass
from preloaded import host_ended, typed
from run_commands import lct
from stub_server import messages_hash, stub_server

from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.plan.adaptive import (
    Progress,
    Search,
    default_budget,
    ladder,
    lengths_of,
    next_cases,
    progress,
)
from long_context_tasks.results.plan.commands_for import Model, Place
from long_context_tasks.schema import Case, InputError, Options

TASK = "ada_leval_bestanswer_any_synthetic"
LENGTHS = dict.fromkeys(ladder(1000, 4000), TASK)
SEARCH = Search(TASK, Model("owl"), Options(n=48), LENGTHS, 1_000_000)
FALLS = 2200
"""The made-up model loses what is longer."""


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def right(text: str, length: int) -> bool:
    """Nine of ten are right up to where the model falls, then one of twenty."""
    digits = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 100
    return digits < (90 if length < FALLS else 5)


def run_step(found: Progress, folder: Path, number: int, **more: Any) -> None:
    """Leave what a host leaves that runs the step."""
    assert found.step is not None
    length, options = found.step.length, replace(SEARCH.options, length=found.step.length)
    task = load_task(TASK, options)
    chosen = [task.cases.cases[place] for place in found.step.cases]
    reason = more.pop("reason", None)
    cases = {}
    for case in chosen:
        value = None if reason else float(right(case.id, length))
        scores = {"strict_accuracy": value, "official_accuracy": value, "random_guess": 0.05}
        cases[case.id] = [Turn(scores, reason)]
    write = write_opencompass if number % 2 else write_lm_eval
    made = f"20260101_1{number:05}" if number % 2 else f"2026-01-01T10-{number:02}-00.000000"
    write(folder, run_of(task, cases, made=made, available=48, **more))


def at(folder: Path, search: Search = SEARCH, host: str = "lm_eval") -> Progress:
    return progress(search, [folder], Place(Path("eval_all.py"), host=host, out=folder))


@pytest.mark.slow
def test_a_search_ends_at_the_fall_and_remembers_nothing_but_runs(tmp_path: Path) -> None:
    tokens = []
    for number in range(12):
        found = at(tmp_path)
        tokens.append(found.tokens)
        if found.step is None:
            break
        assert number > 2 or found == at(tmp_path)  # stopped, and gone on with
        run_step(found, tmp_path, number)
    assert found.why == "the interval is short enough"
    assert found.crossing.interval.low < FALLS < found.crossing.interval.high <= 2 * FALLS
    assert tokens == sorted(tokens) and tokens[-1] < 200 * (1000 + 2000 + 4000) / 4
    assert sum(len(one.cases) * length for length, one in found.seen.items()) == tokens[-1]
    assert found.seen[1000].chance == 0.05
    # The parts of a length are one cell, and no repeats of one another.
    cells = cells_of(collect([tmp_path]))
    shown = {json.loads(cell.settings)["lct_length"]: cell for cell in cells}
    assert {length: cell.n_cases for length, cell in shown.items()} == {
        length: len(one.cases) for length, one in found.seen.items()
    }
    assert all(cell.run_sd is None for cell in cells)
    assert {cell.why_unranked for cell in cells if cell.hosts == ("lm_eval",)} == {"16 of 48 cases"}
    document = json.loads(json.dumps(found.document(SEARCH)))
    assert document["next"] is None and document["low"] < FALLS < document["high"]


def test_other_models_options_and_versions_do_not_count(tmp_path: Path) -> None:
    first = at(tmp_path)
    assert first.step is not None and (first.step.length, first.step.cases) == (1000, range(16))
    run_step(first, tmp_path, 0, model="crow")
    assert at(tmp_path).tokens == 0
    run_step(first, tmp_path, 4)
    assert at(tmp_path).tokens == 16_000
    assert at(tmp_path, replace(SEARCH, options=Options(n=48, seed=3))).tokens == 0
    assert (
        at(tmp_path, replace(SEARCH, options=Options(n=30))).tokens == 16_000
    )  # the first of 48 are the first of 30


def test_lengths_that_do_not_fit_the_window_are_left_out(tmp_path: Path) -> None:
    found = at(tmp_path)
    run_step(found, tmp_path, 0)
    found = at(tmp_path)
    assert found.step is not None and found.step.length > 1000
    run_step(found, tmp_path, 2, reason="does_not_fit")
    after = at(tmp_path)
    assert after.step is not None and after.step.length < found.step.length
    assert max(after.crossing.lengths) < found.step.length


def test_the_budget_ends_a_search(tmp_path: Path) -> None:
    small = replace(SEARCH, budget=16_000)
    run_step(at(tmp_path, small), tmp_path, 0)
    assert at(tmp_path, small).why == "the budget of 16,000 tokens is used up"
    assert "no further case fits" in at(tmp_path, replace(small, budget=16_500)).why


@pytest.mark.parametrize("host", ["lm_eval", "opencompass", "inspect"])
def test_the_command_of_a_step(host: str, tmp_path: Path) -> None:
    found = at(tmp_path, replace(SEARCH, model=Model("owl", "http://h/v1")), host)
    assert found.step is not None
    command = found.step.command
    if host == "lm_eval":
        words = dict(zip(command.words, command.words[1:], strict=False))
        assert json.loads(words["--samples"]) == {TASK: list(range(16))}
        assert json.loads(words["--metadata"]) == {"lct_length": "1000", "lct_n": "48"}
    elif host == "inspect":
        assert command.words[:3] == ("inspect", "eval", f"long_context_tasks/{TASK}")
        assert command.words[-2:] == ("--limit", "1-16")
        assert {"lct_length=1000", "lct_n=48"} <= set(command.words)
    else:
        assert command.variables["LCT_RANGE"] == "[0:16]"
        assert (command.variables["LCT_LENGTH"], command.variables["LCT_N"]) == ("1000", "48")


def cases(*clusters: str) -> list[Case]:
    return [Case(str(place), TASK, {}, (), cluster) for place, cluster in enumerate(clusters)]


def test_whole_clusters_that_no_other_length_had() -> None:
    own = cases(*"aabbcc")
    assert next_cases(own, frozenset(), 0, 1) == range(2)
    assert next_cases(own, frozenset(), 2, 3) == range(2, 6)
    assert next_cases(own, frozenset("2345"), 2, 3) == range(2)
    assert next_cases(own, frozenset("012345"), 2, 3) == range(0)
    assert next_cases(own, frozenset("3"), 0, 9) == range(3)


def test_lengths_of_tasks() -> None:
    assert list(lengths_of("ada_leval_tsort_2k", 2000, 16000)) == [2000, 4000, 8000, 16000]
    assert lengths_of("ada_leval_tsort_2k", 1000, 4000)[4000] == "ada_leval_tsort_4k"
    assert set(lengths_of("ethic_recall_law_synthetic", 1000, 2000).values()) == {
        "ethic_recall_law_synthetic"
    }
    with pytest.raises(InputError, match="have the length they have"):
        lengths_of("elitr_bench_qa_dev", 1000, 4000)
    with pytest.raises(InputError, match="--shortest 4k and --longest 4k"):
        lengths_of(TASK, 4000, 4000)
    with pytest.raises(InputError, match="fewer than two lengths"):
        lengths_of("ada_leval_tsort_2k", 3000, 5000)
    assert default_budget(ladder(1000, 128_000)) == 50 * 255_000
    assert all(
        math.log2(b / a) < 0.31 for a, b in zip(ladder(1000, 10**6), ladder(1000, 10**6)[1:], strict=False)
    )


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = lct("length", TASK, "--model", "owl", "--longest", "4k", "--n", 48)
    assert said.code == 1 and "16 cases at 1,000 tokens (16,000 tokens of prompts):" in said.out
    assert said.out.splitlines()[-1].startswith("lm_eval --model hf --model_args pretrained=owl")
    run_step(at(tmp_path), tmp_path / "results", 0)
    said = lct("length", TASK, "--model", "owl", "--longest", "4k", "--n", 48, "--json")
    assert said.code == 1 and said.rows["tokens"] == 16_000 and said.rows["next"]["length"] > 1000
    shown = lct("length", TASK, "--model", "owl", "--longest", "4k", "--n", 48, "--budget", 16_000)
    assert shown.code == 0 and "The search has ended: the budget of 16,000 tokens is used up." in shown.out
    for words, message in (
        ((), "no model"),
        (("--model", "owl", "--host", "x"), "'x' is not one of"),
        (("--model", "owl", "--length", "4k"), "the search chooses the lengths"),
        (("--model", "owl", "--longest", "1k"), "a search needs lengths"),
    ):
        wrong = lct("length", TASK, *words)
        assert wrong.code == 2 and message in wrong.err


def _forked(words: list[str], env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
    """Run a host's program from its preloaded imports."""
    code, output = host_ended([Path(words[0]).name, *words[1:]], Path.cwd(), env)
    sys.stderr.write(output)
    return subprocess.CompletedProcess(words, code)


@pytest.mark.hosts
@pytest.mark.parametrize(("host", "then"), [("opencompass", "lm_eval"), ("inspect", "inspect")])
def test_hosts_search(host: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step on one host, the rest on another or the same, by their command lines, against a model that falls at a known length."""
    for one in (host, then):
        pytest.importorskip("inspect_ai" if one == "inspect" else one)
    falls, known = 1700, {}
    for length in ladder(1000, 2800, 2):
        task = load_task(TASK, Options(length=length, n=32))
        for case in task.cases.cases:
            sent = [{"role": one.role, "content": one.content} for one in task.messages(case)]
            known[messages_hash(sent)] = str(case.turns[0].gold) if length < falls else "none"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer = {"LCT_TOKENIZER": str(demo_model())} if host == "opencompass" else {}
    words = ["length", TASK, "--model", "stub", "--longest", "2800", "--per-octave", "2", "--n", "32"]
    with stub_server(lambda messages: known[messages_hash(messages)]) as stub:
        words += ["--base-url", stub.url, "--json"]
        first = lct(*words, "--host", host)
        assert first.code == 1, first.err
        code, output = typed(first.rows["next"]["text"], tmp_path, tokenizer)
        assert code == 0, output[-3000:]
        assert len(stub.requests) == 16
        more = (*words, "--host", then, "--run", "--budget", "51000")
        if then == "inspect":  # the programs that a user starts
            done = subprocess.run(["lct", *more], capture_output=True, text=True, check=False)
            code, said, errors = done.returncode, done.stdout, done.stderr
        else:
            monkeypatch.setattr("long_context_tasks.cli.length.subprocess.run", _forked)
            code, said, errors = lct(*more)
        assert code == 0, errors[-3000:]
    found = json.loads(said)
    assert found["ended"] and found["low"] < falls < found["high"] and len(found["seen"]) == 2
    assert sum(one["cases"] for one in found["seen"]) == len(stub.requests)
    assert found["seen"][0]["cases"] == 16
