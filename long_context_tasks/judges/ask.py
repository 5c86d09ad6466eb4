"""Asking a model for texts instead of scores: labels, summaries, questions. Same client, same store, same way to resume.

What a model answered is stored under everything that determines the answer, so a build that was killed asks only for what it
has not paid yet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_reads_prompts
from long_context_tasks.judges.request import JudgeRequest
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Rubric, Summary, summarize
from long_context_tasks.schema import Message

Prompt = tuple[Message, ...]


@dataclass(frozen=True)
class TextReply:
    """What a model replied to a prompt.

    Attributes:
        text: None when no usable answer came.
        reason: None, ``unparsable`` (no answer was usable) or ``endpoint_failed`` (never answered).
        cut: the endpoint stopped the answer at ``max_tokens``.
        error: what went wrong at the endpoint.
    """

    text: str | None
    reason: str | None = None
    cut: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Asked:
    """The answers to some prompts, in their order, and what they cost."""

    answers: tuple[TextReply, ...]
    summary: Summary


def says_something(text: str) -> bool:
    """Return whether an answer holds anything but white space."""
    return bool(text.strip())


def ask_all(
    prompts: Sequence[Prompt],
    config: JudgeConfig,
    store: Store,
    *,
    usable: Callable[[str], bool] = says_something,
    progress: bool = True,
) -> Asked:
    """Ask every prompt once; what the store holds is not asked again, and equal prompts share a call.

    Args:
        prompts: in any number.
        config: the model; of its seeds the first counts, log-probabilities are not asked for.
        store: of the replies.
        usable: whether an answer can be used; otherwise it is asked for again, up to ``asks`` times.
        progress: show a progress bar on standard error.
    """
    check_reads_prompts(config)
    config = config.changed(seeds=config.seeds[:1], logprobs=None)
    rubric = Rubric("text", 0.0, 1.0, lambda reply: 1.0 if usable(reply) else None)
    requests = [JudgeRequest(str(number), prompt) for number, prompt in enumerate(prompts)]
    verdicts = judge_all(requests, config, rubric, store, progress=progress)
    answers = []
    for (verdict,) in verdicts:
        reply = store.get(verdict.key) if verdict.score is not None else None
        cut = reply is not None and reply.finish_reason == "length"
        text = verdict.feedback if verdict.score is not None else None
        answers.append(TextReply(text, verdict.reason, cut, verdict.error))
    return Asked(tuple(answers), summarize(verdicts, config))
