"""Screenshots of a site of ``lct report``: ``python docs/figures/screenshots.py SITE docs/images``, which ``make curves`` runs.

Needs chromium, chromedriver, selenium and pillow. With ``--all`` it also takes each page in dark and on a phone, to look at.
"""

import argparse
import io
import sys
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "site")]

from headless import MISSING, new_driver  # noqa: E402
from site_reader import Reader, media  # noqa: E402

from long_context_tasks.site.words import slug  # noqa: E402

PAGES = {
    "site_overview": ("index.html", 760),
    "site_leaderboard": ("index.html", 1480),
    "site_model": (f"model/{slug('smollm2-135m-instruct')}.html", 1250),
    "site_task": ("task/needle_plain_2k.html", 1150),
}
"""Name of a picture to its page and the height shown."""
_COLORS = 128


def picture(reader: Reader, page: str, width: int, height: int) -> bytes:
    """A page from its top, with the figures that are in sight drawn, as a small PNG."""
    from PIL import Image

    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    reader.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    reader.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    reader.open(page)
    if page == "index.html":
        reader.wait(lambda: reader.js("return document.documentElement.dataset.ready"))
        reader.wait(lambda: reader.all("#overview figure[data-drawn]"))
        reader.js("scrollTo(0, 0)")
    else:
        seen = "[...document.querySelectorAll('[data-figure]')].filter(e => e.getBoundingClientRect().top < innerHeight)"
        reader.wait(lambda: reader.js(f"return {seen}.every(e => e.dataset.drawn)"))
    with Image.open(io.BytesIO(reader.driver.get_screenshot_as_png())) as found:
        small = found.convert("RGB").quantize(_COLORS)
    stream = io.BytesIO()
    small.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def write(reader: Reader, folder: Path, pages: dict[str, Any], *, every: bool) -> None:
    """All pictures; ``every`` adds the dark ones and those of a phone."""
    for name, (page, height) in pages.items():
        for scheme, width, end in (
            ("light", 1280, ""),
            *((("dark", 1280, "_dark"), ("light", 360, "_phone")) if every else ()),
        ):
            media(reader, scheme)
            content = picture(reader, page, width, height)
            (folder / f"{name}{end}.png").write_bytes(content)
            print(f"{folder / f'{name}{end}.png'}: {len(content) / 1e3:.0f} kB")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page", action="append", default=[])
    given = parser.parse_args()
    if MISSING:
        sys.exit(MISSING)
    given.folder.mkdir(parents=True, exist_ok=True)
    pages = {Path(page).stem: (page, 2300) for page in given.page} or PAGES
    driver = new_driver()
    try:
        write(Reader(driver, given.site.resolve()), given.folder, pages, every=given.all)
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
