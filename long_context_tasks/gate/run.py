"""The gate: both stacks answer the same documents in batches until the evidence supports a verdict.

Each length is tested separately, over rounds in which every task has equal weight. The gate passes if all
lengths pass, and fails if any length fails.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, TypeVar

from long_context_tasks.gate.checks import Answers, Fault, check_endpoints, check_replies, check_runs
from long_context_tasks.gate.stacks import SIDES, Asking, Endpoint, GateCell, Stack, StackAnswer
from long_context_tasks.judges.client import wait_for
from long_context_tasks.schema import InputError
from long_context_tasks.schema.progress import progress, step
from long_context_tasks.stats.sequential import Verdict, look

_T = TypeVar("_T")
_FLIPPED = 0.5
_ROOM = 2  # B's minimum score, in margins
_NO_ROOM = "no room to lose"  # a fault of the cases; all others are faults of a stack

Document = tuple[str, list[tuple[GateCell, str]]]


@dataclass(frozen=True)
class Pair:
    cell: str
    case: str  # id of the case
    # a, b: mean scores over the turns that B has a score for; a turn that A fails to answer gets the lowest.
    # None without such turns.
    a: float | None
    b: float | None
    lacking: int = 0  # number of turns that B answers but A does not

    @property
    def loss(self) -> float:
        return 0.0 if self.a is None or self.b is None else self.b - self.a


@dataclass(frozen=True)
class CellMeans:
    cell: str
    cases: int
    a: float
    b: float


class LengthTest:
    """The test at one length, with the scores so far.

    Attributes:
        length: length as in task names; empty for tasks without one.
        cells: tasks of this length.
        queue: all documents, in the order they are sent.
        documents: number of documents sent.
        pairs: both stacks' answers to each case sent.
        look: latest interim analysis of the losses over completed rounds; a final PASS becomes UNDECIDED if B
            has no room to lose.
    """

    def __init__(self, length: str, cells: Sequence[GateCell]) -> None:
        self.length, self.cells = length, cells
        self.queue = ordered_documents(cells)
        self.documents = 0
        self.pairs: list[Pair] = []
        self.look = look([], 0.5)
        self._losses: list[Mapping[str, float]] = []  # per document with scores, by cell

    @property
    def available(self) -> int:
        return len(self.queue)

    @property
    def open(self) -> bool:
        return self.look.verdict == "UNDECIDED" and self.documents < self.available

    @property
    def mean_of_b(self) -> float | None:
        """Mean over the cells of B's mean score; None without scores."""
        scores: dict[str, list[float]] = {}
        for pair in self.pairs:
            if pair.b is not None:
                scores.setdefault(pair.cell, []).append(pair.b)
        return fmean(map(fmean, scores.values())) if scores else None

    def take(self, part: Sequence[Document], answers: Answers, settings: "GateSettings", tests: int) -> None:
        """Add the scores of the next documents and test all losses so far."""
        self.documents += len(part)
        for _, cases in part:
            losses: dict[str, list[float]] = {}
            for cell, case in cases:
                pair = pair_of(cell.name, case, *(answers[side][cell.name, case] for side in SIDES))
                self.pairs.append(pair)
                if pair.a is not None:
                    losses.setdefault(cell.name, []).append(pair.loss)
            if losses:
                self._losses.append({cell: fmean(of_cell) for cell, of_cell in losses.items()})
        shared = any(len({cell.name for cell, _ in cases}) > 1 for _, cases in self.queue)
        rounds = round_losses(self._losses, [cell.name for cell in self.cells], shared=shared)
        self.look = look(rounds, settings.margin, settings.alpha, tests)

    def row(self) -> str:
        """Return the outcome in one line.

        An example is ``8k: PASS, loss +0.0 points, between -4.9 and +4.9; 80 of 200 documents``.
        """
        bounds = f"between {100 * self.look.low:+.1f} and {100 * self.look.high:+.1f}"
        loss = f"loss {100 * self.look.mean:+.1f} points, {bounds}"
        # Without a complete round there is no test, which is normal after the first batches of many tasks.
        if not self.look.n:
            scored = {pair.cell for pair in self.pairs if pair.a is not None}
            lacking = ", ".join(cell.name for cell in self.cells if cell.name not in scored)
            used = self.documents == self.available
            loss = f"no scores of both stacks for {lacking}" if used else "first round not complete"
        name = f"{self.length}: " if self.length else ""
        return f"{name}{self.look.verdict}, {loss}; {self.documents} of {self.available} documents"


