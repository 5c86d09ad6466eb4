"""The annotation page in a real headless Chromium: keys, several annotators, resuming, hostile texts, light and dark."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from annotation_study import HOSTILE, make_study, served
from headless import needs_browser

from long_context_tasks.annotation import annotate, open_study, review
from long_context_tasks.annotation.records import Annotation, Review

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = [needs_browser, pytest.mark.slow]
SECONDS = 30
CONTRAST = Path(__file__).parent / "contrast.js"


class Page:
    """What a person does with the page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def wait(self, ready: Callable[[], Any]) -> Any:
        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.05).until(lambda _: ready())

    def text(self, key: str) -> str:
        return str(
            self.driver.execute_script("return document.getElementById(arguments[0]).textContent", key)
        )

    def shown(self, key: str) -> bool:
        return bool(self.driver.find_element(By.ID, key).is_displayed())

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def enter(self, link: str, name: str) -> None:
        self.driver.get(link)
        self.wait(lambda: self.shown("name"))
        self.driver.find_element(By.ID, "name").send_keys(name, Keys.ENTER)
        self.wait(lambda: self.shown("work") or self.shown("finished"))

    def save(self, done: str) -> None:
        before = self.text("status")
        self.keys("s")
        self.wait(
            lambda: self.text("count") == done and (self.text("status") != before or self.shown("finished"))
        )

    def checked(self) -> list[str]:
        found = self.driver.find_elements(By.CSS_SELECTOR, "#rating input:checked")
        return [one.get_attribute("value") for one in found]


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    yield Page(driver)
    driver.delete_all_cookies()
    driver.get("about:blank")


