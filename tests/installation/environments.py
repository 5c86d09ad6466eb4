"""Throw-away environments in which the tests install things."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OPTIONS = ("--no-deps", "--no-build-isolation")
"""Of pip, where what is installed here is enough."""
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip: the pip (or uv) of the running environment works on it from outside."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return next((self.folder / "lib").glob("python3*/site-packages"))

    def pip(self, *arguments: str) -> None:
        run([sys.executable, "-m", "pip", "--python", str(self.python), *arguments])

    def uv(self, *arguments: str) -> None:
        uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
        run([uv, "pip", arguments[0], "--offline", "--python", str(self.python), *arguments[1:]])

    def run(self, code: str, **environment: str) -> str:
        return run([str(self.python), "-c", code], cwd=self.folder, **environment)

    def files(self) -> set[str]:
        folders = (self.site_packages, self.folder / "bin")
        return {str(path.relative_to(self.folder)) for folder in folders for path in folder.rglob("*")}


def run(command: list[str], cwd: Path = REPOSITORY, **environment: str) -> str:
    # Bytecode is written as everywhere: it must not stay behind either.
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    outside = {key: value for key, value in os.environ.items() if key not in ours}
    result = subprocess.run(
        command,
        cwd=cwd,
        env={**outside, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}"
    return result.stdout
