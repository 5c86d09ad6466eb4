"""Gold answers of finished cases: readers that see the prompt alone come to the same answers, for every synthetic task.

For the figures in the docs, ``LCT_SYNTHETIC_CASES`` is the number of cases of each task at 2k, 8k, 16k and 128k, and
``LCT_SYNTHETIC_SEED`` their seed; without it cases are few. Every disagreement is printed with its case.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from case_readers import READERS, settled

from long_context_tasks.benchmarks.elitr_bench.answers import INPUT as STATED
from long_context_tasks.benchmarks.ethic.prompts import sections_of
from long_context_tasks.benchmarks.ethic.scoring import fact_recall
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT as FACTS
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.lm_eval.generate import synthetic_tasks
from long_context_tasks.schema import Case, LoadedTask, Options
from long_context_tasks.synthetic.document import Fact

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("LCT_SYNTHETIC_CASES", "0"))
SEED = int(os.environ.get("LCT_SYNTHETIC_SEED", "4"))
NUMBERS = {2000: 12, 16_000: 2, 64_000: 1}
if CASES:
    NUMBERS = dict.fromkeys((2000, 8000, 16_000, 128_000), CASES)
"""Length to number of cases."""
LENGTHS = pytest.mark.parametrize("length", NUMBERS)
MEETINGS = ("elitr_bench_qa_synthetic", "elitr_bench_conv_synthetic")
SUMMARIES = tuple(f"ethic_summarize_{domain}_synthetic" for domain in GENRES)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


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
    assert {spec.name for spec in synthetic_tasks()} == {*READERS, *MEETINGS, *SUMMARIES}


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


@LENGTHS
@pytest.mark.parametrize("domain", GENRES)
def test_key_facts_of_a_section_are_stated_there(
    domain: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There always; by another section now and then, where a text comes back to the same thing."""
    # Every fact is looked for in every section.
    monkeypatch.setattr(fact_recall, "plain_words", lru_cache(256)(fact_recall.plain_words))
    name = f"ethic_summarize_{domain}_synthetic"
    task = load(name, length)
    facts = own = elsewhere = 0
    pairs: list[bool] = []
    for case in task.cases.cases:
        [turn], sections = case.turns, sections_of(case, task.cases.documents)
        assert list(sections) == turn.gold and all(sections.values())
        for marker, row in zip(turn.gold, case.inputs[FACTS], strict=True):
            for statement, groups, weight in row["facts"]:
                fact = Fact(statement, tuple(map(tuple, groups)), weight)
                besides = [states(text, fact) for other, text in sections.items() if other != marker]
                there = states(sections[marker], fact)
                assert states(statement, fact), fact
                facts, own, elsewhere = facts + 1, own + there, elsewhere + any(besides)
                pairs += besides
                if not there:
                    print(f"{name} {case.id} {marker}: not stated: {fact}")
    print(
        f"{name}, {length} tokens: {own} of {facts} key facts stated by their section, {100 * elsewhere / facts:.1f} % by any other too; "
        f"a single other section states {100 * sum(pairs) / len(pairs):.1f} %"
    )
    assert own == facts
    assert sum(pairs) < 0.15 * len(pairs)
