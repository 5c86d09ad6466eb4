"""Variants change what they say and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ada_leval import AdaLevalOptions
from long_context_tasks.benchmarks.ada_leval import data as variants
from long_context_tasks.schema import Case, Turn


def _case(n: int, gold: int) -> Case:
    answers = [f"k{j}" for j in range(1, n + 1)]
    return Case("1_A", "t", {"question": "q", "answers": answers}, (Turn(f"A{gold}"),), "1", {"cl100k": 9})


@given(
    st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.sampled_from(variants.POSITIONS),
)
def test_the_accepted_answer_moves_and_the_others_keep_their_order(
    size: tuple[int, int], position: str
) -> None:
    n, gold = size
    [case] = variants.apply([_case(n, gold)], position, AdaLevalOptions())
    place = int(case.turns[0].gold[1:])
    assert case.inputs["answers"][place - 1] == f"k{gold}"
    assert [key for key in case.inputs["answers"] if key != f"k{gold}"] == [
        f"k{j}" for j in range(1, n + 1) if j != gold
    ]
    assert place == {"front": 1, "mid": n // 2 + 1, "rear": n}[position]
    assert case.id == "1_A" and case.labels["position"] == position


def test_nodoc_leaves_the_question_out() -> None:
    [case] = variants.apply([_case(3, 2)], "nodoc", AdaLevalOptions())
    assert case.inputs == {"question": None, "answers": ["k1", "k2", "k3"]}
    assert case.turns[0].gold == "A2"


def test_cut_carries_its_size_and_side() -> None:
    [case] = variants.apply([_case(3, 2)], "cut4k", AdaLevalOptions(cut_keep="rear"))
    assert case.inputs["cut"] == {"tokens": 4000, "keep": "rear"}


def test_no_variant_changes_nothing() -> None:
    cases = [_case(3, 2), _case(4, 1)]
    assert variants.apply(cases, "", AdaLevalOptions()) == cases
    assert variants.apply(cases, "synthetic", AdaLevalOptions()) == cases
