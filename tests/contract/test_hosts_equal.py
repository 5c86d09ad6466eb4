"""Both hosts' own commands: the same messages and log-likelihoods, the same score for every case, the same results."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from both_hosts import (
    COUNTS,
    REPOSITORY,
    TaskRun,
    configs_for_the_server,
    read_inspect,
    read_lm_eval,
    read_opencompass,
    run_host,
    write_published_files,
    write_unlisted_tasks,
)
from eee_rules import check_records
from stub_server import judge_by_hash, messages_hash, stub_server
from tiny_carriers import write_carriers
from tiny_model import demo_model, make_tiny_model
from typer.testing import CliRunner

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ANY, load_task, resolve_options
from long_context_tasks.cli import app

pytestmark = pytest.mark.hosts

CASES = 2
LENGTH = "1k"
SEED = 22  # built cases have it in their manifest
BY_LIKELIHOOD = [spec for spec in catalogue.task_specs() if spec.variant.startswith("ppl")]
OTHERS = re.compile(r"_wer(20|60|80|100)$|_test_.*wer|_[48]needle_(1m|128k_synthetic)$")


LENGTHS: dict[str, list[int]] = {}
for one in catalogue.task_specs():
    if one.tokens:
        LENGTHS.setdefault(one.group, []).append(one.tokens)


def _stands_for_others(spec: catalogue.TaskSpec) -> bool:
    """Rates of noise and lengths differ by a number only, and a host that gets one right gets all: one rate of five, on one split, and the
    shortest and the longest length stand for them (the longest of one number of needles); of recast tasks any length alone.
    """
    lengths = LENGTHS.get(spec.group, ())
    ends = {None} if spec.source == "recast" or not lengths else {None, min(lengths), max(lengths)}
    return not OTHERS.search(spec.name) and spec.tokens in ends


def _takes(spec: catalogue.TaskSpec, length: str) -> bool:
    """Return whether a task takes any length, or published cases of this one."""
    return spec.length != ANY or spec.source != "published" or length in spec.card.lengths


ANSWERED = [spec for spec in catalogue.task_specs() if spec not in BY_LIKELIHOOD and _stands_for_others(spec)]


def _assert_same_results(ours: TaskRun, theirs: TaskRun, task: str) -> None:
    """Cases and results of a task: every metric, interval and count, and no key that only one host has."""
    headline = catalogue.parse_task(task).card.headline
    assert ours.scores and all(headline in scores for scores in ours.scores.values())
    assert ours.scores == theirs.scores, task
    assert {headline, f"{headline}_low", f"{headline}_high", "coverage", *COUNTS} <= set(ours.aggregates)
    assert ours.options == theirs.options and ours.options["lct_seed"] == SEED, task
    assert ours.aggregates == pytest.approx(theirs.aggregates, rel=0, abs=1e-9, nan_ok=True), task


def _made_from(spec: catalogue.TaskSpec) -> str:
    """What the cases of a task are made from: carriers, built cases, or what else there is."""
    return spec.source if spec.source in ("recast", "built") else "files"


# All tasks of a run read one folder of built cases, so those that need one have runs of their own.
@pytest.mark.parametrize(
    ("benchmark", "built"), sorted({(spec.benchmark, spec.source == "built") for spec in ANSWERED})
)
def test_all_hosts_send_and_score_the_same(benchmark: str, built: bool, tmp_path: Path) -> None:
    """The tasks that are answered, against one local server; no host knows its window."""
    specs = [
        spec
        for spec in ANSWERED
        if (spec.benchmark, spec.source == "built") == (benchmark, built) and _takes(spec, LENGTH)
    ]
    tasks = [spec.name for spec in specs]
    write_published_files(benchmark, tmp_path / "data", CASES, built=built)
    options = {
        "LCT_DATA_DIR": str(tmp_path / "data"),
        "LCT_CARRIERS": str(write_carriers(tmp_path / "carriers")),
        "LCT_N": str(CASES),
        "LCT_LENGTH": LENGTH,  # for the tasks that take any length
        "LCT_TOKENIZER": str(demo_model()),
    }
    if built:
        options["LCT_CASES"] = str(tmp_path / "data" / benchmark)
    else:
        options["LCT_SEED"] = str(SEED)  # of cases to which the server gives answers of several scores
    loaded = [
        load_task(task, resolve_options({key.lower(): value for key, value in options.items()}, {}))
        for task in tasks
    ]
    turns = sum(len(case.turns) for task in loaded for case in task.cases.cases)
    assert all(0 < len(task.cases) <= CASES for task in loaded)
    with stub_server() as server, stub_server(judge_by_hash) as judge:
        # What a judge has said once is kept: a store for each host.
        judged = any(task.judging for task in loaded)
        judges = {"LCT_JUDGE_MODEL": "stub", "LCT_JUDGE_BASE_URL": judge.url, "LCT_JUDGE_ASKS": "1"}
        ours_only, theirs_only, inspect_only = (
            {"LCT_CACHE_DIR": str(tmp_path / name), **judges} if judged else {} for name in ("c1", "c2", "c3")
        )
        lm_eval = [
            *("lm_eval", "--model", "local-chat-completions", "--apply_chat_template", "--log_samples"),
            *(
                "--model_args",
                f"model=stub,base_url={server.url}/chat/completions,num_concurrent=8,tokenizer_backend=None",
            ),
            *("--tasks", ",".join(tasks), "--output_path", str(tmp_path / "lm_eval")),
            # Files for the variants that are options in lm-eval: a process takes a single one by lct_variant.
            *("--include_path", str(write_unlisted_tasks(tmp_path / "unlisted", tasks))),
        ]
        run_host(lm_eval, tmp_path, {**options, **ours_only})
        sent_by_lm_eval = Counter(map(messages_hash, server.requests))
        judged_in_lm_eval = Counter(map(messages_hash, judge.requests))
        server.requests.clear()
        judge.requests.clear()
        config = configs_for_the_server(tmp_path, benchmark)
        more = {"LCT_TASKS": ",".join(tasks), "LCT_API_BASE": server.url, "LCT_API_MODEL": "stub"}
        run_host(
            ["opencompass", str(config), "--debug", "-w", str(tmp_path / "oc")],
            tmp_path,
            {**options, **theirs_only, **more},
        )
        sent_by_opencompass = Counter(map(messages_hash, server.requests))
        judged_in_opencompass = Counter(map(messages_hash, judge.requests))
        server.requests.clear()
        judge.requests.clear()
        inspect = [
            *("inspect", "eval", *(f"long_context_tasks/{task}" for task in tasks)),
            *("--model", "openai-api/stub/stub", "--model-base-url", server.url, "--max-tasks", "8"),
            # Without "log", tables that nobody sees are laid out: a quarter of the host's time.
            *("--display", "log", "--log-dir", str(tmp_path / "inspect")),
        ]
        run_host(inspect, tmp_path, {**options, **inspect_only, "STUB_API_KEY": "EMPTY"})
        sent_by_inspect = Counter(map(messages_hash, server.requests))
        judged_in_inspect = Counter(map(messages_hash, judge.requests))
    assert sum(sent_by_lm_eval.values()) == turns
    assert sent_by_lm_eval == sent_by_opencompass == sent_by_inspect
    assert judged_in_lm_eval == judged_in_opencompass
    # Its tasks run side by side: two may ask the same before either has stored the reply.
    assert set(judged_in_lm_eval) == set(judged_in_inspect)
    assert bool(judged_in_lm_eval) == judged
    seen: dict[str, set[str]] = {}
    for spec, task in zip(specs, tasks, strict=True):
        ours, theirs = read_lm_eval(tmp_path / "lm_eval", task), read_opencompass(tmp_path / "oc", task)
        third = read_inspect(tmp_path / "inspect", task)
        assert ours.prompts == theirs.prompts == third.prompts, task
        _assert_same_results(ours, theirs, task)
        _assert_same_results(ours, third, task)
        seen.setdefault(_made_from(spec), set()).update(
            json.dumps(scores, sort_keys=True) for scores in ours.scores.values()
        )
    # The server gives answers of many shapes: were all scores equal, this test would show nothing.
    for made_from, scores in seen.items():
        # Needle's only score is 0 or 1.
        assert len(scores) > (1 if made_from == "recast" or benchmark == "needle" else 5), made_from
    if judged:
        _assert_records(tmp_path, tasks)


def _assert_records(folder: Path, tasks: Sequence[str]) -> None:
    """Every run of every host makes a clean record for other collections, with the same scores."""
    words = ["report", "export", *(str(folder / host) for host in ("lm_eval", "oc", "inspect"))]
    done = CliRunner().invoke(app, [*words, "--eee", str(folder / "records"), "--developer", "stub"])
    assert done.exit_code == 0, done.output
    scores: dict[str, list[tuple[object, ...]]] = {task: [] for task in tasks}
    for record, rows in check_records(folder / "records"):
        task = record["evaluation_results"][0]["evaluation_name"]
        found = {
            (row["sample_id"], row["evaluation_result_id"].partition(".")[2], row["evaluation"]["score"])
            for row in rows
        }
        scores[task].append((record["eval_library"]["name"], found))
    for task, held in scores.items():
        assert {name for name, _ in held} == {"lm_eval", "opencompass", "inspect_ai"}, task
        assert held[0][1] == held[1][1] == held[2][1], task


@pytest.mark.parametrize("benchmark", sorted({spec.benchmark for spec in BY_LIKELIHOOD}))
def test_both_hosts_find_the_same_likelihoods(benchmark: str, tmp_path: Path) -> None:
    """A task by likelihood on a random local model, whose window both hosts know."""
    [task] = [
        spec.name
        for spec in BY_LIKELIHOOD
        if spec.benchmark == benchmark and spec.length == ANY and spec.source == "recast"
    ]
    model = make_tiny_model(tmp_path / "tiny", max_position_embeddings=1536, initializer_range=0.1)
    options = {
        "LCT_LENGTH": "1k",
        "LCT_N": str(CASES),
        "LCT_SEED": str(SEED),
        "LCT_CACHE_DIR": str(tmp_path / "cache"),
        "LCT_CARRIERS": str(write_carriers(tmp_path / "carriers")),
        "LCT_GPUS": "0",
    }
    lm_eval = [
        *("lm_eval", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu"),
        *("--tasks", task, "--batch_size", "1", "--log_samples", "--output_path", str(tmp_path / "lm_eval")),
    ]
    run_host(lm_eval, tmp_path, options)
    config = REPOSITORY / "configs" / f"eval_{benchmark}.py"
    opencompass = ["opencompass", str(config), "--debug", "-w", str(tmp_path / "oc")]
    run_host(opencompass, tmp_path, {**options, "LCT_TASKS": task, "LCT_MODEL": str(model)})
    ours, theirs = read_lm_eval(tmp_path / "lm_eval", task), read_opencompass(tmp_path / "oc", task)
    assert len(ours.scores) == len(ours.likelihoods) == CASES and set(ours.likelihoods) == set(
        theirs.likelihoods
    )
    for case, values in ours.likelihoods.items():
        assert theirs.likelihoods[case] == pytest.approx(values, rel=1e-4), case
        assert values.index(max(values)) == theirs.likelihoods[case].index(max(theirs.likelihoods[case]))
        assert len({round(value, 2) for value in values}) > len(values) / 2
    _assert_same_results(ours, theirs, task)
    assert ours.aggregates["n_truncated"] == 0
