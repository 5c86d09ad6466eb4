"""The search for an effective length: what stored runs say so far, and the command of the next step.

Nothing but the stored runs is remembered. So a search may be stopped at any time, and goes on with the same words; runs that were made
for something else count as well, where model, task and options are the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ANY, TaskSpec
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.evaluations import turn_scores
from long_context_tasks.results.lengths import card_chance, crossing_document, crossing_words
from long_context_tasks.results.plan.commands_for import Command, Model, Place, step_command
from long_context_tasks.results.plan.missing import best_scores, differences, same_model, wanted
from long_context_tasks.schema import Case, InputError, Options, format_length, parse_length
from long_context_tasks.schema.response import DOES_NOT_FIT
from long_context_tasks.stats import Bar, Crossing, LengthScores, fit_crossing, fixed_bar, fraction_bar

SMALLEST_STEP = 16
"""Cases; later steps grow with what was seen, as starting a host takes time."""
_OF_SEEN = 4
BASELINE = 200
"""Cases at every octave of a fixed design; a search may cost a quarter of it."""


@dataclass(frozen=True)
class Search:
    """What is looked for.

    Attributes:
        task: name; one of a fixed length stands for those of its family.
        model: see there.
        options: of the runs, without a length.
        lengths: length to the name of its task, ascending.
        threshold: a fixed bar from 0 to 1; None: ``fraction`` of the score at the shortest length.
        fraction: see :data:`long_context_tasks.results.lengths.FRACTION`.
        budget: tokens of prompts, in nominal lengths, after which the search ends.
        step: least number of cases of a step.
    """

    task: str
    model: Model
    options: Options
    lengths: Mapping[int, str]
    budget: int
    threshold: float | None = None
    fraction: float = 0.85
    step: int = SMALLEST_STEP


@dataclass(frozen=True)
class Seen:
    """What the runs hold at a length.

    Attributes:
        cases: ids of those that were asked, also without a score.
        scores: of their turns.
        chance: mean score of guessing; None where unknown.
        unfit: cases that did not fit the model's window.
    """

    cases: frozenset[str] = frozenset()
    scores: LengthScores = field(default_factory=lambda: LengthScores([], []))
    chance: float | None = None
    unfit: int = 0


@dataclass(frozen=True)
class Step:
    """Neighbouring cases at a length.

    Attributes:
        length: in tokens.
        task: name.
        cases: their places in the task.
        command: that runs them.
    """

    length: int
    task: str
    cases: range
    command: Command

    @property
    def tokens(self) -> int:
        """Of the prompts."""
        return self.length * len(self.cases)


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Attributes:
        seen: length to what was seen there, ascending; those without cases are left out.
        crossing: the fit.
        tokens: of the prompts so far.
        step: the next one; None when the search has ended.
        why: why it has ended, in words; empty else.
    """

    seen: Mapping[int, Seen]
    crossing: Crossing
    tokens: int
    step: Step | None
    why: str = ""

    def document(self, search: Search) -> dict[str, Any]:
        """For ``--json``."""
        fit = self.crossing
        return {
            "task": search.task,
            "model": search.model.name,
            "effective_length": crossing_words(fit),
            **crossing_document(fit),
            "seen": [
                {
                    "length": length,
                    "cases": len(observed.cases),
                    "n": len(observed.scores.values),
                    "mean": mean_of(observed),
                }
                for length, observed in self.seen.items()
            ],
            "tokens": self.tokens,
            "budget": search.budget,
            "ended": self.why or None,
            "next": None
            if self.step is None
            else {
                "length": self.step.length,
                "task": self.step.task,
                "first": self.step.cases.start,
                "cases": len(self.step.cases),
                "variables": dict(self.step.command.variables),
                "words": list(self.step.command.words),
                "text": self.step.command.text,
            },
        }


def ladder(shortest: int, longest: int, per_octave: int = 4) -> list[int]:
    """Return lengths in equal ratios, rounded to two digits.

    >>> ladder(1000, 4000, 2)
    [1000, 1400, 2000, 2800, 4000]

    Raises:
        InputError: no two lengths.
    """
    if not shortest < longest:
        raise InputError(
            f"--shortest {format_length(shortest)} and --longest {format_length(longest)}: a search needs lengths between them"
        )
    steps = max(1, round(math.log2(longest / shortest) * per_octave))
    exact = (shortest * (longest / shortest) ** (number / steps) for number in range(1, steps))
    return [shortest, *(_rounded(length) for length in exact), longest]


