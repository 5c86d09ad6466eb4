"""The documentation: every page is reached, every link and anchor is there, every command can be typed, the site needs no network."""

import html.parser
import importlib
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from command_lines import commands, problem_of

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.messages import known_variables

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "long_context_tasks"
PAGES = sorted(DOCS.rglob("*.md"))
OF_TESTS = {
    "LCT_COLLECT_CASES",
    "LCT_REPORT_RUNS",
    "LCT_COLLECT_CHARACTERS",
    "LCT_COLLECT_RUNS",
    "LCT_OVERHEAD_CASES",
    "LCT_OVERHEAD_COMMAND",
    "LCT_SHARED",
    "LCT_SYNTHETIC_CASES",
    "LCT_SYNTHETIC_SEED",
    "LCT_FAULTS",
    "LCT_VLLM",
}
FENCE = re.compile(r"^( *)```[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; --strict makes an error of a page outside the navigation, a dead link, a dead anchor.

    Not with --quiet: mkdocs then counts no warnings.
    """
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (pip install '.[docs]')")
    pytest.importorskip("material", reason="mkdocs-material is not installed (pip install '.[docs]')")
    pytest.importorskip(
        "mkdocstrings_handlers", reason="mkdocstrings is not installed (pip install '.[docs]')"
    )
    folder = tmp_path_factory.mktemp("site")
    command = [
        "mkdocs",
        "build",
        "--strict",
        "-f",
        str(DOCS / "site/mkdocs.yml"),
        "-d",
        str(folder),
    ]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class Links(html.parser.HTMLParser):
    """Addresses that a page links to, those that it loads, its anchors, and its text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if name in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(found.get("href") or "")
        elif tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(found["src"] or "")


def test_every_internal_link_and_anchor_resolves_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    read = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(read) >= len(PAGES)
    wrong = []
    for path, page in read.items():
        if path.name == "404.html":  # its addresses are those of a server's top
            continue
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                wrong += [f"{path.name} loads {address}"] if address in page.loaded else []
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{path.name}: {address}: no such file")
            elif target in read and not parts.fragment.startswith("__"):  # the theme's own switches
                there = {"", *read[target].anchors}
                wrong += (
                    [] if unquote(parts.fragment) in there else [f"{path.name}: {address}: no such anchor"]
                )
    assert not wrong, "\n".join(wrong)
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert not [
        found for text in styles for found in re.findall(r"(?:url\(|@import)\s*['\"]?https?:[^)]*", text)
    ]


def test_the_reference_holds_the_docstrings(site: Path) -> None:
    schema = (site / "reference/schema.html").read_text(encoding="utf-8")
    assert "Invalid external input" in schema
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    assert "cluster_share" in text and "find_runs" in text and "noise_seed" in text
    assert not re.findall(r":(?:func|class|mod|meth):<code>", text)


def command_lines(path: Path) -> list[str]:
    """Command lines with `lct` in a page: in fenced blocks, where lines that end in a backslash are joined, and in the text."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"`(lct [^`\n]+)`", text)
    for _, block in FENCE.findall(text):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            plain = re.sub(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*", "", line.strip())
            if plain.startswith("lct "):
                found.append(plain)
    return found


def test_commands_are_found_and_wrong_ones_are_seen() -> None:
    assert len([line for path in [*PAGES, ROOT / "README.md"] for line in command_lines(path)]) > 50
    assert problem_of("lct report RESULTS... --out site/") is None
    assert problem_of("lct orca train --output x") == "lct orca train has no --output"
    assert problem_of("lct nothing") == "no such command: lct nothing"
    assert problem_of("lct judge nothing --seeds 1") == "no such command: lct judge nothing"
    assert problem_of('lct tasks --json | grep "x" --color') is None


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=page_name)
def test_every_command_in_the_docs_can_be_typed(path: Path) -> None:
    problems = [f"{line}: {problem}" for line in command_lines(path) if (problem := problem_of(line))]
    assert not problems, "\n".join(problems)


LONGEST = 30
"""Words of a sentence."""
AVOIDED = re.compile(r"\b(?:told|nobody|stands|of one's own)\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Sentences of a page outside fenced code, tables, headings and quoted samples; code in the line is one word, a link its text."""
    text = re.sub(r"^ *[|#>].*$", "", FENCE.sub("\n\n", text), flags=re.MULTILINE)
    text = re.sub(r"^ *(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)  # items of lists
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", text))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    ends = re.compile(r"(?<=[.!?])[*)\"]*\s+(?=[\W_]*[A-Z0-9])")
    return [sentence for paragraph in paragraphs for sentence in ends.split(paragraph)]


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=page_name)
def test_sentences_are_short_and_plain(path: Path) -> None:
    found = sentences(path.read_text(encoding="utf-8"))
    long = [each for each in found if len(re.findall(r"\S*\w\S*", each)) > LONGEST]
    assert long + [each for each in found if AVOIDED.search(each)] == []


