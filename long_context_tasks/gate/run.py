"""The gate: both stacks answer the same documents in the same order, batch by batch, until the evidence carries a verdict."""

import asyncio
import hashlib
import itertools
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from long_context_tasks.gate.checks import Finding, check_endpoints, check_replies, check_runs
from long_context_tasks.gate.stacks import SIDES, Answer, Asking, Endpoint, GateCell, Stack
from long_context_tasks.judges.client import wait_for
from long_context_tasks.schema import InputError
from long_context_tasks.stats.sequential import Look, look

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
class Gate:
    """What came of a gate.

    Attributes:
        a, b: the stacks in words.
        look: the last one: verdict, losses of documents, bounds.
        margin, alpha: see :func:`long_context_tasks.stats.sequential.look`.
        documents: that there were for the gate.
        pairs: cases that both were asked, in order.
        left_out: cases without a score of B, or of A through no fault of its own.
        findings: what the self-checks name.
        answers: of both sides, by cell and case.
        strict: a fault that is named makes the verdict FAIL, whatever the scores.
    """

    a: str
    b: str
    look: Look
    margin: float
    alpha: float
    documents: int
    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]
    answers: Mapping[str, Mapping[tuple[str, str], Answer]] = field(repr=False)
    strict: bool = False

    @property
    def refused(self) -> bool:
        """Whether a fault alone makes the verdict."""
        return self.strict and any(finding.name != _NO_ROOM for finding in self.findings)

    @property
    def verdict(self) -> str:
        """PASS, FAIL or UNDECIDED."""
        return "FAIL" if self.refused else self.look.verdict

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
        found = self.look
        cases = f"{len(self.pairs)} cases in {found.n} documents"
        bounds = (
            f"loss {100 * found.mean:+.1f} points, between {100 * found.low:+.1f} and {100 * found.high:+.1f}"
        )
        of_scores = {
            "PASS": f"A is no worse than B by {100 * self.margin:g} points",
            "FAIL": "A is worse than B",
            "UNDECIDED": "it is not shown whether A is as good as B",
        }[found.verdict]
        named = "".join(f"; {finding.side}: {finding.name}" for finding in self.findings)
        said = f"faults are named; by the scores {of_scores}" if self.refused else of_scores
        return f"{self.verdict}: {said} ({bounds}; {cases}){named}"


Progress = Callable[[Look, int], None]
"""The look after a batch, and the number of documents there are."""
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
        batch: documents between looks; rounded up so that every cell has as many.
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
    pairs: list[Pair] = []
    losses: list[float] = []
    by_name = {cell.name: cell for cell in cells}
    documents = ordered_documents(cells)
    size = -(-batch // len(cells)) * len(cells)
    extra = {stack.side: stack.config.extra_body for stack in stacks if isinstance(stack, Endpoint)}
    options = {side: body.get("chat_template_kwargs") or {} for side, body in extra.items()}
    async with AsyncExitStack() as open_stacks:
        asking: dict[str, Asking] = {}
        for stack in stacks:
            if isinstance(stack, Endpoint):
                asking[stack.side] = await open_stacks.enter_async_context(Asking(stack))
        findings = [*check_runs(cells), *await check_endpoints(asking, cells)]
        tell(findings)
        found = look(losses, margin, alpha)
        for start in range(0, len(documents), size):
            part = documents[start : start + size]
            wanted = [(side, cell, case) for _, cases in part for cell, case in cases for side in SIDES]
            said = await _all(_answer(asking.get(side), side, cell, case) for side, cell, case in wanted)
            for (side, cell, case), answer in zip(wanted, said, strict=True):
                answers[side][cell.name, case] = answer
            for _, cases in part:
                own = [
                    pair_of(cell.name, case, *(answers[side][cell.name, case] for side in SIDES))
                    for cell, case in cases
                ]
                pairs += own
                if lost := [pair.loss for pair in own if pair.a is not None]:
                    losses.append(sum(lost) / len(lost))
            found = look(losses, margin, alpha)
            progress(found, len(documents))
            if not start:
                tell(check_replies(answers, by_name, tokenizer, options))
            if found.verdict != "UNDECIDED":
                break
    if not losses:
        raise InputError("no case has scores of both stacks; look at the responses in the folder of the gate")
    findings += check_replies(answers, by_name, tokenizer, options)
    scored = [pair.b for pair in pairs if pair.b is not None]
    if (of_b := sum(scored) / len(scored)) < _ROOM * margin:
        text = f"B itself scores {100 * of_b:.1f}, so that a loss of {100 * margin:g} points could hardly show; take easier tasks or shorter cases"
        findings.append(Finding("B", _NO_ROOM, text))
        if found.verdict == "PASS":
            found = replace(found, verdict="UNDECIDED")
    return Gate(
        a=str(stacks[0]),
        b=str(stacks[1]),
        look=found,
        margin=margin,
        alpha=alpha,
        documents=len(documents),
        pairs=tuple(pairs),
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


def ordered_documents(cells: Sequence[GateCell]) -> list[Document]:
    """Return the documents in the order in which they are asked; a document that several cells ask about comes once.

    Cells take turns, so that after any whole round each has the same share. Stored runs may be in an order that means something, such
    as the lengths of books: theirs is that of a hash.
    """
    found: dict[str, list[tuple[GateCell, str]]] = {}
    lists = [[(cell, name) for name, cases in cell.documents.items() if cases] for cell in cells]
    for cell, name in filter(None, itertools.chain(*itertools.zip_longest(*lists))):
        # Of stored runs one book may stand in several tasks.
        key = name if cell.stored else f"{cell.name} {name}"
        found.setdefault(key, []).extend((cell, case) for case in cell.documents[name])
    if any(cell.stored for cell in cells):
        return sorted(found.items(), key=lambda document: _digest(document[0]))
    return list(found.items())


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
