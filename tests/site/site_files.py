"""Files of a built site as tests read them: the tags and text of a page, and chunks of data."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest


class Page(HTMLParser):
    """Tags with their attributes, links and the text of a page, from its file or its source."""

    def __init__(self, page: Path | str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.links: list[str] = []
        self.parts: list[str] = []
        self.source = page if isinstance(page, str) else page.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.links += [value or "" for name, value in attrs if name in ("href", "src") and value != "data:,"]

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def words(self) -> str:
        """The text with single spaces, also between tags."""
        return " ".join(" ".join(self.parts).split())


def checked_pages(folder: Path) -> dict[str, Page]:
    """The pages of a site, after all that holds for any: policy, no code inside, links that lead to files, data that end no script."""
    pages = {}
    for path in folder.rglob("*"):
        assert not path.is_symlink() and path.resolve().is_relative_to(folder.resolve())
        if path.suffix == ".html":
            page = pages[path.relative_to(folder).as_posix()] = Page(path)
            _check(page, path, folder)
        if path.parent.name == "data":
            text = path.read_text(encoding="utf-8")
            assert not re.search("[<>&\u2028\u2029]", text), path
            json.loads(text.partition(",")[2].removesuffix(");\n"), parse_constant=pytest.fail)
    return pages


def _check(page: Page, path: Path, folder: Path) -> None:
    policy = (
        next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy") or ""
    )
    for part in ("default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'none'"):
        assert part in policy
    assert "unsafe-eval" not in policy and not re.search(r"\b(nan|inf)\b", page.source), path
    ids = {attributes.get("id") for _, attributes in page.tags}
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "style", "object"), (path, tag)
        assert tag != "script" or attributes.get("src"), path
        assert not any(name == "style" or name.startswith("on") for name in attributes), (path, tag)
        if name := attributes.get("data-figure") or attributes.get("data-chunk"):
            assert (folder / "data" / f"{name}.js").is_file()
    for link in page.links:
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path.resolve()
        assert target.is_relative_to(folder.resolve()) and target.is_file(), (path, link)
        if place.endswith("case.html"):
            first, *rest = anchor.split("/")
            for name in (first, *rest[1:]):
                assert (folder / "data" / f"{name}.js").is_file()
        elif anchor and not place:
            assert anchor in ids, (path, link)


def chunk(path: Path) -> Any:
    """The value of a chunk, which is named by its hash."""
    found = re.fullmatch(
        r'LCT\.take\("([0-9a-f]{16})",(.*)\);\n', path.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found and found[1] == path.stem
    return json.loads(found[2])


def chunks(site: Path) -> list[Any]:
    return [chunk(path) for path in (site / "data").iterdir()]
