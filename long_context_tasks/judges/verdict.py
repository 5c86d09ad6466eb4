"""What goes to a judge and what comes back: requests, replies, the score in them, and what they cost."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.schema import Message

TopLogprobs = tuple[tuple[str, "float | None"], ...]
"""Tokens that were likely at the first place of a reply, with their natural log-probabilities (None where it is not known)."""


@dataclass(frozen=True)
class JudgeRequest:
    """One item to judge.

    Attributes:
        id: names the item in messages and results.
        messages: the filled judge prompt; the response under judgement is in it.
        meta: anything the caller wants back beside the verdict; no part of the key.
    """

    id: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rubric:
    """How a benchmark's judge prompt is answered.

    Attributes:
        name: e.g. ``ten_point``.
        low, high: ends of the scale.
        parse: a reply to its score in that scale, or None when it has none. It sees nothing but the reply.
        weigh: the log-probabilities at a reply's first place to its score in that scale, or None; for judges that are asked
            for them (``logprobs``). Without it their replies are parsed all the same.
    """

    name: str
    low: float
    high: float
    parse: Callable[[str], float | None]
    weigh: Callable[[TopLogprobs], float | None] | None = None

    def score(self, reply: str) -> float | None:
        """Return the score in a reply; None also for one outside the scale.

        >>> Rubric("ten_point", 1, 10, float).score("11") is None
        True
        """
        return self.score_reply(Reply(reply), weighed=False)

    def score_reply(self, reply: "Reply", *, weighed: bool) -> float | None:
        """Return the score of a reply: weighed by probability where that is asked for, else the score in its text.

        Args:
            reply: of a judge.
            weighed: the judge was asked for log-probabilities. A reply without them has no score then: a mean of weighed
                and unweighed ones would mean nothing.
        """
        if not weighed or self.weigh is None:
            value = self.parse(reply.text)
        else:
            value = None if reply.top_logprobs is None else self.weigh(reply.top_logprobs)
        return value if value is not None and self.low <= value <= self.high else None


class Usage(NamedTuple):
    """Tokens of some calls.

    Attributes:
        replies: calls that were answered.
        prompt_tokens, completion_tokens: their sums.
        uncounted: answered calls for which the endpoint gave no counts (they are missing from the sums).
    """

    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0

    @classmethod
    def total(cls, usages: Iterable["Usage"]) -> "Usage":
        """Return the sum of some usages."""
        return cls(*map(sum, zip(*usages, strict=True)))

    def cost(self, config: JudgeConfig) -> float | None:
        """Price in the currency of the judge file; None when it names no prices."""
        if config.prompt_price is None and config.completion_price is None:
            return None
        prompt, completion = config.prompt_price or 0.0, config.completion_price or 0.0
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / 1e6


@dataclass(frozen=True)
class Reply:
    """One answered call.

    Attributes:
        text: the raw reply; empty when the model said nothing.
        prompt_tokens, completion_tokens: as the endpoint counts them; None when it does not.
        finish_reason: the endpoint's word for why the reply ended (``length``: cut at max_tokens).
        top_logprobs: see :data:`TopLogprobs`; None when they were not asked for or not given.
        thinking: that the endpoint separated from a reply of no text; empty beside a text.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    top_logprobs: TopLogprobs | None = None
    thinking: str = ""

    @property
    def usage(self) -> Usage:
        """Return the tokens of this reply."""
        known = self.prompt_tokens is not None and self.completion_tokens is not None
        return Usage(1, self.prompt_tokens or 0, self.completion_tokens or 0, 0 if known else 1)


@dataclass(frozen=True)
class Verdict:
    """What one judge says of one item with one seed.

    Attributes:
        score: in the rubric's own scale; None when there is none, never a substitute such as 0.
        reason: None, ``unparsable`` (no reply had a score) or ``endpoint_failed`` (a call was never answered).
        feedback: the raw reply that the score was read from, else the last one; None when none came.
        replies: all raw replies in order; the official code would have read the first.
        seed: that was sent.
        key: of the last call, in the store.
        usage: of all replies.
        spent: of the replies that this run paid for (the others were in the store).
        error: what went wrong at the endpoint.
        top_logprobs: of the reply in ``feedback``; None without them.
    """

    score: float | None
    reason: str | None
    feedback: str | None
    replies: tuple[str, ...]
    seed: int | None
    key: str
    usage: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)
    error: str | None = None
    top_logprobs: TopLogprobs | None = None

    @property
    def attempts(self) -> int:
        """Replies that were read until one had a score."""
        return len(self.replies)

    def row(self) -> dict[str, Any]:
        """Plain values for a host's sample log; equal whether the replies came from the store or not."""
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
    """A judge's run in numbers.

    Attributes:
        total: verdicts asked for; ``judged`` of them have a score.
        reasons: reason to count, of the others.
        usage, spent: of all verdicts, and of what this run paid for. Items with one prompt share one call.
        cost_spent: price of the latter; None without prices in the judge file.
    """

    total: int
    judged: int
    reasons: dict[str, int]
    usage: Usage
    spent: Usage
    cost_spent: float | None

    def __str__(self) -> str:
        """Return a line for a log."""
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
    """Count what :func:`~long_context_tasks.judges.run.judge_all` returned."""
    flat = [verdict for row in verdicts for verdict in row]
    # Items with equal prompts share a call: it is counted once.
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
    """Return the mean of an item's scores, by several seeds of a judge; missing ones are left out.

    >>> mean_score([8.0, 6.0, None]), mean_score([None])
    (7.0, None)
    """
    there = [score for score in scores if score is not None]
    return statistics.fmean(there) if there else None
