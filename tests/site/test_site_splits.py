"""What pages show beside means: breakdowns, positions, lengths, coverage and failures, groups, figures of papers, notes."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from made_up_site import collection_of, made_up_cell, rate, small_options
from site_files import Page, chunks

from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.site import BuiltSite, SiteOptions, build_site
from long_context_tasks.site.figures import moved_figures, position_figures
from long_context_tasks.site.pages import quality_table
from long_context_tasks.site.shown import label_breakdowns
from long_context_tasks.site.words import slug

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
        replace(collection, scores=labelled), [cell], {"question_type": {"who": "who?", "what": "what?"}}
    )
    assert [(value, mean.n, mean.value) for value, mean in found.groups] == [
        ("who?", 2, 0.5),
        ("what?", 2, 0.5),
    ]


def test_positions_are_drawn_in_their_order() -> None:
    cell = made_up_cell("a", "ada_leval_bestanswer_1k", rate(0.5, 4), ("1",))
    places = ["80–100 %", "0–20 %", "20–40 %", "0–20 %", "20–40 %", "80–100 %"]
    shown = cases([{"accepted_answer_at": place} for place in places], [0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    breakdowns = label_breakdowns(collection_of([cell], shown), [cell])
    options = SiteOptions(positions=("accepted_answer_at",))
    [figure] = position_figures(breakdowns, lambda each: each.cell.model, options)
    assert figure.data["names"] == ["0–20 %", "20–40 %", "80–100 %"]
    [(name, points)] = figure.data["lines"]
    assert name == "a" and [(point[0], point[1]) for point in points] == [(0, 1.0), (1, 0.5), (2, 0.0)]
    assert position_figures(breakdowns, lambda each: each.cell.model, SiteOptions()) == []


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
    table = quality_table([cell, other], "model", RATES)
    assert table is not None
    reasons = ["Unparsed", "Not judged"]
    assert table["columns"] == ["Scored", "Coverage", "Cut by the host", *reasons, "Followed the form"]
    assert [texts for _, _, texts in table["rows"]] == [
        ["8 of 10", "80.0 %", "unknown", "3", "2", "75.0 %"],
        ["4", "100.0 %", "2", "0", "0", "–"],
    ]
    assert quality_table([], "model", RATES) is None


def test_pages_show_breakdowns_of_scores_without_pages_of_cases(small_site: BuiltSite) -> None:
    page = text(small_site, "task/ada_leval_tsort_2k.html")
    assert "By position" in page and "By book" not in page and "n 67" in page and "in the middle" in page
    assert "Score by position" in page
    # Three runs of 13 cases with three turns: 39 in all, 15, 12 and 12 of a type.
    page = text(small_site, "task/elitr_bench_qa_test.html")
    assert "By question type" in page and "n 15" in page and "n 12" in page and "n 45" not in page


def test_pages_show_failures_rates_and_coverage(small_site: BuiltSite) -> None:
    for page in ("task/ada_leval_tsort_64k.html", f"model/{slug('Quail/Quail3-8B')}.html"):
        shown = text(small_site, page)
        for wanted in (
            "Coverage and failures",
            "Unparsed",
            "Cut by the host",
            "Followed the form",
        ):
            assert wanted in shown, (page, wanted)
        assert re.search(r"9[67]\.0 %", shown), page


def test_the_first_page_and_a_model_s_page_show_effective_lengths_with_definition_and_claimed_window(
    small_site: BuiltSite,
) -> None:
    for page in ("index.html", f"model/{slug('magpie-small-24b')}.html"):
        shown = text(small_site, page)
        assert (
            "≥ 64k" in shown and "8k to 32k" in shown and "lies above chance" in shown and "128k" in shown
        ), page
    assert "Apache-2.0 <i>" in text(small_site, f"model/{slug('Quail/Quail3-8B')}.html")


def test_a_benchmark_s_page_has_groups_and_what_only_the_paper_has(small_site: BuiltSite) -> None:
    shown = text(small_site, "benchmark/ethic.html")
    assert "every case weighed equally" in shown and "GPT-4o" in shown and "published, not run here" in shown
    assert (
        "organize_books: 1 figure" in shown
        and "41.1" in shown
        and "ETHIC paper (NAACL 2025), Table 3" in shown
    )
    assert "GPT-4-Turbo-0125" not in text(
        small_site, "benchmark/ada_leval.html"
    )  # it stands on the pages of its tasks
    assert "Benchmarks: Ada-LEval , ELITR-Bench , ETHIC" in text(small_site, "index.html")


def test_a_benchmark_s_page_shows_the_sections_of_its_report(small_site: BuiltSite) -> None:
    shown = text(small_site, "benchmark/ethic.html")
    assert (
        "As in the paper <i> a note <i> Scores by length <b>: 2 rows" in shown
        and "owl <b> 8k 0.5 crow" in shown
    )
    assert "Nothing here" not in shown and "Scores by noise" in shown
    [curves] = [
        each
        for each in chunks(small_site.index.parent)
        if isinstance(each, dict) and each.get("xTitle") == "Noise"
    ]
    assert curves["lines"] == [["owl <b>", [[0, 7, 6, 8, None, None], [20, 5, 4, 6, None, None]]]]
    assert curves["top"] == 10 and "As in the paper" not in text(small_site, "benchmark/ada_leval.html")


def test_notes_are_no_problems(small_site: BuiltSite) -> None:
    shown = text(small_site, "index.html")
    assert "1 file or run left out" in shown and "results/x.json: cut <b>" in shown
    assert "Notes on the runs owl: 2 names of hosts <i> are shown" in shown


def test_a_judge_of_whom_nothing_is_known_says_so(tmp_path: Path) -> None:
    cell = made_up_cell("a", "elitr_bench_qa_dev", rate(0.5, 4), ("1",), judge="mine")
    built = build_site(
        tmp_path / "site", collection_of([cell]), [cell], options=replace(small_options(), lengths=())
    )
    for page in ("index.html", "task/elitr_bench_qa_dev.html"):
        assert "Agreement with people: not measured." in text(built, page)
    assert "Effective context length" not in text(built, "index.html")


def test_heat_maps_of_a_task_s_page_are_those_of_its_first_models(small_site: BuiltSite) -> None:
    assert any(
        isinstance(each, dict) and each.get("kind") == "heat" for each in chunks(small_site.index.parent)
    )
    assert "Where summaries take their content from" in text(small_site, "task/ethic_recall_books.html")
