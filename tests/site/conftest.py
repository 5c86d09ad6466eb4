"""The site with made-up results, and a browser that reads it. Nothing is imported before a test asks for it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from site_reader import Reader

    from long_context_tasks.site import BuiltSite


@pytest.fixture(scope="session")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> "BuiltSite":
    """The site with everything that a page can show. Tests read it and leave it as it is."""
    from made_up_site import built_small_site

    return built_small_site(tmp_path_factory.mktemp("site") / "made up & <site>")


@pytest.fixture
def reader(driver: Any, small_site: "BuiltSite") -> "Iterator[Reader]":
    """The small site in the browser; the console stays empty and no request leaves the folder."""
    from site_reader import reading

    with reading(driver, small_site.index.parent) as found:
        yield found