def _rounded(length: float) -> int:
    unit: int = 10 ** max(0, math.floor(math.log10(length)) - 1)
    return round(length / unit) * unit


def lengths_of(task: str, shortest: int, longest: int, per_octave: int = 4) -> dict[int, str]:
    """Return the lengths at which a task can be run, with the name that it has there, ascending.

    A task of any length has the :func:`ladder`; of a task with a length in its name the family counts.

    Raises:
        InputError: no such task, one without a choice of lengths, or fewer than two lengths between the ends.
    """
    spec = catalogue.parse_task(task)
    if spec.tokens is None:
        if spec.length != ANY and spec.source not in ("seed", "recast"):
            raise InputError(
                f"{task}: its texts have the length they have; name a task of any length (`lct tasks synthetic`), or one of a family "
                "with lengths in their names"
            )
        return dict.fromkeys(ladder(shortest, longest, per_octave), task)

    def key(one: TaskSpec) -> tuple[str, str, str]:
        return one.family, one.split, one.variant

    found = {
        task.tokens: task.name
        for task in catalogue.task_specs()
        if key(task) == key(spec) and task.tokens is not None and shortest <= task.tokens <= longest
    }
    if len(found) < 2:
        raise InputError(f"{task}: fewer than two lengths of its family lie between --shortest and --longest")
    return dict(sorted(found.items()))


def default_budget(lengths: Iterable[int]) -> int:
    """Return a quarter of the tokens of :data:`BASELINE` cases at every octave from the longest length down."""
    order = sorted(lengths)
    octaves = range(math.floor(math.log2(order[-1] / order[0])) + 1)
    return BASELINE * sum(order[-1] >> number for number in octaves) // 4


def progress(search: Search, results: Sequence[Path], place: Place) -> Progress:
    """Read what was run, and plan the next step.

    Raises:
        InputError: no such folder, a damaged file, ratings on a scale, or a task whose cases are not there.
    """
    runs = [run for path in results for run in find_runs_and_bundles(path).runs]
    own = [run for run in runs if same_model(run.model, search.model.name)]
    seen = seen_in(search, own)
    usable = _fitting(search.lengths, seen)
    if not usable:
        raise InputError(
            f"{search.task}: the prompts of {min(search.lengths):,} tokens do not fit the window of {search.model.name}; "
            "give a smaller --shortest"
        )
    crossing = fit_crossing(
        {length: observed.scores for length, observed in seen.items()}, _bar(search, seen), tuple(usable)
    )
    spent = sum(length * len(observed.cases) for length, observed in seen.items())
    made = Progress(seen, crossing, spent, None)
    if crossing.found:
        return replace(made, why=_end(crossing, search))
    if spent >= search.budget:
        return replace(made, why=f"the budget of {search.budget:,} tokens is used up")
    if (step := _next_step(search, seen, crossing, list(usable), spent, own, place)) is None:
        return replace(made, why="no further case fits into the budget, or all cases have been asked")
    return replace(made, step=step)


def _end(crossing: Crossing, search: Search) -> str:
    if crossing.beyond:
        return "the score holds up to the longest length"
    if crossing.before and search.threshold is None:
        return "the model guesses at the shortest length"
    return (
        "the score is below the bar at the shortest length"
        if crossing.before
        else "the interval is short enough"
    )


