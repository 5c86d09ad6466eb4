"""Misspelt LCT_ variables are named, known ones and those of other programs are not."""

import logging
import re
from pathlib import Path

import pytest

from long_context_tasks.hosts.messages import (
    known_variables,
    misspelt_variables,
    warn_of_misspelt_variables,
)

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
