"""ORCA as a judge in both hosts: its own predictions, an interval that knows of them, and every way to go without."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from both_hosts import write_published_files
from lm_eval_runs import evaluate, metrics_of, served_by
from lm_eval_runs import evaluate_served as run
from meetings import QA, TALK
from needs import needs
from orca_checkpoints import saved_checkpoint
from stored_runs import run_lm_eval, run_opencompass
from stub_server import stub_server
from tiny_model import make_tiny_model
from typer.testing import CliRunner

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.cli import app
from long_context_tasks.judges.config import Draw
from long_context_tasks.judges.kinds import kind_of, load_judge
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.results import find_runs
from long_context_tasks.schema import InputError, Message
from long_context_tasks.stats.intervals import cluster_share

pytestmark = [pytest.mark.slow, needs("lm_eval", "peft"), pytest.mark.usefixtures("meetings")]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("orca") / "tiny-orca"
    saved_checkpoint(folder)
    return folder


@pytest.fixture
def judge(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "orca.yaml"
    file.write_text(f"kind: orca\nmodel: {checkpoint}\n", encoding="utf-8")
    monkeypatch.setenv("LCT_JUDGE", str(file))
    return file


def answer(messages: list[dict[str, str]]) -> str:
    return f"Answer to {messages[-1]['content'][-25:]}"


def expected(checkpoint: Path, responses: dict[tuple[str, int], str], task: str = QA) -> list[Any]:
    from long_context_tasks.orca.checkpoint import load_checkpoint
    from long_context_tasks.orca.scoring import score_items

    loaded = load_task(task, resolve_options({}))
    items = []
    for (case, turn), text in responses.items():
        asked = loaded.by_id[case].turns[turn]
        items.append(OrcaItem(case, str(asked.question), str(asked.gold), text))
    return score_items(load_checkpoint(checkpoint), items).scores


def test_lm_eval_tells_orcas_means_and_an_interval_with_its_uncertainty(
    judge: Path, checkpoint: Path
) -> None:
    from long_context_tasks.orca.checkpoint import fingerprint
    from long_context_tasks.orca.judge import read_prediction

    with stub_server(answer) as server:
        result = run(QA, server.url)
    samples = {row["doc"]["case"]: row for row in result["samples"][QA]}
    told = {case: json.loads(row["filtered_resps"][0]) for case, row in samples.items()}
    scores = expected(checkpoint, {(case, 0): row["response"] for case, row in told.items()})
    means, stds = [float(one.mean or 0) for one in scores], [float(one.std or 0) for one in scores]
    assert len(set(means)) == 3 and all(std > 0.05 for std in stds)
    metrics = metrics_of(result, QA)
    assert metrics["orca_mean"] == pytest.approx(sum(means) / 3, abs=1e-6)
    assert metrics["orca_std"] == pytest.approx(sum(stds) / 3, abs=1e-6)
    assert "judge_score" not in metrics and metrics["answered"] == 1 and metrics["n_scored"] == 3
    # Between meetings as ever, and within: what one person's ratings would add.
    clusters = [row["doc"]["cluster"] for row in samples.values()]
    between = cluster_share(means, clusters)
    within = 1.959964 * math.sqrt(sum(std**2 for std in stds)) / 3
    assert metrics["orca_mean_low"] == pytest.approx(
        max(0, metrics["orca_mean"] - math.hypot(metrics["orca_mean"] - between.low, within)), abs=1e-5
    )
    assert metrics["orca_mean_low"] < between.low and metrics["orca_mean_high"] > between.high
    description = result["configs"][QA]["metadata"]["judge"]
    assert description == {
        "name": "tiny-orca",
        "kind": "orca",
        "model": str(checkpoint),
        "revision": fingerprint(checkpoint),
        "rubric": "orca",
    }
    [[verdict]] = told[samples[next(iter(samples))]["doc"]["case"]]["verdicts"]
    assert read_prediction(verdict["feedback"]) is not None and verdict["score"] == pytest.approx(means[0])
    assert verdict["prompt_tokens"] > 0 and verdict["completion_tokens"] == 0


def test_conversations_are_judged_turn_by_turn(judge: Path, checkpoint: Path) -> None:
    with stub_server(answer) as server:
        result = run(TALK, server.url)
    told = {row["doc"]["case"]: json.loads(row["filtered_resps"][0]) for row in result["samples"][TALK]}
    responses = {
        (case, turn): text
        for case, row in told.items()
        for turn, text in enumerate(json.loads(row["response"]))
    }
    means = [float(one.mean or 0) for one in expected(checkpoint, responses, TALK)]
    metrics = metrics_of(result, TALK)
    assert (metrics["n"], len(means)) == (3, 3)
    assert metrics["orca_mean"] == pytest.approx(sum(means) / 3, abs=1e-6)


def test_what_is_judged_once_is_read_from_the_store(judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_server(answer) as server:
        first = metrics_of(run(QA, server.url), QA)

        def load(*_: Any) -> None:
            raise AssertionError("the model is loaded for nothing")

        monkeypatch.setattr("long_context_tasks.orca.judge._loaded", load)
        again = metrics_of(run(QA, server.url), QA)
    assert again["n_scored"] == 3 and again["orca_mean"] == first["orca_mean"]


@pytest.mark.parametrize(
    ("text", "mean", "reason"),
    [
        # The lowest mean, and no request.
        ("<think>never ends", 0, "n_answer_cut"),
        # Beyond the window of the judge: no score.
        ("long " * 200, math.nan, "n_judge_unparsable"),
    ],
    ids=["no answer", "too long"],
)
def test_answers_that_orca_cannot_read(judge: Path, text: str, mean: float, reason: str) -> None:
    with stub_server(lambda messages: text) as server:
        metrics = metrics_of(run(QA, server.url), QA)
    assert metrics["orca_mean"] == pytest.approx(mean, nan_ok=True)
    assert metrics[reason] == metrics["n"] == 3 and metrics["n_scored"] == (0 if math.isnan(mean) else 3)


def test_a_judged_task_without_references_is_refused(judge: Path, tmp_path: Path) -> None:
    write_published_files("ethic", tmp_path / "data", 2)
    with pytest.raises(InputError, match=r"ethic_summarize_books: .*ORCA \(tiny-orca\) cannot judge it"):
        evaluate("ethic_summarize_books", model="dummy")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("base_url: http://x/v1", "base_url"),
        ("rubric: gpt", "does not have rubric"),
        ("logprobs: 5", "does not have logprobs"),
        ("model: /nowhere", "not an ORCA checkpoint"),
    ],
)
def test_bad_judge_files(judge: Path, checkpoint: Path, lines: str, message: str) -> None:
    model = "" if lines.startswith("model") else f"model: {checkpoint}\n"
    judge.write_text(f"kind: orca\n{model}{lines}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_judge(judge)


@pytest.mark.parametrize("part", ["model/lm/model.safetensors", "args.yaml", "tokenizer/tokenizer.json"])
def test_the_fingerprint_covers_every_part(checkpoint: Path, tmp_path: Path, part: str) -> None:
    from long_context_tasks.orca.checkpoint import fingerprint

    copy = Path(shutil.copytree(checkpoint, tmp_path / "elsewhere"))
    assert fingerprint(copy) == fingerprint(checkpoint)
    with (copy / part).open("ab") as file:
        file.write(b"\nmore: 1\n")
    assert fingerprint(copy) != fingerprint(checkpoint)


def test_the_fingerprint_of_an_adapter_covers_its_base(checkpoint: Path, tmp_path: Path) -> None:
    from long_context_tasks.orca.checkpoint import fingerprint

    copy = Path(shutil.copytree(checkpoint, tmp_path / "adapted"))
    base = Path(shutil.copytree(checkpoint / "model" / "lm", tmp_path / "base"))
    adapter = copy / "model" / "lm" / "adapter_config.json"
    adapter.write_text(json.dumps({"base_model_name_or_path": str(base)}), encoding="utf-8")
    found = {fingerprint(copy), fingerprint(copy, "owl/hub"), fingerprint(copy, "fox/hub")}
    (base / "model.safetensors").write_bytes(b"other weights")
    assert len(found | {fingerprint(copy)}) == 4


def test_a_judge_file_clamps(judge: Path) -> None:
    from long_context_tasks.orca.metrics import clamp

    plain = load_judge(judge)
    with judge.open("a", encoding="utf-8") as file:
        file.write("threshold: 0.9\n")
    config = load_judge(judge)
    assert plain is not None and config is not None
    assert config.revision == f"{plain.revision} clamped at 0.9"
    replies = []
    for one in (plain, config):
        load = kind_of(one).load
        assert load is not None
        prompts = [
            [Message("user", json.dumps({"question": "?", "reference": "r" * n, "candidate": "x" * n}))]
            for n in range(1, 60)
        ]
        replies.append([json.loads(reply.text)["mean"] for reply in load(one)(prompts, Draw(None))])
    assert replies[1] == [clamp(mean, 0.0, 0.9) for mean in replies[0]] != replies[0]


def test_clamping_needs_a_variance(tmp_path: Path) -> None:
    saved_checkpoint(tmp_path / "b", head="bernoulli")
    (tmp_path / "b.yaml").write_text(
        f"kind: orca\nmodel: {tmp_path / 'b'}\nthreshold: 0.1\n", encoding="utf-8"
    )
    config = load_judge(tmp_path / "b.yaml")
    assert config is not None
    with pytest.raises(InputError, match="bernoulli head predicts no variance"):
        kind_of(config).check(config)


def test_a_judge_of_rationales_is_warned_of(judge: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = load_judge(judge)
    assert config is not None
    prepare = kind_of(config).prepare
    assert prepare is not None
    prepare(load_task(QA, resolve_options({})), config)
    assert "trained with rationales, which tasks do not have" in caplog.text
    assert "judge tiny-orca: the checkpoint does not state its agreement with people" in caplog.text


def test_both_hosts_and_judging_later_say_the_same(
    judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub_server(answer) as server:
        then = metrics_of(run(QA, server.url), QA)
        monkeypatch.delenv("LCT_JUDGE")
        run_lm_eval(
            tmp_path / "results" / "lm", [QA], served_by(server.url), {"lct_data_dir": str(tmp_path / "data")}
        )
        options = {
            "LCT_DATA_DIR": str(tmp_path / "data"),
            "LCT_TOKENIZER": str(make_tiny_model(tmp_path / "tiny")),
            "LCT_JUDGE": str(judge),
        }
        told = run_opencompass(tmp_path / "results", [QA], server.url, options)[1]
    [path] = (tmp_path / "results" / "oc").rglob(f"results/*/{QA}.json")
    in_host = json.loads(path.read_text())
    for name in ("orca_mean", "orca_mean_low", "orca_mean_high", "orca_std"):
        assert in_host[name] == pytest.approx(100 * then[name], abs=1e-4)
    assert "orca_mean" in told and in_host["judge"][0]["name"] == "tiny-orca"
    done = CliRunner().invoke(app, ["judge", "run", str(tmp_path / "results"), "--judge", str(judge)])
    assert done.exit_code == 0, done.stderr
    found = {
        row["host"]: row["numbers"]
        for row in (json.loads(path.read_text()) for path in (tmp_path / "results").rglob("judged/**/*.json"))
    }
    runs = find_runs(tmp_path / "results").runs
    assert {run.host for run in runs} == set(found) == {"lm_eval", "opencompass"}
    for numbers in found.values():
        for name in ("orca_mean", "orca_mean_low", "orca_mean_high", "orca_std"):
            assert numbers[name] == pytest.approx(then[name], abs=1e-6)
    table = done.stdout
    assert "orca_mean" in table and "tiny-orca" in table


def test_the_report_of_elitr_bench_takes_orcas_metrics(judge: Path, tmp_path: Path) -> None:
    with stub_server(answer) as server:
        run_lm_eval(tmp_path / "lm", [QA], served_by(server.url))
    report = ["report", str(tmp_path / "lm"), "--section", "elitr_bench"]
    done = CliRunner().invoke(app, [*report, "--metric", "orca_mean"])
    assert done.exit_code == 0, done.output
    assert "orca_mean" in done.stdout and "tiny-orca" in done.stdout
    done = CliRunner().invoke(app, report)
    assert done.exit_code == 0 and "orca_mean" in done.output
