"""The core needs no host, and neither host needs the other: shown by forbidding the imports."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_FORBID = """
import sys
class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, Forbid())
"""
_CORE = """
from long_context_tasks.benchmarks.ada_leval import data, build, prompts, scoring
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.benchmarks.catalogue import resolve_options
task = load_task("ada_leval_bestanswer_1k_synthetic", resolve_options({"lct_n": 2}))
case = task.cases.cases[0]
assert task.messages(case) and task.score(case, "A1", None)
"""
_ADAPTER = """
import long_context_tasks.hosts.{host}.task
assert "{host}" in sys.modules
"""
_HEAVY = ["torch", "transformers", "datasets"]


@pytest.mark.parametrize(
    ("forbidden", "code"),
    [
        pytest.param(["lm_eval", "opencompass", *_HEAVY], _CORE, id="core"),
        pytest.param(["opencompass"], _ADAPTER.format(host="lm_eval"), id="lm-eval"),
        pytest.param(["lm_eval"], _ADAPTER.format(host="opencompass"), id="OpenCompass"),
    ],
)
def test_what_is_not_installed_is_not_needed(tmp_path: Path, forbidden: list[str], code: str) -> None:
    program = _FORBID.format(names=forbidden) + code
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={
            "LCT_CACHE_DIR": str(tmp_path),
            "LCT_NO_HOOK": "1",
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
