"""Who may import whom, as the architecture has it; and importing the package costs nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import long_context_tasks

PACKAGE = "long_context_tasks"
ROOT = Path(long_context_tasks.__file__).parent
HOSTS = {"lm_eval", "opencompass", "mmengine"}

# room -> rooms it may import besides itself
ALLOWED = {
    "schema": set(),
    "tokens": {"schema"},
    "stats": {"schema"},
    "noise": {"tokens", "schema"},
    "corpora": {"tokens", "schema"},
    "judges": {"stats", "tokens", "schema"},
    "annotation": {"stats", "tokens", "schema"},
    "hosts": {"judges", "stats", "tokens", "schema", "benchmarks.catalogue"},
    "benchmarks.catalogue": {"schema"},
    "benchmarks.core": {"schema", "tokens", "corpora", "noise", "judges", "stats", "benchmarks.catalogue"},
    "benchmarks.adapter": {"hosts", "benchmarks.core", "benchmarks.catalogue", "schema"},
    "report": {"stats", "schema"},
    "runs": {"benchmarks.catalogue", "report", "judges", "stats", "schema"},
}


def _room(module: str) -> str:
    """The room of a module: its folder; in a benchmark, core or adapter."""
    parts = module.split(".")[1:]
    if not parts:
        return ""
    if parts[0] != "benchmarks":
        return parts[0]
    # The modules beside the benchmarks' folders: what finds them, and what their builders have in common.
    if len(parts) == 1 or (ROOT / "benchmarks" / f"{parts[1]}.py").is_file():
        return "benchmarks.catalogue"
    return "benchmarks.adapter" if parts[2:3] in (["lm_eval"], ["opencompass"]) else "benchmarks.core"


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def _modules() -> list[tuple[str, Path]]:
    return [
        (".".join([PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"), path)
        for path in sorted(ROOT.rglob("*.py"))
        if "configs" not in path.relative_to(ROOT).parts and "startup" not in path.parts
    ]


@pytest.mark.parametrize(
    ("module", "path"), _modules(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_imports_go_one_way(module: str, path: Path) -> None:
    room = _room(module)
    imported = _imports(path)
    roots = {name.split(".")[0] for name in imported}
    if room not in ("hosts", "benchmarks.adapter"):
        assert not roots & HOSTS, f"{module} imports a host"
    if room in ("", "cli"):
        return
    for name in imported:
        if name.split(".")[0] == PACKAGE and name != f"{PACKAGE}.__version__":
            other = _room(name)
            assert other in ("", room) or other in ALLOWED[room], f"{module} must not import {name}"
            if (
                room.startswith("benchmarks.")
                and other.startswith("benchmarks.")
                and "catalogue" not in (room + other)
            ):
                assert name.split(".")[2] == module.split(".")[2], (
                    f"{module} imports another benchmark: {name}"
                )


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, long_context_tasks, long_context_tasks.schema; "
        "print([m for m in ('torch', 'transformers', 'datasets', 'lm_eval', 'opencompass', 'scipy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
