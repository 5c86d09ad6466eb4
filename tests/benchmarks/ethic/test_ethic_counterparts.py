"""The tasks without published data: run on built cases only, in no group of the benchmark, compared with recalling."""

import csv
from pathlib import Path

import pytest
import yaml
from contract_data import BUILT, write_built_cases
from ethic_oracle import oracle, write_documents
from stored_ethic_runs import write_lm_eval
from typer.testing import CliRunner

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.scoring import METRICS, SCORES
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.cli import app
from long_context_tasks.hosts.lm_eval.generate import benchmark_files
from long_context_tasks.hosts.opencompass.configs import default_tasks, task_groups
from long_context_tasks.schema import Case, InputError, LoadedTask, Turn

TASKS = [f"ethic_{kind}_{domain}" for kind, domains in BUILT.items() for domain in domains]


def test_they_are_the_tasks_that_the_card_marks() -> None:
    marked = [
        spec.name for spec in catalogue.task_specs() if spec.benchmark == "ethic" and spec.source == "built"
    ]
    assert marked == TASKS


@pytest.mark.parametrize("name", TASKS)
def test_without_built_cases_one_error_names_the_remedy(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=f"{name}: has no published data; build .*lct build ethic_recall_counterparts"
    ) as e:
        load_task(name, resolve_options({"lct_data_dir": tmp_path}))
    assert "lct_cases" in str(e.value)


def test_their_cases_are_found_beside_those_of_other_families(tmp_path: Path) -> None:
    write_built_cases(tmp_path, 2)
    for folder in (tmp_path, tmp_path / "ethic_recall_counterparts"):
        for name in TASKS:
            task = load_task(name, resolve_options({"lct_cases": folder, "lct_length": "1k"}))
            assert len(task.cases) == 2 and task.judging is None and task.points == frozenset()
            for case in task.cases.cases:
                [gold] = case.turns[0].gold
                scores = task.score(case, gold, None)
                assert tuple(scores) == task.metrics and scores[task.metrics[0]].value == 1
    with pytest.raises(InputError, match="holds no cases of ethic_recall_books"):
        load_task(
            "ethic_recall_books", resolve_options({"lct_cases": tmp_path / "ethic_recall_counterparts"})
        )


def test_every_task_has_its_function() -> None:
    assert {*SCORES, "summarize"} == set(METRICS) == set(catalogue.card("ethic").tasks)
    case = Case("1", "t", {}, (Turn(["x"]),), "c", labels={"domain": "books"})
    for kind in BUILT:
        assert tuple(SCORES[kind](case, "x", None)) == METRICS[kind]


def test_groups_on_published_data_leave_them_out() -> None:
    groups = {
        row["group"]: row
        for path, text in benchmark_files("ethic").items()
        if path.name.startswith("_ethic") and (row := yaml.safe_load(text))
    }
    assert groups["ethic"]["task"] == ["ethic_recall", "ethic_summarize", "ethic_organize", "ethic_attribute"]
    assert groups["ethic_single_qa"]["task"] == ["ethic_single_qa_books", "ethic_single_qa_debates"]
    assert [one["metric"] for one in groups["ethic_single_qa"]["aggregate_metric_list"]] == ["answer_f1"]
    assert not set(default_tasks("ethic")) & set(TASKS)
    files = task_groups("ethic")
    assert files["ethic_built_gen"] == TASKS and len(files["ethic_gen"]) == 12


def knows_little(task: LoadedTask, case: Case) -> str:
    """The right answer to a question, and every other label."""
    gold = case.turns[0].gold
    return str(gold[0]) if "qa" in task.name else ", ".join(gold[::2])


def test_low_against_high_coverage(tmp_path: Path) -> None:
    documents = write_documents(tmp_path / "documents", paragraphs=120) / "books"
    with oracle(tmp_path) as (_, annotator):
        settings = EthicSettings(lengths=(4000, 8000), annotator=annotator, min_document=8000)
        for family in ("ethic_recall", "ethic_recall_counterparts"):
            ethic_build.build(family, documents, settings, tmp_path / "cases" / family)
    for family in ("ethic_recall", "ethic_recall_counterparts"):
        # Each with its own folder, as the hosts are told.
        options = resolve_options({"lct_cases": tmp_path / "cases" / family})
        name = "ethic_recall_books" if family == "ethic_recall" else "ethic_single_qa_books"
        write_lm_eval(tmp_path / "runs", name, options, knows_little)
    result = CliRunner().invoke(
        app, ["report", str(tmp_path / "runs"), "--section", "ethic", "--csv", str(tmp_path / "csv")]
    )
    assert result.exit_code == 0, result.output
    with (tmp_path / "csv" / "coverage.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["n"], row["domain"], row["low task"]) == ("4", "books", "ethic_single_qa")
    assert (row["low"], row["high task"]) == ("1.000", "ethic_recall")
    assert 0.5 < float(row["high"]) < 0.9
    assert float(row["high - low"]) == pytest.approx(float(row["high"]) - 1)
    assert "ethic_single_qa" not in (tmp_path / "csv" / "items.csv").read_text()
