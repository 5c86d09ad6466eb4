"""The audit finds known weaknesses and invents none: an attacker with the answer is right, and one with another question is not."""

from statistics import fmean
from typing import Any

import pytest
from tiny_carriers import write_carriers

from long_context_tasks.benchmarks.ada_leval.prompts import sorting_texts

BEST_ANSWER, QUESTIONS, TSORT = (
    "ada_leval_bestanswer_any_synthetic", "elitr_bench_qa_synthetic", "ada_leval_tsort_any_recast"
)  # fmt: skip
RECALL, ATTRIBUTE = "ethic_recall_medicine_synthetic", "ethic_attribute_medicine_synthetic"
ORGANIZE = ("ethic_organize_books_recast", "ethic_organize_debates_recast")


def told(name: str, gold: Any) -> str:
    """The accepted answer as a response."""
    if name in (BEST_ANSWER, TSORT):
        return f"Answer: {gold}"
    if name in (ATTRIBUTE, *ORGANIZE):
        return "- Core IDs: " * (name == ATTRIBUTE) + ", ".join(f"[{one}]" for one in gold)
    return gold if isinstance(gold, str) else "; ".join(gold)


@pytest.fixture(scope="module")
def carriers(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_carriers(tmp_path_factory.mktemp("carriers")))


def attackers(name: str, carriers: str, n: int) -> list[Any]:
    """The attackers of a task, which have learned from n cases of another seed."""
    from run_audit import TARGETS, questions

    target = TARGETS[name]
    known = questions(target.known or name, "2k", 22, n, carriers) if target.learners else []
    return [*target.attackers.values(), *(learn(known) for learn in target.learners.values())]


def test_an_attacker_with_the_answer_is_right(carriers: str) -> None:
    from run_audit import TARGETS, questions

    for name in TARGETS:
        found = questions(name, "2k", 21, 3, carriers)
        assert [one.score(told(name, one.gold)) for one in found] == [1] * len(found), name


@pytest.mark.slow
@pytest.mark.parametrize("name", [BEST_ANSWER, QUESTIONS, RECALL, ATTRIBUTE, *ORGANIZE])
def test_answers_to_another_question_score_chance(name: str, carriers: str) -> None:
    from run_audit import TARGETS, chance, questions

    found = questions(name, "2k", 21, 24, carriers)
    others = [*found[9:], *found[:9]]
    for attack in attackers(name, carriers, 24):
        responses = [attack(one.prompt) for one in found]
        wrong = [other.score(response) for other, response in zip(others, responses, strict=True)]
        assert fmean(wrong) <= chance(TARGETS[name], found) + 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [(BEST_ANSWER, 0.15), (QUESTIONS, 0.5), (RECALL, 0.8)])
def test_the_attackers_find_the_known_weaknesses(name: str, least: float, carriers: str) -> None:
    from run_audit import questions, scores

    found = questions(name, "2k", 21, 40, carriers)
    assert max(fmean(scores(attack, found)) for attack in attackers(name, carriers, 40)) > least


@pytest.mark.slow
def test_the_order_with_the_likeliest_joints_is_taken(carriers: str) -> None:
    from joint_reader import JointReader
    from run_audit import questions

    class Original(JointReader):
        """Reads characters, and knows the original text."""

        def __init__(self, text: str) -> None:
            self.text = text

        def tokens(self, text: str) -> list[int]:
            return list(map(ord, text))

        def log_likelihoods(self, left: list[int], rights: list[list[int]]) -> list[float]:
            return [float("".join(map(chr, left + right)) in self.text) for right in rights]

    for question in questions(TSORT, "2k", 21, 3, carriers):
        before, segments, after = sorting_texts(question.case, question.task.cases.documents)
        original = "\n\n".join([before, *(segments[part - 1] for part in question.gold), after])
        assert question.score(Original(original).answer(question.prompt)) == 1
