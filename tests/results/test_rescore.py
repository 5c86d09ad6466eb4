"""Real stored responses and verdicts, scored again by the current rules."""

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("polars")


from judge_server import judge_server
from run_commands import ADA, QA, published_data, served_model
from stored_runs import TASKS, judge_by_seed, judge_file, only, run_lm_eval
from stub_server import stub_server

from long_context_tasks.hosts.stored import load_task
from long_context_tasks.judges.kinds import load_judge
from long_context_tasks.results import find_runs
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.evaluations import (
    Evaluation,
    TurnScores,
    judged_evaluations,
    original_evaluations,
    scored_cases,
    unjudged_evaluation,
)
from long_context_tasks.results.new_scores import RunTasks, judge_run
from long_context_tasks.results.rescore import Rescored, rescore, rescored_run
from long_context_tasks.schema import InputError

SUMMARIES = "ethic_summarize_law"


def turn_scores(evaluation: Evaluation) -> list[TurnScores]:
    return [turn for _, turns in scored_cases(evaluation) for turn in turns]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def left(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain task without a judge, judged tasks with one, by real lm-eval."""
    output = tmp_path_factory.mktemp("left")
    folder = tmp_path_factory.mktemp("judge")
    with stub_server() as server, judge_server(judge_by_seed) as judging:
        metadata = {"lct_data_dir": str(data)}
        arguments = served_model(server.url)
        run_lm_eval(output, [ADA], arguments, metadata)
        file = judge_file(folder / "judge.yaml", judging.url, seeds=[2023, 2024], asks=2)
        run_lm_eval(output, TASKS, arguments, {**metadata, "lct_judge": str(file)})
    return output


@pytest.fixture
def results(left: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(left, tmp_path / "results"))


def again(results: Path, *, write: bool = True) -> dict[str, Rescored]:
    """Everything scored again, by task; of a run with several judges the last."""
    made = {}
    for run in find_runs(results).runs:
        for rescored in rescored_run(RunTasks(), write, run):
            if isinstance(rescored, str):
                raise InputError(rescored)
            made[run.task] = rescored
    return made


def change_samples(results: Path, task: str, change: Any) -> None:
    """Change the samples of a task: ``change`` gets each, in order."""
    [path] = results.rglob(f"samples_{task}_*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for place, row in enumerate(rows):
        change(place, row)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def change_results(results: Path, task: str, **numbers: float) -> None:
    """Change numbers and the version of a task in the results file of its host."""
    for path in results.rglob("results_*.json"):
        row = json.loads(path.read_text())
        if task in row["results"]:
            version = numbers.pop("version", None)
            row["results"][task] |= {f"{name},none": value for name, value in numbers.items()}
            if version is not None:
                row["configs"][task]["metadata"]["version"] = version
            path.write_text(json.dumps(row))


def test_nothing_changes_where_the_rules_are_the_same(results: Path) -> None:
    """Every number of the host comes out again, and every score of every turn."""
    made = again(results)
    assert set(made) == {ADA, *TASKS}
    for task, one in made.items():
        run = only(results, task)
        assert not one.changes and one.scored.version == run.version
        theirs = {key: value for key, value in run.numbers.items() if key != "n_truncated"}
        assert dict(one.scored.numbers) == pytest.approx(theirs, rel=0, abs=1e-9, nan_ok=True)
        [now] = judged_evaluations(run)[0] if task != ADA else [unjudged_evaluation(run)]
        assert now.rescored and dict(now.numbers) == pytest.approx(dict(one.scored.numbers), nan_ok=True)
        before = unjudged_evaluation(run, original=True)
        assert [plain(turn) for turn in turn_scores(now)] == [plain(turn) for turn in turn_scores(before)]
        assert any(turn.verdicts for turn in turn_scores(now)) == (task != ADA)


def plain(turn: Any) -> Any:
    """A turn with its scores on nine places; verdicts as they stand in the files."""
    scores = {name: None if value is None else round(value, 9) for name, value in turn.scores.items()}
    return replace(turn, scores=scores, verdicts=tuple(dict(one) for one in turn.verdicts))


def test_a_rule_that_was_repaired(results: Path) -> None:
    """The host's file has another score for one case, another mean and an old version, as before a repair."""
    run = only(results, ADA)
    cases = list(run.cases())
    place, case = next((i, one) for i, one in enumerate(cases) if one.scores["strict_accuracy"] == (0.0,))

    def wrong(number: int, row: dict[str, Any]) -> None:
        if number == place:
            row["strict_accuracy"] = 1.0

    change_samples(results, ADA, wrong)
    hits = 1 + sum(one.scores["strict_accuracy"] == (1.0,) for one in cases)
    mean = hits / len(cases)
    change_results(results, ADA, version=0, strict_accuracy=mean)
    old_cell = next(cell for cell in cells_of(collect([results])) if cell.task == ADA)
    assert (old_cell.version, round(old_cell.mean.value * len(cases))) == (0, hits)
    one = again(results)[ADA]
    [change] = one.changes
    assert (change.case, change.metric, change.before, change.after) == (case.id, "strict_accuracy", 1.0, 0.0)
    assert one.changed_cases("strict_accuracy") == 1 and one.changed_cases("random_guess") == 0
    assert (
        one.before("strict_accuracy") == mean
        and one.after("strict_accuracy") == run.numbers["strict_accuracy"]
    )
    assert one.evaluation.version == 0 and one.scored.version == run.version
    collection = collect([results])
    assert not collection.problems
    cell = next(cell for cell in cells_of(collection) if cell.task == ADA)
    assert cell.version == run.version and cell.mean.value == pytest.approx(run.numbers["strict_accuracy"])
    row = collection.runs.filter(collection.runs["task"] == ADA).row(0, named=True)
    told = json.loads(row["provenance"])
    assert "before: version 0" in told["notes"][-1] and f"strict_accuracy {mean:.6g}" in told["notes"][-1]
    assert row["package"] and told["package"]


def test_a_metric_that_is_new_and_one_that_is_gone(results: Path) -> None:
    def other(number: int, row: dict[str, Any]) -> None:
        row["bygone"] = row.pop("random_guess")
        row["metrics"] = [name.replace("random_guess", "bygone") for name in row["metrics"]]

    change_samples(results, ADA, other)
    change_results(results, ADA, bygone=0.5)
    one = again(results)[ADA]
    n = len(list(only(results, ADA).cases()))
    assert one.changed_cases("random_guess") == one.changed_cases("bygone") == n
    assert one.metrics[-1] == "bygone" and math.isnan(one.after("bygone"))


def test_verdicts_are_read_again(results: Path) -> None:
    """A stored score that today's rule does not read in the reply; nothing is asked, the judge's server is gone."""

    def wrong(number: int, row: dict[str, Any]) -> None:
        record = json.loads(row["filtered_resps"][0])
        for verdict in record["verdicts"][0]:
            verdict["score"] = 10.0
            if number == 0:
                verdict |= {"feedback": "I will not say.", "first_reply": "I will not say."}
        row["filtered_resps"] = [json.dumps(record)]
        row["judge_score"] = 10.0

    change_samples(results, QA, wrong)
    change_results(results, QA, judge_score=10.0)
    run = only(results, QA)
    one = again(results)[QA]
    replies = 0
    [now] = judged_evaluations(run)[0]
    for turn in turn_scores(now):
        for row in turn.verdicts:
            assert row["score"] == load_task(run).judging.rubric("gpt").score(row["feedback"])
            replies += 1
    assert replies > 4 and one.changed_cases("judge_score") > 1
    assert one.after("judge_score") < 10 and now.by_seed and set(now.by_seed) == {"2023", "2024"}
    lost = sum(row["score"] is None for turn in turn_scores(now) for row in turn.verdicts)
    assert lost and any(f"{lost} replies" in note for note in one.notes)


def test_what_a_later_judge_said_is_scored_again_beside_the_hosts(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    run = only(results, QA)
    task = load_task(run)
    with judge_server(judge_by_seed) as judging:
        file = judge_file(tmp_path / "judge.yaml", judging.url, "other-judge", seeds=[7])
        config = load_judge(file)
        assert config is not None
        judged = judge_run(run, task, config)
        assert judged is not None
        assert again(results)[QA].evaluation.run.task == QA
        hosts, later = judged_evaluations(run)[0]
        assert hosts.rescored and later.rescored and later.judge.startswith("other-judge-")
        assert dict(later.numbers) == pytest.approx(dict(judged.scored.numbers), nan_ok=True)
        assert {cell.judge for cell in cells_of(collect([results])) if cell.task == QA} == {
            "stub-judge",
            "other-judge",
        }
        # Judged once more, it is newer than what was scored again.
        text = judged.path.read_text()
        judged.path.write_text(text.replace('"judged": "2', '"judged": "3'))
        assert [one.rescored for one in judged_evaluations(run)[0]] == [True, False]


def test_a_run_that_the_host_evaluates_once_more_counts(results: Path) -> None:
    again(results)
    change_results(results, ADA, strict_accuracy=0.125)
    run = only(results, ADA)
    assert not unjudged_evaluation(run).rescored
    assert unjudged_evaluation(run).numbers["strict_accuracy"] == 0.125


def test_twice_is_the_same_as_once(results: Path) -> None:
    change_results(results, ADA, version=0, strict_accuracy=0.75)
    first, second = again(results)[ADA], again(results)[ADA]
    assert first.before("strict_accuracy") == second.before("strict_accuracy") == 0.75
    assert first.changes == second.changes
    found = find_runs(results)  # ours are no runs
    assert len(found.runs) == 1 + len(TASKS) and not found.problems


def test_a_damaged_file_is_told_and_the_hosts_scores_count(results: Path) -> None:
    path = again(results)[ADA].path
    path.write_text("{")
    run = only(results, ADA)
    _, [problem] = judged_evaluations(run)
    assert "lct runs rescore" in problem
    collection = collect([results])
    assert any(str(path) in problem for problem in collection.problems)
    assert ADA in {cell.task for cell in cells_of(collection)}


def test_the_name_of_a_judge_leads_nowhere_else(results: Path) -> None:
    run = only(results, QA)
    description = {**run.judge, "name": "../../../evil"}
    one = Evaluation(run, "../../../evil-12345678", run.numbers, description=description)
    rescored = rescore(one, load_task(run))
    assert rescored.path.resolve().is_relative_to((run.folder / "rescored").resolve())


def test_responses_that_were_not_kept_or_are_of_other_data(results: Path) -> None:
    run = only(results, ADA)
    [path] = results.rglob(f"samples_{ADA}_*.jsonl")
    path.write_text(path.read_text().replace('"case": "', '"case": "other_'))
    with pytest.raises(InputError, match=r"--data-dir"):
        rescore(unjudged_evaluation(run), load_task(run))
    path.unlink()
    run = only(results, ADA)
    with pytest.raises(InputError, match="--log_samples"):
        rescore(unjudged_evaluation(run), load_task(run))


def test_a_newer_version_than_ours_is_left_alone(results: Path) -> None:
    change_results(results, ADA, version=99)
    with pytest.raises(InputError, match=r"version 99 .*update"):
        again(results)


def test_a_run_in_which_nothing_was_sent_to_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Summaries without sections have their score in a judged run without any verdict; none where the judge failed."""
    from both_hosts import write_published_files

    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    write_published_files("ethic", tmp_path, 3)
    published = tmp_path / "ethic" / "Summarizing.jsonl"
    lines = published.read_text(encoding="utf-8").splitlines(keepends=True)
    # The first context of each domain has one section, of which any text is a summary.
    published.write_text("".join(line for line in lines if not json.loads(line)["ID"].endswith("0")))
    results = tmp_path / "results"
    with stub_server(lambda _: "A summary.") as server, judge_server(judge_by_seed) as judging:
        file = judge_file(tmp_path / "judge.yaml", judging.url, seeds=[1])
        arguments = f"model=stub,base_url={server.url}/chat/completions,tokenizer_backend=None"
        run_lm_eval(results, [SUMMARIES], arguments, {"lct_data_dir": str(tmp_path), "lct_judge": str(file)})
        run = only(results, SUMMARIES)
        config = load_judge(judge_file(tmp_path / "other.yaml", judging.url, "other-judge", seeds=[1]))
        assert config is not None
        assert judge_run(run, load_task(run), config) is not None
    found, _ = original_evaluations(run)
    assert [one.judge.rpartition("-")[0] for one in found] == ["stub-judge", "other-judge"]
    for evaluation in found:
        one = rescore(evaluation, load_task(run))
        assert not one.changes and one.after("summary_score") == 1
        assert (
            one.scored.numbers["n_scored"] == one.scored.numbers["n"] == 2
            and one.scored.numbers["n_not_judged"] == 0
        )

    def failed(number: int, row: dict[str, Any]) -> None:
        row["filtered_resps"] = [json.dumps({**json.loads(row["filtered_resps"][0]), "verdicts": []})]
        reasons = {name: 0 for name in row if name.startswith("n_")}
        row |= {**reasons, "summary_score": math.nan, "n_not_judged": 1}

    change_samples(results, SUMMARIES, failed)
    one = rescore(original_evaluations(run)[0][0], load_task(run))
    assert one.scored.numbers["n_not_judged"] == 2 and math.isnan(one.after("summary_score"))