def seen_in(search: Search, runs: Iterable[StoredRun]) -> dict[int, Seen]:
    """Return length to what runs of the model hold there; runs of other tasks, options or versions are passed over.

    Raises:
        InputError: a damaged file, or ratings on a scale.
    """
    cases: dict[int, set[str]] = {}
    unfit: dict[int, set[str]] = {}
    values: dict[int, dict[tuple[str, int], list[float]]] = {}
    clusters: dict[tuple[int, str], str] = {}
    guesses: dict[int, list[float]] = {}
    tasks = set(search.lengths.values())
    for run in runs:
        length = _length_of(run) if run.task in tasks else None
        if length is None or str(run.options.get("lct_seed") or 0) != str(search.options.seed):
            continue
        asked = wanted(run.task, options=_at(search.options, run.task, length))
        scores = best_scores(run, asked.version)
        if not scores.numbers or scores.version != asked.version or any(differences(run, asked)):
            continue
        spec = catalogue.parse_task(run.task)
        metric = scores.headline or spec.headline
        if metric in (scores.stated.get("points") or run.points or ()):
            raise InputError(f"{run}: {metric} is points of a scale; a search needs scores from 0 to 1")
        for turn in turn_scores(scores):
            cases.setdefault(length, set()).add(turn.case)
            if turn.reason == DOES_NOT_FIT:
                unfit.setdefault(length, set()).add(turn.case)
            value, guess = turn.scores.get(metric), turn.scores.get(spec.card.chance_metric)
            if value is not None:
                values.setdefault(length, {}).setdefault((turn.case, turn.turn), []).append(value)
                clusters[length, turn.case] = turn.case if turn.cluster is None else turn.cluster
            if guess is not None:
                guesses.setdefault(length, []).append(guess)
    number = card_chance(catalogue.parse_task(search.task).card)
    found = {}
    for length in sorted(cases):
        own = values.get(length, {})
        means = [math.fsum(repeats) / len(repeats) for repeats in own.values()]
        guessed = guesses.get(length)
        chance = number if number is not None else math.fsum(guessed) / len(guessed) if guessed else None
        of_turns = [clusters[length, case] for case, _ in own]
        found[length] = Seen(
            frozenset(cases[length]), LengthScores(means, of_turns), chance, len(unfit.get(length, ()))
        )
    return found


def _length_of(run: StoredRun) -> int | None:
    tokens = catalogue.parse_task(run.task).tokens
    if tokens is not None:
        return tokens
    try:
        return parse_length(run.options.get("lct_length") or "")
    except InputError:
        return None


def _at(options: Options, task: str, length: int) -> Options:
    """Options of a task at a length; a name that has the length needs none."""
    return options if catalogue.parse_task(task).tokens else replace(options, length=length)


def _fitting(lengths: Mapping[int, str], seen: Mapping[int, Seen]) -> dict[int, str]:
    """Return the lengths below those that the model's window cannot hold."""
    limit = min((length for length, observed in seen.items() if observed.unfit), default=math.inf)
    return {length: task for length, task in lengths.items() if length < limit}


def _bar(search: Search, seen: Mapping[int, Seen]) -> Bar:
    if search.threshold is not None:
        return fixed_bar(dict.fromkeys(search.lengths, search.threshold), f"{100 * search.threshold:g} %")
    chance = {length: observed.chance for length, observed in seen.items() if observed.chance is not None}
    return fraction_bar(search.fraction, chance)


def _next_step(
    search: Search,
    seen: Mapping[int, Seen],
    crossing: Crossing,
    lengths: list[int],
    spent: int,
    runs: Sequence[StoredRun],
    place: Place,
) -> Step | None:
    total = sum(len(observed.cases) for observed in seen.values())
    most = max(search.step, total // _OF_SEEN)
    least = max(1, search.step // _OF_SEEN)  # fewer are not worth the start of a host
    lengths = [length for length in lengths if least * length <= search.budget - spent]
    while lengths:
        length = crossing.next_length(lengths)
        task = search.lengths[length]
        options = _at(search.options, task, length)
        cases = load_task(task, options).cases.cases
        asked = seen[length].cases if length in seen else frozenset()
        number = min(most, (search.budget - spent) // length)
        if chosen := next_cases(cases, asked, total, number):
            given = {name: getattr(options, name) for name in sorted(options.given - {"judge"})}
            typed = {name: str(value) for name, value in given.items() if value is not None}
            command = step_command(search.model, task, chosen, replace(place, options=typed), runs)
            return Step(length, task, chosen, command)
        lengths.remove(length)
    return None


def next_cases(cases: Sequence[Case], asked: frozenset[str], first: int, number: int) -> range:
    """Return places of neighbouring cases that were not asked, up to the end of the last one's cluster; empty when all were.

    They begin at ``first`` where that can be, so that lengths share no cases as long as there are others: what is hard about a case at
    one length is hard about it at the next.
    """
    places = range(len(cases))
    around = [*places[first % len(cases) :], *places[: first % len(cases)]]
    start = next((place for place in around if cases[place].id not in asked), None)
    if start is None:
        return range(0)
    end = start
    while end < len(cases) and cases[end].id not in asked:
        if end - start >= number and cases[end].cluster != cases[end - 1].cluster:
            break
        end += 1
    return range(start, end)


def mean_of(seen: Seen) -> float | None:
    """Return the mean score; None without scores."""
    return math.fsum(seen.scores.values) / len(seen.scores.values) if seen.scores.values else None
