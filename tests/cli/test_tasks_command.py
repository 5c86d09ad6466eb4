"""`lct tasks`: the table, its JSON, names, and whether data are there."""

import json
from itertools import chain
from pathlib import Path

import pytest
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import ANY, load_task, members_of, parse_task, task_specs
from long_context_tasks.benchmarks.downloads import hub_answers, without_downloads
from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
from long_context_tasks.schema import InputError


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_DATASETS_CACHE", raising=False)


def table_of(*words: object) -> list[dict[str, object]]:
    done = lct("tasks", *words, "--json")
    assert done.code == 0, done
    return list(json.loads(done.out)["tables"][0]["rows"])


def test_names_are_printed_for_globs_groups_and_parts_of_names() -> None:
    every = [spec.name for spec in task_specs()]
    assert lct("tasks", "--names").out.split() == every
    found = lct("tasks", "ethic_*_synthetic", "--names").out.split()
    assert found == [name for name in every if name.startswith("ethic_") and name.endswith("_synthetic")]
    assert set(lct("tasks", "lct_nano", "--names").out.split()) == set(
        members_of("lct_nano", lm_eval_groups())
    )
    assert lct("tasks", "tsort", "--names").out.split() == [name for name in every if "tsort" in name]


def test_a_row_says_what_a_task_scores_and_needs(tmp_path: Path) -> None:
    from both_hosts import write_published_files

    rows = {row["task"]: row for row in table_of()}
    assert list(rows) == [spec.name for spec in task_specs()]
    assert {row["data_here"] for row in rows.values() if row["data"] == "none"} == {True}
    assert {row["data_here"] for row in rows.values() if row["data"] != "none"} == {False}
    assert rows["elitr_bench_qa_test"]["judge"] == "needed"
    assert rows["elitr_bench_qa_synthetic"]["judge"] == "optional"
    assert rows["ethic_recall_books"]["judge"] == "no"
    assert "lct_official" in rows["ethic_recall_books"]["groups"]
    for benchmark in ("ada_leval", "elitr_bench", "ethic"):
        write_published_files(benchmark, tmp_path / "data", 2)
    (tmp_path / "data" / "carriers" / "novels").mkdir(parents=True)
    here = {row["task"] for row in table_of("--data-dir", tmp_path / "data") if row["data_here"]}
    assert {"elitr_bench_qa_dev", "ethic_recall_books", "ethic_organize_books_recast"} <= here
    assert not here & {"ethic_organize_debates_recast", "ethic_multi_qa_law"}
    assert any(name.startswith("ada_leval_bestanswer_1k") for name in here)


@pytest.mark.parametrize(("length", "here"), [("1k", False), ("2k", False), ("4k", True)])
def test_a_cut_input_needs_a_file_of_longer_ones(tmp_path: Path, length: str, here: bool) -> None:
    (tmp_path / "ada_leval").mkdir()
    (tmp_path / "ada_leval" / f"stackselect_{length}.json").write_text("[]")
    rows = {row["task"]: row["data_here"] for row in table_of("bestanswer_any", "--data-dir", tmp_path)}
    assert rows["ada_leval_bestanswer_any_cut2k"] is here and rows["ada_leval_bestanswer_any_front"] is True


def test_the_table_has_a_line_for_all_lengths_and_fits_a_pipe() -> None:
    lines = lct("tasks").out.splitlines()
    assert max(map(len, lines)) <= 200
    assert "length or split" in lines[2]
    [line] = [line for line in lines if "ada_leval_bestanswer_…_synthetic" in line]
    shown = " ".join(line.split())
    assert shown == "ada_leval_bestanswer_…_synthetic 1k to 128k, any strict_accuracy no"
    [line] = [line for line in lines if "ethic_summarize_… " in line]
    shown = " ".join(line.split())
    assert shown == "ethic_summarize_… books, debates, medicine, law summary_score needed no"
    [line] = [line for line in lines if " elitr_bench_qa_…_multiturn_wer" in line]
    assert line.split()[:7] == ["elitr_bench_qa_…_multiturn_werNN", "dev,", "test,", "NN", "20", "to", "100"]
    assert "lct_synthetic" in lines[-1] and "lct_official" in lines[-1]


def _published() -> list[str]:
    """A task of each kind that reads published files."""
    found = {(spec.family, spec.scoring): spec.name for spec in task_specs() if spec.source == "published"}
    return list(found.values())


@pytest.mark.parametrize("name", _published())
def test_missing_data_have_one_message_with_every_remedy(name: str) -> None:
    spec = parse_task(name)
    with without_downloads(), pytest.raises(InputError) as error:
        load_task(name, {"lct_length": spec.card.lengths[-1]} if spec.length == ANY else None)
    said, benchmark = str(error.value), spec.benchmark
    assert "is missing" in said and "\n" not in said
    assert f"(1) `lct data fetch {benchmark}`" in said and "(2) point LCT_DATA_DIR" in said
    seeded = {spec.name for spec in task_specs() if spec.source == "seed" and spec.benchmark == benchmark}
    [advised] = seeded & set(chain.from_iterable(part.split() for part in said.split(",")))
    # The same task, at its length, or else said to be another.
    same = parse_task(advised).task.removesuffix("_synthetic") == spec.task
    assert same is not ("another task" in said)
    lengths = {parse_task(name).length for name in seeded if parse_task(name).task == spec.task}
    assert not same or spec.length not in lengths or parse_task(advised).length == spec.length


def test_a_hub_that_cannot_be_reached_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    http = pytest.importorskip("huggingface_hub.utils._http")

    def waits(seconds: float) -> None:
        raise AssertionError(f"tries again after {seconds} s")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    for module in ("huggingface_hub.hf_api", "huggingface_hub.constants"):
        monkeypatch.setattr(f"{module}.ENDPOINT", "http://127.0.0.1:9", raising=False)
    monkeypatch.setattr(http.time, "sleep", waits)
    assert not hub_answers("dmis-lab/ETHIC")
    with pytest.raises(InputError, match="is not available from the Hugging Face hub"):
        load_task("ethic_recall_books")
