"""Gold answers of finished cases: readers that see the prompt alone come to the same answers, for every synthetic task.

For the figures in the docs, ``LCT_SYNTHETIC_CASES`` is the number of cases of each task at 2k, 8k, 16k and 128k, and
``LCT_SYNTHETIC_SEED`` their seed; without it cases are few. Every disagreement is printed with its case.
"""

import os
from typing import Any

import pytest
from case_readers import READERS, settled

from long_context_tasks.benchmarks.catalogue import load_task, synthetic_tasks
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT as STATED
from long_context_tasks.schema import Case, LoadedTask, Options

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

CASES = int(os.environ.get("LCT_SYNTHETIC_CASES", "0"))
SEED = int(os.environ.get("LCT_SYNTHETIC_SEED", "4"))
NUMBERS = {2000: 12, 16_000: 2, 64_000: 1}
if CASES:
    NUMBERS = dict.fromkeys((2000, 8000, 16_000, 128_000), CASES)
"""Length to number of cases."""
LENGTHS = pytest.mark.parametrize("length", NUMBERS)
MEETINGS = ("elitr_bench_qa_synthetic", "elitr_bench_conv_synthetic")


def load(name: str, length: int) -> LoadedTask:
    """A task as a host loads it."""
    task = load_task(name, Options(length=length, n=NUMBERS[length], seed=SEED))
    assert len(task.cases) == NUMBERS[length]
    return task


def asked(task: LoadedTask, case: Case) -> list[str]:
    """What the user says."""
    sent = task.whole_conversation(case) if task.is_conversation else task.messages(case)
    return [message.content for message in sent if message.role == "user"]


def response(found: Any, name: str) -> str:
    """The reader's answer in the words that the instruction asks for."""
    if isinstance(found, set):
        if "attribute" in name:
            return f"- Core IDs: {', '.join(f'[{mark}]' for mark in sorted(found))}"
        return "; ".join(sorted(found))
    return str(found)


def difference(found: Any, gold: Any) -> str:
    """What the reader says, and what the gold answer."""
    if isinstance(found, set):
        return f"only the reader: {sorted(found - gold)}; only gold: {sorted(gold - found)}"
    return f"reader {found}, gold {gold}"


def test_every_synthetic_task_is_checked() -> None:
    # The gold answers of these are checked where their benchmarks are tested.
    elsewhere = ("graph_walks", "needle", "openai_mrcr")
    tasks = {spec.name for spec in synthetic_tasks() if spec.benchmark not in elsewhere}
    assert tasks == {*READERS, *MEETINGS}


@LENGTHS
@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_the_prompt_confirms_the_gold_answer(name: str, length: int) -> None:
    task = load(name, length)
    wrong = 0
    for case in task.cases.cases:
        [prompt], [turn] = asked(task, case), case.turns
        found = READERS[name](prompt)
        # Where the order says nothing the reader gives a set.
        gold = set(turn.gold) if isinstance(found, set) else turn.gold
        scored = task.score(case, response(found, name), None)[task.metrics[0]].value
        assert (scored == 1) == (found == gold), (case.id, found, scored)
        if found != gold:
            wrong += 1
            print(f"{name} {case.id}: {difference(found, gold)}")
    print(f"{name}, {length} tokens: {wrong} of {NUMBERS[length]} otherwise")
    assert wrong == 0


@LENGTHS
@pytest.mark.parametrize("name", MEETINGS)
def test_a_reader_of_the_transcript_confirms_what_was_settled(name: str, length: int) -> None:
    task = load(name, length)
    wrong = total = 0
    for case in task.cases.cases:
        values = [[one["right"][0], *(forms[0] for forms in one["wrong"])] for one in case.inputs[STATED]]
        # In alphabetical order nothing tells which is right.
        found = settled(asked(task, case), [sorted(four) for four in values])
        for number, (turn, one) in enumerate(zip(case.turns, found, strict=True)):
            total += 1
            if one is None or one != values[number][0] or one.lower() not in turn.gold.lower():
                wrong += 1
                print(f"{name} {case.id}, question {number + 1}: reader {one}, gold {turn.gold}")
    print(f"{name}, {length} tokens: {wrong} of {total} questions otherwise")
    assert wrong == 0