WIDEST = 76
"""Characters of a line of code; some 90 fit a page at 1280 pixels, here and on GitHub."""


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=page_name)
def test_code_fits_the_page(path: Path) -> None:
    blocks = FENCE.findall(path.read_text(encoding="utf-8"))
    lines = [line.removeprefix(indent) for indent, block in blocks for line in block.splitlines()]
    hashed = re.compile(r"@[0-9a-f]{40}$")  # an action's commit, which cannot be wrapped
    assert [line for line in lines if len(line) > WIDEST and not hashed.search(line)] == []


def test_badge_readme_and_package_name_the_same_pythons() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    first, last = versions[0], versions[-1]
    assert f'requires-python = ">={first},<3.{int(last[2:]) + 1}"' in project
    assert f"![Python {first} to {last}](docs/images/badge_python.svg)" in (ROOT / "README.md").read_text()
    badge = (DOCS / "images/badge_python.svg").read_text(encoding="utf-8")
    assert badge.count(f"{first} – {last}") == 2


def test_the_page_of_the_command_names_every_group_and_variable() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    groups = {command.words[0] for command in commands()}
    assert set(re.findall(r"^- `lct (\w+)`: ", text, re.MULTILINE)) == groups
    named = set(re.findall(r"LCT_[A-Z_]*[A-Z]", text))
    assert set(known_variables()) - named - OF_TESTS == set()
    assert {name for name in named if not name.startswith("LCT_JUDGE")} <= set(known_variables())


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_top_pages_are_there(page: str) -> None:
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [name for name in linked if not (ROOT / name).exists()] == []
    # From the README a reader gets to the start page, and from there to all others.
    assert page != "README.md" or "docs/index.md" in linked


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=page_name)
def test_files_and_modules_that_pages_name_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    files = re.findall(r"(?<![\w/])(?:long_context_tasks|configs|tests|docs)/[\w/.-]+", text)
    # A name may end in a pattern (rope/yarn*) or with a sentence.
    # inspect_ai names tasks so.
    tasks = {f"long_context_tasks/{spec.name}" for spec in catalogue.task_specs()}
    missing = [
        name for name in files if not (any(ROOT.glob(f"{name.rstrip('._')}*")) or name.rstrip(".") in tasks)
    ]
    for name in re.findall(r"long_context_tasks(?:\.[a-z_]+)+", text):
        place = ROOT / name.replace(".", "/")
        if not (place.is_dir() or place.with_suffix(".py").is_file()):  # a name in a module
            module = importlib.import_module(name.rpartition(".")[0])
            missing += [] if hasattr(module, name.rpartition(".")[2]) else [name]
    assert missing == []


def test_rooms_that_contributing_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([\w/]+\.py)`", text) if re.match(r"(?!tests|long_)\w+/", name)]
    assert len(named) > 6
    assert [name for name in named if not (PACKAGE / name).is_file()] == []


def reached(arrows: Mapping[str, set[str]], room: str) -> set[str]:
    """Rooms that arrows lead to from a room, at any distance."""
    found: set[str] = set()
    open_rooms = [room]
    while open_rooms:
        new = arrows.get(open_rooms.pop(), set()) - found
        found |= new
        open_rooms += new
    return found


def test_the_picture_shows_the_rooms_and_who_may_import_whom() -> None:
    from test_imports import ALLOWED

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.split("```mermaid\n")[1].split("```")[0]
    drawn = re.findall(r"^ *(\w+)\[[^]]*\](?: --> ([\w &]+))?$", picture, re.MULTILINE)
    rooms = {room for room, _ in drawn} | set(re.findall(r"(\w+)\[", picture))
    assert rooms == {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {"engines"}
    arrows = {room: set(re.findall(r"\w+", to)) for room, to in drawn}
    assert all(to <= ALLOWED[room] for room, to in arrows.items() if room != "cli")
    assert all(allowed <= reached(arrows, room) for room, allowed in ALLOWED.items() if "." not in room)
    assert reached(arrows, "cli") == rooms - {"cli"}
    assert all(room not in reached(arrows, room) for room in rooms), "the picture has a circle"
