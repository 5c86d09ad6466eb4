"""Real output of the hosts as cells and as pages of cases."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("polars")

from judge_server import judge_server
from run_commands import answer_by_question, published_data, served_model, write_selections
from stored_runs import TASKS, judge_by_seed, judge_file, only, run_lm_eval, run_opencompass
from stub_server import stub_server
from tiny_model import make_tiny_model
from typer.testing import CliRunner
from written_book import sorting_cases

from long_context_tasks import load_task as load_by_name
from long_context_tasks.cli import app
from long_context_tasks.hosts.stored import load_task
from long_context_tasks.results import find_runs
from long_context_tasks.results.case_pages import ShownCase, shown_cases
from long_context_tasks.results.cells import Cell, cells_of, turn_values
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.results.evaluations import unjudged_evaluation

ADA = "ada_leval_bestanswer_1k"
CONVERSATION = "elitr_bench_conv_dev"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Published files of two benchmarks, in a folder that options have to name; pairs of Ada's cases share a question."""
    folder = tmp_path_factory.mktemp("published")
    write_selections(
        folder, "\nWhat is {}? <script>alert(1)</script>\n", lambda case, place: f"\nIt is {place}.\n"
    )
    yield from published_data(folder, elitr_bench=0)


@pytest.fixture(scope="module")
def left(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a plain task; a judged conversation and judged questions once."""
    output = tmp_path_factory.mktemp("left")
    folder = tmp_path_factory.mktemp("judge")
    with stub_server(answer_by_question) as server, judge_server(judge_by_seed) as judging:
        metadata = {"lct_data_dir": str(data)}
        for seed in (0, 1):
            run_lm_eval(output, [ADA], served_model(server.url, "org/stub"), metadata, random_seed=seed)
        metadata["lct_judge"] = str(judge_file(folder / "judge.yaml", judging.url))
        run_lm_eval(output, TASKS, served_model(server.url, "org/stub"), metadata)
    return output


def assert_as_the_host_has_it(cell: Cell, numbers: dict[str, float]) -> None:
    """Mean, interval and every count of a cell."""
    ours = {cell.metric: cell.mean.value, "n": cell.mean.total, "n_scored": cell.mean.n}
    ours |= {f"{cell.metric}_low": cell.mean.low, f"{cell.metric}_high": cell.mean.high}
    ours |= {name: mean.value for name, mean in cell.official.items()}
    ours |= {f"n_{reason}": count for reason, count in cell.mean.reasons.items()}
    assert ours == pytest.approx({key: numbers[key] for key in ours}, rel=0, abs=1e-9, nan_ok=True)
    assert sum(cell.mean.reasons.values()) == sum(
        value
        for key, value in numbers.items()
        if key.startswith("n_") and key not in ("n_scored", "n_truncated")
    )


@pytest.mark.slow
def test_lm_eval(left: Path, data: Path) -> None:
    collection = collect([left])
    assert not collection.problems
    cells = {cell.task: cell for cell in cells_of(collection)}
    assert set(cells) == {ADA, *TASKS}
    for task, cell in cells.items():
        run = next(run for run in find_runs(left).runs if run.task == task)
        assert_as_the_host_has_it(cell, dict(run.numbers))
        loaded = load_task(run)
        clusters = {
            row["case"]: row["cluster"] for row in turn_values(collection, cell).iter_rows(named=True)
        }
        assert clusters == {case.id: case.cluster for case in loaded.cases.cases}
        assert cell.points == (task != ADA) and cell.n_available == len(loaded.cases)
        assert cell.version == loaded.version and cell.judge == (None if task == ADA else "stub-judge")
    assert cells[ADA].n_runs == 2 and cells[ADA].run_sd == 0 and cells[ADA].ranked
    runs = collection.runs.filter(collection.runs["task"] == ADA)
    assert sorted(runs["seed"]) == ["0", "1"]


@pytest.fixture(scope="module")
def unjudged(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("unjudged")
    with stub_server() as server:
        run_lm_eval(output, [CONVERSATION], served_model(server.url, "org/stub"), {"lct_data_dir": str(data)})
    return output


def judge_copy(unjudged: Path, folder: Path, *names: str) -> None:
    """Copy runs to ``out`` in a folder, and have them judged."""
    shutil.copytree(unjudged, folder / "out")
    with judge_server(judge_by_seed) as judging:
        for name in names:
            file = judge_file(folder / "judge.yaml", judging.url, name)
            done = CliRunner().invoke(app, ["judge", "run", str(folder / "out"), "--judge", str(file)])
            assert done.exit_code == 0, done.output


def test_runs_judged_later(unjudged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two judges, one of which judges twice."""
    assert [cell.judge for cell in cells_of(collect([unjudged]))] == [None]
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    judge_copy(unjudged, tmp_path, "first", "second", "second")
    cells = cells_of(collect([tmp_path / "out"]))
    assert [cell.judge for cell in cells] == ["first", "second"]
    for cell in cells:
        [path] = (tmp_path / "out").rglob(f"judged/{cell.judge}-*/*.json")
        numbers = {
            key: math.nan if value is None else value
            for key, value in json.loads(path.read_text())["numbers"].items()
        }
        assert_as_the_host_has_it(cell, numbers)


@pytest.mark.hosts
def test_opencompass(data: Path, left: Path, tmp_path: Path) -> None:
    """The host's own command writes clusters, and its cells are those of lm-eval's answers."""
    pytest.importorskip("opencompass")
    tokenizer = make_tiny_model(tmp_path / "tiny")
    options = {"LCT_DATA_DIR": str(data), "LCT_TOKENIZER": str(tokenizer)}
    with stub_server(answer_by_question) as server:
        work, _ = run_opencompass(tmp_path, TASKS, server.url, options)
    # Without the data, so that the clusters can only come from the files.
    collection = collect([work])
    assert not collection.problems
    told = collect([left])
    other = {cell.task: cell for cell in cells_of(told)}
    for cell in cells_of(collection):
        assert_as_the_host_has_it(cell, dict(only(work, cell.task).numbers))
        ours, theirs = turn_values(collection, cell), turn_values(told, other[cell.task])
        keys = ["case", "turn", "cluster"]
        assert set(ours.select(keys).rows()) == set(theirs.select(keys).rows())


@pytest.mark.hosts
def test_likelihoods(tmp_path: Path, data: Path) -> None:
    model = make_tiny_model(tmp_path / "tiny", max_position_embeddings=1300)
    task = "ada_leval_tsort_any_ppl"
    arguments = f"pretrained={model},dtype=float32"
    metadata = {"lct_length": 1000, "lct_cases": str(sorting_cases(tmp_path / "cases"))}
    run_lm_eval(tmp_path / "out", [task], arguments, metadata, model="hf", device="cpu")
    [cell] = cells_of(collect([tmp_path / "out"]))
    run = only(tmp_path / "out", task)
    assert_as_the_host_has_it(cell, dict(run.numbers))
    assert (cell.length, cell.variant) == (1000, "ppl")
    loaded = load_task(run)
    for case in run.cases():
        assert loaded.score_candidates is not None and case.log_likelihoods is not None
        assert len(case.log_likelihoods) == 24
        scores = loaded.score_candidates(loaded.by_id[case.id], case.log_likelihoods, None, None)
        assert case.scores["strict_accuracy"] == (scores["strict_accuracy"].value,)
    pages = list(shown_cases("k", unjudged_evaluation(run), loaded))
    assert len(pages) == 2
    for page in pages:
        [turn] = page.turns
        assert page.prompt is None and turn.response is not None and "of 24 is the likeliest" in turn.response


def pages(left: Path, task: str, *, with_task: bool = True, private: bool = False) -> list[ShownCase]:
    """Return the cases of the newest run of a task."""
    collected = collect_with_files([left])
    key, evaluation = next((key, one) for key, one in collected.evaluations.items() if one.run.task == task)
    loaded = load_task(evaluation.run) if with_task else None
    found = list(shown_cases(key, evaluation, loaded, private=private))
    assert {page.run for page in found} == {key}
    return found


def test_all_is_shown_where_the_card_allows_it(left: Path) -> None:
    found = pages(left, ADA)
    assert len(found) == 6
    for page in found:
        [turn] = page.turns
        assert page.withheld == "" and page.prompt is not None and turn.gold is not None
        assert turn.response == answer_by_question([{"content": page.prompt[-1][1]}]) and set(turn.scores) > {
            "strict_accuracy"
        }
        assert all(isinstance(value, str) for value in page.labels.values())
    assert {page.turns[0].reason for page in found} >= {None, "empty"}


def test_elitr_bench_shows_responses_and_scores_only(left: Path) -> None:
    for task in TASKS:
        run = next(run for run in find_runs(left).runs if run.task == task)
        loaded = load_task(run)
        secret = {
            text
            for case in loaded.cases.cases
            for turn in case.turns
            for text in (turn.question, str(turn.gold))
        }
        secret |= {loaded.cases.documents[case.document] for case in loaded.cases.cases if case.document}
        found = pages(left, task)
        shown = json.dumps(
            [
                [page.prompt, dict(page.labels), [(t.question, t.gold, t.feedback) for t in page.turns]]
                for page in found
            ]
        )
        assert not any(json.dumps(text)[1:-1] in shown for text in secret if text and len(text) > 12)
        for page in found:
            assert page.prompt is None and "do not allow" in page.withheld
            assert all(turn.question is turn.gold is None and turn.feedback == () for turn in page.turns)
            assert all("judge_score" in turn.scores for turn in page.turns)
        assert any(turn.response for page in found for turn in page.turns)


def test_private_pages_show_all(left: Path) -> None:
    [first, *_] = pages(left, CONVERSATION, private=True)
    assert first.withheld == "" and first.prompt is not None and len(first.turns) == 2
    # The last turn was sent with the model's own answers before it.
    assert [role for role, _ in first.prompt][-3:] == ["user", "assistant", "user"]
    assert first.prompt[-2][1] == first.turns[0].response
    assert all(turn.question and turn.gold for turn in first.turns)
    assert any(turn.feedback for turn in first.turns)


def test_pages_without_the_data(left: Path) -> None:
    for page in pages(left, ADA, with_task=False):
        [turn] = page.turns
        assert page.prompt is None and turn.gold is None and turn.response is not None
        assert "data were missing" in page.withheld


def test_pages_of_a_later_judge(unjudged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    judge_copy(unjudged, tmp_path, "stub-judge")
    found = pages(tmp_path / "out", CONVERSATION, private=True)
    turns = [turn for page in found for turn in page.turns]
    assert any(turn.scores["judge_score"] is not None and turn.feedback for turn in turns)
    assert all(turn.response is not None for turn in turns)


def test_cases_from_a_seed_are_shown_whole_whatever_the_card_says(tmp_path: Path) -> None:
    task = load_by_name("ethic_recall_medicine_synthetic", n=1, length=1000)
    task.save({case.id: "None" for case in task.cases}, model="owl", folder=tmp_path)
    [page] = pages(tmp_path, task.name)
    assert page.withheld == "" and page.prompt is not None and page.turns[0].gold is not None
    # The place of each label is for maps.
    assert "first_chunk" in task.cases[0].turns[0].labels and "first_chunk" not in page.labels
