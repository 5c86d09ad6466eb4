"""Figures and tables in addition to means: breakdowns, positions, lengths, coverage and failures."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from made_up_site import collection_of, made_up_cell, rate
from site_files import Page, chunks

from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.schema.card import LabelCard
from long_context_tasks.site import BuiltSite, SiteOptions, build_site
from long_context_tasks.site.cases import PageNames
from long_context_tasks.site.figures import moved_figures, position_figures
from long_context_tasks.site.tables import Breakdown, _natural, label_breakdowns, label_tables, quality_table

RATES = {"instruction_following": "Followed the form", "answered": "Answered"}


def text(site: BuiltSite, page: str) -> str:
    return Page(site.index.parent / page).words


def cases(labels: list[dict[str, Any]], values: list[float | None], run: str = "1") -> list[ShownCase]:
    return [
        ShownCase(run, f"c{place}", None, own, (ShownTurn(None, None, "x", {"accuracy": value}),))
        for place, (own, value) in enumerate(zip(labels, values, strict=True))
    ]


def test_breakdowns_average_repeats_and_leave_out_labels_that_tell_nothing() -> None:
    labels = [
        {"id": str(n), "side": "lr"[n % 2], "measured": 0.1 * (n % 2), "yes": n < 3, "same": "x"}
        for n in range(6)
    ]
    shown = [*cases(labels, [0, 1, 0, 1, 0, None]), *cases(labels, [1, 1, 0, 1, 0, 1], "2")]
    cell = made_up_cell("a", "ethic_recall_law", rate(0.5, 6), ("1", "2"))
    found = {each.label: each for each in label_breakdowns(collection_of([cell], shown), [cell])}
    assert set(found) == {"side", "yes"}
    sides = {value: (mean.n, round(mean.value, 4)) for value, mean in found["side"].groups}
    assert sides == {"l": (3, round(0.5 / 3, 4)), "r": (3, 1.0)}
    assert [value for value, _ in found["yes"].groups] == ["no", "yes"]


def test_values_of_a_label_are_in_the_order_of_their_numbers() -> None:
    ordered = ["0 %", "0–500", "2", "25 %", "100 %", "500–1000", "part 2", "part 10", "whole"]
    assert sorted(sorted(ordered), key=_natural) == ordered
    assert sorted(["-1", "-10", "3"], key=_natural) == ["-10", "-1", "3"]


def test_tables_of_one_label_have_regions_of_different_names(tmp_path: Path) -> None:
    cells, shown = [], []
    for run, length in (("1", 4), ("2", 8)):
        task = f"ada_leval_bestanswer_{length}k"
        cells.append(made_up_cell("a", task, rate(0.5, 4), (run,)))
        shown += cases([{"num_answers": length + n % 2} for n in range(4)], [0, 1, 0, 1], run)
    site = build_site(tmp_path / "site", collection_of(cells, shown), cells, shown)
    [page] = (site.index.parent / "model").glob("*.html")
    names = re.findall(r'role="region" aria-label="(By [^"]*)"', page.read_text())
    assert len(names) == len(set(names)) == 2


def test_a_label_of_a_turn_splits_the_turns_of_a_conversation() -> None:
    cell = made_up_cell("a", "elitr_bench_conv_dev", rate(0.5, 4), ("1",))
    collection = collection_of([cell], cases([{}] * 2, [1.0, 0.0]))
    two = collection.scores.with_columns(turn=collection.scores["turn"] + 1)
    scores = collection.scores.vstack(two)
    types = ["who", "what", "what", "who"]
    labelled = scores.with_columns(
        labels=type(scores["case"])(
            "labels", [json.dumps({"question_type": one}) for one in types], scores.schema["labels"]
        )
    )
    [found] = label_breakdowns(
        replace(collection, scores=labelled),
        [cell],
        {cell.benchmark: {"question_type": LabelCard(values={"who": "who?", "what": "what?"})}},
    )
    assert [(value, mean.n, mean.value) for value, mean in found.groups] == [
        ("who?", 2, 0.5),
        ("what?", 2, 0.5),
    ]


def test_a_label_has_the_words_of_its_own_benchmark() -> None:
    names = {"needle": "needle_plain_1k", "graph_walks": "graph_walks_bfs_1k_synthetic"}
    cells = [
        replace(made_up_cell("a", task, rate(0.5, 4), (name,)), benchmark=name)
        for name, task in names.items()
    ]
    found = [Breakdown(cell, "depth", [("1", rate(0.5, 2)), ("2", rate(0.5, 2))]) for cell in cells]
    labels = {"needle": {"depth": LabelCard(title="depth in percent", position=True)}, "graph_walks": {}}
    titles = [table["title"] for table in label_tables(found, "task", labels)]
    assert titles == ["depth in percent", "depth"]
    [figure] = position_figures(found, lambda each: each.cell.model, SiteOptions(labels=labels))
    assert figure.title == "Score by depth in percent"


def test_positions_are_drawn_in_their_order() -> None:
    cell = made_up_cell("a", "ada_leval_bestanswer_1k", rate(0.5, 4), ("1",))
    places = ["80–100 %", "0–20 %", "20–40 %", "0–20 %", "20–40 %", "80–100 %"]
    shown = cases([{"accepted_answer_at": place} for place in places], [0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    breakdowns = label_breakdowns(collection_of([cell], shown), [cell])
    options = SiteOptions(labels={cell.benchmark: {"accepted_answer_at": LabelCard(position=True)}})
    [figure] = position_figures(breakdowns, lambda each: each.cell.model, options)
    assert figure.data["names"] == ["0–20 %", "20–40 %", "80–100 %"]
    [(name, points)] = figure.data["lines"]
    assert name == "a" and [(point[0], point[1]) for point in points] == [(0, 1.0), (1, 0.5), (2, 0.0)]
    assert position_figures(breakdowns, lambda each: each.cell.model, SiteOptions()) == []
    lengths = [replace(found, cell=replace(cell, length=n)) for found in breakdowns for n in (4000, 500)]
    [figure] = position_figures(lengths, lambda each: str(each.cell.length), options)
    assert [name for name, _ in figure.data["lines"]] == ["500", "4000"]


def test_variants_that_move_the_answer_are_drawn_over_one_another() -> None:
    options = SiteOptions(position_variants=("front", "mid", "rear"))
    cells = [
        made_up_cell("a", f"ada_leval_bestanswer_{k}k_{place}", rate(share, 20), ("1",), family="ada_leval_bestanswer", length=k * 1000, variant=place)
        for k in (1, 2)
        for place, share in (("rear", 0.2), ("front", 0.5))
    ]  # fmt: skip
    one, two = moved_figures(cells, lambda cell: cell.model, options)
    assert one.data["names"] == ["front", "rear"] and "1k" in one.title and "2k" in two.title
    assert [point[1] for point in one.data["lines"][0][1]] == [0.5, 0.2]
    assert moved_figures(cells[:1], lambda cell: cell.model, options) == []


def test_coverage_and_failures_have_a_column_for_each_reason_that_occurs() -> None:
    mean = rate(0.5, 8, 10, {"unparsed": 3, "not_judged": 2, "empty": 0})
    cell = made_up_cell(
        "a", "t", mean, ("1",), truncated=None, official={"instruction_following": rate(0.75, 4)}
    )
    other = replace(cell, model="b", mean=rate(1.0, 4), truncated=2, official={})
    table = quality_table([cell, other], "model", PageNames({"a": "a", "b": "b"}, {"t": "t"}), RATES)
    assert table is not None
    reasons = ["Unparsed", "Not judged"]
    assert table["columns"] == ["Scored", "Coverage", "Cut by the host", *reasons, "Followed the form"]
    assert [texts for _, _, texts in table["rows"]] == [
        ["8 of 10", "80.0 %", "unknown", "3", "2", "75.0 %"],
        ["4", "100.0 %", "2", "0", "0", "–"],
    ]
    assert quality_table([], "model", PageNames({}, {}), RATES) is None


def test_figures_of_a_report_and_maps_are_in_the_data(small_site: BuiltSite) -> None:
    figures = [each for each in chunks(small_site.index.parent) if isinstance(each, dict)]
    [curves] = [each for each in figures if each.get("xTitle") == "Noise"]
    assert curves["lines"] == [["owl <b>", [[0, 7, 6, 8, None, None], [20, 5, 4, 6, None, None]]]]
    assert curves["top"] == 10 and any(each.get("kind") == "heat" for each in figures)
