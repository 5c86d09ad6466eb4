"""Tasks that hosts bring themselves: result files that the hosts wrote (see data/own_tasks/README.txt) as runs, tables and pages."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import needs

pytest.importorskip("polars")

import polars as pl
from typer.testing import CliRunner

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.cli import app
from long_context_tasks.hosts.own_tasks import add_cards, own_runs
from long_context_tasks.hosts.stored import Found, OtherTask, StoredRun
from long_context_tasks.results import find_runs
from long_context_tasks.results.cells import Cell, cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.lengths import chances
from long_context_tasks.results.tidy import Collection

DATA = Path(__file__).parent / "data" / "own_tasks"
NIAH = "lm_eval_ruler_niah_single_1"
CARD = """
- name: my_needles
  title: Needles
  host: lm_eval
  names: (?P<task>niah)_.+
  length_field: max_length
  cluster: length
  labels: {index: {}}
  metrics: {found: Share of the numbers that are found.}
  tasks:
    niah: {headline: found, mean: '(?P<length>\\d+),none', chance: "0"}
"""


@pytest.fixture(autouse=True)
def _own_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's cards are gone after a test."""
    monkeypatch.setattr(catalogue, "READ_ONLY", dict(catalogue.READ_ONLY))


@pytest.fixture(scope="module")
def collection() -> Collection:
    """RULER in lm-eval, and the tasks of OpenCompass."""
    return collect([DATA / "lm_eval", DATA / "opencompass"])


@pytest.fixture(scope="module")
def datasets() -> Collection:
    """LongBench and BABILong in lm-eval."""
    return collect([DATA / "lm_eval_datasets"])


@pytest.fixture(scope="module")
def logs() -> Collection:
    """The tasks of inspect_evals."""
    return collect([DATA / "inspect" / "whole"])


def cell(collection: Collection, task: str, model: str) -> Cell:
    [found] = [each for each in cells_of(collection) if (each.task, each.model) == (task, model)]
    return found


def by_cards(host: str, name: str, means: dict[str, Any], settings: dict[str, Any]) -> list[Found]:
    """What the cards make of a host's result."""
    common: dict[str, Any] = {"model": "owl", "options": {}, "folder": DATA, "made": "now", "files": ()}
    common |= {"host": host, "label": "", "provenance": {}, "result_file": DATA}
    return own_runs(name, means, settings, lambda run, task: iter(()), **common)


def lct(*words: object) -> str:
    return CliRunner().invoke(app, ["report", *map(str, words)]).stdout


def test_lm_eval_lengths_are_tasks_with_the_mean_of_the_host(collection: Collection) -> None:
    assert collection.problems == ()
    for model in ("reader", "dummy"):
        [path] = (DATA / "lm_eval" / model).glob("results_*.json")
        stated = json.loads(path.read_bytes())["results"]["niah_single_1"]
        for length in (512, 1024):
            found = cell(collection, f"{NIAH}_{length}", model)
            assert found.mean.value == pytest.approx(stated[f"{length},none"], abs=1e-12)
            assert (found.length, found.mean.n, found.n_available, found.ranked) == (length, 6, 6, True)
    # lm-eval writes -1 for its default length, of which no case ran.
    assert f"{NIAH}_4096" not in set(collection.runs["task"])


@pytest.mark.parametrize(
    ("task", "key", "length", "n", "chance"),
    [
        ("longbench_qasper", "score", None, 6, None),
        ("longbench_2wikimqa_e", "score", None, 6, None),
        ("longbench_trec", "score", None, 6, None),
        ("longbench_passage_count", "score", None, 6, None),
        ("babilong_qa1", "acc", None, 8, 1 / 6),
        ("babilong_qa1", "acc", 1000, 8, 1 / 6),
        ("babilong_qa2", "acc", 2000, 8, 1 / 6),
        ("longbench2_graph", "acc", None, 8, 0.25),
        ("longbench2_table", "acc", None, 8, 0.25),
        ("longbench2_code", "acc", None, 8, 0.25),
    ],
)
def test_lm_eval_tasks_give_the_mean_of_the_host(
    datasets: Collection, task: str, key: str, length: int | None, n: int, chance: float | None
) -> None:
    rows = [json.loads(path.read_bytes()) for path in (DATA / "lm_eval_datasets").rglob("results_*.json")]
    name = f"lm_eval_{task}" + (f"_{length // 1000}k" if length else "")
    of_length = f"{length // 1000}k" if length else None
    cells = [found for found in cells_of(datasets) if found.task == name]
    stated = {
        row["config"]["model_args"].get("model", "dummy"): row["results"][task][f"{key},none"]
        for row in rows
        if task in row["results"] and row["configs"][task]["metadata"].get("max_seq_lengths") == of_length
    }
    assert {found.model: found.mean.value for found in cells} == pytest.approx(stated, abs=1e-12)
    assert chances(cells).get(name) == chance
    for found in cells:
        assert (found.length, found.mean.n, found.n_available, found.ranked) == (length, n, n, True)
        # All questions of trec are on one text here, so that the spread is unknown.
        assert found.mean.low < found.mean.value < found.mean.high or task == "longbench_trec"


