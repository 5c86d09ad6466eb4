"""What a judge said, as it stands in the files of a run, read again by today's rules; nothing is asked."""

from collections.abc import Mapping
from typing import Any

from long_context_tasks.judges import ENDPOINT_FAILED, UNPARSABLE, Reply, Rubric, Usage, Verdict

_MOST_REPLIES = 1000


def read_again(row: Mapping[str, Any], rubric: Rubric, *, weighed: bool) -> Verdict:
    """A verdict from its row (see :meth:`long_context_tasks.judges.Verdict.row`), with the score by today's rules.

    A row keeps the first reply and the last, which had the score or was the last try. Those between had none, and count as empty.

    Args:
        row: of a file.
        rubric: of today, which reads the replies.
        weighed: the judge was asked for log-probabilities.

    Raises:
        ValueError, TypeError: no row of a verdict.
    """
    top = row.get("top_logprobs")
    tops = None if top is None else tuple((str(token), _number(value)) for token, value in top)
    replies = _replies(row, tops)
    score: float | None = None
    seen: list[Reply] = []
    for reply in replies:
        seen.append(reply)
        score = rubric.score_reply(reply, weighed=weighed)
        if score is not None:
            break
    error = _text(row.get("error"))
    reason = None if score is not None else UNPARSABLE if error is None else ENDPOINT_FAILED
    tokens = [_count(row.get(f"{kind}_tokens")) for kind in ("prompt", "completion")]
    return Verdict(
        score=score,
        reason=reason,
        feedback=seen[-1].text if seen else None,
        replies=tuple(reply.text for reply in seen),
        seed=row.get("seed"),
        key=str(row.get("key", "")),
        usage=Usage(len(replies), *tokens),
        error=error,
        top_logprobs=seen[-1].top_logprobs if seen else None,
    )


def _replies(row: Mapping[str, Any], tops: Any) -> list[Reply]:
    first, last = _text(row.get("first_reply")), _text(row.get("feedback"))
    attempts = min(_count(row.get("attempts")), _MOST_REPLIES)
    if last is None:
        return []
    if attempts < 2 or first is None:
        return [Reply(last, top_logprobs=tops)]
    return [Reply(first), *[Reply("")] * (attempts - 2), Reply(last, top_logprobs=tops)]


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} in the place of a judge's text")
    return value


def _count(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
