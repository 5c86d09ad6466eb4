"""Forum dumps: streamed, whatever they are packed in; bad ones are refused with one clear error."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.corpora.stack_exchange import (
    build_index,
    html_to_text,
    is_text_only,
    posts_encoding,
    read_bodies,
    rows,
)
from long_context_tasks.schema import InputError

GOLDEN = Path(__file__).parent / "golden"
POSTS = json.loads((GOLDEN / "posts.json").read_text(encoding="utf-8"))
# Bodies as the older renderer of the site wrote a post and as the newer one does, and the text of both.
BODIES = json.loads((GOLDEN / "bodies.json").read_text(encoding="utf-8"))


def as_xml(posts: list[dict[str, str]]) -> str:
    def attribute(text: str) -> str:
        return quoteattr(text, {"\n": "&#xA;", "\r": "&#xD;", "\t": "&#x9;"})

    rows = "".join(
        f"  <row {' '.join(f'{k}={attribute(v)}' for k, v in post.items())} />\n" for post in posts
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{rows}</posts>\n'


def write(path: Path, text: str) -> Path:
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


@pytest.fixture(params=["Posts.xml", "Posts.xml.gz", "posts.jsonl", "bom.xml"])
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "posts.jsonl":
        return write(tmp_path / request.param, "\n".join(json.dumps(post) for post in POSTS) + "\n")
    bom = "\ufeff" if request.param == "bom.xml" else ""
    return write(tmp_path / request.param, bom + as_xml(POSTS))


def test_every_packing_gives_the_same_posts(dump: Path) -> None:
    assert [dict(row.items()) for row in rows(dump)] == POSTS


def test_index(dump: Path) -> None:
    index = build_index(dump)
    assert index.rows == 5
    assert index.tags == ("c#", ".net", "linq")
    assert index.questions.tolist() == [1, 5]
    assert index.accepted.tolist() == [3, 0]
    assert index.scores.tolist() == [52, 0]
    assert index.asked[0] == np.datetime64("2018-03-12T17:00:45.567")
    assert np.isnat(index.asked[1])
    assert [index.tags_of(i).tolist() for i in range(2)] == [[0, 1], [1, 2]]
    assert index.answers.tolist() == [2, 3]
    assert index.parents.tolist() == [1, 1]
    assert (index.answered > index.asked[0]).all()


def test_bodies(dump: Path) -> None:
    assert list(read_bodies(dump, {3, 5, 99})) == [(3, "Yes é\U0001f600."), (5, "")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r" PostTypeId", r"\nPostTypeId"),
        (r'(Id="\d+") (PostTypeId="\d")', r"\2 \1"),
        (r"  <row", r"<!-- a --><row"),
        (r"\n *(<row|</posts>)", r"\1"),
    ],
    ids=["two lines a row", "another order", "not alone", "one line"],
)
def test_bodies_in_another_layout(tmp_path: Path, old: str, new: str) -> None:
    path = write(tmp_path / "Posts.xml", re.sub(old, new, as_xml(POSTS)))
    wanted = [(int(post["Id"]), post.get("Body", "")) for post in POSTS]
    assert list(read_bodies(path, {post for post, _ in wanted})) == wanted


def test_json_values_may_be_numbers_and_lists(tmp_path: Path) -> None:
    line = {
        "Id": 1,
        "PostTypeId": 1,
        "Score": 3,
        "Tags": ["a", "b"],
        "ViewCount": None,
        "CreationDate": "2020-01-02T03:04:05Z",
    }
    index = build_index(write(tmp_path / "p.jsonl", json.dumps(line)))
    assert index.tags == ("a", "b")
    assert index.asked[0] == np.datetime64("2020-01-02T03:04:05")


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n\t\r"), max_size=40
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(bodies=st.lists(TEXT, min_size=1, max_size=5))
def test_any_body_round_trips(bodies: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    allowed = [re.sub("[\ufffe\uffff]", "", body) for body in bodies]
    posts = [{"Id": str(i), "PostTypeId": "2", "Body": body} for i, body in enumerate(allowed, 1)]
    path = write(tmp_path_factory.mktemp("dump") / "Posts.xml", as_xml(posts))
    assert [body for _, body in read_bodies(path, range(100))] == allowed


@pytest.mark.parametrize("name", ["Posts.xml", "Posts.xml.gz", "posts.jsonl"])
def test_control_characters_are_dropped_and_counted(tmp_path: Path, name: str) -> None:
    """XML allows no such character, yet official dumps have references to some."""
    bad = ["\x0e", "\x00", "\x1f", "\x0b"]
    posts = [
        {"Id": str(n), "PostTypeId": "1", "Body": f"<p>No {n}: a{bad[n % 4]}b &amp; x&#9;y</p>"}
        for n in range(60)
    ]
    if name.endswith("jsonl"):
        path = write(tmp_path / name, "\n".join(map(json.dumps, posts)))
    else:
        marks = [f"&#{ord(bad[n % 4])};" if n % 3 else f"&#x0{ord(bad[n % 4]):X};" for n in range(60)]
        marks[30] = "\x0e"
        text = as_xml(posts)
        for n, post in enumerate(posts):
            assert bad[n % 4] in post["Body"]
            text = text.replace(f"No {n}: a{bad[n % 4]}b", f"No {n}: a{marks[n]}b")
        path = write(tmp_path / name, text)
    index = build_index(path)
    assert (index.rows, index.dropped) == (60, 60)
    assert [html_to_text(body) for _, body in read_bodies(path, range(60))] == [
        f"\nNo {n}: ab & x\ty\n" for n in range(60)
    ]


def test_a_reference_over_the_edge_of_a_chunk(tmp_path: Path) -> None:
    for shift in range(12):
        fill = "x" * ((1 << 18) - 60 + shift)
        path = write(tmp_path / "Posts.xml", row(f'Body="{fill}&#x0E;&#13;&amp;"'))
        assert build_index(path).dropped == 1
        assert dict(read_bodies(path, [7])) == {7: f"{fill}\r&"}


def row(attributes: str) -> str:
    return f'<posts>\n<row Id="7" PostTypeId="1" {attributes} />\n</posts>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (as_xml(POSTS)[:-40], "cut off or damaged"),
        (as_xml(POSTS).replace("</posts>", ""), "cut off or damaged"),
        (as_xml(POSTS).replace("posts", "users"), "not a dump of posts.*<users>"),
        ('<posts>\n<row Id="3" PostId="1" />\n</posts>', "line 2, row Id 3.*no PostTypeId"),
        ('<posts>\n<row PostTypeId="1" />\n</posts>', "line 2.*no Id"),
        ("<posts>\n</posts>", "no posts"),
        ("", "it is not XML"),
        ("Id,PostTypeId\n1,1\n", "it is not XML"),
        (row('Score="many"'), "line 2, row Id 7: Score is 'many'"),
        (row('Score="99999999999"'), "row Id 7: a number is too large"),
        (row('CreationDate="yesterday"'), "row Id 7: CreationDate is 'yesterday'"),
        (row('CreationDate="2018-13-41"'), "CreationDate"),
        (row("").replace("</posts>", "") + row("").replace("<posts>", ""), "post Id 7 occurs more than once"),
        ('<!DOCTYPE posts [<!ENTITY a "aaaa">]>\n' + row('Title="&a;"'), "entities"),
        ('{"Id": 1, "PostTypeId": 1}\n{"Id": 2,', "line 2: the line is not JSON"),
        ('{"Id": 1, "PostTypeId": 1}\n[2]', "line 2: the line is not a JSON object"),
        ('{"Id": 1, "PostTypeId": 1}\n{"PostTypeId": 1}', "line 2.*no Id"),
    ],
)
def test_bad_dumps_are_one_clear_error(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path / "Posts.xml", text)
    with pytest.raises(InputError, match=says) as caught:
        build_index(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8"])
def test_a_dump_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    text = as_xml([{"Id": "1", "PostTypeId": "1", "Body": "caf\xe9"}]).replace("utf-8", encoding)
    path = tmp_path / "Posts.xml"
    path.write_bytes(text.encode(encoding))
    assert posts_encoding(path) == encoding.upper()
    assert list(read_bodies(path, [1])) == [(1, "café")]


def test_a_named_document_type_is_accepted(tmp_path: Path) -> None:
    text = as_xml(POSTS).replace("<posts>", "<!DOCTYPE posts SYSTEM 'posts.dtd'>\n<posts>")
    assert len(list(rows(write(tmp_path / "Posts.xml", text)))) == len(POSTS)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    packed = write(tmp_path / "a.xml.gz", as_xml(POSTS))
    packed.write_bytes(packed.read_bytes()[:-12])
    seven = tmp_path / "a site.7z"
    seven.write_bytes(b"7z\xbc\xaf\x27\x1c\0\4")
    for path, says in (
        (packed, "cut off"),
        (seven, "7z e '.*a site.7z' Posts.xml"),
        (tmp_path, "is a folder"),
        (tmp_path / "none.xml", "cannot be read"),
    ):
        with pytest.raises(InputError, match=says) as caught:
            list(rows(path))
        assert str(path) in str(caught.value)


PEAK = """
import re, sys
from pathlib import Path
from long_context_tasks.corpora.stack_exchange import read_bodies
assert sum(1 for _ in read_bodies(Path(sys.argv[1]), {5})) == 1
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def test_the_parser_keeps_no_rows(tmp_path: Path) -> None:
    """The XML library's own memory, which Python does not see: peak of a process of its own, in kilobytes."""
    if not Path("/proc/self/status").exists():
        pytest.skip("reads its memory from /proc, which only Linux has")

    def peak(megabytes: int) -> int:
        posts = [
            {"Id": str(i), "PostTypeId": "2", "Body": f"{i:06d} " * 1500} for i in range(1, megabytes * 100)
        ]
        path = write(tmp_path / "Posts.xml", as_xml(posts))
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert peak(40) < peak(4) + 12_000


