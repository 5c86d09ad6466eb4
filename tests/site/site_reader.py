"""What a person does with the pages of the site in a browser, for tests."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from made_up_site import HOSTILE_TEXT

SECONDS = 300
SEEN = HOSTILE_TEXT.replace("\ud800", "\ufffd")  # WebDriver speaks UTF-8, which has no bytes for half a pair


class Reader:
    """What a person does with the pages."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def wait(self, ready: Callable[[], Any]) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.05).until(lambda _: ready())

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def one(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def texts(self, css: str) -> list[str]:
        return list(
            self.js(
                "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent.toWellFormed())",
                css,
            )
        )

    def open(self, page: str, anchor: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get((self.folder / page).as_uri() + (f"#{anchor}" if anchor else ""))

    def index(self) -> None:
        self.open("index.html")
        self.wait(lambda: self.js("return document.documentElement.dataset.ready"))

    def models(self) -> list[str]:
        return self.texts(".board tbody th bdi")

    def columns(self) -> list[str]:
        return self.texts(".board thead th.col .t")

    def choose(self, name: str, text: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.one(f"#{name}")).select_by_visible_text(text)

    def cases_of(self, task: str) -> str:
        """The list of cases of the first model on a task's page."""
        self.open(f"task/{task}.html")
        return str(self.one('a[href*="case.html"]').get_attribute("href")).partition("#")[2]

    def focused(self) -> str:
        return str(
            self.js("const e = document.activeElement; return e.id || e.dataset.key || e.textContent.trim()")
        )


@contextmanager
def reading(driver: Any, folder: Path) -> Iterator[Reader]:
    """A site in the browser; afterwards the console must be empty, and no request may have left the folder."""
    for log in ("browser", "performance"):
        driver.get_log(log)  # of other tests
    found = Reader(driver, folder)
    screen(found, 1280)
    media(found, "light")
    yield found
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    asked = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    assert any(url.endswith("site.css") for url in asked)
    outside = [url for url in asked if not url.startswith((folder.as_uri() + "/", "data:", "about:"))]
    assert outside == []
    assert not found.js("return Boolean(window.hacked)")
    found.js("try { localStorage.clear(); } catch {}")
    driver.get("about:blank")


def screen(reader: Reader, width: int) -> None:
    reader.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )


def media(reader: Reader, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def run_axe(reader: Reader) -> list[str]:
    """What axe-core finds wrong with the page, with the first place of each; the test is skipped where it is not installed."""
    spec = importlib.util.find_spec("axe_core_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-core is not installed (pip install axe-core-python)")
    reader.js((Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    reader.driver.set_script_timeout(SECONDS)
    return list(
        reader.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] })"
            ".then(found => done(found.violations.map(v => `${v.id}: ${v.nodes[0].target} ${v.nodes[0].failureSummary}`)))"
        )
    )
