"""Stream Stack Exchange data dumps (``Posts.xml``) and posts in JSON Lines.

A dump can be 100 GB, so only a few hundred kilobytes of it are in memory at once: :func:`build_index` makes one pass and
keeps numbers only (about 40 bytes per post); :func:`read_bodies` returns the texts of selected posts and skips the others
without parsing them. A JSON Lines file has one object per line with the names of the
dump's attributes (``Id``, ``PostTypeId``, ``Body`` ...).
"""

from __future__ import annotations

import re
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from long_context_tasks.corpora.plain_files import UTF8, opened, refuse_wide, without_c1
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import loads

if TYPE_CHECKING:
    from lxml import etree

_CHUNK = 1 << 18
_SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"


def _read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a plain or gzipped file in chunks."""
    with opened(path) as file:
        chunk = file.read(_CHUNK)
        if chunk.startswith(_SEVEN_ZIP):
            # The only 7z library for Python is under the LGPL, so users unpack the archive themselves.
            raise InputError(
                f"{path}: is a 7z archive. Unpack it with `7z e {shlex.quote(str(path))} Posts.xml` and give Posts.xml"
            )
        while chunk:
            yield chunk
            chunk = file.read(_CHUNK)


_REMEDY = "Give a Stack Exchange dump's Posts.xml (plain or .gz) or JSON Lines with the same names."
_LONGEST_LINE = 1 << 26
_BEGIN_OF_ROW = re.compile(rb'\s*<row Id="(\d+)"')
_DECLARED_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?\bencoding=["']([\w-]+)""")
_OTHER_ENCODING = re.compile(rb"""encoding=["'](?!utf-8["'])""", re.IGNORECASE)
# XML forbids control characters and halves of surrogate pairs, but official dumps have references to them ("&#x0E;"). A function
# for each reference would be slow, because every line break of a body is one.
_DECIMAL = (
    rb"0*(?:[0-8]|1[124-9]|2\d|3[01]|5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3]|6553[45])"
)
_HEXADECIMAL = rb"[xX]0*(?:[0-8bcefBCEF]|1[\da-fA-F]|[dD][89a-fA-F][\da-fA-F]{2}|[fF]{3}[efEF])"
_NO_CHARACTERS = re.compile(rb"&#(?:" + _DECIMAL + rb"|" + _HEXADECIMAL + rb");")
_CONTROLS = bytes({*range(32)} - {*b"\t\n\r"})
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST_REFERENCE = 16


class PostRow(Protocol):
    """A post as an lxml element or a line of JSON. It is valid until the next one is read."""

    @property
    def sourceline(self) -> Any: ...  # line number in the file

    def get(self, name: str, /) -> str | None: ...


CONTROLS = "control characters"


def _bad_row(path: Path, row: PostRow, problem: str) -> InputError:
    post_id = row.get("Id")
    place = f"{path}, line {row.sourceline}" + (f", row Id {post_id}" if post_id else "")
    return InputError(f"{place}: {problem}. {_REMEDY}")


def rows(path: Path, dropped: Counter[str] | None = None) -> Iterator[PostRow]:
    """Yield the rows of a dump one by one; each has ``Id`` and ``PostTypeId``.

    Args:
        path: Posts.xml, plain or gzipped, or JSON Lines.
        dropped: receives the number of dropped control characters under :data:`CONTROLS`.

    Raises:
        InputError: the file is missing, damaged, empty or not a dump of posts; or it declares entities, which dumps do not
            have and which could expand a small file to gigabytes.
    """
    require("build", f"{path}: reading forum posts", "lxml")
    chunks = _read_chunks(path)
    head = b""
    for chunk in chunks:
        head += chunk
        if head.lstrip(b"\xef\xbb\xbf \t\r\n"):
            break
    refuse_wide(path, head)
    found = False
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    source = _json_rows if start == b"{" else _xml_rows
    for row in source(path, chain([head], chunks), Counter() if dropped is None else dropped):
        for name in ("Id", "PostTypeId"):
            if row.get(name) is None:
                raise _bad_row(path, row, f"the row has no {name}, so it is not a post")
        found = True
        yield row
    if not found:
        raise InputError(f"{path}: the file has no posts. {_REMEDY}")


def _xml_rows(path: Path, chunks: Iterator[bytes], dropped: Counter[str]) -> Iterator[PostRow]:
    from lxml import etree

    chunks = _without_controls(chunks, dropped)
    start = next(chunks)
    _check_prolog(path, start)
    # Without huge_tree, a post is limited to 10 MB and the parser's guard against entity expansion stays on.
    parser: Any = etree.XMLPullParser(events=("end",), tag="row", resolve_entities=False, no_network=True)
    try:
        for chunk in chain([start], chunks):
            parser.feed(chunk)
            row = None
            for _, row in parser.read_events():
                yield row
            # The tree grows with every row; drop all but the last one, to which the parser still refers.
            if row is not None and (root := row.getparent()) is not None:
                row.attrib.clear()
                del root[:-1]
        parser.close()
    except etree.XMLSyntaxError as error:
        # The parser's message repeats the position.
        text = str(error.msg or "the XML ends too early").split(", line ")[0]
        raise InputError(
            f"{path}, line {error.lineno}: the XML is cut off or damaged ({text}). Fetch or unpack the file again"
        ) from error