def test_questions_on_one_text_are_a_cluster(datasets: Collection) -> None:
    by_run = datasets.scores.group_by("run").agg(pl.col("cluster").n_unique())
    numbers = {str(run): n for run, n in by_run.iter_rows()}
    clusters = {task: numbers[run] for task, run in datasets.runs.select("task", "run").iter_rows()}
    expected = {"qasper": 3, "2wikimqa_e": 6, "trec": 1}
    assert {name: clusters[f"lm_eval_longbench_{name}"] for name in expected} == expected


def test_versions_of_a_hosts_task_are_not_repeats_of_each_other(tmp_path: Path) -> None:
    for name in ("new", "old"):
        shutil.copytree(DATA / "lm_eval_datasets" / "wren", tmp_path / name)
    [path] = (tmp_path / "old").glob("results_*.json")
    content = json.loads(path.read_bytes())
    content["versions"]["longbench_trec"] = 4.0
    path.write_text(json.dumps(content))
    found = [each.settings for each in cells_of(collect([tmp_path])) if each.task == "lm_eval_longbench_trec"]
    assert sorted(found) == ['{"version": 4.0}', '{"version": 5.0}']


@needs("inspect_ai")
@pytest.mark.parametrize(
    ("task", "key", "length", "n", "n_scored", "chance"),
    [
        ("infinite_bench_passkey", "accuracy", None, 6, 6, 0),
        ("infinite_bench_math_calc", "accuracy", None, 6, 6, 0),
        ("infinite_bench_longbook_choice_eng", "accuracy", None, 6, 6, 0.25),
        # The judge's answer has no number for one of the cases.
        ("niah", "target_context_length_1000_accuracy", 1000, 3, 2, None),
        ("niah", "target_context_length_2000_accuracy", 2000, 3, 3, None),
        ("niah", "target_context_length_3000_accuracy", 3000, 3, 3, None),
    ],
)
def test_inspect_evals_give_the_mean_of_the_host(
    logs: Collection, task: str, key: str, length: int | None, n: int, n_scored: int, chance: float | None
) -> None:
    name = task.replace("infinite_bench", "inspect_infinitebench").replace("niah", "inspect_needles_niah")
    name += f"_{length // 1000}k" if length else ""
    found = cell(logs, name, "owl")
    stated = [
        score["metrics"][key]["value"]
        for path in (DATA / "inspect" / "whole").iterdir()
        if (log := json.loads(path.read_bytes()))["eval"]["task"] == f"inspect_evals/{task}"
        and log["eval"]["model"].endswith("owl")
        for score in log["results"]["scores"]
    ]
    assert [found.mean.value] == pytest.approx(stated, abs=1e-12)
    assert (found.length, found.mean.n, found.n_available) == (length, n_scored, n)
    assert found.ranked == (n == n_scored)
    assert found.mean.low < found.mean.value <= found.mean.high
    assert chances([found]).get(name) == chance


@needs("inspect_ai")
def test_a_length_of_which_no_case_ran_is_no_run() -> None:
    limited = collect([DATA / "inspect" / "limited"])
    assert limited.problems == ()
    assert {found.task: (found.mean.n, found.n_available) for found in cells_of(limited)} == {
        "inspect_needles_niah_1k": (2, 3),
        "inspect_needles_niah_2k": (1, 3),
    }


