"""`lct report --section ethic`: figures by length, position, coverage and output length, from invented runs of both hosts."""

import csv
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract_data import write_published_files
from ethic_oracle import oracle, write_documents
from stored_ethic_runs import JUDGE, forgets_the_end, rate, scored, write_lm_eval, write_opencompass
from typer.testing import CliRunner, Result

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.benchmarks.ethic.report import (
    LengthSpan,
    ScoredItem,
    by_length,
    by_position,
    compare,
    context_key,
    label_parts,
    scored_case,
)
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.cli import app
from long_context_tasks.results import find_runs
from long_context_tasks.results.evaluations import judged_path, write_judged
from long_context_tasks.schema import Case, LoadedTask, Options, Turn

FOUR, EIGHT = LengthSpan(4000, 4000), LengthSpan(8000, 8000)


def scored_one(id: str, value: float | None, domain: str = "books", **more: Any) -> ScoredItem:
    made = ScoredItem((domain, id), domain, f"books_{id}", FOUR, value, tokens=3_500, context="c")
    return replace(made, **more)


def test_a_built_case_has_its_length_and_a_published_one_a_span() -> None:
    case = Case("1", "t", {}, (Turn(["a"]),), "c", {"cl100k": 5_000}, None, {"domain": "law"})
    assert scored_case(case, 0.5).length == LengthSpan(4_000, 8_000)
    assert scored_case(replace(case, labels={"domain": "law", "length": 8_000}), 0.5).length == EIGHT


def test_intervals_are_over_documents() -> None:
    same = [scored_one(str(n), value, cluster=f"{value}") for n in range(20) for value in (0.25, 0.75)]
    interval = by_length(same)[FOUR].interval
    assert 0 <= interval.low < 0.25 and 0.75 < interval.high <= 1
    # Rates that are all right are no certainty; equal points say nothing of their spread.
    right = [scored_one("a", 1.0), scored_one("b", 1.0)]
    assert by_length(right)[FOUR].interval.low < 0.5
    assert math.isnan(by_length(right, None)[FOUR].interval.low)


def test_positions() -> None:
    parts = [
        ScoredItem(("books", case, place), "books", f"books_{case}", FOUR, value, position=place)
        for case, place, value in (("a", 0.0, 1.0), ("a", 0.19, 0.0), ("a", 1.0, 0.5), ("b", 0.5, None))
    ]
    [(length, places)] = by_position(parts).items()
    assert length == FOUR and list(places) == [0, 2, 4]
    assert (places[0].mean, places[0].n, places[4].mean, places[2].n) == (0.5, 2, 0.5, 0)
    # Labels of a single document allow no interval.
    assert math.isnan(places[0].interval.low)
    assert list(by_position(parts, 2)[FOUR]) == [0, 1]


def test_low_and_high_are_compared_on_equal_contexts_only() -> None:
    low = [scored_one(name, value) for name, value in (("a", 1.0), ("b", 0.8), ("c", 0.9), ("d", None))]
    high = [scored_one("a", 0.5), scored_one("b", 0.2), scored_one("d", 0.3)]
    high += [scored_one("c", 0.1, context="other")]
    unknown = scored_one("e", 0.1, context="")
    found = compare([*low, unknown], [*high, unknown])
    assert found is not None and found[2].n == 2
    assert tuple(group.mean for group in found) == pytest.approx((0.9, 0.35, -0.55))
    assert compare([*low[2:], unknown], [*high, unknown]) is None


def test_an_interval_of_a_difference_stays_in_its_range() -> None:
    def cases(*values: float) -> list[ScoredItem]:
        return [
            ScoredItem((number,), "books", f"b{number}", LengthSpan(4000, 4000), value, context="c")
            for number, value in enumerate(values)
        ]

    low, high = cases(1, 1, 1), cases(0, 0.5, 0)
    found = compare(low, high)
    assert found is not None and found[2].interval is not None and found[2].interval.low == -1
    found = compare(high, low)
    assert found is not None and found[2].interval is not None and found[2].interval.high == 1
    # The spread of one document is unknown.
    found = compare(low[:1], high[:1])
    assert found is not None and found[2].interval is not None and math.isnan(found[2].interval.low)
    # Differences of points have no such range.
    found = compare(low, [replace(case, value=5.0 * number) for number, case in enumerate(low)], (0.0, 5.0))
    assert found is not None and found[2].interval is not None and found[2].interval.high > 1


