"""What cheap programs reach on the generated tasks: `make audit` prints a table.

Attackers read what a model sees, nothing else. Those that learn do so from the cases of the next seed and their accepted answers.
"""

import argparse
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

import cheap_rules as rules
import learned_attackers as learned

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import Case, InputError, LoadedTask

Attack = Callable[[str], str]
"""Prompt to response."""


@dataclass(frozen=True)
class Question:
    """A question as a model sees it, its accepted answer, and what a response scores."""

    prompt: str
    gold: Any
    task: LoadedTask
    case: Case
    turn: int

    def score(self, response: str) -> float:
        """Return the headline."""
        if len(self.case.turns) > 1:
            scores = self.task.judging.score_turn(self.case, self.turn, response)
        else:
            scores = self.task.score(self.case, response, None)
        return scores[self.task.metrics[0]].value or 0.0


def questions(name: str, length: str, seed: int, n: int, carriers: str | None) -> list[Question]:
    """Return the questions of n cases; of a conversation, only the user's messages are shown."""
    options = {"lct_length": length, "lct_seed": seed, "lct_n": n}
    task = load_task(name, options | ({"lct_carriers": carriers} if carriers else {}))
    found = []
    for case in task.cases.cases:
        for turn, asked in enumerate(case.turns):
            messages = task.messages(case, turn, [""] * turn)
            prompt = "\n\n".join(message.content for message in messages if message.role != "assistant")
            found.append(Question(prompt, asked.gold, task, case, turn))
    return found


@dataclass(frozen=True)
class Target:
    """A task, what anyone gets by guessing or by naming everything, and its attackers; they learn from the same task or another."""

    chance: Attack | float
    attackers: Mapping[str, Attack] = field(default_factory=dict)
    learners: Mapping[str, Callable[[Sequence[Question]], Attack]] = field(default_factory=dict)
    known: str = ""


_MEETINGS = Target(
    0.25,
    learners={"words around speakers": learned.lines_of_speakers},
    known="elitr_bench_conv_synthetic",  # with several questions on a meeting
)
_LISTS = Target(
    rules.every_number,
    learners={
        "one list for all": learned.constant_list,
        "words around numbers": learned.words_around_numbers,
    },
)
_ORDERS = Target(
    rules.any_order,
    {"shared rare words": rules.by_paragraphs},
    {"words of options": learned.words_of_options},
)
TSORT = "ada_leval_tsort_any_recast"
TARGETS = {
    "ada_leval_bestanswer_any_synthetic": Target(
        rules.any_answer, {"rare values": rules.without_rare_values}
    ),
    "elitr_bench_qa_synthetic": _MEETINGS,
    "elitr_bench_conv_synthetic": _MEETINGS,
    "elitr_bench_qa_nano": _MEETINGS,
    "ethic_recall_medicine_synthetic": _LISTS,
    "ethic_sections_medicine": _LISTS,
    "ethic_attribute_medicine_synthetic": Target(
        rules.every_study, learners={"words of studies": learned.words_of_studies}
    ),
    "ethic_organize_books_recast": _ORDERS,
    "ethic_organize_debates_recast": _ORDERS,
    TSORT: Target(1 / 24),
}


def scores(attack: Attack, asked: Sequence[Question]) -> list[float]:
    """Return what each response scores."""
    return [question.score(attack(question.prompt)) for question in asked]


def chance(target: Target, asked: Sequence[Question]) -> float:
    """Return what anyone gets; guesses are made five times."""
    known = target.chance
    return known if isinstance(known, float) else fmean(fmean(scores(known, asked)) for _ in range(5))


def audit(name: str, length: str, given: argparse.Namespace) -> None:
    """Print a line for each attacker of a task."""
    target, n = TARGETS[name], given.joints if name == TSORT else given.n
    asked = questions(name, length, given.seed, n, given.carriers)
    attackers = dict(target.attackers)
    if target.learners:
        known = questions(target.known or name, length, given.seed + 1, n, given.carriers)
        attackers |= {attacker: learn(known) for attacker, learn in target.learners.items()}
    if name == TSORT:
        from joint_reader import JointReader

        attackers["135M at the joints"] = JointReader().answer
    usual = chance(target, asked)
    for attacker, attack in attackers.items():
        found = scores(attack, asked)
        score = f"{fmean(found):.2f} ({stdev(found) / math.sqrt(len(found)):.2f})"
        print(f"{name:36}{length:>6}{len(found):>6}  {attacker:22}{score:13}{usual:.2f}", flush=True)


def main() -> None:
    """Read the arguments and attack."""
    parser = argparse.ArgumentParser(description="Attack generated tasks with cheap programs.")
    parser.add_argument("--tasks", default=",".join(TARGETS), help="with commas; default: all")
    parser.add_argument("--lengths", default="2k,16k", help="with commas")
    parser.add_argument("--n", type=int, default=100, help="cases attacked, and as many learned from")
    parser.add_argument("--joints", type=int, default=50, help="cases of TSort; each takes seconds")
    parser.add_argument("--seed", type=int, default=41, help="of the attacked; the next is learned from")
    parser.add_argument("--carriers", default=os.environ.get("LCT_CARRIERS"), help="for recast tasks")
    given = parser.parse_args()
    print(f"{'task':36}{'length':>6}{'n':>6}  {'attacker':22}{'score (SE)':13}chance")
    for name in given.tasks.split(","):
        for length in given.lengths.split(","):
            try:
                audit(name, length, given)
            except InputError as error:
                if not name.endswith("_recast"):
                    raise
                print(f"{name:36}{length:>6}  left out: {error}")


if __name__ == "__main__":
    main()