@pytest.mark.parametrize(
    ("task", "length", "results"),
    [
        ("opencompass_ruler_niah_multivalue_2048", 2048, ["ruler_niah_multivalue_2k"]),
        ("opencompass_ruler_niah_multivalue_4096", 4096, ["ruler_niah_multivalue_4k"]),
        (
            "opencompass_needlebench_origin_en_1k",
            1000,
            ["Length1000Depth0_origin_en_4k", "Length1000Depth50_origin_en_4k"],
        ),
        (
            "opencompass_needlebench_origin_en_2k",
            2000,
            ["Length2000Depth0_origin_en_4k", "Length2000Depth50_origin_en_4k"],
        ),
        ("opencompass_longbench2_LongBenchv2", None, ["LongBenchv2"]),
    ],
)
def test_opencompass_datasets_give_the_mean_of_the_host(
    collection: Collection, task: str, length: int | None, results: list[str]
) -> None:
    folder = DATA / "opencompass/20261127_010000/results/owl"
    stated = [json.loads((folder / f"{name}.json").read_bytes()) for name in results]
    mean = sum(row.get("score", row.get("accuracy")) for row in stated) / len(stated) / 100
    found = cell(collection, task, "owl")
    assert found.mean.value == pytest.approx(mean, abs=5e-5)  # RULER's evaluators round
    assert found.length == length


def test_depths_of_one_length_are_labels_of_one_task(collection: Collection) -> None:
    labels = collection.scores.select(pl.col("labels").cast(pl.String())).drop_nulls()["labels"].to_list()
    assert sorted(labels) == ['{"needle_depth": "0"}'] * 6 + ['{"needle_depth": "50"}'] * 6


def test_models_are_compared_on_the_same_cases() -> None:
    document = json.loads(lct("compare", DATA, "--model", "reader", "--model", "dummy", "--json"))
    by_task = {row["tasks"][0]: (row["n_cases"], row["difference"]) for row in document["tasks"]}
    assert by_task == {f"{NIAH}_{length}": (6, pytest.approx(4 / 6)) for length in (512, 1024)}


def test_pages_say_whose_task_it_is_and_an_effective_length_is_given(tmp_path: Path) -> None:
    lct("site", DATA, "--out", tmp_path / "site")
    for page in (f"task/{NIAH}_512.html", "benchmark/lm_eval_ruler.html"):
        assert "prompts and scores are the host" in (tmp_path / "site" / page).read_text()
    # RULER has a metric of the same name.
    longbench = (tmp_path / "site" / "task/lm_eval_longbench_qasper.html").read_text()
    assert ("edit similarity" in longbench, "Share of the gold" in longbench) == (True, False)
    # Nobody can run these tasks by our names.
    assert NIAH not in (tmp_path / "site" / "submit.html").read_text()
    assert f"reader,lm_eval_ruler,{NIAH}," in (tmp_path / "site" / "lengths.csv").read_text()


@needs("inspect_ai")
def test_a_bundle_holds_them(tmp_path: Path) -> None:
    assert "problem" not in lct("pack", DATA, "--out", tmp_path / "all.lct.zip")
    packed = collect([tmp_path / "all.lct.zip"])
    assert packed.problems == ()
    assert sorted(packed.runs["task"]) == sorted(collect([DATA]).runs["task"])


@pytest.mark.parametrize(
    ("host", "name", "change", "message"),
    [
        ("lm_eval/reader", "results_*.json", {"512,none": 0.9}, "score is 0.9, but the cases give 0.666667"),
        (
            "opencompass",
            "ruler_niah_multivalue_2k.json",
            {"score": 90.0},
            "the mean is 0.9, but the cases give 0.714286",
        ),
        (
            "opencompass",
            "Length1000Depth0_origin_en_4k.json",
            {"details": None},
            "not a result as the card has it",
        ),
    ],
)
def test_cases_that_do_not_give_the_mean_of_the_host_are_left_out(
    tmp_path: Path, host: str, name: str, change: dict[str, Any], message: str
) -> None:
    folder = tmp_path / host
    shutil.copytree(DATA / host, folder)
    path = next(path for path in folder.rglob(name) if "predictions" not in path.parts)
    content = json.loads(path.read_bytes())
    content.get("results", {}).get("niah_single_1", content).update(change)
    path.write_text(json.dumps(content))
    [problem] = collect([tmp_path]).problems
    assert message in problem


