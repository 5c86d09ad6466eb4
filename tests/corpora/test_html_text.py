"""HTML bodies: the text that the official cases show."""

import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from long_context_tasks.corpora.stack_exchange import html_to_text, is_text_only, read_posts

# Left: as the older renderer of the site wrote a post; right: as the newer one does; then the text of both.
BODIES = [
    (
        "<p>One.</p>\n\n<p>Two  \nlines.</p>\n",
        "<p>One.</p>\n<p>Two  \nlines.</p>\n",
        "\nOne.\nTwo  \nlines.\n",
    ),
    (
        "<p>Try:</p>\n\n<pre><code>if a &lt; b:\n\n    go()\n</code></pre>\n\n<p>Done.</p>\n",
        "<p>Try:</p>\n<pre><code>if a &lt; b:\n\n    go()\n</code></pre>\n<p>Done.</p>\n",
        "\nTry:\nif a < b:\n\n    go()\n\nDone.\n",
    ),
    (
        "<p>See:</p>\n\n<ul>\n<li>a</li>\n<li>b  </li>\n</ul>\n",
        "<p>See:</p>\n<ul>\n<li>a</li>\n<li>b  </li>\n</ul>\n",
        "\nSee:\n\na\nb  \n\n",
    ),
    (
        "<ol>\n<li><p>a</p></li>\n<li><p>b</p>\n\n<p>c</p></li>\n</ol>\n",
        "<ol>\n<li><p>a</p>\n</li>\n<li><p>b</p>\n<p>c</p>\n</li>\n</ol>\n",
        "\n\na\n\nb\nc\n\n\n",
    ),
    (
        "<ul>\n<li>a\n\n<ul>\n<li>b</li>\n</ul></li>\n</ul>\n",
        "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n",
        "\n\na\n\nb\n\n\n\n",
    ),
    (
        "<blockquote>\n  <p>He said\n  this.</p>\n  \n  <p>And that.</p>\n</blockquote>\n\n<p>No.</p>\n",
        "<blockquote>\n<p>He said\n  this.</p>\n<p>And that.</p>\n</blockquote>\n<p>No.</p>\n",
        "\n\nHe said\n  this.\nAnd that.\n\nNo.\n",
    ),
    (
        "<p>a?</p>\n\n<hr>\n\n<h2>b</h2>\n\n<p>c</p>\n",
        "<p>a?</p>\n<hr />\n<h2>b</h2>\n<p>c</p>\n",
        "\na?\n\nb\nc\n",
    ),
    (
        '<p>x<br>\ny <a href="u" rel="nofollow">z</a> &amp; <code>&lt;b&gt;</code></p>\n',
        '<p>x<br />\ny <a href="u">z</a> &amp; <code>&lt;b&gt;</code></p>\n',
        "\nx\ny z & <b>\n",
    ),
]


@pytest.mark.parametrize(("older", "newer", "text"), BODIES)
def test_both_renderers_give_the_official_text(older: str, newer: str, text: str) -> None:
    assert html_to_text(newer) == text
    assert html_to_text(older) == text


def test_ugly_bodies() -> None:
    assert html_to_text("") == "\n\n"
    assert html_to_text("plain &amp; simple") == "\nplain & simple\n"
    assert html_to_text("<p>open") == "\nopen\n"
    assert html_to_text("<p>a</p><!-- language: lang-py --><p>b</p>") == "\na\nb\n"
    assert html_to_text("<p>a</p></body></html><p>b</p>") == "\na\nb\n"
    assert html_to_text("<pre><code>a\r\nb\n</code></pre>") == "\na\r\nb\n\n"
    assert html_to_text("<p>&nbsp;&#8217;\U0001f600</p>") == "\n\xa0’\U0001f600\n"


def test_is_text_only() -> None:
    assert is_text_only("<p>Use <code>&lt;img src=x&gt;</code></p><pre><code>&lt;img&gt;</code></pre>")
    assert is_text_only("<p>The <imgine> tag</p>")
    assert not is_text_only('<p><a href="u"><img src="u" alt="a"></a></p>')
    assert not is_text_only('<p><IMG\nsrc="u"></p>')


@given(st.lists(st.text("abc <>&\"'é\n", min_size=1).filter(str.strip), max_size=6))
def test_paragraphs_and_code_round_trip(texts: list[str]) -> None:
    def escape(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    html = "\n\n".join(f"<p>{escape(t)}</p>\n\n<pre><code>{escape(t)}\n</code></pre>" for t in texts)
    assert html_to_text(html) == "\n" + ("".join(f"{t}\n{t}\n\n" for t in texts) or "\n")


def test_real_posts_equal_their_official_texts(shared: Path) -> None:
    records = json.loads(gzip.decompress((shared / "data/ada_leval/stackselect_1k.json.gz").read_bytes()))
    official = {text for record in records for text in [record["question"], *record["all_answers"]]}
    dump = shared / "data/stack_exchange/stackoverflow.com-2008-sample.Posts.xml.gz"
    same = {post["Id"] for post in read_posts(dump) if html_to_text(post.get("Body", "")) in official}
    # The posts that nobody edited between the dump and the collection of the official file.
    assert same >= {"148", "308", "310", "356", "360", "879"}


def test_halves_of_surrogate_pairs_do_not_cut_the_text() -> None:
    """JSON may hold them; the parser would stop there without a word."""
    assert html_to_text("<p>a \ud800 b</p>\n<p>\ud83d\ude00 c</p>") == "\na \ufffd b\n\U0001f600 c\n"


def test_new_renderer_is_left_as_it_is(shared: Path) -> None:
    """Bodies of 2023 carry the newer newlines already: nearly all keep their text content to the character."""
    dump = shared / "data/stack_exchange/genai.stackexchange.com.Posts.xml.gz"
    bodies = [post["Body"] for post in read_posts(dump) if post.get("Body", "").endswith("</p>\n")]
    parser = etree.HTMLParser(remove_comments=True)
    same = sum(
        html_to_text(body)
        == "\n"
        + etree.tostring(etree.fromstring(f"<div>{body}</div>", parser)[0], method="text", encoding="unicode")
        for body in bodies
    )
    assert len(bodies) > 200
    assert same >= 0.98 * len(bodies)


@pytest.mark.speed
def test_speed_on_a_whole_dump(shared: Path) -> None:
    """Not slower than a few times the bare parsing of the same bodies."""
    dump = shared / "data/stack_exchange/quantumcomputing.stackexchange.com.Posts.xml.gz"
    bodies = [post.get("Body", "") for post in read_posts(dump)]

    def best(work: object) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            for body in bodies:
                work(body)  # type: ignore[operator]
            times.append(time.perf_counter() - start)
        return min(times)

    bare = best(lambda body: etree.fromstring(f"<div>{body}</div>", etree.HTMLParser()))
    assert best(html_to_text) < 8 * bare
