"""The gate: both stacks answer the same documents in the same order, batch by batch, until the evidence suffices for a verdict.

Each length is tested separately, over rounds in which every task has the same weight. The gate passes if all lengths pass, and fails if
any length fails.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, TypeVar

from long_context_tasks.gate.checks import Fault, check_endpoints, check_replies, check_runs
from long_context_tasks.gate.stacks import SIDES, Asking, Endpoint, GateCell, Stack, StackAnswer
from long_context_tasks.judges.client import wait_for
from long_context_tasks.schema import InputError
from long_context_tasks.stats.sequential import Look, Verdict, look

_T = TypeVar("_T")
_FLIPPED = 0.5
_ROOM = 2  # B must score this many margins
_NO_ROOM = "no room to lose"  # a fault of the cases; all others are faults of a stack


@dataclass(frozen=True)
class Pair:
    """The answers of both stacks to a case."""

    cell: str
    case: str  # id of the case
    # a, b: mean scores over the turns for which B has one; a turn that A fails to answer has the lowest. None
    # without such turns.
    a: float | None
    b: float | None
    lacking: int = 0  # number of turns that B answers and A fails to answer

    @property
    def loss(self) -> float:
        return 0.0 if self.a is None or self.b is None else self.b - self.a

    @property
    def flipped(self) -> bool:
        return abs(self.loss) >= _FLIPPED


@dataclass(frozen=True)
class CellMeans:
    cell: str
    cases: int
    a: float
    b: float


@dataclass(frozen=True)
class AtLength:
    length: str  # length as task names spell it; empty for tasks without one
    look: Look  # last look at the losses of its rounds; UNDECIDED in place of PASS without room to lose
    documents: int  # number of documents asked
    cases: int  # number of cases asked
    available: int  # number of documents that could have been asked

    def row(self) -> str:
        """Return the outcome in one line.

        >>> AtLength("8k", Look("PASS", 74, 0.0, -0.049, 0.049), 80, 80, 200).row()
        '8k: PASS, loss +0.0 points, between -4.9 and +4.9; 80 of 200 documents'
        """
        found = self.look
        bounds = f"between {100 * found.low:+.1f} and {100 * found.high:+.1f}"
        loss = f"loss {100 * found.mean:+.1f} points, {bounds}" if found.n else "no scores"
        name = f"{self.length}: " if self.length else ""
        return f"{name}{found.verdict}, {loss}; {self.documents} of {self.available} documents"


@dataclass(frozen=True)
class Gate:
    """Outcome of a gate."""

    # a, b: names of the stacks
    a: str
    b: str
    lengths: tuple[AtLength, ...]  # outcome at each length
    # margin, alpha: see GateSettings
    margin: float
    alpha: float
    pairs: tuple[Pair, ...]  # answers of both stacks to each case, in the order asked
    faults: tuple[Fault, ...]  # faults that the self-checks name
    # Answers of each side, by cell and case.
    answers: Mapping[str, Mapping[tuple[str, str], StackAnswer]] = field(repr=False)
    strict: bool = False  # a fault makes the verdict FAIL, whatever the scores

    @property
    def refused(self) -> bool:
        return self.strict and any(fault.name != _NO_ROOM for fault in self.faults)

    @property
    def of_scores(self) -> Verdict:
        found = {one.look.verdict for one in self.lengths}
        return "FAIL" if "FAIL" in found else "UNDECIDED" if "UNDECIDED" in found else "PASS"

    @property
    def verdict(self) -> Verdict:
        return "FAIL" if self.refused else self.of_scores

    @property
    def documents(self) -> int:
        return sum(one.documents for one in self.lengths)

    @property
    def available(self) -> int:
        return sum(one.available for one in self.lengths)

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
        return sorted((pair for pair in self.pairs if pair.flipped), key=lambda pair: -pair.loss)

    @property
    def means(self) -> list[CellMeans]:
        rows = []
        for name in dict.fromkeys(pair.cell for pair in self.pairs):
            own = [
                (pair.a, pair.b)
                for pair in self.pairs
                if pair.cell == name and pair.a is not None and pair.b is not None
            ]
            if own:
                a, b = (sum(side) / len(own) for side in zip(*own, strict=True))
                rows.append(CellMeans(name, len(own), a, b))
        return rows

    def line(self) -> str:
        of_scores = self.of_scores
        names = [one.length for one in self.lengths if one.look.verdict == of_scores and one.length]
        at = f" at {', '.join(names)}" if names else ""
        text = {
            "PASS": f"A is not worse than B by {100 * self.margin:g} points",
            "FAIL": "A is worse than B",
            "UNDECIDED": "the cases do not show whether A is as good as B",
        }[of_scores]
        faults = "there are faults; by the scores " if self.refused else ""
        named = "".join(f"; {fault.side}: {fault.name}" for fault in self.faults)
        cases = f"{len(self.pairs)} cases in {self.documents} documents"
        return f"{self.verdict}: {faults}{text}{at} (loss {100 * self.loss:+.1f} points; {cases}){named}"

    def text(self) -> str:
        return "\n".join([*(one.row() for one in self.lengths), self.line()])


@dataclass(frozen=True)
class GateSettings:
    margin: float  # accepted loss, as a share
    alpha: float  # probability of a wrong verdict of either kind
    batch: int  # number of documents between looks, rounded up so that every cell gets the same number
    # Tokenizer of the models, a folder or hub id, for the self-checks; empty to skip the check that needs it.
    tokenizer: str = ""
    strict: bool = False  # a fault makes the verdict FAIL, whatever the scores


def run_gate(
    stacks: tuple[Stack, Stack],
    cells: Sequence[GateCell],
    settings: GateSettings,
    on_look: Callable[[Sequence[AtLength]], None] = lambda _: None,
    on_faults: Callable[[Sequence[Fault]], None] = lambda _: None,
) -> Gate:
    """Ask both stacks, or read their stored answers, until there is a verdict or no document is left.

    ``on_look`` gets the lengths that were asked after each look, ``on_faults`` the faults of the self-checks at the start and after the
    first batch.

    Raises:
        InputError: an endpoint fails, or no case has scores of both stacks.
    """
    return wait_for(_run(stacks, cells, settings, on_look, on_faults))


async def _run(
    stacks: tuple[Stack, Stack],
    cells: Sequence[GateCell],
    settings: GateSettings,
    on_look: Callable[[Sequence[AtLength]], None],
    on_faults: Callable[[Sequence[Fault]], None],
) -> Gate:
    answers: dict[str, dict[tuple[str, str], StackAnswer]] = {side: {} for side in SIDES}
    by_name = {cell.name: cell for cell in cells}
    # Stored runs may share a task but none of its cases.
    kept = [cell for cell in cells if any(cell.documents.values())]
    names = dict.fromkeys(cell.length for cell in kept)
    lengths = [_LengthTest(name, [cell for cell in kept if cell.length == name]) for name in names]
    # Rounded up, so that every cell gets a document.
    each = -(-settings.batch // len(cells))
    bodies = {stack.side: stack.config.extra_body for stack in stacks if isinstance(stack, Endpoint)}
    options = {side: body.get("chat_template_kwargs") or {} for side, body in bodies.items()}
    async with AsyncExitStack() as open_stacks:
        asking: dict[str, Asking] = {}
        for stack in stacks:
            if isinstance(stack, Endpoint):
                asking[stack.side] = await open_stacks.enter_async_context(Asking(stack))
        faults = [*check_runs(cells), *await check_endpoints(asking, cells)]
        on_faults(faults)
        first = True
        while asked := [one for one in lengths if one.open]:
            parts = [one.documents[one.asked :][: each * len(one.cells)] for one in asked]
            await _ask(parts, asking, answers)
            for one, part in zip(asked, parts, strict=True):
                one.take(part, answers)
                one.look = look(one.losses(), settings.margin, settings.alpha, len(lengths))
            on_look([one.outcome for one in asked])
            # Faults are reported early, because a gate may run for hours.
            if first:
                on_faults(check_replies(answers, by_name, settings.tokenizer, options))
            first = False
            # One length that fails decides the gate, and further calls would only cost money.
            if any(one.look.verdict == "FAIL" for one in lengths):
                break
    if not any(one.look.n for one in lengths):
        raise InputError("no case has scores of both stacks; look at the responses in the folder of the gate")
    faults += check_replies(answers, by_name, settings.tokenizer, options)
    faults += _withhold_passes(lengths, settings.margin)
    return Gate(
        a=str(stacks[0]),
        b=str(stacks[1]),
        lengths=tuple(one.outcome for one in lengths),
        margin=settings.margin,
        alpha=settings.alpha,
        pairs=tuple(pair for one in lengths for pair in one.pairs),
        faults=tuple(faults),
        answers=answers,
        strict=settings.strict,
    )


async def _ask(
    parts: "Sequence[Sequence[Document]]",
    asking: Mapping[str, Asking],
    answers: Mapping[str, dict[tuple[str, str], StackAnswer]],
) -> None:
    wanted = [
        (side, cell, case) for part in parts for _, cases in part for cell, case in cases for side in SIDES
    ]
    found = await _all(_answer(asking.get(side), side, cell, case) for side, cell, case in wanted)
    for (side, cell, case), answer in zip(wanted, found, strict=True):
        answers[side][cell.name, case] = answer


def _withhold_passes(lengths: "Sequence[_LengthTest]", margin: float) -> list[Fault]:
    """Turn PASS into UNDECIDED at lengths at which B scores too low for a loss to show, and return a fault for each."""
    faults = []
    for one in lengths:
        if one.scored and (of_b := one.mean_of_b) < _ROOM * margin:
            at = f" at {one.name}" if one.name else ""
            text = f"B scores only {100 * of_b:.1f}{at}, so a loss of {100 * margin:g} points could hardly show; use easier tasks or shorter cases"
            faults.append(Fault("B", _NO_ROOM, text))
            if one.look.verdict == "PASS":
                one.look = replace(one.look, verdict="UNDECIDED")
    return faults


async def _answer(asking: Asking | None, side: str, cell: GateCell, case: str) -> StackAnswer:
    if side in cell.stored:
        return cell.stored[side][case]
    assert asking is not None and cell.task is not None
    return await asking.answer(cell.task, cell.task.by_id[case])


async def _all(work: Iterator[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Return all results in order; the first error ends the others."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


Document = tuple[str, list[tuple[GateCell, str]]]
"""Name and cases of a document."""


class _LengthTest:
    def __init__(self, name: str, cells: Sequence[GateCell]) -> None:
        self.name, self.cells = name, cells
        self.documents = ordered_documents(cells)
        self.asked = 0
        self.pairs: list[Pair] = []
        self.scored: list[Mapping[str, float]] = []
        self.look = look([], 0.5)

    @property
    def open(self) -> bool:
        return self.look.verdict == "UNDECIDED" and self.asked < len(self.documents)

    def take(
        self, part: Sequence[Document], answers: Mapping[str, Mapping[tuple[str, str], StackAnswer]]
    ) -> None:
        self.asked += len(part)
        for _, cases in part:
            losses: dict[str, list[float]] = {}
            for cell, case in cases:
                pair = pair_of(cell.name, case, *(answers[side][cell.name, case] for side in SIDES))
                self.pairs.append(pair)
                if pair.a is not None:
                    losses.setdefault(cell.name, []).append(pair.loss)
            if losses:
                self.scored.append({cell: fmean(own) for cell, own in losses.items()})

    def losses(self) -> list[float]:
        """Return the losses of the complete rounds so far."""
        shared = any(len({cell.name for cell, _ in cases}) > 1 for _, cases in self.documents)
        return round_losses(self.scored, [cell.name for cell in self.cells], shared=shared)

    @property
    def mean_of_b(self) -> float:
        scores: dict[str, list[float]] = {}
        for pair in self.pairs:
            if pair.b is not None:
                scores.setdefault(pair.cell, []).append(pair.b)
        return fmean(map(fmean, scores.values()))

    @property
    def outcome(self) -> AtLength:
        return AtLength(self.name, self.look, self.asked, len(self.pairs), len(self.documents))


def round_losses(
    documents: Sequence[Mapping[str, float]], cells: Sequence[str], *, shared: bool
) -> list[float]:
    """Return the losses of complete rounds of documents, in which every cell has the same weight.

    A round ends as soon as every cell has a document in it. Each cell adds the mean loss of its documents in the round. If cells share
    documents, these means are not independent, so the round adds only one loss, their mean.

    >>> round_losses([{"a": 0.0}, {"a": 1.0}, {"b": 0.2}, {"a": 0.0}], "ab", shared=False)
    [0.5, 0.2]
    """
    losses: list[float] = []
    now: dict[str, list[float]] = {cell: [] for cell in cells}
    for document in documents:
        for cell, loss in document.items():
            now[cell].append(loss)
        if all(now.values()):
            means = [fmean(own) for own in now.values()]
            losses += [fmean(means)] if shared else means
            now = {cell: [] for cell in cells}
    return losses


def ordered_documents(cells: Sequence[GateCell]) -> list[Document]:
    """Return the documents of a length in the order in which they are asked; a document of several cells appears once.

    Cells take turns in proportion to their documents, so that rounds use all of them. The order of stored runs may be meaningful, such as
    by the length of books, so they are ordered by a hash.
    """
    found: dict[str, list[tuple[GateCell, str]]] = {}
    places: dict[str, float] = {}
    for cell in cells:
        names = [name for name, cases in cell.documents.items() if cases]
        for rank, name in enumerate(sorted(names, key=_digest) if cell.stored else names):
            # In stored runs one book may belong to several tasks.
            key = name if cell.stored else f"{cell.name} {name}"
            found.setdefault(key, []).extend((cell, case) for case in cell.documents[name])
            places.setdefault(key, (rank + 0.5) / len(names))
    return sorted(found.items(), key=lambda document: places[document[0]])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def pair_of(cell: str, case: str, a: StackAnswer, b: StackAnswer) -> Pair:
    """Return the scores of both stacks over the turns for which B has one."""
    turns: list[tuple[float, float]] = []
    lacking = 0
    for mine, theirs, mute in zip(a.scores, b.scores, a.lacking, strict=True):
        # Leaving out turns that only A fails to answer would reward a stack with a short window.
        if theirs is None or (mine is None and not mute):
            continue
        lacking += mine is None
        turns.append((mine or 0.0, theirs))
    # A is compared only where B has a score; a judge that failed is not A's fault.
    if not turns:
        return Pair(cell, case, None, None)
    first, second = (sum(side) / len(turns) for side in zip(*turns, strict=True))
    return Pair(cell, case, first, second, lacking)