@dataclass(frozen=True)
class GateSettings:
    margin: float  # acceptable loss, as a fraction
    alpha: float  # probability of a wrong verdict of either kind
    batch: int  # documents between looks, rounded up so that every cell gets the same number
    # The models' tokenizer (folder or hub id) for the self-checks; empty to skip the check that needs it.
    tokenizer: str = ""
    strict: bool = False  # whether a fault makes the verdict FAIL, regardless of the scores


@dataclass(frozen=True)
class Gate:
    """Outcome of a gate."""

    # a, b: names of the stacks
    a: str
    b: str
    settings: GateSettings
    lengths: Sequence[LengthTest]
    faults: Sequence[Fault]  # faults found by the self-checks
    answers: Answers = field(repr=False)

    @property
    def refused(self) -> bool:
        return self.settings.strict and any(fault.name != _NO_ROOM for fault in self.faults)

    @property
    def of_scores(self) -> Verdict:
        verdicts = {length.look.verdict for length in self.lengths}
        return "FAIL" if "FAIL" in verdicts else "UNDECIDED" if "UNDECIDED" in verdicts else "PASS"

    @property
    def verdict(self) -> Verdict:
        return "FAIL" if self.refused else self.of_scores

    @property
    def pairs(self) -> list[Pair]:
        return [pair for length in self.lengths for pair in length.pairs]

    @property
    def documents(self) -> int:
        return sum(length.documents for length in self.lengths)

    @property
    def available(self) -> int:
        return sum(length.available for length in self.lengths)

    @property
    def loss(self) -> float:
        return fmean(row.b - row.a for row in self.means)

    @property
    def left_out(self) -> int:
        return sum(pair.a is None for pair in self.pairs)

    @property
    def lacking(self) -> int:
        return sum(pair.lacking for pair in self.pairs)

    @property
    def flips(self) -> list[Pair]:
        flipped = (pair for pair in self.pairs if abs(pair.loss) >= _FLIPPED)
        return sorted(flipped, key=lambda pair: -pair.loss)

    @property
    def means(self) -> list[CellMeans]:
        scores: dict[str, list[tuple[float, float]]] = {}
        for pair in self.pairs:
            if pair.a is not None and pair.b is not None:
                scores.setdefault(pair.cell, []).append((pair.a, pair.b))
        return [
            CellMeans(cell, len(rows), *map(fmean, zip(*rows, strict=True))) for cell, rows in scores.items()
        ]

    def line(self) -> str:
        of_scores = self.of_scores
        names = [test.length for test in self.lengths if test.look.verdict == of_scores and test.length]
        at = f" at {', '.join(names)}" if names else ""
        text = {
            "PASS": f"A is not worse than B by {100 * self.settings.margin:g} points",
            "FAIL": "A is worse than B",
            "UNDECIDED": "the cases do not show whether A is as good as B",
        }[of_scores]
        faults = "there are faults; by the scores " if self.refused else ""
        named = "".join(f"; {fault.side}: {fault.name}" for fault in self.faults)
        cases = f"{len(self.pairs)} cases in {self.documents} documents"
        loss = "mean loss over all lengths" if len(self.lengths) > 1 else "loss"
        return f"{self.verdict}: {faults}{text}{at} ({loss} {100 * self.loss:+.1f} points; {cases}){named}"

    def text(self) -> str:
        return "\n".join([*(length.row() for length in self.lengths), self.line()])


