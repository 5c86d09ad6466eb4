"""Run the attackers over the cases of a task, and hold the gates against what they score."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from long_context_tasks.audit import attackers
from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.audit.overlap import masked_overlap, real_grams, real_texts
from long_context_tasks.schema import Case, Documents, LoadedTask

UNDERSTANDING = "understanding"
ABOVE_CHANCE = 0.15
"""How far an attacker may be above chance on a task that claims understanding."""
HALF = 0.6
"""Share of what is right that the first half of a text may give."""
OVERLAP = 2.0
"""Times the overlap of real texts of the kind that texts of a seed may have, apart from what stands in real texts."""
FIRST_HALF, CONSTANT = "first half", "constant"
ATTACKERS = (*attackers.NAMES, CONSTANT, FIRST_HALF)
"""Those that attack every task; the others are rules on one."""

TakeApart = Callable[[Case, Documents], Sequence[Challenge]]


@dataclass(frozen=True)
class Audit:
    """What attackers score on one task at one length.

    Attributes:
        task, length, claim: what was attacked, and what it says it measures.
        metric: the task's headline.
        n: questions.
        scores: attacker to mean headline.
        errors: attacker to standard error of the difference from chance.
        chance: mean headline of answers of the right form, see :func:`attackers.guess`: the best of three shares.
        half_limit: what a reader scores who knows 60 % of what is right.
        overlap: share of masked n-grams that other texts of the seed have; in recast texts mostly passages that come again.
        templated: share that other texts of the seed have and no real text of the kind has.
        carriers: share of the n-grams of real texts that other ones have.
    """

    task: str
    length: str
    claim: str
    metric: str
    n: int
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    chance: float
    half_limit: float
    overlap: float = math.nan
    templated: float = math.nan
    carriers: float = math.nan

    @property
    def best(self) -> tuple[str, float]:
        """The best attacker that reads the text, with its score."""
        others = {name: score for name, score in self.scores.items() if name not in (FIRST_HALF, CONSTANT)}
        return max(others.items(), key=lambda one: one[1]) if others else ("", math.nan)

    @property
    def failures(self) -> list[str]:
        """The gates that the task does not pass; three standard errors are allowed where a gate leaves no room for chance."""
        failed = []
        if self.best[1] > self.chance + ABOVE_CHANCE:
            failed.append(self.best[0])
        for name, limit in ((FIRST_HALF, self.half_limit), (CONSTANT, self.chance)):
            if self.scores.get(name, 0) > limit + 3 * self.errors.get(name, 0):
                failed.append(name)
        if self.templated + self.carriers > OVERLAP * self.carriers:
            failed.append("overlap")
        return failed

    @property
    def failed(self) -> bool:
        """Whether a task that claims understanding does not pass."""
        return self.claim == UNDERSTANDING and bool(self.failures)


@dataclass
class Questions:
    """The turns of a task's cases, as attackers see them and as they are scored."""

    task: LoadedTask
    challenges: list[Challenge] = field(default_factory=list)
    turns: list[tuple[Case, int]] = field(default_factory=list)

    @classmethod
    def of(cls, task: LoadedTask, take_apart: TakeApart) -> "Questions":
        """Take the cases of a task apart."""
        made = cls(task)
        for case in task.cases.cases:
            for turn, challenge in enumerate(take_apart(case, task.cases.documents)):
                made.challenges.append(challenge)
                made.turns.append((case, turn))
        return made

    def scores(self, attack: Callable[[Challenge], Sequence[Any]]) -> list[float]:
        """Return the headline of an attack's answer to every question."""
        values = []
        for challenge, (case, turn) in zip(self.challenges, self.turns, strict=True):
            response = challenge.write(attack(challenge))
            several = len(case.turns) > 1
            score = (
                self.task.judging.score_turn(case, turn, response)
                if several
                else self.task.score(case, response, None)
            )
            values.append(score[self.task.metrics[0]].value or 0.0)
        return values


def audit(
    tested: Questions, known: Sequence[Challenge], claim: str, length: str, carriers: Path | None = None
) -> Audit:
    """Let every attacker learn from cases of another seed (``known``) and answer those that are tested.

    ``carriers`` is the folder of real texts with whose overlap that of the cases is compared.

    Raises:
        InputError: real texts that cannot be read.
    """
    form, random = tested.challenges[0].form, Random(0)
    attacks: dict[str, attackers.Attack] = {}
    if form != "pages":
        attacks = {name: attackers.learned(name)(known) for name in attackers.NAMES}
        attacks[CONSTANT] = attackers.constant(known)
        attacks[FIRST_HALF] = partial(attackers.first_half, random=random)
    for name in tested.challenges[0].rules:
        attacks[name] = partial(_by_rule, name)
    found = {name: tested.scores(attack) for name, attack in attacks.items()}
    guesses = [
        tested.scores(partial(attackers.guess, random=random, share=share))
        for share in (0.05, 0.1, 0.25, 0.5, 1)
    ]
    # What can be named freely is guessed with the best share; where one answer has to be given, shares do not matter.
    free = form in ("list", "subset")
    chance = max(guesses, key=fmean) if free else [fmean(each) for each in zip(*guesses, strict=True)]
    texts = list(dict.fromkeys(challenge.text for challenge in tested.challenges))
    kind, size = tested.challenges[0].carrier, int(fmean(map(len, texts)))
    folder = carriers if carriers and (carriers / kind).is_dir() else None
    return Audit(
        tested.task.name,
        length,
        claim,
        tested.task.metrics[0],
        len(tested.challenges),
        {name: fmean(scores) for name, scores in found.items()},
        {
            name: _error([a - b for a, b in zip(scores, chance, strict=True)])
            for name, scores in found.items()
        },
        fmean(chance),
        fmean(tested.scores(partial(attackers.share_of_gold, random=random, share=HALF))),
        masked_overlap(texts),
        masked_overlap(texts, real_grams(folder, kind)) if folder else math.nan,
        masked_overlap(real_texts(folder, kind, size)) if folder else math.nan,
    )


def _by_rule(name: str, challenge: Challenge) -> Sequence[Any]:
    return challenge.rules[name](challenge)


def _error(differences: Sequence[float]) -> float:
    """Standard error of a mean."""
    mean, n = fmean(differences), len(differences)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / max(1, n - 1) / n)