def test_a_person_annotates_with_keys_and_goes_on_where_she_stopped(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with make_study(path, "orca_text") as study:
        order = [key for key, _ in study.queue("Ana Ö.")]
    with served(path) as link:
        page.enter(link, "Ana Ö.")
        assert "token" not in page.driver.current_url and page.text("count") == "0 of 6 done"
        page.keys("s")  # nothing chosen yet
        page.wait(lambda: "Choose a rating" in page.text("message"))
        page.keys("2", "4", "a", "q", "q")  # the last choice counts; q on and off
        assert page.checked() == ["4", "A"]
        page.save("1 of 6 done")
        page.keys("u", "c")
        page.driver.switch_to.active_element.send_keys("5 is no <b>key</b> here: quare")
        page.keys(Keys.CONTROL + Keys.ENTER)
        page.wait(lambda: page.text("count") == "2 of 6 done" and page.text("status") == "Item 3 of 6")
        page.keys("p")
        page.wait(lambda: page.checked() == ["U"])  # what she said stands there again
        page.keys("3")
        page.save("2 of 6 done")
    with served(path) as link:  # stopped and started again: another port, another token
        page.enter(link, "Ana Ö.")
        assert page.text("count") == "2 of 6 done" and page.checked() == []
        for number in range(3, 7):
            page.keys("5")
            page.save(f"{number} of 6 done")
        assert page.shown("finished") and page.text("finished-title") == "All done"
        page.driver.find_element(By.ID, "leave").click()
        page.wait(lambda: page.shown("name"))
        page.driver.find_element(By.ID, "name").send_keys("Ben", Keys.ENTER)
        page.wait(lambda: page.text("count") == "0 of 6 done")  # another person has it all before them
        page.keys("1")
        page.save("1 of 6 done")
    with open_study(path) as study:
        found = {(one.candidate, one.annotator): one for one in study.annotations()}
    first, second = found[order[0], "Ana Ö."], found[order[1], "Ana Ö."]
    assert (first.rating, first.codes, first.comment) == (4, "A", "")
    assert (second.rating, second.codes, second.comment) == (3, "U", "5 is no <b>key</b> here: quare")
    assert len(found) == 7 and [one.rating for one in found.values() if one.annotator == "Ben"] == [1]


def test_hostile_texts_are_shown_as_text(page: Page, tmp_path: Path) -> None:
    with make_study(tmp_path / "s.db") as study:
        order = [key for key, _ in study.queue("eve")]
        annotate(study, [Annotation("q1/small", "<img src=x onerror=alert(1)>", 2, "", HOSTILE)])
    with served(tmp_path / "s.db") as link:
        page.enter(link, "eve")
        page.driver.get_log("browser")
        for number in range(order.index("q1/small")):
            page.keys("n")
            page.wait(lambda place=number + 2: page.text("status").startswith(f"Item {place} "))
        page.wait(lambda: HOSTILE in page.text("candidate"))
        assert page.text("rationale") == HOSTILE and HOSTILE in page.text("question")
        page.keys("d")
        page.wait(lambda: HOSTILE in page.text("document-text"))
        assert (
            page.driver.find_elements(By.CSS_SELECTOR, "main img, main script, dialog img, dialog script")
            == []
        )
        assert page.driver.title == "Correctness of answers"
        page.keys(Keys.ESCAPE)
        page.wait(lambda: not page.shown("document"))
        page.driver.get(link.split("?")[0] + "document?id=d1")  # alone in a tab: plain text
        assert HOSTILE.split("\u2028")[0] in page.driver.find_element(By.TAG_NAME, "body").text
        assert "owned" not in page.driver.title
        assert not [line for line in page.driver.get_log("browser") if line["level"] == "SEVERE"]


def test_an_item_corrected_in_the_meantime_is_not_saved(page: Page, tmp_path: Path) -> None:
    with make_study(tmp_path / "s.db") as study:
        first = study.queue("ana")[0][0]
    with served(tmp_path / "s.db") as link:
        page.enter(link, "ana")
        page.keys("3")
        with open_study(tmp_path / "s.db") as study:
            review(study, [Review(first.split("/")[0], "remove", {})], "eva")
        page.keys("s")
        page.wait(lambda: "corrected or removed" in page.text("message"))
    with open_study(tmp_path / "s.db") as study:
        assert study.annotations() == []


def test_an_item_that_others_have_done_is_left_out(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with make_study(path, raters=1) as study:
        order = [key for key, _ in study.queue("ana")]
        candidates = {one.id: one.text for one in study.candidates()}
    with served(path) as link:
        page.enter(link, "ana")
        with open_study(path) as study:  # ben works at the same time
            annotate(study, [Annotation(key, "ben", 1) for key in order[1:3]])
        page.keys("3")
        page.save("1 of 4 done")
        assert page.text("candidate") == candidates[order[3]] and page.text("status") == "Item 2 of 4"
        assert "left out: others have done this item" in page.text("message")
        with open_study(path) as study:
            annotate(study, [Annotation(key, "ben", 1) for key in order[4:]])
        page.keys("4")
        page.save("2 of 2 done")
        assert page.shown("finished")
    with open_study(path) as study:
        found = study.annotations()
    assert len(found) == 6 and {one.candidate for one in found} == set(order)


def test_a_server_that_went_away_shows_no_other_item_and_loses_nothing_that_was_saved(
    page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    with make_study(path):
        pass
    with served(path) as link:
        page.enter(link, "Zoë 日本")
        page.keys("3")
        page.save("1 of 6 done")
        page.keys("4")
    page.keys("s")
    page.wait(lambda: "Not saved: The server does not answer" in page.text("message"))
    assert page.checked() == ["4"]
    page.driver.execute_script("document.getElementById('next').click()")
    page.driver.switch_to.alert.accept()
    page.wait(lambda: page.text("message").startswith("The server does not answer"))
    assert page.text("candidate") == ""
    page.driver.execute_script("window.onbeforeunload = null")
    with served(path) as link:
        page.enter(link, "Zoë 日本")
        assert page.text("count") == "1 of 6 done"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scale", ["orca", "elitr_bench"])
def test_it_can_be_read_and_reached(page: Page, tmp_path: Path, scheme: str, scale: str) -> None:
    """Contrast of 4.5 at least, a name for every control, all controls within the window; a picture if ANNOTATION_SCREENSHOTS names a folder."""
    with make_study(tmp_path / "s.db", scale):
        pass
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    with served(tmp_path / "s.db") as link:
        page.enter(link, "ana")
        page.keys("0" if scale == "elitr_bench" else "4", "a")
        assert page.checked() == ["10" if scale == "elitr_bench" else "4", "A"]
        assert page.driver.execute_script(CONTRAST.read_text(encoding="utf-8")) == []
        unnamed = (
            "return [...document.querySelectorAll('button, input, textarea, fieldset')].filter((one) => !one.computedName && \
            !(one.labels?.length || one.ariaLabel || one.textContent.trim())).map((one) => one.outerHTML)"
        )
        assert page.driver.execute_script(unnamed) == []
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.driver.execute_script(wide) == 0
        box = page.driver.find_element(By.ID, "save").rect
        assert box["y"] + box["height"] <= page.driver.execute_script("return window.innerHeight")
        if folder := os.environ.get("ANNOTATION_SCREENSHOTS"):
            page.driver.save_screenshot(str(Path(folder) / f"annotation_{scale}_{scheme}.png"))