def run_gate(
    stacks: Sequence[Stack],
    cells: Sequence[GateCell],
    settings: GateSettings,
    report: Callable[[object], None] = lambda _: None,
) -> Gate:
    """Query both stacks, or read their stored answers, until there is a verdict or no document is left.

    ``report`` receives the row of each length without a verdict after each look but the last, and the
    self-checks' faults at the start, after the first batch and at the end.

    Raises:
        InputError: an endpoint fails, or no case has scores from both stacks.
    """
    return wait_for(_run(stacks, cells, settings, report))


async def _run(
    stacks: Sequence[Stack],
    cells: Sequence[GateCell],
    settings: GateSettings,
    report: Callable[[object], None],
) -> Gate:
    answers: dict[str, dict[tuple[str, str], StackAnswer]] = {side: {} for side in SIDES}
    by_name = {cell.name: cell for cell in cells}
    # Stored runs may share a task but none of its cases.
    filled = [cell for cell in cells if any(cell.documents.values())]
    names = dict.fromkeys(cell.length for cell in filled)
    lengths = [LengthTest(name, [cell for cell in filled if cell.length == name]) for name in names]
    # Rounded up, so that every cell gets a document.
    each = -(-settings.batch // len(cells))
    bodies = {stack.side: stack.config.extra_body for stack in stacks if isinstance(stack, Endpoint)}
    options = {side: body.get("chat_template_kwargs") or {} for side, body in bodies.items()}
    async with AsyncExitStack() as open_stacks:
        asking: dict[str, Asking] = {}
        for stack in stacks:
            if isinstance(stack, Endpoint):
                asking[stack.side] = await open_stacks.enter_async_context(Asking(stack))
        with step("self-checks before the first case", report):
            faults = [*check_runs(cells), *await check_endpoints(asking, cells)]
        for fault in faults:
            report(fault)
        first = True
        asked = _open(lengths)
        while asked:
            parts = [length.queue[length.documents :][: each * len(length.cells)] for length in asked]
            await _ask(parts, asking, answers)
            for length, part in zip(asked, parts, strict=True):
                length.take(part, answers, settings, len(lengths))
            asked = _open(lengths)
            for length in asked:  # the result has the rows of the others
                report(length.row())
            # Faults are reported early, because a gate may run for hours.
            for fault in check_replies(answers, by_name, settings.tokenizer, options) if first else ():
                report(fault)
            first = False
    if not any(length.look.n for length in lengths):
        raise InputError("no case has scores of both stacks; look at the responses in the folder of the gate")
    faults += check_replies(answers, by_name, settings.tokenizer, options)
    for fault in (withheld := _withhold_passes(lengths, settings.margin)):
        report(fault)
    faults += withheld
    return Gate(str(stacks[0]), str(stacks[1]), settings, lengths, faults, answers)


def _open(lengths: Sequence[LengthTest]) -> list[LengthTest]:
    """Return the lengths to query further; none after one has failed, because that decides the gate."""
    failed = any(length.look.verdict == "FAIL" for length in lengths)
    return [] if failed else [length for length in lengths if length.open]


async def _ask(
    parts: Sequence[Sequence[Document]],
    asking: Mapping[str, Asking],
    answers: Mapping[str, dict[tuple[str, str], StackAnswer]],
) -> None:
    asked = [
        (side, cell, case) for part in parts for _, cases in part for cell, case in cases for side in SIDES
    ]
    left = Counter(side for side, _, _ in asked)
    with progress(len(asked)) as bar:

        async def counted(side: str, cell: GateCell, case: str) -> StackAnswer:
            answer = await _answer(asking.get(side), side, cell, case)
            left[side] -= 1  # a stack that hangs is the one whose number stands still
            bar.set_description_str(f"left: A {left['A']}, B {left['B']}", refresh=False)
            bar.update()
            return answer

        new = await _all(counted(*each) for each in asked)
    for (side, cell, case), found in zip(asked, new, strict=True):
        answers[side][cell.name, case] = found


async def _answer(asking: Asking | None, side: str, cell: GateCell, case: str) -> StackAnswer:
    if side in cell.stored:
        return cell.stored[side][case]
    assert asking is not None and cell.task is not None
    return await asking.answer(cell.task, cell.task.by_id[case])


async def _all(work: Iterator[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Return all results in order; the first error cancels the rest."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _withhold_passes(lengths: Sequence[LengthTest], margin: float) -> list[Fault]:
    """Turn PASS into UNDECIDED where B scores too low for a loss to show; return a fault per length."""
    faults = []
    for length in lengths:
        if (of_b := length.mean_of_b) is not None and of_b < _ROOM * margin:
            at = f" at {length.length}" if length.length else ""
            text = f"B scores only {100 * of_b:.1f}{at}, so a loss of {100 * margin:g} points could hardly show; use easier tasks or shorter cases"
            faults.append(Fault("B", _NO_ROOM, text))
            if length.look.verdict == "PASS":
                length.look = replace(length.look, verdict="UNDECIDED")
    return faults


def round_losses(
    documents: Sequence[Mapping[str, float]], cells: Sequence[str], *, shared: bool
) -> list[float]:
    """Return the losses of complete rounds of documents, in which every cell has equal weight.

    A round ends as soon as every cell has a document in it. Each cell contributes the mean loss of its
    documents in the round. If cells share documents, these means are not independent, so the round
    contributes a single loss, their mean.

    >>> round_losses([{"a": 0.0}, {"a": 1.0}, {"b": 0.2}, {"a": 0.0}], "ab", shared=False)
    [0.5, 0.2]
    """
    losses: list[float] = []
    current: dict[str, list[float]] = {cell: [] for cell in cells}
    for document in documents:
        for cell, loss in document.items():
            current[cell].append(loss)
        if all(current.values()):
            means = [fmean(of_cell) for of_cell in current.values()]
            losses += [fmean(means)] if shared else means
            current = {cell: [] for cell in cells}
    return losses


def ordered_documents(cells: Sequence[GateCell]) -> list[Document]:
    """Return a length's documents in query order; a document shared by several cells appears once.

    Cells take turns in proportion to their documents, so that rounds use all of them. The order of stored
    runs may be meaningful (e.g. by book length), so they are ordered by a hash.
    """
    documents: dict[str, list[tuple[GateCell, str]]] = {}
    places: dict[str, float] = {}
    for cell in cells:
        names = [name for name, cases in cell.documents.items() if cases]
        for rank, name in enumerate(sorted(names, key=_digest) if cell.stored else names):
            # In stored runs one book may belong to several tasks.
            key = name if cell.stored else f"{cell.name} {name}"
            documents.setdefault(key, []).extend((cell, case) for case in cell.documents[name])
            places.setdefault(key, (rank + 0.5) / len(names))
    return sorted(documents.items(), key=lambda document: places[document[0]])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def pair_of(cell: str, case: str, a: StackAnswer, b: StackAnswer) -> Pair:
    """Return both stacks' scores over the turns that B has a score for."""
    turns: list[tuple[float, float]] = []
    lacking = 0
    for mine, theirs, mute in zip(a.scores, b.scores, a.lacking, strict=True):
        # Excluding turns that only A fails to answer would reward a stack with a short window.
        if theirs is None or (mine is None and not mute):
            continue
        lacking += mine is None
        turns.append((mine or 0.0, theirs))
    # A is compared only if B has a score; a failed judge is not A's fault.
    if not turns:
        return Pair(cell, case, None, None)
    first, second = (sum(side) / len(turns) for side in zip(*turns, strict=True))
    return Pair(cell, case, first, second, lacking)
