"""The start-up hook, against small stand-ins for lm-eval in fresh processes, and against the real one."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from long_context_tasks.hosts.lm_eval import patches as hook_patches

STARTUP = Path(hook_patches.__file__).resolve().with_name("startup")

# lm-eval 0.4.13 and 0.5 as far as the hook sees them.
MANAGER = """
from pathlib import Path

class TaskManager:
    def __init__(self, verbosity=None, include_path=None, include_defaults=True, metadata=None):
        "The host's own."
        paths = [Path(__file__).parent] if include_defaults else []
        if include_path:
            paths += include_path if isinstance(include_path, (list, tuple)) else [include_path]
        self.paths = [str(path) for path in paths]
        self.all_tasks = sorted(f.stem for p in paths for f in Path(p).rglob("*.yaml"))

    all_tasks = ()

    def _entry(self, name):
        return None
    def match_tasks(self, task_list):
        return task_list
    def _load_spec(self, spec):
        return spec
"""


def make_host(folder: Path) -> Path:
    tasks = folder / "lm_eval" / "tasks"
    tasks.mkdir(parents=True)
    (folder / "lm_eval" / "__init__.py").write_text("")
    (tasks / "__init__.py").write_text("from lm_eval.tasks.manager import TaskManager\n")
    (tasks / "manager.py").write_text(MANAGER)
    return folder


def make_package(folder: Path) -> Path:
    """A copy of the part of our package that the hook uses, with one task: tests do not depend on the real tasks."""
    package = folder / "long_context_tasks"
    host = package / "hosts" / "lm_eval"
    host.mkdir(parents=True)
    for folder_of_code in (package, host.parent, host):
        (folder_of_code / "__init__.py").write_text("")
    ours = Path(hook_patches.__file__).parent
    for part in (ours / "patches.py", ours.with_name("names.py")):
        (package / "hosts" / part.relative_to(ours.parent)).write_bytes(part.read_bytes())
    ours = folder / "cache" / "some_key"
    ours.mkdir(parents=True)
    (ours / "our_task.yaml").write_text("task: our_task\n")
    (host / "task_files.py").write_text(
        f"from pathlib import Path\ndef task_folder():\n    return Path({str(ours)!r})\n"
    )
    return ours


def run(code: str, *path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import long_context_tasks_hook\n" + textwrap.dedent(code)
    path_variable = os.pathsep.join(str(folder) for folder in (STARTUP, *path))
    return subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=(*path, STARTUP)[0],
        env={**os.environ, "PYTHONPATH": path_variable, **environment},
    )


PATHS = "from lm_eval.tasks import TaskManager; print(*TaskManager({arguments}).paths, sep='\\n')"


def paths(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        ("", {}, "HOST OURS"),
        ("include_path='mine'", {}, "HOST OURS mine"),
        ("None, ['a', 'b']", {}, "HOST OURS a b"),
        ("include_path='mine', include_defaults=False", {}, "mine"),
        ("include_path={ours!r}", {}, "HOST OURS"),
        ("include_path={above!r}", {}, "HOST ABOVE"),
        ("", {"LCT_NO_HOOK": "1"}, "HOST"),
        ("", {"LCT_NO_HOOK": "0"}, "HOST OURS"),
    ],
)
def test_our_folders_come_once_after_the_hosts_and_before_the_users(
    tmp_path: Path, arguments: str, variables: dict[str, str], expected: str
) -> None:
    host, ours = make_host(tmp_path), make_package(tmp_path)
    names = {str(host / "lm_eval" / "tasks"): "HOST", str(ours): "OURS", str(ours.parent): "ABOVE"}
    arguments = arguments.format(ours=str(ours), above=str(ours.parent))
    found = paths(run(PATHS.format(arguments=arguments), host, **variables))
    assert [names.get(path, path) for path in found] == expected.split()


@pytest.mark.parametrize(
    "broken",
    ["class TaskManager:\n    def __init__(self): self.paths = ['fine']\n", "TaskManager = None\n"],
    ids=["other signature", "no class"],
)
def test_a_changed_host_goes_on_with_one_line_of_warning(tmp_path: Path, broken: str) -> None:
    host = make_host(tmp_path)
    make_package(tmp_path)
    (host / "lm_eval" / "tasks" / "manager.py").write_text(broken)
    result = run("import lm_eval.tasks.manager as m; print(m.TaskManager and m.TaskManager().paths)", host)
    assert result.returncode == 0, result.stderr
    assert len(result.stderr.splitlines()) == 1 and "--include_path" in result.stderr


def test_a_left_over_hook_without_the_package_is_harmless(tmp_path: Path) -> None:
    result = run(PATHS.format(arguments=""), make_host(tmp_path))
    assert len(paths(result)) == 1 and len(result.stderr.splitlines()) == 1


def test_errors_that_are_not_ours_go_their_usual_way(tmp_path: Path) -> None:
    result = run("import lm_eval.tasks.manager", tmp_path)
    assert "No module named 'lm_eval'" in result.stderr and "long_context_tasks:" not in result.stderr
    host = make_host(tmp_path)
    (host / "lm_eval" / "tasks" / "manager.py").write_text("raise RuntimeError('own trouble')\n")
    result = run("import lm_eval.tasks", host)
    assert result.returncode == 1
    assert "own trouble" in result.stderr and "long_context_tasks:" not in result.stderr


def test_starting_python_imports_nothing_more() -> None:
    code = """
    import sys
    before = set(sys.modules)
    del sys.modules["long_context_tasks_hook"]
    import long_context_tasks_hook
    print(*sorted(set(sys.modules) - before))
    """
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


def test_a_host_goes_on_where_our_files_have_no_place(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    make_package(tmp_path)
    broken = tmp_path / "long_context_tasks" / "hosts" / "lm_eval" / "task_files.py"
    broken.write_text("def task_folder():\n    raise OSError('the disk is full')\n")
    result = run(PATHS.format(arguments=""), host)
    assert paths(result) == [str(host / "lm_eval" / "tasks")]
    [line] = result.stderr.splitlines()
    assert "does not see our tasks (OSError: the disk is full)" in line


@pytest.mark.slow
def test_the_real_host(tmp_path: Path) -> None:
    """The hook fits the lm-eval that is installed, whose own tasks are left out because they take ten seconds."""
    pytest.importorskip("lm_eval")
    make_package(tmp_path)
    code = f"""
    import sys
    import site
    site.main()
    from lm_eval.tasks import manager
    from long_context_tasks.hosts.lm_eval import patches
    assert patches.__file__.startswith({str(tmp_path)!r})
    original = manager.TaskIndex._iter_yaml_files
    manager.TaskIndex._iter_yaml_files = lambda root: [] if "site-packages" in str(root) else original(root)
    print("our_task" in manager.TaskManager().all_tasks)
    """
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[-1] == "True", result.stderr
