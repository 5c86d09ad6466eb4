"""Throw-away environments that see what is installed here, except lm-eval and this package, at no cost."""

import re
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Collection
from importlib.metadata import PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

import pytest
from environments import OPTIONS, Environment, run

LEFT_OUT = (
    "lm_eval",
    "long_context_tasks",
    "_editable_impl_long_context_tasks",
    "__editable__",
    "__pycache__",
)


INFO = "long_context_tasks-0.1.0.dist-info/"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", *OPTIONS, "--wheel-dir", str(folder), "."])
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to all that is installed here, except what the tests install themselves."""
    folder = tmp_path_factory.mktemp("dependencies")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(LEFT_OUT) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def make_environment(tmp_path: Path, dependencies: Path) -> Callable[..., Environment]:
    """Makes an environment; with ``lm_eval=True`` the installed lm-eval is in it like a wheel."""

    def make(lm_eval: bool = True) -> Environment:
        folder = tmp_path / "environment"
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        environment = Environment(folder)
        (environment.site_packages / "dependencies.pth").write_text(f"{dependencies}\n")
        if lm_eval:
            for path in Path(sysconfig.get_path("purelib")).glob("lm_eval*"):
                (environment.site_packages / path.name).symlink_to(path)
        return environment

    return make


def distributions_of(wheel: Path, extras: Collection[str]) -> set[str]:
    """Names of the distributions that installing a wheel of this package with some extras brings, as far as they are installed here."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [("long_context_tasks", frozenset(extras))]
    while waiting:
        each = name, wanted = waiting.pop()
        if each in found:
            continue
        try:
            own = name == "long_context_tasks"
            lines = (PathDistribution(zipfile.Path(wheel, INFO)) if own else distribution(name)).requires
        except PackageNotFoundError:
            continue
        found.add(each)
        for line in lines or ():
            needed, _, marker = line.partition(";")
            extra = re.search(r"extra == ['\"]([^'\"]+)", marker)
            match = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?", needed)
            assert match is not None
            if extra is None or extra[1] in wanted:
                waiting.append((match[1], frozenset(re.findall(r"[\w-]+", match[2] or ""))))
    return {name for name, _ in found} - {"long_context_tasks", "long-context-tasks"}


@pytest.fixture
def environment_with(tmp_path: Path, wheel: Path) -> Callable[..., Environment]:
    """Makes an environment that holds what installing this package with some extras brings, and this package."""

    def make(*extras: str) -> Environment:
        folder = tmp_path / "environment"
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        environment = Environment(folder)
        here = Path(sysconfig.get_path("purelib"))
        tops = {
            file.parts[0]
            for name in distributions_of(wheel, extras)
            for file in distribution(name).files or ()
        }
        for top in tops - {"..", "__pycache__"}:
            if (here / top).exists() and not (environment.site_packages / top).exists():
                (environment.site_packages / top).symlink_to(here / top)
        environment.pip("install", "-q", "--no-deps", str(wheel))
        return environment

    return make
