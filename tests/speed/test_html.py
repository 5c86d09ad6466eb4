"""Text of a forum's posts beside the bare parsing of their HTML."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree
from timing import best_in_turns

from long_context_tasks.corpora.stack_exchange import html_to_text, rows

pytestmark = pytest.mark.speed


def test_a_whole_dump(shared: Path, compared: Callable[[str, float, str, float], None]) -> None:
    dump = shared / "data/stack_exchange/quantumcomputing.stackexchange.com.Posts.xml.gz"
    bodies = [row.get("Body") or "" for row in rows(dump)]

    def parse() -> None:
        for body in bodies:
            etree.fromstring(f"<div>{body}</div>", etree.HTMLParser())

    ours, bare = best_in_turns(lambda: list(map(html_to_text, bodies)), parse, times=3)
    compared(f"text of {len(bodies)} posts", ours, "parse them", bare)
