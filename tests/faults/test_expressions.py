"""No regular expression takes time that grows with the square of the text."""

import re

import pytest
from expressions import Attack, Expression, expressions, slow_attack

# Slow ones that stay, each with the reason.
KNOWN = {
    "tokens.chunks._LAST_WORD": "searches 12 characters",
    "benchmarks.ethic.build.citations._NAME": "searches 120 characters",
    "corpora.debates._CONTINUES": "searches 200 characters",
    "corpora.forms._CUE": "reads 200 characters",
    "schema.extras._REQUIREMENT": "reads the metadata of this package",
    "gate.stacks._ADDRESS": "reads an argument of the command line",
}


@pytest.mark.faults
@pytest.mark.slow  # sixty thousand texts
def test_no_expression_is_slow_on_a_hostile_text() -> None:
    found = expressions()
    assert {one.place for one in found} >= KNOWN.keys()
    assert not {
        one.place: attack
        for one in found
        if one.place not in KNOWN and (attack := slow_attack(one)) is not None
    }


@pytest.mark.slow
@pytest.mark.parametrize("text", [r"a*a*b", r"\[[^\]]*\]", r"(a|aa)+$", r"x\s+\s+y"])
def test_the_detector_finds_slow_expressions(text: str) -> None:
    assert slow_attack(Expression("here", re.compile(text), ("search",))) is not None


def test_the_detector_passes_linear_expressions() -> None:
    assert slow_attack(Expression("here", re.compile(r"a+[bc]{1,20}\n"), ("match",))) is None
    assert Attack("x", "ab", "!").text(4) == "xabab!"
