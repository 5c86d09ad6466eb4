"""The end of a run: a table by length, marked cells, named failures, an exit status that tells."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import needs

from long_context_tasks.benchmarks.ada_leval.options import AdaLevalOptions
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.hosts.opencompass.configs import not_run

pytestmark = needs("opencompass")

GIVEN = {"version": card("ada_leval").version, **AdaLevalOptions().resolved()}
OF_ETHIC = {"version": card("ethic").version, **EthicOptions().resolved()}
TASKS = ("ada_leval_tsort_2k", "ada_leval_tsort_16k", "ada_leval_tsort_4k", "ada_leval_bestanswer_4k_front")


def result(value: float, n: int = 10, scored: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "strict_accuracy": value,
        "strict_accuracy_low": value - 1,
        "strict_accuracy_high": value + 1,
        "random_guess": 4.2,
        "n": float(n),
        "n_scored": float(scored),
        "n_truncated": 0.0,
        "lct_task": ["x"],
        "headline": ["strict_accuracy"],
        "window": ["8192 (host)"],
        "judged": ["no"],
        "judge": [{}],
        "lct_given": [GIVEN],
        **more,
    }


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def summarized(work: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Summarises results of models and tasks: the status of the command, and what it prints."""

    def run(
        results: dict[tuple[str, str], dict[str, Any]], models: str = "m", tasks: tuple[str, ...] = TASKS
    ) -> tuple[int, str]:
        from mmengine.config import ConfigDict

        from long_context_tasks.hosts.opencompass.summary import CaseSummarizer

        for (model, task), values in results.items():
            path = work / "results" / model / f"{task}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        infer = {"inferencer": {"type": "x.CaseGenInferencer"}, "retriever": {}}
        config = ConfigDict(
            models=[{"abbr": model} for model in models.split()],
            datasets=[{"abbr": task, "lct_task": task, "infer_cfg": infer} for task in tasks],
            work_dir=str(work),
        )
        try:
            CaseSummarizer(config).summarize(time_str="now")
        except SystemExit as error:
            return int(str(error.code)), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return run


Summarized = Callable[..., tuple[int, str]]


def test_table_by_length(work: Path, summarized: Summarized) -> None:
    status, output = summarized({("m", task): result(10.0 * i) for i, task in enumerate(TASKS)})
    assert (work / "summary" / "lengths_now.csv").read_text().splitlines() == [
        "task,model,2k,4k,16k",
        'ada_leval_tsort,m,"0.0 [-1.0, 1.0]","20.0 [19.0, 21.0]","10.0 [9.0, 11.0]"',
        "ada_leval_tsort,random guess,4.2,4.2,4.2",
        'ada_leval_bestanswer (front),m,,"30.0 [29.0, 31.0]",',
        "ada_leval_bestanswer (front),random guess,,4.2,",
    ]
    assert (work / "summary" / "lengths_now.md").read_text().splitlines()[:3] == [
        "| task                         | model        | 2k              | 4k                | 16k              |",
        "|------------------------------|--------------|-----------------|-------------------|------------------|",
        "| ada_leval_tsort              | m            | 0.0 [-1.0, 1.0] | 20.0 [19.0, 21.0] | 10.0 [9.0, 11.0] |",
    ]
    assert status == 0
    assert "lengths" not in output and "FAILED" not in output and "n_truncated" not in output


def test_each_metric_shown_has_its_description_once(summarized: Summarized) -> None:
    metrics = card("ada_leval").metrics
    _, output = summarized({("m", task): result(1.0, lct_task=[task]) for task in TASKS})
    for name in ("strict_accuracy", "random_guess"):
        assert output.count(f"{name}: {metrics[name]}") == 1
    assert "official_accuracy" not in output


