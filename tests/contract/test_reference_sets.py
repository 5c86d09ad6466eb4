"""The synthetic edition is found by the cards, fits its length, and is the same on every machine: a hash of a small set stands on the card.

The hash is of what a model sees, what is right, and all that scores are made from (``inputs``: forms of answers). Where one changes the benchmark's version rises; ``version`` beside the hashes says of which one they are.
"""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import (
    ANY,
    expand_tasks,
    load_task,
    nano_tasks,
    resolve_options,
    synthetic_tasks,
)
from long_context_tasks.benchmarks.checking import reference_sha256
from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
from long_context_tasks.hosts.opencompass.configs import nano_datasets, synthetic_datasets
from long_context_tasks.schema import CaseSet, Options
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASKS = (*synthetic_tasks(), *nano_tasks())
BENCHMARKS = sorted({spec.benchmark for spec in TASKS})


def reference_settings(benchmark: str) -> dict[str, Any]:
    """What the card says: ``version``, ``length``, ``seed``, ``n`` and ``sha256`` by task."""
    found: dict[str, Any] = catalogue.card(benchmark).data["synthetic"]["reference"]
    return found


def hash_of(task: str) -> str:
    """The hash of a task's reference set, written anew."""
    return reference_sha256(task, reference_settings(catalogue.parse_task(task).benchmark))


def test_every_benchmark_has_some_and_none_is_by_likelihood() -> None:
    assert {spec.benchmark for spec in TASKS} == set(catalogue.benchmark_names())
    assert all(spec.length in ("", ANY) and "ppl" not in spec.name for spec in TASKS)


def test_the_groups_hold_them_all_once() -> None:
    expanded = expand_tasks(["lct_synthetic", "lct_nano"], lm_eval_groups())
    assert sorted(expanded) == sorted(spec.name for spec in TASKS)
    nano = expand_tasks(["lct_nano"], lm_eval_groups())
    assert nano == ["elitr_bench_qa_nano", "ethic_sections_medicine"]


def test_the_configs_run_them_all() -> None:
    found = [dataset["abbr"] for dataset in (*synthetic_datasets(), *nano_datasets())]
    assert found == [spec.name for spec in TASKS]


def test_no_synthetic_task_counts_as_published() -> None:
    official = set(expand_tasks(["lct_official"], lm_eval_groups()))
    assert official and not official & {spec.name for spec in TASKS}


@pytest.mark.parametrize("spec", TASKS, ids=lambda spec: spec.name)
def test_a_task_loads_without_data_and_fits_its_length(
    spec: catalogue.TaskSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    length = 2000
    options = resolve_options({"lct_length": str(length), "lct_n": "2", "lct_seed": "7"}, {})
    task = load_task(spec.name, options)
    assert len(task.cases) == 2 and task.description()["lct_seed"] == 7
    assert task.metrics[0] == spec.headline
    # A prompt may leave room for a longer one that shows the same context.
    assert all(0.98 * length - 150 <= case.num_tokens["cl100k"] <= length for case in task.cases.cases)
    for case in task.cases.cases:
        # Texts are counted in parts; the sum is the count of the whole.
        later = [str(turn.question).strip() for turn in case.turns[1:]]
        sent = "\n\n".join(message.content for message in task.messages(case))
        assert case.num_tokens["cl100k"] == sum(get_tokenizer("cl100k").fresh().count_many([sent, *later]))
    other = load_task(spec.name, Options(length=length, n=2, seed=8))
    first, second = ([one.messages(case) for case in one.cases.cases] for one in (task, other))
    assert not {str(one) for one in first} & {str(one) for one in second}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_card_has_the_hash_of_every_synthetic_task(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a text changes on purpose, the card's version rises and the hashes below go into it."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    made = {spec.name: hash_of(spec.name) for spec in TASKS if spec.benchmark == benchmark}
    assert made == reference_settings(benchmark)["sha256"]
    assert len(set(made.values())) == len(made)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_hashes_are_those_of_the_version(benchmark: str) -> None:
    assert reference_settings(benchmark)["version"] == catalogue.card(benchmark).version


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_published_hashes_change_only_with_the_version(benchmark: str) -> None:
    """Against the last release; before the first one texts may still change."""
    path = f"long_context_tasks/benchmarks/{benchmark}/card.yaml"
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v*")
    published = git("show", f"{tag}:{path}") if tag else None
    if not published:
        pytest.skip("no release of this repository is known here (no git, or no tag v*)")
    old, now = yaml.safe_load(published), yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    hashes = old.get("data", {}).get("synthetic", {}).get("reference", {}).get("sha256", {})
    same = {
        task: now["data"]["synthetic"]["reference"]["sha256"].get(task, sha) for task, sha in hashes.items()
    }
    assert old["version"] != now["version"] or same == hashes


def git(*arguments: str) -> str | None:
    """What git says; None where it cannot."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("task", "field", "other"),
    [
        ("elitr_bench_qa_synthetic", "stated", [{"right": ["x"], "wrong": []}]),
    ],
)
def test_what_scores_are_made_from_is_in_the_hash(
    task: str, field: str, other: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    first = hash_of(task)
    read = CaseSet.read.__func__  # type: ignore[attr-defined]

    def changed(cls: type[CaseSet], folder: Path, name: str) -> CaseSet:
        cases = read(cls, folder, name)
        return cases.selected(replace(case, inputs={**case.inputs, field: other}) for case in cases.cases)

    monkeypatch.setattr(CaseSet, "read", classmethod(changed))
    assert hash_of(task) != first
