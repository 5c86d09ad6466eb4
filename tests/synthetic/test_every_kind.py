"""Every kind of synthetic text: equal bytes for equal seeds, the requested length, no sentence of another seed."""

import hashlib
import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import KINDS

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.meeting import write_meeting
from long_context_tasks.tokens import cl100k_encoding


def _forum(seed: int) -> list[str]:
    asked = Requirements(seed)
    return [asked.question(), *map(asked.answer, range(9))]


def _written(name: str) -> str:
    if name == "forum":
        return json.dumps([_forum(seed) for seed in range(10)])
    if name == "meeting":
        meeting = write_meeting(20, 3000, 2)
        return "\n".join([meeting.transcript, *map(repr, meeting.questions)])
    # The hashes are older than the name of the class.
    return repr(KINDS[name].parts(KINDS[name].begin(5)(3000))).replace("WrittenStudy(", "Study(")


GOLDEN = {
    "abstracts": "0a88d755537331e5d5e77efb16a077e3959aa43e6e035c54d9fdb2ee9968c663",
    "review": "cf663c3903f4082aede4bf4aad2899a855c66bab41a11f497cc769e2e039ba21",
    "forum": "e92c5bd34e52fb5dbe420087b52f9e211ac2e302b217844beb61f29dbf92f860",
    "meeting": "7b919c27947b9ebf7d532da43da557867462cf4958401133446a428f2ac7fced",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_same_bytes_for_one_seed_in_every_process(name: str) -> None:
    assert hashlib.sha256(_written(name).encode()).hexdigest() == GOLDEN[name]


@pytest.mark.parametrize("name", KINDS)
@given(
    seed=st.integers(-(2**70), 2**70),
    lengths=st.lists(st.integers(1, 3000), min_size=2, max_size=2).map(sorted),
)
@settings(max_examples=15, deadline=None)
def test_a_longer_text_begins_with_the_shorter(name: str, seed: int, lengths: list[int]) -> None:
    kind = KINDS[name]
    short, long = (kind.parts(kind.begin(seed)(length)) for length in lengths)
    assert long[: len(short)] == short


MORE = {"abstracts": 600, "review": 720}
"""Tokens of a part at most, and of what does not grow."""


@pytest.mark.parametrize("name", KINDS)
def test_length_is_met_within_one_part(name: str) -> None:
    encoding = cl100k_encoding()
    for seed in range(12):
        size = len(encoding.encode(KINDS[name].shown(KINDS[name].begin(seed)(2000))))
        assert 2000 <= size < 2000 + MORE[name], seed


@pytest.mark.parametrize("length", [0, -5])
@pytest.mark.parametrize("name", KINDS)
def test_impossible_length(name: str, length: int) -> None:
    with pytest.raises(InputError, match="at least 1 token"):
        KINDS[name].begin(0)(length)


# What is compared -> seeds, tokens of each, fewest long sentences that there must be, most that two seeds may share.
COMPARED = {
    "abstracts": (40, 2000, 500, 1),  # a short sentence whose two numbers are small
    "review": (40, 1000, 250, 1),
    "meeting": (8, 8000, 400, 0),
}


def shared_sentences(texts: Iterable[str]) -> tuple[list[str], int]:
    """Sentences of more than 12 words that stand in two of the texts, and the number of all such sentences."""
    owner: dict[str, int] = {}
    shared, total = [], 0
    for number, text in enumerate(texts):
        for sentence in set(re.split(r"(?<=[.?!])[\"”]?\s+[\"“]?", text)):
            if len(sentence.split()) > 12:
                total += 1
                if owner.setdefault(sentence, number) != number:
                    shared.append(sentence)
    return shared, total


@pytest.mark.parametrize("name", COMPARED)
def test_seeds_share_no_long_sentence(name: str) -> None:
    seeds, length, fewest, most = COMPARED[name]

    def text(seed: int) -> str:
        if name == "meeting":  # without the speaker of a turn
            return re.sub(r"(?m)^\(PERSON\d+\) ", "", write_meeting(seed, length, 8).transcript)
        return KINDS[name].shown(KINDS[name].begin(seed)(length))

    shared, total = shared_sentences(map(text, range(seeds)))
    print(
        f"{name}: {len(shared)} of {total} sentences of more than 12 words stand under two seeds", shared[:5]
    )
    assert total > fewest and len(shared) <= most
