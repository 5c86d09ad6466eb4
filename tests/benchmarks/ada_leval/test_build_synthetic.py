"""Cases from the synthetic corpus: any length, no download, the same for everybody, made once."""

from pathlib import Path

import pytest
from other_tokenizers import count

from long_context_tasks.benchmarks.ada_leval import build
from long_context_tasks.benchmarks.ada_leval.settings import ConstraintSettings
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import CaseSet, Options, format_length

pytestmark = pytest.mark.slow

BEST = "ada_leval_bestanswer_synthetic"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


def made_cases(folder: Path, length: int, n: int, **options) -> CaseSet:
    build.build(BEST, None, ConstraintSettings((length,), n=n, **options), folder)
    return CaseSet.read(folder, f"ada_leval_bestanswer_{format_length(length)}_synthetic")


def test_a_thousand_cases_of_bestanswer(tmp_path):
    assert len(made_cases(tmp_path, 1000, 1000)) == 1000


def test_bestanswer_has_the_same_questions_at_every_length(tmp_path):
    clusters = {}
    for length in (1000, 4000, 16000, 32000):
        made = made_cases(tmp_path / str(length), length, 30)
        clusters[length] = {case.cluster for case in made.cases}
    assert len(clusters[1000]) == 30
    assert clusters[1000] == clusters[4000] == clusters[16000] == clusters[32000]
    # Built side by side they are the same as one by one.
    build.build(BEST, None, ConstraintSettings((1000, 4000), n=30), tmp_path / "both")
    name = "ada_leval_bestanswer_4k_synthetic"
    assert CaseSet.read(tmp_path / "both", name).cases == CaseSet.read(tmp_path / "4000", name).cases


def test_a_task_builds_its_cases_once(tmp_path, monkeypatch):
    name = "ada_leval_bestanswer_2k_synthetic"
    task = load_task(name, Options(n=6, seed=3))
    assert len(task.cases) == 6
    messages = task.messages(task.cases.cases[0])
    assert [message.role for message in messages] == ["user"] and count(messages[0].content) <= 2000
    monkeypatch.setattr(build, "build", None)
    assert load_task(name, Options(n=6, seed=3)).cases.cases == task.cases.cases
    with pytest.raises(TypeError):
        load_task(name, Options(n=6, seed=4))


def test_any_length_and_default_number(tmp_path):
    cases = load_task("ada_leval_bestanswer_any_synthetic", Options(length=3000)).cases
    assert len(cases) == 200 and cases.cases[0].task == "ada_leval_bestanswer_3k_synthetic"
