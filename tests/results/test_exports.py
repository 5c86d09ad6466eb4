"""Exports: records of Every Eval Ever, files of the hub, changes by bundles; and nothing private in any of them."""

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("polars")
pytest.importorskip("jsonschema")

import polars as pl
import yaml
from bundle_files import TALK, both_hosts, card_without, pack_one, with_human_baseline
from collected_runs import METRICS, TASK, Run, Turn, run_of, simple, write_lm_eval, write_opencompass
from eee_rules import check_records
from typer.testing import CliRunner, Result

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.cli import app
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.tables import TABLES

KEY = "sk-0123456789abcdef0123"
TODAY = catalogue.card("ada_leval").version


def lct(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return both_hosts(tmp_path / "results")


def text_of(folder: Path) -> str:
    return "\n".join(
        path.read_bytes().decode(errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "plotly.min.js"
    )


def test_records_of_runs_and_of_their_bundle(results: Path, tmp_path: Path) -> None:
    done = lct("report", "export", results, "--eee", tmp_path / "e", "--developer", "me")
    assert done.exit_code == 0, done.output
    plain, talk = check_records(tmp_path / "e")
    assert (plain[0]["eval_library"]["name"], talk[0]["eval_library"]["name"]) == ("lm_eval", "opencompass")
    ids = {
        found["metric_config"]["metric_name"]: found["metric_config"]
        for found in plain[0]["evaluation_results"]
    }
    # One of two rules has the id by which other sources have it.
    assert ids["official_accuracy"]["metric_id"] == "accuracy"
    assert ids["strict_accuracy"]["metric_id"] == "ada_leval.strict_accuracy"
    assert {found["metric_kind"] for found in ids.values()} == {"accuracy"}
    score = plain[0]["evaluation_results"][0]["score_details"]
    assert score["score"] == pytest.approx(2 / 3) and score["details"]["reasons"] == "1 does_not_fit"
    assert len(plain[1]) == 3 * len(METRICS)  # the case that did not fit has no score, and no row
    assert [row["evaluation"]["is_correct"] for row in plain[1][:: len(METRICS)]] == [True, False, True]
    judged = talk[0]["evaluation_results"][0]["metric_config"]
    assert (judged["max_score"], judged["llm_scoring"]["judges"][0]["model_info"]["name"]) == (10, "j")
    last = talk[1][2]
    assert [one.get("content") for one in last["messages"]] == [None, "Yes, ü.", None, "<script>"]
    assert last["evaluation"] == {"score": 2.0, "is_correct": False, "num_turns": 2}
    quiet = lct(
        *("report", "export", results, "--eee", tmp_path / "q", "--developer", "me", "--no-responses")
    )
    assert quiet.exit_code == 0 and "<script>" not in text_of(tmp_path / "q")
    assert "response" in check_records(tmp_path / "q")[0][1][0]["metadata"]["left_out"]
    names = sorted(path.name for path in (tmp_path / "e").rglob("*") if path.is_file())
    packed = pack_one(results, tmp_path / "bundles")
    assert lct("report", "export", packed, "--eee", tmp_path / "b", "--developer", "me").exit_code == 0
    assert names == sorted(path.name for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert [rows for _, rows in check_records(tmp_path / "b")] == [plain[1], talk[1]]


def test_what_must_stay_is_in_no_export(results: Path, tmp_path: Path) -> None:
    """Keys, places of the machine, prompts, gold, judges' words; and responses of a benchmark whose card keeps them back."""
    out = ("--eee", tmp_path / "e", "--developer", "me", "--eval-results", tmp_path / "h", "--inputs")
    datasets = ("--dataset", "ada_leval=o/a", "--dataset", "elitr_bench=o/e")
    with card_without("elitr_bench", "responses"):
        done = lct("report", "export", results, *out, *datasets)
        assert done.exit_code == 0, done.output
        site = lct("report", results, "--out", tmp_path / "site")
    assert site.exit_code == 0, site.output
    check_records(tmp_path / "e")
    for folder in ("e", "h", "site"):
        text = text_of(tmp_path / folder)
        texts = ("Prague", "What?", "Yes, \\u00fc", "Yes, ü", "script\\u003e")
        for leak in (KEY, "secret", "key=abc", str(results), *texts):
            assert leak not in text, (folder, leak)
    shown = text_of(tmp_path / "e")
    assert "judge.example/v1" in shown and '"raw": ["A1"]' in shown  # Ada-LEval's card allows responses


def test_inputs_come_where_the_card_allows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    task = load_task(
        "ada_leval_bestanswer_any_synthetic", catalogue.resolve_options({"lct_length": "1k", "lct_n": 2}, {})
    )
    turn = Turn(dict.fromkeys(task.metrics, 1.0), text="line\u2028end")
    write_lm_eval(
        tmp_path / "r", run_of(task, {case.id: [turn] for case in task.cases.cases}, model="org/owl")
    )

    def rows(name: str, *words: str) -> list[dict[str, Any]]:
        done = lct("report", "export", tmp_path / "r", "--eee", tmp_path / name, *words)
        assert done.exit_code == 0, done.output
        [(_, found)] = check_records(tmp_path / name)
        return found

    first = rows("full", "--inputs")[0]
    messages = task.messages(task.cases.cases[0])
    assert first["input"]["formatted"] == "\n\n".join(message.content for message in messages)
    assert first["input"]["reference"] and "left_out" not in first["metadata"]
    assert first["output"]["raw"] == ["line\u2028end"]
    assert rows("plain")[0]["input"] == {"raw": "", "reference": []}
    # Cases from a seed have no owner; those of people's texts have.
    with card_without("ada_leval", "prompts"), card_without("ada_leval", "gold"):
        assert rows("seed", "--inputs")[0]["input"] == first["input"]
        # Only the rule for pages and exports takes the task for one of people's texts.
        built = SimpleNamespace(benchmark="ada_leval", source="built")
        rule = SimpleNamespace(parse_task=lambda _: built, card=catalogue.card, READ_ONLY={})
        monkeypatch.setattr("long_context_tasks.results.case_pages.catalogue", rule)
        kept = rows("kept", "--inputs")[0]
    assert (
        kept["input"] == {"raw": "", "reference": []} and kept["metadata"]["left_out"] == "input, reference"
    )


def test_a_judge_is_named_with_its_prompt_where_that_may_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "elitr_bench_qa_synthetic"
    scores = {"m1": [Turn({"judge_score": 7.0, "answered": 1.0})]}
    judge = {"name": "j", "model": "gpt-9", "rubric": "gpt"}
    for name in (task, "elitr_bench_qa_dev"):
        write_lm_eval(
            tmp_path / "r" / name,
            Run(scores, name, "owl", judge=judge, version=TODAY, points=["judge_score"]),
        )
    names = tmp_path / "models.yaml"
    names.write_text(
        "models: [{name: org/owl, aliases: [owl], weights: open}, {name: maker/gpt-9, aliases: [gpt-9], weights: closed}]"
    )

    def judged(folder: str) -> dict[str, Any]:
        words = ("--models", names, "--organisation", "Lab", "--organisation-url", "https://lab.example/")
        done = lct("report", "export", tmp_path / "r", "--eee", tmp_path / folder, *words)
        assert done.exit_code == 0, done.output
        records = [record for record, _ in check_records(tmp_path / folder)]
        for record in records:
            assert record["source_metadata"]["source_organization_url"] == "https://lab.example/"
            assert record["model_info"]["additional_details"]["model_availability"] == "open_weights"
        results = [result for record in records for result in record["evaluation_results"]]
        return {
            result["evaluation_name"]: result["metric_config"]["llm_scoring"]
            for result in results
            if result["metric_config"]["metric_name"] == "judge_score"
        }

    with with_human_baseline("elitr_bench_qa_dev", 8.5):
        found = judged("e")
    model = found[task]["judges"][0]["model_info"]
    assert (model["id"], model["name"]) == ("maker/gpt-9", "gpt-9")
    assert model["additional_details"]["model_availability"] == "closed_weights"
    assert "{question}" in found[task]["input_prompt"] and "{reference}" in found[task]["input_prompt"]
    # The owners of the published data keep their prompts back.
    assert found["elitr_bench_qa_dev"]["input_prompt"] == "rubric of long_context_tasks: gpt"
    assert found["elitr_bench_qa_dev"]["expert_baseline"] == 8.5 and "expert_baseline" not in found[task]

    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(type(catalogue.benchmark("elitr_bench")), "judge_template", broken)
    assert judged("f")[task]["input_prompt"] == "rubric of long_context_tasks: gpt"


def test_models_without_an_organisation(results: Path, tmp_path: Path) -> None:
    done = lct("report", "export", results, "--eee", tmp_path / "e")
    assert done.exit_code == 2 and "--developer" in done.stderr and not (tmp_path / "e").exists()
    names = tmp_path / "models.yaml"
    names.write_text("models:\n- name: 'Org/Owl: <x>.'\n  aliases: [owl]\n")
    assert lct("report", "export", results, "--eee", tmp_path / "e", "--models", names).exit_code == 0
    assert {record["model_info"]["name"] for record, _ in check_records(tmp_path / "e")} == {"Org/Owl: <x>."}
    assert lct("report", "export", results).exit_code == 2


def test_files_of_the_hub(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    write_lm_eval(folder / "a", Run(simple([1.0, 0.0, 1.0, 1.0]), model="org/owl", version=TODAY))
    warm = "temperature=0.6,do_sample=true"
    write_lm_eval(folder / "b", Run(simple([1.0, 0.0]), model="org/owl", version=TODAY, gen_kwargs=warm))
    write_lm_eval(folder / "c", Run(simple([1.0, None]), model="crow", version=TODAY))
    assert lct("report", "export", folder, "--eval-results", tmp_path / "h").exit_code == 2
    assert (
        lct("report", "export", folder, "--eval-results", tmp_path / "h", "--dataset", "x=y").exit_code == 2
    )
    words = ("--eval-results", tmp_path / "h", "--dataset", "ada_leval=org/data@5503434")
    assert lct("report", "export", folder, *words, "--source-org", "lab").exit_code == 2
    done = lct("report", "export", folder, *words, "--source", "https://l.example/", "--source-org", "lab")
    assert done.exit_code == 0 and f"left out: {TASK} of crow: not ranked" in done.stderr
    place = tmp_path / "h" / "org__owl" / ".eval_results"
    assert re.fullmatch(
        rf"{TASK}\.yaml {TASK}_[0-9a-f]{{8}}\.yaml", " ".join(sorted(p.name for p in place.iterdir()))
    )
    [entry] = yaml.safe_load((place / f"{TASK}.yaml").read_text())
    # The same as EvalResultEntry of huggingface_hub 1.x writes; default settings have no notes.
    assert entry == {
        "dataset": {"id": "org/data", "task_id": TASK, "revision": "5503434"},
        "value": 75.0,
        "date": "2026-01-01",
        "source": {"url": "https://l.example/", "name": "Leaderboard", "org": "lab"},
    }
    [other] = yaml.safe_load(next(place.glob(f"{TASK}_*.yaml")).read_text())
    assert other["notes"] == "temperature=0.6"
    listed = yaml.safe_load((tmp_path / "h" / "org__data" / "eval.yaml").read_text())
    assert (listed["name"], listed["evaluation_framework"]) == ("Ada-LEval", "long_context_tasks")
    assert {"id": TASK, "config": "default", "split": "test"} in listed["tasks"]


def test_what_a_bundle_changes(tmp_path: Path) -> None:
    """A stranger's bundle is compared with an existing one, and its text is escaped."""
    bundles = tmp_path / "before", tmp_path / "after"
    hit, miss = [1.0] * 30, [0.0] * 28 + [1.0] * 2
    hostile = "<b>@all</b>|[x](http://evil.example)"
    for model, values in (("owl", miss), (hostile, hit)):
        write_lm_eval(tmp_path / "r" / str(len(model)), Run(simple(values), model=model, version=TODAY))
    bundles[0].mkdir()
    pack(collect_with_files([tmp_path / "r" / "3"]), bundles[0])
    pack(collect_with_files([tmp_path / "r"]), bundles[1])
    done = lct("report", "check", bundles[1], "--against", bundles[0])
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert text.startswith("# What these results change") and "<b>" not in text and "http://" not in text
    [row] = [line for line in text.splitlines() if line.startswith("| ada") and "1 of 2" in line]
    assert r"| - | 100.0 % \(88.4 to 100.0\) | 1 of 2 |" in row and "owl" not in row
    assert (
        "@all" not in text and "@\u200ball" in text and " better |" in text
    )  # nobody is called by a model's name
    empty = tmp_path / "empty"
    empty.mkdir()
    both = lct("report", "check", bundles[1], "--against", empty).stdout
    assert "1 of 2" in both and "2 of 2" in both
    assert "No score changes" in lct("report", "check", bundles[1], "--against", bundles[1]).stdout
    gone = lct("report", "check", bundles[0], "--against", bundles[1]).stdout
    assert re.search(r"\| 100\.0 % .* \| - \| - \|", gone)
    document = json.loads(lct("report", "check", bundles[1], "--against", bundles[0], "--json").stdout)
    assert document["result"]["markdown"].strip() == text.strip() and document["result"]["runs"] == 2


def test_every_table_is_the_same_in_every_format(results: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    out = tmp_path / "site"
    told: dict[str, Any] = {"judge": {"name": "j"}, "points": ("judge_score",), "made": "20260101_100000"}
    write_opencompass(results / "x", Run(TALK, "elitr_bench_conv_dev", '"><img src=x>&\x01', **told))
    assert lct("report", results, "--out", out).exit_code == 0
    for name in TABLES:
        table = json.loads((out / f"{name}.json").read_text())
        frame = pl.read_parquet(out / f"{name}.parquet")
        rows = list(csv.reader((out / f"{name}.csv").open(newline="")))
        assert list(table["columns"]) == frame.columns == rows[0] and table["table"] == name
        assert len(table["rows"]) == len(frame) == len(rows) - 1
        for row, other in zip(table["rows"], frame.fill_nan(None).to_dicts(), strict=True):
            assert row == other
        assert set(table["columns"].values()) <= {"text", "integer", "number", "boolean", "list"}
    table = json.loads((out / "task" / f"{TASK}.json").read_text())
    assert [(row["model"], row["task"]) for row in table["rows"]] == [("owl", TASK)]
