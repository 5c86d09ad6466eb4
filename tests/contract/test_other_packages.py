"""Two benchmarks of another package, found by their entry points: all hosts, build, plan, report and site take them as ours."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest
from both_hosts import (
    REPOSITORY,
    read_inspect,
    read_lm_eval,
    read_opencompass,
    run_command,
    run_host,
)
from plugins import installed
from stub_server import messages_hash, stub_server
from tiny_model import demo_model

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lm_eval.task_files import task_folder
from long_context_tasks.judges.task_judge import score_turns
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import Response

TOYS = Path(__file__).with_name("toys")
KEYS, RIDDLES, TALK = "registers_keys_1k", "riddles_short", "riddles_talk"


@pytest.fixture
def toys() -> object:
    with installed(TOYS):
        yield


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "riddles"
    folder.mkdir(parents=True)
    rows = [{"id": f"r{n}", "riddle": f"Riddle {n}.", "answer": str(n)} for n in range(1, 7)]
    (folder / "riddles.json").write_text(json.dumps(rows))
    return folder.parent


def test_the_folder_of_a_benchmark_is_small() -> None:
    for name in ("registers", "riddles"):
        files = [*(TOYS / "lct_toys" / name).glob("*.py"), TOYS / "lct_toys" / name / "card.yaml"]
        assert sum(len(path.read_text().splitlines()) for path in files) < 250


@pytest.mark.usefixtures("toys")
def test_they_are_found_and_lm_eval_gets_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    assert {"registers", "riddles"} <= set(catalogue.benchmark_names()) and not catalogue.broken_benchmarks()
    assert "registers" not in catalogue.own_benchmark_names()
    assert {f"{KEYS}.yaml", f"{RIDDLES}.yaml", "_riddles.yaml"} <= {
        path.name for path in task_folder().iterdir()
    }


@pytest.mark.usefixtures("toys")
def test_a_broken_benchmark_is_named_and_stops_no_other(tmp_path: Path) -> None:
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[long_context_tasks.benchmarks]\nbroken = no_such_module:X\n")
    with installed(tmp_path):
        assert "cannot import 'no_such_module:X'" in catalogue.broken_benchmarks()["broken"]
        assert catalogue.parse_task(KEYS).source == "seed"
        with pytest.raises(InputError, match="benchmark broken cannot be used"):
            catalogue.parse_task("broken_task")


@pytest.mark.usefixtures("toys")
def test_a_benchmark_that_ends_the_process_or_forges_lines_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = tmp_path / "odd-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    points = [f"{name} = odd_{name}:X\n" for name in ("leaves", "forges")]
    (metadata / "entry_points.txt").write_text("[long_context_tasks.benchmarks]\n" + "".join(points))
    (tmp_path / "odd_leaves.py").write_text("import sys\nsys.exit(5)\n")
    (tmp_path / "odd_forges.py").write_text("raise ValueError('\\x1b[2J\\n::error::x')\n")
    with installed(tmp_path):
        assert "SystemExit: 5" in catalogue.broken_benchmarks()["leaves"]
        assert catalogue.parse_task(KEYS).source == "seed"
    assert r"\x1b[2J\n::error::x" in caplog.text and "\x1b" not in caplog.text


@pytest.mark.usefixtures("toys")
def test_what_a_benchmark_returns_is_checked(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    from lct_toys.riddles import data as riddles  # type: ignore[import-not-found]

    given = {"lct_data_dir": str(data)}
    case = catalogue.load_task(RIDDLES, given).cases.cases[0]
    monkeypatch.setattr(riddles, "score", lambda case, response, status: {"found": 1.0})
    with pytest.raises(
        InputError, match=r"riddles_short, case r1 \(.*\): found is a float, expected a Score"
    ):
        catalogue.load_task(RIDDLES, given).score(case, "1", None)
    monkeypatch.setattr(riddles, "score", lambda case, response, status: {})
    with pytest.raises(InputError, match="returned no found"):
        catalogue.load_task(RIDDLES, given).score(case, "1", None)
    monkeypatch.setattr(riddles, "load_task", lambda name, options: None)
    with pytest.raises(
        InputError, match=r"riddles_short \(lct_toys.riddles.Riddles.load_task\): returned a NoneType"
    ):
        catalogue.load_task(RIDDLES, given)


@pytest.mark.usefixtures("toys")
def test_runs_on_other_seeds_are_no_repeats(tmp_path: Path) -> None:
    """The card says that cases are made from the seed; the name of the task does not."""
    one, other = (
        catalogue.load_task(KEYS, {"lct_n": 2, "lct_seed": seed, "lct_cases": None}).cases.cases
        for seed in (1, 2)
    )
    assert one != other


@pytest.mark.usefixtures("toys")
def test_turns_of_a_conversation_without_a_judge_are_scored_one_by_one(data: Path) -> None:
    task = catalogue.load_task(TALK, {"lct_data_dir": str(data)})
    answers = [Response("1"), Response("a joke")]
    assert [turn["found"].value for turn in score_turns(task, task.cases.cases[0], answers)] == [1.0, 0.0]


@pytest.mark.hosts
@pytest.mark.usefixtures("toys")
def test_hosts_build_plan_report_and_site(tmp_path: Path, data: Path) -> None:
    tasks = f"{KEYS},{RIDDLES},{TALK}"
    has_inspect = importlib.util.find_spec("inspect_ai") is not None
    options = {
        "LCT_DATA_DIR": str(data),
        "LCT_CACHE_DIR": str(tmp_path / "cache"),
        "LCT_N": "4",
        "LCT_TOKENIZER": str(demo_model()),
        "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, TOYS, *filter(None, sys.path)))),
    }
    build = [
        "lct",
        "build",
        "registers_keys",
        "--length",
        "1k",
        "--n",
        "2",
        "--most-keys",
        "9",
        "--out",
        "cases",
    ]
    assert "registers_keys_1k" in run_command(build, tmp_path, options)
    with stub_server(lambda messages: messages[-1]["content"][7:8]) as server:
        lm_eval = [
            *("lm_eval", "--model", "local-chat-completions", "--apply_chat_template", "--log_samples"),
            *("--model_args", f"model=stub,base_url={server.url}/chat/completions,tokenizer_backend=None"),
            *("--tasks", tasks, "--output_path", str(tmp_path / "lm_eval")),
        ]
        run_host(lm_eval, tmp_path, options)
        sent = sorted(map(messages_hash, server.requests))
        server.requests.clear()
        config = str(REPOSITORY / "configs" / "eval_all.py")
        served = {"LCT_TASKS": tasks, "LCT_API_BASE": server.url, "LCT_API_MODEL": "stub"}
        run_host(
            ["opencompass", config, "--debug", "-w", str(tmp_path / "oc")], tmp_path, {**options, **served}
        )
        assert len(sent) == 4 + 4 + 2 * 4 and sent == sorted(map(messages_hash, server.requests))
        if has_inspect:
            names = [f"long_context_tasks/{task}" for task in (KEYS, RIDDLES, TALK)]
            asking = [
                "--model",
                "openai-api/openai/stub",
                "--model-base-url",
                server.url,
                "--display",
                "none",
            ]
            third = ["inspect", "eval", *names, *asking, "--log-dir", str(tmp_path / "logs")]
            run_host(third, tmp_path, options)
    for task, found in ((KEYS, None), (RIDDLES, 1.0), (TALK, [1.0, 0.0])):
        ours, theirs = read_lm_eval(tmp_path / "lm_eval", task), read_opencompass(tmp_path / "oc", task)
        assert ours.scores == theirs.scores and ours.prompts == theirs.prompts
        if has_inspect:
            third_run = read_inspect(tmp_path / "logs", task)
            assert ours.scores == third_run.scores and ours.prompts == third_run.prompts
        assert found is None or all(score["found"] == found for score in ours.scores.values())
    plan = run_command(["lct", "plan", "--tasks", tasks, "--model", "stub"], tmp_path, options)
    assert KEYS in plan and RIDDLES in plan
    results = [str(tmp_path / name) for name in ("lm_eval", "oc", "logs") if (tmp_path / name).is_dir()]
    report = ["lct", "report", *results, "--section", "registers", "--csv", "tables"]
    assert "Cases by quarter" in run_command(report, tmp_path, options)
    run_command(["lct", "report", *results, "--out", "site"], tmp_path, options)
    assert {path.stem for path in (tmp_path / "site").rglob("*.html")} >= {"index", KEYS, RIDDLES}
