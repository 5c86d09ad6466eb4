"""No regular expression over files or responses takes time that grows with the square of the text."""

import os
import re
from collections.abc import Iterable

import pytest
from expressions import Attack, Expression, expressions, slow_attack

# Slow ones that stay, each with the reason.
KNOWN = {
    "tokens.chunks._LAST_WORD": "searches 12 characters",
    "corpora.debates._CONTINUES": "searches 200 characters",
    "corpora.forms._CUE": "reads 200 characters",
    "schema.extras._REQUIREMENT": "reads the metadata of this package",
    "gate.stacks._ADDRESS": "reads an argument of the command line",
}
# Rooms that read responses and foreign files, and are imported in a second; the hosts take ten.
FIRST = ("schema", "judges", "corpora", "benchmarks", "noise", "results")


def _slow(found: Iterable[Expression]) -> dict[str, Attack]:
    return {
        one.place: attack
        for one in found
        if one.place not in KNOWN and (attack := slow_attack(one)) is not None
    }


@pytest.mark.faults
@pytest.mark.skipif("LCT_FAULTS" not in os.environ, reason="`make faults` tries all of them")
def test_no_expression_is_slow_on_a_hostile_text() -> None:
    found = expressions()
    assert {one.place for one in found} >= KNOWN.keys()
    assert not _slow(found)


@pytest.mark.faults
@pytest.mark.slow  # some thirty thousand texts
def test_no_expression_over_responses_and_files_is_slow() -> None:
    found = expressions(FIRST)
    assert len(found) > 100
    assert not _slow(found)


@pytest.mark.slow
@pytest.mark.parametrize("text", [r"a*a*b", r"\[[^\]]*\]", r"(a|aa)+$", r"x\s+\s+y"])
def test_the_detector_finds_slow_expressions(text: str) -> None:
    assert slow_attack(Expression("here", re.compile(text), ("search",)), 1) is not None


def test_the_detector_passes_linear_expressions() -> None:
    assert slow_attack(Expression("here", re.compile(r"a+[bc]{1,20}\n"), ("match",))) is None
    assert Attack("x", "ab", "!").text(4) == "xabab!"