def test_labels_are_placed_at_their_first_chunk() -> None:
    turn = Turn(["Anne", "O’Neil", "1,234"], labels={"first_chunk": [0, 3, 1]})
    labels = {"domain": "books", "length": 4_000, "num_chunks": 4}
    case = Case("1", "t", {}, (turn,), "c", {}, None, labels)
    parts = label_parts(case, "<think>Anne</think>Names: o'neil, Jane")
    assert [(part.position, part.value) for part in parts] == [(0.125, 0.0), (0.875, 1.0), (0.375, 0.0)]
    assert [part.value for part in label_parts(case, None)] == [0.0] * 3
    # As in published data.
    assert label_parts(replace(case, turns=(Turn(["Anne"]),)), "Anne") == []


def test_markers_do_not_change_the_key_of_a_context() -> None:
    texts = ["One.\n\nTwo.", "<Section 1>\nOne.\n\n<Section 2>\nTwo.", "One.\n\nThree."]
    keys = [context_key(f"### Context:\n{text}\n\nNow, respond to the instruction.") for text in texts]
    assert keys[0] == keys[1] != keys[2]
    assert context_key("no context") == ""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recalling and summarizing cases, and counterparts, of two books and two debates at two lengths."""
    root = tmp_path_factory.mktemp("built")
    documents = write_documents(root / "documents", paragraphs=120)
    for domain in ("law", "medicine"):
        shutil.rmtree(documents / domain)
    patch = pytest.MonkeyPatch()
    patch.setenv("LCT_CACHE_DIR", str(root / "cache"))
    with oracle(root) as (_, annotator):
        for family in ("ethic_recall", "ethic_summarize", "ethic_recall_counterparts"):
            settings = EthicSettings(lengths=(4000, 8000), annotator=annotator, min_document=8000)
            ethic_build.build(family, documents, settings, root / "cases" / family)
    patch.undo()
    return root / "cases"


@pytest.fixture
def options(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return resolve_options({"lct_cases": built})


def assert_falls(found: dict[str, list[dict[str, str]]], judge: str) -> None:
    """The scores of sections begin above 3 and end below, at both lengths."""
    rows = [row for row in found["position"] if row["of"] == "section score"]
    assert {(row["task"], row["domain"], row["judge"]) for row in rows} == {
        ("ethic_summarize", "books", judge)
    }
    for length in ("4k", "8k"):
        scores = [float(row["score"]) for row in rows if row["length"] == length]
        assert scores[0] > 3 > scores[-1] and scores == sorted(scores, reverse=True)


def lct(*words: Any) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, words), "--section", "ethic"])


def tables(tmp_path: Path, *words: Any) -> dict[str, list[dict[str, str]]]:
    """The tables by name, as their CSV files have them."""
    result = lct(tmp_path / "runs", "--csv", tmp_path / "csv", *words)
    assert result.exit_code == 0, result.output
    found = {}
    for path in (tmp_path / "csv").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.stem] = list(csv.DictReader(file))
        assert all(cell in result.stdout for row in found[path.stem] for cell in row.values())
    return found


@pytest.mark.parametrize("write", [write_lm_eval, write_opencompass])
def test_a_model_that_forgets_the_end(tmp_path: Path, options: Options, write: Any) -> None:
    for task in ("recall_books", "recall_debates", "summarize_books"):
        write(tmp_path / "runs", f"ethic_{task}", options, forgets_the_end, rate)
    found = tables(tmp_path)
    assert set(found) == {"length", "position"}
    task = load_task("ethic_recall_books", options)
    scores = [scores["strict_f1"].value or 0 for *_, scores in scored(task, forgets_the_end, None)]
    long = [
        value for value, case in zip(scores, task.cases.cases, strict=True) if case.labels["length"] == 8_000
    ]
    [row] = [
        row
        for row in found["length"]
        if (row["domain"], row["length"]) == ("books", "8k") and "recall" in row["task"]
    ]
    assert row["score"] == f"{sum(long) / len(long):.3f}" and row["n"] == "2" and row["metric"] == "strict_f1"
    tokens = [case.num_tokens["cl100k"] for case in task.cases.cases if case.labels["length"] == 8_000]
    assert row["mean tokens"] == f"{sum(tokens) / 2:,.0f}"
    assert row["settings"] == "cases=cases" and "judge" not in {key for key, value in row.items() if value}
    assert [row["domain"] for row in found["length"] if "recall" in row["task"]] == [
        name for name in ("all", "books", "debates") for _ in range(2)
    ]
    recalled = {
        (row["domain"], row["length"], row["position"]): row["score"]
        for row in found["position"]
        if row["of"] == "labels recalled"
    }
    assert recalled["all", "8k", "0 to 20 %"] == "1.000" and recalled["all", "8k", "80 to 100 %"] == "0.000"
    assert_falls(found, "stub")


def test_lengths_that_ran_apart_and_seeds_are_one_setting(tmp_path: Path, options: Options) -> None:
    for length in ("4k", "8k"):
        own = resolve_options({**options.resolved(), "lct_length": length})
        write_lm_eval(tmp_path / "runs", "ethic_recall_books", own, forgets_the_end)
    write_lm_eval(tmp_path / "runs", "ethic_recall_books", options, lambda task, case: "Nobody")
    half = tables(tmp_path)["length"]
    assert [(row["length"], row["n"]) for row in half] == [("4k", "2"), ("8k", "2")]
    task = load_task("ethic_recall_books", options)
    scores = [scores["strict_f1"].value or 0 for *_, scores in scored(task, forgets_the_end, None)]
    assert sum(float(row["score"]) for row in half) == pytest.approx(sum(scores) / 4, abs=0.002)


def test_published_cases_have_spans_of_length_and_no_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "data" / "ethic").mkdir(parents=True)
    write_published_files(tmp_path / "data" / "ethic", 3)
    published = resolve_options({"lct_data_dir": tmp_path / "data"})
    for task in ("recall_books", "attribute_law", "organize_books"):
        write_opencompass(tmp_path / "runs", f"ethic_{task}", published, lambda task, case: "A1, 2, [1]")
    (tmp_path / "data").rename(tmp_path / "moved")
    found = tables(tmp_path, "--data-dir", tmp_path / "moved")
    assert set(found) == {"length"}
    assert [(row["task"], row["domain"], row["length"], row["n"]) for row in found["length"]] == [
        ("ethic_attribute", "law", "under 1k", "3"),
        ("ethic_organize", "books", "under 1k", "3"),
        ("ethic_recall", "books", "under 1k", "3"),
    ]


def knows_little(task: LoadedTask, case: Case) -> str:
    """The right answer to a question, and every other label."""
    gold = case.turns[0].gold
    return str(gold[0]) if "qa" in task.name else ", ".join(gold[::2])


def test_low_against_high_coverage(tmp_path: Path, options: Options, built: Path) -> None:
    for family, kind in (("ethic_recall", "recall"), ("ethic_recall_counterparts", "single_qa")):
        # Each with its own folder, as the hosts are started.
        own = resolve_options({"lct_cases": built / family})
        write_lm_eval(tmp_path / "runs", f"ethic_{kind}_books", own, knows_little)
    found = tables(tmp_path)
    row, *by_length = found["coverage"]
    assert [each["length"] for each in (row, *by_length)] == ["all", "4k", "8k"]
    assert [each["n"] for each in by_length] == ["2", "2"]
    assert (row["low metric"], row["high metric"]) == ("answer_f1", "strict_f1")
    assert (row["n"], row["domain"], row["low task"]) == ("4", "books", "ethic_single_qa")
    assert (row["low"], row["high task"]) == ("1.000", "ethic_recall")
    assert 0.5 < float(row["high"]) < 0.9
    assert float(row["high - low"]) == pytest.approx(float(row["high"]) - 1)


def test_unjudged_summaries_are_named(tmp_path: Path, options: Options) -> None:
    write_lm_eval(tmp_path / "runs", "ethic_summarize_books", options, forgets_the_end)
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "lct judge run" in result.output
    write_lm_eval(tmp_path / "runs", "ethic_recall_books", options, forgets_the_end)
    result = lct(tmp_path / "runs")
    assert result.exit_code == 0 and "left out: ethic_summarize_books" in result.output


def test_summaries_that_were_judged_later(tmp_path: Path, options: Options) -> None:
    task = write_lm_eval(tmp_path / "runs", "ethic_summarize_books", options, forgets_the_end)
    [run] = find_runs(tmp_path / "runs").runs
    rows = [
        {"case": case.id, "turn": 0, "repeat": 0, "scores": {"summary_score": scores["summary_score"].value}}
        | {"cluster": case.cluster, "reasons": {}, "verdicts": verdicts}
        for case, _, verdicts, scores in scored(task, forgets_the_end, rate)
    ]
    path = judged_path(run, "later", JUDGE)
    numbers = {"judge": {**JUDGE, "name": "later"}, "numbers": {"summary_score": 3.0}, "by_seed": {}}
    more = {"version": run.version, "headline": "summary_score", "points": ["summary_score"]}
    write_judged(path, {**numbers, **more}, rows)
    assert_falls(tables(tmp_path), "later")
    lines = path.with_suffix(".jsonl").read_text().splitlines()
    path.with_suffix(".jsonl").write_text("\n".join(lines[:-1]) + "\n")
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "lacks case" in result.output
    path.with_suffix(".jsonl").write_text("\n".join([lines[0], "{"]))
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "line 2: cannot be read" in result.output


def test_cases_that_were_moved(tmp_path: Path, options: Options, built: Path) -> None:
    write_lm_eval(tmp_path / "runs", "ethic_recall_books", options, forgets_the_end)
    for path in (tmp_path / "runs").rglob("results_*.json"):
        path.write_text(path.read_text().replace(str(built), str(tmp_path / "away")))
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "away" in result.output
    assert tables(tmp_path, "--cases", built)["length"]


def test_other_cases_than_those_of_the_run(tmp_path: Path, options: Options) -> None:
    write_lm_eval(tmp_path / "runs", "ethic_recall_books", options, forgets_the_end)
    [path] = (tmp_path / "runs").rglob("samples_*.jsonl")
    row = json.loads(path.read_text().splitlines()[0])
    row["doc"]["case"] = "another"
    path.write_text("\n".join([json.dumps(row), *path.read_text().splitlines()[1:]]) + "\n")
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "case another, which the task does not have" in result.output


def test_maps_on_the_pages_of_the_site(tmp_path: Path, options: Options, built: Path) -> None:
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.site.contents import heat_maps

    moved = tmp_path / "cases"
    shutil.copytree(built, moved)
    options = resolve_options({"lct_cases": moved})
    for task in ("recall", "summarize"):
        write_lm_eval(tmp_path / "runs", f"ethic_{task}_books", options, forgets_the_end, rate)
    collected = collect_with_files([tmp_path / "runs"])
    cells = cells_of(collected.collection)
    found = heat_maps(collected, cells, None, {})[0]
    assert [each.tasks for each in found] == [["ethic_recall_books"], ["ethic_summarize_books"]]
    recall, summarize = (each.map for each in found)
    assert recall.y == summarize.y == ["4k", "8k"] and recall.x[0] == "0 to 20 %" and len(recall.x) == 5
    places = [value for value in recall.values[1] if value is not None]
    assert places[0] == 100 > places[-1] and (recall.low, recall.high) == (0, 100)
    for row in summarize.values:
        there = [value for value in row if value is not None]
        assert there[0] > 3 > there[-1] and there == sorted(there, reverse=True)
    assert (summarize.low, summarize.high) == (1, 5)
    assert "judge stub" in summarize.title and "built cases" in recall.title
    # The labels of the cases come from the task where the files have none.
    assert collected.collection.scores["labels"].null_count() == 0
    shutil.rmtree(moved)
    maps, notes = heat_maps(collected, cells, None, {})
    assert maps == [] and len(notes) == 1 and notes[0].startswith("2 cells have no scores")


def test_contexts_of_recalling_and_summarizing_are_equal(built: Path, options: Options) -> None:
    keys = []
    for name in ("ethic_recall_books", "ethic_summarize_books"):
        task = load_task(name, options)
        keys.append(
            {
                case.id: context_key(prompts.messages(case, task.cases.documents)[-1].content)
                for case in task.cases.cases
            }
        )
    assert keys[0] == keys[1] and "" not in keys[0].values() and len(set(keys[0].values())) == 4