def test_real_dumps_have_the_known_counts(shared: Path) -> None:
    folder = shared / "data/stack_exchange"
    table = re.findall(
        r"^\| (\S+) \|[^|]*\|[^|]*\|[^|]*\|((?: \d+ \|){5}) (\S+) \|",
        (folder / "README.md").read_text(),
        re.M,
    )
    assert len(table) == len(list(folder.glob("*.Posts.xml.gz"))) > 0
    for site, numbers, last in table:
        index = build_index(folder / f"{site}.Posts.xml.gz")
        accepted = np.isin(index.accepted, index.answers)
        parents, answers = np.unique(index.parents, return_counts=True)
        several = accepted & np.isin(index.questions, parents[answers > 1])
        found = [index.rows, len(index.questions), len(index.answers), accepted.sum(), several.sum()]
        assert found == [int(n) for n in numbers.replace("|", " ").split()], site
        assert str(max(index.asked.max(), index.answered.max())).startswith(last)


@pytest.mark.parametrize("body", BODIES)
def test_both_renderers_give_the_official_text(body: dict[str, str]) -> None:
    assert html_to_text(body["newer"]) == html_to_text(body["older"]) == body["text"]


def test_ugly_bodies() -> None:
    # JSON may hold halves of surrogate pairs; the parser would stop there without a word.
    assert html_to_text("<p>a \ud800 b</p>\n<p>\ud83d\ude00 c</p>") == "\na \ufffd b\n\U0001f600 c\n"
    assert html_to_text("") == "\n\n"
    assert html_to_text("plain &amp; simple") == "\nplain & simple\n"
    assert html_to_text("<p>open") == "\nopen\n"
    assert html_to_text("<p>a</p><!-- language: lang-py --><p>b</p>") == "\na\nb\n"
    assert html_to_text("<p>a</p></body></html><p>b</p>") == "\na\nb\n"
    assert html_to_text("<pre><code>a\r\nb\n</code></pre>") == "\na\r\nb\n\n"
    assert html_to_text("<p>&nbsp;&#8217;\U0001f600</p>") == "\n\xa0’\U0001f600\n"


@pytest.mark.parametrize(
    ("html", "text_only"),
    [
        ("<p>The <imgine> tag</p>", True),
        ('<p><a href="u"><img src="u" alt="a"></a></p>', False),
        ('<p><IMG\nsrc="u"></p>', False),
    ],
)
def test_is_text_only(html: str, text_only: bool) -> None:
    assert is_text_only(html) is text_only


def test_real_posts_equal_their_official_texts(shared: Path) -> None:
    records = json.loads(gzip.decompress((shared / "data/ada_leval/stackselect_1k.json.gz").read_bytes()))
    official = {text for record in records for text in [record["question"], *record["all_answers"]]}
    dump = shared / "data/stack_exchange/stackoverflow.com-2008-sample.Posts.xml.gz"
    same = {row.get("Id") for row in rows(dump) if html_to_text(row.get("Body") or "") in official}
    # The posts that nobody edited between the dump and the collection of the official file.
    assert same >= {"148", "308", "310", "356", "360", "879"}
