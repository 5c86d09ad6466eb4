"""Needle: one answer in each text, texts as long as asked, and a score for whatever a model says."""

import re

import pytest

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import LoadedTask, Options
from long_context_tasks.tokens import CL100K, get_tokenizer

FACT = re.compile(r"The favourite thing of (\w+) is the (\w+)\.")


def task_of(length: str, n: int = 12) -> LoadedTask:
    return load_task(f"needle_plain_{length}", Options(n=n))


@pytest.mark.parametrize(("length", "tokens"), [("500", 500), ("1k", 1000), ("8k", 8000)])
def test_a_text_has_one_fact_and_fills_the_length(length: str, tokens: int) -> None:
    task, places = task_of(length), set()
    for case in task.cases.cases:
        [message] = task.render(case, task.cases.documents)
        text, question = message.content.split("\n\n")
        [(person, thing)] = FACT.findall(text)
        assert f"of {person}?" in question and thing not in question and thing == case.turns[0].gold
        assert len(re.findall(rf"\b{person}\b", text)) == len(re.findall(rf"\b{thing}\b", text)) == 1
        count = get_tokenizer(CL100K).count(message.content)
        assert count == case.num_tokens[CL100K] and tokens - 16 <= count <= tokens
        sentences = text.removesuffix(".").split(". ")
        place = next(i for i, each in enumerate(sentences) if thing in each)
        assert case.turns[0].labels["place"] == f"{4 * place // len(sentences) * 25} %"
        places.add(place)
    assert len(places) > 6 and len({case.turns[0].gold for case in task.cases.cases}) > 6


@pytest.mark.parametrize(
    ("response", "score", "reason"),
    [
        (" {gold}.\nQuestion: What is the favourite thing of Anna?", 1.0, None),
        ("The most popular thing of Greta is the **{GOLD}**.", 1.0, None),
        ("{other}, no, {gold}", 0.0, None),
        ("the {gold}s of the town", 0.0, "unparsed"),
        ("I do not know.", 0.0, "unparsed"),
        ("", 0.0, "unparsed"),
        ("<think>It is {other}.</think>{gold}", 1.0, None),
        ("<think>It is the {gold}", 0.0, "answer_cut"),
    ],
)
def test_the_first_thing_that_is_named_counts(response: str, score: float, reason: str | None) -> None:
    task = task_of("500", 1)
    [case] = task.cases.cases
    gold = case.turns[0].gold
    other = "umbrella" if gold != "umbrella" else "anchor"
    said = response.format(gold=gold, GOLD=gold.upper(), other=other)
    found = task.score(case, said, None)["accuracy"]
    assert (found.value, found.reason) == (score, reason)


def test_a_case_that_does_not_fit_has_no_score() -> None:
    task = task_of("500", 1)
    score = task.score(task.cases.cases[0], None, "does_not_fit")["accuracy"]
    assert (score.value, score.reason) == (None, "does_not_fit")
