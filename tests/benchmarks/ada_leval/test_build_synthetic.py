"""Cases from the synthetic corpus: any length, no download, the same for everybody, made once."""

from pathlib import Path

import pytest
from case_folders import build

from long_context_tasks.benchmarks.ada_leval.builders import ConstraintBuilder, ConstraintSettings
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import CaseSet, Options, format_length

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]


def made_cases(folder: Path, length: int, n: int) -> CaseSet:
    build("ada_leval_bestanswer_synthetic", None, ConstraintSettings((length,), n=n), folder)
    return CaseSet.read(folder, f"ada_leval_bestanswer_{format_length(length)}_synthetic")


def test_a_thousand_cases_of_bestanswer(tmp_path):
    assert len(made_cases(tmp_path, 1000, 1000)) == 1000


def test_bestanswer_has_the_same_questions_at_every_length(tmp_path):
    first, *others = (
        {case.cluster for case in made_cases(tmp_path / str(length), length, 30).cases}
        for length in (1000, 4000, 16000, 32000)
    )
    assert len(first) == 30 and others == [first] * 3


def test_a_task_builds_its_cases_once_and_200_by_default(monkeypatch):
    name, options = "ada_leval_bestanswer_any_synthetic", Options(length=3000)
    cases = load_task(name, options).cases.cases
    assert len(cases) == 200 and cases[0].task == "ada_leval_bestanswer_3k_synthetic"
    monkeypatch.setattr(ConstraintBuilder, "write", None)
    assert load_task(name, options).cases.cases == cases
    with pytest.raises(TypeError):
        load_task(name, Options(length=3000, seed=4))
