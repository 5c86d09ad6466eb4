"""Tiny tasks whose weakness is known: an attackable one is caught by the attacker that should, an honest one passes."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.audit.overlap import masked_grams, masked_overlap, real_grams, real_texts
from long_context_tasks.audit.run import CONSTANT, FIRST_HALF, UNDERSTANDING, Audit, Questions, audit
from long_context_tasks.schema import Case, Documents, LoadedTask, Options, Score, Turn
from long_context_tasks.schema.case_folder import CaseSet

FILLER = [
    "the",
    "river",
    "ran",
    "by",
    "and",
    "some",
    "people",
    "went",
    "on",
    "with",
    "what",
    "there",
    "was",
    "to",
    "do",
    "on",
    "such",
    "a",
    "day",
]
NAMES = [
    "".join(parts)
    for parts in itertools.product(
        ("Bra", "Kel", "Tor", "Win", "Pel"), ("da", "mi", "ro", "su"), ("n", "th", "k")
    )
]
Make = Callable[[Random], Challenge]


def f1(gold: Sequence[Any], answer: Sequence[Any]) -> float:
    return 2 * len({*gold} & {*answer}) / max(1, len({*gold}) + len({*answer}))


def exact(gold: Sequence[Any], answer: Sequence[Any]) -> float:
    return float(list(gold) == list(answer))


def questions(make: Make, seed: int, n: int = 60) -> Questions:
    """Cases of a handmade task, scored by F1 (words, several options) or as right or wrong."""
    challenges = {f"c{at}": make(Random(f"{seed} {at}")) for at in range(n)}
    cases = [Case(name, "toy", {}, (Turn(list(one.gold)),), name) for name, one in challenges.items()]

    def score(case: Case, response: str | None, status: str | None) -> dict[str, Score]:
        measure = f1 if challenges[case.id].form in ("list", "subset") else exact
        return {"right": Score(measure(case.turns[0].gold, json.loads(response or "[]")))}

    found = CaseSet(cases, Documents(Path("none")), {})
    task = LoadedTask(
        "toy", 1, Options(), found, ("right",), ("right",), 9, lambda case, documents: [], score
    )
    return Questions.of(task, lambda case, documents: [challenges[case.id]])


def audited(make: Make) -> Audit:
    return audit(questions(make, 1), questions(make, 2).challenges, UNDERSTANDING, "1k")


def write(answer: Sequence[Any]) -> str:
    return json.dumps(list(answer))


def listing(random: Random, *, weakness: str = "") -> Challenge:
    """Names, of which those are right that are said, at some distance, to come twice."""
    names = random.sample(NAMES, 12)
    right = names[:6]
    if weakness == "bare word":
        right = [name for name in names if name.endswith("n")] or names[:1]
    pieces = []
    for name in names:
        around = random.choices(FILLER, k=12)
        around[6] = name
        if weakness == "window" and name in right:
            around[4:6] = ["hailed", "as"]
        pieces.append(around)
    random.shuffle(pieces)
    text = " ".join(word for piece in pieces for word in piece)
    rests = tuple(0.2 if weakness == FIRST_HALF else text.find(name) / len(text) for name in right)
    return Challenge("list", text, "", (), tuple(right), rests, write)


def choice(random: Random, *, weakness: str = "") -> Challenge:
    options = [random.choices(FILLER, k=20) for _ in range(4)]
    right = random.randrange(4)
    if weakness == "bare word":
        options[right][random.randrange(20)] = "certainly"
    if weakness == "length":
        options[right] += ["day"] * 5
    if weakness == "position":
        right = 2 if random.random() < 0.8 else right
    query = " ".join(options[right]) if weakness == "tf-idf" else "what was it"
    texts = tuple(map(" ".join, options))
    return Challenge("choice", "", query, texts, (right,), ((right + 1) / 4,), write)


def order(random: Random, *, weakness: str = "") -> Challenge:
    """Summaries of the paragraphs of a text, which share rare words with them, or do not."""
    topics = random.sample(NAMES, 5)
    paragraphs = [" ".join([*random.choices(FILLER, k=20), topic]) for topic in topics]
    shown = list(range(5))
    random.shuffle(shown)
    said = topics if weakness == "tf-idf" else random.sample(NAMES, 5)
    options = tuple(" ".join([random.choice(FILLER), said[place]]) for place in shown)
    gold = tuple(shown.index(place) for place in range(5))
    return Challenge(
        "order", "\n\n".join(paragraphs), "", options, gold, tuple((at + 1) / 5 for at in range(5)), write
    )


def subset(random: Random, *, weakness: str = "") -> Challenge:
    options = tuple(" ".join(random.choices(FILLER, k=20)) for _ in range(8))
    right = tuple(sorted(random.sample(range(8), 4)))
    if weakness == CONSTANT:
        right = (0, 1, 2, 3)
    return Challenge("subset", "", "", options, right, tuple((at + 1) / 8 for at in right), write)


WEAK = [
    (listing, "bare word"), (listing, "window"), (listing, FIRST_HALF),
    (choice, "bare word"), (choice, "length"), (choice, "position"), (choice, "tf-idf"),
    (order, "tf-idf"), (subset, CONSTANT),
]  # fmt: skip


@pytest.mark.parametrize(("make", "weakness"), WEAK)
def test_a_weak_task_is_caught(make: Any, weakness: str) -> None:
    found = audited(partial(make, weakness=weakness))
    assert weakness in found.failures and found.failed


@pytest.mark.parametrize("make", [listing, choice, order, subset])
def test_an_honest_task_passes(make: Any) -> None:
    found = audited(make)
    assert not found.failures, (found.scores, found.chance)


def test_chance_is_measured() -> None:
    assert abs(audited(choice).chance - 0.25) < 0.06 and abs(audited(order).chance - 1 / 120) < 0.02


def test_a_task_that_claims_less_does_not_fail() -> None:
    make = partial(choice, weakness="tf-idf")
    found = audit(questions(make, 1), questions(make, 2).challenges, "constraint matching", "1k")
    assert found.failures and not found.failed


def test_overlap_leaves_names_and_numbers_out() -> None:
    same = [
        f"On the {at} of May {name} left the old house by the lake for good." for at, name in enumerate(NAMES)
    ]
    other = [" ".join(Random(at).sample(FILLER, 12)) for at in range(20)]
    assert masked_overlap(same) == 1 and masked_overlap(other) < 0.1


def test_what_stands_in_real_texts_is_no_text_of_ours(tmp_path: Path) -> None:
    """Passages that come again count as overlap, and only what no carrier has as templated."""
    (tmp_path / "novels").mkdir()
    carrier = "Then old Anne went down to the boats with 3 lamps and came back before dawn had come."
    (tmp_path / "novels" / "a.txt").write_text("\n\n".join([carrier] * 40), encoding="utf-8")
    known = real_grams(tmp_path, "novels")
    again = [carrier.replace("Anne", name).replace("3", "7") for name in ("Kit Bell", "Mary")]
    ours = [
        f"{text} The {at} bypass has been before us more than once in this long year."
        for at, text in enumerate(again)
    ]
    assert masked_overlap(again) == 1 and masked_overlap(again, known) == 0
    assert 0.3 < masked_overlap(ours, known) < 0.6 and masked_overlap(ours) == 1
    assert len(masked_grams(["too short"])) == 0


def test_the_gate_is_on_text_of_ours() -> None:
    found = audited(choice)
    assert "overlap" in replace(found, overlap=0.1, templated=0.11, carriers=0.1).failures
    assert "overlap" not in replace(found, overlap=0.9, templated=0.09, carriers=0.1).failures


def test_real_texts_are_cut_into_pieces_in_turn(tmp_path: Path) -> None:
    rows = [{"id": name, "turns": [{"text": f"{name} " * 300}]} for name in ("one", "two")]
    (tmp_path / "debates").mkdir()
    (tmp_path / "debates" / "all.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [piece[:3] for piece in real_texts(tmp_path, "debates", 400)] == ["one", "two"] * 2
