"""Scores by place in the context on the site's pages: those of the benchmark's own report, from invented runs."""

import shutil
from pathlib import Path

import pytest
from ethic_oracle import build, oracle, write_documents
from stored_ethic_runs import forgets_the_end, rate, write_lm_eval

from long_context_tasks.benchmarks.catalogue import resolve_options


def test_maps_of_a_model_that_forgets_the_end(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.site.contents import heat_maps

    documents = write_documents(tmp_path / "documents", paragraphs=120)
    for domain in ("law", "medicine", "debates"):
        shutil.rmtree(documents / domain)
    with oracle(tmp_path) as (_, annotator):
        for family in ("ethic_recall", "ethic_summarize"):
            own = {"lengths": (4000, 8000), "annotator": annotator, "min_document": 8000}
            build(family, documents, tmp_path / "cases" / family, **own)
    options = resolve_options({"lct_cases": tmp_path / "cases"})
    for task in ("recall", "summarize"):
        write_lm_eval(tmp_path / "runs", f"ethic_{task}_books", options, forgets_the_end, rate)
    collected = collect_with_files([tmp_path / "runs"])
    cells = cells_of(collected.collection)
    found = heat_maps(collected.collection, cells, collected.evaluations, None)[0]
    assert [each.task for each in found] == ["ethic_recall_books", "ethic_summarize_books"]
    recall, summarize = (each.map for each in found)
    assert recall.y == summarize.y == ["4k", "8k"] and recall.x[0] == "0 to 20 %" and len(recall.x) == 5
    places = [value for value in recall.values[1] if value is not None]
    assert places[0] == 100 > places[-1] and (recall.low, recall.high) == (0, 100)
    for row in summarize.values:
        there = [value for value in row if value is not None]
        assert there[0] > 3 > there[-1] and there == sorted(there, reverse=True)
    assert (summarize.low, summarize.high) == (1, 5)
    assert "judge stub" in summarize.title and "cases cases" in recall.title
    # The labels of the cases come from the task where the files have none.
    assert collected.collection.scores["labels"].null_count() == 0
    shutil.rmtree(tmp_path / "cases")
    maps, notes = heat_maps(collected.collection, cells, collected.evaluations, None)
    assert maps == [] and len(notes) == 1 and notes[0].startswith("2 cells have no scores")
