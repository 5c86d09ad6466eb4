"""Where the right answer stands in prompts: of real tasks from a seed, and of challenges of every form."""

from typing import Any

import pytest

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.benchmarks import catalogue, loading
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.results.case_pages import MOST, answer_places
from long_context_tasks.schema import InputError


def marked(task_name: str, **options: Any) -> list[tuple[Any, list[str]]]:
    """The gold of each case and the marked texts of its prompt."""
    task = loading.load_task(task_name, resolve_options({"lct_n": 2, **options}, {}))
    take_apart = catalogue.benchmark(catalogue.parse_task(task_name).benchmark).function("challenges")
    found = []
    for case in task.cases.cases:
        prompt = [(one.role, one.content) for one in task.whole_conversation(case)]
        places = answer_places(take_apart, case, task.cases.documents, prompt)
        assert places == tuple(sorted(places))
        found.append(
            ([turn.gold for turn in case.turns], [prompt[at][1][start:end] for at, start, end in places])
        )
    return found


def test_the_accepted_answer_is_marked_whole() -> None:
    task = loading.load_task("ada_leval_bestanswer_1k_synthetic", resolve_options({"lct_n": 2}, {}))
    texts = marked("ada_leval_bestanswer_1k_synthetic")
    for case, (gold, found) in zip(task.cases.cases, texts, strict=True):
        right = task.cases.documents[case.inputs["answers"][int(gold[0][1:]) - 1]]
        assert found == [right]


def test_values_of_meetings_and_words_of_lists_are_marked() -> None:
    for gold, found in marked("elitr_bench_qa_synthetic", lct_length="2k"):
        assert found and all(any(text.lower() in one.lower() for one in gold) for text in found)
    for gold, found in marked("ethic_recall_law_synthetic", lct_length="2k"):
        assert set(found) == set(gold[0])


def challenge(form: Any, **other: Any) -> Challenge:
    values: dict[str, Any] = {
        "context": "",
        "query": "",
        "options": (),
        "gold": (),
        "rests": (),
        "write": str,
    }
    return Challenge(form=form, **values | other)


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (challenge("choice", options=("one", "two"), gold=(1,)), ["two"]),
        (challenge("choice", options=("one", "cut away"), gold=(1,)), []),
        (challenge("choice", options=("", "two"), gold=(0,)), []),
        (challenge("subset", options=("one", "two"), gold=(0, 1)), ["one", "two"]),
        (challenge("list", gold=("a.c", "two")), ["two"]),
        (challenge("list", gold=()), []),
        (challenge("list", gold=("one", "one abc")), ["one abc"]),
        (challenge("order", options=("one", "two"), gold=(1, 0)), []),
        (challenge("choice", context="one abc two", options=("ONE", "other"), gold=(0, 1), mentions=((0,), (4,))), ["one", "abc"]),
        (challenge("choice", context="not there", options=("one",), gold=(0,), mentions=((0,),)), []),
    ],
)  # fmt: skip
def test_forms(found: Challenge, texts: list[str]) -> None:
    prompt = [("system", "short"), ("user", "say: one abc two")]
    places = answer_places(lambda *_: [found], None, None, prompt)  # type: ignore[arg-type]
    assert [prompt[at][1][start:end] for at, start, end in places] == texts


def test_many_places_and_none() -> None:
    many = [("user", "one " * 1000)]
    assert len(answer_places(lambda *_: [challenge("list", gold=("one",))], None, None, many)) == MOST  # type: ignore[arg-type]

    def cannot(*_: Any) -> Any:
        raise InputError("no")

    assert answer_places(cannot, None, None, many) == ()  # type: ignore[arg-type]


def test_a_number_is_no_part_of_a_longer_one() -> None:
    text = "38,130 crowns of 2.38, in 38. And 38, 139"
    found = answer_places(lambda *_: [challenge("list", gold=("38",))], None, None, [("user", text)])  # type: ignore[arg-type]
    assert [start for _, start, _ in found] == [26, 34]
