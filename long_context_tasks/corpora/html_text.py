"""HTML body of a forum post to the plain text of a BestAnswer case.

The texts of the published Ada-LEval BestAnswer files are the text content of the rendered post: a newline, then
the text of every element in document order, entities decoded, links shown by their text, code verbatim. Which
newlines stand between blocks is decided by the site's Markdown renderer: one after each block, one after the
opening tag of a container (list, quotation, table ...). Data dumps hold bodies of two renderers: the older one
put a blank line between blocks and indented quotations, so its newlines are rewritten in the newer form here and
both kinds of bodies come out alike (Wang et al., NAACL 2024, section 3.2; compared with the official 1k file).
"""

from __future__ import annotations

import re

from lxml import etree

_CONTAINERS = frozenset(("blockquote", "ul", "ol", "dl", "div", "table", "thead", "tbody", "tfoot", "tr"))
_LEAVES = frozenset(("p", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "th", "td"))
_BLOCKS = _CONTAINERS | _LEAVES
_BLOCK_TAGS = tuple(sorted(_BLOCKS))

# A real image is the only way in which the tag's text can stand in a body: in code it is written &lt;img.
_IMAGE = re.compile(r"<img\b", re.IGNORECASE)
# A post is a fragment; the frame of a whole page inside it would end the document for the parser.
_FRAME = re.compile(r"</?(?:html|body)\b[^>]*>", re.IGNORECASE)


def is_text_only(html: str) -> bool:
    """Say whether a post shows no image (code that merely contains the text ``&lt;img`` shows none).

    >>> is_text_only('<p>See <code>&lt;img src=x&gt;</code></p>'), is_text_only('<p><img src="x"></p>')
    (True, False)
    """
    return _IMAGE.search(html) is None


def html_to_text(html: str) -> str:
    r"""Return the plain text of a post's HTML body, as the official cases show it.

    The text begins with a newline and ends with at least one. Never raises: text that is no HTML keeps its
    words, and unclosed tags are closed the way browsers do.

    >>> html_to_text("<p>Try <a href='u'>this</a>:</p>\n\n<pre><code>a &lt; b\n</code></pre>")
    '\nTry this:\na < b\n\n'
    >>> html_to_text("<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n")
    '\n\none\ntwo\n\n'
    """
    # JSON can hold halves of a surrogate pair: a whole pair becomes its character, a lone half the replacement mark.
    # The parser would end the text there.
    html = html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    html = _FRAME.sub("", html)
    if "\r" in html:
        # Written as references, carriage returns inside code survive the parser, as they do in the official texts.
        html = html.replace("\r", "&#13;")
    # A parser object holds state of its own while it parses: one per call keeps this function safe in threads.
    parser = etree.HTMLParser(remove_comments=True, huge_tree=True)
    outer = etree.fromstring(f"<html><body><div>{html}</div></body></html>", parser)[0]
    for element in outer.iter(*_BLOCK_TAGS):
        _normalise(element)
    text: str = etree.tostring(outer, method="text", encoding="unicode")
    return f"\n{text}" if text.endswith("\n") else f"\n{text}\n"


def _normalise(element: etree._Element) -> None:
    """Give one block the newlines that the newer renderer writes inside and after it."""
    tag = element.tag
    tail = element.tail
    if tail is not None and not tail.isspace():
        element.tail = "\n" + tail.lstrip("\n")
    elif tail is not None or tag != "div":  # a table's frame is a <div> without newlines around it
        element.tail = "\n"
    text = element.text
    blank = text is not None and text.isspace()
    if tag in _CONTAINERS:
        if blank or (text is None and tag != "div"):
            element.text = "\n"
    elif blank and tag == "li":
        element.text = None
    _end_line_before(element)


def _end_line_before(element: etree._Element) -> None:
    """Make running text that stands directly before a block end in exactly one newline."""
    previous = element.getprevious()
    if previous is None:
        parent = element.getparent()
        if parent is not None and parent.text is not None and not parent.text.isspace():
            parent.text = parent.text.rstrip("\n") + "\n"
    elif previous.tag not in _BLOCKS:
        tail = previous.tail
        previous.tail = "\n" if tail is None or tail.isspace() else tail.rstrip("\n") + "\n"
