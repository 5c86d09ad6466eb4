"""A case as a page shows it: what was asked, what the model said, what it should have said, and what it scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ShownTurn:
    """One question of a case. Texts are as the model or the data have them: hostile until a page has escaped them.

    Attributes:
        question: where the benchmark has one apart from the prompt; None where it may not be shown.
        gold: as text; None where it may not be shown.
        response: None where there is none, or it may not be shown.
        scores: metric to value.
        reason: why the headline has no value or the lowest.
        feedback: what the judge wrote, one text a verdict; empty where it may not be shown.
    """

    question: str | None
    gold: str | None
    response: str | None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    reason: str | None = None
    feedback: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownCase:
    """A case of a run.

    Attributes:
        run: of ``RUNS``.
        case: its id.
        prompt: role and content of each message; None where it may not be shown.
        labels: of the case, for search and breakdowns.
        turns: one or more.
        withheld: why something may not be shown, in one sentence; empty where all is.
    """

    run: str
    case: str
    prompt: tuple[tuple[str, str], ...] | None
    labels: Mapping[str, str]
    turns: tuple[ShownTurn, ...]
    withheld: str = ""
