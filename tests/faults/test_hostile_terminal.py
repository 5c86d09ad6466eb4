"""What results and files of others hold reaches a terminal without its control characters.

Pages in a real browser: tests/site/test_site_looks.py.
"""

import unicodedata
from pathlib import Path

import pytest
from collected_runs import Run, simple, write_lm_eval
from needs import needs
from run_commands import Said, lct

from long_context_tasks.schema.files import visible

pytestmark = pytest.mark.faults

HOSTILE = "owl\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.\x7f\r"
"""Sets the window's title, clears the screen, turns red, and shows a name backwards."""


def assert_harmless(said: Said) -> None:
    text = said.out + said.err
    odd = {char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs")}
    assert not odd and "owl" in text


@needs("polars")
@pytest.mark.parametrize("command", [("report",), ("report", "compare", "--model", "crow")])
def test_names_in_results(tmp_path: Path, command: tuple[str, ...]) -> None:
    for model in (HOSTILE, "crow"):
        write_lm_eval(tmp_path, Run(simple([1.0, 0.0] * 3), model=model))
    more = ["--model", HOSTILE] if "compare" in command else []
    assert_harmless(lct(*command, tmp_path, *more))


def test_names_in_errors(tmp_path: Path) -> None:
    said = lct("judge", "run", tmp_path / HOSTILE)
    assert said.code == 2
    assert_harmless(said)


def test_names_in_errors_do_not_begin_lines(tmp_path: Path) -> None:
    for words in (("judge", "run"), ("report",), ("report", "check")):
        said = lct(*words, tmp_path / "x\n::error::forged.zip")
        assert said.code == 2 and "\n::" not in said.err and "\\n::error::forged" in said.err


def test_plain_texts_stay() -> None:
    text = "Größe: 3 %\n\tnaïve — 長い \U0001f600"
    assert visible(text) == text
