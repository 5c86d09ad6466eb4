"""The site in a headless Chromium from file://: the actions of a reader, and speed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from headless import needs_browser
from made_up_site import (
    HOSTILE_NAME,
    collection_of,
    made_up_cell,
    many_cells,
    published_score,
    rate,
    small_cells,
)
from site_reader import SEEN, Reader, reading

from long_context_tasks.site import SiteOptions, build_site

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

pytestmark = [pytest.mark.slow, needs_browser]


def test_sort_by_any_column_with_partial_scores_below_and_without_a_rank(reader: Reader) -> None:
    reader.index()
    # To begin with, by the share of other models beaten; with one column, by it.
    assert reader.texts(".board [aria-sort] .t") == ["Win rate"]
    reader.choose("group", "recall_law")
    assert reader.texts(".board [aria-sort] .t") == ["recall_law"] and not reader.all(".board .win")
    assert reader.texts(".board tbody .rank")[4] == "5"
    reader.choose("group", "All")
    reader.one(".board th.col button").click()
    best = ["magpie-small-24b", "Quail/Quail3-8B", HOSTILE_NAME]
    # Lengths are missing or not covered whole: no rank, in the order of their means, below.
    part = ["meadow/Lark-3.1-8B-Instruct", "goldfinch-3-4b-it"]
    assert reader.models()[:5] == [*best, *part]
    assert reader.texts(".board tbody .rank")[:5] == ["1", "2", "3", "", ""]
    assert reader.texts(".board tbody tr:nth-child(5) td.first .mark")[0] == "◐ "
    first = reader.one(".board th.col button")
    assert reader.one(".board th.col").get_attribute("aria-sort") == "descending"
    first.click()
    assert reader.one(".board th.col").get_attribute("aria-sort") == "ascending"
    assert reader.models()[:5] == [*best[::-1], *part[::-1]] and reader.texts(".board tbody .rank")[0] == "3"
    reader.one(".board th.model button").click()
    assert [name.lower()[:4] for name in reader.models()] == ['"><i', "gold", "gpt-", "magp", "mead", "quai"]
    assert len(reader.all(".board [aria-sort]")) == 1
    wer40 = next(each for each in reader.all(".board th.col") if "wer40" in each.text)
    wer40.find_element(By.TAG_NAME, "button").click()
    assert reader.models()[:3] == ["magpie-small-24b", "Quail/Quail3-8B", "meadow/Lark-3.1-8B-Instruct"]


def test_ranks_come_from_all_models_and_show_ties(driver: Any, tmp_path: Path) -> None:
    scores = {"owl": 0.5, "auk": 0.5, "emu": 0.9, "kea": 0.1}
    cells = [
        made_up_cell(model, "ethic_recall_law", rate(score, 100), (model,), "f1")
        for model, score in scores.items()
    ]
    build_site(tmp_path / "site", collection_of(cells), cells)
    with reading(driver, tmp_path / "site") as reader:

        def shown() -> list[tuple[str, str]]:
            return list(zip(reader.models(), reader.texts(".board tbody .rank"), strict=True))

        reader.index()
        assert shown() == [("emu", "1"), ("auk", "2="), ("owl", "2="), ("kea", "4")]
        reader.one("#search").send_keys("k")
        reader.wait(lambda: shown() == [("auk", "2="), ("kea", "4")])
        reader.one(".board th.col button").click()
        assert shown() == [("kea", "4"), ("auk", "2=")]


def test_filter_and_search(reader: Reader) -> None:
    reader.index()
    assert len(reader.columns()) == 10
    reader.choose("benchmark", "ETHIC")
    assert reader.columns() == ["recall_books", "recall_law"]
    assert "published" not in " ".join(reader.texts(".board tbody"))  # no published score in these columns
    reader.choose("benchmark", "All")
    reader.choose("group", "tsort")
    assert reader.columns() == [f"tsort {k}k" for k in (1, 2, 4, 8, 16, 32, 64)]
    reader.choose("length", "2k")
    assert reader.columns() == ["tsort 2k"]
    cell = reader.texts(".board tbody tr:first-child td.n")[0]
    assert cell.startswith("57.5") and "95 % 50.3–64.4, n 200" in cell
    reader.one("#details").click()
    assert reader.texts(".board tbody tr:first-child .digits") == ["50.3–64.4", "n 200"]
    reader.choose("host", "opencompass")
    assert reader.models() == ["meadow/Lark-3.1-8B-Instruct", "goldfinch-3-4b-it", "GPT-4-Turbo-0125"]
    reader.choose("host", "All")
    reader.one("#search").send_keys("QUAIL")
    assert reader.models() == ["Quail/Quail3-8B"] and reader.texts("#status") == ["1 model in 1 column."]
    reader.one("#search").send_keys("x")
    assert reader.models() == [] and reader.texts("#status") == ["0 models in 1 column."]


def test_published_scores_look_different_and_can_be_switched_off(reader: Reader) -> None:
    reader.index()
    reader.choose("group", "tsort")
    row = reader.one(".board tr.paper")
    assert "GPT-4-Turbo-0125" in row.text and "published" in row.text and "15.5" in row.text
    assert reader.js("return getComputedStyle(arguments[0].querySelector('.v')).fontStyle", row) == "italic"
    title = row.find_elements(By.CSS_SELECTOR, "td.n")[0].get_attribute("title")
    assert "Table 2" in title and "by official_accuracy" in title  # the column's metric is another
    assert row.find_elements(By.CSS_SELECTOR, "th a") == []  # no model's page
    reader.one("#published").click()
    assert reader.all(".board tr.paper") == [] and len(reader.models()) == 5


def test_two_models_over_one_another(reader: Reader) -> None:
    reader.index()
    assert reader.texts("#overview-title") == ["5 models"]
    reader.choose("overview-choice", "bestanswer")
    other = "meadow/Lark-3.1-8B-Instruct"
    for name in ("Quail/Quail3-8B", other):
        reader.one(f"[aria-label='Pick {name}']").click()
    reader.wait(lambda: reader.all("#overview figure[data-drawn]"))
    assert reader.texts("#overview-title") == ["5 models; the chart shows 2 picked"]
    window = "claimed window of Quail/Quail3-8B, 32k"
    assert reader.texts("#overview .key bdi") == ["Quail/Quail3-8B", other, window]
    reader.wait(lambda: len(reader.all("#overview .scatterlayer .trace")) == 4)  # a line and a band each
    assert reader.texts("#overview .annotation-text") == ["claimed 32k"]
    assert reader.texts("#overview figure tbody th") == ["Quail/Quail3-8B", other]
    assert reader.texts("#overview figure tbody tr:first-child td")[0] == "92.5 (87.9–95.7), n 200"
    options = reader.texts("#overview-choice option")
    assert "qa_test · judge gpt-4-0613 · noise" in options and "ETHIC: all tasks" in options
    for choice in ("qa_test · judge gpt-4-0613 · noise", "ETHIC: all tasks"):
        reader.choose("overview-choice", choice)
        reader.wait(lambda: reader.all("#overview figure[data-drawn]"))
    assert reader.texts("#overview figure thead th") == ["Task", "recall_books", "recall_law"]
    reader.wait(lambda: reader.texts("#overview .ytick text") == ["recall_books", "recall_law"])
    reader.one("#picked button").click()
    assert reader.texts("#overview-title") == ["5 models; the chart shows 1 picked"]
    picked = [
        box.get_attribute("aria-label") for box in reader.all(".board .pick input") if box.is_selected()
    ]
    assert picked == [f"Pick {other}"]


def test_a_case_with_its_prompt_loaded_on_a_click(reader: Reader) -> None:
    address = reader.cases_of("ada_leval_tsort_2k")
    reader.open("case.html", address)
    reader.wait(lambda: reader.all("#case-title"))
    assert len(reader.all("#case-list li")) == 200 and reader.texts("#case-title") == ["tsort_2k_0000"]
    assert reader.texts("#case .response") == [SEEN]
    assert not any("segment of a book" in text.lower() for text in reader.texts("body"))
    scripts = len(reader.all("head script"))
    reader.one("details.prompt summary").click()
    reader.wait(lambda: len(reader.all("details.prompt .text")) == 2)
    assert len(reader.all("head script")) == scripts + 1
    assert "Segment of a book number 0." in reader.texts("details.prompt .text")[1]
    assert reader.texts("#case .numbers dt")[:3] == ["strict_accuracy", "official_accuracy", "__proto__"]
    reader.one(".steps button:last-child").click()
    reader.wait(lambda: reader.texts("#case-title") == ["tsort_2k_0001"])
    assert reader.all("#case-list [aria-current]")[0].text.startswith("tsort_2k_0001")
    Select(reader.one("#case-show")).select_by_visible_text("Reason: unparsed")
    assert 0 < len(reader.all("#case-list li")) < 200
    Select(reader.one("#case-show")).select_by_visible_text("All")
    reader.one("#case-search").send_keys("book 17")
    assert reader.texts("#case-list bdi") == ["tsort_2k_0017"] + [f"tsort_2k_{n:04}" for n in range(170, 180)]
    reader.one("#case-list li:nth-child(2) a").click()
    reader.wait(lambda: reader.texts("#case-title") == ["tsort_2k_0170"])


def test_a_table_of_a_page_is_sorted_with_what_has_no_value_last(reader: Reader) -> None:
    reader.open("task/ada_leval_tsort_64k.html")
    button = reader.one("table.scores th:nth-child(2) button")
    button.click()
    values = [float(text) for text in reader.texts("table.scores td.v")]
    assert values == sorted(values, reverse=True)
    button.click()
    values = [float(text) for text in reader.texts("table.scores td.v")]
    assert values == sorted(values) and reader.all("table.scores th[aria-sort=ascending]")


def test_published_figures_are_one_table_to_search(driver: Any, tmp_path: Path) -> None:
    cells = [cell for cell in small_cells() if cell.task == "ethic_recall_law"]
    figures = [
        published_score(model, f"ethic_{task}", "official_f1", "41.1", "Table 3", n=700, benchmark="ethic")
        for model in ("GPT-4o", "Claude <i>")
        for task in ("recall_law", "recall_books", "attribute", "organize", "summarize", "recall")
    ]
    build_site(tmp_path / "site", collection_of(cells), cells, options=SiteOptions(published=figures))
    with reading(driver, tmp_path / "site") as reader:
        reader.open("benchmark/ethic.html")
        assert reader.texts("section[aria-labelledby=published-title] summary") == ["12 figures of the paper"]
        reader.one("section[aria-labelledby=published-title] summary").click()
        reader.one("input[type=search]").send_keys("<i> RECALL")
        rows = [row.text for row in reader.all("tr.paper") if row.is_displayed()]
        assert len(rows) == 3 and all("Claude <i>" in row and "recall" in row for row in rows)
        assert "3 of 12 rows" in reader.texts("[role=status]")
        assert len(reader.all("tr.paper th a")) == 2  # of the task with a run


def test_a_missing_file_is_named(reader: Reader, tmp_path: Path) -> None:
    shutil.copytree(reader.folder, tmp_path / "site")
    other = Reader(reader.driver, tmp_path / "site")
    name = reader.cases_of("ada_leval_tsort_2k")
    (tmp_path / "site" / "data" / f"{name}.js").unlink()
    other.open("case.html", name)
    other.wait(lambda: "missing" in other.texts("#status")[0])
    assert f"data/{name}.js is missing from the folder" in other.texts("#status")[0]
    other.open("case.html", "../../x")
    other.wait(lambda: "names no data" in other.texts("#status")[0])
    reader.driver.get_log("browser")
    reader.driver.get_log("performance")
    reader.index()


def test_200_models_by_100_tasks_are_shown_in_parts(driver: Any, tmp_path: Path) -> None:
    cells = many_cells(200, 100)
    built = build_site(tmp_path / "site", collection_of(cells), cells)
    chunk = max((tmp_path / "site" / "data").iterdir(), key=lambda path: path.stat().st_size)
    with reading(driver, tmp_path / "site") as reader:
        reader.index()
        assert len(reader.models()) == 50 and len(reader.columns()) == 20
        reader.choose("columns", "Every length")
        assert len(reader.columns()) == 100
        reader.all(".board th.col button")[42].click()
        reader.one("#pager button:last-child").click()
        assert reader.texts("#pager span") == ["26–50 of 200"] and reader.texts(".board .rank")[-1] == "47="
    assert built.size < 90e6 and chunk.stat().st_size < 1e6
