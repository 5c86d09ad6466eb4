"""A real headless Chromium for tests of pages: where it is, a mark that skips without it, and a driver."""

import importlib.util
import shutil
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
MISSING = (
    "selenium is not installed (pip install selenium)"
    if importlib.util.find_spec("selenium") is None
    else ""
    if BROWSER and DRIVER
    else "no chromium and chromedriver (Debian: apt install chromium chromium-driver)"
)
needs_browser = pytest.mark.skipif(bool(MISSING), reason=MISSING)
"""Mark of tests that drive a browser."""

_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"),
    "--no-proxy-server",  # pages are on this machine: no proxy of the environment
)


def new_driver(*, requests: bool = False) -> Any:
    """A browser; whoever asks for it quits it.

    Args:
        requests: keep a log of what pages ask for.
    """
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    logs = {"browser": "ALL", **({"performance": "ALL"} if requests else {})}
    options.set_capability("goog:loggingPrefs", logs)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
