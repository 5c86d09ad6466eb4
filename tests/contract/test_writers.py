"""Files are written by `schema.files` alone, which claims, syncs and renames; every other place has a reason."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "long_context_tasks"
_INSIDE = "inside a new folder that is moved into place when it is complete"
_APPENDS = "appends, so that a killed process loses no row"
OTHERS = {
    "benchmarks/downloads.py": "continues a download that stopped",
    "cli/demo.py": "takes the output of a running host",
    "hosts/lm_eval/task_files.py": _INSIDE,
    "hosts/opencompass/rows.py": _APPENDS,
    "orca/checkpoint.py": _INSIDE,
    "orca/controls.py": _INSIDE,
    "schema/case_folder.py": _INSIDE,
    "schema/files.py": "the place itself",
    "site/build.py": _INSIDE,
    "site/cases.py": _INSIDE,
    "tokens/tokenizers.py": "an encoding that a library reads from its own cache",
}


def writes(call: ast.Call) -> bool:
    """Return whether a call opens a file for writing or writes one."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in ("write_text", "write_bytes"):
        return True
    modes = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return name == "open" and any(set(text) <= set("wax+bt") and set(text) & set("wax") for text in texts)


def test_no_other_module_writes_files() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(isinstance(node, ast.Call) and writes(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found <= set(OTHERS), f"use schema.files.write_whole: {found - set(OTHERS)}"
    assert set(OTHERS) - {"schema/files.py"} <= found, "an exception that nobody needs any more"
