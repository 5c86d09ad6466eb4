"""The page of cases in a real headless Chromium: models side by side, right and wrong, and the prompt."""

from pathlib import Path
from typing import Any

import pytest
from headless import needs_browser
from made_up_site import MODELS, collection_of, small_cells
from site_reader import Reader, media, reading, run_axe, screen

from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.site import build_site
from long_context_tasks.site.words import slug

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")

pytestmark = [needs_browser, pytest.mark.slow]


def test_models_side_by_side_with_right_and_wrong(reader: Reader) -> None:
    reader.open("task/ada_leval_tsort_2k.html")
    reader.one("a[href*='/0/']").click()
    reader.wait(lambda: reader.all("#case .answer h4"))
    # The best four of five; the fifth can be chosen, and takes the place of the first beside the best.
    best = reader.texts("#case .answer h4")
    assert best[0] == "magpie-small-24b" and len(best) == 4 and len(reader.all("#beside input")) == 4
    assert reader.texts("#beside bdi") == [*best[1:], *(set(MODELS) - set(best))]
    verdicts = dict(zip(best, reader.texts("#case .verdict"), strict=True))
    assert set(verdicts.values()) == {"Right", "Wrong"}
    for each in reader.all("#case .answer"):
        [word] = [one.text for one in each.find_elements("css selector", ".verdict")]
        score = each.find_element("css selector", ".numbers dd").text
        assert (word, score) in (("Right", "1"), ("Wrong", "0")) and word.lower() in each.get_attribute(
            "class"
        )
    colours = reader.js(
        "return [...document.querySelectorAll('#case .verdict')].map(e => getComputedStyle(e).color)"
    )
    assert len(set(colours)) == 2
    reader.all("#beside input")[-1].click()
    reader.wait(lambda: reader.texts("#case .answer h4") == [best[0], *best[2:], *(set(MODELS) - set(best))])
    reader.one(".steps button:last-child").click()
    reader.wait(lambda: reader.texts("#case-title") == ["tsort_2k_0001"])
    assert len(reader.all("#case .answer")) == 4  # they stay from case to case
    address = reader.driver.current_url
    reader.driver.get("about:blank")
    reader.driver.get(address)
    reader.wait(lambda: reader.texts("#case-title") == ["tsort_2k_0001"])
    assert len(reader.all("#case .answer")) == 4
    assert [box.is_selected() for box in reader.all("#beside input")] == [False, True, True, True]


def test_points_are_neither_right_nor_wrong(reader: Reader) -> None:
    reader.open("case.html", reader.cases_of("elitr_bench_qa_test"))
    reader.wait(lambda: reader.all("#case-title"))
    assert reader.all("#case .verdict") == [] and len(reader.all("#case .answer")) == 3
    # Repeats of a model are distinguished.
    assert reader.texts("#beside label")[:3] == [
        "magpie-small-24b run 2",
        "magpie-small-24b run 3",
        "Quail/Quail3-8B run 1",
    ]
    reader.one("#beside input").click()
    reader.wait(lambda: len(reader.all("#case .answer")) == 6)
    assert reader.texts("#case .answer h4")[:2] == ["magpie-small-24b run 1", "magpie-small-24b run 2"]


def test_axe_finds_nothing(reader: Reader) -> None:
    """Each kind of page once, by axe-core; a task's page has the parts of a model's."""
    cases = f"case.html#{reader.cases_of('ada_leval_tsort_2k')}"
    model = f"model/{slug('magpie-small-24b')}.html"
    for page, width, scheme in (
        *((page, 1280, "light") for page in ("about.html", "benchmark/ada_leval.html", model)),
        *((page, 390, "light") for page in ("index.html", "submit.html")),
        *((page, 1280, "dark") for page in ("index.html", cases)),
    ):
        media(reader, scheme)
        screen(reader, width)
        reader.open(*page.partition("#")[::2])
        reader.wait(lambda: reader.all("[data-ready], #case .answer, .bar, pre, .pairs"))
        assert run_axe(reader) == [], (page, width, scheme)


def test_line_ends_make_no_tall_boxes(driver: Any, tmp_path: Path) -> None:
    cell = next(cell for cell in small_cells() if cell.task == "ada_leval_tsort_2k")
    responses = ("\n" * 64, "first" + "\n" * 40 + "last")
    shown = [
        ShownCase(cell.runs[0], f"m{n}", [["user", "Sort."]], {}, (ShownTurn("gold", text, None),))
        for n, text in enumerate(responses)
    ]
    built = build_site(tmp_path / "site", collection_of([cell], shown), [cell], shown)
    with reading(driver, built.index.parent) as reader:
        reader.open("case.html", reader.cases_of("ada_leval_tsort_2k"))
        reader.wait(lambda: reader.all("#case .answer"))
        assert "White space only, 64 characters." in reader.texts("#case .text.none")
        reader.one(".steps button:last-child").click()
        reader.wait(lambda: any("first" in text for text in reader.texts("#case .text")))
        [text] = [text for text in reader.texts("#case .text") if "first" in text]
        assert text == "first\n[39 empty lines]\nlast"
