"""The site with made-up results in a browser, for the tests of its pages. Nothing is imported before a test wants it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from site_reader import Reader

    from long_context_tasks.site import BuiltSite


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    from headless import new_driver

    found = new_driver(requests=True)
    yield found
    found.quit()


@pytest.fixture(scope="module")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> "BuiltSite":
    from made_up_site import built_small_site

    return built_small_site(tmp_path_factory.mktemp("site") / "made up & <site>")


@pytest.fixture
def reader(driver: Any, small_site: "BuiltSite") -> "Iterator[Reader]":
    """Every test ends with: no error in the console, no request that left the folder."""
    from site_reader import reading

    yield from reading(driver, small_site.index.parent)
