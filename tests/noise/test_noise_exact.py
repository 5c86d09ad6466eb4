"""Noise of mode exact: the target as another library measures it, tags, lines, seeds."""

import re
import subprocess
import sys
from pathlib import Path

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.elitr_bench.archives import Archives
from long_context_tasks.noise import Rules, default_rules, inject, noise_seed, word_error_rate
from long_context_tasks.schema import InputError

TAGS = re.compile(r"\([A-Z]+\d*\)|\[[^\]\s]*\]|</?[^>\s]*>")
TARGETS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
LINE = "(PERSON4) So, we are going to discuss the [PROJECT2] demo with [PERSON10]'s colleagues on 17 June <laugh/>."
OTHERS = [
    "",
    "We will send you the paper tomorrow.",
    "  (PERSON1) Yeah.  ",
    "Uh-huh.",
    "(PERSON2) <unintelligible/>",
]
TEXT = "\n".join([LINE, *OTHERS] * 40)


def jiwer_rate(reference: str, hypothesis: str) -> float:
    return float(jiwer.wer(" ".join(reference.split()), " ".join(hypothesis.split())))


def assert_kept(before: str, after: str) -> None:
    """Compare the lines and, in each, the tags in their order."""
    for a, b in zip(before.split("\n"), after.split("\n"), strict=True):
        assert TAGS.findall(a) == TAGS.findall(b)
        assert bool(a.split()) == bool(b.split())


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_real_transcripts_reach_the_target_as_jiwer_measures_it(shared: Path, target: float) -> None:
    archives = Archives(shared / "data" / "elitr_bench")
    if not archives.folder.is_dir():
        pytest.skip(f"no {archives.folder}")
    transcripts = archives.transcripts("dev") | archives.transcripts("test")
    assert len(transcripts) == 18
    for key, text in transcripts.items():
        noisy = inject(text, default_rules(), target, noise_seed(0, key, target))
        measured = jiwer_rate(text, noisy.text)
        assert abs(measured - target) < 0.01, key
        assert measured == pytest.approx(noisy.measured_wer, abs=1e-12)
        assert_kept(text, noisy.text)


@pytest.mark.parametrize("target", TARGETS)
def test_a_text_with_every_kind_of_tag(target: float) -> None:
    noisy = inject(TEXT, default_rules(), target, 3)
    assert abs(jiwer_rate(TEXT, noisy.text) - target) < 0.01
    assert_kept(TEXT, noisy.text)
    for line in noisy.text.split("\n")[3::6]:
        assert line.startswith("  (PERSON1)") and line.endswith("  ")


def test_all_three_kinds_of_errors_occur() -> None:
    words = " ".join(["we will talk about the results of the last experiment and its data"] * 100)
    counts = jiwer.process_words(words, inject(words, default_rules(), 0.4, 1).text)
    assert min(counts.substitutions, counts.deletions, counts.insertions) > 10


def test_words_without_a_rule_become_words_that_sound_alike() -> None:
    rules = Rules({"speech": {"speech": 9, "peach": 1}, "night": {"night": 1}, "model": {"model": 1}})
    noisy = inject("knight " * 200, rules, 0.5, 1).text.split()
    assert "night" in noisy and set(noisy) <= {"knight", "night", "speech", "model"}


def test_a_higher_rate_holds_the_errors_of_a_lower_one() -> None:
    assert inject(TEXT, default_rules(), 0.0, 1).text == TEXT
    words = [f"word{n}" for n in range(400)]
    rules = Rules({word: {word: 9, f"{word}x": 1} for word in words}, language="xx")
    low, high = (inject("\n".join(words), rules, wer, 5).text.split("\n") for wer in (0.2, 0.5))
    changed = [n for n, line in enumerate(low) if line != words[n]]
    assert changed and all(high[n] == low[n] for n in changed)


def test_seeds_of_documents_and_rates_differ() -> None:
    seeds = {noise_seed(s, d, w) for s in (0, 1) for d in ("a", "b") for w in (0.2, 0.4)}
    assert len(seeds) == 8
    assert noise_seed(0, "meeting_en_dev_001", 0.2) == 1523853918
    assert len({inject(TEXT, default_rules(), 0.4, seed).text for seed in seeds}) == 8


def test_equal_bytes_in_every_process_and_after_other_texts() -> None:
    code = (
        "import sys; from long_context_tasks.noise import *; "
        "sys.stdout.write(inject(sys.stdin.read(), default_rules(), 0.6, 11).text)"
    )
    for text in ("something else first " * 30, TEXT):
        here = inject(text, default_rules(), 0.6, 11).text
    there = subprocess.run(
        [sys.executable, "-c", code], input=TEXT, capture_output=True, text=True, check=True
    )
    assert there.stdout == here


_WORD = st.sampled_from(
    ["yes", "No,", "the", "I", "I'm", "(PERSON1)", "[ORG2]s", "--", "17", "zyxglk", "Žluťoučký", "OK."]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(_WORD, max_size=6).map(" ".join), min_size=1, max_size=12),
    st.floats(0, 1),
    st.integers(0, 99),
)
def test_any_text(lines: list[str], wer: float, seed: int) -> None:
    text = "\n".join(lines)
    try:
        noisy = inject(text, default_rules(), wer, seed)
    except InputError as error:
        assert "no words" in str(error) or "not English" in str(error)
        return
    assert_kept(text, noisy.text)
    n = len(text.split())
    plain = [word for word in text.split() if word not in ("(PERSON1)", "[ORG2]s", "--")]
    if len(plain) > n / 2:
        assert abs(word_error_rate(text, noisy.text) - wer) <= max(2.5 / n, 0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TEXT, 1.2), "word error rate 1.2"),
        ((TEXT, float("nan")), "word error rate nan"),
        (("  \n ", 0.4), "no words"),
        (("(PERSON1) [PROJECT2] ...", 0.4), "only tags"),
        ((TEXT, 0.4, -1), "seed -1"),
        ((TEXT, 0.4, 0, "loud"), "mode 'loud'"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    text, *others = arguments
    with pytest.raises(InputError, match=re.escape(message)):
        inject(text, default_rules(), *others)  # type: ignore[arg-type]


def test_tags_of_other_transcripts_stay() -> None:
    line = "00:01:02.000 --> 00:01:09.000 (ANNA) Well {vocalsound} I saw the {disfmarker} road {gap}"
    noisy = inject(f"{line}\n" * 20, default_rules(), 0.8, 1).text
    for tag in ("00:01:02.000", "-->", "00:01:09.000", "(ANNA)", "{vocalsound}", "{disfmarker}", "{gap}"):
        assert noisy.split().count(tag) == 20, tag
