"""Who may import whom, as the architecture has it: no arrow runs up, no circle, no benchmark's name outside its folder."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import long_context_tasks
from long_context_tasks.benchmarks import catalogue

PACKAGE = "long_context_tasks"
ROOT = Path(long_context_tasks.__file__).parent
HOSTS = {"lm_eval": {"lm_eval"}, "opencompass": {"opencompass", "mmengine"}, "inspect": {"inspect_ai"}}
_LIBRARIES = {"judges", "noise", "corpora", "synthetic", "recast", "tokens", "stats", "schema"}

# Room to the rooms that it may import besides itself. A deeper room is named where it may do more or less than its parent.
ALLOWED = {
    "schema": set(),
    "engines": {"schema"},
    "tokens": {"schema"},
    "stats": {"schema"},
    "attention": {"schema"},
    "noise": {"tokens", "stats", "schema"},
    "corpora": {"tokens", "stats", "schema"},
    "synthetic": {"tokens", "stats", "schema"},
    "recast": {"synthetic", "tokens", "stats", "schema"},
    "judges": {"tokens", "stats", "schema"},
    "orca": {"judges", "stats", "tokens", "schema"},
    "orca.study": {"orca", "orca.train", "benchmarks", "annotation", "judges", "stats", "tokens", "schema"},
    "coverage": {"judges", "stats", "tokens", "schema"},
    "annotation": {"judges", "stats", "schema"},
    "benchmarks": {"coverage", "engines", *_LIBRARIES},
    "hosts": {"attention", "benchmarks", "judges", "tokens", "stats", "schema"},
    "results": {"hosts", "benchmarks", "engines", "judges", "tokens", "stats", "schema"},
    "gate": {"site", "results", "hosts", "benchmarks", "judges", "stats", "schema"},
    "site": {"results", "benchmarks", "stats", "schema"},
}
EVERYTHING = ("cli", "api")  # may import whatever they show
CATALOGUE = {"catalogue", "loading", "plugin", "building", "published"}
"""Modules beside the benchmarks' folders: all that other rooms may know of benchmarks."""


def _module_of(path: Path) -> str:
    return ".".join([PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


@cache
def _modules() -> dict[str, Path]:
    return {
        _module_of(path): path
        for path in sorted(ROOT.rglob("*.py"))
        if "configs" not in path.relative_to(ROOT).parts and "startup" not in path.parts
    }


@cache
def _imports(module: str) -> frozenset[str]:
    """Every module that a module imports, also inside functions; not what only the type checker reads."""
    path, found = _modules()[module], set()
    for node in _executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in _modules() else str(node.module))
    return frozenset(found - {PACKAGE})


def _executed(tree: ast.AST) -> list[ast.AST]:
    nodes, found = [tree], []
    while nodes:
        node = nodes.pop()
        found.append(node)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        nodes += ast.iter_child_nodes(node)
    return found


def _room(module: str) -> str:
    parts = module.split(".")[1:]
    deep = ".".join(parts[:2])
    return deep if deep in ALLOWED else (parts[0] if parts else "")


@pytest.mark.parametrize("module", _modules())
def test_imports_go_one_way(module: str) -> None:
    room = _room(module)
    for name in _imports(module):
        top, _, rest = name.partition(".")
        for host, packages in HOSTS.items():
            assert top not in packages or module.startswith(f"{PACKAGE}.hosts.{host}."), (
                f"{module} imports {name}"
            )
        other = _room(name)
        if top != PACKAGE or room in ("", *EVERYTHING) or other == room:
            continue
        assert other in ALLOWED[room], f"{module} must not import {name}"
        if other == "benchmarks" and room != "orca.study":
            assert rest.split(".")[1] in CATALOGUE, f"{module} knows a benchmark: {name}"


def test_no_host_imports_another() -> None:
    folders = [f"{PACKAGE}.hosts.{name}" for name in (*HOSTS, "own")]
    for module in _modules():
        own = next((folder for folder in folders if f"{module}.".startswith(f"{folder}.")), None)
        others = tuple(f"{folder}." for folder in folders if own and folder != own)
        assert not [name for name in _imports(module) if f"{name}.".startswith(others)], module


@pytest.mark.parametrize("benchmark", catalogue.own_benchmark_names())
def test_no_benchmark_imports_another(benchmark: str) -> None:
    folder = f"{PACKAGE}.benchmarks.{benchmark}"
    others = [f"{PACKAGE}.benchmarks.{name}" for name in catalogue.own_benchmark_names() if name != benchmark]
    for module in _modules():
        if f"{module}.".startswith(f"{folder}."):
            assert not [name for name in _imports(module) if name.startswith(tuple(others))], module


def test_there_is_no_circle() -> None:
    """Neither between rooms nor inside one; an import inside a function counts."""
    modules = set(_modules())
    try:
        TopologicalSorter({module: _imports(module) & modules - {module} for module in modules}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


OUTSIDE = [
    path
    for module, path in _modules().items()
    if not module.startswith((f"{PACKAGE}.benchmarks.", f"{PACKAGE}.orca.study"))
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_benchmark_is_named_outside_its_folder(path: Path) -> None:
    """Nor is the form of a task read from a part of its name. Papers go by their titles."""
    names = catalogue.own_benchmark_names()
    words = re.compile("|".join((*names, "elitr")))
    meaning = re.compile(
        r"""startswith\(["']ppl|["']_?synthetic["'] in |endswith\(["']_synthetic|== ["']synthetic"""
    )
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        assert not words.search(line), f"line {number}: {line.strip()}"
        assert not meaning.search(line), f"line {number}: {line.strip()}"


LIGHT = """
import sys

def loaded(*heavy):
    return [name for name in heavy if name in sys.modules]

import long_context_tasks
assert not loaded("numpy", "polars") and not [name for name in sys.modules if name.startswith("long_context_tasks.")]
import long_context_tasks.schema
assert not loaded("scipy")
import generated_files, long_context_tasks.orca.checkpoint, long_context_tasks.stats
generated_files.opencompass_files()
print(*loaded("torch", "transformers", "peft", "datasets", "lm_eval", "opencompass", "mmengine", "inspect_ai", "pandas"))
"""


def test_importing_loads_nothing_heavy() -> None:
    """Nor does generating a host's files, or reading and clamping ratings of the trained judge."""
    path = os.pathsep.join((str(ROOT.parent / "docs"), *sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr


@cache
def _distributions() -> dict[str, set[str]]:
    """Top-level module to the distributions that hold it, in the environment of the tests."""
    found = packages_distributions()
    return {module: {canonicalize_name(name) for name in names} for module, names in found.items()}


@cache
def _declared() -> set[str]:
    """Distributions that pyproject.toml declares, for the package itself or for an extra."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return {canonicalize_name(Requirement(text).name) for text in texts}


@pytest.mark.parametrize("module", _modules())
def test_what_is_imported_is_declared(module: str) -> None:
    """A library that another one happens to bring can leave with that one's next version."""
    for name in _imports(module):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != PACKAGE and top in _distributions():
            assert _distributions()[top] & _declared(), (
                f"{module} imports {top}, which pyproject.toml does not declare"
            )