def _without_controls(chunks: Iterable[bytes], dropped: Counter[str]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        # A character reference may continue in the next chunk.
        begin = data.rfind(b"&", max(0, len(data) - _LONGEST_REFERENCE))
        end = begin if begin >= 0 and b";" not in data[begin:] else len(data)
        rest = data[end:]
        yield _cleaned(data[:end], dropped)
    yield _cleaned(rest, dropped)


def _cleaned(data: bytes, dropped: Counter[str]) -> bytes:
    """Return XML without control characters or references to them."""
    plain = data.translate(None, _CONTROLS)
    found, references = _NO_CHARACTERS.subn(b"", plain) if b"&#" in plain else (plain, 0)
    dropped[CONTROLS] += len(data) - len(plain) + references
    return found


def _check_prolog(path: Path, start: bytes) -> None:
    """Refuse XML whose root is not that of a dump, and XML that declares entities, which could expand to gigabytes."""
    from lxml import etree

    parser: Any = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True)
    with suppress(etree.XMLSyntaxError):  # reading the whole file reports damage with its line
        parser.feed(start)
    with suppress(etree.XMLSyntaxError):
        for _, root in parser.read_events():
            declared = root.getroottree().docinfo.internalDTD
            # Some exports name a DTD file, which is never loaded.
            if declared is not None and any(chain(declared.iterentities(), declared.iterelements())):
                raise InputError(f"{path}: the XML declares entities of its own, which is refused. {_REMEDY}")
            if root.tag == "posts":
                return
            raise InputError(f"{path}: not a dump of posts (its root is <{root.tag[:40]}>). {_REMEDY}")
    raise InputError(f"{path}: not a dump of posts (it is not XML). {_REMEDY}")


class _JsonRow(dict[str, str]):
    """One line of a JSON Lines file, with all values as text."""

    def __init__(self, sourceline: int, values: Mapping[str, Any]) -> None:
        self.sourceline = sourceline
        for name, value in values.items():
            if isinstance(value, list):
                self[name] = "".join(f"<{item}>" for item in value)
            elif value is not None:
                self[name] = str(value)

    def without_controls(self) -> int:
        plain = {name: _CONTROL.sub("", value) for name, value in self.items()}
        number = sum(map(len, self.values())) - sum(map(len, plain.values()))
        self.update(plain)
        return number