def test_a_missing_result_ends_with_status_1_after_everything_is_written(
    work: Path, summarized: Summarized
) -> None:
    log = work / "logs" / "infer" / "b" / f"{TASKS[0]}.out"
    log.parent.mkdir(parents=True)
    log.write_text(
        f"Start inferencing [b/{TASKS[1]}]\nTraceback ...\nlong.InputError: file x is missing, of lct_cases\nend\n"
    )
    results = {("a", task): result(1.0) for task in TASKS} | {("b", task): result(1.0) for task in TASKS[2:]}
    status, output = summarized(results, "a b")
    assert status == 1
    for task in TASKS[:2]:
        assert (
            f"FAILED: {task} on b: InputError: file x is missing, of LCT_CASES; see {log.resolve()}" in output
        )
    assert "missing" in (work / "summary" / "lengths_now.md").read_text()
    assert (work / "summary" / "summary_now.csv").is_file()


def test_what_a_cell_rests_on_is_told(work: Path, summarized: Summarized) -> None:
    results = {("m", task): result(1.0) for task in TASKS}
    results["m", TASKS[0]] = result(5.0, 10, 7, n_does_not_fit=3.0, window=["unchecked"])
    results["m", TASKS[1]] = result(5.0, 10, 8, n_does_not_fit=1.0, n_judge_unparsable=1.0)
    status, output = summarized(results)
    assert status == 0 and "5.0 [4.0, 6.0] * 7/10" in output and "lct judge run" not in output
    assert "without a score: 4 does_not_fit, 1 judge_unparsable. Compare" in output
    assert (
        "window: unchecked (to have lengths checked first, set LCT_WINDOW" in output
        and "* scored/all cases" in output
    )
    for reason in ("not_judged", "judge_failed"):
        _, output = summarized({("m", TASKS[0]): result(5.0, 10, 0, **{f"n_{reason}": 10.0})})
        assert f"10 {reason}" in output and f"lct judge run {work.resolve()} --judge judge.yaml" in output


