"""Noisy transcripts in cases: the target is measured, draws depend on what they should and on nothing else."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.noise import word_error_rate
from long_context_tasks.schema import CaseSet, InputError, Options

COUNTS = {
    "Hello.": {"Hello.": 3, "Yellow.": 2, "": 1},
    "bakery": {"bakery": 5, "battery": 3},
    "opens": {"opens": 4, "open": 4, "": 1},
    "kites": {"kites": 2, "kits": 3},
    "Monday.": {"Monday.": 3, "Sunday.": 2},
    "": {"uh": 4, "the": 2},
}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps({word: forms}) + "\n" for word, forms in COUNTS.items()))
    return path


def _load(options: Options, rules: Path, name: str, mode: str = "exact") -> CaseSet:
    return load_task(name, replace(options, noise_mode=mode, noise_rules=rules)).cases


def _texts(cases: CaseSet) -> list[str]:
    return [cases.documents[case.inputs["transcript"]] for case in cases.cases]


@pytest.mark.parametrize("mode", ["exact", "official"])
@pytest.mark.parametrize("wer", [20, 40, 60, 80, 100])
def test_labels_record_the_measured_rate(options: Options, rules: Path, mode: str, wer: int) -> None:
    cases = _load(options, rules, f"elitr_bench_conv_dev_wer{wer}", mode)
    clean = load_task("elitr_bench_conv_dev", options).cases
    for noisy, text, before in zip(cases.cases, _texts(cases), _texts(clean), strict=True):
        assert noisy.id == noisy.cluster and noisy.document == f"{noisy.id}_wer{wer}"
        assert noisy.labels["wer"] == wer
        assert noisy.labels["measured_wer"] == pytest.approx(word_error_rate(before, text), abs=1e-6)
        assert text.count("\n") == before.count("\n")
    assert _texts(cases) != _texts(clean)


def test_all_tasks_of_a_rate_show_the_same_noise(options: Options, rules: Path) -> None:
    single = _texts(_load(options, rules, "elitr_bench_qa_dev_wer60"))
    for name in ("qa_dev_multiturn_wer60", "conv_dev_goldhistory_wer60", "conv_dev_czech_wer60"):
        assert set(_texts(_load(options, rules, f"elitr_bench_{name}"))) == set(single)


def test_noise_depends_on_seed_rate_mode_and_rules(options: Options, rules: Path, tmp_path: Path) -> None:
    name = "elitr_bench_conv_dev_wer80"
    first = _texts(_load(options, rules, name))
    others = [
        _load(replace(options, seed=1), rules, name),
        _load(options, rules, "elitr_bench_conv_dev_wer40"),
        _load(options, rules, name, "official"),
    ]
    changed = tmp_path / "others.jsonl"
    changed.write_text(rules.read_text().replace('"battery": 3', '"battery": 30'))
    others.append(_load(options, changed, name))
    folders = {cases.documents.path for cases in others}
    assert len(folders) == len(others)
    assert all(_texts(cases) != first for cases in others[:3])


def test_another_process_draws_the_same(options: Options, rules: Path, tmp_path: Path) -> None:
    here = _texts(_load(options, rules, "elitr_bench_qa_test_wer40"))
    script = (
        "import hashlib; from long_context_tasks.benchmarks.catalogue import load_task\n"
        "cases = load_task('elitr_bench_qa_test_wer40').cases\n"
        "print(hashlib.sha256(cases.documents[cases.cases[0].document].encode()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={
            "LCT_CACHE_DIR": str(tmp_path / "another"),
            "LCT_DATA_DIR": str(options.data_dir),
            "LCT_NOISE_RULES": str(rules),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONHASHSEED": "7",
            "PATH": "",
        },
    )
    assert done.stdout.split() == [hashlib.sha256(here[0].encode()).hexdigest()]


def test_the_rules_of_the_package_are_the_default(options: Options) -> None:
    task = load_task("elitr_bench_qa_test_wer100", options)
    assert task.cases.cases[0].labels["measured_wer"] > 0.5
    assert task.messages(task.cases.cases[0])


@pytest.mark.parametrize("content", [None, "no rules"])
def test_rules_that_cannot_be_used(options: Options, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "mine"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=rf"lct_noise_rules \(LCT_NOISE_RULES\): {path}.*lct noise learn"):
        load_task("elitr_bench_qa_dev_wer40", replace(options, noise_rules=path))
    assert not (tmp_path / "cache" / "cases").is_dir() or not list((tmp_path / "cache" / "cases").iterdir())
