"""Warnings at the start of a run: misspelt variables and very long answers."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.messages import (
    _warn_of_long_answers,
    as_variables,
    check_length,
    known_variables,
    misspelt_variables,
    warn_of_long_answers,
    warn_of_misspelt_variables,
)
from long_context_tasks.schema import InputError

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("LCT_LENGHT", "LCT_LENGTH"),
        ("LCT_TASK", "LCT_TASKS"),
        ("LCT_WINDOWS", "LCT_WINDOW"),
        ("LCT_DATADIR", "LCT_DATA_DIR"),
        ("LCT_BATCHSIZE", "LCT_BATCH_SIZE"),
    ],
)
def test_a_misspelt_variable_gets_its_neighbour(name: str, meant: str) -> None:
    assert misspelt_variables({name: "x"}) == {name: meant}


def test_other_names_are_left_alone() -> None:
    others = ["LCT_COLOUR_PROFILE", "LCT_API_KEY_NAME", "PATH", "LCT", "XLCT_LENGHT"]
    assert not misspelt_variables(dict.fromkeys([*known_variables(), *others], "x"))


def test_a_warning_is_given_once_and_holds_no_value(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with caplog.at_level(logging.WARNING):
            warn_of_misspelt_variables({"LCT_SUBSETT": "secret"})
    (record,) = caplog.records
    assert "LCT_SUBSETT" in record.getMessage() and "LCT_SUBSET?" in record.getMessage()
    assert "secret" not in caplog.text


def test_long_answers_are_announced_once_for_a_benchmark(caplog: pytest.LogCaptureFixture) -> None:
    _warn_of_long_answers.cache_clear()  # another test of this process may have run a task
    for name in ("ethic_recall_medicine_synthetic", "ethic_attribute_medicine_synthetic"):
        warn_of_long_answers(name, load_task(name, {"lct_n": 1, "lct_length": "2k"}).answer_budget)
    short = {"lct_n": 1, "lct_length": "2k", "lct_answer_budget": 64}
    warn_of_long_answers(name, load_task(name, short).answer_budget)
    (record,) = caplog.records
    assert "4,096 tokens" in record.getMessage() and "lct_answer_budget" in record.getMessage()


def test_every_variable_that_is_read_is_known() -> None:
    """A new one has to be added to the list, or its users would read that it is not read."""
    read = re.compile(r"""(?:environ(?:\.get\(|\[)|getenv\()\s*["'](LCT_[A-Z_]+)""")
    folders = ("long_context_tasks", "configs", "tests")
    found = {
        name
        for folder in folders
        for path in (REPOSITORY / folder).rglob("*.py")
        for name in read.findall(path.read_text(encoding="utf-8"))
    }
    assert found and not {name for name in found if not name.startswith("LCT_JUDGE_")} - set(
        known_variables()
    )


@pytest.mark.parametrize("text", ["lct_official", "lct_n.jsonl", r"C:\lct_n", "lct_n/x", "/tmp/lct_n"])
def test_names_that_are_no_options_are_no_variables(text: str) -> None:
    assert as_variables(f"{text}, lct_n") == f"{text}, LCT_N"


def test_a_wrong_length_is_named_as_it_was_given() -> None:
    with pytest.raises(InputError, match=r"^LCT_LENGTH 'abc' is not a length"):
        check_length(["niah_single_1"], "abc", "LCT_LENGTH")


def test_an_interrupted_host_says_how_to_go_on() -> None:
    code = "from long_context_tasks.hosts.messages import end_in_one_line; end_in_one_line(); raise KeyboardInterrupt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    [line] = done.stderr.splitlines()
    assert done.returncode and line.startswith("interrupted; lm-eval with --use_cache")