def test_answers_that_are_not_evaluated_are_named(tmp_path: Path) -> None:
    shutil.copytree(DATA / "opencompass", tmp_path / "oc")
    shutil.rmtree(tmp_path / "oc" / "20261127_010000" / "results")
    shutil.copytree(DATA / "lm_eval" / "reader", tmp_path / "reader")
    next((tmp_path / "reader").glob("samples_*")).unlink()
    problems = collect([tmp_path]).problems
    assert len(problems) == 7
    assert sum("evaluate with the host's -m eval -r" in problem for problem in problems) == 5
    assert sum("ran without --log_samples" in problem for problem in problems) == 2


def test_other_commands_and_tasks_without_a_card_find_nothing(tmp_path: Path) -> None:
    assert find_runs(DATA).runs == ()
    assert by_cards("lm_eval", "hellaswag", {"acc,none": 0.5}, {}) == [OtherTask("lm_eval", "hellaswag")]


def _lm_eval_with(folder: Path, tasks: list[str]) -> None:
    """Write results of lm-eval with other tasks only."""
    [path] = (DATA / "lm_eval" / "reader").glob("results_*.json")
    content = json.loads(path.read_bytes())
    content["results"] = {task: {"acc,none": 0.5} for task in tasks}
    content["configs"] = {task: {"metadata": {"version": 3}} for task in tasks}
    folder.mkdir(parents=True)
    (folder / path.name).write_text(json.dumps(content))


def test_tasks_without_a_card_are_named_and_skipped(tmp_path: Path) -> None:
    _lm_eval_with(tmp_path / "lm_eval", ["gsm8k_tiny", *(f"mmlu_{number}" for number in range(9))])
    shutil.copytree(DATA / "opencompass", tmp_path / "oc")
    for kind in ("predictions", "results"):
        [folder] = (tmp_path / "oc" / "20261127_010000" / kind).iterdir()
        shutil.copy(folder / "LongBenchv2.json", folder / "gsm8k.json")
    said = CliRunner().invoke(app, ["report", str(tmp_path)])
    [note] = [line for line in said.stderr.splitlines() if "skipped" in line]
    assert "gsm8k_tiny (lm_eval), mmlu_0 (lm_eval)" in note
    assert "mmlu_6 (lm_eval), 3 more" in note
    assert said.exit_code == 0
    shutil.rmtree(tmp_path / "lm_eval")
    assert "these tasks: gsm8k (opencompass);" in collect([tmp_path]).notes[-1]


def test_a_folder_with_only_other_tasks_names_them(tmp_path: Path) -> None:
    _lm_eval_with(tmp_path / "lm_eval", ["gsm8k_tiny"])
    said = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "gsm8k_tiny (lm_eval)" in said.stderr
    assert said.exit_code == 2
    assert collect([tmp_path]).problems == ()


def test_a_users_card_replaces_ours(tmp_path: Path) -> None:
    (tmp_path / "cards.yaml").write_text(CARD)
    said = lct("site", DATA / "lm_eval", "--cards", tmp_path / "cards.yaml", "--json")
    [table] = json.loads(said)["tables"]
    rows = table["rows"]
    assert {row["task"] for row in rows} == {"my_needles_niah_512", "my_needles_niah_1024"}
    assert {row["metric"] for row in rows} == {"found"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("name: my_needles", "name: ada_leval"), "ada_leval is a benchmark of `lct tasks`"),
        (("length_field", "length_feld"), "card 1: unknown key 'length_feld'; did you mean length_field?"),
        (("niah)_.+", "niah_.+"), "card 1: names must be a valid regular expression"),
        (("headline: found", "headline: lost"), "names the metric 'lost', which metrics does not describe"),
        (("- name", "name"), "must be a list;"),
    ],
)
def test_a_wrong_card_is_refused(tmp_path: Path, wrong: tuple[str, str], message: str) -> None:
    path = tmp_path / "cards.yaml"
    path.write_text(CARD.replace(*wrong) if wrong[0] != "- name" else "name: my_needles\n")
    said = CliRunner().invoke(app, ["report", str(DATA), "--cards", str(path)])
    assert said.exit_code != 0
    assert message in said.output


