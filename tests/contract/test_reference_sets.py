"""Synthetic tasks write the same cases on every machine: the hash of a small set of each stands on the card."""

from pathlib import Path

import pytest

from long_context_tasks.benchmarks.reference_sets import reference_settings, reference_sha256
from long_context_tasks.hosts.generate import synthetic_tasks
from long_context_tasks.schema import InputError

TASKS = synthetic_tasks()
BENCHMARKS = sorted({spec.benchmark for spec in TASKS})


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_card_has_the_hash_of_every_synthetic_task(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a text changes on purpose, the card's version rises and the hashes below go into it."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    made = {spec.name: reference_sha256(spec.name) for spec in TASKS if spec.benchmark == benchmark}
    assert made == reference_settings(benchmark)["sha256"]
    assert len(set(made.values())) == len(made)


def test_an_unknown_task_is_told() -> None:
    with pytest.raises(InputError, match=r"no_such|unknown"):
        reference_sha256("no_such_task")
