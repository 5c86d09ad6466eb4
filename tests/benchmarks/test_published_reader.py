"""The reader of the papers' figures: every figure comes back in its place, and a mistake in a file is named."""

import pytest
import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.published import PublishedScore, parse_published, published
from long_context_tasks.schema import InputError

GOOD = """
windows: {M: 8k}
tables:
  - table: Table 1
    metric: official_accuracy
    columns: [ada_leval_tsort_2k, {task: ada_leval_tsort_4k, n: 200, setting: s}]
    rows: {M: ["5.0", null], N: ["0", "100.0"]}
"""


def parse(text: str, other: str = "") -> tuple[PublishedScore, ...]:
    return parse_published(text, catalogue.card("ada_leval"), "x/published.yaml", lambda name: other)


def test_a_file_becomes_figures() -> None:
    first, second, third = parse(GOOD)
    assert first == PublishedScore(
        benchmark="ada_leval",
        model="M",
        task="ada_leval_tsort_2k",
        metric="official_accuracy",
        printed="5.0",
        points=False,
        window="8k",
        source="Ada-LEval paper (NAACL 2024), Table 1, M",
    )
    assert (first.value, first.score) == (5.0, 0.05)
    assert (second.model, second.printed, second.window, second.n) == ("N", "0", "", None)
    assert (third.task, third.n, third.setting) == ("ada_leval_tsort_4k", 200, "s")


def test_what_a_column_says_goes_before_what_the_table_says() -> None:
    first, _, third = parse(GOOD.replace("    columns:", "    n: 50\n    setting: table\n    columns:"))
    assert (first.n, first.setting) == (50, "table")
    assert (third.n, third.setting) == (200, "s")


def test_figures_that_another_file_holds() -> None:
    entry = {"table": "Table 1", "rows_of": "other.yaml/t", "columns": {"b": "ada_leval_tsort_2k"}}
    text = yaml.safe_dump({"tables": [{**entry, "metric": "official_accuracy"}]})
    held = 't: {columns: [a, b], rows: {M: ["1.0", "2.0"]}}'
    assert [(s.task, s.printed) for s in parse(text, held)] == [("ada_leval_tsort_2k", "2.0")]
    with pytest.raises(InputError, match=r"Table 1: other.yaml, t has no columns \['b'\]"):
        parse(text, held.replace("b]", "c]"))
    with pytest.raises(InputError, match=r"Table 1: other.yaml has no t; it has u"):
        parse(text, held.replace("t:", "u:", 1))


TASK = "ada_leval_tsort_2k"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (TASK, "ada_leval_tsort_3k", "x/published.yaml: Table 1: unknown task ada_leval_tsort_3k"),
        (TASK, "ada_leval_tsort", "Table 1: unknown task ada_leval_tsort;"),
        (TASK, "ethic_recall_books", "ethic_recall_books is a task of ethic, not of ada_leval"),
        (TASK, "ethic_recall", "unknown task ethic_recall;"),
        ("official_accuracy", "accuracy", f"Table 1, {TASK}: unknown metric accuracy; the card has"),
        ('"5.0"', "5.0", "tables, item 1, rows, M, item 1"),
        ('"5.0"', '"5,0"', "tables, item 1, rows, M, item 1"),
        ('"5.0"', '"nan"', "tables, item 1, rows, M, item 1"),
        ('"100.0"', '"100.1"', "Table 1, N, ada_leval_tsort_4k: 100.1 lies outside 0 to 100"),
        (", null]", "]", "Table 1, M: 1 figures for 2 columns"),
        ("{M: 8k}", "{m: 8k}", r"windows of models without a figure: \['m'\]"),
        ("metric:", "metrics:", "x/published.yaml: tables, item 1: unknown key 'metrics'"),
        ("n: 200", "cases: 200", "Table 1, ada_leval_tsort_4k: unknown key 'cases'"),
        ("windows:", "window:", "x/published.yaml: unknown key 'window'; did you mean windows"),
        ("    metric: official_accuracy\n", "", f"Table 1, {TASK}: metric is missing"),
        ("    rows:", "    #", "Table 1: no rows, nor rows_of"),
        (
            "{task: ada_leval_tsort_4k, n: 200, setting: s}",
            TASK,
            f"Table 1, N, {TASK}: a second figure of official",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=message):
        parse(GOOD.replace(old, new, 1))


def test_an_unknown_benchmark() -> None:
    with pytest.raises(InputError, match="unknown benchmark ada; there are ada_leval, elitr_bench, ethic"):
        published("ada")