@pytest.mark.parametrize(
    ("name", "means", "settings", "message"),
    [
        ("babilong_qa3", {"acc,none": 0.5}, {"max_seq_lengths": "long"}, "'long' is not a length"),
        ("longbench_../../x", {"score,none": 0.5}, {}, "other characters than letters"),
        ("longbench_trec", {"score,none": float("inf")}, {}, "an infinite score"),
        ("niah_single_1", {"512,none": 0.5}, {}, "unknown task single of picky; its card has other"),
    ],
)
def test_a_task_that_is_not_as_its_card_has_it_leaves_others_of_the_file_alone(
    tmp_path: Path, name: str, means: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    if "picky" in message:
        picky = CARD.replace("my_needles", "picky").replace("(?P<task>niah)_.+", "niah_(?P<task>single)_1")
        (tmp_path / "picky.yaml").write_text(picky.replace("niah: {", "other: {"))
        add_cards(tmp_path / "picky.yaml")
    shutil.copytree(DATA / "lm_eval" / "reader", tmp_path / "reader")
    [path] = (tmp_path / "reader").glob("results_*.json")
    content = json.loads(path.read_bytes())
    content["results"] = {name: means, **content["results"]}
    content["configs"] = {name: {"metadata": settings}, **content["configs"]}
    path.write_text(json.dumps(content))
    found = collect([tmp_path])
    assert [message in problem for problem in found.problems] == [True]
    assert len(found.runs) == (0 if "picky" in message else 2)


@pytest.mark.parametrize(
    ("host", "name", "means", "settings", "task"),
    [
        ("lm_eval", "babilong_qa3", {"acc,none": 0.5}, {"max_seq_lengths": "4k"}, "lm_eval_babilong_qa3_4k"),
        ("lm_eval", "babilong_qa3", {"acc,none": 0.5}, {"max_seq_lengths": "0k"}, "lm_eval_babilong_qa3"),
        ("lm_eval", "longbench_repobench-p", {"score,none": 0.5}, {}, "lm_eval_longbench_repobench-p"),
        ("lm_eval", "longbench2_graph", {"acc,none": 0.5}, {}, "lm_eval_longbench2_graph"),
        ("lm_eval", "ruler_vt", {"4096,none": 0.5, "8192,none": -1}, {}, "lm_eval_ruler_ruler_vt_4096"),
        ("opencompass", "ruler_qa_squad_128k", {"score": 50.0}, {}, "opencompass_ruler_qa_squad_131072"),
        (
            "inspect",
            "inspect_evals/infinite_bench_passkey",
            {"accuracy": 0.5},
            {},
            "inspect_infinitebench_passkey",
        ),
        (
            "inspect",
            "inspect_evals/niah",
            {"overall_accuracy": 5, "target_context_length_10000_accuracy": 7},
            {},
            "inspect_needles_niah_10k",
        ),
    ],
)
def test_our_cards_name_the_tasks_of_the_hosts(
    host: str, name: str, means: dict[str, Any], settings: dict[str, Any], task: str
) -> None:
    [found] = by_cards(host, name, means, settings)
    assert isinstance(found, StoredRun)
    spec = catalogue.parse_task(task)
    assert (found.task, spec.name) == (task, task)
    assert found.label == f"_{spec.tokens or ''}"


@needs("inspect_ai")
def test_inspect_samples_give_the_mean_of_the_host(tmp_path: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import includes

    samples = [
        Sample(
            id=number,
            input=f"Say {number}.",
            target=str(number % 2),
            metadata={"max_length": 1000 + number % 2},
        )
        for number in range(4)
    ]
    task = Task(name="infinite_bench_passkey", dataset=MemoryDataset(samples), scorer=includes())
    [log] = eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.results is not None
    stated = log.results.scores[0].metrics["accuracy"].value
    found = cell(collect([tmp_path]), "inspect_infinitebench_passkey", "model")
    assert found.mean.value == stated
    assert found.mean.n == 4
    eval(Task(name="gsm8k", dataset=MemoryDataset(samples)), model="mockllm/model", log_dir=str(tmp_path))
    assert "gsm8k (inspect)" in collect([tmp_path]).notes[-1]
