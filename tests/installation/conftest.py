"""Throw-away environments that see what is installed here, except lm-eval and this package, at no cost."""

import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environment, run

LEFT_OUT = (
    "lm_eval",
    "long_context_tasks",
    "_editable_impl_long_context_tasks",
    "__editable__",
    "__pycache__",
)


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
