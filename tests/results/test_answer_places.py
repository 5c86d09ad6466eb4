"""Where prompts read like the accepted answer: of real tasks from a seed, and of answers of every form."""

from typing import Any

import pytest

from long_context_tasks.benchmarks import loading
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.results.case_pages import MOST_PLACES, answer_places
from long_context_tasks.schema import Case, Turn


def marked(task_name: str, **options: Any) -> list[tuple[Any, list[str]]]:
    """The gold of each case and the marked texts of its prompt."""
    task = loading.load_task(task_name, resolve_options({"lct_n": 2, **options}, {}))
    found = []
    for case in task.cases.cases:
        prompt = [(one.role, one.content) for one in task.whole_conversation(case)]
        places = answer_places(case, prompt)
        assert places == tuple(sorted(places))
        found.append(
            ([turn.gold for turn in case.turns], [prompt[at][1][start:end] for at, start, end in places])
        )
    return found


def test_values_of_meetings_words_of_lists_and_names_of_answers_are_marked() -> None:
    for gold, found in marked("elitr_bench_qa_synthetic", lct_length="2k"):
        assert found and {text.lower() for text in found} == {one.lower() for one in gold}
    for gold, found in marked("ethic_attribute_medicine_synthetic", lct_length="2k"):
        assert set(found) == set(gold[0])
    for gold, found in marked("ethic_recall_medicine_synthetic", lct_length="2k"):
        # Texts say some of the numbers in words, or with a comma.
        assert len(set(found)) > len(gold[0]) / 3 and set(found) < set(gold[0])
    for gold, found in marked("ada_leval_bestanswer_1k_synthetic"):
        assert set(found) == set(gold)


def places(gold: Any, text: str) -> list[str]:
    """The marked texts of the second message of a prompt."""
    prompt = [("system", "short"), ("user", text)]
    found = answer_places(Case("c", "toy", {}, (Turn(gold),), "c"), prompt)
    return [prompt[at][1][start:end] for at, start, end in found]


@pytest.mark.parametrize(
    ("gold", "texts"),
    [
        ("two", ["two"]),
        ("other", []),
        ("", []),
        (["a.c", "two"], ["two"]),
        ([], []),
        (["one", "one abc"], ["one abc"]),
        (["ONE"], ["one"]),
        (["7"], ["7"]),
        (["2", "1"], []),
        ([2, 1], []),
        (None, []),
    ],
)
def test_forms(gold: Any, texts: list[str]) -> None:
    assert places(gold, "say: one abc two, [1] 7 [2]") == texts


def test_many_places() -> None:
    assert len(places(["one"], "one " * 1000)) == MOST_PLACES


def test_a_number_is_no_part_of_a_longer_one() -> None:
    assert places(["38"], "38,130 crowns of 2.38, in 38. And 38, 139") == ["38", "38"]
