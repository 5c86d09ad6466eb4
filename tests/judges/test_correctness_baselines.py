"""ROUGE-L and exact match as raters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rouge_score", reason="rouge-score (extra agreement) is not installed")

from long_context_tasks.orca.study.baselines import exact_match, references_of, rouge_l, squad_normalised


def by_hand(reference: list[str], candidate: list[str]) -> float:
    """F-measure of the longest common subsequence, from the definition."""
    table = [[0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    for i, a in enumerate(reference):
        for j, b in enumerate(candidate):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    common = table[-1][-1]
    if not common:
        return 0.0
    precision, recall = common / len(candidate), common / len(reference)
    return 2 * precision * recall / (precision + recall)


WORDS = st.lists(st.sampled_from(["a", "be", "cat", "dogs", "7"]), min_size=1, max_size=8)


@given(WORDS, WORDS, WORDS)
@settings(deadline=None)  # the first call loads rouge-score
def test_rouge_l_is_the_best_over_references(
    first: list[str], second: list[str], candidate: list[str]
) -> None:
    expected = max(by_hand(first, candidate), by_hand(second, candidate))
    assert rouge_l(f"{' '.join(first)} / {' '.join(second)}", " ".join(candidate)) == pytest.approx(expected)


def test_rouge_l_of_a_text_that_it_cannot_read_is_missing() -> None:
    assert rouge_l("会議", "会議") is None
    assert rouge_l("会議 / meeting", "a meeting") == pytest.approx(2 / 3)
    assert rouge_l("meeting", "") == 0


def test_exact_match() -> None:
    assert squad_normalised(" The  Cat's; hat. ") == "cats hat"
    assert exact_match("the cat / A dog", "Dog!") == 1
    assert exact_match("cat", "it is the cat") == 0
    assert exact_match("theory", "ory") == 0
    assert references_of(" / ") == [" / "] and references_of("a/b") == ["a/b"]
