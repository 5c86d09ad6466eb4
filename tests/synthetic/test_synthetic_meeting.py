"""The synthetic meetings: form, length, gold answers, variety."""

import gzip
import itertools
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meeting_reader import answer, plain, rejects

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.meeting import POSITIONS, MeetingQuestion, SyntheticMeeting, write_meeting
from long_context_tasks.synthetic.meeting.points import TYPES, draw_values, kinds
from long_context_tasks.synthetic.wording import Dice
from long_context_tasks.tokens import CL100K, get_tokenizer

LINE = re.compile(r"(\(PERSON\d+\) )?\S.*")
TAG = re.compile(r"\[(?:PERSON|PROJECT|ORGANIZATION|LOCATION)\d+\]")


@cache
def short_meetings() -> tuple[tuple[SyntheticMeeting, MeetingQuestion], ...]:
    """One question each, from three hundred seeds."""
    meetings = [write_meeting(place, 950, 1, first=place) for place in range(304)]
    return tuple((meeting, meeting.questions[0]) for meeting in meetings)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**60),
    tokens=st.integers(700, 5000),
    number=st.integers(1, 8),
    first=st.integers(0, 99),
)
def test_a_meeting_has_the_length_and_the_form_that_are_asked_for(
    seed: int, tokens: int, number: int, first: int
) -> None:
    number = min(number, tokens // 350)
    meeting = write_meeting(seed, tokens, number, first=first)
    exact = get_tokenizer(CL100K).count(meeting.transcript)
    assert exact <= meeting.num_tokens <= tokens and exact >= tokens - 12
    assert all(LINE.fullmatch(line) and "  " not in line and "\u00a0" not in line for line in meeting.lines)
    assert meeting.lines[0].startswith("(PERSON")
    assert not re.search(r"[{}|]|\[(?!PERSON|PROJECT|ORGANIZATION|LOCATION)", meeting.transcript)
    assert [one.type for one in meeting.questions] == [TYPES[(first + place) % 4] for place in range(number)]
    for question in meeting.questions:
        assert len(set(question.options)) == 4 == len(question.forms)
        assert question.options[question.right].lower() in question.answer.lower()
        assert re.search(re.escape(question.options[question.right]), " ".join(meeting.lines), re.IGNORECASE)


@pytest.mark.parametrize("seeds", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_speakers_neither_answer_nor_name_themselves(seeds: int) -> None:
    """One speaker never follows on oneself, says one's own tag, or has a false start with a tag."""
    for seed in range(seeds):
        for meeting in (write_meeting(seed, 6000, 6), write_meeting(seed, 1500, 3)):
            turns = re.findall(r"(?m)^\((PERSON\d+)\) (.*(?:\n(?!\().*)*)", meeting.transcript)
            assert all(one[0] != other[0] for one, other in itertools.pairwise(turns))
            assert not any(f"[{speaker}]" in text for speaker, text in turns)
            assert "]-" not in meeting.transcript and "-[" not in meeting.transcript


def test_only_the_second_question_about_a_subject_omits_it() -> None:
    meeting = write_meeting(3, 8000, 8)
    assert [one.follow_up is None for one in meeting.questions] == [True, False] * 4
    for opening, next_one in zip(meeting.questions[::2], meeting.questions[1::2], strict=True):
        subject = re.findall(r"the \w[^?]*\[PROJECT\d+\]", opening.text)[-1]
        assert TAG.search(str(next_one.follow_up)) is None
        assert subject.rsplit(" the ", 1)[-1] in next_one.text


def test_types_and_positions_are_equally_frequent() -> None:
    counts = Counter((one.type, one.position) for _, one in short_meetings())
    assert set(counts) == set(itertools.product(TYPES, POSITIONS))
    assert max(counts.values()) - min(counts.values()) <= 4


def test_a_position_is_the_third_in_which_the_answer_is_settled() -> None:
    """Without the third that a position names, the reader finds no answer, or another one."""
    wrong = 0
    asked = [(meeting, one) for meeting, one in short_meetings() if one.position != "S"]
    for meeting, question in asked:
        third = POSITIONS.index(question.position)
        tokens, kept = 0, []
        for line in meeting.lines:
            if min(2, 3 * tokens // meeting.num_tokens) != third:
                kept.append(line)
            tokens += get_tokenizer(CL100K).count(line + "\n")
        kept = kept if kept[0].startswith("(") else [f"(PERSON1) {kept[0]}", *kept[1:]]
        wrong += answer("\n".join(kept), question.text, question.options) == question.options[question.right]
    assert wrong <= 0.02 * len(asked)


@pytest.mark.parametrize(("tokens", "number"), [(699, 1), (1000, 3), (5000, 0)])
def test_too_few_tokens_are_refused(tokens: int, number: int) -> None:
    with pytest.raises(InputError, match=r"cannot be written|too short"):
        write_meeting(0, tokens, number)


def test_values_that_were_not_taken_are_rejected() -> None:
    """What the reader looks for is there: stale notes name another value than the answer."""
    meetings = [write_meeting(seed, 6000, 6) for seed in range(6)]
    assert any(
        rejects(meeting.transcript, question.text, option)
        for meeting in meetings
        for question in meeting.questions
        for option in question.options
    )


def test_a_point_that_is_changed_later_has_another_answer_before() -> None:
    changed = 0
    for seed in range(12):
        meeting = write_meeting(seed, 6000, 4)
        half = "\n".join(meeting.lines[: len(meeting.lines) // 2])
        for question in meeting.questions:
            whole = answer(meeting.transcript, question.text, question.options)
            changed += answer(half, question.text, question.options) not in (None, whole)
    assert changed >= 3


def test_no_form_of_an_answer_is_part_of_another_answer() -> None:
    people = [f"[PERSON{number}]" for number in range(1, 25)]
    for seed in range(40):
        dice = Dice(Random(seed).random)
        for domain in sorted({one.domain for one in kinds()}):
            for one, other in itertools.permutations(draw_values(domain, 4, dice, people), 2):
                words = f" {plain(other.forms[0])} "
                assert not any(f" {plain(form)} " in words for form in one.forms), (domain, one, other)


def variety(text: str) -> tuple[float, float]:
    """Share of distinct 4-grams of words, and of bytes that gzip leaves."""
    words = text.split()
    grams = [tuple(words[place : place + 4]) for place in range(len(words) - 3)]
    return len(set(grams)) / len(grams), len(gzip.compress(text.encode(), 9)) / len(text.encode())


def test_the_text_is_nearly_as_varied_as_real_meetings() -> None:
    folder = Path(os.environ.get("LCT_SHARED", "../shared")) / "data"
    if not (folder / "elitr_bench").is_dir():
        pytest.skip("no real meetings: LCT_SHARED names no folder with data/elitr_bench")
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.schema import Options

    real = list(Archives.of(Options(data_dir=folder)).transcripts("dev").values())[:5]
    ours = [write_meeting(seed, 9000, 8).transcript for seed in range(5)]
    means = [
        [
            sum(part) / 5
            for part in zip(*(variety(" ".join(text.split()[:3000])) for text in texts), strict=True)
        ]
        for texts in (real, ours)
    ]
    assert means[1][0] > means[0][0] - 0.08 and means[1][1] > means[0][1] - 0.06
