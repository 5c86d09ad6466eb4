"""What marks and legends of the site say, in a real headless Chromium: published figures, hosts, settings, n, notes on a phone."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from headless import needs_browser
from made_up_site import (
    collection_of,
    made_up_cell,
    published_score,
    rate,
    small_cases,
    small_cells,
    small_options,
)
from site_reader import Reader, reading, screen

from long_context_tasks.site import BuiltSite, build_site
from long_context_tasks.site.words import slug

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")

pytestmark = [needs_browser, pytest.mark.slow]

TASK = "ada_leval_tsort_2k"
COPIED = "Copier"
BOTH = "both-hosts"
SETTINGS = '{"lct_answer_budget": 96, "lct_n": 5}'
TOLD = "answer budget 96, first 5 cases"


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    """The made-up site with a figure by another metric, a model that two hosts ran, other settings, and counts in its map."""
    cells = small_cells()
    cells += [
        made_up_cell(BOTH, TASK, rate(0.5, 200), ("one", "two"), "strict_accuracy", benchmark="ada_leval",
                     family="ada_leval_tsort", length=2000, hosts=("lm_eval", "opencompass")),
        *(made_up_cell(BOTH, f"ethic_recall_{domain}", rate(0.5, 5), (domain,), "f1", settings=SETTINGS, ranked=False,
                       why_unranked=" and ".join(["a reason that takes some words"] * 6)) for domain in ("books", "law")),
    ]  # fmt: skip
    cases = list(small_cases(cells))
    options = small_options()
    copied = published_score(COPIED, TASK, "copy_instruction", "98.5", "Ada-LEval paper, Table 9", n=200)
    [heat] = options.heat_maps
    counts = [[7] * 5 for _ in heat.map.y]
    values = [row[:5] for row in heat.map.values]
    names = [heat.map.x[0], *(f"{number} tenths into the whole context" for number in range(1, 5))]
    heat = heat._replace(map=replace(heat.map, x=names, values=values, counts=counts))
    options = replace(options, published=(*options.published, copied), heat_maps=[heat])
    collection = collection_of(cells, cases)
    hosts = [
        "opencompass" if run == "two" else host for run, host in collection.runs["run", "host"].iter_rows()
    ]
    runs = collection.runs.with_columns(type(collection.runs["host"])("host", hosts))
    folder = tmp_path_factory.mktemp("marked") / "site"
    return build_site(folder, replace(collection, runs=runs), cells, cases, options)


@pytest.fixture
def page(driver: Any, marked: BuiltSite) -> Iterator[Reader]:
    with reading(driver, marked.index.parent) as found:
        yield found


def legend(page: Reader, sign: str) -> bool:
    """Whether the line of the legend that explains a sign is shown."""
    [line] = [each for each in page.all(".read li") if sign in str(each.get_attribute("textContent"))]
    return bool(line.is_displayed())


def test_published_figures_by_another_metric_stand_below_all_scores_either_way(page: Reader) -> None:
    page.index()
    page.choose("group", "tsort")
    page.choose("length", "2k")
    scored = ["Quail/Quail3-8B", "GPT-4-Turbo-0125", BOTH]
    head = ".board th.col button"
    for direction in ("descending", "ascending"):
        if page.one(".board th.col").get_attribute("aria-sort") != direction:
            page.one(head).click()
        assert page.one(".board th.col").get_attribute("aria-sort") == direction
        shown = page.models()
        assert shown[-1] == COPIED and set(scored) < set(shown[:-1])
    # By the official rule of the same score it stands among the scores: the lowest one, and first when these ascend.
    assert shown[0] == "GPT-4-Turbo-0125"
    rows = page.all(".board tbody tr")
    assert rows[0].find_elements("css selector", ".bar") and rows[0].find_elements("css selector", ".dagger")
    assert not rows[-1].find_elements("css selector", ".bar") and "98.5" in rows[-1].text
    assert "copy_instruction" in str(rows[-1].find_element("css selector", ".dagger").get_attribute("title"))
    rows[-1].find_element("css selector", ".pick input").click()
    assert "None of the picked models has a score here" in page.texts("#overview-figure")[0]


def test_the_legend_has_the_dagger_exactly_when_one_stands_in_the_table(page: Reader) -> None:
    page.index()
    assert page.all(".board .dagger") and legend(page, "†") and legend(page, "italics")
    page.choose("benchmark", "ETHIC")
    assert not page.all(".board .dagger") and not legend(page, "†") and not legend(page, "italics")
    page.choose("benchmark", "All")
    assert legend(page, "†")
    page.one("#published").click()
    assert not page.all(".board .dagger") and not legend(page, "†")
    page.one("#published").click()
    page.one("#search").send_keys("GPT-4")
    assert legend(page, "†") and not legend(page, "◐")  # published figures are no part of anything
    page.one("#search").send_keys("x")
    assert not legend(page, "†")


def test_settings_of_all_columns_or_rows_are_named_once(page: Reader) -> None:
    page.index()
    page.one("#search").send_keys(BOTH)
    page.choose("benchmark", "ETHIC")
    # The plain columns are there as well, so each says what it is.
    assert page.texts(".board th.col .sub") == [TOLD] * 2
    page.open(f"model/{slug(BOTH)}.html")
    assert page.texts("table.scores caption")[1] == f"ETHIC · {TOLD}"
    assert page.texts("table.scores tbody th") == ["tsort_2k", "recall_books", "recall_law"]


def test_cells_of_a_map_say_on_how_many_cases_they_rest(page: Reader) -> None:
    page.open(f"model/{slug('Quail/Quail3-8B')}.html")
    page.js("[...document.querySelectorAll('[data-figure]')].at(-1).scrollIntoView()")
    texts = page.wait(lambda: page.texts(".heatmap-label text") or None)
    assert [text for text in texts if text] == ["n 7"] * 24  # one of 25 has no value
    last = page.all("figure[data-drawn]")[-1]
    assert "n is the number of cases" in last.text
    cells = page.js("return [...arguments[0].querySelectorAll('tbody td')].map(e => e.textContent)", last)
    assert cells[:2] == ["0.9, n 7", "0.45, n 7"] and cells.count("–") == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_names_below_a_map_do_not_overlap(page: Reader, width: int) -> None:
    screen(page, width)
    page.open(f"model/{slug('Quail/Quail3-8B')}.html")
    page.js("[...document.querySelectorAll('[data-figure]')].at(-1).scrollIntoView()")
    page.wait(lambda: page.texts(".heatmap-label text") or None)
    # A name that is turned has a box that is higher than its line.
    boxes = page.js(
        "return [...document.querySelectorAll('figure:last-of-type .xtick text')].map(e => e.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 2
    for first, second in pairwise(boxes):
        assert first["right"] < second["left"] or first["height"] > 20


@pytest.mark.parametrize("where", ["task", "model"])
def test_rows_on_a_phone_are_a_few_lines_high_and_notes_open(page: Reader, where: str) -> None:
    screen(page, 390)
    page.open(f"model/{slug(BOTH)}.html" if where == "model" else "task/ethic_recall_law.html")
    page.wait(lambda: any(button.is_displayed() for button in page.all(".notes .more")))
    heights = page.js(
        "return [...document.querySelectorAll('table.scores tbody tr')].map(e => e.offsetHeight)"
    )
    assert max(heights) <= 75, heights
    button = next(button for button in page.all(".notes .more") if button.is_displayed())
    text = "return arguments[0].previousElementSibling"
    assert page.js(f"{text}.scrollHeight > {text[7:]}.clientHeight + 1", button)
    page.js("arguments[0].click()", button)
    assert page.js(f"{text}.scrollHeight <= {text[7:]}.clientHeight + 1", button)
    assert button.get_attribute("aria-expanded") == "true" and button.text == "Less"
    screen(page, 1280)
    page.open("task/ethic_recall_law.html")
    assert not any(button.is_displayed() for button in page.all(".notes .more"))
