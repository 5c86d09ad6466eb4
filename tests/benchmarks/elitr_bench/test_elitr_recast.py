"""Points that are settled within real meetings: lengths, gold answers, names, and what guesses score."""

import os
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from meeting_reader import answer, guesses, rejects

from long_context_tasks.benchmarks.elitr_bench.answers import INPUT, is_found
from long_context_tasks.benchmarks.elitr_bench.synthetic import _SENTENCE, FEWEST, RealTalk
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.corpora.meetings import clean, read_meetings
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.synthetic.meeting import write_meeting

SHARED = Path(os.environ.get("LCT_SHARED", "../shared")) / "data" / "qmsum"
QUESTIONS = int(os.environ.get("LCT_SYNTHETIC_CASES", "0"))  # read before a fixture clears the environment
QA, CONV = "elitr_bench_qa_recast", "elitr_bench_conv_recast"

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no real meetings: LCT_SHARED names no folder with data/qmsum"
)


@pytest.fixture
def carriers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of carriers with real meetings; what is written goes into an empty cache."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "carriers").mkdir()
    (tmp_path / "carriers" / "meetings").symlink_to(SHARED.resolve())
    return tmp_path / "carriers"


def _transcripts(task: LoadedTask) -> set[str]:
    return {task.cases.documents[str(case.document)] for case in task.cases.cases}


@pytest.mark.slow
@pytest.mark.parametrize(("length", "n"), [(1000, 4), (2000, 12), (8000, 16), (16_000, 8), (128_000, 8)])
def test_an_independent_reader_finds_the_gold_answers_within_the_length(
    length: int, n: int, carriers: Path
) -> None:
    """LCT_SYNTHETIC_CASES asks for so many questions of each length."""
    task = load_task(QA, Options(length=length, n=max(n, QUESTIONS), seed=6, carriers=carriers))
    right: Counter[str] = Counter()
    for case in task.cases.cases:
        assert 0.98 * length <= case.num_tokens["cl100k"] <= length
        transcript, question = task.cases.documents[str(case.document)], str(case.turns[0].question)
        (stated,) = case.inputs[INPUT]
        assert is_found(str(case.turns[0].gold), stated)
        options = [
            f"[{forms[0]}]" if forms[0].startswith("PERSON") else forms[0]
            for forms in (stated["right"], *stated["wrong"])
        ]
        gold, shown = options[0], sorted(options)
        assert answer(transcript, question, shown) == gold, (case.id, question)
        assert not rejects(transcript, question, gold)
        for name, place in guesses(transcript, question, shown).items():
            right[name] += shown[place] == gold
    print(length, len(task.cases), {name: round(count / len(task.cases), 2) for name, count in right.items()})


@pytest.mark.slow
def test_people_of_a_point_speak_in_the_meeting_and_no_name_of_the_carrier_is_left(carriers: Path) -> None:
    task = load_task(QA, Options(length=6000, n=12, seed=2, carriers=carriers))
    names = {
        word
        for meeting in read_meetings(SHARED)
        for speaker, _ in meeting.turns
        for word in re.findall(r"[A-Z][a-zâ-ÿ]{5,}", speaker.partition("(")[0])
    } - {"Project", "Manager", "Marketing", "Industrial", "Designer", "Interface", "Professor", "Postdoc"}
    for text in _transcripts(task):
        speaking = set(re.findall(r"^\((PERSON\d+)\)", text, re.MULTILINE))
        assert len(speaking) >= FEWEST
        assert all(line and not line.endswith(" ") for line in text.split("\n"))
        left = {word for word in re.findall(r"[A-Z]\w+", text) if word in names}
        assert len(left) <= 2, left  # words that are names and something else, such as a town


def test_conversations_ask_what_questions_ask_and_seeds_differ(carriers: Path) -> None:
    options = Options(length=3000, n=3, carriers=carriers)
    single, talk = load_task(QA, options), load_task(CONV, Options(length=3000, n=1, carriers=carriers))
    assert [str(case.turns[0].gold) for case in single.cases.cases] == [
        str(turn.gold) for turn in talk.cases.cases[0].turns
    ]
    other = load_task(QA, Options(length=3000, n=3, seed=1, carriers=carriers))
    assert not _transcripts(single) & _transcripts(other)


@pytest.mark.slow
def test_a_meeting_is_the_same_for_the_same_seed_and_goes_on_with_another_one(carriers: Path) -> None:
    talks = partial(RealTalk, carriers / "meetings", 5)
    assert write_meeting(3, 40_000, 8, talks=talks) == write_meeting(3, 40_000, 8, talks=talks)


def test_what_has_no_meetings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meetings is missing.*lct data fetch"):
        load_task(QA, Options(length=2000, n=1, carriers=tmp_path))
    (tmp_path / "meetings").mkdir()
    with pytest.raises(InputError, match="there is no meeting"):
        load_task(QA, Options(length=2000, n=1, carriers=tmp_path))
    row = '{"meeting_transcripts": [{"speaker": "A", "content": "One ."}]}'
    (tmp_path / "meetings" / "few.jsonl").write_text(row)
    with pytest.raises(InputError, match=f"speak {FEWEST} people or more"):
        load_task(QA, Options(length=2000, n=1, carriers=tmp_path))


def test_what_was_said_is_written_in_ordinary_spelling() -> None:
    assert clean("Well , {vocalsound} I 'm {disfmarker} the L_C_D_ , you know ?") == (
        "Well, <laugh/> I'm - the LCD, you know?"
    )


def test_lines_of_a_meeting_do_not_end_behind_a_title() -> None:
    assert _SENTENCE.split("Thank you. Mr. Roe and Ms. May came to St. John. He left.") == [
        "Thank you.",
        "Mr. Roe and Ms. May came to St. John.",
        "He left.",
    ]
