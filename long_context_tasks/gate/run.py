"""The gate: both stacks answer the same documents in the same order, batch by batch, until the evidence carries a verdict.

Each length is tested for itself, over rounds in which every task has as much weight. All have to pass, and any that fails fails the
gate.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, TypeVar

from long_context_tasks.gate.checks import Finding, check_endpoints, check_replies, check_runs
from long_context_tasks.gate.stacks import SIDES, Answer, Asking, Endpoint, GateCell, Stack
from long_context_tasks.judges.client import wait_for
from long_context_tasks.schema import InputError
from long_context_tasks.stats.sequential import Look, Verdict, look

_T = TypeVar("_T")
_FLIPPED = 0.5
_ROOM = 2  # times the margin that B has to score
_NO_ROOM = "no room to lose"  # of the cases, where other findings are of the stacks


@dataclass(frozen=True)
class Pair:
    """The answers of both stacks to a case.

    Attributes:
        cell: name.
        case: id.
        a, b: means over the turns in which B has a score; where A itself gives no answer it has the lowest. None without such turns.
        lacking: turns in which A itself gives no answer and B does.
    """

    cell: str
    case: str
    a: float | None
    b: float | None
    lacking: int = 0

    @property
    def loss(self) -> float:
        """What A lacks: B minus A; 0 where one has no score."""
        return 0.0 if self.a is None or self.b is None else self.b - self.a

    @property
    def flipped(self) -> bool:
        """Whether the scores lie half the scale or more apart."""
        return abs(self.loss) >= _FLIPPED


@dataclass(frozen=True)
class CellMeans:
    """A row of the table: cases with scores of both, and their means."""

    cell: str
    cases: int
    a: float
    b: float


@dataclass(frozen=True)
class AtLength:
    """What came of a length.

    Attributes:
        length: as tasks name it; empty for tasks without one.
        look: the last one, over the losses of its rounds; UNDECIDED in place of PASS without room to lose.
        documents, cases: asked.
        available: documents that there were.
    """

    length: str
    look: Look
    documents: int
    cases: int
    available: int

    def row(self) -> str:
        """Return the length in one line.

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
    """What came of a gate.

    Attributes:
        a, b: the stacks in words.
        lengths: each of them.
        margin, alpha: see :func:`long_context_tasks.stats.sequential.look`.
        pairs: cases that both were asked, in order.
        left_out: cases without a score of B, or of A through no fault of its own.
        findings: what the self-checks name.
        answers: of both sides, by cell and case.
        strict: a fault that is named makes the verdict FAIL, whatever the scores.
    """

    a: str
    b: str
    lengths: tuple[AtLength, ...]
    margin: float
    alpha: float
    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]
    answers: Mapping[str, Mapping[tuple[str, str], Answer]] = field(repr=False)
    strict: bool = False

    @property
    def refused(self) -> bool:
        """Whether a fault alone makes the verdict."""
        return self.strict and any(finding.name != _NO_ROOM for finding in self.findings)

    @property
    def of_scores(self) -> Verdict:
        """FAIL if any length fails, PASS if all pass."""
        found = {one.look.verdict for one in self.lengths}
        return "FAIL" if "FAIL" in found else "UNDECIDED" if "UNDECIDED" in found else "PASS"

    @property
    def verdict(self) -> Verdict:
        """That of the scores, unless a fault alone makes it."""
        return "FAIL" if self.refused else self.of_scores

    @property
    def documents(self) -> int:
        """Documents asked."""
        return sum(one.documents for one in self.lengths)

    @property
    def available(self) -> int:
        """Documents that there were for the gate."""
        return sum(one.available for one in self.lengths)

    @property
    def loss(self) -> float:
        """Mean loss over the cells, each with the same weight."""
        return fmean(row.b - row.a for row in self.means)

    @property
    def left_out(self) -> int:
        """Cases in which a stack has no score through no fault of A."""
        return sum(pair.a is None for pair in self.pairs)

    @property
    def lacking(self) -> int:
        """Turns that B answers and A does not; they count as A's lowest score."""
        return sum(pair.lacking for pair in self.pairs)

    @property
    def flips(self) -> list[Pair]:
        """The cases that flipped, A's losses first."""
        return sorted((pair for pair in self.pairs if pair.flipped), key=lambda pair: -pair.loss)

    @property
    def means(self) -> list[CellMeans]:
        """Means by cell over the cases with scores of both."""
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
        """Return the verdict in one line."""
        of_scores = self.of_scores
        names = [one.length for one in self.lengths if one.look.verdict == of_scores and one.length]
        at = f" at {', '.join(names)}" if names else ""
        said = {
            "PASS": f"A is no worse than B by {100 * self.margin:g} points",
            "FAIL": "A is worse than B",
            "UNDECIDED": "it is not shown whether A is as good as B",
        }[of_scores]
        faults = "faults are named; by the scores " if self.refused else ""
        named = "".join(f"; {finding.side}: {finding.name}" for finding in self.findings)
        cases = f"{len(self.pairs)} cases in {self.documents} documents"
        return f"{self.verdict}: {faults}{said}{at} (loss {100 * self.loss:+.1f} points; {cases}){named}"

    def text(self) -> str:
        """Return a row for each length, and the verdict."""
        return "\n".join([*(one.row() for one in self.lengths), self.line()])