def test_a_result_of_other_options_is_not_taken_for_this_runs(
    work: Path, summarized: Summarized, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = {("m", task): result(77.0) for task in TASKS}
    results["m", TASKS[0]]["lct_given"] = [{**GIVEN, "lct_n": 5}]
    results["m", TASKS[1]]["lct_given"] = [{**GIVEN, "version": 0}]
    status, output = summarized(results)
    assert status == 1
    changes = ("LCT_N was 5, is not given", f"version was 0, is {GIVEN['version']}")
    for task, change in zip(TASKS, changes, strict=False):
        assert f"OTHER OPTIONS: the result of {task} on m is from an earlier run" in output
        assert change in output
    table_text = (work / "summary" / "lengths_now.md").read_text()
    assert table_text.count("other options") == 2 and table_text.count("77.0") == 2
    # Nor does the host's own table show their numbers: two rows, the accuracy and the random guess, of each other task.
    assert (work / "summary" / "summary_now.csv").read_text().count("77.00") == 2
    monkeypatch.setenv("LCT_N", "5")
    assert summarized(results)[0] == 1
    text = (work / "summary" / "lengths_now.md").read_text()
    assert text.count("other options") == 3 and text.count("77.0") == 1


def test_a_task_that_nobody_ran_is_named(summarized: Summarized, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_TASKS", f"{TASKS[0]},ada_leval_tsort_2k_ppl")
    status, output = summarized({("m", task): result(1.0) for task in TASKS})
    (line,) = (line for line in output.splitlines() if "NOT RUN" in line)
    assert status == 1 and "ada_leval_tsort_2k_ppl" in line and "--datasets ada_leval_ppl" in line


@pytest.mark.parametrize(("tasks", "told"), [(TASKS, False), (TASKS[3:], True), ((), True)])
def test_official_stands_for_the_published_files(
    tasks: tuple[str, ...], told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_TASKS", "official")
    assert bool(not_run(tasks)) is told


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ({"recall": 1.0, "f1": 30.0, "headline": ["f1"], "n": 2.0, "n_scored": 2.0}, "30.0"),
        ({"f1": 1.0, "accuracy": 3.0}, "3.0"),
        (result(math.nan, 10, 0), "- * 0/10"),
        ({f"{key} (3 runs average)": v for key, v in result(7.0).items() if isinstance(v, float)}, "7.0"),
    ],
    ids=["its own headline", "another package's", "nothing scored", "several runs"],
)
def test_what_a_cell_shows(found: dict[str, Any], shown: str) -> None:
    from long_context_tasks.hosts.lengths import LengthEntry, TablePlace, table
    from long_context_tasks.hosts.opencompass.summary import plain

    rows = table([LengthEntry("m", "d", TablePlace("t", "2k"), plain(found))])
    assert rows[1][-1].split(" [")[0] == shown


def test_tasks_without_lengths_have_a_column_of_scores() -> None:
    from long_context_tasks.hosts.lengths import LengthEntry, heading, place_of, table

    recall = LengthEntry("/home/anne/models/owl", "", place_of("ethic_recall_books"), {"accuracy": 25.0})
    rows = table([recall])
    assert rows == [["task", "model", "score"], ["ethic_recall_books", "owl", "25.0"]]
    assert heading(rows).startswith("Scores")
    rows = table([recall, LengthEntry("org/wren", "", place_of("a_b_2k"), {"accuracy": 3.0})])
    assert [row[1] for row in rows] == ["model", "owl", "org/wren"] and heading(rows).startswith("By length")


def test_the_length_is_that_of_the_name_or_of_the_option_that_the_task_took(
    work: Path, summarized: Summarized
) -> None:
    from mmengine.config import ConfigDict

    from long_context_tasks.hosts.lengths import LengthEntry, TablePlace, place_of, table
    from long_context_tasks.hosts.opencompass.summary import _place, plain

    def place(config: ConfigDict, found: dict[str, Any] | None) -> TablePlace:
        return _place(config, plain(found) if found else None)

    outside = result(1.0, options=[{"lct_length": 24_000}])
    assert place(ConfigDict(lct_task="a_b_any"), outside).length == "24k"
    assert place(ConfigDict(lct_task="a_b_any", lct_length="1500"), None).length == "1500"
    assert place(ConfigDict(lct_task="a_b_any"), None).length == "any"
    assert place_of("ada_leval_tsort_any_ppl", "24k").length == "24k"
    rows = table(
        [
            LengthEntry("m", "", place_of("mmlu"), {"accuracy": 3.0}),
            LengthEntry("m", "", place_of("a_b_2k"), None),
        ]
    )
    assert rows[0] == ["task", "model", "2k", "-"]
    synthetic = "ethic_recall_medicine_synthetic"
    given = ConfigDict(lct_task=synthetic, lct_length="8k")
    assert place(given, None) == place(given, result(1.0, options=[{"lct_length": 8_000}]))
    assert place(given, None) == TablePlace(synthetic, "8k")
    outside = result(1.0, options=[{"lct_length": 16_000, "lct_n": 5}])
    assert place(ConfigDict(lct_task=synthetic), outside).length == "16k"
    # Published texts have the lengths they have: an option that the task did not take is not shown.
    published = ConfigDict(lct_task="ethic_recall_books", lct_length="8k")
    assert place(published, result(1.0, options=[{"lct_n": 5}])).length == "-"
    tasks = (synthetic, "ethic_attribute_medicine_synthetic")
    results = {
        ("owl", task): result(10.0, options=[{"lct_length": tokens}], lct_given=[OF_ETHIC])
        for task, tokens in zip(tasks, (4_000, 16_000), strict=True)
    }
    _, output = summarized(results, "owl", tasks)
    rows = (work / "summary" / "lengths_now.csv").read_text().splitlines()
    assert rows[0] == "task,model,4k,16k" and rows[1].startswith(f'{synthetic},owl,"10.0')
    assert "8k" not in output


def test_log_of_the_evaluation_when_there_are_predictions(tmp_path: Path) -> None:
    from long_context_tasks.hosts.opencompass.summary import find_log

    for path, text in {
        "predictions/m/t_2k.json": "{}",
        "logs/infer/m/t_2k.out": "OldError: no\n",
        "logs/eval/m/t_1k.out": "KeyError: other\n",
        "logs/eval/m/t_2k.out": "ValueError: this\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert find_log(tmp_path, "m", "t_2k") == (tmp_path / "logs/eval/m/t_2k.out", "ValueError: this")
    assert find_log(tmp_path, "x", "t_2k") == (None, "")
