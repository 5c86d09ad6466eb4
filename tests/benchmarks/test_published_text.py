"""The papers' own text, where it lies at hand: every published figure stands in its row and column."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from published_figures import DOMAINS, ONE, PAPERS, POSITIONS, THREE, TYPES, chosen, printed


def block(folder: Path, benchmark: str, table: str) -> list[list[str]]:
    """The lines over a table's caption, in cells."""
    text = (folder / "papers" / PAPERS[benchmark]).read_text(encoding="utf-8")
    before = text.replace("<b>", "").replace("</b>", "").partition(f"\n{table}: ")[0].rstrip("\n")
    return [line.split("\t") for line in before.rpartition("\n\n")[2].split("\n")]


def ada_cells(folder: Path, table: str) -> Iterator[tuple[tuple[str, str, str, str], str]]:
    """Model, metric, task and cases (where two rows have one name) to figure."""
    family, metric, head, seen = "tsort", "official_accuracy", [""], Counter[str]()
    if table in ("Table 3", "Table 5", "Table 8", "Table 9", "Table 13"):
        family = "bestanswer"
    if table in ("Table 4", "Table 5"):
        metric = "copy_instruction"
    model = ""
    for cells in block(folder, "ada_leval", table):
        if cells[-1] in ("16k", "8k", "128k"):
            head = cells
            continue
        model, suffix, row_metric = cells[0] or model, "", metric
        if table == "Table 6":
            family = {"TSort": "tsort", "BestAnswer": "bestanswer"}.get(cells[0], family)
            model = cells[1]
        if table == "Table 7":
            suffix, row_metric = "_ppl", "strict_accuracy"
        if table == "Table 8":
            suffix = f"_{cells[1]}"
        if model == "Random Guess":
            row_metric = "random_guess"
        if model == "Expectation":
            row_metric = "copy_expectation"
        seen[model] += 1
        for length, figure in zip(head, cells, strict=True):
            if length[:1].isdigit():
                yield (
                    (model, row_metric, f"ada_leval_{family}_{length}{suffix}", str(seen["Expectation"])),
                    figure,
                )


@pytest.mark.parametrize("table", [f"Table {n}" for n in (2, 3, 4, 5, 6, 7, 8, 12, 13)])
def test_ada_leval_tables_are_those_of_the_text(shared: Path, table: str) -> None:
    text = {
        key if table in ("Table 4", "Table 5") else (*key[:3], ""): v for key, v in ada_cells(shared, table)
    }
    ours = {}
    for score in chosen("ada_leval", table):
        # In Tables 4 and 5 a second "Expectation" stands below the open models.
        seen = str(int("1000" in score.setting) + int(score.model == "Expectation"))
        ours[score.model, score.metric, score.task, seen if table in ("Table 4", "Table 5") else ""] = (
            score.printed
        )
    left_out = set(text) - set(ours)
    assert ours == {key: figure for key, figure in text.items() if key in ours}
    if table in ("Table 12", "Table 13"):
        # Those that are left out stand in Table 2 or 3.
        main = {
            (s.model.lower(), s.task): s.printed
            for s in chosen("ada_leval", {"Table 12": "Table 2", "Table 13": "Table 3"}[table])
        }
        assert left_out
        assert all(main[key[0].lower(), key[2]] == text[key] for key in left_out)
    else:
        assert {text[key] for key in left_out} <= {"/"}


def test_ada_leval_tables_9_and_10_are_those_of_the_text(shared: Path) -> None:
    found, backbone, lengths = {}, "", [""]
    for cells in block(shared, "ada_leval", "Table 9"):
        if cells[1] == "1k":
            backbone, lengths = cells[0], cells
            continue
        model = backbone if cells[0] == "Original(4k)" else f"{backbone}, {cells[0]}"
        for length, both in zip(lengths[1:], cells[1:], strict=True):
            task = f"ada_leval_bestanswer_{length}"
            found[model, task, "official_accuracy"], found[model, task, "followed_accuracy"] = both.split("/")
    ours = {(s.model, s.task, s.metric): s.printed for s in chosen("ada_leval", "Table 9")}
    assert {key[0] for key in set(found) - set(ours)} == {
        "Vicuna-7b-v1.5, Original(16k)",
        "Vicuna-13b-v1.5, Original(16k)",
    }
    assert ours == {key: figure for key, figure in found.items() if key in ours}
    row = next(cells for cells in block(shared, "ada_leval", "Table 10") if cells[0] == "BestAnswer")
    assert [s.printed for s in chosen("ada_leval", "Table 10")] == row[1:4]
    assert printed("ada_leval", "Table 3", "GPT-4-Turbo-1106", "ada_leval_bestanswer_16k") == row[4]


ELITR_COLUMNS = {
    "Table 2": [
        ("elitr_bench_qa_dev", "", ONE),
        ("elitr_bench_qa_test", "", THREE),
        None,
        ("elitr_bench_qa_dev_multiturn", "", ONE),
        ("elitr_bench_qa_test_multiturn", "", THREE),
        None,
        ("elitr_bench_conv_dev", "", ONE),
        ("elitr_bench_conv_test", "", THREE),
        None,
    ],
    "Table 3": [("elitr_bench_qa_test", part, THREE) for part in (*TYPES, *POSITIONS)],
    "Table 4": [
        ("elitr_bench_qa_test", "", ONE),
        ("elitr_bench_qa_test", "", "judge Prometheus-13B-v1.0, one run"),
        None,
        None,
    ],
}


@pytest.mark.parametrize("table", ELITR_COLUMNS)
def test_elitr_tables_are_those_of_the_text(shared: Path, table: str) -> None:
    columns = ELITR_COLUMNS[table]
    text = {
        (cells[0], *column): figure
        for cells in block(shared, "elitr_bench", table)
        if len(cells) == len(columns) + 1 and cells[1][:1].isdigit()
        for column, figure in zip(columns, cells[1:], strict=True)
        if column is not None and figure != "-"
    }
    assert text == {(s.model, s.task, s.subset, s.setting): s.printed for s in chosen("elitr_bench", table)}


@pytest.mark.parametrize("table", ["Table 3", "Table A"])
def test_ethic_tables_are_those_of_the_text(shared: Path, table: str) -> None:
    tasks = ("recall", "summarize", "organize", "attribute")
    columns = [f"ethic_{task}" for task in tasks]
    if table == "Table A":
        # Rec, Sum, Org in books and debates; Rec, Sum, Att in medicine and law.
        thirds = {"books": "organize", "debates": "organize", "medicine": "attribute", "law": "attribute"}
        columns = [
            f"ethic_{task or thirds[domain]}_{domain}" for domain, task in product(DOMAINS, (*tasks[:2], ""))
        ]
    text = {
        (cells[0].partition(" (")[0], column): figure
        for cells in block(shared, "ethic", table)
        if len(cells) == len(columns) + 1 and cells[1][:1].isdigit() and cells[0]
        for column, figure in zip(columns, cells[1:], strict=True)
    }
    assert text == {(s.model, s.task): s.printed for s in chosen("ethic", table)}