def _json_rows(path: Path, chunks: Iterator[bytes], dropped: Counter[str]) -> Iterator[PostRow]:
    for number, line in enumerate(_lines(path, chunks), 1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if not text:
            continue
        try:
            post = loads(text)
        except ValueError as error:
            raise _bad_row(path, _JsonRow(number, {}), f"the line is not JSON ({error})") from error
        if not isinstance(post, dict):
            raise _bad_row(path, _JsonRow(number, {}), "the line is not a JSON object")
        row = _JsonRow(number, post)
        if any(escape in text for escape in (b"\\u00", b"\\b", b"\\f")):
            dropped[CONTROLS] += row.without_controls()
        yield row


def _lines(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
        if len(rest) > _LONGEST_LINE:
            raise InputError(f"{path}: a line is longer than {_LONGEST_LINE >> 20} MB. {_REMEDY}")
    if rest:
        yield rest


# Values of PostTypeId; posts of other types (wikis, nominations ...) only count as rows.
QUESTION, ANSWER = 1, 2


@dataclass(frozen=True, eq=False)
class PostIndex:
    """A dump's numbers: columns for n questions and m answers, in file order."""

    questions: npt.NDArray[np.int64]  # int64 (n,); ids of the questions
    accepted: npt.NDArray[np.int64]  # int64 (n,); id of the answer that the asker accepted, or 0
    scores: npt.NDArray[np.int32]  # int32 (n,); upvotes minus downvotes, 0 if missing
    asked: npt.NDArray[np.datetime64]  # datetime64[ms] (n,); NaT if missing
    # int64 (n + 1,); the tags of question i are tag_ids[tag_offsets[i]:tag_offsets[i + 1]].
    tag_offsets: npt.NDArray[np.int64]
    tag_ids: npt.NDArray[np.int32]  # int32; positions in tags
    tags: tuple[str, ...]  # names in the order of their first use
    answers: npt.NDArray[np.int64]  # int64 (m,); ids of the answers
    parents: npt.NDArray[np.int64]  # int64 (m,); id of the question, 0 if missing
    answered: npt.NDArray[np.datetime64]  # datetime64[ms] (m,); NaT if missing
    rows: int  # number of posts of all types
    dropped: int  # number of control characters that are removed from the texts

    def tags_of(self, i: int) -> npt.NDArray[np.int32]:
        return self.tag_ids[self.tag_offsets[i] : self.tag_offsets[i + 1]]


def posts_encoding(path: Path) -> str:
    """Return the encoding that the XML of a dump declares, UTF-8 by default."""
    declared = _DECLARED_ENCODING.match(next(_read_chunks(path), b""))
    return declared[1].decode("ascii").upper() if declared else UTF8


def read_bodies(path: Path, wanted: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield ``(Id, HTML body)`` of the wanted posts in file order.

    A post without a body yields an empty text; a wanted Id that the file lacks yields nothing. If every row has its own line,
    as in official dumps, only the wanted rows are parsed; if that does not find all of them, the whole file is parsed.

    Raises:
        InputError: as for :func:`rows`; or an Id is not a number.
    """
    from lxml import etree

    seen: set[int] = set()
    chunks = _read_chunks(path)
    head = next(chunks, b"")
    begin = head.find(b"<row")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    if begin >= 0 and b"\n" in head[begin:] and not _OTHER_ENCODING.search(head[:begin]):
        for line in _lines(path, chain([head], chunks)):
            match = _BEGIN_OF_ROW.match(line)
            if match is None or (post_id := int(match[1])) not in wanted or post_id in seen:
                continue
            try:
                row = etree.fromstring(_cleaned(line, Counter()), parser)
            except etree.XMLSyntaxError:
                break  # a row of several lines, or damage that parsing the whole file reports
            seen.add(post_id)
            yield post_id, row.get("Body") or ""
    if len(seen) < len(wanted):
        for one in rows(path):
            post_id = _number(path, one, "Id")
            if post_id in wanted and post_id not in seen:
                yield post_id, one.get("Body") or ""


def build_index(path: Path, watch: Callable[[Iterator[PostRow]], Iterable[PostRow]] = iter) -> PostIndex:
    """Read a dump once and return its columns of numbers without the texts.

    Args:
        path: Posts.xml, plain or gzipped, or JSON Lines.
        watch: wraps the rows while they are read, for a progress bar.

    Raises:
        InputError: as for :func:`rows`; or a row has a malformed number or date; or an Id occurs twice.
    """
    # Lists of Python numbers would take eight times the memory.
    questions = {"Id": array("q"), "AcceptedAnswerId": array("q"), "Score": array("i")}
    answers = {"Id": array("q"), "ParentId": array("q")}
    columns = {QUESTION: questions, ANSWER: answers}
    dates = {kind: array("q") for kind in columns}
    tags: dict[str, int] = {}
    tag_offsets, tag_ids = array("q", [0]), array("i")
    seen = 0
    dropped: Counter[str] = Counter()
    for row in watch(rows(path, dropped)):
        seen += 1
        kind = _number(path, row, "PostTypeId")
        if kind not in columns:
            continue
        try:
            for name, column in columns[kind].items():
                column.append(_number(path, row, name, 0))
        except OverflowError as error:
            raise _bad_row(path, row, f"a number is too large ({error})") from error
        dates[kind].append(_date(path, row))
        if kind == QUESTION:
            tag_ids.extend(tags.setdefault(tag, len(tags)) for tag in parse_tags(row.get("Tags") or ""))
            tag_offsets.append(len(tag_ids))
    ids = np.sort(np.concatenate([np.frombuffer(held["Id"], np.int64) for held in columns.values()]))
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise InputError(
            f"{path}: post Id {twice[0]} occurs more than once. Give the unchanged dump of one site"
        )
    return PostIndex(
        questions=np.frombuffer(questions["Id"], np.int64),
        accepted=np.frombuffer(questions["AcceptedAnswerId"], np.int64),
        scores=np.frombuffer(questions["Score"], np.int32),
        asked=np.frombuffer(dates[QUESTION], "datetime64[ms]"),
        tag_offsets=np.frombuffer(tag_offsets, np.int64),
        tag_ids=np.frombuffer(tag_ids, np.int32),
        tags=tuple(tags),
        answers=np.frombuffer(answers["Id"], np.int64),
        parents=np.frombuffer(answers["ParentId"], np.int64),
        answered=np.frombuffer(dates[ANSWER], "datetime64[ms]"),
        rows=seen,
        dropped=dropped[CONTROLS],
    )


def parse_tags(text: str) -> list[str]:
    """Split a ``Tags`` attribute, which is written ``<a><b>`` or, since 2024, ``|a|b|``.

    >>> parse_tags("<c#><.net>"), parse_tags("|c#|.net|"), parse_tags("")
    (['c#', '.net'], ['c#', '.net'], [])
    """
    separator = "|" if text.startswith("|") else "><"
    return [tag for tag in text.strip("<>|").split(separator) if tag]


_EPOCH, _MILLISECOND = datetime(1970, 1, 1), timedelta(milliseconds=1)
_NO_DATE = int(np.datetime64("NaT").astype(np.int64))


def _date(path: Path, row: PostRow) -> int:
    """Return the creation date in milliseconds since 1970."""
    text = row.get("CreationDate")
    if not text:
        return _NO_DATE
    try:
        return (datetime.fromisoformat(text.rstrip("Z")) - _EPOCH) // _MILLISECOND
    except (TypeError, ValueError) as error:
        problem = f"CreationDate is {text!r}, not a date such as 2018-03-12T17:00:45.567"
        raise _bad_row(path, row, problem) from error


def _number(path: Path, row: PostRow, name: str, default: int | None = None) -> int:
    text = row.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError as error:
        problem = "is missing" if text is None else f"is {text!r}, not a whole number"
        raise _bad_row(path, row, f"{name} {problem}") from error


_CONTAINERS = frozenset(("blockquote", "ul", "ol", "dl", "div", "table", "thead", "tbody", "tfoot", "tr"))
_LEAVES = frozenset(("p", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "th", "td"))
_BLOCKS = _CONTAINERS | _LEAVES

# Only a real image has the tag itself in its body; in code it is written &lt;img.
_IMAGE = re.compile(r"<img\b", re.IGNORECASE)
# A post is a fragment; the parser would stop at the end of a whole page inside it. A tag that is not closed ends at the next
# one, because searching further takes quadratic time.
_FRAME = re.compile(r"</?(?:html|body)\b[^<>]*>?", re.IGNORECASE)


def is_text_only(html: str) -> bool:
    """Return whether a post shows no image; code that mentions ``&lt;img`` does not show one.

    >>> is_text_only('<p>See <code>&lt;img src=x&gt;</code></p>'), is_text_only('<p><img src="x"></p>')
    (True, False)
    """
    return _IMAGE.search(html) is None


def html_to_text(html: str) -> str:
    r"""Return the plain text of a post's HTML body in the form of the published BestAnswer files.

    Those files hold the text content of the rendered post: a newline, then the text of every element in document order,
    entities decoded, links shown by their text, code verbatim. The site's Markdown renderer decides which newlines come
    between blocks: one after each block, and one after the opening tag of a container (list, quotation, table ...). Dumps
    hold bodies of two renderers; the older one put a blank line between blocks and indented quotations, so its newlines
    are rewritten in the newer form (Wang et al., NAACL 2024, section 3.2; compared with the official 1k file).

    The text begins with a newline and ends with at least one. Text that is not HTML keeps its words, and unclosed tags are
    closed as browsers do.

    >>> html_to_text("<p>Try <a href='u'>this</a>:</p>\n\n<pre><code>a &lt; b\n</code></pre>")
    '\nTry this:\na < b\n\n'
    >>> html_to_text("<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n")
    '\n\none\ntwo\n\n'
    """
    from lxml import etree

    # JSON can hold halves of surrogate pairs, at which the parser would stop: a whole pair becomes its character, a lone
    # half the replacement mark.
    html = html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    html = _FRAME.sub("", html)
    if "\r" in html:
        # The official texts keep carriage returns inside code; only references to them survive the parser.
        html = html.replace("\r", "&#13;")
    # A parser has state while it parses; one per call keeps this function safe in threads.
    parser = etree.HTMLParser(remove_comments=True, huge_tree=True)
    outer = etree.fromstring(f"<html><body><div>{html}</div></body></html>", parser)[0]
    for element in outer.iter(*_BLOCKS):
        _normalise(element)
    text = _CONTROL.sub("", without_c1(etree.tostring(outer, method="text", encoding="unicode")))
    return f"\n{text}" if text.endswith("\n") else f"\n{text}\n"


def _normalise(element: etree._Element) -> None:
    """Give a block the newlines that the newer renderer writes inside and after it."""
    tag = element.tag
    tail = element.tail
    if tail is not None and not tail.isspace():
        element.tail = "\n" + tail.lstrip("\n")
    elif tail is not None or tag != "div":  # the frame of a table is a <div> without newlines around it
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
    """Make running text directly before a block end in exactly one newline."""
    previous = element.getprevious()
    if previous is None:
        parent = element.getparent()
        if parent is not None and parent.text is not None and not parent.text.isspace():
            parent.text = parent.text.rstrip("\n") + "\n"
    elif previous.tag not in _BLOCKS:
        tail = previous.tail
        previous.tail = "\n" if tail is None or tail.isspace() else tail.rstrip("\n") + "\n"
