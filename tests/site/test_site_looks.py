"""The site in a real headless Chromium: hostile texts, themes, small screens, keys, screen readers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from headless import needs_browser
from made_up_site import (
    HOSTILE_NAME,
    collection_of,
    family_length,
    made_up_cell,
    many_cells,
    rate,
    small_options,
)
from site_reader import Reader, media, reading, screen

from long_context_tasks.site import build_site
from long_context_tasks.site.words import slug
from long_context_tasks.stats.effective_length import Outcome

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = [pytest.mark.slow, needs_browser]

SCROLLED = """return [...document.querySelectorAll('.scroll')].filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth)
  .map(each => each.getAttribute('aria-label'))"""
BROKEN_WORDS = r"""const broken = [];
for (const cell of document.querySelectorAll(arguments[0])) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\w.]+/g)) {
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (range.getClientRects().length > 1) broken.push(word[0]);
  }
}
return broken"""
CUT = """return [...document.querySelectorAll('main table, main :is(td, th) *, #case *')]
  .filter(each => !each.closest('.unseen, .bar, svg') && each.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map(each => each.outerHTML.slice(0, 99))"""


@contextmanager
def on_paper(reader: Reader) -> Iterator[None]:
    """Pages as they are printed, on paper 800 pixels wide."""
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    screen(reader, 800)
    yield
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    screen(reader, 1280)


def test_hostile_texts_stay_text_everywhere(reader: Reader) -> None:
    pages = [
        ("index.html", ""),
        (f"model/{slug(HOSTILE_NAME)}.html", ""),
        ("task/ada_leval_tsort_2k.html", ""),
        ("case.html", reader.cases_of("ada_leval_tsort_2k")),
        ("case.html", reader.cases_of("elitr_bench_qa_test")),
    ]
    for page, anchor in pages:
        reader.open(page, anchor)
        reader.wait(
            lambda: reader.js(
                "return Boolean(document.documentElement.dataset.ready || document.querySelector('#case-title, [data-figure]'))"
            )
        )
        if page == "index.html":
            for box in reader.all(".board .pick input")[:4]:
                box.click()
            reader.wait(lambda: reader.all("#overview figure[data-drawn]"))
        for figure in reader.all("[data-figure]"):
            reader.js("arguments[0].scrollIntoView()", figure)
            reader.wait(lambda figure=figure: figure.get_attribute("data-drawn"))  # type: ignore[misc]
        for details in reader.all("details.prompt"):
            details.find_element(By.TAG_NAME, "summary").click()
            reader.wait(lambda: reader.all("details.prompt .text"))
        wrong = reader.js(
            "return [...document.querySelectorAll('img, script:not([src]), iframe, object, [onerror], #case table, #case bdi > *, #case .text > :not(mark)')]"
            ".map(e => e.outerHTML)"
        )
        assert wrong == [], page
        for address in reader.js("return [...document.querySelectorAll('a[href]')].map(a => a.href)"):
            assert address.startswith(reader.folder.as_uri()), address


def test_texts_in_figures_are_no_markup(reader: Reader) -> None:
    reader.open(f"model/{slug('Quail/Quail3-8B')}.html")
    reader.js("[...document.querySelectorAll('[data-figure]')].at(-1).scrollIntoView()")
    heat = reader.wait(lambda: [text for text in reader.texts(".xtick text") if "b>" in text])
    assert heat == ["<b>0</b> &amp; 1"]


def test_light_and_dark_by_the_system_and_by_the_switch(reader: Reader) -> None:
    def ground() -> str:
        return str(reader.js("return getComputedStyle(document.body).backgroundColor"))

    media(reader, "dark")
    reader.index()
    dark = ground()
    assert reader.one("#theme").text == "Light"
    media(reader, "light")
    reader.wait(lambda: ground() != dark)
    light = ground()
    reader.one("#theme").click()
    assert ground() == dark and reader.one("#theme").text == "Light"
    reader.open(f"model/{slug('Quail/Quail3-8B')}.html")
    assert ground() == dark  # kept from page to page
    reader.wait(lambda: reader.all("figure[data-drawn]"))
    line = "return document.querySelector('.scatterlayer .points path')?.style.fill"
    first = reader.wait(lambda: reader.js(line))
    reader.one("#theme").click()
    assert ground() == light
    reader.wait(lambda: reader.js(line) not in (None, first))  # drawn again in the colours of the theme


def test_a_figure_keeps_its_room_when_the_window_is_resized(reader: Reader) -> None:
    reader.open(f"model/{slug('Quail/Quail3-8B')}.html")
    assert "needs JavaScript" not in reader.js("return document.body.innerText")  # nor while it is loaded
    reader.js("document.querySelector('[data-figure]').scrollIntoView()")
    reader.wait(lambda: reader.all("figure[data-drawn] .main-svg"))
    first = "const svg = document.querySelector('figure[data-drawn] .main-svg').getBoundingClientRect();"
    wide, height = reader.js(f"{first} return [svg.width, svg.height]")
    screen(reader, 1000)
    reader.wait(lambda: reader.js(f"{first} return svg.width") != wide)
    room = "document.querySelector('figure[data-drawn] .plot').getBoundingClientRect().height"
    assert reader.js(f"{first} return [svg.height, {room}]") == [height, height]


def test_claimed_windows_have_the_colour_of_their_models(reader: Reader) -> None:
    reader.open("task/ada_leval_tsort_2k.html")
    reader.js("document.querySelector('[data-figure]').scrollIntoView()")
    reader.wait(lambda: reader.all("figure[data-drawn]"))
    plot = "document.querySelector('figure[data-drawn] .plot')"
    windows = reader.js(f"return {plot}.layout.shapes.map(each => each.line.color)")
    curves = reader.js(f"return {plot}.data.filter(each => each.marker).map(each => each.line.color)")
    keys = reader.texts("figure[data-drawn] .key li")
    models = [text for text in keys if not text.startswith(("claimed", "chance"))]
    named = [text.removeprefix("claimed window of ").rpartition(",")[0] for text in keys if "claimed" in text]
    assert windows and windows == [curves[models.index(name)] for name in named]
    assert len(set(windows)) == len(windows) and "chance" in keys
    # Their labels are above the frame, where no curve crosses them.
    boxes = "each => each.getBoundingClientRect()"
    frame, *labels = reader.js(
        f"return [...{plot}.querySelectorAll('.nsewdrag, .annotation-text-g')].map({boxes})"
    )
    assert len(labels) == len(windows) and all(label["bottom"] <= frame["top"] for label in labels)


def test_wide_tables_say_on_a_phone_that_there_are_more_columns(reader: Reader) -> None:
    hint = "return getComputedStyle(document.querySelector('.scroll.more-columns'), '::before').content"
    screen(reader, 390)
    reader.open("index.html")
    reader.wait(lambda: reader.all(".board"))
    reader.wait(lambda: reader.all(".scroll.more-columns"))
    assert "more columns" in reader.js(hint)
    # The first score is in sight.
    assert (
        reader.js("return document.querySelector('.board tbody .cell').getBoundingClientRect().right") <= 390
    )


def test_what_fits_on_a_phone_needs_no_scrolling(driver: Any, tmp_path: Path) -> None:
    model, task = "owl/small-2-135m-instruct", "ethic_recall_books"
    outcomes: dict[int, Outcome] = {1000: "holds", 2000: "open", 4000: "fails"}
    options = replace(
        small_options(),
        published=(),
        lengths=[family_length(model, task, outcomes, "context up to which the score stays high")],
        about={task: "Answer a question by the facts of a book, of which a part is needed."},
    )
    cells = [made_up_cell(model, task, rate(0.5, 30), ("run",))]
    site = build_site(tmp_path, collection_of(cells), cells, [], options)
    with reading(driver, site.index.parent) as reader:
        screen(reader, 390)
        reader.open("index.html")
        reader.wait(lambda: reader.all(".board tbody .cell"))
        end = "return document.querySelector('.board tbody .cell').getBoundingClientRect().right"
        assert reader.js(end) <= 390
        assert "at least 1k, below 4k, open between1" in reader.texts("td.words")
        assert reader.js(SCROLLED) == []
        reader.open("benchmark/ethic.html")
        assert reader.js(SCROLLED) == []


def test_numbers_of_figures_are_whole(reader: Reader) -> None:
    for width in (1280, 390):
        screen(reader, width)
        reader.open(f"model/{slug('Quail/Quail3-8B')}.html")
        for figure in reader.all("[data-figure]"):
            reader.js("arguments[0].scrollIntoView()", figure)
            reader.wait(lambda figure=figure: figure.get_attribute("data-drawn"))  # type: ignore[misc]
        reader.js("for (const each of document.querySelectorAll('details')) each.open = true")
        assert reader.js(BROKEN_WORDS, ".figure thead th") == [], width
    # A title stays in sight while its table is scrolled.
    ends = "return [...document.querySelectorAll('.figure .scroll')].map(each => each.getBoundingClientRect().right - each.querySelector('caption').getBoundingClientRect().right)"
    assert min(reader.js(ends)) >= 0
    first = "return document.querySelector('.figure tbody td').getBoundingClientRect()"
    assert reader.js(f"{first}.width") < 130 < 390 and reader.js(f"{first}.right") <= 390


@pytest.mark.parametrize("tasks", [10, 40])
def test_no_column_of_a_board_is_lost_on_paper(driver: Any, tmp_path: Path, tasks: int) -> None:
    cells = many_cells(7, tasks)
    site = build_site(tmp_path, collection_of(cells), cells, [], small_options())
    with reading(driver, site.index.parent) as reader:
        reader.open("index.html", "columns=leaves")
        reader.wait(lambda: reader.all(".board tbody .cell"))
        assert reader.texts("#overview-title") == ["7 models; the chart shows the best 5"]
        assert len(reader.columns()) == tasks
        with on_paper(reader):
            assert reader.js(CUT) == []
            assert reader.js(BROKEN_WORDS, ".board :is(thead th, tbody td.n)") == []


def test_pages_keep_their_columns_on_paper(reader: Reader) -> None:
    cases = reader.cases_of("ada_leval_tsort_2k")
    model = f"model/{slug('Quail/Quail3-8B')}.html"
    pages = (
        "index.html",
        model,
        "task/ada_leval_tsort_2k.html",
        "benchmark/ethic.html",
        f"case.html#{cases}",
    )
    for page in pages:
        reader.open(*page.partition("#")[::2])
        reader.wait(lambda: reader.all("main table tbody td, #case .answer"))
        reader.js("for (const each of document.querySelectorAll('details')) each.open = true")
        for figure in reader.all("[data-figure]"):
            reader.js("arguments[0].scrollIntoView()", figure)
            reader.wait(lambda figure=figure: figure.get_attribute("data-drawn"))  # type: ignore[misc]
        with on_paper(reader):
            assert reader.js(CUT) == [], page
            if page.startswith("case"):  # without the list of cases beside it
                assert reader.js("return document.querySelector('#case').getBoundingClientRect().width") > 700


def test_a_phone_of_360_pixels_needs_no_sideways_scrolling_of_the_page(reader: Reader) -> None:
    screen(reader, 360)
    lists = [reader.cases_of(task) for task in ("ada_leval_tsort_2k", "elitr_bench_qa_test")]
    pages = [("index.html", ""), ("task/ada_leval_tsort_2k.html", "")]
    pages += [("case.html", each) for each in lists]
    pages += [("benchmark/ethic.html", "")]
    pages += [(f"model/{slug(name)}.html", "") for name in ("Quail/Quail3-8B", HOSTILE_NAME)]
    for page, anchor in pages:
        reader.open(page, anchor)
        if page == "index.html":
            reader.wait(lambda: reader.all(".board"))
            reader.one(".board .pick input").click()
            reader.choose("overview-choice", "bestanswer")
            reader.wait(lambda: reader.all("#overview .shapelayer path"))  # the claimed window
            assert not reader.all("#overview .annotation-text")  # its label would cross the line
        elif page == "case.html":
            reader.wait(lambda: reader.all("#case-title"))
        elif page.startswith("benchmark"):
            reader.wait(lambda: reader.all("td .bar"))
            reader.js("for (const each of document.querySelectorAll('details')) each.open = true")
        else:
            reader.js("document.querySelector('[data-figure]').scrollIntoView()")
            reader.wait(lambda: reader.all("figure[data-drawn]"))
            reader.js("for (const each of document.querySelectorAll('details')) each.open = true")
        wide, inner = reader.js("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner == 360, page


def test_the_keyboard_alone_reaches_a_case(reader: Reader) -> None:
    reader.index()

    def press(*keys: str) -> None:
        for key in keys:
            reader.driver.switch_to.active_element.send_keys(key)

    def tab_to(wanted: Callable[[], bool], most: int = 60) -> None:
        for _ in range(most):
            press(Keys.TAB)
            assert reader.js("return getComputedStyle(document.activeElement).outlineStyle") != "none"
            if wanted():
                return
        raise AssertionError(f"not reached; the focus is on {reader.focused()}")

    press(Keys.TAB)
    assert reader.focused() == "Skip to the content"
    press(Keys.ENTER)
    assert reader.focused() == "main" and "#" not in reader.driver.current_url
    tab_to(lambda: reader.focused() == "search")
    press("magpie")
    assert reader.models() == ["magpie-small-24b"]
    tab_to(lambda: reader.focused() == "model")
    press(Keys.ENTER)
    assert reader.focused() == "model"  # the table was made anew, the focus stayed
    assert reader.one(".board th.model").get_attribute("aria-sort") == "ascending"
    tab_to(lambda: reader.focused().startswith("pick-"))
    press(Keys.SPACE)
    assert reader.one("#overview").is_displayed() and reader.focused().startswith("pick-")
    press(Keys.TAB)
    assert reader.focused() == "magpie-small-24b"
    press(Keys.ENTER)
    reader.wait(lambda: reader.texts("h1") == ["magpie-small-24b"])
    tab_to(
        lambda: bool(reader.js("return (document.activeElement.href || '').includes('case.html')")), most=200
    )
    press(Keys.ENTER)
    reader.wait(lambda: reader.all("#case-title"))
    tab_to(lambda: reader.focused() == "Skip the list")
    press(Keys.ENTER)
    assert reader.focused() == "case"
    tab_to(lambda: reader.js("return document.activeElement.tagName") == "SUMMARY")
    press(Keys.ENTER)
    reader.wait(lambda: len(reader.all("details.prompt .text")) == 2)
