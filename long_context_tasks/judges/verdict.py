"""Judge requests and replies, the scores in them, and their cost."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.schema import Message

TopLogprobs = tuple[tuple[str, "float | None"], ...]
"""Top first tokens of a reply with their natural log-probabilities (None if unknown)."""


@dataclass(frozen=True)
class JudgeRequest:
    id: str  # identifies the item in messages and results
    messages: tuple[Message, ...]  # judge prompt, which contains the response to judge
    meta: Mapping[str, Any] = field(default_factory=dict)  # values for the caller; not part of the key


@dataclass(frozen=True)
class Rubric:
    """Scale of a judge prompt, from ``low`` to ``high``, and the functions that read a score from a reply."""

    name: str  # such as ten_point
    low: float
    high: float
    parse: Callable[[str], float | None]  # returns the score in a reply's text; None if there is none
    # Returns the score from the first token's log-probabilities, or None, for judges with logprobs; without
    # this function the text is parsed.
    weigh: Callable[[TopLogprobs], float | None] | None = None

    def score(self, reply: str) -> float | None:
        """Return the score in a reply; None if it is missing or outside the scale.

        >>> Rubric("ten_point", 1, 10, float).score("11") is None
        True
        """
        return self.score_reply(Reply(reply), weighed=False)

    def score_reply(self, reply: "Reply", *, weighed: bool) -> float | None:
        """Return a reply's score; with ``weighed``, the mean score weighted by token probabilities."""
        # A reply without log-probabilities then has no score, because weighted and unweighted scores must not
        # be averaged.
        if not weighed or self.weigh is None:
            value = self.parse(reply.text)
        else:
            value = None if reply.top_logprobs is None else self.weigh(reply.top_logprobs)
        return value if value is not None and self.low <= value <= self.high else None


class Usage(NamedTuple):
    replies: int = 0  # number of answered calls
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0  # answered calls without token counts from the endpoint, missing from the sums

    @classmethod
    def total(cls, usages: Iterable["Usage"]) -> "Usage":
        return cls(*map(sum, zip(*usages, strict=True)))

    def cost(self, config: JudgeConfig) -> float | None:
        if config.prompt_price is None and config.completion_price is None:
            return None
        prompt, completion = config.prompt_price or 0.0, config.completion_price or 0.0
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / 1e6


@dataclass(frozen=True)
class Reply:
    """One answered call."""

    text: str  # raw reply; may be empty
    # prompt_tokens, completion_tokens: the endpoint's counts; None without counts
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None  # as sent by the endpoint; length: truncated at max_tokens
    top_logprobs: TopLogprobs | None = None  # None if not requested or not returned
    thinking: str = ""  # thinking that the endpoint returned without any text; empty if there is text
    served: str = ""  # the model that the endpoint says it asked, if it is not the one in the judge file

    @property
    def usage(self) -> Usage:
        known = self.prompt_tokens is not None and self.completion_tokens is not None
        return Usage(1, self.prompt_tokens or 0, self.completion_tokens or 0, 0 if known else 1)


@dataclass(frozen=True)
class Verdict:
    """Result of judging one item with one seed."""

    score: float | None  # on the rubric's scale; None without a score, never a substitute such as 0
    reason: str | None  # None, unparsable (no reply had a score) or endpoint_failed (a call was not answered)
    # Raw reply with the score, or the last one if none has a score; None without any reply.
    feedback: str | None
    replies: tuple[str, ...]  # all raw replies in order; the official code reads the first
    seed: int | None  # seed in the judge file
    key: str  # storage key of the last call
    usage: Usage = field(default_factory=Usage)  # tokens of all replies
    spent: Usage = field(default_factory=Usage)  # tokens of replies paid for by this run
    error: str | None = None  # the endpoint's error
    top_logprobs: TopLogprobs | None = None  # log-probabilities of the reply in feedback

    @property
    def attempts(self) -> int:
        return len(self.replies)

    def row(self) -> dict[str, Any]:
        """Return plain values for a host's sample log, whether or not the replies came from the store."""
        row: dict[str, Any] = {
            "score": self.score,
            "reason": self.reason,
            "feedback": self.feedback,
            "seed": self.seed,
            "attempts": self.attempts,
            "first_reply": self.replies[0] if self.replies else None,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "error": self.error,
            "key": self.key,
        }
        if self.top_logprobs is not None:
            row["top_logprobs"] = [list(token) for token in self.top_logprobs]
        return row


@dataclass(frozen=True)
class Summary:
    total: int  # number of verdicts
    judged: int  # number of verdicts with a score
    reasons: dict[str, int]  # number of verdicts without a score, by reason
    # usage, spent: tokens of all calls, and of those paid for by this run; items with the same prompt share
    # one
    usage: Usage
    spent: Usage
    cost_spent: float | None  # price of spent; None without prices in the judge file

    def __str__(self) -> str:
        parts = [f"{self.judged} of {self.total} judged"]
        parts += [f"{count} {reason}" for reason, count in sorted(self.reasons.items())]
        spent = self.spent
        parts.append(
            f"{spent.replies} new replies ({spent.prompt_tokens} + {spent.completion_tokens} tokens"
            + (f", cost {self.cost_spent:.4f}" if self.cost_spent is not None else "")
            + ")"
        )
        if spent.uncounted:
            parts.append(f"{spent.uncounted} replies without token counts")
        return ", ".join(parts)


def summarize(verdicts: Iterable[Sequence[Verdict]], config: JudgeConfig) -> Summary:
    flat = [verdict for row in verdicts for verdict in row]
    # Items with the same prompt share a call, which counts once.
    calls = {verdict.key: verdict for verdict in flat}
    spent = Usage.total(verdict.spent for verdict in calls.values())
    return Summary(
        total=len(flat),
        judged=sum(verdict.score is not None for verdict in flat),
        reasons=dict(Counter(verdict.reason for verdict in flat if verdict.reason is not None)),
        usage=Usage.total(verdict.usage for verdict in calls.values()),
        spent=spent,
        cost_spent=spent.cost(config),
    )


def mean_score(scores: Sequence[float | None]) -> float | None:
    """Return the mean of an item's scores across judge seeds, ignoring missing ones; None if all are missing."""
    given = [score for score in scores if score is not None]
    return statistics.fmean(given) if given else None
