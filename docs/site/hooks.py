"""Docstrings name other objects as Sphinx does, and the reference is Markdown: the marks are taken off."""

import re
from typing import Any

_ROLE = re.compile(r":(?:func|class|mod|meth|attr|data|exc|obj):<code>~?([^<]+)</code>")
_LITERAL = re.compile(r"::</p>(?=\s*<div class=\"(?:language-|highlight))")


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of every page."""
    return _LITERAL.sub(":</p>", _ROLE.sub(r"<code>\1</code>", html))
