"""A toy benchmark of another package: cases of a folder, answers that repeat a word, orders of three segments.

``toy/`` holds the metadata that make it an installed package; see :mod:`plugins`.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    CaseWriter,
    Documents,
    InputError,
    LoadedTask,
    Message,
    Options,
    Score,
    Turn,
)
from long_context_tasks.schema.card import Card

PACKAGE = Path(__file__).with_name("toy")
"""Folder that makes the benchmark known when it is on the path."""


class Toy(Benchmark):
    card = Card.parse(
        """
name: toy
title: Toy
metrics: {strict_accuracy: right, random_guess: guessing}
tasks:
  1k:
    source: built
    headline: strict_accuracy
    chance: 0.5
    variants:
      - {name: ppl, scoring: likelihood}
""",
        "the toy card",
    )

    def load_task(self, name: str, options: Options) -> LoadedTask:
        return load_task(name, options)


BENCHMARK = Toy()


def write_cases(folder: Path, texts: Sequence[str]) -> Path:
    """A folder with one case for each text; the gold answer is ``yes``."""
    with CaseWriter(folder, {}) as writer:
        writer.add_documents((f"d{i}", text) for i, text in enumerate(texts))
        writer.add_cases(
            "toy_1k",
            [Case(f"c{i}", "toy_1k", {"text": f"d{i}"}, (Turn("yes"),), f"d{i}") for i in range(len(texts))],
        )
    return folder


def render(case: Case, documents: Documents) -> list[Message]:
    return [Message("user", documents[case.inputs["text"]])]


def score(case: Case, response: str | None, status: str | None) -> CaseScores:
    if response is None:
        return {"strict_accuracy": Score(None, status), "random_guess": Score(None, status)}
    right = response.strip() == case.turns[0].gold
    return {"strict_accuracy": Score(float(right), None if right else "unparsed"), "random_guess": Score(0.5)}


def candidates(case: Case, documents: Documents) -> list[str]:
    words = documents[case.inputs["text"]].split("\n\n")
    return ["\n\n".join(["Once.", *order, "The end."]) for order in itertools.permutations(words)]


def score_candidates(
    case: Case, values: Sequence[float] | None, counts: Sequence[int] | None, status: str | None
) -> CaseScores:
    if values is None:
        return {"strict_accuracy": Score(None, status)}
    return {"strict_accuracy": Score(float(max(values) == values[0]))}


def load_task(name: str, options: Options) -> LoadedTask:
    if options.cases is None:
        raise InputError("toy: give lct_cases")
    cases = CaseSet.read(options.cases, "toy_1k")
    cases = cases.selected(cases.cases[: options.n])
    ppl = name.endswith("ppl")
    return LoadedTask(
        name=name,
        version=1,
        options=options,
        cases=cases,
        metrics=("strict_accuracy",) if ppl else ("strict_accuracy", "random_guess"),
        intervals=("strict_accuracy",),
        answer_budget=0 if ppl else options.answer_budget or 8,
        render=render,
        score=score,
        candidates=candidates if ppl else None,
        score_candidates=score_candidates if ppl else None,
    )