Progress = Callable[[Sequence[AtLength]], None]
"""Takes the lengths that were asked in a batch."""
Tell = Callable[[Sequence[Finding]], None]


def run_gate(
    stacks: tuple[Stack, Stack],
    cells: Sequence[GateCell],
    *,
    margin: float,
    alpha: float,
    batch: int,
    tokenizer: str = "",
    strict: bool = False,
    progress: Progress = lambda *_: None,
    tell: Tell = lambda _: None,
) -> Gate:
    """Ask both stacks, or read what they said, until a verdict or the end of the documents.

    Args:
        stacks: A, and B that it is held against.
        cells: the cases.
        margin: loss that is accepted, as a share.
        alpha: probability of a wrong verdict of either kind.
        batch: documents between looks; rounded up so that every cell has as many. A length that has passed is asked no more.
        tokenizer: of the models, a folder or hub id, for the self-checks.
        strict: see :class:`Gate`.
        progress: called after every look.
        tell: called with what the self-checks name, at the start and after the first batch.

    Raises:
        InputError: an endpoint fails, or no case has scores of both.
    """
    found = wait_for(_run(stacks, cells, margin, alpha, batch, tokenizer, progress, tell))
    return replace(found, strict=strict)


async def _run(
    stacks: tuple[Stack, Stack],
    cells: Sequence[GateCell],
    margin: float,
    alpha: float,
    batch: int,
    tokenizer: str,
    progress: Progress,
    tell: Tell,
) -> Gate:
    answers: dict[str, dict[tuple[str, str], Answer]] = {side: {} for side in SIDES}
    by_name = {cell.name: cell for cell in cells}
    # Stored runs may share no case of a task.
    kept = [cell for cell in cells if any(cell.documents.values())]
    names = dict.fromkeys(cell.length for cell in kept)
    lengths = [_Length(name, [cell for cell in kept if cell.length == name]) for name in names]
    each = -(-batch // len(cells))
    extra = {stack.side: stack.config.extra_body for stack in stacks if isinstance(stack, Endpoint)}
    options = {side: body.get("chat_template_kwargs") or {} for side, body in extra.items()}
    async with AsyncExitStack() as open_stacks:
        asking: dict[str, Asking] = {}
        for stack in stacks:
            if isinstance(stack, Endpoint):
                asking[stack.side] = await open_stacks.enter_async_context(Asking(stack))
        findings = [*check_runs(cells), *await check_endpoints(asking, cells)]
        tell(findings)
        first = True
        while asked := [one for one in lengths if one.open]:
            parts = [one.documents[one.asked :][: each * len(one.cells)] for one in asked]
            wanted = [
                (side, cell, case)
                for part in parts
                for _, cases in part
                for cell, case in cases
                for side in SIDES
            ]
            said = await _all(_answer(asking.get(side), side, cell, case) for side, cell, case in wanted)
            for (side, cell, case), answer in zip(wanted, said, strict=True):
                answers[side][cell.name, case] = answer
            for one, part in zip(asked, parts, strict=True):
                one.take(part, answers)
                one.look = look(one.losses(), margin, alpha, len(lengths))
            progress([one.outcome for one in asked])
            if first:
                tell(check_replies(answers, by_name, tokenizer, options))
            first = False
            if any(one.look.verdict == "FAIL" for one in lengths):
                break
    if not any(one.look.n for one in lengths):
        raise InputError("no case has scores of both stacks; look at the responses in the folder of the gate")
    findings += check_replies(answers, by_name, tokenizer, options)
    for one in lengths:
        if one.scored and (of_b := one.mean_of_b) < _ROOM * margin:
            at = f" at {one.name}" if one.name else ""
            text = f"B itself scores {100 * of_b:.1f}{at}, so that a loss of {100 * margin:g} points could hardly show; take easier tasks or shorter cases"
            findings.append(Finding("B", _NO_ROOM, text))
            if one.look.verdict == "PASS":
                one.look = replace(one.look, verdict="UNDECIDED")
    return Gate(
        a=str(stacks[0]),
        b=str(stacks[1]),
        lengths=tuple(one.outcome for one in lengths),
        margin=margin,
        alpha=alpha,
        pairs=tuple(pair for one in lengths for pair in one.pairs),
        findings=tuple(findings),
        answers=answers,
    )


async def _answer(asking: Asking | None, side: str, cell: GateCell, case: str) -> Answer:
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
"""A name, and its cases."""


class _Length:
    """A length while it is tested."""

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

    def take(self, part: Sequence[Document], answers: Mapping[str, Mapping[tuple[str, str], Answer]]) -> None:
        """Take in the answers to some more documents."""
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
        """Return the losses of the rounds so far."""
        shared = any(len({cell.name for cell, _ in cases}) > 1 for _, cases in self.documents)
        return round_losses(self.scored, [cell.name for cell in self.cells], shared=shared)

    @property
    def mean_of_b(self) -> float:
        """Mean of B over the cells."""
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
    """Return the losses of whole rounds of the documents of a length, in which every cell has the same weight.

    A round ends as soon as every cell has a document in it. Each cell adds the mean loss of its documents in the round. If cells share
    documents, these means are not independent, and the round adds one loss, their mean. Documents of a round that has not ended do
    not count.

    >>> round_losses([{"a": 0.0}, {"a": 1.0}, {"b": 0.2}, {"a": 0.0}], "ab", shared=False)
    [0.5, 0.2]

    Args:
        documents: the mean loss in each cell that has it, in the order asked.
        cells: all cells of the length.
        shared: any document belongs to several cells.
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
    """Return the documents of a length in the order in which they are asked; one that several cells ask about comes once.

    Cells take turns in proportion to their documents, so that rounds use all of them. Stored runs may be in an order that means
    something, such as the lengths of books: theirs is that of a hash.
    """
    found: dict[str, list[tuple[GateCell, str]]] = {}
    places: dict[str, float] = {}
    for cell in cells:
        names = [name for name, cases in cell.documents.items() if cases]
        for rank, name in enumerate(sorted(names, key=_digest) if cell.stored else names):
            # Of stored runs one book may stand in several tasks.
            key = name if cell.stored else f"{cell.name} {name}"
            found.setdefault(key, []).extend((cell, case) for case in cell.documents[name])
            places.setdefault(key, (rank + 0.5) / len(names))
    return sorted(found.items(), key=lambda document: places[document[0]])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def pair_of(cell: str, case: str, a: Answer, b: Answer) -> Pair:
    """Return the scores of both stacks over the turns in which B has one.

    A turn without a score of A counts as its lowest where A itself gave no answer, and is left out where a judge or scoring did not.
    """
    turns: list[tuple[float, float]] = []
    lacking = 0
    for mine, theirs, mute in zip(a.scores, b.scores, a.lacking, strict=True):
        if theirs is None or (mine is None and not mute):
            continue
        lacking += mine is None
        turns.append((mine or 0.0, theirs))
    if not turns:
        return Pair(cell, case, None, None)
    first, second = (sum(side) / len(turns) for side in zip(*turns, strict=True))
    return Pair(cell, case, first, second, lacking)
