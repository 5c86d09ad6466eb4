"""Constraint matching: one answer meets every requirement, others miss one to three, and shortcuts do not help."""

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from forum_reader import choose, constrained_twice, met, recommended, wishes

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import Options
from long_context_tasks.synthetic.forum import KINDS, POINTS, Requirements, kinds

NUMBER = int(os.environ.get("LCT_SYNTHETIC_CASES", "0"))  # read before a fixture clears the environment


@pytest.mark.slow
def test_every_answer_but_the_accepted_one_misses_one_to_three_requirements() -> None:
    relations: Counter[str] = Counter()
    more, most = Counter[bool](), 0
    for seed in range(150):
        asked = Requirements(seed)
        wanted = wishes(asked.question())
        assert [(one[1], *map(str, one[2])) for one in wanted] == [
            (one.relation, *map(str, one.values)) for one in asked.points
        ]
        assert 1 <= sum(one.trait in kinds() for one in asked.points) <= KINDS
        relations.update(one.relation for one in asked.points)
        missed: Counter[int] = Counter()
        for number in range(25):
            text = asked.answer(number)
            spec = recommended(text)
            wrong = [place for place, wish in enumerate(wanted) if not met(wish, spec)]
            assert {*wrong} == asked.missed(number) and (number == 0) == (not wrong), text
            missed.update(wrong)
            most = max(most, len(wrong))
        # Each is missed in turn; two are missed by more, of which the values do not tell what is asked for.
        assert (
            min(missed.values()) == 3 and sorted(missed.values())[POINTS - 3] == 3 and len(missed) == POINTS
        )
        more.update(times > 3 for times in missed.values())
    assert most == 3 and more[True] > 1.7 * 150
    assert min(relations.values()) > 60 and len(relations) == 5


def test_questions_and_answers_depend_on_nothing_that_was_written_before() -> None:
    first, second = Requirements(4), Requirements(4)
    later = second.answer(7)
    assert [first.question(), first.answer(2), first.answer(7)] == [
        second.question(),
        second.answer(2),
        later,
    ]
    assert Requirements(5).question() != first.question()


@pytest.mark.slow
def test_right_and_wrong_answers_look_alike() -> None:
    texts = [[asked.answer(0), asked.answer(1)] for asked in map(Requirements, range(2000))]
    for measure in (len, lambda text: text.count("."), lambda text: len(re.findall(r"\d", text))):
        gaps = [measure(right) - measure(wrong) for right, wrong in texts]
        assert abs(fmean(gaps)) < 4 * pstdev(gaps) / len(gaps) ** 0.5


@pytest.mark.parametrize("number", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_two_sentences_of_a_question_concern_one_property(number: int) -> None:
    """Neither two requirements nor a requirement and what the asker adds: each case has some of these sentences."""
    for asked in map(Requirements, range(number)):
        question = asked.question(" ".join(asked.asides()))
        assert constrained_twice(question) == []
        assert len(wishes(question)) == POINTS
    assert constrained_twice(
        "Never mind the colour, it is in the dark. It has to be cream. It must run on tar."
    )


def test_asides_say_nothing_of_parts() -> None:
    said = Requirements(1).asides()
    assert len(said) == len(set(said)) >= 18
    assert not any(wishes(sentence) for sentence in said)
    assert all(sentence[0].isupper() and sentence[-1] in ".?!" for sentence in said)


@dataclass(frozen=True)
class Case:
    """A question with the answers that are shown."""

    question: str
    answers: Sequence[str]
    gold: int


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


def cases_of(length: int, number: int, seed: int) -> list[Case]:
    task = load_task("ada_leval_bestanswer_any_synthetic", Options(length=length, n=number, seed=seed))
    texts = task.cases.documents
    return [
        Case(
            texts[case.inputs["question"]],
            [texts[key] for key in case.inputs["answers"]],
            int(case.turns[0].gold[1:]) - 1,
        )
        for case in task.cases.cases
    ]


@pytest.mark.slow
def test_a_thousand_cases_have_one_right_answer() -> None:
    for case in cases_of(2000, 1000, 12):
        assert constrained_twice(case.question) == []
        assert choose(case.question, case.answers) == [case.gold]


@cache
def words(text: str) -> Counter[str]:
    """The words of a text."""
    return Counter(re.findall(r"\w+", text.lower()))


def tf_idf(case: Case) -> list[int]:
    """The answers most like the question."""
    found = Counter(word for answer in case.answers for word in set(words(answer)))
    weight = {word: math.log((1 + len(case.answers)) / (1 + number)) + 1 for word, number in found.items()}

    def likeness(answer: str) -> float:
        own, asked = words(answer), words(case.question)
        size = math.sqrt(sum((number * weight[word]) ** 2 for word, number in own.items()))
        return sum(own[word] * asked[word] * weight[word] ** 2 for word in own.keys() & asked.keys()) / size

    return best(case, likeness)


def best(case: Case, measure: Callable[[str], float]) -> list[int]:
    """The places of the answers that a measure ranks highest."""
    ranks = [measure(answer) for answer in case.answers]
    return [place for place, rank in enumerate(ranks) if rank == max(ranks)]


ATTACKERS: dict[str, Callable[[Case], list[int]]] = {
    "first half of the question": lambda case: choose(case.question, case.answers, slice(POINTS // 2)),
    "second half of the question": lambda case: choose(case.question, case.answers, slice(POINTS // 2, None)),
    "word overlap": lambda case: best(case, lambda one: len(words(one).keys() & words(case.question).keys())),
    "tf-idf": tf_idf,
    "longest": lambda case: best(case, len),
    "shortest": lambda case: best(case, lambda one: -len(one)),
    "first": lambda case: [0],
    "last": lambda case: [len(case.answers) - 1],
    "constant": lambda case: [1],
}


@pytest.mark.slow
@pytest.mark.parametrize(("length", "number"), [(1000, 100), (2000, 100), (16_000, 30), (128_000, 4)])
def test_no_attacker_is_fifteen_points_above_chance(length: int, number: int) -> None:
    """A reader of the whole case is right. LCT_SYNTHETIC_CASES sets the number of cases of each length."""
    cases = cases_of(length, NUMBER or number, 77)
    chance = fmean(1 / len(case.answers) for case in cases)
    scores = {
        name: round(
            fmean((case.gold in found) / max(1, len(found)) for case in cases for found in [attack(case)]), 3
        )
        for name, attack in ATTACKERS.items()
    }
    print(length, f"n {len(cases)} chance {chance:.3f}", scores)
    few = cases[: max(4, 200_000 // length)]
    assert all(choose(case.question, case.answers) == [case.gold] for case in few)
    error = (chance * (1 - chance) / len(cases)) ** 0.5
    # At 1k three or four answers are shown, of which half a question leaves two.
    most = chance + (0.15 if length > 1000 else 0.35) + 2 * error
    assert all(score < most for score in scores.values()), scores
