"""Loading a published task imports neither builders nor writers of synthetic texts nor readers of raw sources."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from both_hosts import write_published_files

from long_context_tasks.benchmarks import catalogue

FORBIDDEN = ("corpora", "recast", "synthetic")
# Scoring reads numbers in words with this table.
ALLOWED = ("long_context_tasks.synthetic", "long_context_tasks.synthetic.numbers")
PROGRAM = """
import json, sys
from long_context_tasks.benchmarks.catalogue import load_task
assert load_task(sys.argv[1], {"lct_n": 1}).cases.cases
print(json.dumps(sorted(name for name in sys.modules if name.startswith("long_context_tasks."))))
"""


PUBLISHED = sorted({spec.benchmark for spec in catalogue.task_specs() if spec.source == "published"})


@pytest.mark.parametrize("name", PUBLISHED)
def test_loading_a_published_task_imports_no_builder(name: str, tmp_path: Path) -> None:
    write_published_files(name, tmp_path, 2)
    tasks = [each for each in catalogue.task_specs() if each.benchmark == name]
    task = next(each.name for each in tasks if each.source == "published" and each.length != catalogue.ANY)
    environment = {**os.environ, "LCT_DATA_DIR": str(tmp_path), "LCT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, task], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    own = f"long_context_tasks.benchmarks.{name}."
    assert [each for each in loaded if each.split(".")[1] in FORBIDDEN and each not in ALLOWED] == []
    assert [
        module
        for module in loaded
        if module.startswith(own) and {"build", "builders", "synthetic"} & {*module.split(".")}
    ] == []
