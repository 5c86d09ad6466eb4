"""What holds for every kind of synthetic text: the same bytes for a seed, its length, no sentence of another seed."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import KINDS
from synthetic_text_checks import CASES, shared_sentences

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic import (
    Requirements,
    write_abstracts,
    write_meeting,
    write_opinion_group,
    write_opinions,
    write_review,
)
from long_context_tasks.tokens import cl100k_encoding


def _answers(seed: int, number: int) -> list[str]:
    asked = Requirements(seed)
    texts = [text for one in range(number) for text in (asked.answer(one), asked.reply(one))]
    return [asked.question(), asked.postscript(), *texts]


def _meeting() -> str:
    meeting = write_meeting(20, 3000, 2)
    return "\n".join([meeting.transcript, *map(repr, meeting.questions)])


GOLDEN: dict[str, tuple[Callable[[], str], str]] = {
    "trials": (
        lambda: repr((write_abstracts(5, 3000), write_review(5, 3000))),
        "b3e7d0af5620b5dc4e95b8aba77b029712d947c1e53c7daa1bc8556a3b1adf94",
    ),
    "opinions": (
        lambda: repr((write_opinions(5, 3000), write_opinion_group(5, 3000))),
        "977c75e7c47183a0443983e1335fda0cf6d4dead129214ebdb487ecdcf6c3ee6",
    ),
    "forum": (
        lambda: json.dumps([_answers(seed, 9) for seed in range(10)]),
        "7c877a9a5279b06de2128645d91feb11d73b7f17a809d6d25d06d259e8d9a18d",
    ),
    "meeting": (_meeting, "5ab7dfac3d847f0286b953797d981f833bc159e036eb96245da463d8e1183082"),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_same_bytes_for_one_seed(name: str) -> None:
    write, golden = GOLDEN[name]
    assert hashlib.sha256(write().encode()).hexdigest() == golden


@pytest.mark.parametrize("name", KINDS)
def test_another_seed_gives_another_text(name: str) -> None:
    kind = KINDS[name]
    assert kind.write(1, 2000) == kind.write(1, 2000)
    assert kind.write(1, 2000) != kind.write(2, 2000)


@pytest.mark.slow
def test_same_bytes_in_another_process() -> None:
    """Nothing may depend on the order of sets, which changes from process to process."""
    program = (
        "import hashlib\n"
        "from kinds import KINDS\n"
        "text = ''.join(repr(kind.write(4, 8000)) for name, kind in KINDS.items())\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": folders},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.parametrize("name", [name for name in KINDS if name != "meeting"])
@given(
    seed=st.integers(-(2**70), 2**70),
    lengths=st.lists(st.integers(1, 3000), min_size=2, max_size=2).map(sorted),
)
@settings(max_examples=15, deadline=None)
def test_a_longer_text_begins_with_the_shorter(name: str, seed: int, lengths: list[int]) -> None:
    kind = KINDS[name]
    short, long = (kind.parts(kind.write(seed, length)) for length in lengths)
    assert long[: len(short)] == short


# Kind -> the lengths and seeds at which it is measured, and the most tokens of a text of a length.
BOUNDS: dict[str, tuple[tuple[int, ...], range, Callable[[int], float]]] = {
    "abstracts": ((2000,), range(12), lambda length: length + 600),
    "review": ((2000,), range(12), lambda length: length + 600),
    "opinions": ((2000,), range(12), lambda length: length + 400),
    "opinion group": ((2000,), range(12), lambda length: length + 700),
}


@pytest.mark.parametrize(("name", "length"), [(name, one) for name in BOUNDS for one in BOUNDS[name][0]])
def test_length_is_met_within_one_part(name: str, length: int) -> None:
    encoding = cl100k_encoding()
    kind, (_, seeds, most) = KINDS[name], BOUNDS[name]
    for seed in seeds:
        assert length <= len(encoding.encode(kind.shown(kind.write(seed, length)))) < most(length), seed


@pytest.mark.parametrize("length", [0, -5])
@pytest.mark.parametrize("name", KINDS)
def test_impossible_length(name: str, length: int) -> None:
    with pytest.raises(InputError, match=rf"{length} (?:tokens|threads)"):
        KINDS[name].write(0, length)


# What is compared -> seeds, tokens of each, fewest long sentences that there must be, most that two seeds may share.
COMPARED = {
    "abstracts": (range(CASES), 2000, 500, 1),  # a short sentence whose two numbers are small
    "opinions": (range(CASES), 2000, 500, 0),
    "opinion group": (range(CASES), 1500, 500, 3),  # of 1,800: short ones that an opening makes long
    "meeting": (range(8), 8000, 400, 0),
}


@pytest.mark.parametrize("name", COMPARED)
def test_seeds_share_no_long_sentence(name: str) -> None:
    seeds, length, fewest, most = COMPARED[name]
    kind = KINDS[name]

    def text(seed: int) -> str:
        written = kind.write(seed, length)
        more = {"abstracts": lambda: KINDS["review"].write(seed, 1000).background}
        more["opinion group"] = lambda: written.target.summary
        # Without the speaker of a turn.
        shown = re.sub(r"(?m)^\(PERSON\d+\) ", "", kind.shown(written))
        return f"{shown}\n{more.get(name, str)()}"

    shared, total = shared_sentences(map(text, seeds))
    print(
        f"{name}: {len(shared)} of {total} sentences of more than 12 words stand under two seeds", shared[:5]
    )
    assert total > fewest
    assert len(shared) <= most
