"""What an installation brings, that lm-eval then finds our tasks, and that nothing stays behind."""

import email
import re
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import OPTIONS, REPOSITORY, Environment, run

from long_context_tasks.hosts.lm_eval.task_files import task_folder

# The host's 14,700 own tasks take ten seconds to read: its folder is swapped for an empty one.
FIND_TASKS = """
import lm_eval.tasks.manager as manager, tempfile, pathlib
manager.__file__ = str(pathlib.Path(tempfile.mkdtemp()) / "manager.py")
print(*manager.TaskManager().all_tasks)
"""
WHERE = "import long_context_tasks; print(long_context_tasks.__file__)"


def our_tasks() -> set[str]:
    names = {path.stem for path in task_folder().glob("ada_leval_*.yaml")}
    assert names
    return names


def test_the_wheel_holds_every_file_that_is_read_at_run_time(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = REPOSITORY / "long_context_tasks"
    wanted = {
        str(path.relative_to(REPOSITORY))
        for pattern in ("*.py", "*.yaml", "*.txt", "*.json", "*.tiktoken", "py.typed")
        for path in package.rglob(pattern)
        if path.parent.name != "startup"
    }
    wanted |= {
        f"long_context_tasks/{path.relative_to(REPOSITORY)}"
        for path in (REPOSITORY / "configs").rglob("*.py")
    }
    wanted |= {"long_context_tasks_hook/__init__.py", "long_context_tasks_hook.pth"}
    assert wanted - names == set()
    assert {name.split("/")[0] for name in names} == {
        "long_context_tasks",
        "long_context_tasks-0.1.0.dist-info",
        "long_context_tasks_hook",
        "long_context_tasks_hook.pth",
    }


def test_the_wheel_says_what_it_needs_and_offers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name.rsplit("/", 1)[0] for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        assert f"{info}/licenses/LICENSE" in archive.namelist()
    # A package index has no other file of the repository.
    text = str(metadata.get_payload())
    assert "https://github.com/open-compass/opencompass)" in text and not re.findall(r"\]\((?!https:)", text)
    needed = metadata.get_all("Requires-Dist", [])
    core = [line for line in needed if "extra ==" not in line]
    for extra in ("all", "demo"):  # OpenCompass cannot be installed on Python 3.13
        [line] = [line for line in needed if line.startswith("opencompass") and f"extra == '{extra}'" in line]
        assert "python_version < '3.13'" in line
    # uv locks all extras at once; OpenCompass and kvpress ask for different versions of numpy.
    declared = (REPOSITORY / "pyproject.toml").read_text()
    extras_of = {
        name: {line.rpartition("extra == ")[2].strip("'") for line in needed if line.startswith(name)}
        for name in ("kvpress", "opencompass")
    }
    assert extras_of == {"kvpress": {"kvpress"}, "opencompass": {"opencompass", "all", "demo"}}
    for extra in extras_of["opencompass"]:
        assert f'[{{ extra = "kvpress" }}, {{ extra = "{extra}" }}]' in declared
    assert not [
        line for line in core if line.startswith(("torch", "transformers", "lm-eval", "opencompass", "vllm"))
    ]


@pytest.mark.hosts
@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_lm_eval_finds_our_tasks_and_uninstalling_leaves_nothing(
    make_environment: Callable[..., Environment], wheel: Path, installer: str, editable: bool, tmp_path: Path
) -> None:
    pytest.importorskip("lm_eval")
    environment = make_environment()
    install = getattr(environment, installer)
    before = environment.files()
    install("install", *OPTIONS, *(["-e", str(REPOSITORY)] if editable else [str(wheel)]))
    where = Path(environment.run(WHERE).strip())
    assert where.is_relative_to(REPOSITORY if editable else environment.folder)
    cache = str(tmp_path / "cache")  # empty, so that the installed package makes the files itself
    assert our_tasks() <= set(environment.run(FIND_TASKS, LCT_CACHE_DIR=cache).split())
    install("uninstall", *(["-y"] if installer == "pip" else []), "long_context_tasks")
    assert environment.files() - before <= {str(path) for path in _caches(environment)}
    assert not our_tasks() & set(environment.run(FIND_TASKS).split())


def _caches(environment: Environment) -> list[Path]:
    """Python's own cache folder, which holds modules of any origin, may stay; nothing of ours in it may."""
    return [(environment.site_packages / "__pycache__").relative_to(environment.folder)]


@pytest.mark.hosts
@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_beside_an_lm_eval_installed_editable(
    make_environment: Callable[..., Environment], wheel: Path, tmp_path: Path, editable: bool
) -> None:
    """As the host's own instructions have it; setuptools then finds it by an import hook, not by a path."""
    pytest.importorskip("lm_eval")
    project = tmp_path / "lm-evaluation-harness"
    project.mkdir()
    (project / "lm_eval").symlink_to(Path(sysconfig.get_path("purelib")) / "lm_eval")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "lm_eval"\nversion = "0.4.13"\n'
        '[tool.setuptools]\npackages = ["lm_eval", "lm_eval.tasks"]\n'
    )
    environment = make_environment(lm_eval=False)
    environment.pip("install", *OPTIONS, "-e", str(project))
    environment.pip("install", *OPTIONS, *(["-e", str(REPOSITORY)] if editable else [str(wheel)]))
    assert not (environment.site_packages / "lm_eval").exists()
    assert our_tasks() <= set(environment.run(FIND_TASKS).split())
    environment.pip("uninstall", "-y", "long_context_tasks")
    environment.run(FIND_TASKS)


@pytest.mark.hosts
def test_lm_eval_ls_tasks_shows_ours(make_environment: Callable[..., Environment], wheel: Path) -> None:
    pytest.importorskip("lm_eval")
    environment = make_environment()
    environment.pip("install", *OPTIONS, str(wheel))
    listing = run([str(environment.python), "-m", "lm_eval", "ls", "tasks"], cwd=environment.folder)
    assert [name for name in our_tasks() if name not in listing] == []
