"""Files of a built site as tests read them: the tags and text of a page, and chunks of data."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


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


def chunk(path: Path) -> Any:
    """The value of a chunk, which is named by its hash."""
    found = re.fullmatch(
        r'LCT\.take\("([0-9a-f]{16})",(.*)\);\n', path.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found and found[1] == path.stem
    return json.loads(found[2])


def chunks(site: Path) -> list[Any]:
    return [chunk(path) for path in (site / "data").iterdir()]
